"""Programs of others over our network: our clients at mosquitto, and mosquitto's clients at our broker."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from voxpath import api
from voxpath.backends.base import UnanswerableError

NETWORK = """
name = "MQTT with programs"
duration = "20 s"
[topology]
kind = "explicit"
hosts = ["field", "cloud", "office"]
[[topology.links]]
name = "uplink"
ends = ["field", "cloud"]
rate = "10 Mbit/s"
delay = "5 ms"
[[topology.links]]
name = "line"
ends = ["cloud", "office"]
rate = "10 Mbit/s"
delay = "5 ms"
"""


def clients(size: str, interval: str, messages: int, qos: int, version: str = "3.1.1") -> str:
    """Two sensors with so many messages each, and who reads them all."""
    return f"""
[hosts.field]
profile = "linux"
[hosts.office]
profile = "linux"
[[processes]]
name = "sensors"
host = "field"
[processes.app]
kind = "publisher"
broker = "cloud"
clients = 2
topic = "sensors/{{client}}"
size = {size}
interval = "{interval}"
messages = {messages}
qos = {qos}
version = "{version}"
start = "1 s"
[[processes]]
name = "dashboard"
host = "office"
[processes.app]
kind = "subscriber"
broker = "cloud"
filters = ["sensors/+"]
messages = {2 * messages}
version = "{version}"
"""


def table(folder, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


# amqtt takes a second or two to start.
BROKERS = {
    "mosquitto": "listener 1883\nallow_anonymous true\n",
    "amqtt": """
listeners:
  default: { type: tcp, bind: "0.0.0.0:1883" }
plugins:
  amqtt.plugins.authentication.AnonymousAuthPlugin: { allow_anonymous: true }
""",
}


def configured(broker: str, folder) -> list[str]:
    """The command of a broker of others."""
    program = shutil.which(broker) or shutil.which(broker, path=str(Path(sys.executable).parent))
    assert program, f"{broker} is missing: make setup installs it"
    conf = folder / f"{broker}.yaml"
    conf.write_text(BROKERS[broker])
    return [program, "-c", str(conf)]


@pytest.mark.parametrize(
    ("broker", "qos", "version"),
    [("mosquitto", 0, "3.1.1"), ("mosquitto", 2, "5"), ("amqtt", 0, "3.1.1"), ("amqtt", 2, "3.1.1")],
)
def test_our_clients_speak_to_brokers_of_others(broker, qos, version, tmp_path):
    path = tmp_path / "others.toml"
    command = json.dumps(configured(broker, tmp_path))
    program = f'[hosts.cloud]\nprofile = "linux"\nrun = {command}\nlistens = 1883\n'
    path.write_text(NETWORK + program + clients('"3 kB"', "50 ms", 5, qos, version))
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    published = table(run, "publications")
    assert published["deliveries"].to_list() == [1] * 10
    assert published["duplicates"].sum() == 0
    assert published["acknowledged_ns"].null_count() == (10 if qos == 0 else 0)
    took = published["last_delivered_ns"] - published["published_ns"]
    # Two links of 5 ms each; how much later is the machine's affair.
    assert took.min() > 10_000_000
    # amqtt sends at the QoS of the subscription, also where the message had a lower one.
    assert table(run, "deliveries")["qos"].to_list() == [2 if broker == "amqtt" else qos] * 10


@pytest.mark.parametrize(
    ("broker", "size", "qos"),
    [("ours", '"1 B"', 0), ("ours", '["1 B", "20 B", "0 B"]', 1), ("mosquitto", '"1 B"', 2)],
)
def test_messages_of_an_octet_are_told_apart_by_their_order(broker, size, qos, tmp_path):
    """More than an octet counts."""
    path = tmp_path / "short.toml"
    if broker == "ours":
        cloud = '[[processes]]\nname = "broker"\nhost = "cloud"\napp = { kind = "broker" }\n'
        cloud = '[hosts.cloud]\nprofile = "linux"\n' + cloud
    else:
        command = json.dumps(configured(broker, tmp_path))
        cloud = f'[hosts.cloud]\nprofile = "linux"\nrun = {command}\nlistens = 1883\n'
    path.write_text(NETWORK + cloud + clients(size, "10 ms", 300, qos))
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    published = table(run, "publications")
    assert published["deliveries"].to_list() == [1] * 600
    assert published["duplicates"].sum() == 0
    assert published["broker_ns"].null_count() == (0 if broker == "ours" else 600)
    deliveries = table(run, "deliveries")
    for client in (0, 1):
        came = deliveries.filter(pl.col("publisher_client") == client)
        assert came["message"].to_list() == list(range(300))
        assert came["topic"].unique().to_list() == [f"sensors/{client}"]


def test_whose_a_short_message_is_has_to_be_told_by_its_topic(tmp_path):
    path = tmp_path / "short.toml"
    cloud = '[[processes]]\nname = "broker"\nhost = "cloud"\napp = { kind = "broker" }\n'
    text = NETWORK + '[hosts.cloud]\nprofile = "linux"\n' + cloud + clients('"1 B"', "10 ms", 300, 0)
    path.write_text(text.replace("sensors/{client}", "sensors"))
    with pytest.raises(UnanswerableError, match=r"topic: the topic tells whose a message"):
        api.run(path, out=tmp_path / "runs", backends=["real"])
    at = text.index('[[processes]]\nname = "sensors"')
    other = text[at : text.index("[[processes]]", at + 1)].replace('"sensors"', '"others"')
    path.write_text(text + other)
    with pytest.raises(UnanswerableError, match=r"topic: \"sensors\" has this topic too"):
        api.run(path, out=tmp_path / "runs", backends=["real"])


def test_mosquittos_clients_speak_to_our_broker(tmp_path):
    assert shutil.which("mosquitto_pub"), "mosquitto-clients is missing: make setup installs it"
    path = tmp_path / "ours.toml"
    say = "for qos in 0 1 2; do mosquitto_pub -h cloud -t sensors/0 -m said-$qos -q $qos || exit 1; done"
    path.write_text(
        f"""{NETWORK}
