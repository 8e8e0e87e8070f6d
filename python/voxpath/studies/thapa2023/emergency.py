"""An emergency message profile under bit errors: which way delivers before the deadline?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from voxpath.backends.base import Question
from voxpath.document import Axis, Check, Checks, Curve, Plot, Section, Table, Text
from voxpath.results.decisions import above, all_of, below
from voxpath.results.intervals import paired, summarise
from voxpath.results.tables import tables
from voxpath.scenario import from_dict
from voxpath.studies.base import shown
from voxpath.studies.thapa2023.scenario import BROKER, HOSTS, LAN, NETWORK, RECEIVER, SEED, SENDER, TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.document import Cell as Shown
    from voxpath.results.answers import Variant
    from voxpath.results.intervals import Summary
    from voxpath.scenario import Document

ERRORS = (0.0, 1e-6, 1e-5, 3e-5, 1e-4)
"""Bit error rates; Sarkar, Ammann and Zabir 2022 have losses of packets up to 10 % from such."""

SIZE, EVERY_MS, MESSAGES = 120, 1000, 60
"""Octets of a message, and from one to the next."""

DEADLINES_MS = (100, 500, 1000)
"""Ours: how late a message may be. The first decides the checks."""

_BEGINS_MS = 5000
"""When the first message is due: whatever has to stand first does."""

DATAGRAMS, OPENED, KEPT = "datagrams alone", "a socket for each message", "a socket that is kept"
QOS = tuple(f"MQTT, QoS {qos}" for qos in (0, 1, 2))
WAYS = (DATAGRAMS, OPENED, KEPT, *QOS)


class Cell(NamedTuple):
    """A way under a bit error rate."""

    way: str
    errors: float


def _due() -> list[int]:
    return [_BEGINS_MS + EVERY_MS * number for number in range(MESSAGES)]


def _socket_each() -> dict[str, Any]:
    return {
        "flows": [
            {
                "name": f"message{number}",
                "from": SENDER,
                "to": RECEIVER,
                "start": f"{at} ms",
                "app": {"kind": "bulk", "size": f"{SIZE} B"},
            }
            for number, at in enumerate(_due())
        ]
    }


def _socket_kept() -> dict[str, Any]:
    """The receiver asks once, and the sender's answer never ends."""
    updates = [[f"{at} ms", f"{SIZE} B"] for at in _due()]
    app = {"kind": "push", "way": "streaming", "request": "4 B", "head": "4 B", "event": "4 B"}
    return {"flows": [{"name": "kept", "from": RECEIVER, "to": SENDER, "app": {**app, "updates": updates}}]}


def _datagrams() -> dict[str, Any]:
    app = {
        "kind": "cbr",
        "packet": f"{SIZE} B",
        "interval": f"{EVERY_MS} ms",
        "packets": f"{MESSAGES} packets",
    }
    flow = {"name": "alone", "from": SENDER, "to": RECEIVER, "start": f"{_BEGINS_MS} ms", "app": app}
    return {"flows": [flow]}


def _mqtt(qos: int) -> dict[str, Any]:
    publisher = {
        "kind": "publisher",
        "broker": BROKER,
        "topic": TOPIC,
        "size": f"{SIZE} B",
        "interval": f"{EVERY_MS} ms",
        "messages": MESSAGES,
        "qos": qos,
        "start": f"{_BEGINS_MS} ms",
    }
    subscriber = {"kind": "subscriber", "broker": BROKER, "filters": [TOPIC]}
    return {
        "processes": [
            {"name": "broker", "host": BROKER, "app": {"kind": "broker"}},
            {"name": "subscriber", "host": RECEIVER, "app": subscriber, "tcp": {"nagle": False}},
            {"name": "publisher", "host": SENDER, "app": publisher, "tcp": {"nagle": False}},
        ]
    }


_TRAFFIC: Mapping[str, Callable[[], dict[str, Any]]] = {
    DATAGRAMS: _datagrams,
    OPENED: _socket_each,
    KEPT: _socket_kept,
    **{way: partial(_mqtt, qos) for qos, way in enumerate(QOS)},
}


def _document(cell: Cell) -> Document:
    network = dict(NETWORK[LAN])
    loss = {"kind": "bit_errors", "rate": cell.errors} if cell.errors else "0 %"
    network["air"] = {**network["air"], "loss": loss}
    made = {
        "name": f"thapa2023: emergencies by {cell.way}, BER {cell.errors:g}",
        "seed": SEED,
        "duration": f"{_BEGINS_MS + EVERY_MS * MESSAGES + 30_000} ms",
        "topology": network,
        "hosts": {host: {"profile": "linux"} for host in HOSTS},
        **_TRAFFIC[cell.way](),
    }
    return from_dict(made, "thapa2023/emergency")


def questions(replications: int) -> dict[Cell, Question]:
    """Every way under every rate."""
    cells = [Cell(way, errors) for way in WAYS for errors in ERRORS]
    return {cell: Question(_document(cell), range(replications)) for cell in cells}


