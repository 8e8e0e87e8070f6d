"""What `voxpath list`, `voxpath gc` and `voxpath site` do."""

from __future__ import annotations

import json
import os
import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from voxpath import files, terminal
from voxpath.backends.base import Question, UnanswerableError, refuse_programs
from voxpath.cli.actions.common import failed, print_json, read_scenario
from voxpath.options import OUT
from voxpath.results.kept import is_run, table
from voxpath.results.listing import contents, listed
from voxpath.results.store import Store, StoreError
from voxpath.scenario import ScenarioError
from voxpath.scenario.sweep import short_names
from voxpath.terminal import Progress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from voxpath.report.site import Page
    from voxpath.results.listing import Listed

_SHOWN = 100
_SHOWN_AXES = 3
_SPARE = ("backend", "runs", "last", "axes")
"""The name by which a run is shown stays: the line below the table asks for it."""


def list_runs(store: Path, as_json: bool) -> int:
    """Prints what is in a store; 0.

    Raises:
        click.ClickException: It is none, or cannot be read.
    """
    _check_store(store)
    try:
        there = contents(store)
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    found = there.scenarios
    if there.others:
        terminal.warn(f"{_some(there.others, 'run', 'runs')} that another version of voxpath has kept")
    if as_json:
        told = [_told(one) for one in found]
        print_json({"command": "list", "store": str(store), "scenarios": told, "others": there.others})
        return 0
    out = terminal.console()
    if not found:
        run = f": it is a run itself, see voxpath show {shlex.quote(str(store))}" if _is_run(store) else ""
        out.print(f"there is no run in {store}{run}")
        return 0
    rows = [
        [
            one.name,
            one.backend,
            str(one.count),
            "valid" if not one.invalid else f"{one.invalid} invalid",
            _axes(one),
            _when(one.last),
            next(iter(one.runs.values()))[0][:8],
        ]
        for one in found[:_SHOWN]
    ]
    heads = ["scenario", "backend", "runs", "verdict", "axes", "last", "run"]
    terminal.print_table(None, heads, rows, _SPARE, out)
    if len(found) > _SHOWN:
        out.print(f"{len(found) - _SHOWN} scenarios more: --json tells all of them")
    quoted = shlex.quote(str(store))
    shown = f"{rows[0][-1]} --out {quoted}" if str(store) != OUT.default else rows[0][-1]
    out.print(f"voxpath show {shown}, or voxpath site {quoted} --out DIR for pages of all of them")
    return 0


def collect_garbage(store: Path, as_json: bool, *, other_builds: bool) -> int:
    """Removes from a store what is of no use, and says what that was; 0.

    Raises:
        click.ClickException: It is none, or cannot be read or written.
    """
    from voxpath import _engine
    from voxpath.results.garbage import collect

    _check_store(store)
    if _is_run(store) or not store.is_dir():
        raise click.ClickException(f"{store} is no directory of runs")
    try:
        found = collect(Store(store), _engine.BUILD, other_builds=other_builds)
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    if found.unmerged is not None:
        terminal.warn(f"small packs of runs are left as they are: {found.unmerged}")
    (_, bytes_before), (count, size) = found.before, found.after
    if as_json:
        gone = {"left": found.left, "damaged": found.damaged, "runs": found.runs}
        after = {"other_builds": found.others, "files": count, "bytes": size}
        print_json({"command": "gc", "store": str(store), "removed": gone, **after})
        return 0
    told = [
        _some(found.left, "folder of killed processes", "folders of killed processes"),
        _some(found.damaged, "damaged pack", "damaged packs"),
        _some(found.runs, "run of another build", "runs of other builds"),
    ]
    out = terminal.console()
    out.print(f"removed: {', '.join(filter(None, told)) or 'nothing'}")
    held = _some(count, "file", "files") or "no file"
    out.print(f"{store}: {held}, {size / 1e6:.1f} MB (before: {bytes_before / 1e6:.1f} MB)")
    if found.others:
        out.print(f"{_some(found.others, 'run', 'runs')} of other builds: --other-builds removes them")
    return 0


def _some(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}" if count else ""


def _check_store(store: Path) -> None:
    """Refuses a store that is not there.

    Raises:
        click.ClickException: So it is.
    """
    if not store.exists():
        raise click.ClickException(
            f"{store} is no directory of runs: there is none yet; voxpath run SCENARIO keeps its runs in runs"
        )


def _listed(store: Path) -> list[Listed]:
    try:
        return listed(store)
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _axes(one: Listed) -> str:
    """What the cells differ in, and in how many values."""
    found = one.values
    counts = {key: len({json.dumps(value) for value in found[key].values()}) for key in found}
    names = short_names(list(counts))
    told = [f"{name} ({count})" for name, count in zip(names, counts.values(), strict=True)]
    more = len(told) - _SHOWN_AXES
    return ", ".join(told[:_SHOWN_AXES]) + (f" and {more} more" if more > 0 else "")


def _when(started: str) -> str:
    """In the time of this machine."""
    try:
        return datetime.fromisoformat(started).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""


def _told(one: Listed) -> dict[str, Any]:
    values = one.values
    return {
        "scenario": one.name,
        "backend": one.backend,
        "runs": one.count,
        "invalid": one.invalid,
        "last": one.last,
        "cells": [
            {"values": {key: values[key][plan] for key in values}, "runs": runs}
            for plan, runs in one.runs.items()
        ],
    }


