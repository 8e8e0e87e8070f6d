"""Packets of RTP and RTCP as octets, for the programs that send a voice over the kernel."""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeVar

MEDIA, RETRANSMISSION, REDUNDANT = 96, 97, 63
"""Payload types: of frames, of what was asked for (RFC 4588), of frames with earlier ones (RFC 2198)."""
SSRC = 0x766F7870
AGAIN = SSRC ^ 8
"""The source of retransmissions."""
HEADER = struct.Struct("!BBHII")
"""Of RTP, without extensions."""
_EXTENSION = struct.Struct("!HHBBB3s2x")
"""One of the one-byte form (RFC 8285 section 4.2), its two elements, and what fills up a word."""
_ONE_BYTE, _LEVEL, _SENT = 0xBEDE, 1, 2
EXTENSIONS = {
    _LEVEL: "urn:ietf:params:rtp-hdrext:ssrc-audio-level",
    _SENT: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
}
"""By their numbers."""
_VOICE = 0x80 | 30
"""That it is voice, and its decibels below overload (RFC 6464), as the engine's calls have them."""
_EXTENDED = 0x10
_VERSION = 0x80
_MARKER = 0x80
_ORIGINAL = struct.Struct("!H")
_BLOCK = struct.Struct("!I")
_MOST_OFFSET, MOST_COPY = 0x3FFF, 0x3FF
"""How much earlier a redundant frame is at most, in ticks, and how many octets it has."""
_NACK = struct.Struct("!BBHII")
_PAIR = struct.Struct("!HH")
_TRANSPORT_FEEDBACK, _GENERIC_NACK = 205, 1


_Frame = TypeVar("_Frame")


class Head(NamedTuple):
    """A packet of RTP.

    Attributes:
        payload_type: What is in it.
        sequence: 16 bits.
        timestamp: 32 bits, in ticks.
        ssrc: Of its source.
        payload: What follows the header.
    """

    payload_type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes


def packet(
    payload_type: int,
    sequence: int,
    timestamp: int,
    payload: bytes,
    ssrc: int = SSRC,
    at_ns: int | None = None,
) -> bytes:
    """A packet of RTP (RFC 3550 section 5.1); the first one is marked as the begin of a talk spurt.

    Args:
        payload_type: What is in it.
        sequence: Its number.
        timestamp: In ticks.
        payload: What follows the header.
        ssrc: Of its source.
        at_ns: When it leaves, for the extensions that packets of the engine's calls have; none without it.
    """
    marker = _MARKER if sequence == 0 and ssrc == SSRC else 0
    first = _VERSION if at_ns is None else _VERSION | _EXTENDED
    head = HEADER.pack(first, marker | payload_type, sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc)
    return head + (b"" if at_ns is None else _extension(at_ns)) + payload


