"""Contours of the vocal tract, frame by frame, from a JSON file; docs/vowels.md describes the format.

Whatever a file's unit and axes are, what is read is in millimetres, forward along x and upward along y,
turned into the speaker's grid.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voxpath import files
from voxpath.names import did_you_mean
from voxpath.voice.phonetics import geometry
from voxpath.voice.phonetics.problems import PhoneticsError, problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

FORMAT = "voxpath contours 1"

ARTICULATORS = (
    "tongue",
    "palate",
    "pharynx_wall",
    "upper_incisor",
    "upper_lip",
    "lower_lip",
    "jaw",
    "larynx",
    "glottis",
    "epiglottis",
    "hyoid",
)
"""What a contour may be of.

Jaw, larynx, glottis, epiglottis, hyoid and upper incisor may be a single point.
"""

_LINES = frozenset(["tongue", "palate", "pharynx_wall", "upper_lip", "lower_lip"])
"""Of which the line counts, not the centre."""

_UNITS = {"mm": 1.0, "cm": 10.0}
_AXES = {"+x": (0, 1.0), "-x": (0, -1.0), "+y": (1, 1.0), "-y": (1, -1.0)}
_KEYS = (
    "format",
    "unit",
    "forward",
    "up",
    "grid_angle_deg",
    "rate_hz",
    "contact_mm",
    "fixed",
    "rest",
    "frames",
)

MOST_CONTACT_MM = 5.0
"""What counts as contact is a tracing's fineness, not an opening."""

_LEAST_MM = 1e-6
"""From end to end of a contour."""

MOST_MM = 1e4
"""From the picture's origin; a film that has more has a wrong unit."""

_LARGEST = sys.float_info.max
_RATE_SLACK = 0.1
"""Of the time between frames."""


@dataclass(frozen=True)
class Frame:
    """The contours of one moment.

    Attributes:
        time_s: When.
        contours: Points by articulator: a row each, x forward and y upward, in mm.
    """

    time_s: float
    contours: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Contours:
    """A film of contours.

    Attributes:
        source: The file's name, for messages.
        rate_hz: Frames per second.
        contact_mm: Openings up to this are contact, as tracings are no finer.
        rest: The rest position; none if the film has none.
        frames: In the order of time.
    """

    source: str
    rate_hz: float
    contact_mm: float
    rest: Frame | None
    frames: Sequence[Frame]

    def between(self, start_s: float, end_s: float) -> list[Frame]:
        """The frames of a stretch of time.

        Raises:
            PhoneticsError: There is none, or some are missing.
        """
        step = 1 / self.rate_hz
        found = [frame for frame in self.frames if start_s <= frame.time_s <= end_s]
        if not found:
            told = f"no frame between {start_s:.3f} and {end_s:.3f} s"
            raise problem(told, self.source, time_s=start_s)
        edges = [start_s, *(frame.time_s for frame in found), end_s]
        for before, after in itertools.pairwise(edges):
            if after - before > 1.5 * step:
                told = f"frames are missing: none for {1000 * (after - before):.0f} ms inside of a vowel"
                raise problem(
                    f"{told}, where one is due every {1000 * step:.0f} ms", self.source, time_s=before
                )
        return found


def read(path: Path | str) -> Contours:
    """Reads a film of contours.

    Raises:
        PhoneticsError: There is no such file, or it is not in the format.
    """
    return parse(load(path), str(path))


def load(path: Path | str) -> Any:
    """What stands in a file, whatever it is.

    Raises:
        PhoneticsError: There is no such file, or it is no JSON.
    """
    try:
        return json.loads(files.read(path).decode("utf-8"))
    except OSError as error:
        raise PhoneticsError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise PhoneticsError(f"{path}: is no JSON: {error}") from None
    except RecursionError:
        raise PhoneticsError(f"{path}: is nested too deep for a file of contours") from None


