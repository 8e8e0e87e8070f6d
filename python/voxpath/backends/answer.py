"""From scenarios to answers: every cell of every scenario is asked of every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voxpath.backends.base import Maker, Question
from voxpath.backends.sim import flows, rows
from voxpath.results.answers import Answers, Variant
from voxpath.results.kept import UNREADABLE, Kept, readable
from voxpath.results.many import Chosen, Joined
from voxpath.results.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voxpath.backends.base import Backend
    from voxpath.results.rows import Row
    from voxpath.scenario import Document


def answer(documents: Mapping[str, tuple[Document, range]], backends: Sequence[Backend]) -> Answers:
    """Asks backends for every cell of some scenarios, all at once so that they share the workers.

    Args:
        documents: Scenarios and the replications asked for, by the name of their source.
        backends: Who answers; the runs of those that make some stand behind the answers.

    Raises:
        RuntimeError: The engine failed; this is a bug of ours.
        StoreError: The results cannot be written.
        ClusterError: The cluster cannot be used; nothing has been run.
        RealError: The machine cannot run it in real time.
        UnanswerableError: One of the backends cannot answer such a scenario.
    """
    return Answers(
        ask(
            [
                (source, cell.values, Question(cell.document, replications))
                for source, (document, replications) in documents.items()
                for cell in document.cells()
            ],
            backends,
        )
    )


def ask(
    asked: Sequence[tuple[str, Mapping[str, Any], Question]], backends: Sequence[Backend]
) -> list[Variant]:
    """Asks backends; each question comes with the source and the values of the variant that it makes.

    Raises:
        RuntimeError: As `answer`.
        StoreError: As `answer`.
        ClusterError: As `answer`.
        UnanswerableError: As `answer`.
    """
    questions = [question for _, _, question in asked]
    answered: list[list[Row]] = [[] for _ in asked]
    for backend in backends:
        backend.check(questions)
    for backend in backends:
        for found, more in zip(answered, backend.answer(questions), strict=True):
            found.extend(more)
    makers = [backend for backend in backends if isinstance(backend, Maker)]
    return [
        Variant(
            source,
            values,
            found,
            Chosen({maker.name: maker.frames for maker in makers}, index),
            Joined([maker.outcomes[index] for maker in makers]),
        )
        for index, ((source, values, _), found) in enumerate(zip(asked, answered, strict=True))
    ]


def kept_runs(folders: Sequence[Path]) -> list[Variant]:
    """Runs that were kept; replications of one plan are one variant.

    Raises:
        StoreError: A folder is no run.
    """
    found: list[tuple[_Kind, Outcome]] = []
    for folder in folders:
        kept = Kept.read(folder)
        replication, valid = kept.identity["replication"], kept.verdict["valid"]
        outcome = Outcome(folder, replication, reused=True, valid=valid, packed=kept.packed)
        found.append(((kept.identity["plan_sha256"], kept.identity["backend"]), outcome))
    try:
        return _variants(found)
    except UNREADABLE:
        # Which one is it?
        for kind, outcome in found:
            with readable(outcome.folder):
                _variants([(kind, outcome)])
        raise


_Kind = tuple[str, str]
"""The digest of a plan, and the backend."""


def _variants(found: Sequence[tuple[_Kind, Outcome]]) -> list[Variant]:
    groups: dict[_Kind, list[Outcome]] = {}
    for kind, outcome in found:
        groups.setdefault(kind, []).append(outcome)
    frames = flows(list(groups.values()))
    return [
        Variant(
            str(outcomes[0].folder) + (f" and {len(outcomes) - 1} more" if len(outcomes) > 1 else ""),
            {},
            rows(frame, backend),
            {backend: frame},
            outcomes,
        )
        for ((_, backend), outcomes), frame in zip(groups.items(), frames, strict=True)
    ]
