"""Closed forms: what the literature says without running anything.

Each is an estimator of its own, none is "the" answer, and each says where it does not apply. Here are the
window
limit and the medium limit; both hold for one TCP transfer on a path that loses nothing and that it has to
itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voxpath.backends.base import Row
from voxpath.backends.path import directions, paths, sharers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.backends.base import Question
    from voxpath.backends.path import Path
    from voxpath.scenario.resolve import Plan

ETHERNET_OVERHEAD = 38
"""Preamble 8, header 14, checksum 4, gap 12; `Framing` in `crates/sim/src/plan.rs`."""

_WINDOW_WITHOUT_SCALING = 65_535


class NotApplicableError(Exception):
    """A formula does not cover the case; the message says why."""


@dataclass
class FormulaBackend:
    """Answers by closed forms, one question as the other, at once."""

    name: str = field(default="formula", init=False)

    def answer(self, questions: Sequence[Question]) -> list[list[Row]]:
        """Completion and goodput of every flow by every formula."""
        return [_rows(question.document.plan) for question in questions]


@dataclass(frozen=True)
class Transfer:
    """One TCP transfer on an undisturbed path, as the formulas see it.

    Attributes:
        size: Bytes of data.
        mss: Data of a full segment in bytes.
        header: Bytes of IP and TCP header before the data.
        window: Bytes that may be in flight: the receiver's announced or the sender's own buffer.
        initial_window: Segments.
        ack_every: Full segments that one acknowledgment covers.
        ack_opens: Segments by which one acknowledgment opens the window in slow start.
        forward: What the links do to the data's packets, in order.
        backward: The same for acknowledgments.
        asked: Whether the data is asked for after the connection is established.
    """

    size: int
    mss: int
    header: int
    window: int
    initial_window: int
    ack_every: int
    ack_opens: int
    forward: Sequence[Mapping[str, Any]]
    backward: Sequence[Mapping[str, Any]]
    asked: bool


def window_limit(transfer: Transfer) -> float:
    """Seconds from the SYN to the last byte at the receiver where the window is the limit.

    Cardwell, Savage and Anderson, "Modeling TCP latency", INFOCOM 2000, without loss. With n segments to
    send, a window of W segments, the initial window w1, one acknowledgment for b segments that opens
    the window by L (1 in the publication) in slow start, γ = 1 + L/b, and the round trip R:

        T = R_h + R n / W                                                     if w1 >= W
        T = R_h + R log_γ(n (γ - 1) / w1 + 1)                                 if the window never opens
        T = R_h + R (log_γ(W / w1) + 1 + (n - (γ W - w1) / (γ - 1)) / W)      otherwise

    R is the propagation both ways plus the times on the wire that a round cannot avoid: of a segment on
    every link, of the b - 1 further segments that the receiver waits for on the slowest, of an
    acknowledgment on the way back. R_h is the round trip of the SYN. A request travels half a round, as the
    last segment does; data that nobody asks for is half a round faster. Nagle's delay of a short last segment
    is not counted.

    Raises:
        NotApplicableError: The medium is the limit, not the window.
    """
    segment = transfer.header + min(transfer.mss, transfer.size)
    segments = math.ceil(transfer.size / transfer.mss)
    window = transfer.window // transfer.mss
    if window == 0:
        raise NotApplicableError("the window is smaller than one segment")
    slowest = max(wire_time(segment, link) for link in transfer.forward)
    propagation: float = sum(link["delay_ns"] for link in (*transfer.forward, *transfer.backward)) / 1e9
    acknowledgment = sum(wire_time(transfer.header, link) for link in transfer.backward)
    round_trip = (
        propagation
        + sum(wire_time(segment, link) for link in transfer.forward)
        + (transfer.ack_every - 1) * slowest
        + acknowledgment
    )
    if window * slowest > round_trip:
        raise NotApplicableError("the medium is the limit: the window covers more than a round trip")
    handshake = propagation + sum(
        wire_time(transfer.header, link) for link in (*transfer.forward, *transfer.backward)
    )
    first = min(transfer.initial_window, window)
    growth = 1 + transfer.ack_opens / transfer.ack_every
    opened = (growth * window - first) / (growth - 1)
    if first == window:
        rounds = segments / window
    elif segments <= opened:
        rounds = math.log(segments * (growth - 1) / first + 1, growth)
    else:
        rounds = math.log(window / first, growth) + 1 + (segments - opened) / window
    return handshake + rounds * round_trip - (0 if transfer.asked else propagation / 2)


def medium_limit(transfer: Transfer) -> float:
    """Seconds that the data occupies the slowest link, headers and framing included.

    T = 8 (size + n overhead) / rate with n segments; the goodput for long transfers is then rate mss / (mss +
    overhead), equation (8) of Sarkar et al. 2022. No transfer is faster, whatever its window.

    Raises:
        NotApplicableError: No link on the way has a rate.
    """
    if all(link["rate_bps"] is None for link in transfer.forward):
        raise NotApplicableError("no link on the way has a rate")
    full, rest = divmod(transfer.size, transfer.mss)
    return max(
        full * wire_time(transfer.header + transfer.mss, link)
        + (wire_time(transfer.header + rest, link) if rest else 0.0)
        for link in transfer.forward
    )


ESTIMATORS: Mapping[str, Callable[[Transfer], float]] = {
    "window_limit": window_limit,
    "medium_limit": medium_limit,
}


def wire_time(size: int, link: Mapping[str, Any]) -> float:
    """Seconds that an IP packet of `size` bytes occupies a link."""
    if link["rate_bps"] is None:
        return 0.0
    framing = ETHERNET_OVERHEAD if link["framing"] == "ethernet" else 0
    return float(8 * (size + framing) / link["rate_bps"])


def _rows(plan: Plan) -> list[Row]:
    taken = paths(plan)
    shared = sharers(taken)
    rows: list[Row] = []
    for index, flow in enumerate(plan.data["flows"]):
        for name, estimate in ESTIMATORS.items():
            try:
                _alone(plan, shared[index])
                transfer = transfer_of(plan, index, taken[index])
                seconds = estimate(transfer)
            except NotApplicableError as error:
                for metric in ("completion_s", "goodput_bps"):
                    row = Row(flow["name"], metric, name, None, 0, None, "not applicable", str(error))
                    rows.append(row)
            else:
                rows.append(Row(flow["name"], "completion_s", name, seconds))
                rows.append(Row(flow["name"], "goodput_bps", name, 8 * transfer.size / seconds))
    return rows


def transfer_of(plan: Plan, index: int, path: Path) -> Transfer:
    """A flow of a plan as the formulas see it.

    Raises:
        NotApplicableError: It is not one transfer on a path that is kind to its packets.
    """
    flow = plan.data["flows"][index]
    app = flow["app"]
    if app["kind"] == "cbr":
        raise NotApplicableError("a constant bit rate over UDP has no window")
    if app["kind"] == "bulk" and app["bytes"] is None:
        raise NotApplicableError("the transfer has no end")
    if app["kind"] == "download" and app["requests"] > 1:
        raise NotApplicableError("more than one request: what the window does in the pauses is not covered")
    asked = app["kind"] == "download"
    client, server = flow["transport"]["client"], flow["transport"]["server"]
    sender, receiver = (server, client) if asked else (client, server)
    ends = (flow["to"], flow["from"]) if asked else (flow["from"], flow["to"])
    there, back = (path.back, path.there) if asked else path
    forward, backward = directions(plan, there), directions(plan, back)
    _undisturbed([*forward, *backward])
    if sender["initial_ssthresh"] is not None and sender["initial_ssthresh"] < receiver["receive_buffer"]:
        raise NotApplicableError("slow start ends before the window is reached")
    announced = receiver["receive_buffer"]
    if not (sender["window_scaling"] and receiver["window_scaling"]):
        announced = min(announced, _WINDOW_WITHOUT_SCALING)
    timestamps = sender["timestamps"] and receiver["timestamps"]
    v6 = not _have_v4(plan, ends)
    header = (40 if v6 else 20) + 20 + (12 if timestamps else 0)
    ack_every = receiver["delayed_ack"]["max_segments"] if receiver["delayed_ack"]["max_delay"] else 1
    return Transfer(
        size=app["response_bytes"] if asked else app["bytes"],
        mss=min(sender["mss"], receiver["mss"]) - (12 if timestamps else 0),
        header=header,
        window=min(announced, sender["send_buffer"]),
        initial_window=sender["initial_window"],
        ack_every=ack_every,
        ack_opens=min(ack_every, sender["slow_start_limit"]),
        forward=forward,
        backward=backward,
        asked=asked,
    )


def _alone(plan: Plan, sharer: int | None) -> None:
    if sharer is not None:
        raise NotApplicableError(f"it shares a link with {plan.data['flows'][sharer]['name']}")


def _undisturbed(links: Sequence[Mapping[str, Any]]) -> None:
    for link in links:
        if _lossy(link["loss"]):
            raise NotApplicableError("packets are lost on the way")
        if link["duplicate"] or link["reorder"]:
            raise NotApplicableError("packets are duplicated or reordered on the way")


def _lossy(loss: Mapping[str, Any]) -> bool:
    return any(loss.get(key) for key in ("p", "rate", "packets"))


def _have_v4(plan: Plan, nodes: Sequence[int]) -> bool:
    return all(any(":" not in address for address in plan.data["nodes"][node]["addresses"]) for node in nodes)
