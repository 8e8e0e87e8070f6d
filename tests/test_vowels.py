"""Formants against vowels with known resonances, and what is said of material that cannot be measured."""

from __future__ import annotations

import html
import json
import math
import re
import shlex
import sys
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reports import text_of
from test_vowels_geometry import film
from voxpath.cli.actions.vowels import comparison_table
from voxpath.results.intervals import Summary
from voxpath.voice.phonetics import (
    accuracy,
    articulation,
    compare,
    formants,
    klatt,
    measurement,
    praat,
    summary,
    textgrid,
    tract,
)
from voxpath.voice.phonetics.problems import SilentError
from voxpath.voice.phonetics.settings import Settings
from voxpath.voice.phonetics.textgrid import Interval

VOWELS = {
    "plain": (519.6, 1573.4, 2485.8, 3676.3),
    "emphatic": (658.1, 1259.3, 2538.1, 3700.2),
    "open": (730.0, 1090.0, 2440.0, 3400.0),
    "back": (570.0, 840.0, 2410.0, 3300.0),
}
"""Resonances: /a/ plain and pharyngealised as in the publication, American open and back ones of Peterson and
Barney."""

GLIDING, SCATTERING, NOISY = (voice for voice in accuracy.VOICES if voice.widened == 1)
DAP = Settings(method="dap")


@pytest.mark.parametrize("voice", accuracy.VOICES, ids=lambda voice: voice.name)
def test_formants_of_the_harmonics_are_within_5_percent_up_to_200_hz(voice: accuracy.Voice):
    """Of every vowel, also the close ones, whatever the voice."""
    vowels = {name: accuracy.MEN[name] for name in "iɔu"} | VOWELS
    low, middle, _ = accuracy.worst(voice, DAP, vowels)
    assert max(low)[0] <= accuracy.LIMIT_PERCENT, low
    assert max(middle)[0] <= 10, middle


@pytest.mark.parametrize("name", VOWELS)
@pytest.mark.parametrize("pitch", [80, 120, 150, 180, 200])
def test_burg_s_formants_of_open_vowels_are_within_5_percent_up_to_200_hz(name: str, pitch: int):
    for voice in (accuracy.Voice("steady", glide=0.0), GLIDING):
        assert max(accuracy.errors(VOWELS[name], pitch, voice, Settings())) <= 5


def test_burg_s_first_formant_of_close_vowels_is_drawn_to_harmonics():
    """docs/vowels.md states it: F1 lies between the first harmonics, and Burg's method follows them."""
    close = {name: accuracy.MEN[name] for name in "iu"}
    (first, where), *others = next(accuracy.worst(GLIDING, Settings(), close))
    assert 5 < first <= 12, where
    assert max(others)[0] <= 5


def test_a_pitch_that_glides_by_a_fifth_is_followed():
    voice = accuracy.Voice("singing", glide=0.2)
    for name in "iu":
        assert max(accuracy.errors(accuracy.MEN[name], 150, voice, DAP)) <= 5


def test_where_there_is_no_voice_the_harmonics_have_no_formants():
    rng = np.random.default_rng(4)
    whisper = praat.library().Sound(0.1 * rng.standard_normal(6000), klatt.RATE_HZ)
    assert np.isnan(formants.track(whisper, DAP).hz).all()
    assert np.isfinite(formants.track(whisper, Settings()).hz[:, 0]).all()
    # Frames are where Praat has them.
    assert formants.track(whisper, DAP).times_s == pytest.approx(formants.track(whisper, Settings()).times_s)


def test_the_pulses_of_a_voice_are_as_far_apart_as_its_pitch_says():
    made = klatt.vowel(VOWELS["open"], 300, 0.3)
    spectrum = np.abs(np.fft.rfft(made * np.hanning(len(made)), 2**18))
    hz = np.fft.rfftfreq(2**18, 1 / klatt.RATE_HZ)
    # Nothing half-way between the harmonics, where pulses at whole samples put -24 dB.
    between = max(spectrum[(hz > at - 5) & (hz < at + 5)].max() for at in (150, 450, 750, 1050))
    assert 20 * np.log10(between / spectrum.max()) < -50


