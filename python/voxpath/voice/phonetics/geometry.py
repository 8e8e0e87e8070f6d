"""Distances between contours: openings, places, crossings.

A contour is smooth between its corners, which are where it turns by more than 45° at a point: so few points
are enough for what is round, and what has edges keeps them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""A row for each point, x and y in mm."""

SPACING_MM = 0.1
"""Of a contour's points when it is measured."""

CORNER_DEG = 45.0
"""From here on a turn at a point is a corner."""

_TIE_MM = 1e-6
"""Openings closer than this are the same; the most forward of them counts. Where two circles have nearly the
same centre, a looser bound would move the place by tenths of a millimetre."""

_NONE_MM = 1e-4
"""Lengths that are none, where steps of a contour cross each other."""

TOUCH_MM = 0.5
"""By which a contour may be past another that it touches: pens are as wide, and smoothing bulges as much."""

MOST_TURN_DEG = 20.0
"""Of a head, to both sides."""
_REGISTERED = 40
"""Points of a contour that is laid on another."""

_ORTHOGONAL = 1e-6
"""Cosine up to which a line is orthogonal to another."""


@dataclass(frozen=True)
class Constriction:
    """Where the tongue is closest to a wall.

    Attributes:
        opening_mm: How close.
        place_mm: Length along the wall from its beginning.
        tongue: The point of the tongue.
        wall: Its projection.
    """

    opening_mm: float
    place_mm: float
    tongue: tuple[float, float]
    wall: tuple[float, float]


