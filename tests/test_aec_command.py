"""`voxpath aec`: files and streams, alignment, and what is told of bad input."""

from __future__ import annotations

import io

import click
import numpy as np
import pytest
from scipy.io import wavfile

from voxpath.cli.actions.aec import Options, cancel_stream
from voxpath.voice.aec.align import delay, shifted
from voxpath.voice.aec.measures import erle
from voxpath.voice.aec.signals import half_wave, room, speech_like, stereo, synthetic_paths, with_noise
from voxpath.voice.aec.sound import read

RATE = 8_000
LAG = 400


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(4)
    source = speech_like(12 * RATE, RATE, 4)
    far = 0.03 * half_wave(stereo(source, [room(600, rng) for _ in range(2)]), 0.4)
    near = with_noise(synthetic_paths(128, 4).echo(shifted(far, LAG)), 40.0, 5)
    return far, near


def save(path, samples, kind="int16", rate=RATE):
    data = samples if kind == "float32" else np.rint(samples * np.iinfo(kind).max)
    wavfile.write(path, rate, data.astype(kind).T.squeeze())


def test_the_lag_is_found(recording):
    far, near = recording
    assert abs(delay(far, near, RATE) - LAG) <= 20
    assert abs(delay(near, far, RATE) + LAG) <= 20
    rng = np.random.default_rng(1)
    assert delay(np.zeros_like(far), near, RATE) is None
    assert delay(*rng.standard_normal((2, 2, 20_000)), RATE) is None
    assert shifted(np.arange(8.0).reshape(2, 4), 1).tolist() == [[0, 0, 1, 2], [0, 4, 5, 6]]
    assert shifted(np.arange(8.0).reshape(2, 4), -1).tolist() == [[1, 2, 3, 0], [5, 6, 7, 0]]


@pytest.mark.parametrize("kind", ["int16", "int32", "float32"])
def test_a_recording_loses_its_echo(voxpath, tmp_path, recording, kind):
    far, near = recording
    save(tmp_path / "far.wav", far, kind)
    save(tmp_path / "mic.wav", near, kind)
    called = voxpath("aec", "--far", "far.wav", "--mic", "mic.wav", "-o", "out.wav")
    assert called.code == 0, called.err
    assert "delay: 5" in called.out
    out = read(tmp_path / "out.wav")
    assert (out.rate, out.channels, out.kind) == (RATE, 2, np.dtype(kind))
    half = near.shape[1] // 2
    assert erle(near[:, half:], out.samples[:, half:]) > 20


def test_mono_is_left_mono(voxpath, tmp_path, recording):
    far, _ = recording
    mono = np.zeros_like(far)
    mono[0] = far[0]
    heard = synthetic_paths(128, 4).echo(mono)
    save(tmp_path / "far.wav", far[:1, : 11 * RATE])
    save(tmp_path / "mic.wav", heard[:1])
    called = voxpath("aec", "--far", "far.wav", "--mic", "mic.wav", "-o", "out.wav")
    assert called.code == 0, called.err
    assert "sooner" in called.out
    out = read(tmp_path / "out.wav")
    assert out.channels == 1
    part = slice(6 * RATE, 11 * RATE)
    assert erle(heard[:1, part], out.samples[:1, part]) > 20


def test_the_guard_spares_a_near_talker(voxpath, tmp_path, recording):
    far, near = recording
    talker = np.zeros_like(near)
    talker[:, 8 * RATE :] = 0.1 * speech_like(4 * RATE, RATE, 77)
    save(tmp_path / "far.wav", far, "float32")
    save(tmp_path / "mic.wav", near + talker, "float32")
    left = {}
    for option in ("--guard", "--no-guard"):
        called = voxpath("aec", "--far", "far.wav", "--mic", "mic.wav", "-o", "out.wav", option)
        assert called.code == 0, called.err
        out = read(tmp_path / "out.wav").samples
        left[option] = np.mean((out - talker)[:, 8 * RATE :] ** 2)
    assert left["--guard"] < 0.7 * left["--no-guard"]


def test_bad_input_is_told(voxpath, tmp_path, recording):
    far, near = recording
    save(tmp_path / "far.wav", far)
    save(tmp_path / "mic.wav", near)
    save(tmp_path / "fast.wav", near, rate=16_000)
    save(tmp_path / "many.wav", np.zeros((3, 100)))
    save(tmp_path / "none.wav", np.full((2, 100), np.nan), "float32")
    (tmp_path / "text.wav").write_text("no sound")
    for mic, said in (
        ("fast.wav", "far.wav has 8000 samples a second, fast.wav 16000"),
        ("many.wav", "3 channels"),
        ("none.wav", "sample 0 is no number"),
        ("text.wav", "text.wav"),
        ("nowhere.wav", "nowhere.wav"),
    ):
        called = voxpath("aec", "--far", "far.wav", "--mic", mic, "-o", "out.wav")
        assert called.code != 0
        assert said in called.err
    files = ("aec", "--far", "far.wav", "--mic", "mic.wav")
    for arguments, said in (
        (files, "--output is missing"),
        ((*files, "-o", "out.wav", "--length", "2"), "--length"),
        ((*files, "-o", "out.wav", "--length", "0 ms"), "length"),
        ((*files, "-o", "out.wav", "--length", "2 s", "--form", "samples"), "8192"),
        ((*files, "-o", "nowhere/out.wav"), "nowhere/out.wav"),
        ((*files, "-o", "out.wav", "--rate", "8000"), "--rate"),
        (("aec", "--live"), "--live needs --rate"),
        (("aec", "--live", "--rate", "8000"), "--delay"),
        (("aec", "--live", "--rate", "8000", "--far", "far.wav"), "--far"),
    ):
        called = voxpath(*arguments)
        assert called.code != 0
        assert said in called.err, said
    assert not (tmp_path / "out.wav").exists()


def streamed(samples, options, block="10 ms"):
    frames = np.clip(np.rint(samples * 2**15), -(2**15), 2**15 - 1).astype("<i2").T
    sink = io.BytesIO()
    assert cancel_stream(io.BytesIO(frames.tobytes()), sink, RATE, block, options) == 0
    return np.frombuffer(sink.getvalue(), "<i2").reshape(-1, 2).T / 2**15


def test_a_stream_loses_its_echo_as_it_comes(recording):
    far, near = recording
    options = Options("16 ms", 64.0, 1, "50 ms", guard=True)
    both = np.concatenate([far, near])
    out = streamed(both, options)
    assert out.shape == near.shape
    half = near.shape[1] // 2
    assert erle(near[:, half:], out[:, half:]) > 20
    # Neither the blocks' size nor what comes later matters.
    assert np.array_equal(streamed(both, options, "7 ms"), out)
    assert np.array_equal(streamed(both[:, :5_001], options), out[:, :5_001])


def test_a_stream_that_is_cut_is_told():
    options = Options("16 ms", 64.0, 1, "0 ms", guard=True)
    with pytest.raises(click.ClickException, match="3 octets"):
        cancel_stream(io.BytesIO(bytes(8 * 100 + 3)), io.BytesIO(), RATE, "10 ms", options)
