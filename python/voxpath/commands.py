"""What the commands do; `cli` says how they are called."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from voxpath import terminal
from voxpath.backends.base import Question
from voxpath.backends.formula import FormulaBackend
from voxpath.backends.sim import OBSERVABLE, SimBackend, observation
from voxpath.results.identity import Observe
from voxpath.results.store import Store, StoreError
from voxpath.scenario import Document, ScenarioError, read
from voxpath.scenario.problems import did_you_mean
from voxpath.sweep.pool import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voxpath.backends.base import Backend, Row
    from voxpath.sweep.runs import Outcome

BACKENDS = ("sim", "formula")
_SHOWN_FLOWS = 20
_LISTED_NAMES = 8


@dataclass(frozen=True)
class RunOptions:
    """Options of `voxpath run`, as `cli` describes them."""

    replication: int | None
    replications: int | None
    seed: int | None
    backend: str
    observe: str
    capture: tuple[str, ...]
    out: Path
    jobs: int | None
    force: bool


@dataclass(frozen=True)
class StudyOptions:
    """Options of `voxpath study`, as `cli` describes them."""

    quick: bool
    backend: str | None
    out: Path
    jobs: int | None
    force: bool


def run(path: Path, options: RunOptions) -> int:
    """Runs a scenario; 0, or 1 where a run failed.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    try:
        document = read(path)
    except ScenarioError as error:
        raise _refusal(error) from None
    if options.seed is not None:
        document = document.with_seed(options.seed)
    names = _chosen(options.backend, BACKENDS, "--backend")
    observe = _observation(document, options)
    question = Question(document, _replications(document, options))
    _check_store(options.out)
    with _progress(document.scenario.name, len(question.replications)) as on_done:
        sim = SimBackend(options.out, options.jobs or processors(), observe, options.force, on_done)
        backends = _backends(names, sim)
        try:
            rows = [row for backend in backends for row in backend.answer([question])[0]]
        except (RuntimeError, StoreError) as error:
            return _failed(error)
    outcomes = sim.outcomes[0] if sim.outcomes else []
    _print_rows(document, rows, len(question.replications))
    return _print_runs(outcomes)


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
        names = _chosen(options.backend, chosen.backends, "--backend")
    _check_store(options.out)
    with _progress(name, None) as on_done:
        sim = SimBackend(options.out, options.jobs or processors(), Observe(), options.force, on_done)
        try:
            answer = chosen.run(_backends(names, sim), chosen.quick if options.quick else chosen.replications)
        except (RuntimeError, StoreError) as error:
            return _failed(error)
    out = terminal.console()
    out.print(terminal.table(answer.title, answer.columns, answer.rows))
    for note in answer.notes:
        out.print(note)
    return _print_runs([outcome for outcomes in sim.outcomes for outcome in outcomes])


def doctor() -> int:
    """Prints what works here; 1 where voxpath itself does not."""
    from voxpath.doctor import examine

    findings = examine()
    rows = [[found.name, "works" if found.works else "no", found.detail, found.serves] for found in findings]
    terminal.console().print(terminal.table(None, ["part", "state", "detail", "serves"], rows))
    return 1 if any(found.required and not found.works for found in findings) else 0


def _refusal(error: ScenarioError) -> click.ClickException:
    count = len(error.problems)
    heading = f"{count} problem{'s' if count > 1 else ''} in {error.source}; nothing was run"
    return click.ClickException(f"{heading}\n{error}")


def _failed(error: Exception) -> int:
    click.echo(f"Error: {error}", err=True)
    return 1


