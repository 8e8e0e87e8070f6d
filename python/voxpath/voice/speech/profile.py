"""What a recogniser takes, and what it makes of an utterance, recorded without a network: for the simulator.

A profile (`decoder_profile`) is of a recogniser on a machine. Every call of it is timed, on utterances that
are heard several times. The least time of a call is what it takes undisturbed; times the ratio of the median
whole to the sum of these, it is what it takes on this machine, as busy as it was. From these times follow

- a curve, decoding in all after so much of a segment, the mean of the segments; straight after half of the
  usual length of a segment, or 1.8 s (`curve`, `per_second`). What a recogniser holds back before it begins,
  and what it repeats, is in its shape;
- how much harder one segment is than another (`spread`), and one quarter second than another (`jitter`);
- what the end of a segment takes, a line over its length (`finishing`, `finishing_per_second`,
  `finishing_spread`).

An utterance (`utterance_profile`) has no times: where in it speech was found and what was told, in octets of
audio, because that depends on the audio alone.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath.voice.speech.events import as_told, farewell
from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.session import Final, Partial, Session
from voxpath.voice.speech.worker import PIECE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voxpath.voice.speech.client import Audio
    from voxpath.voice.speech.recognisers import Heard, Recogniser

_BYTES_PER_S = 2 * RATE
"""Of what recognisers hear."""
_BLOCK_S = 0.25
_STEP_S = 0.03
"""Of the curve: recognisers are given frames of this length."""
_LEAST_CURVE = 60
"""Steps that it has if segments are so long: what a recogniser does at their beginning is over then."""
_LEAST_STRAIGHT = 30
"""Steps that its slope is taken from."""
_JITTER_STEPS = 8
_TOLERANCE = 0.01
"""Of the curve's points, of its height."""
_LOOK_S = 0.02
"""Audio between two looks at what was told: readers cut it so."""
_LEAST_SEGMENTS = 2
_QUIET = 1.1
_ID = "00000000-0000-0000-0000-000000000000"
_TIMING = {"decoding": 0.123456, "since_arrival": 0.123456, "waiting": 0.000123}
"""As long as such numbers mostly are."""


class ProfileError(Exception):
    """Audio that no profile can be made of."""


@dataclass
class _Segment:
    """What one segment took, call by call."""

    heard: list[int] = field(default_factory=list)
    """Octets after each call."""
    took: list[float] = field(default_factory=list)
    finishing: float = 0.0

    @property
    def length_s(self) -> float:
        return self.heard[-1] / _BYTES_PER_S if self.heard else 0.0


class Watched:
    """A recogniser whose calls are timed; itself one."""

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser
        self.segments: list[_Segment] = []
        self.is_open = False

    def begin(self) -> None:
        """A segment begins."""
        self.segments.append(_Segment())
        self.is_open = True
        self._recogniser.begin()

    def feed(self, pcm: bytes) -> None:
        """Hears."""
        segment = self.segments[-1]
        begun = time.perf_counter()
        self._recogniser.feed(pcm)
        segment.took.append(time.perf_counter() - begun)
        segment.heard.append((segment.heard[-1] if segment.heard else 0) + len(pcm))

    def partial(self) -> str:
        """What is understood so far."""
        begun = time.perf_counter()
        text = self._recogniser.partial()
        self.segments[-1].took[-1] += time.perf_counter() - begun
        return text

    def finish(self) -> Heard:
        """The segment ends."""
        begun = time.perf_counter()
        heard = self._recogniser.finish()
        self.segments[-1].finishing = time.perf_counter() - begun
        self.is_open = False
        return heard

    def adaptation(self) -> str | None:
        """What was learnt."""
        return self._recogniser.adaptation()

    def reset(self) -> None:
        """A session begins."""
        self._recogniser.reset()

    def adapt(self, state: str) -> None:
        """Takes what another session learnt."""
        self._recogniser.adapt(state)


@dataclass(frozen=True)
class HeardOnce:
    """What one utterance took."""

    audio_s: float
    segments: list[_Segment]
    elsewhere_s: float
    """Outside of the recogniser: formats, ends of speech."""


@dataclass(frozen=True)
class Recording:
    """What a recogniser took for some utterances."""

    names: Sequence[str]
    sessions: Sequence[HeardOnce]
    """The least that each of their calls took."""
    contention: float
    repetitions: int

    def without(self, name: str) -> Recording:
        """The same, had it not heard one of them."""
        kept = [pair for pair in zip(self.names, self.sessions, strict=True) if pair[0] != name]
        return replace(self, names=[one for one, _ in kept], sessions=[session for _, session in kept])


def record(recogniser: Recogniser, audios: Sequence[Audio], repetitions: int) -> Recording:
    """Has a recogniser hear utterances, each as often as said."""
    hear(recogniser, audios[:1])  # What is slow once is not what is asked.
    return recording_of(audios, [hear(recogniser, audios) for _ in range(repetitions)])


def hear(recogniser: Recogniser, audios: Sequence[Audio]) -> list[HeardOnce]:
    """Has a recogniser hear utterances, each once."""
    return [_hear(recogniser, audio) for audio in audios]


