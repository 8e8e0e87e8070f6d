"""`voxpath show`: one run in the terminal or as files, in tables and plots."""

from __future__ import annotations

import io
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import plotille
import polars as pl
from rich.console import Console

from voxpath import files, tables, terminal
from voxpath.cli.actions.common import print_json
from voxpath.names import did_you_mean
from voxpath.results.intervals import quantile
from voxpath.results.kept import Kept, is_run, readable, tables_of
from voxpath.results.kept import table as kept_table
from voxpath.results.metrics import dictionary, which_subflow
from voxpath.results.packs import Packs
from voxpath.results.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


_SHOWN_ROWS = 40
_SHOWN_PLOTS = 8
_MOST_COLUMNS = 15
"""Of a table that is shown row by row; one of more stands on its side."""
_QUANTILES = (0.05, 0.5, 0.95)
_REQUEST_TIMES = (
    ("first byte, ms", "sent_ns", "first_byte_ns"),
    ("completion, ms", "sent_ns", "completed_ns"),
    ("response, ms", "last_byte_sent_ns", "completed_ns"),
)
"""What is told of requests, from which column to which."""


@dataclass(frozen=True)
class ShowOptions:
    """Options of `voxpath show`, as `cli.show` describes them."""

    table: str | None
    series: tuple[str, ...]
    save: Path | None
    out: Path
    json: bool = False


def show(run_: Path, options: ShowOptions) -> int:
    """Shows what a run found; 0.

    Raises:
        click.ClickException: There is no such run, or nothing of that name in it.
    """
    try:
        if options.json:
            print_json(_told(run_, options))
            return 0
        show_run(run_, options.out, options.table, options.series, options.save)
    except (ShowError, StoreError) as error:
        raise click.ClickException(str(error)) from None
    return 0


def _told(run: Path, options: ShowOptions) -> dict[str, Any]:
    """A run for programs (docs/json.md): its tables of a row for each flow, or the one that is asked for."""
    if options.series or options.save is not None:
        raise ShowError("--json prints tables: leave out --series and --save, or ask for --table series")
    folder = find(run, options.out)
    kept = Kept.read(folder)
    known = tables_of(folder)
    if options.table is not None and options.table not in known:
        raise ShowError(f"the run has no table {options.table!r}; {did_you_mean(options.table, known)}")
    shown = [options.table] if options.table is not None else [name for name in _SMALL if name in known]
    with readable(folder):
        tables_ = {name: kept_table(folder, name).to_dicts() for name in shown}
    return {
        "command": "show",
        "run": str(folder),
        "scenario": kept.plan["name"],
        "identity": kept.identity,
        "verdict": kept.verdict,
        "known_tables": known,
        "tables": tables_,
    }


_SMALL = ("flows", "connections", "elements", "programs")
"""Tables whose size does not grow with the time of a run."""


class ShowError(Exception):
    """There is no such run, or nothing of that name in it."""


def show_run(run: Path, out: Path, table: str | None, series: Sequence[str], save: Path | None) -> None:
    """Prints a run, or one of its tables or series; with `save` it is written to a file.

    Args:
        run: Its folder, or the beginning of its name in `out`.
        out: Directory of the runs.
        table: The name of one; not with `series`.
        series: Names of some.
        save: A file for the one thing that is asked for.

    Raises:
        ShowError: There is no such run, or nothing of that name in it.
        StoreError: It cannot be read.
    """
    folder = find(run, out)
    kept = Kept.read(folder)
    with readable(folder):
        if series:
            _show_series(folder, series, save)
        elif table is not None:
            _show_table(folder, table, save)
        elif save is not None:
            raise ShowError("--save writes one thing: say which --table or --series")
        else:
            _show_all(kept)