def _extension(at_ns: int) -> bytes:
    """The level of the voice, and when it leaves (abs-send-time: 24 bits of 2^-18 s)."""
    sent = ((at_ns << 18) // 1_000_000_000 & 0xFFFFFF).to_bytes(3, "big")
    return _EXTENSION.pack(_ONE_BYTE, 2, _LEVEL << 4, _VOICE, _SENT << 4 | 2, sent)


def head_of(octets: bytes) -> Head | None:
    """One of our packets; none of anything else."""
    if len(octets) < HEADER.size:
        return None
    first, kind, sequence, timestamp, ssrc = HEADER.unpack_from(octets)
    if first & ~_EXTENDED != _VERSION or ssrc not in {SSRC, AGAIN}:
        return None
    end = HEADER.size
    if first & _EXTENDED:
        if len(octets) < end + 4:
            return None
        end += 4 + 4 * int.from_bytes(octets[end + 2 : end + 4], "big")
        if len(octets) < end:
            return None
    return Head(kind & ~_MARKER, sequence, timestamp, ssrc, octets[end:])


def octets_around(copies: int | None) -> int:
    """Octets of a packet with extensions beside its frames: with so many copies, or without redundancy."""
    around = HEADER.size + _EXTENSION.size
    return around if copies is None else around + copies * _BLOCK.size + 1


def copied(timestamp: int, earlier: list[tuple[int, _Frame]]) -> list[tuple[int, _Frame]]:
    """Those earlier frames of which a packet has copies, in place of their timestamps their offsets.

    What is too old for the 14 bits of an offset is left out.
    """
    return [(timestamp - at, one) for at, one in earlier if timestamp - at <= _MOST_OFFSET]


def redundant(timestamp: int, frame: bytes, earlier: list[tuple[int, bytes]]) -> bytes:
    """A frame with earlier ones, each with its timestamp, the oldest first (RFC 2198 section 3)."""
    copies = copied(timestamp, earlier)
    heads = [_BLOCK.pack(1 << 31 | MEDIA << 24 | offset << 10 | len(one)) for offset, one in copies]
    return b"".join([*heads, bytes([MEDIA]), *(one for _, one in copies), frame])


def frames_in(timestamp: int, payload: bytes) -> list[tuple[int, bytes]]:
    """The frames of a packet with earlier ones, with their timestamps; nothing of what is malformed."""
    blocks: list[tuple[int, int]] = []
    at = 0
    while at < len(payload) and payload[at] & 0x80:
        if at + _BLOCK.size > len(payload):
            return []
        (word,) = _BLOCK.unpack_from(payload, at)
        blocks.append((word >> 10 & _MOST_OFFSET, word & MOST_COPY))
        at += _BLOCK.size
    at += 1
    if at + sum(size for _, size in blocks) > len(payload):
        return []
    found = []
    for offset, size in blocks:
        found.append((timestamp - offset & 0xFFFFFFFF, payload[at : at + size]))
        at += size
    return [*found, (timestamp, payload[at:])]


def again(sequence: int, original: Head, at_ns: int) -> bytes:
    """A packet once more (RFC 4588 section 4)."""
    payload = _ORIGINAL.pack(original.sequence) + original.payload
    return packet(RETRANSMISSION, sequence, original.timestamp, payload, AGAIN, at_ns)


def original_of(retransmission: Head) -> tuple[int, bytes] | None:
    """Sequence number and payload of the packet that a retransmission stands for."""
    if len(retransmission.payload) < _ORIGINAL.size:
        return None
    (sequence,) = _ORIGINAL.unpack_from(retransmission.payload)
    return sequence, retransmission.payload[_ORIGINAL.size :]


def nack(sequences: list[int]) -> bytes:
    """Asks for packets, in ascending order (RFC 4585 section 6.2.1), without a report (RFC 5506)."""
    pairs: list[tuple[int, int]] = []
    for one in sequences:
        if pairs and 0 < (ahead := one - pairs[-1][0] & 0xFFFF) <= 16:
            pairs[-1] = (pairs[-1][0], pairs[-1][1] | 1 << ahead - 1)
        else:
            pairs.append((one & 0xFFFF, 0))
    words = _NACK.size // 4 - 1 + len(pairs)
    head = _NACK.pack(_VERSION | _GENERIC_NACK, _TRANSPORT_FEEDBACK, words, AGAIN, SSRC)
    return head + b"".join(_PAIR.pack(*pair) for pair in pairs)


def asked_for(octets: bytes) -> list[int]:
    """The sequence numbers that such a packet asks for; none of anything else."""
    if len(octets) < _NACK.size:
        return []
    first, kind, words, _, media = _NACK.unpack_from(octets)
    if (first, kind, media) != (_VERSION | _GENERIC_NACK, _TRANSPORT_FEEDBACK, SSRC):
        return []
    end = min(len(octets), 4 * (words + 1))
    found = []
    for at in range(_NACK.size, end - _PAIR.size + 1, _PAIR.size):
        number, more = _PAIR.unpack_from(octets, at)
        found.append(number)
        found += [number + bit + 1 & 0xFFFF for bit in range(16) if more >> bit & 1]
    return found
