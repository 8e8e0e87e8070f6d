"""Backends by their names, all alike to who asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voxpath.backends.formula import FormulaBackend, Formulas
from voxpath.backends.sim import SimBackend
from voxpath.names import did_you_mean
from voxpath.results.identity import Observe
from voxpath.sweeps.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from voxpath.backends.base import Backend
    from voxpath.backends.real.network import Network
    from voxpath.results.outcome import Outcome

DEFAULT = ("sim", "formula")
"""Those that are asked unless somebody says which."""


@dataclass(frozen=True)
class Runs:
    """How runs are made.

    Attributes:
        out: Directory of the store.
        workers: Who makes those in virtual time.
        real_at_once: Runs on real hosts that are under way together; one after the other they are on time.
        observe: What they record, unless a question says otherwise.
        force: Make runs that are there already.
        on_done: Told of each run as it is done.
        on_look: Called again and again with the networks that are under way in real time.
    """

    out: Path
    workers: Workers = field(default_factory=Workers)
    real_at_once: int = 1
    observe: Observe = field(default_factory=Observe)
    force: bool = False
    on_done: Callable[[Outcome], None] = lambda _: None
    on_look: Callable[[Sequence[Network]], None] = lambda _: None


def chosen(names: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """The names, each once.

    Raises:
        ValueError: One is not allowed, or there is none.
    """
    for name in names:
        if name not in allowed:
            raise ValueError(f"{name!r} is unknown; {did_you_mean(name, allowed)}")
    if not names:
        raise ValueError(f"names nothing; allowed: {', '.join(allowed)}")
    return tuple(dict.fromkeys(names))


def make(names: Sequence[str], runs: Runs, own: Formulas) -> list[Backend]:
    """The backends of these names, each one of `base.BACKENDS`; `own` are formulas of the user's."""
    return [_backend(name, runs, own) for name in names]


def _backend(name: str, runs: Runs, own: Formulas) -> Backend:
    match name:
        case "formula":
            return FormulaBackend(own)
        case "real":
            from voxpath.backends.real.backend import RealBackend

            return RealBackend(
                runs.out,
                runs.observe,
                runs.force,
                at_once=runs.real_at_once,
                on_done=runs.on_done,
                on_look=runs.on_look,
            )
        case _:
            return SimBackend(runs.out, runs.workers, runs.observe, runs.force, runs.on_done)
