"""Sounds of a page: each is a WAV file of 16 bits inside the page, played by the browser's own controls."""

from __future__ import annotations

import base64
import io
import wave
from typing import TYPE_CHECKING

import numpy as np

from voxpath.report.markup import element, escape, prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Sound, Sounds

_FULL_SCALE = 32767


def wav(sound: Sound) -> bytes:
    """A sound as a file; what is beyond full scale is clipped.

    Raises:
        ValueError: It has no samples, more than two channels, or channels that differ in length.
    """
    lengths = [len(channel) for channel in sound.channels]
    if not 1 <= len(lengths) <= 2 or len(set(lengths)) != 1 or lengths[0] == 0:
        raise ValueError(f"{sound.name}: one or two channels of one length are needed, not of {lengths}")
    rows = np.array(sound.channels, dtype=float)
    samples = np.rint(_FULL_SCALE * np.clip(rows.T, -1.0, 1.0)).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(len(rows))
        file.setsampwidth(2)
        file.setframerate(sound.rate)
        file.writeframes(samples.tobytes())
    return out.getvalue()


def level(sound: Sound) -> float:
    """Mean power of all channels in dB of full scale; of silence, minus infinity."""
    power = float(np.mean(np.square(np.array(sound.channels, dtype=float))))
    return 10 * float(np.log10(power)) if power > 0 else -np.inf


def draw(part: Sounds) -> str:
    """A list of players with their names and texts."""
    return players(part.sounds)


def players(sounds: Sequence[Sound]) -> str:
    """A player for each sound."""
    return element("ul", "".join(_player(sound) for sound in sounds), class_="sounds")


def _player(sound: Sound) -> str:
    seconds = len(sound.channels[0]) / sound.rate
    channels = "stereo" if len(sound.channels) == 2 else "mono"
    facts = f"{seconds:.1f} s, {channels}, {sound.rate:,} Hz, {level(sound):.1f} dB of full scale".replace(
        "-", "−"
    )
    source = "data:audio/wav;base64," + base64.b64encode(wav(sound)).decode("ascii")
    return element(
        "li",
        element("p", escape(sound.name), class_="name")
        + element("audio", "", controls=True, preload="metadata", src=source, aria_label=sound.name)
        + element("p", prose(sound.text), class_="said")
        + element("p", prose(facts), class_="level"),
    )
