"""Waiting for a link: the mean where arrivals are random, the bound where they are shaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.backends.formula.problems import NotApplicableError
from voxpath.backends.formula.wire import propagation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.backends.formula.stream import Stream

_ROUNDING = 1e-12


def md1_wait(load: float, service: float) -> float:
    """W_q = ρ s / (2 (1 - ρ)): mean seconds in the queue of an M/D/1 system, service not counted.

    Pollaczek and Khinchine's mean for a constant service time (L. Kleinrock, "Queueing Systems" I, 1975,
    section 5.6): packets of one size that come at random (Poisson), one server, a queue without end.

    No application of a plan sends at random, and streams at constant rates wait less than this: the form
    is for Python, not an estimator of a flow.

    Args:
        load: ρ, arrivals per second times s; 0 <= ρ < 1.
        service: s, seconds of one packet on the link.

    Raises:
        NotApplicableError: The load is 1 or more: the queue has no mean.
    """
    if not 0 <= load < 1:
        raise NotApplicableError(f"a load of {load:.3g} has no steady queue; from 0 to below 1 it has")
    return load * service / (2 * (1 - load))


def token_bucket_delay(burst: float, service_rate: float, latency: float = 0.0) -> float:
    """D <= T + σ/C: the longest delay of (σ, ρ) traffic at a server of rate C >= ρ that starts within T.

    R. Cruz, "A calculus for network delay" I, IEEE Transactions on Information Theory 37(1), 1991; in the
    form of J.-Y. Le Boudec and P. Thiran, "Network Calculus", 2001, section 1.4. Of several flows in one
    first-in, first-out queue, σ and ρ are the sums.

    Args:
        burst: σ in bytes, what may come at once.
        service_rate: C in bytes per second.
        latency: T in seconds.
    """
    return latency + burst / service_rate


def token_bucket_backlog(burst: float, rate: float, latency: float = 0.0) -> float:
    """B <= σ + ρ T: the most bytes that wait, the packet in service included.

    Sources as `token_bucket_delay`.

    Args:
        burst: σ in bytes.
        rate: ρ in bytes per second.
        latency: T in seconds.
    """
    return burst + rate * latency


def token_bucket_output(burst: float, rate: float, delay: float) -> float:
    """σ' = σ + ρ D: the burst with which the traffic leaves.

    Sources as `token_bucket_delay`.

    Args:
        burst: σ in bytes.
        rate: ρ in bytes per second.
        delay: D in seconds, how far delays vary.
    """
    return burst + rate * delay


def token_bucket(stream: Stream) -> Mapping[str, float]:
    """The bound of a stream's one-way delay: propagation plus `token_bucket_delay`.

    A stream at a constant rate is (σ, ρ) traffic with one datagram for σ: at worst, one of every stream on
    the link comes at the same moment. Attained where they do.

    Holds where one link on the way has a rate, no other comes before it, it carries constant streams only,
    and not more than its rate.
    """
    shared = [
        carried
        for hop, carried in zip(stream.hops, stream.traffic, strict=True)
        if hop["rate_bps"] is not None
    ]
    if len(shared) > 1 or any(link.spread for link in shared):
        raise NotApplicableError("more than one link with a rate: bursts grow from one to the next")
    if any(hop["reorder"] for hop in stream.hops):
        raise NotApplicableError("packets are held back on the way")
    for link in shared:
        if link.other:
            raise NotApplicableError(f"it shares a link with {link.other}, which keeps to no rate")
        if link.load > 1 + _ROUNDING:
            raise NotApplicableError("the link is slower than its streams together: the queue has no bound")
    seconds = propagation(stream.hops) + sum(link.burst for link in shared)
    return {"delay_max_ns": 1e9 * seconds}
