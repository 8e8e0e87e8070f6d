"""What RFC 8867 expects of a rate control in each case, as checks decided over replications."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from voxpath.document import Check
from voxpath.results.decisions import above, all_of, below, within
from voxpath.results.intervals import summarise
from voxpath.studies.base import shown
from voxpath.studies.rfc8867.measures import FAIR, MOSTLY, NEAR, over

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.rfc8867.measures import Run

    Runs = Sequence[Run]

VIDEO_MAX, VIDEO_MIN = 1_500_000, 150_000
"""Bit/s of video (section 4.3)."""

USED = 0.7
"""So much of what a bottleneck carries, or of what the flows can send, is close to it."""

STEADY = 0.15
"""A rate whose seconds deviate by no more of it does not oscillate."""

_PERSISTS = 5
"""Seconds: of the windows of RFC 8868 section 3 the one that is longer than a burst of a short TCP flow."""

LOSSY = 0.01
"""Loss below is minimal."""


def of_case(section: str, runs: Runs, others: Mapping[str, Runs]) -> list[Check]:
    """The checks of a case.

    Args:
        section: Of the RFC.
        runs: Of the case.
        others: Of what it is compared with: `reference` of 5.3, `5.1` of 6.2.
    """
    checks = _BY_CASE[section](runs, others)
    return [*checks, *_always(runs)]


def _always(runs: Runs) -> list[Check]:
    case = runs[0].case
    least = [
        min(run.rate(name, flow.start, case.end) for name, flow in zip(case.names, case.flows, strict=True))
        for run in runs
    ]
    return [
        _check(
            "No media flow falls below the least media rate, 150 kbit/s, over its time.",
            least,
            above,
            VIDEO_MIN,
            1e-3,
            "kbit/s",
        )
    ]


def _mean(runs: Runs, value: Callable[[Run], float]) -> Summary | None:
    found = over(runs, value)
    return summarise(found) if found else None


def _check(
    claim: str,
    values: Sequence[float],
    decide: Callable[[Summary | None, float], Decision],
    limit: float,
    scale: float,
    unit: str,
) -> Check:
    summary = summarise(values) if values else None
    told = "no value" if summary is None else f"{shown(summary.scaled(scale))} {unit}"
    return Check(claim, decide(summary, limit), f"{told}; limit {limit * scale:g} {unit}")


def _share(run: Run, index: int) -> float:
    """What a stretch's flows received when steady, over what they could have."""
    stretch = run.stretches[index]
    active = run.case.active(stretch.since)
    most = min(run.case.capacity(stretch.since), VIDEO_MAX * len(active))
    return stretch.steady / most


def _variation(run: Run, index: int) -> float:
    """By which part of it the steady rate of a stretch varies."""
    return run.stretches[index].variation


def _converges(runs: Runs, stretches: slice = slice(None)) -> list[Check]:
    chosen = range(len(runs[0].case.stretches))[stretches]
    shares = [_mean(runs, partial(_share, index=index)) for index in chosen]
    told = ", ".join(shown(share) for share in shares)
    variations = [_mean(runs, partial(_variation, index=index)) for index in chosen]
    waves = ", ".join(shown(one.scaled(100)) if one else "none" for one in variations)
    return [
        Check(
            "It converges to the bottleneck's capacity: in the second half of each stretch all flows "
            f"receive at least {USED:.0%} of it, or of what their encoders make.",
            all_of(above(share, USED) for share in shares),
            f"parts by stretch: {told}",
        ),
        Check(
            f"The rate does not oscillate there: its seconds deviate by less than {STEADY:.0%}.",
            all_of(below(one, STEADY) for one in variations),
            f"by stretch, %: {waves}",
        ),
    ]


