"""The scenarios of the study: the same data from a sender to a receiver, by a socket or through a broker."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from voxpath.scenario import from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario import Document

SEED = 2023

LAN, INTERNET = "LAN", "Internet"
NETWORKS = (LAN, INTERNET)

SOCKET, MQTT = "socket", "MQTT"
WAYS = (SOCKET, MQTT)

SENDER, BROKER, RECEIVER = "sender", "broker", "receiver"
HOSTS = (SENDER, BROKER, RECEIVER)

TOPIC = "field/data"
"""Of ten characters; the publication does not name one."""

STARTS = "1 s"
"""When the sender begins: the receiver has subscribed by then."""

NETWORK: Mapping[str, Mapping[str, Any]] = {
    # 40 Mbit/s for the stations, which an access point halves as it repeats every packet.
    LAN: {
        "kind": "medium",
        "hosts": list(HOSTS),
        "air": {
            "rate": "20 Mbit/s",
            "delay": {"kind": "normal", "mean": "2 ms", "deviation": "500 us"},
            "queue": "500 packets",
        },
    },
    INTERNET: {
        "kind": "star",
        "hosts": list(HOSTS),
        "link": {
            "rate": "20 Mbit/s",
            "delay": {"kind": "normal", "mean": "10 ms", "deviation": "1 ms"},
            "queue": "500 packets",
            "loss": "0.1 %",
        },
    },
}
"""Ours: the publication says "wireless" and "uncontrolled", and no rate, delay or loss."""


@cache
def published() -> dict[str, Any]:
    """`published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def claim(group: str, name: str) -> str:
    """A sentence of the text."""
    return str(published()["claims"][group][name])


def payloads() -> dict[str, int]:
    """Octets of each payload; kB are 1000."""
    units = {"B": 1, "kB": 1000}
    return {name: int(name.split()[0]) * units[name.split()[1]] for name in published()["setup"]["payloads"]}


def links(network: str, host: str) -> tuple[str, str]:
    """The directions of links by which a host sends and receives."""
    return (f"{host}-sends ab", f"{host}-hears ab") if network == LAN else (f"{host} ab", f"{host} ba")


def simulated(network: str, way: str, payload: str, qos: int = 0) -> Document:
    """Our application, or our clients and our broker; a file and a sequence of bytes are the same here."""
    made = _scenario(network, way, payload)
    if way == SOCKET:
        made["flows"] = [
            {
                "name": "data",
                "from": SENDER,
                "to": RECEIVER,
                "start": STARTS,
                "app": {"kind": "bulk", "size": payload},
            }
        ]
    else:
        made["processes"] = [
            {"name": "broker", "host": BROKER, "app": {"kind": "broker"}},
            {
                "name": "subscriber",
                "host": RECEIVER,
                "app": {
                    "kind": "subscriber",
                    "broker": BROKER,
                    "client_id": RECEIVER,
                    "filters": [TOPIC],
                    "messages": 1,
                },
            },
            {
                "name": "data",
                "host": SENDER,
                "app": {
                    "kind": "publisher",
                    "broker": BROKER,
                    "client_id": SENDER,
                    "topic": TOPIC,
                    "size": payload,
                    "messages": 1,
                    "qos": qos,
                    "start": STARTS,
                },
            },
        ]
    return from_dict(made, f"thapa2023/{network}/{way}")


Source = Literal["file", "byte"]
SOURCES: tuple[Source, ...] = ("file", "byte")

_PORT = 5000
_RECEIVES = f"""import socket
taken, _ = socket.create_server(("", {_PORT})).accept()
while taken.recv(65536):
    pass"""
_SENDS = f"""import socket, sys
with open(sys.argv[1], "rb") as data, socket.create_connection(("{RECEIVER}", {_PORT})) as there:
    there.sendall(data.read())"""
_CONF = r"listener 1883\nallow_anonymous true\n"


def real(network: str, way: str, payload: str, source: Source) -> Document:
    """Python's sockets, or mosquitto with its clients: a file that is read, or bytes that are generated."""
    made = _scenario(network, way, payload)
    octets = payloads()[payload]
    generated = f"head -c {octets} /dev/zero"
    if way == SOCKET:
        sends = f"python3 -c '{_SENDS}'"
        receives = {"run": ["python3", "-c", _RECEIVES], "listens": _PORT}
    else:
        sends = f"mosquitto_pub -h {BROKER} -t {TOPIC} -i {SENDER}"
        receives = {
            "run": ["mosquitto_sub", "-h", BROKER, "-t", TOPIC, "-i", RECEIVER, "-C", "1", "-F", "%l"],
        }
        made["hosts"][BROKER] |= {
            "run": ["bash", "-c", f"exec mosquitto -c <(printf '{_CONF}')"],
            "listens": 1883,
        }
    made["hosts"][RECEIVER] |= receives
    if source == "file":
        command = f"f=$(mktemp) && {generated} > $f && {_reads(way, sends, '$f')}; s=$?; rm $f; exit $s"
    else:
        command = f"{generated} | {_reads(way, sends, None)}"
    made["hosts"][SENDER] |= {"run": ["sh", "-c", command], "start": STARTS}
    return from_dict(made, f"thapa2023/{network}/{way}/real")


def _reads(way: str, sends: str, file: str | None) -> str:
    if way == SOCKET:
        return f"{sends} {file or '/dev/stdin'}"
    return f"{sends} -s" if file is None else f"{sends} -f {file}"


def _scenario(network: str, way: str, payload: str) -> dict[str, Any]:
    return {
        "name": f"thapa2023: {payload} by {way}, {network}",
        "seed": SEED,
        "duration": "60 s",
        "topology": dict(NETWORK[network]),
        "hosts": {host: {"profile": "linux"} for host in HOSTS},
    }
