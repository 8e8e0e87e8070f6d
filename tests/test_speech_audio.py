"""What is heard does not depend on how audio arrives, nor on when; and every format gives the same sound."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import struct
import threading
import wave
from itertools import pairwise

import av
import numpy as np
import pocketsphinx
import pytest

from voxpath.voice.speech.endpoint import Endpointer
from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.hearing import Hearing
from voxpath.voice.speech.pcm import RATE, Encoding, FormatError, Raw, Reader, Resampler, to_pcm
from voxpath.voice.speech.recognisers import load
from voxpath.voice.speech.samples import samples
from voxpath.voice.speech.session import Final, Partial, Session
from voxpath.voice.speech.words import word_errors

CARDS = samples("sample:cards")
LONG = CARDS[4].pcm()


def tone(rate: int, hertz: float = 440.0, seconds: float = 1.0) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate)


def wav(pcm: bytes, rate: int = RATE) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, rate, 0, "NONE", ""))
        writer.writeframes(pcm)
    return file.getvalue()


def encoded(
    samples_: np.ndarray, rate: int, kind: str, codec: str, at: int = 48_000, **options: str
) -> bytes:
    """A file as FFmpeg writes it."""
    file = io.BytesIO()
    # Its own encoder of Vorbis is an experiment, and knows two channels only.
    layout, more = ("stereo", {"strict": "-2"}) if codec == "vorbis" else ("mono", {})
    with av.open(file, "w", format=kind, options=options) as container:
        stream = container.add_stream(codec, rate=at, layout=layout, options=more)
        if codec in ("libopus", "libmp3lame", "aac", "vorbis"):
            stream.bit_rate = 64_000
        said = np.rint(samples_ * 32768).clip(-32768, 32767).astype("<i2")
        frame = av.AudioFrame.from_ndarray(said[None], "s16", "mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(stream.format, layout, at, stream.codec_context.frame_size or None)
        for one in (frame, None):
            for made in resampler.resample(one):
                container.mux(stream.encode(made))
        container.mux(stream.encode(None))
    return file.getvalue()


def ogg(samples_: np.ndarray, rate: int) -> bytes:
    """Opus in Ogg."""
    return encoded(samples_, rate, "ogg", "libopus")


SENT = {
    "Vorbis": ("audio/ogg", "ogg", "vorbis", {"page_duration": "100000"}),
    "Opus in Ogg": ("audio/ogg", "ogg", "libopus", {"page_duration": "100000"}),
    "MP3": ("audio/mpeg", "mp3", "libmp3lame", {}),
    "MP3 without tags": ("audio/mpeg", "mp3", "libmp3lame", {"id3v2_version": "0", "write_xing": "0"}),
    "FLAC": ("audio/flac", "flac", "flac", {}),
    "WebM": ("audio/webm;codecs=opus", "webm", "libopus", {}),
    "WebM as it is recorded": ("video/webm", "webm", "libopus", {"live": "1"}),
    "MP4 as it is recorded": ("audio/mp4", "mp4", "aac", {"movflags": "frag_keyframe+empty_moov"}),
    "AAC": ("audio/aac", "adts", "aac", {}),
    "AIFF": ("audio/aiff", "aiff", "pcm_s16be", {}),
    "AU": ("audio/basic", "au", "pcm_mulaw", {}),
    "WAV of 24 bits": ("audio/x-wav", "wav", "pcm_s24le", {}),
    "WAV of mu-law": ("audio/wav", "wav", "pcm_mulaw", {}),
    "WAV of A-law": ("audio/wav", "wav", "pcm_alaw", {}),
    "WAV of 64-bit floats": ("audio/wav", "wav", "pcm_f64le", {}),
    "WAV of ADPCM": ("audio/wav", "wav", "adpcm_ima_wav", {}),
}
"""What people send, by content type: FFmpeg's names of container and codec."""


@functools.cache
def sent(name: str, seconds: float = 1.0) -> bytes:
    """A tone, so."""
    _, kind, codec, options = SENT[name]
    return encoded(tone(48_000, seconds=seconds), 48_000, kind, codec, **options)


