#!/usr/bin/env python3
"""`make webrtc`: our rate control `libwebrtc` in simulated calls, beside calls of two Chromium browsers across the same networks.

`--record N` (`make webrtc-record`) adds what is missing to N calls of browsers in each network, in real time, to browsers.jsonl: some 25 minutes
for three calls, on a machine that does nothing else. Each call is written when it ends, so it can be interrupted and goes on where it was.
Without it our calls are simulated, with frames that vary as those of the recorded encoder, and laid beside the record, and docs/measured/webrtc.md is
written.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page
from cases import (
    CASES,
    CODEC,
    DELAY_MS,
    ENCODER,
    END,
    FPS,
    MAX_KBPS,
    QUEUE_MS,
    SIZE,
    Measured,
    caller,
    measured,
    scenario,
)
from frames import Frames, of_call
from studies import ROOT, RUNS, table_lines

from voxpath import _engine
from voxpath.backends.base import Question
from voxpath.backends.real.backend import ATTEMPTS, RealBackend
from voxpath.backends.sim import SimBackend, observation
from voxpath.results.identity import Identity, machine
from voxpath.results.intervals import Summary, summarise
from voxpath.sweeps.workers import Workers
from voxpath.webrtc.chromium import version

PAGE = ROOT / "docs" / "measured" / "webrtc.md"
RECORD = Path(__file__).with_name("browsers.jsonl")
"""A line for each call of browsers: the network, the replication, what was measured, on which machine and by which Chromium, and its frames."""
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
"""What is compared, and by which factor the means may differ at most, in networks that are judged."""

HELD_OUT = {"call": "without the call", "network": "without the network"}
"""What our encoder has not seen of what it is compared with."""

_APART = """
## With frames of other calls
Above, our encoder varies as that of the calls beside which it is put; over the steps and beside five flows, as that of other ones. So these figures judge the rate control with
its encoder given. Here the encoder has not seen what it is compared with: each of the recorded calls is held out in turn, and
our calls have the frames of the other calls in that network; or the whole network is, and they have those of the other four. Ours by theirs:
"""

_LATE = {
    True: "Each is as late as the recorded one was.",
    False: "How late each left is not in the record: they come on a grid.",
}
"""Whether our encoder takes the time that theirs did."""

_HEAD = """# Our `libwebrtc` beside a call of two browsers

Written by `make webrtc`; do not edit. Two Chromium browsers call each other on real hosts, and our call with `control = "libwebrtc"` is
simulated, across the same networks. The browsers' calls are a record (`make webrtc-record`), measured on {machine}; {browser}. Ours are of engine {build}.

- **Network**: {delay} ms each way, {queue} ms of drop-tail queue at the first capacity, 10 Mbit/s back. TCP transfers are simulated in both; those of five flows, by CUBIC, are shown and have no bars.
- **Chromium**: {codec}, {size} at {fps} frames a second of a moving scene with grain, `maxBitrate` {most} kbit/s; Opus both ways, of noise; no field trial set.
- **Ours**: the same rates and media, retransmission, the octets of SRTP. What the encoder makes of its target varies as in the record: sizes of its
  frames by the mean size that `targetBitrate` asked for, from a drawn frame on (`ratios`); over the steps and beside five flows those of 2 Mbit/s. {late}
- **Estimate**: `availableOutgoingBitrate` of `getStats`, and our signal `target_bps`; its mean over time.
- **Queueing delay**: of every packet on the video's way, from the bottleneck's queue until its first bit is sent.
- **Down and back**: until the estimate is below 1.1 of 0.5 Mbit/s, and above 0.8 of 2 Mbit/s.

Means of the recorded calls of browsers and of {simulated} simulated ones, with 95 % intervals. A call of browsers in which frames were missing, or
which Chromium says the processor limited, is shown below and not counted.

