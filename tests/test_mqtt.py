"""Messages in simulated runs: when they come, how many bytes they are, what finds no room."""

from __future__ import annotations

import polars as pl
import pytest

from voxpath import api
from voxpath.scenario.problems import ScenarioError

NETWORK = """
name = "MQTT"
DURATION
[topology]
kind = "explicit"
hosts = ["field", "cloud", "office"]
[[topology.links]]
name = "uplink"
ends = ["field", "cloud"]
rate = "1 Mbit/s"
delay = "20 ms"
loss = "LOSS"
[[topology.links]]
name = "line"
ends = ["cloud", "office"]
rate = "1 Mbit/s"
delay = "10 ms"
loss = "LOSS"
[hosts.field]
profile = "linux"
[hosts.cloud]
profile = "linux"
[hosts.office]
profile = "linux"
[[processes]]
name = "broker"
host = "cloud"
app = { kind = "broker", BROKER }
[[processes]]
name = "sensors"
host = "field"
SOCKET
app = { kind = "publisher", broker = "cloud", topic = "sensors/{client}", start = "1 s", PUBLISHER }
[[processes]]
name = "dashboard"
host = "office"
app = { kind = "subscriber", broker = "cloud", filters = ["sensors/#"], SUBSCRIBER }
"""


class Run:
    """Tables of a run of the network above."""

    def __init__(self, folder, publisher, subscriber="", broker="", loss="0 %", socket="", duration=""):
        folder.mkdir(exist_ok=True)
        path = folder / "mqtt.toml"
        text = NETWORK.replace("LOSS", loss).replace("SOCKET", socket).replace("DURATION", duration)
        text = text.replace("PUBLISHER", publisher).replace("SUBSCRIBER", subscriber)
        path.write_text(text.replace("BROKER", broker).replace(", }", " }"))
        result = api.run(path, out=folder / "runs", backends=["sim"])
        (self.folder,) = result.folders
        self.flows = {row["flow"]: row for row in result.flows.to_dicts()}

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder / f"{name}.parquet")


IP_AND_TCP = 20 + 32
"""Headers of a segment with timestamps."""


def test_a_message_takes_two_transmissions_and_two_delays(tmp_path):
    run = Run(tmp_path, 'size = "100 B", messages = 3, interval = "1 s"')
    # Fixed header 2, topic 2 + 9, body 100.
    packet = 2 + 2 + len("sensors/0") + 100 + IP_AND_TCP
    each = packet * 8 * 1000
    took = run.table("publications")["last_delivered_ns"] - run.table("publications")["published_ns"]
    expected = 2 * each + 30_000_000
    # The first one waits behind the acknowledgment of CONNACK, which leaves at once.
    # With the last one leaves a DISCONNECT of two bytes.
    ack = IP_AND_TCP * 8 * 1000
    first = expected + ack
    assert took.to_list() == [first, expected, expected + 2 * 8 * 1000]
    at_broker = run.table("publications")["broker_ns"] - run.table("publications")["published_ns"]
    assert at_broker.to_list()[:2] == [ack + each + 20_000_000, each + 20_000_000]
    assert run.flows["dashboard"]["messages_received"] == 3


def test_bytes_by_layer_are_those_of_the_formats(tmp_path):
    run = Run(tmp_path, 'size = "100 B", messages = 5, interval = "1 s", qos = 1')
    sensors = run.flows["sensors"]
    publish = 2 + 2 + len("sensors/0") + 2 + 100
    connect = 14 + len("sensors-0")
    assert sensors["body_bytes"] == 500
    # CONNACK and PUBACK have 4 bytes, DISCONNECT has 2.
    assert sensors["mqtt_bytes"] == connect + 4 + 5 * (publish + 4) + 2
    # Nothing is sent twice, so TCP carries just that.
    assert sensors["tcp_data_bytes"] == sensors["mqtt_bytes"]
    packets = sensors["client_packets_sent"] + sensors["server_packets_sent"]
    # A SYN has 8 bytes of options more.
    assert sensors["header_bytes"] == packets * IP_AND_TCP + 2 * 8
    assert sensors["ip_bytes"] == sensors["tcp_data_bytes"] + sensors["header_bytes"]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_was_written_arrives_before_the_run_ends_whatever_is_lost(qos, tmp_path):
    publisher = f'size = "2 kB", messages = 40, interval = "0 s", qos = {qos}, clients = 3'
    run = Run(tmp_path, publisher, loss="5 %")
    assert run.table("publications")["deliveries"].to_list() == [1] * 120
    assert run.flows["sensors"]["messages_duplicated"] == 0
    numbers = run.table("deliveries").group_by("publisher_client").agg("message")["message"].to_list()
    assert [list(of) for of in numbers] == [sorted(of) for of in numbers]


