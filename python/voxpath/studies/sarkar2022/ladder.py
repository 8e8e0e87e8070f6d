"""Figure 10: one loss and its repair by fast retransmit, from our own trace; and what one loss costs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from voxpath.backends.formula.recovery import congestion_avoidance, rounds_to
from voxpath.document import Cell as Entry
from voxpath.document import Check, Checks, Ladder, Section, Segment, Table
from voxpath.studies.sarkar2022.questions import LADDER_LOSS, ONE_LOSS, Cell
from voxpath.studies.sarkar2022.scenario import SEGMENT, VARIANTS, WINDOW
from voxpath.studies.sarkar2022.tables import NOT_ASKED
from voxpath.studies.sarkar2022.traces import CLIENT_SENDS, trace
from voxpath.studies.sarkar2022.verdicts import DELAYED, published
from voxpath.studies.sarkar2022.waiting import CLIENT_RECEIVES, SERVER_SENDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voxpath.document import Part
    from voxpath.studies.sarkar2022.questions import Found
    from voxpath.studies.sarkar2022.traces import Trace

_SERVER_RECEIVES = "right-server ab"
_ROUND = 0.044
"""Seconds about a round trip: what is shown before the loss and after its repair."""


@dataclass(frozen=True)
class Packet:
    """A packet on its way between the hosts, in seconds and with sequence numbers from 0.

    Attributes:
        sent: When it leaves.
        received: When it arrives; none if it is lost.
        from_server: Its direction.
        number: Of its first byte; of an acknowledgment, what it acknowledges.
        size: Bytes of data.
    """

    sent: float
    received: float | None
    from_server: bool
    number: int
    size: int


def packets(run: Trace) -> list[Packet]:
    """Every packet after the handshake, as it leaves, oldest first.

    Links keep the order, so that what is sent as the n-th is, but for the lost, what arrives as the n-th.
    """
    table = run.packets
    start = _at(table, SERVER_SENDS, "enqueued").filter(pl.col("payload_bytes") > 0).get_column("seq")[0]
    data = _way(table, (SERVER_SENDS, "bottleneck ba", CLIENT_RECEIVES), "seq", True, start)
    acks = _way(table, (CLIENT_SENDS, "bottleneck ab", _SERVER_RECEIVES), "ack", False, start)
    return sorted((*data, *acks), key=lambda packet: packet.sent)


def _way(
    table: pl.DataFrame, links: tuple[str, str, str], number: str, from_server: bool, start: int
) -> list[Packet]:
    first, middle, last = links
    sent = _at(table, first, "enqueued").select("time_ns", number, "payload_bytes", "tcp_flags").rows()
    inside = _at(table, middle, "enqueued").select("time_ns", "seq", "ack", "payload_bytes").rows()
    lost = set(_at(table, middle, "lost").select("time_ns", "seq", "ack", "payload_bytes").rows())
    arrivals = iter(_at(table, last, "delivered").get_column("time_ns").to_list())
    found = []
    for (at, value, size, flags), key in zip(sent, inside, strict=False):
        received = None if key in lost else next(arrivals, None)
        if flags & 2 or (from_server and size == 0):
            continue
        arrived = None if received is None else received / 1e9
        found.append(Packet(at / 1e9, arrived, from_server, (value - start) % 2**32, size))
    return found


def _at(table: pl.DataFrame, link: str, action: str) -> pl.DataFrame:
    return table.filter((pl.col("link") == link) & (pl.col("action") == action))


@dataclass(frozen=True)
class Repair:
    """One loss that a fast retransmit repaired.

    Attributes:
        lost: The segment.
        again: Its retransmission.
        duplicates: Acknowledgments of the segment's number that the server got in between.
        covered: When the server got the acknowledgment that covers it.
        packets: Everything from a round trip before to a round trip after.
    """

    lost: Packet
    again: Packet
    duplicates: int
    covered: float
    packets: list[Packet]


def first_repair(run: Trace) -> Repair:
    """The first loss from a full window that fast retransmit repaired, with nothing else lost around it.

    Raises:
        LookupError: There is none.
    """
    way = packets(run)
    phase = run.server("phase")
    window = run.server("flight_bytes")
    for index, lost in enumerate(way):
        if lost.received is not None or not lost.from_server:
            continue
        later = way[index + 1 :]
        again = next((p for p in later if p.from_server and p.number == lost.number), None)
        if again is None or again.received is None:
            continue
        covering = (p for p in later if not p.from_server and p.number > lost.number and p.received)
        covered = next((p.received for p in covering if p.received), None)
        if covered is None or phase.just_before(again.sent + 1e-9) != 1:
            continue
        shown = [p for p in way if lost.sent - _ROUND <= p.sent <= covered + _ROUND]
        if any(p.received is None and p is not lost for p in shown):
            continue
        if window.just_before(lost.sent + _ROUND) < 5 * SEGMENT:
            continue
        duplicates = sum(
            1
            for p in way
            if not p.from_server and p.number == lost.number and p.received and p.received <= again.sent
        )
        return Repair(lost, again, duplicates, covered, shown)
    raise LookupError("no loss of the trace was repaired by a fast retransmit alone")


def section(found: Found) -> Section:
    """The ladder, and what one loss costs."""
    title = "Figure 10 and section 5: one loss"
    if not found.simulated:
        return Section(title, [NOT_ASKED])
    run = trace(found, Cell("linux", LADDER_LOSS, traced=True))
    costs = {variant: _cost(found, variant) for variant in VARIANTS}
    return Section(title, [*_figure(run), _price(costs), _way_back(costs)])


def _figure(run: Trace) -> Iterator[Part]:
    try:
        repair = first_repair(run)
    except LookupError as error:
        yield Checks("Figure 10", [Check("The trace has a loss to show.", holds=False, evidence=str(error))])
    else:
        yield _ladder(repair)
        yield Checks("Figure 10", _checks(run, repair))


def _ladder(repair: Repair) -> Ladder:
    segments = [
        Segment(
            packet.sent,
            packet.received,
            packet.from_server,
            f"{packet.number:,}" if packet.from_server else f"ack {packet.number:,}",
            "lost" if packet is repair.lost else "retransmission" if packet is repair.again else "delivered",
        )
        for packet in repair.packets
    ]
    return Ladder(
        "Figure 10: a loss and its repair",
        f"The first loss of linux at {LADDER_LOSS} that a fast retransmit repaired with nothing else lost "
        "around it. Numbers are those of the first byte, and of the byte that an acknowledgment asks for.",
        "server",
        "client",
        segments,
    )


def _checks(run: Trace, repair: Repair) -> list[Check]:
    waited = repair.again.sent - repair.lost.sent
    rto = run.server("rto_ns").just_before(repair.again.sent) / 1e9
    threshold = run.server("ssthresh_bytes").just_before(repair.again.sent + 1e-9)
    flight = run.server("flight_bytes").just_before(repair.again.sent)
    cwnd = run.server("cwnd_bytes").just_before(repair.again.sent)
    took = repair.covered - repair.lost.sent
    return [
        Check(
            "The server sends again on the third duplicate acknowledgment, before its timer expires.",
            repair.duplicates == 4 and waited < rto,
            f"{repair.duplicates} acknowledgments of the missing byte, the first of them new; sent again "
            f"after {waited:.3f} s, the timeout was {rto:.3f} s",
        ),
        Check(
            "ssthresh is half of the congestion window, as today's Linux computes it; section 5.1 has half "
            "of the segments in flight (RFC 5681 equation 4), 3 MSS.",
            threshold == max(cwnd // 2, 2 * SEGMENT) and flight == 6 * SEGMENT,
            f"{threshold:.0f} bytes of a window of {cwnd:.0f}, with {flight:.0f} in flight",
        ),
        Check(
            "The repair itself takes two to three round trips, no timeout; the published figure spans three.",
            2 * _ROUND <= took <= 3 * _ROUND,
            f"{took:.4f} s from the loss to the acknowledgment that covers it; the figure "
            f"{published()['section5']['figure10_span_s']:g} s",
        ),
    ]


@dataclass(frozen=True)
class Cost:
    """What one loss costs a stack.

    Attributes:
        seconds: That the download takes longer.
        rounds: Round trips from the end of the repair until the window is the receiver's again.
    """

    seconds: float
    rounds: float


def _cost(found: Found, variant: str) -> Cost:
    run = trace(found, Cell(variant, "0 %", ONE_LOSS, traced=True))
    whole = found.values(Cell(variant, "0 %"), "completion_s")[0]
    phase = run.server("phase")
    repaired = next(
        float(at)
        for (_, before), (at, after) in pairwise(zip(phase.at, phase.values, strict=True))
        if before == 1 and after == 0
    )
    back = run.server("cwnd_bytes").reaches(WINDOW, repaired)
    srtt = run.server("srtt_ns").just_before(repaired) / 1e9
    return Cost(run.completion - whole, ((back or run.completion) - repaired) / srtt)


def _price(costs: dict[str, Cost]) -> Table:
    rows: list[list[str | Entry]] = [
        [variant, f"{cost.seconds:.3f}", f"{cost.rounds:.1f}"] for variant, cost in costs.items()
    ]
    capture = published()["section5"]
    rows.append(["published capture (section 5.2)", f"{capture['loss_cost_s']:g}", str(capture["rounds"])])
    rows.append(["published arithmetic (Table 9)", "", str(_table9())])
    return Table(
        "What one lost segment costs when it is the only one",
        ("stack", "seconds more", "round trips until the window is back"),
        rows,
    )


def _table9() -> int:
    return next(int(row["rtt"]) for row in published()["table9"]["rows"] if row["cwnd"] >= WINDOW)


def _way_back(costs: dict[str, Cost]) -> Checks:
    ours = costs["riverbed16"].rounds
    capture = int(published()["section5"]["rounds"])
    rounds = rounds_to(WINDOW, congestion_avoidance(WINDOW / 2, SEGMENT, DELAYED))
    return Checks(
        "Section 5.2: the way back of the window",
        [
            Check(
                "MSS²/cwnd for every acknowledgment brings the window back in the round trips of the "
                "closed form, not in those of Table 9, which adds it once per round trip.",
                abs(ours - rounds) <= 1.5 and _table9() - ours > 1.5,
                f"simulated {ours:.1f}, closed form {rounds}, Table 9 {_table9()}",
            ),
            Check(
                "The testbed's capture was slower than either rule of section 5.2.",
                max(_table9(), *(cost.rounds for cost in costs.values())) < capture,
                f"{capture} round trips in the capture, {_table9()} in Table 9, "
                + ", ".join(f"{cost.rounds:.1f} in {name}" for name, cost in costs.items()),
            ),
        ],
    )