def test_the_accuracy_of_some_settings_is_told(voxpath, monkeypatch):
    monkeypatch.setattr(accuracy, "MEN", {"u": accuracy.MEN["u"]})
    monkeypatch.setattr(accuracy, "VOICES", (GLIDING,))
    monkeypatch.setattr(accuracy, "BANDS_HZ", ((150, 180),))
    burg = voxpath("vowels", "accuracy")
    assert re.search(r"150 to 180\s+1\d\.\d .*u at 180 Hz", burg.out), burg.out
    dap = voxpath("vowels", "accuracy", "--method", "dap", "--ceiling", "5000")
    assert re.search(r"150 to 180\s+[0-2]\.\d ", dap.out), dap.out


def test_resonances_of_a_tube_are_those_of_theory():
    """c / 4 (L + 0.85 r), times 1, 3, 5: closed at one end, rigid."""
    radius, length = math.sqrt(3e-4 / math.pi), 0.175
    found = tract.resonances([3e-4] * 175, 0.001, 3, rigid=True)
    first = tract.SPEED_M_S / 4 / (length + 8 * radius / (3 * math.pi))
    assert found == pytest.approx([first, 3 * first, 5 * first], rel=0.01)
    # Walls that yield raise the first resonance, and hardly the others.
    soft = tract.resonances([3e-4] * 175, 0.001, 3)
    assert soft[0] > 1.03 * found[0]
    assert soft[2] == pytest.approx(found[2], rel=0.01)
    with pytest.raises(ValueError, match="closed"):
        tract.resonances([3e-4, 0.0], 0.001)


def test_two_tubes_shift_resonances_as_perturbation_theory_says():
    """A narrow throat and a wide mouth, as of /a/: F1 up, F2 down."""
    even = tract.resonances([3e-4] * 176, 0.001, 2, rigid=True)
    throat = tract.resonances([1e-4] * 88 + [7e-4] * 88, 0.001, 2, rigid=True)
    assert throat[0] > 1.2 * even[0]
    assert throat[1] < 0.85 * even[1]


# Recordings


def recording(
    folder: Path,
    *,
    name: str = "speech",
    contexts: bool = True,
    silent: int | None = None,
    rate: int = klatt.RATE_HZ,
) -> tuple[Path, Path]:
    """Six vowels, plain and emphatic by turns, with their annotation."""
    rng = np.random.default_rng(7)
    parts, vowels, around, time = [], [], [], 0.0
    for index in range(6):
        kind = ("plain", "emphatic")[index % 2]
        known = [hz * (1 + 0.02 * rng.standard_normal()) for hz in VOWELS[kind]]
        made = klatt.vowel(known, 110 + 4 * rng.standard_normal(), 0.2)
        parts += [np.zeros(round(0.1 * klatt.RATE_HZ)), 0 * made if index == silent else made]
        vowels.append(Interval(time + 0.1, time + 0.3, "a"))
        around.append(Interval(time + 0.1, time + 0.3, kind))
        time += 0.3
    values = np.concatenate(parts)
    audio, grid = folder / f"{name}.wav", folder / f"{name}.TextGrid"
    write(audio, values, rate)
    tiers = {"vowel": vowels, "context": around} if contexts else {"vowel": vowels}
    grid.write_text(textgrid.render(textgrid.of_tiers(name, len(values) / klatt.RATE_HZ, **tiers)))
    return audio, grid


def write(path: Path, values: np.ndarray, rate: int) -> None:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((values * 32767).astype("<i2").tobytes())


