"""One TCP transfer as the formulas see it, read off a plan; and the conditions that formulas share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.timeout import Timer
from voxpath.backends.formula.wire import (
    Hop,
    loses,
    loss_probability,
    need_no_middlebox,
    need_plain,
    propagation,
    wire_time,
)
from voxpath.backends.path import directions
from voxpath.scenario.addresses import is_v6
from voxpath.scenario.apps import APPS
from voxpath.scenario.apps.table import ConstantRate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.backends.path import Path
    from voxpath.scenario.resolve import Plan

MAX_ACK_LOSS = 0.02
"""The models of TCP under loss lose data only. An acknowledgment is covered by the next one, so that up to
here losing some changes little (docs/measured/formulas.md has both cases); beyond, timeouts follow that
the models do not know."""

_WINDOW_WITHOUT_SCALING = 65_535


@dataclass(frozen=True)
class Transfer:
    """One TCP transfer that has its path to itself.

    Attributes:
        sender: The end that sends the data.
        size: Bytes of data.
        mss: Data of a full segment in bytes.
        header: Bytes of IP and TCP header before the data.
        window_bytes: That may be in flight: the receiver's announced or the sender's own buffer.
        initial_window: Segments.
        initial_ssthresh: Bytes; none is arbitrarily high.
        ack_every: Full segments that one acknowledgment covers.
        ack_delay: Seconds that an acknowledgment of fewer waits at most.
        ack_opens: Segments by which one acknowledgment opens the window in slow start.
        byte_counting: Whether congestion avoidance counts acknowledged bytes, not acknowledgments.
        dupack_threshold: Duplicate acknowledgments that signal a loss.
        congestion: The sender's algorithm; `tahoe` where a loss shrinks Reno's window to one segment.
        timer: The sender's.
        syn_timeout: Seconds before the opening end sends its first SYN again.
        asked: Whether the data is asked for after the connection is established.
        forward: What the links do to the data's packets, in order.
        backward: The same for acknowledgments.
    """

    sender: Literal["client", "server"]
    size: int
    mss: int
    header: int
    window_bytes: int
    initial_window: int
    initial_ssthresh: int | None
    ack_every: int
    ack_delay: float
    ack_opens: int
    byte_counting: bool
    dupack_threshold: int
    congestion: str
    timer: Timer
    syn_timeout: float
    asked: bool
    forward: Sequence[Hop]
    backward: Sequence[Hop]

    @property
    def segments(self) -> int:
        """How many segments carry the data."""
        return math.ceil(self.size / self.mss)

    @property
    def window(self) -> int:
        """Full segments that may be in flight; W_m of the literature."""
        return self.window_bytes // self.mss

    @property
    def packet(self) -> int:
        """Bytes of the IP packet of a full segment, or of the only one."""
        return self.header + min(self.mss, self.size)

    @property
    def slowest(self) -> float:
        """Seconds that a full segment occupies the slowest link."""
        return max(wire_time(self.packet, hop) for hop in self.forward)

    @property
    def propagation(self) -> float:
        """Seconds of propagation both ways."""
        return propagation((*self.forward, *self.backward))

    @property
    def round_trip(self) -> float:
        """Seconds from a segment to the acknowledgment that covers it; R or RTT of the literature.

        Propagation both ways plus the times on the wire that a round cannot avoid: of a segment on every
        link, of the further segments that the receiver waits for on the slowest, of an acknowledgment on
        the way back.
        """
        return (
            self.propagation
            + sum(wire_time(self.packet, hop) for hop in self.forward)
            + (self.ack_every - 1) * self.slowest
            + sum(wire_time(self.header, hop) for hop in self.backward)
        )

    @property
    def syn_round_trip(self) -> float:
        """Seconds from a SYN to its acknowledgment."""
        return self.propagation + sum(wire_time(self.header, hop) for hop in (*self.forward, *self.backward))

    @property
    def unasked(self) -> float:
        """Seconds that a transfer saves which need not be asked for."""
        return 0 if self.asked else self.propagation / 2

    @property
    def growth(self) -> float:
        """γ of Cardwell et al.: by which the window grows per round in slow start, 1 + L/b."""
        return 1 + self.ack_opens / self.ack_every

    @property
    def rounds_per_segment(self) -> int:
        """Rounds for one segment more in congestion avoidance; b of Padhye et al.

        As many as segments share an acknowledgment (RFC 5681, equation 3), but one where bytes are counted
        (RFC 3465 section 2.1).
        """
        return 1 if self.byte_counting else self.ack_every

    @property
    def timeout(self) -> float:
        """T0 of the literature: seconds before the first retransmission by timer."""
        return self.timer.timeout(self.round_trip)

    @property
    def hops(self) -> Sequence[Hop]:
        """Every link on the way, there and back."""
        return (*self.forward, *self.backward)

    def took(self, seconds: float) -> dict[str, float]:
        """The metrics of a transfer that takes so long from the start to the last byte at the receiver."""
        return {"completion_s": seconds, "goodput_bps": 8 * self.size / seconds}


def transfer_of(plan: Plan, index: int, path: Path, rival: str | None = None) -> Transfer:
    """A flow of a plan as the formulas see it.

    Args:
        plan: The plan.
        index: Of the flow.
        path: The flow's.
        rival: Name of another flow on one of its links.

    Raises:
        NotApplicableError: It is not one transfer over TCP that has its path to itself.
    """
    flow = plan.data["flows"][index]
    app = flow["app"]
    known = APPS[app["kind"]].known(app)
    if isinstance(known, str):
        raise NotApplicableError(known)
    if isinstance(known, ConstantRate):
        raise NotApplicableError("a constant bit rate over UDP has no window")
    if "through" in flow:
        raise NotApplicableError("it goes through processes: the forms are of one connection")
    if rival is not None:
        raise NotApplicableError(f"it shares a link with {rival}")
    if flow["transport"]["kind"] == "mptcp":
        raise NotApplicableError("it goes over several subflows: the forms are of one connection")
    need_no_middlebox(plan, path)
    client, server = flow["transport"]["client"], flow["transport"]["server"]
    sender, receiver = (server, client) if known.asked else (client, server)
    there, back = (path.back, path.there) if known.asked else path
    announced = receiver["receive_buffer"]
    if not (sender["window_scaling"] and receiver["window_scaling"]):
        announced = min(announced, _WINDOW_WITHOUT_SCALING)
    window = min(announced, sender["send_buffer"])
    timestamps = sender["timestamps"] and receiver["timestamps"]
    mss = min(sender["mss"], receiver["mss"]) - (12 if timestamps else 0)
    if window < mss:
        raise NotApplicableError("the window is smaller than one segment")
    delayed = receiver["delayed_ack"]
    ack_every = delayed["max_segments"] if delayed["max_delay"] else 1
    v6 = is_v6(plan.data["nodes"], flow)
    transfer = Transfer(
        sender="server" if known.asked else "client",
        size=known.size,
        mss=mss,
        header=(40 if v6 else 20) + 20 + (12 if timestamps else 0),
        window_bytes=window,
        initial_window=sender["initial_window"],
        initial_ssthresh=sender["initial_ssthresh"],
        ack_every=ack_every,
        ack_delay=delayed["max_delay"] / 1e9,
        ack_opens=min(ack_every, sender["slow_start_limit"]),
        byte_counting=sender["byte_counting"],
        dupack_threshold=sender["dupack_threshold"],
        congestion=_congestion(sender, receiver),
        timer=Timer.of(sender["rto"]),
        syn_timeout=client["rto"]["initial"] / 1e9,
        asked=known.asked,
        forward=directions(plan, there),
        backward=directions(plan, back),
    )
    need_plain(transfer.hops)
    if transfer.round_trip == 0:
        raise NotApplicableError("the way takes no time: no link has a delay or a rate")
    return transfer


def need_order(transfer: Transfer) -> None:
    """Raises where packets may come twice or in another order."""
    if any(hop["duplicate"] or hop["reorder"] for hop in transfer.hops):
        raise NotApplicableError("packets are duplicated or reordered on the way")


def need_no_loss(transfer: Transfer) -> None:
    """Raises where a packet may be lost by chance or by list."""
    if any(loses(hop) for hop in transfer.hops):
        raise NotApplicableError("packets are lost on the way")


def need_reno(transfer: Transfer) -> None:
    """Raises where the sender's window is not that of RFC 5681."""
    if transfer.congestion != "reno":
        raise NotApplicableError(f"the sender runs {transfer.congestion}, the form is of Reno")


