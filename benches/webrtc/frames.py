"""The video frames of a browser's call as it sent them, and what its encoder made of its targets."""
# SPDX-License-Identifier: Apache-2.0

import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PAYLOAD_TYPE = 96
"""Of the first codec of video in Chromium's session descriptions; what it sends again has another one (RFC 4588)."""

CLOCK = 90_000
"""Ticks a second of video (RFC 3551 section 5)."""

_FIXED = struct.Struct(">BBHII")
"""The fixed header of RTP (RFC 3550 section 5.1), which SRTP does not hide."""
_WORD = 4
_TAG = 10
"""Octets of SRTP's authentication tag in Chromium's calls (AES_CM_128_HMAC_SHA1_80)."""

_BETWEEN_SAMPLES = 0.5
"""Seconds, of `getStats`: a quarter of one, and what a busy browser takes."""

_IN_ONE_GO = 0.001
"""Seconds: libwebrtc's pacer plans no send closer to another one than this (`kMinSleepTime`)."""

_SIGNALS = {"video_target_bps": "target", "target_bps": "estimate", "video_key_frames": "keys"}
"""Series of `getStats` that are kept, and their names in the record."""


Series = tuple[Sequence[float], Sequence[float]]
"""Times in seconds, and what was told."""


@dataclass(frozen=True)
class Frames:
    """Video frames of a call.

    Attributes:
        first_s: When the first packet was sent, in seconds of the run.
        ticks: By RTP's clock, from each frame to the one before; zero of the first.
        sizes: Octets, with payload descriptors.
        series: What `getStats` told as it changed: times in seconds of the run, and values.
        apart_us: From one packet of a frame to the next where both left in one go, in microseconds: the quartiles.
            Calls that were recorded before this was measured have none.
        late_ms: How much later after its capture than the one that took least each frame's first packet left, in milliseconds: what
            the encoder took. None of a frame that waited for packets of others; calls that were recorded before have none at all.
    """

    first_s: float
    ticks: Sequence[int]
    sizes: Sequence[int]
    series: Mapping[str, Series]
    apart_us: Sequence[float] | None = None
    late_ms: Sequence[float | None] | None = None

    def told(self) -> dict[str, Any]:
        """For the record."""
        told = {"first_s": self.first_s, "ticks": self.ticks, "bytes": self.sizes, "series": self.series}
        return told | {"apart_us": self.apart_us, "late_ms": self.late_ms}

    @classmethod
    def recorded(cls, told: dict[str, Any]) -> "Frames":
        """From the record."""
        later = told.get("apart_us"), told.get("late_ms")
        return cls(told["first_s"], told["ticks"], told["bytes"], told["series"], *later)

    def times(self) -> np.ndarray:
        """About when each was captured, in seconds of the run."""
        return self.first_s + np.cumsum(self.ticks) / CLOCK

    def ratios(self, fps: int, since: float, until: float) -> list[float]:
        """Sizes in frames of the mean size that the encoder was asked for, and zero where a frame is missing.

        Key frames are left out: the other end asks for them, after losses.
        """
        return [ratio for ratio, _ in self._made(fps, since, until)]

    def encoder(self, fps: int, since: float, until: float) -> list[str]:
        """The same as lines of a file of `ratios`, with how late each frame was where that was recorded.

        One that waited for packets of others is taken to be as late as the one before.
        """
        late, lines = 0.0, []
        # Later than the next one is due no frame can be.
        most = 1000 / fps
        for ratio, number in self._made(fps, since, until):
            known = None if self.late_ms is None or number is None else self.late_ms[number]
            late = late if known is None else min(known, most)
            lines.append(f"{ratio}" if self.late_ms is None else f"{ratio} {late:g} ms")
        return lines

    def _made(self, fps: int, since: float, until: float) -> list[tuple[float, int | None]]:
        """The ratios, and which frame each is; none of those that are missing."""
        times, ticks = self.times(), CLOCK / fps
        wanted = np.array(self._held("target", times)) / 8 / fps
        keys = self._key_frames(times)
        found: list[tuple[float, int | None]] = []
        for number in np.flatnonzero((times >= since) & (times < until) & (wanted > 0)):
            missing = round(self.ticks[number] / ticks) - 1
            found += [(0.0, None)] * max(0, missing)
            if number not in keys:
                found.append((round(self.sizes[number] / wanted[number], 3), int(number)))
        return found

    def _held(self, name: str, times: np.ndarray) -> list[float]:
        """What was told last; the first value before."""
        seconds, values = self.series[name]
        places = np.searchsorted(seconds, times, side="right") - 1
        return [values[place] for place in np.maximum(places, 0)]

    def _key_frames(self, times: np.ndarray) -> set[int]:
        """The largest frame between a sample and the one in which there was one more."""
        seconds, counts = self.series["keys"]
        keys = {0}
        for (before, fewer), (at, more) in pairwise(zip(seconds, counts, strict=True)):
            # The series has changes only: the sample before is a quarter of a second old.
            inside = np.flatnonzero((times >= max(before, at - _BETWEEN_SAMPLES)) & (times < at))
            if more > fewer and len(inside):
                keys.add(int(inside[np.argmax([self.sizes[place] for place in inside])]))
        return keys


