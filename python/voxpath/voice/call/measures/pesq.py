"""PESQ: speech as listeners would rate it, without delay."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from voxpath.extras import install
from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.measures.listeners import mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voxpath.voice.call.measures.base import Evidence

_WIDE_HZ, _NARROW_HZ = 16_000, 8_000
_LEAST_S = 0.25
"""Below it the recommendation's code refuses a recording."""


class Pesq:
    """By the package `pesq`, which is the recommendation's own code."""

    name: ClassVar[str] = "pesq"
    title: ClassVar[str] = "PESQ, MOS-LQO"
    standard: ClassVar[str] = "ITU-T P.862.2 (wideband), of 8 kHz P.862.1"
    valid: ClassVar[str] = (
        "8 to 20 s of speech; not made for delay that changes while somebody speaks, nor for the concealment "
        "of today's codecs; hears no delay"
    )
    scale: ClassVar[str] = "1.0 to 4.6"
    slow: ClassVar[bool] = False

    def score(self, evidence: Evidence) -> Score:
        """Narrow band where the codec has no more."""
        if self.name not in evidence.known:
            evidence.known[self.name] = self._score(evidence)
        score: Score = evidence.known[self.name]
        return score

    def _score(self, evidence: Evidence) -> Score:
        if evidence.talk.echo is not None:
            return Score.none("P.862 is not made for the echo of somebody's own words (table 3)")
        try:
            from pesq import NoUtterancesError, pesq
        except ImportError:
            return Score.none(f"pesq is not installed: {install('call')}")
        narrow = evidence.talk.encoded.rate_hz < _WIDE_HZ or evidence.talk.said.rate_hz < _WIDE_HZ
        rate, mode = (_NARROW_HZ, "nb") if narrow else (_WIDE_HZ, "wb")

        def judge(said: NDArray[np.int16], heard: NDArray[np.int16]) -> float | None:
            if not heard.any():
                return None
            try:
                return float(pesq(rate, said, heard, mode))
            except NoUtterancesError:
                return None

        return mean(evidence, rate, judge, _LEAST_S)
