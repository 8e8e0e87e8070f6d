"""What the publication cites of CoAP, HTTP and AMQP beside MQTT, as checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from voxpath.backends.base import Question
from voxpath.document import Axis, Check, Checks, Curve, Plot, Section, Table, Text
from voxpath.results.decisions import above, all_of, below
from voxpath.results.intervals import Summary, summarise
from voxpath.scenario import from_dict
from voxpath.studies.base import shown
from voxpath.studies.thapa2023.measures import length_octets
from voxpath.studies.thapa2023.scenario import (
    BROKER,
    HOSTS,
    INTERNET,
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

CONFIRMED, UNCONFIRMED, MQTT = "CoAP, confirmable", "CoAP, not confirmable", "MQTT, QoS 1"
WAYS = (CONFIRMED, UNCONFIRMED, MQTT)
SIZES = (100, 1024, 1025, 2048, 2049, 100_000)
LOSSES = ("0 %", "1 %", "5 %", "10 %", "20 %")
SMALL, LARGE = SIZES[0], SIZES[-1]
MESSAGES = 40
_UDP_IP, _TCP_IP = 28, 52
"""Octets of headers of UDP and IPv4, of TCP with timestamps and IPv4."""


class Cell(NamedTuple):
    """A way, a size and a loss on the sender's link."""

    way: str
    size: int
    loss: str


def _document(cell: Cell) -> Document:
    """One hop: messages to a broker, or to a server, that is where the broker is."""
    network = dict(NETWORK[INTERNET])
    network["own"] = {SENDER: {**network["link"], "loss": cell.loss}}
    network["link"] = {**network["link"], "loss": "0 %"}
    messages = MESSAGES if cell.size == SMALL else 1
    sends: dict[str, Any] = {
        "size": f"{cell.size} B",
        "messages": messages,
        "start": "1 min",
        "interval": "5 s",
    }
    if cell.way == MQTT:
        takes = {"kind": "broker"}
        sends |= {"kind": "publisher", "broker": BROKER, "topic": TOPIC, "qos": 1, "keep_alive": "0 s"}
        reads = {"kind": "subscriber", "broker": BROKER, "filters": [TOPIC]}
        more = [{"name": "subscriber", "host": RECEIVER, "app": reads}]
    else:
        takes, more = {"kind": "coap_server"}, []
        confirmable = cell.way == CONFIRMED
        sends |= {"kind": "coap_client", "server": BROKER, "path": TOPIC, "confirmable": confirmable}
    made = {
        "name": f"thapa2023: {cell.size} B by {cell.way}, loss {cell.loss}",
        "seed": SEED,
        "duration": "20 min",
        "topology": network,
        "hosts": {host: {"profile": "linux"} for host in HOSTS},
        "processes": [
            {"name": "takes", "host": BROKER, "app": takes},
            *more,
            {"name": "sends", "host": SENDER, "app": sends},
        ],
    }
    return from_dict(made, "thapa2023/cited")


def questions(replications: int) -> dict[Cell, Question]:
    """Every size without loss, and small messages at every loss."""
    cells = [Cell(way, size, LOSSES[0]) for way in WAYS for size in SIZES]
    cells += [Cell(way, SMALL, loss) for way in WAYS for loss in LOSSES[1:]]
    return {cell: Question(_document(cell), range(replications)) for cell in cells}


class Cited:
    """What came back."""

    def __init__(self, answers: Mapping[Cell, Variant]) -> None:
        """Takes the answers."""
        self._answers = answers

    def _mean(self, cell: Cell, of_mqtt: pl.Expr, of_coap: pl.Expr) -> Summary:
        rows = self._answers[cell].flows.filter(pl.col("flow").cast(pl.String) == "sends")
        value = (of_mqtt if cell.way == MQTT else of_coap).cast(pl.Float64).alias("value")
        return summarise(rows.select(value).get_column("value").drop_nulls().to_list())

    def response_ms(self, cell: Cell) -> Summary:
        """The mean time until a message is acknowledged, or given up."""
        scale = 1e-6
        return self._mean(
            cell, pl.col("acknowledged_mean_ns") * scale, pl.col("coap_response_mean_ns") * scale
        )

    def overhead(self, cell: Cell) -> Summary:
        """Octets of IP for each octet of a body, connection and acknowledgments too, less the body."""
        messages = MESSAGES if cell.size == SMALL else 1
        bodies = cell.size * messages
        ip = pl.col("coap_bytes") + _UDP_IP * pl.col("coap_datagrams")
        return self._mean(cell, pl.col("ip_bytes") / bodies - 1, ip / bodies - 1)

    def lost(self, cell: Cell) -> Summary:
        """Messages that did not reach the server."""
        return self._mean(
            cell, pl.col("messages_published") - pl.col("messages_acknowledged"), pl.col("coap_undelivered")
        )


def http_octets(size: int) -> int:
    """Of a POST of HTTP/1.1 with the least that RFC 9112 asks for, and of its answer, without the body."""
    request = f"POST /{TOPIC} HTTP/1.1\r\nHost: {BROKER}\r\nContent-Length: {size}\r\n\r\n"
    return len(request) + len("HTTP/1.1 204 No Content\r\n\r\n")


