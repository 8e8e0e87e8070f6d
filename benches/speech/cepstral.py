"""Ways to the cepstral mean that PocketSphinx takes features relative to, and what each makes of utterances."""
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pocketsphinx

from voxpath.voice.speech.recognisers import load
from voxpath.voice.speech.samples import Sample
from voxpath.voice.speech.trial import transcript
from voxpath.voice.speech.words import word_errors

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

    ours = load("pocketsphinx", None)
    ways: dict[str, Callable[[bytes], str]] = {
        "PocketSphinx, given the whole utterance": lambda pcm: heard(pcm, len(pcm)),
        "PocketSphinx, streamed in 40 ms": lambda pcm: heard(pcm, STEP),
        "the same, told the mean of the whole utterance before": lambda pcm: heard(
            pcm, STEP, mean_of(decoder, pcm)
        ),
        "our workers": lambda pcm: transcript(ours, pcm),
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
    begins = decoder.get_cmn(False)
    first, *rest = (
        float(mean.split(",")[0]) for mean in (begins, *(mean_of(decoder, one.pcm()) for one in spoken))
    )
    return first, rest


def mean_of(decoder: pocketsphinx.Decoder, pcm: bytes) -> str:
    """The mean that it computes of a whole utterance, without looking for words."""
    decoder.start_utt()
    decoder.process_raw(pcm, no_search=True, full_utt=True)
    decoder.end_utt()
    return str(decoder.get_cmn(False))
