#!/usr/bin/env python3
"""Runs the dumbbell of README.md on each simulator and compares CPU time, memory and goodput.

    make -C benches/peers
    cargo build --release -p voxpath-sim --example dumbbell
    crates/trained.sh dumbbell
    python3 benches/peers/measure.py --case 1x10M-60s --repeat 5
    python3 benches/peers/measure.py --list

Every contestant is a program that simulates the case and prints one JSON line, see `Report`. They run
one at a time, in turn (A B C, A B C, ...), because a shared machine changes its speed within minutes:
a ratio is taken within one round, and the median over the rounds is reported.

As a library: `contestants()`, `CASES`, `compete()`, `summarise()`. Read `run()` before changing what is
measured. Standard library only.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target"))
REFERENCE = "ns-3"
HTSIM = "csg-htsim"
"""No package registry has it, so that it may be missing where all others are there."""
OURS = "voxpath"
TRAINED = "voxpath-trained"
"""The same program, laid out by the compiler after training runs: crates/trained.sh, as `make fast` does with the engine."""


class BenchError(Exception):
    """A contestant is missing, failed, or did not say what it must."""


@dataclass(frozen=True, slots=True)
class Case:
    """What all contestants simulate; README.md has the rest of the scenario, which does not vary."""

    name: str
    flows: int
    rate_mbps: int
    """Of the bottleneck, in 10^6 bit/s."""
    duration_s: int
    """Simulated."""


CASES = {
    case.name: case
    for case in (
        Case("1x10M-60s", flows=1, rate_mbps=10, duration_s=60),
        Case("100x1G-10s", flows=100, rate_mbps=1000, duration_s=10),
    )
}


@dataclass(frozen=True, slots=True)
class Contestant:
    """A simulator: how to run it, and what is wrong if it cannot be run (None if it can)."""

    name: str
    argv: Callable[[Case], list[str]]
    missing: Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Report:
    """The JSON line of a contestant. Other keys in it are ignored."""

    goodput_bps: float
    """Payload bits given to receiving applications, over the whole simulated time."""
    packet_hops: int
    """Packets that reached the far end of a link: data and ACKs, three links each way."""
    events: int | None
    """Events executed, null where the simulator does not count them."""
    sim_seconds: float
    peak_rss_bytes: int | None
    """The program's own VmHWM; None or 0 if it cannot tell. See `run()`."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Of each table of results, where a program counts them."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one contestant."""

    contestant: str
    case: str
    user_s: float
    sys_s: float
    wall_s: float
    peak_rss_bytes: int
    report: Report

    @property
    def cpu_s(self) -> float:
        """User and system time of the whole process, start-up and set-up included."""
        return self.user_s + self.sys_s

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second of CPU time."""
        return self.report.packet_hops / self.cpu_s


@dataclass(frozen=True, slots=True)
class Summary:
    """Medians of a contestant over the rounds; each ratio is the median of the ratios within a round."""

    contestant: str
    case: str
    rounds: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: float
    hops_per_s: float
    packet_hops: int
    events: int | None
    goodput_bps: float
    times_less_cpu: float
    """CPU time of the reference over ours: 20 means twenty times as fast on the same scenario."""
    times_more_hops_per_s: float
    """The same per packet-hop, for contestants that do not send the same number of packets."""
    times_less_memory: float
    goodput_ratio: float
    """To the reference's: 1 is the same, above 1 is more."""


def contestants(simpy_python: str = sys.executable) -> dict[str, Contestant]:
    """All contestants by name. `simpy_python` is an interpreter that has SimPy."""
    ns3 = HERE / "build" / "dumbbell_ns3"
    htsim = HERE / "build" / "dumbbell_htsim"
    ours = TARGET / "release" / "examples" / "dumbbell"
    trained = next(TARGET.glob("trained/dumbbell/build/*/release/examples/dumbbell"), TARGET / "trained")
    tcl, simpy_model = str(HERE / "dumbbell.tcl"), str(HERE / "links_simpy.py")

    def need_file(path: Path, remedy: str) -> Callable[[], str | None]:
        return lambda: None if path.is_file() else f"{path.name} is not built: {remedy}"

    def need_ns2() -> str | None:
        return None if shutil.which("ns") else "`ns` is not on the path: apt-get install ns2"

    def need_simpy() -> str | None:
        try:
            check = [simpy_python, "-c", "import simpy; assert simpy.__version__[0] == '4'"]
            # The interpreter is the caller's choice.
            found = subprocess.run(check, capture_output=True, check=False).returncode == 0  # noqa: S603
        except OSError:
            found = False
        remedy = "pip install -r benches/peers/requirements.txt (the apt packages are SimPy 2 and 3)"
        return None if found else f"{simpy_python} has no SimPy 4: {remedy}"

    def simpy(style: str) -> Contestant:
        return Contestant(
            f"simpy-{style}",
            lambda case: [simpy_python, simpy_model, "--style", style, *flags(case)],
            need_simpy,
        )

    table = (
        # Ours: same flags as the others, same JSON line.
        Contestant(
            OURS,
            lambda case: [str(ours), *flags(case)],
            need_file(ours, "cargo build --release -p voxpath-sim --example dumbbell"),
        ),
        Contestant(
            TRAINED,
            lambda case: [str(trained), *flags(case)],
            need_file(trained, "crates/trained.sh dumbbell"),
        ),
        # The command line of ns-3 wants --name=value.
        Contestant(
            REFERENCE,
            lambda case: [str(ns3), *(f"{name}={value}" for name, value in pairs(flags(case)))],
            need_file(ns3, "apt-get install libns3-dev libgsl-dev, then make -C benches/peers"),
        ),
        Contestant(
            HTSIM,
            lambda case: [str(htsim), *flags(case)],
            need_file(
                htsim,
                "clone https://github.com/Broadcom/csg-htsim, then make -C benches/peers htsim HTSIM=DIR",
            ),
        ),
        Contestant("ns-2", lambda case: ["ns", tcl, *flags(case)], need_ns2),
        simpy("store"),
        simpy("callback"),
    )
    return {contestant.name: contestant for contestant in table}


