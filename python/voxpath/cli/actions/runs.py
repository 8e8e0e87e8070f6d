"""What `voxpath run`, `sweep`, `compare` and `report` do."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voxpath import files, formulas, tables, terminal
from voxpath.backends import named
from voxpath.backends.answer import answer, ask, kept_runs
from voxpath.backends.base import BACKENDS, RUNNING, Question, UnanswerableError
from voxpath.backends.formula import FormulaError, Formulas
from voxpath.backends.named import Runs
from voxpath.backends.real.problems import RealError
from voxpath.backends.sim import METRICS, OBSERVABLE, observation
from voxpath.cli.actions.common import (
    answers_told,
    check_page,
    check_store,
    chosen_names,
    counted,
    failed,
    kept_if_interrupted,
    outcomes_of,
    print_json,
    print_runs,
    read_scenario,
    save_page,
    workers_of,
)
from voxpath.names import did_you_mean
from voxpath.options import BACKENDS as BY_DEFAULT
from voxpath.results.answers import Answers
from voxpath.results.identity import Observe
from voxpath.results.kept import is_run
from voxpath.results.selection import chosen
from voxpath.results.store import StoreError
from voxpath.scenario import Document, cells
from voxpath.sweeps.cluster import ClusterError
from voxpath.terminal import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import polars as pl

    from voxpath.results.answers import Variant


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What all of these commands take; `voxpath.options` says what it means."""

    replications: int | None
    backend: str
    formulas: Path | None
    out: Path
    jobs: int | None
    force: bool
    json: bool = False


@dataclass(frozen=True, kw_only=True)
class _Observed(_Asked):
    """Of commands about one scenario."""

    seed: int | None
    observe: str
    capture: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Spread(_Asked):
    """Of commands with many runs."""

    save: Path | None
    dask: str | None
    shards: str | None


@dataclass(frozen=True, kw_only=True)
class RunOptions(_Observed):
    """Options of `voxpath run`."""

    replication: int | None


@dataclass(frozen=True, kw_only=True)
class SweepOptions(_Observed, _Spread):
    """Options of `voxpath sweep`."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions(_Spread):
    """Options of `voxpath compare`."""

    metric: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReportOptions(_Observed, _Spread):
    """Options of `voxpath report`."""

    metric: tuple[str, ...]


def run(path: Path, options: RunOptions) -> int:
    """Runs a scenario; 0, or 1 where a run failed.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    document = read_scenario(path)
    if options.seed is not None:
        document = document.with_seed(options.seed)
    names = chosen_names(options.backend, BACKENDS, "--backend")
    observe = _observation(document, options, names)
    question = Question(document, _replications(document, options))
    own = _own_formulas(options.formulas, names)
    check_store(options.out, names, asked=not options.force)
    total = len(question.replications) * len(RUNNING.intersection(names))
    progress = Progress(document.scenario.name, total)
    with kept_if_interrupted(options.out, progress), progress:
        workers = workers_of(options.jobs, None)
        runs = counted(Runs(options.out, workers, options.jobs or 1, observe, options.force), progress)
        backends = named.make(names, runs, own)
        try:
            (answered,) = ask([(document.scenario.name, {}, question)], backends)
        except UnanswerableError as error:
            raise click.ClickException(f"{path}: {error}") from None
        except (RuntimeError, StoreError, RealError, FormulaError) as error:
            return failed(error)
    outcomes = outcomes_of(backends)
    if options.json:
        print_json(answers_told("run", Answers([answered])))
        return print_runs(outcomes, quiet=True)
    tables.print_rows(document.scenario.name, answered.rows, len(question.replications))
    if document.axes:
        out = terminal.console()
        count = cells.count(document.scenario.sweep)
        out.print(f"the sweep of {path} has {count} cells: voxpath sweep {shlex.quote(str(path))}")
    several = len(outcomes) > 1
    tables.print_programs(
        [(f"replication {outcome.replication}" if several else "", outcome.folder) for outcome in outcomes]
    )
    return print_runs(outcomes)


def sweep(path: Path, options: SweepOptions) -> int:
    """Runs every cell of a scenario's sweep; 0, or 1 where a run failed.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    document = read_scenario(path)
    if options.seed is not None:
        document = document.with_seed(options.seed)
    wanted = document.scenario.sweep
    if wanted is None:
        raise click.ClickException(
            f"{path} has no [sweep]: it says which keys are varied, such as\n"
            '[sweep]\n"topology.bottleneck.loss" = ["0 %", "1 %"]\nreplications = 10'
        )
    replications = range(options.replications or wanted.replications)
    observe = _observation(document, options, chosen_names(options.backend, BACKENDS, "--backend"))
    _check_save(options.save)
    answers = _answers({str(path): (document, replications)}, options, observe, document.scenario.name)
    if isinstance(answers, int):
        return answers
    if options.json:
        print_json(answers_told("sweep", answers))
    else:
        tables.print_sweep(document.scenario.name, answers, len(replications))
    saved = _saved("flows", lambda: answers.flows, options)
    return max(saved, print_runs(answers.outcomes, quiet=options.json))


def compare(sources: Sequence[Path], options: CompareOptions) -> int:
    """Lays scenarios, cells and runs side by side; 0, or 1 where a run failed.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    runs = _runs_among(sources)
    documents = {str(source): read_scenario(source) for source in sources if source not in runs}
    asked = {
        source: (document, range(options.replications or _sweep_replications(document)))
        for source, document in documents.items()
    }
    kept = _kept(runs)
    _check_save(options.save)
    if documents:
        _check_metrics(options)
    answers = _answers(asked, options, Observe(), "compare") if asked else Answers([])
    if isinstance(answers, int):
        return answers
    answers = Answers([*answers.variants, *kept])
    if not any(variant.rows for variant in answers.variants):
        raise click.ClickException("there is nothing to compare: no flow was asked for")
    try:
        lines = chosen(answers.lines, options.metric)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--metric") from None
    if options.json:
        told = answers_told("compare", answers)
        shown = {line.row.metric for line in lines}
        print_json({**told, "answers": [row for row in told["answers"] if row["metric"] in shown]})
    else:
        tables.print_comparison(answers, lines)
    saved = _saved("summary", lambda: answers.summary, options)
    return max(saved, print_runs(answers.outcomes, quiet=options.json))


