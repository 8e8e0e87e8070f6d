"""What `voxpath study` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from voxpath import studies, tables
from voxpath.backends import named
from voxpath.backends.answer import ask
from voxpath.backends.formula import Formulas
from voxpath.backends.named import Runs
from voxpath.backends.real.session import RealError
from voxpath.cli.actions.common import (
    check_page,
    check_store,
    chosen_names,
    counted,
    failed,
    outcomes_of,
    print_runs,
    save_page,
    workers_of,
)
from voxpath.names import did_you_mean
from voxpath.results.identity import Observe
from voxpath.results.store import StoreError
from voxpath.studies.base import COMPUTE
from voxpath.terminal import Progress


@dataclass(frozen=True)
class StudyOptions:
    """Options of `voxpath study`, as `cli.study` describes them."""

    quick: bool
    backend: str | None
    report: Path | None
    out: Path
    jobs: int | None
    force: bool


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
    check_store(options.out, asking)
    with Progress(name, None) as progress:
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
    tables.print_document(found.table)
    return max(save_page(found.report, page), print_runs(outcomes_of(backends)))
