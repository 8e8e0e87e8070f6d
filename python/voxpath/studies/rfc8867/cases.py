"""The test cases of RFC 8867 as scenarios: sections 5.1 to 5.8 and 6.1 to 6.3."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from voxpath.studies.rfc8867.media import media

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MBIT = 1_000_000
REFERENCE = 1 * MBIT
"""Bits per second of a bottleneck, unless a case says otherwise (section 4.2)."""

DELAY_MS = 50
QUEUE_MS = 300
PHYSICAL = 4 * MBIT
"""Of the link, where background traffic takes what is not to be available (sections 5.1 to 5.3)."""

DATAGRAM = 1000
"""Bytes of payload of that traffic."""

_HEADERS = 28
"""Bytes of IP and UDP before it."""

FORWARD, BACKWARD = "up", "down"


@dataclass(frozen=True)
class Flow:
    """A media flow, video with audio, from a sender to a receiver.

    Attributes:
        start: In seconds.
        delay_ms: One-way propagation, in both directions.
        pause: From when to when nothing is sent, in seconds.
        weight: Its priority among the others.
        both: Whether the receiver sends media too.
        hop: Across which bottleneck it goes; across all of them without one.
    """

    start: float = 0
    delay_ms: int = DELAY_MS
    pause: tuple[float, float] | None = None
    weight: float = 1.0
    both: bool = False
    hop: int | None = None


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes:
        section: Of the RFC.
        title: Of the section.
        duration: In seconds; flows end a second before.
        reference: Capacity that ratios count from, in bits per second.
        forward: From when on, in seconds, which ratio of it the bottleneck carries.
        backward: The same of the other direction.
        flows: The media flows.
        long_tcp: How many endless TCP flows compete.
        short_tcp: How many TCP flows of short transfers compete.
        queue_ms: Room before a bottleneck, at its capacity.
        hops: Ratio of each bottleneck, where there is more than one.
        ecn: Whether the bottleneck marks packets in place of dropping them.
    """

    section: str
    title: str
    duration: int
    reference: int = REFERENCE
    forward: Sequence[tuple[float, float]] = ((0, 1.0),)
    backward: Sequence[tuple[float, float]] = ((0, 1.0),)
    flows: Sequence[Flow] = (Flow(),)
    long_tcp: int = 0
    short_tcp: int = 0
    queue_ms: int = QUEUE_MS
    hops: Sequence[float] = ()
    ecn: bool = False

    @property
    def names(self) -> list[str]:
        """Of its media flows."""
        return [f"media{number}" for number in range(1, len(self.flows) + 1)]

    @property
    def competing(self) -> list[str]:
        """Of its TCP flows."""
        long = ["tcp"] if self.long_tcp == 1 else [f"tcp-{n}" for n in range(1, self.long_tcp + 1)]
        return long + [f"short{number}" for number in range(1, self.short_tcp + 1)]

    @property
    def hop_ms(self) -> int:
        """One-way delay of each bottleneck; the rest of a flow's is on its receiver's link."""
        least = min(flow.delay_ms for flow in self.flows)
        return least if not self.hops else least // (1 + len(self.hops))

    @property
    def end(self) -> int:
        """When flows end, in seconds."""
        return self.duration - 1

    def capacity(self, at: float) -> float:
        """Bits per second that the (first) bottleneck carries forward at a time in seconds."""
        ratio = [ratio for since, ratio in self.forward if since <= at][-1]
        return self.reference * ratio

    @property
    def stretches(self) -> list[tuple[float, float]]:
        """From when to when nothing changes: no capacity, and which flows are there."""
        edges = {0.0, float(self.end)} | {float(at) for at, _ in self.forward}
        for flow in self.flows:
            edges |= {float(flow.start), *(float(at) for at in flow.pause or ())}
        inside = sorted(edge for edge in edges if edge <= self.end)
        return list(pairwise(inside))

    def active(self, at: float) -> list[str]:
        """The media flows that send at a time in seconds."""
        return [
            name
            for name, flow in zip(self.names, self.flows, strict=True)
            if flow.start <= at and not (flow.pause and flow.pause[0] <= at < flow.pause[1])
        ]