def heard(content_type: str, data: bytes, cuts: list[int]) -> bytes:
    reader = reader_of(content_type)
    edges = [0, *sorted(cuts), len(data)]
    parts = [part for a, b in pairwise(edges) for part in reader.feed(data[a:b])]
    return to_pcm(np.concatenate([*parts, *reader.finish()]))


def whole(reader: Reader, data: bytes) -> np.ndarray:
    return np.concatenate([*reader.feed(data), *reader.finish()])


@pytest.mark.parametrize(
    "kind", ["raw 16000", "raw 8000", "raw 44100", "raw 11025", "wav", "ogg", "detected wav"]
)
def test_what_is_heard_does_not_depend_on_how_it_is_cut(kind: str):
    what, _, rate = kind.partition(" ")
    data, content_type = {
        "raw": (LONG, f"audio/x-raw, rate=(int){rate}"),
        "wav": (wav(LONG), "audio/x-wav"),
        "ogg": (ogg(np.frombuffer(LONG, "<i2") / 32768, RATE), "audio/ogg"),
        "detected": (wav(LONG), ""),
    }[what]
    chance = random.Random(1)
    uncut = heard(content_type, data, [])
    assert len(uncut) > 1000
    for cuts in (1, 30, 2000):
        assert heard(content_type, data, [chance.randrange(len(data)) for _ in range(cuts)]) == uncut


@pytest.mark.parametrize("name", SENT)
def test_what_people_send_sounds_as_it_was_however_it_is_cut_and_named(name: str):
    data, content_type = sent(name), SENT[name][0]
    uncut = heard(content_type, data, [])
    out = np.frombuffer(uncut, "<i2") / 32768
    # Frames of a codec have lengths of their own, and some say what of the first and last is no sound.
    assert len(out) == pytest.approx(RATE, abs=0.1 * RATE)
    inner = slice(2000, 14_000)
    # Where it begins is the codec's affair: a tone is told by its frequency.
    spectrum = np.abs(np.fft.rfft(out[inner] * np.hanning(12_000)))
    assert np.argmax(spectrum) * RATE / 12_000 == pytest.approx(440, abs=1)
    # As loud: two channels of one are softened by the test's own writer.
    assert 0.33 < np.abs(out[inner]).max() < 0.55
    chance = random.Random(name)
    for cuts in (1, 30, 500):
        assert heard(content_type, data, [chance.randrange(len(data)) for _ in range(cuts)]) == uncut
    assert heard("", data, [1, 2, 3, 5, 9]) == uncut


@pytest.mark.parametrize("name", SENT)
def test_what_is_sent_as_it_is_recorded_is_heard_as_it_comes(name: str):
    """Not only at the end."""
    data, reader = sent(name, 8.0), reader_of(SENT[name][0])
    fed = 0
    for at in range(0, len(data), 500):
        fed += sum(map(len, reader.feed(data[at : at + 500])))
        if at < len(data) // 2 <= at + 500:
            assert fed > 2 * RATE
    reader.close()


