"""What the publication leaves for later: QoS, many publishers and subscribers, full queues, passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from voxpath.backends.base import Question
from voxpath.document import Axis, Check, Checks, Curve, Plot, Section, Table, Text
from voxpath.results.decisions import above, all_of, below, within
from voxpath.results.intervals import Summary, summarise
from voxpath.scenario import from_dict
from voxpath.studies.base import shown
from voxpath.studies.thapa2023.scenario import (
    BROKER,
    HOSTS,
    INTERNET,
    LAN,
    NETWORK,
    RECEIVER,
    SEED,
    SENDER,
    TOPIC,
    claim,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.document import Cell as Shown
    from voxpath.results.answers import Variant
    from voxpath.scenario import Document

LOSSES = ("0 %", "1 %", "2 %", "5 %", "10 %")
LEVELS = (0, 1, 2)
CROWDS = (1, 4, 16, 64)
POLICIES = ("drop_new", "drop_old", "disconnect")
RATES = (50, 90, 200, 400)
"""Messages a second that a publisher has, for a subscriber that takes a hundred."""

ROOM = 100
"""Messages of a session's queue, where it is put under stress."""

MESSAGES = 60
SIZE = 100
LARGE = 1000
"""Octets of messages, and of those of many publishers."""


class Later(NamedTuple):
    """A cell.

    Attributes:
        part: `qos`, `outage`, `crowd`, `queue`, `login`.
        case: What of it varies.
        qos: Of messages.
    """

    part: str
    case: str
    qos: int = 0


def _network(kind: str, **change: Any) -> dict[str, Any]:
    made = {key: dict(value) if isinstance(value, dict) else value for key, value in NETWORK[kind].items()}
    made["air" if kind == LAN else "link"].update(change)
    return made


def _document(
    name: str,
    network: Mapping[str, Any],
    broker: Mapping[str, Any],
    publisher: Mapping[str, Any],
    subscriber: Mapping[str, Any],
    **more: Any,
) -> Document:
    return from_dict(
        {
            "name": f"thapa2023: {name}",
            "seed": SEED,
            "topology": dict(network),
            "hosts": {host: {"profile": "linux"} for host in HOSTS},
            "processes": [
                {"name": "broker", "host": BROKER, "app": {"kind": "broker", **broker}},
                {
                    "name": "subscriber",
                    "host": RECEIVER,
                    "app": {"kind": "subscriber", "broker": BROKER, **subscriber},
                },
                {
                    "name": "publisher",
                    "host": SENDER,
                    "app": {"kind": "publisher", "broker": BROKER, "start": "1 s", **publisher},
                },
            ],
            **more,
        },
        "thapa2023/later",
    )


def _stream(qos: int, **change: Any) -> dict[str, Any]:
    made = {"topic": TOPIC, "size": f"{SIZE} B", "interval": "200 ms", "messages": MESSAGES, "qos": qos}
    return {**made, **change}


_ALL = {"filters": [TOPIC]}


def _qos(loss: str, qos: int) -> Document:
    network = _network(INTERNET, loss=loss)
    # By then the receiver has subscribed, even if several of its packets were lost.
    publisher = _stream(qos, start="1 min")
    return _document(f"QoS {qos}, loss {loss}", network, {}, publisher, _ALL, duration="10 min")


def _outage(qos: int) -> Document:
    """The receiver is away for half a minute, longer than its keep-alive; its session stays."""
    away = [{"at": f"{at} s", "host": RECEIVER, "connected": there} for at, there in ((5, False), (35, True))]
    subscriber = {**_ALL, "clean": False, "keep_alive": "5 s"}
    return _document(
        f"QoS {qos}, the receiver away",
        _network(INTERNET, loss="0 %"),
        {},
        _stream(qos, messages=200),
        subscriber,
        duration="2 min",
        events=away,
    )


def _crowd(count: int, qos: int) -> Document:
    publisher = _stream(
        qos,
        clients=count,
        topic="field/{client}",
        interval="1 s",
        messages=10,
        spread="17 ms",
        size=f"{LARGE} B",
    )
    subscriber = {"filters": ["field/+"], "clients": count}
    return _document(f"{count} publishers and {count} subscribers", _network(LAN), {}, publisher, subscriber)