[hosts.office]
profile = "linux"
run = ["mosquitto_sub", "-h", "cloud", "-t", "sensors/+", "-q", "2", "-C", "3", "-V", "mqttv5"]
[hosts.cloud]
profile = "linux"
[hosts.field]
profile = "linux"
start = "1 s"
run = ["sh", "-c", "{say}"]
[[processes]]
name = "broker"
host = "cloud"
app = {{ kind = "broker" }}
"""
    )
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    (broker,) = table(run, "brokers").to_dicts()
    assert (broker["messages_in"], broker["messages_out"], broker["protocol_errors"]) == (3, 3, 0)
    outputs = (
        sorted((run / "programs").rglob("*")) if (run / "programs").exists() else sorted(run.rglob("*.txt"))
    )
    said = [text for text in (file.read_text() for file in outputs if file.is_file()) if "said" in text]
    assert any(text.split() == ["said-0", "said-1", "said-2"] for text in said), outputs


RESTART = """
[hosts.cloud]
profile = "linux"
[hosts.field]
profile = "linux"
[hosts.office]
profile = "linux"
[[processes]]
name = "broker"
host = "cloud"
app = { kind = "broker", persistent = true }
[[processes]]
name = "sensors"
host = "field"
[processes.app]
kind = "publisher"
broker = "cloud"
topic = "sensors/0"
size = "1 kB"
interval = "200 ms"
messages = 20
qos = 2
clean = false
start = "1 s"
[[processes]]
name = "dashboard"
host = "office"
app = { kind = "subscriber", broker = "cloud", filters = ["sensors/+"], messages = 20, clean = false }
[[events]]
at = "2 s"
process = "broker"
does = "stop"
[[events]]
at = "4500 ms"
process = "broker"
does = "start"
"""


@pytest.mark.parametrize("backend", ["sim", "real"])
def test_a_broker_that_was_stopped_comes_back_with_what_it_stored(backend, tmp_path):
    path = tmp_path / "restart.toml"
    path.write_text(NETWORK + RESTART)
    (run,) = api.run(path, out=tmp_path / "runs", backends=[backend]).folders
    published = table(run, "publications")
    assert published["deliveries"].to_list() == [1] * 20
    assert published["duplicates"].sum() == 0
    # Reset, and refused at least once a second later.
    assert table(run, "clients")["connections_lost"].min() >= 2
    came = published["last_delivered_ns"]
    stopped = published.filter((came > 2_100_000_000) & (came < 4_500_000_000))
    assert stopped.is_empty(), "nothing comes while there is no broker"


def test_the_network_counts_what_connections_of_real_clients_send(tmp_path):
    """The same bytes by layer as in a simulated run, unless the kernel retransmitted."""
    path = tmp_path / "wire.toml"
    broker = """
