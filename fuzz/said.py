"""What anybody may say to the speech service, and to its master as a worker: whole, damaged, or nonsense."""

from __future__ import annotations

import base64
import io
import json
import zlib
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import av
import numpy as np

from voxpath.voice.speech.pcm import RATE
from voxpath.voice.speech.samples import samples

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

MESSAGE = 1 << 16
"""Octets of one that the service allows; one more is said, too."""
CAPS = "audio/x-raw, layout=(string)interleaved, rate=(int)16000, format=(string)S16LE, channels=(int)1"
CARD = samples("sample:cards/001")[0].pcm()

TYPES = [
    *(
        "",
        CAPS,
        CAPS,
        CAPS,
        CAPS,
        "audio/x-wav",
        "audio/ogg",
        "video/mp4",
        "text/html",
        ",",
        ";=;=",
        "\u20ac",
    ),
    *("audio/x-raw, rate=(int)8000", "audio/x-raw, rate=(int)1", "audio/x-raw, format=(string)F32LE"),
    *("audio/x-raw, channels=(int)8", "audio/x-raw, channels=(int)99", "audio/l16; rate=44100", "a" * 3000),
]
DEEP = ["[" * 1500, '{"a":' * 1500, "[" * 900 + "]" * 900, '{"config":' * 40 + "1" + "}" * 40]
NUMBERS = [
    "1" * 400,
    "1" * 5000,
    "-1",
    "NaN",
    "Infinity",
    "1e999",
    "0.5",
    '"16000"',
    "null",
    "[]",
    "16000",
    "8000",
]
TEXTS = [
    "",
    "EOS ",
    "eos",
    "null",
    "true",
    "0",
    '"EOS"',
    "{}",
    "\x00",
    "\u202e\U0001f3a4",
    '{"status": 1}',
    "{" * 10,
]
KEYS = ["sample_rate", "words", "max_alternatives", "phrase_list", "model", "x"]
STATES = ["null", "5", "{}", '{"type": "string+gzip+base64", "value": 5}', '{"type": [], "value": "A"}']
MEANS = ["0", "40", "-1e300", "1e308", "nan", "inf", "1e-320", "x", ""]
FRAMES = ["1", "500", "0", "-1", "9" * 300, "9" * 3000, "1.5", ""]
ASKED = ["0", "0.3", "1", "600", "-1", "nan", "x", "", "1e999"]
BEGINNINGS = [b"RIFF", b"OggS", b"fLaC", b"ID3", b"\x1aE\xdf\xa3", b"EOS", b"", b"\xff\xfb", b"FORM", b".snd"]
EVENTS = [
    *("no JSON", "[]", "{}", '{"status": "x"}', '{"status": true}', '{"status": 0, "result": 5}', *DEEP),
    *(
        '{"status": 3}',
        '{"status": 0, "acknowledged": true}',
        '{"status": 0, "timing": 5}',
        '{"status": NaN}',
    ),
    '{"status": 0, "result": {"hypotheses": [], "final": true}}',
    '{"status": 0, "result": {"hypotheses": [{"transcript": "tere"}], "final": true}}',
    '{"status": 0, "result": {"hypotheses": [{"transcript": "tere"}], "final": false}}',
    '{"status": 0, "result": {"hypotheses": [{"transcript": "a", "word-alignment": [{}]}], "final": true}}',
    '{"status": 0, "timing": {"message": 99}}',
]
FILES = {
    "audio/ogg": ("ogg", "libopus", {"page_duration": "100000"}),
    "audio/mpeg": ("mp3", "libmp3lame", {}),
    "audio/flac": ("flac", "flac", {}),
    "audio/webm": ("webm", "libopus", {"live": "1"}),
    "audio/mp4": ("mp4", "aac", {"movflags": "frag_keyframe+empty_moov"}),
    "audio/aac": ("adts", "aac", {}),
    "audio/aiff": ("aiff", "pcm_s16be", {}),
    "audio/x-au": ("au", "pcm_mulaw", {}),
    "audio/x-wav": ("wav", "pcm_s24le", {}),
    "audio/wav": ("wav", "adpcm_ima_wav", {}),
}
"""FFmpeg's names of container and codec."""


