"""sherpa-onnx (the next generation of Kaldi), with a streaming transducer or CTC model of the user's.

A model is a directory with `tokens.txt` and `encoder*.onnx`, `decoder*.onnx`, `joiner*.onnx`, or `tokens.txt`
and one `model*.onnx` (a Zipformer's CTC); files with `int8` in their names are taken where there are some.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import sherpa_onnx

from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.recognisers import Heard, UnavailableError, Word

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TAIL_S = 0.66
"""Of silence, which the models' look-ahead needs behind the last word."""
_BEGIN = ("▁", " ")
"""What a token begins with that begins a word."""


def load(model: Path | None) -> Sherpa:
    """The model in a directory."""
    if model is None:
        raise UnavailableError("sherpa-onnx brings no model: --model names a directory with a streaming one")
    tokens = model / "tokens.txt"
    if not tokens.is_file():
        raise UnavailableError(f"{model} is no model of sherpa-onnx's: it has no tokens.txt")
    parts = {name: _file(model, name) for name in ("encoder", "decoder", "joiner")}
    make = sherpa_onnx.OnlineRecognizer
    try:
        if all(parts.values()):
            return Sherpa(make.from_transducer(tokens=str(tokens), num_threads=1, **parts))
        if one := _file(model, "model"):
            return Sherpa(make.from_zipformer2_ctc(tokens=str(tokens), num_threads=1, model=one))
    except (RuntimeError, ValueError) as error:
        raise UnavailableError(f"{model} is no model of sherpa-onnx's: {error}") from error
    raise UnavailableError(
        f"{model} is no streaming model of sherpa-onnx's: beside tokens.txt it has neither encoder*.onnx, "
        "decoder*.onnx and joiner*.onnx, nor model*.onnx"
    )


def _file(model: Path, name: str) -> str:
    found = sorted(model.glob(f"{name}*.onnx"), key=lambda path: ("int8" not in path.name, path.name))
    return str(found[0]) if found else ""


class Sherpa:
    """A model, and a stream for each segment."""

    def __init__(self, recogniser: Any) -> None:
        self._recogniser = recogniser
        self.reset()

    def reset(self) -> None:
        """Each segment has a stream of its own."""
        self._stream: Any = None

    def begin(self) -> None:
        """A segment begins."""
        self._stream = self._recogniser.create_stream()

    def feed(self, pcm: bytes) -> None:
        """Hears, and decodes what has become whole."""
        self._stream.accept_waveform(RATE, np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0)
        self._decode()

    def partial(self) -> str:
        """The best path so far."""
        return _small(self._recogniser.get_result(self._stream))

    def finish(self) -> Heard:
        """The best path in the end."""
        self._stream.accept_waveform(RATE, np.zeros(round(RATE * _TAIL_S), dtype=np.float32))
        self._stream.input_finished()
        self._decode()
        stream, self._stream = self._stream, None
        text = _small(self._recogniser.get_result(stream))
        told = [getattr(self._recogniser, name)(stream) for name in ("tokens", "timestamps", "ys_probs")]
        return Heard(text, tuple(_words(*told)))

    def adaptation(self) -> None:
        """Nothing is learnt."""

    def adapt(self, state: str) -> None:
        """Nothing to begin with."""
        del state

    def _decode(self) -> None:
        while self._recogniser.is_ready(self._stream):
            self._recogniser.decode_stream(self._stream)


def _small(text: str) -> str:
    """Models whose tokens are capitals shout."""
    return text.lower() if text.isupper() else text


def _words(tokens: list[str], times: list[float], probabilities: list[float]) -> Iterator[Word]:
    """Tokens joined to words; a word lasts until the next begins, the last one to its last token."""
    begins = [i for i, token in enumerate(tokens) if i == 0 or token.startswith(_BEGIN)]
    for first, behind in zip(begins, [*begins[1:], len(tokens)], strict=True):
        text = "".join(tokens[first:behind]).strip("".join(_BEGIN))
        if text:
            until = times[behind] if behind < len(tokens) else times[-1]
            # Some decoders give no probabilities.
            sure = probabilities[first:behind] or [0.0]
            yield Word(_small(text), times[first], until - times[first], min(1.0, math.exp(min(sure))))
