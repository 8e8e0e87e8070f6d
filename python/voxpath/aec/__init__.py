"""Stereophonic acoustic echo cancellation: filters (`filters.py`), signals to try them on, measures."""

from voxpath.aec.filters import Canceller, Solver, nlms, rls, widely_linear
from voxpath.aec.paths import Paths

__all__ = ["Canceller", "Paths", "Solver", "nlms", "rls", "widely_linear"]
