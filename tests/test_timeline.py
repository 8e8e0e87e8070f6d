"""The timeline: from the scenario to the plan, to the results, and what is refused."""

from __future__ import annotations

import polars as pl
import pytest

import voxpath as voxpath_package
from voxpath.scenario import ScenarioError, from_dict

LINK = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 packets"}
BULK = {"name": "bulk", "app": {"kind": "bulk"}}


def scenario(*events: dict, **more) -> dict:
    topology = {"kind": "dumbbell", "bottleneck": LINK, "access": {"delay": "1 ms"}}
    base = {"name": "x", "duration": "4 s", "topology": topology, "flows": [BULK], "events": list(events)}
    return base | more


def events(*given: dict, **more) -> list[dict]:
    return from_dict(scenario(*given, **more)).plan.data["events"]


def link(way: str, **change) -> dict:
    return {"kind": "link", "link": 0, "direction": way, "set": change}


def test_a_change_of_a_link_is_one_event_for_each_value_and_direction():
    made = events(
        {"at": "1 s", "link": "bottleneck", "rate": "2 Mbit/s", "loss": "1 %", "down": {"delay": "9 ms"}}
    )
    loss = {"kind": "bernoulli", "p": 0.01}
    assert [event["at_ns"] for event in made] == [1_000_000_000] * 5
    assert [event["change"] for event in made] == [
        link("ab", kind="rate", rate_bps=2_000_000),
        link("ab", kind="loss", loss=loss),
        link("ba", kind="rate", rate_bps=2_000_000),
        link("ba", kind="delay", delay_ns=9_000_000),
        link("ba", kind="loss", loss=loss),
    ]


def test_events_are_sorted_by_time_and_then_as_they_stand():
    made = events(
        {"at": "2 s", "link": "bottleneck", "up": {"rate": "2 Mbit/s"}},
        {"at": "1 s", "link": "bottleneck", "up": {"queue": ["7 packets", "9 kB"]}},
        {"at": "2 s", "link": "bottleneck", "up": {"rate": "3 Mbit/s"}},
    )
    assert [event["change"] for event in made] == [
        link("ab", kind="queue", packets=7, bytes=9000),
        link("ab", kind="rate", rate_bps=2_000_000),
        link("ab", kind="rate", rate_bps=3_000_000),
    ]


def test_a_host_leaves_and_joins_by_all_of_its_links():
    topology = {"kind": "multipath", "paths": {"wifi": LINK, "lte": LINK}}
    made = events({"at": "1 s", "host": "client", "connected": False}, topology=topology)
    assert [(event["change"]["link"], event["change"]["direction"]) for event in made] == [
        (0, "ab"),
        (0, "ba"),
        (1, "ab"),
        (1, "ba"),
    ]
    assert all(event["change"]["set"] == {"kind": "up", "up": False} for event in made)