def test_a_recording_is_measured_by_context(voxpath, tmp_path: Path):
    audio, grid = recording(tmp_path)
    called = voxpath(
        "vowels", "measure", audio, grid, "--tier", "vowel", "--contexts", "context", "--reference", "plain",
        "--save", "vowels.csv", "--report", "vowels.html",
    )  # fmt: skip
    assert called.code == 0, called.err
    shifts = {
        row[1]: float(row[0])
        for row in re.findall(r"(?m)a \(emphatic\)\s+(F\d)\s+([-+]\d+)", called.out)
        for row in [row[::-1]]
    }
    assert shifts["F1"] == pytest.approx(138, abs=30)
    assert shifts["F2"] == pytest.approx(-314, abs=60)
    assert len((tmp_path / "vowels.csv").read_text().splitlines()) == 7
    page = (tmp_path / "vowels.html").read_text()
    assert "data:image/png;base64," in page
    assert "Vowel space" in text_of(page)


def test_the_same_recording_is_repeatable_and_another_vowel_is_shifted(voxpath, tmp_path: Path):
    audio, grid = recording(tmp_path, contexts=False)
    same = voxpath("vowels", "compare", audio, audio, grid)
    assert same.code == 0, same.err
    assert same.out.count("repeatable") == 8
    shifted = tmp_path / "shifted.wav"
    raised = [klatt.vowel([1.2 * VOWELS["plain"][0], *VOWELS["plain"][1:]], 110, 0.2) for _ in range(6)]
    gap = np.zeros(round(0.1 * klatt.RATE_HZ))
    write(shifted, np.concatenate([part for one in raised for part in (gap, one)]), klatt.RATE_HZ)
    plain = tmp_path / "plain.wav"
    flat = [klatt.vowel(VOWELS["plain"], 108 + index, 0.2) for index in range(6)]
    write(plain, np.concatenate([part for one in flat for part in (gap, one)]), klatt.RATE_HZ)
    called = voxpath("vowels", "compare", plain, shifted, grid, "--report", "shifts.html")
    assert re.search(r"all\s+F1\s+6\s+1?\d\d\.\d+ ± \S+.*shifted", called.out), called.out
    assert "Reference" in text_of((tmp_path / "shifts.html").read_text())


def test_a_vowel_that_is_lost_is_told_and_not_compared(tmp_path: Path):
    audio, grid = recording(tmp_path, contexts=False)
    holed, _ = recording(tmp_path, name="holed", contexts=False, silent=2)
    first = compare.reference(praat.read_sound(audio), "a", textgrid.read(grid), Settings())
    found = first.shifts(praat.read_sound(holed), "b").judged()
    assert [vowel.start_s for vowel in found.lost] == pytest.approx([0.7])
    assert len(found.shifts) == 5


@pytest.mark.parametrize(
    ("mean", "half", "verdict"),
    [
        (5, 4, "repeatable"),
        (5, 6, "undecided"),
        (15, 4, "shifted"),
        (15, 16, "undecided"),
        (-15, 4, "shifted"),
        (5, None, "no answer"),
    ],
)
def test_a_shift_is_judged_by_the_repeatability_limit(mean: float, half: float | None, verdict: str):
    assert compare.verdict(Summary(5, mean, half), 10.0) == verdict