@pytest.mark.parametrize("name", SENT)
def test_what_is_damaged_is_refused_or_heard(name: str):
    """And ends no thread of ours but its own; what was cut off at its end is heard up to there."""
    data, chance = sent(name, 3.0), random.Random(name)
    before = threading.active_count()
    assert len(heard(SENT[name][0], data[: len(data) * 3 // 4], [])) > RATE
    for _ in range(20):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 5, 50])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with contextlib.suppress(FormatError):
            heard(SENT[name][0], bytes(damaged), [chance.randrange(len(data))])
    reader = reader_of(SENT[name][0])
    next(reader.feed(data), None)
    reader.close()
    assert threading.active_count() == before


def test_an_mp4_whose_index_comes_last_is_refused_with_a_reason():
    data = encoded(tone(48_000), 48_000, "mp4", "aac")
    for cuts in ([], list(range(0, len(data), 100))):
        with pytest.raises(FormatError, match="its index has to come first"):
            heard("audio/mp4", data, cuts)


def test_laws_of_g711_are_those_of_ffmpeg():
    """Every code, by the media types of RTP and of GStreamer."""
    codes = np.arange(256, dtype=np.uint8).tobytes()
    for law, types in {
        "mulaw": ("audio/pcmu", "audio/x-mulaw"),
        "alaw": ("audio/pcma", "audio/x-alaw"),
    }.items():
        codec = av.AudioCodecContext.create(f"pcm_{law}", "r")
        codec.sample_rate, codec.layout = 8_000, "mono"
        expected = codec.decode(av.Packet(codes))[0].to_ndarray()[0] / 32768
        raw = Raw(Encoding(RATE, law.upper()))
        assert whole(raw, codes).tolist() == expected.tolist()
        for one in types:
            assert len(whole(reader_of(one), bytes(8_000))) == pytest.approx(RATE, abs=2)


def test_no_more_is_decoded_than_somebody_takes():
    """Silence is next to nothing: nobody is made to hold hours of it."""
    quiet = encoded(np.zeros(120 * 8_000), 8_000, "flac", "flac", 8_000)
    assert len(quiet) < 0.02 * 120 * 16_000
    reader = reader_of("audio/flac")
    lengths = [len(part) for part in [*reader.feed(quiet), *reader.finish()]]
    assert sum(lengths) == pytest.approx(120 * RATE, abs=2)
    assert max(lengths) < RATE


@pytest.mark.parametrize("begin", [b"\xff\xfb", b"\xff\xf3\x84\xc4", b"\xff\xf1\x50\x80\x04", b"\xff", b""])
def test_samples_that_begin_like_frames_are_samples(begin: bytes):
    pcm = begin + LONG[: 20_000 - len(begin)]
    assert heard("", pcm, [3]) == heard("audio/x-raw", pcm, [])


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
def test_every_rate_gives_the_same_tone(rate: int):
    made = Resampler(rate)
    out = np.concatenate([made.feed(tone(rate).astype(np.float32)), made.finish()])
    assert len(out) == pytest.approx(RATE, abs=2)
    inner = slice(200, RATE - 200)
    assert np.abs(out[inner] - tone(RATE)[inner]).max() < 2e-3


def test_what_lies_above_half_the_rate_is_gone():
    made = Resampler(48_000)
    out = made.feed(tone(48_000, 11_000.0).astype(np.float32))
    assert np.abs(out[200:]).max() < 1e-3


def test_formats_of_samples_are_read():
    values = tone(RATE)
    expected = to_pcm(values.astype(np.float32))
    for name, data in {
        "S16BE": (values * 32768).astype(">i2").tobytes(),
        "S32LE": (values * 2**31).astype("<i4").tobytes(),
        "S24LE": (values * 2**31).astype("<i4").view("u1").reshape(-1, 4)[:, 1:].tobytes(),
        "S24BE": (values * 2**31).astype(">i4").view("u1").reshape(-1, 4)[:, :3].tobytes(),
        "F32LE": values.astype("<f4").tobytes(),
    }.items():
        raw = Raw(Encoding(RATE, name))
        got = whole(raw, data)
        away = np.frombuffer(to_pcm(got), "<i2").astype(int) - np.frombuffer(expected, "<i2")
        assert np.abs(away).max() <= 1, name
    two = Raw(Encoding(RATE, "S16LE", 2))
    pairs = np.repeat(np.frombuffer(expected, "<i2"), 2).tobytes()
    away = whole(two, pairs) * 32768 - np.frombuffer(expected, "<i2")
    assert np.abs(away).max() < 1


def test_floats_that_are_no_numbers_are_silent():
    """Whatever their bits are; a warning of the arithmetic is an error here."""
    raw = Raw(Encoding(RATE, "F32LE"))
    bits = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0x7F800000, 0xFF800000, 0], "<u4")
    got = whole(raw, bits.tobytes())
    assert got.tolist() == [0, 0, 0, 1, -1, 0]


