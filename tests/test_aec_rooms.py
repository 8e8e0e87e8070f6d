"""The filter of long rooms from Python and `voxpath aec`, and the rooms that it is tried in."""

from __future__ import annotations

import io

import click
import numpy as np
import pytest
from scipy.io import wavfile

from voxpath.cli.actions.aec import Options, cancel_stream
from voxpath.voice.aec import Canceller, long_room
from voxpath.voice.aec.measures import erle
from voxpath.voice.aec.rooms import Room, RoomsError, measured
from voxpath.voice.aec.signals import room, speech_like, stereo, synthetic_paths, with_noise
from voxpath.voice.aec.sound import SoundError, read

RATE = 8_000
LENGTH = 1_024


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(4)
    source = speech_like(6 * RATE, RATE, 4)
    far = 0.03 * stereo(source, [room(2_000, rng) for _ in range(2)])
    return far, with_noise(synthetic_paths(LENGTH, 4).echo(far), 40.0, 5)


def process(canceller, far, near):
    late = canceller.delay
    far, near = (np.pad(samples, ((0, 0), (0, late))) for samples in (far, near))
    return canceller.process(far, near)[:, late:]


def test_long_echoes_go(recording):
    far, near = recording
    half = near.shape[1] // 2
    out = process(long_room(LENGTH, RATE, suppress=False), far, near)
    assert erle(near[:, half:], out[:, half:]) > 25


def test_what_is_longer_than_the_filter_is_suppressed(recording):
    far, near = recording
    half = near.shape[1] // 2
    left = [
        erle(near[:, half:], process(long_room(LENGTH // 4, RATE, suppress=suppress), far, near)[:, half:])
        for suppress in (False, True)
    ]
    assert left[1] > left[0] + 2


def test_what_was_saved_goes_on(recording):
    far, near = (samples[:, : 2 * RATE] for samples in recording)
    canceller = long_room(LENGTH, RATE, window=512)
    assert (canceller.length, canceller.delay) == (LENGTH, 512)
    canceller.process(far[:, :RATE], near[:, :RATE])
    again = Canceller.restore(canceller.save())
    out = [each.process(far[:, RATE:], near[:, RATE:]) for each in (canceller, again)]
    assert np.array_equal(*out)
    with pytest.raises(ValueError, match="window has to be a power of two"):
        long_room(LENGTH, RATE, window=100)


def test_the_command_takes_bands_for_long_paths(voxpath, tmp_path, recording):
    far, near = recording
    for name, samples in (("far", far), ("mic", near)):
        wavfile.write(tmp_path / f"{name}.wav", RATE, samples.T.astype("float32"))
    files = ("aec", "--far", "far.wav", "--mic", "mic.wav", "-o", "out.wav", "--delay", "0 ms")
    called = voxpath(*files, "--length", "128 ms")
    assert called.code == 0, called.err
    out = read(tmp_path / "out.wav").samples
    assert np.allclose(out, process(long_room(LENGTH, RATE), far, near), atol=1e-6)
    for options, said in (
        (("--length", "128 ms", "--form", "rooms", "--reuse", "3"), "--form samples"),
        (("--no-suppress",), "--form rooms"),
        (("--length", "10 s", "--form", "rooms"), "at most 65536 samples"),
    ):
        called = voxpath(*files, *options)
        assert called.code != 0
        assert said in called.err


def test_a_stream_is_late_by_the_window(recording, capsys):
    far, near = (samples[:, :RATE] for samples in recording)
    frames = np.concatenate([far, near]).T
    octets = np.rint(frames * 2**15).astype("<i2").tobytes()
    sink = io.BytesIO()
    options = Options("128 ms", 64.0, 1, "0 ms", guard=True)
    assert cancel_stream(io.BytesIO(octets), sink, RATE, "10 ms", options) == 0
    assert "32 ms late" in capsys.readouterr().err
    out = np.frombuffer(sink.getvalue(), "<i2").reshape(-1, 2).T
    quantised = np.frombuffer(octets, "<i2").reshape(-1, 4).T / 2**15
    expected = long_room(LENGTH, RATE).process(quantised[:2], quantised[2:])
    assert np.array_equal(out, np.rint(np.clip(expected * 2**15, -(2**15), 2**15 - 1)))
    with pytest.raises(click.UsageError, match="--delay"):
        cancel_stream(io.BytesIO(), sink, RATE, "10 ms", Options("128 ms", 64.0, 1, "auto", guard=True))


def test_a_computed_room_decays_and_knows_its_distances():
    loudspeakers, microphones = [(1.0, 1.0, 1.0), (3.0, 1.0, 1.0)], [(1.0, 2.0, 1.0), (3.0, 2.0, 1.0)]
    paths = Room((4.0, 5.0, 2.5), 0.3).paths(loudspeakers, microphones, RATE)
    peaks = [int(np.argmax(np.abs(path[:100]))) for path in (paths.left_left, paths.left_right)]
    # √5 m and 1 m at 343 m/s; what is reflected comes later.
    assert peaks[1] - peaks[0] == pytest.approx((5**0.5 - 1) / 343 * RATE, abs=2)
    assert np.allclose(paths.left_left, paths.right_right, atol=1e-3 * np.abs(paths.left_left).max())
    energy = np.cumsum(paths.left_left[::-1] ** 2)[::-1]
    decay_db = 10 * np.log10(energy / energy[0])
    at = [int(np.argmax(decay_db < level)) for level in (-5, -25)]
    assert 3 * (at[1] - at[0]) / RATE == pytest.approx(0.3, rel=0.4)
    with pytest.raises(RoomsError):
        Room((4.0, 5.0, 2.5), 0.001).paths(loudspeakers, microphones, RATE)
    with pytest.raises(RoomsError):
        Room((4.0, 5.0, 2.5), 0.3).paths([(9.0, 1.0, 1.0), (3.0, 1.0, 1.0)], microphones, RATE)


def test_measured_paths_are_read(tmp_path):
    rng = np.random.default_rng(1)
    responses = (rng.uniform(-0.5, 0.5, (100, 4)) * 2**15).astype("int16")
    wavfile.write(tmp_path / "room.wav", RATE, responses)
    paths = measured(tmp_path / "room.wav", RATE)
    assert np.array_equal(paths.right_left, responses[:, 2] / 2**15)
    wavfile.write(tmp_path / "stereo.wav", RATE, responses[:, :2])
    wavfile.write(tmp_path / "none.wav", RATE, np.full((9, 4), np.nan, "float32"))
    (tmp_path / "text.wav").write_text("no sound")
    for name, rate, said in (
        ("room.wav", 16_000, "16000 are needed"),
        ("stereo.wav", RATE, "2 channels"),
        ("none.wav", RATE, "no numbers"),
        ("text.wav", RATE, "text.wav"),
        ("missing.wav", RATE, "missing.wav"),
    ):
        with pytest.raises(SoundError, match=said):
            measured(tmp_path / name, rate)
