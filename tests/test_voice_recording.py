"""Recordings: what is read of a file of any kind, whole, cut off or damaged, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from test_voice_call import BAD, PERFECT, save, tone
from voxpath.voice.call import call, page, verdict
from voxpath.voice.call.measures import MEASURES
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import read


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_recordings_of_any_usual_rate_and_both_channels_are_taken(rate: int, channels: int, tmp_path: Path):
    values = np.repeat(tone(rate, 1), channels)
    path = save(tmp_path / "voice.wav", values, rate, channels)
    one = read(path)
    assert (one.rate_hz, len(one.values)) == (rate, rate)
    assert np.abs(one.values.astype(int) - tone(rate, 1)).max() <= 1
    assert bool(one.notes) == (channels > 1)
    (talk,) = call(PERFECT, (path,), out=tmp_path).talks
    assert np.array_equal(talk.heard.values, talk.clean)
    assert talk.encoded.rate_hz >= min(rate, 48_000)


@pytest.mark.parametrize("milliseconds", [1, 10, 100, 260, 300, 450, 510, 600, 900])
def test_a_recording_of_any_length_is_judged_or_said_to_be_too_short(milliseconds: int, tmp_path: Path):
    voice = read(None)
    short = voice.values[16_000:][: 16 * milliseconds]
    made = call(PERFECT, (save(tmp_path / "short.wav", short, 16_000),), out=tmp_path)
    for name in ("emodel", "pesq", "visqol", "stoi", "formants", "words"):
        score = MEASURES[name].score(Evidence(made.talks[0], made.codec, False))
        assert score.value is not None or score.reason, name
        assert score.value is None or np.isfinite(score.value), name


@pytest.mark.parametrize("other", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_channels_that_cancel_each_other_are_not_mixed(other: float, tmp_path: Path):
    voice = read(None)
    softer = np.rint(other * voice.values).astype(np.int16)
    for first in (0, 1):
        both = np.stack((voice.values, softer) if first == 0 else (softer, voice.values), axis=1)
        taken = read(save(tmp_path / "both.wav", both, voice.rate_hz, channels=2))
        if other < 0:
            loudest = 1 if other == -1 else first + 1
            told = "2 channels that cancel each other, as those of opposite phase do"
            assert taken.notes == (f"{told}: channel {loudest}, the loudest, is taken",)
            assert np.array_equal(taken.values, both[:, loudest - 1])
        else:
            assert taken.notes == ("2 channels, mixed to one",)
            assert np.abs(taken.values - (1 + other) / 2 * voice.values).max() <= 1


def test_what_is_missing_of_a_file_that_is_cut_off_is_told(tmp_path: Path):
    voice = read(None)
    whole = save(tmp_path / "whole.wav", voice.values, voice.rate_hz)
    octets = whole.read_bytes()
    assert read(whole).notes == ()
    (tmp_path / "cut.wav").write_bytes(octets[: len(octets) // 2])
    cut = read(tmp_path / "cut.wav")
    assert cut.notes == ("the file is cut off: it has 5.04 s of the 10.09 s that it says",)
    # What writes as it hears does not know how long that will be.
    for size in (0xFFFF_FFFF, 0x7FFF_FFFF, 0x7FFE_FFFF, 0):
        (tmp_path / "pipe.wav").write_bytes(octets[:40] + size.to_bytes(4, "little") + octets[44:])
        assert read(tmp_path / "pipe.wav").notes == (), size


def test_a_whole_wav_with_a_wrong_byte_rate_is_whole(tmp_path: Path):
    voice = read(None)
    octets = save(tmp_path / "whole.wav", voice.values, voice.rate_hz).read_bytes()
    wrong = tmp_path / "wrong.wav"
    wrong.write_bytes(octets[:28] + (1_000).to_bytes(4, "little") + octets[32:])
    assert read(wrong).notes == ()


CODEC_OF = {
    "flac": "flac",
    "m4a": "aac",
    "mp4": "aac",
    "mkv": "aac",
    "webm": "libopus",
    "ogg": "libopus",
    "mp3": "libmp3lame",
    "aac": "aac",
    "aiff": "pcm_s16be",
    "au": "pcm_s16be",
    "caf": "pcm_s16le",
    "w64": "pcm_s16le",
    "rf64": "pcm_s16le",
}


RAW = {name for name, codec in CODEC_OF.items() if codec.startswith("pcm")}


SAID = np.concatenate((read(None).values, np.zeros(160_000, np.int16)))


def written(path: Path, **options: str) -> Path:
    """`SAID` in a file of a format, beside a longer film where it has one."""
    import av

    suffix = path.suffix[1:]
    codec, film = CODEC_OF[suffix], suffix in {"mp4", "mkv"}
    if suffix == "rf64":
        options["rf64"] = "always"
    with av.open(str(path), "w", format="wav" if suffix == "rf64" else None, options=options) as file:
        sound = file.add_stream(codec, rate=48_000 if codec == "libopus" else 16_000, layout="mono")
        picture = file.add_stream("mpeg4", rate=5, width=64, height=64, pix_fmt="yuv420p") if film else None
        frame = av.AudioFrame.from_ndarray(SAID[None], "s16", "mono")
        frame.sample_rate = 16_000
        resampler = av.AudioResampler(sound.format, "mono", sound.rate, sound.frame_size or 1024)
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            file.mux(sound.encode(part))
        file.mux(sound.encode(None))
        for _ in range(200 if picture else 0):
            file.mux(picture.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))))
        if picture:
            file.mux(picture.encode(None))
    return path


@pytest.mark.parametrize("suffix", CODEC_OF)
def test_a_whole_file_is_not_said_to_be_cut_off(suffix: str, tmp_path: Path):
    path = written(tmp_path / f"said.{suffix}")
    one = read(path)
    assert one.notes == ()
    assert one.duration_s == pytest.approx(len(SAID) / 16_000, abs=0.1)
    if suffix == "flac":
        octets, twice = path.read_bytes(), 2 * len(SAID)
        # The head's count of samples (RFC 9639 section 8.2).
        path.write_bytes(octets[:22] + twice.to_bytes(4, "big") + octets[26:])
        assert "is cut off" in read(path).notes[0]


@pytest.mark.parametrize("share", [0.3, 0.97])
@pytest.mark.parametrize("suffix", sorted(set(CODEC_OF) - {"m4a", "mp4", "aac"}))
def test_a_file_that_is_cut_off_is_said_to_be(suffix: str, share: float, tmp_path: Path):
    """MP4's index is at its end, so it is refused; ADTS has no length, and its last frame may be whole."""
    path = written(tmp_path / f"said.{suffix}")
    octets = path.read_bytes()
    path.write_bytes(octets[: int(share * len(octets))])
    one = read(path)
    (told,) = [note for note in one.notes if "is cut off" in note]
    if suffix in RAW | {"flac"}:
        assert told.endswith(f"it has {one.duration_s:.2f} s of the {len(SAID) / 16_000:.2f} s that it says")
    elif suffix != "ogg":
        assert f"it has {100 * share:.0f}" in told or f"it has {100 * share - 1:.0f}" in told