def test_nagles_algorithm_holds_a_message_back_until_the_one_before_is_acknowledged(tmp_path):
    publisher = 'size = "10 B", messages = 20, interval = "10 ms"'
    held = Run(tmp_path / "on", publisher)
    sent = Run(tmp_path / "off", publisher, socket="tcp = { nagle = false }")
    latency = [run.flows["dashboard"]["latency_p95_ns"] for run in (held, sent)]
    # A round trip of 40 ms: the message that has waited longest waited for nearly all of it.
    assert latency[0] > latency[1] + 20_000_000
    assert held.flows["sensors"]["client_packets_sent"] < sent.flows["sensors"]["client_packets_sent"]


def test_a_full_queue_drops_and_the_table_of_brokers_tells(tmp_path):
    # The line carries 1 Mbit/s, and so does the uplink; three subscribers share the line.
    publisher = 'size = "10 kB", messages = 100, interval = "0 s", qos = 1'
    run = Run(
        tmp_path, publisher, "clients = 3, qos = 1", "queue = 5, in_flight = 2", duration='duration = "60 s"'
    )
    (broker,) = run.table("brokers").to_dicts()
    assert broker["messages_dropped"] > 0
    assert broker["longest_queue"] == 5
    received = run.flows["dashboard"]["messages_received"]
    assert received == 300 - broker["messages_dropped"] == broker["messages_out"]
    assert run.flows["sensors"]["messages_acknowledged"] == 100


def test_who_is_refused_is_told_so(tmp_path):
    users = 'users = { ann = "secret" }'
    run = Run(
        tmp_path, 'messages = 1, user = "ann", password = "guess"', "", users, duration='duration = "5 s"'
    )
    assert run.flows["sensors"]["status"] == "refused"
    assert run.table("clients")["reason"].to_list()[0] == 0x86
    assert run.table("brokers")["refused"].to_list()[0] > 1


def test_the_same_run_gives_the_same_bytes(tmp_path):
    runs = [Run(tmp_path / str(i), "messages = 20, qos = 2, clients = 2", loss="3 %") for i in range(2)]
    for name in ("flows", "publications", "deliveries", "clients", "wire"):
        assert runs[0].table(name).equals(runs[1].table(name))


@pytest.mark.parametrize(
    ("publisher", "subscriber", "told"),
    [
        ("topic_aliases = 3, messages = 1", "", "only version 5 has it"),
        ('messages = 1, keep_alive = "1500 ms"', "", "whole seconds"),
        ('messages = 1, clients = 2, client_id = "same"', "", "several clients need {client}"),
        ("", "", "this process never ends"),
        ("messages = 1", "messages = 0", "must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(publisher, subscriber, told, tmp_path):
    with pytest.raises(ScenarioError, match=told):
        Run(tmp_path, publisher, subscriber)


def test_a_broker_and_a_subscriber_that_need_to_wake_up_are_as_late_as_that(tmp_path):
    took = []
    for wake in ("0 us", "700 us"):
        text = NETWORK.replace("LOSS", "0 %").replace("SOCKET", "").replace("DURATION", "")
        text = text.replace("PUBLISHER", 'size = "100 B", messages = 3, interval = "1 s"')
        text = text.replace(", SUBSCRIBER", "").replace(", BROKER", "")
        text = text.replace('host = "cloud"\n', f'host = "cloud"\nwake = "{wake}"\n')
        text = text.replace('host = "office"\n', f'host = "office"\nwake = "{wake}"\n')
        path = tmp_path / "wake.toml"
        path.write_text(text)
        (run,) = api.run(path, out=tmp_path / "runs", backends=["sim"]).folders
        rows = pl.read_parquet(run / "publications.parquet")
        assert rows["deliveries"].to_list() == [1, 1, 1]
        took.append(rows["last_delivered_ns"] - rows["published_ns"])
    assert (took[1] - took[0]).to_list() == [2 * 700_000] * 3
