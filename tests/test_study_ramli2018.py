"""The study of 2018: its scenarios are what the text says, and each sentence's check can fail."""

from __future__ import annotations

from voxpath.speech.samples import GROWING, samples
from voxpath.speech.words import words


def test_the_prompts_grow_from_2_to_30_seconds_and_have_transcripts():
    prompts = samples("sample:prompts")
    assert [prompt.name for prompt in prompts] == [f"prompts/{name}" for name in GROWING]
    lengths = [len(prompt.pcm()) / 32_000 for prompt in prompts]
    assert lengths == sorted(lengths)
    assert 2 < lengths[0] < 2.5
    assert 30 < lengths[-1] < 31
    # Nobody says a digit as a digit; two to four words are said in a second.
    for prompt, length in zip(prompts, lengths, strict=True):
        assert not any(character.isdigit() for character in prompt.reference)
        assert 1.5 < len(words(prompt.reference)) / length < 5
