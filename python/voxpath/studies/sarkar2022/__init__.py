"""Sarkar, Ammann and Zabir 2022: TCP Reno under bit errors. `README.md` says what is read how."""

from voxpath.studies.sarkar2022.compare import STUDY

__all__ = ["STUDY"]