def flags(case: Case) -> list[str]:
    """The case as every contestant's command line takes it."""
    values = {"flows": case.flows, "rate-mbps": case.rate_mbps, "duration-s": case.duration_s}
    return [word for name, value in values.items() for word in (f"--{name}", str(value))]


def pairs(words: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Words two by two."""
    return zip(words[::2], words[1::2], strict=True)


def run(contestant: Contestant, case: Case) -> Measurement:
    """Runs a contestant as a child process and waits for it."""
    argv = contestant.argv(case)
    with tempfile.TemporaryFile("w+") as stderr:
        started_s = time.monotonic()
        try:
            # The programs are those of the table in `contestants()`.
            child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr, text=True)  # noqa: S603
        except OSError as error:
            raise BenchError(f"{contestant.name}: cannot run {argv[0]}: {error.strerror}") from error
        with child:
            output = child.stdout.read() if child.stdout else ""
            _, status, usage = os.wait4(child.pid, 0)
            wall_s = time.monotonic() - started_s
            # wait4 has reaped the child: Popen must not wait for it again.
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            stderr.seek(0)
            said = stderr.read()[-2000:].strip()
            raise BenchError(f"{contestant.name}: {' '.join(argv)}: exit {child.returncode}: {said}")
    report = parse_report(contestant.name, output)
    # Linux carries the peak over an exec, so what wait4 tells of a small child is this interpreter's own
    # size. Where the program has read its own peak, that is the better number; else it is an upper bound.
    peak_rss_bytes = report.peak_rss_bytes or usage.ru_maxrss * 1024
    return Measurement(
        contestant.name, case.name, usage.ru_utime, usage.ru_stime, wall_s, peak_rss_bytes, report
    )


def parse_report(name: str, output: str) -> Report:
    """The last line a contestant printed, checked: `null` for a count of hops is refused."""
    try:
        line = json.loads(output.strip().splitlines()[-1])
        events, rss = line.get("events"), line.get("peak_rss_bytes")
        return Report(
            goodput_bps=float(line["goodput_bps"]),
            packet_hops=int(line["packet_hops"]),
            events=None if events is None else int(events),
            sim_seconds=float(line["sim_seconds"]),
            peak_rss_bytes=None if rss is None else int(rss),
            rows=line.get("rows", {}),
        )
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BenchError(f"{name}: no report in {output[-500:]!r}: {error!r}") from error


def compete(
    entrants: Sequence[Contestant],
    case: Case,
    repeat: int,
    progress: Callable[[Measurement], None] = lambda _: None,
) -> list[list[Measurement]]:
    """Runs all entrants in turn, `repeat` rounds. Fails before the first run if one of them is missing."""
    missing = [f"{entrant.name}: {why}" for entrant in entrants if (why := entrant.missing()) is not None]
    if missing:
        raise BenchError("\n".join(missing))
    rounds: list[list[Measurement]] = []
    for _ in range(repeat):
        rounds.append([])
        for entrant in entrants:
            rounds[-1].append(run(entrant, case))
            progress(rounds[-1][-1])
    return rounds


def summarise(rounds: Sequence[Sequence[Measurement]], reference: str = REFERENCE) -> list[Summary]:
    """A line for each contestant, in their order. The reference must be among them."""
    names = [measurement.contestant for measurement in rounds[0]]
    if reference not in names:
        raise BenchError(f"the reference {reference} did not run")
    references = [one_round[names.index(reference)] for one_round in rounds]
    return [
        summarise_one([one_round[index] for one_round in rounds], references) for index in range(len(names))
    ]


def summarise_one(runs: Sequence[Measurement], references: Sequence[Measurement]) -> Summary:
    """`runs` and `references` are of the same rounds."""
    first = runs[0]
    for other in runs:
        if (other.report.packet_hops, other.report.goodput_bps) != (
            first.report.packet_hops,
            first.report.goodput_bps,
        ):
            raise BenchError(f"{first.contestant}: two runs of {first.case} differ: not deterministic")

    def median(value: Callable[[Measurement], float]) -> float:
        return statistics.median(value(one) for one in runs)

    def ratio(value: Callable[[Measurement], float]) -> float:
        return statistics.median(value(a) / value(b) for a, b in zip(runs, references, strict=True))

    return Summary(
        contestant=first.contestant,
        case=first.case,
        rounds=len(runs),
        cpu_s=median(lambda one: one.cpu_s),
        wall_s=median(lambda one: one.wall_s),
        peak_rss_bytes=median(lambda one: one.peak_rss_bytes),
        hops_per_s=median(lambda one: one.hops_per_s),
        packet_hops=first.report.packet_hops,
        events=first.report.events,
        goodput_bps=first.report.goodput_bps,
        times_less_cpu=ratio(lambda one: 1 / one.cpu_s),
        times_more_hops_per_s=ratio(lambda one: one.hops_per_s),
        times_less_memory=ratio(lambda one: 1 / one.peak_rss_bytes),
        goodput_ratio=ratio(lambda one: one.report.goodput_bps),
    )


def table(summaries: Sequence[Summary], reference: str = REFERENCE) -> str:
    """The summaries as a Markdown table; the last four columns compare with the reference."""
    head = (
        f"| {summaries[0].case} | CPU s | wall s | packet-hops | hops/s | MB | goodput Mbit/s "
        f"| {reference}'s CPU / its | hops/s / {reference}'s | {reference}'s MB / its "
        f"| goodput / {reference}'s |\n| --- |" + " ---: |" * 10
    )
    lines = [
        f"| {s.contestant} | {s.cpu_s:.3g} | {s.wall_s:.3g} | {s.packet_hops:,} | {s.hops_per_s:,.0f} "
        f"| {s.peak_rss_bytes / 1e6:.1f} | {s.goodput_bps / 1e6:.2f} | {s.times_less_cpu:.3g} "
        f"| {s.times_more_hops_per_s:.3g} | {s.times_less_memory:.3g} | {s.goodput_ratio:.4f} |"
        for s in summaries
    ]
    return "\n".join([head, *lines])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", choices=CASES, action="append", help="default: all, one after the other")
    parser.add_argument("--only", metavar="NAME", action="append", help="a contestant; default: all")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds (default 3)")
    parser.add_argument("--reference", default=REFERENCE, help="what ratios refer to (default %(default)s)")
    parser.add_argument("--simpy-python", default=sys.executable, help="an interpreter that has SimPy")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements here as well")
    parser.add_argument("--list", action="store_true", help="say what would run, and what is missing")
    options = parser.parse_args()
    known = contestants(options.simpy_python)
    names: list[str] = options.only or list(known)
    unknown = sorted({*names, options.reference} - known.keys())
    if unknown or options.repeat < 1:
        parser.error(f"unknown: {unknown}; contestants: {list(known)}; --repeat is at least 1")
    if options.reference not in names:
        parser.error(f"the reference {options.reference} is not among {names}: see --reference")
    entrants = [known[name] for name in names]
    cases = [CASES[name] for name in options.case or CASES]
    if options.list:
        for entrant in entrants:
            sys.stdout.write(f"{entrant.name}: {entrant.missing() or 'ready'}\n")
            sys.stdout.writelines(f"    {' '.join(entrant.argv(case))}\n" for case in cases)
        return 0

    def progress(done: Measurement) -> None:
        sys.stderr.write(f"{done.case} {done.contestant}: {done.cpu_s:.3f} s CPU, {done.wall_s:.3f} s wall\n")

    kept: list[dict[str, object]] = []
    try:
        for case in cases:
            sys.stderr.write(f"{case.name}: load average {os.getloadavg()[0]:.2f} at the start\n")
            rounds = compete(entrants, case, options.repeat, progress)
            summaries = summarise(rounds, options.reference)
            sys.stdout.write(table(summaries, options.reference) + "\n\n")
            kept.append(
                {
                    "case": asdict(case),
                    "reference": options.reference,
                    "summaries": [asdict(summary) for summary in summaries],
                    "measurements": [asdict(one) for one_round in rounds for one in one_round],
                }
            )
    except BenchError as error:
        sys.stderr.write(f"measure.py: {error}\n")
        return 1
    if options.json:
        options.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
