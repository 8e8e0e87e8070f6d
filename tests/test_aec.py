"""Echo cancellation from Python: arrays in, arrays out; signals and measures."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from voxpath.voice.aec import (
    Canceller,
    Paths,
    Solver,
    Words,
    fixed_point,
    nlms,
    rls,
    synthetic_world,
    widely_linear,
)
from voxpath.voice.aec.measures import erle, misalignment, spectrum
from voxpath.voice.aec.signals import (
    autoregressive,
    half_wave,
    speech_like,
    synthetic_paths,
    with_noise,
)

LENGTH = 16


def world(count: int = 20_000, seed: int = 3):
    return synthetic_world(LENGTH, count, seed)


def test_each_filter_learns_and_cancels():
    far, near, paths = world()
    for canceller, least in (
        (widely_linear(LENGTH), 25.0),
        (widely_linear(LENGTH, precision="double", reuse=3), 25.0),
        (rls(LENGTH), 25.0),
        (rls(LENGTH, solve=True), 25.0),
        (nlms(LENGTH), 15.0),
    ):
        out = canceller.process(far, near)
        assert erle(near[:, -5000:], out[:, -5000:]) > least
        assert misalignment(paths, canceller.paths) < -5.0


def test_blocks_of_any_size_give_the_same():
    far, near, _ = world(3_000)
    whole = widely_linear(LENGTH).process(far, near)
    canceller = widely_linear(LENGTH)
    edges = [0, 1, 2, 5, 5, 700, 3_000]
    parts = [canceller.process(far[:, a:b], near[:, a:b]) for a, b in itertools.pairwise(edges)]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    assert whole.dtype == np.float32


def test_a_saved_filter_goes_on():
    far, near, _ = world(2_000)
    canceller = widely_linear(LENGTH, reuse=2)
    canceller.process(far[:, :1_000], near[:, :1_000])
    again = Canceller.restore(canceller.save())
    rest = (far[:, 1_000:], near[:, 1_000:])
    assert np.array_equal(canceller.process(*rest), again.process(*rest))
    with pytest.raises(ValueError, match="no saved state"):
        Canceller.restore(b"nothing")
    damaged = bytearray(canceller.save())
    damaged[100] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        Canceller.restore(bytes(damaged))


def test_a_filter_in_integers_learns_and_is_kept():
    far, near, paths = world(30_000)
    canceller = fixed_point(LENGTH, words=Words(16, 32, 24), regularisation=0.1)
    canceller.process(0.1 * far[:, :29_000], 0.1 * near[:, :29_000])
    assert misalignment(paths, canceller.paths) < -20.0
    again = Canceller.restore(canceller.save())
    rest = (0.1 * far[:, 29_000:], 0.1 * near[:, 29_000:])
    assert np.array_equal(canceller.process(*rest), again.process(*rest))


def test_bad_input_is_told():
    for call, said in (
        (lambda: widely_linear(0), "length"),
        (lambda: widely_linear(16, memory=-1), "memory"),
        (lambda: widely_linear(16, reuse=0), "reuse"),
        (lambda: widely_linear(16, solver=Solver(bits=0)), "bits"),
        (lambda: widely_linear(16, reading="guessed"), "corrected"),
        (lambda: widely_linear(16, precision="half"), "single or double"),
        (lambda: rls(500, solve=True), "between 1 and 128"),
        (lambda: nlms(16, step=2.5), "step"),
        (lambda: fixed_point(16, memory=60), "power of two"),
        (lambda: fixed_point(16, words=Words(tap=16)), "bits"),
        (lambda: autoregressive(10, [1.1], 1), "unit circle"),
        (lambda: autoregressive(10, [0.5j], 1), "conjugate pairs"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_samples_that_are_none_change_nothing():
    canceller = widely_linear(LENGTH)
    before = canceller.save()
    far = np.zeros((2, 10))
    near = far.copy()
    near[1, 7] = np.nan
    with pytest.raises(ValueError, match="sample 7"):
        canceller.process(far, near)
    with pytest.raises(ValueError, match="two rows"):
        canceller.process(far, near[:, :5])
    with pytest.raises(ValueError, match="two rows"):
        canceller.process(far[0], near[0])
    assert canceller.save() == before


def test_others_work_while_a_filter_does():
    far, near, _ = world(60_000)
    canceller = widely_linear(64, reuse=5)
    worker = threading.Thread(target=canceller.process, args=(far, near))
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
    worker.join()
    # With the lock held all the time, this loop would have had its first turn at the end.
    assert turns > 1_000


def test_the_room_changes_as_in_the_publication():
    paths = synthetic_paths(4, 1)
    far = np.random.default_rng(2).standard_normal((2, 50))
    assert np.allclose(paths.inverted().echo(far), -paths.echo(far))
    assert np.allclose(paths.swapped().echo(far), paths.echo(far)[::-1])
    assert np.array_equal(paths.cut(2).left_right, paths.left_right[:2])
    single = Paths(*(np.array([value]) for value in (1.0, 2.0, 3.0, 4.0)))
    assert np.allclose(single.echo(np.array([[1.0], [10.0]])).ravel(), [31.0, 42.0])


def test_signals_are_what_they_say():
    noise = autoregressive(200_000, [0.9], 1)
    assert np.corrcoef(noise[1:], noise[:-1])[0, 1] == pytest.approx(0.9, abs=0.01)
    assert np.var(noise) == pytest.approx(1 / (1 - 0.81), rel=0.05)
    far = np.array([[1.0, -1.0], [1.0, -1.0]])
    assert np.allclose(half_wave(far, 0.5), [[1.5, -1.0], [1.0, -1.5]])
    near = np.random.default_rng(1).standard_normal((2, 100_000))
    assert erle(near, with_noise(near, 20.0, 5) - near) == pytest.approx(20.0, abs=0.1)
    speech = speech_like(16_000, 8_000, 1)
    assert np.isfinite(speech).all()
    assert np.mean(speech == 0) > 0.02, "there are pauses"
    frequencies, power = spectrum(np.stack([speech, speech]), 8_000)
    assert power[np.searchsorted(frequencies, 500)] > power[np.searchsorted(frequencies, 3_900)] + 10
