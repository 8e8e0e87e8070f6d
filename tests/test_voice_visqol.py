"""What we compute at once of ViSQOL beside what its package does step by step: the same, bit for bit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from visqol import patch_selector, visqol_core
from visqol.gammatone import GammatoneSpectrogramBuilder, make_erb_filters

from voxpath.voice.call.measures import at_once
from voxpath.voice.call.measures.visqol import _model
from voxpath.voice.call.recording import read


def same(one: Any, other: Any) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in dataclasses.fields(one)
    )


BUILDS = GammatoneSpectrogramBuilder._build_scipy
THEIRS = patch_selector.find_most_optimal_deg_patches


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(25, 90), st.sampled_from([1, 60]))
def test_patches_are_found_where_the_package_finds_them(seed: int, count: int, frames: int, radius: int):
    draw = np.random.default_rng(seed)
    said = draw.uniform(0, 60, (21, 20 * count + 30))
    # What was heard begins elsewhere, is partly silent, and repeats itself, so that places are alike.
    heard = np.tile(said[:, : max(frames // 2, 1)], 3)[:, :frames] + draw.uniform(0, 3, (21, frames))
    heard[:, frames // 3 : frames // 2] = 0.0
    places = [9 + 20 * number for number in range(count)]
    patches = [said[:, place : place + 20] for place in places]
    try:
        theirs = THEIRS(patches, places, heard, 0.02, radius)
    except ValueError:
        with pytest.raises(ValueError, match="too short"):
            at_once.find_most_optimal_deg_patches(patches, places, heard, 0.02, radius)
        return
    ours = at_once.find_most_optimal_deg_patches(patches, places, heard, 0.02, radius)
    assert len(ours) == len(theirs)
    assert all(same(one, other) for one, other in zip(ours, theirs, strict=True))


def test_the_score_of_a_voice_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch):
    recording = read(None)
    said = recording.at(16_000)[: 4 * 16_000].astype(np.float64) / 32_768
    heard = said + np.random.default_rng(1).normal(0, 0.003, len(said))
    heard[20_000:28_000] = 0.0

    def score() -> NDArray[np.float64]:
        made = _model().measure_from_arrays(said, heard, 16_000)
        return np.array([made.moslqo, made.vnsim, *made.fvnsim])

    ours = score()
    assert vars(visqol_core)["find_most_optimal_deg_patches"] is at_once.find_most_optimal_deg_patches
    assert GammatoneSpectrogramBuilder._build_scipy is at_once.build_spectrogram
    monkeypatch.setattr(visqol_core, "find_most_optimal_deg_patches", THEIRS)
    monkeypatch.setattr(GammatoneSpectrogramBuilder, "_build_scipy", BUILDS)
    assert np.array_equal(ours, score())


@pytest.mark.parametrize("samples", [1_281, 1_600, 20_000])
def test_a_spectrogram_is_that_of_the_package(samples: int):
    from visqol.analysis_window import AnalysisWindow
    from visqol.audio_utils import AudioSignal

    voice = AudioSignal(read(None).at(16_000)[16_000:][:samples].astype(np.float64) / 32_768, 16_000)
    builder = GammatoneSpectrogramBuilder(21, 50.0, speech_mode=True)
    window = AnalysisWindow(16_000)
    coefficients = make_erb_filters(16_000, 21, 50.0, 8_000.0).filter_coeffs[:, ::-1]
    columns = 1 + (samples - window.size) // window.hop_size
    given = (builder, voice.data, window, coefficients, window.hop_size, columns, 21)
    assert np.array_equal(at_once.build_spectrogram(*given), BUILDS(*given))
