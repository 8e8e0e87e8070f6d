"""CoAP in scenarios: sizes by the standard, blocks, losses, and libcoap's programs on real hosts."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

from voxpath import api
from voxpath.scenario import ScenarioError, from_dict

LINK = {"rate": "10 Mbit/s", "delay": "5 ms"}


def scenario(
    link: dict | None = None, server: dict | None = None, hosts: dict | None = None, **client
) -> dict:
    made = {
        "name": "CoAP",
        "seed": 7,
        "topology": {"kind": "pipe", "link": {**LINK, **(link or {})}},
        "processes": [
            {
                "name": "device",
                "host": "client",
                "app": {"kind": "coap_client", "server": "server", "path": "field/data", **client},
            },
        ],
    }
    if hosts:
        made["hosts"] = hosts
    if server is not None:
        made["processes"].append(
            {"name": "reader", "host": "server", "app": {"kind": "coap_server", **server}}
        )
    return made


def run(made: dict, folder, backend: str = "sim"):
    result = api.run(from_dict(made), out=folder, backends=[backend])
    (run,) = result.folders
    return {row["flow"]: row for row in result.flows.to_dicts()}, run


def test_a_message_has_the_octets_of_the_standard(tmp_path):
    flows, folder = run(scenario(server={}, size="10 B"), tmp_path)
    # Header 4, token 2, Uri-Path 1 + 5 and 1 + 4, marker 1, body 10; the answer is a header and the token.
    assert flows["device"]["coap_bytes"] == 28 + 6
    assert flows["device"]["coap_datagrams"] == 2
    assert flows["device"]["transport"] == "coap"
    assert flows["device"]["status"] == "completed"
    (row,) = pl.read_parquet(folder / "exchanges.parquet").to_dicts()
    assert row["outcome"] == "done"
    # One way with headers of UDP and IP, and back: 5 ms each.
    assert row["delivered_ns"] == 5_000_000 + 56 * 800
    assert row["acknowledged_ns"] == row["delivered_ns"] + 5_000_000 + 34 * 800


def test_each_block_costs_a_round_trip(tmp_path):
    times = []
    for size in (1024, 1025, 2048, 2049):
        flows, _ = run(scenario(server={}, size=f"{size} B"), tmp_path)
        times.append(flows["device"]["coap_delivery_p50_ns"] / 1e6)
    assert times[1] - times[0] == pytest.approx(10, abs=0.2)
    assert times[2] - times[1] == pytest.approx(0.8, abs=0.1)
    assert times[3] - times[2] == pytest.approx(10, abs=0.2)


def test_confirmable_messages_come_through_losses_and_others_do_not(tmp_path):
    lossy = {"loss": "20 %"}
    given = {"size": "100 B", "messages": 100, "interval": "1 s"}
    sure, folder = run(scenario(lossy, {}, confirmable=True, **given), tmp_path)
    unsure, _ = run(scenario(lossy, {}, confirmable=False, **given), tmp_path)
    assert sure["device"]["coap_undelivered"] <= 1
    assert sure["device"]["coap_retransmissions"] > 20
    assert sure["reader"]["coap_duplicates"] > 0
    assert pl.read_parquet(folder / "exchanges.parquet")["deliveries"].max() == 1
    assert 8 <= unsure["device"]["coap_undelivered"] <= 35
    assert unsure["device"]["coap_retransmissions"] == 0


def test_a_server_may_want_smaller_blocks_and_refuse_large_bodies(tmp_path):
    small, _ = run(scenario(server={"block": 64}, size="2000 B"), tmp_path)
    assert small["device"]["coap_undelivered"] == small["device"]["coap_given_up"] == 0
    # One block of 1024, and the rest by 64.
    assert small["device"]["coap_datagrams"] == 2 * (1 + -(-(2000 - 1024) // 64))
    refused, _ = run(scenario(server={"body": "1 kB"}, size="2000 B"), tmp_path)
    assert refused["device"]["coap_given_up"] == 1


def test_bad_settings_name_their_place():
    for key, value in (("server", "nobody"), ("block", 100), ("size", "17 MiB"), ("max_retransmit", 99)):
        made = scenario(server={})
        made["processes"][0]["app"][key] = value
        with pytest.raises(ScenarioError, match=rf"processes\[0\].app.{key}"):
            from_dict(made)


def linux(**server) -> dict:
    return {"client": {"profile": "linux"}, "server": {"profile": "linux", **server}}


@pytest.mark.parametrize(("size", "confirmable"), [(100, True), (100, False), (5000, True)])
def test_our_client_puts_at_libcoaps_server(size, confirmable, tmp_path):
    program = shutil.which("coap-server-notls")
    assert program, "coap-server-notls is missing: make setup installs it"
    hosts = linux(run=[program, "-d", "10"])
    made = scenario(
        hosts=hosts,
        size=f"{size} B",
        confirmable=confirmable,
        messages=3,
        start="1 s",
        interval="100 ms",
    )
    made["hosts"]["client"]["ends"] = False
    flows, folder = run({**made, "duration": "10 s"}, tmp_path, "real")
    rows = pl.read_parquet(folder / "exchanges.parquet")
    assert rows["outcome"].to_list() == ["done"] * 3
    # A round trip for each block: 5 ms each way.
    blocks = -(-size // 1024)
    assert (rows["acknowledged_ns"] - rows["published_ns"]).min() >= 10_000_000 * blocks
    assert flows["device"]["coap_datagrams"] >= 2 * 3 * blocks


def test_libcoaps_client_puts_at_our_server(tmp_path):
    program = shutil.which("coap-client-notls")
    assert program, "coap-client-notls is missing: make setup installs it"
    body = "x" * 3000
    say = f"for i in 1 2; do {program} -m put -b 512 -e {body} coap://server/field/data || exit 1; done"
    made = scenario(server={}, hosts=linux())
    made["processes"] = made["processes"][1:]
    made["hosts"]["client"] |= {"start": "500 ms", "run": ["sh", "-c", say]}
    flows, _ = run(made, tmp_path, "real")
    assert flows["reader"]["coap_bodies_bytes"] == 2 * len(body)
