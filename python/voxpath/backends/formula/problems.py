"""How a formula declines, and how it fails."""

from __future__ import annotations


class NotApplicableError(Exception):
    """A formula does not cover the case; the message says why."""


class FormulaError(Exception):
    """A formula that cannot be asked, or that failed when it was."""
