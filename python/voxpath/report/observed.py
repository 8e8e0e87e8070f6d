"""A run that is watched: a report draws the connections of a single cell over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.backends.base import Question
from voxpath.backends.sim import SimBackend
from voxpath.results.identity import Observe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.results.outcome import Outcome
    from voxpath.scenario import Document

_TCP = ("tcp", "mptcp")


def watched(
    document: Document, out: Path | str, backends: Sequence[str], found: Sequence[Outcome]
) -> Sequence[Outcome]:
    """The first replication with its connections recorded, which is run where it is not there yet.

    Args:
        document: The scenario.
        out: The store.
        backends: Who was asked; without the simulator nothing is run.
        found: What was run already; one of these may have recorded them.
    """
    if any((outcome.folder / "series.parquet").exists() for outcome in found):
        return found
    streams = any(flow["transport"]["kind"] in _TCP for flow in document.plan.data["flows"])
    if "sim" not in backends or document.axes or not streams:
        return ()
    from pathlib import Path

    backend = SimBackend(Path(out), observe=Observe(tcp=True))
    backend.answer([Question(document, range(1))])
    return backend.outcomes[0]
