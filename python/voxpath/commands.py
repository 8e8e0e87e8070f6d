"""What the commands do; `cli` says how they are called."""

from __future__ import annotations

import json
import shlex
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voxpath import files, formulas, tables, terminal
from voxpath.backends import named
from voxpath.backends.answer import answer, ask, kept_runs
from voxpath.backends.base import BACKENDS, RUNNING, Maker, Question, UnanswerableError
from voxpath.backends.formula import FormulaError, Formulas
from voxpath.backends.named import Runs
from voxpath.backends.real.session import RealError
from voxpath.backends.sim import OBSERVABLE, observation
from voxpath.names import did_you_mean
from voxpath.results.answers import Answers
from voxpath.results.identity import Observe
from voxpath.results.kept import is_run
from voxpath.results.selection import chosen
from voxpath.results.store import Store, StoreError
from voxpath.scenario import Document, ScenarioError, cells, read
from voxpath.studies.base import COMPUTE
from voxpath.sweeps.cluster import ClusterError, check_address
from voxpath.sweeps.pool import processors
from voxpath.sweeps.workers import Workers
from voxpath.terminal import Progress

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from voxpath.backends.base import Backend
    from voxpath.document import Report
    from voxpath.results.answers import Variant
    from voxpath.results.outcome import Outcome


@dataclass(frozen=True)
class RunOptions:
    """Options of `voxpath run`, as `cli` describes them."""

    replication: int | None
    replications: int | None
    seed: int | None
    backend: str
    formulas: Path | None
    observe: str
    capture: tuple[str, ...]
    out: Path
    jobs: int | None
    force: bool


@dataclass(frozen=True)
class SweepOptions:
    """Options of `voxpath sweep`, as `cli` describes them."""

    replications: int | None
    seed: int | None
    backend: str
    formulas: Path | None
    observe: str
    capture: tuple[str, ...]
    save: Path | None
    out: Path
    jobs: int | None
    dask: str | None
    force: bool


@dataclass(frozen=True)
class CompareOptions:
    """Options of `voxpath compare`, as `cli` describes them."""

    replications: int | None
    backend: str
    formulas: Path | None
    metric: tuple[str, ...]
    save: Path | None
    out: Path
    jobs: int | None
    dask: str | None
    force: bool


@dataclass(frozen=True)
class ReportOptions:
    """Options of `voxpath report`, as `cli` describes them."""

    replications: int | None
    seed: int | None
    backend: str
    metric: tuple[str, ...]
    observe: str
    capture: tuple[str, ...]
    save: Path | None
    formulas: Path | None
    out: Path
    jobs: int | None
    dask: str | None
    force: bool


@dataclass(frozen=True)
class ShowOptions:
    """Options of `voxpath show`, as `cli` describes them."""

    table: str | None
    series: tuple[str, ...]
    save: Path | None
    out: Path


@dataclass(frozen=True)
class StudyOptions:
    """Options of `voxpath study`, as `cli` describes them."""

    quick: bool
    backend: str | None
    report: Path | None
    out: Path
    jobs: int | None
    force: bool


def run(path: Path, options: RunOptions) -> int:
    """Runs a scenario; 0, or 1 where a run failed.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    document = read_scenario(path)
    if options.seed is not None:
        document = document.with_seed(options.seed)
    names = _chosen(options.backend, BACKENDS, "--backend")
    observe = _observation(document, options, names)
    question = Question(document, _replications(document, options))
    own = _own_formulas(options.formulas, names)
    _check_store(options.out, names)
    total = len(question.replications) * len(RUNNING.intersection(names))
    with Progress(document.scenario.name, total) as progress:
        workers = _workers(options.jobs, None)
        runs = _counted(Runs(options.out, workers, options.jobs or 1, observe, options.force), progress)
        backends = named.make(names, runs, own)
        try:
            (answered,) = ask([(document.scenario.name, {}, question)], backends)
        except UnanswerableError as error:
            raise click.ClickException(f"{path}: {error}") from None
        except (RuntimeError, StoreError, RealError, FormulaError) as error:
            return _failed(error)
    outcomes = _outcomes(backends)
    tables.print_rows(document.scenario.name, answered.rows, len(question.replications))
    if document.axes:
        out = terminal.console()
        out.print(
            f"the sweep of {path} has {cells.count(document.scenario.sweep)} cells: voxpath sweep {path}"
        )
    several = len(outcomes) > 1
    tables.print_programs(
        [(f"replication {outcome.replication}" if several else "", outcome.folder) for outcome in outcomes]
    )
    return _print_runs(outcomes)


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
    observe = _observation(document, options, _chosen(options.backend, BACKENDS, "--backend"))
    _check_save(options.save)
    answers = _answers({str(path): (document, replications)}, options, observe, document.scenario.name)
    if isinstance(answers, int):
        return answers
    tables.print_sweep(document.scenario.name, answers, len(replications))
    if options.save is not None:
        files.save(answers.flows, options.save)
        terminal.console().print(f"flows: {options.save}")
    return _print_runs(answers.outcomes)


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
    tables.print_comparison(answers, lines)
    if options.save is not None:
        files.save(answers.summary, options.save)
        terminal.console().print(f"summary: {options.save}")
    return _print_runs(answers.outcomes)


def report(path: Path, options: ReportOptions) -> int:
    """Writes a page about a scenario or its sweep; 0, or 1 where a run failed or the page cannot be written.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    from voxpath.report.sweep import report_of

    document = read_scenario(path)
    if options.seed is not None:
        document = document.with_seed(options.seed)
    replications = range(options.replications or _sweep_replications(document))
    observe = _observation(document, options, _chosen(options.backend, BACKENDS, "--backend"))
    page = options.save or Path(f"{path.stem}.html")
    _check_page(page, "--save")
    answers = _answers({str(path): (document, replications)}, options, observe, document.scenario.name)
    if isinstance(answers, int):
        return answers
    try:
        made = report_of(document, answers, len(replications), options.metric, _command(path, options))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--metric") from None
    return max(_save_page(made, page), _print_runs(answers.outcomes))


