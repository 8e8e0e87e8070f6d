"""CoAP in scenarios: sizes by the standard, blocks, losses, and libcoap's programs on real hosts."""

from __future__ import annotations

import itertools
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


def sensor(client: dict, link: dict | None = None, server: dict | None = None, **resource) -> dict:
    """A server with a resource, and a client of it."""
    resources = [{"path": "sensors/1", "size": "20 B", **resource}]
    made = scenario(link, {"resources": resources, **(server or {})})
    device = {"server": "server", "path": "sensors/1", **client}
    if device["kind"] == "coap_observer":
        made["duration"] = "10 min"
    made["processes"][0]["app"] = device
    return made


def ages(folder) -> list[float]:
    rows = pl.read_parquet(folder / "readings.parquet")
    return ((rows["received_ns"] - rows["made_ns"]) / 1e6).to_list()


def test_who_asks_gets_what_was_last_read_and_who_observes_each_reading_at_once(tmp_path):
    asks = {"kind": "coap_client", "method": "get", "messages": 10, "start": "500 ms"}
    asked, folder = run(sensor(asks), tmp_path)
    # A request has 4 + 2 + 8 + 2 octets, an answer 4 + 2 + 1 + 20; headers have 28.
    assert asked["device"]["coap_bytes"] == 10 * (16 + 27)
    assert ages(folder) == pytest.approx([500 + 10 + (44 + 55) * 8e-4] * 10, abs=1e-3)
    (first, *_) = pl.read_parquet(folder / "exchanges.parquet").to_dicts()
    assert (first["outcome"], first["bytes"], first["deliveries"]) == ("done", 20, 1)
    assert first["delivered_ns"] == first["acknowledged_ns"]
    observes = {"kind": "coap_observer", "readings": 10, "start": "500 ms"}
    told, folder = run(sensor(observes), tmp_path)
    rows = pl.read_parquet(folder / "readings.parquet")
    assert rows["reading"].to_list() == list(range(10))
    assert rows["source"].cast(pl.String).unique().to_list() == ["reader"]
    # The first one answers the registration, a notification takes one way.
    assert ages(folder)[0] > 500
    assert all(5 < age < 5.1 for age in ages(folder)[1:])
    # Registration and leaving have an answer each, notifications an acknowledgment.
    assert told["device"]["coap_datagrams"] == 2 + 2 * 9 + 2
    assert told["reader"]["coap_notifications"] == 9
    assert told["device"]["status"] == "completed"


def test_a_large_representation_takes_a_round_trip_for_each_block(tmp_path):
    flows, folder = run(sensor({"kind": "coap_client", "method": "get"}, size="3000 B"), tmp_path)
    (row,) = pl.read_parquet(folder / "exchanges.parquet").to_dicts()
    assert row["bytes"] == 3000
    assert 30 < (row["acknowledged_ns"] - row["published_ns"]) / 1e6 < 33
    observes = {"kind": "coap_observer", "readings": 3, "block": 256}
    flows, folder = run(sensor(observes, size="3000 B"), tmp_path)
    rows = pl.read_parquet(folder / "readings.parquet")
    assert rows["bytes"].to_list() == [3000] * 3
    # A notification has the first block, and eleven requests fetch the others.
    assert all(115 < age < 125 for age in ages(folder)[1:])
    assert flows["device"]["coap_bodies_bytes"] == 9000


def test_confirmed_notifications_come_through_losses_and_others_do_not(tmp_path):
    lossy, observes = {"loss": "20 %"}, {"kind": "coap_observer"}
    counted = {"interval": "5 s", "readings": 60}
    sure, folder = run(sensor(observes, lossy, **counted), tmp_path)
    assert pl.read_parquet(folder / "readings.parquet")["reading"].max() == 59
    assert sure["reader"]["coap_retransmissions"] > 10
    assert sure["device"]["coap_readings"] >= 50
    unsure, folder = run(sensor(observes, lossy, {"confirmable": False}, **counted), tmp_path)
    assert unsure["reader"]["coap_retransmissions"] == 0
    assert 35 <= unsure["device"]["coap_readings"] <= 58
    rows = pl.read_parquet(folder / "readings.parquet")
    assert rows["reading"].is_sorted()


def test_who_observes_hears_again_of_a_server_that_was_stopped(tmp_path):
    made = sensor({"kind": "coap_observer"}, readings=180)
    made |= {"duration": "3 min"}
    made["events"] = [
        {"at": "20 s", "process": "reader", "does": "stop"},
        {"at": "30 s", "process": "reader", "does": "start"},
    ]
    _, folder = run(made, tmp_path)
    numbers = pl.read_parquet(folder / "readings.parquet")["reading"].to_list()
    # It registers again when what it has is out of date: 65 to 75 s after the last notification.
    gap = max(later - earlier for earlier, later in itertools.pairwise(numbers))
    assert 65 <= gap <= 76
    assert numbers[-1] == 179


