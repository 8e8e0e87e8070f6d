"""Raw samples in any form, into equal blocks of 16 kHz, 16 bits, one channel; and what all readers share.

A reader cuts what it is fed into blocks of its own before anything is computed from it. So what comes out
depends on the octets alone, not on how they were cut on their way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RATE = 16_000
"""Samples per second that recognisers hear."""
_BLOCKS_PER_S = 50
_RATES = (4_000, 192_000)
_CHANNELS = (1, 8)
_TAPS = 32
"""Of the resampler for each output, before the longer filter that a lower rate needs."""

Samples = NDArray[np.float32]


class FormatError(ValueError):
    """Audio that cannot be read; says what can."""


class Reader(Protocol):
    """Octets in, samples out."""

    def feed(self, data: bytes) -> Iterator[Samples]:
        """What has become whole, some at a time: a few octets may be much audio.

        Raises:
            FormatError: It is not what it was said to be.
        """
        ...

    def finish(self) -> Iterator[Samples]:
        """What is left at the end of the audio.

        Raises:
            FormatError: It ends where it cannot.
        """
        ...

    def close(self) -> None:
        """Nothing more is asked of it, wherever it is."""
        ...


class Resampler:
    """A polyphase low-pass filter from one rate to 16 kHz, with its state between blocks."""

    def __init__(self, rate: int) -> None:
        common = math.gcd(rate, RATE)
        self._up, self._down = RATE // common, rate // common
        stretch = max(1.0, self._down / self._up)
        self._taps = 2 * math.ceil(_TAPS * stretch / 2)
        centre = self._taps * self._up / 2
        at = np.arange(self._taps * self._up) - centre
        width = stretch * self._up
        window = np.kaiser(len(at), 8.0)
        response = np.sinc(at / width) * window / stretch
        # One row for each phase; the newest sample meets the filter's beginning.
        phases = response.reshape(self._taps, self._up).T[:, ::-1]
        self._phases = (phases / phases.sum(axis=1, keepdims=True)).astype(np.float32)
        self._held = np.zeros(self._taps // 2 - 1, dtype=np.float32)
        self._next = 0
        """Of the next output, in steps of 1/up samples behind the oldest held one."""

    def feed(self, samples: Samples) -> Samples:
        """The outputs that these samples complete."""
        if self._up == self._down:
            return samples
        held = np.concatenate((self._held, samples))
        last = (len(held) - self._taps) * self._up + self._up - 1
        count = max(0, (last - self._next) // self._down + 1)
        steps = self._next + self._down * np.arange(count)
        first, phase = steps // self._up, steps % self._up
        windows = np.lib.stride_tricks.sliding_window_view(held, self._taps) if count else held[:0]
        made = np.einsum("ij,ij->i", windows[first], self._phases[phase]) if count else held[:0]
        self._next += self._down * count
        gone = min(self._next // self._up, len(held))
        self._held = held[gone:]
        self._next -= gone * self._up
        return made.astype(np.float32)

    def finish(self) -> Samples:
        """What the filter still holds."""
        tail = 0 if self._up == self._down else self._taps // 2
        return self.feed(np.zeros(tail, dtype=np.float32))


@dataclass(frozen=True)
class Encoding:
    """How raw samples are written."""

    rate: int
    format: str = "S16LE"
    channels: int = 1

    def __post_init__(self) -> None:
        if self.format not in _SAMPLES:
            raise FormatError(f"samples of format {self.format}: allowed are {', '.join(_SAMPLES)}")
        for name, value, (least, most) in (
            ("rate", self.rate, _RATES),
            ("channels", self.channels, _CHANNELS),
        ):
            if not least <= value <= most:
                raise FormatError(f"{name} {value}: allowed are {least} to {most}")


def _linear(dtype: str, zero: float, scale: float) -> Callable[[bytes], Samples]:
    def read(data: bytes) -> Samples:
        values = np.nan_to_num(np.frombuffer(data, dtype).astype(np.float32))
        return (values - np.float32(zero)) / np.float32(scale)

    return read


def _of_24_bits(order: slice) -> Callable[[bytes], Samples]:
    def read(data: bytes) -> Samples:
        # As the upper three octets of four.
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)[:, order]
        return wide.view("<i4")[:, 0].astype(np.float32) / np.float32(2.0**31)

    return read


def _of_g711(expand: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Callable[[bytes], Samples]:
    table = (expand(np.arange(256)) / 2.0**15).astype(np.float32)

    def read(data: bytes) -> Samples:
        return table[np.frombuffer(data, np.uint8)]

    return read


def _mu_law(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """ITU-T G.711 table 2, as 16 bits: all bits inverted; sign, segment, step."""
    code = ~code & 255
    size = (((code & 15) << 3) + 132 << (code >> 4 & 7)) - 132
    return np.where(code & 128, -size, size)


def _a_law(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """ITU-T G.711 table 1, as 16 bits: even bits inverted; sign, segment, step."""
    code = code ^ 0x55
    segment, step = code >> 4 & 7, code & 15
    size = np.where(segment, (step << 4) + 264 << np.maximum(segment - 1, 0), (step << 4) + 8)
    return np.where(code & 128, size, -size)


_SAMPLES: dict[str, tuple[int, Callable[[bytes], Samples]]] = {
    "S16LE": (2, _linear("<i2", 0.0, 2.0**15)),
    "S16BE": (2, _linear(">i2", 0.0, 2.0**15)),
    "U8": (1, _linear("u1", 128.0, 2.0**7)),
    "S24LE": (3, _of_24_bits(slice(None))),
    "S24BE": (3, _of_24_bits(slice(None, None, -1))),
    "S32LE": (4, _linear("<i4", 0.0, 2.0**31)),
    "F32LE": (4, _linear("<f4", 0.0, 1.0)),
    "MULAW": (1, _of_g711(_mu_law)),
    "ALAW": (1, _of_g711(_a_law)),
}
"""By GStreamer's names, and G.711's: octets of a sample, and what reads them, from -1 to 1."""


class Raw:
    """Samples as they are."""

    def __init__(self, encoding: Encoding) -> None:
        width, self._read = _SAMPLES[encoding.format]
        self._channels = encoding.channels
        self._frame = width * encoding.channels
        self._block = max(1, encoding.rate // _BLOCKS_PER_S) * self._frame
        self._held = b""
        self._resampler = Resampler(encoding.rate)

    def feed(self, data: bytes) -> Iterator[Samples]:
        """Every block that has become whole."""
        held = self._held + data
        whole = len(held) // self._block * self._block
        self._held = held[whole:]
        blocks = [self._samples(held[at : at + self._block]) for at in range(0, whole, self._block)]
        if blocks:
            yield np.concatenate([self._resampler.feed(block) for block in blocks])

    def finish(self) -> Iterator[Samples]:
        """The last, shorter block; half a sample at the end is dropped."""
        rest = self._held[: len(self._held) // self._frame * self._frame]
        self._held = b""
        yield self._resampler.feed(self._samples(rest))
        yield self._resampler.finish()

    def close(self) -> None:
        """Nothing is held."""

    def _samples(self, block: bytes) -> Samples:
        one = self._read(block).clip(-1.0, 1.0)
        return np.asarray(one.reshape(-1, self._channels).mean(axis=1), dtype=np.float32)


def to_pcm(samples: Samples) -> bytes:
    """As 16-bit integers, little-endian, as recognisers take them."""
    return bytes(np.rint(samples * 32767.0).astype("<i2").tobytes())
