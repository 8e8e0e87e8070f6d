"""MQTT over TLS and WebSocket beside OpenSSL's sizes and paho's octets; and paho at our broker."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import socket
import ssl
import sys
import threading
from contextlib import suppress

import polars as pl
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from paho.mqtt import client as paho

from voxpath import api
from voxpath.backends.base import UnanswerableError

SIZES = '["10 B", "1 kB", "100 kB"]'
NETWORK = """
name = "MQTT over layers"
[topology]
kind = "pipe"
link = { rate = "10 Mbit/s", delay = "10 ms" }
[[processes]]
name = "broker"
host = "server"
app = { kind = "broker", OVER }
[[processes]]
name = "reader"
host = "client"
app = { kind = "subscriber", broker = "server", filters = ["a/#"], messages = 3, OVER }
[[processes]]
name = "device"
host = "client"
app = { kind = "publisher", broker = "server", topic = "a/b", size = SIZES, messages = 3, qos = 1, OVER }
""".replace("SIZES", SIZES)


def certified(folder) -> tuple[ssl.SSLContext, ssl.SSLContext, int]:
    """Contexts of a server and of a client that trusts it, and the octets of the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cloud")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("cloud")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "both.pem"
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(text + certificate.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.minimum_version = ssl.TLSVersion.TLSv1_3
    server.load_cert_chain(file)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(file)
    return server, client, len(certificate.public_bytes(serialization.Encoding.DER))


def test_a_simulated_end_says_as_much_as_openssl(tmp_path):
    server_context, client_context, certificate = certified(tmp_path)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(back, there, server_hostname="cloud")
    server = server_context.wrap_bio(there, back, server_side=True)
    flights = []
    for end, out in ((client, there), (server, back)) * 2:
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
        flights.append(out.pending)
    hello, answer, finished, tickets = flights
    there.read()
    client.write(b"x" * 20_000)
    # What a record adds, of 16 kB and of less.
    added = (len(there.read()) - 20_000) / 2
    run = simulated(f'tls = true, library = "openssl", certificate = "{certificate} B"', tmp_path)
    wire = pl.read_parquet(run / "wire.parquet")
    said = {row["end"]: row["data_bytes_sent"] for row in wire.to_dicts() if row["flow"] == "device"}
    (device,) = pl.read_parquet(run / "clients.parquet").filter(flow="device").to_dicts()
    # A packet of 100 kB is in seven records, and good-bye in one.
    sent = device["mqtt_bytes_sent"] + (device["packets_sent"] + 6 + 1) * added + 2
    assert said["opened by device"] == hello + finished + sent
    got = device["mqtt_bytes_received"] + (device["packets_received"] + 1) * added + 2
    # A signature of P-256 has 70 to 72 octets, rarely less.
    assert abs(said["accepted by broker"] - (answer + tickets + got)) <= 3


def simulated(over: str, tmp_path):
    path = tmp_path / "layers.toml"
    path.write_text(NETWORK.replace("OVER", over))
    (run,) = api.run(path, out=tmp_path / "runs", backends=["sim"], capture=["server"]).folders
    return run


@pytest.mark.parametrize("over", ["tls = true", "websocket = true", "tls = true, websocket = true"])
def test_messages_come_over_layers(over, tmp_path):
    run = simulated(over, tmp_path)
    published = pl.read_parquet(run / "publications.parquet")
    assert published["deliveries"].to_list() == [1, 1, 1]
    flows = pl.read_parquet(run / "flows.parquet")
    device = flows.row(by_predicate=pl.col("flow") == "device", named=True)
    # Each layer carries the one above it, whole, and TCP carries the lowest one.
    names = ["body_bytes", "mqtt_bytes", "websocket_bytes", "tls_bytes", "tcp_data_bytes"]
    carried = [device[name] for name in names if device[name] is not None]
    assert carried[0] == 101_010
    assert sorted(set(carried[:-1])) == carried[:-1]
    # Of TLS the broker's good-bye comes when the client is gone.
    assert carried[-1] - carried[-2] == (24 if over.startswith("tls") else 0)
    assert [device[f"{name}_bytes"] is not None for name in ("tls", "websocket")] == [
        f"{name} = true" in over for name in ("tls", "websocket")
    ]


REAL = """
[hosts.client]
profile = "linux"
[hosts.server]
profile = "linux"
"""


@pytest.mark.parametrize(
    "over",
    ["tls = true", 'tls = true, certificate = "4 kB"', 'tls = true, websocket = true, certificate = "607 B"'],
)
def test_tls_of_real_hosts_has_as_many_octets_as_simulated(over, tmp_path):
    path = tmp_path / "layers.toml"
    path.write_text(NETWORK.replace("OVER", over) + REAL)
    said = []
    for backend in ("sim", "real"):
        (run,) = api.run(path, out=tmp_path / "runs", backends=[backend]).folders
        assert pl.read_parquet(run / "publications.parquet")["deliveries"].to_list() == [1, 1, 1]
        rows = pl.read_parquet(run / "wire.parquet").sort("flow", "end")
        said.append(rows.select("flow", "end", "data_bytes_sent").rows())
        if backend == "real":
            assert pl.read_parquet(run / "connections.parquet")["retransmissions"].sum() == 0
    assert said[0] == said[1]


def test_real_hosts_have_no_tls_of_openssl_and_no_certificate_that_is_too_short(tmp_path):
    path = tmp_path / "layers.toml"
    for over, told in (
        (
            'tls = true, library = "openssl"',
            r"^9:\d+: processes\[0\].app.library: TLS of real hosts is that of rustls",
        ),
        (
            'tls = true, certificate = "300 B"',
            r'^9:\d+: processes\[0\].app.certificate: a certificate for "server" .* at least 356 bytes',
        ),
    ):
        path.write_text(NETWORK.replace("OVER", over) + REAL)
        with pytest.raises(UnanswerableError, match=told):
            api.run(path, out=tmp_path / "runs", backends=["real"])


@pytest.mark.parametrize(
    "mixed",
    [
        REAL.replace("[hosts.server]", "[hosts.server]\nsimulated = true"),
        REAL.replace("[hosts.client]", "[hosts.client]\nsimulated = true"),
    ],
)
def test_tls_has_two_real_ends_or_none(mixed, tmp_path):
    """Sizes alone are not understood by who decrypts."""
    path = tmp_path / "mixed.toml"
    path.write_text(NETWORK.replace("OVER", "tls = true") + mixed)
    with pytest.raises(UnanswerableError, match=r'app.tls: TLS .* of "client" and "server" one is real'):
        api.run(path, out=tmp_path / "runs", backends=["real"])


def test_our_clients_speak_tls_to_mosquitto(tmp_path):
    certified(tmp_path)
    both = tmp_path / "both.pem"
    conf = tmp_path / "mosquitto.conf"
    conf.write_text(
        f"listener 1883\nallow_anonymous true\nuser root\n"
        f"certfile {both}\nkeyfile {both}\ntls_version tlsv1.3\n"
    )
    mosquitto = shutil.which("mosquitto")
    assert mosquitto, "mosquitto is missing: make setup installs it"
    text = re.sub(r'\[\[processes\]\]\nname = "broker"\n(.*\n){2}', "", NETWORK)
    text = text.replace("OVER", 'tls = true, start = "1 s"', 1).replace("OVER", 'tls = true, start = "2 s"')
    program = f"run = {json.dumps([mosquitto, '-c', str(conf)])}\nlistens = 1883\n"
    path = tmp_path / "mosquitto.toml"
    path.write_text('duration = "10 s"' + text + REAL + program)
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    assert pl.read_parquet(run / "publications.parquet")["deliveries"].to_list() == [1, 1, 1]
    (device,) = pl.read_parquet(run / "clients.parquet").filter(flow="device").to_dicts()
    assert (device["connections"], device["connections_lost"]) == (1, 0)


def test_mosquittos_clients_speak_tls_to_our_broker(tmp_path):
    """They trust the certificate that the broker shows, as its name is the host's."""
    trusted = tmp_path / "ca.pem"
    fetch = f"{sys.executable} -c 'import ssl; print(ssl.get_server_certificate((\"server\", 8883)))'"
    over = f"-h server -p 8883 --cafile {trusted} -t a/b"
    say = tmp_path / "say.sh"
    say.write_text(
        f"""set -e
until {fetch} >{trusted}; do sleep 0.1; done
mosquitto_sub {over} -q 2 -C 2 &
sleep 1
for qos in 1 2; do mosquitto_pub {over} -m said-$qos -q $qos; done
wait %1
"""
    )
    path = tmp_path / "ours.toml"
    path.write_text(
        f"""name = "mosquitto_pub over TLS"
duration = "30 s"
[topology]
kind = "pipe"
link = {{ rate = "10 Mbit/s", delay = "5 ms" }}
[hosts.server]
profile = "linux"
[hosts.client]
profile = "linux"
run = ["bash", "{say}"]
[[processes]]
name = "broker"
host = "server"
app = {{ kind = "broker", port = 8883, tls = true }}
"""
    )
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    (broker,) = pl.read_parquet(run / "brokers.parquet").to_dicts()
    assert (broker["messages_in"], broker["messages_out"], broker["protocol_errors"]) == (2, 2, 0)
    said = [file.read_text(errors="replace") for file in run.rglob("*") if file.is_file()]
    assert any(text.split() == ["said-1", "said-2"] for text in said)


def test_ends_that_go_over_different_layers_do_not_connect(tmp_path):
    path = tmp_path / "mixed.toml"
    text = NETWORK.replace("OVER", "tls = true", 1).replace("OVER", "websocket = true")
    path.write_text('duration = "10 s"' + text)
    (run,) = api.run(path, out=tmp_path / "runs", backends=["sim"]).folders
    clients = pl.read_parquet(run / "clients.parquet")
    assert clients["connections"].to_list() == [0, 0]
    assert clients["connections_lost"].min() > 5


# paho leaves a connection open whose handshake failed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_our_request_for_a_websocket_is_pahos(tmp_path):
    """But for its random key, as long as ours."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    heard = []

    def serve() -> None:
        end, _ = server.accept()
        with end:
            heard.append(end.recv(4096))
            end.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    client = paho.Client(paho.CallbackAPIVersion.VERSION2, transport="websockets")
    with suppress(OSError, paho.WebsocketConnectionError):
        client.connect("127.0.0.1", port)
    thread.join()
    server.close()
    run = simulated("websocket = true", tmp_path)
    capture = run / "captures" / "server.pcapng"
    ours = capture.read_bytes()
    begin = ours.index(b"GET /mqtt HTTP/1.1")
    ours = ours[begin : ours.index(b"\r\n\r\n", begin) + 4]
    theirs = heard[0].replace(f"127.0.0.1:{port}".encode(), b"server:1883")
    key = re.compile(rb"(?<=Sec-WebSocket-Key: )\S{24}(?=\r\n)")
    assert key.sub(b"", ours) == key.sub(b"", theirs)


# paho 2.1 loses count of a frame that its socket takes in parts, so bodies are small.
PAHO = """
import ssl, sys
from paho.mqtt import client as paho
client = paho.Client(paho.CallbackAPIVersion.VERSION2, transport=sys.argv[1], protocol=int(sys.argv[2]))
client.max_inflight_messages_set(20)
if sys.argv[3] == "True":
    client.tls_set(cert_reqs=ssl.CERT_NONE)
came = []
def on_connect(client, *rest):
    client.subscribe("a/#", qos=2)
def on_subscribe(client, *rest):
    for qos in (0, 1, 2):
        client.publish("a/b", bytes([qos]) * 5_000, qos=qos)
def on_message(client, userdata, message):
    came.append((message.qos, message.payload == bytes([message.qos]) * 5_000))
    if len(came) == 3:
        client.disconnect()
client.on_connect, client.on_subscribe, client.on_message = on_connect, on_subscribe, on_message
client.connect("server", 1883)
client.loop_forever()
assert sorted(came) == [(0, True), (1, True), (2, True)], came
print("all came")
"""


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
@pytest.mark.parametrize(
    ("version", "tls"), [(paho.MQTTv311, False), (paho.MQTTv5, False), (paho.MQTTv5, True)]
)
def test_pahos_clients_speak_to_our_broker(transport, version, tls, tmp_path):
    script = tmp_path / "say.py"
    script.write_text(PAHO)
    path = tmp_path / "paho.toml"
    over = f"websocket = {str(transport == 'websockets').lower()}, tls = {str(tls).lower()}"
    path.write_text(
        f"""name = "paho at our broker"
duration = "30 s"
[topology]
kind = "pipe"
link = {{ rate = "10 Mbit/s", delay = "5 ms" }}
[hosts.client]
profile = "linux"
run = ["{sys.executable}", "{script}", "{transport}", "{version}", "{tls}"]
[hosts.server]
profile = "linux"
[[processes]]
name = "broker"
host = "server"
app = {{ kind = "broker", {over} }}
"""
    )
    (run,) = api.run(path, out=tmp_path / "runs", backends=["real"]).folders
    (broker,) = pl.read_parquet(run / "brokers.parquet").to_dicts()
    assert (broker["messages_in"], broker["messages_out"], broker["protocol_errors"]) == (3, 3, 0)
    said = [file.read_text(errors="replace") for file in run.rglob("*") if file.is_file()]
    assert any("all came" in text for text in said)
