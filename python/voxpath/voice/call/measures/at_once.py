"""What ViSQOL's package does frame by frame and patch by patch in Python, all at once.

Compiled by `numba` the package is fast, but that has 200 MB. Results here are those of the package, bit for
bit: sums have the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from visqol.analysis_window import AnalysisWindow
    from visqol.gammatone import GammatoneSpectrogramBuilder
    from visqol.nsim import PatchSimilarityResult


def build_spectrogram(
    builder: GammatoneSpectrogramBuilder,
    sig: NDArray[np.float64],
    window: AnalysisWindow,
    filter_coeffs: NDArray[np.float64],
    hop_size: int,
    num_cols: int,
    num_bands: int,
) -> NDArray[np.float64]:
    """The level of each band over time, as by the package's `GammatoneSpectrogramBuilder._build_scipy`."""
    from scipy.signal import lfilter

    del builder
    frames = np.lib.stride_tricks.sliding_window_view(sig, window.size)[::hop_size][:num_cols]
    windowed = frames * window.hann_window
    first, *zeros, last, one, behind, before, gain = filter_coeffs
    heads = [first / gain, first, first, first]
    middles = [zeros[0] / gain, *zeros[1:]]
    tails = [last / gain, last, last, last]
    levels = np.zeros((num_bands, num_cols))
    for band in range(num_bands):
        filtered, poles = windowed, [one[band], behind[band], before[band]]
        for stage in zip(heads, middles, tails, strict=True):
            filtered = lfilter([part[band] for part in stage], poles, filtered)
        levels[band] = np.sqrt(np.mean(filtered**2, axis=1))
    return levels


def find_most_optimal_deg_patches(
    ref_patches: list[NDArray[np.float64]],
    ref_patch_indices: list[int],
    spectrogram_data: NDArray[np.float64],
    frame_duration: float,
    search_window_radius: int = 60,
) -> list[PatchSimilarityResult]:
    """As the package's function of that name (`visqol.patch_selector`).

    Raises:
        ValueError: No patch can be scored.
    """
    from visqol import nsim, patch_selector

    if not ref_patches:
        raise ValueError("what was said is too short, or too soft, for any patch")
    bands, width = ref_patches[0].shape
    frames = spectrogram_data.shape[1]
    window = search_window_radius * width
    count = patch_selector._calc_max_num_patches(ref_patch_indices, frames, width)
    if count == 0:
        raise ValueError("what was heard is too short, or too different, for any patch")
    padded = np.pad(spectrogram_data, ((0, 0), (0, width - 1)))
    heard = _Heard(np.lib.stride_tricks.sliding_window_view(padded, width, axis=1).transpose(1, 0, 2))
    best = np.zeros((len(ref_patch_indices), frames))
    before = np.full((len(ref_patch_indices), frames), -1, np.int64)
    for number in range(count):
        low = max(0, ref_patch_indices[number] - window)
        high = min(frames - 1, ref_patch_indices[number] + window)
        places = np.arange(low, high + 1)
        scores, came = heard.likeness(ref_patches[number], slice(low, high + 1)), np.full(len(places), -1)
        if number:
            least = max(0, ref_patch_indices[number - 1] - window)
            highest, at = _best_before(best[number - 1], least)
            scores, came = scores + highest[places], at[places]
            stays = best[number - 1, places] > scores
            scores = np.where(stays, best[number - 1, places], scores)
            came = np.where(stays, places, came)
        best[number, places], before[number, places] = scores, came
    last = ref_patch_indices[count - 1]
    low, high = max(0, last - window), min(frames - 1, last + window)
    place = low + int(np.argmax(best[count - 1, low : high + 1]))
    found: list[PatchSimilarityResult] = []
    for number in range(count - 1, -1, -1):
        patch = patch_selector.build_degraded_patch(spectrogram_data, place, place + width - 1, bands, width)
        result = nsim.measure_patch_similarity(ref_patches[number], patch)
        if place == before[number, place]:
            # Nothing is like it: it was lost.
            result.similarity, result.freq_band_means = 0.0, np.zeros(bands)
        else:
            result.deg_patch_start_time = place * frame_duration
            result.deg_patch_end_time = result.deg_patch_start_time + frame_duration * width
        result.ref_patch_start_time = ref_patch_indices[number] * frame_duration
        result.ref_patch_end_time = result.ref_patch_start_time + frame_duration * width
        found.append(result)
        place = int(before[number, place])
    return found[::-1]


def _best_before(scores: NDArray[np.float64], least: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each place the highest score before it, from `least` on, and where; the last place of equals."""
    highest = np.full(len(scores), -np.inf)
    at = np.full(len(scores), -1, np.int64)
    running = np.maximum.accumulate(scores[least:-1])
    places = np.arange(least, len(scores) - 1)
    highest[least + 1 :] = running
    at[least + 1 :] = np.maximum.accumulate(np.where(scores[least:-1] == running, places, -1))
    return highest, at


class _Heard:
    """Every patch of what was heard; the first axis is its place."""

    def __init__(self, patches: NDArray[np.float64]) -> None:
        self._patches = np.ascontiguousarray(patches)
        self._means = _smoothed(self._patches)
        self._squares = self._means * self._means
        self._variances = _smoothed(self._patches * self._patches) - self._squares

    def likeness(self, patch: NDArray[np.float64], places: slice) -> NDArray[np.float64]:
        """The NSIM of a patch of the recording and each of these."""
        from visqol.nsim import C1, C3

        means, squares = self._means[places], self._squares[places]
        mean = _smoothed(patch[None])[0]
        square = mean * mean
        both = mean * means
        variances = (_smoothed((patch * patch)[None])[0] - square) * self._variances[places]
        covariances = _smoothed(patch * self._patches[places]) - both
        intensity = (2.0 * both + C1) / (square + squares + C1)
        with np.errstate(invalid="ignore"):
            below = np.where(variances < 0, C3, np.sqrt(variances) + C3)
        alike: NDArray[np.float64] = np.mean(
            np.mean(intensity * ((covariances + C3) / below), axis=2), axis=1
        )
        return alike


def _smoothed(patches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each patch by the package's Gaussian window of 3 by 3, its edges repeated."""
    from visqol.nsim import GAUSSIAN_WINDOW

    _, bands, width = patches.shape
    padded = np.pad(patches, ((0, 0), (1, 1), (1, 1)), mode="edge")
    total = np.zeros_like(patches)
    for row in range(3):
        for column in range(3):
            total += GAUSSIAN_WINDOW[row, column] * padded[:, row : row + bands, column : column + width]
    return total