def length(points: Points) -> float:
    """Along a contour."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def smooth(points: Points, spacing_mm: float = SPACING_MM) -> Points:
    """A contour with a point every so often, smooth between its corners.

    Raises:
        ValueError: It has fewer than two points that differ.
    """
    kept = points[np.concatenate([[True], np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-9])]
    if len(kept) < 2:
        raise ValueError("a contour has two points at least")
    steps = np.diff(kept, axis=0)
    directions = np.arctan2(steps[:, 1], steps[:, 0])
    turns = np.abs((np.diff(directions) + math.pi) % (2 * math.pi) - math.pi)
    corners = [0, *(np.flatnonzero(turns > math.radians(CORNER_DEG)) + 1), len(kept) - 1]
    pieces = [
        _smooth_piece(kept[first : last + 1], spacing_mm) for first, last in itertools.pairwise(corners)
    ]
    return np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])


def _smooth_piece(points: Points, spacing_mm: float) -> Points:
    from scipy.interpolate import CubicSpline

    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], max(2, math.ceil(along[-1] / spacing_mm) + 1))
    if len(points) == 2:
        return np.column_stack([np.interp(wanted, along, points[:, axis]) for axis in (0, 1)])
    found: Points = CubicSpline(along, points)(wanted)
    return found


def resample(points: Points, count: int) -> Points:
    """A contour by so many points, evenly along its length."""
    fine = smooth(points)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], count)
    return np.column_stack([np.interp(wanted, along, fine[:, axis]) for axis in (0, 1)])


def from_end(points: Points, near: Points) -> Points:
    """A contour in the direction that begins at the end closer to a point."""
    ends = np.linalg.norm(points[[0, -1]] - near, axis=1)
    found: Points = points if ends[0] <= ends[1] else points[::-1]
    return found


def centre(points: Points) -> Points:
    """The middle of a contour: of its length, not of its points; a point is its own."""
    if len(points) == 1:
        point: Points = points[0]
        return point
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    middles = (points[1:] + points[:-1]) / 2
    found: Points = (middles * steps[:, None]).sum(axis=0) / steps.sum()
    return found


def constriction(tongue: Points, wall: Points, contact_mm: float = 0.0) -> Constriction | None:
    """The smallest distance of the tongue to a wall by orthogonal projection, and where along the wall.

    The opening is the smallest one. Where the tongue touches over a stretch (or is closer than what counts as
    contact), the most forward place of it is told. None if no point of the tongue lies opposite to the wall.

    Args:
        tongue: Smooth (`smooth`), in either direction.
        wall: Smooth, from its forward end, the tract on its left.
        contact_mm: Openings up to this are contact.
    """
    distance, place, feet, opposite = _projections(tongue, wall)
    if not opposite.any():
        return None
    # Past the wall by no more than a pen's width is touching it.
    distance = np.where((_sides(tongue, wall, place) < 0) & (distance <= TOUCH_MM), 0.0, distance)
    closest = float(distance[opposite].min())
    limit = max(closest + _TIE_MM, contact_mm)
    among = np.flatnonzero(opposite & (distance <= limit))
    best = int(among[np.argmin(place[among])])
    return Constriction(
        closest,
        float(place[best]),
        (float(tongue[best, 0]), float(tongue[best, 1])),
        (float(feet[best, 0]), float(feet[best, 1])),
    )


def past(tongue: Points, wall: Points) -> float:
    """How far the tongue lies past a wall, in mm, at its closest point; 0 in front of it.

    Args:
        tongue: Smooth (`smooth`), in either direction.
        wall: Smooth, from its forward end, the tract on its left.
    """
    distance, place, _, opposite = _projections(tongue, wall)
    if not opposite.any():
        return 0.0
    closest = int(np.where(opposite, distance, math.inf).argmin())
    return float(distance[closest]) if _sides(tongue, wall, place)[closest] < 0 else 0.0


def _sides(points: Points, wall: Points, place: NDArray[np.float64]) -> NDArray[np.float64]:
    """On which side of a wall points lie that are projected onto some places of it: 1 is its left."""
    steps = np.diff(wall, axis=0)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    beside = np.clip(np.searchsorted(along, place, side="right") - 1, 0, len(steps) - 1)
    found: NDArray[np.float64] = np.sign(_side(wall[beside], wall[beside + 1], points))
    return found


def _projections(
    points: Points, wall: Points
) -> tuple[NDArray[np.float64], NDArray[np.float64], Points, NDArray[np.bool_]]:
    """Distance, place and foot of each point's nearest projection, and whether it is orthogonal.

    The wall's points are dense, so that the nearest place lies beside its nearest point.
    """
    from scipy.spatial import cKDTree

    steps = np.diff(wall, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    beside = cKDTree(wall).query(points)[1]
    sides = np.stack([np.maximum(beside - 1, 0), np.minimum(beside, len(steps) - 1)], axis=1)
    away = points[:, None, :] - wall[sides]
    part = np.clip((away * steps[sides]).sum(axis=2) / lengths[sides] ** 2, 0.0, 1.0)
    squares = ((away - part[:, :, None] * steps[sides]) ** 2).sum(axis=2)
    side = squares.argmin(axis=1)
    rows = np.arange(len(points))
    nearest, parts = sides[rows, side], part[rows, side]
    feet = wall[nearest] + parts[:, None] * steps[nearest]
    distance = np.sqrt(squares[rows, side])
    # Past an end of the wall the nearest point is that end, and no projection.
    first = (nearest == 0) & (parts == 0.0)
    last = (nearest == len(steps) - 1) & (parts == 1.0)
    cosine = np.abs(((points - feet) * steps[nearest]).sum(axis=1)) / lengths[nearest]
    aslant = cosine > _ORTHOGONAL * np.maximum(distance, 1.0)
    return distance, along[nearest] + parts * lengths[nearest], feet, ~((first | last) & aslant)


def distance(one: Points, other: Points) -> float:
    """The smallest distance of two smooth contours."""
    places = _projections(one, other)[0]
    return float(places.min())


def turned(points: Points, known: Points) -> tuple[float, float]:
    """By how many radians about the origin a contour is turned from a known one, and how far it is off then.

    Points beyond the ends of the known one do not count, as nobody traces the same stretch twice.
    """
    from scipy.optimize import minimize_scalar

    wall = smooth(known)
    fine = resample(points, _REGISTERED)

    def off(angle: float) -> float:
        back = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        away, _, _, opposite = _projections(fine @ back, wall)
        if np.count_nonzero(opposite) < _REGISTERED // 2:
            return float(np.sqrt(np.mean(away**2)))
        return float(np.sqrt(np.mean(away[opposite] ** 2)))

    angles = np.radians(np.arange(-MOST_TURN_DEG, MOST_TURN_DEG + 0.5, 1.0))
    start = float(min(angles, key=off))
    step = math.radians(1.0)
    found = minimize_scalar(
        off, bounds=(start - step, start + step), method="bounded", options={"xatol": 1e-6}
    )
    return float(found.x), float(found.fun)


def tangle(points: Points) -> tuple[float, float] | None:
    """A point at which a contour crosses itself; an end that meets the other is no crossing.

    Two steps cross if the ends of each lie on either side of the other.
    """
    if len(points) < 4:
        return None
    i, j = np.triu_indices(len(points) - 1, k=2)
    a, b, c, d = points[i], points[i + 1], points[j], points[j + 1]
    sides = _side(c, d, a), _side(c, d, b), _side(a, b, c), _side(a, b, d)
    found = np.flatnonzero((sides[0] * sides[1] < -(_NONE_MM**2)) & (sides[2] * sides[3] < -(_NONE_MM**2)))
    if not len(found):
        return None
    at = found[0]
    part = sides[0][at] / (sides[0][at] - sides[1][at])
    point = a[at] + part * (b[at] - a[at])
    return float(point[0]), float(point[1])


def crossing(one: Points, other: Points) -> tuple[float, float] | None:
    """A point at which a smooth contour passes through another one; touching is none.

    Along the contour its side of the other changes, from close on one side to close on the other one,
    whatever it touches in between.
    """
    away, place, _, opposite = _projections(one, other)
    side = _sides(one, other, place)
    # Past an end of the other one there are no sides.
    clear = np.flatnonzero((away > TOUCH_MM) | ~opposite)
    side[~opposite] = 0.0
    before, after = clear[:-1], clear[1:]
    reach = TOUCH_MM + 2 * SPACING_MM
    near = (away[before] < reach) & (away[after] < reach)
    found = np.flatnonzero(near & (side[before] * side[after] < 0))
    if not len(found):
        return None
    first = found[0]
    point = (one[before[first]] + one[after[first]]) / 2
    return float(point[0]), float(point[1])


def _side(start: Points, end: Points, point: Points) -> NDArray[np.float64]:
    """On which side of a line points lie."""
    step, away = end - start, point - start
    found: NDArray[np.float64] = step[..., 0] * away[..., 1] - step[..., 1] * away[..., 0]
    return found
