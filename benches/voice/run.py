"""Which transport carries a voice over which network: `make one-voice` writes docs/measured/one-voice.md.

Every cell sends the package's sample in G.711, of which G.113 knows what losses do, so R needs no listener. Replications differ in
their seed. The map asks for the transport with the best median over a grid of delays and losses.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath.results.intervals import summarise
from voxpath.scenario.one_link import link
from voxpath.voice.call import call, verdict
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.measures.conversation import judge
from voxpath.voice.call.network import one_link
from voxpath.voice.call.player import MISSING
from voxpath.voice.call.transports import TRANSPORTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.voice.call.network import Network

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/measured/one-voice.md"
BUFFER, CODEC = "100 ms", "g711"
DELAYS_MS = (10, 50, 100, 150, 200, 300)
LOSSES = (0.0, 0.5, 1, 2, 5, 10)

Texts = dict[str, dict[str, str]]

NETWORKS: Mapping[str, tuple[Texts, str | None]] = {
    "LAN": ({"": {"rate": "1 Gbit/s", "delay": "0.1 ms"}}, None),
    "WiFi in a café": ({}, "wifi-cafe"),
    "LTE": ({}, "lte"),
    "recorded ride (cellular trace)": (
        {
            "": {"delay": "25 ms", "queue": "500 packets"},
            "up": {"trace": str(ROOT / "scenarios/traces/ride.trace")},
            "down": {"rate": "10 Mbit/s"},
        },
        None,
    ),
    "DSL": ({}, "dsl"),
    "geostationary satellite": ({}, "geo-satellite"),
    "5 % loss at random, 40 ms": ({"": {"delay": "40 ms", "loss": "5 %"}}, None),
    "5 % loss in bursts of 5, 40 ms": ({"": {"delay": "40 ms", "loss": "5 %", "burst": "5 packets"}}, None),
    "jitter of 30 ms around 60 ms": ({"": {"delay": "60 ms", "jitter": "30 ms"}}, None),
}


@dataclass(frozen=True)
class Run:
    """What a call gave: R and MOS-CQE, delay mouth to ear in ms, share that was concealed, and the sentence."""

    r: float
    mos: float
    delay_ms: float
    concealed: float
    sentence: str


def network_of(texts: Texts, preset: str | None, told: str) -> Network:
    """One link."""
    given: Any = {direction: texts.get(direction, {}) for direction in ("", "up", "down")}
    return one_link(link(given, preset, ROOT), told, ROOT)


def asked(task: tuple[Texts, str | None, str, int], out: str) -> Run:
    """One call; the store is of no use afterwards."""
    texts, preset, over, seed = task
    with tempfile.TemporaryDirectory(dir=out) as folder:
        made = call(
            network_of(texts, preset, "network"), over=over, codec=CODEC, buffer=BUFFER, seed=seed, out=folder
        )
    talk = made.talks[0]
    found = judge(Evidence(talk, made.codec, False))
    if found is None:
        raise RuntimeError("G.113 has G.711")
    delay = verdict.delay.of(talk).total_ms
    concealed = talk.heard.count(*MISSING) / max(1, int(talk.sent.sum()))
    return Run(found.rating.r, found.rating.mos, delay, concealed, verdict.sentence(found))


def matrix(cells: Mapping[tuple[str, str], Sequence[Run]]) -> list[str]:
    """Transports over networks: MOS-CQE with its interval, delay, what was concealed."""
    lines = ["| network | " + " | ".join(TRANSPORTS) + " |", "| --- |" + " --- |" * len(TRANSPORTS)]
    for name in NETWORKS:
        row = []
        best = max(statistics.mean(run.mos for run in cells[name, over]) for over in TRANSPORTS)
        for over in TRANSPORTS:
            runs = cells[name, over]
            summary = summarise([run.mos for run in runs])
            wide = 0.0 if summary.interval is None else (summary.interval[1] - summary.interval[0]) / 2
            delay = statistics.mean(run.delay_ms for run in runs)
            lost = 100 * statistics.mean(run.concealed for run in runs)
            told = f"{summary.mean:.2f} ± {wide:.2f}"
            told = f"**{told}**" if summary.mean >= best - 0.05 else told
            row.append(f"{told}; {delay:.0f} ms; {lost:.1f} %")
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return lines


def sentences(cells: Mapping[tuple[str, str], Sequence[Run]]) -> list[str]:
    """What is said of the first replication of each cell."""
    lines = ["| network | " + " | ".join(TRANSPORTS) + " |", "| --- |" + " --- |" * len(TRANSPORTS)]
    told = {name: " | ".join(cells[name, over][0].sentence for over in TRANSPORTS) for name in NETWORKS}
    return [*lines, *(f"| {name} | {row} |" for name, row in told.items())]


def grid(cells: Mapping[tuple[int, float, str], Sequence[Run]], transports: Sequence[str]) -> list[str]:
    """The transport with the best median R over delay and loss, and that R; those within 1 of it are told, too."""
    lines = [
        "| loss | " + " | ".join(f"{delay} ms" for delay in DELAYS_MS) + " |",
        "| --- |" + " --- |" * len(DELAYS_MS),
    ]
    for loss in LOSSES:
        row = []
        for delay in DELAYS_MS:
            median = {
                over: statistics.median(run.r for run in cells[delay, loss, over]) for over in transports
            }
            best = max(median.values())
            row.append(f"{', '.join(over for over in transports if median[over] >= best - 1)} {best:.0f}")
        lines.append(f"| {loss:g} % | " + " | ".join(row) + " |")
    return lines


def main() -> int:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=12)
    parser.add_argument("--grid-replications", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    many = [
        (name, over, seed) for name in NETWORKS for over in TRANSPORTS for seed in range(options.replications)
    ]
    # Framings differ by a few octets: one byte stream stands for its like.
    transports = ["rtp", "tcp", "mqtt"]
    places = [
        (delay, loss, over, seed)
        for delay in DELAYS_MS
        for loss in LOSSES
        for over in transports
        for seed in range(options.grid_replications)
    ]
    tasks = [(*NETWORKS[name], over, seed) for name, over, seed in many]
    tasks += [
        ({"": {"delay": f"{delay} ms", "loss": f"{loss} %"}}, None, over, seed)
        for delay, loss, over, seed in places
    ]
    cells: dict[tuple[str, str], list[Run]] = {}
    over_grid: dict[tuple[int, float, str], list[Run]] = {}
    with (
        tempfile.TemporaryDirectory() as out,
        ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool,
    ):
        done = iter(pool.map(partial(asked, out=out), tasks, chunksize=8))
        for name, over, _ in many:
            cells.setdefault((name, over), []).append(next(done))
        for delay, loss, over, _ in places:
            over_grid.setdefault((delay, loss, over), []).append(next(done))
    page = [
        "# One voice: which transport for which network",
        "",
        f"`make one-voice` writes this page, from {len(tasks)} simulated calls. Each sends the package's sample of 10 s in G.711 (frames of 20 ms,",
        f"concealment of Appendix I) to a jitter buffer of {BUFFER}; R and MOS-CQE are ITU-T G.107's, with Ie and Bpl of G.113. The E-model hears delay and",
        "losses; it does not hear which sound was lost.",
        "",
        "## Transports and networks",
        f"MOS-CQE with its interval of 95 % over {options.replications} replications; mean delay, mouth to ear; what was concealed. Bold is the best, and what is within 0.05 of it.",
        "",
        *matrix(cells),
        "",
        "What is said of the first replication:",
        "",
        *sentences(cells),
        "",
        "## Delay and loss",
        f"One link with a constant delay and independent losses: the transport with the best median R of {options.grid_replications} replications, and that R; those within 1 of it, too.",
        "",
        *grid(over_grid, transports),
        "",
    ]
    PAGE.write_text("\n".join(page), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
