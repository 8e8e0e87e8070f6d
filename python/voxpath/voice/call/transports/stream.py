"""Byte streams: frames one behind the other on a connection; a lost segment holds up all that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from voxpath.voice.call.transports.base import NEVER, Arrivals, Carrier, rounds_of, with_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Wants, Way

_LENGTH = 4
"""Octets of a streamed update's head that the engine counts by itself."""


class Stream:
    """A connection for each direction, opened by the listener before anybody speaks.

    The engine has it as updates that the speaker has for the listener (`push`), streamed as they are ready.
    """

    name: ClassVar[str] = "tcp"
    about: ClassVar[str] = "RTP packets framed on a TCP connection (RFC 4571)"
    framing: ClassVar[str] = (
        "RTP's header and a length of 2 bytes (RFC 4571), TCP without Nagle's algorithm, IP"
    )
    table: ClassVar[str] = "messages"
    opens: ClassVar[float] = 2.5
    """SYN and its answer; what the listener asks for; and the head of what it gets, which is alone in its
    window where the answer was sent again (RFC 6298 section 5.7)."""
    TRANSPORT: ClassVar[Mapping[str, Any]] = {"kind": "tcp", "nagle": False}

    def stops(self, network: Network, way: Way) -> tuple[Network, Sequence[str]]:
        """Both ends."""
        return network, (way.from_, way.to)

    def drains(self, way: Way, wants: Wants) -> int:
        """As often as the congestion window has to grow."""
        del wants
        return rounds_of(way)

    def remarks(self, table: Callable[[str], pl.DataFrame], way: Way) -> list[str]:
        """From the table of connections: the speaker's end is the server's."""
        import polars as pl

        rows = table("connections").filter(
            pl.col("flow").cast(pl.String) == f"{way.voice}-{way.name}",
            pl.col("end").cast(pl.String) == "server",
        )
        opened = rows.get_column("established_ns").cast(pl.Int64).min()
        if not isinstance(opened, int):
            return ["the connection was never open"]
        if opened <= way.times.lead_ns:
            return []
        return [f"the connection was open {(opened - way.times.lead_ns) / 1e9:.2f} s after speech began"]

    @staticmethod
    def head(size: int) -> int:
        """Octets before a frame of this size."""
        del size
        return 2 + 12

    def scenario(self, network: Network, ways: Sequence[Way], wants: Wants) -> dict[str, Any]:
        """A flow for each direction."""
        wants.refuse_repair(self.name)
        return with_flows(network, flows=[self._flow(way) for way in ways])

    def _flow(self, way: Way) -> dict[str, Any]:
        updates = [
            [f"{way.times.lead_ns + number * way.frame_ns} ns", f"{size + self.head(size) - _LENGTH} B"]
            for number, size in enumerate(way.sizes)
            if size
        ]
        return {
            "name": f"{way.voice}-{way.name}",
            "from": way.to,
            "to": way.from_,
            "transport": dict(self.TRANSPORT),
            "app": {"kind": "push", "way": "streaming", "event": f"{_LENGTH} B", "updates": updates},
        }

    def carrier(self, network: Network, way: Way, wants: Wants) -> Carrier:
        """The speaker waits for the listener."""
        wants.refuse_repair(self.name)
        return Carrier("streams", way.from_, ["tcp"], network)

    def packets(self, way: Way, wants: Wants) -> None:
        """None that have frames: a byte stream."""
        del way, wants

    def arrivals(self, rows: pl.DataFrame, way: Way) -> Arrivals:
        """From the table of messages."""
        import polars as pl

        rows = rows.filter(pl.col("flow").cast(pl.String) == f"{way.voice}-{way.name}")
        found = Arrivals.nothing(way)
        sent = [number for number, size in enumerate(way.sizes) if size]
        number = rows.get_column("message").cast(pl.Int64).gather_every(1).to_numpy()
        frames = [sent[one] for one in number]
        found.sent[frames] = rows.get_column("ready_ns").cast(pl.Int64).to_numpy()
        found.complete[frames] = rows.get_column("received_ns").cast(pl.Int64).fill_null(NEVER).to_numpy()
        return found