_THREE = (Flow(0), Flow(20), Flow(40))

CASES: Mapping[str, Case] = {
    case.section: case
    for case in (
        Case(
            "5.1",
            "Variable available capacity with a single flow",
            100,
            forward=((0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)),
        ),
        Case(
            "5.2",
            "Variable available capacity with multiple flows",
            125,
            reference=2 * MBIT,
            forward=((0, 2.0), (25, 1.0), (50, 1.75), (75, 0.5), (100, 1.0)),
            flows=(Flow(), Flow()),
        ),
        Case(
            "5.3",
            "Congested feedback link with bidirectional media flows",
            100,
            forward=((0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0)),
            backward=((0, 2.0), (35, 0.8), (70, 2.0)),
            flows=(Flow(both=True),),
        ),
        Case(
            "5.4",
            "Competing media flows with the same congestion control",
            120,
            reference=3_500_000,
            flows=_THREE,
        ),
        Case(
            "5.5",
            "Round-trip time fairness",
            300,
            reference=4 * MBIT,
            flows=tuple(Flow(10 * index, delay_ms) for index, delay_ms in enumerate((10, 25, 50, 100, 150))),
        ),
        Case(
            "5.6",
            "Media flow competing with a long TCP flow",
            120,
            reference=2 * MBIT,
            flows=(Flow(5),),
            long_tcp=1,
        ),
        Case(
            "5.7",
            "Media flows competing with short TCP flows",
            300,
            reference=2 * MBIT,
            flows=(Flow(5), Flow(5)),
            short_tcp=10,
        ),
        Case(
            "5.8",
            "Media pause and resume",
            120,
            reference=3_500_000,
            flows=(Flow(), Flow(pause=(40, 60)), Flow()),
        ),
        Case(
            "6.1",
            "Media flows with priority",
            120,
            reference=3_500_000,
            flows=(Flow(0, weight=2.0), Flow(20), Flow(40)),
        ),
        Case(
            "6.2",
            "Explicit congestion notification: case 5.1 with a bottleneck that marks",
            100,
            forward=((0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)),
            ecn=True,
        ),
        Case(
            "6.3",
            "Multiple bottlenecks",
            300,
            reference=2 * MBIT,
            flows=(Flow(0, 100), Flow(0, 40, hop=0), Flow(0, 40, hop=2)),
            hops=(1.0, 4.0, 0.75),
        ),
    )
}
"""By section."""


@dataclass(frozen=True)
class Variant:
    """What a case leaves open, or lists several values of.

    Attributes:
        delay_ms: One-way propagation in place of 50 ms.
        queue_ms: Room before the bottleneck.
        queue: Another discipline, as a link's `queue` is written.
        background: Whether the link keeps 4 Mbit/s and datagrams take what is not to be available.
        congestion: Of TCP; as RFC 5681 has it without one.
        clean_feedback: Whether the backward path keeps its first capacity (the reference of section 5.3).
    """

    delay_ms: int | None = None
    queue_ms: int | None = None
    queue: str | None = None
    background: bool = False
    congestion: str = "reno"
    clean_feedback: bool = False

    def of(self, case: Case) -> Case:
        """A case, changed."""
        if self.queue_ms is not None:
            case = replace(case, queue_ms=self.queue_ms)
        if self.delay_ms is not None:
            case = replace(case, flows=[replace(flow, delay_ms=self.delay_ms) for flow in case.flows])
        return replace(case, backward=case.backward[:1]) if self.clean_feedback else case


AS_LISTED = Variant()


def scenario(section: str, control: Mapping[str, Any], variant: Variant = AS_LISTED) -> dict[str, Any]:
    """A case as a scenario file would say it.

    Senders s1, s2, ... and routers a, b to the left, receivers r1, r2, ... to the right.

    Args:
        section: Of the RFC.
        control: The rate control of every media flow, as a scenario writes it.
        variant: What to change of the case.
    """
    return _Builder(variant.of(CASES[section]), control, variant).built()


