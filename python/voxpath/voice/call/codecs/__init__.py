"""Codecs, in one list. A codec is a file here and a line of it; all else learns it from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.voice.call.codecs.g711 import G711
from voxpath.voice.call.codecs.opus import Opus
from voxpath.voice.call.codecs.pcm import Pcm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.voice.call.codecs.base import Codec

CODECS: Mapping[str, Codec] = {
    codec.name: codec
    for codec in (
        Opus(),
        G711(),
        Pcm(),
    )
}
