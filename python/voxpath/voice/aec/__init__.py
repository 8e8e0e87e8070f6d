"""Stereophonic acoustic echo cancellation: filters (`filters.py`), signals to try them on, measures."""

from voxpath.voice.aec.filters import (
    Canceller,
    Solver,
    Words,
    fixed_point,
    long_room,
    nlms,
    rls,
    widely_linear,
)
from voxpath.voice.aec.paths import Paths
from voxpath.voice.aec.signals import synthetic_world

__all__ = [
    "Canceller",
    "Paths",
    "Solver",
    "Words",
    "fixed_point",
    "long_room",
    "nlms",
    "rls",
    "synthetic_world",
    "widely_linear",
]
