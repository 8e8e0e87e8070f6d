"""What connections of programs are called."""

import polars as pl
import pytest

from voxpath.backends.real.connections import joined

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
        "metric": ["cwnd_bytes"] * 2,
        "value": [1, 2],
    },
    schema_overrides={"time_ns": pl.UInt64, "value": pl.UInt64},
)


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
    found = joined(SERIES, watched(*sockets), PLAN)
    assert found.columns == SERIES.columns
    assert found["time_ns"].is_sorted()
    programs = found.filter(pl.col("flow") != "f")
    assert programs.select("flow", "end").rows() == expected
    assert programs["value"].to_list() == [100 + i for i in range(len(sockets))]
    assert found.filter(flow="f").equals(SERIES)


def test_without_connections_nothing_changes():
    assert joined(SERIES, watched(), PLAN) is SERIES
