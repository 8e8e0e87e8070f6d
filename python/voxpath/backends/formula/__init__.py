"""Closed forms: what the literature says without running anything.

Each is an estimator of its own, none is "the" answer, and each says where it does not apply. `backend` has
the list of them; `transfer` and `stream` are the flows as formulas see them, with the conditions that
several formulas share. One file per idea: a plain function with the publication's symbols as arguments,
and an estimator that reads those off a flow. docs/measured/formulas.md holds each of them against the
simulator.
"""

from voxpath.backends.formula.backend import STREAM_FORMULAS, TRANSFER_FORMULAS, FormulaBackend
from voxpath.backends.formula.base import Formula, Formulas
from voxpath.backends.formula.problems import FormulaError, NotApplicableError

__all__ = [
    "STREAM_FORMULAS",
    "TRANSFER_FORMULAS",
    "Formula",
    "FormulaBackend",
    "FormulaError",
    "Formulas",
    "NotApplicableError",
]
