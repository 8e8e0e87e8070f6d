"""The end that answers.

One port serves both kinds of connections. On a control channel the client says first what it will ask for,
and is told a token; at its end it asks what the server has seen. A data connection begins with the token and
with what it carries.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voxpath.measuring import sockets
from voxpath.measuring.traffic import ANSWER, FILL, INTERMEDIATE, Traffic, TrafficError, parsed, read_line

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_LINE = 4096
PATIENCE_S = 30.0
"""For a first line, and for a handshake."""
IDLE_S = 600.0
"""A connection on which nothing comes for so long is closed."""
MOST_TESTS = 64
"""At the same time; each is of a control channel."""
VOICE, SIDE = "voice", "side"


@dataclass
class _Test:
    """What a client asked for, and what was seen of it."""

    traffic: Traffic
    requests: int = 0
    bursts: int = 0
    octets: int = 0
    connections: list[dict[str, Any]] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "bursts": self.bursts,
            "octets": self.octets,
            "connections": self.connections,
        }


class Server:
    """Answers measuring clients."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._tests: dict[str, _Test] = {}

    async def serve(self, host: str, port: int, ready: Callable[[int], None]) -> None:
        """Serves until it is cancelled.

        Args:
            host: An address of this machine, as `0.0.0.0`.
            port: Where it listens; 0 takes one that is free.
            ready: Is told the port once it listens.

        Raises:
            OSError: It cannot listen there.
        """
        (family, _, _, _, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        listener = sockets.listening(family, place[:2])  # type: ignore[arg-type]
        server = await asyncio.start_server(self._connected, sock=listener, limit=LONGEST_LINE)
        async with server:
            ready(listener.getsockname()[1])
            await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await asyncio.wait_for(reader.readline(), PATIENCE_S)
            if first.startswith(b"{"):
                await self._control(first, reader, writer)
            else:
                await self._data(first, reader, writer)
        except TrafficError as error:
            with contextlib.suppress(OSError):
                writer.write(json.dumps({"error": str(error)}).encode() + b"\n")
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            # Whoever came is gone, silent, or no client of ours.
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _control(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        test = _Test(read_line(first))
        if len(self._tests) >= MOST_TESTS:
            raise TrafficError(f"{MOST_TESTS} clients are measuring already: try again later")
        token = secrets.token_hex(16)
        self._tests[token] = test
        try:
            writer.write(json.dumps({"token": token}).encode() + b"\n")
            while line := await reader.readline():
                if parsed(line).get("ask") != "seen":
                    raise TrafficError('a client asks "seen", or leaves')
                writer.write(json.dumps(test.told()).encode() + b"\n")
        finally:
            del self._tests[token]

    async def _data(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        token, _, kind = first.decode("ascii", "replace").strip().partition(" ")
        test = self._tests.get(token)
        if test is None or kind not in {VOICE, SIDE}:
            return
        connected = writer.get_extra_info("socket")
        own = {"kind": kind, "peer": writer.get_extra_info("peername")[0]}
        test.connections.append(own)
        traffic = test.traffic
        for place, size in enumerate(traffic.flights):
            if place % 2 == 0:
                await asyncio.wait_for(reader.readexactly(size), PATIENCE_S)
            else:
                writer.write(FILL * size)
        while octets := await asyncio.wait_for(reader.read(2**16), IDLE_S):
            if kind == VOICE:
                test.octets += len(octets)
            self._answer(test, kind, octets, writer)
            await writer.drain()
            # Looked at while it stands: nothing is told of what has ended.
            own |= sockets.told(connected)

    @staticmethod
    def _answer(test: _Test, kind: str, octets: bytes, writer: asyncio.StreamWriter) -> None:
        traffic = test.traffic
        for octet in octets.replace(FILL, b""):
            if kind == SIDE:
                writer.write(traffic.message(traffic.side_answer))
            elif octet == ANSWER[0]:
                test.requests += 1
                writer.write(traffic.message(traffic.answer))
            elif octet == INTERMEDIATE[0]:
                test.bursts += 1
                writer.write(traffic.message(traffic.intermediate))