_SLOW_START = frozenset({"tahoe", "reno", "cubic", "vegas", "bbr"})
"""Senders that are known to begin with slow start, or as fast; others have not been held against the form."""


def need_free_slow_start(transfer: Transfer) -> None:
    """Raises where nothing is known of the sender's slow start, or a first threshold ends it early."""
    if transfer.congestion not in _SLOW_START:
        raise NotApplicableError(
            f"the sender runs {transfer.congestion}, of whose slow start nothing is known"
        )
    threshold = transfer.initial_ssthresh
    if threshold is not None and threshold < transfer.window_bytes:
        raise NotApplicableError("slow start ends before the window is reached")


def need_idle_medium(transfer: Transfer, window: float) -> None:
    """Raises where a window of so many segments fills the slowest link, or a queue on the way.

    The forms take the round trip as given, and know no loss but that of the links.
    """
    if window * transfer.slowest > transfer.round_trip:
        raise NotApplicableError(
            f"the medium is the limit: a window of {round(window, 1):g} segments covers more than a"
            " round trip"
        )
    need_room(transfer, window)


def need_room(transfer: Transfer, window: float) -> None:
    """Raises where a burst of so many segments may find a queue on the way full."""
    for hop in transfer.forward:
        if hop["rate_bps"] is None:
            continue
        room = min(
            math.inf if hop["queue_packets"] is None else hop["queue_packets"],
            math.inf if hop["queue_bytes"] is None else hop["queue_bytes"] // transfer.packet,
        )
        # One more is in service.
        if window > room + 1:
            raise NotApplicableError(
                f"a queue on the way may drop packets: it holds {room} segments,"
                f" the window {round(window, 1):g}"
            )


