"""Measures of quality, in one list: a measure is a file here and a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.voice.call.measures.conversation import Conversation
from voxpath.voice.call.measures.formants import Formants
from voxpath.voice.call.measures.pesq import Pesq
from voxpath.voice.call.measures.stoi import Stoi
from voxpath.voice.call.measures.visqol import Visqol
from voxpath.voice.call.measures.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.voice.call.measures.base import Measure

MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Conversation(),
        Pesq(),
        Visqol(),
        Stoi(),
        Words(),
        Formants(),
    )
}
