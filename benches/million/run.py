#!/usr/bin/env python3
"""`make million`: the working-region map of the study ramli2018 with a million runs, killed five times on its way.

The map is made twice, into two stores: undisturbed, and by a command that is killed again and again and started anew.
Both must hold the same bytes. Then a report is made of one of them. Writes docs/measured/million.md.

`--runs 10000` tries it; a part of a million is not written to the page, unless `--save` asks for it.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import filecmp
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from page import measured_on  # noqa: E402 - a folder of programs, not a package

from voxpath import _engine  # noqa: E402
from voxpath.results.digests import ENVIRONMENT, ENVIRONMENTS  # noqa: E402
from voxpath.results.packs import Packs  # noqa: E402
from voxpath.studies.ramli2018.region import BASE, CHANGES, FULL, network  # noqa: E402
from voxpath.studies.ramli2018.scenario import simulated  # noqa: E402

PAGE = ROOT / "docs" / "measured" / "million.md"
MILLION = 1_000_000
KILLS = 5
MOST_REPORT_MB = 1000
LOOK_S = 0.2


def scenario(runs: int) -> str:
    """The map as one scenario: its text. It is live speech, the middle utterance and the recorded decoder."""
    change = CHANGES[BASE]
    first = network(FULL.round_trips[0], FULL.losses[0], change.rate)
    document = simulated("the working region", first, change.utterance, paced=True, faster=change.faster)
    delays = [
        network(round_trip, FULL.losses[0], change.rate).bottleneck_ms for round_trip in FULL.round_trips
    ]
    sweep = {
        "topology.bottleneck.delay": [f"{delay:g} ms" for delay in delays],
        "topology.bottleneck.up.loss": list(FULL.losses),
        "replications": -(-runs // (len(delays) * len(FULL.losses))),
    }
    return _engine.format_toml(json.dumps({**document.data, "sweep": sweep}))


def cells() -> int:
    """Of the map."""
    return len(FULL.round_trips) * len(FULL.losses)


@dataclass(frozen=True)
class Took:
    """What a command took.

    Attributes:
        wall_s: Seconds on the wall clock.
        processor_s: Seconds of processor time.
        peak_mb: The most memory that it held, in 10^6 bytes.
    """

    wall_s: float
    processor_s: float
    peak_mb: float


def ended(process: subprocess.Popen[bytes], started: float) -> tuple[int, Took]:
    """Waits for a command: its exit code, negative if a signal ended it, and what it took."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    return process.returncode, Took(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def begun(*arguments: str | Path) -> tuple[subprocess.Popen[bytes], float]:
    """Starts a command, which prints its progress alone."""
    command = [sys.executable, "-m", "voxpath", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL), time.monotonic()  # noqa: S603


def done(*arguments: str | Path) -> Took:
    """Runs a command to its end."""
    code, took = ended(*begun(*arguments))
    if code:
        sys.exit(f"voxpath {arguments[0]} ended with {code}")
    return took


def kept(store: Path) -> int:
    """How many runs lie there."""
    return len(Packs(store).names())


def disturbed(arguments: list[str | Path], store: Path, runs: int) -> list[int]:
    """Runs a command that is killed on its way; how many runs were kept at each kill."""
    found = []
    for number in range(1, KILLS + 1):
        process, _ = begun(*arguments)
        # Each time it has come further.
        least = max(number * runs // (KILLS + 1), found[-1] + 1 if found else 1)
        while kept(store) < least:
            if process.poll() is not None:
                sys.exit("the sweep was over before it was killed: take more runs")
            time.sleep(LOOK_S)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found.append(kept(store))
        sys.stdout.write(f"killed with {found[-1]} runs kept\n")
        sys.stdout.flush()
    done(*arguments)
    return found


def alike(one: Path, other: Path) -> bool:
    """Whether two stores have the same files, byte for byte, but for what may differ between two of the same runs."""
    names = files_of(one)
    # They are not held: what a command takes is told together with what this process held as it began it.
    _, *unlike = filecmp.cmpfiles(one, other, names, shallow=False)
    return names == files_of(other) and not any(unlike)


def files_of(store: Path) -> list[str]:
    """Files of a store that depend on its runs alone."""
    differing = {ENVIRONMENT, ENVIRONMENTS}
    return sorted(
        str(path.relative_to(store))
        for path in store.rglob("*")
        if path.is_file() and path.name not in differing
    )


def main() -> int:
    """Measures, writes the page and judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=MILLION)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "million")
    parser.add_argument(
        "--save", action="store_true", help="write the page for less than a million runs, too"
    )
    options = parser.parse_args()
    where = measured_on()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    path = options.out / "map.toml"
    path.write_text(scenario(options.runs), encoding="utf-8")
    runs = -(-options.runs // cells()) * cells()

    def sweep(store: Path) -> list[str | Path]:
        return ["sweep", path, "--backend", "sim", "--jobs", str(options.jobs), "--out", store]

    whole, killed = options.out / "whole", options.out / "killed"
    made = done(*sweep(whole))
    again = done(*sweep(whole))
    kills = disturbed(sweep(killed), killed, runs)
    equal = alike(whole, killed)
    page = options.out / "map.html"
    report = done("report", path, "--backend", "sim", "--out", whole, "--save", page)
    listed = done("list", whole)
    name = Packs(whole).names()[0]
    shown = done("show", whole / name)
    files = [found for found in whole.rglob("*") if found.is_file()]
    size = sum(found.stat().st_size for found in files)
    yes = {True: "yes", False: "NO"}
    text = f"""\
# A map of {runs:,} runs

Written by `make million`; do not edit. The working region of the study ramli2018 (live speech, the recorded decoder, {cells()} cells of {runs // cells():,}
replications) by {options.jobs} workers: undisturbed, and by a command that was killed (`SIGKILL`) when {", ".join(f"{kept:,}" for kept in kills)} runs were kept.

Measured on: {where}.

| what | wall s | processor s | most memory, MB |
| --- | ---: | ---: | ---: |
| the sweep | {made.wall_s:,.1f} | {made.processor_s:,.1f} | {made.peak_mb:.0f} |
| the same once more, nothing to do | {again.wall_s:,.1f} | {again.processor_s:,.1f} | {again.peak_mb:.0f} |
| `voxpath report` of it | {report.wall_s:,.1f} | {report.processor_s:,.1f} | {report.peak_mb:.0f} |
| `voxpath list` | {listed.wall_s:,.2f} | {listed.processor_s:,.2f} | {listed.peak_mb:.0f} |
| `voxpath show` of one run | {shown.wall_s:,.2f} | {shown.processor_s:,.2f} | {shown.peak_mb:.0f} |

The store has {len(files)} files of {size / 1e6:,.1f} MB: {size / runs:,.0f} bytes a run.

| bar | measured | holds |
| --- | ---: | --- |
| killed {KILLS} times, the same bytes | {"the same" if equal else "others"} | {yes[equal]} |
| a report in less than {MOST_REPORT_MB} MB | {report.peak_mb:.0f} MB | {yes[report.peak_mb < MOST_REPORT_MB]} |
"""
    if runs >= MILLION or options.save:
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0 if equal and report.peak_mb < MOST_REPORT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
