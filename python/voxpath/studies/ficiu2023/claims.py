"""Each sentence of the publication about its results, as a check that can fail."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Check
from voxpath.results.decisions import above, all_of, below, within
from voxpath.results.intervals import paired, summarise
from voxpath.studies.base import shown
from voxpath.studies.ficiu2023.experiment import CURVES, REUSES, published

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voxpath.results.intervals import Summary
    from voxpath.studies.ficiu2023.experiment import Course

Courses = dict[tuple[float, int], list["Course"]]
"""By α_r and N_it, one for each replication; the same replication is the same room and noise everywhere."""

_USED = 0.4
"""α_r of the variants with data reuse."""

HALF_WAY_DB = -10.0
"""How fast the first half of the way back is gone, the steady state does not decide."""


def of_figure1(courses: Courses) -> list[Check]:
    """The sentences about Figure 1."""
    steady = {curve: [course.steady for course in found] for curve, found in courses.items()}
    tracking = {curve: [course.tracking for course in found] for curve, found in courses.items()}
    early = {curve: [course.early(3_000) for course in found] for curve, found in courses.items()}
    least = published()["claims"]["initial"]["gain_db"]
    gain = paired(early[0.0, 1], early[0.0, 5])
    lost = paired(steady[0.0, 5], steady[_USED, 5])
    worse = {
        f"N_it = {reuse}, {name}": paired(measure[0.0, reuse], measure[_USED, reuse])
        for reuse in (1, 5)
        for name, measure in (("steady state", steady), ("after the change", tracking))
    }
    worst = [paired(tracking[0.0, 1], tracking[curve]) for curve in CURVES if curve[0] > 0]
    cost = [paired(steady[_USED, more], steady[_USED, less]) for less, more in pairwise(REUSES)]
    weaker = {reuse: paired(tracking[0.8, 1], tracking[_USED, reuse]) for reuse in REUSES[1:]}
    return [
        _faster(courses),
        _better("mean", tracking, len(REUSES) - 1),
        Check(
            _text("costs"),
            all_of(map(above, cost)),
            "steady state " + _listed(steady),
        ),
        Check(
            _text("undistorted"),
            all_of(map(above, [*worse.values(), *worst])),
            "α_r = 0 is worse than 0.4 by "
            + _each(worse)
            + "; with N_it = 1 it tracks worse than every α_r above 0 "
            f"by {shown(min(worst, key=lambda each: each.mean))} dB at least",
        ),
        Check(
            _text("initial"),
            all_of([above(gain, least), above(lost)]),
            f"first 3000 samples: {shown(gain)} dB better than N_it = 1; steady state {shown(lost)} dB worse "
            "than α_r = 0.4",
        ),
        Check(
            _text("compensated"),
            all_of(map(above, weaker.values())),
            "after the change it is worse than α_r = 0.4 with "
            + _each({f"N_it = {reuse}": each for reuse, each in weaker.items()}),
        ),
        _sufficient(courses),
    ]


def of_figure2(courses: Courses) -> list[Check]:
    """The sentences about Figure 2."""
    tracking = {curve: [course.tracking for course in found] for curve, found in courses.items()}
    least = published()["claims"]["gap"]["gap_db"]
    gaps = {reuse: paired(tracking[0.0, reuse], tracking[_USED, reuse]) for reuse in (1, 5)}
    return [
        _capped(tracking),
        Check(
            _text("gap"),
            all_of(above(gap, least) for gap in gaps.values()),
            "after the change: " + _each({f"N_it = {reuse}": gap for reuse, gap in gaps.items()}),
        ),
    ]


def of_exact(courses: Courses, exact: Courses) -> list[Check]:
    """The coordinate descent beside exact recursive least squares, in the same rooms."""
    near = published()["claims"]["exact"]["near_db"]
    checks = []
    for curve, found in exact.items():
        ours = courses[curve][: len(found)]
        off = {
            "steady state": paired([one.steady for one in ours], [one.steady for one in found]),
            "mean after the change": paired([one.tracking for one in ours], [one.tracking for one in found]),
        }
        checks.append(
            Check(
                f"N_it = {curve[1]}: {_text('exact')}",
                all_of(within(each, -near, near) for each in off.values()),
                "above the exact one by " + _each(off),
            )
        )
    return checks


def of_peer(courses: Courses) -> list[Check]:
    """Figure 1's set-up beside an independent implementation, whose rooms are not known."""
    checks = []
    for reuse in (1, 3):
        peer = published()["peer"][f"reuse{reuse}"]
        found = courses[_USED, reuse]
        steady = summarise([course.steady for course in found])
        ways = [way for course in found if (way := course.recovery(-20.0)) is not None]
        back = summarise(ways) if len(ways) == len(found) else None
        near = peer["steady_db"], _NEAR_DB, peer["back"], _NEAR * peer["back"]
        checks.append(
            Check(
                f"N_it = {reuse}: steady at {peer['steady_db']:g} dB within {_NEAR_DB:g} dB, and back at "
                f"-20 dB after {peer['back']:,} samples within {_NEAR:.0%}, as an independent "
                "implementation.",
                all_of(
                    [
                        within(steady, near[0] - near[1], near[0] + near[1]),
                        # Who is not back in time is too late.
                        back is not None and within(back, near[2] - near[3], near[2] + near[3]),
                    ]
                ),
                f"steady {shown(steady)} dB; back after {shown(back) or 'more than was run'} samples",
            )
        )
    return checks


