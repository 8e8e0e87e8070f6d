#!/usr/bin/env python3
"""`make bench-aec-rooms`: echo cancellers in reverberant rooms, on the same samples, into docs/measured/aec-rooms.md.

A far talker (the prompts of asterisk-core-sounds-en-g722) is heard by two microphones of a far room, played by two
loudspeakers of a near one, and heard by two microphones there, with noise. After 30 s the microphones are interchanged.
From 42 s to 53 s a near talker (pocketsphinx-testdata) speaks too, as loud as the echo. All recordings are judged as
they are: the noise is in what is left, so that no filter that keeps it gets below it.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
import time
import wave
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
from pesq import pesq
from pystoi import stoi
from scipy.signal import fftconvolve

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from peers import Aec3, Speex, run  # noqa: E402 - a folder of programs, not a package

from voxpath.results.intervals import summarise  # noqa: E402
from voxpath.voice.aec import Canceller, long_room  # noqa: E402
from voxpath.voice.aec.measures import erle  # noqa: E402
from voxpath.voice.aec.rooms import Room  # noqa: E402

RATE = 16_000
SECONDS = 54
SWAP_S = 30
SPEECH_S = (42, 53)
LEVEL = 0.05
"""Of the loudspeakers, as a part of full scale."""
SNR_DB = 35.0
FAR = Path("/usr/share/asterisk/sounds/en_US_f_Allison")
NEAR = Path("/usr/share/pocketsphinx/test/data/librivox")
DECAYS_S = (0.2, 0.3, 0.45)
FAR_DECAY_S = 0.4
LENGTH = 2048
Samples = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class World:
    """A recording, in parts: microphones hear the sum of echo, talker and noise."""

    far: Samples
    mic: Samples
    near: Samples


def level(samples: Samples) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(samples**2)))


def far_speech(rng: np.random.Generator, count: int) -> Samples:
    """Prompts in a random order, each as loud as the others."""
    files = sorted(path for path in FAR.glob("*.g722") if 24_000 < path.stat().st_size < 96_000)
    if not files:
        raise SystemExit(f"{FAR} has no prompts: apt-get install asterisk-core-sounds-en-g722")
    parts: list[Samples] = []
    for index in rng.permutation(len(files)):
        with av.open(str(files[index]), format="g722") as source:
            samples = np.concatenate([frame.to_ndarray().ravel() for frame in source.decode(audio=0)]) / 2**15
        if level(samples) > 1e-3:
            parts.append(samples / level(samples))
        if sum(map(len, parts)) >= count:
            break
    return np.concatenate(parts)[:count]


def near_speech(rng: np.random.Generator, count: int) -> Samples:
    """Read sentences in a random order, a quarter of a second between them, then silence."""
    files = sorted(NEAR.glob("*.wav"))
    if not files:
        raise SystemExit(f"{NEAR} has no recordings: apt-get install pocketsphinx-testdata")
    parts: list[Samples] = []
    for index in rng.permutation(len(files)):
        with wave.open(str(files[index])) as source:
            samples = np.frombuffer(source.readframes(source.getnframes()), "<i2") / 2**15
        parts += [samples / level(samples), np.zeros(RATE // 4)]
    joined = np.concatenate(parts)[:count]
    return np.pad(joined, (0, count - len(joined)))


def world(decay_s: float, seed: int) -> World:
    """A room with its talkers."""
    rng = np.random.default_rng([seed, round(1000 * decay_s)])
    count = SECONDS * RATE
    wide, deep = (float(size + rng.uniform(-0.5, 0.5)) for size in (5.0, 4.2))
    shift = float(rng.uniform(-0.2, 0.2))
    room = Room((wide, deep, 2.7), decay_s)
    microphones = [(2.35 + shift, 2.0, 0.8), (2.65 + shift, 2.0, 0.8)]
    paths = room.paths([(1.9 + shift, 1.5, 1.0), (3.1 + shift, 1.45, 1.0)], microphones, RATE)
    talker = (2.5 + float(rng.uniform(-0.4, 0.4)), 2.8, 1.2)
    (heard,) = room.responses([talker], microphones, RATE)
    speaker = (3.0 + float(rng.uniform(-1, 1)), 3.2, 1.3)
    (captured,) = Room((6.0, 5.0, 3.0), FAR_DECAY_S).responses(
        [speaker], [(2.5, 2.0, 1.0), (3.5, 2.0, 1.0)], RATE
    )
    spoken = far_speech(rng, count)
    far = np.stack([fftconvolve(spoken, response)[:count] for response in captured])
    far *= LEVEL / level(far)
    echo = paths.echo(far)
    swapped = paths.swapped().echo(far)
    echo[:, SWAP_S * RATE :] = swapped[:, SWAP_S * RATE :]
    begin, end = (at * RATE for at in SPEECH_S)
    sentence = np.zeros(count)
    sentence[begin:end] = near_speech(rng, end - begin)
    near = np.stack([fftconvolve(sentence, response)[:count] for response in heard])
    near *= level(echo) / level(near[:, begin:end])
    noise = rng.standard_normal(echo.shape) * level(echo) * 10 ** (-SNR_DB / 20)
    return World(far, echo + near + noise, near)


def ours(canceller: Canceller, far: Samples, mic: Samples) -> tuple[Samples, float]:
    """What one of our filters leaves, in time, and the processor time of it."""
    late = canceller.delay
    far, mic = (np.pad(samples, ((0, 0), (0, late))) for samples in (far, mic))
    began = time.process_time()
    block = RATE // 100
    out = [
        canceller.process(far[:, start : start + block], mic[:, start : start + block])
        for start in range(0, far.shape[1], block)
    ]
    spent = time.process_time() - began
    return np.concatenate(out, axis=1)[:, late:].astype(float), spent


CANCELLERS = {
    "none": lambda _, mic: (mic, 0.0),
    "voxpath, rooms": lambda far, mic: ours(long_room(LENGTH, RATE), far, mic),
    "voxpath, rooms, not suppressed": lambda far, mic: ours(
        long_room(LENGTH, RATE, suppress=False), far, mic
    ),
    "speexdsp": lambda far, mic: run(Speex(RATE, LENGTH, 256), far, mic),
    "WebRTC AEC3": lambda far, mic: run(Aec3(RATE), far, mic),
}
COLUMNS = ("ERLE 20-30 s, dB", "2-5 s after the swap, dB", "PESQ", "STOI", "processor time / time")


def in_time(near: Samples, out: Samples, most: int = 50 * RATE // 1000) -> Samples:
    """What goes out, put where it is most like the near talker: no canceller is blamed for its delay."""
    size = 1 << (2 * near.shape[1] - 1).bit_length()
    spectra = np.fft.rfft(out.sum(axis=0), size) * np.conj(np.fft.rfft(near.sum(axis=0), size))
    late = int(np.argmax(np.fft.irfft(spectra, size)[:most]))
    return np.pad(out[:, late:], ((0, 0), (0, late)))


def judge(recording: World, out: Samples, spent: float) -> tuple[float, ...]:
    """The columns."""

    def cancelled(begin: float, end: float) -> float:
        part = slice(int(begin * RATE), int(end * RATE))
        return erle(recording.mic[:, part], out[:, part])

    part = slice(SPEECH_S[0] * RATE, SPEECH_S[1] * RATE)
    near = recording.near[:, part]
    spoken = in_time(near, out[:, part])
    pairs = list(zip(near, spoken, strict=True))
    return (
        cancelled(20, 30),
        cancelled(SWAP_S + 2, SWAP_S + 5),
        float(np.mean([pesq(RATE, clean, got, "wb") for clean, got in pairs])),
        float(np.mean([stoi(clean, got, RATE) for clean, got in pairs])),
        spent / SECONDS,
    )


def main() -> int:
    """Runs every canceller in every room, writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--talkers", type=int, default=2, help="for each room")
    parser.add_argument("--only", help="a canceller; nothing is written then")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/measured/aec-rooms.md")
    options = parser.parse_args()
    chosen = [name for name in CANCELLERS if options.only in (None, name)]
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in chosen}
    worlds = [(decay_s, seed) for seed in range(options.talkers) for decay_s in DECAYS_S]
    with ProcessPoolExecutor(2) as workers:
        for (decay_s, seed), values in zip(
            worlds, workers.map(partial(of_world, chosen), *zip(*worlds, strict=True)), strict=True
        ):
            for name, each in zip(chosen, values, strict=True):
                found[name].append(each)
                told = "  ".join(f"{value:.3g}" for value in each)
                sys.stdout.write(f"{decay_s} s, {seed}: {name}: {told}\n")
            sys.stdout.flush()
            if options.only is None:
                options.output.write_text(page(found), "utf-8")
    return 0


