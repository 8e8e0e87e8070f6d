"""Ways in which a server tells results: a WebSocket as simulated, its alternatives computed beside it.

When each result was understood is taken from the simulated sessions. An alternative is then arithmetic over
propagation alone, without loss, so that it is held against a WebSocket computed alike: streaming (server-sent
events on a response that stays open) sends a result at once, as a WebSocket does; long polling answers the
request that waits, and the next one comes a round trip later; polling asks at fixed times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from voxpath.report.document import Cell, Table
from voxpath.results.frames import tables
from voxpath.results.intervals import summarise
from voxpath.studies.ramli2018.questions import LIVE_SET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.studies.ramli2018.questions import Found

POLLED_S = (0.25, 1.0)
"""From one request to the next."""


def long_polling(understood: Sequence[float], one_way: float) -> list[float]:
    """Seconds from when each result was understood until the client has it.

    Args:
        understood: When, ascending, in seconds.
        one_way: Of propagation, in seconds.
    """
    waits = []
    answered = ready = -math.inf
    for at in understood:
        # What has come until an answer is in it.
        if at > answered:
            answered = max(at, ready)
            # The next request: the answer's way, and its own.
            ready = answered + 2 * one_way
        waits.append(answered - at + one_way)
    return waits


def polling(understood: Sequence[float], one_way: float, every: float) -> list[float]:
    """The same where requests arrive at multiples of a time."""
    return [math.ceil(at / every) * every - at + one_way for at in understood]


def table(found: Found) -> Table | None:
    """How late results reach the client, by setting and way of telling them."""
    rows: list[list[str | Cell]] = []
    for setting in found.settings(LIVE_SET):
        outcomes = found.outcomes(LIVE_SET, setting)
        one_way = setting.round_trip_ms / 2e3
        columns: list[list[float]] = [[] for _ in range(2 + len(POLLED_S))]
        for results in tables([[outcome] for outcome in outcomes], "results"):
            told = results.filter(pl.col("received_ns").is_not_null()).sort("understood_ns")
            understood, received = (
                [value / 1e9 for value in told.get_column(f"{name}_ns").to_list()]
                for name in ("understood", "received")
            )
            if not understood:
                continue
            ways = [
                [there - at for at, there in zip(understood, received, strict=True)],
                long_polling(understood, one_way),
                *(polling(understood, one_way, every) for every in POLLED_S),
            ]
            for column, waits in zip(columns, ways, strict=True):
                column.append(1e3 * sum(waits) / len(waits))
        if columns[0]:
            simulated, *others = (str(summarise(column)) for column in columns)
            rows.append([setting.name, simulated, f"{1e3 * one_way:g}", *others])
    if not rows:
        return None
    return Table(
        "From understanding a result to its arrival at the client, ms: means of the sessions",
        (
            "setting",
            "WebSocket, simulated",
            "WebSocket or server-sent events",
            "long polling",
            *(f"polling every {every:g} s" for every in POLLED_S),
        ),
        rows,
        (
            "All but the first column are computed over propagation, without loss and sizes.",
            "A streaming response and a WebSocket send the same octets down, but for some bytes.",
        ),
    )
