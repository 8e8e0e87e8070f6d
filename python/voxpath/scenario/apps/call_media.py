"""Parts of a call: cameras, microphones, rates and jitter buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from voxpath import _engine
from voxpath.scenario.apps.table import default
from voxpath.scenario.elements.kinds import OneOf
from voxpath.scenario.problems import PlanError
from voxpath.scenario.quantities import Number, PositiveSize, PositiveSpan, Rate, Several, Size, Span
from voxpath.scenario.table import From, Keys, Table, faults

if TYPE_CHECKING:
    from voxpath.scenario.traces import Traces

_S = 1_000_000_000
_MOST_AUDIO = 1372
"""Bytes of a frame in the largest packet, with room for the headers of RTP."""


def _sizes(text: str) -> tuple[int]:
    size = int(text)
    if not 1 <= size <= 10_000_000:
        raise ValueError("a frame has 1 to 10000000 bytes")
    return (size,)


_MOST_RATIO = 1000


def _ratio(text: str) -> tuple[float, bool, int]:
    number, *rest = text.split()
    ratio, key = float(number), rest[:1] == ["key"]
    late = " ".join(rest[1:] if key else rest)
    if not 0 <= ratio <= _MOST_RATIO or not (late == "" or late[0].isdecimal()):
        raise ValueError(
            f"write a number from 0 to {_MOST_RATIO}, 'key' behind it for a key frame, then how late it is"
        )
    return ratio, key, _engine.parse_span(late) if late else 0


def _size_of_audio(text: str) -> tuple[int]:
    size = int(text)
    if not 0 <= size <= _MOST_AUDIO:
        raise ValueError(f"a frame of audio has 0 to {_MOST_AUDIO} bytes")
    return (size,)


def _recorded(audio: Audio, files: Traces) -> list[int] | None:
    if isinstance(audio.sizes, str):
        return [size for _, (size,) in files.parsed(audio.sizes, _size_of_audio)]
    return None if audio.sizes is None else list(audio.sizes)


def _encoder(video: Video, files: Traces) -> dict[str, Any]:
    reaction = {"reaction_ns": video.reaction}
    if video.rate is not None:
        return {"kind": "constant", "rate_bps": video.rate}
    if video.rates is not None:
        return {"kind": "steps", **reaction, "rates_bps": list(video.rates), "layered": video.layered}
    if video.sizes is not None:
        sizes = [size for _, (size,) in files.parsed(video.sizes, _sizes)]
        return {"kind": "frames", "sizes": sizes, "scaled": video.scaled, **reaction}
    if video.ratios is not None:
        ratios, keys, late = zip(*(of for _, of in files.parsed(video.ratios, _ratio)), strict=True)
        if not any(ratios):
            raise PlanError(f"{video.ratios!r} has no frame above 0")
        places = [place for place, key in enumerate(keys) if key]
        delays = {"delays_ns": late} if any(late) else {}
        return {"kind": "relative", "ratios": ratios, "keys": places, **delays, **reaction}
    return {
        "kind": "adaptive",
        **reaction,
        "size_spread": video.size_spread,
        "interval_spread": video.interval_spread,
        "deviation": video.deviation,
    }


class Video(Table):
    """A camera and its encoder, which follows the rate control (RFC 8593 section 5) unless told otherwise."""

    PLAN: ClassVar[Keys] = {
        "interval_ns": From("fps", lambda video, _: round(_S / video.fps)),
        "encoder": From(
            "rate",
            _encoder,
            also=(
                "rates",
                "layered",
                "sizes",
                "scaled",
                "ratios",
                "reaction",
                "size_spread",
                "interval_spread",
                "deviation",
            ),
        ),
    }

    fps: Number = Field(30.0, gt=0, le=240, description="Frames a second.")
    key_interval: PositiveSpan | None = Field(
        None, description="From one key frame to the next; without it only the first one and those asked for."
    )
    key_size: Number = Field(3.0, ge=1, le=100, description="Of a key frame, in frames of the mean size.")
    key_frames: int = Field(
        8, ge=1, le=1000, description="Frames that together have the mean size, with a key frame (K_d)."
    )
    reaction: Span = default("100 ms", "After a change of rate the encoder ignores others so long (tau_v).")
    size_spread: Number = Field(0.15, ge=0, le=1, description="Laplacian scale of frame sizes (SCALE_B).")
    interval_spread: Number = Field(
        0.0, ge=0, le=1, description="Laplacian scale of the time to the next frame (SCALE_t)."
    )
    deviation: Number = Field(
        0.05, ge=0, le=1, description="Each second the rate is off the target by up to this share."
    )
    rate: Rate | None = Field(None, description="A constant rate, whatever the rate control says.")
    rates: tuple[Rate, ...] | None = Field(
        None, min_length=1, strict=False, description="Quality levels, ascending: the highest that fits."
    )
    layered: bool = Field(
        False,
        description="Each frame has a layer for each of the rates up to that one (VP9, RFC 9628), of which a"
        " forwarder can leave some out.",
    )
    sizes: str | None = Field(None, description="A file of frame sizes in bytes, one a line, over and over.")
    scaled: bool = Field(True, description="Sizes of the file are scaled to what the rate control says.")
    ratios: str | None = Field(
        None,
        description="A file of recorded frame sizes in multiples of the mean size that the rate control asked"
        " for, one a line, over and over from a drawn one on; 'key' behind one marks a key frame, 0 is one"
        " that the encoder left out. A time at the end ('0.9 3 ms') is by how much it comes late.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [key for key in ("rate", "rates", "sizes", "ratios") if getattr(self, key) is not None]
        if len(given) > 1:
            raise faults(
                ((given[1],), f"contradicts {given[0]}: a camera has one of rate, rates, sizes and ratios")
            )
        if self.layered and self.rates is None:
            raise faults((("layered",), "needs rates, one for each layer"))
        return self


class Dtx(Table):
    """Somebody speaks and is silent in turn, each for an exponential time (ITU-T P.59 has these means)."""

    talk: PositiveSpan = default("1004 ms", "Mean length of a talk spurt.")
    pause: PositiveSpan = default("1587 ms", "Of a pause, in which Opus sends one byte in 400 ms.")


_AudioSize = Annotated[Size, Field(le=_MOST_AUDIO)]


class Audio(Table):
    """A microphone and an encoder like Opus, or a recording that was encoded."""

    PLAN: ClassVar[Keys] = {"sizes": From("sizes", _recorded)}

    rate: Rate = default("20 kbit/s", "While somebody speaks, without headers.")
    frame: PositiveSpan = default("20 ms", "From one frame to the next.")
    size_spread: Number = Field(0.0, ge=0, le=1, description="Laplacian scale of frame sizes.")
    dtx: Dtx | None = Field(None, description="Discontinuous transmission.")
    sizes: str | Annotated[tuple[_AudioSize, ...], Field(strict=False, min_length=1)] | None = Field(
        None,
        description="Sizes of a recording's frames: a file of bytes, one a line, or a list; 0 where"
        " nothing is sent. They come over and over, and rate and spread say nothing of them.",
    )


class DataChannel(Table):
    """Messages of one size, at a rate (RFC 8831)."""

    PLAN: ClassVar[Keys] = {"bytes": "size"}

    size: Annotated[PositiveSize, Field(le=256 * 2**10)] = Field(description="Of each message.")
    interval: PositiveSpan = Field(description="From one message to the next.")
    messages: Several | None = Field(None, description="How many; until the call ends without it.")
    ordered: bool = Field(True, description="They are delivered in their order.")
    retransmits: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        None,
        description="How often a part of one is sent again before it is given up; without it until it comes.",
    )


class Pause(Table):
    """Camera and microphone are off; RTCP goes on."""

    PLAN: ClassVar[Keys] = {"length_ns": "length"}

    at: Span = Field(description="From when on, after the end has begun to send.")
    length: PositiveSpan = Field(description="How long.")


class Range(Table):
    """The rates that a rate control stays between, and where it starts (RFC 8867 has these)."""

    min: Rate = default("150 kbit/s", "Never below.")
    start: Rate = default("150 kbit/s", "At the start.")
    max: Rate = default("1500 kbit/s", "Never above.")


class Buffer(Table):
    """A jitter buffer."""

    kind: str


class Fixed(Buffer):
    """The first frame waits; all others are played as far behind it as they were captured."""

    kind: Literal["fixed"]
    delay: Span = default("100 ms", "How long the first frame waits.")


class Adaptive(Buffer):
    """As long as it takes for a share of the frames to be there."""

    kind: Literal["adaptive"]
    quantile: Number = Field(0.95, ge=0.5, lt=1, description="The share.")
    least: Span = default("10 ms", "It never waits less.")
    most: Span = default("1 s", "It never waits longer.")


JitterBuffer = Annotated[Buffer, OneOf((Fixed, Adaptive))]
