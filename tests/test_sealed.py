"""Sealed objects: a hostile broker, readers who leave, rights that end, and the price in bytes."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from voxpath import api
from voxpath.scenario import from_dict
from voxpath.sealed import Grant, Identity, Opener, Owner, Refused, Role, Sealer, verify
from voxpath.sealing import overhead

TOPIC = "ward/7/heart"
LATER = 1_000


class Ward:
    """An owner, a device that publishes, and a nurse and a doctor who read."""

    def __init__(self) -> None:
        self.owner = Owner(Identity("owner"))
        self.device, self.nurse, self.doctor = (Identity(name) for name in ("device", "nurse", "doctor"))
        self.owner.allow(TOPIC, self.device.public, Role.PUBLISH, LATER)
        self.owner.allow(TOPIC, self.nurse.public, Role.READ, LATER)
        self.owner.allow(TOPIC, self.doctor.public, Role.READ | Role.PUBLISH, LATER)

    def sealer(self, one: Identity, now: int = 0) -> Sealer:
        return Sealer(one, self.owner.public, self.owner.grants(TOPIC, now)[one.name])

    def opener(self, one: Identity, now: int = 0, grant: Grant | None = None) -> Opener:
        publishers = self.owner.publishers(TOPIC)
        return Opener(one, self.owner.public, publishers, grant or self.owner.grants(TOPIC, now)[one.name])


@pytest.fixture
def ward():
    return Ward()


@pytest.mark.parametrize("size", [0, 1, 100, 100_000])
def test_readers_get_what_was_sealed_at_a_fixed_price(ward, size):
    body = bytes(range(256)) * (size // 256 + 1)
    body = body[:size]
    sealed = ward.sealer(ward.device).seal(body, 0)
    assert ward.opener(ward.nurse).open(sealed, 0) == body
    assert ward.opener(ward.doctor).open(sealed, 0) == body
    assert len(sealed) == size + overhead("device")


def test_a_broker_reads_nothing(ward):
    secret = b"the pulse is 72 and steady"
    sealed = ward.sealer(ward.device).seal(secret, 0)
    assert all(secret[at : at + 4] not in sealed for at in range(len(secret) - 3))
    # It sees the grants too, and cannot open those of others.
    broker = Identity("nurse")
    for grant in ward.owner.grants(TOPIC, 0).values():
        with pytest.raises(Refused, match="not its owner's"):
            grant.key(broker, ward.owner.public)


def test_every_altered_byte_is_noticed(ward):
    sealed = ward.sealer(ward.device).seal(b"72", 0)
    opener = ward.opener(ward.nurse)
    for at in range(len(sealed)):
        altered = bytearray(sealed)
        altered[at] ^= 1
        with pytest.raises(Refused):
            opener.open(bytes(altered), 0)
    for length in range(len(sealed)):
        with pytest.raises(Refused):
            opener.open(sealed[:length], 0)
    assert opener.open(sealed, 0) == b"72"


def test_replays_and_old_objects_are_noticed(ward):
    sealer, opener = ward.sealer(ward.device), ward.opener(ward.nurse)
    first, second = sealer.seal(b"71", 0), sealer.seal(b"72", 0)
    assert opener.open(second, 0) == b"72"
    for again in (second, first):
        with pytest.raises(Refused, match="come already"):
            opener.open(again, 0)


def test_an_object_of_another_topic_is_noticed(ward):
    other = "ward/8/heart"
    ward.owner.allow(other, ward.nurse.public, Role.READ, LATER)
    ward.owner.allow(other, ward.device.public, Role.PUBLISH, LATER)
    sealed = ward.sealer(ward.device).seal(b"72", 0)
    grant = ward.owner.grants(other, 0)["nurse"]
    opener = Opener(ward.nurse, ward.owner.public, ward.owner.publishers(other), grant)
    with pytest.raises(Refused, match="of another topic"):
        opener.open(sealed, 0)


def test_a_reader_cannot_publish_in_the_name_of_another(ward):
    with pytest.raises(Refused, match="may not publish"):
        ward.sealer(ward.nurse)
    # The nurse has the key, and makes a grant of it as if it were the device's.
    grant = dataclasses.replace(ward.owner.grants(TOPIC, 0)["nurse"], role=Role.PUBLISH)
    with pytest.raises(Refused, match="not its owner's"):
        Sealer(ward.nurse, ward.owner.public, grant)
    forger = Identity("device", opening=ward.device.opening)
    ward.owner.allow(TOPIC, forger.public, Role.PUBLISH, LATER)
    forged = ward.sealer(forger).seal(b"0", 0)
    ward.owner.allow(TOPIC, ward.device.public, Role.PUBLISH, LATER)
    with pytest.raises(Refused, match="altered"):
        ward.opener(ward.nurse).open(forged, 0)


def test_who_was_removed_cannot_read_what_comes_after(ward):
    old = ward.owner.grants(TOPIC, 0)["nurse"]
    nurse = ward.opener(ward.nurse, grant=old)
    assert nurse.open(ward.sealer(ward.device).seal(b"before", 0), 0) == b"before"
    ward.owner.remove(TOPIC, "nurse")
    after = ward.sealer(ward.device).seal(b"after", 0)
    assert ward.opener(ward.doctor).open(after, 0) == b"after"
    with pytest.raises(Refused, match="key 2"):
        nurse.open(after, 0)
    # Not by what it says alone: the old key does not open it either.
    with pytest.raises(Refused, match="not its owner's"):
        dataclasses.replace(old, epoch=2).key(ward.nurse, ward.owner.public)
    late = Identity("late")
    ward.owner.allow(TOPIC, late.public, Role.READ, LATER)
    assert ward.opener(late).open(after, 0) == b"after"


def test_rights_end_at_their_time(ward):
    ward.owner.allow(TOPIC, ward.nurse.public, Role.READ, 50)
    grant = ward.owner.grants(TOPIC, 0)["nurse"]
    nurse, sealer = ward.opener(ward.nurse, grant=grant), ward.sealer(ward.device)
    assert nurse.open(sealer.seal(b"1", 49), 49) == b"1"
    with pytest.raises(Refused, match="is over"):
        nurse.open(sealer.seal(b"2", 50), 50)
    # Whoever turns back the clock has no new key.
    assert "nurse" not in ward.owner.grants(TOPIC, 50)
    with pytest.raises(Refused, match="key 2"):
        nurse.open(ward.sealer(ward.device, 50).seal(b"3", 50), 0)
    with pytest.raises(Refused, match="is over"):
        sealer.seal(b"4", LATER)


def test_who_opened_what_is_accounted_for(ward):
    sealer, opener = ward.sealer(ward.device), ward.opener(ward.nurse)
    for number in range(3):
        opener.open(sealer.seal(b"%d" % number, number), number)
    receipts = opener.receipts
    assert [(it.reader, it.topic, it.at) for it in receipts] == [("nurse", TOPIC, at) for at in range(3)]
    verify(receipts, ward.nurse.public)
    for wrong in ([receipts[0], receipts[2]], receipts[1:], [receipts[1], receipts[0]]):
        with pytest.raises(Refused, match="follow"):
            verify(wrong, ward.nurse.public)
    with pytest.raises(Refused, match="not the reader's"):
        verify([dataclasses.replace(receipts[0], at=9)], ward.nurse.public)


CARRIERS = """name = "one object by four carriers"
duration = "30 s"
[topology]
kind = "pipe"
link = { rate = "10 Mbit/s", delay = "5 ms" }
[hosts.server]
profile = "linux"
run = ["PYTHON", "FOLDER/take.py", "FOLDER/socket"]
[hosts.client]
profile = "linux"
run = ["bash", "FOLDER/client.sh"]
[[processes]]
name = "broker"
host = "server"
app = { kind = "broker" }
[[processes]]
name = "resources"
host = "server"
app = { kind = "coap_server" }
"""
TAKE = """
import socket, sys
listener = socket.create_server(("0.0.0.0", 7000))
end, _ = listener.accept()
with end, open(sys.argv[1], "wb") as file:
    while data := end.recv(4096):
        file.write(data)