@pytest.mark.parametrize(
    ("suffix", "before", "size"),
    [("au", b".snd\0\0\0\x20", b"\xff" * 4), ("caf", b"data", b"\xff" * 8), ("webm", b"", b"")],
)
def test_a_file_that_was_written_as_it_came_is_not_said_to_be_cut_off(
    suffix: str, before: bytes, size: bytes, tmp_path: Path
):
    """Its length is not known, which WebM's muxer says by itself when it is live."""
    path = written(tmp_path / f"said.{suffix}", **({} if size else {"live": "1"}))
    octets = path.read_bytes()
    at = octets.index(before) + len(before)
    octets = octets[:at] + size + octets[at + len(size) :]
    path.write_bytes(octets[: len(octets) // 2])
    assert not [note for note in read(path).notes if "is cut off" in note]


@pytest.mark.parametrize("suffix", sorted(set(CODEC_OF) - RAW))
def test_damage_inside_of_a_compressed_file_is_said(suffix: str, tmp_path: Path):
    path = written(tmp_path / f"said.{suffix}")
    octets = bytearray(path.read_bytes())
    # Speech is in the first half.
    begin = len(octets) // 4
    octets[begin : begin + 1_000] = np.random.default_rng(2).integers(0, 256, 1_000, np.uint8).tobytes()
    path.write_bytes(octets)
    one = read(path)
    assert any(note.startswith("the file is damaged: ") for note in one.notes), one.notes
    assert 1 < one.duration_s < len(SAID) / 16_000


def test_words_that_are_no_text_are_refused(tmp_path: Path):
    path = save(tmp_path / "said.wav", read(None).values[:16_000], 16_000)
    path.with_suffix(".txt").write_bytes(b"\xff\xfe\x80words")
    with pytest.raises(CallError, match=r"said.txt: cannot be read as .* no text in UTF-8"):
        read(path)


def test_silence_and_clipping_are_told(tmp_path: Path):
    silent = save(tmp_path / "silent.wav", np.zeros(16_000, np.int16), 16_000)
    made = call(BAD, (silent,), out=tmp_path)
    told = verdict.judged(made, made.talks[0], ("emodel", "pesq", "stoi"))
    assert told.sentence == "not rated: nothing is said"
    assert {score.value for score in told.scores.values()} == {None}
    loud = np.clip(10 * tone(16_000, 1).astype(int), -32768, 32767)
    loudly = call(BAD, (save(tmp_path / "loud.wav", loud, 16_000),), out=tmp_path)
    (talk,) = loudly.talks
    assert "clipped" in talk.said.notes[0]
    told_json = page.talk_told(talk, verdict.judged(loudly, talk, ()))
    assert (told_json["rate_hz"], told_json["notes"]) == (16_000, list(talk.said.notes))


def test_a_constant_is_silence_and_no_numbers_are_no_recording(tmp_path: Path):
    import av

    assert read(save(tmp_path / "constant.wav", np.full(16_000, 9_000, np.int16), 16_000)).is_silent
    path = tmp_path / "odd.wav"
    with av.open(str(path), "w", format="wav") as file:
        stream = file.add_stream("pcm_f32le", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.full((1, 100), np.nan, np.float32), "flt", "mono")
        frame.sample_rate = 16_000
        file.mux([*stream.encode(frame), *stream.encode(None)])
    with pytest.raises(CallError, match="no finite numbers"):
        read(path)
    with pytest.raises(CallError, match="is no file"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "cannot be read"), (b"RIFF not a wave file at all", "cannot be read"), (None, "no such file")],
)
def test_what_is_no_recording_is_refused(content: bytes | None, told: str, tmp_path: Path):
    path = tmp_path / "odd.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CallError, match=told):
        read(path)
    with pytest.raises(CallError, match="no samples"):
        read(save(tmp_path / "empty.wav", np.zeros(0, np.int16), 16_000))