def test_opus_has_the_length_and_the_sound_that_it_was_made_of():
    made = ogg(tone(48_000), 48_000)
    out = np.frombuffer(heard("audio/ogg", made, []), "<i2") / 32768
    # Without what the encoder has put before and behind it.
    assert len(out) == pytest.approx(RATE, abs=2)
    inner = slice(2000, RATE - 2000)
    assert np.corrcoef(out[inner], tone(RATE)[inner])[0, 1] > 0.99


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("audio/x-wav", b"RIFF" + bytes(40)),
        ("audio/x-wav", b"RIFF\0\0\0\0WAVEdata\0\0\0\0"),
        (
            "audio/x-wav",
            b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 2, 1, 8000, 8000, 1, 4) + bytes(9),
        ),
        ("audio/x-wav", b"RIFF\0\0\0\0WAVE" + b"LIST" + b"\xff\xff\xff\x7f"),
        ("audio/ogg", b"OggS\1" + bytes(60)),
        ("audio/ogg", b"OggS\0\2" + bytes(20) + b"\1\4abcd"),
    ],
)
def test_a_container_that_is_none_is_refused(content_type: str, data: bytes):
    with pytest.raises(FormatError):
        heard(content_type, data, [])


def test_ends_are_found_on_audio_time():
    quiet = bytes(2 * RATE)
    endpointer = Endpointer(Hearing.of({}))
    events = [*endpointer.feed(quiet + CARDS[0].pcm() + quiet + CARDS[1].pcm() + quiet), *endpointer.finish()]
    told = [event for event in events if hasattr(event, "at_s")]
    assert [type(event).__name__ for event in told] == ["Begin", "End", "Begin", "End"]
    begin, end = told[:2]
    assert 0.5 < begin.at_s < 1.3
    assert 1.5 < end.at_s < 2.2
    assert end.decided_s - end.at_s <= Hearing.of({}).hangover_s


def test_transcripts_are_the_same_however_audio_is_cut():
    recogniser = load("pocketsphinx", None)
    pcm = CARDS[2].pcm() + bytes(2 * RATE) + CARDS[0].pcm()

    def results(block: int) -> list[Partial | Final]:
        session = Session(recogniser, reader_of("audio/x-raw"))
        found = [event for at in range(0, len(pcm), block) for event in session.feed(pcm[at : at + block])]
        return [*found, *session.finish()]

    first = results(len(pcm))
    assert [event.text for event in first if isinstance(event, Final)] == ["seven of clubs", "ten of clubs"]
    assert any(isinstance(event, Partial) for event in first)
    assert results(777) == first


def plain(whole: bool) -> int:
    """Wrong words of PocketSphinx as it comes, each card without what was learnt of the others."""
    decoder = pocketsphinx.Decoder(loglevel="FATAL")
    first = decoder.get_cmn(False)
    errors = 0
    for card in CARDS:
        decoder.set_cmn(first)
        pcm, step = card.pcm(), len(card.pcm()) if whole else 1280
        decoder.start_utt()
        for at in range(0, len(pcm), step):
            decoder.process_raw(pcm[at : at + step], full_utt=whole)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        errors += word_errors(card.reference, hypothesis.hypstr if hypothesis else "")[0]
    return errors


def test_short_utterances_are_understood_though_they_are_streamed():
    """PocketSphinx's own mean is the cause of what is wrong: docs/speech.md."""
    recogniser = load("pocketsphinx", None)
    errors = 0
    for card in CARDS:
        session = Session(recogniser, reader_of("audio/x-raw"))
        found = [*session.feed(card.pcm()), *session.finish()]
        text = " ".join(event.text for event in found if isinstance(event, Final))
        errors += word_errors(card.reference, text)[0]
    assert plain(whole=True) <= 2
    assert errors <= 5
    assert plain(whole=False) >= 7


@pytest.mark.parametrize(
    ("said", "understood", "errors"),
    [("Ten of clubs.", "ten of clubs", 0), ("a b c", "a c", 1), ("a b", "x a b y", 2), ("a b", "", 2)],
)
def test_word_errors_are_counted(said: str, understood: str, errors: int):
    assert word_errors(said, understood)[0] == errors
