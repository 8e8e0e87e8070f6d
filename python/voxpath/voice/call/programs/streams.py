"""A voice's RTP packets, framed on a connection of the kernel (RFC 4571).

`python streams.py send at|to ADDRESS PORT PROTOCOL` and `python streams.py receive to|at ADDRESS PORT COUNT
PROTOCOL`; one of them waits. The protocol is `tcp` or `mptcp`. A frame belongs where its timestamp says.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from typing import TYPE_CHECKING

from voxpath.voice.call.programs import pacing, rtp

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH = struct.Struct("!H")
_PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "mptcp": 262}
"""Python has a name for the second one where it was compiled with a header that does."""


def framed(sequence: int, timestamp: int, frame: bytes) -> bytes:
    """A packet of RTP with its length."""
    made = rtp.packet(rtp.MEDIA, sequence, timestamp, frame)
    return _LENGTH.pack(len(made)) + made


def send(place: pacing.Place, protocol: str) -> None:
    """Sends what the input has."""
    ticks, frame_ns, frames = pacing.frames_of(sys.stdin)
    patience = pacing.Patience(False, place.patience_s)
    out = pacing.met(place, patience, _PROTOCOLS[protocol])
    if out is None:
        pacing.tell_unsent(len(frames), frame_ns)
        return
    with out:
        pace, backlog, sent = pacing.Pace(frame_ns), pacing.Backlog(out, place.patience_s), 0
        for number, frame in enumerate(frames):
            pace.wait(backlog.idle)
            if frame:
                backlog.put(framed(sent, number * ticks, frame))
                sent += 1
        if backlog.finish():
            out.shutdown(socket.SHUT_WR)
            # The listener closes when it has all.
            patience.wait(out)
    pace.tell()


def packets_of(stream: Iterator[bytes]) -> Iterator[bytes]:
    """The packets of a stream that comes in any pieces; each as soon as it is whole."""
    rest = b""
    for piece in stream:
        rest += piece
        while len(rest) >= _LENGTH.size and len(rest) >= _LENGTH.size + _LENGTH.unpack_from(rest)[0]:
            end = _LENGTH.size + _LENGTH.unpack_from(rest)[0]
            yield rest[_LENGTH.size : end]
            rest = rest[end:]


def receive(place: pacing.Place, count: int, protocol: str) -> None:
    """Tells of each packet when all of it was there, until the other end closes."""
    del count
    patience = pacing.Patience(True, place.patience_s)
    patience.ready()
    came: pacing.Came = []
    here = pacing.met(place, patience, _PROTOCOLS[protocol])
    if here is None:
        pacing.tell(came)
        return
    with here:
        for one in packets_of(pacing.pieces(here, patience)):
            at, head = time.monotonic_ns(), rtp.head_of(one)
            if head is not None:
                came.append((head.timestamp, at, head.payload.hex()))
    pacing.tell(came)


if __name__ == "__main__":
    pacing.run(sys.argv[1:], __doc__, send, receive)
