"""How many words the default recogniser misunderstands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from voxpath.voice.call.measures.base import Score
from voxpath.voice.call.recording import resampled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voxpath.voice.call.measures.base import Evidence
    from voxpath.voice.speech.recognisers import Recogniser

_RATE_HZ = 16_000
_LONGEST_S = 60.0
"""A recogniser takes a third of the time that it hears."""


class Words:
    """Word error rate against what was said, or what is recognised of the recording where nobody knows it."""

    name: ClassVar[str] = "words"
    title: ClassVar[str] = "word error rate"
    standard: ClassVar[str] = (
        "PocketSphinx with its model of US English; least edits over the words of the reference"
    )
    valid: ClassVar[str] = "English; a recogniser errs where nothing was lost, too; hears no delay"
    scale: ClassVar[str] = "100 % to 0 %"
    slow: ClassVar[bool] = True

    def score(self, evidence: Evidence) -> Score:
        """Of what was heard, beside that of the recording itself."""
        from voxpath.voice.speech import recognisers
        from voxpath.voice.speech.words import word_errors

        said = evidence.talk.said
        if evidence.is_silent:
            return Score.none("nothing is said")
        if said.duration_s > _LONGEST_S:
            return Score.none(f"the recording is longer than {_LONGEST_S:g} s")
        try:
            recogniser = recognisers.load(recognisers.DEFAULT, None)
        except recognisers.UnavailableError as error:
            return Score.none(str(error))
        heard = _text(
            recogniser, resampled(evidence.talk.heard.values, evidence.talk.encoded.rate_hz, _RATE_HZ)
        )
        reference = said.text
        told = "against what was said"
        if reference is None:
            reference = _text(recogniser, said.at(_RATE_HZ))
            told = "against what is recognised of the recording itself"
        wrong, words = word_errors(reference, heard)
        if not words:
            return Score.none("no words are known of the recording")
        return Score(
            f"{100 * wrong / words:.0f} %", wrong / words, f"{wrong} of {words} words, {told}: “{heard}”"
        )


def _text(recogniser: Recogniser, values: NDArray[np.int16]) -> str:
    recogniser.reset()
    recogniser.begin()
    recogniser.feed(values.tobytes())
    return recogniser.finish().text
