"""PocketSphinx with the model of its package: the default, because it needs nothing else.

**Cepstral mean.** The features of speech are taken relative to their mean, which says what microphone and
room are like. Given a whole utterance, PocketSphinx computes it from that. Given a stream, it begins with a
mean of its own (`40,3,-1`), which is far from this model's speech (`c0` about 60) and which it keeps until
it has heard three seconds: so short utterances were recognised with a wrong mean, and badly (docs/speech.md
has the figures). We hold the first second of a segment back, take the mean of it, and renew the mean from
all that was heard as the segment goes on. What was learnt of a speaker is the session's adaptation state,
and weighs as much as half a second of speech in the next.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pocketsphinx

from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.recognisers import Heard, Word

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_WARM = RATE
"""Samples from which the first mean is taken."""
_RENEW = RATE // 4
"""Samples from one mean to the next."""
_PIECE = RATE // 10
"""Octets that it hears at a time."""
_PRIOR_WEIGHT = 50
"""Frames of 10 ms that an earlier session's mean counts as."""
_WINDOW = 500
"""Frames that PocketSphinx takes a mean for which it is told (`CMN_WIN`)."""
_CEPSTRA = 13
_LOUDEST = 1e3
"""Beyond any mean of a sound."""
_LONGEST = 100 * 86_400 * 366
"""Frames that nobody speaks."""
_SILENCE = "silence"
"""A search for nothing, while only the mean is asked for."""
_FRAMES_PER_S = 100


def load(model: Path | None) -> PocketSphinx:
    """The model in a directory (`en-us`, `en-us.lm.bin` and `cmudict-en-us.dict` as the package has them)."""
    options = {"loglevel": "FATAL"}
    if model is not None:
        options |= {
            "hmm": str(model / "en-us"),
            "lm": str(model / "en-us.lm.bin"),
            "dict": str(model / "cmudict-en-us.dict"),
        }
    return PocketSphinx(pocketsphinx.Decoder(**options))


class _Mean:
    """A mean over frames, and how many they are."""

    def __init__(self, values: NDArray[np.float64], frames: int) -> None:
        self.values, self.frames = values, frames

    def with_(self, other: _Mean, at_most: int | None = None) -> _Mean:
        """Of both together, the other one counting as no more than so many frames."""
        weight = other.frames if at_most is None else min(other.frames, at_most)
        frames = self.frames + weight
        if not frames:
            return self
        return _Mean((self.values * self.frames + other.values * weight) / frames, frames)


_NOTHING = _Mean(np.zeros(_CEPSTRA), 0)


