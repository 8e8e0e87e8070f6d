"""Background traffic: from the scenario to what is said of its pages."""

from __future__ import annotations

import polars as pl
import pytest

import voxpath as voxpath_package
from voxpath.scenario import ScenarioError, from_dict

PIPE = {"kind": "pipe", "link": {"delay": "5 ms"}}


def scenario(app: dict, **more) -> dict:
    flow = {"name": "web", "app": app, **more}
    return {"name": "background", "duration": "40 s", "topology": PIPE, "flows": [flow]}


def test_a_source_has_sixteen_connections_with_the_numbers_of_ns3():
    flows = from_dict(scenario({"kind": "web"}, count=2, stagger="1 s")).plan.data["flows"]
    assert [flow["name"] for flow in flows] == [f"web-{s}.{c}" for s in (1, 2) for c in range(1, 17)]
    assert {flow["start_ns"] for flow in flows[:16]} == {0}
    assert {flow["start_ns"] for flow in flows[16:]} == {1_000_000_000}
    size = {"least_bytes": 50, "mean_bytes": 7758, "deviation_bytes": 126_168, "most_bytes": 2_000_000}
    assert flows[0]["app"] == {
        "kind": "web",
        "request_bytes": 328,
        "main": {**size, "least_bytes": 100, "mean_bytes": 10_710, "deviation_bytes": 25_032},
        "embedded": size,
        "objects": {"shape": 1.1, "scale": 2.0, "bound": 55.0},
        "parsing_ns": 130_000_000,
        "reading_ns": 30_000_000_000,
        "pages": None,
    }


def test_the_connections_of_a_source_join_the_same_hosts():
    topology = {"kind": "dumbbell", "pairs": 2, "bottleneck": {}, "access": {}}
    data = scenario({"kind": "web", "connections": 3}, count=2) | {"topology": topology}
    flows = from_dict(data).plan.data["flows"]
    assert [flow["from"] for flow in flows] == [0, 0, 0, 1, 1, 1]


def test_an_on_off_source_is_resolved_for_either_transport():
    app = {"kind": "onoff", "rate": "1 Mbit/s", "on": "1 s", "off": "3 s", "law": "pareto"}
    for transport in ("tcp", "udp"):
        (flow,) = from_dict(scenario(app, transport={"kind": transport})).plan.data["flows"]
        assert flow["transport"]["kind"] == transport
        assert flow["app"] == {
            "kind": "onoff",
            "packet_bytes": 1000,
            "interval_ns": 8_000_000,
            "on": {"kind": "pareto", "mean_ns": 1_000_000_000, "shape": 1.5},
            "off": {"kind": "pareto", "mean_ns": 3_000_000_000, "shape": 1.5},
            "packets": None,
        }


@pytest.mark.parametrize(
    ("app", "key", "says"),
    [
        ({"kind": "web", "connections": 0}, "app.connections", "at least 1"),
        ({"kind": "web", "page": 3}, "app.page", "did you mean 'pages'"),
        (
            {"kind": "web", "main": {"mean": "1 kB", "least": "1 B", "most": "2 MB"}},
            "app.main.deviation",
            "is missing",
        ),
        (
            {"kind": "web", "main": {"mean": "1 kB", "deviation": "1 B", "least": "1 MB", "most": "2 MB"}},
            "app.main",
            "less than 1 %",
        ),
        (
            {"kind": "web", "main": {"mean": "1 kB", "deviation": "1 B", "least": "2 kB", "most": "2 kB"}},
            "app.main",
            "least is below most",
        ),
        ({"kind": "web", "objects": {"shape": 1.1, "scale": 2.0, "bound": 2.0}}, "app.objects", "above the"),
        ({"kind": "onoff", "rate": "1 Mbit/s", "on": "1 s"}, "app.off", "is missing"),
        ({"kind": "onoff", "rate": "1 Mbit/s", "on": "1 s", "off": "1 s", "shape": 2.0}, "app.shape", "par"),
        (
            {"kind": "onoff", "rate": "1 Mbit/s", "on": "1 s", "off": "1 s", "law": "pareto", "shape": 1.0},
            "app.shape",
            "above 1",
        ),
        ({"kind": "onoff", "rate": "1 kbit/s", "on": "1 ms", "off": "1 s"}, "app.on", "a thousandth"),
    ],
)
def test_a_bad_source_is_refused_at_its_key(app: dict, key: str, says: str):
    with pytest.raises(ScenarioError) as refused:
        from_dict(scenario(app))
    (problem,) = refused.value.problems
    assert problem.key == f"flows[0].{key}"
    assert says in problem.message


def test_web_needs_a_byte_stream_and_an_end():
    with pytest.raises(ScenarioError, match="web needs tcp"):
        from_dict(scenario({"kind": "web"}, transport={"kind": "udp"}))
    endless = scenario({"kind": "web"})
    del endless["duration"]
    with pytest.raises(ScenarioError, match="this web never ends"):
        from_dict(endless)
    from_dict(endless | {"flows": [{"app": {"kind": "web", "pages": 2}}]})


def test_pages_are_told_by_flow_and_by_request(tmp_path):
    app = {"kind": "web", "connections": 4, "pages": 3, "reading": "100 ms"}
    document = from_dict({"name": "x", "topology": PIPE, "flows": [{"name": "web", "app": app}]})
    result = voxpath_package.run(document, replications=2, out=tmp_path)
    flows = result.flows
    assert flows["status"].to_list() == ["completed"] * 8
    assert flows["pages_loaded"].to_list() == [3] * 8
    assert (flows["page_p50_ns"] <= flows["page_max_ns"]).all()
    requests = pl.concat(pl.read_parquet(path) for path in sorted(tmp_path.rglob("requests.parquet")))
    assert sorted(requests["page"].unique()) == [0, 1, 2]
    assert requests["completed_ns"].null_count() == 0
    metrics = {(row.entity, row.metric): row for row in result.rows if row.estimator == "sim"}
    assert metrics["web.1", "pages_loaded"].value == 3
    declined = {row.reason for row in result.rows if row.status == "not applicable"}
    assert any("in bursts at random" in reason for reason in declined)


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_an_on_off_source_is_summarised_by_its_transport(transport: str, tmp_path):
    app = {"kind": "onoff", "rate": "1 Mbit/s", "on": "200 ms", "off": "200 ms", "packets": "500 packets"}
    flow = {"name": "bursts", "app": app, "transport": {"kind": transport}}
    document = from_dict({"name": "x", "topology": PIPE, "flows": [flow]})
    result = voxpath_package.run(document, replications=2, out=tmp_path)
    assert result.flows["bytes_delivered"].to_list() == [500_000] * 2
    metrics = {row.metric for row in result.rows if row.estimator == "sim"}
    assert ("delay_p95_ns" in metrics) == (transport == "udp")
    assert ("server_retransmissions" in metrics) == (transport == "tcp")