def _queue(policy: str, rate: int) -> Document:
    """One message in flight over a round trip of 10 ms: a subscriber takes a hundred a second."""
    network = {"kind": "star", "hosts": list(HOSTS), "link": {"rate": "20 Mbit/s", "delay": "2500 us"}}
    publisher = _stream(1, interval=f"{10**6 // rate} us", messages=4 * rate)
    subscriber = {**_ALL, "clean": False}
    broker = {"queue": ROOM, "full": policy, "in_flight": 1}
    return _document(f"{rate} messages a second, {policy}", network, broker, publisher, subscriber)


USER, PASSWORD, WRONG = "field", "s3cret", "secret"


def _login(password: str | None) -> Document:
    own = {} if password is None else {"user": USER, "password": password}
    broker = {} if password is None else {"users": {USER: PASSWORD}}
    subscriber = {**_ALL, **({} if password is None else {"user": USER, "password": PASSWORD})}
    publisher = _stream(0, messages=1, client_id=SENDER, **own)
    return _document(f"password {password}", _network(LAN), broker, publisher, subscriber, duration="10 s")


def questions(replications: int) -> dict[Later, Question]:
    """All of them, for the simulator."""
    asked = {Later("qos", loss, qos): _qos(loss, qos) for loss in LOSSES for qos in LEVELS}
    asked |= {Later("outage", "", qos): _outage(qos) for qos in LEVELS}
    asked |= {Later("crowd", str(count), qos): _crowd(count, qos) for count in CROWDS for qos in LEVELS}
    asked |= {
        Later("queue", f"{policy}, {rate}"): _queue(policy, rate) for policy in POLICIES for rate in RATES
    }
    asked |= {Later("login", str(password)): _login(password) for password in (None, PASSWORD, WRONG)}
    return {cell: Question(document, range(replications)) for cell, document in asked.items()}


class Told:
    """What came back of it."""

    def __init__(self, answers: Mapping[Later, Variant]) -> None:
        """Takes the answers."""
        self._answers = answers

    def values(self, cell: Later, flow: str, metric: str) -> list[float]:
        """A column of a flow in each run, where it has a value."""
        rows = self._answers[cell].flows.filter(pl.col("flow").cast(pl.String) == flow)
        return [float(value) for value in rows.get_column(metric).drop_nulls()]

    def mean(self, cell: Later, flow: str, metric: str, scale: float = 1.0) -> Summary | None:
        """Its mean."""
        values = self.values(cell, flow, metric)
        return summarise([value * scale for value in values]) if values else None

    def total(self, cell: Later, flow: str, metric: str) -> int:
        """Its sum over all runs."""
        return round(sum(self.values(cell, flow, metric)))


def section(told: Told) -> Section:
    """The part of the report."""
    return Section(
        "What it leaves for later: QoS, many clients, full queues, passwords",
        [
            _delays(told),
            _levels(told),
            _crowds(told),
            _queues(told),
            _logins(told),
            Checks("Checks", [*_of_levels(told), *_of_crowds(told), *_of_queues(told), *_of_logins(told)]),
            Text((_REMARK,)),
        ],
    )


_REMARK = (
    "TCP carries all three levels and repairs what the network loses, so QoS decides only where a connection "
    "ends: a message of QoS 0 is lost then, those of QoS 1 and 2 wait for the session to come back."
)


def _percent(loss: str) -> float:
    return float(loss.removesuffix("%"))


def _delays(told: Told) -> Plot:
    curves = []
    for qos in LEVELS:
        means = [told.mean(Later("qos", loss, qos), "publisher", "delivery_p95_ns", 1e-6) for loss in LOSSES]
        known = [(_percent(loss), mean) for loss, mean in zip(LOSSES, means, strict=True) if mean]
        ends = [mean.interval or (mean.mean, mean.mean) for _, mean in known]
        curves.append(
            Curve(
                f"QoS {qos}",
                [x for x, _ in known],
                [mean.mean for _, mean in known],
                [low for low, _ in ends],
                [high for _, high in ends],
            )
        )
    return Plot(
        "Delay until the last subscriber has a message, by QoS and loss",
        f"{MESSAGES} messages of {SIZE} B, one each 200 ms, on the Internet of Figure 6; 95th percentile.",
        Axis("loss of each link", "%"),
        Axis("delay, p95", "ms", "log"),
        curves,
    )