class PocketSphinx:
    """A decoder and the mean that it works with."""

    def __init__(self, decoder: pocketsphinx.Decoder) -> None:
        self._decoder = decoder
        self._search = decoder.current_search()
        decoder.add_fsg(_SILENCE, decoder.create_fsg(_SILENCE, 0, 1, [(0, 1, 1.0, "<sil>")]))
        self._in_utterance = False
        self.reset()

    def reset(self) -> None:
        """Forgets what was learnt, and the decoder's features, which depend on all that it has heard."""
        if self._in_utterance:
            self._end()
        self._decoder.activate_search(self._search)
        self._decoder.reinit_feat()
        self._session = _NOTHING
        """Of this session's segments before this one, and of what it was given."""
        self._clear()

    def _clear(self) -> None:
        self._held = bytearray()
        self._started = False
        self._told = _NOTHING
        self._segment = _NOTHING
        self._seen = 0
        self._since = 0

    def begin(self) -> None:
        """A segment begins."""
        self._clear()

    def feed(self, pcm: bytes) -> None:
        """Hears, once there is enough to know how it sounds."""
        if not self._started:
            self._held += pcm
            if len(self._held) >= 2 * _WARM:
                self._start()
            return
        self._decoder.process_raw(pcm)
        self._since += len(pcm) // 2
        if self._since >= _RENEW:
            self._since = 0
            self._renew()

    def partial(self) -> str:
        """The best path so far."""
        hypothesis = self._decoder.hyp() if self._started else None
        return hypothesis.hypstr if hypothesis is not None else ""

    def finish(self) -> Heard:
        """The best path in the end."""
        if not self._started and not self._held:
            return Heard("")
        if not self._started:
            self._start()
        self._renew()
        self._end()
        self._session = self._segment.with_(self._session, _PRIOR_WEIGHT)
        hypothesis = self._decoder.hyp()
        text = hypothesis.hypstr if hypothesis is not None else ""
        words = tuple(_words(self._decoder)) if text else ()
        self._clear()
        return Heard(text, words)

    def adaptation(self) -> str | None:
        """The mean, in the form of the protocol's `string+gzip+base64`."""
        if not self._session.frames:
            return None
        text = f"{self._session.frames};" + ",".join(f"{value:.4f}" for value in self._session.values)
        return base64.b64encode(zlib.compress(text.encode())).decode()

    def adapt(self, state: str) -> None:
        """Takes another session's mean."""
        self._session = _read(state)

    def _start(self) -> None:
        """Takes the mean of what was held back, and hears that."""
        held = bytes(self._held)
        self._held.clear()
        self._tell(_NOTHING)
        # The end of an utterance searches what was not: as dear as to recognise it, with the language model.
        self._decoder.activate_search(_SILENCE)
        self._begin()
        self._decoder.process_raw(held, no_search=True)
        self._end()
        self._decoder.activate_search(self._search)
        first = self._heard(self._decoder.n_frames())
        self._tell(first.with_(self._session, _PRIOR_WEIGHT))
        self._begin()
        # It does not let other threads run meanwhile, and somebody has to answer the master.
        for at in range(0, len(held), _PIECE):
            self._decoder.process_raw(held[at : at + _PIECE])
        self._started = True

    def _begin(self) -> None:
        self._decoder.start_utt()
        self._in_utterance = True

    def _end(self) -> None:
        self._in_utterance = False
        self._decoder.end_utt()

    def _renew(self) -> None:
        """Takes the mean of all that was heard of the segment."""
        frames = self._decoder.n_frames() - self._seen
        if frames < 1:
            return
        self._seen += frames
        self._segment = self._segment.with_(self._heard(frames))
        if self._segment.frames >= _WARM * _FRAMES_PER_S // RATE // 2:
            self._tell(self._segment.with_(self._session, _PRIOR_WEIGHT))
        else:
            self._tell(self._told)

    def _tell(self, mean: _Mean) -> None:
        self._decoder.set_cmn(",".join(f"{value:.5f}" for value in mean.values))
        # As it was understood, to the last digit.
        self._told = _Mean(_numbers(self._decoder.get_cmn(False)), _WINDOW)

    def _heard(self, frames: int) -> _Mean:
        """The mean of the frames since it was told one, out of that of both together."""
        together = _numbers(self._decoder.get_cmn(True))
        values = (together * (_WINDOW + frames) - self._told.values * _WINDOW) / max(frames, 1)
        return _Mean(values, frames)


def _numbers(text: str) -> NDArray[np.float64]:
    return np.array([float(value) for value in text.split(",")])


def _words(decoder: pocketsphinx.Decoder) -> list[Word]:
    return [
        Word(
            segment.word.split("(")[0],
            segment.start_frame / _FRAMES_PER_S,
            (segment.end_frame - segment.start_frame + 1) / _FRAMES_PER_S,
            # A probability already, which rounding may leave above 1.
            min(1.0, segment.prob),
        )
        for segment in decoder.seg()
        # Fillers and the sentence's ends are no words.
        if segment.word[0] not in "<["
    ]


def _read(state: str) -> _Mean:
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(state, validate=True), 4096)
        frames, _, values = raw.decode("ascii").partition(";")
        numbers = _numbers(values)
        mean = _Mean(numbers, int(frames))
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError(f"an adaptation state that is not PocketSphinx's: {error}") from error
    # What is no number is not within bounds.
    if len(numbers) != _CEPSTRA or not (np.abs(numbers) < _LOUDEST).all() or not 1 <= mean.frames < _LONGEST:
        raise ValueError(
            f"an adaptation state that is not PocketSphinx's: expected are 1 to {_LONGEST - 1} frames, "
            f"and {_CEPSTRA} numbers below {_LOUDEST:g}"
        )
    return mean
