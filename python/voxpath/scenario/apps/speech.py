"""The application `speech`: an utterance over a WebSocket to a recogniser, and what the recogniser takes.

What is understood of an utterance, and where in it, comes from a file that `voxpath speech utterance` writes,
or is worked out from keys that say when somebody speaks. How long the recogniser takes comes from a profile,
which is a file of `voxpath speech profile`, or from a table.
"""

from __future__ import annotations

import io
import tomllib
import wave
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from voxpath import _engine, handshake
from voxpath.scenario.apps.summaries import TCP, Sessions
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.elements.kinds import TEXT
from voxpath.scenario.quantities import PositiveSize, PositiveSpan, Size, Span
from voxpath.scenario.table import Keys, Table, explain, faults
from voxpath.scenario.tcp import Socket
from voxpath.scenario.traces import TraceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces

_S = 1_000_000_000
_RATE = 16_000
_Table = TypeVar("_Table", bound=Table)
_TABLE = "table"
_TEXT_OR_TABLE = Discriminator(lambda value: _TABLE if isinstance(value, (dict, Table)) else TEXT)
_File = Annotated[Annotated[str, Field(strict=True)], Tag(TEXT)]
_Deviation = Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)]


_Point = Annotated[tuple[PositiveSpan, Span], Field(strict=False)]
_Period = Annotated[tuple[Span, PositiveSpan], Field(strict=False)]


class Decoder(Table):
    """What a recogniser takes, and what its process costs besides. Factors are lognormal with mean 1."""

    per_second: Span = Field(description="Of decoding, for each second of a segment (after the curve).")
    curve: tuple[_Point, ...] = Field(
        (),
        strict=False,
        description="Decoding in all after so much of a segment; straight between these points.",
    )
    listening: Span = Field(0, description="For each second of audio, speech or not.")
    finishing: Span = Field(0, description="When a segment ends.")
    finishing_per_second: Span = Field(0, description="The same, for each second of the segment.")
    spread: _Deviation = Field(0.0, description="Of the logarithm of decoding, from segment to segment.")
    jitter: _Deviation = Field(0.0, description="The same, from quarter second to quarter second.")
    finishing_spread: _Deviation = Field(0.0, description="The same, of a segment's end.")
    forwarding: Span = Field(0, description="To pass a message on, to the worker or back.")
    piece: PositiveSize = default("32000 B", "Audio that is decoded at a time, at most.")


class Segment(Table):
    """A segment of speech as a recogniser found it, in audio that it had heard."""

    begins: Size = Field(description="Audio after which it was known to have begun.")
    lead: Span = Field(0, description="How much of it was heard by then.")
    ends: PositiveSize | None = Field(
        None, description="Audio after which it was known to have ended; the end of the audio without it."
    )


class Result(Table):
    """What a recogniser told."""

    after: PositiveSize | None = Field(
        None, description="Audio after which it was known; the end of the audio without it."
    )
    size: PositiveSize = Field(description="Of its JSON.")
    spoken: Size | None = Field(None, description="Of a final result: audio until the end of its speech.")


class Utterance(Table):
    """What is sent, and what a recogniser makes of it."""

    audio: PositiveSize = Field(description="Of the audio.")
    length: PositiveSpan = Field(description="How long it sounds.")
    content_type: str = Field(handshake.raw_type(_RATE), description="What the server is told that it is.")
    segments: tuple[Segment, ...] = Field((), strict=False, description="Of speech, in order.")
    results: tuple[Result, ...] = Field((), strict=False, description="What is told, in order.")
    farewell: Size = Field(0, description="JSON that is told after the last result; zero for none.")
    origin: dict[str, Any] | None = Field(None, description="Where it comes from, for people.")


class DecoderFile(Table):
    """A profile of a recogniser in a file."""

    decoder: Decoder
    origin: dict[str, Any] = Field(description="Recogniser, machine, utterances: for people.")


_WORKED_OUT = ("speech", "hangover", "partial", "partial_size", "final_size")


