"""What a transport of a voice is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from voxpath.voice.call.network import VOICE
from voxpath.voice.call.problems import CallError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voxpath.voice.call.network import Network

LEAD_NS = 2_000_000_000
"""When somebody begins to speak, if connections are open by then."""

PATIENCE_NS = 10_000_000_000
"""For an end that is connected late, beside the time in which connections open."""

TAIL_NS = 6_000_000_000
"""So long the run goes on after the last frame, for what comes late, beside what the way takes."""

NEVER = -1
"""In place of a time."""


@dataclass(frozen=True)
class Times:
    """How long a call waits (`voxpath.voice.call.times`), in nanoseconds.

    Attributes:
        lead_ns: From the start of a run to when somebody begins to speak.
        patience_ns: How long an end waits for the other one.
        tail_ns: How long the run goes on after the last frame.
        round_ns: What it takes there and back at most, queues left out.
    """

    lead_ns: int = LEAD_NS
    patience_ns: int = PATIENCE_NS
    tail_ns: int = TAIL_NS
    round_ns: int = 0


_USUAL = Times()


@dataclass(frozen=True)
class Way:
    """What one side says.

    Attributes:
        name: Of this direction, part of the names of its flows.
        from_: The host at which it is said.
        to: The host at which it is heard.
        sizes: Octets of each frame; 0 where nothing is sent.
        frame_ns: Length of a frame.
        clock_hz: Ticks of RTP's clock, if it is to be known.
        times: How long the call waits.
        voice: How names of the flows and processes that carry it begin.
    """

    name: str
    from_: str
    to: str
    sizes: Sequence[int]
    frame_ns: int
    clock_hz: int = 48_000
    times: Times = _USUAL
    voice: str = VOICE

    @property
    def end_ns(self) -> int:
        """When the last frame is encoded."""
        return self.times.lead_ns + len(self.sizes) * self.frame_ns

    @property
    def gone_ns(self) -> int:
        """When nothing of it is waited for any more, an end that was connected late included."""
        return self.end_ns + self.times.patience_ns + self.times.tail_ns


@dataclass(frozen=True)
class Wants:
    """What is asked of a transport.

    Attributes:
        buffer: The jitter buffer, as a scenario has it.
        redundancy: So many earlier frames in each packet.
        nack: Whether lost packets are asked for.
    """

    buffer: Mapping[str, Any]
    redundancy: int = 0
    nack: bool = False

    @property
    def repair(self) -> str | None:
        """What is to make up for losses, in a word; none if nothing is."""
        return "redundancy" if self.redundancy else "nack" if self.nack else None

    def refuse_repair(self, transport: str) -> None:
        """Refuses what makes up for losses where there are none.

        Raises:
            CallError: It is asked for.
        """
        if self.repair is not None:
            raise CallError(f"{self.repair} is RTP's: {transport} loses nothing")


@dataclass(frozen=True)
class Arrivals:
    """What became of each frame; times of the run in nanoseconds, `NEVER` where it did not happen.

    Attributes:
        captured: When it was encoded.
        sent: When it left its application.
        complete: When all of it was at the listener's jitter buffer.
        errors: Over the kernel, how often the sender's socket told of a lost packet, by the errors' names.
        remarks: What had to wait for a connection, or was lost for want of one, in words.
    """

    captured: NDArray[np.int64]
    sent: NDArray[np.int64]
    complete: NDArray[np.int64]
    errors: Mapping[str, int] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @classmethod
    def nothing(cls, way: Way) -> Arrivals:
        """No frame has been sent; they are captured one after the other."""
        count = len(way.sizes)
        captured = way.times.lead_ns + way.frame_ns * np.arange(count, dtype=np.int64)
        never = np.full(count, NEVER, np.int64)
        return cls(captured, never.copy(), never.copy())


@dataclass(frozen=True)
class Carrier:
    """How the very frames go over the kernel.

    Attributes:
        program: Of `voxpath.voice.call.programs`.
        door: The host at which one end waits for the other, or a broker for both; none if it is the end with
            fewer addresses, so that the other one opens a path from each.
        arguments: More of the program's.
        network: The network with what else it takes.
        port: That both directions have; none if each has its own.
        counts: Whether a listener tells of frames by their count, in place of their timestamps.
    """

    program: str
    door: str | None
    arguments: Sequence[str]
    network: Network
    port: int | None = None
    counts: bool = False


class Transport(Protocol):
    """A transport.

    Attributes:
        name: By which it is chosen.
        about: A line for help.
        framing: What it adds to a frame, in words.
        table: Of a run's tables that which tells what became of the frames.
        opens: How often something goes there and back before the first frame can leave and be taken; 0
            without a connection.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    framing: ClassVar[str]
    table: ClassVar[str]
    opens: ClassVar[float]

    def stops(self, network: Network, way: Way) -> tuple[Network, Sequence[str]]:
        """The network with what else it takes, and the hosts at which each frame of a direction is.

        Raises:
            CallError: It cannot be carried in this way.
        """
        ...

    def drains(self, way: Way, wants: Wants) -> int:
        """How often something goes there and back after the last frame until all came, if little is lost."""
        ...

    def remarks(self, table: Callable[[str], pl.DataFrame], way: Way) -> list[str]:
        """What of a direction had to wait for a connection, or was lost for want of one.

        Args:
            table: A table of the run by its name.
            way: The direction.
        """
        ...

    def scenario(self, network: Network, ways: Sequence[Way], wants: Wants) -> dict[str, Any]:
        """The network with the voice in it.

        Raises:
            CallError: It cannot be carried in this way.
        """
        ...

    def arrivals(self, rows: pl.DataFrame, way: Way) -> Arrivals:
        """What a run gave of one direction, from the rows of its table."""
        ...

    def packets(self, way: Way, wants: Wants) -> NDArray[np.int64] | None:
        """Octets of the smallest IP packet that has each frame in it, at least.

        None where a byte stream fits itself to the path's MTU.
        """
        ...

    def carrier(self, network: Network, way: Way, wants: Wants) -> Carrier:
        """How one direction goes over the kernel.

        Raises:
            CallError: It cannot be carried in this way.
        """
        ...


def with_flows(network: Network, **added: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A scenario with more flows and processes."""
    return {
        **network.data,
        **{key: [*network.data.get(key, []), *more] for key, more in added.items()},
    }


_SEGMENT, _HEADS = 536, 40
"""Octets of the smallest segment's data that anybody has to expect (RFC 9293 section 3.7.1), and of what a
transport puts around a frame at most."""


def rounds_of(way: Way) -> int:
    """In how many round trips a window that begins with a segment, and doubles, has taken all frames."""
    octets = sum(size + _HEADS for size in way.sizes if size)
    return (octets // _SEGMENT + 1).bit_length()
