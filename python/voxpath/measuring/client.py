"""The end that asks, and measures: all times are of its clock."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from voxpath.measuring import sockets
from voxpath.measuring.server import LONGEST_LINE, SIDE, VOICE
from voxpath.measuring.traffic import ANSWER, FILL, Traffic, TrafficError, parsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Opened = Callable[[str], Awaitable["_Connection"]]
    """Opens a connection of a kind."""

PATIENCE_S = 10.0
"""What is not answered so long after its last packet counts as unanswered at the end."""


class MeasuringError(Exception):
    """There is no measurement."""


@dataclass(frozen=True)
class Request:
    """What came of a request.

    Attributes:
        begun_s: When its first packet was written, from the start.
        spoken_s: When its last one was.
        first_s: From then to the first octet of its answer; none without one.
        whole_s: To the last one.
    """

    begun_s: float
    spoken_s: float
    first_s: float | None
    whole_s: float | None


@dataclass(frozen=True)
class Measured:
    """What came of a measurement.

    Attributes:
        requests: In their order.
        side_s: How long each side connection took, from its SYN to the last octet of its answer; none if that
            did not come.
        connections: What the kernel says of each connection of requests, as `sockets.told`.
        seen: The same of the server, as it counted.
    """

    requests: Sequence[Request]
    side_s: Sequence[float | None]
    connections: Sequence[dict[str, Any]]
    seen: dict[str, Any]


@dataclass
class _Asked:
    """A request on its way."""

    begun: float
    spoken: float = 0.0
    first: float | None = None
    whole: float | None = None


class _Voice:
    """A connection of requests, and what comes back on it."""

    def __init__(self, traffic: Traffic, connection: _Connection) -> None:
        self._traffic = traffic
        self.connection = connection
        self._asked: list[_Asked] = []
        self._came = 0
        self._reading = asyncio.ensure_future(self._read())

    async def ask(self, asked: _Asked, draws: Random) -> None:
        """Speaks a request."""
        loop, writer = asyncio.get_running_loop(), self.connection.writer
        self._asked.append(asked)
        for number, burst in enumerate(self._traffic.writes(draws)):
            if number:
                await asyncio.sleep(self._traffic.interval_s)
            for packet in burst:
                writer.write(packet)
                await writer.drain()
        asked.spoken = loop.time()

    async def _read(self) -> None:
        loop, traffic = asyncio.get_running_loop(), self._traffic
        each = traffic.before_answer + len(traffic.message(traffic.answer))
        with contextlib.suppress(OSError):
            while octets := await self.connection.reader.read(2**16):
                before, self._came = self._came, self._came + len(octets)
                now = loop.time()
                # Answers come in the order of requests: where an octet stands says whose it is.
                for place in range(before // each, -(-self._came // each)):
                    start = place * each + traffic.before_answer
                    if place < len(self._asked):
                        asked = self._asked[place]
                        if asked.first is None and self._came > start:
                            asked.first = now
                        if self._came >= (place + 1) * each:
                            asked.whole = now

    async def wait(self, until: float) -> None:
        """Waits for what is not answered."""
        loop = asyncio.get_running_loop()
        while any(asked.whole is None for asked in self._asked) and loop.time() < until:
            if self._reading.done():
                break
            await asyncio.wait([self._reading], timeout=min(0.05, max(0.0, until - loop.time())))

    async def close(self) -> dict[str, Any]:
        """Closes it; what the kernel says of it."""
        told = sockets.told(self.connection.socket)
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading
        await self.connection.close()
        return told


@dataclass(frozen=True)
class _Connection:
    socket: socket.socket
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


async def measure(
    traffic: Traffic, host: str, port: int, *, bind: str = "", seed: int = 1, patience_s: float = PATIENCE_S
) -> Measured:
    """Measures voice requests to a server.

    Args:
        traffic: What is asked.
        host: Of the server.
        port: Its port.
        bind: An address of this machine, of the first subflow; any without one.
        seed: Of the sizes of packets.
        patience_s: How long answers are waited for after the last request, in seconds.

    Raises:
        MeasuringError: Nobody answers, or the server refuses.
    """
    # Control goes by TCP whatever carries the data.
    control = await _connect(host, port, False, bind)
    try:
        control.writer.write(traffic.line())
        token = str((await _line(control)).get("token", ""))

        def opened(kind: str) -> Awaitable[_Connection]:
            return _data(traffic, host, port, bind, token, kind)

        measured = await _ask_all(traffic, opened, seed, patience_s)
        control.writer.write(b'{"ask": "seen"}\n')
        return Measured(*measured, await _line(control))
    except OSError as error:
        raise MeasuringError(f"the connection broke: {error}") from error
    except (asyncio.IncompleteReadError, TimeoutError) as error:
        raise MeasuringError("the server was silent, or has gone") from error
    finally:
        await control.close()


async def _ask_all(
    traffic: Traffic, opened: Opened, seed: int, patience_s: float
) -> tuple[list[Request], list[float | None], list[dict[str, Any]]]:
    loop, draws = asyncio.get_running_loop(), Random(seed)  # noqa: S311 - sizes
    start = loop.time()
    asked: list[_Asked] = []
    voices: list[_Voice] = []
    told: list[dict[str, Any]] = []
    beside = None
    for number in range(traffic.requests):
        if not voices or not traffic.persistent:
            voices.append(_Voice(traffic, await opened(VOICE)))
        if number == 0 and traffic.side:
            beside = asyncio.ensure_future(_side(traffic, opened))
        asked.append(_Asked(loop.time()))
        await voices[-1].ask(asked[-1], draws)
        if number < traffic.requests - 1:
            await asyncio.sleep(traffic.wait_s)
    until = asked[-1].spoken + patience_s
    for voice in voices:
        await voice.wait(until)
        told.append(await voice.close())
    side = await beside if beside else []
    return [_request(one, start) for one in asked], side, told


def _request(asked: _Asked, start: float) -> Request:
    def since(then: float | None) -> float | None:
        return None if then is None else then - asked.spoken

    return Request(asked.begun - start, asked.spoken - start, since(asked.first), since(asked.whole))


async def _side(traffic: Traffic, opened: Opened) -> list[float | None]:
    """Other connections, as they are seen beside a voice service's."""
    loop = asyncio.get_running_loop()
    took: list[float | None] = []
    for _ in range(traffic.side):
        begun = loop.time()
        try:
            connection = await opened(SIDE)
            connection.writer.write(traffic.message(traffic.side_request, ANSWER))
            size = len(traffic.message(traffic.side_answer))
            await asyncio.wait_for(connection.reader.readexactly(size), PATIENCE_S)
            took.append(loop.time() - begun)
            await connection.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, MeasuringError):
            took.append(None)
    return took