def find(run: Path, out: Path) -> Path:
    """The folder of a run: itself, or the only one of the store whose name begins so."""
    if is_run(run):
        return run
    if run.name == str(run) and out.is_dir():
        # No pattern: what stands for several names in one is part of no name of a run.
        begin_so = (path for path in out.iterdir() if path.name.startswith(run.name))
        alone = {path for path in begin_so if (path / "verdict.json").is_file()}
        packed = {out / name for name in Packs(out).names() if name.startswith(run.name)}
        found = sorted(alone | packed)
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(path.name for path in found[:5])
            raise ShowError(
                f"{len(found)} runs of {out} begin with {run}: {names}{' ...' * (len(found) > 5)}"
            )
    raise ShowError(f"{run} is no run: give its folder, or the beginning of its name in {out}")


def _show_all(kept: Kept) -> None:
    out = terminal.console()
    folder, identity, verdict, plan = kept.folder, kept.identity, kept.verdict, kept.plan
    state = "valid" if verdict["valid"] else "invalid, see verdict.json"
    out.print(
        f"{plan['name']}: {identity['backend']}, seed {plan['seed']}, replication {identity['replication']}, "
        f"build {identity['build']}, {state}"
    )
    flows = kept_table(folder, "flows")
    if not flows.is_empty():
        _print_vertical("flows", flows)
    written = tables_of(folder)
    if "requests" in written and not (requests := kept_table(folder, "requests")).is_empty():
        _print_requests(requests)
    tables.print_programs([("", folder)])
    command = f"voxpath show {shlex.quote(str(folder))}"
    remarkable = pl.any_horizontal(
        pl.col("packets_dropped", "packets_duplicated", "packets_marked", "packets_held") > 0
    )
    elements = kept_table(folder, "elements").filter(remarkable)
    if elements.is_empty():
        out.print("no element dropped, duplicated, marked or held a packet")
    else:
        _print_horizontal("elements that dropped, duplicated, marked or held packets", elements)
    if "series" in written:
        known = kept_table(folder, "series").get_column("metric").unique().sort().to_list()
        if known:
            out.print(f"series: {', '.join(known)}; {command} --series {known[0]}")
    out.print(f"tables: {', '.join(written)}; {command} --table {written[0]}")


def _show_table(folder: Path, name: str, save: Path | None) -> None:
    known = tables_of(folder)
    if name not in known:
        kept = {"series", "packets", "capacities"}
        hint = " (--observe records series, packets and capacities)" if name in kept else ""
        there = f"it has {', '.join(known)}" if name in dictionary() else did_you_mean(name, known)
        raise ShowError(f"the run has no table {name!r}{hint}; {there}")
    frame = kept_table(folder, name)
    if save is not None:
        _save_frame(frame, save)
        return
    (_print_vertical if frame.width > _MOST_COLUMNS else _print_horizontal)(name, frame)
    if frame.height > _SHOWN_ROWS:
        terminal.console().print(f"{frame.height - _SHOWN_ROWS} rows more; --save FILE writes all of them")


_DRAWN = (".svg", ".txt")
"""Endings of files with a plot."""


def _show_series(folder: Path, names: Sequence[str], save: Path | None) -> None:
    if "series" not in tables_of(folder):
        raise ShowError("the run has no series: run it with --observe tcp")
    frame = kept_table(folder, "series")
    known = frame.get_column("metric").unique().sort().to_list()
    for name in names:
        if name not in known:
            raise ShowError(f"{name!r} is no series of this run; {did_you_mean(name, known)}")
    chosen = frame.filter(pl.col("metric").is_in(names))
    if save is not None and save.suffix not in _DRAWN:
        if save.suffix not in files.FORMATS:
            allowed = ", ".join((*_DRAWN, *files.FORMATS))
            raise ShowError(f"{save.name!r} says neither a plot nor a table; allowed: {allowed}")
        _save_frame(chosen, save)
        return
    out = terminal.console()
    width = min(out.width, 120)
    if save is not None:
        # Recorded, not printed: what the terminal would show, as a picture or a text.
        out = Console(record=True, width=width, file=io.StringIO(), highlight=False)
    for name in names:
        for plot in _plots(chosen.filter(pl.col("metric") == name), name, width):
            out.print(plot, markup=False)
    if save is not None:
        try:
            (out.save_svg if save.suffix == ".svg" else out.save_text)(str(save))
        except OSError as error:
            raise ShowError(f"cannot write {save}: {error.strerror}") from None