def test_outliers_are_flagged_and_differences_have_intervals():
    assert summary.outliers([500, 510, 490, 505, 495, 900]) == (5,)
    assert summary.outliers([500, 900]) == ()
    # Welch's own formula by hand: means 15 and 10, variances 10 and 2.5 of five each, 5.88 degrees of
    # freedom.
    hz, interval = summary.welch([11, 13, 15, 17, 19], [8, 9, 10, 11, 12])
    assert hz == 5
    assert interval is not None
    assert interval == pytest.approx((5 - 2.459 * math.sqrt(2.5), 5 + 2.459 * math.sqrt(2.5)), rel=0.002)
    found = summary.correlation([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    assert found is not None
    assert found.r == pytest.approx(0.7746, abs=1e-4)
    assert summary.correlation([1, 1, 1], [1, 2, 3]) is None


def test_an_ellipse_has_the_axes_of_its_points():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 30, 4000), rng.normal(0, 10, 4000)
    found = summary.ellipse((1500 + a * 0.6 - b * 0.8).tolist(), (500 + a * 0.8 + b * 0.6).tolist())
    assert found is not None
    assert (found.half_major, found.half_minor) == pytest.approx((30, 10), rel=0.05)
    assert math.degrees(found.angle_rad) % 180 == pytest.approx(53.13, abs=2)


def vowel_of(label: str, context: str, hz: tuple[float, ...], start: float = 0.0) -> formants.Vowel:
    return formants.Vowel(label, context, start, start + 0.2, hz, (5.0,) * 4, 9, 0.0)


def test_a_vowel_is_compared_with_itself_in_the_context_of_reference():
    """Not with whichever vowel happens to stand there first or last."""
    vowels = [
        vowel_of(label, context, (first + more, 1500.0 + more, 2500.0, 3500.0))
        for label, first in (("a", 700.0), ("i", 300.0))
        for context, shift in (("plain", 0.0), ("emphatic", 50.0))
        for more in (shift, shift + 4.0)
    ]
    found = measurement.Measurement("x.wav", Settings(), vowels, None, [], [])
    for wanted in ("plain", None):
        references = found.references(wanted)
        assert references.by_key["i (emphatic)"] == "i (plain)"
        assert references.by_key["a (emphatic)"] == "a (plain)"
        _, table = measurement.tables(found, references)
        assert table.title == "Differences from the same vowel, plain"
        first = {row[0]: row[2] for row in table.rows if row[1] == "F1"}
        assert first == {"a (emphatic)": "+50", "i (emphatic)": "+50"}
    assert set(found.references("a (plain)").by_key.values()) == {"a (plain)"}
    lone = replace(found, vowels=[*vowels, vowel_of("u", "emphatic", (300.0, 900.0, 2300.0, 3300.0))])
    told = measurement.tables(lone, lone.references("plain"))[1]
    assert "No vowel in 'plain' to compare with: u." in told.notes


def test_correlations_are_of_one_vowel():
    """Two vowels that stand apart in both correlate, whatever either of them does."""
    rises = [1.0, 1.2, 1.1, 1.3, 9.0, 9.2, 9.1, 9.3]
    first = [300.0, 302.0, 304.0, 301.0, 700.0, 702.0, 704.0, 701.0]
    vowels = [vowel_of("ai"[index < 4], "", (hz, 1500.0, 2500.0, 3500.0)) for index, hz in enumerate(first)]
    still = dict.fromkeys(articulation.GESTURES, math.nan)
    postures = [articulation.Posture(0.0, still | {"larynx rise": rise}, None, None) for rise in rises]
    found = measurement.Measurement("x.wav", Settings(), vowels, None, postures, [])
    by = {label: one for label, name, formant, one in measurement.correlations(found) if formant == 1}
    assert {label: one.n for label, one in by.items()} == {"i": 4, "a": 4}
    assert all(abs(one.r) < 0.9 for one in by.values())


def test_each_formant_has_its_own_n_and_outliers_are_seen_everywhere():
    fourth = [3500.0, math.nan, 3510.0, math.nan, 3490.0, math.nan]
    first = [500.0, 510.0, 490.0, 505.0, 495.0, 900.0]
    vowels = [vowel_of("a", "", (one, 1500.0, 2500.0, four)) for one, four in zip(first, fourth, strict=True)]
    found = measurement.Measurement("x.wav", Settings(), vowels, None, [], [])
    (table,) = measurement.tables(found, found.references(None))
    row = [str(value) for value in table.rows[0]]
    assert row[:2] == ["a", "6"]
    assert row[3].endswith("*")
    assert row[8] == "3500 (3)"
    rows = measurement.rows(found)
    assert [line["f1_outlier"] for line in rows] == [False] * 5 + [True]
    assert not any(line["f2_outlier"] for line in rows)


def test_noise_of_a_recording_s_last_bit_is_silence(tmp_path: Path):
    """Beside speech and alone, measured and compared."""
    audio, grid = recording(tmp_path, contexts=False)
    speech, annotated = praat.read_sound(audio), textgrid.read(grid)
    rng = np.random.default_rng(2)
    noise = praat.library().Sound(rng.integers(-1, 2, speech.n_samples) / 32768, klatt.RATE_HZ)
    with pytest.raises(SilentError, match=r"noise\.wav, 0\.100 s: is silent wherever tier 'vowel'"):
        formants.measure(noise, "noise.wav", annotated, Settings())
    first = compare.reference(speech, "a", annotated, Settings())
    with pytest.raises(SilentError, match="b: is silent wherever"):
        first.shifts(noise, "b")
    pauses = [Interval(0.3 * index + 0.01, 0.3 * index + 0.09, "a") for index in range(6)]
    between = textgrid.of_tiers("pauses", speech.duration, vowel=pauses)
    whole = praat.library().Sound(
        np.where(speech.values[0] == 0, noise.values[0], speech.values[0]), klatt.RATE_HZ
    )
    with pytest.raises(SilentError, match=r"0\.010 s: is silent wherever"):
        formants.measure(whole, "whole.wav", between, Settings())
    loud = praat.library().Sound(
        whole.values[0] + 0.0004 * rng.standard_normal(whole.n_samples), klatt.RATE_HZ
    )
    with pytest.raises(SilentError, match=r"0\.010 s: is silent wherever"):
        formants.measure(loud, "loud.wav", between, Settings())


# Broken input


LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 1.5 ! seconds
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "TextTier"
        name = "points"
        xmin = 0
        xmax = 1.5
        points: size = 1
        points [1]:
            number = 0.5
            mark = "x"
    item [2]:
        class = "IntervalTier"
        name = "vowel"
        xmin = 0
        xmax = 1.5
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 0.7
            text = ""
        intervals [2]:
            xmin = 0.7
            xmax = 1.5
            text = "a ""x"" !"
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_long_text_files_are_read_as_praat_writes_them(tmp_path: Path, encoding: str):
    file = tmp_path / "x.TextGrid"
    file.write_text(LONG, encoding)
    (one,) = textgrid.read(file).tier("vowel").labelled
    assert one == Interval(0.7, 1.5, 'a "x" !')
    again = praat.library().TextGrid.read(str(file))
    assert praat.call(again, "Get label of interval...", 2, 2) == one.label


GRID = '"ooTextFile"\n"TextGrid"\n0\n1.8\n<exists>\n1\n"IntervalTier"\n"vowel"\n0\n1.8\n{}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GRID.format('1\n0\n1.8\n""'), "x.TextGrid, tier 'vowel': is empty"),
        (GRID.format('2\n0\n0.5\n"a"\n0.4\n0.9\n"a"'), "tier 'vowel', 0.400 s: the interval 'a' overlaps"),
        (GRID.format('1\n0.5\n0.5\n"a"'), "tier 'vowel', 0.500 s: the interval 'a' ends at"),
        (GRID.format('1\n1.5\n2.5\n"a"'), "tier 'vowel', 2.500 s: goes on after the end"),
        (GRID.format("1\n0.5\n0.6"), "ends where a text should stand"),
        ("hello", "ends where a text should stand"),
        (GRID.replace("0\n1.8\n<", "0\n1e999\n<").format("1"), "x.TextGrid: has '1e999' where a number"),
        (GRID.format('1e999\n0\n1.8\n"a"'), "x.TextGrid: has '1e999' where a number"),
        (GRID.format('1.5\n0\n1.8\n"a"'), "x.TextGrid: has 1.5 where a count"),
        ('"ooTextFile"\n"Pitch"\n', "is no TextGrid"),
        (GRID.format('1\n0.15\n0.16\n"a"'), "tier 'vowel', 0.150 s: 'a' lasts 10 ms, and its middle has"),
        (GRID.format('1\n0.02\n0.08\n"a"'), "speech.wav, tier 'vowel', 0.020 s: 'a' is"),
        (GRID.replace("1.8", "3.6").format('1\n0.1\n0.3\n"a"'), "speech.wav: lasts 1.800 s, and x.TextGrid"),
    ],
)  # fmt: skip
def test_a_broken_annotation_is_refused_by_file_tier_and_time(voxpath, tmp_path: Path, text: str, told: str):
    recording(tmp_path)
    loud = text.replace('0.08\n"a"', '0.08\n"a"\n0.12\n0.28\n"a"').replace(
        "0\n1.8\n1\n0.02", "0\n1.8\n2\n0.02"
    )
    (tmp_path / "x.TextGrid").write_text(loud)
    called = voxpath("vowels", "measure", "speech.wav", "x.TextGrid", "--save", "x.csv")
    assert called.code == 2
    assert told in called.err
    assert not (tmp_path / "x.csv").exists()


