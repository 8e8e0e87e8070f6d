"""What our clients and our broker put on the wire is, byte for byte, what paho, mosquitto and its clients do.

The peers talk over the loopback through a relay that notes what passes; ours are simulated and captured.
"""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest
from paho.mqtt import client as paho

from voxpath import api

SIZES = (1, 10, 1000, 16_384, 100_000, 1_000_000)
LEVELS = (0, 1, 2)
VERSIONS = {"3.1.1": paho.MQTTv311, "5": paho.MQTTv5}
TOPIC = "field/temperature"


@dataclass
class Recorded:
    """Both directions of a connection."""

    up: bytearray = field(default_factory=bytearray)
    down: bytearray = field(default_factory=bytearray)
    ends: list[socket.socket] = field(default_factory=list)


@contextmanager
def relay(target: int):
    """Passes connections on to a port, and notes what passes: its own port, and the notes."""
    notes: list[Recorded] = []
    server = socket.create_server(("127.0.0.1", 0))
    threads = [threading.Thread(target=_accept, args=(server, target, notes))]
    threads[0].start()
    try:
        yield server.getsockname()[1], notes
    finally:
        # Who waits at a socket is not woken by a close.
        for end in [server, *(end for recorded in notes for end in recorded.ends)]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        threads[0].join()
        server.close()


def _accept(server: socket.socket, target: int, notes: list[Recorded]) -> None:
    serving = []
    while True:
        try:
            here, _ = server.accept()
        except OSError:
            break
        recorded = Recorded()
        notes.append(recorded)
        serving.append(threading.Thread(target=_serve, args=(here, target, recorded)))
        serving[-1].start()
    for thread in serving:
        thread.join()


def _serve(here: socket.socket, target: int, recorded: Recorded) -> None:
    with here, socket.create_connection(("127.0.0.1", target)) as there:
        recorded.ends += [here, there]
        back = threading.Thread(target=_pump, args=(there, here, recorded.down))
        back.start()
        _pump(here, there, recorded.up)
        back.join()


def _pump(source: socket.socket, sink: socket.socket, notes: bytearray) -> None:
    try:
        while data := source.recv(65_536):
            notes += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # One end has reset it, which the other one is told.
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def mosquitto(folder):
    """A broker on the loopback; its port."""
    assert shutil.which("mosquitto"), "mosquitto is missing: make setup installs it"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    conf = folder / "mosquitto.conf"
    conf.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = subprocess.Popen([shutil.which("mosquitto"), "-c", conf], stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: listens(port))
        yield port
    finally:
        broker.kill()
        broker.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def eventually(condition, within: float = 30) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


CASES = [(version, qos, size) for version in VERSIONS for qos in LEVELS for size in SIZES]


def scenario(in_flight: int) -> str:
    """Each case is a publisher of one message, one after the other; two subscribers take all."""
    lines = [
        'name = "each message alone"',
        '[topology]\nkind = "pipe"\nlink = { rate = "1 Gbit/s", delay = "1 ms" }',
        '[[processes]]\nname = "broker"\nhost = "server"\napp = { kind = "broker" }',
    ]
    shared = f'broker = "server", in_flight = {in_flight}'
    lines += [
        f'[[processes]]\nname = "sub{version}"\nhost = "client"\napp = {{ kind = "subscriber", {shared}, '
        f'client_id = "sub{version}", filters = ["field/#"], messages = {len(CASES)}, version = "{version}" '
        "}"
        for version in VERSIONS
    ]
    lines += [
        f'[[processes]]\nname = "pub{number}"\nhost = "client"\napp = {{ kind = "publisher", {shared}, '
        f'client_id = "pub{number}", topic = "{TOPIC}", size = "{size} B", qos = {qos}, messages = 1, '
        f'version = "{version}", start = "{1 + number} s" }}'
        for number, (version, qos, size) in enumerate(CASES)
    ]
    return "\n".join(lines)


def captured(path) -> dict[str, Recorded]:
    """Both directions of each connection of a capture to port 1883, by its client's identifier."""
    data, at = path.read_bytes(), 0
    streams: dict[int, tuple[Recorded, dict[bytes, int]]] = {}
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            (size,) = struct.unpack_from("<I", data, at + 20)
            packet = data[at + 28 : at + 28 + size]
            segment = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4])]
            source, target, sequence = struct.unpack_from("!HHI", segment)
            body = segment[(segment[12] >> 4) * 4 :]
            recorded, next_of = streams.setdefault(
                min(source, target) ^ 1883 ^ max(source, target), (Recorded(), {})
            )
            side = recorded.up if target == 1883 else recorded.down
            key = packet[12:16]
            if segment[13] & 2:
                next_of[key] = sequence + 1
            elif body:
                assert sequence == next_of[key], "nothing is lost here"
                next_of[key] += len(body)
                side += body
        at += length
    return {client_id(recorded.up): recorded for recorded, _ in streams.values()}


