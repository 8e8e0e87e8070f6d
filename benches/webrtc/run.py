#!/usr/bin/env python3
"""`make webrtc`: our rate control `libwebrtc` in simulated calls, beside calls of two Chromium browsers across the same networks.

Browsers call each other in real time, some ten minutes for each of RUNS=3 replications; runs are kept in runs/, so that it goes on where
it was interrupted. `--kept` makes no call of browsers: it takes those that are there. Writes docs/measured/webrtc.md.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page
from cases import CASES, CODEC, DELAY_MS, FPS, MAX_KBPS, QUEUE_MS, SIZE, Measured, measured, scenario
from studies import ROOT, RUNS, table_lines

from voxpath import _engine
from voxpath.backends.base import Question
from voxpath.backends.real.backend import ATTEMPTS, RealBackend
from voxpath.backends.sim import SimBackend, observation
from voxpath.results.intervals import Summary, summarise
from voxpath.sweeps.workers import Workers
from voxpath.webrtc.chromium import version

PAGE = ROOT / "docs" / "measured" / "webrtc.md"
SIMULATED = 20
"""Replications."""

BARS = {
    "estimate": ("mean estimate, kbit/s", 1.1),
    "sent": ("video sent, kbit/s", None),
    "p50": ("queueing delay, p50, ms", 1.25),
    "p95": ("queueing delay, p95, ms", 1.25),
    "down": ("time to come down, s", 1.5),
    "back": ("time to come back, s", 1.5),
    "share": ("share beside TCP", 1.25),
}
"""What is compared, and by which factor the means may differ at most."""

_HEAD = """# Our `libwebrtc` beside a call of two browsers

Written by `make webrtc`; do not edit. Two Chromium browsers call each other on real hosts, and our call with `control = "libwebrtc"` is
simulated, across the same networks. Measured on {machine}; {browser}; engine {build}.

- **Network**: {delay} ms each way, {queue} ms of drop-tail queue at the first capacity, 10 Mbit/s back. The TCP transfer is simulated in both.
- **Chromium**: {codec}, {size} at {fps} frames a second of a moving scene with grain, `maxBitrate` {most} kbit/s; Opus both ways, of noise; no field trial set.
- **Ours**: the same rates and media, retransmission, the octets of SRTP.
- **Estimate**: `availableOutgoingBitrate` of `getStats`, and our signal `target_bps`; its mean over time.
- **Queueing delay**: of every packet on the video's way, from the bottleneck's queue until its first bit is sent.
- **Down and back**: until the estimate is below 1.1 of 0.5 Mbit/s, and above 0.8 of 2 Mbit/s.

Means of {runs} calls of browsers and of {simulated} simulated ones, with 95 % intervals. A call of browsers in which frames were missing, or
which Chromium says the processor limited, is shown below and not counted.

"""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=int(os.environ.get("RUNS", "3")))
    parser.add_argument("--kept", action="store_true", help="make no calls of browsers")
    parser.add_argument("--out", type=Path, default=RUNS)
    parser.add_argument("--only", choices=CASES, nargs="*", help="some networks; the page is only printed")
    options = parser.parse_args()
    names = options.only or list(CASES)
    machine = page.machine()
    ours = {name: simulated(name, options.out) for name in names}
    theirs = {name: browsers(name, options.runs, options.out, kept=options.kept) for name in names}
    head = _HEAD.format(
        machine=machine,
        browser=version(),
        build=_engine.BUILD,
        delay=DELAY_MS,
        queue=QUEUE_MS,
        codec=CODEC,
        size=SIZE,
        fps=FPS,
        most=MAX_KBPS,
        runs=options.runs,
        simulated=SIMULATED,
    )
    text = head + "\n".join(lines(names, theirs, ours)) + "\n"
    if options.only:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    return 0


def simulated(name: str, out: Path) -> list[Measured]:
    """Our calls in a case."""
    document = scenario(name, browsers=False)
    backend = SimBackend(out, Workers(2), observation(document, ("rtc", "packets"), ()))
    backend.answer([Question(document, range(SIMULATED))])
    return [measured(name, outcome.folder) for outcome in backend.outcomes[0]]


def browsers(name: str, runs: int, out: Path, *, kept: bool) -> list[Measured]:
    """Calls of browsers in a case: those whose packets were in time."""
    document = scenario(name, browsers=True)
    backend = RealBackend(
        out, observation(document, ("packets",), ()), attempts=0 if kept else ATTEMPTS, on_done=lambda _: None
    )
    backend.answer([Question(document, range(runs))])
    # A browser that starts late has not ended when the run has, which says nothing of what it did before.
    found = [outcome for outcome in backend.outcomes[0] if kept_up(outcome.folder)]
    sys.stderr.write(f"{CASES[name].title}: {len(found)} of {runs} calls of browsers\n")
    return [measured(name, outcome.folder) for outcome in found]


def kept_up(folder: Path) -> bool:
    """Whether the network of a run was in time."""
    return bool(json.loads((folder / "verdict.json").read_bytes())["kept_up"])


def lines(
    names: Sequence[str], theirs: dict[str, list[Measured]], ours: dict[str, list[Measured]]
) -> Iterator[str]:
    """The page."""
    rows, met, judged = [], 0, 0
    for name in names:
        counted = [run for run in theirs[name] if run.problem is None]
        for key, (title, bar) in BARS.items():
            values = [[getattr(run, key) for run in runs] for runs in (counted, ours[name])]
            if not all(values) or any(value is None for side in values for value in side):
                continue
            there, here = (summarise(side) for side in values)
            ratio = here.mean / there.mean if there.mean else float("inf")
            verdict = ""
            if bar is not None:
                holds = 1 / bar <= ratio <= bar
                verdict = "holds" if holds else f"**not within {bar:g}**"
                met, judged = met + holds, judged + 1
            rows.append([CASES[name].title, title, told(there), told(here), f"{ratio:.2f}", verdict])
    yield f"{met} of {judged} figures are within their bars."
    yield ""
    yield from table_lines(("network", "", "browsers", "ours", "ours by theirs", ""), rows)
    yield from ("", "## Every call of browsers", "")
    yield from table_lines(
        ("network", *(title for title, _ in BARS.values()), "not counted because"),
        [
            [
                CASES[name].title,
                *("" if getattr(run, key) is None else f"{getattr(run, key):.4g}" for key in BARS),
                run.problem or "",
            ]
            for name in names
            for run in theirs[name]
        ],
    )


def told(summary: Summary) -> str:
    """A mean and its interval."""
    half = summary.half_width
    return f"{summary.mean:.4g}" if half is None else f"{summary.mean:.4g} ± {half:.2g}"


if __name__ == "__main__":
    sys.exit(main())