def long_film() -> dict:
    """As long as the recording, nothing moving."""
    data = film()
    data["frames"] = [
        {"time_s": round(0.02 * index, 3), "contours": dict(data["frames"][0]["contours"])}
        for index in range(91)
    ]
    return data


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda data: data["frames"][10]["contours"].update(tongue=[[90, 20], [60, 60], [40, 20]]),
            "film.json, 0.200 s: tongue and palate cross at",
        ),
        (
            lambda data: data["frames"][10]["contours"].update(
                tongue=[[70, 20], [60, 40], [65, 40], [60, 20]]
            ),
            "film.json, 0.200 s: 'tongue' crosses itself at",
        ),
        (
            lambda data: data["frames"].__delitem__(slice(9, 12)),
            "film.json, 0.160 s: frames are missing: none for 80 ms inside of a vowel",
        ),
        (lambda data: data["frames"].__delitem__(slice(40, None)), "film.json, 0.780 s: frames are missing"),
        (lambda data: data.update(rate_hz=30), "film.json, 0.000 s: the next frame follows after 20.0 ms"),
        (
            lambda data: data["frames"][10]["contours"].pop("tongue"),
            "film.json, 0.200 s: the tongue is missing",
        ),
        (
            lambda data: data["frames"][10]["contours"].update(tongue=[[60, 30]]),
            "film.json, 0.200 s: the tongue has 1 point",
        ),
    ],
)
def test_a_broken_film_is_refused_by_file_and_time(voxpath, tmp_path: Path, change, told: str):
    audio, grid = recording(tmp_path)
    data = long_film()
    change(data)
    (tmp_path / "film.json").write_text(json.dumps(data))
    called = voxpath("vowels", "measure", audio, grid, "film.json", "--tier", "vowel", "--save", "x.csv")
    assert called.code == 2
    assert told in called.err
    assert not (tmp_path / "x.csv").exists()


