"""ViSQOL: speech as listeners would rate it, by the likeness of spectrograms."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from voxpath.extras import install
from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.measures.listeners import mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voxpath.voice.call.measures.base import Evidence

_RATE_HZ = 16_000
_LEAST_S = 0.5
"""A patch has 0.4 s, and none begins at once."""


class Visqol:
    """By the package `visqol-python`, a port that passes the conformance vectors of Google's own."""

    name: ClassVar[str] = "visqol"
    title: ClassVar[str] = "ViSQOL, MOS-LQO"
    standard: ClassVar[str] = "ViSQOL v3 in speech mode (Chinen et al. 2020), lattice model"
    valid: ClassVar[str] = "3 to 10 s of speech at 16 kHz; hears no delay"
    scale: ClassVar[str] = "1.0 to 5.0"
    slow: ClassVar[bool] = True

    def score(self, evidence: Evidence) -> Score:
        """In speech mode."""
        try:
            model = _model()
        except ImportError:
            return Score.none(f"visqol-python with its lattice model is not installed: {install('call')}")

        def judge(said: NDArray[np.int16], heard: NDArray[np.int16]) -> float | None:
            if not heard.any():
                return None
            one, other = (values.astype(np.float64) / 32768 for values in (said, heard))
            try:
                return float(model.measure_from_arrays(one, other, _RATE_HZ).moslqo)
            except ValueError:
                # It says so of what is too short or has no active patch.
                return None

        return mean(evidence, _RATE_HZ, judge, _LEAST_S)


@cache
def _model() -> Any:
    from visqol import VisqolApi

    _quicken()
    model = VisqolApi()
    with _quiet():
        model.create(mode="speech", use_lattice_model=True)
    return model


def _quicken() -> None:
    """Has the package do at once what it does step by step; it has no other door for that."""
    from visqol import gammatone, numba_accel, visqol_core

    from voxpath.voice.call.measures import at_once

    if numba_accel.has_numba():
        return
    gammatone.GammatoneSpectrogramBuilder._build_scipy = (  # type: ignore[method-assign]
        at_once.build_spectrogram  # type: ignore[assignment]
    )
    visqol_core.find_most_optimal_deg_patches = (  # type: ignore[attr-defined]
        at_once.find_most_optimal_deg_patches
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The runtime of the model tells standard error which processor it uses; errors are exceptions."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
