"""Ramli and Jarin 2018: speech recognition over an emulated network. `README.md` says what is read how."""

from voxpath.studies.ramli2018.compare import STUDY

__all__ = ["STUDY"]
