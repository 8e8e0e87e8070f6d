"""Karaoui et al. 2023: vowels beside pharyngealised consonants. `README.md` says what is read how."""

from voxpath.studies.karaoui2023.compare import STUDY

__all__ = ["STUDY"]