def _levels(told: Told) -> Table:
    rows: list[list[str | Shown]] = []
    for cell in [*(Later("qos", loss, qos) for loss in LOSSES for qos in LEVELS)] + [
        Later("outage", "", qos) for qos in LEVELS
    ]:
        name = f"loss {cell.case}" if cell.part == "qos" else "receiver away for 30 s"
        rows.append(
            [
                name,
                str(cell.qos),
                shown(told.mean(cell, "publisher", "messages_undelivered")),
                shown(told.mean(cell, "publisher", "messages_duplicated")),
                shown(told.mean(cell, "publisher", "delivery_p50_ns", 1e-6)),
                shown(told.mean(cell, "publisher", "delivery_p95_ns", 1e-6)),
                shown(told.mean(cell, "publisher", "mqtt_packets")),
                shown(told.mean(cell, "publisher", "ip_bytes", 1e-3)),
            ]
        )
    return Table(
        "QoS under loss, and while the receiver is away",
        ["network", "QoS", "undelivered", "again", "delay p50, ms", "p95, ms", "packets of MQTT", "IP, kB"],
        rows,
    )


def _crowds(told: Told) -> Table:
    rows: list[list[str | Shown]] = []
    for count in CROWDS:
        for qos in LEVELS:
            cell = Later("crowd", str(count), qos)
            rows.append(
                [
                    str(count),
                    str(qos),
                    shown(told.mean(cell, "subscriber", "messages_received")),
                    shown(told.mean(cell, "subscriber", "latency_p50_ns", 1e-6)),
                    shown(told.mean(cell, "subscriber", "latency_p95_ns", 1e-6)),
                    shown(told.mean(cell, "broker", "longest_queue")),
                ]
            )
    return Table(
        "Several publishers and subscribers that share the air of the LAN",
        ["of each", "QoS", "deliveries", "delay p50, ms", "p95, ms", "longest queue"],
        rows,
        [f"Each publisher has a message of {LARGE} B a second, which every subscriber gets."],
    )


def _queues(told: Told) -> Table:
    rows: list[list[str | Shown]] = []
    for policy in POLICIES:
        for rate in RATES:
            cell = Later("queue", f"{policy}, {rate}")
            rows.append(
                [
                    policy,
                    str(rate),
                    shown(told.mean(cell, "broker", "messages_in")),
                    shown(told.mean(cell, "broker", "messages_dropped")),
                    shown(told.mean(cell, "broker", "longest_queue")),
                    shown(told.mean(cell, "publisher", "delivery_p50_ns", 1e-6)),
                    shown(told.mean(cell, "publisher", "messages_undelivered")),
                    shown(told.mean(cell, "subscriber", "connections_lost")),
                ]
            )
    return Table(
        f"A queue of {ROOM} messages under stress: a subscriber takes a hundred a second",
        [
            "when full",
            "messages a second",
            "taken",
            "dropped",
            "longest queue",
            "delay p50, ms",
            "undelivered",
            "disconnected",
        ],
        rows,
    )


def _logins(told: Told) -> Table:
    rows: list[list[str | Shown]] = [
        [
            {"None": "none", PASSWORD: "right", WRONG: "wrong"}[str(password)],
            shown(told.mean(Later("login", str(password)), "publisher", "mqtt_bytes")),
            shown(told.mean(Later("login", str(password)), "broker", "messages_in")),
            shown(told.mean(Later("login", str(password)), "publisher", "connections_lost")),
        ]
        for password in (None, PASSWORD, WRONG)
    ]
    return Table(
        "User name and password",
        ["password", "octets of MQTT", "messages at the broker", "connections refused"],
        rows,
    )


