"""What `getStats` of browsers told during a run, as tables.

`media_seconds` and `signals` are as of calls, `browsers` has what only a browser tells. Names in
parentheses are those of W3C's "Identifiers for WebRTC's Statistics API".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voxpath.results.browser_columns import COLUMNS, TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MEDIA = ("audio", "video")

_COUNTS = {
    "frames_captured": ("media-source", "frames", 1.0),
    "frames_encoded": ("outbound-rtp", "framesEncoded", 1.0),
    "encode_time_ns": ("outbound-rtp", "totalEncodeTime", 1e9),
    "limited_by_cpu_ns": ("outbound-rtp", "qualityLimitationDurations.cpu", 1e9),
    "frames_decoded": ("inbound-rtp", "framesDecoded", 1.0),
    "frames_dropped": ("inbound-rtp", "framesDropped", 1.0),
    "freezes": ("inbound-rtp", "freezeCount", 1.0),
    "frozen_ns": ("inbound-rtp", "totalFreezesDuration", 1e9),
    "nacks": ("inbound-rtp", "nackCount", 1.0),
    "plis": ("inbound-rtp", "pliCount", 1.0),
}
"""Columns that are counted up: where they stand, and in which unit."""

_RATIOS = {
    "qp_mean": ("outbound-rtp", "qpSum", "framesEncoded", 1.0),
    "jitter_buffer_mean_ns": ("inbound-rtp", "jitterBufferDelay", "jitterBufferEmittedCount", 1e9),
    "concealed_share": ("inbound-rtp", "concealedSamples", "totalSamplesReceived", 1.0),
}

_OTHER = {"client": "server", "server": "client"}

Array = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass
class _End:
    """Samples of one browser, as columns that grow.

    Attributes:
        flow: The call.
        end: Which end of it.
        seconds: Of each sample, from the run's start.
        values: By type, medium and identifier; a value for each sample, NaN where there was none.
    """

    flow: str
    end: str
    seconds: list[float] = field(default_factory=list)
    values: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    def add(self, second: float, stats: Iterable[Mapping[str, Any]]) -> None:
        """Adds a sample; several streams of a medium count together."""
        now: dict[tuple[str, str, str], float] = {}
        for one in stats:
            kind = str(one.get("kind", ""))
            if one["type"] == "candidate-pair" and not one.get("nominated"):
                continue
            for name, value in _numbers(one):
                key = one["type"], kind, name
                now[key] = now.get(key, 0.0) + value
        for key in now.keys() - self.values.keys():
            self.values[key] = [float("nan")] * len(self.seconds)
        self.seconds.append(second)
        for key, values in self.values.items():
            values.append(now.get(key, float("nan")))

    def each(self, bounds: Array, kind: str, media: str, name: str) -> Array:
        """How much a counter grew in each second; NaN where it was not told throughout."""
        values = self.values.get((kind, media, name))
        if values is None:
            return np.full(len(bounds) - 1, np.nan)
        # A counter that is not there yet is at zero, as long as the browser is.
        told = np.nan_to_num(np.asarray(values))
        return np.diff(np.interp(bounds, self.seconds, told, left=0.0))

    def last(self, bounds: Array, kind: str, media: str, name: str, *, mean: bool = False) -> Array:
        """The last value of each second, or the mean; NaN where none was told."""
        values = np.asarray(self.values.get((kind, media, name), [float("nan")] * len(self.seconds)))
        second = np.floor(self.seconds)
        found = np.full(len(bounds) - 1, np.nan)
        for index, start in enumerate(bounds[:-1]):
            some = values[(second == start) & ~np.isnan(values)]
            if len(some):
                found[index] = some.mean() if mean else some[-1]
        return found


def tables(rows: Iterable[bytes], began_unix_ns: int) -> dict[str, pl.DataFrame]:
    """Tables of what browsers told; none of a run without browsers.

    Args:
        rows: Of each program of a scenario what it wrote, JSON line by line (`voxpath.webrtc.call`).
        began_unix_ns: When the run began, by the clock of the day.

    Raises:
        ValueError: A line is none that this package writes.
    """
    ends = [end for lines in rows for end in _ends(lines, began_unix_ns) if end.seconds]
    if not ends:
        return {}
    by_name = {(end.flow, end.end): end for end in ends}
    ways = [
        (sender, by_name.get((sender.flow, _OTHER[sender.end])), media)
        for sender in ends
        for media in _MEDIA
        if ("outbound-rtp", media, "packetsSent") in sender.values
    ]
    return {
        "media_seconds": _framed([_media(*way) for way in ways]),
        TABLE: _framed([_own(*way) for way in ways]),
        "signals": _framed([_signals(end) for end in ends]),
    }


def _ends(lines: bytes, began_unix_ns: int) -> list[_End]:
    ends: list[_End] = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            told = json.loads(line)
            if "end" in told and told["end"] in _OTHER:
                ends.append(_End(str(told["call"]), told["end"]))
            elif not ends:
                # As if the line were none of ours.
                raise ValueError("a sample comes before its call's name")  # noqa: TRY301
            else:
                ends[-1].add((told["unix_ms"] * 1e6 - began_unix_ns) / 1e9, told["stats"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"line {number}: {error}") from None
    return ends


def _numbers(one: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in one.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", number) for inner, number in _numbers(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, float(value)


def _bounds(sender: _End) -> Array:
    """Whole seconds of which the browser told the end."""
    return np.arange(max(0.0, np.floor(sender.seconds[0])), np.floor(sender.seconds[-1]) + 1)


def _named(sender: _End, media: str, bounds: Array) -> dict[str, Any]:
    count = len(bounds) - 1
    return {
        "flow": [sender.flow] * count,
        "end": [sender.end] * count,
        "media": [media] * count,
        "second": pl.Series(bounds[:-1]).cast(pl.UInt64),
    }


def _media(sender: _End, receiver: _End | None, media: str) -> pl.DataFrame:
    """Columns as of calls; those that a browser does not tell have no values."""
    bounds = _bounds(sender)

    def sent(name: str) -> Array:
        return sender.each(bounds, "outbound-rtp", media, name)

    def received(name: str) -> Array:
        missing = np.full(len(bounds) - 1, np.nan)
        return missing if receiver is None else receiver.each(bounds, "inbound-rtp", media, name)

    lost, came = received("packetsLost"), received("packetsReceived")
    columns = {
        "media_time_ns": np.full(len(bounds) - 1, 1e9),
        "media_target_bps": sender.last(bounds, "outbound-rtp", media, "targetBitrate", mean=True),
        "media_encoded_bps": 8 * (sent("bytesSent") - sent("retransmittedBytesSent")),
        "media_sent_bps": 8 * (sent("bytesSent") + sent("headerBytesSent")),
        "media_received_bps": 8 * (received("bytesReceived") + received("headerBytesReceived")),
        "media_packets_sent": sent("packetsSent"),
        "media_packets_received": came,
        "media_packets_expected": came + lost,
        "media_packets_lost": np.maximum(lost, 0),
    }
    counts = [name for name in columns if not name.endswith("_bps")]
    return pl.DataFrame({**_named(sender, media, bounds), **columns}, nan_to_null=True).with_columns(
        pl.col(counts).round().cast(pl.UInt64, strict=False)
    )


def _own(sender: _End, receiver: _End | None, media: str) -> pl.DataFrame:
    bounds = _bounds(sender)
    none = np.full(len(bounds) - 1, np.nan)

    def each(kind: str, name: str) -> Array:
        end = receiver if kind == "inbound-rtp" else sender
        return none if end is None else end.each(bounds, kind, media, name)

    columns: dict[str, Any] = {
        name: sender.last(bounds, "outbound-rtp", media, there)
        for name, there in (("frame_width", "frameWidth"), ("frame_height", "frameHeight"))
    }
    columns |= {name: factor * each(kind, there) for name, (kind, there, factor) in _COUNTS.items()}
    with np.errstate(invalid="ignore", divide="ignore"):
        columns |= {
            name: factor * each(kind, part) / each(kind, whole)
            for name, (kind, part, whole, factor) in _RATIOS.items()
        }
    columns = {name: np.where(np.isfinite(values), values, np.nan) for name, values in columns.items()}
    whole = [name for name in columns if name not in ("qp_mean", "concealed_share")]
    frame = pl.DataFrame({**_named(sender, media, bounds), **columns}, nan_to_null=True)
    return frame.with_columns(pl.col(whole).round().cast(pl.UInt64, strict=False)).select(list(COLUMNS))


_SIGNALS = {
    "target_bps": (("candidate-pair", "", "availableOutgoingBitrate"), 1.0),
    "round_trip_ms": (("candidate-pair", "", "currentRoundTripTime"), 1e3),
    "video_target_bps": (("outbound-rtp", "video", "targetBitrate"), 1.0),
    "video_key_frames": (("outbound-rtp", "video", "keyFramesEncoded"), 1.0),
}
"""Names of signals, as our rate controls have the first two, and where they stand."""


def _signals(end: _End) -> pl.DataFrame:
    """Changes only, as of calls."""
    rows = []
    for name, (place, factor) in _SIGNALS.items():
        values = end.values.get(place, [])
        last = float("nan")
        for second, value in zip(end.seconds, values, strict=False):
            if not np.isnan(value) and value != last:
                rows.append((round(max(0.0, second) * 1e9), end.flow, end.end, name, factor * value, ""))
                last = value
    schema = {
        "time_ns": pl.UInt64,
        "flow": pl.String,
        "end": pl.String,
        "signal": pl.String,
        "number": pl.Float64,
        "state": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort("time_ns", maintain_order=True)


def _framed(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="vertical_relaxed") if frames else pl.DataFrame()
