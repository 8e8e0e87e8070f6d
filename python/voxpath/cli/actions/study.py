"""What `voxpath study` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, studies, tables
from voxpath.backends import named
from voxpath.backends.answer import ask
from voxpath.backends.formula import Formulas
from voxpath.backends.named import Runs
from voxpath.backends.real.problems import RealError
from voxpath.cli.actions.common import (
    check_page,
    check_store,
    chosen_names,
    counted,
    failed,
    kept_if_interrupted,
    outcomes_of,
    print_json,
    print_runs,
    save_page,
    workers_of,
)
from voxpath.names import did_you_mean
from voxpath.results.identity import Observe
from voxpath.results.store import StoreError
from voxpath.studies.base import COMPUTE, checks_of
from voxpath.terminal import Progress

if TYPE_CHECKING:
    from voxpath.studies.base import Answer


@dataclass(frozen=True)
class StudyOptions:
    """Options of `voxpath study`, as `cli.study` describes them."""

    quick: bool
    backend: str | None
    report: Path | None
    out: Path
    jobs: int | None
    force: bool
    json: bool = False


def study(name: str, options: StudyOptions) -> int:
    """Reproduces a publication; 0, or 1 where a run failed. What differs from it is a result, no failure.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    if name not in studies.NAMES:
        hint = did_you_mean(name, studies.NAMES)
        raise click.BadParameter(f"{name!r} is no study; {hint}", param_hint="NAME")
    chosen = studies.load(name)
    names = chosen.backends
    if options.backend is not None:
        names = chosen_names(options.backend, (*chosen.backends, *chosen.on_request), "--backend")
    page = options.report or Path(f"{name}.html")
    check_page(page, "--report")
    asking = [name for name in names if name != COMPUTE]
    check_store(options.out, asking, asked=not options.force)
    progress = Progress(name, None)
    with kept_if_interrupted(options.out, progress), progress:
        at_once = options.jobs or chosen.real_at_once
        workers = workers_of(options.jobs, None)
        runs = counted(Runs(options.out, workers, at_once, Observe(), options.force), progress)
        backends = named.make(asking, runs, Formulas())
        try:
            found = chosen.run(
                lambda questions, asked: ask(
                    [(name, {}, question) for question in questions],
                    [backend for backend in backends if backend.name in asked],
                ),
                options.quick,
            )
        except (RuntimeError, StoreError, RealError) as error:
            return failed(error)
    outcomes = outcomes_of(backends)
    if options.json:
        print_json(_told(name, found, page))
        return max(save_page(found.report, page, quiet=True), print_runs(outcomes, quiet=True))
    tables.print_document(found.table)
    return max(save_page(found.report, page), print_runs(outcomes))


def _told(name: str, found: Answer, page: Path) -> dict[str, Any]:
    """For programs: docs/json.md."""
    lead = found.report.lead
    return {
        "command": "study",
        "study": name,
        "build": _engine.BUILD,
        "report": str(page),
        "claim": lead.claim if lead else "",
        "finding": lead.sentence if lead else "",
        "numbers": [
            {
                "table": item.published.table,
                "column": item.published.column,
                "case": item.published.case,
                "unit": item.published.unit,
                "printed": item.published.printed,
                "value": item.published.value,
                "ours": None if item.ours is None else item.ours.mean,
                "half_width": None if item.ours is None else item.ours.half_width,
                "n": None if item.ours is None else item.ours.n,
                "verdict": item.verdict,
                "reason": item.reason,
            }
            for item in found.comparisons
        ],
        "checks": [
            {
                "claim": check.claim,
                "verdict": check.verdict,
                "evidence": check.evidence,
                "set_aside": check.set_aside,
            }
            for check in checks_of(found.report.sections)
        ],
    }