"""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--record", type=int, metavar="RUNS", help="record calls of browsers until each network has so many"
    )
    parser.add_argument("--out", type=Path, default=RUNS)
    parser.add_argument("--only", choices=CASES, nargs="*", help="some networks; the page is only printed")
    options = parser.parse_args()
    names = options.only or list(CASES)
    if options.record is not None:
        record(names, options.record, options.out)
        return 0
    theirs = {name: [call for call in recorded() if call["case"] == name] for name in names}
    ours = {name: [told_of(run) for run in simulated(name, options.out)] for name in names}
    apart = {
        held: {name: [told_of(run) for run in held_out(name, held, options.out)] for name in names}
        for held in HELD_OUT
    }
    head = _HEAD.format(
        machine="; ".join(dict.fromkeys(call["machine"] for calls in theirs.values() for call in calls)),
        browser="; ".join(dict.fromkeys(call["browser"] for calls in theirs.values() for call in calls)),
        build=_engine.BUILD,
        delay=DELAY_MS,
        queue=QUEUE_MS,
        codec=CODEC,
        size=SIZE,
        fps=FPS,
        most=MAX_KBPS,
        simulated=SIMULATED,
        late=_LATE[all(is_whole(call) for calls in theirs.values() for call in calls)],
    )
    text = head + "\n".join((*lines(names, theirs, ours), *apart_lines(names, theirs, ours, apart))) + "\n"
    if options.only:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    return 0


def told_of(run: Measured) -> dict[str, Any]:
    """What is compared, as the record has it."""
    return {key: getattr(run, key) for key in (*BARS, "problem")}


def recorded() -> list[dict[str, Any]]:
    """The record."""
    return [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]


def record(names: Sequence[str], runs: int, out: Path) -> None:
    """Records the calls of browsers that are missing, each as soon as it is there; those without frames are made again."""
    measured_on = page.machine()
    for name in names:
        there = {call["run"] for call in recorded() if call["case"] == name and is_whole(call)}
        missing = [number for number in range(runs) if number not in there]
        for number, run, frames in browsers(name, missing, out):
            call = {"case": name, "run": number, **told_of(run), "machine": measured_on, "browser": version()}
            keep(call | {"frames": frames.told()})
            problem = f": not counted, {run.problem}" if run.problem else ""
            sys.stderr.write(f"{CASES[name].title}, call {number}: {len(frames.sizes)} frames{problem}\n")


def is_whole(call: Mapping[str, Any]) -> bool:
    """Whether all is there that is recorded of a call today; an earlier one is recorded anew."""
    return "frames" in call and Frames.recorded(call["frames"]).late_ms is not None


def keep(call: Mapping[str, Any]) -> None:
    """Puts a call into the record, in the place of an earlier one of its number; the file is never half written."""
    order = list(CASES)
    which = (call["case"], call["run"])
    calls = [*(one for one in recorded() if (one["case"], one["run"]) != which), call]
    calls.sort(key=lambda one: (order.index(one["case"]), one["run"]))
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in calls)
    new = RECORD.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(RECORD)


def with_frames(name: str) -> list[dict[str, Any]]:
    """The recorded calls of a network that count and have their frames."""
    return [
        call for call in recorded() if call["case"] == name and call["problem"] is None and "frames" in call
    ]


def encoder(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the encoder of recorded calls made of its target, frame by frame, one call after the other.

    Raises:
        SystemExit: There are none, or some tell how late their frames were and some do not.
    """
    if not calls:
        raise SystemExit(f"{RECORD.name} has no frames of such a call: run `make webrtc-record`")
    if len({is_whole(call) for call in calls}) > 1:
        raise SystemExit(f"{RECORD.name} has calls with and without late_ms: run `make webrtc-record`")
    made: list[str] = []
    for call in calls:
        case = CASES[call["case"]]
        made += Frames.recorded(call["frames"]).encoder(FPS, case.since, case.end - END)
    return made


def simulated(name: str, out: Path) -> list[Measured]:
    """Our calls in a case, with the frames of the recorded calls in the same network."""
    return simulated_with(name, encoder(with_frames(CASES[name].frames_of or name)), range(SIMULATED), out)


def held_out(name: str, what: str, out: Path) -> list[Measured]:
    """Our calls in a case, with frames of other recorded calls; as many as in `simulated`.

    Args:
        name: The case.
        what: A key of `HELD_OUT`. Each call of the network in turn, or the network.
        out: Where runs are.
    """
    if what == "network":
        others = [
            call
            for other, case in CASES.items()
            if other != name and case.judged
            for call in with_frames(other)
        ]
        return simulated_with(name, encoder(others), range(SIMULATED), out)
    if CASES[name].frames_of is not None:
        return simulated(name, out)
    calls = with_frames(name)
    return [
        run
        for place in range(len(calls))
        for run in simulated_with(
            name, encoder(calls[:place] + calls[place + 1 :]), range(place, SIMULATED, len(calls)), out
        )
    ]