def text(rng: random.Random) -> str:
    """A text message of any kind."""
    match rng.randrange(8):
        case 0:
            return rng.choice(DEEP)
        case 1:
            return rng.choice(TEXTS)
        case 2:
            return "".join(chr(rng.randrange(1, 0xD7FF)) for _ in range(rng.randrange(40)))
        case 3:
            return f'{{"adaptation_state": {state(rng)}}}'
        case 4:
            return rng.choice(['{"reset" : 1}', '{"reset": []}', '{"eof": null, "reset": 1}'])
        case 5:
            inner = rng.choice([f'{{"{rng.choice(KEYS)}": {rng.choice(NUMBERS)}}}', *NUMBERS])
            return f'{{"config": {inner}}}'
        case 6:
            whole = f'{{"config": {{"sample_rate": {rng.choice(NUMBERS)}}}}}'
            return whole[: rng.randrange(len(whole))]
        case _:
            return '{"config": {"sample_rate": 16000}}'


def state(rng: random.Random) -> str:
    """What a client gives back, or says that it does."""
    match rng.randrange(4):
        case 0:
            return rng.choice(STATES)
        case 1:
            value = "".join(rng.choices("ABCeJwz+/=\u00e9", k=rng.randrange(60)))
        case _:
            means = ["40.5"] * rng.choice([12, 13, 13, 13, 9999])
            for _ in range(rng.choice([0, 1, 2])):
                means[rng.randrange(len(means))] = rng.choice(MEANS)
            plain = f"{rng.choice(FRAMES)};{','.join(means)}".encode()
            value = base64.b64encode(zlib.compress(plain)[: rng.choice([3, None, None, None])]).decode()
    return json.dumps({"type": "string+gzip+base64", "value": value})


def audio(rng: random.Random) -> bytes:
    """A binary message of any kind."""
    match rng.randrange(6):
        case 0:
            return rng.choice(BEGINNINGS) + rng.randbytes(rng.choice([0, 1, 30, 3000]))
        case 1:
            return bytes(rng.choice([0, 1, 999, 20_000]))
        case 2:
            return rng.randbytes(rng.choice([1, 77, 6400]))
        case 3 if rng.random() < 0.2:
            return bytes(rng.choice([MESSAGE, MESSAGE + 1]))
        case _:
            at = rng.randrange(len(CARD))
            return CARD[at : at + rng.choice([1, 640, 8000, 32_000])]


@cache
def file(media: str) -> bytes:
    """A card in a container."""
    kind, codec, options = FILES[media]
    whole = io.BytesIO()
    with av.open(whole, "w", format=kind, options=options) as container:
        stream = container.add_stream(codec, rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.frombuffer(CARD, "<i2")[None], "s16", "mono")
        frame.sample_rate = RATE
        resampler = av.AudioResampler(stream.format, "mono", 48_000, stream.codec_context.frame_size or None)
        for one in (frame, None):
            for made in resampler.resample(one):
                container.mux(stream.encode(made))
        container.mux(stream.encode(None))
    return whole.getvalue()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Mostly at its beginning, where it says what it is."""
    made = bytearray(data)
    for _ in range(rng.choice([0, 1, 2, 20])):
        at = rng.randrange(min(len(made), rng.choice([64, 512, len(made)])))
        until = at + rng.choice([1, 4, 40])
        match rng.randrange(4):
            case 0:
                made[at] = rng.randrange(256)
            case 1 if len(made) > 100:
                del made[at:until]
            case 2:
                made[at:at] = rng.randbytes(until - at)
            case _:
                made[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", bytes(4), b"\x7f\xff\xff\xff"])
    return bytes(made)


def query(rng: random.Random) -> tuple[str, str]:
    """What is asked in an address, and of what content type it says to be."""
    media = rng.choice([*TYPES, *FILES])
    asked = {"content-type": media} | ({"timing": "1"} if rng.random() < 0.5 else {})
    while rng.random() < 0.2:
        asked[rng.choice(["silence", "onset", "hangover", "lead", "share", "session"])] = rng.choice(ASKED)
    return urlencode(asked), media


Step = tuple[str, str | bytes | int]


def steps(rng: random.Random, media: str = "") -> Iterator[Step]:
    """What a client does, one after the other; mostly of what it says to be if that is a container."""
    if media in FILES or (not media and rng.random() < 0.5):
        whole = damaged(file(media or rng.choice(list(FILES))), rng)
        size = rng.choice([300, 5000, MESSAGE])
        for at in range(0, len(whole), size):
            yield "audio", whole[at : at + size]
    for _ in range(rng.choice([0, 1, 2, 5, 12])):
        match rng.randrange(12):
            case 0 | 1:
                yield "text", text(rng)
            case 2:
                yield "turns", rng.choice([1, 3, 30])
            case 3:
                yield "reply", 0
            case 4 if rng.random() < 0.3:
                yield rng.choice(["close", "abort", "garbage", "end"]), rng.choice([1000, 1001, 4000])
            case 5:
                yield "ping", 0
            case _:
                yield "audio", audio(rng)
