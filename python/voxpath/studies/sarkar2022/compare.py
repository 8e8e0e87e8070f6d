"""Tables 4, 5, 6 and 8: ours beside theirs, with a verdict per number."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voxpath import _engine
from voxpath.backends.base import Question
from voxpath.report.document import Report, Section, Table
from voxpath.studies.base import Answer, Comparison, Published, Study, Tolerance, compare
from voxpath.studies.sarkar2022.scenario import LOSSES, VARIANTS, document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.backends.base import Backend, Row

TABLES = ("table4", "table5", "table6")
"""The tables of the simulation, as they stand in the terminal's table; Table 8 stands beside Table 4."""


def published() -> dict[str, Any]:
    """The contents of `published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


def numbers() -> dict[tuple[str, str, str], Published]:
    """The numbers that have an answer of ours, by loss, metric and variant."""
    found: dict[tuple[str, str, str], Published] = {}
    for name, table in published().items():
        if "metric" not in table:
            continue
        for row in table["rows"]:
            found[row["loss"], table["metric"], table["variant"]] = Published(
                table=name.replace("table", "Table "),
                case=row["loss"],
                metric=table["metric"],
                printed=row["printed"],
                value=row["printed"] - table.get("offset", 0),
                tolerance=Tolerance(**table["tolerance"]),
                note=table.get("note", ""),
            )
    return found


def run(backends: Sequence[Backend], replications: int) -> Answer:
    """Asks every backend for every cell and compares."""
    cells = [(variant, loss) for variant in VARIANTS for loss in LOSSES]
    questions = [Question(document(*cell), range(replications)) for cell in cells]
    rows: dict[tuple[str, str], list[Row]] = {cell: [] for cell in cells}
    for backend in backends:
        for cell, answer in zip(cells, backend.answer(questions), strict=True):
            rows[cell].extend(answer)

    theirs = numbers()
    tables = published()
    comparisons: dict[tuple[str, str, str], Comparison] = {}
    lines = []
    for name in TABLES:
        metric = tables[name]["metric"]
        for loss in LOSSES:
            line = [name.replace("table", "Table "), tables[name]["title"].split(",")[0], loss]
            for variant in VARIANTS:
                key = (loss, metric, variant)
                comparisons[key] = compare(theirs.get(key), _row(rows[variant, loss], metric, "sim"))
                line += _cells(comparisons[key])
            limit = _row(rows[VARIANTS[0], loss], metric, "window_limit")
            line.append("" if limit is None else str(limit.summary or limit.status))
            lines.append(line)
    spread = f"mean and 95 % t-interval of {replications} replications"
    title = f"Sarkar et al. 2022, Tables 4, 5, 6 and 8: {spread}"
    theirs_and_ours = ("Riverbed", "riverbed16", "verdict", "testbed", "linux", "verdict")
    columns = ("table", "what", "loss", *theirs_and_ours, "window limit")
    notes = (
        "Riverbed: published, without the 10 s before the transfer and the ARP frame; testbed: Table 8.",
        "agrees: the published value lies in our 95 % prediction interval, widened by its tolerance.",
        "window limit: the closed form of Cardwell et al. 2000 without loss.",
    )
    return Answer(
        title=title,
        columns=columns,
        rows=lines,
        notes=notes,
        comparisons=comparisons,
        report=Report(
            title=STUDY.title,
            question="What do bit errors do to the transfer of a file by TCP Reno?",
            answer=(),
            sections=[Section("Ours beside theirs", [Table(title, columns, lines, notes)])],
            origin=[("command", f"voxpath study {STUDY.name}"), ("engine", _engine.BUILD)],
        ),
    )


def _row(rows: Sequence[Row], metric: str, estimator: str) -> Row | None:
    return next((row for row in rows if (row.metric, row.estimator) == (metric, estimator)), None)


def _cells(comparison: Comparison) -> list[str]:
    theirs = "" if comparison.published is None else f"{comparison.published.value:.6g}"
    return [theirs, "" if comparison.ours is None else str(comparison.ours), comparison.verdict or ""]


STUDY = Study(
    name="sarkar2022",
    title="Sarkar, Ammann, Zabir: Analyzing TCP Performance in High Bit Error Rate, Electronics 2022",
    backends=("sim", "formula"),
    replications=30,
    quick=5,
    run=run,
)