def test_a_film_with_few_points_or_backwards_measures_the_same(voxpath, tmp_path: Path):
    audio, grid = recording(tmp_path)
    saved = []
    for name, points in (
        ("many", slice(None)),
        ("few", slice(None, None, 4)),
        ("back", slice(None, None, -1)),
    ):
        data = long_film()
        for frame in data["frames"]:
            # 30 points, and the last of them every time.
            tongue = frame["contours"]["tongue"]
            frame["contours"]["tongue"] = (
                tongue[points] if name == "back" else [*tongue[:-1][points], tongue[-1]]
            )
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
        called = voxpath(
            "vowels", "measure", audio, grid, f"{name}.json", "--tier", "vowel", "--contexts", "context",
            "--save", f"{name}.csv", "--report", f"{name}.html",
        )  # fmt: skip
        assert called.code == 0, called.err
        saved.append(pl.read_csv(tmp_path / f"{name}.csv"))
    many, few, back = saved
    for column in ("oral_opening_mm", "oral_place_mm", "pharyngeal_opening_mm", "pharyngeal_place_mm"):
        assert many[column].to_list() == pytest.approx(back[column].to_list(), abs=1e-6)
        assert many[column].to_list() == pytest.approx(few[column].to_list(), abs=0.1)
    assert "Contours" in text_of((tmp_path / "few.html").read_text())