def test_an_interface_loses_its_address_and_has_another_one():
    topology = {"kind": "multipath", "paths": {"wifi": LINK, "lte": LINK}}
    wifi = {"host": "client", "interface": "wifi"}
    plan = from_dict(
        scenario(
            {"at": "2 s", **wifi, "address": "10.9.0.1"},
            {"at": "1 s", **wifi, "connected": False},
            {"at": "3 s", **wifi, "connected": False},
            topology=topology,
        )
    ).plan.data
    assert plan["nodes"][0]["addresses"] == ["10.0.0.1", "10.0.0.2", "10.9.0.1"]
    assert {"node": 0, "address": 2, "link": 0} in plan["interfaces"]
    changes = [(event["at_ns"] // 10**9, event["change"]) for event in plan["events"]]
    assert changes == [
        (at, {"kind": "address", "node": 0, "address": address, "up": up})
        for at, address, up in [(1, 0, False), (2, 0, False), (2, 2, True), (3, 2, False)]
    ]


def test_addresses_come_and_go_under_a_connection_of_multipath_tcp(tmp_path):
    topology = {
        "kind": "multipath",
        "paths": {name: {"rate": "10 Mbit/s", "delay": "10 ms"} for name in ("wifi", "lte")},
    }
    download = {"kind": "download", "request": "100 B", "response": "10 MB"}
    data = {
        "name": "x",
        "topology": topology,
        "flows": [{"name": "both", "transport": {"kind": "mptcp"}, "app": download}],
        "events": [
            {"at": "1 s", "host": "client", "interface": "wifi", "connected": False},
            {"at": "2 s", "host": "client", "interface": "wifi", "address": "10.9.0.1"},
        ],
    }
    result = voxpath_package.run(from_dict(data), out=tmp_path)
    assert result.flows["status"].to_list() == ["completed"]
    rows = result.table("connections").filter(pl.col("end") == "server")
    assert rows["peer_address"].to_list() == ["10.0.0.1", "10.0.0.2", "10.9.0.1"]
    assert rows["bytes_delivered"].min() > 500_000


def test_a_flow_starts_and_stops_with_all_its_copies():
    made = from_dict(
        scenario(
            {"at": "1 s", "flow": "bulk", "does": "start"},
            {"at": "2 s", "flow": "bulk", "does": "stop"},
            flows=[{**BULK, "count": 2}],
        )
    ).plan.data
    assert [flow["start_ns"] for flow in made["flows"]] == [1_000_000_000] * 2
    assert [event["change"] for event in made["events"]] == [
        {"kind": "flow", "flow": flow, "runs": runs} for runs in (True, False) for flow in (0, 1)
    ]


def test_a_handover_moves_a_route(tmp_path):
    topology = {
        "kind": "explicit",
        "hosts": ["a", "b"],
        "routers": ["r", "s"],
        "links": [
            {"ends": ["a", "r"]},
            {"ends": ["r", "s"], "name": "near", "delay": "10 ms"},
            {"ends": ["r", "s"], "name": "far", "delay": "40 ms"},
            {"ends": ["s", "b"]},
        ],
    }
    stream = {"kind": "cbr", "packet": "100 B", "interval": "10 ms", "packets": "200 packets"}
    flow = {"name": "stream", "from": "a", "to": "b", "app": stream}
    moved = {"at": "1 s", "route": {"at": "r", "to": "b", "via": "far"}}
    data = {"name": "x", "topology": topology, "flows": [flow], "events": [moved]}
    result = voxpath_package.run(from_dict(data), out=tmp_path)
    assert result.flows["delay_min_ns"].to_list() == [10_000_000]
    assert result.flows["delay_max_ns"].to_list() == [40_000_000]
    assert result.flows["delay_mean_ns"].to_list() == [25_000_000]


@pytest.mark.parametrize(
    ("event", "key", "says"),
    [
        ({"link": "bottleneck", "rate": "1 Mbit/s"}, "events[0].at", "is missing"),
        ({"at": "1 s"}, "events[0]", "one of link, interface, host, flow, process, route"),
        ({"at": "1", "link": "bottleneck", "rate": "1 Mbit/s"}, "events[0].at", "unit"),
        ({"at": "1 s", "link": "botleneck", "rate": "1 Mbit/s"}, "events[0].link", "did you mean 'bott"),
        ({"at": "1 s", "link": "bottleneck"}, "events[0].link", "nothing changes"),
        ({"at": "1 s", "link": "bottleneck", "rat": "1 Mbit/s"}, "events[0].rat", "did you mean 'rate'"),
        ({"at": "1 s", "link": "bottleneck", "rate": "0 bit/s"}, "events[0].rate", "0"),
        (
            {
                "at": "1 s",
                "link": "bottleneck",
                "delay": "1 ms",
                "up": {"delay": "2 ms"},
                "down": {"delay": "3 ms"},
            },
            "events[0].delay",
            "has no effect",
        ),
        ({"at": "1 s", "host": "clint", "connected": True}, "events[0].host", "did you mean 'client'"),
        ({"at": "1 s", "host": "client"}, "events[0].connected", "is missing"),
        (
            {"at": "1 s", "host": "client", "interface": "bottleneck", "connected": True},
            "events[0].interface",
            "is none",
        ),
        ({"at": "1 s", "host": "client", "interface": "x"}, "events[0].interface", "connected and address"),
        (
            {"at": "1 s", "host": "client", "interface": "x", "address": "10.0.0"},
            "events[0].address",
            "10.0.0",
        ),
        ({"at": "1 s", "flow": "blk", "does": "stop"}, "events[0].flow", "did you mean 'bulk'"),
        ({"at": "1 s", "flow": "bulk", "does": "halt"}, "events[0].does", "start, stop"),
        ({"at": "0 s", "flow": "bulk", "does": "stop"}, "events[0].at", "not started yet"),
        ({"at": "4 s", "link": "bottleneck", "rate": "1 Mbit/s"}, "events[0].at", "already over"),
        (
            {"at": "1 s", "route": {"at": "left", "to": "server", "via": "client-right"}},
            "events[0].route.via",
            "allowed: bottleneck, client-left",
        ),
        (
            {"at": "1 s", "route": {"at": "client", "to": "server", "via": "client-left"}},
            "events[0].route.at",
            "allowed: left, right",
        ),
    ],
)
def test_a_bad_event_is_refused_at_its_key(event: dict, key: str, says: str):
    with pytest.raises(ScenarioError) as refused:
        from_dict(scenario(event))
    (problem,) = refused.value.problems
    assert problem.key == key
    assert says in problem.message
    assert problem.line > 0


def test_two_starts_contradict_each_other():
    start = {"at": "1 s", "flow": "bulk", "does": "start"}
    with pytest.raises(ScenarioError, match=r"flows\[0\].start: events\[0\] starts this flow"):
        from_dict(scenario(start, flows=[{**BULK, "start": "1 s"}]))
    with pytest.raises(ScenarioError, match="has started already"):
        from_dict(scenario(start, start))


def test_what_happened_is_in_the_results_and_formulas_decline(tmp_path):
    document = from_dict(
        scenario(
            {"at": "1 s", "link": "bottleneck", "up": {"rate": "1 Mbit/s"}},
            {"at": "3 s", "flow": "bulk", "does": "stop"},
        )
    )
    result = voxpath_package.run(document, out=tmp_path)
    (path,) = tmp_path.rglob("events.parquet")
    assert pl.read_parquet(path).rows() == [
        (1_000_000_000, "link", "bottleneck ab", "rate_bps", "1000000"),
        (3_000_000_000, "flow", "bulk", "runs", "false"),
    ]
    # What its socket had taken is still on its way when the run ends.
    assert result.flows["status"].to_list() == ["stopped"]
    formulas = [row for row in result.rows if row.estimator != "sim"]
    assert {row.status for row in formulas} == {"not applicable"}
    assert all("timeline" in row.reason for row in formulas)


PROCESSES = {
    "topology": {"kind": "pipe", "link": LINK},
    "flows": [],
    "processes": [{"name": "broker", "host": "server", "app": {"kind": "broker"}}],
}


def test_a_process_is_killed_and_runs_again():
    stop = {"at": "1 s", "process": "broker", "does": "stop"}
    made = events(stop, {"at": "2 s", "process": "broker", "does": "start"}, **PROCESSES)
    assert [event["change"] for event in made] == [
        {"kind": "process", "process": 0, "runs": False},
        {"kind": "process", "process": 0, "runs": True},
    ]


def test_only_a_process_that_runs_is_stopped():
    def refused(*given: dict) -> str:
        with pytest.raises(ScenarioError) as error:
            from_dict(scenario(*given, **PROCESSES))
        return str(error.value)

    stop = {"at": "1 s", "process": "broker", "does": "stop"}
    assert "events[0].process: 'brokr' is none" in refused(stop | {"process": "brokr"})
    assert "events[1].process: it has stopped already" in refused(stop, stop | {"at": "2 s"})
    assert "events[0].process: it runs already: stop it first" in refused(stop | {"does": "start"})
