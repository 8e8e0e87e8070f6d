"""voxpath from Python: load a scenario, run it, look at frames."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

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


def run(
    source: Source,
    replications: int = 1,
    *,
    out: Path | str = "runs",
    observe: Collection[str] = (),
    capture: Collection[str] = (),
    jobs: int = 1,
    force: bool = False,
    formulas: Formulas | Path | str | None = None,
    backends: Sequence[str] = ("sim", "formula"),
) -> Result:
    """Runs a scenario; runs that are in `out` already are not repeated.

    Args:
        source: The scenario: a document, a file, or a dictionary.
        replications: How many runs, which differ in their random streams alone.
        out: Directory of the store.
        observe: What to record besides the results: `tcp`, `packets`.
        capture: Hosts whose packets are captured.
        jobs: Worker processes, and runs in real time that are under way together. With more than one, a
            script needs the usual `if __name__ == "__main__":`.
        force: Make runs anew that are there already.
        formulas: Of your own, or their file, asked beside those of the literature; see
            `voxpath.formulas`.
        backends: Who answers: `sim`, `formula`, `real`.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        ValueError: There is nothing of that name to observe, to capture or to ask.
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


def sweep(
    source: Source,
    replications: int | None = None,
    *,
    out: Path | str = "runs",
    observe: Collection[str] = (),
    capture: Collection[str] = (),
    jobs: int = 1,
    dask: str | None = None,
    force: bool = False,
    formulas: Formulas | Path | str | None = None,
    backends: Sequence[str] = ("sim", "formula"),
) -> Answers:
    """Runs every cell of a scenario's sweep; runs that are in `out` already are not repeated.

    Args:
        source: The scenario: a document, a file, or a dictionary. Without axes it is the only cell.
        replications: Runs of each cell; as many as the scenario says without it.
        out: Directory of the store.
        observe: What to record besides the results: `tcp`, `packets`.
        capture: Hosts whose packets are captured.
        jobs: Worker processes. With more than one, a script needs the usual `if __name__ == "__main__":`.
        dask: In their place a Dask cluster: a scheduler's address, or `local:2`.
        force: Make runs anew that are there already.
        formulas: Of your own, or their file, asked beside those of the literature; see
            `voxpath.formulas`.
        backends: As in `run`.

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
    asked = _backends(backends, Path(out), observed, Workers(jobs, dask), force, formulas)
    return _answers([document], replications, asked)


def compare(
    *sources: Source,
    replications: int | None = None,
    out: Path | str = "runs",
    jobs: int = 1,
    dask: str | None = None,
    formulas: Formulas | Path | str | None = None,
    backends: Sequence[str] = ("sim", "formula"),
) -> Answers:
    """Lays scenarios, the cells of their sweeps and runs side by side; what is missing is run.

    Args:
        sources: Scenarios as in `run`, and folders of runs.
        replications: Runs of each cell; as many as each scenario says without it.
        out: Directory of the store.
        jobs: As in `sweep`.
        dask: As in `sweep`.
        formulas: As in `run`.
        backends: As in `run`.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        ValueError: There is nothing of that name to ask.
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
    asked = _backends(backends, Path(out), Observe(), Workers(jobs, dask), False, formulas)
    found = _answers(documents, replications, asked)
    return Answers([*found.variants, *kept_runs(runs)])


def real(
    source: Source,
    *,
    replication: int = 0,
    observe: Collection[str] = (),
    capture: Collection[str] = (),
    out: Path | str | None = None,
) -> RealNetwork:
    """A scenario's network on the real Linux stack, in real time, for a `with` block.

    Its flows and programs run as in `voxpath run --backend real`. Beside them, programs are started from
    Python on hosts that are real: ends of flows, hosts with `run`, and those that say `real = true`.

    Args:
        source: The scenario: a document, a file, or a dictionary.
        replication: Which; random streams differ.
        observe: What to record besides the results: `tcp`, `packets`.
        capture: Hosts whose packets are captured.
        out: Directory of the store, where the run is kept, at the end of the block at the latest; nowhere
            without it.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
        UnanswerableError: The kernel cannot be what the scenario asks for.
        ValueError: There is nothing of that name to observe or capture.
    """
    from voxpath.backends.sim import observation
    from voxpath.realtime import RealNetwork

    document = _document(source)
    observed = observation(document, observe, capture)
    return RealNetwork(document, replication, observed, None if out is None else Path(out))


def write_report(
    source: Source,
    path: Path | str,
    *,
    replications: int | None = None,
    metrics: Sequence[str] = (),
    out: Path | str = "runs",
    observe: Collection[str] = (),
    jobs: int = 1,
    dask: str | None = None,
    force: bool = False,
    backends: Sequence[str] = ("sim", "formula"),
) -> Path:
    """Writes one HTML page about a scenario or its sweep; what is missing is run.

    Args:
        source: The scenario: a document, a file, or a dictionary.
        path: The page.
        replications: Runs of each cell; as many as the scenario says without it.
        metrics: What to show; the main ones if none is named.
        out: As in `sweep`.
        observe: As in `sweep`; series of a scenario without axes are drawn.
        jobs: As in `sweep`.
        dask: As in `sweep`.
        force: As in `sweep`.
        backends: As in `run`.

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
        force=force,
        backends=backends,
    )
    asked = document.scenario.sweep
    count = replications or (asked.replications if asked else 1)
    files.save_page(render(report_of(document, answers, count, metrics, "voxpath.write_report")), page)
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
            warnings.warn(told, RuntimeWarning, stacklevel=4)
