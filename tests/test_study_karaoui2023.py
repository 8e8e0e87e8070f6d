"""The study of vowels: verdicts on the printed numbers, a known tract, a voice path, and what is said without
them."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from reports import text_of
from voxpath.document import Checks
from voxpath.report.html import render
from voxpath.studies import load
from voxpath.studies.base import checks_of
from voxpath.studies.karaoui2023 import tables, vocal_tract, voice_path
from voxpath.voice.audio import losses, opus, quality, speech
from voxpath.voice.audio.problems import AudioError
from voxpath.voice.phonetics import discrete, formants, praat, summary, synthesis, tract
from voxpath.voice.phonetics.problems import PhoneticsError
from voxpath.voice.phonetics.settings import Settings


@pytest.fixture(scope="module")
def quick():
    return load("karaoui2023").run(lambda *_: [], True)


def verdicts() -> dict[str, bool]:
    return {one.what: one.agrees for one in tables.derived()}


def test_known_misprints_contradict_and_the_rest_agrees():
    found = verdicts()
    for known in (
        "SD of T, hyoid",
        "SD of T, larynx",
        "average of /a/, hyoid",
        "average of /a/, larynx",
        "average of /a/, opening",
        "average of /a/, location",
        "T, larynx rises",
        "/a/ beside T, F1, %",
        "/a/ in PTah, F2, %",
        "/a/ in PTah, F4 moves by, Hz",
        "/a/ beside P, F4 moves by, Hz",
        "/a/ in PTah, F1 more than beside T, %",
        "plain /a/, F1",
        # Not in the list that was known before.
        "P in PTah, hyoid more than P elsewhere",
        "place of P less secondary place of T, at most",
        "/a/ beside T, F3 moves by, Hz",
        "/a/ in PTah, larynx more than beside T, %",
    ):
        assert not found[known], known
    for right in (
        "average of T, location",
        "/a/ beside T, F1 moves by, Hz",
        "/a/ in PTah, larynx rises",
        "average of /a/ beside T, F4",
    ):
        assert found[right], right
    # The conclusion's rises, and the openings.
    for wrong in (
        "T, larynx rises, conclusion",
        "T in PTah, hyoid rises, conclusion",
        "T in PTah, larynx rises, times that of T elsewhere",
        "T in PTah, hyoid rises, times that of T elsewhere",
    ):
        assert not found[wrong], wrong
    for right in (
        "P, larynx rises, conclusion",
        "P in PTah, hyoid rises, conclusion",
        "P in PTah, larynx rises, times that of P elsewhere",
        "primary opening of T, from",
        "primary opening of T, to",
    ):
        assert found[right], right
    assert len(found) == len(tables.derived()) == 90
    assert sum(found.values()) == 58


def test_what_follows_from_nothing_printed_has_no_answer():
    alone = [item for item in tables.comparisons() if item.verdict == "no answer"]
    assert [item.published.printed for item in alone] == [1.16, 0.674, 1.40, 0.336, 0.271]
    assert all(item.ours is None and item.reason for item in alone)


def test_a_number_with_about_is_near_enough_less_than_a_unit_off():
    def agrees(printed: str, *, about: bool) -> bool:
        return tables.Derived("x", "y", printed, "same", ["cited.hyoid.P_rise"], about=about).agrees

    # 0.72 is printed.
    assert [agrees(printed, about=True) for printed in ("0.6", "0.7", "0.8", "0.9")] == [
        False,
        True,
        True,
        False,
    ]
    assert not agrees("0.8", about=False)


def changed(monkeypatch: pytest.MonkeyPatch, **cells: float) -> None:
    """Has the tables say something else: `table__column__row` for a cell."""
    data = copy.deepcopy(dict(tables._data()))
    for name, value in cells.items():
        table, column, row = name.split("__")
        data[table]["rows"][row][data[table]["columns"].index(column)] = value
    monkeypatch.setattr(tables, "_data", lambda: data)


def test_the_central_claim_is_undecided_and_rests_on_one_word(monkeypatch):
    over, alone = tables.correlation()
    assert over.holds is None
    assert over.evidence == "r = +0.78 [-0.08, +0.98], n = 6"
    assert alone.holds is None
    assert alone.evidence.startswith("r = -0.37 ")
    # Vowels whose F1 follows the larynx would make it hold, and those whose F1 falls would refute it.
    rest = tables.cell("table1.larynx.rest")
    for sign, holds in ((1, True), (-1, False)):
        names = ("a_PTah", "a1_maTaruf", "a2_maTaruf", "a1_baTaTa", "a2_baTaTa", "a3_baTaTa")
        hertz = {
            f"table2__F1__{name}": 600 + sign * 100 * (rest - tables.cell(f"table1.larynx.{name}")) + noise
            for name, noise in zip(names, (1, -1, 2, 0, -2, 1), strict=True)
        }
        with monkeypatch.context() as patch:
            changed(patch, **hertz)
            assert [check.holds for check in tables.correlation()] == [holds, holds]


@pytest.mark.parametrize(
    ("cells", "holds"),
    [
        ({}, None),
        # Vowels that hardly spread decide: as printed they do not add up, with the sums they do.
        ({"text__F1__plain_sd": 1, "text__F2__plain_sd": 1}, False),
        (
            {
                "text__F1__plain_sd": 1,
                "text__F2__plain_sd": 1,
                "table2__F1__a_PTah": 792.91,
                "table2__F2__a_PTah": 1392.07,
            },
            True,
        ),
    ],
)
def test_whether_effects_are_superimposed_is_decided_by_how_vowels_spread(cells, holds, monkeypatch):
    changed(monkeypatch, **cells)
    assert tables.superposition().holds is holds


@pytest.mark.parametrize(("primary", "holds"), [(1.16, None), (0.5, True), (1.6, False)])
def test_a_secondary_articulation_is_held_against_the_primary_one(primary, holds, monkeypatch):
    changed(monkeypatch, cited__opening__P=primary)
    assert tables.narrower().holds is holds


def tract_of(name: str = "untuned", **contexts: tuple[float, float, float, float]) -> vocal_tract.Found:
    """What would be measured of a tract: F1 to F4 by context; jaws make a Hz of difference each."""
    vowels, postures = [], []
    for context, usual in TRACT.items():
        hz = contexts.get(context, usual)
        for jaw in range(3):
            vowels.append(
                formants.Vowel("a", context, 0, 1, tuple(one + jaw for one in hz), (5.0,) * 4, 9, 0.0)
            )
            rise = {"plain": 0.0, "half": 1.0, "pharyngealised": 2.0, "pharyngeal": 2.0, "both": 4.0}[context]
            values = {"larynx rise": rise + 0.01 * jaw, "hyoid rise": rise, "pharyngeal opening": 9 - rise}
            postures.append(SimpleNamespace(values=values))
    measured = SimpleNamespace(
        vowels=vowels, postures=postures, gesture=lambda of: [one.values[of] for one in postures]
    )
    return vocal_tract.Found(vocal_tract.Pair(name, {}, {}), [], None, measured, [])


TRACT = {
    "plain": (500.0, 1500.0, 2500.0, 3650.0),
    "half": (550.0, 1450.0, 2500.0, 3650.0),
    "pharyngealised": (600.0, 1400.0, 2520.0, 3660.0),
    "pharyngeal": (600.0, 1600.0, 2500.0, 3700.0),
    "both": (700.0, 1500.0, 2500.0, 3700.0),
}
"""Of which every sentence is true."""


def decided(checks: Checks) -> dict[str, bool | None]:
    return {check.claim: check.holds for check in checks.checks}


def test_sentences_about_the_tract_hold_where_they_are_true_and_what_was_put_in_does_not_count():
    found = tract_of()
    assert set(decided(vocal_tract.checks(found)).values()) == {True}
    assert set(decided(vocal_tract.superposition(found)).values()) == {True}
    assert [check.claim for check in vocal_tract.checks(found).checks if check.set_aside] == [
        "The larynx rises.",
        "The hyoid bone rises.",
    ]
    # The tuned pair was searched for all of it.
    assert all(check.set_aside for check in vocal_tract.checks(tract_of("tuned")).checks)
    assert not any(check.set_aside for check in vocal_tract.superposition(tract_of("tuned")).checks)


@pytest.mark.parametrize(
    ("context", "hz", "claim"),
    [
        ("pharyngealised", (490, 1400, 2520, 3660), "F1 rises."),
        ("pharyngealised", (600, 1520, 2520, 3660), "F2 falls."),
        (
            "pharyngealised",
            (600, 1400, 2700, 3660),
            "F3 is nearly still: it moves by fewer Hz than F1 and F2 do.",
        ),
        ("pharyngeal", (600, 1450, 2500, 3700), "The pharyngeal raises F1, and F2 too."),
        ("both", (590, 1500, 2500, 3700), "With both F1 is higher than with each alone."),
        ("both", (700, 1300, 2500, 3700), "With both F2 lies between those of each alone."),
        ("both", (900, 1500, 2500, 3700), "The effects on F1 and F2 add up, within 20 % of the sum."),
    ],
)
def test_each_sentence_about_the_tract_can_fail(context, hz, claim):
    found = tract_of(**{context: hz})
    both = decided(vocal_tract.checks(found)) | decided(vocal_tract.superposition(found))
    assert both[claim] is False


@pytest.mark.parametrize(("off", "holds"), [(0.0, True), (20.0, True), (80.0, False)])
def test_a_transition_that_is_measured_wrong_is_found(off, holds):
    vowels = [
        formants.Vowel("a", "", 0, 1, (600.0, 1400.0, 2500.0, 3500.0), (5.0,) * 4, 9, 0.0, begun)
        for begun in ((650.0 + jaw, 1300.0 + off, 2500.0, 3500.0) for jaw in (-1, 0, 1))
    ]
    (check,) = vocal_tract.transition_checks("x", vowels, [[50.0, -100.0, 0.0, 0.0]] * 3).checks
    assert check.holds is holds


def test_formants_off_the_area_function_are_found_context_by_context():
    found = tract_of()
    right = [vowel.hz for vowel in found.measured.vowels]
    wrong = [
        tuple(hz * (1.2 if vowel.context == "both" else 1.0) for hz in vowel.hz)
        for vowel in found.measured.vowels
    ]
    for oracle, holds in ((right, [True, True]), (wrong, [True, False])):
        checks = vocal_tract.oracle_checks(dataclasses.replace(found, oracle=oracle))
        assert [check.holds for check in checks] == holds


def test_a_correlation_fails_where_its_interval_lies_on_the_other_side():
    falling = summary.correlation([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2.5, 1])
    assert tables.correlated("x", falling, 1).holds is False
    assert tables.correlated("x", falling, -1).holds is True
    assert tables.correlated("x", None, 1).holds is None


def test_a_number_agrees_by_rounding_or_cutting_and_not_by_more():
    def one(printed: str) -> tables.Derived:
        return tables.Derived("x", "y", printed, "change", ["table2.F1.a_P", "table2.F1.a_plain"])

    assert one("48.5").value == pytest.approx(48.5562, abs=1e-4)
    assert [one(printed).agrees for printed in ("48.55", "48.56", "48.54", "48.58")] == [
        True,
        True,
        False,
        False,
    ]
    below = tables.Derived("x", "y", "48.57", "change", ["table2.F1.a_P", "table2.F1.a_plain"])
    assert not below.agrees
    for printed, agrees in (("52.33", False), ("52.32", True), ("52.31", False)):
        of = ["table2.F3.a_T_average", "text.F3.plain"]
        assert tables.Derived("x", "y", printed, "difference", of).agrees == agrees, printed
    for printed, agrees in (("-3.07", True), ("-3.08", True), ("-3.06", False), ("-3", True), ("-4", False)):
        of = ["table2.F3.a_PTah", "table2.F3.a_plain"]
        assert tables.Derived("x", "y", printed, "change", of).agrees == agrees, printed


def test_the_right_readings_of_the_facts_are_what_comes_out():
    by = {one.what: one.value for one in tables.derived()}
    assert by["/a/ beside T, F1, %"] == pytest.approx(49.40, abs=0.01)
    assert by["/a/ in PTah, F2, %"] == pytest.approx(-5.47, abs=0.01)
    assert by["T, larynx rises"] == pytest.approx(0.44, abs=0.01)
    assert by["/a/ in PTah, F4 moves by, Hz"] == pytest.approx(124.06, abs=0.01)


def test_front_constrictions_alone_have_the_average_location():
    assert ("a_PTah", "a2_maTaruf", "a2_baTaTa") in tables.subsets("location")
    assert [tables.subsets(column) for column in ("hyoid", "larynx", "opening")] == [[], [], []]


def test_the_synthesiser_s_drawing_is_to_scale():
    """The tongue's body is an arc of 20 mm, and the tract's male speaker 1.1 times as large."""
    shapes = synthesis.contours(vocal_tract.SPEAKER, [{}, {"Stylohyoid": 0.5}], 50)
    body = shapes[0].contours["tongue"][3:-2]
    centre = np.linalg.lstsq(
        np.column_stack([2 * body, np.ones(len(body))]), (body**2).sum(axis=1), rcond=None
    )[0]
    assert np.sqrt(centre[2] + centre[0] ** 2 + centre[1] ** 2) == pytest.approx(22, abs=0.05)
    # The muscle raises the hyoid by 20 mm times the size, at full activity.
    rise = shapes[1].contours["hyoid"] - shapes[0].contours["hyoid"]
    assert rise[0] == pytest.approx([0, 11], abs=0.05)
    # The jaw is drawn where its muscle has it, and the lower incisor is its highest point.
    low, high = (
        synthesis.contours(vocal_tract.SPEAKER, [{"Masseter": activity}], 50)[0].contours["jaw"]
        for activity in (-0.4, 0.4)
    )
    assert (high - low)[:, 1].min() > 5
    assert low[:, 1].argmax() == 2
    with pytest.raises(PhoneticsError, match="draws the tract in another way"):
        synthesis.read_drawing("N 1 2 moveto 3 4 L stroke")


def test_formants_of_the_synthesiser_follow_the_area_function():
    """Of a posture that no pair has."""
    muscles = {"Masseter": -0.2, "Genioglossus": 0.3}
    known = tract.resonances(synthesis.areas(vocal_tract.SPEAKER, muscles).tolist(), synthesis.SECTION_M)
    sound = synthesis.sound(vocal_tract.SPEAKER, muscles, 0.25)
    found = formants.over(formants.track(sound, Settings()), 0.1, 0.2)[0]
    assert found[0] == pytest.approx(known[0], rel=vocal_tract.F1_WITHIN)
    assert found[1:] == pytest.approx(known[1:], rel=vocal_tract.OTHERS_WITHIN)


def test_tuning_finds_the_published_directions_and_the_untuned_pair_was_not_searched_for():
    pair, tried = vocal_tract.tuned()
    plain, emphatic = vocal_tract.resonances(pair.plain), vocal_tract.resonances(pair.emphatic)
    assert plain is not None
    assert emphatic is not None
    assert tried > 100
    assert emphatic[0] > plain[0]
    assert emphatic[1] < plain[1]
    assert vocal_tract.untuned().plain == vocal_tract.PLAIN


def test_the_quick_study_answers_every_part(quick):
    assert all(item.verdict in {"agrees", "contradicts itself", "no answer"} for item in quick.comparisons)
    text = text_of(render(quick.report))
    for told in (
        "untuned, shift",
        "tuned, shift",
        "published, shift",
        "Vowel space",
        "Opus with lost packets",
        "Contours",
    ):
        assert told in text
    every = checks_of(quick.report.sections)
    held = {check.claim: check.holds for check in every}
    # With the pharynx as narrow as the pharyngeal gesture makes it, F3 and F4 are further off.
    within = [claim for claim in held if claim.startswith("Measured formants lie within")]
    assert len(within) == 4
    assert all(held[claim] for claim in within if claim.endswith(": plain, half, pharyngealised."))
    # Less than F1 and F2 do, which the untuned pair's third does not.
    still = [check.holds for check in every if check.claim.startswith("F3 is nearly still")]
    assert len(still) == 2
    assert still[0] is not True
    tract = [check for check in every if check.claim in {"F1 rises.", "F2 falls."}]
    # The tuned pair was searched for them, which counts for nothing.
    assert [bool(check.set_aside) for check in tract] == [False, False, True, True]
    assert all(check.holds is not False for check in tract)
    assert any("the encoder sends no copies" in claim and holds for claim, holds in held.items())


def test_the_page_begins_with_what_was_claimed_what_was_found_and_a_picture(quick):
    lead = quick.report.lead
    assert lead is not None
    assert "raises F1 and lowers F2" in lead.claim
    assert "undecided over the six printed vowels" in lead.sentence
    assert lead.picture is not None


def test_a_study_that_computes_needs_no_store(voxpath, tmp_path, monkeypatch):
    monkeypatch.setattr(speech, "FOLDER", tmp_path / "nowhere")
    called = voxpath("study", "karaoui2023", "--quick")
    assert called.code == 1
    assert "apt-get install pocketsphinx-testdata" in called.err
    assert not (tmp_path / "runs").exists()


# The voice path's parts, which RTP will share


@pytest.fixture(scope="module")
def sentence() -> speech.Recording:
    return speech.recordings("reader")[1]


def test_what_is_lost_is_lost_at_every_higher_loss_too():
    low, high = losses.independent(1000, 0.1, 3), losses.independent(1000, 0.2, 3)
    assert all(here or not there for here, there in zip(low, high, strict=True))
    assert 60 < low.count(False) < 140
    assert all(losses.independent(100, 0.0, 3))
    assert losses.independent(100, 1.0, 3).count(True) == 1
    with pytest.raises(ValueError, match="between 0 and 1"):
        losses.independent(10, 1.5, 3)


def test_losses_in_bursts_have_their_length_and_their_part():
    arrives = losses.bursty(200_000, 0.1, 3.0, 5)
    lost = arrives.count(False)
    begun = sum(before and not after for before, after in itertools.pairwise(arrives))
    assert lost / len(arrives) == pytest.approx(0.1, rel=0.05)
    assert lost / begun == pytest.approx(3.0, rel=0.05)
    assert all(losses.bursty(100, 0.0, 3.0, 5))
    assert losses.bursty(100, 0.5, 1.0, 5)[0]
    for loss, length in ((1.0, 3.0), (0.1, 0.5), (0.9, 2.0)):
        with pytest.raises(ValueError, match="burst"):
            losses.bursty(10, loss, length, 5)


def test_both_voices_go_through_bursts_and_are_told_apart():
    effort = voice_path.Effort(("reader", "cards"), 1, (24,), (0.0, 0.2), (1.0, voice_path.BURST))
    found = voice_path.find(effort)
    assert len(found) == 1 + 2 * 3
    assert set(found[0].by_voice) == {"reader", "cards"}
    told = voice_path.voices_table(found)
    assert told is not None
    assert len(told.rows) == 2 * len(found)
    overall = found[0].formants
    assert len(overall.shifts) == sum(len(one.shifts) for one in found[0].by_voice.values())
    (claim,) = [one for one in voice_path.checks(found).checks if "bursts" in one.claim]
    # Two sentences decide nothing.
    assert claim.holds is None, claim.evidence


def test_the_speakers_are_men_as_their_ceiling_takes_them_for():
    for voice in speech.VOICES:
        one = speech.recordings(voice)[-1]
        heard = discrete.pitch(voice_path.sound_of(one.values), np.arange(0.2, one.duration_s - 0.2, 0.01))
        assert 75 < np.nanmedian(heard) < 130


def test_opus_gives_back_what_it_was_given_in_time(sentence):
    stream = opus.encode(sentence.values, speech.RATE_HZ, 32000)
    heard = opus.decode(stream, [True] * len(stream.packets), "zero")
    assert len(heard) == len(sentence.values)
    assert stream.bits_per_second == pytest.approx(32000, rel=0.1)
    # Aligned: no shift of the decoded speech is more like the recording.
    one, other = sentence.values.astype(float), heard.astype(float)
    alike = {shift: float(np.dot(one[100:-100], np.roll(other, shift)[100:-100])) for shift in range(-40, 41)}
    assert abs(max(alike, key=alike.__getitem__)) <= 2


def test_copies_repair_better_than_guesses_and_guesses_better_than_silence(sentence):
    scores = {}
    for repair in voice_path.REPAIRS:
        stream = opus.encode(sentence.values, speech.RATE_HZ, 24000, expected_loss=0.2, fec=repair == "fec")
        assert (stream.with_copy > 0) == (repair == "fec")
        arrives = losses.independent(len(stream.packets), 0.2, 1)
        scores[repair] = quality.judge(sentence.values, opus.decode(stream, arrives, repair)).pesq
    assert scores["fec"] > scores["concealment"] > scores["zero"]


def test_silence_stands_where_packets_are_lost(sentence):
    stream = opus.encode(sentence.values, speech.RATE_HZ, 24000)
    arrives = [True] * len(stream.packets)
    arrives[60:65] = [False] * 5
    heard = opus.decode(stream, arrives, "zero")
    begin = 60 * 320 - stream.lookahead
    assert not heard[begin : begin + 5 * 320].any()
    assert heard[begin - 320 : begin].any()
    with pytest.raises(AudioError, match="makes no encoder"):
        opus.encode(sentence.values, 11025, 24000)


def test_vowels_are_where_the_words_put_them(sentence):
    vowels = speech.align(sentence).tier("vowel").labelled
    assert {one.label for one in vowels} >= {"IY", "AA", "AE"}
    assert all(0 < one.start_s < one.end_s < sentence.duration_s for one in vowels)
    values = sentence.values / 32768

    def power(start: float, end: float) -> float:
        return float(np.mean(values[round(start * 16000) : round(end * 16000)] ** 2))

    assert np.median([power(one.start_s, one.end_s) for one in vowels]) > power(0, sentence.duration_s)


def test_without_the_program_praat_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(PhoneticsError, match="apt-get install praat"):
        praat.program()
