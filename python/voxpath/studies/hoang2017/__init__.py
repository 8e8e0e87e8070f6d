"""Hoang 2017: congestion control of real-time media over a random network; `README.md` says how."""

from voxpath.studies.hoang2017.compare import STUDY

__all__ = ["STUDY"]
