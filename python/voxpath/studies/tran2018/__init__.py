"""Tran et al. 2018: voice requests over Multipath TCP on two cellular networks; `README.md` says how."""

from voxpath.studies.tran2018.compare import STUDY

__all__ = ["STUDY"]
