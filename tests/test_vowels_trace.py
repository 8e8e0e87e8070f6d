"""Contours proposed from images: they follow edges, and what a person drew is never changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skimage import io

from voxpath.voice.phonetics import tracing
from voxpath.voice.phonetics.problems import PhoneticsError

SIZE, RADIUS = 160, 45
START = (80.0, 90.0)
WITHIN_PX = 1.0


def centre(frame: int) -> tuple[float, float]:
    """A tongue that moves back and down by some pixels a frame."""
    return START[0] + 3 * frame, START[1] + 2 * frame


def picture(at: tuple[float, float]) -> np.ndarray:
    """A bright disc on a noisy ground."""
    rows, columns = np.mgrid[:SIZE, :SIZE]
    noise = np.random.default_rng(7).standard_normal((SIZE, SIZE))
    return (np.hypot(columns - at[0], rows - at[1]) < RADIUS) + 0.05 * noise


def arc(at: tuple[float, float]) -> list[list[float]]:
    angles = np.linspace(1.1 * np.pi, 1.9 * np.pi, 15)
    return np.column_stack([at[0] + RADIUS * np.cos(angles), at[1] + RADIUS * np.sin(angles)]).tolist()


def film(*frames: int) -> dict[str, Any]:
    return {
        "format": "voxpath contours 1",
        "unit": {"mm_per_px": 0.3},
        "up": "-y",
        "rate_hz": 50,
        "fixed": {"upper_incisor": [[20, 60]]},
        "frames": [
            {"time_s": frame / 50, "contours": {"tongue": arc(centre(frame)), "hyoid": [[90, 140]]}}
            for frame in frames
        ],
    }


def off(found: tracing.Traced, frame: int, at: tuple[float, float]) -> float:
    """How far a proposed tongue is from the disc's edge, at most."""
    points = np.array(found.data["frames"][frame]["contours"]["tongue"])
    return float(np.abs(np.hypot(*(points - at).T) - RADIUS).max())


def test_contours_follow_what_moves_and_points_stay():
    found = tracing.trace(film(0), "film", [picture(centre(frame)) for frame in range(6)])
    assert found.drawn == 1
    assert [off(found, frame, centre(frame)) < WITHIN_PX for frame in range(6)] == [True] * 6
    assert [row["time_s"] for row in found.data["frames"]] == pytest.approx(
        [frame / 50 for frame in range(6)]
    )
    assert {(one.articulator, one.found) for one in found.moved} == {("tongue", True), ("hyoid", False)}
    assert found.data["frames"][5]["contours"]["hyoid"] == [[90, 140]]


def test_what_a_person_corrects_is_kept_and_followed_from_there():
    """A leap that no edge leads over is lost, until somebody draws the frame after it."""
    places = [START, START, (30.0, 140.0), (32.0, 140.0)]
    pictures = [picture(at) for at in places]
    lost = tracing.trace(film(0), "film", pictures)
    assert off(lost, 3, places[3]) > 5
    corrected = json.loads(json.dumps(lost.data))
    corrected["frames"][2]["contours"]["tongue"] = arc(places[2])
    again = tracing.trace(corrected, "film", pictures, after_s=2 / 50)
    assert again.drawn == 3
    assert again.data["frames"][2] == corrected["frames"][2]
    assert off(again, 3, places[3]) < WITHIN_PX


def test_an_image_without_edges_leaves_contours_where_they_can_be_read():
    found = tracing.trace(film(0), "film", [picture(START), np.zeros((SIZE, SIZE))])
    assert len(found.data["frames"]) == 2


@pytest.mark.parametrize(
    ("changed", "images", "told"),
    [
        ({"unit": "mm"}, 2, "traced in pixels"),
        ({"format": "other"}, 2, "no file of contours"),
        ({"frames": []}, 2, "has no frames"),
        ({}, 0, "there are 0"),
    ],
)
def test_a_film_that_cannot_be_traced_says_why(changed, images, told):
    with pytest.raises(PhoneticsError, match=told):
        tracing.trace({**film(0), **changed}, "film", [picture(START)] * images)


def test_the_command_writes_a_film_and_tells_where_to_look(voxpath, tmp_path: Path):
    names = []
    for frame in range(3):
        names.append(str(tmp_path / f"frame-{frame}.png"))
        grey = np.clip(200 * picture(centre(frame)), 0, 255).astype(np.uint8)
        io.imsave(names[-1], grey, check_contrast=False)
    first, traced = tmp_path / "first.json", tmp_path / "film.json"
    first.write_text(json.dumps(film(0)))
    called = voxpath("vowels", "trace", first, *names, "--save", traced)
    assert called.code == 0, called.err
    assert "tongue" in called.out
    assert "1 of 3 frames as they were drawn" in called.out
    found = tracing.Traced(json.loads(traced.read_text()), 1, [])
    assert off(found, 2, centre(2)) < WITHIN_PX
    told = json.loads(
        voxpath("vowels", "trace", traced, *names, "--save", traced, "--after", "0.02", "--json").out
    )
    assert (told["command"], told["drawn"]) == ("vowels trace", 2)
    assert {one["articulator"] for one in told["proposed"]} == {"tongue", "hyoid"}
    (tmp_path / "no.png").write_text("no image")
    refused = voxpath("vowels", "trace", first, names[0], tmp_path / "no.png", "--save", traced)
    assert refused.code == 2
    assert "is no image" in refused.err
