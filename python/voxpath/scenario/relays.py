"""Ways between a real host and the loopback of the machine, as a scenario writes them.

On the side where it is listened stands the first port, as in `ssh -L` and `docker -p`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import PlainValidator, WithJsonSchema

Relayed = Literal["tcp", "udp"]

_PORT = "[0-9]{1,6}(?:-[0-9]{1,6})?"
_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"
_TRANSPORT = "(?:/(?P<transport>[a-z]+))?"
_REACH = re.compile(rf"(?:(?P<port>{_PORT}):)?(?P<target>{_PORT}){_TRANSPORT}")
_PUBLISH = re.compile(rf"(?:(?P<port>{_PORT}):)?(?P<host>{_NAME}):(?P<target>{_PORT}){_TRANSPORT}")

_MOST = 65_535
_MOST_AT_ONCE = 1000
"""Ports of a range: each has a socket and a thread of its own."""


@dataclass(frozen=True)
class ReachedPort:
    """A port of the machine's loopback that a host stands for.

    Attributes:
        port: Where the host listens.
        target: The machine's port.
        transport: What is passed on.
        count: How many ports in a row this is said of.
    """

    port: int
    target: int
    transport: Relayed
    count: int = 1


@dataclass(frozen=True)
class PublishedPort:
    """A port of the machine's loopback that leads to a host of the network.

    Attributes:
        port: Where the machine listens.
        host: The host that is reached.
        target: Its port.
        transport: What is passed on.
        count: How many ports in a row this is said of.
    """

    port: int
    host: str
    target: int
    transport: Relayed
    count: int = 1


def read_reach(value: object) -> ReachedPort:
    """A port of the machine, or `"LISTEN:TARGET"`; with `/udp` behind it for datagrams; or ranges of ports.

    Raises:
        ValueError: It is none.
    """
    # A boolean is an integer, but no port.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    found = _REACH.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(
            f"{value!r} is no port of this machine: write 8000, '80:8000' to reach its port 8000 at port 80, "
            "'8000-8009' for a range, or '5353/udp' for datagrams"
        )
    port, target, count = _ports(found)
    return ReachedPort(port, target, _transport(found), count)


def read_publish(value: object) -> PublishedPort:
    """`"HOST:PORT"`, or `"LISTEN:HOST:PORT"`; with `/udp` behind it for datagrams.

    Raises:
        ValueError: It is none.
    """
    found = _PUBLISH.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(
            f"{value!r} names no port of a host: write 'server:8000', '9000:server:8000' to publish it at "
            "this machine's port 9000, 'server:8000-8009' for a range, or 'server:5353/udp' for datagrams"
        )
    port, target, count = _ports(found)
    return PublishedPort(port, found["host"], target, _transport(found), count)


def _ports(found: re.Match[str]) -> tuple[int, int, int]:
    """Where it is listened, where that leads, and how many ports in a row."""
    first, count = _range(found["port"] or found["target"])
    target, targets = _range(found["target"])
    if count != targets:
        raise ValueError(f"{found[0]!r} leads from {count} ports to {targets}: write ranges of one length")
    return first, target, count


def _range(text: str) -> tuple[int, int]:
    """The first port of `8000` or `8000-8009`, and how many there are."""
    first, _, last = text.partition("-")
    ports = int(first), int(last or first)
    for port in ports:
        if not 1 <= port <= _MOST:
            raise ValueError(f"{port} is no port: ports are 1 to {_MOST}")
    count = ports[1] - ports[0] + 1
    if not 1 <= count <= _MOST_AT_ONCE:
        raise ValueError(f"{text!r} is no range of ports: write 1 to {_MOST_AT_ONCE} of them, ascending")
    return ports[0], count


def _transport(found: re.Match[str]) -> Relayed:
    match found["transport"]:
        case None | "tcp":
            return "tcp"
        case "udp":
            return "udp"
    raise ValueError(f"'/{found['transport']}' is no transport: write /tcp (as without it) or /udp")


Reach = Annotated[
    ReachedPort,
    PlainValidator(read_reach),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": _MOST},
                {"type": "string", "pattern": f"^({_PORT}:)?{_PORT}(/(tcp|udp))?$"},
            ],
            "examples": [8000, "80:8000", "8000-8009", "5353/udp"],
        }
    ),
]

Publish = Annotated[
    PublishedPort,
    PlainValidator(read_publish),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({_PORT}:)?{_NAME}:{_PORT}(/(tcp|udp))?$",
            "examples": ["server:8000", "9000:server:8000", "server:8000-8009"],
        }
    ),
]
