"""What is judged of a recording: where speech is found in it, in sections where it is long, or nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_voice_call import BAD, PERFECT, save, tone
from voxpath.voice.call import call, page, verdict
from voxpath.voice.call.activity import FRAME_S, RATE_HZ, steady_db
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.measures import MEASURES
from voxpath.voice.call.measures.base import MOST_SECTIONS, SECTION_S, Evidence, Score
from voxpath.voice.call.player import MISSING
from voxpath.voice.call.recording import Recording, read


def test_an_hour_of_speech_is_judged_by_sections(tmp_path: Path):
    voice = read(None).at(8_000)
    hour = np.resize(voice, 3_600 * 8_000)
    path = save(tmp_path / "hour.wav", hour, 8_000)
    made = call(BAD, (path,), codec="g711", wish=Wish(frame_ns=60_000_000), out=tmp_path / "runs")
    (talk,) = made.talks
    assert len(talk.heard.values) == len(hour)
    assert 0.04 < talk.heard.count(*MISSING) / len(talk.encoded.frames) < 0.06
    told = verdict.judged(made, talk, ("emodel", "pesq", "words", "formants"))
    assert told.scores["pesq"].value is not None
    begins = ", ".join(f"{at:.1f}" for at in told.sections_s)
    assert told.scores["pesq"].reason.startswith("judged by 4 of the 239 sections of 15 s with speech, from ")
    assert f"from {begins} s on; mean of scores from " in told.scores["pesq"].reason
    assert np.diff(told.sections_s) == pytest.approx(3_600 / 3, rel=0.02)
    assert told.scores["emodel"].value is not None
    for name in ("words", "formants"):
        assert told.scores[name] == Score.none("the recording is longer than 60 s")


def test_a_recording_of_many_short_utterances_is_judged(tmp_path: Path):
    """P.862's code has room for 50 of them, and ends the process where there are more."""
    voice = read(None)
    rate = voice.rate_hz
    word = round(0.22 * rate)
    powers = np.convolve(voice.values.astype(float) ** 2, np.ones(word), "valid")
    loudest = int(np.argmax(powers))
    cycle = np.concatenate((voice.values[loudest : loudest + word], np.zeros(word, np.int16)))
    path = save(tmp_path / "words.wav", np.resize(cycle, round(29.5 * rate)), rate)
    made = call(PERFECT, (path,), out=tmp_path)
    told = verdict.judged(made, made.talks[0], ("emodel", "pesq"))
    assert len(told.sections_s) == 2
    assert told.scores["pesq"].value > 3
    assert told.scores["emodel"].value > 3