def client_id(up: bytes) -> str:
    """Of the CONNECT with which a direction begins."""
    version, at = up[8], 12
    if version == 5:
        at += 1 + up[12]
    (length,) = struct.unpack_from("!H", up, at)
    return up[at + 2 : at + 2 + length].decode()


def bodies(recorded: dict[str, Recorded]) -> dict[int, bytes]:
    """The body of each message, as the simulated publishers sent it."""
    found = {}
    for number, (_, _, size) in enumerate(CASES):
        up = bytes(recorded[f"pub{number}"].up)
        begin = up.index(TOPIC.encode()) + len(TOPIC)
        version, qos, _ = CASES[number]
        begin += 2 * (qos > 0) + (version == "5")
        found[number] = up[begin : begin + size]
        assert len(found[number]) == size
    return found


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Captured runs of our clients and our broker, by the messages in flight that clients announce."""
    found = {}
    for in_flight in (20, 65_535):
        folder = tmp_path_factory.mktemp("mqtt")
        path = folder / "mqtt.toml"
        path.write_text(scenario(in_flight))
        (run,) = api.run(path, out=folder / "runs", capture=["client"]).folders
        found[in_flight] = captured(run / "captures" / "client.pcapng")
    return found


def compare(ours: Recorded, theirs: Recorded, what: object) -> None:
    assert len(theirs.up) > 12, what
    assert bytes(ours.up) == bytes(theirs.up), what
    assert bytes(ours.down) == bytes(theirs.down), what


def test_paho_and_mosquitto_send_the_same_bytes_as_ours(simulated, tmp_path):
    ours = simulated[65_535]
    content = bodies(ours)
    with mosquitto(tmp_path) as broker, relay(broker) as (port, notes):
        subscribers = []
        for version, protocol in VERSIONS.items():
            subscriber = paho.Client(paho.CallbackAPIVersion.VERSION2, f"sub{version}", protocol=protocol)
            came = []
            subscriber.on_message = lambda _client, _data, message, came=came: came.append(message.payload)
            granted = threading.Event()
            subscriber.on_subscribe = lambda *_, granted=granted: granted.set()
            subscriber.connect("127.0.0.1", port)
            subscriber.loop_start()
            subscriber.subscribe("field/#", qos=2)
            assert granted.wait(30)
            subscribers.append((subscriber, came))
        for number, (version, qos, _) in enumerate(CASES):
            publisher = paho.Client(
                paho.CallbackAPIVersion.VERSION2, f"pub{number}", protocol=VERSIONS[version]
            )
            published = threading.Event()
            publisher.on_publish = lambda *_, published=published: published.set()
            publisher.connect("127.0.0.1", port)
            publisher.loop_start()
            publisher.publish(TOPIC, content[number], qos=qos)
            assert published.wait(30)
            eventually(lambda: all(len(came) == number + 1 for _, came in subscribers))  # noqa: B023
            # What acknowledges it passes before the next message comes.
            expected = acknowledged(ours, number)
            eventually(lambda: [len(of.up) for of in notes[: len(VERSIONS)]] == expected)  # noqa: B023
            publisher.disconnect()
            publisher.loop_stop()
        for subscriber, _ in subscribers:
            subscriber.disconnect()
            subscriber.loop_stop()
        whole = [recorded for recorded in notes if len(recorded.up) > 12]
        eventually(lambda: all(recorded.up.endswith(b"\xe0\x00") for recorded in whole))
    theirs = {client_id(recorded.up): recorded for recorded in whole}
    assert theirs.keys() == ours.keys()
    for name, recorded in theirs.items():
        compare(ours[name], recorded, name)


def acknowledged(ours: dict[str, Recorded], number: int) -> list[int]:
    """How many bytes each subscriber has sent once it has acknowledged the messages up to this one."""
    answers = sum({0: 0, 1: 4, 2: 8}[qos] for _, qos, _ in CASES[: number + 1])
    everything = sum({0: 0, 1: 4, 2: 8}[qos] for _, qos, _ in CASES)
    return [len(ours[f"sub{version}"].up) - 2 - everything + answers for version in VERSIONS]


def test_mosquittos_clients_send_the_same_bytes_as_ours(simulated, tmp_path):
    ours = simulated[20]
    content = bodies(ours)
    with mosquitto(tmp_path) as broker, relay(broker) as (port, notes):
        for number, (version, qos, _) in enumerate(CASES):
            file = tmp_path / "body"
            file.write_bytes(content[number])
            spoken = "mqttv5" if version == "5" else "311"
            command = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(port), "-i", f"pub{number}"]
            subprocess.run([*command, "-t", TOPIC, "-q", str(qos), "-V", spoken, "-f", file], check=True)
        eventually(lambda: all(recorded.up.endswith(b"\xe0\x00") for recorded in notes))
    assert len(notes) == len(CASES)
    for recorded in notes:
        name = client_id(recorded.up)
        # Nobody has subscribed there, which version 5 says in a PUBACK.
        assert bytes(ours[name].up) == bytes(recorded.up), name
