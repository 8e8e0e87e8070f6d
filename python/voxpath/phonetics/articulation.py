"""Gestures from contours: how high larynx and hyoid stand, how open the tract is, and what moves together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from voxpath.phonetics import geometry
from voxpath.phonetics.problems import PhoneticsError, problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.phonetics.contours import Contours, Frame
    from voxpath.phonetics.formants import Vowel
    from voxpath.phonetics.geometry import Constriction, Points

Region = Literal["oral", "pharyngeal"]

GESTURES = (
    "larynx rise",
    "larynx advance",
    "hyoid rise",
    "hyoid advance",
    "oral opening",
    "oral place",
    "pharyngeal opening",
    "pharyngeal place",
)
"""All in mm; rises and advances are from the rest position, relative to the upper incisor."""

COMPONENTS = {"tongue": 3, "larynx": 2, "lower_lip": 2}
"""Factors of each articulator, as many as X-articulators takes of it."""

_POINTS = 40
"""Of a contour whose components are sought."""


@dataclass(frozen=True)
class Posture:
    """The gestures of a frame.

    Attributes:
        time_s: When.
        values: By gesture, in mm; `nan` where a contour for it is missing.
        oral: The constriction at the palate; none without palate.
        pharyngeal: The constriction at the rear wall of the pharynx; none without one.
    """

    time_s: float
    values: dict[str, float]
    oral: Constriction | None
    pharyngeal: Constriction | None

    @property
    def primary(self) -> Region | None:
        """The narrower constriction; the other one is the secondary articulation (Catford 1977)."""
        known: dict[Region, Constriction] = {}
        if self.oral is not None:
            known["oral"] = self.oral
        if self.pharyngeal is not None:
            known["pharyngeal"] = self.pharyngeal
        return min(known, key=lambda region: known[region].opening_mm, default=None)


def posture(frame: Frame, film: Contours) -> Posture:
    """What is measured of a frame.

    Raises:
        PhoneticsError: The upper incisor or the tongue is missing, or contours cross.
    """
    incisor = _needed(frame, "upper_incisor", film.source)[0]
    tongue = geometry.smooth(_needed(frame, "tongue", film.source) - incisor)
    oral = pharyngeal = None
    before = 0.0
    origin = np.zeros(2)
    for name in ("palate", "pharynx_wall"):
        if name not in frame.contours:
            continue
        wall = geometry.smooth(geometry.from_end(frame.contours[name] - incisor, origin))
        crossed = geometry.crossing(tongue, wall)
        if crossed is not None:
            told = f"tongue and {name} cross at {crossed[0]:.1f}, {crossed[1]:.1f} mm from the upper incisor"
            raise problem(told, film.source, time_s=_time(frame))
        # Lengths go on from one wall to the next, over the gap between them.
        before += float(np.linalg.norm(wall[0] - origin))
        found = geometry.constriction(tongue, wall, film.contact_mm)
        if found is not None:
            found = geometry.Constriction(found.opening_mm, before + found.place_mm, found.tongue, found.wall)
        if name == "palate":
            oral = found
        else:
            pharyngeal = found
        before += geometry.length(wall)
        origin = wall[-1]
    values: dict[str, float] = {}
    for name in ("larynx", "hyoid"):
        advance, rise = _moved(frame, film, name)
        values |= {f"{name} rise": rise, f"{name} advance": advance}
    for region, found in (("oral", oral), ("pharyngeal", pharyngeal)):
        values[f"{region} opening"] = math.nan if found is None else found.opening_mm
        values[f"{region} place"] = math.nan if found is None else found.place_mm
    return Posture(frame.time_s, values, oral, pharyngeal)


def of_vowel(vowel: Vowel, film: Contours, middle: float) -> Posture:
    """The gestures of a vowel: medians over the frames of its middle, drawn at the frame closest to it.

    Raises:
        PhoneticsError: Frames or contours are missing there, or contours cross.
    """
    film.between(vowel.start_s, vowel.end_s)
    half = max(middle * (vowel.end_s - vowel.start_s), 1 / film.rate_hz) / 2
    frames = [one for one in film.frames if abs(one.time_s - vowel.middle_s) <= half]
    found = [posture(frame, film) for frame in frames]
    if not found:
        raise problem("no frame in the middle of the vowel", film.source, time_s=vowel.middle_s)
    closest = min(found, key=lambda one: abs(one.time_s - vowel.middle_s))
    values = {name: _median([one.values[name] for one in found]) for name in GESTURES}
    return Posture(closest.time_s, values, closest.oral, closest.pharyngeal)


def _median(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


def _moved(frame: Frame, film: Contours, name: str) -> tuple[float, float]:
    """How far forward and up something is from its rest position, both relative to the upper incisor."""
    if film.rest is None or name not in frame.contours or name not in film.rest.contours:
        return math.nan, math.nan
    here, rest = (
        geometry.centre(one.contours[name]) - _needed(one, "upper_incisor", film.source)[0]
        for one in (frame, film.rest)
    )
    return float(here[0] - rest[0]), float(here[1] - rest[1])


def _needed(frame: Frame, name: str, source: str) -> Points:
    if name not in frame.contours:
        raise problem(f"the {name} is missing", source, time_s=_time(frame))
    points = frame.contours[name]
    if name != "upper_incisor" and len(points) < 2:
        raise problem(
            f"the {name} has {len(points)} point, and a contour two at least", source, time_s=_time(frame)
        )
    return points


def _time(frame: Frame) -> float | None:
    return frame.time_s if math.isfinite(frame.time_s) else None


@dataclass(frozen=True)
class Components:
    """What moves together in an articulator.

    Attributes:
        articulator: Which.
        mean: Its mean contour, relative to the upper incisor.
        shapes: Of each component: how far each point moves for a score of one standard deviation.
        explained: The part of the variance that each explains.
        scores: A row for each frame, a column for each component, in standard deviations.
    """

    articulator: str
    mean: Points
    shapes: Sequence[Points]
    explained: Sequence[float]
    scores: Points


def components(frames: Sequence[Frame], source: str, articulator: str, count: int) -> Components | None:
    """Principal components of an articulator's contours; none where it is missing or does not move.

    The sign of a component is such that its largest movement is positive.
    """
    if len(frames) < 3 or any(articulator not in frame.contours for frame in frames):
        return None
    rows, before = [], None
    for frame in frames:
        points = frame.contours[articulator] - _needed(frame, "upper_incisor", source)[0]
        if len(points) > 1:
            points = geometry.resample(points, _POINTS)
            # Each frame runs in the direction of the first.
            points = points if before is None else geometry.from_end(points, before[0])
        before = points
        rows.append(points.ravel())
    try:
        stacked = np.asarray(rows)
    except ValueError:
        told = f"the {articulator} is a point in some frames and a contour in others"
        raise PhoneticsError(f"{source}: {told}") from None
    mean = stacked.mean(axis=0)
    left, values, right = np.linalg.svd(stacked - mean, full_matrices=False)
    total = float((values**2).sum())
    if total < 1e-12:
        return None
    kept = [index for index in range(min(count, len(values))) if values[index] ** 2 > 1e-9 * total]
    signs = [1.0 if right[i][np.abs(right[i]).argmax()] > 0 else -1.0 for i in kept]
    deviations = [values[i] / math.sqrt(len(frames) - 1) for i in kept]
    return Components(
        articulator,
        mean.reshape(-1, 2),
        [sign * sd * right[i].reshape(-1, 2) for i, sign, sd in zip(kept, signs, deviations, strict=True)],
        [float(values[i] ** 2) / total for i in kept],
        np.column_stack(
            [sign * left[:, i] * values[i] / sd for i, sign, sd in zip(kept, signs, deviations, strict=True)]
        ),
    )
