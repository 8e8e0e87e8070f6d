"""MQTT over TLS and WebSocket beside OpenSSL's sizes and paho's octets; and paho at our broker."""

from __future__ import annotations

import datetime
import re
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
from voxpath.scenario.processes import layers

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


def test_flights_and_records_are_as_long_as_openssls(tmp_path):
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
    assert (hello, finished, tickets) == (layers.CLIENT_HELLO, layers.CLIENT_FINISHED, layers.TICKETS)
    # A signature of P-256 has 70 to 72 octets, rarely less.
    assert abs(answer - certificate - layers.SERVER_FLIGHT) <= 3
    for size in (1, 100, 16_384, 20_000):
        client.write(b"x" * size)
        assert len(there.read()) == size + 22 * -(-size // 16_384)


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
    # What the layers add is no octet of MQTT, and some of TCP's data.
    assert device["tcp_data_bytes"] > device["mqtt_bytes"] > device["body_bytes"] == 101_010


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
import sys
from paho.mqtt import client as paho
client = paho.Client(paho.CallbackAPIVersion.VERSION2, transport=sys.argv[1], protocol=int(sys.argv[2]))
client.max_inflight_messages_set(20)
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
@pytest.mark.parametrize("version", [paho.MQTTv311, paho.MQTTv5])
def test_pahos_clients_speak_to_our_broker(transport, version, tmp_path):
    script = tmp_path / "say.py"
    script.write_text(PAHO)
    path = tmp_path / "paho.toml"
    over = "websocket = true" if transport == "websockets" else "websocket = false"
    path.write_text(
        f"""name = "paho at our broker"
duration = "30 s"
[topology]
kind = "pipe"
link = {{ rate = "10 Mbit/s", delay = "5 ms" }}
[hosts.client]
profile = "linux"
run = ["{sys.executable}", "{script}", "{transport}", "{version}"]
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
