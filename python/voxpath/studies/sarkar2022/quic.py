"""The file over QUIC on the study's channel: both ends are aioquic's, which read no clock, in virtual time.

QUIC leaves the reliability to the program, over UDP, as the publication's recommendation has it. The engine
has no QUIC, so the channel of `scenario.py` is here once more, as small as it can be: 10 Mbit/s Ethernet on
both sides whose queues have no limit, 20 ms each way, losses both ways.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from ssl import CERT_NONE
from typing import Any, Literal, get_args

import numpy as np

from voxpath.studies.sarkar2022.scenario import FILE, LONGEST, probability

RATE = 10_000_000
"""Of both Ethernets, in bit/s."""

DELAY_S = 0.02
"""Of the cloud, each way."""

REQUEST = 100
"""Bytes, as over TCP."""

Control = Literal["reno", "cubic"]
CONTROLS: tuple[Control, ...] = get_args(Control)
"""Congestion controls of aioquic."""

_HEADERS = 28
"""Bytes of IP and UDP."""
_ETHERNET = 38
"""Bytes that Ethernet adds to an IP packet."""
_TIMER_S = 1e-6
"""By which a timer is late: at the very moment rounding may make aioquic find nothing due, for ever."""
_SEED = 2022


class Wire:
    """A link that serves one packet after the other; it holds any number."""

    def __init__(self) -> None:
        self._free_s = 0.0

    def passed(self, datagram: bytes, at_s: float) -> float:
        """When a datagram that comes at some time has passed."""
        self._free_s = max(self._free_s, at_s) + 8 * (len(datagram) + _HEADERS + _ETHERNET) / RATE
        return self._free_s


class Way:
    """One direction of the channel."""

    def __init__(self, loss: float, seed: tuple[int, ...]) -> None:
        """Takes the probability that the cloud discards a packet, and what its chance begins with."""
        self._loss = loss
        self._draws = np.random.default_rng(seed)
        self._near, self._far = Wire(), Wire()

    def arrival(self, datagram: bytes, at_s: float) -> float | None:
        """When a datagram that is sent at some time arrives; none if it is lost."""
        passed = self._near.passed(datagram, at_s)
        if self._draws.random() < self._loss:
            return None
        return self._far.passed(datagram, passed + DELAY_S)


@dataclass
class End:
    """One end, and the way from it.

    Attributes:
        connection: aioquic's.
        way: To the other end.
        received: Bytes of the stream that came.
        complete: Whether they are all.
    """

    connection: Any
    way: Way
    received: int = 0
    complete: bool = False

    def take_events(self) -> None:
        """Counts what came.

        Raises:
            RuntimeError: The connection has ended.
        """
        from aioquic.quic.events import ConnectionTerminated, StreamDataReceived

        while (event := self.connection.next_event()) is not None:
            match event:
                case StreamDataReceived():
                    self.received += len(event.data)
                    self.complete = event.end_stream
                case ConnectionTerminated():
                    raise RuntimeError(f"the connection ended: {event.reason_phrase or event.error_code}")


def download_s(loss: str, control: Control, replication: int, size: int = FILE) -> float:
    """How long a file takes, from the client's first datagram to the last byte at the client.

    Args:
        loss: Of packets, each way.
        control: Congestion control of both ends.
        replication: Whose losses are met.
        size: Of the file, in bytes.

    Raises:
        RuntimeError: The connection ended before, or the time is over.
    """
    client, server = ends = _ends(loss, control, replication)
    arrivals: list[tuple[float, int, End, bytes]] = []
    tickets = itertools.count()
    other = {id(client): server, id(server): client}
    woken, answered, now = client, False, 0.0
    client.connection.connect(_ADDRESS, now=now)
    # It leaves as soon as there are keys for it.
    client.connection.send_stream_data(_STREAM, bytes(REQUEST), end_stream=True)
    while not client.complete:
        for datagram, _ in woken.connection.datagrams_to_send(now=now):
            arrival = woken.way.arrival(datagram, now)
            if arrival is not None:
                heapq.heappush(arrivals, (arrival, next(tickets), other[id(woken)], datagram))
        timers = [(at, end) for end in ends if (at := end.connection.get_timer()) is not None]
        due, woken = min(timers, key=lambda timer: timer[0])
        if arrivals and arrivals[0][0] <= due:
            now, _, woken, datagram = heapq.heappop(arrivals)
            woken.connection.receive_datagram(datagram, _ADDRESS, now=now)
        else:
            now = max(now, due + _TIMER_S)
            woken.connection.handle_timer(now=now)
        woken.take_events()
        if server.complete and not answered:
            answered = True
            server.connection.send_stream_data(_STREAM, bytes(size), end_stream=True)
    if client.received != size:
        raise RuntimeError(f"{client.received} of {size} bytes came")
    return now


_ADDRESS = ("channel", 0)
_STREAM = 0
"""The first that a client opens."""


def _ends(loss: str, control: Control, replication: int) -> tuple[End, End]:
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.connection import QuicConnection

    shared: dict[str, Any] = {
        "alpn_protocols": ["voxpath"],
        "congestion_control_algorithm": control,
        "max_datagram_size": LONGEST - _HEADERS,
    }
    certificate, key = _identity()
    asks = QuicConfiguration(is_client=True, verify_mode=CERT_NONE, **shared)
    client = QuicConnection(configuration=asks)
    answers = QuicConfiguration(is_client=False, certificate=certificate, private_key=key, **shared)
    server = QuicConnection(
        configuration=answers, original_destination_connection_id=client.original_destination_connection_id
    )
    up, down = (Way(probability(loss), (_SEED, replication, way)) for way in range(2))
    return End(client, up), End(server, down)


@cache
def _identity() -> tuple[Any, Any]:
    """A certificate that nobody checks, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2022, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2122, 1, 1, tzinfo=UTC))
    )
    return made.sign(key, None), key
