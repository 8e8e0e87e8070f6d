"""What the network tells real hosts, over IPv4 and IPv6: echoes, hops, sizes, closed ports; the timeline."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import PATIENCE_S
from voxpath.scenario import from_dict

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")

PYTHON = sys.executable

PING = f"""\
import socket, struct, sys
v6 = ":" in sys.argv[1]
with socket.socket(
    socket.AF_INET6 if v6 else socket.AF_INET,
    socket.SOCK_DGRAM,
    socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP,
) as asking:
    asking.settimeout({PATIENCE_S})
    asking.sendto(struct.pack("!BBHHH", 128 if v6 else 8, 0, 0, 0, 1) + b"hear me", (sys.argv[1], 0))
    heard, (who, *_) = asking.recvfrom(200)
    print(who, heard[0], heard[8:].decode())
"""

# As traceroute does: datagrams with ever more hops, and who says that they were not enough.
TRACE = f"""\
import select, socket, struct, sys
target = sys.argv[1]
v6 = ":" in target
family, level = (socket.AF_INET6, socket.IPPROTO_IPV6) if v6 else (socket.AF_INET, socket.IPPROTO_IP)
hops, errors = (socket.IPV6_UNICAST_HOPS, 25) if v6 else (socket.IP_TTL, 11)
for ttl in range(1, 10):
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.setsockopt(level, hops, ttl)
        asking.setsockopt(level, errors, 1)
        asking.sendto(b"?", (target, 33434))
        waiting = select.poll()
        waiting.register(asking, 0)
        assert waiting.poll(1000 * {PATIENCE_S}), "nobody answers"
        _, ((_, _, told),), _, _ = asking.recvmsg(100, 500, socket.MSG_ERRQUEUE)
        _, _, kind, code = struct.unpack_from("=IBBB", told)
        offender = told[16 + 8 : 16 + 24] if v6 else told[16 + 4 : 16 + 8]
        print(socket.inet_ntop(family, offender), kind, code)
        if kind == (1 if v6 else 3):
            break
"""

CONNECT = f"""\
import socket, sys
try:
    socket.create_connection((sys.argv[1], 80), timeout={PATIENCE_S})
except ConnectionRefusedError:
    print("refused")
"""


def scenario(family: str, *, mtu: str | None = None, **more) -> dict:
    bottleneck = {"rate": "20 Mbit/s", "delay": "5 ms", "queue": "100 packets"}
    topology = {
        "kind": "dumbbell",
        "bottleneck": bottleneck | ({"mtu": mtu} if mtu else {}),
        "access": {"delay": "1 ms"},
    }
    return {
        "name": "x",
        "family": family,
        "topology": topology,
        "hosts": {"client": {"profile": "linux", "real": True}, "server": {"profile": "linux"}},
        **more,
    }


def said(net, script: str, *arguments: str) -> list[str]:
    done = net.host("client").run(
        [PYTHON, "-c", script, *arguments], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_routers_and_simulated_hosts_answer_what_a_real_host_asks(family: str, tmp_path: Path):
    data = scenario(family)
    data["hosts"]["server"]["simulated"] = True
    nodes = {node["name"]: node["addresses"][0] for node in from_dict(data).plan.data["nodes"]}
    v6 = family == "ipv6"
    reply, exceeded, unreachable = (129, "3 0", "1 4") if v6 else (0, "11 0", "3 3")
    with voxpath_package.real(data, out=tmp_path) as net:
        for name in ("left", "right", "server"):
            assert said(net, PING, nodes[name]) == [f"{nodes[name]} {reply} hear me"]
        assert said(net, TRACE, nodes["server"]) == [
            f"{nodes['left']} {exceeded}",
            f"{nodes['right']} {exceeded}",
            f"{nodes['server']} {unreachable}",
        ]
        assert said(net, CONNECT, nodes["server"]) == ["refused"]
        net.finish()


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_the_kernel_finds_the_path_mtu(family: str, tmp_path: Path):
    flow = {"name": "upload", "app": {"kind": "bulk", "size": "2 MB"}}
    document = from_dict(scenario(family, mtu="1300 B", flows=[flow]))
    with voxpath_package.real(document, observe=["packets"], out=tmp_path) as net:
        net.wait()
        result = net.finish()
    assert result.flows["status"].to_list() == ["completed"]
    assert result.flows["bytes_delivered"].to_list() == [2_000_000]
    (folder,) = (path.parent for path in tmp_path.rglob("packets.parquet"))
    packets = pl.read_parquet(folder / "packets.parquet")
    sizes = {link: packets.filter(pl.col("link") == link)["ip_bytes"] for link in ("bottleneck ab",)}
    assert sizes["bottleneck ab"].max() == 1300
    elements = pl.read_parquet(folder / "elements.parquet")
    assert elements.filter(pl.col("place") == "left")["packets_dropped"].item() > 0


def test_the_timeline_and_the_web_reach_real_hosts(tmp_path: Path):
    web = {"kind": "web", "connections": 3, "pages": 2, "reading": "10 ms", "parsing": "10 ms"}
    bursts = {"kind": "onoff", "rate": "2 Mbit/s", "on": "50 ms", "off": "50 ms"}
    data = scenario(
        "ipv4",
        flows=[
            {"name": "endless", "app": {"kind": "bulk"}},
            {"name": "web", "app": web},
            {"name": "bursts", "app": bursts | {"packets": "100 packets"}},
            {"name": "datagrams", "app": bursts, "transport": {"kind": "udp"}},
        ],
        events=[
            {"at": "500 ms", "link": "bottleneck", "rate": "5 Mbit/s"},
            {"at": "1 s", "flow": "endless", "does": "stop"},
            {"at": "1 s", "flow": "datagrams", "does": "stop"},
        ],
    )
    with voxpath_package.real(data, out=tmp_path) as net:
        net.wait()
        result = net.finish()
    assert dict(result.flows.select("flow", "status").iter_rows()) == dict.fromkeys(
        ["endless", "web.1", "web.2", "web.3", "bursts", "datagrams"], "completed"
    )
    assert result.flows.filter(pl.col("app") == "web")["pages_loaded"].to_list() == [2, 2, 2]
    (path,) = tmp_path.rglob("events.parquet")
    assert pl.read_parquet(path)["value"].to_list() == ["5000000", "5000000", "false", "false"]


def test_a_real_run_ends_with_its_limit_of_time(tmp_path: Path):
    data = scenario(
        "ipv4",
        flows=[{"name": "endless", "app": {"kind": "bulk", "size": "1 GB"}}],
        limits={"time": "500 ms"},
    )
    with voxpath_package.real(data, out=tmp_path) as net:
        net.wait()
        net.finish()
    (path,) = tmp_path.rglob("verdict.json")
    verdict = json.loads(path.read_text())
    assert (verdict["limit"], verdict["valid"]) == ("time", False)