def test_an_offset_does_not_make_speech_a_noise():
    voice = read(None).at(RATE_HZ)
    assert steady_db(tone(RATE_HZ, 10)) is not None
    for offset in (0, 2_000, 8_000):
        assert steady_db((voice // 2 + offset).astype(np.int16)) is None


def test_sections_are_judged_where_there_is_speech(tmp_path: Path):
    voice = read(None)
    rate = voice.rate_hz
    click = np.zeros(rate, np.int16)
    click[:400] = tone(rate, 1)[:400]
    said = np.concatenate((click, np.zeros(44 * rate, np.int16), voice.values, np.zeros(50 * rate, np.int16)))
    made = call(PERFECT, (save(tmp_path / "long.wav", said, rate),), out=tmp_path)
    told = verdict.judged(made, made.talks[0], ("stoi", "visqol", "pesq"))
    (at,) = told.sections_s
    assert 45 <= at < 46
    assert page.talk_told(made.talks[0], told)["sections_s"] == told.sections_s
    for name, least in (("stoi", 0.9), ("visqol", 3.0), ("pesq", 3.0)):
        assert told.scores[name].reason == f"judged by 1 section of 15 s with speech, from {at:.1f} s on"
        assert told.scores[name].value > least


def test_speech_at_the_ends_of_a_long_recording_is_judged(tmp_path: Path):
    voice = read(None)
    pause = np.zeros(45 * voice.rate_hz, np.int16)
    path = save(tmp_path / "long.wav", np.concatenate((voice.values, pause, voice.values)), voice.rate_hz)
    made = call(PERFECT, (path,), out=tmp_path)
    evidence = Evidence(made.talks[0], made.codec, False)
    first, second = evidence.sections
    assert first < 1
    # It has its whole length before the end of the recording.
    assert second == pytest.approx(evidence.talk.said.duration_s - SECTION_S, abs=0.03)
    score = MEASURES["stoi"].score(evidence)
    assert score.reason.startswith("judged by 2 sections of 15 s with speech, from ")
    assert "mean of scores from " in score.reason


@given(st.lists(st.booleans(), min_size=1_100, max_size=1_500), st.integers(0, 1_400), st.integers(0, 300))
def test_all_speech_is_in_a_section(scattered: list[bool], begins: int, lasts: int):
    found = np.array(scattered)
    found[::2] = False
    found[begins : begins + lasts] = True
    values = np.zeros(round(len(found) * FRAME_S * RATE_HZ), np.int16)
    said = Recording("said", RATE_HZ, values)
    talk = SimpleNamespace(
        said=said, heard=SimpleNamespace(values=values), encoded=SimpleNamespace(rate_hz=RATE_HZ)
    )
    evidence = Evidence(talk, CODECS["pcm"], False)
    evidence.__dict__["_activity"] = found
    sections = [round(at / FRAME_S) for at in evidence.sections]
    length = round(SECTION_S / FRAME_S)
    assert sections == sorted(sections)
    assert len(sections) <= MOST_SECTIONS
    assert all(0 <= at <= len(found) - length for at in sections)
    for place in np.flatnonzero(found):
        assert (
            any(at <= place < at + length for at in sections) or found[place : place + length].mean() < 0.05
        )


@pytest.mark.parametrize("codec", CODECS)
def test_what_has_no_speech_is_rated_with_no_codec(codec: str, tmp_path: Path):
    rate = 16_000
    click = np.zeros(9 * rate, np.int16)
    click[4 * rate] = 20_000
    for values, told in ((0 * click, "nothing is said"), (click, "no speech is found in the recording")):
        made = call(PERFECT, (save(tmp_path / "said.wav", values, rate),), codec=codec, out=tmp_path)
        one = verdict.judged(made, made.talks[0], ("emodel", "pesq"))
        assert one.sentence == f"not rated: {told}"
        assert {name: (score.value, score.reason) for name, score in one.scores.items()} == dict.fromkeys(
            ("emodel", "pesq"), (None, told)
        )


def test_without_pesq_it_is_said_why_opus_is_not_rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pesq", None)
    made = call(PERFECT, out=tmp_path)
    told = verdict.judged(made, made.talks[0], ()).sentence
    assert told.startswith(
        "not rated: no recommendation has an Ie of this codec, and PESQ does not apply: pesq is not"
    )


@pytest.mark.parametrize("codec", ["opus", "g711"])
def test_without_a_detector_it_is_said_that_speech_was_not_looked_for(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    noise = np.random.default_rng(1).normal(0, 3_000, 144_000).astype(np.int16)
    made = call(PERFECT, (save(tmp_path / "said.wav", noise, 16_000),), codec=codec, out=tmp_path)
    one = verdict.judged(made, made.talks[0], ("emodel", "pesq"))
    for text in (one.sentence, *(score.reason for score in one.scores.values())):
        assert "speech was not looked for: pocketsphinx is not installed: " in text


def test_of_noise_and_tones_it_is_said_how_little_their_level_changes(tmp_path: Path):
    rate = 16_000
    noise = np.random.default_rng(1).normal(0, 3_000, 9 * rate)
    tone = 8_000 * np.sin(2 * np.pi * 440 * np.arange(9 * rate) / rate)
    for values in (noise, tone):
        path = save(tmp_path / "said.wav", values.astype(np.int16), rate)
        made = call(PERFECT, (path,), codec="g711", out=tmp_path)
        one = verdict.judged(made, made.talks[0], ("emodel",))
        levels = 10 * np.log10(np.mean(values.astype(np.int16).reshape(-1, 480).astype(float) ** 2, axis=1))
        low, high = np.quantile(levels, (0.1, 0.9))
        told = f"the recording's level changes by {high - low:.1f} dB only, as that of noise and tones does"
        assert one.sentence.endswith(told)
        assert told in one.scores["emodel"].reason
    voice = read(None)
    pause = np.zeros(20 * rate, np.int16)
    late = save(tmp_path / "late.wav", np.concatenate((pause, voice.values[: 3 * rate], pause)), rate)
    for path in (None, late):
        made = call(PERFECT, (path,), codec="g711", out=tmp_path)
        evidence = Evidence(made.talks[0], made.codec, False)
        assert (evidence.speechless, evidence.doubt) == (None, None)
