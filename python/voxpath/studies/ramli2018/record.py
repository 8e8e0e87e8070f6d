"""Records anew what the simulated recogniser is made from: `python -m voxpath.studies.ramli2018.record`.

Utterances depend on the audio alone. The times are of the machine, which should do nothing else, and are
taken on other utterances than those of the study.
"""

from __future__ import annotations

import json
from pathlib import Path

from voxpath import _engine
from voxpath.voice.speech.audio_files import audio_of
from voxpath.voice.speech.profile import decoder_profile, utterance_profile
from voxpath.voice.speech.recognisers import load
from voxpath.voice.speech.samples import GROWING

OTHERS = (
    "sample:librivox",
    "sample:cards",
    "sample:prompts/vm-review",
    "sample:prompts/vm-instructions",
    "sample:prompts/vm-msginstruct",
)
"""What the decoder is timed on."""

_NAME = "pocketsphinx"
_REPETITIONS = 3


def main() -> None:
    """Writes the files beside this one."""
    folder = Path(__file__).parent / "recorded"
    recogniser = load(_NAME, None)
    found = {
        name: utterance_profile(recogniser, _NAME, audio_of(f"sample:prompts/{name}")[0]) for name in GROWING
    }
    others = [audio for name in OTHERS for audio in audio_of(name)]
    found["decoder"] = decoder_profile(recogniser, _NAME, others, _REPETITIONS)
    for name, told in found.items():
        (folder / f"{name}.toml").write_text(_engine.format_toml(json.dumps(told)), "utf-8")


if __name__ == "__main__":
    main()
