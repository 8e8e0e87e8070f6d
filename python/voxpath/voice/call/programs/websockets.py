"""A voice's frames as WebSocket messages (RFC 6455) on a connection of the kernel.

`python websockets.py receive at ADDRESS PORT COUNT` is the server, `python websockets.py send to ADDRESS
PORT` the client, whose messages are masked. A frame belongs where its place among those that are sent says.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import sys
import time
from typing import TYPE_CHECKING

from voxpath.voice.call.programs import pacing

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BINARY, _CLOSE = 2, 8
_FINAL, _MASKED = 0x80, 0x80
_SHORT, _LONG, _LONGER = 125, 126, 127
_MOST_HEAD = 16_384


class WebSocketError(Exception):
    """The other end does not speak as RFC 6455 asks for."""


def message(opcode: int, payload: bytes, mask: bytes) -> bytes:
    """A masked message of one frame (RFC 6455 section 5.2), of less than 64 KiB."""
    head = bytes([_FINAL | opcode])
    size = len(payload)
    head += bytes([_MASKED | size]) if size <= _SHORT else bytes([_MASKED | _LONG]) + size.to_bytes(2, "big")
    return head + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """With a mask or, of what is masked, without (section 5.3)."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def accept_of(key: bytes) -> bytes:
    """What a server answers to a key (section 4.2.2)."""
    return base64.b64encode(hashlib.sha1(key + _MAGIC, usedforsecurity=False).digest())


def head_of(stream: Iterator[bytes], patience: pacing.Patience) -> tuple[list[bytes], bytes] | None:
    """The lines of an HTTP head, and what came behind it; none in vain.

    Raises:
        WebSocketError: What comes is none.
    """
    found = b""
    while b"\r\n\r\n" not in found:
        piece = next(stream, b"")
        if not piece and patience.in_vain:
            return None
        if not piece or len(found) > _MOST_HEAD:
            raise WebSocketError("the connection was closed before a WebSocket was open")
        found += piece
    head, _, rest = found.partition(b"\r\n\r\n")
    return head.split(b"\r\n"), rest


def field_of(lines: list[bytes], name: bytes) -> bytes:
    """A field of a head; empty where there is none."""
    for line in lines[1:]:
        field, _, value = line.partition(b":")
        if field.strip().lower() == name:
            return value.strip()
    return b""


def messages_of(stream: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Opcode and payload of each message of a client, as soon as it is whole.

    Raises:
        WebSocketError: One is not masked, or comes in fragments, which ours do not.
    """
    rest = b""
    for piece in stream:
        rest += piece
        while len(rest) >= 2:
            opcode, size, begin = rest[0] & 15, rest[1] & ~_MASKED, 2
            if not rest[0] & _FINAL or not rest[1] & _MASKED:
                raise WebSocketError("a message is in fragments or has no mask")
            if size > _SHORT:
                begin += 2 if size == _LONG else 8
                size = int.from_bytes(rest[2:begin], "big")
            if len(rest) < begin + 4 + size:
                break
            yield opcode, masked(rest[begin + 4 : begin + 4 + size], rest[begin : begin + 4])
            rest = rest[begin + 4 + size :]


def send(place: pacing.Place) -> None:
    """Sends what the input has, a message for each frame."""
    _, frame_ns, frames = pacing.frames_of(sys.stdin)
    key = base64.b64encode(os.urandom(16))
    request = (
        b"GET / HTTP/1.1\r\nHost: listener\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: " + key + b"\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    patience = pacing.Patience(False, place.patience_s)
    if (out := pacing.connected(place, patience)) is None:
        pacing.tell_unsent(len(frames), frame_ns)
        return
    with out:
        out.sendall(request)
        if (answer := head_of(pacing.pieces(out, patience), patience)) is None:
            pacing.tell_unsent(len(frames), frame_ns)
            return
        lines, _ = answer
        if b" 101 " not in lines[0] or field_of(lines, b"sec-websocket-accept") != accept_of(key):
            raise WebSocketError(f"the listener answers {lines[0].decode('latin-1')!r}")
        pace, backlog = pacing.Pace(frame_ns), pacing.Backlog(out, place.patience_s)
        for frame in frames:
            pace.wait(backlog.idle)
            if frame:
                backlog.put(message(_BINARY, frame, os.urandom(4)))
        backlog.put(message(_CLOSE, b"", os.urandom(4)))
        if backlog.finish():
            # The listener closes when it has all.
            for _ in pacing.pieces(out, patience):
                pass
    pace.tell()


def receive(place: pacing.Place, count: int) -> None:
    """Tells of each message when all of it was there, until the other end closes."""
    del count
    came: pacing.Came = []
    patience = pacing.Patience(True, place.patience_s)
    with pacing.door(place) as door:
        patience.ready()
        here = pacing.accepted(door, patience)
    if here is None:
        pacing.tell(came)
        return
    with here:
        stream = pacing.pieces(here, patience)
        if (request := head_of(stream, patience)) is None:
            pacing.tell(came)
            return
        lines, rest = request
        accept = accept_of(field_of(lines, b"sec-websocket-key"))
        here.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )

        for opcode, payload in messages_of(itertools.chain([rest], stream)):
            if opcode == _CLOSE:
                here.sendall(bytes([_FINAL | _CLOSE, 0]))
                break
            if opcode == _BINARY:
                came.append((len(came), time.monotonic_ns(), payload.hex()))
    pacing.tell(came)


if __name__ == "__main__":
    pacing.run(sys.argv[1:], __doc__, send, receive)
