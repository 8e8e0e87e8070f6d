"""Multipath TCP in scenarios: its keys, and what a run tells of subflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath
from tshark import dissect
from voxpath.report.connection import connections
from voxpath.scenario import ScenarioError, from_dict


def scenario(**transport: Any) -> dict[str, Any]:
    return {
        "name": "two paths",
        "topology": {
            "kind": "multipath",
            "paths": {
                "wifi": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "100 packets"},
                "lte": {"rate": "5 Mbit/s", "delay": "30 ms", "queue": "100 packets"},
            },
            "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
        },
        "flows": [
            {
                "name": "download",
                "transport": {"kind": "mptcp", **transport},
                "app": {"kind": "download", "request": "100 B", "response": "3 MB"},
            }
        ],
    }


def ends(**transport: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    plan = from_dict(scenario(**transport)).plan.data
    return plan["flows"][0]["transport"]["client"], plan["flows"][0]["transport"]["server"]


def test_keys_hold_for_both_ends_unless_one_says_otherwise():
    client, server = ends(
        scheduler="lowest_rtt",
        coupling="lia",
        congestion="reno",
        mss="1000 B",
        close_timeout="5 s",
        joins="on_low_throughput",
        low_throughput="2 Mbit/s",
        retry="0 s",
        server={"coupling": "uncoupled", "congestion": "cubic"},
        backup=["lte"],
    )
    assert (client["mptcp"]["coupling"], server["mptcp"]["coupling"]) == ("lia", "uncoupled")
    assert (client["tcp"]["mss"], server["tcp"]["mss"]) == (1000, 1000)
    assert (client["tcp"]["congestion"], server["tcp"]["congestion"]) == ("reno", "cubic")
    assert client["mptcp"]["close_timeout"] == 5_000_000_000
    late = [client["mptcp"]["paths"][key] for key in ("joins", "low_throughput_bps", "retry")]
    assert late == ["on_low_throughput", 2_000_000, 0]
    # Who answers opens no subflows of its own accord.
    opens = [end["mptcp"]["paths"]["opens"] for end in (client, server)]
    assert opens == ["full_mesh", "nothing"]
    assert (client["backups"], server.get("backups")) == ([1], None)


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        ({"scheduler": "best"}, "'best' is no scheduler"),
        ({"coupling": "lias"}, "'lias' is no coupling; did you mean 'lia'"),
        ({"backup": ["dsl"]}, "'dsl' is no link at which 'client' has an address"),
        ({"server": {"backup": ["lte"]}}, "'lte' is no link at which 'server' has an address"),
        ({"low_throughput": "1 Mbit/s"}, "has no effect without joins"),
        ({"coupling": "olia", "congestion": "cubic"}, 'congestion: has no effect with coupling = "olia"'),
        ({"opens": "nothing", "joins": "on_failure"}, 'joins: has no effect: opens = "nothing"'),
        ({"client": {"opens": "nothing"}, "retry": "1 s"}, 'retry: has no effect: opens = "nothing"'),
        ({"server": {"joins": "on_doubt"}}, "server.joins: has no effect"),
        ({"sack": True}, "unknown key"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(transport: dict[str, Any], message: str):
    with pytest.raises(ScenarioError, match=message):
        from_dict(scenario(**transport))


def test_series_are_of_subflows(tmp_path: Path):
    result = voxpath.run(scenario(), out=tmp_path, backends=["sim"], observe=["tcp"])
    series = result.table("series").filter(end="server", metric="cwnd_bytes")
    assert series["subflow"].unique().sort().to_list() == [1, 2]
    assert series.group_by("subflow").len()["len"].min() > 20
    titles = [view.title for view in connections(result.table("series"), most=2)]
    assert sorted(title.split(" as ")[1] for title in titles) == [
        "its server, subflow 1 sees it",
        "its server, subflow 2 sees it",
    ]


def test_each_subflow_has_a_row_and_the_flow_their_sums(tmp_path: Path):
    (run,) = voxpath.run(scenario(), out=tmp_path, backends=["sim"]).folders
    rows = pl.read_parquet(run / "connections.parquet")
    server = rows.filter(rows["end"] == "server")
    assert server["subflow"].to_list() == [1, 2]
    assert server["peer_address"].to_list() == ["10.0.0.1", "10.0.0.2"]
    assert server["bytes_delivered"].sum() >= 3_000_000
    assert server["bytes_delivered"].min() > 500_000
    flow = pl.read_parquet(run / "flows.parquet").row(0, named=True)
    assert flow["transport"] == "mptcp"
    assert flow["status"] == "completed"
    assert flow["server_data_segments_sent"] == server["data_segments_sent"].sum()


def test_a_connection_that_nobody_hears_of_has_a_row_of_its_flow(tmp_path: Path):
    data: dict[str, Any] = {
        "name": "nothing gets through",
        "duration": "20 s",
        "topology": {"kind": "pipe", "link": {"delay": "10 ms"}},
        "hosts": {"client": {"profile": "linux"}, "server": {"profile": "linux"}},
        "flows": [
            {"name": "lost", "transport": {"kind": "mptcp"}, "app": {"kind": "bulk", "size": "10 kB"}},
            {"name": "plain", "transport": {"kind": "tcp"}, "app": {"kind": "bulk", "size": "10 kB"}},
        ],
    }
    data["topology"]["link"]["loss"] = "100 %"
    nothing = voxpath.run(data, out=tmp_path).flows
    assert nothing["flow"].to_list() == ["lost", "plain"]
    assert nothing["established_ns"].to_list() == [None, None]
    data["topology"]["link"]["loss"] = "0 %"
    assert voxpath.run(data, out=tmp_path).flows["established_ns"].null_count() == 0


def test_tshark_reads_the_handshakes_mappings_and_subflows_of_a_capture(tmp_path: Path):
    (run,) = voxpath.run(scenario(checksum=True), out=tmp_path, backends=["sim"], capture=["client"]).folders
    (capture,) = run.rglob("*.pcapng")
    stream, subtype = "tcp.stream", "tcp.options.mptcp.subtype"
    opened = dissect(capture, "tcp.flags.syn == 1", stream, subtype)
    # Each subflow is a SYN and its answer: the first has MP_CAPABLE, the second MP_JOIN.
    assert opened == [["0", "0"], ["0", "0"], ["1", "1"], ["1", "1"]]
    mapped = dissect(capture, "tcp.options.mptcp.datalvllen", stream, "tcp.options.mptcp.datalvllen")
    octets = [sum(int(length) for of, length in mapped if of == number) for number in ("0", "1")]
    assert sum(octets) >= 3_000_000
    assert min(octets) > 500_000
    assert dissect(capture, "_ws.malformed", "frame.number") == []
