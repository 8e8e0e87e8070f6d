#!/usr/bin/env python3
"""`make router`: rate, queue and loss by the kernel's own router beside ours, as in Figure 9 of Sarkar et al. 2022; writes docs/measured/router.md.

Both have real hosts with the kernel's TCP. In the one our link has the rate, the queue and the loss. In the other it has the delay alone, which this kernel
cannot make without netem: the hosts' namespaces have a token bucket filter (tc-tbf(8)) towards the link, and rules of nftables that drop by chance what arrives.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page

from voxpath import _engine
from voxpath.backends.base import Question
from voxpath.backends.real.backend import RealBackend
from voxpath.backends.sim import SimBackend
from voxpath.results.intervals import summarise
from voxpath.scenario import from_dict

PAGE = page.ROOT / "docs" / "measured" / "router.md"

LOSSES = ("0 %", "0.1 %", "1 %", "10 %")
SIZE = "4 MB"
RATE_MBIT = 10
QUEUE = 100
"""Packets of 1500 bytes that wait at most."""
ETHERNET = 38
"""Bytes that a frame has beside its IP packet (`framing = "ethernet"`)."""
RUNS = 12
PORT = 9
"""At which a host says that its filter and rules stand."""

FILTER = f"""set -e
tc qdisc replace dev net0 root tbf rate {RATE_MBIT}mbit burst 1600 limit {QUEUE * 1500} overhead {ETHERNET}
nft add table netdev router
nft add chain netdev router arrival '{{{{ type filter hook ingress device net0 priority 0; }}}}'
nft add rule netdev router arrival numgen random mod 100000 '<' {{of_100000}} drop
exec python3 -c 'import signal, socket; server = socket.create_server(("", {PORT})); signal.pause()'
"""


def ours(loss: str) -> dict[str, Any]:
    """The download where our link does all."""
    host = {"profile": "linux", "tcp": {"congestion": "reno"}}
    link = {
        "rate": f"{RATE_MBIT} Mbit/s",
        "framing": "ethernet",
        "queue": f"{QUEUE} packets",
        "delay": "20 ms",
        "loss": loss,
    }
    return {
        "name": f"a download through a router, {loss} loss",
        "seed": 2022,
        "topology": {"kind": "pipe", "link": link},
        "hosts": {"client": host, "server": host},
        "flows": [
            {
                "name": "download",
                "from": "client",
                "to": "server",
                "app": {"kind": "download", "request": "100 B", "response": SIZE},
            }
        ],
    }


def kernels(loss: str) -> dict[str, Any]:
    """The same where our link delays, and the kernel does the rest."""
    made = ours(loss)
    made["topology"]["link"] = {"delay": made["topology"]["link"]["delay"]}
    share = round(float(loss.removesuffix(" %")) * 1000)
    program = {"run": ["sh", "-c", FILTER.format(of_100000=share)], "listens": PORT}
    made["hosts"] = {name: {**host, **program} for name, host in made["hosts"].items()}
    return made


def completions(backend: RealBackend | SimBackend, scenario: Mapping[str, Any]) -> list[float]:
    """How long the download took in each valid run, in seconds."""
    backend.answer([Question(from_dict(dict(scenario)), range(RUNS))])
    frame, outcomes = backend.frames[0], backend.outcomes[0]
    valid = [outcome.replication for outcome in outcomes if outcome.valid]
    return [
        row["completion_s"]
        for row in frame.iter_rows(named=True)
        if row["flow"] == "download" and row["replication"] in valid and row["completion_s"] is not None
    ]


def row(loss: str, out: Path) -> str:
    """What one loss gives, as a row of the page."""
    own, kernel, simulated = (
        completions(backend, scenario(loss))
        for backend, scenario in (
            (RealBackend(out, at_once=RUNS), ours),
            (RealBackend(out, at_once=RUNS), kernels),
            (SimBackend(out), ours),
        )
    )
    test = stats.ttest_ind(own, kernel, equal_var=False)
    mean = summarise(kernel).mean
    low, high = (100 * bound / mean for bound in test.confidence_interval())
    sides = " | ".join(f"{summarise(side)} ({len(side)})" for side in (own, kernel, simulated))
    return f"| {loss} | {sides} | {low:+.1f} to {high:+.1f} % |\n"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=page.ROOT / "runs", help="directory of the runs")
    options = parser.parse_args()
    missing = [program for program in ("nft", "tc") if shutil.which(program) is None]
    if missing:
        sys.stderr.write(f"{', '.join(missing)} missing: apt-get install nftables iproute2\n")
        return 1
    text = f"""# The kernel's router beside our loop

Written by `make router`; do not edit. Figure 9 of Sarkar, Ammann and Zabir 2022 has a Linux router with netem between two hosts. This kernel has no netem. What it
has is beside our link here: a token bucket filter for {RATE_MBIT} Mbit/s of Ethernet with room for {QUEUE} packets of 1500 bytes, and rules of nftables that drop
arriving packets by chance. The delay, 20 ms each way, is our loop's on both sides. A download of {SIZE} with the kernel's TCP (Reno) takes, in seconds: means with
95 % intervals, and how many runs.
Measured on {page.machine()}; engine {_engine.BUILD}.

| loss, each way | our link | tbf and nftables | simulated | ours less the kernel's, 95 % |
| --- | ---: | ---: | ---: | ---: |
"""
    for loss in LOSSES:
        text += row(loss, options.out)
        sys.stdout.write(text.splitlines()[-1] + "\n")
        sys.stdout.flush()
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.relative_to(page.ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