class Delays:
    """How late the messages of each cell's runs were."""

    def __init__(self, answers: Mapping[Cell, Variant]) -> None:
        """Reads them."""
        self._late = {cell: _late(cell, variant) for cell, variant in answers.items()}

    def shares(self, cell: Cell, deadline_ms: float) -> list[float]:
        """Which part of the messages came before the deadline, in each run."""
        return [sum(late <= deadline_ms for late in run) / MESSAGES for run in self._late[cell]]

    def share(self, cell: Cell, deadline_ms: float) -> Summary:
        """Its mean."""
        return summarise(self.shares(cell, deadline_ms))

    def more(self, cell: Cell, other: Cell, deadline_ms: float) -> Summary:
        """By how much more than another cell's, of the same replications."""
        return paired(self.shares(cell, deadline_ms), self.shares(other, deadline_ms))


def _late(cell: Cell, variant: Variant) -> list[list[float]]:
    """How late each message that came was, in ms: from when it was due to when the receiver had it whole."""
    valid = [[outcome] for outcome in variant.outcomes if outcome.valid]
    frames: Sequence[pl.DataFrame]
    if cell.way == OPENED:
        came = pl.col("completed_ns") - pl.col("start_ns")
        frames = [
            frame.filter(pl.col("status").cast(pl.String) == "completed") for frame in tables(valid, "flows")
        ]
    elif cell.way == KEPT:
        came, frames = pl.col("received_ns") - pl.col("ready_ns"), tables(valid, "messages")
    elif cell.way == DATAGRAMS:
        came, frames = pl.col("received_ns") - pl.col("sent_ns"), tables(valid, "datagrams")
    else:
        # From when it was due: a message that the one before held up was due all the same.
        came, frames = pl.col("last_delivered_ns") - pl.col("published_ns"), tables(valid, "publications")
    return [
        (frame.select(came.cast(pl.Float64).alias("late")).get_column("late").drop_nulls() / 1e6).to_list()
        for frame in frames
    ]


def section(delays: Delays) -> Section:
    """The part of the report."""
    rows: list[list[str | Shown]] = []
    for way in WAYS:
        for errors in ERRORS:
            shares = [delays.share(Cell(way, errors), deadline) for deadline in DEADLINES_MS]
            rows.append([way, f"{errors:g}", *(shown(share.scaled(100)) for share in shares)])
    return Section(
        "Emergencies: in time under bit errors",
        [
            Text((_PROFILE,)),
            _plot(delays),
            Table(
                "Messages that come before a deadline, per cent",
                ["way", "bit error rate", *(f"{deadline} ms" for deadline in DEADLINES_MS)],
                rows,
            ),
            Checks("Emergencies", _checks(delays)),
        ],
    )


_PROFILE = (
    f"{MESSAGES} messages of {SIZE} B, one a second, across the LAN's air, which damages bits independently. "
    "The 2022 study of TCP under bit errors leaves such a profile for later. Nagle's algorithm is off. The "
    "profile and the deadlines are ours."
)

DECIDES_MS = DEADLINES_MS[0]


def _plot(delays: Delays) -> Plot:
    curves = []
    for way in WAYS:
        known = [
            (errors, delays.share(Cell(way, errors), DECIDES_MS).scaled(100)) for errors in ERRORS if errors
        ]
        ends = [share.interval or (share.mean, share.mean) for _, share in known]
        curves.append(
            Curve(
                way,
                [errors for errors, _ in known],
                [share.mean for _, share in known],
                [low for low, _ in ends],
                [high for _, high in ends],
            )
        )
    return Plot(
        f"In time: within {DECIDES_MS} ms",
        "Part of the messages, with 95 % intervals.",
        Axis("bit error rate", "", "log"),
        Axis("in time", "%"),
        curves,
    )


def _checks(delays: Delays) -> list[Check]:
    clean = {way: delays.share(Cell(way, 0.0), DEADLINES_MS[0]) for way in WAYS}
    worst = {way: delays.share(Cell(way, ERRORS[-1]), DECIDES_MS) for way in WAYS}
    told = ", ".join(f"{way} {shown(share.scaled(100))} %" for way, share in worst.items())
    kept = delays.more(Cell(KEPT, ERRORS[-1]), Cell(QOS[0], ERRORS[-1]), DECIDES_MS)
    return [
        Check(
            f"Without bit errors every way has every message there within {DEADLINES_MS[0]} ms.",
            min(share.mean for share in clean.values()) == 1,
            ", ".join(f"{way} {shown(share.scaled(100))} %" for way, share in clean.items()),
        ),
        Check(
            f"At a bit error rate of {ERRORS[-1]:g} no way has 95 % of them there within {DECIDES_MS} ms.",
            all_of(below(share, 0.95) for share in worst.values()),
            told,
        ),
        Check(
            "There a socket that is kept has more in time than MQTT at QoS 0, which takes the air twice.",
            above(kept),
            f"{shown(kept.scaled(100))} % of the messages more; {told}",
        ),
        Check(
            "QoS 2 has fewer in time than QoS 0: it needs more packets before a message is handed over.",
            above(delays.more(Cell(QOS[0], ERRORS[-1]), Cell(QOS[2], ERRORS[-1]), DECIDES_MS)),
            told,
        ),
    ]
