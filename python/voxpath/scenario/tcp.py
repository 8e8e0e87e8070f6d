"""TCP's parameters as a scenario writes them: one key per parameter of `voxpath-tcp`'s `Config`.

A key that is left out keeps the profile's value. Sockets have fewer keys than hosts: those that an
application can set on a socket of a real kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from voxpath import _engine
from voxpath.names import did_you_mean
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Segments, Size, Span
from voxpath.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_SEGMENT = 64
"""Bytes of data that a segment may be limited to, at least."""
_Buffer = Annotated[PositiveSize, Field(le=2**30)]
_Attempts = Annotated[int, Field(ge=0, le=1000)]


def one_of(kind: str, names: Sequence[str]) -> AfterValidator:
    """A name of these; the engine knows which there are."""

    def known(name: str) -> str:
        if name not in names:
            raise ValueError(f"{name!r} is no {kind}; {did_you_mean(name, names)}")
        return name

    return AfterValidator(known)


Profile = Annotated[
    str,
    one_of("profile", _engine.profiles()),
    WithJsonSchema({"type": "string", "enum": _engine.profiles()}),
]
Congestion = Annotated[
    str,
    one_of("congestion control", _engine.congestions()),
    WithJsonSchema({"type": "string", "enum": _engine.congestions()}),
]


class Socket(Table):
    """Parameters of one socket."""

    mss: Annotated[PositiveSize, Field(ge=LEAST_SEGMENT, le=65_495)] | None = Field(
        None, description="Largest segment, bytes of data; TCP_MAXSEG."
    )
    send_buffer: _Buffer | None = Field(None, description="Sent or waiting data; SO_SNDBUF.")
    send_autotuning: bool | None = Field(
        None,
        description="Grow with the window up to `send_buffer`, as Linux does; off where a buffer is given.",
    )
    receive_buffer: _Buffer | None = Field(None, description="Received data; bounds the window; SO_RCVBUF.")
    receive_accounting: Literal["octets", "memory"] | None = Field(
        None, description="What the receive buffer counts; in `memory`, as in Linux, the window grows."
    )
    receive_autotuning: bool | None = Field(
        None,
        description="Grow from 128 KiB up to `receive_buffer`, as Linux does; off where a buffer is given.",
    )
    nagle: bool | None = Field(None, description="Hold back small segments; false is TCP_NODELAY.")
    congestion: Congestion | None = Field(None, description="Algorithm; TCP_CONGESTION.")

    def values(self) -> dict[str, Any]:
        """The keys that are given, as a plan holds them (nanoseconds, bytes), tables as dictionaries."""
        given = self.model_dump(exclude_unset=True, exclude_none=True, exclude={"kind", "client", "server"})
        # As SO_SNDBUF and SO_RCVBUF, which fix the buffer.
        for way in ("send", "receive"):
            if f"{way}_buffer" in given:
                given.setdefault(f"{way}_autotuning", False)
        return given


class DelayedAck(Table):
    """When acknowledgments are delayed."""

    max_delay: Span | None = Field(None, description="Longest delay; zero acknowledges at once.")
    max_segments: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="Full-sized segments after which an acknowledgment is sent at once."
    )
    adaptive: bool | None = Field(None, description="Follow the rhythm of the data, as Linux does.")
    quick: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        None, description="Segments acknowledged at once at the start and after a pause, if adaptive."
    )


class Rto(Table):
    """The retransmission timer of RFC 6298."""

    initial: PositiveSpan | None = Field(None, description="Before the first sample.")
    min: PositiveSpan | None = Field(None, description="Lower bound.")
    max: PositiveSpan | None = Field(None, description="Upper bound, of backed-off values too.")
    variance_floor: Span | None = Field(None, description="G of rules 2.2 and 2.3.")
    tick: Span | None = Field(None, description="The timer expires on whole multiples; zero is continuous.")
    estimator: Literal["rfc6298", "linux"] | None = Field(
        None, description="How the round-trip time is smoothed."
    )
    wheel: bool | None = Field(None, description="Linux' timer wheel: late by up to an eighth.")


class Persist(Table):
    """The persist timer."""

    min: PositiveSpan | None = Field(None, description="Shortest interval between probes.")
    max: PositiveSpan | None = Field(None, description="Longest interval between probes.")


class Keepalive(Table):
    """Probes of an idle connection; all keys are needed."""

    idle: PositiveSpan = Field(description="Silence before the first probe.")
    interval: PositiveSpan = Field(description="Between probes.")
    probes: Annotated[int, Field(ge=1, le=1000)] = Field(
        description="Probes without an answer after which the connection is given up."
    )


class Stack(Socket):
    """Parameters of a host's stack."""

    window_scaling: bool | None = Field(None, description="Offer window scaling (RFC 7323).")
    timestamps: bool | None = Field(None, description="Offer timestamps (RFC 7323).")
    sack: bool | None = Field(None, description="Offer selective acknowledgment (RFC 2018).")
    recovery: Literal["tahoe", "reno", "newreno", "linux"] | None = Field(
        None, description="What repairs a loss without selective acknowledgment."
    )
    initial_window: Annotated[Segments, Field(le=1000)] | None = Field(None, description="RFC 6928.")
    tolerated_syn_losses: Annotated[int, Field(ge=0, le=255)] | None = Field(
        None, description="Repetitions of the SYN that leave the initial window whole (RFC 5681: none)."
    )
    initial_ssthresh: Annotated[Size, Field(le=2**32 - 1)] | None = Field(
        None, description="Initial slow-start threshold in bytes."
    )
    nagle_rule: Literal["rfc896", "minshall"] | None = Field(
        None,
        description="What a small segment waits for where `nagle` is on: until all data is acknowledged "
        "(RFC 896), or, as in Linux, until the last small segment is (draft-minshall-nagle-01).",
    )
    dupack_threshold: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="Duplicate acknowledgments that signal a loss."
    )
    max_reordering: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="Most duplicates that `linux` recovery waits for once packets overtook each other."
    )
    rack: bool | None = Field(None, description="See losses by time, with SACK (RFC 8985).")
    loss_probe: bool | None = Field(None, description="Probe for the loss of a tail (TLP, RFC 8985).")
    prr: bool | None = Field(None, description="Proportional rate reduction (RFC 6937).")
    dsack: bool | None = Field(None, description="Report duplicates (RFC 2883).")
    undo: bool | None = Field(None, description="Take needless reductions back (RFC 3522, RFC 3708).")
    frto: bool | None = Field(None, description="Detect spurious timeouts (RFC 5682).")
    limited_transmit: bool | None = Field(None, description="RFC 3042.")
    slow_start_limit: Annotated[Segments, Field(le=2**31)] | None = Field(
        None, description="What one acknowledgment may add to the window in slow start (RFC 3465)."
    )
    slow_start_exit: Literal["loss", "hystart", "hystart++"] | None = Field(
        None, description="What ends slow start: a loss, Linux' HyStart (CUBIC only), RFC 9406."
    )
    cubic: Literal["rfc9438", "linux"] | None = Field(None, description="Which CUBIC `cubic` is.")
    ssthresh_from_cwnd: bool | None = Field(
        None, description="Reduce from cwnd and once a window, as Linux does; else from FlightSize."
    )
    window_from_duplicates: bool | None = Field(
        None,
        description="Take a smaller window from an acknowledgment that brings nothing else; Linux takes one "
        "that grows or closes alone.",
    )
    whole_segments: bool | None = Field(
        None,
        description="Count the congestion window in whole segments, of which a small one takes as much as a "
        "full one, and repeat them as they were sent, as Linux does.",
    )
    segmentation_offload: bool | None = Field(
        None, description="Send in bursts that wait to grow and whose last segment has PSH, as Linux does."
    )
    byte_counting: bool | None = Field(
        None, description="Count acknowledged bytes in congestion avoidance (RFC 5681 section 3.1)."
    )
    cwnd_validation: bool | None = Field(
        None,
        description="Grow the window only while it limits the sender (RFC 7661 section 4.1); with "
        "idle_restart it falls by half for each timeout of silence (RFC 2861).",
    )
    idle_restart: bool | None = Field(
        None,
        description="Fall back to the initial window after a timeout of silence (RFC 5681 section 4.1); with "
        "cwnd_validation by halves (RFC 2861).",
    )
    delayed_ack: DelayedAck | None = Field(None, description="RFC 5681 section 4.2.")
    ecn: Literal["off", "accept", "request"] | None = Field(
        None, description="Explicit congestion notification (RFC 3168)."
    )
    keepalive: Keepalive | None = Field(None, description="Probe idle connections (RFC 9293 section 3.8.4).")
    user_timeout: PositiveSpan | None = Field(
        None, description="Give up when data is unacknowledged for so long (RFC 5482)."
    )
    pacing: bool | None = Field(None, description="Space segments over the round trip.")
    rto: Rto | None = Field(None, description="RFC 6298.")
    persist: Persist | None = Field(None, description="RFC 9293 section 3.8.6.1.")
    syn_retries: _Attempts | None = Field(None, description="Retransmissions of a SYN before giving up.")
    retries: _Attempts | None = Field(None, description="Timeouts of one segment before giving up.")
    msl: Span | None = Field(None, description="Maximum segment lifetime; TIME-WAIT lasts twice as long.")
