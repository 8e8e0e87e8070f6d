"""How long things took, one by one: requests, messages, datagrams, frames; over all replications."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from voxpath.report.distribution import cdf
from voxpath.results.kept import tables_of
from voxpath.results.tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voxpath.document import Plot
    from voxpath.results.outcome import Outcome


class _Kind(NamedTuple):
    """What is timed.

    Attributes:
        table: Where.
        start: The column when it begins.
        end: That when it ends.
        what: What takes this time.
    """

    table: str
    start: str
    end: str
    what: str


_KINDS = (
    _Kind("requests", "last_byte_sent_ns", "completed_ns", "response time"),
    _Kind("pages", "sent_ns", "completed_ns", "time of a page"),
    _Kind("frames", "captured_ns", "played_ns", "delay from capture to playout"),
    _Kind("datagrams", "sent_ns", "received_ns", "one-way delay"),
    _Kind("messages", "ready_ns", "received_ns", "delay of a message"),
    _Kind("deliveries", "published_ns", "delivered_ns", "delay of a message"),
    _Kind("results", "understood_ns", "received_ns", "delay of a result"),
)
"""The most telling first."""


def distributions(outcomes: Sequence[Outcome]) -> Iterator[Plot]:
    """The distribution of each kind of which there are values enough, flows as curves."""
    if not outcomes:
        return
    there = set(tables_of(outcomes[0].folder))
    for kind in _KINDS:
        if kind.table not in there:
            continue
        (frame,) = tables([outcomes], kind.table)
        if frame.is_empty():
            continue
        took = ((pl.col(kind.end) - pl.col(kind.start)) / 1e6).alias("ms")
        names = ["flow", "media"] if "media" in frame.columns else ["flow"]
        names += ["end"] if "end" in frame.columns else []
        known = frame.select(*names, took).drop_nulls()
        values = {
            ", ".join(map(str, key)): rows.get_column("ms").to_list()
            for key, rows in known.group_by(*names, maintain_order=True)
        }
        missing = frame.height - known.height
        caption = f"All {known.height} values of {len(outcomes)} " + (
            "run." if len(outcomes) == 1 else "runs."
        )
        if missing:
            caption += f" {missing} never came to their end and have no value."
        if plot := cdf(f"Distribution of the {kind.what}", caption, values, kind.what, "ms"):
            yield plot
