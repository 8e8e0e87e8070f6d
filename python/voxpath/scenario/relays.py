"""Ways between a real host and the loopback of the machine, as a scenario writes them.

On the side where it is listened stands the first port, as in `ssh -L` and `docker -p`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import PlainValidator, WithJsonSchema

Relayed = Literal["tcp", "udp"]

_PORT = "[0-9]{1,6}"
_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"
_TRANSPORT = "(?:/(?P<transport>[a-z]+))?"
_REACH = re.compile(rf"(?:(?P<port>{_PORT}):)?(?P<target>{_PORT}){_TRANSPORT}")
_PUBLISH = re.compile(rf"(?:(?P<port>{_PORT}):)?(?P<host>{_NAME}):(?P<target>{_PORT}){_TRANSPORT}")

_MOST = 65_535


@dataclass(frozen=True)
class ReachedPort:
    """A port of the machine's loopback that a host stands for.

    Attributes:
        port: Where the host listens.
        target: The machine's port.
        transport: What is passed on.
    """

    port: int
    target: int
    transport: Relayed


@dataclass(frozen=True)
class PublishedPort:
    """A port of the machine's loopback that leads to a host of the network.

    Attributes:
        port: Where the machine listens.
        host: The host that is reached.
        target: Its port.
        transport: What is passed on.
    """

    port: int
    host: str
    target: int
    transport: Relayed


def read_reach(value: object) -> ReachedPort:
    """A port of the machine, or `"LISTEN:TARGET"`; with `/udp` behind it for datagrams.

    Raises:
        ValueError: It is none.
    """
    # A boolean is an integer, but no port.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    found = _REACH.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(
            f"{value!r} is no port of this machine: write 8000, '80:8000' to reach its port 8000 at port 80, "
            "or '5353/udp' for datagrams"
        )
    port, target = _ports(found)
    return ReachedPort(port, target, _transport(found))


def read_publish(value: object) -> PublishedPort:
    """`"HOST:PORT"`, or `"LISTEN:HOST:PORT"`; with `/udp` behind it for datagrams.

    Raises:
        ValueError: It is none.
    """
    found = _PUBLISH.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(
            f"{value!r} names no port of a host: write 'server:8000', '9000:server:8000' to publish it at "
            "this machine's port 9000, or 'server:5353/udp' for datagrams"
        )
    port, target = _ports(found)
    return PublishedPort(port, found["host"], target, _transport(found))


def _ports(found: re.Match[str]) -> tuple[int, int]:
    """Where it is listened, and where that leads."""
    ports = int(found["port"] or found["target"]), int(found["target"])
    for port in ports:
        if not 1 <= port <= _MOST:
            raise ValueError(f"{port} is no port: ports are 1 to {_MOST}")
    return ports


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
                {"type": "string", "pattern": "^([0-9]{1,6}:)?[0-9]{1,6}(/(tcp|udp))?$"},
            ],
            "examples": [8000, "80:8000", "5353/udp"],
        }
    ),
]

Publish = Annotated[
    PublishedPort,
    PlainValidator(read_publish),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^([0-9]{{1,6}}:)?{_NAME}:[0-9]{{1,6}}(/(tcp|udp))?$",
            "examples": ["server:8000", "9000:server:8000"],
        }
    ),
]