def test_a_missing_file_tier_or_context_is_told(voxpath, tmp_path: Path):
    audio, grid = recording(tmp_path)
    for arguments, told in (
        (["no.wav", grid, "--tier", "vowel"], "no.wav: there is no such file"),
        ([grid, grid, "--tier", "vowel"], "is no recording that Praat can read"),
        ([audio, grid], "has several tiers, say which: 'vowel', 'context'"),
        ([audio, grid, "--tier", "phone"], "has no tier 'phone'; it has 'vowel', 'context'"),
        ([audio, grid, "--tier", "vowel", "--reference", "open"], "no vowel stands in 'open'"),
        ([audio, grid, "--tier", "vowel", "--ceiling", "12000"], "which hold nothing above 11025 Hz"),
        ([audio, grid, "nofilm.json", "--tier", "vowel"], "nofilm.json: cannot be read"),
        ([audio, grid, "--tier", "vowel", "--report", "x.txt"], "is no page"),
    ):
        called = voxpath("vowels", "measure", *arguments)
        assert called.code == 2
        assert told in called.err


def test_a_wrong_rate_and_a_silent_vowel_are_told(voxpath, tmp_path: Path):
    slow, grid = recording(tmp_path, rate=klatt.RATE_HZ // 2)
    called = voxpath("vowels", "measure", slow, grid, "--tier", "vowel", "--ceiling", "5000")
    assert "wrong sampling rate (11025 samples/s)" in called.err
    silent, grid = recording(tmp_path, silent=2)
    called = voxpath("vowels", "measure", silent, grid, "--tier", "vowel")
    assert f"{silent}, tier 'vowel', 0.700 s: 'a' is silent" in called.err
    everything = tmp_path / "nothing.wav"
    write(everything, np.zeros(round(1.8 * klatt.RATE_HZ)), klatt.RATE_HZ)
    with pytest.raises(SilentError, match="is silent wherever"):
        formants.measure(
            praat.read_sound(everything), "nothing.wav", textgrid.read(grid), Settings(), tier="vowel"
        )


def test_a_folder_a_recording_cut_off_and_one_too_short_are_told(voxpath, tmp_path: Path, recwarn):
    audio, grid = recording(tmp_path, contexts=False)
    (tmp_path / "cut.wav").write_bytes(audio.read_bytes()[:40_000])
    write(tmp_path / "short.wav", klatt.vowel(VOWELS["plain"], 110, 0.04), klatt.RATE_HZ)
    short = textgrid.of_tiers("short", 0.04, vowel=[Interval(0.0, 0.04, "a")])
    (tmp_path / "short.TextGrid").write_text(textgrid.render(short))
    write(tmp_path / "long.wav", np.tile(klatt.vowel(VOWELS["plain"], 110, 0.2), 100), klatt.RATE_HZ)
    long = textgrid.of_tiers("long", 19.9, vowel=[Interval(0.1, 0.2, "a")])
    (tmp_path / "long.TextGrid").write_text(textgrid.render(long))
    for arguments, told in (
        ([tmp_path, grid], f"{tmp_path}: is a folder, no recording"),
        (["cut.wav", grid], "cut.wav: is not whole"),
        (["short.wav", "short.TextGrid", "--method", "dap"], "short.wav: lasts 40 ms; a pitch is found in"),
        # 0.5 % too long: 0.3 s a minute.
        (["long.wav", "long.TextGrid"], "long.wav: lasts 20.000 s, and long.TextGrid annotates 19.900 s"),
        ([audio, grid, "--method", "dap", "--window", "5"], "has 0.6 periods of the voice, too few"),
    ):
        called = voxpath("vowels", "measure", *arguments)
        assert called.code == 2
        assert told in called.err
    assert not [one for one in recwarn if "missing" in str(one.message).lower()]


def test_settings_that_the_known_vowels_do_not_hold_are_refused(voxpath):
    for arguments, told in (
        (["--ceiling", "20000"], "which hold nothing above 11025 Hz"),
        (["--window", "65"], "64 ms is the most"),
        (["--method", "dap", "--window", "5"], "16.7 ms is the least"),
    ):
        called = voxpath("vowels", "accuracy", *arguments)
        assert called.code == 2
        assert told in called.err


def test_the_command_of_a_page_gives_its_numbers_again(voxpath, tmp_path: Path):
    audio, grid = recording(tmp_path, name="two words")
    asked = ["--tier", "vowel", "--contexts", "context", "--reference", "plain", "--ceiling", "4000"]
    called = voxpath("vowels", "measure", audio, grid, *asked, "--formants", "4", "--report", "x.html")
    assert called.code == 0, called.err
    assert "4000 Hz, 4 formants below it" in called.out
    found = re.search(
        r"voxpath (vowels measure .*? --window [\d.]+)", text_of((tmp_path / "x.html").read_text())
    )
    assert found is not None
    again = voxpath(*shlex.split(html.unescape(found[1])))
    assert again.code == 0, again.err
    assert again.out == called.out.replace("report: x.html\n", "")


def test_a_vowel_without_f1_in_the_reference_is_no_loss_of_the_second(tmp_path: Path):
    """Noise has no pitch, and by `dap` no formants."""
    audio, grid = recording(tmp_path, contexts=False)
    whole = praat.read_sound(audio)
    values = whole.values[0].copy()
    values[round(0.65 * klatt.RATE_HZ) : round(0.95 * klatt.RATE_HZ)] = 0.1 * np.random.default_rng(
        3
    ).standard_normal(round(0.95 * klatt.RATE_HZ) - round(0.65 * klatt.RATE_HZ))
    hissing = praat.library().Sound(values, klatt.RATE_HZ)
    first = compare.reference(hissing, "a", textgrid.read(grid), DAP)
    shifts = first.shifts(hissing, "b")
    found = (shifts + shifts).judged()
    assert [vowel.start_s for vowel in found.unknown] == pytest.approx([0.7, 0.7])
    assert not found.lost
    assert len(found.shifts) == 10
    assert any("No F1 in the reference" in note for note in comparison_table(found).notes)


def test_without_praat_the_error_says_what_to_install(voxpath, tmp_path: Path, monkeypatch):
    audio, grid = recording(tmp_path)
    monkeypatch.setitem(sys.modules, "parselmouth", None)
    called = voxpath("vowels", "measure", audio, grid, "--tier", "vowel")
    assert called.code == 2
    assert "pip install '.[vowels]'" in called.err


def test_nothing_of_voxpath_but_praat_py_names_praat():
    import voxpath as package

    root = Path(package.__file__).parent
    named = [
        path.name
        for path in root.rglob("*.py")
        if re.search(r"^\s*(import|from) parselmouth", path.read_text(), re.MULTILINE)
    ]
    assert named == ["praat.py"]


def test_a_transition_is_the_first_quarter_less_the_middle_and_unknown_where_nobody_looked():
    still = vowel_of("a", "", (600.0, 1400.0, 2500.0, 3500.0))
    moving = replace(still, onset_hz=(550.0, 1500.0, math.nan, 3500.0))
    assert [moving.transition_hz(number) for number in (1, 2, 4)] == [-50.0, 100.0, 0.0]
    assert math.isnan(moving.transition_hz(3))
    assert math.isnan(still.transition_hz(1))
    assert formants.onset(moving) == (moving.start_s, pytest.approx(moving.start_s + 0.05))
    assert measurement.transitions([still]).rows == []
    ((key, n, duration, *moves),) = measurement.transitions([moving, moving]).rows
    assert (key, n, duration, moves) == ("a", "2", "200 ± 0", ["-50 ± 0", "100 ± 0", "–", "0 ± 0"])