def _of_levels(told: Told) -> list[Check]:
    def everywhere(qos: int, metric: str) -> int:
        return sum(told.total(Later("qos", loss, qos), "publisher", metric) for loss in LOSSES)

    lost = {qos: everywhere(qos, "messages_undelivered") for qos in LEVELS}
    again = {qos: everywhere(qos, "messages_duplicated") for qos in LEVELS}
    away = {qos: told.total(Later("outage", "", qos), "publisher", "messages_undelivered") for qos in LEVELS}
    quiet = told.mean(Later("qos", LOSSES[0], 1), "publisher", "mqtt_packets")
    needed = 2 * MESSAGES + 3
    medians = [told.values(Later("qos", LOSSES[0], qos), "publisher", "delivery_p50_ns") for qos in (2, 0)]
    tripled = summarise([two / none for two, none in zip(*medians, strict=True)])
    return [
        Check(
            claim("both", "once"),
            quiet is not None and quiet.mean > needed,
            f"without loss a publisher exchanges {shown(quiet)} packets for {MESSAGES} messages: each "
            f"sent and acknowledged once, and three more; {again[1]} came twice at any loss",
        ),
        Check(
            "Up to 10 % of loss on each link, no level of QoS loses a message, since TCP repairs the losses.",
            sum(lost.values()) == 0,
            ", ".join(f"QoS {qos}: {count} undelivered" for qos, count in lost.items()),
        ),
        Check(
            "Where the receiver's connection breaks, QoS 0 loses messages, and QoS 1 and 2 lose none.",
            away[0] > 0 and away[1] == away[2] == 0,
            ", ".join(f"QoS {qos}: {count} undelivered" for qos, count in away.items()),
        ),
        Check(
            "Without loss a message of QoS 2 takes three times as long as one of QoS 0, within 10 %: it is "
            "released a round trip later on both hops.",
            within(tripled, 2.7, 3.3),
            f"{shown(tripled)} times",
        ),
    ]


def _of_crowds(told: Told) -> list[Check]:
    few, many = (
        told.mean(Later("crowd", str(count)), "subscriber", "latency_p95_ns", 1e-6)
        for count in (CROWDS[0], CROWDS[-1])
    )
    return [
        Check(
            f"{CROWDS[-1]} publishers and as many subscribers fill the air of the LAN: the 95th percentile "
            "of delays is ten times that of one of each.",
            above(many, few.scaled(10)) if few is not None else None,
            f"{shown(few)} and {shown(many)} ms",
        )
    ]


def _of_queues(told: Told) -> list[Check]:
    def dropped(policy: str, rate: int) -> int:
        return told.total(Later("queue", f"{policy}, {rate}"), "broker", "messages_dropped")

    longest = max(
        max(told.values(Later("queue", f"{policy}, {rate}"), "broker", "longest_queue"))
        for policy in POLICIES
        for rate in RATES
    )
    calm = sum(dropped(policy, rate) for policy in POLICIES for rate in RATES if rate < 100)
    lost = [dropped(policy, RATES[-1]) for policy in POLICIES]
    delays = {
        policy: told.mean(Later("queue", f"{policy}, {RATES[-1]}"), "publisher", "delivery_p50_ns", 1e-6)
        for policy in POLICIES
    }
    return [
        Check(
            f"No queue is ever longer than its room of {ROOM} messages.",
            longest <= ROOM,
            f"{longest:.0f} at most",
        ),
        Check(
            "Below what the subscriber takes nothing is dropped; at four times that, every policy drops.",
            calm == 0 and min(lost) > 0,
            f"{calm} below; " + ", ".join(f"{policy} {n}" for policy, n in zip(POLICIES, lost, strict=True)),
        ),
        Check(
            f"A full queue of {ROOM} messages at a hundred a second makes what comes a second late, within "
            "20 %, if new messages are dropped; if old ones are, less than half of that.",
            all_of([within(delays["drop_new"], 0.8e3, 1.2e3), below(delays["drop_old"], 0.5e3)]),
            ", ".join(f"{policy} {shown(delay)} ms" for policy, delay in delays.items()),
        ),
    ]


def _of_logins(told: Told) -> list[Check]:
    def value(password: str | None, metric: str) -> float:
        return max(told.values(Later("login", str(password)), "publisher", metric))

    more = 2 + len(USER) + 2 + len(PASSWORD)
    taken = told.total(Later("login", WRONG), "broker", "messages_in")
    cost = value(PASSWORD, "mqtt_bytes") - value(None, "mqtt_bytes")
    return [
        Check(
            f"A user name and a password cost {more} octets in each CONNECT, by the closed form.",
            cost == more,
            f"{cost:.0f} octets",
        ),
        Check(
            "With a wrong password each connection is refused, and no message reaches the broker.",
            value(WRONG, "connections_lost") > 0 and taken == 0,
            f"{value(WRONG, 'connections_lost'):.0f} refused, {taken} messages",
        ),
    ]
