"""Measuring voice requests between two machines: over loopback, and between two hosts of a network."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import voxpath
from voxpath.measuring import traffic as traffics
from voxpath.measuring.client import Measured, MeasuringError, measure
from voxpath.measuring.server import Server
from voxpath.measuring.traffic import TLS, Traffic, TrafficError, read_line

QUICK = Traffic(requests=3, bursts=3, packets=4, interval_s=0.01, wait_s=0.02)


def measured(traffic: Traffic, before: Callable[[int], Any] | None = None) -> Measured:
    """Over loopback."""

    async def both() -> Measured:
        at: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(Server().serve("127.0.0.1", 0, at.set_result))
        try:
            port = await at
            if before:
                await before(port)
            return await measure(traffic, "127.0.0.1", port)
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    return asyncio.run(both())


@pytest.mark.parametrize(
    "changes", [{}, {"persistent": False}, {"multipath": True}, {"intermediate": 0}, {"side": 2}]
)
@pytest.mark.parametrize("tls", ["", *TLS])
def test_every_request_is_answered_once_and_every_octet_counted(changes: dict[str, Any], tls: str):
    traffic = Traffic(**{**QUICK.__dict__, **changes, "tls": tls})
    found = measured(traffic)
    assert len(found.requests) == 3
    for request in found.requests:
        assert request.first_s is not None
        assert request.whole_s is not None
        assert 0 <= request.first_s <= request.whole_s < 5
    # The sizes are the seed's: both ends count the same.
    draws = random.Random(1)
    octets = sum(len(packet) for _ in range(3) for burst in traffic.writes(draws) for packet in burst)
    assert (found.seen["requests"], found.seen["bursts"], found.seen["octets"]) == (3, 6, octets)
    assert len(found.connections) == (1 if traffic.persistent else 3)
    kinds = [one["kind"] for one in found.seen["connections"]]
    assert (kinds.count("voice"), kinds.count("side")) == (len(found.connections), traffic.side)
    assert all(took is not None for took in found.side_s)
    if traffic.multipath:
        assert found.connections[0]["fallback"] is False


def test_times_count_from_the_last_packet_and_not_from_intermediate_answers():
    # The last burst's packets have no marker before the last one, wherever a read cuts them.
    traffic = Traffic(requests=1, bursts=2, packets=3, smallest=1, largest=1)
    written = [packet for burst in traffic.writes(random.Random(3)) for packet in burst]
    assert b"".join(written) == b"002001"
    assert traffic.before_answer == 100
    with_tls = Traffic(requests=1, bursts=2, packets=1, smallest=10, largest=10, tls="1.2")
    assert [len(packet) for burst in with_tls.writes(random.Random(3)) for packet in burst] == [39, 39]
    assert with_tls.before_answer == 129


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nothing\n", "no line of JSON"),
        (b"[]\n", "no object"),
        (b'{"voxpath": 7}\n', "version 7"),
        (b'{"voxpath": 1, "traffic": {"requests": 3}}\n', "does not say what to answer"),
        (Traffic().line().replace(b'"answer": 750', b'"answer": 1e9'), "answer is"),
        (Traffic().line().replace(b'"answer": 750', b'"answer": 2000000'), "1048576 at most"),
        (Traffic().line().replace(b'"persistent": true', b'"persistent": 1'), "persistent is 1"),
    ],
)
def test_what_is_no_request_is_refused(line: bytes, said: str):
    with pytest.raises(TrafficError, match=said):
        read_line(line)


def test_a_hostile_client_changes_nothing_for_others():
    async def hostile(port: int) -> None:
        for octets in (b"\0" * 10_000, b"{}\n", b"deadbeef voice\n111111", b'{"voxpath": 1}\n', b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(octets)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()

    assert all(request.whole_s is not None for request in measured(QUICK, hostile).requests)


def test_nobody_at_the_port_is_told():
    with pytest.raises(MeasuringError, match=r"127\.0\.0\.1 port 1: Connection refused"):
        asyncio.run(measure(QUICK, "127.0.0.1", 1))


def test_the_published_defaults_are_those_of_the_application():
    from voxpath.scenario.apps.iperf_siri import IperfSiri

    app = IperfSiri(kind="iperf_siri")
    given = Traffic()
    assert (app.bursts, app.packets, app.intermediate) == (given.bursts, given.packets, given.intermediate)
    assert (app.smallest, app.largest, app.answer) == (given.smallest, given.largest, given.answer)
    assert (app.interval, app.wait) == (given.interval_s * 1e9, given.wait_s * 1e9)
    assert app.answer <= traffics.MOST


@pytest.mark.parametrize("mptcp", [False, True])
def test_between_two_hosts_times_are_those_of_the_network(mptcp: bool, tmp_path: Path):
    def program(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "voxpath", "measure", *arguments]

    asked = tmp_path / "asked.json"
    own = program(
        "ask", "server", "--requests", "3", "--wait", "100 ms", "--json", *(["--mptcp"] if mptcp else [])
    )
    command = f"{shlex.join(own)} > {shlex.quote(str(asked))}"
    path = {"rate": "10 Mbit/s", "delay": "20 ms"}
    data = {
        "name": "measured",
        "topology": {
            "kind": "multipath",
            "paths": {"wifi": path, "lte": path | {"delay": "40 ms"}},
            "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
        },
        "hosts": {
            "server": {"profile": "linux", "run": program("serve"), "listens": 5301},
            "client": {"profile": "linux", "run": ["sh", "-c", command]},
        },
    }
    result = voxpath.run(data, out=tmp_path / "runs", backends=["real"])
    found = json.loads(asked.read_text())
    assert found["seen"]["requests"] == 3
    assert all(0.05 <= request["first_s"] < 2 for request in found["requests"]), found
    rows = result.table("connections").filter(result.table("connections")["end"] == "client")
    voice = rows.filter(rows["subflow"].is_not_null())
    if not mptcp:
        assert voice.is_empty()
        return
    assert found["connections"][0]["fallback"] is False
    assert found["connections"][0]["subflows"] == 2
    # Both are parts of one connection.
    assert voice["subflow"].to_list() == [1, 2]
    assert voice["flow"].n_unique() == 1
