"""STOI: how much of the speech could be understood."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from voxpath.extras import install
from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.measures.listeners import mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voxpath.voice.call.measures.base import Evidence

_RATE_HZ = 10_000
_LEAST_S = 0.4
"""Thirty frames of 256 samples, one each 128 samples, are compared at a time."""


class Stoi:
    """By the package `pystoi`."""

    name: ClassVar[str] = "stoi"
    title: ClassVar[str] = "STOI"
    standard: ClassVar[str] = "Taal, Hendriks, Heusdens and Jensen 2011"
    valid: ClassVar[str] = "frequencies up to 5 kHz, both sounds aligned; hears no delay"
    scale: ClassVar[str] = "0 to 1"
    slow: ClassVar[bool] = False

    def score(self, evidence: Evidence) -> Score:
        """Of both sounds as they are aligned."""
        try:
            from pystoi import stoi
        except ImportError:
            return Score.none(f"pystoi is not installed: {install('call')}")
        if evidence.adapts:
            return Score.none("the adaptive jitter buffer stretches time, so that the sounds are not aligned")

        def judge(said: NDArray[np.int16], heard: NDArray[np.int16]) -> float | None:
            one, other = (values.astype(np.float64) / 32768 for values in (said, heard))
            with warnings.catch_warnings():
                # Of too few frames with speech it warns, and answers with a constant.
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    return float(stoi(one, other, _RATE_HZ))
                except RuntimeWarning:
                    return None

        return mean(evidence, _RATE_HZ, judge, _LEAST_S, digits=3)
