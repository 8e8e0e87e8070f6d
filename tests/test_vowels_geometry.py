"""Openings and places against shapes with known answers, whatever the contours' direction, place, density."""

from __future__ import annotations

import math

import numpy as np
import pytest

from voxpath.voice.phonetics import articulation, contours, formants, geometry, measurement
from voxpath.voice.phonetics.problems import PhoneticsError
from voxpath.voice.phonetics.settings import Settings

LIMIT_MM = 0.1
"""Within which openings and places have to lie."""


def arc(centre: tuple[float, float], radius: float, first: float, last: float, count: int) -> np.ndarray:
    angles = np.radians(np.linspace(first, last, count))
    return np.column_stack([centre[0] + radius * np.cos(angles), centre[1] + radius * np.sin(angles)])


def constriction(tongue, wall, contact: float = 0.0) -> geometry.Constriction:
    found = geometry.constriction(
        geometry.smooth(np.array(tongue, float)), geometry.smooth(np.array(wall, float)), contact
    )
    assert found is not None
    return found


@pytest.mark.parametrize("points", [9, 25, 200])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("moved", [(0.0, 0.0), (130.0, -47.5)])
def test_a_circle_below_a_straight_wall(points: int, reverse: bool, moved: tuple[float, float]):
    tongue = arc((-30, 0), 20, 10, 170, points) + moved
    wall = np.array([[0, 25], [-80, 25]], float) + moved
    found = constriction(tongue[::-1] if reverse else tongue, wall)
    assert found.opening_mm == pytest.approx(5, abs=LIMIT_MM)
    assert found.place_mm == pytest.approx(30, abs=LIMIT_MM)


@pytest.mark.parametrize("points", [12, 60])
@pytest.mark.parametrize("toward", [40.0, 90.0, 150.0])
def test_circles_inside_of_each_other(points: int, toward: float):
    """A circle of 20 mm inside one of 40, 12 mm off its centre: 8 mm are left in that direction."""
    off = 12 * np.array([math.cos(math.radians(toward)), math.sin(math.radians(toward))])
    found = constriction(arc(tuple(off), 20, 0, 180, points), arc((0, 0), 40, 0, 180, points))
    assert found.opening_mm == pytest.approx(8, abs=LIMIT_MM)
    assert found.place_mm == pytest.approx(40 * math.radians(toward), abs=LIMIT_MM)


def test_parallel_walls_are_closest_at_their_most_forward_place():
    found = constriction([[-10, 0], [-50, 0]], [[0, 3], [-80, 3]])
    assert (found.opening_mm, found.place_mm) == pytest.approx((3, 10), abs=LIMIT_MM)


def test_contours_that_touch_over_a_stretch_touch_at_its_most_forward_place():
    tongue = [[-5, -4], [-20, 10], [-30, 10], [-60, -10]]
    found = constriction(tongue, [[0, 10], [-80, 10]])
    assert (found.opening_mm, found.place_mm) == pytest.approx((0, 20), abs=LIMIT_MM)
    assert (
        geometry.crossing(
            geometry.smooth(np.array(tongue, float)), geometry.smooth(np.array([[0, 10], [-80, 10]], float))
        )
        is None
    )


@pytest.mark.parametrize("height", [48.0, 48.03, 47.951])
@pytest.mark.parametrize("flip", [False, True])
def test_contours_that_cross_do_so_wherever_their_points_lie(height: float, flip: bool):
    """Also where a point of one lies on the other."""
    one = geometry.smooth(np.array([[90, 20], [60, 60], [40, 20]], float))
    other = geometry.smooth(np.array([[98, height], [40, height]], float))
    found = geometry.crossing(other, one) if flip else geometry.crossing(one, other)
    assert found is not None
    assert found[1] == pytest.approx(height, abs=LIMIT_MM)
    beyond = geometry.smooth(np.array([[60, 10], [60, 15], [98, 15]], float))
    assert geometry.crossing(one, beyond) is None
    touching = geometry.smooth(np.array([[98, 60], [40, 60]], float))
    assert geometry.crossing(one, touching) is None


def test_what_counts_as_contact_is_taken_at_its_most_forward_place():
    tongue = arc((-30, 0), 20, 10, 170, 80)
    assert constriction(tongue, [[0, 20.2], [-80, 20.2]]).place_mm == pytest.approx(30, abs=LIMIT_MM)
    forward = constriction(tongue, [[0, 20.2], [-80, 20.2]], contact=0.5)
    # 0.5 mm below the wall the circle is 19.7 mm high: 3.46 mm beside its top.
    assert forward.place_mm == pytest.approx(30 - math.sqrt(20**2 - 19.7**2), abs=LIMIT_MM)


