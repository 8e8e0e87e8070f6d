"""Each sentence of the publication about its results, as a check that can fail."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from voxpath.report.document import Check
from voxpath.results.intervals import paired, summarise
from voxpath.studies.ficiu2023.experiment import REUSES, published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.studies.ficiu2023.experiment import Course

Courses = dict[tuple[float, int], list["Course"]]
"""By α_r and N_it, one for each replication; the same replication is the same room and noise everywhere."""

_USED = 0.4
"""α_r of the variants with data reuse."""


def of_figure1(courses: Courses) -> list[Check]:
    """The sentences about Figure 1."""
    steady = {curve: [course.steady for course in found] for curve, found in courses.items()}
    tracking = {curve: [course.tracking for course in found] for curve, found in courses.items()}
    early = {curve: [course.early(3_000) for course in found] for curve, found in courses.items()}
    least = published()["claims"]["initial"]["gain_db"]
    gain = np.mean(early[0.0, 1]) - np.mean(early[0.0, 5])
    lost = paired(steady[0.0, 5], steady[_USED, 5]).mean
    undistorted = [(0.0, 1), (0.0, 5)]
    others = [curve for curve in courses if curve not in undistorted]
    weaker = [(_USED, reuse) for reuse in REUSES[1:]]
    return [
        _faster("faster", tracking),
        Check(
            _text("costs"),
            _ascending([float(np.mean(steady[_USED, reuse])) for reuse in REUSES]),
            "steady state " + _listed(steady),
        ),
        Check(
            _text("undistorted"),
            all(
                np.mean(measure[curve]) > np.mean(measure[other])
                for measure in (steady, tracking)
                for curve, other in ((curve, (_USED, curve[1])) for curve in undistorted)
            )
            and max(np.mean(tracking[curve]) for curve in undistorted)
            > max(np.mean(tracking[other]) for other in others),
            "; ".join(
                f"α_r = {alpha}, N_it = {reuse}: steady state {summarise(steady[alpha, reuse])} dB, "
                f"after the change {summarise(tracking[alpha, reuse])} dB"
                for alpha, reuse in (*undistorted, (_USED, 1), (_USED, 5))
            ),
        ),
        Check(
            _text("initial"),
            bool(gain >= least and lost > 0),
            f"first 3000 samples: {gain:.1f} dB better than N_it = 1; "
            f"steady state {lost:.1f} dB worse than α_r = 0.4",
        ),
        Check(
            _text("compensated"),
            all(np.mean(tracking[0.8, 1]) > np.mean(tracking[curve]) for curve in weaker),
            f"after the change: {summarise(tracking[0.8, 1])} dB; with α_r = 0.4 "
            + ", ".join(f"N_it = {curve[1]}: {summarise(tracking[curve])} dB" for curve in weaker),
        ),
        _sufficient(courses),
    ]


def of_figure2(courses: Courses) -> list[Check]:
    """The sentences about Figure 2."""
    tracking = {curve: [course.tracking for course in found] for curve, found in courses.items()}
    least = published()["claims"]["gap"]["gap_db"]
    gaps = {reuse: paired(tracking[0.0, reuse], tracking[_USED, reuse]) for reuse in (1, 5)}
    return [
        _faster("speech", tracking),
        Check(
            _text("gap"),
            all(gap.mean >= least for gap in gaps.values()),
            "after the change: " + ", ".join(f"N_it = {reuse}: {gap} dB" for reuse, gap in gaps.items()),
        ),
    ]


def _text(claim: str) -> str:
    return str(published()["claims"][claim]["text"])


def _faster(claim: str, tracking: Mapping[tuple[float, int], Sequence[float]]) -> Check:
    """Each further use tracks faster, up to the cap that the third one is said to reach."""
    means = [float(np.mean(tracking[_USED, reuse])) for reuse in REUSES]
    return Check(
        _text(claim), _ascending([-mean for mean in means[:3]]), "after the change " + _listed(tracking)
    )


def _sufficient(courses: Courses) -> Check:
    """How fast the first half of the way back is gone, which the steady state does not decide."""
    share = published()["claims"]["sufficient"]["share"]
    times = {}
    for reuse in REUSES:
        ways = [course.recovery(-10.0) for course in courses[_USED, reuse]]
        times[reuse] = [float("inf") if way is None else way for way in ways]
    means = {reuse: float(np.mean(values)) for reuse, values in times.items()}
    won = (means[1] - means[3]) / (means[1] - means[5]) if np.isfinite(means[1]) else float("nan")
    return Check(
        _text("sufficient"),
        bool(won >= share),
        "samples until -10 dB: "
        + ", ".join(f"N_it = {reuse}: {mean:.0f}" for reuse, mean in means.items())
        + f"; three uses win {100 * won:.0f} % of what five win",
    )


def _listed(measure: Mapping[tuple[float, int], Sequence[float]]) -> str:
    return ", ".join(f"N_it = {reuse}: {summarise(measure[_USED, reuse])} dB" for reuse in REUSES)


def _ascending(values: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(values))