def parse(data: Any, source: str) -> Contours:
    """A film of contours from what stands in a file.

    Raises:
        PhoneticsError: It is not in the format.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise problem(f'is no file of contours: it has "format": "{FORMAT}"', source)
    for key in data:
        if key not in _KEYS:
            raise problem(f"{key!r} is no key; {did_you_mean(key, _KEYS)}", source)
    turn = _turn(data, source)
    rate = _number(data, "rate_hz", source, least=0.0)
    fixed = _contours(data.get("fixed", {}), turn, source, None)
    rows = data.get("frames")
    if not isinstance(rows, list) or not rows:
        raise problem("has no frames: 'frames' is a list of them", source)
    frames = [_frame(row, fixed, turn, source, number) for number, row in enumerate(rows)]
    _check_times(frames, rate, source)
    rest = None
    if "rest" in data:
        rest = Frame(math.nan, {**fixed, **_contours(data["rest"], turn, source, None)})
    contact = _number(data, "contact_mm", source) if "contact_mm" in data else 0.0
    if not 0 <= contact <= MOST_CONTACT_MM:
        raise problem(f"'contact_mm' has to be from 0 to {MOST_CONTACT_MM:g}, not {contact:g}", source)
    return Contours(source, rate, contact, rest, frames)


def render(film: Contours) -> str:
    """A film as a file in millimetres; what every frame shares is not written apart."""
    rest = {} if film.rest is None else {"rest": _points(film.rest)}
    frames = [{"time_s": round(frame.time_s, 6), "contours": _points(frame)} for frame in film.frames]
    head = {"format": FORMAT, "unit": "mm", "rate_hz": film.rate_hz, "contact_mm": film.contact_mm}
    return json.dumps({**head, **rest, "frames": frames}, separators=(",", ":")) + "\n"


def _points(frame: Frame) -> dict[str, list[list[float]]]:
    return {name: np.round(points, 4).tolist() for name, points in frame.contours.items()}


def _number(data: Mapping[str, Any], key: str, source: str, *, least: float = -math.inf) -> float:
    value = data.get(key)
    # Whole numbers have no bound in JSON, and in floats they have.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise problem(f"{key!r} has to be a number, not {value!r}", source)
    if value <= least:
        raise problem(f"{key!r} has to be above {least:g}, not {value:g}", source)
    return float(value)


def _turn(data: Mapping[str, Any], source: str) -> NDArray[np.float64]:
    """The matrix that takes a file's points into millimetres of the speaker's grid."""
    unit = data.get("unit")
    if isinstance(unit, dict) and set(unit) == {"mm_per_px"}:
        scale = _number(unit, "mm_per_px", source, least=0.0)
    elif isinstance(unit, str) and unit in _UNITS:
        scale = _UNITS[unit]
    else:
        raise problem(f"""'unit' is "mm", "cm" or {{"mm_per_px": NUMBER}}, not {unit!r}""", source)
    axes = [data.get("forward", "+x"), data.get("up", "+y")]
    if any(not isinstance(axis, str) or axis not in _AXES for axis in axes) or axes[0][-1] == axes[1][-1]:
        raise problem(
            f"'forward' and 'up' are two of {', '.join(_AXES)}, one of each letter, not {axes}", source
        )
    straight = np.zeros((2, 2))
    for row, axis in enumerate(axes):
        column, sign = _AXES[axis]
        straight[row, column] = sign * scale
    angle = math.radians(_number(data, "grid_angle_deg", source) if "grid_angle_deg" in data else 0.0)
    back = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return back @ straight


def _frame(
    row: Any, fixed: Mapping[str, NDArray[np.float64]], turn: NDArray[np.float64], source: str, number: int
) -> Frame:
    if not isinstance(row, dict) or set(row) != {"time_s", "contours"}:
        raise problem(f"frame {number} has the keys 'time_s' and 'contours', and no others", source)
    time = _number(row, "time_s", source)
    return Frame(time, {**fixed, **_contours(row["contours"], turn, source, time)})


def _contours(
    data: Any, turn: NDArray[np.float64], source: str, time_s: float | None
) -> dict[str, NDArray[np.float64]]:
    if not isinstance(data, dict):
        raise problem("contours stand by the name of their articulator", source, time_s=time_s)
    found = {}
    for name, points in data.items():
        if name not in ARTICULATORS:
            raise problem(
                f"{name!r} is no articulator; {did_you_mean(name, ARTICULATORS)}", source, time_s=time_s
            )
        try:
            values = np.atleast_2d(np.asarray(points, float))
        except (TypeError, ValueError, OverflowError, RecursionError):
            values = np.empty((0, 0))
        if values.ndim != 2 or values.shape[1:] != (2,) or not np.isfinite(values).all():
            raise problem(f"{name!r} has to be a list of points [x, y]", source, time_s=time_s)
        with np.errstate(over="ignore", invalid="ignore"):
            found[name] = values @ turn.T
        if not (np.abs(found[name]) <= MOST_MM).all():
            told = f"{name!r} has points more than {MOST_MM / 1000:g} m away: a wrong 'unit'?"
            raise problem(told, source, time_s=time_s)
        if len(values) > 1 and np.ptp(values, axis=0).max() * np.abs(turn).max() < _LEAST_MM:
            told = f"{name!r} has {len(values)} points, all in one place"
            raise problem(f"{told}: a contour has two at least that differ", source, time_s=time_s)
        crossed = geometry.tangle(found[name]) if name in _LINES else None
        if crossed is not None:
            told = f"{name!r} crosses itself at {crossed[0]:.1f}, {crossed[1]:.1f} mm"
            raise problem(f"{told}: its points have to follow each other", source, time_s=time_s)
    return found


def _check_times(frames: Sequence[Frame], rate: float, source: str) -> None:
    steps = [after.time_s - before.time_s for before, after in itertools.pairwise(frames)]
    for frame, step in zip(frames, steps, strict=False):
        if step <= 0:
            raise problem("the next frame is not later than this one", source, time_s=frame.time_s)
        # Missing frames are told where they are needed; what is closer than the rate never fits it.
        whole = max(1, round(step * rate))
        if abs(step * rate - whole) > _RATE_SLACK * whole:
            told = f"the next frame follows after {1000 * step:.1f} ms"
            raise problem(f"{told}, which {rate:g} frames/s do not give", source, time_s=frame.time_s)
