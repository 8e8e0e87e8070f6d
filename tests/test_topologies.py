"""Topologies of several hosts, interfaces and paths: what is built, and which way flows take."""

from __future__ import annotations

import pytest

import voxpath as voxpath_package
from voxpath.backends.path import paths
from voxpath.canonical import canonical
from voxpath.scenario import ScenarioError, from_dict

BULK = {"app": {"kind": "bulk", "size": "10 kB"}}
PATHS = {"wifi": {"delay": "5 ms"}, "lte": {"delay": "30 ms"}}


def plan(topology: dict, flows: list[dict], **more) -> dict:
    return from_dict({"name": "x", "topology": topology, "flows": flows, **more}).plan.data


def names(data: dict) -> list[str]:
    return [node["name"] for node in data["nodes"]]


def ways(data: dict) -> list[tuple[list[str], list[str]]]:
    """The links of each flow, there and back."""
    links = [link["name"] for link in data["links"]]
    return [tuple([links[link] for link, _ in way] for way in path) for path in steps(data)]


def steps(data: dict) -> list:
    """The number and the direction of each link of each flow, there and back."""

    class Plan:
        json = canonical(data)

    return paths(Plan)


def problems(topology: dict, flows: list[dict], **more) -> list[tuple[str, str]]:
    with pytest.raises(ScenarioError) as refused:
        plan(topology, flows, **more)
    return [(problem.key, problem.message) for problem in refused.value.problems]


def test_a_star_has_a_link_for_each_host():
    topology = {"kind": "star", "hosts": 3, "link": {"delay": "1 ms"}, "own": {"host2": {"delay": "9 ms"}}}
    data = plan(topology, [{"from": "host1", "to": "host2", **BULK}])
    assert names(data) == ["host1", "host2", "host3", "hub"]
    assert [link["ab"]["delay_ns"] for link in data["links"]] == [1_000_000, 9_000_000, 1_000_000]
    assert ways(data) == [(["host1", "host2"], ["host2", "host1"])]
    named = plan({"kind": "star", "hosts": ["a", "b"], "link": {}}, [{"from": "a", "to": "b", **BULK}])
    assert names(named) == ["a", "b", "hub"]


def test_whatever_hosts_of_a_medium_send_passes_one_direction_of_one_link():
    topology = {"kind": "medium", "hosts": ["a", "b", "c"], "air": {"rate": "1 Mbit/s", "delay": "1 ms"}}
    data = plan(topology, [{"from": one, "to": two, **BULK} for one, two in ("ab", "bc", "ca")])
    for one, two in zip("abc", "bca", strict=True):
        there, back = ways(data)["abc".index(one)]
        assert there == [f"{one}-sends", "air", f"{two}-hears"]
        assert back == [f"{two}-sends", "air", f"{one}-hears"]
    medium = [link["name"] for link in data["links"]].index("air")
    assert len({step for path in steps(data) for way in path for step in way if step[0] == medium}) == 1
    refused = {"kind": "medium", "hosts": ["a", "air"], "air": {"delay": "1 ms", "down": {"loss": "1 %"}}}
    assert [key for key, _ in problems(refused, [{"from": "a", "to": "air", **BULK}])] == [
        "topology.hosts[1]",
        "topology.air.down",
    ]


def test_a_parking_lot_has_traffic_along_it_and_across_each_hop():
    topology = {"kind": "parking_lot", "hops": 3, "hop": {"rate": "1 Mbit/s"}, "access": {}}
    data = plan(topology, [{"count": 4, **BULK}])
    assert ways(data) == [
        (["client", "hop1", "hop2", "hop3", "server"], ["server", "hop3", "hop2", "hop1", "client"]),
        *(
            ([f"client{hop}", f"hop{hop}", f"server{hop}"], [f"server{hop}", f"hop{hop}", f"client{hop}"])
            for hop in (1, 2, 3)
        ),
    ]


