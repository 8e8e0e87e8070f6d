"""Pages of what is in a store, without running anything: the cells of a sweep, the replications of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voxpath.backends.answer import kept_runs
from voxpath.report.real_run import report_of_run
from voxpath.report.sweep import report_of
from voxpath.results.answers import Answers
from voxpath.results.kept import tables_of
from voxpath.scenario import Document, parse
from voxpath.scenario.quantities import in_one_unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voxpath.document import Report
    from voxpath.results.answers import Variant
    from voxpath.results.listing import Listed

_MOST_AXES = 3
"""Of more keys that differ the cells are no sweep, and only numbered."""


def report_of_listed(root: Path, one: Listed, metrics: Sequence[str] = ()) -> Report:
    """The page of a scenario's runs by one backend.

    Args:
        root: The store.
        one: Which runs.
        metrics: What to show; the main ones if none is named.

    Raises:
        StoreError: A run cannot be read.
        ScenarioError: What was kept of the scenario is none of this version.
    """
    plans = list(one.runs)
    # A run with a command of its own has no flows to be told of, but links that were looked at.
    (first, *others) = (root / name for plan in plans for name in one.runs[plan])
    documents = {plan: _document(one.scenarios[plan], root / one.runs[plan][0]) for plan in plans}
    document = documents[plans[0]]
    if not others and "links" in tables_of(first):
        return report_of_run(document, first)
    variants = [_variant(root, one, plan) for plan in plans]
    found = one.values
    if len(plans) == 1 or len(found) > _MOST_AXES:
        axes = {} if len(plans) == 1 else {"cell": {plan: str(index + 1) for index, plan in enumerate(plans)}}
    else:
        axes = found
    order = sorted(range(len(plans)), key=lambda index: [_rank(axes[axis], plans[index]) for axis in axes])
    variants = [
        replace(variants[index], values={axis: axes[axis][plans[index]] for axis in axes}) for index in order
    ]
    runs = max(len(variant.outcomes) for variant in variants)
    swept = _swept(document, variants) if axes else document
    return report_of(swept, Answers(variants), runs, metrics, f"voxpath site {root.name}")


def _document(text: str, folder: Path) -> Document:
    return parse(text, str(folder), folder if folder.is_dir() else folder.parent)


def _variant(root: Path, one: Listed, plan: str) -> Variant:
    (variant,) = kept_runs([root / name for name in one.runs[plan]])
    # A replication that recorded more than the others is there twice.
    by_replication = {outcome.replication: outcome for outcome in variant.outcomes}
    for outcome in variant.outcomes:
        if (outcome.folder / "series.parquet").is_file():
            by_replication[outcome.replication] = outcome
    if len(by_replication) < len(variant.outcomes):
        (variant,) = kept_runs([by_replication[number].folder for number in sorted(by_replication)])
    return variant


def _rank(values: dict[str, Any], plan: str) -> tuple[int, float, str]:
    """By which a cell is sorted on an axis: by quantity where all values are such."""
    every = list(values.values())
    mine = every.index(values[plan])
    if all(isinstance(value, str) for value in every) and (found := in_one_unit(every)) is not None:
        return 0, float(found[0][mine]), ""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in every):
        return 0, float(values[plan]), ""
    return 1, 0.0, str(values[plan])


def _swept(document: Document, variants: Sequence[Variant]) -> Document:
    """The scenario with a sweep over the cells that are there."""
    from voxpath.scenario.sweep import Sweep

    axes = {axis: [variant.values[axis] for variant in variants] for axis in variants[0].values}
    whole = {axis: list(_once(values)) for axis, values in axes.items()}
    count = 1
    for values in whole.values():
        count *= len(values)
    lists: dict[str, Any] = whole if count == len(variants) else axes
    sweep = Sweep.model_construct(
        None,
        mode="product" if count == len(variants) else "zip",
        replications=max(len(variant.outcomes) for variant in variants),
        **lists,
    )
    return replace(document, scenario=document.scenario.model_copy(update={"sweep": sweep}))


def _once(values: Sequence[Any]) -> Sequence[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
