#!/usr/bin/env python3
"""`make mptcp-blackhole`: a path of two goes away under Multipath TCP, and comes back: how long nothing arrives.

The kernel speaks to the kernel in the backend `real`, our stacks of the profile `linux` to each other in `sim`, at the same moments.
It writes docs/measured/mptcp-blackhole.md.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mptcp import TRANSPORT

import voxpath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "mptcp-blackhole.md"

BAR = 0.25
"""How far our mean may be from the kernel's."""
DELAYS_MS = (10, 25, 50)
DOWN_S, AWAY_S = 2.0, 3.0
STEP_S = 0.037
"""Each run's path goes so much later than the one before: another moment of the same transfer."""
EVERY_MS, SIZE_B, UPDATES = 10, 20_000, 800
"""16 Mbit/s of updates over two paths of 20 Mbit/s: one alone carries them too."""

STALL, LATEST, BACK = "nothing arrives for", "the latest update is late by", "the path is used again after"


@dataclass(frozen=True)
class Case:
    """What happens, and how far both paths are.

    Attributes:
        delay_ms: One way.
        withdrawn: The client takes the address away, and tells it by REMOVE_ADDR; else the path drops all packets.
    """

    delay_ms: int
    withdrawn: bool

    @property
    def name(self) -> str:
        """As the page has it."""
        what = "its address is withdrawn" if self.withdrawn else "it drops everything"
        return f"{self.delay_ms} ms, {what}"

    def scenario(self, run: int, backend: str) -> dict[str, Any]:
        """A run of a backend: the nth has another moment."""
        down = round(DOWN_S + run * STEP_S, 3)
        path = {"rate": "20 Mbit/s", "delay": f"{self.delay_ms} ms", "queue": "100 packets"}
        hosts: dict[str, dict[str, Any]] = {
            name: {"profile": "linux", "tcp": {"congestion": "cubic"}} for name in ("client", "server")
        }
        what: Mapping[str, Any] = {"link": "first"}
        if self.withdrawn:
            what = {"host": "client", "interface": "first"}
        if self.withdrawn and backend == "real":
            # Of a kernel's addresses a scenario has no events.
            command = f"sleep {down}; ip mptcp endpoint delete id 1"
            hosts["client"]["run"] = ["sh", "-c", command]
            events: list[dict[str, Any]] = []
        else:
            events = [{"at": f"{down} s", **what, "connected": False}]
        if not self.withdrawn:
            events.append({"at": f"{round(down + AWAY_S, 3)} s", **what, "connected": True})
        return {
            "name": self.name,
            "duration": f"{UPDATES * EVERY_MS / 1e3 + 4} s",
            "hosts": hosts,
            "topology": {
                "kind": "multipath",
                "paths": {"first": path, "second": path},
                "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
            },
            "flows": [
                {
                    "name": "updates",
                    "transport": TRANSPORT,
                    "app": {
                        "kind": "push",
                        "way": "streaming",
                        "updates": [[f"{EVERY_MS * i} ms", f"{SIZE_B} B"] for i in range(UPDATES)],
                    },
                }
            ],
            "events": events,
        }


def cases() -> Iterator[Case]:
    """All of them."""
    for withdrawn in (False, True):
        for delay in DELAYS_MS:
            yield Case(delay, withdrawn)


def measured(case: Case, run: int, backend: str) -> dict[str, float]:
    """What one run gives, in seconds.

    Raises:
        RuntimeError: The path is never used again, or not all updates came.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = voxpath.run(case.scenario(run, backend), out=folder, backends=[backend], observe=["packets"])
        updates = result.table("messages").select("ready_ns", "received_ns")
        packets = result.table("packets")
    if updates["received_ns"].null_count() or updates.height != UPDATES:
        raise RuntimeError(f"{case.name}, run {run}, {backend}: not all updates came")
    came = updates["received_ns"].sort()
    found = {
        STALL: came.diff().max() / 1e9,
        LATEST: (updates["received_ns"] - updates["ready_ns"]).max() / 1e9,
    }
    if not case.withdrawn:
        back = round((DOWN_S + run * STEP_S + AWAY_S) * 1e9)
        data = packets.filter(
            pl.col("link") == "first ba",
            pl.col("action") == "delivered",
            pl.col("ip_bytes") > 500,
            pl.col("time_ns") > back,
        )
        if data.is_empty():
            raise RuntimeError(f"{case.name}, run {run}, {backend}: the path is never used again")
        found[BACK] = (data["time_ns"].min() - back) / 1e9
    return found


def page(rows: Sequence[tuple[str, str, Sequence[float], float]], runs: int) -> str:
    """The page for docs/."""
    near = [abs(ours / statistics.mean(theirs) - 1) <= BAR for _, _, theirs, ours in rows]
    told = "\n".join(
        f"| {name} | {what} | {statistics.mean(theirs):.3f} ({min(theirs):.3f} to {max(theirs):.3f}) "
        f"| {ours:.3f} | {100 * (ours / statistics.mean(theirs) - 1):+.0f} % | {'yes' if holds else 'NO'} |"
        for (name, what, theirs, ours), holds in zip(rows, near, strict=True)
    )
    return f"""# A path that goes away under Multipath TCP

`make mptcp-blackhole` writes this page, on a quiet machine. Do not edit it.

**{sum(near)} of {len(near)} of our times are within {BAR:.0%} of the kernel's.** A server has an update of {SIZE_B} bytes every {EVERY_MS} ms,
over two paths of 20 Mbit/s, by the scheduler `linux` and CUBIC. After {DOWN_S:g} s the first path drops everything and comes back
{AWAY_S:g} s later, or the client withdraws its address there. {runs} runs each, {STEP_S * 1e3:g} ms apart; the kernel's in the backend `real`.

| paths, and what happens to the first | time, s | kernel (range) | ours | apart | within {BAR:.0%} |
| --- | --- | ---: | ---: | ---: | --- |
{told}
"""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12, help="of each case and side")
    asked = parser.parse_args()
    rows = []
    for case in cases():
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for backend in ("real", "sim"):
            for run in range(asked.runs):
                for what, seconds in measured(case, run, backend).items():
                    found[what][backend].append(seconds)
        for what, by in found.items():
            rows.append((case.name, what, by["real"], statistics.mean(by["sim"])))
            sys.stdout.write(
                f"{case.name}: {what} {statistics.mean(by['real']):.3f} s, ours {rows[-1][3]:.3f} s\n"
            )
            sys.stdout.flush()
    text = page(rows, asked.runs)
    PAGE.write_text(text, encoding="utf-8")
    return 1 if "| NO |" in text else 0


if __name__ == "__main__":
    sys.exit(main())