@dataclass
class _Builder:
    case: Case
    control: Mapping[str, Any]
    variant: Variant
    hosts: list[str] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    flows: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def built(self) -> dict[str, Any]:
        case = self.case
        routers = ["a", "b"] if not case.hops else ["a", "b", "c", "d"][: len(case.hops) + 1]
        self._bottlenecks(routers)
        for name, flow in zip(case.names, case.flows, strict=True):
            self._media(name, flow, routers)
        if case.long_tcp:
            self._tcp("tcp", case.long_tcp, {"kind": "bulk"}, 0, routers)
        if case.short_tcp:
            self._short(routers)
        if self.variant.background:
            self._background(routers)
        control = " at ".join(str(value) for value in self.control.values())
        return {
            "name": f"RFC 8867, {case.section}: {case.title[0].lower()}{case.title[1:]}, {control}",
            "seed": 8867,
            "duration": f"{case.duration} s",
            "topology": {
                "kind": "explicit",
                "hosts": self.hosts,
                "routers": routers,
                "links": self.links,
            },
            "hosts": {host: {"profile": "linux"} for host in self.hosts if "tcp" in host},
            "flows": self.flows,
            **({"events": sorted(self.events, key=_moment)} if self.events else {}),
        }

    def _bottlenecks(self, routers: Sequence[str]) -> None:
        case = self.case
        delay = case.hop_ms
        ratios = case.hops or (1.0,)
        for index, ratio in enumerate(ratios):
            link: dict[str, Any] = {
                "name": "bottleneck" if len(ratios) == 1 else f"bottleneck{index + 1}",
                "ends": [routers[index], routers[index + 1]],
                "delay": f"{delay:g} ms",
                FORWARD: self._carries(case.forward[0][1] * ratio),
                BACKWARD: self._carries(case.backward[0][1] * ratio),
            }
            self.links.append(link)
        if self.variant.background:
            return
        for way, pattern in ((FORWARD, case.forward), (BACKWARD, case.backward)):
            for at, ratio in pattern[1:]:
                carries = self._carries(ratio)
                if isinstance(carries["queue"], dict):
                    carries["queue"] = carries["queue"]["limit"]
                self.events.append({"at": f"{at:g} s", "link": "bottleneck", way: carries})

    def _carries(self, ratio: float) -> dict[str, Any]:
        """Rate and room of a bottleneck: as long at this rate as at any other."""
        rate = PHYSICAL if self.variant.background else round(self.case.reference * ratio)
        limit = f"{rate * self.case.queue_ms // 8000} B"
        kind = "codel" if self.case.ecn else self.variant.queue
        queue: str | dict[str, Any] = limit if kind is None else {"kind": kind, "limit": limit}
        return {"rate": f"{rate} bit/s", "queue": queue}

    def _pair(self, number: str, delay_ms: float, left: str, right: str) -> tuple[str, str]:
        """A sender and a receiver, the rest of whose delay is on the receiver's link."""
        sender, receiver = f"s{number}", f"r{number}"
        self.hosts += [sender, receiver]
        self.links.append({"ends": [sender, left]})
        self.links.append({"ends": [right, receiver]} | ({"delay": f"{delay_ms:g} ms"} if delay_ms else {}))
        return sender, receiver

    def _media(self, name: str, flow: Flow, routers: Sequence[str]) -> None:
        hops = range(len(routers) - 1) if flow.hop is None else [flow.hop]
        left, right = routers[hops[0]], routers[hops[-1] + 1]
        rest = flow.delay_ms - self.case.hop_ms * len(hops)
        sender, receiver = self._pair(name.removeprefix("media"), rest, left, right)
        pause = (flow.pause[0] - flow.start, flow.pause[1] - flow.start) if flow.pause else None
        app = media(self.control, weight=flow.weight, both=flow.both, ecn=self.case.ecn, pause=pause)
        self.flows.append(
            {
                "name": name,
                "from": sender,
                "to": receiver,
                **({"start": f"{flow.start:g} s"} if flow.start else {}),
                "app": app,
            }
        )
        self.events.append({"at": f"{self.case.end} s", "flow": name, "does": "stop"})

    def _tcp(self, name: str, count: int, app: dict[str, Any], start: float, routers: Sequence[str]) -> None:
        sender, receiver = self._pair(f"-{name}", 0, routers[0], routers[-1])
        transport = {"kind": "tcp", "congestion": self.variant.congestion}
        self.flows.append(
            {
                "name": name,
                "from": sender,
                "to": receiver,
                **({"start": f"{start:g} s"} if start else {}),
                **({"count": count} if count > 1 else {}),
                "transport": transport,
                "app": app,
            }
        )
        self.events.append({"at": f"{self.case.end} s", "flow": name, "does": "stop"})

    def _short(self, routers: Sequence[str]) -> None:
        """Short transfers of RFC 8868: files of 30 to 50 kB, idle for 10 s on average between them.

        The receivers ask for the files, so that data goes forward. Two are on from the start; the others are
        off at first, and begin at the middles of eight equal parts of the distribution of idle times.
        """
        for index in range(self.case.short_tcp):
            start = 0.0 if index < _ON else _idle((index - _ON + 0.5) / (self.case.short_tcp - _ON))
            sender, receiver = self._pair(f"-tcp{index + 1}", 0, routers[0], routers[-1])
            self.flows.append(
                {
                    "name": f"short{index + 1}",
                    "from": receiver,
                    "to": sender,
                    **({"start": f"{start:.3f} s"} if start else {}),
                    "app": SHORT,
                }
            )

    def _background(self, routers: Sequence[str]) -> None:
        """Datagrams at what the link has more than is to be available."""
        ways = ((FORWARD, self.case.forward), (BACKWARD, self.case.backward))
        for way, pattern in ways:
            ends = [at for at, _ in pattern[1:]] + [self.case.duration]
            for number, ((at, ratio), until) in enumerate(zip(pattern, ends, strict=True), 1):
                rate = PHYSICAL - self.case.reference * ratio
                if rate <= 0 or (way == BACKWARD and len(pattern) == 1):
                    continue
                interval = round((DATAGRAM + _HEADERS) * 8 * 1e9 / rate)
                name = f"background-{way}{number}"
                hosts = self._pair(f"-{name}", 0, routers[0], routers[-1])
                self.flows.append(
                    {
                        "name": name,
                        "from": hosts[way == BACKWARD],
                        "to": hosts[way == FORWARD],
                        **({"start": f"{at:g} s"} if at else {}),
                        "app": {
                            "kind": "cbr",
                            "packet": f"{DATAGRAM} B",
                            "interval": f"{interval} ns",
                            "packets": f"{round((until - at) * 1e9 / interval)} packets",
                        },
                    }
                )


_ON = 2
"""Short flows that begin at once."""

IDLE_S = 10.0
"""Mean of the exponential time between two files (RFC 8868)."""

SHORT: dict[str, Any] = {
    "kind": "web",
    "connections": 1,
    # Nearly uniform between its bounds: so wide a lognormal distribution is flat there.
    "main": {"mean": "40 kB", "deviation": "60 kB", "least": "30 kB", "most": "50 kB"},
    # No embedded objects: a number above the scale and below the bound has no whole part above it.
    "objects": {"shape": 1.1, "scale": 1.0, "bound": 1.5},
    "parsing": "0 s",
    "reading": f"{IDLE_S:g} s",
}


def _idle(quantile: float) -> float:
    """A quantile of the time between two files, in seconds."""
    return -IDLE_S * math.log1p(-quantile)


def _moment(event: Mapping[str, Any]) -> float:
    return float(event["at"].removesuffix(" s"))
