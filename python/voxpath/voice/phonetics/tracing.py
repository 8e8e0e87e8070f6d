"""Contours proposed from the images of a film: a person draws some frames, the others follow the edges.

Each contour of a frame begins as that of the frame before and is drawn to the edges of its image by an active
contour (scikit-image, extra `images`). What a person drew is never changed. So whoever sees a wrong proposal
corrects that frame and has the others proposed again.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from voxpath.extras import install
from voxpath.voice.phonetics import contours, geometry
from voxpath.voice.phonetics.problems import PhoneticsError, problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Image = NDArray[np.float64]
    Points = NDArray[np.float64]

_TENSION, _STIFFNESS = 0.01, 0.1
"""Of the active contour; with them it settles within half a pixel of an edge that moved by some pixels."""
_STEP_PX = 3.0
"""Between the points that are drawn to the edges."""
_LEAST = 8
"""Of them."""


class Moved(NamedTuple):
    """What became of a contour in a frame.

    Attributes:
        time_s: Of the frame.
        articulator: Whose.
        px: By how many pixels its points have moved from the frame before, at most.
        found: Whether it was drawn to edges; else it is as in the frame before.
    """

    time_s: float
    articulator: str
    px: float
    found: bool


@dataclass(frozen=True)
class Traced:
    """A film with a frame for each image.

    Attributes:
        data: As it stands in a file.
        drawn: How many of its frames a person drew.
        moved: Every proposal.
    """

    data: Mapping[str, Any]
    drawn: int
    moved: Sequence[Moved]


def images(paths: Sequence[Path]) -> list[Image]:
    """The images of a film, in grey.

    Raises:
        PhoneticsError: One cannot be read, or scikit-image is missing.
    """
    io, colour = _library("io"), _library("color")
    found = []
    for path in paths:
        try:
            image = io.imread(path)
        except OSError as error:
            raise PhoneticsError(f"{path}: cannot be read: {error.strerror or 'is no image'}") from None
        except ValueError:
            raise PhoneticsError(f"{path}: is no image") from None
        grey = colour.rgb2gray(image[..., :3]) if image.ndim == 3 else image
        if grey.ndim != 2:
            raise PhoneticsError(f"{path}: has {image.ndim} dimensions; an image has two, and its colours")
        found.append(np.asarray(grey, dtype=np.float64))
    return found


def trace(
    film: Mapping[str, Any],
    source: str,
    pictures: Sequence[Image],
    *,
    blur_px: float = 4.0,
    after_s: float | None = None,
) -> Traced:
    """Proposes the frames of a film that a person did not draw.

    Args:
        film: As it stands in a file, in pixels; it has the first frame at least.
        source: The file's name, for messages.
        pictures: An image for each frame of the film to be, at the film's rate.
        after_s: Frames later than that are proposed again; none keeps every one that the film has.
        blur_px: By which images are blurred: how far an edge is seen, and how fine it is.

    Raises:
        PhoneticsError: The film is not in the format, not in pixels or lacks its first frame; or scikit-image
            is missing.
    """
    contours.parse(film, source)
    if not isinstance(film["unit"], dict):
        raise problem('is traced in pixels: it has "unit": {"mm_per_px": NUMBER}', source)
    rate, start = film["rate_hz"], film["frames"][0]["time_s"]
    kept = [row for row in film["frames"] if after_s is None or row["time_s"] <= after_s]
    # The first one is where all begin.
    drawn = kept or film["frames"][:1]
    by_index = {round((row["time_s"] - start) * rate): row for row in drawn}
    if max(by_index) >= len(pictures):
        raise problem(f"has a frame for image {max(by_index) + 1}, and there are {len(pictures)}", source)
    frames: list[Any] = []
    moved: list[Moved] = []
    for index, picture in enumerate(pictures):
        row = by_index.get(index)
        if row is None:
            time_s = round(start + index / rate, 6)
            edges = _edges(picture, blur_px)
            proposed = {}
            for name, points in frames[-1]["contours"].items():
                before = np.atleast_2d(np.asarray(points, dtype=float))
                after, found = _followed(before, edges)
                proposed[name] = np.round(after, 2).tolist()
                moved.append(Moved(time_s, name, float(np.abs(after - before).max()), found))
            row = {"time_s": time_s, "contours": proposed}
        frames.append(row)
    made = {**film, "frames": frames}
    contours.parse(made, source)
    return Traced(made, len(drawn), moved)


def _edges(picture: Image, blur_px: float) -> Image:
    blurred: Image = _library("filters").gaussian(picture, blur_px)
    span = float(np.ptp(blurred))
    return (blurred - blurred.min()) / span if span > 0 else blurred


def _followed(points: Points, edges: Image) -> tuple[Points, bool]:
    """A contour drawn to edges, with as many points; as it was where that gives none, or it is a point."""
    if len(points) < 2:
        return points, False
    count = max(_LEAST, round(geometry.length(points) / _STEP_PX))
    begun = geometry.resample(points, count)
    # Images have rows first.
    drawn = _library("segmentation").active_contour(
        edges,
        begun[:, ::-1],
        alpha=_TENSION,
        beta=_STIFFNESS,
        w_edge=1,
        boundary_condition="free",
        convergence=0.05,
        max_num_iter=1000,
    )[:, ::-1]
    height, width = edges.shape
    inside = np.isfinite(drawn).all() and (drawn >= 0).all() and (drawn <= [width - 1, height - 1]).all()
    if not inside or geometry.tangle(drawn) is not None:
        return points, False
    return geometry.resample(drawn, len(points)), True


def _library(part: str) -> Any:
    try:
        return importlib.import_module(f"skimage.{part}")
    except ImportError:
        raise PhoneticsError(f"contours are traced by scikit-image: {install('images')}") from None