def site(sources: Sequence[Path], out: Path, title: str) -> int:
    """Makes a site; 0, or 1 where a part of it could not be made.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    from voxpath.report.site import INDEX, NoPageError
    from voxpath.report.site import site as made

    for source in sources:
        _check_source(source)
    _check_site(out)
    pages: list[Page] = []
    problems: list[str] = []
    # The page of a study tells of its runs, which are of no scenario that anybody wrote.
    told = {source.stem for source in sources if source.suffix == ".html"}
    with Progress("site", None) as progress:
        for source in sources:
            for page in _pages(source, told, problems):
                pages.append(page)
                progress.advance()
    if not pages:
        raise click.ClickException("\n".join(["there is nothing to make a page of", *problems]))
    try:
        contents = made(title, pages)
        out.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            files.save_page(text, out / name)
    except NoPageError as error:
        raise click.ClickException(str(error)) from None
    except (RuntimeError, ValueError) as error:
        return failed(error)
    except OSError as error:
        return failed(RuntimeError(f"{error.filename or out}: {error.strerror or error}"))
    for problem in problems:
        terminal.complain(problem)
    terminal.console().print(f"site: {out / INDEX}, {len(pages)} page{'s' if len(pages) > 1 else ''}")
    return 1 if problems else 0


def _pages(source: Path, told: Collection[str], problems: list[str]) -> Iterator[Page]:
    """The pages of a source; what cannot be one is a problem.

    Raises:
        click.ClickException: There is no such thing.
    """
    from voxpath.report.site import Page

    if source.suffix == ".html":
        yield Page("Studies" if _is_study(source.stem) else "Pages", source.stem, _page(source))
    elif source.suffix == ".toml":
        yield _of_scenario(source)
    elif _is_run(source):
        run = source.name
        one = next(
            (one for one in _listed(source.parent) if any(run in runs for runs in one.runs.values())), None
        )
        if one is None:
            raise click.ClickException(f"{source} was kept by another version of voxpath")
        plan = next(plan for plan, runs in one.runs.items() if run in runs)
        yield from _of_listed(source.parent, _only(one, plan, run), problems)
    elif source.is_dir():
        for one in _listed(source):
            if one.name.partition(":")[0] not in told:
                yield from _of_listed(source, one, problems)


def _page(source: Path) -> str:
    """The text of a page.

    Raises:
        click.ClickException: There is none.
    """
    try:
        return files.read(source).decode()
    except FileNotFoundError:
        made = f": make it by voxpath study {source.stem}" if _is_study(source.stem) else ""
        raise click.ClickException(f"{source}: there is no such file{made}") from None
    except OSError as error:
        raise click.ClickException(f"{source}: {error.strerror or error}") from None
    except ValueError as error:
        raise click.ClickException(f"{source} is no page that voxpath has made: {error}") from None


def _check_source(source: Path) -> None:
    """Refuses what no page can be made of, before one is made of anything.

    Raises:
        click.ClickException: There is no such thing, or it has no answer.
    """
    if source.suffix == ".html":
        _page(source)
    elif source.suffix == ".toml":
        document = read_scenario(source)
        try:
            refuse_programs([Question(document)], "sim")
        except UnanswerableError as error:
            raise click.ClickException(
                f"{source}: {error}; of its runs a page is made by voxpath site RUN"
            ) from None
    elif not _is_run(source) and not source.is_dir():
        raise click.ClickException(
            f"{source} is no store, no run, no scenario (.toml) and no page (.html)"
            + (f": make it by voxpath study {source}" if _is_study(source.name) else "")
        )


def _check_site(out: Path) -> None:
    """Refuses a directory that cannot be one, or where nothing can be written.

    Raises:
        click.ClickException: It is such a one.
    """
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise click.BadParameter(f"{there} is a file: a site is a directory", param_hint="--out")
    if not os.access(there, os.W_OK | os.X_OK):
        raise click.BadParameter(f"nothing can be written to {there}", param_hint="--out")


def _is_study(name: str) -> bool:
    from voxpath import studies

    return name in studies.NAMES


def _is_run(source: Path) -> bool:
    try:
        return is_run(source)
    except StoreError as error:
        raise click.ClickException(str(error)) from None


def _only(one: Listed, plan: str, run: str) -> Listed:
    from dataclasses import replace

    return replace(one, runs={plan: [run]}, scenarios={plan: one.scenarios[plan]})


def _of_listed(root: Path, one: Listed, problems: list[str]) -> Iterator[Page]:
    from voxpath.report.html import render
    from voxpath.report.kept import report_of_listed
    from voxpath.report.site import Page

    if one.backend == "real" and one.count > 1 and not _has_flows(root, one):
        # Commands behind a link: each is its own.
        for plan, runs in one.runs.items():
            for run in runs:
                yield from _of_listed(root, _only(one, plan, run), problems)
        return
    kind = "Real runs" if one.backend == "real" else "Sweeps" if len(one.runs) > 1 else "Runs"
    try:
        yield Page(kind, f"{one.name} {one.backend}", render(report_of_listed(root, one)))
    except (StoreError, ScenarioError) as error:
        problems.append(f"{one.name}: {error}")


def _has_flows(root: Path, one: Listed) -> bool:
    return any(table(root / runs[0], "flows").height > 0 for runs in one.runs.values())


def _of_scenario(source: Path) -> Page:
    from voxpath import api
    from voxpath.report.html import render
    from voxpath.report.observed import watched
    from voxpath.report.site import Page
    from voxpath.report.sweep import report_of

    document = read_scenario(source)
    answers = api.sweep(document)
    asked = document.scenario.sweep
    seen = watched(document, "runs", ["sim"], answers.outcomes)
    count = asked.replications if asked else 1
    report = report_of(document, answers, count, (), f"voxpath report {source.name}", seen)
    return Page("Sweeps" if document.axes else "Runs", source.stem, render(report))
