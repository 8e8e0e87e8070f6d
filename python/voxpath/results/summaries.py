"""Flows with their summaries: what follows from the rows of what each consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voxpath.scenario.apps import APPS
from voxpath.scenario.apps.summaries import CONNECTIONS, carrying, seconds
from voxpath.scenario.metric import Metric
from voxpath.scenario.processes import PROCESSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voxpath.scenario.apps.summaries import Summary
    from voxpath.scenario.apps.table import AppTable
    from voxpath.scenario.processes.table import ProcessTable

COMPLETION = Metric(
    "s",
    "receiving application",
    "completed_ns - start_ns: from the start to the last byte delivered.",
    clock="run",
)


KINDS: Mapping[str, type[AppTable | ProcessTable]] = {**APPS, **PROCESSES}
"""Whatever has rows among the flows: applications, and processes that do something of their own."""


def of_kinds(kinds: Iterable[str]) -> list[Summary]:
    """The summaries that flows of these applications can have, each once."""
    named = (summary for kind in kinds for summary in KINDS[kind].SUMMARIES)
    return list(dict.fromkeys([CONNECTIONS, *named]))


def summarised(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The table `flows` of a run with the summaries that apply to its flows, as columns behind its own.

    Args:
        tables: All tables of the run, as the engine gives them.
    """
    flows = tables["flows"].with_columns(
        seconds(pl.col("completed_ns") - pl.col("start_ns")).alias("completion_s")
    )
    for summary in of_kinds(flows.get_column("app").unique(maintain_order=True)):
        if summary.table not in tables:
            continue
        kinds = [kind for kind, app in KINDS.items() if summary is CONNECTIONS or summary in app.SUMMARIES]
        is_of = pl.col("app").is_in(kinds) & pl.col("transport").is_in(carrying(summary.transport))
        rows, own = tables[summary.table], flows.filter(is_of).get_column("flow")
        if own.len() < flows.height:
            # Two applications may have rows in one table, and each its own summary of them.
            rows = rows.filter(pl.col("flow").is_in(own.implode()))
        flows = _beside(flows, summary.frame(rows))
        if summary.counts:
            flows = flows.with_columns(
                pl.when(is_of).then(pl.col(count).fill_null(0)).alias(count) for count in summary.counts
            )
    return flows


def _beside(flows: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Flows, and what was found of some of them."""
    if found.get_column("flow").equals(flows.get_column("flow")):
        # A join costs more than all the rest of a short run.
        return flows.hstack(found.drop("flow"))
    return flows.join(found, on="flow", how="left", maintain_order="left")