def of_world(chosen: list[str], decay_s: float, seed: int) -> list[tuple[float, ...]]:
    """What every canceller does in a room."""
    recording = world(decay_s, seed)
    return [judge(recording, *CANCELLERS[name](recording.far, recording.mic)) for name in chosen]


def page(found: dict[str, list[tuple[float, ...]]]) -> str:
    """The table, with what was measured."""
    lines = [
        "# Echo cancellation in rooms",
        "",
        "Written by `make bench-aec-rooms`. Two microphones capture a talker in a far room. The speech comes from two loudspeakers of",
        f"computed rooms that decay by 60 dB in {', '.join(map(str, DECAYS_S))} s (whole responses, 16 kHz). The noise is {SNR_DB:g} dB below the echo. After {SWAP_S} s the",
        f"microphones are interchanged. From {SPEECH_S[0]} to {SPEECH_S[1]} s a near talker speaks as loud as the echo. PESQ (wide band) and STOI compare the output",
        f"with that talker as the microphones hear it. Means with 95 % intervals over {len(next(iter(found.values())))} rooms and talkers; paths of {LENGTH} samples unless the",
        "row says otherwise. ERLE counts the noise as well: a canceller that keeps the noise cannot exceed its level, one that suppresses it can. The last column is of a machine",
        "that was doing other things.",
        "",
        f"| canceller | {' | '.join(COLUMNS)} |",
        f"| --- |{' ---: |' * len(COLUMNS)}",
    ]
    lines += [
        f"| {name} | {' | '.join(str(summarise(list(column))) for column in zip(*values, strict=True))} |"
        for name, values in found.items()
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
