"""Whether a sound file is whole, by what its own head says of its length.

FFmpeg reads a file that is cut off to its end, and does not say that more was promised. Of each format here
a function finds how long the data is said to be; `FORMATS` has them by how a file begins. Others tell nothing
of their length (AAC's ADTS, MP3 without Xing's head, and whatever was written as it came), or FFmpeg has it
(FLAC, MP4).
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_UNKNOWN = 0x7FF0_0000
"""From this size on, in bytes, a length of 32 bits is no end that was known: who writes as it comes puts 2 or
4 GiB less some headers there, or 0."""
_LAST_PAGE = 4
"""The flag of a page that ends its stream (RFC 3533 section 6)."""
_PAGE_HEAD, _LARGEST_PAGE = 27, 65_307
_W64_DATA = bytes.fromhex("64617461f3acd3118cd100c04f8edb8a")
_SEGMENT = bytes.fromhex("18538067")


class Data(NamedTuple):
    """A file's data as its head has it, in bytes.

    Attributes:
        begins: Where.
        size: How long it is said to be.
        is_even: Whether each second of it has as many.
    """

    begins: int
    size: int
    is_even: bool = True


def missing(path: Path, seconds: float) -> str | None:
    """What a file has not of what it says to have; none where all is there, or it does not say.

    Args:
        path: A file that can be read as a sound.
        seconds: How long it sounds.
    """
    length = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
        if octets[:4] == b"OggS":
            return None if _ends(octets) else "the file is cut off: its last page ends no stream"
        finds = next((finds for begins, finds in FORMATS.items() if octets[: len(begins)] == begins), _mp3)
        data = finds(octets)
    if data is None or data.begins + data.size <= length:
        return None
    share = (length - data.begins) / data.size
    if data.is_even and share > 0:
        return f"the file is cut off: it has {seconds:.2f} s of the {seconds / share:.2f} s that it says"
    return f"the file is cut off: it has {100 * share:.1f} % of the data that it says"


def _chunks(octets: mmap.mmap, at: int, order: str, size_bytes: int = 4) -> Mapping[bytes, tuple[int, int]]:
    """Where each chunk's content begins, and its size, by its name; up to data without a known end."""
    found: dict[bytes, tuple[int, int]] = {}
    while at + 4 + size_bytes <= len(octets):
        name = octets[at : at + 4]
        size = int.from_bytes(octets[at + 4 : at + 4 + size_bytes], "little" if order == "<" else "big")
        at += 4 + size_bytes
        found.setdefault(name, (at, size))
        # Nothing says where the data ends that was written as it came.
        if name == b"data" and not 0 < size < (_UNKNOWN if size_bytes == 4 else 1 << 63):
            break
        at += size + (size % 2 if size_bytes == 4 else 0)
    return found


def _riff(octets: mmap.mmap) -> Data | None:
    """Microsoft's WAVE."""
    begins, size = _chunks(octets, 12, "<").get(b"data", (0, 0))
    return Data(begins, size) if 0 < size < _UNKNOWN else None


def _rf64(octets: mmap.mmap) -> Data | None:
    """EBU Tech 3306: the size is in the chunk `ds64`, behind that of the file."""
    chunks = _chunks(octets, 12, "<")
    if b"data" not in chunks or b"ds64" not in chunks:
        return None
    at = chunks[b"ds64"][0] + 8
    size = int.from_bytes(octets[at : at + 8], "little")
    return Data(chunks[b"data"][0], size) if size else None


