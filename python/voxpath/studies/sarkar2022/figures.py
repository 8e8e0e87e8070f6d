"""Figures 2 to 8, drawn from our own traces, each with its claim as checks that can fail."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import TYPE_CHECKING

from voxpath.document import Axis, Check, Checks, Curve, Plot, Section
from voxpath.results.decisions import above, all_of, below, minus, negated
from voxpath.results.intervals import summarise
from voxpath.studies.base import in_reach, shown
from voxpath.studies.sarkar2022.questions import ONE_LOSS, SSTHRESH, Cell
from voxpath.studies.sarkar2022.scenario import FILE, LOSSES, SEGMENT, WINDOW, probability
from voxpath.studies.sarkar2022.tables import NOT_ASKED, computed
from voxpath.studies.sarkar2022.traces import Trace, every_trace, trace
from voxpath.studies.sarkar2022.verdicts import published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.results.intervals import Summary
    from voxpath.studies.sarkar2022.questions import Found

LONG, SHORT = float(published()["section2_3"]["simulated_s"]), float(published()["section3_4"]["first_s"])
"""Seconds of Figures 2, 4 and 7, and of their first part in Figures 3, 5 and 8."""

_GRID: Mapping[float, float] = {LONG: 1.0, SHORT: 0.1}
"""How often curves are sampled; the publication recorded every second."""

_BINS: Mapping[float, float] = {LONG: 10.0, SHORT: 1.0}
"""Over how many seconds rates are taken."""

_TIME = Axis("time from the SYN", "s")


def big_window() -> int:
    """Bytes of section 3.4."""
    return int(published()["section3_4"]["window"])


def section(found: Found) -> Section:
    """All of them."""
    title = "Figures 2 to 8"
    if not found.simulated:
        return Section(title, [NOT_ASKED])
    every = {loss: every_trace(found, Cell("riverbed16", loss, traced=True)) for loss in LOSSES}
    runs = {loss: traced[0] for loss, traced in every.items()}
    threshold = trace(found, Cell("riverbed16", "0 %", SSTHRESH, traced=True))
    lost = trace(found, Cell("riverbed16", "0 %", ONE_LOSS, traced=True))
    return Section(
        title,
        [
            *(_windows(runs, threshold, until) for until in (LONG, SHORT)),
            Checks("Figures 2 and 3", _window_checks(runs, threshold, lost)),
            *(_acknowledged(runs, until) for until in (LONG, SHORT)),
            Checks("Figures 4 and 5", acknowledged_checks(every)),
            _throughput(found),
            Checks("Figure 6", _throughput_checks(found)),
            *(_received(runs, until) for until in (LONG, SHORT)),
            Checks("Figures 7 and 8", received_checks(every)),
            computed("Figure 7 beside Table 4", [_ended()]),
        ],
    )


def _windows(runs: Mapping[str, Trace], threshold: Trace, until: float) -> Plot:
    every = _GRID[until]
    curves = []
    for name, run in {**runs, f"0 %, {SSTHRESH}": threshold}.items():
        x, y = run.server("cwnd_bytes").sampled(until, every)
        curves.append(Curve(name, x, y, style="steps"))
    return Plot(
        "Figure 2: congestion window"
        if until == LONG
        else f"Figure 3: congestion window, first {SHORT:.0f} s",
        f"The server's congestion window by loss, one run each, sampled every {every:g} s. Nothing bounds "
        f"it but loss: the receiver's {WINDOW} bytes do not.",
        _TIME,
        Axis("congestion window", "B", "log"),
        curves,
    )


def _window_checks(runs: Mapping[str, Trace], threshold: Trace, lost: Trace) -> list[Check]:
    free = runs["0 %"].server("cwnd_bytes")
    bounded = threshold.server("cwnd_bytes").values[-1]
    flights = {loss: run.server("flight_bytes").values.max() for loss, run in runs.items()}
    limits = "limited transmit is off, so that no more than the window is in flight"
    return [
        Check(
            "Without loss the window never shrinks.",
            bool((free.values[1:] >= free.values[:-1]).all()),
            f"from {free.values[0]:.0f} to {free.values[-1]:.0f} bytes",
        ),
        Check(
            f"The published {big_window():,} bytes are what a first threshold of 65,535 bytes gives: slow "
            "start to it, then MSS²/cwnd an acknowledgment. Table 2 has no such row; without one our "
            "window grows to megabytes.",
            abs(bounded / big_window() - 1) < 0.05 and free.values[-1] > 10 * big_window(),
            f"{bounded:.0f} bytes with it, {free.values[-1]:.0f} without",
        ),
        Check(
            "The threshold changes nothing else: the download takes as long, to the nanosecond.",
            threshold.completion == runs["0 %"].completion,
            f"{threshold.completion:.9f} s and {runs['0 %'].completion:.9f} s",
        ),
        cause_and_effect(lost),
        Check(
            "A bigger congestion window does not let the server send more (section 3.4): never are more "
            f"than {WINDOW} bytes in flight, whatever the window.",
            max(flights.values()) <= WINDOW,
            ", ".join(f"{loss}: {most:.0f}" for loss, most in flights.items()) + f"; {limits}",
        ),
    ]


def cause_and_effect(lost: Trace) -> Check:
    """Section 3.4 has no segments dropped while the window is 135,000 bytes.

    Args:
        lost: A run in which one segment is lost late.
    """
    window, again = lost.server("cwnd_bytes"), lost.server("retransmissions").reaches(1)
    before = 0.0 if again is None else window.just_before(again)
    after = float(window.values[window.at >= (again or 0.0)].min())
    return Check(
        "Loss makes windows small, not small windows loss: a segment that is lost at a window above "
        f"{big_window():,} bytes takes it to a few segments.",
        before > big_window() and after <= 6 * SEGMENT,
        f"{before:.0f} bytes before, {after:.0f} after",
    )


def _acknowledged(runs: Mapping[str, Trace], until: float) -> Plot:
    every = _GRID[until]
    curves = []
    for loss, run in runs.items():
        x, y = run.acknowledged().sampled(until, every)
        curves.append(Curve(loss, x, [value / 1e6 for value in y], style="steps"))
    return Plot(
        "Figure 4: acknowledged by the client"
        if until == LONG
        else f"Figure 5: acknowledged by the client, first {SHORT:.0f} s",
        f"What the client's acknowledgments cover, by loss, one run each, sampled every {every:g} s. The "
        "publication's curves start ten seconds later.",
        _TIME,
        Axis("acknowledged", "MB"),
        curves,
    )


def acknowledged_checks(runs: Mapping[str, Sequence[Trace]]) -> list[Check]:
    """What the text says of Figures 4 and 5; of some runs at each loss."""
    curves = {loss: [run.acknowledged() for run in traced] for loss, traced in runs.items()}
    half = {
        loss: summarise([curve.reaches(FILE / 2) or LONG for curve in found])
        for loss, found in curves.items()
    }
    *few, many = half.values()
    told = ", ".join(f"{loss}: {shown(seconds)} s" for loss, seconds in half.items())
    at = {loss: summarise([curve.just_before(30) / 1e6 for curve in found]) for loss, found in curves.items()}
    return [
        Check(
            f"On {LONG:.0f} s the curves up to 1 % are almost congruent: they reach half of the file within "
            "a fiftieth of the axis.",
            all_of(below(minus(one, other), LONG / 50) for one, other in permutations(few, 2)),
            told,
        ),
        Check(
            "The curve of 10 % is clearly slower: ten times and more.",
            all_of(above(many, one.scaled(10)) for one in few),
            told,
        ),
        Check(
            "In the first seconds they stand in the order of their loss.",
            all_of(negated(above(more, less)) for less, more in pairwise(at.values())),
            "after 30 s " + ", ".join(f"{loss}: {shown(value)} MB" for loss, value in at.items()),
        ),
    ]


def _throughput(found: Found) -> Plot:
    curves = [
        _published_throughput("table4", "Riverbed, as printed", 0),
        _published_throughput("table4", "Riverbed, less 10 s", 10),
        _own_throughput(found, "riverbed16", "riverbed16"),
        _published_throughput("table8", "testbed", 0),
        _own_throughput(found, "linux", "linux"),
    ]
    zero = ", ".join(f"{curve.name} {curve.y[0]:,.0f} bytes/s" for curve in curves)
    return Plot(
        "Figure 6: average throughput",
        "10,000,000 bytes over the time of the download, against the loss; bands are 95 % intervals of "
        f"the mean. A logarithmic axis has no 0 %: there it is {zero}.",
        Axis("loss", "%", "log"),
        Axis("throughput", "B/s", "log"),
        curves,
    )


def _published_throughput(table: str, name: str, offset: float) -> Curve:
    rows = published()[table]["rows"]
    return Curve(
        name,
        [100 * probability(row["loss"]) for row in rows],
        [FILE / (row["printed"] - offset) for row in rows],
        style="points",
    )


def _own_throughput(found: Found, variant: str, name: str) -> Curve:
    means, lows, highs = [], [], []
    for loss in LOSSES:
        summary = _rate(found, variant, loss)
        low, high = summary.interval or (summary.mean, summary.mean)
        means.append(summary.mean)
        lows.append(low)
        highs.append(high)
    return Curve(name, [100 * probability(loss) for loss in LOSSES], means, lows, highs)


def _rate(found: Found, variant: str, loss: str) -> Summary:
    """Bytes a second."""
    return summarise([FILE / t for t in found.values(Cell(variant, loss), "completion_s")])


def _throughput_checks(found: Found) -> list[Check]:
    rates = {loss: _rate(found, "riverbed16", loss) for loss in LOSSES}
    first, *_, last = rates.values()
    times = {row["loss"]: row["printed"] for row in published()["table4"]["rows"]}
    printed, meant = (
        (times["10 %"] - offset) / (times["0 %"] - offset) for offset in (0, published()["table4"]["offset"])
    )
    ratios = [
        slow / fast
        for slow, fast in zip(
            found.values(Cell("riverbed16", "10 %"), "completion_s"),
            found.values(Cell("riverbed16", "0 %"), "completion_s"),
            strict=True,
        )
    ]
    ours = summarise(ratios)
    low, high = ours.prediction or (ours.mean, ours.mean)
    times_longer = published()["section6"]["times_longer"]
    return [
        Check(
            "Throughput falls with loss, and at 10 % it has collapsed to less than a twentieth.",
            all_of([*(below(b, a) for a, b in pairwise(rates.values())), below(last, first.scaled(1 / 20))]),
            ", ".join(f"{loss}: {rate.mean:,.0f} bytes/s" for loss, rate in rates.items()),
        ),
        Check(
            f"The conclusion's {times_longer} times counts the ten seconds; less them the publication's "
            "ratio is ours.",
            all_of(
                [
                    round(printed) == times_longer,
                    in_reach(meant, low, high, 0.0) if ours.prediction else None,
                ]
            ),
            f"printed {printed:.1f}, less 10 s {meant:.1f}, ours [{low:.1f}, {high:.1f}]",
        ),
    ]


def _received(runs: Mapping[str, Trace], until: float) -> Plot:
    every = _BINS[until]
    curves = []
    for loss, run in runs.items():
        x, y = run.received(every)
        shown = [index for index, at in enumerate(x) if at <= until]
        curves.append(
            Curve(loss, [x[index] for index in shown], [y[index] / 1e3 for index in shown], style="line")
        )
    return Plot(
        "Figure 7: rate that reaches the client"
        if until == LONG
        else f"Figure 8: rate that reaches the client, first {SHORT:.0f} s",
        f"Data that reaches the client by loss, one run each, over {every:g} s at a time. A curve ends "
        "with its download.",
        _TIME,
        Axis("received", "kB/s"),
        curves,
    )


def received_checks(runs: Mapping[str, Sequence[Trace]]) -> list[Check]:
    """What the text says of Figures 7 and 8; of some runs at each loss."""
    rates = {loss: [run.received(1.0)[1] for run in traced] for loss, traced in runs.items()}
    silent = {
        loss: [sum(1 for rate in run[:-1] if rate == 0) for run in found] for loss, found in rates.items()
    }
    slow = runs["10 %"]
    whole = all(run.acknowledged().values.max() >= FILE for run in slow)
    completion = summarise([run.completion for run in slow])
    busy = [sum(1 for rate in run if rate > 0) for run in rates["10 %"]]
    pauses = {loss: summarise([float(count) for count in counts]) for loss, counts in silent.items()}
    return [
        Check(
            "At 10 % traffic is received: the whole file arrives, in spite of 'no traffics received at all'.",
            whole and min(busy) > 0,
            f"{FILE:,} bytes in {shown(completion)} s, in {shown(summarise(busy))} of these seconds",
        ),
        Check(
            "Traffic begins to pause at 1 %: below, no second passes without any.",
            all_of(
                [
                    *(not any(silent[loss]) for loss in LOSSES[:3]),
                    *(above(pauses[loss]) for loss in LOSSES[3:]),
                ]
            ),
            "seconds without traffic: " + ", ".join(f"{loss}: {shown(one)}" for loss, one in pauses.items()),
        ),
    ]


def _ended() -> Check:
    ended = published()["table4"]["rows"][-1]["printed"]
    nothing = published()["section3_7"]["nothing_received_after_s"]
    return Check(
        f"That nothing is received 'over {nothing} s' is no loss of performance: Table 4 has the download "
        "complete.",
        ended < nothing,
        f"{ended:g} s in Table 4",
    )
