"""Gestures from contours: how high larynx and hyoid stand, how open the tract is, and what moves together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from voxpath.voice.phonetics import geometry
from voxpath.voice.phonetics.problems import PhoneticsError, problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.voice.phonetics.contours import Contours, Frame
    from voxpath.voice.phonetics.formants import Vowel
    from voxpath.voice.phonetics.geometry import Constriction, Points

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
    "lip opening",
    "lip protrusion",
    "jaw rise",
    "jaw advance",
    "glottis rise",
    "glottis advance",
    "epiglottis rise",
    "epiglottis advance",
)
"""All in mm; rises and advances are from the rest position, relative to the upper incisor."""

COMPONENTS = {"tongue": 3, "larynx": 2, "lower_lip": 2, "jaw": 1, "epiglottis": 1}
"""Factors of each articulator, as many as X-articulators takes of tongue, larynx and lips."""

_MOVING = ("larynx", "hyoid", "jaw", "glottis", "epiglottis")
"""Of which rise and advance are measured."""

PALATE_MM = 2.0
"""Root mean square by which a palate may be off that at rest; tracings of the same one lie closer."""

_LEAST_PART = 5e-4
"""Of the variance, for a component: less is rounding."""

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
        head_turn_deg: By which the head is turned from the rest position; what is measured is turned back.
    """

    time_s: float
    values: dict[str, float]
    oral: Constriction | None
    pharyngeal: Constriction | None
    head_turn_deg: float = 0.0

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
    contours = placed(frame, film)
    tongue = geometry.smooth(_needed(contours, "tongue", frame, film))
    oral = pharyngeal = None
    before = 0.0
    origin = np.zeros(2)
    for name in ("palate", "pharynx_wall"):
        if name not in contours:
            continue
        wall = geometry.smooth(geometry.from_end(_needed(contours, name, frame, film), origin))
        _apart({"tongue": tongue, name: wall}, frame, film)
        beyond = geometry.past(tongue, wall)
        if beyond > geometry.TOUCH_MM:
            told = f"the tongue lies {beyond:.1f} mm past the {name}"
            allowed = f"in front of it, or past it by {geometry.TOUCH_MM:g} mm at most"
            raise problem(f"{told}; it has to lie {allowed}", film.source, time_s=_time(frame))
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
    for name in _MOVING:
        advance, rise = _moved(contours, film, name)
        values |= {f"{name} rise": rise, f"{name} advance": advance}
    for region, found in (("oral", oral), ("pharyngeal", pharyngeal)):
        values[f"{region} opening"] = math.nan if found is None else found.opening_mm
        values[f"{region} place"] = math.nan if found is None else found.place_mm
    values["lip opening"], values["lip protrusion"] = _lips(contours, frame, film)
    return Posture(frame.time_s, values, oral, pharyngeal, math.degrees(head_turn(frame, film)))


def placed(frame: Frame, film: Contours) -> dict[str, Points]:
    """The contours of a frame in the head's place at rest: upper incisor at the origin, palate on palate.

    Raises:
        PhoneticsError: The upper incisor is missing, or the palate is another one.
    """
    angle = head_turn(frame, film)
    back = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    incisor = _incisor(frame, film)
    return {name: (points - incisor) @ back for name, points in frame.contours.items()}


def head_turn(frame: Frame, film: Contours) -> float:
    """By how much a head is turned from its rest position, in radians; without that, from the first frame.

    About the upper incisor, so that the palate's points lie as close as they can to the palate at rest.

    Raises:
        PhoneticsError: The upper incisor is missing, or the palate is another one.
    """
    rest = film.frames[0] if film.rest is None or "palate" not in film.rest.contours else film.rest
    if "palate" not in rest.contours or "palate" not in frame.contours:
        return 0.0
    known = rest.contours["palate"] - _incisor(rest, film)
    points = _needed(frame.contours, "palate", frame, film) - _incisor(frame, film)
    if np.array_equal(known, points):
        return 0.0
    angle, off = geometry.turned(points, _needed({"palate": known}, "palate", rest, film))
    if off > PALATE_MM:
        told = f"the palate lies {off:.1f} mm off the one at rest, however the head is turned"
        raise problem(told, film.source, time_s=_time(frame))
    return angle


def _lips(contours: Mapping[str, Points], frame: Frame, film: Contours) -> tuple[float, float]:
    """How far the lips are apart, and how far they stand before the upper incisor, each at its foremost."""
    if not {"upper_lip", "lower_lip"} <= set(contours):
        return math.nan, math.nan
    lips = {
        name: geometry.smooth(_needed(contours, name, frame, film)) for name in ("upper_lip", "lower_lip")
    }
    _apart(lips, frame, film)
    upper, lower = lips.values()
    low = float(geometry.centre(lower)[1] - geometry.centre(upper)[1])
    if low > 0:
        told = f"the middle of the upper_lip lies {low:.1f} mm below that of the lower_lip, not above it"
        raise problem(told, film.source, time_s=_time(frame))
    return geometry.distance(upper, lower), float(upper[:, 0].max() + lower[:, 0].max()) / 2


def _apart(contours: Mapping[str, Points], frame: Frame, film: Contours) -> None:
    one, other = contours.values()
    crossed = geometry.crossing(one, other)
    if crossed is not None:
        told = f"{' and '.join(contours)} cross at {crossed[0]:.1f}, {crossed[1]:.1f} mm"
        raise problem(f"{told} from the upper incisor", film.source, time_s=_time(frame))


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
    values = {name: median([one.values[name] for one in found]) for name in GESTURES}
    return Posture(closest.time_s, values, closest.oral, closest.pharyngeal, closest.head_turn_deg)


def median(values: Sequence[float]) -> float:
    """Of those that are known; `nan` of none."""
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


def _moved(contours: Mapping[str, Points], film: Contours, name: str) -> tuple[float, float]:
    """How far forward and up something is from its rest position, both relative to the upper incisor."""
    if film.rest is None or name not in contours or name not in film.rest.contours:
        return math.nan, math.nan
    rest = geometry.centre(film.rest.contours[name]) - _incisor(film.rest, film)
    advance, rise = geometry.centre(contours[name]) - rest
    return float(advance), float(rise)


def _incisor(frame: Frame, film: Contours) -> Points:
    """The point that everything is measured from: of a contour its middle, whatever its direction."""
    if "upper_incisor" not in frame.contours:
        raise problem("the upper_incisor is missing", film.source, time_s=_time(frame))
    return geometry.centre(frame.contours["upper_incisor"])


def _needed(contours: Mapping[str, Points], name: str, frame: Frame, film: Contours) -> Points:
    if name not in contours:
        raise problem(f"the {name} is missing", film.source, time_s=_time(frame))
    points = contours[name]
    if len(points) < 2:
        told = f"the {name} has {len(points)} point, and a contour two at least"
        raise problem(told, film.source, time_s=_time(frame))
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


def components(frames: Sequence[Frame], film: Contours, articulator: str, count: int) -> Components | None:
    """Principal components of an articulator's contours; none where it is missing or does not move.

    The sign of a component is such that its largest movement is positive.
    """
    if len(frames) < 3 or any(articulator not in frame.contours for frame in frames):
        return None
    rows, before = [], None
    for frame in frames:
        points = placed(frame, film)[articulator]
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
        raise PhoneticsError(f"{film.source}: {told}") from None
    mean = stacked.mean(axis=0)
    left, values, right = np.linalg.svd(stacked - mean, full_matrices=False)
    total = float((values**2).sum())
    if total < 1e-12:
        return None
    kept = [index for index in range(min(count, len(values))) if values[index] ** 2 > _LEAST_PART * total]
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