def data_loss(transfer: Transfer) -> float:
    """The p of the models of TCP under loss: the probability that a full segment is lost.

    Raises:
        NotApplicableError: Nothing is lost, everything is, acknowledgments are too, or not by chance.
    """
    p = loss_probability(transfer.packet, transfer.forward)
    acks = loss_probability(transfer.header, transfer.backward)
    if p == 0:
        raise NotApplicableError("no data is lost: the form needs a loss above zero")
    if p == 1:
        raise NotApplicableError("every segment is lost")
    if acks > MAX_ACK_LOSS and not math.isclose(acks, MAX_ACK_LOSS):
        raise NotApplicableError(f"{acks:.2g} of the acknowledgments are lost too; the form loses data only")
    return p


def need_losses(transfer: Transfer, p: float) -> None:
    """Raises where a transfer ends before loss has set its window: a steady state has not begun."""
    if transfer.segments * p < 1:
        raise NotApplicableError("less than one loss is expected: the transfer ends before its steady state")


def _congestion(sender: Mapping[str, Any], receiver: Mapping[str, Any]) -> str:
    algorithm: str = sender["congestion"]
    selective = sender["sack"] and receiver["sack"]
    if algorithm == "reno" and sender["recovery"] == "tahoe" and not selective:
        return "tahoe"
    return algorithm