async def _data(traffic: Traffic, host: str, port: int, bind: str, token: str, kind: str) -> _Connection:
    connection = await _connect(host, port, traffic.multipath, bind)
    connection.writer.write(f"{token} {kind}\n".encode())
    for place, size in enumerate(traffic.flights):
        if place % 2 == 0:
            connection.writer.write(FILL * size)
        else:
            await asyncio.wait_for(connection.reader.readexactly(size), PATIENCE_S)
    return connection


async def _connect(host: str, port: int, multipath: bool, bind: str) -> _Connection:
    try:
        (family, _, _, _, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        made = sockets.make(family, multipath)
    except OSError as error:
        raise MeasuringError(f"{host} port {port}: {error.strerror or error}") from error
    made.settimeout(PATIENCE_S)
    try:
        if bind:
            made.bind((bind, 0))
        # The loop's own connect looks the address up by the protocol, which getaddrinfo does not know.
        await asyncio.get_running_loop().run_in_executor(None, made.connect, place)
    except OSError as error:
        made.close()
        told = "nobody answers" if isinstance(error, TimeoutError) else error.strerror or error
        raise MeasuringError(f"{host} port {port}: {told}") from error
    made.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=made, limit=LONGEST_LINE)
    return _Connection(made, reader, writer)


async def _line(control: _Connection) -> dict[str, Any]:
    line = await asyncio.wait_for(control.reader.readline(), PATIENCE_S)
    try:
        told = parsed(line)
    except TrafficError as error:
        raise MeasuringError(f"this is no server of ours: {error}") from None
    if "error" in told:
        raise MeasuringError(f"the server refuses: {told['error']}")
    return told
