"""What the listener hears: which frames are there when they are due, and what stands for the others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from voxpath.voice.call.buffer import ADAPTIVE, waits
from voxpath.voice.call.stretch import shifted
from voxpath.voice.call.transports.base import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from voxpath.voice.call.codecs.base import Codec, Encoded
    from voxpath.voice.call.transports.base import Arrivals


class Fate(IntEnum):
    """What became of a frame."""

    PLAYED = 0
    """It was there in time."""
    RECOVERED = 1
    """It was not, but the copy in the frame after it was (in-band FEC)."""
    LATE = 2
    """It came after it was due: concealed."""
    LOST = 3
    """It never came: concealed."""
    UNSENT = 4
    """It was not sent, since nobody speaks: comfort noise."""
    UNCONNECTED = 5
    """It could not be sent, since there was no connection, or the other end was not heard of."""


MISSING = (Fate.LATE, Fate.LOST)
"""What is concealed."""


@dataclass(frozen=True)
class Heard:
    """What the listener hears.

    Attributes:
        values: Samples, aligned with the recording where the jitter buffer is fixed.
        fates: A `Fate` of each frame.
        wait: From each frame's capture to its play, in nanoseconds.
        begins: The first sample of each frame in `values`; below 0 where the look-ahead is cut off.
    """

    values: NDArray[np.int16]
    fates: NDArray[np.int8]
    wait: NDArray[np.int64]
    begins: NDArray[np.int64]

    def count(self, *fates: Fate) -> int:
        """How many frames had one of these fates."""
        return int(np.isin(self.fates, fates).sum())


def clean(codec: Codec, encoded: Encoded) -> NDArray[np.int16]:
    """What would be heard if every frame were there: decoding what was encoded."""
    return lossy(codec, encoded, np.zeros(len(encoded.frames), np.bool_))


def lossy(codec: Codec, encoded: Encoded, lost: NDArray[np.bool_]) -> NDArray[np.int16]:
    """What would be heard if these frames were lost, without copies, and all others there."""
    with codec.decoder(encoded) as decoder:
        parts = [
            decoder.play(frame) if frame and not gone else decoder.conceal()
            for frame, gone in zip(encoded.frames, lost, strict=True)
        ]
    return _cut(np.concatenate(parts), encoded)


def _cut(values: NDArray[np.int16], encoded: Encoded) -> NDArray[np.int16]:
    return values[encoded.lookahead : encoded.lookahead + encoded.samples]


def play(codec: Codec, encoded: Encoded, arrivals: Arrivals, buffer: Mapping[str, Any]) -> Heard:
    """Plays a run's frames.

    Args:
        codec: That made the frames.
        encoded: The frames.
        arrivals: When each was there.
        buffer: The jitter buffer, as a scenario has it. A fixed one keeps its delay. An adaptive one has a
            target, which the player nears by stretching frames, a pitch period at a time.
    """
    count = len(encoded.frames)
    asked = waits(arrivals, buffer)
    adapts = buffer["kind"] == ADAPTIVE
    came = np.flatnonzero(asked != NEVER)
    known = came[np.argsort(arrivals.complete[came], kind="stable")]
    # Where nothing came at all there is no clock to play by; silence has some.
    wait = int(asked[known[0]]) if len(known) else 0
    fates = np.empty(count, np.int8)
    waited = np.empty(count, np.int64)
    begins = np.empty(count, np.int64)
    parts: list[NDArray[np.int16]] = []
    at, heard_of = -encoded.lookahead, 0
    with codec.decoder(encoded) as decoder:
        for number, frame in enumerate(encoded.frames):
            now = int(arrivals.captured[number]) + wait
            fate = _fate(number, now, encoded, arrivals)
            if fate is Fate.PLAYED:
                part = decoder.play(frame)
            elif fate is Fate.RECOVERED:
                part = decoder.recover(encoded.frames[number + 1])
            else:
                part = decoder.conceal()
            fates[number], waited[number], begins[number] = fate, wait, at
            if adapts:
                while heard_of < len(known) and arrivals.complete[known[heard_of]] <= now:
                    heard_of += 1
                target = int(asked[known[max(heard_of - 1, 0)]]) if len(known) else wait
                part, moved = shifted(
                    part, encoded.rate_hz, (target - wait) * encoded.rate_hz // 1_000_000_000
                )
                wait += moved * 1_000_000_000 // encoded.rate_hz
            parts.append(part)
            at += len(part)
    end = encoded.samples + at - (count * encoded.frame - encoded.lookahead)
    return Heard(np.concatenate(parts)[encoded.lookahead :][:end], fates, waited, begins)


def _fate(number: int, now: int, encoded: Encoded, arrivals: Arrivals) -> Fate:
    """What a frame's fate is that is due now."""
    if not encoded.frames[number]:
        return Fate.UNSENT
    if arrivals.sent[number] == NEVER:
        return Fate.UNCONNECTED
    complete = int(arrivals.complete[number])
    if complete != NEVER and complete <= now:
        return Fate.PLAYED
    following = number + 1
    if (
        following < len(encoded.frames)
        and encoded.copies[following]
        and NEVER != int(arrivals.complete[following]) <= now
    ):
        return Fate.RECOVERED
    return Fate.LOST if complete == NEVER else Fate.LATE