[hosts.cloud]
profile = "linux"
[[processes]]
name = "broker"
host = "cloud"
app = { kind = "broker" }
"""
    path.write_text(NETWORK + broker + clients('"3 kB"', "50 ms", 5, 1, "5"))
    found = {}
    for backend in ("sim", "real"):
        (run,) = api.run(path, out=tmp_path / "runs", backends=[backend]).folders
        rows = table(run, "wire").sort("flow", "end", "data_bytes_sent").to_dicts()
        found[backend] = rows
        for row in rows:
            headers = row["ip_bytes_sent"] - row["data_bytes_sent"]
            assert 40 * row["packets_sent"] <= headers <= 80 * row["packets_sent"]
    named = [[(row["flow"], row["end"], row["host"]) for row in rows] for rows in found.values()]
    assert named[0] == named[1]
    assert named[0].count(("sensors", "opened by sensors", "field")) == 2
    again = table(run, "connections")["retransmissions"].sum()
    for sim, real in zip(*found.values(), strict=True):
        assert sim["data_bytes_sent"] <= real["data_bytes_sent"]
        assert again > 0 or sim["data_bytes_sent"] == real["data_bytes_sent"]
    # Bodies of 3 kB, five of each of two clients.
    flows = table(run, "flows").filter(pl.col("flow") == "sensors")
    assert flows["tcp_data_bytes"][0] > 30_000 == flows["body_bytes"][0]


def test_of_a_programs_connection_our_end_alone_has_a_row(tmp_path):
    assert shutil.which("mosquitto_pub"), "mosquitto-clients is missing: make setup installs it"
    path = tmp_path / "program.toml"
    path.write_text(
        f"""{NETWORK}
[hosts.cloud]
profile = "linux"
[hosts.field]
profile = "linux"
run = ["mosquitto_pub", "-h", "cloud", "-t", "a/b", "-m", "said", "-q", "1"]
[[processes]]
name = "broker"
host = "cloud"
app = {{ kind = "broker" }}
"""
    )
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    (row,) = table(run, "wire").to_dicts()
    assert (row["flow"], row["end"], row["host"]) == ("", "accepted by broker", "cloud")
    # CONNACK and PUBACK of MQTT 3.1.1.
    assert row["data_bytes_sent"] == 8


SEGMENTS = """
[hosts.cloud]
profile = "linux"
[hosts.field]
profile = "linux"
[[processes]]
name = "broker"
host = "cloud"
app = { kind = "broker" }
"""


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_mosquittos_messages_are_in_as_many_segments_as_ours(qos, tmp_path):
    """To 2 %, on the kernel's TCP and on ours."""
    assert shutil.which("mosquitto_pub"), "mosquitto-clients is missing: make setup installs it"
    sizes = (1, 10, 1000, 100_000, 500_000, 1_000_000)
    ours = "".join(
        f'[[processes]]\nname = "pub{number}"\nhost = "field"\n'
        f'app = {{ kind = "publisher", broker = "cloud", '
        f'topic = "a", size = "{size} B", qos = {qos}, messages = 1, start = "{number} s" }}\n'
        for number, size in enumerate(sizes)
    )
    say = tmp_path / "say.sh"
    lines = [f"head -c {size} /dev/zero | mosquitto_pub -h cloud -t a -q {qos} -s" for size in sizes]
    say.write_text("set -e\n" + "\n".join(lines))
    program = SEGMENTS.replace("[hosts.field]", f'[hosts.field]\nrun = ["sh", "{say}"]')
    counted = {}
    for backend, text in (("sim", SEGMENTS + ours), ("real", program)):
        path = tmp_path / f"{backend}.toml"
        path.write_text(NETWORK + text)
        (run,) = api.run(path, out=tmp_path / "runs", backends=[backend]).folders
        rows = table(run, "connections").sort("opened_ns")
        assert rows["retransmissions"].sum() == 0
        ends = [
            rows.filter(pl.col("host") == host)["data_segments_sent"].to_list() for host in ("field", "cloud")
        ]
        assert [len(end) for end in ends] == [len(sizes)] * 2
        counted[backend] = ends
    (ours, answers), (theirs, got) = counted["sim"], counted["real"]
    assert got == pytest.approx(answers, rel=0.02)
    # Simulated, a message of QoS 0 and the DISCONNECT behind it leave together.
    together = [size + 40 < 1448 and qos == 0 for size in sizes]
    assert theirs == pytest.approx([it + more for it, more in zip(ours, together, strict=True)], rel=0.02)