def _w64(octets: mmap.mmap) -> Data | None:
    """Sony's Wave64: chunks have a GUID, and a size that counts their head; they begin at multiples of 8."""
    at = 40
    while at + 24 <= len(octets):
        size = int.from_bytes(octets[at + 16 : at + 24], "little")
        if octets[at : at + 16] == _W64_DATA:
            return Data(at + 24, size - 24) if 24 < size < 1 << 63 else None
        if size < 24:
            return None
        at += -(-size // 8) * 8
    return None


def _aiff(octets: mmap.mmap) -> Data | None:
    """AIFF and AIFF-C: the samples are in the chunk `SSND`, behind an offset and a block size."""
    begins, size = _chunks(octets, 12, ">").get(b"SSND", (0, 0))
    return Data(begins + 8, size - 8) if 8 < size < _UNKNOWN else None


def _au(octets: mmap.mmap) -> Data | None:
    """Sun's AU: offset and size of the data are in its head."""
    begins, size = (int.from_bytes(octets[at : at + 4], "big") for at in (4, 8))
    return Data(begins, size) if 0 < size < _UNKNOWN else None


def _caf(octets: mmap.mmap) -> Data | None:
    """Apple's Core Audio Format: sizes of 64 bits, and -1 of data that goes on to the end."""
    begins, size = _chunks(octets, 8, ">", 8).get(b"data", (0, 0))
    return Data(begins + 4, size - 4) if 4 < size < 1 << 63 else None


def _matroska(octets: mmap.mmap) -> Data | None:
    """Matroska and WebM: all is in one segment (RFC 9559), whose size has only ones where it is not known."""
    begins, size = _ebml_size(octets, 4)
    at = begins + (size or 0)
    if octets[at : at + 4] != _SEGMENT:
        return None
    begins, size = _ebml_size(octets, at + 4)
    return None if size is None else Data(begins, size, is_even=False)


def _ebml_size(octets: mmap.mmap, at: int) -> tuple[int, int | None]:
    """Where an element's content begins, and its size (RFC 8794 section 4); none of an unknown one."""
    width = 9 - octets[at].bit_length()
    bits = int.from_bytes(octets[at : at + width], "big") & ((1 << 7 * width) - 1)
    return at + width, None if bits == (1 << 7 * width) - 1 else bits


def _mp3(octets: mmap.mmap) -> Data | None:
    """MP3 with the head of Xing or LAME in its first frame, which says how many bytes follow, it included."""
    at = 0
    if octets[:3] == b"ID3":
        # Four times seven bits (ID3v2 section 3.1).
        at = 10 + sum(octet << 7 * place for place, octet in enumerate(reversed(octets[6:10])))
    if at + 4 > len(octets) or octets[at] != 0xFF or octets[at + 1] & 0xE0 != 0xE0:
        return None
    of_mpeg_1, is_mono = octets[at + 1] >> 3 & 3 == 3, octets[at + 3] >> 6 == 3
    # Behind the side information (ISO/IEC 11172-3 section 2.4.1.7 and 13818-3 section 2.4.1.7).
    head = at + 4 + ((17 if is_mono else 32) if of_mpeg_1 else (9 if is_mono else 17))
    if octets[head : head + 4] not in (b"Xing", b"Info"):
        return None
    flags = int.from_bytes(octets[head + 4 : head + 8], "big")
    if not flags & 2:
        return None
    place = head + 8 + (4 if flags & 1 else 0)
    size = int.from_bytes(octets[place : place + 4], "big")
    return Data(at, size, is_even=False) if size else None


def _ends(octets: mmap.mmap) -> bool:
    """Whether the last page of an Ogg file is whole, and ends a stream."""
    at = octets.rfind(b"OggS", max(0, len(octets) - _LARGEST_PAGE))
    if at < 0 or at + _PAGE_HEAD > len(octets):
        return False
    count = octets[at + 26]
    lengths = octets[at + _PAGE_HEAD : at + _PAGE_HEAD + count]
    return bool(octets[at + 5] & _LAST_PAGE) and at + _PAGE_HEAD + count + sum(lengths) <= len(octets)


FORMATS: Mapping[bytes, Callable[[mmap.mmap], Data | None]] = {
    b"RIFF": _riff,
    b"RF64": _rf64,
    b"riff": _w64,
    b"FORM": _aiff,
    b".snd": _au,
    b"caff": _caf,
    bytes.fromhex("1a45dfa3"): _matroska,
}
"""By how a file begins; what begins as none of these may be MP3."""