def amqp_octets(size: int, frame: int = 131_072) -> int:
    """Of basic.publish of AMQP 0-9-1 (section 4.2) to the default exchange, without the body."""
    around = 7 + 1
    method = 2 + 2 + 2 + 1 + 1 + len(TOPIC) + 1
    header = 2 + 2 + 8 + 2
    bodies = -(-size // (frame - around))
    return around + method + around + header + around * bodies


def mqtt_octets(size: int) -> int:
    """Of PUBLISH and PUBACK, without the body."""
    remaining = 2 + len(TOPIC) + 2 + size
    return 1 + length_octets(remaining) + remaining - size + 4


def coap_octets(size: int) -> int:
    """Of confirmable PUTs with tokens of two octets and their acknowledgments, without the body."""
    blocks = -(-size // 1024)
    path = sum(1 + (len(segment) > 12) + len(segment) for segment in TOPIC.split("/"))
    option = 0 if blocks == 1 else 1 + 1
    request = 4 + 2 + path + (option + (1 if option else 0)) + 1
    return blocks * (request + 6)


def section(cited: Cited) -> Section:
    """The part of the report."""
    rows: list[list[str | Shown]] = [
        [
            cell.way,
            f"{cell.size} B",
            cell.loss,
            shown(cited.response_ms(cell)),
            shown(cited.overhead(cell)),
            shown(cited.lost(cell)),
        ]
        for cell in questions(1)
    ]
    octets: list[list[str | Shown]] = [
        [name, *(str(of(size)) for size in (SMALL, 1024))]
        for name, of in (
            ("CoAP, PUT and its acknowledgment", coap_octets),
            ("MQTT, PUBLISH and PUBACK", mqtt_octets),
            ("AMQP 0-9-1, basic.publish", amqp_octets),
            ("HTTP/1.1, POST and 204", http_octets),
        )
    ]
    return Section(
        "What it cites: CoAP beside MQTT, HTTP and AMQP",
        [
            Text((_HOW,)),
            _plot(cited),
            Table(
                "CoAP and MQTT over one hop",
                [
                    "way",
                    "message",
                    "loss",
                    "until it is known, ms",
                    "octets of IP more for each",
                    "not there",
                ],
                rows,
            ),
            Table(
                "Octets of one message beside its body, by the closed form",
                ["protocol", f"{SMALL} B", "1024 B"],
                octets,
                ["On a connection that stands, without TCP; each with the least that its standard asks for."],
            ),
            Checks("Cited sentences", _checks(cited)),
        ],
    )


_HOW = (
    f"One hop of the Internet of Figure 6: {MESSAGES} small messages, or one large one, from the sender to a "
    "CoAP server, or to a broker where the server is. Loss is on the sender's link, both ways."
)


def _plot(cited: Cited) -> Plot:
    curves = []
    for way in (CONFIRMED, MQTT):
        means = [cited.response_ms(Cell(way, SMALL, loss)) for loss in LOSSES]
        ends = [mean.interval or (mean.mean, mean.mean) for mean in means]
        curves.append(
            Curve(
                way,
                [float(loss.removesuffix("%")) for loss in LOSSES],
                [mean.mean for mean in means],
                [low for low, _ in ends],
                [high for _, high in ends],
            )
        )
    return Plot(
        "Time until a message is acknowledged, by loss",
        f"Means over {MESSAGES} messages of {SMALL} B, one each 5 s, with 95 % intervals.",
        Axis("loss", "%"),
        Axis("time", "ms", "log"),
        curves,
    )


def _checks(cited: Cited) -> list[Check]:
    def at(way: str, size: int = SMALL, loss: str = LOSSES[0]) -> Cell:
        return Cell(way, size, loss)

    small = [cited.overhead(at(way)) for way in (CONFIRMED, MQTT)]
    large = [cited.overhead(at(way, LARGE)) for way in (CONFIRMED, MQTT)]
    times = [cited.response_ms(at(way, LARGE)) for way in (CONFIRMED, MQTT)]
    by_size = {size: cited.response_ms(at(CONFIRMED, size)) for size in SIZES}
    low = [cited.response_ms(at(way)) for way in (CONFIRMED, MQTT)]
    high = [cited.response_ms(at(way, loss=LOSSES[-1])) for way in (CONFIRMED, MQTT)]
    # A packet each way.
    ordered = [coap_octets(SMALL) + 2 * _UDP_IP]
    ordered += [of(SMALL) + 2 * _TCP_IP for of in (mqtt_octets, amqp_octets, http_octets)]
    return [
        Check(
            claim("cited", "coap_less"),
            above(small[1], small[0]),
            f"octets of IP beside each of {SMALL} B: CoAP {shown(small[0])}, MQTT {shown(small[1])}",
        ),
        Check(
            claim("cited", "coap_steps"),
            all_of(above(by_size[size + 1], by_size[size].scaled(1.3)) for size in (1024, 2048)),
            ", ".join(f"{size} B {shown(by_size[size])} ms" for size in SIZES[1:-1]),
        ),
        Check(
            claim("cited", "coap_slower"),
            above(times[0], times[1]),
            f"{LARGE} B: CoAP {shown(times[0])} ms, MQTT {shown(times[1])} ms",
        ),
        Check(
            claim("cited", "coap_loss"),
            all_of([below(low[1], low[0]), above(high[1], high[0])]),
            f"without loss CoAP {shown(low[0])} and MQTT {shown(low[1])} ms; at {LOSSES[-1]} "
            f"{shown(high[0])} and {shown(high[1])} ms",
        ),
        Check(
            claim("cited", "coap_large"),
            above(large[0], large[1]),
            f"octets of IP beside each of {LARGE} B: CoAP {shown(large[0])}, MQTT {shown(large[1])}",
        ),
        Check(
            claim("cited", "others"),
            ordered == sorted(ordered),
            f"with a packet of UDP or TCP each way: CoAP {ordered[0]}, MQTT {ordered[1]}, AMQP {ordered[2]}, "
            f"HTTP {ordered[3]} octets; without, MQTT's own are fewer than CoAP's",
        ),
    ]