def test_a_tongue_beyond_the_end_of_a_wall_has_no_projection():
    assert (
        geometry.constriction(
            geometry.smooth(np.array([[10.0, 0], [20, 0]])), geometry.smooth(np.array([[0, 5.0], [-50, 5]]))
        )
        is None
    )


def test_corners_stay_and_round_contours_need_few_points():
    square = geometry.smooth(np.array([[0, 0], [0, 30], [-40, 30]], float))
    assert square.max(axis=0) == pytest.approx([0, 30], abs=1e-9)
    assert geometry.length(square) == pytest.approx(70, abs=1e-6)
    circle = geometry.smooth(arc((0, 0), 20, 0, 180, 7))
    assert np.abs(np.linalg.norm(circle, axis=1) - 20).max() < LIMIT_MM


def film(**more) -> dict:
    """A tract of a circle below a palate and before a wall, 50 frames/s, the larynx rising by 1 mm a "
    "frame."""
    frames = [
        {
            "time_s": 0.02 * index,
            "contours": {
                "upper_incisor": [[100, 50]],
                "tongue": arc((60, 20), 20, 10, 190, 30).tolist(),
                "larynx": [[30, -60 + index], [40, -60 + index]],
                "hyoid": [[45, -30 + 2 * index]],
            },
        }
        for index in range(10)
    ]
    fixed = {"palate": [[98, 48], [40, 48]], "pharynx_wall": [[35, 40], [35, -60]]}
    rest = {"upper_incisor": [[100, 50]], "larynx": [[30, -60], [40, -60]], "hyoid": [[45, -30]]}
    return {
        "format": contours.FORMAT,
        "unit": "mm",
        "rate_hz": 50,
        "fixed": fixed,
        "rest": rest,
        "frames": frames,
        **more,
    }


def test_gestures_of_a_film_with_known_answers():
    read = contours.parse(film(), "film.json")
    found = articulation.posture(read.frames[3], read)
    assert found.values["larynx rise"] == pytest.approx(3)
    assert found.values["hyoid rise"] == pytest.approx(6)
    assert found.values["oral opening"] == pytest.approx(8, abs=LIMIT_MM)
    # From the incisor to the palate's front end, along it to above the circle's centre.
    assert found.values["oral place"] == pytest.approx(math.hypot(2, 2) + 38, abs=LIMIT_MM)
    assert found.values["pharyngeal opening"] == pytest.approx(5, abs=LIMIT_MM)
    assert found.values["pharyngeal place"] == pytest.approx(
        math.hypot(2, 2) + 58 + math.hypot(5, 8) + 20, abs=LIMIT_MM
    )
    assert found.primary == "pharyngeal"


def test_units_axes_grid_and_direction_change_nothing():
    plain = articulation.posture(*_frame_of(film()))
    turned = film(unit="cm", forward="-y", up="+x")
    for row in [turned["fixed"], turned["rest"], *(frame["contours"] for frame in turned["frames"])]:
        for name, points in row.items():
            row[name] = [[y / 10, -x / 10] for x, y in points][::-1]
    other = articulation.posture(*_frame_of(turned))
    for name, value in plain.values.items():
        assert other.values[name] == pytest.approx(value, abs=1e-6, nan_ok=True), name


def test_jaw_glottis_and_epiglottis_move_too_where_a_film_has_them():
    told = film()
    places = {
        "jaw": [[80, 0], [90, 10]],
        "glottis": [[32, -62], [38, -62]],
        "epiglottis": [[42, -40], [44, -30]],
    }
    told["rest"] |= places
    for index, frame in enumerate(told["frames"]):
        for name, (forward, up) in {"jaw": (1, -2), "glottis": (0, 1), "epiglottis": (-1, 0.5)}.items():
            moved = [[x + index * forward, y + index * up] for x, y in places[name]]
            frame["contours"][name] = moved
    read = contours.parse(told, "film.json")
    values = articulation.posture(read.frames[4], read).values
    for name, (advance, rise) in {"jaw": (4, -8), "glottis": (0, 4), "epiglottis": (-4, 2)}.items():
        assert values[f"{name} advance"] == pytest.approx(advance), name
        assert values[f"{name} rise"] == pytest.approx(rise), name
    jaw = articulation.components(read.frames, read, "jaw", articulation.COMPONENTS["jaw"])
    assert jaw is not None
    assert jaw.explained[0] == pytest.approx(1, abs=1e-6)
    without = articulation.posture(contours.parse(film(), "film.json").frames[4], read).values
    assert math.isnan(without["jaw rise"])


