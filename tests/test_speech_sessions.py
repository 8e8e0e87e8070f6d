"""A session is a function of its own audio: nothing of those before it is left, whatever they heard."""

from __future__ import annotations

import base64
import functools
import itertools
import zlib

import numpy as np
import pytest

from speech_service import CAPS, events, finals, pocketsphinx, run, service
from test_speech_audio import encoded
from voxpath.voice.speech.formats import reader_of
from voxpath.voice.speech.recognisers import Recogniser, load
from voxpath.voice.speech.samples import samples
from voxpath.voice.speech.session import Final, Session


def counting(to: int, gain: float, speed: float) -> bytes:
    """Prompts of another speaker, cut together, louder or softer, faster or slower."""
    digits = [samples(f"sample:prompts/digits/{digit}")[0].pcm() for digit in range(1, to + 1)]
    said = np.frombuffer(b"".join(digits), "<i2").astype(float)
    at = np.arange(0.0, len(said) - 1, speed)
    return (gain * np.interp(at, np.arange(len(said)), said)).astype("<i2").tobytes()


SOUNDS = {
    "card": samples("sample:cards/001")[0].pcm(),
    "foreign": counting(2, 1.0, 0.85),
    "soft": counting(3, 0.3, 1.3),
}
"""PocketSphinx understood the last one otherwise behind itself than behind the first."""
ORDERS = ("card", "foreign", "card", "soft", "foreign", "soft", "soft", "card")
"""Each behind each other."""
CUTS = (8000, 777, 1 << 20)


def heard(recogniser: Recogniser, sound: str, cut: int) -> tuple[str, str | None]:
    """What was understood, and learnt."""
    session = Session(recogniser, reader_of("audio/x-raw"))
    pcm = SOUNDS[sound]
    told = [event for at in range(0, len(pcm), cut) for event in session.feed(pcm[at : at + cut])]
    told += session.finish()
    return " ".join(event.text for event in told if isinstance(event, Final)), recogniser.adaptation()


@functools.cache
def alone(sound: str) -> tuple[str, str | None]:
    """By a recogniser that has heard nothing else."""
    return heard(load("pocketsphinx", None), sound, CUTS[0])


def test_a_session_does_not_depend_on_those_before_it():
    """By what was learnt, which tells features that differ where transcripts do not."""
    pairs = set(itertools.pairwise(ORDERS))
    assert pairs >= set(itertools.permutations(SOUNDS, 2))
    recogniser = load("pocketsphinx", None)
    for sound, cut in zip(ORDERS, itertools.cycle(CUTS)):
        assert heard(recogniser, sound, cut) == alone(sound), sound


def test_nor_does_it_on_one_that_ended_in_the_middle_of_a_word():
    recogniser = load("pocketsphinx", None)
    for octets in (20_000, 40_000):
        session = Session(recogniser, reader_of("audio/x-raw"))
        list(session.feed(SOUNDS["foreign"][:octets]))
        # As where the recogniser has failed, and could not be let go.
        assert heard(recogniser, "card", CUTS[0]) == alone("card")


def test_one_worker_understands_a_client_alike_whoever_was_there_before():
    """Whole by HTTP and streamed by WebSocket, in both orders."""

    async def test() -> None:
        async with service(make=pocketsphinx) as one:

            async def put(sound: str) -> str:
                url = one.url("/client/dynamic/recognize", "http")
                async with one.http.put(url, data=SOUNDS[sound], headers={"Content-Type": CAPS}) as answer:
                    return (await answer.json())["hypotheses"][0]["utterance"]

            async def stream(sound: str) -> tuple[str, str]:
                async with one.speak() as socket:
                    for at in range(0, len(SOUNDS[sound]), CUTS[0]):
                        await socket.send_bytes(SOUNDS[sound][at : at + CUTS[0]])
                    await socket.send_str("EOS")
                    told = await events(socket)
                return finals(told), told[-1]["adaptation_state"]["value"]

            assert await put("card") == alone("card")[0]
            assert await stream("soft") == alone("soft")
            assert await put("soft") == alone("soft")[0]
            assert await stream("card") == alone("card")

    run(test)


def test_speech_in_what_people_send_is_understood_as_its_samples_are():
    """Without a word of what it is; by those who lose nothing to the same state."""
    said = np.frombuffer(SOUNDS["card"], "<i2") / 32768
    recogniser = pocketsphinx()

    def understood(kind: str, codec: str) -> tuple[str, str | None]:
        session = Session(recogniser, reader_of(""))
        told = [*session.feed(encoded(said, 16_000, kind, codec, 16_000)), *session.finish()]
        session.close()
        return " ".join(event.text for event in told if isinstance(event, Final)), recogniser.adaptation()

    for kind, codec in (("wav", "pcm_s24le"), ("flac", "flac")):
        assert understood(kind, codec) == alone("card")
    for kind, codec in (("webm", "libopus"), ("mp3", "libmp3lame")):
        assert understood(kind, codec)[0] == alone("card")[0]


@pytest.mark.parametrize(
    ("frames", "mean"),
    [("500", "1e308"), ("500", "-1e300"), ("500", "nan"), ("9" * 300, "40"), ("9" * 3000, "40"), ("0", "40")],
)
def test_a_state_that_no_speech_leaves_is_refused(frames: str, mean: str):
    recogniser = pocketsphinx()
    state = f"{frames};{','.join([mean] * 13)}".encode()
    with pytest.raises(ValueError, match="not PocketSphinx's"):
        recogniser.adapt(base64.b64encode(zlib.compress(state)).decode())
