"""Ficiu et al. 2023: stereophonic echo cancellation. `README.md` says what is read how."""

from voxpath.studies.ficiu2023.compare import STUDY

__all__ = ["STUDY"]