def test_a_grid_that_is_turned_turns_rises():
    values = articulation.posture(*_frame_of(film(grid_angle_deg=90))).values
    # What went up in the picture went forward in a grid that is turned by 90°.
    assert values["larynx rise"] == pytest.approx(0, abs=1e-9)
    assert values["larynx advance"] == pytest.approx(3)


def _frame_of(data: dict):
    read = contours.parse(data, "film.json")
    return read.frames[3], read


def turned_about(points: list, centre: np.ndarray, degrees: float) -> list:
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return ((np.array(points, float) - centre) @ turn.T + centre).tolist()


@pytest.mark.parametrize("degrees", [-12.0, -3.0, 5.0])
def test_a_head_that_turns_and_moves_between_frames_is_laid_back(degrees: float):
    data = film()
    arch = arc((60, 20), 34, 20, 100, 25).tolist()
    data["fixed"]["palate"] = arch
    data["rest"] |= {"palate": arch}
    known = articulation.posture(*_frame_of(data))
    head = data["frames"][3]["contours"]
    head |= {"palate": arch[3:], "pharynx_wall": data["fixed"]["pharynx_wall"]}
    for name, points in head.items():
        moved = np.array(turned_about(points, np.array([100.0, 50]), degrees)) + np.array([7.0, -4.0])
        head[name] = moved.tolist()
    found = articulation.posture(*_frame_of(data))
    assert found.head_turn_deg == pytest.approx(degrees, abs=0.1)
    assert known.head_turn_deg == 0
    for name in ("larynx rise", "hyoid rise", "larynx advance", "pharyngeal opening", "oral opening"):
        # Ten centimetres from the incisor a tenth of a degree is 0.2 mm.
        assert found.values[name] == pytest.approx(known.values[name], abs=0.2), name


def test_another_palate_is_refused_by_file_and_time():
    data = film()
    data["rest"] |= {"palate": data["fixed"]["palate"]}
    data["frames"][3]["contours"]["palate"] = [[98, 48], [80, 70], [60, 75], [40, 60]]
    with pytest.raises(PhoneticsError, match=r"film\.json, 0\.060 s: the palate lies \d+\.\d mm off"):
        articulation.posture(*_frame_of(data))


def test_lips_have_an_opening_and_a_protrusion():
    data = film()
    data["frames"][3]["contours"] |= {
        "upper_lip": arc((108, 55), 5, 180, 400, 12).tolist(),
        "lower_lip": arc((106, 35), 5, -40, 180, 12)[::-1].tolist(),
    }
    values = articulation.posture(*_frame_of(data)).values
    assert values["lip opening"] == pytest.approx(math.hypot(2, 20) - 10, abs=LIMIT_MM)
    # The foremost points are 113 and 111, the incisor's is 100.
    assert values["lip protrusion"] == pytest.approx(12, abs=LIMIT_MM)
    assert math.isnan(articulation.posture(*_frame_of(film())).values["lip opening"])
    data["frames"][3]["contours"]["lower_lip"] = [[100, 52], [116, 52]]
    with pytest.raises(PhoneticsError, match=r"film\.json, 0\.060 s: upper_lip and lower_lip cross at"):
        articulation.posture(*_frame_of(data))


def test_components_find_the_factors_that_made_the_contours():
    rng = np.random.default_rng(3)
    base = arc((60, 20), 20, 10, 170, 25)
    up, forward = rng.normal(0, 2, 40), rng.normal(0, 0.7, 40)
    rows = [
        contours.Frame(
            index / 50,
            {
                "upper_incisor": np.array([[100.0, 50]]),
                "tongue": base + np.array([forward[index], up[index]]),
            },
        )
        for index in range(40)
    ]
    whole = contours.Contours("film.json", 50, 0.0, None, rows)
    found = articulation.components(rows, whole, "tongue", 3)
    assert found is not None
    assert sum(found.explained[:2]) == pytest.approx(1, abs=1e-6)
    assert abs(np.corrcoef(found.scores[:, 0], up)[0, 1]) > 0.99
    assert articulation.components(rows, whole, "larynx", 2) is None


