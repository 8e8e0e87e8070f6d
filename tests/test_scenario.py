"""Scenarios that are right: how they are read, resolved, and what the schema says of them."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT, SCENARIOS, SMALL
from voxpath import _engine
from voxpath.scenario import ScenarioError, from_dict, parse, read
from voxpath.scenario.flows import Tcp
from voxpath.scenario.resolve import canonical
from voxpath.scenario.schema import schema
from voxpath.scenario.tcp import Socket, Stack

FLOW = {"app": {"kind": "bulk", "size": "1 MB"}}
EXPLICIT = {
    "name": "triangle",
    "topology": {
        "kind": "explicit",
        "hosts": ["a", "b"],
        "routers": ["r"],
        "links": [
            {"ends": ["a", "b"], "delay": "1 ms"},
            {"ends": ["a", "r"], "delay": "1 ms"},
            {"ends": ["r", "b"], "delay": "1 ms", "name": "last"},
        ],
        "routes": [{"at": "a", "to": "b", "via": "a-r"}],
    },
    "flows": [{"from": "a", "to": "b", **FLOW}],
}


def plan(**changes) -> dict:
    """The plan of a pipe with changes."""
    base = {"name": "x", "topology": {"kind": "pipe", "link": {}}, "flows": [FLOW]}
    return from_dict(base | changes).plan.data


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_example_scenarios_can_run_and_match_the_schema(path):
    import tomllib

    read(path)
    jsonschema.validate(tomllib.loads(path.read_text("utf-8")), schema())


def test_the_schema_is_a_schema_and_refuses_what_we_refuse():
    jsonschema.Draft202012Validator.check_schema(schema())
    good = {"name": "x", "topology": {"kind": "pipe", "link": {"delay": "5 ms"}}, "flows": [FLOW]}
    jsonschema.validate(good, schema())
    for bad in (
        {**good, "nme": "x"},
        {**good, "topology": {"kind": "pipe", "link": {"delay": 5}}},
        {**good, "topology": {"kind": "pipe", "link": {"delay": "5"}}},
        {**good, "flows": []},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema())
        with pytest.raises(ScenarioError):
            from_dict(bad)


def test_the_plan_of_the_small_scenario_is_the_golden_one():
    """Renewing the file needs a written reason.

    The file was made by this code and read by a person, value by value, against `crates/sim/src/plan/`.
    """
    golden = json.loads((ROOT / "tests" / "golden" / "small.plan.json").read_text())
    resolved = parse(SMALL).plan.data
    for flow in (*resolved["flows"], *golden["flows"]):
        # The profile's parameters are held where they are written, in crates/tcp.
        for end in ("client", "server"):
            flow["transport"][end] = "rfc"
    assert resolved == golden


def test_a_plan_is_canonical():
    text = parse(SMALL).plan.json
    assert text == canonical(json.loads(text))
    assert " " not in text
    assert text == parse("# a comment\n" + SMALL).plan.json


def test_a_dictionary_and_its_text_are_one_scenario():
    document = from_dict(EXPLICIT)
    assert parse(document.text).plan == document.plan


def test_a_seed_changes_the_seed_alone():
    document = parse(SMALL)
    other = document.with_seed(99)
    assert other.plan.data == {**document.plan.data, "seed": 99}


def test_up_and_down_differ_where_they_say_so():
    link = {"rate": "1 Mbit/s", "delay": "5 ms", "up": {"delay": "9 ms"}, "down": {"loss": "1 %"}}
    (made,) = plan(topology={"kind": "pipe", "link": link})["links"]
    assert (made["ab"]["delay_ns"], made["ba"]["delay_ns"]) == (9_000_000, 5_000_000)
    assert (made["ab"]["rate_bps"], made["ba"]["rate_bps"]) == (1_000_000, 1_000_000)
    assert (made["ab"]["loss"], made["ba"]["loss"]) == ({"kind": "none"}, {"kind": "bernoulli", "p": 0.01})


@pytest.mark.parametrize(
    ("loss", "resolved"),
    [
        ("0.3 %", {"kind": "bernoulli", "p": 0.003}),
        ({"kind": "bernoulli", "probability": "50 ppm"}, {"kind": "bernoulli", "p": 0.00005}),
        ({"kind": "bit_errors", "rate": 1e-5}, {"kind": "bit_errors", "rate": 1e-5, "form": "exact"}),
        (
            {"kind": "bit_errors", "rate": 1e-5, "form": "linear"},
            {"kind": "bit_errors", "rate": 1e-5, "form": "linear"},
        ),
        ({"kind": "list", "packets": [3, 17]}, {"kind": "list", "packets": [3, 17]}),
    ],
)
def test_losses_are_written_in_several_ways(loss, resolved):
    (made,) = plan(topology={"kind": "pipe", "link": {"loss": loss}})["links"]
    assert made["ab"]["loss"] == made["ba"]["loss"] == resolved


@pytest.mark.parametrize(
    ("queue", "packets", "size"),
    [("100 packets", 100, None), ("64 KiB", None, 65_536), (["1 packet", "3 kB"], 1, 3000)],
)
def test_a_queue_has_room_for_packets_bytes_or_both(queue, packets, size):
    (made,) = plan(topology={"kind": "pipe", "link": {"rate": "1 Mbit/s", "queue": queue}})["links"]
    assert (made["ab"]["queue_packets"], made["ab"]["queue_bytes"]) == (packets, size)


def test_a_dumbbell_has_pairs_that_flows_take_in_turn():
    made = plan(
        topology={"kind": "dumbbell", "bottleneck": {"rate": "1 Mbit/s"}, "access": {}, "pairs": 2},
        flows=[{"name": "f", "count": 3, "start": "1 s", "stagger": "10 ms", **FLOW}],
    )
    names = [node["name"] for node in made["nodes"]]
    assert names == ["client1", "client2", "server1", "server2", "left", "right"]
    assert [node["addresses"] for node in made["nodes"]] == [
        ["10.0.0.1"],
        ["10.0.0.2"],
        ["10.0.0.3"],
        ["10.0.0.4"],
        ["10.0.0.5"],
        ["10.0.0.6"],
    ]
    found = [(f["name"], names[f["from"]], names[f["to"]], f["start_ns"]) for f in made["flows"]]
    assert found == [
        ("f-1", "client1", "server1", 1_000_000_000),
        ("f-2", "client2", "server2", 1_010_000_000),
        ("f-3", "client1", "server1", 1_020_000_000),
    ]
    ends = {link["name"]: (names[link["a"]], names[link["b"]]) for link in made["links"]}
    assert ends == {
        "bottleneck": ("left", "right"),
        "client1-left": ("client1", "left"),
        "right-server1": ("right", "server1"),
        "client2-left": ("client2", "left"),
        "right-server2": ("right", "server2"),
    }


def test_an_explicit_topology_keeps_its_routes():
    made = from_dict(EXPLICIT).plan.data
    assert made["routes"] == [{"node": 0, "to": 1, "link": 1}]
    assert [link["name"] for link in made["links"]] == ["a-b", "a-r", "last"]


def test_addresses_given_are_kept_and_never_given_twice():
    hosts = {"client": {"addresses": ["10.0.0.1", "2001:DB8::0:1"]}}
    nodes = plan(hosts=hosts)["nodes"]
    assert nodes[0]["addresses"] == ["10.0.0.1", "2001:db8::1"]
    assert nodes[1]["addresses"] == ["10.0.0.2"]


def test_a_socket_overrides_its_host_and_a_host_its_profile():
    made = plan(
        hosts={
            "client": {"profile": "linux", "tcp": {"mss": "1000 B", "nagle": False, "rto": {"min": "1 s"}}},
            "server": {"profile": "riverbed16"},
        },
        flows=[{"transport": {"kind": "tcp", "mss": "500 B", "server": {"mss": "400 B"}}, **FLOW}],
    )
    transport = made["flows"][0]["transport"]
    linux = json.loads(_engine.profile("linux"))
    riverbed = json.loads(_engine.profile("riverbed16"))
    rto = {**linux["rto"], "min": 1_000_000_000}
    assert transport["client"] == {**linux, "mss": 500, "nagle": False, "rto": rto}
    assert transport["server"] == {**riverbed, "mss": 400}


def test_every_parameter_of_the_engine_is_a_key_of_the_language():
    for name in _engine.profiles():
        config = json.loads(_engine.profile(name))
        assert set(config) == set(Stack.model_fields)
        for key in ("delayed_ack", "rto", "persist"):
            (table,) = (
                kind for kind in Stack.model_fields[key].annotation.__args__ if kind is not type(None)
            )
            assert set(config[key]) == set(table.model_fields)
    assert set(Socket.model_fields) < set(Stack.model_fields)
    assert set(Tcp.model_fields) == set(Socket.model_fields) | {"kind", "client", "server"}


@pytest.mark.parametrize("congestion", ["reno", "cubic"])
@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno"])
def test_the_engine_takes_every_choice_of_the_language(congestion, recovery):
    hosts = {"client": {"tcp": {"congestion": congestion, "recovery": recovery}}}
    plan(hosts=hosts)


@given(st.integers(0, 2**60))
def test_what_is_printed_is_read_again(value):
    assert _engine.parse_span(_engine.format_span(value)) == value
    bounded = value % 10**15
    assert _engine.parse_size(_engine.format_size(bounded)) == bounded
    rate = value % 10**14 + 1
    assert _engine.parse_rate(_engine.format_rate(rate)) == rate


@given(st.text())
def test_no_text_breaks_the_reader(text):
    try:
        parse(text)
    except ScenarioError as error:
        assert error.problems


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=20,
    )
)
def test_no_value_breaks_a_table(value):
    base = {"name": "x", "topology": {"kind": "pipe", "link": {}}, "flows": [FLOW]}
    for data in (
        {**base, "topology": value},
        {**base, "topology": {"kind": "pipe", "link": value}},
        {**base, "topology": {"kind": "pipe", "link": {"loss": value}}},
        {**base, "hosts": value},
        {**base, "flows": value},
        {**base, "flows": [value]},
        {**base, "sweep": value},
    ):
        try:
            from_dict(data)
        except ScenarioError as error:
            assert error.problems


@given(st.lists(st.text("aé😀 ", max_size=6), min_size=1, max_size=30))
def test_elements_of_a_long_line_have_their_columns(words: list[str]):
    quoted = [f'["{word}", "{word}"]' for word in words]
    text = f"first = 1\nlist = [{', '.join(quoted)}]\n"
    _, places, faults = _engine.parse_toml(text)
    assert faults == []
    column = len("list = [") + 1
    for index, element in enumerate(quoted):
        assert places["list", index] == (2, column)
        assert places["list", index, 0] == (2, column + 1)
        assert places["list", index, 1] == (2, column + element.index(", ") + 2)
        column += len(element) + len(", ")
    assert places[("list",)] == (2, 1)
