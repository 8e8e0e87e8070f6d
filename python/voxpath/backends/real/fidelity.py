"""Whether a run was what it claims to be: how late it was, and what it lost without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LATE_NS = 1_000_000
"""How late the 99th percentile of all deliveries may always be."""

LATE_SHARE = 0.05
"""And how late as a share of the shortest way's delay, where that is more."""

STALL_NS = 100_000_000
"""How late any single delivery may always be: a loop that stood still delays few packets, but these long."""

STALL_SHARE = 0.01
"""And how late as a share of the run's length, where that is more."""

STARVED_SHARE = 0.05
"""For what share of a run whoever sends and receives on its hosts may have waited for a processor."""

STARVED_LEAST_NS = 50_000_000
"""What is waited in no more than this says nothing: a thread may wait as long to be started."""

OTHERS_SHARE = 0.1
"""Which share of the processors' time others may have used while a program waited."""

STOLEN_SHARE = 0.1
"""Which share of the processors' time the machine below may have kept for itself."""


def limit_ns(shortest_delay_ns: int | None) -> int:
    """What the 99th percentile of the deliveries' lateness must not exceed."""
    return max(LATE_NS, int(LATE_SHARE * (shortest_delay_ns or 0)))


def stall_limit_ns(ended_ns: int) -> int:
    """What the lateness of no delivery must exceed in a run of such a length."""
    return max(STALL_NS, int(STALL_SHARE * ended_ns))


def starved(found: Mapping[str, Any], ended_ns: int) -> list[str]:
    """Why a run is invalid though its packets were on time: who was to send them had no processor.

    Args:
        found: `ends_waited_ns` of the thread of the flows' ends, `programs_waited_ns` by host, and
            `others_share` and `stolen_share`, none where unknown.
        ended_ns: The run's length.
    """
    most = max(STARVED_SHARE * ended_ns, STARVED_LEAST_NS)
    waiting = {"the ends of the flows": found["ends_waited_ns"]}
    others = found["others_share"]
    # Else a program waits for what it has started itself.
    if others is not None and others > OTHERS_SHARE:
        waiting |= {f"a program on host {host!r}": ns for host, ns in found["programs_waited_ns"].items()}
    told = [
        f"{who} waited {ns / 1e9:.3g} s of {ended_ns / 1e9:.3g} s for a processor, where "
        f"{STARVED_SHARE:.0%} is allowed: the machine had no time for them"
        for who, ns in waiting.items()
        if ns > most
    ]
    stolen = found["stolen_share"]
    if stolen is not None and stolen > STOLEN_SHARE:
        told.append(
            f"{stolen:.0%} of the processors' time was stolen, where {STOLEN_SHARE:.0%} is allowed: "
            "the machine below was busy with something else"
        )
    return told


def problems(found: Mapping[str, Any], limit: int, stall_limit: int, names: Sequence[str]) -> list[str]:
    """Why a run is invalid; empty if it is not.

    Args:
        found: What the engine says of it, `fidelity` in `crates/py/src/real.rs`.
        limit: As `limit_ns`.
        stall_limit: As `stall_limit_ns`.
        names: Of the plan's nodes.
    """
    told = []
    late = found["deliveries"]["p99_ns"]
    if late > limit:
        told.append(
            f"packets were delivered {late / 1e6:.3g} ms late (99th percentile), where {limit / 1e6:.3g} ms "
            "are allowed: the machine could not keep up"
        )
    stalled = found["deliveries"]["max_ns"]
    if stalled > stall_limit:
        told.append(
            f"a packet was delivered {stalled / 1e6:.0f} ms late, where {stall_limit / 1e6:.0f} ms are "
            "allowed: the machine could not keep up"
        )
    for device in found["devices"]:
        host = names[device["node"]]
        if device["send_dropped"]:
            told.append(
                f"host {host!r} sent {device['send_dropped']} packets that its device dropped before they "
                "reached the network: the network could not keep up"
            )
        if device["receive_dropped"]:
            told.append(f"host {host!r} dropped {device['receive_dropped']} packets that reached it")
        if device["unread"]:
            told.append(
                f"{device['unread']} datagrams had reached host {host!r} and found their sockets full: who "
                "reads them could not keep up"
            )
    if found["packets_refused"]:
        told.append(f"devices refused {found['packets_refused']} packets")
    return told
