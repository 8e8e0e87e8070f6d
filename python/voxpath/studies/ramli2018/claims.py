"""Each sentence of the publication about its results as checks that can fail, one for each way it was run."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING

from voxpath.document import Cell, Check, Checks, Table
from voxpath.results.decisions import above, all_of, below, within
from voxpath.results.intervals import paired, summarise
from voxpath.studies.base import shown
from voxpath.studies.ramli2018.scenario import LIMIT, SETTINGS, Setting, published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.ramli2018.measured import Measured
    from voxpath.studies.ramli2018.questions import Found, Way

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
    doubt = found.doubt(way, list(made.values()))
    return {name: replace(check, set_aside=doubt) for name, check in answers.items() if check is not None}


def _text(claim: str) -> str:
    return str(published()["claims"][claim]["text"])


def _length(found: Found, way: Way) -> Check:
    share = published()["claims"]["length"]["share"]
    told: list[str] = []
    decided: list[Decision] = []
    for setting in found.settings(way):
        lines = [_line(run) for run in _runs(found.measured(way, setting))]
        slope, offset = (summarise([line[index] for line in lines]) for index in (0, 1))
        longest = max(found.lengths(way, setting).values())
        parts = [at_none / (at_none + each * longest) for each, at_none in lines]
        decided += [above(slope), within(summarise(parts), -share, share)]
        told.append(f"setting {setting.number}: {shown(offset)} s and {shown(slope)} s for each second")
    return Check(_text("length"), all_of(decided), "; ".join(told))


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
        all_of(map(above, known.values())),
        "; ".join(f"setting {a} less setting {b}: {shown(value)} s" for (a, b), value in known.items()),
    )


def _mostly(found: Found, way: Way) -> Check | None:
    values = {setting.number: found.values(way, setting, session) for setting in SETTINGS}
    if len({len(runs) for runs in values.values()}) > 1:
        return None
    by_delay, by_loss = (
        [statistics.fmean(one - other for one, other in run) for run in _pairs(values, pairs)]
        for pairs in (_HIGHER_DELAY, _HIGHER_LOSS)
    )
    return Check(
        _text("mostly"),
        above(paired(by_delay, by_loss)),
        f"by delay {shown(summarise(by_delay))} s, by loss {shown(summarise(by_loss))} s of latency",
    )


def _pairs(
    values: Mapping[int, Sequence[float]], pairs: Sequence[tuple[int, int]]
) -> Iterator[list[tuple[float, float]]]:
    """Of each run, the values of both settings of every pair."""
    for run in zip(*(zip(values[one], values[other], strict=True) for one, other in pairs), strict=True):
        yield list(run)


def _factors(found: Found, way: Way, setting: Setting) -> dict[str, Summary]:
    told = {name: found.summary(way, setting, factor, name) for name in found.lengths(way, setting)}
    return {name: summary for name, summary in told.items() if summary is not None}


def _slower_than_speech(found: Found, way: Way, setting: Setting) -> Check:
    factors = _factors(found, way, setting)
    decided = [above(summary, LIMIT) for summary in factors.values()]
    return Check(
        _text("setting1"),
        all_of(decided),
        f"{decided.count(True)} of {len(factors)} utterances surely above {LIMIT:g}, "
        f"{decided.count(False)} surely not; {_range(factors)}",
    )


def _good(found: Found, way: Way, settings: Sequence[Setting]) -> Check | None:
    factors = {
        f"{setting.number} {name}": summary
        for setting in settings
        for name, summary in _factors(found, way, setting).items()
    }
    if not factors:
        return None
    decided = [below(summary, LIMIT) for summary in factors.values()]
    return Check(
        _text("good"),
        all_of(decided),
        f"{decided.count(True)} of {len(factors)} means surely below {LIMIT:g}, "
        f"{decided.count(False)} surely not; {_range(factors)}",
    )


def _range(factors: dict[str, Summary]) -> str:
    means = [summary.mean for summary in factors.values()]
    return f"real-time factors from {min(means):.3f} to {max(means):.3f}"


def _network(found: Found, way: Way) -> Check:
    told: list[str] = []
    decided: list[Decision] = []
    for setting in found.settings(way):
        network = found.values(way, setting, lambda one: one.network_s)
        decoding = found.values(way, setting, lambda one: one.decoding_s)
        decided.append(above(paired(network, decoding)))
        both = [shown(summarise(values)) for values in (network, decoding)]
        told.append(f"setting {setting.number}: {both[0]} s beside {both[1]} s of decoding")
    return Check(_text("network"), all_of(decided), "; ".join(told))


def matrix(found: Found, ways: Sequence[Way]) -> Table:
    """Claims by ways."""
    judged = {way: of_way(found, way) for way in ways}
    rows: list[list[str | Cell]] = []
    for claim, told in published()["claims"].items():
        row: list[str | Cell] = [told["text"]]
        for way in ways:
            check = judged[way].get(claim)
            row.append("" if check is None else check.cell)
        rows.append(row)
    return Table(
        "Whether they hold",
        ("sentence", *(way.name for way in ways)),
        rows,
        (
            "Undecided: an interval lies on both sides of what the sentence says, or one run has none.",
            "Real runs on a machine that was short of processors say more of it than of the network.",
        ),
    )


def checks(found: Found, ways: Sequence[Way]) -> list[Checks]:
    """The same with what decided."""
    return [Checks(way.name, list(of_way(found, way).values())) for way in ways]
