"""Each sentence of the publication about its results as checks that can fail, one for each way it was run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from voxpath.report.document import Cell, Check, Checks, Table
from voxpath.results.intervals import Summary, paired, summarise
from voxpath.studies.ramli2018.scenario import SETTINGS, Setting, published

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.studies.ramli2018.measured import Measured
    from voxpath.studies.ramli2018.questions import Found, Way

LIMIT = float(published()["text"]["real_time_factor"])

_HIGHER_LOSS = ((1, 2), (3, 4))
_HIGHER_DELAY = ((1, 3), (2, 4))


def session(one: Measured) -> float:
    """The latency of Figure 4."""
    return one.session_s


def factor(one: Measured) -> float:
    """The real-time factor of Figure 5."""
    return one.total_factor


def of_way(found: Found, way: Way) -> dict[str, Check]:
    """Those that a way can answer, by the claim's name."""
    made = {setting.number: setting for setting in found.settings(way)}
    answers = {
        "length": _length(found, way),
        "loss": _grows(found, way, "loss", _HIGHER_LOSS),
        "delay": _grows(found, way, "delay", _HIGHER_DELAY),
        "mostly": _mostly(found, way) if len(made) == len(SETTINGS) else None,
        "setting1": _slower_than_speech(found, way, made[1]) if 1 in made else None,
        "good": _good(found, way, [made[number] for number in (2, 3, 4) if number in made]),
        "network": _network(found, way),
    }
    return {name: check for name, check in answers.items() if check is not None}


def _text(claim: str) -> str:
    return str(published()["claims"][claim]["text"])


def _length(found: Found, way: Way) -> Check:
    share = published()["claims"]["length"]["share"]
    told, grows, proportional = [], True, True
    for setting in found.settings(way):
        lines = [_line(run) for run in _runs(found.measured(way, setting))]
        slope, offset = (summarise([line[index] for line in lines]) for index in (0, 1))
        longest = max(found.lengths(way, setting).values())
        grows = grows and _surely_positive(slope)
        proportional = proportional and abs(offset.mean) <= share * (offset.mean + slope.mean * longest)
        told.append(f"setting {setting.number}: {offset} s and {slope} s for each second")
    return Check(_text("length"), grows and proportional, "; ".join(told))


def _runs(measured: Sequence[Measured]) -> list[list[Measured]]:
    runs: dict[int, list[Measured]] = {}
    for one in measured:
        runs.setdefault(one.replication, []).append(one)
    return list(runs.values())


def _line(run: Sequence[Measured]) -> tuple[float, float]:
    """Least squares: latency for each second of speech, and of none."""
    slope, intercept = statistics.linear_regression(
        [one.length_s for one in run], [one.session_s for one in run]
    )
    return slope, intercept


def _surely_positive(summary: Summary) -> bool:
    low = summary.mean if summary.interval is None else summary.interval[0]
    return low > 0


def _difference(
    found: Found, way: Way, pair: tuple[int, int], of: Callable[[Measured], float]
) -> Summary | None:
    """The mean of the paired differences of the first setting to the second, of all utterances."""
    first, second = (found.values(way, SETTINGS[number - 1], of) for number in pair)
    least = min(len(first), len(second))
    # Invalid runs on real hosts are left out: then the rest is not paired.
    if least and len(first) == len(second):
        return paired(first, second)
    return None


def _grows(found: Found, way: Way, claim: str, pairs: Sequence[tuple[int, int]]) -> Check | None:
    differences = {pair: _difference(found, way, pair, session) for pair in pairs}
    known = {pair: value for pair, value in differences.items() if value is not None}
    if not known:
        return None
    return Check(
        _text(claim),
        all(_surely_positive(value) for value in known.values()),
        "; ".join(f"setting {a} less setting {b}: {value} s" for (a, b), value in known.items()),
    )


def _mostly(found: Found, way: Way) -> Check | None:
    effects = []
    for pairs in (_HIGHER_DELAY, _HIGHER_LOSS):
        values = [_difference(found, way, pair, session) for pair in pairs]
        known = [value.mean for value in values if value is not None]
        if len(known) < len(pairs):
            return None
        effects.append(statistics.fmean(known))
    by_delay, by_loss = effects
    return Check(
        _text("mostly"), by_delay > by_loss, f"by delay {by_delay:.3f} s, by loss {by_loss:.3f} s of latency"
    )


def _factors(found: Found, way: Way, setting: Setting) -> dict[str, Summary]:
    told = {name: found.summary(way, setting, factor, name) for name in found.lengths(way, setting)}
    return {name: summary for name, summary in told.items() if summary is not None}


def _slower_than_speech(found: Found, way: Way, setting: Setting) -> Check:
    factors = _factors(found, way, setting)
    above = [name for name, summary in factors.items() if summary.mean > LIMIT]
    return Check(
        _text("setting1"),
        len(above) == len(factors),
        f"{len(above)} of {len(factors)} utterances above {LIMIT:g}; {_range(factors)}",
    )


def _good(found: Found, way: Way, settings: Sequence[Setting]) -> Check | None:
    factors = {
        f"{setting.number} {name}": summary
        for setting in settings
        for name, summary in _factors(found, way, setting).items()
    }
    if not factors:
        return None
    below = [name for name, summary in factors.items() if (summary.interval or (0, summary.mean))[1] < LIMIT]
    return Check(
        _text("good"),
        len(below) == len(factors),
        f"{len(below)} of {len(factors)} means surely below {LIMIT:g}; {_range(factors)}",
    )


def _range(factors: dict[str, Summary]) -> str:
    means = [summary.mean for summary in factors.values()]
    return f"real-time factors from {min(means):.3f} to {max(means):.3f}"


def _network(found: Found, way: Way) -> Check:
    told, holds = [], True
    for setting in found.settings(way):
        network = summarise(found.values(way, setting, lambda one: one.network_s))
        decoding = summarise(found.values(way, setting, lambda one: one.decoding_s))
        holds = holds and network.mean > decoding.mean
        told.append(f"setting {setting.number}: {network} s beside {decoding} s of decoding")
    return Check(_text("network"), holds, "; ".join(told))


def matrix(found: Found, ways: Sequence[Way]) -> Table:
    """Claims by ways."""
    judged = {way: of_way(found, way) for way in ways}
    rows: list[list[str | Cell]] = []
    for claim, told in published()["claims"].items():
        row: list[str | Cell] = [told["text"]]
        for way in ways:
            check = judged[way].get(claim)
            if check is None:
                row.append("")
            else:
                verdict = "holds" if check.holds else "does not hold"
                row.append(Cell(verdict, "good" if check.holds else "bad", check.evidence))
        rows.append(row)
    return Table(
        "Whether they hold",
        ("sentence", *(way.name for way in ways)),
        rows,
        ("Real runs on a machine that is short of processors (above) say more of it than of the network.",),
    )


def checks(found: Found, ways: Sequence[Way]) -> list[Checks]:
    """The same with what decided."""
    return [Checks(way.name, list(of_way(found, way).values())) for way in ways]
