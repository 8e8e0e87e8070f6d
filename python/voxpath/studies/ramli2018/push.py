"""Ways in which a server tells results, on the same network: the WebSocket beside what the text names.

When each result was understood is taken from the simulated live sessions, and told again by each way, on
connections of their own, over a path that loses as much towards the client as the setting does towards the
server.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from voxpath.backends.base import Question
from voxpath.document import Cell, Check, Checks, Table
from voxpath.results.decisions import all_of, below
from voxpath.results.intervals import paired, summarise
from voxpath.results.tables import tables
from voxpath.scenario import from_dict
from voxpath.studies.base import shown
from voxpath.studies.ramli2018 import region
from voxpath.studies.ramli2018.scenario import (
    SETTINGS,
    Setting,
    first_reading,
    length_s,
    published,
    topology,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.answers import Variant
    from voxpath.results.outcome import Outcome
    from voxpath.scenario import Document

SESSION = "WebSocket of the session"
EVENTS = "server-sent events over HTTP/2"
WAYS: Mapping[str, Mapping[str, Any]] = {
    # RFC 6455 section 5.2: a frame of 126 to 65 535 octets.
    "WebSocket": {"way": "streaming", "event": "4 B"},
    # RFC 9113 section 4.1 beside the event's own.
    EVENTS: {"way": "streaming", "event": "17 B"},
    "long polling": {"way": "long_polling"},
    "polling every 0.25 s": {"way": "polling", "every": "250 ms"},
    "polling every 1 s": {"way": "polling", "every": "1 s"},
}
"""By their names in the table; each is a flow, on a connection of its own."""

_WORDS = {"mean": "mean", "max": "longest"}


def questions(live: Mapping[int, Sequence[Outcome]]) -> dict[tuple[int, int], Question]:
    """By setting and replication.

    Args:
        live: Runs of one utterance by setting.
    """
    return {
        (number, outcome.replication): Question(
            _again(SETTINGS[number - 1], told), range(outcome.replication, outcome.replication + 1)
        )
        for number, outcomes in live.items()
        for outcome, told in zip(
            outcomes, tables([[outcome] for outcome in outcomes], "results"), strict=True
        )
    }


def _again(setting: Setting, results: pl.DataFrame) -> Document:
    """The results of a session, told by every way."""
    updates = [
        [f"{at} ns", f"{size} B"]
        for at, size in results.sort("understood_ns").select("understood_ns", "json_bytes").iter_rows()
    ]
    linux = {"profile": "linux"}
    return from_dict(
        {
            "name": f"ramli2018: results told, {setting.name}",
            "seed": 2018,
            "topology": topology(replace(first_reading(setting, produced=False), back=setting.loss)),
            "hosts": {"client1": linux, "server1": linux},
            "flows": [
                {
                    "name": _flow(way),
                    "from": "client1",
                    "to": "server1",
                    "app": {"kind": "push", "updates": updates, **keys},
                }
                for way, keys in WAYS.items()
            ],
        },
        f"ramli2018/push/{setting.name}",
    )


def _flow(way: str) -> str:
    return way.replace(" ", "-").replace("/", "")


def table(live: Mapping[int, Sequence[Outcome]], told: Mapping[tuple[int, int], Variant]) -> Table | None:
    """How late results reach the client, by setting and way of telling them.

    Args:
        live: As for `questions`.
        told: What came back of them.
    """
    rows: list[list[str | Cell]] = []
    for number, outcomes in live.items():
        again = [variant.flows for (of, _), variant in told.items() if of == number]
        if not outcomes or not again:
            continue
        frame = pl.concat(again)
        sessions = _of_sessions(outcomes)
        for what in ("mean", "max"):
            delays = [sessions.get_column(what).to_list()] + [
                frame.filter(pl.col("flow") == _flow(way)).get_column(f"update_{what}_ns").to_list()
                for way in WAYS
            ]
            cells = [shown(summarise([delay / 1e6 for delay in some])) for some in delays]
            rows.append([SETTINGS[number - 1].name, _WORDS[what], *cells])
    if not rows:
        return None
    return Table(
        "From understanding a result to its arrival at the client, ms",
        ("setting", "of a session's results", SESSION, *WAYS),
        rows,
        (
            f"Results of {length_s(region.MIDDLE):.1f} s of speech, as simulated sessions understood them.",
            "Each way but the first has a connection of its own; its path loses towards the client too.",
            "Over HTTP/2 events and audio can share one connection, as they do in the session's WebSocket.",
        ),
    )


def checks(told: Mapping[tuple[int, int], Variant]) -> Checks | None:
    """That server-sent events tell results sooner than each other way does, in every setting."""
    settings = sorted({number for number, _ in told})
    frames = [
        pl.concat([variant.flows for (of, _), variant in told.items() if of == one]) for one in settings
    ]
    if not frames or any(frame.is_empty() for frame in frames):
        return None
    found = []
    for way in WAYS:
        if way == EVENTS:
            continue
        sooner = [paired(*(_delays_ms(frame, one) for one in (EVENTS, way))) for frame in frames]
        found.append(
            Check(
                f"{published()['claims_beside']['push']['text']} Sooner than: {way}.",
                all_of(below(one) for one in sooner),
                "; ".join(
                    f"setting {number}: {shown(one)} ms" for number, one in zip(settings, sooner, strict=True)
                ),
            )
        )
    return Checks("Ways of telling results", found)


def _delays_ms(frame: pl.DataFrame, way: str) -> list[float]:
    """Of a way's updates, the mean in each run."""
    chosen = frame.filter(pl.col("flow") == _flow(way)).sort("replication")
    return [delay / 1e6 for delay in chosen.get_column("update_mean_ns")]


def _of_sessions(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Mean and longest delay in nanoseconds, session by session."""
    delay = pl.col("received_ns") - pl.col("understood_ns")
    (results,) = tables([outcomes], "results")
    return results.group_by("replication", maintain_order=True).agg(
        delay.mean().alias("mean"), delay.max().alias("max")
    )
