"""What is wrong with recordings, annotations and contours, by file, tier and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class PhoneticsError(ValueError):
    """Material that cannot be measured; the message names the place and what is allowed."""


class SilentError(PhoneticsError):
    """There is nothing to hear where a vowel should be."""


def place(file: Path | str, tier: str | None = None, time_s: float | None = None) -> str:
    """File, tier and time as they stand in messages."""
    told = [str(file)]
    if tier is not None:
        told.append(f"tier {tier!r}")
    if time_s is not None:
        told.append(f"{time_s:.3f} s")
    return ", ".join(told)


def problem(
    message: str, file: Path | str, tier: str | None = None, time_s: float | None = None
) -> PhoneticsError:
    """An error that names its place."""
    return PhoneticsError(f"{place(file, tier, time_s)}: {message}")