class Speech(AppTable):
    """`from` sends an utterance over a WebSocket, `to` recognises it, tells what it understands, and closes.

    One flow is one session: one connection, one utterance.
    """

    PLAN: ClassVar[Keys] = {
        "audio_bytes": "audio",
        "length_ns": "length",
        "block_bytes": "block",
        "segments": "utterance",
        "results": "utterance",
    }
    SUMMARIES = (Sessions(),)
    METRICS = (
        "final_latency_s",
        "after_audio_s",
        "total_factor",
        "decoding_factor",
        "network_ns",
        "waiting_ns",
        "decoding_ns",
        "end_pointing_ns",
        *TCP,
    )
    SOCKET = Socket(nagle=False)

    kind: Literal["speech"]
    utterance: Annotated[_File | Annotated[Utterance, Tag(_TABLE)], _TEXT_OR_TABLE] | None = Field(
        None, description="A file of `voxpath speech utterance`, or the same as a table."
    )
    audio: str | None = Field(None, description="A WAV file, whose length and size count, in place of it.")
    length: PositiveSpan | None = Field(
        None, description="Of audio of 16 kHz, 16 bits, one channel, in place of both."
    )
    speech: Annotated[tuple[_Period, ...], Field(strict=False)] | None = Field(
        None, description="From when to when somebody speaks; all of the audio without it."
    )
    hangover: Span = default(
        "600 ms", "From the end of speech to where it is decided; the end of the audio decides too."
    )
    partial: PositiveSpan = default("250 ms", "From one partial result to the next.")
    partial_size: PositiveSize = default("220 B", "Of a partial result's JSON.")
    final_size: PositiveSize = default("600 B", "Of a final result's.")
    block: PositiveSpan = default("250 ms", "Audio of each message.")
    paced: bool = Field(
        True,
        description="A block is sent when its audio is over; else everything as fast as the socket takes it.",
    )
    decoder: Annotated[_File | Annotated[Decoder, Tag(_TABLE)], _TEXT_OR_TABLE] = Field(
        description="What the recogniser takes: a file of `voxpath speech profile`, or a table."
    )
    waiting: Span = Field(0, description="From the opening of the WebSocket until a worker is free.")
    address: str = Field("server:8888", min_length=1, description="The server's, as the client writes it.")
    request: PositiveSize | None = Field(None, description="Of the HTTP request; our client's without it.")
    response: PositiveSize | None = Field(None, description="Of its answer; our master's without it.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = []
        given = [key for key in ("utterance", "audio", "length") if getattr(self, key) is not None]
        if len(given) != 1:
            there = " and ".join(given) or "none of them"
            message = f"one of utterance, audio, length is needed, and there is {there}"
            found.append(((given[-1] if given else "utterance",), message))
        if self.utterance is not None:
            useless = [key for key in _WORKED_OUT if key in self.model_fields_set]
            found += [((key,), "has no effect: the utterance says it") for key in useless]
        last = 0
        for index, (start, end) in enumerate(self.speech or ()):
            if not last <= start < end:
                found.append((("speech", index), "is a beginning and an end, after what is before it"))
            last = end
        if found:
            raise faults(*found)
        return self

    def planned(self, files: Traces, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The application as a plan holds it: what is understood may have to be worked out first."""
        try:
            return _planned(self, files)
        except SpeechError as error:
            faults.append(((error.key,), str(error)))
            return {}

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        del app
        return "speech is decoded as it comes: the forms are of transfers alone"


def _planned(app: Speech, files: Traces) -> dict[str, Any]:
    utterance, decoder = _utterance(app, files), _decoder(app, files)
    pairs = round(utterance.audio * app.block / utterance.length / 2)
    return {
        "kind": "speech",
        "request_bytes": app.request or len(handshake.request(app.address, utterance.content_type)),
        "response_bytes": app.response or len(handshake.response()),
        "audio_bytes": utterance.audio,
        "length_ns": utterance.length,
        # As the client cuts it: whole samples.
        "block_bytes": 2 * max(1, pairs),
        "paced": app.paced,
        "waiting_ns": app.waiting,
        "segments": [
            {"begins_bytes": one.begins, "lead_ns": one.lead, "ends_bytes": one.ends}
            for one in utterance.segments
        ],
        "results": [
            {"after_bytes": one.after, "bytes": one.size, "spoken_bytes": one.spoken}
            for one in utterance.results
        ],
        "farewell_bytes": utterance.farewell,
        "decoder": {
            "curve_ns": [list(point) for point in decoder.curve],
            "per_second_ns": decoder.per_second,
            "listening_ns": decoder.listening,
            "finishing_ns": decoder.finishing,
            "finishing_per_second_ns": decoder.finishing_per_second,
            "spread": float(decoder.spread),
            "jitter": float(decoder.jitter),
            "finishing_spread": float(decoder.finishing_spread),
            "forwarding_ns": decoder.forwarding,
            "piece_bytes": decoder.piece,
        },
    }


class SpeechError(Exception):
    """What the application refers to cannot be read, or does not fit."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def _decoder(app: Speech, files: Traces) -> Decoder:
    if isinstance(app.decoder, Decoder):
        return app.decoder
    return _read("decoder", app.decoder, DecoderFile, files).decoder


def _utterance(app: Speech, files: Traces) -> Utterance:
    if isinstance(app.utterance, Utterance):
        return app.utterance
    if app.utterance is not None:
        return _read("utterance", app.utterance, Utterance, files)
    if app.audio is not None:
        return _worked_out(app, *_sound(app.audio, files))
    length = app.length or 0
    return _worked_out(app, 2 * max(1, length * _RATE // _S), length, handshake.raw_type(_RATE))


def _read(key: str, name: str, table: type[_Table], files: Traces) -> _Table:
    """A table that stands in a file."""
    try:
        return table.model_validate(tomllib.loads(files.text(name)))
    except (TraceError, tomllib.TOMLDecodeError) as error:
        raise SpeechError(key, f"{name!r}: {error}") from None
    except ValidationError as error:
        line = error.errors(include_url=False)[0]
        place = ".".join(map(str, line["loc"]))
        raise SpeechError(key, f"{name!r}, {place}: {explain(line)}") from None


def _sound(name: str, files: Traces) -> tuple[int, int, str]:
    """Octets, nanoseconds and content type of what the client sends of a WAV file."""
    try:
        raw = files.raw(name)
        with wave.open(io.BytesIO(raw)) as file:
            rate, frames = file.getframerate(), file.getnframes()
            is_plain = (file.getsampwidth(), file.getnchannels()) == (2, 1)
    except TraceError as error:
        raise SpeechError("audio", str(error)) from None
    except (wave.Error, EOFError) as error:
        raise SpeechError("audio", f"{name!r} is no WAV file: {error}") from None
    if not frames:
        raise SpeechError("audio", f"{name!r} has no audio")
    length = frames * _S // rate
    return (2 * frames, length, handshake.raw_type(rate)) if is_plain else (len(raw), length, handshake.WAV)


def _worked_out(app: Speech, audio: int, length: int, content_type: str) -> Utterance:
    """An utterance of which it is known when somebody speaks, and not what."""

    def octets(at: int) -> int:
        return min(audio, at * audio // length)

    segments, results = [], []
    for start, end in app.speech or ((0, length),):
        if end > length:
            raise SpeechError("speech", f"ends after the audio, which has {_engine.format_span(length)}")
        decided = end + app.hangover
        ends = octets(decided) if decided < length else None
        segments.append(Segment.model_construct(begins=octets(start), ends=ends))
        at = start + app.partial
        while at < min(decided, length):
            results.append(Result.model_construct(after=octets(at), size=app.partial_size))
            at += app.partial
        results.append(Result.model_construct(after=ends, size=app.final_size, spoken=octets(end)))
    return Utterance.model_construct(
        audio=audio,
        length=length,
        content_type=content_type,
        segments=tuple(segments),
        results=tuple(results),
    )