def simulated_with(name: str, made: Sequence[str], numbers: range, out: Path) -> list[Measured]:
    """Our calls in a case, with what an encoder made; by their replications."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ENCODER).write_text("".join(f"{one}\n" for one in made), encoding="utf-8")
        document = scenario(name, browsers=False, folder=Path(folder))
    backend = SimBackend(out, Workers(2), observation(document, ("rtc", "packets"), ()))
    backend.answer([Question(document, numbers)])
    return [measured(name, outcome.folder) for outcome in backend.outcomes[0]]


def browsers(name: str, numbers: Sequence[int], out: Path) -> Iterator[tuple[int, Measured, Frames]]:
    """Calls of browsers in a network, with their replication and their frames: those whose packets were in time."""
    document = scenario(name, browsers=True)
    backend = RealBackend(
        out, observation(document, ("packets",), (caller(name),)), attempts=ATTEMPTS, on_done=lambda _: None
    )
    for number in numbers:
        backend.answer([Question(document, range(number, number + 1))])
        identity = Identity(
            document.plan.json, "real", number, _engine.BUILD_REAL, backend.observe, machine=machine()
        )
        # A browser that starts late has not ended when the run has, which says nothing of what it did before.
        if kept_up(out / identity.name):
            folder = out / identity.name
            yield number, measured(name, folder), of_call(folder, caller(name), "client")
        else:
            sys.stderr.write(f"{CASES[name].title}, call {number}: the network was late\n")


def kept_up(folder: Path) -> bool:
    """Whether there is a run whose network was in time."""
    path = folder / "verdict.json"
    return path.is_file() and bool(json.loads(path.read_bytes())["kept_up"])


def lines(
    names: Sequence[str],
    theirs: Mapping[str, Sequence[dict[str, Any]]],
    ours: Mapping[str, Sequence[dict[str, Any]]],
) -> Iterator[str]:
    """The page."""
    rows, met, judged = [], 0, 0
    for name, key, there, here in compared(names, theirs, ours):
        title, bar = barred(name, key)
        verdict = ""
        if bar is not None:
            holds = within(there, here, bar)
            verdict = "holds" if holds else f"**not within {bar:g}**"
            met, judged = met + holds, judged + 1
        rows.append(
            [CASES[name].title, title, told(there), told(here), f"{here.mean / there.mean:.2f}", verdict]
        )
    yield f"{met} of {judged} figures are within their bars."
    yield ""
    yield from table_lines(("network", "", "browsers", "ours", "ours by theirs", ""), rows)
    yield from ("", "## Every call of browsers", "")
    yield from table_lines(
        ("network", *(title for title, _ in BARS.values()), "not counted because"),
        [
            [
                CASES[name].title,
                *("" if run[key] is None else f"{run[key]:.4g}" for key in BARS),
                run["problem"] or "",
            ]
            for name in names
            for run in theirs[name]
        ],
    )


def barred(name: str, key: str) -> tuple[str, float | None]:
    """A figure's title, and its bar in this network."""
    title, bar = BARS[key]
    return title, bar if CASES[name].judged else None


def compared(
    names: Sequence[str],
    theirs: Mapping[str, Sequence[dict[str, Any]]],
    ours: Mapping[str, Sequence[dict[str, Any]]],
) -> Iterator[tuple[str, str, Summary, Summary]]:
    """The network and the key of each figure that both have, with theirs and ours."""
    for name in names:
        counted = [run for run in theirs[name] if run["problem"] is None]
        for key in BARS:
            values = [[run[key] for run in runs] for runs in (counted, ours[name])]
            if all(values) and not any(value is None for side in values for value in side):
                there, here = (summarise(side) for side in values)
                yield name, key, there, here


def within(there: Summary, here: Summary, bar: float) -> bool:
    """Whether means differ by no more than a factor."""
    return there.mean / bar <= here.mean <= bar * there.mean


def apart_lines(
    names: Sequence[str],
    theirs: Mapping[str, Sequence[dict[str, Any]]],
    ours: Mapping[str, Sequence[dict[str, Any]]],
    apart: Mapping[str, Mapping[str, Sequence[dict[str, Any]]]],
) -> Iterator[str]:
    """What changes where our encoder has not seen what it is compared with."""
    yield from _APART.splitlines()
    ways = {"its own frames": ours} | {HELD_OUT[held]: runs for held, runs in apart.items()}
    met = dict.fromkeys(ways, 0)
    judged, rows = 0, []
    for figures in zip(*(compared(names, theirs, runs) for runs in ways.values()), strict=True):
        name, key, *_ = figures[0]
        title, bar = barred(name, key)
        judged += bar is not None
        row = [CASES[name].title, title]
        for way, (_, _, there, here) in zip(ways, figures, strict=True):
            holds = bar is None or within(there, here, bar)
            met[way] += holds and bar is not None
            ratio = f"{here.mean / there.mean:.2f}"
            row.append(ratio if holds else f"**{ratio}**")
        rows.append(row)
    rows.append(["", f"within their bars, of {judged}", *(str(met[way]) for way in ways)])
    yield ""
    yield from table_lines(("network", "", *ways), rows)


def told(summary: Summary) -> str:
    """A mean and its interval."""
    half = summary.half_width
    return f"{summary.mean:.4g}" if half is None else f"{summary.mean:.4g} ± {half:.2g}"


if __name__ == "__main__":
    sys.exit(main())