def test_a_multipath_client_has_an_address_for_each_path():
    topology = {"kind": "multipath", "paths": PATHS, "access": {"delay": "1 ms"}}
    flows = [BULK, {"via": "lte", **BULK}, {"via": "wifi", **BULK}]
    data = plan(topology, flows)
    assert [node["addresses"] for node in data["nodes"]] == [
        ["10.0.0.1", "10.0.0.2"],
        ["10.0.0.3"],
        ["10.0.0.4"],
    ]
    assert data["interfaces"] == [{"node": 0, "address": i, "link": i} for i in (0, 1)]
    wifi, lte = (([path, "access"], ["access", path]) for path in ("wifi", "lte"))
    assert ways(data) == [wifi, lte, wifi]


def test_a_family_is_given_to_every_interface():
    topology = {"kind": "multipath", "paths": PATHS}
    data = plan(topology, [{"via": "lte", **BULK}], family="both")
    assert data["nodes"][0]["addresses"] == ["10.0.0.1", "fd76:6f78::1", "10.0.0.2", "fd76:6f78::2"]
    assert data["nodes"][2]["addresses"] == ["10.0.0.4", "fd76:6f78::4"]
    assert [interface["link"] for interface in data["interfaces"]] == [0, 0, 1, 1]
    (flow,) = plan(topology, [{"via": "lte", **BULK}], family="ipv6")["flows"]
    assert flow["transport"]["client"]["mss"] == 1440


def test_a_host_of_an_explicit_topology_can_have_interfaces_too():
    topology = {
        "kind": "explicit",
        "hosts": ["phone", "server"],
        "routers": ["core"],
        "links": [
            {"name": "wifi", "ends": ["phone", "core"]},
            {"name": "lte", "ends": ["phone", "core"], "delay": "1 ms"},
            {"ends": ["core", "server"]},
        ],
    }
    flow = {"from": "phone", "to": "server", "via": "lte", **BULK}
    hosts = {"phone": {"interfaces": {"wifi": ["10.1.0.1"], "lte": []}}}
    data = plan(topology, [flow], hosts=hosts)
    assert data["nodes"][0]["addresses"] == ["10.1.0.1", "10.0.0.1"]
    assert ways(data) == [(["lte", "core-server"], ["core-server", "lte"])]
    assert problems(topology, [flow]) == [
        ("flows[0].via", "'lte' is no link at which 'phone' has an address; there is none")
    ]
    wrong = {"phone": {"interfaces": {"wfi": [], "lte": []}}}
    assert problems(topology, [flow], hosts=wrong) == [
        ("hosts.phone.interfaces.wfi", "is no link of this host; did you mean 'wifi'? allowed: wifi, lte")
    ]
    taken = {"phone": {"interfaces": {"wifi": ["10.1.0.1"], "lte": ["10.1.0.1"]}}}
    assert problems(topology, [flow], hosts=taken) == [
        ("hosts.phone.interfaces.lte[0]", "10.1.0.1 is an address of 'phone' already")
    ]


def test_names_that_are_taken_are_told():
    flow = {"from": "a", "to": "b", **BULK}
    star = {"kind": "star", "hosts": ["a", "b", "a", "hub"], "link": {}}
    assert [key for key, _ in problems(star, [flow])] == ["topology.hosts[2]", "topology.hosts[3]"]
    own = {"kind": "star", "hosts": ["a", "b"], "link": {}, "own": {"c": {}}}
    assert problems(own, [flow]) == [("topology.own.c", "is no host; allowed: a, b")]
    several = {"kind": "multipath", "paths": {"access": {}}}
    assert [key for key, _ in problems(several, [BULK])] == ["topology.paths.access"]


def test_paths_are_as_long_as_they_say(tmp_path):
    data = {
        "name": "two paths",
        "topology": {"kind": "multipath", "paths": PATHS, "access": {"delay": "1 ms"}},
        "flows": [{"name": path, "via": path, **BULK} for path in PATHS],
    }
    result = voxpath_package.run(from_dict(data), out=tmp_path)
    assert result.flows["established_ns"].to_list() == [12_000_000, 62_000_000]