def _chosen(text: str, allowed: Sequence[str], option: str) -> tuple[str, ...]:
    """The names in a list with commas between; all must be known."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in names:
        if name not in allowed:
            hint = did_you_mean(name, allowed)
            raise click.BadParameter(f"{name!r} is unknown; {hint}", param_hint=option)
    if not names:
        raise click.BadParameter(f"names nothing; allowed: {', '.join(allowed)}", param_hint=option)
    return tuple(dict.fromkeys(names))


def _observation(document: Document, options: RunOptions) -> Observe:
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
    sweep = document.scenario.sweep
    return range(options.replications or (sweep.replications if sweep else 1))


def _check_store(out: Path) -> None:
    """Refuses a store that cannot be one before anything is run."""
    try:
        Store(out).find("any")
    except StoreError as error:
        raise click.BadParameter(str(error), param_hint="--out") from None


def _backends(names: Sequence[str], sim: SimBackend) -> list[Backend]:
    made: dict[str, Backend] = {"sim": sim, "formula": FormulaBackend()}
    return [made[name] for name in names]


@contextlib.contextmanager
def _progress(description: str, total: int | None) -> Iterator[Callable[[Outcome], None]]:
    with terminal.progress() as bar:
        task = bar.add_task(description, total=total)
        yield lambda _: bar.advance(task)


_COLUMNS = (
    ("completion s", ("completion_s",), 1.0),
    ("goodput Mbit/s", ("goodput_bps",), 1e-6),
    ("sent again", ("client_retransmissions", "server_retransmissions"), 1.0),
    ("timeouts", ("client_timeouts", "server_timeouts"), 1.0),
    ("delay ms", ("delay_p50_ns",), 1e-6),
    ("delay ms, p95", ("delay_p95_ns",), 1e-6),
    ("delay ms, max", ("delay_max_ns",), 1e-6),
    ("jitter ms", ("jitter_ns",), 1e-6),
    ("lost", ("datagrams_lost",), 1.0),
    ("window back s", ("window_recovery_s",), 1.0),
)
"""Title, metrics and scale of the columns; of two ends the one that has more to tell is shown."""


def _print_rows(document: Document, rows: Sequence[Row], replications: int) -> None:
    """One line per flow and estimator that has an answer, and why the others have none."""
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    silent: dict[tuple[str, str], list[str]] = {}
    flows = list(dict.fromkeys(row.entity for row in rows))
    shown = set(flows[:_SHOWN_FLOWS])
    for row in rows:
        if row.entity in shown and row.status == "not applicable":
            entities = silent.setdefault((row.estimator, row.reason), [])
            entities.extend({row.entity}.difference(entities))
        elif row.entity in shown:
            lines.setdefault((row.entity, row.estimator), {})[row.metric] = row
    ordered = sorted(lines.items(), key=lambda line: flows.index(line[0][0]))
    cells = [[*names, *_cells(found)] for names, found in ordered]
    columns = ["flow", "estimator", *(title for title, _, _ in _COLUMNS), "incomplete"]
    used = [index for index in range(len(columns)) if any(line[index] for line in cells)]
    spread = f"mean and 95 % t-interval of {replications} replications" if replications > 1 else "one run"
    out = terminal.console()
    title = f"{document.scenario.name}: {spread}"
    out.print(terminal.table(title, [columns[i] for i in used], [[line[i] for i in used] for line in cells]))
    for (reason, declined), estimators in _by_reason(silent).items():
        verb = "does" if len(estimators) == 1 else "do"
        out.print(f"{_listed(estimators)} {verb} not apply to {_listed(declined)}: {reason}")
    if len(flows) > len(shown):
        out.print(f"{len(flows) - len(shown)} flows more stand in flows.parquet")


def _by_reason(
    silent: Mapping[tuple[str, str], Sequence[str]],
) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """The estimators that decline the same flows for the same reason."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (estimator, reason), entities in silent.items():
        found.setdefault((reason, tuple(entities)), []).append(estimator)
    return found


def _listed(names: Sequence[str]) -> str:
    """Names as people list them; of many the first, and how many more."""
    shown, last = list(names[:-1]), names[-1]
    if len(names) > _LISTED_NAMES:
        shown, last = list(names[: _LISTED_NAMES - 1]), f"{len(names) - _LISTED_NAMES + 1} more"
    return f"{', '.join(shown)} and {last}" if shown else last


def _cells(found: Mapping[str, Row]) -> list[str]:
    cells = []
    for _, metrics, scale in _COLUMNS:
        summaries = [row.summary for metric in metrics if (row := found.get(metric)) and row.summary]
        best = max(summaries, key=lambda summary: summary.mean, default=None)
        cells.append("" if best is None else str(best.scaled(scale)))
    incomplete = {f"{row.metric} {row.reason}": None for row in found.values() if row.status == "incomplete"}
    return [*cells, "; ".join(incomplete)]


def _print_runs(outcomes: Sequence[Outcome]) -> int:
    """Says where the runs are; 1 where one of them is invalid."""
    if not outcomes:
        return 0
    out = terminal.console()
    reused = sum(outcome.reused for outcome in outcomes)
    where = (
        outcomes[0].folder
        if len(outcomes) == 1
        else f"{len(outcomes)} folders of {outcomes[0].folder.parent}"
    )
    out.print(f"results: {where}" + (f" ({reused} of them there already)" if reused else ""))
    invalid = [outcome for outcome in outcomes if not outcome.valid]
    for outcome in invalid:
        click.echo(f"Error: invalid run, see {outcome.folder / 'verdict.json'}", err=True)
    return 1 if invalid else 0
