"""From mouth to ear: what the delay is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voxpath.voice.call.transports.base import NEVER

if TYPE_CHECKING:
    from voxpath.voice.call.talk import Talk

_MS = 1e6


@dataclass(frozen=True)
class Delay:
    """Means over the frames that were played in time, in milliseconds; over all that came where none was.

    Attributes:
        frame_ms: A frame is sent when its last sample is there.
        codec_ms: Look-ahead of encoder and decoder.
        sender_ms: From its encoding to when its application sent it.
        network_ms: To when all of it was there, retransmissions and what waits behind them included.
        buffer_ms: In the jitter buffer, until it was played; below zero where all frames came too late.
        network_p5_ms: The fastest twentieth of all that came.
        network_p95_ms: The slowest twentieth of all that came.
        canceller_ms: In the echo canceller before the encoder.
    """

    frame_ms: float
    codec_ms: float
    sender_ms: float
    network_ms: float
    buffer_ms: float
    network_p5_ms: float
    network_p95_ms: float
    canceller_ms: float = 0.0

    @property
    def total_ms(self) -> float:
        """Mouth to ear. The loudspeaker plays at once: no device is in it."""
        return sum(ms for _, ms in self.shares)

    @property
    def shares(self) -> list[tuple[str, float]]:
        """By name, in their order."""
        return [
            ("echo canceller", self.canceller_ms),
            ("packetisation, a frame", self.frame_ms),
            ("codec look-ahead", self.codec_ms),
            ("sender", self.sender_ms),
            ("network", self.network_ms),
            ("jitter buffer", self.buffer_ms),
            ("playout (no device is modelled)", 0.0),
        ]


def of(talk: Talk) -> Delay | None:
    """The delay of a direction; none where no frame came."""
    arrivals, encoded = talk.arrivals, talk.encoded
    came = arrivals.complete != NEVER
    if not came.any():
        return None
    frame, codec = encoded.frame_ns / _MS, 1000 * encoded.lookahead / encoded.rate_hz
    canceller = 0.0 if talk.echo is None else talk.echo.canceller_ms
    low, high = np.quantile((arrivals.complete - arrivals.sent)[came] / _MS, (0.05, 0.95))
    in_time = came & (arrivals.complete - arrivals.captured <= talk.heard.wait)
    counted = in_time if in_time.any() else came
    captured, sent, complete, wait = (
        times[counted] / _MS
        for times in (arrivals.captured, arrivals.sent, arrivals.complete, talk.heard.wait)
    )
    return Delay(
        frame,
        codec,
        float(np.mean(sent - captured)),
        float(np.mean(complete - sent)),
        float(np.mean(wait - (complete - captured))),
        float(low),
        float(high),
        canceller,
    )
