"""What audio is by its first octets, where nobody says it."""

from __future__ import annotations

from voxpath.handshake import WAV

_MAGIC = (
    (0, b"RIFF", WAV),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "audio/webm"),
    (0, b"FORM", "audio/aiff"),
    (0, b".snd", "audio/x-au"),
    (0, b"ID3", "audio/mpeg"),
    (4, b"ftyp", "audio/mp4"),
)
_LEAST = 8
_RATES = (44_100, 48_000, 32_000)
"""Of MPEG-1's layer III; MPEG-2 and 2.5 have a half and a quarter."""
_KBITS_1 = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_KBITS_2 = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


def needed(head: bytes) -> int:
    """Octets that have to be there to tell."""
    frame = _frame(head)
    return _LEAST if frame is None else frame[1] + _LEAST


def media_type(head: bytes) -> str | None:
    """That of a container that begins so; none of what looks like none, such as raw samples."""
    for at, magic, media in _MAGIC:
        if head[at : at + len(magic)] == magic:
            return media
    # Frames of MP3 and AAC begin with twelve bits that raw samples have, too: so there are to be two.
    if (frame := _frame(head)) is None or (behind := _frame(head[frame[1] :])) is None:
        return None
    return frame[0] if frame[0] == behind[0] else None


def _frame(head: bytes) -> tuple[str, int] | None:
    """What kind of frame begins here, and its octets."""
    if len(head) < 6 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    if head[1] & 0xF6 == 0xF0:
        return _adts(head)
    return _mp3(head) if head[1] & 6 == 2 else None


def _adts(head: bytes) -> tuple[str, int] | None:
    """ISO/IEC 13818-7 section 6.2."""
    length = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    return ("audio/aac", length) if length > _LEAST and head[2] >> 2 & 15 < 13 else None


def _mp3(head: bytes) -> tuple[str, int] | None:
    """Layer III, by ISO/IEC 11172-3 section 2.4.1.3."""
    version, bitrate, rate = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or bitrate in (0, 15) or rate == 3:
        return None
    hertz = _RATES[rate] >> (3 - version if version else 2)
    per_kbit = 144_000 if version == 3 else 72_000
    kbits = (_KBITS_1 if version == 3 else _KBITS_2)[bitrate - 1]
    return "audio/mpeg", per_kbit * kbits // hertz + (head[2] >> 1 & 1)