def of_call(folder: Path, host: str, end: str) -> Frames:
    """The frames of a run of browsers that captured the host which sends video.

    Raises:
        ValueError: There are none.
    """
    return frames(_datagrams(folder / "captures" / f"{host}.pcapng"), dict(_series(folder, end)))


def frames(datagrams: Iterable[tuple[float, bytes]], series: Mapping[str, Series]) -> Frames:
    """The frames in datagrams that an end has sent, with their times.

    Raises:
        ValueError: There are none.
    """
    packets = list(_video(datagrams))
    if not packets:
        raise ValueError("no packet of video was sent")
    began, first, _ = packets[0]
    sizes: dict[int, int] = {}
    for _, timestamp, octets in packets:
        ticks = _since(timestamp, first)
        sizes[ticks] = sizes.get(ticks, 0) + octets
    at = sorted(sizes)
    steps = [later - earlier for earlier, later in pairwise(at)]
    late = _late(packets, first)
    return Frames(
        round(began, 3),
        [0, *steps],
        [sizes[ticks] for ticks in at],
        series,
        _apart(packets),
        [late[ticks] for ticks in at],
    )


def _since(timestamp: int, first: int) -> int:
    """Ticks from one timestamp to another, whose differences are modulo 2^32."""
    return (timestamp - first + 2**31) % 2**32 - 2**31


def _late(packets: Sequence[tuple[float, int, int]], first: int) -> dict[int, float | None]:
    """How late the first packet of each frame left, by the frame's ticks."""
    # What left in one go with a packet of another frame had waited with it.
    found: dict[int, tuple[float, bool]] = {}
    before = -_IN_ONE_GO
    for seconds, timestamp, _ in packets:
        ticks = _since(timestamp, first)
        if ticks not in found:
            found[ticks] = (seconds - ticks / CLOCK, seconds - before < _IN_ONE_GO)
        before = seconds
    least = min(delay for delay, _ in found.values())
    return {
        ticks: None if waited else round((delay - least) * 1e3, 1) for ticks, (delay, waited) in found.items()
    }


def _apart(packets: Sequence[tuple[float, int, int]]) -> list[float] | None:
    """From one packet of a frame to the next, of those that did not wait for the pacer."""
    gaps = [
        (later - earlier) * 1e6
        for (earlier, frame, _), (later, same, _) in pairwise(packets)
        if frame == same and later - earlier < _IN_ONE_GO
    ]
    return [round(float(quartile), 1) for quartile in np.percentile(gaps, (25, 50, 75))] if gaps else None


def _series(folder: Path, end: str) -> Iterable[tuple[str, Series]]:
    signals = pl.read_parquet(folder / "signals.parquet").filter(pl.col("end").cast(pl.String) == end)
    for signal, name in _SIGNALS.items():
        some = signals.filter(pl.col("signal").cast(pl.String) == signal)
        seconds = [round(ns / 1e9, 3) for ns in some.get_column("time_ns")]
        yield name, (seconds, [round(value) for value in some.get_column("number")])


def _datagrams(capture: Path) -> Iterable[tuple[float, bytes]]:
    """Datagrams that the host has sent, with their time."""
    command = ["tshark", "-n", "-r", str(capture), "-Y", "udp and frame.p2p_dir == 0", "-T", "fields"]
    command += ["-e", "frame.time_epoch", "-e", "udp.payload"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - nothing of anybody's
    for line in done.stdout.splitlines():
        seconds, payload = line.split("\t")
        yield float(seconds), bytes.fromhex(payload)


def _video(datagrams: Iterable[tuple[float, bytes]]) -> Iterable[tuple[float, int, int]]:
    """Of each packet of video its time, its RTP timestamp and its octets of media."""
    for seconds, octets in datagrams:
        if len(octets) < _FIXED.size or octets[0] >> 6 != 2 or octets[1] & 0x7F != PAYLOAD_TYPE:
            continue
        flags, _, _, timestamp, _ = _FIXED.unpack_from(octets)
        header = _FIXED.size + _WORD * (flags & 0x0F)
        if flags & 0x10:
            (words,) = struct.unpack_from(">H", octets, header + 2)
            header += _WORD * (1 + words)
        yield seconds, timestamp, len(octets) - header - _TAG
