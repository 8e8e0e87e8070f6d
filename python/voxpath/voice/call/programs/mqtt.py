"""A voice's frames as MQTT messages of QoS 0 (MQTT 3.1.1), by a broker that waits at the address.

`python mqtt.py receive to ADDRESS PORT COUNT TOPIC` subscribes, `python mqtt.py send to ADDRESS PORT TOPIC`
publishes. A frame belongs where its place among those that are sent says.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from voxpath.voice.call.programs import pacing

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

_CONNECT, _CONNACK, _PUBLISH, _SUBSCRIBE, _SUBACK, _DISCONNECT = 1, 2, 3, 8, 9, 14
_LEVEL, _CLEAN = 4, 2
_MOST_LENGTH = 4
"""Octets that a length has."""


class MqttError(Exception):
    """The broker does not do what it is asked."""


def packet(kind: int, flags: int, body: bytes) -> bytes:
    """A control packet (section 2.2)."""
    size, length = len(body), b""
    while True:
        size, digit = divmod(size, 128)
        length += bytes([digit | (0x80 if size else 0)])
        if not size:
            return bytes([kind << 4 | flags]) + length + body


def text(value: str) -> bytes:
    """A string with its length (section 1.5.3)."""
    octets = value.encode()
    return len(octets).to_bytes(2, "big") + octets


def packets_of(stream: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each packet, as soon as it is whole.

    Raises:
        MqttError: A length has no end.
    """
    rest = b""
    for piece in stream:
        rest += piece
        while (found := _first(rest)) is not None:
            kind, body, rest = found
            yield kind, body


def _first(octets: bytes) -> tuple[int, bytes, bytes] | None:
    size = 0
    for place, octet in enumerate(octets[1 : 1 + _MOST_LENGTH]):
        size |= (octet & 0x7F) << 7 * place
        if not octet & 0x80:
            begin = 2 + place
            if len(octets) < begin + size:
                return None
            return octets[0] >> 4, octets[begin : begin + size], octets[begin + size :]
    if len(octets) > _MOST_LENGTH:
        raise MqttError("a length of the broker's has no end")
    return None


def opened(here: socket.socket, client: str, patience: pacing.Patience) -> Iterator[tuple[int, bytes]] | None:
    """What the broker says, once it has accepted the client (section 3.1); none in vain.

    Raises:
        MqttError: It does not.
    """
    body = text("MQTT") + bytes([_LEVEL, _CLEAN, 0, 0]) + text(client)
    here.sendall(packet(_CONNECT, 0, body))
    packets = packets_of(pacing.pieces(here, patience))
    answer = next(packets, None)
    if answer is None and patience.in_vain:
        return None
    if answer != (_CONNACK, b"\0\0"):
        raise MqttError("the broker does not accept the connection")
    return packets


def send(place: pacing.Place, topic: str) -> None:
    """Publishes what the input has, a message for each frame."""
    _, frame_ns, frames = pacing.frames_of(sys.stdin)
    patience = pacing.Patience(False, place.patience_s)
    out = pacing.connected(place, patience)
    if out is None or opened(out, f"{topic} speaks", patience) is None:
        pacing.tell_unsent(len(frames), frame_ns)
        return
    with out:
        pace, backlog = pacing.Pace(frame_ns), pacing.Backlog(out, place.patience_s)
        for frame in frames:
            pace.wait(backlog.idle)
            if frame:
                backlog.put(packet(_PUBLISH, 0, text(topic) + frame))
        backlog.put(packet(_DISCONNECT, 0, b""))
        if backlog.finish():
            # The broker closes.
            for _ in pacing.pieces(out, patience):
                pass
    pace.tell()


def receive(place: pacing.Place, count: int, topic: str) -> None:
    """Tells of each message when all of it was there, until it has so many or hears nothing any more."""
    came: pacing.Came = []
    patience = pacing.Patience(True, place.patience_s)
    here = pacing.connected(place, patience)
    packets = None if here is None else opened(here, f"{topic} listens", patience)
    if here is None or packets is None:
        patience.ready()
        pacing.tell(came)
        return
    with here:
        here.sendall(packet(_SUBSCRIBE, 2, b"\0\1" + text(topic) + b"\0"))
        for kind, body in packets:
            if kind == _SUBACK:
                if body != b"\0\1\0":
                    raise MqttError("the broker does not take the subscription")
                patience.ready()
            elif kind == _PUBLISH:
                payload = body[2 + int.from_bytes(body[:2], "big") :]
                came.append((len(came), time.monotonic_ns(), payload.hex()))
            if len(came) == count:
                break
        with contextlib.suppress(OSError):
            here.sendall(packet(_DISCONNECT, 0, b""))
    patience.ready()
    pacing.tell(came)


if __name__ == "__main__":
    pacing.run(sys.argv[1:], __doc__, send, receive)
