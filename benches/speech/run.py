#!/usr/bin/env python3
"""`make bench-speech`: the speech service measured: recognisers, cepstral mean, a browser across a network, load, faults.

Writes docs/measured/speech-service.md; with names of sections, only these. Needs root for the emulated network.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import cepstral
import page

import speech_browser
from speech_processes import Deployed, deployed, is_gone, kilobytes, until
from voxpath.voice.speech import client
from voxpath.voice.speech.audio_files import audio_of
from voxpath.voice.speech.recognisers import NAMES, UnavailableError, load
from voxpath.voice.speech.samples import samples
from voxpath.voice.speech.trial import trial

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "speech-service.md"
HEAD = """# The speech service, measured

Written by `make bench-speech`. Each section says what is measured, and on which machine. [speech.md](../speech.md) explains how the service
is used.
"""
SETS = ("sample:cards", "sample:librivox")
CLIENTS, WORKERS, WAVES, WAIT_S = 200, 4, 3, 10.0
PATIENCE_S = 600.0
"""Of each client, also on a machine that has other things to do."""


def recognisers() -> str:
    """Word error rates and real-time factors of what is installed."""
    lines = [
        (
            "Streamed in blocks of 250 ms through sessions as workers have them; partial results are asked for every 0.25 s of "
            "audio. The real-time factor is processor time, of all threads, per second of audio: below 1 a core keeps up. "
            "`voxpath speech recognisers` makes each line; `make speech-extras` installs those beside the default one."
        ),
        "",
        "| recogniser | samples | audio, s | words | wrong | word error rate | real-time factor |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in NAMES:
        try:
            loaded = load(name, None)
        except UnavailableError as error:
            lines.append(f"| `{name}` | not here: {error} | | | | | |")
            continue
        for one in SETS:
            made = trial(loaded, samples(one))
            lines.append(
                f"| `{name}` | `{one}` | {made.audio_s:.1f} | {made.words} | {made.errors} "
                f"| {made.word_error_rate:.3f} | {made.real_time_factor:.2f} |"
            )
    return "\n".join(lines)


def cepstral_mean() -> str:
    """What the cepstral mean does to short utterances."""
    spoken = samples("sample:cards")
    counted = cepstral.counted(spoken)
    begins, means = cepstral.means(spoken)
    lines = [
        (
            "`sample:cards`, by the way in which PocketSphinx gets the cepstral mean that features are relative to. Its first coefficient "
            f"begins with {begins:.0f}; over the cards it is {min(means):.0f} to {max(means):.0f}."
        ),
        "",
        "| how | wrong words |",
        "| --- | --- |",
        *(f"| {how} | {errors} of {counted.words} |" for how, errors in counted.errors.items()),
    ]
    return "\n".join(lines)


def browser() -> str:
    """Chromium's times beside the tap's."""
    with tempfile.TemporaryDirectory() as folder:
        seen = asyncio.run(_across(Path(folder)))
    tap = seen["tap"]
    frames = len(tap.sent) - 1 + len(tap.came)
    lines = [
        (
            "The page streams `sample:cards/005` in Chromium on the emulated host, across 120 ms and 0.3 % loss: "
            f"{len(tap.sent)} blocks of audio, {len(tap.came)} results. The times of {frames} frames since the first block are from the page "
            "itself (`performance.now`), from DevTools (`Network.webSocketFrame…`) and from the link's tap at that host. The tests require "
            "medians below 20 ms (`tests/test_speech_network.py`)."
        ),
        "",
        "| observers | median apart, ms | most, ms |",
        "| --- | --- | --- |",
    ]
    for one, other in (("devtools", "tap"), ("page", "tap"), ("page", "devtools")):
        apart = [abs(a - b) for a, b in zip(seen[one].since(), seen[other].since(), strict=True)]
        lines.append(f"| {one}, {other} | {1e3 * statistics.median(apart):.1f} | {1e3 * max(apart):.1f} |")
    return "\n".join(lines)


async def _across(folder: Path) -> dict[str, speech_browser.Seen]:
    async with deployed(folder, "--wait", "60") as one:
        file = samples("sample:cards/005")[0].path
        return await asyncio.to_thread(speech_browser.across, str(one.port), file, folder)


def load_of_many() -> str:
    """Two hundred clients with the real recogniser."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_load(Path(folder)))