def test_components_have_a_score_for_each_vowel_and_are_drawn():
    """Of ten vowels of four frames: a score is the median over its own, and goes with the formant."""
    rng = np.random.default_rng(4)
    base = arc((60, 20), 20, 10, 170, 25)
    heights = np.repeat(rng.normal(0, 3, 10), 4)
    frames = [
        contours.Frame(
            index / 50,
            {"upper_incisor": np.array([[100.0, 50]]), "tongue": base + np.array([0.0, height])},
        )
        for index, height in enumerate(heights)
    ]
    whole = contours.Contours("film.json", 50, 0.0, None, frames)
    made = articulation.components(frames, whole, "tongue", 3)
    assert made is not None
    hz = [500.0 + 20 * height for height in heights[::4]]
    vowels = [
        formants.Vowel(
            "a", "", index * 0.08, index * 0.08 + 0.07, (one, 1500.0, 2500.0, 3500.0), (5.0,) * 4, 9, 0.0
        )
        for index, one in enumerate(hz)
    ]
    postures = [
        articulation.Posture(0.0, dict.fromkeys(articulation.GESTURES, math.nan), None, None) for _ in vowels
    ]
    scores = measurement.vowel_scores([made], [4] * 10)
    found = measurement.Measurement("x.wav", Settings(), vowels, whole, postures, [made], scores)
    ((label, name, formant, one),) = [
        told for told in measurement.score_correlations(found) if told[2] == 1 and told[1] == "tongue 1"
    ]
    assert (label, name, formant, one.n) == ("a", "tongue 1", 1, 10)
    assert one.r == pytest.approx(1, abs=1e-6)
    assert [row["tongue_1_sd"] for row in measurement.rows(found)] == found.score("tongue 1")
    titles = {table.title for table in measurement.tables(found, found.references(None))}
    assert "Components and formants" in titles
    (drawing,) = measurement.component_shapes(found)
    low, mean, high = (np.array(line.points) for line in drawing.outlines)
    # Two standard deviations up, and as many down.
    assert np.allclose(high - mean, mean - low)
    assert np.allclose((high - mean)[:, 1], 2 * heights.std(ddof=1), rtol=1e-6)


def broken(path: str, value: object) -> dict:
    data = film()
    here: object = data
    *way, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    for word in way:
        here = here[word]  # type: ignore[index]
    here[last] = value  # type: ignore[index]
    return data


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (broken("format", "other"), "no file of contours"),
        (broken("unit", "inch"), "'unit' is"),
        (broken("rate_hz", 0), "'rate_hz' has to be above 0"),
        (broken("rate_hz", 30), "0.000 s: the next frame follows after 20.0 ms, which 30 frames/s"),
        (broken("frames.4.time_s", 0.06), "0.060 s: the next frame is not later"),
        (
            broken("frames.4.contours.tounge", [[0, 0]]),
            "0.080 s: 'tounge' is no articulator; did you mean 'tongue'?",
        ),
        (broken("frames.4.contours.tongue", [[0, "x"]]), "0.080 s: 'tongue' has to be a list of points"),
        (
            broken("frames.4.contours.tongue", [[70, 20], [60, 40], [65, 40], [60, 20]]),
            "0.080 s: 'tongue' crosses itself at",
        ),
        (broken("frames", []), "has no frames"),
        (broken("forward", "+y"), "'forward' and 'up'"),
    ],
)
def test_a_broken_film_is_refused_by_file_and_time(data: dict, told: str):
    with pytest.raises(PhoneticsError, match=r"^film\.json") as raised:
        contours.parse(data, "film.json")
    assert told in str(raised.value)


def test_contours_that_cross_or_are_missing_are_refused_by_file_and_time():
    crossed = broken("frames.3.contours.tongue", arc((50, 20), 30, 10, 190, 30).tolist())
    with pytest.raises(PhoneticsError, match=r"film\.json, 0\.060 s: tongue and palate cross at"):
        articulation.posture(*_frame_of(crossed))
    missing = film()
    del missing["frames"][3]["contours"]["tongue"]
    with pytest.raises(PhoneticsError, match=r"film\.json, 0\.060 s: the tongue is missing"):
        articulation.posture(*_frame_of(missing))


def test_missing_frames_inside_of_a_vowel_are_told():
    data = film()
    del data["frames"][4:7]
    read = contours.parse(data, "film.json")
    with pytest.raises(PhoneticsError, match=r"film\.json, 0\.060 s: frames are missing: none for 80 ms"):
        read.between(0.02, 0.16)
    assert len(read.between(0.0, 0.06)) == 4
    with pytest.raises(PhoneticsError, match="no frame between"):
        read.between(1.0, 1.1)


def test_a_film_that_is_written_is_read_the_same():
    read = contours.parse(film(), "film.json")
    import json

    again = contours.parse(json.loads(contours.render(read)), "film.json")
    assert articulation.posture(again.frames[5], again).values == pytest.approx(
        articulation.posture(read.frames[5], read).values, abs=1e-3, nan_ok=True
    )


