"""Which transport carries a voice over which network: `make one-voice` writes docs/measured/one-voice.md.

Every cell sends the package's sample in G.711, of which G.113 knows what losses do, so R needs no listener. Replications differ in
their random streams. The map asks for the transport with the best median over a grid of delays and losses, from 10^5 runs by counts
alone. One call of each cell is decoded and judged by PESQ, too. Some links are repeated over the kernel.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath.backends.real.problems import RealError
from voxpath.results.intervals import summarise
from voxpath.scenario.one_link import link
from voxpath.voice.call import call, verdict
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.many import many
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.measures.conversation import judge
from voxpath.voice.call.measures.pesq import Pesq
from voxpath.voice.call.network import one_link
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import read
from voxpath.voice.call.transports import TRANSPORTS
from voxpath.voice.call.wav import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voxpath.voice.call.codecs.base import Encoded
    from voxpath.voice.call.many import Counted
    from voxpath.voice.call.network import Network

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/measured/one-voice.md"
BUFFER, CODEC, SEED = "100 ms", "g711", 1
DELAYS_MS = (5, 10, 20, 40, 60, 80, 100, 130, 160, 200, 250, 300)
LOSSES = (0.0, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10)
MAPPED = tuple(TRANSPORTS)
DISAGREE = 0.5
"""Of a mean opinion: from here on two measures say different things."""

UPLOAD = {"name": "upload", "from": "client", "to": "server", "app": {"kind": "bulk", "size": "20 MB"}}
HANDOVER = (
    {"at": "7 s", "link": "link", "connected": False},
    {
        "at": "7.2 s",
        "link": "link",
        "connected": True,
        "delay": "60 ms",
        "loss": "0.5 %",
        "up": {"rate": "500 kbit/s"},
        "down": {"rate": "4 Mbit/s", "queue": "50 packets"},
    },
)
"""As scenarios/handover.toml has it: 200 ms without a link, then a slower one."""


def of_link(told: str, preset: str | None = None, up: Any = None, down: Any = None, **both: str) -> Network:
    """A link by the options of `voxpath call`."""
    return one_link(link({"": both, "up": up or {}, "down": down or {}}, preset, ROOT), told, ROOT)


def with_more(network: Network, **more: Any) -> Network:
    """A network with other traffic or events."""
    return replace(network, data={**network.data, **more})


NETWORKS: Mapping[str, Network] = {
    one.told: one
    for one in (
        of_link("LAN", rate="1 Gbit/s", delay="0.1 ms"),
        of_link("WiFi in a café (`wifi-cafe`)", "wifi-cafe"),
        of_link("4G (`lte`)", "lte"),
        of_link("5G (`5g`)", "5g"),
        of_link(
            "a ride with 4G (made-up trace)",
            delay="25 ms",
            queue="500 packets",
            up={"trace": str(ROOT / "scenarios/traces/ride.trace")},
            down={"rate": "10 Mbit/s"},
        ),
        of_link("DSL (`dsl`)", "dsl"),
        with_more(of_link("DSL beside an upload, drop-tail", "dsl"), flows=[UPLOAD]),
        with_more(of_link("DSL beside an upload, FQ-CoDel", "dsl", queue="fq_codel"), flows=[UPLOAD]),
        of_link("satellite (`geo-satellite`)", "geo-satellite"),
        of_link("5 % loss at random, 40 ms", delay="40 ms", loss="5 %"),
        of_link("5 % loss in bursts of 5, 40 ms", delay="40 ms", loss="5 %", burst="5 packets"),
        of_link("jitter of 30 ms around 60 ms", delay="60 ms", jitter="30 ms"),
        with_more(
            of_link("handover, 200 ms without a link", rate="20 Mbit/s", delay="10 ms", queue="100 packets"),
            events=list(HANDOVER),
        ),
    )
}

CHECKED = ("LAN", "5G (`5g`)", "5 % loss at random, 40 ms", "5 % loss in bursts of 5, 40 ms")
"""Networks that are asked over the kernel, too."""


@dataclass(frozen=True)
class Heard:
    """One call that was decoded: MOS-CQE of the E-model (none where nothing was heard), PESQ, and the sentence."""

    mos: float | None
    pesq: float | None
    sentence: str


@cache
def encoded() -> Encoded:
    """The sample in G.711."""
    return CODECS[CODEC].encode(read(None), Wish())


def counted(task: tuple[Network, str, int]) -> list[Counted]:
    """Calls of a cell by their counts."""
    network, over, replications = task
    return many(network, encoded(), range(replications), over=over, codec=CODEC, buffer=BUFFER, seed=SEED)


def judged(network: Network, over: str, backend: str, listen: Path | None = None) -> Heard:
    """A call of a cell, decoded; the store is of no use afterwards."""
    with tempfile.TemporaryDirectory() as out:
        made = call(
            network, over=over, codec=CODEC, buffer=BUFFER, seed=SEED, backend=backend, out=out, force=True
        )
    evidence = Evidence(made.talks[0], made.codec, False)
    found = judge(evidence)
    if listen is not None:
        name = "".join(letter if letter.isalnum() else "-" for letter in network.told.lower())
        write(listen / f"{name}_{over}.wav", made.talks[0].heard.values, made.talks[0].encoded.rate_hz)
    mos = None if found is None else found.rating.mos
    return Heard(mos, Pesq().score(evidence).value, verdict.sentence(evidence))


def heard(task: tuple[Network, str], listen: Path | None) -> Heard:
    """A simulated call of a cell, decoded."""
    return judged(*task, "sim", listen)


Cells = dict[tuple[str, str], list["Counted"]]


@dataclass(frozen=True)
class Measured:
    """All that the page is made of.

    Attributes:
        cells: Calls by their counts, by network and transport.
        ones: A decoded call of each of these.
        over_grid: Calls by their counts, by delay, loss and transport.
        took_s: How long the latter took.
        jobs: By how many processes.
        real: The table of calls over the kernel; empty without them.
    """

    cells: Cells
    ones: Mapping[tuple[str, str], Heard]
    over_grid: Mapping[tuple[int, float, str], Sequence[Counted]]
    took_s: float
    jobs: int
    real: Sequence[str]


def head(names: Iterable[str], first: str = "network") -> list[str]:
    """The first lines of a table."""
    names = list(names)
    return [f"| {first} | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]


def matrix(cells: Cells) -> list[str]:
    """Transports over networks: MOS-CQE with its interval, delay, what was concealed."""
    lines = head(TRANSPORTS)
    for name in NETWORKS:
        row = []
        best = max(statistics.mean(run.mos for run in cells[name, over]) for over in TRANSPORTS)
        for over in TRANSPORTS:
            runs = cells[name, over]
            summary = summarise([run.mos for run in runs])
            wide = 0.0 if summary.interval is None else (summary.interval[1] - summary.interval[0]) / 2
            known = [run.concealed for run in runs if run.concealed is not None]
            lost = f"{100 * statistics.mean(known):.1f} %" if known else "nothing was sent"
            told = f"{summary.mean:.2f} ± {wide:.2f}"
            told = f"**{told}**" if summary.mean >= best - 0.05 else told
            row.append(f"{told}; {delay(runs)}; {lost}")
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return lines


def delay(runs: Sequence[Counted]) -> str:
    """The mean over the calls of which something came."""
    known = [run.delay_ms for run in runs if run.delay_ms is not None]
    return f"{statistics.mean(known):.0f} ms" if known else "no frame came"


def sentences(ones: Mapping[tuple[str, str], Heard]) -> list[str]:
    """What is said of one call of each cell, and what PESQ says of it."""
    lines = head(TRANSPORTS)
    for name in NETWORKS:
        row = []
        for over in TRANSPORTS:
            one = ones[name, over]
            row.append(f"{one.sentence} (PESQ {'none' if one.pesq is None else f'{one.pesq:.1f}'})")
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return lines


def disagreement(ones: Mapping[tuple[str, str], Heard]) -> list[str]:
    """Where both measures are furthest apart."""
    apart = [(one.mos - one.pesq, *place) for place, one in ones.items() if None not in (one.mos, one.pesq)]
    higher = [found for found in apart if found[0] > DISAGREE]
    lower = [found for found in apart if found[0] < -DISAGREE]
    told = [
        f"Of {len(apart)} calls the E-model is more than {DISAGREE:g} above PESQ in {len(higher)}, and below it in {len(lower)}."
    ]
    for sign, some in (("above", sorted(higher, reverse=True)), ("below", sorted(lower))):
        if some:
            told += [
                "",
                f"Furthest {sign}: "
                + "; ".join(f"{name} by {over}, {abs(gap):.1f}" for gap, name, over in some[:5])
                + ".",
            ]
    return told


def grid(cells: Mapping[tuple[int, float, str], Sequence[Counted]]) -> list[str]:
    """The transport with the best median R over delay and loss, and that R; those within 1 of it are told, too."""
    lines = head([f"{delay} ms" for delay in DELAYS_MS], "loss")
    for loss in LOSSES:
        row = []
        for delay in DELAYS_MS:
            median = {over: statistics.median(run.r for run in cells[delay, loss, over]) for over in MAPPED}
            best = max(median.values())
            row.append(f"{', '.join(over for over in MAPPED if median[over] >= best - 1)} {best:.0f}")
        lines.append(f"| {loss:g} % | " + " | ".join(row) + " |")
    return lines


def checks(cells: Cells) -> list[str]:
    """R of calls over the kernel, beside what the simulator has of the same cell; or why there is none."""
    lines = head(TRANSPORTS)
    places = [(name, over) for name in CHECKED for over in TRANSPORTS]
    found = dict(
        zip(places, shown((over_the_kernel(*place) for place in places), "over the kernel"), strict=True)
    )
    for name in CHECKED:
        row = []
        for over in TRANSPORTS:
            simulated = [run.r for run in cells[name, over]]
            row.append(f"{found[name, over]}; {min(simulated):.1f} to {max(simulated):.1f}")
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return lines


def over_the_kernel(name: str, over: str) -> str:
    """R of a call of a cell in real time, or why there is none."""
    try:
        with tempfile.TemporaryDirectory() as out:
            made = call(
                NETWORKS[name], over=over, codec=CODEC, buffer=BUFFER, seed=SEED, backend="real", out=out
            )
    except (CallError, RealError) as error:
        return f"none: {error}"
    found = judge(Evidence(made.talks[0], made.codec, False))
    return "nothing was heard" if found is None else f"{found.rating.r:.1f}"


def shown(found: Iterable[Any], what: str) -> Iterator[Any]:
    """What is found, counted on standard error."""
    for number, one in enumerate(found, 1):
        sys.stderr.write(f"{what} {number}\n")
        yield one


def main() -> int:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument(
        "--grid-replications", type=int, default=170, help="of mqtt a fifth: it takes thrice as long"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-real", action="store_true", help="nothing over the kernel")
    parser.add_argument("--listen", type=Path, help="a directory for what is heard in each cell")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    if options.listen is not None:
        options.listen.mkdir(parents=True, exist_ok=True)
    places = [(name, over) for name in NETWORKS for over in TRANSPORTS]
    spots = [(delay, loss, over) for delay in DELAYS_MS for loss in LOSSES for over in MAPPED]
    tasks = [(NETWORKS[name], over) for name, over in places]
    mapped = dict.fromkeys(MAPPED, options.grid_replications)
    mapped["mqtt"] = -(-options.grid_replications // 5)
    links = [
        (of_link("a spot of the map", delay=f"{delay} ms", loss=f"{loss} %"), over, mapped[over])
        for delay, loss, over in spots
    ]
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        of_cells = pool.map(counted, [(*task, options.replications) for task in tasks])
        of_ones = pool.map(partial(heard, listen=options.listen), tasks)
        cells: Cells = dict(zip(places, shown(of_cells, "cells"), strict=True))
        ones = dict(zip(places, shown(of_ones, "sounds"), strict=True))
        begun = time.monotonic()
        over_grid = dict(zip(spots, shown(pool.map(counted, links), "map"), strict=True))
        took = time.monotonic() - begun
    real = [] if options.no_real else checks(cells)
    measured = Measured(cells, ones, over_grid, took, options.jobs, real)
    options.page.write_text("\n".join(page_of(measured)), "utf-8")
    return 0


def page_of(measured: Measured) -> list[str]:
    """The page's lines."""
    cells, ones, over_grid, real = measured.cells, measured.ones, measured.over_grid, measured.real
    of_cells, of_map = (sum(len(runs) for runs in some.values()) for some in (cells, over_grid))
    replications = len(next(iter(cells.values())))
    often = ", ".join(f"{over} {len(over_grid[DELAYS_MS[0], LOSSES[0], over])}" for over in MAPPED)
    page = [
        "# One voice: which transport for which network",
        "",
        f"`make one-voice` writes this page, from {of_cells + of_map} simulated calls. Each sends the package's sample of 10 s in G.711 (frames of 20 ms,",
        f"concealment of Appendix I) to a jitter buffer of {BUFFER}; R and MOS-CQE are ITU-T G.107's, with Ie and Bpl of G.113. The E-model hears delay and",
        "losses; it does not hear which sound was lost. A call in which nothing is heard counts with R = 0. Losses above 20 %, and bursts of more than twice",
        "their length by chance where above 2 % are lost, are beyond G.107's range.",
        "",
        "## Transports and networks",
        f"MOS-CQE with its interval of 95 % over {replications} replications; mean delay, mouth to ear; what was concealed. Bold is the best, and what is within 0.05 of it.",
        "Names between backquotes are presets, whose sources are in `scenario/one_link.py`.",
        "",
        *matrix(cells),
        "",
        "What is said of the first replication, and PESQ (narrow band) of what was heard. `benches/voice/run.py --listen DIRECTORY` keeps these sounds.",
        "",
        *sentences(ones),
        "",
        "## Where the measures disagree",
        "PESQ hears which sound was lost and no delay; the E-model hears delay and counts losses.",
        "",
        *disagreement(ones),
        "",
        "## Delay and loss",
        f"One link with a constant delay and independent losses: the transport with the best median R of its replications ({often}), and that R; those within 1 of it, too.",
        f"{of_map} runs, in {measured.took_s:.0f} s by {measured.jobs} processes of a machine that did other things, too.",
        "",
        *grid(over_grid),
        "",
    ]
    if real:
        page += [
            "## Over the kernel",
            "The same frames from host to host in real time, by each transport, with other random losses: R over the kernel; R of the simulator's replications, from least to most.",
            "",
            *real,
            "",
        ]
    return page


if __name__ == "__main__":
    sys.exit(main())
