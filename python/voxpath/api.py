"""voxpath from Python: load a scenario, run it, look at frames.

What a function takes as a command does is declared in `voxpath.options`, which documents it here.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from voxpath import options
from voxpath.results.result import Result as Result  # noqa: PLC0414 - `voxpath.Result` comes from here

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from voxpath.backends.base import Backend
    from voxpath.formulas import Formulas
    from voxpath.realtime import RealNetwork
    from voxpath.results.answers import Answers
    from voxpath.results.identity import Observe
    from voxpath.results.outcome import Outcome
    from voxpath.scenario import Document
    from voxpath.sweeps.workers import Workers

    Source: TypeAlias = Document | Path | str | Mapping[str, Any]
    """A scenario: as `load` gave it, or what `load` takes."""


def load(source: Path | str | Mapping[str, Any]) -> Document:
    """A scenario from a file, or from a dictionary with the keys and texts of a file.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        TypeError: It is neither.
    """
    from voxpath import scenario

    if isinstance(source, Mapping):
        return scenario.from_dict(source)
    if not isinstance(source, (str, Path)):
        raise TypeError(
            f"a scenario is a file's path, a dictionary, or what voxpath.load gave, not {source!r}"
        )
    return scenario.read(source)


@options.takes(
    options.RUNS,
    options.OUT,
    options.OBSERVE,
    options.CAPTURE,
    options.JOBS,
    options.FORCE,
    options.FORMULAS,
    options.BACKENDS,
)
def run(
    source: Source,
    replications: int = options.RUNS.default,
    *,
    out: Path | str = options.OUT.default,
    observe: Collection[str] = options.OBSERVE.default,
    capture: Collection[str] = options.CAPTURE.default,
    jobs: int = options.JOBS.default,
    force: bool = options.FORCE.default,
    formulas: Formulas | Path | str | None = options.FORMULAS.default,
    backends: Sequence[str] = options.BACKENDS.default,
) -> Result:
    """Runs a scenario; runs that are in `out` already are not repeated.

    Args:
        source: The scenario: a document, a file, or a dictionary.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        ValueError: An argument is out of its range, or there is nothing of that name to observe, to capture
            or to ask.
        RuntimeError: The engine failed; this is a bug of ours.
        StoreError: The results cannot be written.
        FormulaError: A formula of your own failed, or has a name that is taken.
        RealError: The machine cannot run it in real time.
        UnanswerableError: A backend cannot answer such a scenario.
    """
    from voxpath.backends.answer import ask
    from voxpath.backends.base import Question
    from voxpath.backends.sim import observation
    from voxpath.sweeps.workers import Workers

    document = _document(source)
    observed = observation(document, observe, capture)
    asked = _backends(backends, Path(out), observed, Workers(jobs), force, formulas)
    (found,) = ask([(document.source, {}, Question(document, range(replications)))], asked)
    _warn(found.outcomes)
    return Result(found.flows, found.rows, [outcome.folder for outcome in found.outcomes])


@options.takes(
    options.REPLICATIONS,
    options.OUT,
    options.OBSERVE,
    options.CAPTURE,
    options.JOBS,
    options.DASK,
    options.SHARDS,
    options.FORCE,
    options.FORMULAS,
    options.BACKENDS,
)
def sweep(
    source: Source,
    replications: int | None = options.REPLICATIONS.default,
    *,
    out: Path | str = options.OUT.default,
    observe: Collection[str] = options.OBSERVE.default,
    capture: Collection[str] = options.CAPTURE.default,
    jobs: int = options.JOBS.default,
    dask: str | None = options.DASK.default,
    shards: str | None = options.SHARDS.default,
    force: bool = options.FORCE.default,
    formulas: Formulas | Path | str | None = options.FORMULAS.default,
    backends: Sequence[str] = options.BACKENDS.default,
) -> Answers:
    """Runs every cell of a scenario's sweep; runs that are in `out` already are not repeated.

    Args:
        source: The scenario: a document, a file, or a dictionary. Without axes it is the only cell.

    Raises:
        ScenarioError: As `run`.
        ValueError: As `run`.
        RuntimeError: As `run`.
        StoreError: As `run`.
        FormulaError: As `run`.
        RealError: As `run`.
        UnanswerableError: As `run`.
        ClusterError: The cluster cannot be used.
    """
    from voxpath.backends.sim import observation
    from voxpath.sweeps.workers import Workers

    document = _document(source)
    observed = observation(document, observe, capture)
    asked = _backends(backends, Path(out), observed, Workers(jobs, dask, shards), force, formulas)
    return _answers([document], replications, asked)


@options.takes(
    options.REPLICATIONS,
    options.OUT,
    options.JOBS,
    options.DASK,
    options.SHARDS,
    options.FORMULAS,
    options.BACKENDS,
)
def compare(
    *sources: Source,
    replications: int | None = options.REPLICATIONS.default,
    out: Path | str = options.OUT.default,
    jobs: int = options.JOBS.default,
    dask: str | None = options.DASK.default,
    shards: str | None = options.SHARDS.default,
    formulas: Formulas | Path | str | None = options.FORMULAS.default,
    backends: Sequence[str] = options.BACKENDS.default,
) -> Answers:
    """Lays scenarios, the cells of their sweeps and runs side by side; what is missing is run.

    Args:
        sources: Scenarios as in `run`, and folders of runs.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        ValueError: An argument is out of its range, or there is nothing of that name to ask.
        RuntimeError: As `sweep`.
        StoreError: As `sweep`, or a folder is no run.
        FormulaError: As `sweep`.
        RealError: As `sweep`.
        UnanswerableError: As `sweep`.
        ClusterError: As `sweep`.
    """
    from voxpath.backends.answer import kept_runs
    from voxpath.results.answers import Answers
    from voxpath.results.identity import Observe
    from voxpath.sweeps.workers import Workers

    kept = [_is_kept(source) for source in sources]
    runs = [Path(str(source)) for source, is_kept in zip(sources, kept, strict=True) if is_kept]
    documents = [_document(source) for source, is_kept in zip(sources, kept, strict=True) if not is_kept]
    asked = _backends(backends, Path(out), Observe(), Workers(jobs, dask, shards), False, formulas)
    found = _answers(documents, replications, asked)
    return Answers([*found.variants, *kept_runs(runs)])


@options.takes(options.REPLICATION, options.OBSERVE, options.CAPTURE, options.KEPT)
def real(
    source: Source,
    *,
    replication: int = options.REPLICATION.default,
    observe: Collection[str] = options.OBSERVE.default,
    capture: Collection[str] = options.CAPTURE.default,
    out: Path | str | None = options.KEPT.default,
) -> RealNetwork:
    """A scenario's network on the real Linux stack, in real time, for a `with` block.

    Its flows and programs run as in `voxpath run --backend real`. Beside them, programs are started from
    Python on hosts that are real: ends of flows, hosts with `run`, and those that say `real = true`.

    Args:
        source: The scenario: a document, a file, or a dictionary.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        UnanswerableError: The kernel cannot be what the scenario asks for.
        ValueError: An argument is out of its range, or there is nothing of that name to observe or capture.
    """
    from voxpath.backends.sim import observation
    from voxpath.realtime import RealNetwork

    document = _document(source)
    observed = observation(document, observe, capture)
    return RealNetwork(document, replication, observed, None if out is None else Path(out))


@options.takes(
    options.REPLICATIONS,
    options.METRICS,
    options.OUT,
    options.OBSERVE,
    options.JOBS,
    options.DASK,
    options.SHARDS,
    options.FORCE,
    options.BACKENDS,
)
def write_report(
    source: Source,
    path: Path | str,
    *,
    replications: int | None = options.REPLICATIONS.default,
    metrics: Sequence[str] = options.METRICS.default,
    out: Path | str = options.OUT.default,
    observe: Collection[str] = options.OBSERVE.default,
    jobs: int = options.JOBS.default,
    dask: str | None = options.DASK.default,
    shards: str | None = options.SHARDS.default,
    force: bool = options.FORCE.default,
    backends: Sequence[str] = options.BACKENDS.default,
) -> Path:
    """Writes one HTML page about a scenario or its sweep; what is missing is run.

    Args:
        source: The scenario: a document, a file, or a dictionary.
        path: The page.

    Returns:
        The page.

    Raises:
        ScenarioError: As `run`.
        ValueError: The page cannot be written, or there is nothing of a name to observe, show or ask.
        RuntimeError: As `sweep`.
        StoreError: As `sweep`.
        RealError: As `sweep`.
        UnanswerableError: As `sweep`.
        ClusterError: As `sweep`.
    """
    from voxpath import files
    from voxpath.report.html import render
    from voxpath.report.observed import watched
    from voxpath.report.sweep import report_of

    document, page = _document(source), Path(path)
    files.check_page(page)
    answers = sweep(
        document,
        replications,
        out=out,
        observe=observe,
        jobs=jobs,
        dask=dask,
        shards=shards,
        force=force,
        backends=backends,
    )
    asked = document.scenario.sweep
    count = replications or (asked.replications if asked else 1)
    seen = watched(document, out, backends, answers.outcomes)
    made = report_of(document, answers, count, metrics, "voxpath.write_report", seen)
    files.save_page(render(made), page)
    return page


def _document(source: Source) -> Document:
    from voxpath.scenario import Document

    return source if isinstance(source, Document) else load(source)


def _is_kept(source: Source) -> bool:
    from voxpath.results.kept import in_pack

    return isinstance(source, (str, Path)) and (Path(source).is_dir() or in_pack(Path(source)) is not None)


def _backends(
    names: Sequence[str],
    out: Path,
    observe: Observe,
    workers: Workers,
    force: bool,
    formulas: Formulas | Path | str | None,
) -> list[Backend]:
    from voxpath.backends import named
    from voxpath.backends.base import BACKENDS
    from voxpath.backends.formula import Formulas
    from voxpath.formulas import load as load_formulas

    if isinstance(formulas, (str, Path)):
        formulas = load_formulas(formulas)
    runs = named.Runs(out, workers, workers.jobs, observe, force)
    return named.make(named.chosen(names, BACKENDS), runs, formulas or Formulas())


def _answers(documents: Sequence[Document], replications: int | None, backends: Sequence[Backend]) -> Answers:
    from voxpath.backends.answer import answer

    asked = [
        (f"{document.source}{f' ({number})' if number else ''}", document, document.scenario.sweep)
        for number, document in enumerate(documents)
    ]
    answers = answer(
        {
            source: (document, range(replications or (sweep.replications if sweep else 1)))
            for source, document, sweep in asked
        },
        backends,
    )
    _warn(answers.outcomes)
    return answers


def _warn(outcomes: Iterable[Outcome]) -> None:
    """Says which runs were damaged."""
    for outcome in outcomes:
        if outcome.damage is not None:
            told = f"{outcome.folder} was damaged ({outcome.damage}), and was made again"
            warnings.warn(told, RuntimeWarning, stacklevel=5)