def report(path: Path, options: ReportOptions) -> int:
    """Writes a page about a scenario or its sweep; 0, or 1 where a run failed or the page cannot be written.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    from voxpath.report.observed import watched
    from voxpath.report.sweep import report_of

    document = read_scenario(path)
    if options.seed is not None:
        document = document.with_seed(options.seed)
    replications = range(options.replications or _sweep_replications(document))
    observe = _observation(document, options, chosen_names(options.backend, BACKENDS, "--backend"))
    page = options.save or Path(f"{path.stem}.html")
    check_page(page, "--save")
    _check_metrics(options)
    answers = _answers({str(path): (document, replications)}, options, observe, document.scenario.name)
    if isinstance(answers, int):
        return answers
    backends = chosen_names(options.backend, BACKENDS, "--backend")
    try:
        seen = watched(document, options.out, backends, answers.outcomes)
        command = _command(path, options)
        made = report_of(document, answers, len(replications), options.metric, command, seen)
    except (RuntimeError, StoreError) as error:
        return failed(error)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--metric") from None
    return max(save_page(made, page), print_runs(answers.outcomes))


def _answers(
    asked: Mapping[str, tuple[Document, range]],
    options: _Spread,
    observe: Observe,
    description: str,
) -> Answers | int:
    """The answers, or the exit code of what went wrong."""
    names = chosen_names(options.backend, BACKENDS, "--backend")
    own = _own_formulas(options.formulas, names)
    workers = workers_of(options.jobs, options.dask, options.shards)
    check_store(options.out, names, asked=not options.force)
    total = len(RUNNING.intersection(names)) * sum(
        cells.count(document.scenario.sweep) * len(replications) for document, replications in asked.values()
    )
    progress = Progress(description, total)
    with kept_if_interrupted(options.out, progress), progress:
        runs = counted(Runs(options.out, workers, options.jobs or 1, observe, options.force), progress)
        backends = named.make(names, runs, own)
        try:
            return answer(asked, backends)
        except UnanswerableError as error:
            raise click.ClickException(str(error)) from None
        except ClusterError as error:
            raise click.BadParameter(str(error), param_hint="--dask") from None
        except (RuntimeError, StoreError, RealError, FormulaError) as error:
            return failed(error)


def _command(path: Path, options: ReportOptions) -> str:
    """What makes a report again, anywhere: the options that decide what stands in it."""
    parts = ["voxpath", "report", path.name]
    for option in ("replications", "seed", "backend", "observe"):
        value = getattr(options, option)
        parts += [f"--{option}", str(value)] if value not in {None, "", ",".join(BY_DEFAULT.default)} else []
    for metric in options.metric:
        parts += ["--metric", metric]
    return shlex.join(parts)


def _runs_among(sources: Sequence[Path]) -> list[Path]:
    try:
        return [source for source in sources if is_run(source)]
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _kept(runs: Sequence[Path]) -> list[Variant]:
    try:
        return kept_runs(runs)
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _check_metrics(options: CompareOptions | ReportOptions) -> None:
    """Refuses what no run has, before anything is run; a formula of one's own may have others."""
    if options.formulas is not None:
        return
    known = list(dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics))
    for metric in options.metric:
        if metric not in known:
            raise click.BadParameter(
                f"{metric!r} is no metric; {did_you_mean(metric, known)}", param_hint="--metric"
            )


def _check_save(path: Path | None) -> None:
    if path is None:
        return
    try:
        files.check(path)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--save") from None


def _saved(what: str, frame: Callable[[], pl.DataFrame], options: _Spread) -> int:
    """Makes a frame and writes it, if that is asked for; says where, and is 1 where it cannot be written."""
    if options.save is None:
        return 0
    try:
        files.save(frame(), options.save)
    except ValueError as error:
        return failed(error)
    terminal.console(stderr=options.json).print(f"{what}: {options.save}")
    return 0


def _observation(document: Document, options: _Observed, backends: Collection[str]) -> Observe:
    if not RUNNING.intersection(backends) and (options.observe or options.capture):
        option = "--observe" if options.observe else "--capture"
        raise click.BadParameter(
            "needs the backend sim or real: a formula sends no packets", param_hint=option
        )
    try:
        names = chosen_names(options.observe, OBSERVABLE, "--observe") if options.observe else ()
        return observation(document, names, options.capture)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--capture") from None


def _replications(document: Document, options: RunOptions) -> range:
    if options.replication is not None and options.replications is not None:
        raise click.UsageError("--replication makes one run, --replications several: give one of them")
    if options.replication is not None:
        return range(options.replication, options.replication + 1)
    return range(options.replications or _sweep_replications(document))


def _sweep_replications(document: Document) -> int:
    return document.scenario.sweep.replications if document.scenario.sweep else 1


def _own_formulas(path: Path | None, backends: Collection[str]) -> Formulas:
    if path is None:
        return Formulas()
    if "formula" not in backends:
        raise click.BadParameter("needs the backend formula", param_hint="--formulas")
    try:
        return formulas.load(path)
    except FormulaError as error:
        raise click.BadParameter(str(error), param_hint="--formulas") from None