def _case_5_2(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    each = [min(run.rate(name, 12, 25) for name in run.case.names) for run in runs]
    down = [run.stretches[3].steady / run.case.capacity(80) for run in runs]
    up = [run.stretches[4].steady / run.stretches[3].steady for run in runs]
    return [
        *_converges(runs),
        _check(
            "The flows stabilise around their maximum where the link can carry both (before 25 s).",
            each,
            above,
            0.8 * VIDEO_MAX,
            1e-3,
            "kbit/s",
        ),
        _check(
            "When the capacity drops, at 75 s, the flows decrease their rates to it.",
            down,
            below,
            1.05,
            1.0,
            "of it",
        ),
        _check(
            "When congestion disappears, at 100 s, they ramp up again.", up, above, 1.2, 1.0, "times as much"
        ),
    ]


def _case_5_3(runs: Runs, others: Mapping[str, Runs]) -> list[Check]:
    without = others["reference"]
    ratios = [
        run.rate("media1", 35, 99) / clean.rate("media1", 35, 99)
        for run, clean in zip(runs, without, strict=True)
    ]
    return [
        *_converges(runs),
        _check(
            "It copes with a congested feedback channel: from 35 s on it receives 80 % of what it does else.",
            ratios,
            above,
            0.8,
            1.0,
            "of it",
        ),
    ]


def _shares(runs: Runs) -> list[Check]:
    fair = over(runs, lambda run: run.fair(20))
    lost = over(runs, lambda run: run.lost)
    return [
        _check(
            "The flows converge to fair rates: over 20 s no two differ by a factor of three.",
            fair,
            above,
            0.999,
            100.0,
            "% of the windows",
        ),
        _check("With minimal loss.", lost, below, LOSSY, 100.0, "%"),
    ]


def _case_5_4(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    return [*_converges(runs), *_shares(runs)]


_LAST = slice(-1, None)
"""The stretch in which all flows send: before, they start one after the other."""


def _case_5_5(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    since, until = runs[0].case.stretches[-1]

    def settle(run: Run) -> float:
        took = [run.settled(name, since, until) for name in run.case.names]
        return sum(one is not None for one in took) / len(took)

    def spread(run: Run) -> float:
        rates = [run.rate(name, 200, 299) for name in run.case.names]
        return max(rates) / min(rates) if min(rates) else float("inf")

    return [
        *_converges(runs, _LAST),
        _check(
            "Each flow converges to a steady rate, irrespective of its round trip (5.5): after the last "
            f"start, at {since:g} s, its seconds come within {NEAR:.0%} of it by half of the time, and "
            f"{MOSTLY:.0%} of them stay there.",
            [100 * settle(run) for run in runs],
            above,
            99.9,
            1.0,
            "% of the flows",
        ),
        *_shares(runs),
        _check(
            "Whatever the round trips: in the last 100 s the rates are within a factor of three.",
            [spread(run) for run in runs],
            below,
            FAIR[1],
            1.0,
            "times",
        ),
    ]


def beside_tcp(runs: Runs, since: float = 30) -> list[float]:
    """What media flows have on average over what TCP flows have, in each run."""

    def ratio(run: Run) -> float:
        media = sum(run.rate(name, since, run.case.end) for name in run.case.names) / len(run.case.names)
        tcp = sum(run.tcp.values()) / len(run.tcp)
        return media / tcp if tcp else float("inf")

    return [ratio(run) for run in runs]


def friendly(ratios: Sequence[float], what: str) -> list[Check]:
    """The dispute: fair, starved by TCP, or starving it.

    Args:
        ratios: Of a media flow's rate over a TCP flow's, in each run.
        what: Where.
    """
    found = summarise(ratios) if ratios else None
    told = f"{shown(found)} times the rate of a TCP flow"
    low, high = FAIR
    return [
        Check(
            f"It collaborates with TCP, {what}: neither has more than three times the other's rate.",
            within(found, low, high),
            told,
        ),
        Check(
            f"It starves beside TCP, {what}: it has less than a third of a TCP flow's rate.",
            below(found, low),
            told,
        ),
    ]


def _case_5_6(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    fair, _ = friendly(beside_tcp(runs), f"one long flow, {runs[0].case.queue_ms} ms of queue")
    return [fair]


def _case_5_7(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    def left(run: Run) -> float:
        room = run.case.capacity(0) - sum(run.tcp.values())
        return run.stretches[-1].steady / min(room, VIDEO_MAX * len(run.case.names))

    def recovers(run: Run) -> float:
        before = {name: run.rate(name, 99, 199) for name in run.case.names}
        return min(run.rate(name, 199, 299) / was if was else 0.0 for name, was in before.items())

    return [
        _check(
            "They converge to what the short flows leave: in the second half of their time all media flows "
            f"receive at least {USED:.0%} of it, or of what their encoders make.",
            [left(run) for run in runs],
            above,
            USED,
            1.0,
            "of it",
        ),
        _check(
            "They recover from each burst (5.7): in the last 100 s each receives at least 80 % of what it "
            "did in the 100 s before.",
            [recovers(run) for run in runs],
            above,
            0.8,
            1.0,
            "of it",
        ),
        _check(
            "There is no persistent starvation (5.7): no flow has less than the least media rate, "
            f"150 kbit/s, over {_PERSISTS} s.",
            [100 * run.fed(VIDEO_MIN, _PERSISTS) for run in runs],
            above,
            99.9,
            1.0,
            "% of the windows",
        ),
        _check(
            "Over 20 s no two media flows differ by a factor of three.",
            over(runs, lambda run: run.fair(20)),
            above,
            0.999,
            100.0,
            "% of the windows",
        ),
    ]


def _case_5_8(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    paused = [min(run.rate(name, 50, 60) for name in ("media1", "media3")) for run in runs]
    before = [run.rate("media2", 25, 40) for run in runs]
    after = [run.rate("media2", 100, 119) / was for run, was in zip(runs, before, strict=True) if was]
    return [
        *_shares(runs),
        _check(
            "While one flow pauses the two others reach the maximum media rate.",
            paused,
            above,
            0.9 * VIDEO_MAX,
            1e-3,
            "kbit/s",
        ),
        _check("When it resumes it comes back to the share that it had.", after, above, 0.8, 1.0, "of it"),
    ]


def _case_6_1(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    def ratio(run: Run) -> float:
        others = (run.rate("media2", 80, 119) + run.rate("media3", 80, 119)) / 2
        return run.rate("media1", 80, 119) / others if others else float("inf")

    found = summarise([ratio(run) for run in runs])
    return [
        Check(
            "The flow of priority 2 has about twice the rate of the others: 1.5 to 2.5 times.",
            within(found, 1.5, 2.5),
            f"{shown(found)} times",
        )
    ]


def _case_6_2(runs: Runs, others: Mapping[str, Runs]) -> list[Check]:
    without = others["5.1"]
    delays = [
        run.queueing_quantile(0.95) - clean.queueing_quantile(0.95)
        for run, clean in zip(runs, without, strict=True)
    ]
    return [
        *_converges(runs),
        _check(
            "It performs better than with a queue that only drops: p95 of the queueing delay is lower.",
            delays,
            below,
            0.0,
            1.0,
            "ms",
        ),
    ]


def _case_6_3(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    def used(run: Run, hop: int, name: str) -> float:
        carried = run.case.reference * run.case.hops[hop]
        return (run.rate("media1", 150, 299) + run.rate(name, 150, 299)) / min(carried, 2 * VIDEO_MAX)

    def least(run: Run) -> float:
        rates = [run.rate(name, 150, 299) for name in run.case.names]
        fair = run.case.reference * min(run.case.hops) / 2
        return min(rates) / fair

    return [
        _check(
            "It uses the first bottleneck.",
            [used(run, 0, "media2") for run in runs],
            above,
            USED,
            1.0,
            "of it",
        ),
        _check(
            "It uses the second one.", [used(run, 2, "media3") for run in runs], above, USED, 1.0, "of it"
        ),
        _check(
            "No flow starves: each has more than a third of an equal share of the narrower one.",
            [least(run) for run in runs],
            above,
            FAIR[0],
            1.0,
            "of it",
        ),
    ]


def _case_5_1(runs: Runs, _others: Mapping[str, Runs]) -> list[Check]:
    return _converges(runs)


_BY_CASE: dict[str, Callable[[Runs, Mapping[str, Runs]], list[Check]]] = {
    "5.1": _case_5_1,
    "5.2": _case_5_2,
    "5.3": _case_5_3,
    "5.4": _case_5_4,
    "5.5": _case_5_5,
    "5.6": _case_5_6,
    "5.7": _case_5_7,
    "5.8": _case_5_8,
    "6.1": _case_6_1,
    "6.2": _case_6_2,
    "6.3": _case_6_3,
}
