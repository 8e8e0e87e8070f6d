"""Records what the engine, the formulas and the quick studies answer now, as values."""
# SPDX-License-Identifier: Apache-2.0

import dataclasses
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import parselmouth
import polars as pl
from same.recording import Builder, Recording, RecordingError

import voxpath
from voxpath import _engine, studies
from voxpath.backends import named
from voxpath.backends.answer import ask
from voxpath.backends.base import UnanswerableError
from voxpath.formulas import Formulas
from voxpath.results.frames import of_run, together
from voxpath.results.identity import Observe
from voxpath.scenario import Document
from voxpath.studies.base import Answer
from voxpath.sweeps.workers import Workers

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"

REPLICATIONS = 2
"""Of each cell of a scenario's sweep."""

PLANS = 200
"""Random plans, where no recording is named that has some."""

PARTS = ("scenarios", "plans", "studies")

CONVERSIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""How a plan of one version becomes one of the next: whoever changes what a plan is adds the step here."""


def record(
    parts: Sequence[str],
    plans: Sequence[str] | None,
    tell: Callable[[str], None],
    scenarios: Sequence[Path] | None = None,
) -> Recording:
    """Records.

    Args:
        parts: Which of `PARTS`.
        plans: Random plans of another recording; made anew without.
        tell: Is told of each subject before it is run.
        scenarios: Files; all of the repository without.
    """
    # Before anything is run: the tree may be worked on meanwhile.
    origin = {"build": _engine.BUILD, "commit": _commit()}
    builder = Builder()
    if "scenarios" in parts:
        for path in sorted(SCENARIOS.glob("*.toml")) if scenarios is None else scenarios:
            tell(f"scenario/{path.stem}")
            _record_scenario(builder, path)
    if plans is None:
        plans = made_plans(PLANS) if "plans" in parts else []
    if "plans" in parts:
        tell(f"{len(plans)} random plans")
        for number, plan in enumerate(plans):
            _record_plan(builder, f"plan/{number:03}", converted(plan))
    if "studies" in parts:
        for name in studies.NAMES:
            tell(f"study/{name}")
            _record_study(builder, name)
    return Recording(origin, plans, builder.tables())


def made_plans(count: int) -> list[str]:
    """The first random plans of the generator that the property tests draw from."""
    command = [
        "cargo",
        "run",
        "--locked",
        "--quiet",
        "--package",
        "voxpath-fuzz",
        "--bin",
        "plans",
        "--",
        str(count),
    ]
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603 - our own program
    return made.stdout.splitlines()


def converted(plan: str) -> str:
    """A plan as this engine takes it.

    Raises:
        RecordingError: Nobody has said how.
    """
    data = json.loads(plan)
    while data["version"] != _engine.PLAN_VERSION:
        step = CONVERSIONS.get(data["version"])
        if step is None:
            raise RecordingError(
                f"the recorded plans have version {data['version']}, the engine takes {_engine.PLAN_VERSION}: "
                "say in CONVERSIONS of benches/same/record.py how one becomes the other"
            )
        data = step(data)
    return json.dumps(data)


def _record_scenario(builder: Builder, path: Path) -> None:
    subject = f"scenario/{path.stem}"
    document = voxpath.load(path)
    try:
        _record_answers(builder, subject, document)
    except UnanswerableError as error:
        builder.add("unanswerable", subject, pl.DataFrame({"reason": [str(error)]}))
        return
    for index, cell in enumerate(document.cells()):
        for replication in range(REPLICATIONS):
            # What is observed of one run is much; how the others went, their results say.
            observed = index == replication == 0
            _record_run(builder, subject, cell.document.plan.json, index, replication, observed=observed)


def _record_answers(builder: Builder, subject: str, document: Document) -> None:
    """What is summarised of the runs, and what the formulas say."""
    with tempfile.TemporaryDirectory() as out:
        answers = voxpath.sweep(document, REPLICATIONS, out=out)
    number = {id(variant): index for index, variant in enumerate(answers.variants)}
    cells = pl.Series("cell", [number[id(line.variant)] for line in answers.lines], dtype=pl.Int64)
    # The cell says where on the axes it is.
    summary = answers.summary.drop("source", *answers.axes).with_columns(cells)
    builder.add("summary", subject, summary)


def _record_plan(builder: Builder, subject: str, plan: str) -> None:
    try:
        _record_run(builder, subject, plan, 0, 0, observed=True)
    except (ValueError, RuntimeError) as error:
        # Another build may refuse it: this is a difference, and the others are still to be compared.
        builder.add("unanswerable", subject, pl.DataFrame({"reason": [str(error)]}))


def _record_run(
    builder: Builder, subject: str, plan: str, cell: int, replication: int, *, observed: bool
) -> None:
    hosts = tuple(node["name"] for node in json.loads(plan)["nodes"] if node["kind"] == "host")
    observe = Observe(tcp=True, packets=True, capture=hosts) if observed else Observe()
    made, groups, error = _engine.run([(plan, [replication])], observe.json)
    if error is not None:
        raise error
    ((verdict, captures, *_),), ((_, tables),) = made, groups
    for name, rows in of_run(together(tables), 0).items():
        builder.add(name, subject, rows, cell, replication)
    said = {key: [json.dumps(value)] for key, value in json.loads(verdict).items()}
    builder.add("verdict", subject, pl.DataFrame(said), cell, replication)
    if captures:
        digests = {
            "host": list(captures),
            "bytes": [len(packets) for packets in captures.values()],
            "sha256": [hashlib.sha256(packets).hexdigest() for packets in captures.values()],
        }
        builder.add("captures", subject, pl.DataFrame(digests), cell, replication)


def _record_study(builder: Builder, name: str) -> None:
    subject = f"study/{name}"
    found = _study(name)
    comparisons = [
        {
            "table": item.published.table,
            "column": item.published.column,
            "case": item.published.case,
            "published": item.published.value,
            "verdict": item.verdict,
            "reason": item.reason,
            "n": None if item.ours is None else item.ours.n,
            "mean": None if item.ours is None else item.ours.mean,
            "half_width": None if item.ours is None else item.ours.half_width,
        }
        for item in found.comparisons
    ]
    if comparisons:
        builder.add("comparisons", subject, pl.DataFrame(comparisons, infer_schema_length=None))
    leaves = list(_leaves("table", found.table)) + list(_leaves("report", found.report))
    schema = {"path": pl.String, "index": pl.Int64, "number": pl.Float64, "text": pl.String}
    builder.add("report", subject, pl.DataFrame(leaves, schema=schema, orient="row"))


def _study(name: str) -> Answer:
    """What a study finds, asked quickly, of nothing that measures real time; noise is drawn alike each time."""
    study = studies.load(name)
    # The articulatory synthesiser draws its turbulence from Praat's generator, which begins anywhere.
    parselmouth.praat.run("random_initializeWithSeedUnsafelyButPredictably (1)")
    with tempfile.TemporaryDirectory() as out:
        runs = named.Runs(Path(out), Workers(1), 1, Observe(), force=False)
        backends = named.make([asked for asked in study.backends if asked in named.DEFAULT], runs, Formulas())
        return study.run(
            lambda questions, asked: ask(
                [(name, {}, question) for question in questions],
                [backend for backend in backends if backend.name in asked],
            ),
            True,
        )


def _leaves(path: str, value: Any) -> Iterator[tuple[str, int, float | None, str | None]]:
    """What a report consists of: where in it, which of a list of numbers, the number or the text.

    Raises:
        TypeError: There is something that is neither.
    """
    match value:
        case str():
            # The build is the one thing that has to differ.
            yield path, 0, None, value.replace(_engine.BUILD, "BUILD")
        case bool() | np.bool_():
            yield path, 0, None, str(value)
        case Real():
            yield path, 0, float(value), None
        case None:
            yield path, 0, None, None
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from _leaves(f"{path}.{field.name}", getattr(value, field.name))
        case _ if hasattr(value, "__len__") and hasattr(value, "__getitem__"):
            if all(isinstance(item, Real) and not isinstance(item, bool) for item in value):
                yield from ((path, index, float(item), None) for index, item in enumerate(value))
            else:
                for index, item in enumerate(value):
                    yield from _leaves(f"{path}[{index}]", item)
        case _:
            raise TypeError(f"{path} of a report is a {type(value).__name__}")


def _commit() -> str:
    """Where the sources stand; with a plus where something is not committed."""
    command = ["git", "describe", "--always", "--dirty=+"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603
