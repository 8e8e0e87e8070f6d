"""One stream of datagrams at a constant rate as the formulas see it, read off a plan."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.wire import Hop, need_no_middlebox, need_plain, wire_time
from voxpath.backends.path import directions
from voxpath.scenario.addresses import is_v6
from voxpath.scenario.apps import APPS
from voxpath.scenario.apps.table import ConstantRate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.backends.path import Path, Step
    from voxpath.scenario.resolve import Plan


@dataclass
class Traffic:
    """What the flows of a plan send over one direction of a link.

    Attributes:
        load: The share of its rate that constant streams take.
        burst: Seconds that one datagram of each of these streams occupies it.
        other: Name of a flow that is no constant stream.
        spread: Name of a stream that has passed another link with a rate before.
    """

    load: float = 0.0
    burst: float = 0.0
    other: str | None = None
    spread: str | None = None


@dataclass(frozen=True)
class Stream:
    """One constant stream of datagrams.

    Attributes:
        packet: Bytes of each IP packet.
        interval: Seconds from one datagram to the next.
        packets: How many; none sends until the run ends.
        rival: Name of another flow on one of its links.
        hops: What the links do to the datagrams, in order.
        traffic: What there is on each of these links, the stream itself included.
    """

    packet: int
    interval: float
    packets: int | None
    rival: str | None
    hops: Sequence[Hop]
    traffic: Sequence[Traffic]


def stream_of(plan: Plan, index: int, path: Path, rival: str | None, links: Mapping[Step, Traffic]) -> Stream:
    """A flow of a plan as the formulas see it.

    Raises:
        NotApplicableError: It is no stream of datagrams.
    """
    flow = plan.data["flows"][index]
    rate = _rate(flow)
    if rate is None:
        raise NotApplicableError("it is no stream of datagrams at a constant rate")
    if "through" in flow:
        raise NotApplicableError("it goes through processes: the forms are of one path")
    need_no_middlebox(plan, path)
    hops = directions(plan, path.there)
    need_plain(hops)
    return Stream(
        packet=_packet(plan, flow, rate),
        interval=rate.interval / 1e9,
        packets=rate.packets,
        rival=rival,
        hops=hops,
        traffic=[links[step] for step in path.there],
    )


def traffic(plan: Plan, taken: Sequence[Path]) -> Mapping[Step, Traffic]:
    """What there is on each direction of a link that a flow uses."""
    links: defaultdict[Step, Traffic] = defaultdict(Traffic)
    for index, path in enumerate(taken):
        flow = plan.data["flows"][index]
        rate = _rate(flow)
        if rate is None or "through" in flow:
            for step in (*path.there, *path.back):
                links[step].other = flow["name"]
            continue
        size = _packet(plan, flow, rate)
        queued = False
        for step, hop in zip(path.there, directions(plan, path.there), strict=True):
            link = links[step]
            seconds = wire_time(size, hop)
            link.burst += seconds
            link.load += 1e9 * seconds / rate.interval
            if queued:
                link.spread = flow["name"]
            varies = (hop["rate_bps"], hop["capacity"], hop["delay_variation"])
            queued = queued or any(value is not None for value in varies)
    return links


def _rate(flow: Mapping[str, Any]) -> ConstantRate | None:
    known = APPS[flow["app"]["kind"]].known(flow["app"])
    return known if isinstance(known, ConstantRate) else None


def _packet(plan: Plan, flow: Mapping[str, Any], rate: ConstantRate) -> int:
    """Bytes of the IP packet of a datagram."""
    return (40 if is_v6(plan.data["nodes"], flow) else 20) + 8 + rate.packet