def show(run_: Path, options: ShowOptions) -> int:
    """Shows what a run found; 0.

    Raises:
        click.ClickException: There is no such run, or nothing of that name in it.
    """
    from voxpath.show import ShowError, show_run

    try:
        show_run(run_, options.out, options.table, options.series, options.save)
    except (ShowError, StoreError) as error:
        raise click.ClickException(str(error)) from None
    return 0


def study(name: str, options: StudyOptions) -> int:
    """Reproduces a publication; 0, or 1 where a run failed. What differs from it is a result, no failure.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    from voxpath import studies

    if name not in studies.NAMES:
        hint = did_you_mean(name, studies.NAMES)
        raise click.BadParameter(f"{name!r} is no study; {hint}", param_hint="NAME")
    chosen = studies.load(name)
    names = chosen.backends
    if options.backend is not None:
        names = _chosen(options.backend, (*chosen.backends, *chosen.on_request), "--backend")
    page = options.report or Path(f"{name}.html")
    _check_page(page, "--report")
    asking = [name for name in names if name != COMPUTE]
    _check_store(options.out, asking)
    with Progress(name, None) as progress:
        at_once = options.jobs or chosen.real_at_once
        workers = _workers(options.jobs, None)
        runs = _counted(Runs(options.out, workers, at_once, Observe(), options.force), progress)
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
            return _failed(error)
    tables.print_document(found.table)
    return max(_save_page(found.report, page), _print_runs(_outcomes(backends)))


def _answers(
    asked: Mapping[str, tuple[Document, range]],
    options: SweepOptions | CompareOptions | ReportOptions,
    observe: Observe,
    description: str,
) -> Answers | int:
    """The answers, or the exit code of what went wrong."""
    names = _chosen(options.backend, BACKENDS, "--backend")
    own = _own_formulas(options.formulas, names)
    workers = _workers(options.jobs, options.dask)
    _check_store(options.out, names)
    total = len(RUNNING.intersection(names)) * sum(
        cells.count(document.scenario.sweep) * len(replications) for document, replications in asked.values()
    )
    with Progress(description, total) as progress:
        runs = _counted(Runs(options.out, workers, options.jobs or 1, observe, options.force), progress)
        backends = named.make(names, runs, own)
        try:
            return answer(asked, backends)
        except UnanswerableError as error:
            raise click.ClickException(str(error)) from None
        except ClusterError as error:
            raise click.BadParameter(str(error), param_hint="--dask") from None
        except (RuntimeError, StoreError, RealError, FormulaError) as error:
            return _failed(error)


def _command(path: Path, options: ReportOptions) -> str:
    """What makes a report again, anywhere: the options that decide what stands in it."""
    parts = ["voxpath", "report", path.name]
    for option in ("replications", "seed", "backend", "observe"):
        value = getattr(options, option)
        parts += [f"--{option}", str(value)] if value not in {None, "", "sim,formula"} else []
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


def _check_save(path: Path | None) -> None:
    if path is None:
        return
    try:
        files.check(path)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--save") from None


def _check_page(path: Path, option: str) -> None:
    try:
        files.check_page(path)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _save_page(report: Report, path: Path) -> int:
    """Writes a report and says where it is; 1 where it cannot be written."""
    from voxpath.report.html import render

    try:
        files.save_page(render(report), path)
    except ValueError as error:
        return _failed(error)
    terminal.console().print(f"report: {path}")
    return 0


def _workers(jobs: int | None, dask: str | None) -> Workers:
    if dask is not None:
        if jobs is not None:
            raise click.UsageError("--jobs starts processes here, --dask uses a cluster: give one of them")
        try:
            check_address(dask)
        except ClusterError as error:
            raise click.BadParameter(str(error), param_hint="--dask") from None
    return Workers(jobs or processors(), dask)


def read_scenario(path: Path) -> Document:
    """Reads a scenario.

    Raises:
        click.ClickException: It cannot run; every problem is told.
    """
    try:
        return read(path)
    except ScenarioError as error:
        raise _refusal(error) from None


def doctor() -> int:
    """Prints what works here; 1 where voxpath itself does not."""
    from voxpath.doctor import examine

    findings = examine()
    rows = [[found.name, "works" if found.works else "no", found.detail, found.serves] for found in findings]
    terminal.print_table(None, ["part", "state", "detail", "serves"], rows, ["serves"])
    return 1 if any(found.required and not found.works for found in findings) else 0


def _refusal(error: ScenarioError) -> click.ClickException:
    count = len(error.problems)
    heading = f"{count} problem{'s' if count > 1 else ''} in {error.source}; nothing was run"
    return click.ClickException(f"{heading}\n{error}")


def _failed(error: Exception) -> int:
    terminal.complain(str(error))
    return 1


def _chosen(text: str, allowed: Sequence[str], option: str) -> tuple[str, ...]:
    """The names in a list with commas between; all must be known."""
    try:
        return named.chosen([part.strip() for part in text.split(",") if part.strip()], allowed)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _observation(
    document: Document, options: RunOptions | SweepOptions | ReportOptions, backends: Collection[str]
) -> Observe:
    if not RUNNING.intersection(backends) and (options.observe or options.capture):
        option = "--observe" if options.observe else "--capture"
        raise click.BadParameter(
            "needs the backend sim or real: a formula sends no packets", param_hint=option
        )
    try:
        names = _chosen(options.observe, OBSERVABLE, "--observe") if options.observe else ()
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


def _check_store(out: Path, backends: Collection[str]) -> None:
    """Refuses a store that cannot be one, or where nothing can be written, before anything is run."""
    try:
        Store(out).find("any")
        if RUNNING.intersection(backends):
            _check_writable(out)
    except StoreError as error:
        raise click.BadParameter(str(error), param_hint="--out") from None


def _check_writable(out: Path) -> None:
    """Writes to a store as a run would, which leaves nothing.

    Where there is none yet, to where it would be made: making it and removing it again would take it from
    under another process that has just begun to use it.
    """
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    try:
        # What a killed process leaves of this is removed with what it leaves of runs.
        with tempfile.TemporaryDirectory(prefix=".partial-check-", dir=there):
            pass
    except OSError as error:
        raise StoreError(f"cannot write a run to {out}: {error.strerror or error}") from None


def _own_formulas(path: Path | None, backends: Collection[str]) -> Formulas:
    if path is None:
        return Formulas()
    if "formula" not in backends:
        raise click.BadParameter("needs the backend formula", param_hint="--formulas")
    try:
        return formulas.load(path)
    except FormulaError as error:
        raise click.BadParameter(str(error), param_hint="--formulas") from None


def _counted(runs: Runs, progress: Progress) -> Runs:
    """The same with what the terminal shows of them."""
    from voxpath.live import View

    view = View(progress)
    return replace(runs, on_done=lambda outcome: progress.advance(made=not outcome.reused), on_look=view.look)


def _outcomes(backends: Sequence[Backend]) -> list[Outcome]:
    """The runs behind the last answers."""
    makers = [backend for backend in backends if isinstance(backend, Maker)]
    return [outcome for maker in makers for outcomes in maker.outcomes for outcome in outcomes]


def _print_runs(outcomes: Sequence[Outcome]) -> int:
    """Says where the runs are; 1 where one of them is invalid."""
    if not outcomes:
        return 0
    out = terminal.console()
    reused = sum(outcome.reused for outcome in outcomes)
    where = (
        outcomes[0].folder if len(outcomes) == 1 else f"{len(outcomes)} runs in {outcomes[0].folder.parent}"
    )
    out.print(f"results: {where}" + (f" ({reused} of them there already)" if reused else ""))
    for outcome in outcomes:
        if outcome.damage is not None:
            terminal.warn(f"{outcome.folder} was damaged ({outcome.damage}), and was made again")
        for number, problem in enumerate(outcome.rejected, start=1):
            out.print(
                f"{outcome.folder}: attempt {number} of {len(outcome.rejected) + 1} was invalid: {problem}"
            )
    invalid = [outcome for outcome in outcomes if not outcome.valid]
    for outcome in invalid:
        verdict = outcome.folder / "verdict.json"
        problems = "; ".join(json.loads(verdict.read_bytes())["problems"])
        terminal.complain(f"invalid run, see {verdict}: {problems}")
    return 1 if invalid else 0