"""
GIVE = """
import pathlib, socket, sys
with socket.create_connection(("server", 7000)) as end:
    end.sendall(pathlib.Path(sys.argv[1]).read_bytes())
"""
CLIENT = """set -e
mosquitto_sub -h server -t TOPIC -C 1 -N >FOLDER/mqtt &
sleep 1
mosquitto_pub -h server -t TOPIC -q 1 -f FOLDER/object
wait %1
coap-client-notls -m put -f FOLDER/object coap://server/object
coap-client-notls -m get -o FOLDER/coap coap://server/object
PYTHON FOLDER/give.py FOLDER/object
"""


def test_one_object_goes_by_mqtt_coap_and_a_socket_and_lies_in_a_file(ward, tmp_path):
    """A reader opens it whatever has carried it, through programs that know nothing of it."""
    # More than a segment, and than a block of CoAP.
    body = bytes(range(256)) * 12
    sealed = ward.sealer(ward.device).seal(body, 0)
    (tmp_path / "object").write_bytes(sealed)
    files = {"net.toml": CARRIERS, "client.sh": CLIENT, "take.py": TAKE, "give.py": GIVE}
    for name, text in files.items():
        filled = text.replace("PYTHON", sys.executable).replace("TOPIC", TOPIC)
        (tmp_path / name).write_text(filled.replace("FOLDER", str(tmp_path)))
    api.run(tmp_path / "net.toml", out=tmp_path / "runs", backends=["real"])
    for carrier in ("object", "mqtt", "coap", "socket"):
        came = (tmp_path / carrier).read_bytes()
        assert came == sealed, carrier
        assert ward.opener(ward.nurse).open(came, 0) == body


def test_publishers_of_scenarios_send_bodies_that_are_as_long_as_sealed_ones(ward):
    app = {"kind": "publisher", "broker": "server", "topic": "a", "size": ["1 B", "1 kB"], "sealed": True}
    process = {"name": "device", "host": "client", "app": {**app, "messages": 2}}
    made = {
        "name": "sealed",
        "topology": {"kind": "pipe", "link": {"delay": "1 ms"}},
        "processes": [process],
    }
    sizes = from_dict(made).plan.data["processes"][0]["app"]["sizes"]
    assert sizes == [len(ward.sealer(ward.device).seal(bytes(size), 0)) for size in (1, 1000)]
