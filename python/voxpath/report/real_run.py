"""The page of one run on real hosts: its links over time, its TCP connections, its programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from voxpath import _engine
from voxpath.document import Axis, Check, Checks, Curve, Lead, Plot, Report, Section, Together, Verbatim
from voxpath.real_tables import tables_of, told
from voxpath.report.connection import connections
from voxpath.report.topology import network_of
from voxpath.report.voices import voices_in
from voxpath.results.kept import table
from voxpath.results.kept import tables_of as kept_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import polars as pl

    from voxpath.document import Part
    from voxpath.scenario import Document

_MOST_LINKS = 4
"""Directions of links, those first over which most went."""


def report_of_run(document: Document, folder: Path) -> Report:
    """The report of a run that is kept in a folder."""
    names = kept_tables(folder)
    looks = table(folder, "links") if "links" in names else None
    verdict = json.loads((folder / "verdict.json").read_bytes())
    timeline = None if looks is None or looks.is_empty() else links_together(looks)
    sections = []
    network = network_of(document.plan.data)
    if "series" in names and (views := connections(table(folder, "series"))):
        sections.append(Section("TCP connections over time", views))
    if voices := voices_in(folder):
        sections.append(Section("Voices over time", voices))
    if programs := list(tables_of([("", folder)])):
        sections.append(Section("What the programs did", programs))
    set_up: list[Part] = [
        *([network] if network else []),
        Verbatim("the scenario as it is written", document.text),
    ]
    sections.append(Section("Set-up", set_up))
    sections.append(Section("Was the network on time?", [_verdict(verdict, folder)]))
    seconds = verdict["ended_ns"] / 1e9
    return Report(
        title=document.scenario.name,
        question="What did the network do while the command ran?",
        answer=[said] if (said := told([("", folder)])) else [],
        sections=sections,
        origin=[("backend", "real"), ("engine", _engine.BUILD_REAL), ("seed", str(document.scenario.seed))],
        lead=Lead(_sentence(looks, seconds, document.plan.data), timeline or network),
    )


def _sentence(looks: pl.DataFrame | None, seconds: float, plan: Mapping[str, Any]) -> str:
    if looks is None or looks.is_empty():
        return f"The network ran for {seconds:.3g} s."
    last = looks.group_by("link", maintain_order=True).last()
    parts = [
        f"{row['served_bytes'] * 8e-6 / max(seconds, 1e-9):.3g} Mbit/s over {row['link']}"
        for row in last.sort("served_bytes", descending=True, maintain_order=True)
        .head(2)
        .iter_rows(named=True)
    ]
    dropped, lost = int(last.get_column("dropped").sum()), int(last.get_column("lost").sum())
    longest = float(looks.get_column("delay_ns").max() or 0) / 1e6  # type: ignore[arg-type]
    # A look at a link sees what a delay varies around.
    varies = any(link[way]["delay_variation"] is not None for link in plan["links"] for way in ("ab", "ba"))
    aside = " (its jitter aside)" if varies else ""
    return (
        f"In {seconds:.3g} s the links carried {' and '.join(parts)}; a packet took up to {longest:.3g} ms"
        f"{aside}, {dropped} found no room in a queue, and {lost} were lost."
    )


def links_together(looks: pl.DataFrame) -> Together:
    """Rate, delay, queue and losses of the links, over time."""
    order = looks.group_by("link", maintain_order=True).last().sort("served_bytes", descending=True)
    links = order.get_column("link").head(_MOST_LINKS).to_list()
    by_link = {link: looks.filter(link=link) for link in links}
    until = float(looks.get_column("time_ns").max() or 0) / 1e9  # type: ignore[arg-type]

    def plot(
        title: str, unit: str, values: Callable[[pl.DataFrame], tuple[Sequence[float], Sequence[float]]]
    ) -> Plot:
        curves = [Curve(link, *values(rows), style="steps") for link, rows in by_link.items()]
        return Plot(title, "", Axis("time", "s", span=(0.0, until)), Axis(title, unit), curves)

    plots = [
        plot("rate", "Mbit/s", _rates),
        plot("delay", "ms", lambda rows: _column(rows, "delay_ns", 1e-6)),
        plot("waiting", "packets", lambda rows: _column(rows, "waiting", 1.0)),
        plot("gone", "packets", _gone),
    ]
    caption = (
        "Looked at four times a second; gone: dropped by a queue, or lost. One axis of time: what is zoomed "
        "in one plot is so in all."
    )
    return Together("The links over time", caption, plots)


def _rates(rows: pl.DataFrame) -> tuple[list[float], list[float]]:
    """What was served since the look before; each value stands from there."""
    times = [0.0, *(rows.get_column("time_ns") / 1e9).to_list()]
    served = [0, *rows.get_column("served_bytes").to_list()]
    spans = [
        (served[i + 1] - served[i]) * 8e-6 / max(times[i + 1] - times[i], 1e-9) for i in range(rows.height)
    ]
    return times, [*spans, spans[-1]]


def _column(rows: pl.DataFrame, name: str, factor: float) -> tuple[list[float], list[float]]:
    return (rows.get_column("time_ns") / 1e9).to_list(), (rows.get_column(name) * factor).to_list()


def _gone(rows: pl.DataFrame) -> tuple[list[float], list[float]]:
    gone = rows.get_column("dropped") + rows.get_column("lost")
    return (rows.get_column("time_ns") / 1e9).to_list(), gone.cast(float).to_list()


def _verdict(verdict: dict[str, object], folder: Path) -> Checks:
    faithful = json.loads((folder / "fidelity.json").read_bytes())
    late, limit = faithful["deliveries"]["p99_ns"] / 1e6, faithful["limit_ns"] / 1e6
    problems = verdict["problems"]
    packets = faithful["packets_out"]
    evidence = f"{packets} packets, 99 % of them less than {late:.3g} ms late ({limit:.3g} ms are allowed)"
    if isinstance(problems, list) and problems:
        evidence += "; " + "; ".join(map(str, problems))
    return Checks(
        "Verdict", [Check("Packets were delivered when they were to be.", bool(verdict["valid"]), evidence)]
    )