def recording_of(audios: Sequence[Audio], runs: Sequence[Sequence[HeardOnce]]) -> Recording:
    """What follows of some times that utterances were heard, which may lie apart."""
    sessions = [_least(of_one) for of_one in zip(*runs, strict=True)]
    contention = statistics.median(sum(map(_whole, run)) for run in runs) / sum(map(_whole, sessions))
    return Recording([audio.name for audio in audios], sessions, contention, len(runs))


def decoder_profile(
    recogniser: Recogniser, name: str, audios: Sequence[Audio], repetitions: int
) -> dict[str, Any]:
    """A profile as its file has it.

    Raises:
        ProfileError: There is too little speech for one.
    """
    return profile_of(record(recogniser, audios, repetitions), name)


def profile_of(recording: Recording, name: str) -> dict[str, Any]:
    """What follows from a recording, as the file of a profile has it.

    Raises:
        ProfileError: There is too little speech in it.
    """
    sessions, contention = recording.sessions, recording.contention
    segments = [segment for session in sessions for segment in session.segments if segment.heard]
    if len(segments) < _LEAST_SEGMENTS:
        raise ProfileError(f"{len(segments)} segments of speech: a profile needs {_LEAST_SEGMENTS} at least")
    curve, slope = _curve(segments)
    decoder: dict[str, Any] = {
        "curve": [[_span(x), _span(y * contention)] for x, y in curve],
        "per_second": _span(slope * contention),
    }
    factors, jitters = _factors(segments, curve, slope)
    decoder |= {"spread": _deviation(factors), "jitter": _deviation(jitters)}
    fixed, per_second, residuals = _line(
        [segment.length_s for segment in segments], [segment.finishing for segment in segments]
    )
    decoder |= {
        "finishing": _span(fixed * contention),
        "finishing_per_second": _span(per_second * contention),
        "finishing_spread": _deviation(residuals),
    }
    audio_s = sum(session.audio_s for session in sessions)
    elsewhere_s = sum(session.elsewhere_s for session in sessions)
    decoder |= {"listening": _span(elsewhere_s * contention / audio_s), "piece": f"{PIECE} B"}
    origin = _origin(name, recording.names) | {
        "repetitions": recording.repetitions,
        "segments": len(segments),
        "audio_s": round(audio_s, 3),
        "contention": round(contention, 4),
    }
    return {"decoder": decoder, "origin": origin}


def utterance_profile(recogniser: Recogniser, name: str, audio: Audio) -> dict[str, Any]:
    """What a recogniser makes of an utterance, as its file has it.

    Raises:
        ProfileError: There is no audio.
    """
    if not audio.data:
        raise ProfileError(f"{audio.name}: no audio")
    watched = Watched(recogniser)
    session = Session(watched, reader_of(audio.content_type))
    segments: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []

    def note(events: Sequence[Partial | Final], after: int | None) -> None:
        begins = f"{after or len(audio.data)} B"
        fresh = watched.segments[len(segments) :]
        segments.extend({"begins": begins, "lead": _span(segment.length_s)} for segment in fresh)
        if segments and not watched.is_open and after is not None:
            segments[-1].setdefault("ends", f"{after} B")
        for event in events:
            result: dict[str, Any] = {} if after is None else {"after": f"{after} B"}
            result["size"] = f"{_told_size(event)} B"
            if isinstance(event, Final):
                result["spoken"] = f"{min(len(audio.data), math.ceil(event.end_s * audio.bytes_per_s))} B"
            results.append(result)

    step = max(2, round(audio.bytes_per_s * _LOOK_S / 2) * 2)
    for at in range(0, len(audio.data), step):
        piece = audio.data[at : at + step]
        note(list(session.feed(piece)), at + len(piece))
    note(list(session.finish()), None)
    return {
        "audio": f"{len(audio.data)} B",
        "length": _span(audio.length_s),
        "content_type": audio.content_type,
        "farewell": f"{_sent_size(farewell(_ID, recogniser.adaptation()))} B",
        "origin": _origin(name, [audio.name]),
        "segments": segments,
        "results": results,
    }


def _hear(recogniser: Recogniser, audio: Audio) -> HeardOnce:
    """An utterance as a worker hears it from our client: block by block."""
    watched = Watched(recogniser)
    session = Session(watched, reader_of(audio.content_type))
    size = max(1, round(audio.bytes_per_s * _BLOCK_S / 2)) * 2
    begun = time.perf_counter()
    for at in range(0, len(audio.data), size):
        for _ in session.feed(audio.data[at : at + size]):
            pass
    for _ in session.finish():
        pass
    whole = time.perf_counter() - begun
    inside = sum(sum(segment.took) + segment.finishing for segment in watched.segments)
    return HeardOnce(audio.length_s, watched.segments, whole - inside)


def _whole(session: HeardOnce) -> float:
    return session.elsewhere_s + sum(sum(one.took) + one.finishing for one in session.segments)