def _plots(frame: pl.DataFrame, name: str, width: int) -> Iterator[str]:
    """A series over time, one plot for each end of each flow where it changes."""
    metric = dictionary()["series_metrics"][name]
    scale, unit = (1e-6, "ms") if metric.unit == "ns" else (1.0, metric.unit)
    ends = frame.group_by("flow", "end", "subflow", maintain_order=True)
    changing = [(keys, rows) for keys, rows in ends if rows.get_column("value").n_unique() > 1]
    for (flow, end, subflow), rows in changing[:_SHOWN_PLOTS]:
        figure = plotille.Figure()
        figure.width = max(20, width - 30)
        figure.height = 16
        figure.with_colors = False
        figure.x_label = "s"
        figure.y_label = unit
        figure.set_x_limits(min_=0.0)
        figure.set_y_limits(min_=0.0)
        figure.register_label_formatter(float, _tick)
        figure.plot(*_steps(rows, scale))
        yield f"{name}: {metric.about} {flow}, {end}{which_subflow(subflow)}.\n{figure.show()}"
    if len(changing) > _SHOWN_PLOTS:
        yield f"{len(changing) - _SHOWN_PLOTS} ends of flows more; --save FILE.csv writes all of them"


def _tick(value: float, chars: int, delta: float, left: bool = False) -> str:
    """A number on an axis."""
    del delta
    text = f"{value:.4g}"
    return text.ljust(chars) if left else text.rjust(chars)


def _steps(rows: pl.DataFrame, scale: float) -> tuple[list[float], list[float]]:
    """A series holds its changes: each value stays until the next one."""
    times = (rows.get_column("time_ns") / 1e9).to_list()
    values = (rows.get_column("value") * scale).to_list()
    seconds = [times[(index + 1) // 2] for index in range(2 * len(times) - 1)]
    return seconds, [values[index // 2] for index in range(2 * len(times) - 1)]


def _print_requests(frame: pl.DataFrame) -> None:
    """How long the requests of each flow took: quantiles with intervals."""
    lines = []
    for (flow,), rows in frame.group_by("flow", maintain_order=True):
        for title, start, end in _REQUEST_TIMES:
            values = ((rows.get_column(end) - rows.get_column(start)) / 1e6).drop_nulls().to_list()
            found = [str(quantile(values, p)) for p in _QUANTILES] if values else [""] * len(_QUANTILES)
            lines.append([str(flow), title, f"{len(values)} of {rows.height}", *found])
    heads = [f"p{100 * p:g}" for p in _QUANTILES]
    title = "requests: quantiles [95 % interval, if requests are independent]"
    terminal.print_table(title, ["flow", "time", "answered", *heads], lines, [heads[0], "answered"])


def _print_vertical(title: str, frame: pl.DataFrame) -> None:
    """A table with a row per column: for few rows of many columns. Columns without a value are left out."""
    shown = frame.head(_SHOWN_ROWS // 5)
    used = [name for name in shown.columns if shown.get_column(name).null_count() < shown.height]
    # The first column says whose a row is.
    heads = [_text(value) for value in shown.to_series(0).to_list()]
    rows = [
        [name, *map(_text, shown.get_column(name).to_list())] for name in used if name != shown.columns[0]
    ]
    more = f" (the first {shown.height} of {frame.height})" if shown.height < frame.height else ""
    terminal.print_table(f"{title}{more}", ["", *heads], rows, heads[:0:-1])


def _print_horizontal(title: str, frame: pl.DataFrame) -> None:
    rows = [list(map(_text, row)) for row in frame.head(_SHOWN_ROWS).iter_rows()]
    terminal.print_table(title, frame.columns, rows, frame.columns[:1:-1])


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _save_frame(frame: pl.DataFrame, path: Path) -> None:
    try:
        files.check(path)
        files.save(frame, path)
    except (ValueError, OSError) as error:
        raise ShowError(str(error)) from None