@pytest.mark.parametrize("points", [60, 200])
def test_circles_with_nearly_one_centre_have_the_place_of_the_closest_point(points: int):
    """20 and 15 mm, 2 mm apart towards 60°: 3 mm are left there."""
    off = 2 * np.array([math.cos(math.radians(60)), math.sin(math.radians(60))])
    found = constriction(arc(tuple(off), 15, 0, 180, points), arc((0, 0), 20, 0, 180, points))
    assert found.opening_mm == pytest.approx(3, abs=LIMIT_MM)
    assert found.place_mm == pytest.approx(20 * math.radians(60), abs=LIMIT_MM)


def test_of_what_counts_as_contact_the_opening_is_the_smallest():
    tongue = arc((-30, 0), 20, 10, 170, 80)
    for contact in (0.0, 0.5, 1.0):
        found = constriction(tongue, [[0, 20.2], [-80, 20.2]], contact)
        assert found.opening_mm == pytest.approx(0.2, abs=0.01), contact


@pytest.mark.parametrize("deep", [0.3, 0.6, 5.0])
@pytest.mark.parametrize("wall", ["palate", "pharynx_wall"])
def test_a_tongue_past_a_wall_by_more_than_a_pen_is_refused(wall: str, deep: float):
    """Also where it lies past it as a whole and so crosses nothing."""
    data = film()
    tongue = [[90, 48 + deep], [50, 48 + deep]] if wall == "palate" else [[35 - deep, 30], [35 - deep, -50]]
    del data["fixed"]["pharynx_wall" if wall == "palate" else "palate"]
    data["frames"][3]["contours"]["tongue"] = tongue
    if deep < geometry.TOUCH_MM:
        region = "oral" if wall == "palate" else "pharyngeal"
        assert articulation.posture(*_frame_of(data)).values[f"{region} opening"] == 0
        return
    told = rf"film\.json, 0\.060 s: the tongue lies {deep:.1f} mm past the {wall}"
    with pytest.raises(PhoneticsError, match=told):
        articulation.posture(*_frame_of(data))


def test_lips_that_changed_places_are_refused():
    data = film()
    data["frames"][3]["contours"] |= {
        "lower_lip": arc((108, 55), 5, 180, 400, 12).tolist(),
        "upper_lip": arc((106, 35), 5, -40, 180, 12).tolist(),
    }
    with pytest.raises(PhoneticsError, match=r"film\.json, 0\.060 s: the middle of the upper_lip lies"):
        articulation.posture(*_frame_of(data))


def test_the_direction_of_an_incisor_means_nothing():
    teeth = [[101, 55], [103, 52], [100, 50]]
    found = []
    for points in (teeth, teeth[::-1]):
        data = film()
        data["rest"] |= {"palate": data["fixed"]["palate"], "upper_incisor": teeth}
        data["frames"][3]["contours"] |= {"upper_incisor": points, "palate": [[98, 48], [40, 48.0]]}
        found.append(articulation.posture(*_frame_of(data)).values)
    assert found[0] == pytest.approx(found[1], nan_ok=True)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (broken("contact_mm", 1e9), "'contact_mm' has to be from 0 to 5"),
        (broken("contact_mm", -0.5), "'contact_mm' has to be from 0 to 5"),
        (broken("grid_angle_deg", "abc"), "'grid_angle_deg' has to be a number, not 'abc'"),
        (broken("grid_angle_deg", math.nan), "'grid_angle_deg' has to be a number, not nan"),
        (broken("rate_hz", 10**400), "'rate_hz' has to be a number"),
        (broken("forward", ["+x"]), "'forward' and 'up'"),
        (broken("frames.4.contours.tongue", [[1e200, 0], [0, 1]]), "0.080 s: 'tongue' has points more than"),
        (broken("frames.4.contours.tongue", [[10**400, 0], [0, 1]]), "0.080 s: 'tongue' has to be a list"),
        (broken("frames.4.contours.tongue", [[5, 5], [5, 5]]), "0.080 s: 'tongue' has 2 points, all in one"),
        (broken("frames.4.contours.larynx", [[5, 5], [5, 5]]), "0.080 s: 'larynx' has 2 points, all in one"),
    ],
)
def test_values_that_cannot_be_are_refused_by_file_and_time(data: dict, told: str):
    with pytest.raises(PhoneticsError, match=r"^film\.json") as raised:
        contours.parse(data, "film.json")
    assert told in str(raised.value)


def test_a_file_that_is_nested_too_deep_is_refused(tmp_path):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    with pytest.raises(PhoneticsError, match=r"deep\.json: is nested too deep"):
        contours.read(deep)