async def _load(folder: Path) -> str:
    audios = audio_of("sample:cards")
    lines = [
        (
            f"{CLIENTS} clients at once, {WORKERS} workers with PocketSphinx, `--wait {WAIT_S:g}`: each sends one of `sample:cards`, "
            f"unpaced; {WAVES} times, one after the other. Memory is that of the process (`VmRSS`; `VmHWM` is the most)."
        ),
        "",
        "| | served | refused (9) | anything else | longest session, s | master, MB | most | workers, MB | most |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    understood: dict[str, set[str]] = {}
    async with deployed(folder, "--workers", str(WORKERS), "--wait", str(WAIT_S)) as one:
        await one.free(WORKERS)
        lines.append("| before | | | | | " + _memory(one))
        for wave in range(1, WAVES + 1):
            settings = client.Settings(one.url, paced=False, patience_s=PATIENCE_S)
            records = await asyncio.gather(
                *(client.stream(one.http, audios[i % len(audios)], settings) for i in range(CLIENTS))
            )
            await one.free(WORKERS)
            count = Counter({0: "served", 9: "refused"}.get(record.status, "else") for record in records)
            longest = max(record.closed_s or 0.0 for record in records)
            for record in records:
                if record.status == 0:
                    understood.setdefault(record.name, set()).add(record.transcript)
            lines.append(
                f"| {wave} | {count['served']} | {count['refused']} | {count['else']} | {longest:.1f} | {_memory(one)}"
            )
    if any(len(one) != 1 for one in understood.values()):
        raise RuntimeError(f"not the same in every session: {understood}")
    lines += ["", "The transcript of a card was the same in every session that was served."]
    return "\n".join(lines)


def _memory(one: Deployed) -> str:
    worker = [[kilobytes(pid, what) for pid in one.workers] for what in ("VmRSS", "VmHWM")]
    values = [kilobytes(one.master), kilobytes(one.master, "VmHWM"), *map(max, worker)]
    return " | ".join(f"{value / 1024:.0f}" for value in values) + " |"


def faults() -> str:
    """How long it takes until an accident is over."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_faults(Path(folder)))


async def _faults(folder: Path) -> str:
    (audio,) = audio_of(f"sample:librivox/{samples('sample:librivox')[0].path.stem}")
    lines = [
        "Processes killed (`SIGKILL`) in the middle of an utterance, once each; `tests/test_speech_deployed.py` does the same.",
        "",
        "| killed | then | after, ms |",
        "| --- | --- | --- |",
    ]
    async with deployed(folder, "--workers", "1", "--wait", "60") as one:
        await one.free(1)

        def told(killed: str, then: str, begun: float) -> None:
            lines.append(f"| {killed} | {then} | {1e3 * (time.monotonic() - begun):.0f} |")

        async def speaking() -> asyncio.Task[client.Utterance]:
            task = asyncio.create_task(client.stream(one.http, audio, client.Settings(one.url)))
            await one.free(0)
            await asyncio.sleep(audio.length_s / 2)
            return task

        async def ended(task: asyncio.Task[client.Utterance], status: int | None) -> str:
            record = await task
            if record.status != status:
                raise RuntimeError(f"status {status} is expected: {record}")
            return record.message

        command = [
            sys.executable,
            "-m",
            "voxpath",
            "speech",
            "stream",
            f"sample:{audio.name}",
            "--server",
            one.url,
        ]
        killed = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
        await one.free(0)
        await asyncio.sleep(audio.length_s / 2)
        begun = time.monotonic()
        killed.kill()
        await one.free(1)
        told("a client", "its worker is free again", begun)
        await killed.wait()

        talk, begun = await speaking(), time.monotonic()
        os.kill(one.workers[0], signal.SIGKILL)
        await ended(talk, 2)
        told("a worker", "its client has status 2", begun)
        await one.free(1)
        told("a worker", "another one is free", begun)

        talk, begun, workers = await speaking(), time.monotonic(), one.workers
        one.process.kill()
        told("the master", f"its client is told: {await ended(talk, None)}", begun)
        await until(lambda: all(map(is_gone, workers)))
        told("the master", "its workers have ended", begun)
    return "\n".join(lines)


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "recognisers": ("Recognisers", recognisers),
    "mean": ("Short utterances, and the cepstral mean", cepstral_mean),
    "browser": ("A browser across a network", browser),
    "load": ("Load", load_of_many),
    "faults": ("Faults", faults),
}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all, if none is named")
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    for name in options.sections or SECTIONS:
        title, make = SECTIONS[name]
        machine = page.machine()
        text = page.with_section(text, title, f"{make()}\n\nOn {machine}.\n")
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