_NEAR_DB, _NEAR = 1.0, 0.15
"""How far from the independent implementation the same filter may be."""


def _each(differences: Mapping[str, Summary]) -> str:
    return ", ".join(f"{name}: {shown(difference)} dB" for name, difference in differences.items())


def _text(claim: str) -> str:
    return str(published()["claims"][claim]["text"])


def _steps(curves: Iterable[tuple[float, int]]) -> dict[str, tuple[tuple[float, int], tuple[float, int]]]:
    """Each step to more uses of the same α_r, by its name."""
    by_alpha: dict[float, list[int]] = {}
    for alpha, reuse in sorted(curves):
        by_alpha.setdefault(alpha, []).append(reuse)
    return {
        f"α_r = {alpha:g} from N_it = {less} to {more}": ((alpha, less), (alpha, more))
        for alpha, reuses in by_alpha.items()
        for less, more in pairwise(reuses)
    }


def sooner(courses: Courses) -> dict[str, Summary | None]:
    """By how many samples each step to more uses is sooner back at half of the way; None where one is not."""
    won = {}
    for name, (less, more) in _steps(courses).items():
        slow, fast = ([course.recovery(HALF_WAY_DB) for course in courses[curve]] for curve in (less, more))
        # Who is not back at all gives no time, and so no difference that could be told.
        known = [(a, b) for a, b in zip(slow, fast, strict=True) if a is not None and b is not None]
        won[name] = paired(*map(list, zip(*known, strict=True))) if len(known) == len(slow) else None
    return won


def _faster(courses: Courses) -> Check:
    """Each further use gets back to half of the way sooner, with every α_r."""
    won = sooner(courses)
    return Check(
        _text("faster"),
        all_of(map(above, won.values())),
        f"samples until {HALF_WAY_DB:g} dB, fewer by "
        + ", ".join(f"{shown(one) or 'unknown'} ({name})" for name, one in won.items()),
    )


def _better(claim: str, tracking: Mapping[tuple[float, int], Sequence[float]], steps: int) -> Check:
    """The mean after the change is better with each of so many first steps to more uses of α_r = 0.4."""
    won = _won(tracking)
    return Check(
        _text(claim),
        all_of(map(above, list(won.values())[:steps])),
        "after the change it is better " + _each(won),
    )


def _won(tracking: Mapping[tuple[float, int], Sequence[float]]) -> dict[str, Summary]:
    return {
        f"from N_it = {less} to {more}": paired(tracking[_USED, less], tracking[_USED, more])
        for less, more in pairwise(REUSES)
    }


def _capped(tracking: Mapping[tuple[float, int], Sequence[float]]) -> Check:
    """Up to three uses each one is better; what the fifth adds is little. The fourth is not judged."""
    won = _won(tracking)
    most = published()["claims"]["speech"]["cap_db"]
    *first, _, last = won.values()
    return Check(
        _text("speech"),
        all_of([*map(above, first), below(last, most)]),
        "after the change it is better " + _each(won),
    )


def _sufficient(courses: Courses) -> Check:
    """How fast the first half of the way back is gone, which the steady state does not decide."""
    share = published()["claims"]["sufficient"]["share"]
    times = {}
    for reuse in REUSES:
        ways = [course.recovery(HALF_WAY_DB) for course in courses[_USED, reuse]]
        times[reuse] = [float("inf") if way is None else way for way in ways]
    means = {reuse: float(np.mean(values)) for reuse, values in times.items()}
    won = (means[1] - means[3]) / (means[1] - means[5]) if np.isfinite(means[1]) else float("nan")
    # What three uses win, less the share of what five do, room by room.
    rooms = zip(times[1], times[3], times[5], strict=True)
    more = [one - three - share * (one - five) for one, three, five in rooms]
    return Check(
        _text("sufficient"),
        above(summarise(more)) if np.isfinite(more).all() else None,
        f"samples until {HALF_WAY_DB:g} dB: "
        + ", ".join(f"N_it = {reuse}: {mean:.0f}" for reuse, mean in means.items())
        + f"; three uses win {100 * won:.0f} % of what five win",
    )


def _listed(measure: Mapping[tuple[float, int], Sequence[float]]) -> str:
    return ", ".join(f"N_it = {reuse}: {shown(summarise(measure[_USED, reuse]))} dB" for reuse in REUSES)
