"""What actions share: scenarios read, names chosen, stores checked, runs told of."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, files, interrupts, terminal, texts
from voxpath.backends import named
from voxpath.backends.base import RUNNING, Maker
from voxpath.results.store import Store, StoreError
from voxpath.scenario import Document, ScenarioError, read
from voxpath.sweeps.cluster import ClusterError, check_address
from voxpath.sweeps.pool import processors
from voxpath.sweeps.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from voxpath.backends.base import Backend
    from voxpath.backends.named import Runs
    from voxpath.document import Report
    from voxpath.results.answers import Answers
    from voxpath.results.outcome import Outcome
    from voxpath.terminal import Progress


def read_scenario(path: Path) -> Document:
    """Reads a scenario.

    Raises:
        click.ClickException: It cannot run; every problem is told.
    """
    try:
        return read(path)
    except ScenarioError as error:
        raise _refusal(error) from None


def write_new(wanted: Mapping[Path, bytes]) -> None:
    """Writes files where none are; all of them, or none.

    Raises:
        click.ClickException: One is there already, or cannot be written.
    """
    for path in wanted:
        if path.exists():
            raise click.ClickException(f"{path} is there already: nothing was written")
    written: list[Path] = []
    try:
        for path, data in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(path)
            path.write_bytes(data)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise click.ClickException(f"{error.filename}: {error.strerror or error}") from None


def _refusal(error: ScenarioError) -> click.ClickException:
    count = len(error.problems)
    heading = f"{count} problem{'s' if count > 1 else ''} in {error.source}; nothing was run"
    return click.ClickException(f"{heading}\n{error}")


def chosen_names(text: str, allowed: Sequence[str], option: str) -> tuple[str, ...]:
    """The names in a list with commas between; all must be known."""
    try:
        return named.chosen([part.strip() for part in text.split(",") if part.strip()], allowed)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def workers_of(jobs: int | None, dask: str | None, shards: str | None = None) -> Workers:
    """Who makes the runs, as --jobs, --dask and --shards say.

    Raises:
        click.UsageError: They do not go together, or an address is none.
    """
    if dask is not None:
        if jobs is not None:
            raise click.UsageError("--jobs starts processes here, --dask uses a cluster: give one of them")
        try:
            check_address(dask)
        except ClusterError as error:
            raise click.BadParameter(str(error), param_hint="--dask") from None
    try:
        return Workers(jobs or processors(), dask, shards)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--shards") from None


def check_store(out: Path, backends: Collection[str], *, asked: bool = False) -> None:
    """Refuses a store that cannot be one, or where nothing can be written, before anything is run.

    Args:
        out: Directory of the store.
        backends: Who answers.
        asked: Runs that are there already are not made again. All may be there: a store with something in it
            may be read-only, until a run turns out to be missing.

    Raises:
        click.BadParameter: It is refused.
    """
    store = Store(out)
    try:
        store.find("any")
        if RUNNING.intersection(backends) and not (asked and store.names()):
            store.check_writable()
    except StoreError as error:
        raise click.BadParameter(str(error), param_hint="--out") from None


def check_page(path: Path, option: str) -> None:
    """Refuses a page that cannot be written, before anything is run."""
    try:
        files.check_page(path)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


@contextlib.contextmanager
def kept_if_interrupted(out: Path, progress: Progress) -> Iterator[None]:
    """Says on Ctrl-C what is kept, and how to go on; the interrupt goes its way.

    Around what shows the progress, whose bar is gone by then.
    """
    try:
        yield
    except BaseException as error:
        if interrupts.behind(error) and progress.done:
            click.echo(
                texts.safe(
                    f"voxpath: {progress.done} runs are kept in {out}; the same command goes on there"
                ),
                err=True,
            )
        raise


def print_json(told: Mapping[str, Any] | Sequence[Any]) -> None:
    """Prints a result for programs; what is no number is null."""
    # What another encoding cannot write is escaped, which is the same value.
    is_utf8 = sys.stdout is not None and codecs.lookup(sys.stdout.encoding).name == "utf-8"
    click.echo(json.dumps(_finite(told), indent=2, ensure_ascii=not is_utf8, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def answers_told(command: str, answers: Answers) -> dict[str, Any]:
    """The answers to a command for programs: docs/json.md."""
    return {
        "command": command,
        "build": _engine.BUILD,
        "axes": list(answers.axes),
        "answers": answers.summary.to_dicts(),
        "runs": [
            {
                "run": str(outcome.folder),
                "replication": outcome.replication,
                "valid": outcome.valid,
                "reused": outcome.reused,
            }
            for outcome in answers.outcomes
        ],
    }


def counted(runs: Runs, progress: Progress) -> Runs:
    """The same with what the terminal shows of them."""
    from voxpath.live import View

    view = View(progress)
    return replace(runs, on_done=lambda outcome: progress.advance(made=not outcome.reused), on_look=view.look)


def failed(error: Exception) -> int:
    """Says what failed; 1.

    Raises:
        KeyboardInterrupt: It failed because of one.
    """
    if interrupts.behind(error):
        raise KeyboardInterrupt from error
    terminal.complain(str(error))
    return 1


def outcomes_of(backends: Sequence[Backend]) -> list[Outcome]:
    """The runs behind the last answers."""
    makers = [backend for backend in backends if isinstance(backend, Maker)]
    return [outcome for maker in makers for outcomes in maker.outcomes for outcome in outcomes]


def print_runs(outcomes: Sequence[Outcome], *, quiet: bool = False) -> int:
    """Says where the runs are; 1 where one of them is invalid.

    Args:
        outcomes: The runs.
        quiet: Only what is wrong, and on standard error.
    """
    if not outcomes:
        return 0
    out = terminal.console(stderr=quiet)
    reused, remarkable = 0, []
    # Each is made when it is asked for.
    for outcome in outcomes:
        reused += outcome.reused
        if outcome.damage is not None or outcome.rejected or not outcome.valid:
            remarkable.append(outcome)
    where = (
        outcomes[0].folder if len(outcomes) == 1 else f"{len(outcomes)} runs in {outcomes[0].folder.parent}"
    )
    if not quiet:
        out.print(f"results: {where}" + (f" ({reused} of them there already)" if reused else ""))
    for outcome in remarkable:
        if outcome.damage is not None:
            terminal.warn(f"{outcome.folder} was damaged ({outcome.damage}), and was made again")
        for number, problem in enumerate(outcome.rejected, start=1):
            out.print(
                f"{outcome.folder}: attempt {number} of {len(outcome.rejected) + 1} was invalid: {problem}"
            )
    invalid = [outcome for outcome in remarkable if not outcome.valid]
    for outcome in invalid:
        verdict = outcome.folder / "verdict.json"
        problems = "; ".join(json.loads(verdict.read_bytes())["problems"])
        terminal.complain(f"invalid run, see {verdict}: {problems}")
    return 1 if invalid else 0


def save_page(report: Report, path: Path, *, quiet: bool = False) -> int:
    """Writes a report and says where it is; 1 where it cannot be written."""
    from voxpath.report.html import render

    try:
        files.save_page(render(report), path)
    except ValueError as error:
        return failed(error)
    terminal.console(stderr=quiet).print(f"report: {path}")
    return 0
