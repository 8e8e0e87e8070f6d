"""Connections of programs: what they are called, and what is told of each."""

import re
from pathlib import Path

import polars as pl
import pytest

from voxpath.backends.real.connections import joined, named
from voxpath.results.metrics import dictionary
from voxpath.tables import print_programs

PLAN = {
    "nodes": [
        {"name": "phone", "addresses": ["10.0.0.1", "fd00::1"]},
        {"name": "office", "addresses": ["10.0.0.2", "fd00::2"]},
    ]
}
SERIES = pl.DataFrame(
    {
        "time_ns": [5, 30],
        "flow": ["f", "f"],
        "end": ["client"] * 2,
        "subflow": [None, None],
        "metric": ["cwnd_bytes"] * 2,
        "value": [1, 2],
    },
    schema_overrides={"time_ns": pl.UInt64, "subflow": pl.UInt64, "value": pl.UInt64},
)


def seen(*ends: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"flow": [" > ".join(pair) for pair in ends]}, {"flow": pl.String})


def watched(*sockets: tuple[int, str, str, int]) -> pl.DataFrame:
    rows = [(10 * (1 + i), *socket, "cwnd_bytes", 100 + i) for i, socket in enumerate(sockets)]
    columns = ["time_ns", "node", "local", "remote", "accepted", "metric", "value"]
    types = {"time_ns": pl.UInt64, "node": pl.UInt64, "accepted": pl.UInt64, "value": pl.UInt64}
    return pl.DataFrame(rows, columns, orient="row", schema_overrides=types)


@pytest.mark.parametrize(
    ("sockets", "expected"),
    [
        (
            [(0, "10.0.0.1:40000", "10.0.0.2:80", 0), (1, "10.0.0.2:80", "10.0.0.1:40000", 1)],
            [("phone:40000 > office:80", "client"), ("phone:40000 > office:80", "server")],
        ),
        # Who listens decides, not the number of the port.
        (
            [(0, "10.0.0.1:70", "10.0.0.2:50000", 0), (1, "10.0.0.2:50000", "10.0.0.1:70", 1)],
            [("phone:70 > office:50000", "client"), ("phone:70 > office:50000", "server")],
        ),
        # Nobody listens any more when it is first seen, but did later.
        (
            [
                (1, "10.0.0.2:50000", "10.0.0.1:70", 0),
                (0, "10.0.0.1:70", "10.0.0.2:50000", 0),
                (1, "10.0.0.2:50000", "10.0.0.1:70", 1),
            ],
            [
                ("phone:70 > office:50000", "server"),
                ("phone:70 > office:50000", "client"),
                ("phone:70 > office:50000", "server"),
            ],
        ),
        (
            [(0, "10.0.0.1:40000", "10.0.0.2:80", 0), (1, "10.0.0.2:80", "10.0.0.1:40000", 0)],
            [("phone:40000 > office:80", "client"), ("phone:40000 > office:80", "server")],
        ),
        # The other end is simulated, or nobody of the plan; and IPv6.
        ([(0, "[fd00::1]:40000", "[fd00::2]:80", 0)], [("phone:40000 > office:80", "client")]),
        ([(1, "10.0.0.2:9000", "192.0.2.7:80", 0)], [("office:9000 > 192.0.2.7:80", "client")]),
    ],
)
def test_a_connection_has_one_name_at_both_ends(
    sockets: list[tuple[int, str, str, int]], expected: list[tuple[str, str]]
):
    found = joined(SERIES, watched(*sockets), seen(), PLAN)
    assert found.columns == SERIES.columns
    assert found["time_ns"].is_sorted()
    programs = found.filter(pl.col("flow") != "f")
    assert programs.select("flow", "end").rows() == expected
    assert programs["value"].to_list() == [100 + i for i in range(len(sockets))]
    assert found.filter(flow="f").equals(SERIES)


def test_without_connections_nothing_changes():
    assert joined(SERIES, watched(), seen(), PLAN) is SERIES


def test_who_opened_a_connection_is_known_from_its_packets():
    """Whatever the ports are, and whoever listens now: this is FTP's data, which the server opens."""
    opened = ("10.0.0.2:20", "10.0.0.1:50000")
    sockets = ((0, "10.0.0.1:50000", opened[0], 0), (1, opened[0], "10.0.0.1:50000", 1))
    found = joined(SERIES, watched(*sockets), seen(opened), PLAN).filter(pl.col("flow") != "f")
    assert found.select("flow", "end").rows() == [
        ("office:20 > phone:50000", "server"),
        ("office:20 > phone:50000", "client"),
    ]


def connections(**changed) -> pl.DataFrame:
    """The ends of a connection, as the engine tells of them; `changed` has columns of both."""
    columns = {name: [None] * 2 for name in dictionary()["connections"]} | {
        "flow": ["10.0.0.1:40000 > [fd00::2]:80"] * 2,
        "end": ["client", "server"],
        "host": ["10.0.0.1", "fd00::2"],
        "opened_ns": [1_000_000_000] * 2,
        "ended_ns": [3_000_000_000] * 2,
        "goodput_bps": [4000.0, 10_000_000.0],
        "bytes_delivered": [1000, 2_500_000],
        "data_segments_sent": [1, 1800],
        "retransmissions": [0, 12],
        "timeouts": [0, None],
        "srtt_ns": [41_000_000, 45_500_000],
        "min_rtt_ns": [40_000_000, 40_100_000],
    }
    return pl.DataFrame(columns | changed)


def test_the_ends_of_a_connection_are_called_by_their_hosts():
    found = named(connections(), PLAN)
    assert found.select("flow", "end", "host").rows() == [
        ("phone:40000 > office:80", "client", "phone"),
        ("phone:40000 > office:80", "server", "office"),
    ]


def test_both_directions_of_a_connection_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    named(connections(), PLAN).write_parquet(tmp_path / "connections.parquet")
    print_programs([("", tmp_path)])
    _, head, _, there, back = (line for line in capsys.readouterr().out.splitlines() if line.strip())
    assert re.split(r"\s{2,}", head.strip())[:5] == [
        "connection",
        "data from",
        "Mbit/s",
        "s",
        "round trip ms",
    ]
    assert re.split(r"\s{2,}", there.strip()) == [
        *("phone:40000 > office:80", "phone", "0.004", "2", "41", "0 of 1", "40", "1000", "0")
    ]
    assert re.split(r"\s{2,}", back.strip()) == [
        *("office", "10", "2", "45.5", "12 of 1800", "40.1", "2500000")
    ]


def test_why_nothing_is_known_of_connections_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "fidelity.json").write_text('{"connections_unknown_because": "cannot ask: no sock_diag"}')
    print_programs([("", tmp_path)])
    assert "TCP connections of programs are not known: cannot ask: no sock_diag" in capsys.readouterr().out
