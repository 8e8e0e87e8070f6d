#!/usr/bin/env python3
"""`make bench-mptcp`, a part of `make bench`: what two subflows cost beside one TCP flow of the same rate, and what a connection holds.

Both are of the dumbbell of peers/README.md in our simulator alone (`crates/sim/examples/dumbbell.rs`). They take turns, and the
ratio is the median of the ratios within a round.
"""
# SPDX-License-Identifier: Apache-2.0

import statistics
import sys
from pathlib import Path

from page import SUBFLOWS, measured_on
from scale import ROOT, Bar, Scale, build, command, run

ROUNDS = 7
RATE_MBPS, SECONDS = 100, 60
MOST_TIMES_DEARER = 1.5
CONNECTIONS = 10_000
LEAST_GOODPUT = 0.9
"""Of the TCP flow's: two subflows that carry less would be cheap for nothing."""


def _one(program: Path, subflows: int) -> dict[str, float]:
    flow = ("--flows", 1, "--rate-mbps", RATE_MBPS, "--duration-s", SECONDS, "--subflows", subflows)
    return run(program, *flow)


def held(program: Path, subflows: int) -> tuple[float, float]:
    """Bytes of the process for a connection that is open and silent, both ends; and how many subflows of theirs carried something."""
    quiet = ("--flows", 1, "--rate-mbps", 1, "--duration-s", 3, "--subflows", subflows)
    without, grown = (run(program, *quiet, "--idle", count) for count in (0, CONNECTIONS))
    return (grown["rss_bytes"] - without["rss_bytes"]) / CONNECTIONS, grown["subflows"]


def measure() -> Scale:
    """Builds, measures and judges."""
    where = measured_on()
    program = build(ROOT / "target")
    times, hops, goodputs, took = [], [], [], []
    for _ in range(ROUNDS):
        tcp, two = _one(program, 0), _one(program, 2)
        if two["subflows"] < 2:
            raise RuntimeError("the second subflow carried nothing")
        times.append(two["cpu_s"] / tcp["cpu_s"])
        hops.append((two["cpu_s"] / two["packet_hops"]) / (tcp["cpu_s"] / tcp["packet_hops"]))
        goodputs.append((tcp["goodput_bps"], two["goodput_bps"]))
        took.append((tcp["cpu_s"], two["cpu_s"]))
    alone, paired = (statistics.median(one[which] for one in took) for which in (0, 1))
    plain, both = goodputs[0]
    silent_tcp, _ = held(program, 0)
    silent, _ = held(program, 2)
    dearer = statistics.median(times)
    bars = [
        Bar(
            f"two subflows of {RATE_MBPS // 2} Mbit/s for {SECONDS} s cost at most {MOST_TIMES_DEARER:g} times one TCP flow of {RATE_MBPS}",
            f"{dearer:.2f}",
            dearer <= MOST_TIMES_DEARER,
        ),
        Bar(
            f"they carry at least {LEAST_GOODPUT:.0%} of what it carries",
            f"{both / plain:.1%}",
            both / plain >= LEAST_GOODPUT,
        ),
    ]
    section = f"""One flow for {SECONDS} s, over TCP with {RATE_MBPS} Mbit/s, and over Multipath TCP with two bottlenecks of half of that, a subflow over each. Processor time of
the simulation alone, {ROUNDS} rounds in turn. Memory is the growth of the process with {CONNECTIONS} connections that have exchanged an octet each way: both ends, and
the simulation's own copy of the plan. `make bench-mptcp` renews this section alone.

Measured on: {where}.

| | processor time, s | goodput, Mbit/s | bytes for a silent connection |
| --- | ---: | ---: | ---: |
| TCP | {alone:.3f} | {plain / 1e6:.1f} | {silent_tcp:.0f} |
| Multipath TCP, two subflows | {paired:.3f} | {both / 1e6:.1f} | {silent:.0f} |
| ratio | {dearer:.2f} | {both / plain:.3f} | {silent / silent_tcp:.2f} |

For a packet-hop the ratio is {statistics.median(hops):.2f}. {CONNECTIONS} such connections hold {silent * CONNECTIONS / 1e6:.0f} MB.
"""
    return Scale.of(section, bars)


if __name__ == "__main__":
    sys.exit(command(SUBFLOWS, measure))
