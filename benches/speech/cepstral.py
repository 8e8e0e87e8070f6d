"""Ways to the cepstral mean that PocketSphinx takes features relative to, and what each makes of utterances."""
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pocketsphinx

from voxpath.speech.recognisers import load
from voxpath.speech.samples import Sample
from voxpath.speech.trial import transcript
from voxpath.speech.words import word_errors

STEP = 1280
"""Octets, 40 ms."""


@dataclass(frozen=True)
class Counted:
    """Wrong words of a set by how the mean is come by."""

    words: int
    errors: dict[str, int]


def counted(spoken: Sequence[Sample]) -> Counted:
    """Counts them; each utterance without what was learnt of the others."""
    decoder = pocketsphinx.Decoder(loglevel="FATAL")
    first = decoder.get_cmn(False)

    def heard(pcm: bytes, step: int, mean: str = first) -> str:
        decoder.set_cmn(mean)
        decoder.start_utt()
        for at in range(0, len(pcm), step):
            decoder.process_raw(pcm[at : at + step], full_utt=step >= len(pcm))
        decoder.end_utt()
        hypothesis = decoder.hyp()
        return hypothesis.hypstr if hypothesis else ""

    def with_its_own(pcm: bytes) -> str:
        heard(pcm, len(pcm))
        return heard(pcm, STEP, decoder.get_cmn(False))

    ours = load("pocketsphinx", None)

    def in_the_second_session(pcm: bytes) -> str:
        transcript(ours, pcm)
        return transcript(ours, pcm, ours.adaptation())

    ways: dict[str, Callable[[bytes], str]] = {
        "PocketSphinx, given the whole utterance": lambda pcm: heard(pcm, len(pcm)),
        "PocketSphinx, streamed in 40 ms": lambda pcm: heard(pcm, STEP),
        "the same, told the mean of the whole utterance before": with_its_own,
        "our workers": lambda pcm: transcript(ours, pcm),
        "our workers, given back what they learnt of the same utterance": in_the_second_session,
    }
    return Counted(
        sum(word_errors(one.reference, "")[1] for one in spoken),
        {
            how: sum(word_errors(one.reference, hear(one.pcm()))[0] for one in spoken)
            for how, hear in ways.items()
        },
    )


def means(spoken: Sequence[Sample]) -> tuple[float, list[float]]:
    """The first coefficient that the decoder begins with, and that of each utterance."""
    decoder = pocketsphinx.Decoder(loglevel="FATAL")
    begins = _first(decoder)
    found = []
    for one in spoken:
        decoder.start_utt()
        decoder.process_raw(one.pcm(), full_utt=True)
        decoder.end_utt()
        found.append(_first(decoder))
    return begins, found


def _first(decoder: pocketsphinx.Decoder) -> float:
    return float(decoder.get_cmn(False).split(",")[0])
