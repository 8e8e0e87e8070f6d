"""RTP over UDP: the engine's call, whose microphone is the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from voxpath.voice.call.problems import CallError
from voxpath.voice.call.programs.rtp import MOST_COPY, copied, octets_around
from voxpath.voice.call.transports.base import NEVER, Arrivals, Carrier, with_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Wants, Way

_IP_UDP = 20 + 8
"""Octets of the headers of IPv4 and UDP; IPv6 has more."""
_PACKET = "1472 B"
_ROOM = 1_372
"""Octets of frames in such a packet, beside the headers of RTP and its extensions."""


class Rtp:
    """A packet for each frame; a lost one stays so unless later ones have a copy, or it is asked for."""

    name: ClassVar[str] = "rtp"
    about: ClassVar[str] = (
        "RTP over UDP (RFC 3550), with redundancy (RFC 2198) or NACK (RFC 4585) if asked for"
    )
    table: ClassVar[str] = "frames"
    framing: ClassVar[str] = "RTP with extensions for send time and level, UDP, IP: a packet for each frame"
    opens: ClassVar[float] = 0

    def stops(self, network: Network, way: Way) -> tuple[Network, Sequence[str]]:
        """Both ends."""
        return network, (way.from_, way.to)

    def drains(self, way: Way, wants: Wants) -> int:
        """Once, if what is lost is asked for; who is asked answers."""
        del way
        return int(wants.nack)

    def remarks(self, table: Callable[[str], pl.DataFrame], way: Way) -> list[str]:
        """Nothing: there is no connection."""
        del table, way
        return []

    def scenario(self, network: Network, ways: Sequence[Way], wants: Wants) -> dict[str, Any]:
        """One flow, whose ends send what is said at them."""
        times = ways[0].times
        lasts = max(way.end_ns for way in ways) - times.lead_ns + times.tail_ns
        there, back = ways[0], ways[1] if len(ways) > 1 else None
        app: dict[str, Any] = {
            "kind": "call",
            **_sends(there, wants, lasts),
            "back": "none" if back is None else _sends(back, wants, lasts),
            "duration": f"{lasts} ns",
        }
        flow = {
            "name": there.voice,
            "from": there.from_,
            "to": there.to,
            "start": f"{times.lead_ns} ns",
            "app": app,
        }
        return with_flows(network, flows=[flow])

    def packets(self, way: Way, wants: Wants) -> NDArray[np.int64]:
        """Each frame's own, or a later one that has a copy of it."""
        ticks = way.frame_ns * way.clock_hz // 1_000_000_000
        found = np.zeros(len(way.sizes), np.int64)
        sent = np.flatnonzero(way.sizes)
        for place, number in enumerate(sent):
            earlier = [(int(one) * ticks, int(one)) for one in sent[max(0, place - wants.redundancy) : place]]
            within = [int(one) for _, one in copied(int(number) * ticks, earlier)]
            octets = sum(way.sizes[one] for one in (*within, int(number)))
            octets += _IP_UDP + octets_around(len(within) if wants.redundancy else None)
            for one in within:
                found[one] = min(found[one], octets)
            found[number] = octets
        return found

    def carrier(self, network: Network, way: Way, wants: Wants) -> Carrier:
        """The speaker sends to where the listener waits."""
        _check_room(way, wants)
        arguments = (wants.redundancy, int(wants.nack), way.clock_hz)
        return Carrier("datagrams", way.to, list(map(str, arguments)), network)

    def arrivals(self, rows: pl.DataFrame, way: Way) -> Arrivals:
        """From the table of frames, in which those that were not sent have no row.

        The end that answers begins to speak when it hears of the call.
        """
        end = "client" if way.name == "there" else "server"
        import polars as pl

        rows = rows.filter(
            pl.col("flow").cast(pl.String) == way.voice, pl.col("end") == end, pl.col("media") == "audio"
        )
        found = Arrivals.nothing(way)
        spoken = np.flatnonzero(way.sizes)
        # An end that does not hear of the call's end goes on, and says the same again.
        rows = rows.head(len(spoken))
        number = spoken[: rows.height]
        captured = rows.get_column("captured_ns").cast(pl.Int64).to_numpy()
        if len(captured):
            found.captured[:] += captured[0] - found.captured[number[0]]
        for into, column in ((found.sent, "frame_sent_ns"), (found.complete, "frame_complete_ns")):
            into[number] = rows.get_column(column).cast(pl.Int64).fill_null(NEVER).to_numpy()
        return found


def _check_room(way: Way, wants: Wants) -> None:
    """Refuses frames that fit into no packet."""
    largest = max(way.sizes)
    if largest * (1 + wants.redundancy) > _ROOM:
        raise CallError(
            f"frames of {largest} bytes"
            + (f" and {wants.redundancy} copies" if wants.redundancy else "")
            + f" do not fit into an RTP packet, which has room for {_ROOM}: give shorter frames"
        )
    if wants.redundancy and largest > MOST_COPY:
        raise CallError(
            f"a redundant frame has at most {MOST_COPY} bytes (RFC 2198), and one has {largest}: "
            "give shorter frames"
        )


def _sends(way: Way, wants: Wants, lasts: int) -> dict[str, Any]:
    _check_room(way, wants)
    # After the last frame nothing is sent, and what is late is waited for. An end may stop a frame later.
    silence = (lasts + way.times.tail_ns) // way.frame_ns - len(way.sizes)
    mean = 8_000_000_000 * sum(way.sizes) // (len(way.sizes) * way.frame_ns)
    return {
        "audio": {
            "frame": f"{way.frame_ns} ns",
            "rate": f"{min(max(mean, 6_000), 510_000)} bit/s",
            "sizes": [f"{size} B" for size in (*way.sizes, *[0] * silence)],
        },
        "packet": _PACKET,
        "buffer": dict(wants.buffer),
        "redundancy": wants.redundancy,
        "audio_nack": wants.nack,
    }
