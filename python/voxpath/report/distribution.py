"""Distributions: what part of some values is at most so large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Axis, Curve, Plot
from voxpath.report.directions import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LEAST = 8
"""Values; fewer are a list and no distribution."""
_MOST_POINTS = 400
"""Of a curve; of more values, evenly spaced quantiles are drawn."""
_MOST_CURVES = 8


def cdf(
    title: str, caption: str, values: Mapping[str, Iterable[float]], label: str, unit: str
) -> Plot | None:
    """The distributions of several samples; none where no sample has values enough.

    Args:
        title: Above the plot.
        caption: What is seen.
        values: Samples by their names, in the axis's unit.
        label: Of what, without the unit.
        unit: Of the values.
    """
    known = {name: np.sort(np.asarray(list(sample), dtype=float)) for name, sample in values.items()}
    drawn = {name: sample for name, sample in known.items() if len(sample) >= _LEAST}
    if not drawn:
        return None
    curves = [_curve(name, sample) for name, sample in list(drawn.items())[:_MOST_CURVES]]
    everything = [float(sample[end]) for sample in drawn.values() for end in (0, -1)]
    if len(drawn) > _MOST_CURVES:
        caption = f"{caption} {len(drawn) - _MOST_CURVES} more are not drawn.".strip()
    x = Axis(label, unit, scale_of(everything))
    return Plot(title, caption, x, Axis("part of them", "%", span=(0.0, 100.0)), curves)


def _curve(name: str, ordered: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Curve:
    """The empirical distribution: at each value the part that is at most that."""
    count = len(ordered)
    places: Sequence[int] = (
        range(count)
        if count <= _MOST_POINTS
        else np.unique(np.linspace(0, count - 1, _MOST_POINTS).round().astype(int)).tolist()
    )
    points = {float(ordered[place]): 100 * (place + 1) / count for place in places}
    # Below the least value there is nothing.
    return Curve(f"{name} ({count})", [float(ordered[0]), *points], [0.0, *points.values()], style="steps")