def test_what_is_put_is_told_to_who_observes_it(tmp_path):
    made = scenario(server={}, messages=5, size="50 B")
    watcher = {"kind": "coap_observer", "server": "server", "path": "field/data", "start": "500 ms"}
    made["processes"].append({"name": "watcher", "host": "client", "app": {**watcher, "readings": 5}})
    _, folder = run(made, tmp_path)
    rows = pl.read_parquet(folder / "readings.parquet")
    assert rows["source"].cast(pl.String).to_list() == ["device"] * 5
    assert rows["reading"].to_list() == list(range(5))


def test_a_resource_that_is_not_there_is_refused(tmp_path):
    made = sensor({"kind": "coap_client", "method": "get", "path": "elsewhere"})
    flows, folder = run(made, tmp_path)
    assert flows["device"]["coap_given_up"] == flows["device"]["coap_undelivered"] == 1
    assert pl.read_parquet(folder / "exchanges.parquet")["outcome"].to_list() == ["refused"]
    made = sensor({"kind": "coap_observer", "path": "elsewhere", "readings": 1})
    flows, _ = run(made, tmp_path)
    assert flows["device"]["status"] == "refused"


def test_bad_resources_name_their_place():
    got = {"kind": "coap_client", "method": "get"}
    for key, value in (("interval", "0 s"), ("size", "17 MiB"), ("readings", 0)):
        with pytest.raises(ScenarioError, match=rf"resources\[0\].{key}"):
            from_dict(sensor(got, **{key: value}))
    with pytest.raises(ScenarioError, match=r"app.size: has no effect"):
        from_dict(sensor({**got, "size": "10 B"}))
    twice = sensor(got)
    app = twice["processes"][1]["app"]
    app["resources"] = [app["resources"][0], {"path": "/sensors//1"}]
    with pytest.raises(ScenarioError, match="another resource has this path"):
        api.run(from_dict(twice), backends=["sim"], out=None)


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


def test_our_observer_is_told_by_libcoaps_server(tmp_path):
    program = shutil.which("coap-server-notls")
    assert program, "coap-server-notls is missing: make setup installs it"
    observes = {"kind": "coap_observer", "server": "server", "path": "time", "start": "1 s", "readings": 4}
    made = scenario(hosts=linux(run=[program]))
    made["processes"][0]["app"] = observes
    made["hosts"]["client"]["ends"] = False
    flows, folder = run({**made, "duration": "20 s"}, tmp_path, "real")
    assert flows["device"]["status"] == "completed"
    rows = pl.read_parquet(folder / "readings.parquet")
    # libcoap's example tells the time each second, as a text.
    assert rows["bytes"].to_list() == [len("Jan 01 00:00:00")] * 4


def test_our_client_gets_from_libcoaps_server_what_it_has_put(tmp_path):
    program = shutil.which("coap-server-notls")
    assert program, "coap-server-notls is missing: make setup installs it"
    made = scenario(hosts=linux(run=[program, "-d", "10"]), size="5000 B", start="1 s")
    asks = {"kind": "coap_client", "method": "get", "server": "server", "path": "field/data", "start": "3 s"}
    made["processes"].append({"name": "asks", "host": "client", "app": asks})
    made["hosts"]["client"]["ends"] = False
    flows, folder = run({**made, "duration": "20 s"}, tmp_path, "real")
    rows = pl.read_parquet(folder / "readings.parquet")
    assert rows.select(pl.col("flow").cast(pl.String), "reading", "bytes").rows() == [("asks", 0, 5000)]
    assert flows["asks"]["coap_datagrams"] >= 2 * 5


def test_libcoaps_client_gets_and_observes_at_our_server(tmp_path):
    program = shutil.which("coap-client-notls")
    assert program, "coap-client-notls is missing: make setup installs it"
    body, back, told = tmp_path / "body", tmp_path / "back", tmp_path / "told"
    body.write_text("".join(f"{number:05} " for number in range(500)))
    say = (
        f"{program} -m put -f {body} coap://server/field/data"
        f" && {program} -m get -b 256 -o {back} coap://server/field/data"
        f" && {program} -m get -s 4 -o {told} coap://server/sensors/1"
    )
    resources = [{"path": "sensors/1", "size": "100 B", "interval": "500 ms"}]
    made = scenario(server={"resources": resources}, hosts=linux())
    made["processes"] = made["processes"][1:]
    made["hosts"]["client"] |= {"start": "500 ms", "run": ["sh", "-c", say]}
    flows, _ = run(made, tmp_path / "runs", "real")
    assert back.read_bytes() == body.read_bytes()
    # Half a second each, for four seconds; the answer to the registration is one more.
    assert 5 <= flows["reader"]["coap_notifications"] <= 10
    assert len(told.read_bytes()) % 100 == 0
