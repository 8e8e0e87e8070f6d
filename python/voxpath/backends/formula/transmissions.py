"""How often something has to be sent until it arrives, and how much of what is sent once does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.transfer import need_order, need_room
from voxpath.backends.formula.wire import loss_probability

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.backends.formula.stream import Stream
    from voxpath.backends.formula.transfer import Transfer


def transmissions(segments: float, p: float) -> float:
    """The mean number of transmissions until n segments have arrived: n / (1 - p).

    The mean of a geometric distribution: what is sent again is lost again. The retransmissions among them
    are n p / (1 - p), where Table 7 of Sarkar et al. 2022 has n p.
    """
    return segments / (1 - p)


def expected_transmissions(transfer: Transfer) -> Mapping[str, float]:
    """The retransmissions that a transfer cannot avoid: n / (1 - p) - n.

    A lower bound: senders also send again what has arrived, after a timeout without selective
    acknowledgments, and with them by NextSeg() rules 3 and 4 of RFC 6675, where the window is full.

    Holds for every congestion control where data is lost by chance, whatever happens to acknowledgments,
    and no queue on the way can drop a packet.
    """
    need_order(transfer)
    need_room(transfer, transfer.window)
    full, rest = divmod(transfer.size, transfer.mss)
    again = 0.0
    for count, payload in ((full, transfer.mss), (1 if rest else 0, rest)):
        p = loss_probability(transfer.header + payload, transfer.forward)
        if count and p == 1:
            raise NotApplicableError("every segment is lost")
        if count:
            again += transmissions(count, p) - count
    return {f"{transfer.sender}_retransmissions": again}


def bit_errors_exact(stream: Stream) -> Mapping[str, float]:
    """Datagrams lost of n: n (1 - (1 - BER)^(8 L)), L the bytes of the IP packet; bits fail independently.

    Holds for a stream of a known length that has its path to itself, where nothing is duplicated.
    """
    return _lost(stream, "exact")


def bit_errors_linear(stream: Stream) -> Mapping[str, float]:
    """Datagrams lost of n: n min(1, 8 L BER), with equation (3) of Sarkar et al. 2022.

    Holds where `bit_errors_exact` does, and is near it while 8 L BER is far below 1: at 1 it loses all,
    the exact form 63 %.
    """
    return _lost(stream, "linear")


def _lost(stream: Stream, form: str) -> Mapping[str, float]:
    if stream.packets is None:
        raise NotApplicableError("the stream has no end: what is on its way then would count as lost")
    if stream.rival:
        raise NotApplicableError(f"it shares a link with {stream.rival}")
    if not any(hop["loss"]["kind"] == "bit_errors" for hop in stream.hops):
        raise NotApplicableError("no link has bit errors")
    if any(hop["duplicate"] for hop in stream.hops):
        raise NotApplicableError("packets are duplicated on the way")
    if any(link.load > 1 for link in stream.traffic):
        raise NotApplicableError("a link is slower than the stream: a queue drops or grows")
    return {"datagrams_lost": stream.packets * loss_probability(stream.packet, stream.hops, form)}