def _least(sessions: Sequence[HeardOnce]) -> HeardOnce:
    """The least that each call took: the audio is the same, and so are the calls."""
    segments = []
    for of_one in zip(*(session.segments for session in sessions), strict=True):
        took = [min(calls) for calls in zip(*(segment.took for segment in of_one), strict=True)]
        segments.append(_Segment(of_one[0].heard, took, min(segment.finishing for segment in of_one)))
    return HeardOnce(sessions[0].audio_s, segments, min(session.elsewhere_s for session in sessions))


def _increments(segment: _Segment) -> NDArray[np.float64]:
    """What each step of the segment took."""
    ends = np.array(segment.heard) / _BYTES_PER_S
    steps = np.maximum(0, np.ceil(ends / _STEP_S - 1e-6).astype(int) - 1)
    return np.bincount(steps, weights=np.array(segment.took)).astype(np.float64)


def _curve(segments: Sequence[_Segment]) -> tuple[list[tuple[float, float]], float]:
    """Decoding in all after so much of a segment, and for each second after the last point."""
    increments = [_increments(segment) for segment in segments]
    usual = round(statistics.median(len(one) for one in increments))
    bend = min(max(usual // 2, _LEAST_CURVE), max(map(len, increments)))
    means = [statistics.fmean(one[step] for one in increments if len(one) > step) for step in range(bend)]
    cumulative = np.concatenate(([0.0], np.cumsum(means)))
    points = [(step * _STEP_S, float(value)) for step, value in enumerate(cumulative)]
    took = sum(float(one[bend:].sum()) for one in increments)
    seconds = sum(max(0.0, segment.length_s - bend * _STEP_S) for segment in segments)
    if seconds < _LEAST_STRAIGHT * _STEP_S:
        # All segments are short: they go on as they were at last.
        last = means[-_LEAST_STRAIGHT:]
        took, seconds = took + sum(last), seconds + len(last) * _STEP_S
    slope = took / seconds
    return _simplified(points, _TOLERANCE * points[-1][1])[1:], slope


def _simplified(points: list[tuple[float, float]], tolerance: float) -> list[tuple[float, float]]:
    """Fewer points of a line, none of those left out far from it (Douglas and Peucker 1973)."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    off = [abs(y - (y0 + (y1 - y0) * (x - x0) / (x1 - x0))) for x, y in points[1:-1]]
    if not off or max(off) <= tolerance:
        return [points[0], points[-1]]
    worst = off.index(max(off)) + 1
    return _simplified(points[: worst + 1], tolerance)[:-1] + _simplified(points[worst:], tolerance)


def _factors(
    segments: Sequence[_Segment], curve: Sequence[tuple[float, float]], slope: float
) -> tuple[list[float], list[float]]:
    """How far segments, and quarter seconds of them, are from the curve: logarithms of ratios."""

    def expected(heard_s: float) -> float:
        xs, ys = [0.0, *(x for x, _ in curve)], [0.0, *(y for _, y in curve)]
        return float(np.interp(heard_s, xs, ys)) + max(0.0, heard_s - xs[-1]) * slope

    factors, jitters = [], []
    for segment in segments:
        ratio = sum(segment.took) / expected(segment.length_s)
        factors.append(math.log(ratio))
        increments = _increments(segment)
        for at in range(0, len(increments) - _JITTER_STEPS + 1, _JITTER_STEPS):
            ends = at * _STEP_S, (at + _JITTER_STEPS) * _STEP_S
            usual = (expected(ends[1]) - expected(ends[0])) * ratio
            took = float(increments[at : at + _JITTER_STEPS].sum())
            # Where speech is held back nothing is decoded.
            if usual > slope * _JITTER_STEPS * _STEP_S / 2 and took > 0.0:
                jitters.append(math.log(took / usual))
    return factors, jitters


def _line(lengths: Sequence[float], times: Sequence[float]) -> tuple[float, float, list[float]]:
    """A line that is nowhere below zero, and the logarithms of the ratios to it."""
    x, y = np.array(lengths), np.array(times)
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 0.0
    fixed = float(y.mean() - slope * x.mean())
    if slope < 0:
        fixed, slope = float(y.mean()), 0.0
    elif fixed < 0:
        fixed, slope = 0.0, float((x * y).sum() / (x * x).sum())
    return (
        fixed,
        slope,
        [math.log(time / (fixed + slope * length)) for length, time in zip(x, y, strict=True)],
    )


def _deviation(logarithms: Sequence[float]) -> float:
    return round(statistics.stdev(logarithms), 4) if len(logarithms) > 1 else 0.0


def _span(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def _origin(recogniser: str, names: Sequence[str]) -> dict[str, Any]:
    try:
        number = version(recogniser)
    except PackageNotFoundError:
        number = "unknown"
    return {
        "recogniser": recogniser,
        "version": number,
        "utterances": list(names),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "recorded": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _told_size(event: Partial | Final) -> int:
    """Octets of a result as our client gets it."""
    sent = as_told(event)
    sent["timing"] = dict(_TIMING)
    if isinstance(event, Final):
        sent["timing"] |= {"end_of_speech": event.end_s, "decided": event.decided_s}
    return _sent_size(sent)


def _sent_size(event: dict[str, Any]) -> int:
    return len(json.dumps(event | {"id": _ID}))
