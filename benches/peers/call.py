"""A call of 60 s at 2 Mbit/s, and the same packets as datagrams in ns-3: processor time of whole processes, taken in turn.

Our call runs once with its packets recorded. ns-3 is given a list of them: which end sent each, when, and how large it was. So
ns-3 has the packets without the work of making them: encoder, pacer, rate control, reports. `make bench-call` runs this.
"""
# SPDX-License-Identifier: Apache-2.0

import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import HERE, TARGET, BenchError, Case, Contestant, compete

import voxpath
from voxpath.scenario import Document, from_dict
from voxpath.studies.rfc8867.media import media

SECONDS = 60
RATE_MBPS = 2
DELAY_MS = 50
QUEUE_BYTES = 75_000
HEADERS = 28
"""Bytes of IP and UDP."""

LEAST_TIMES_LESS_CPU = 50.0
CONTROL = "gcc"


def scenario(calls: int = 1) -> Document:
    """Calls in both directions, each over a link of its own."""
    pairs = [(f"left{index}", f"right{index}") for index in range(calls)]
    link = {
        "rate": f"{RATE_MBPS} Mbit/s",
        "delay": f"{DELAY_MS} ms",
        "queue": f"{QUEUE_BYTES} B",
    }
    return from_dict(
        {
            "name": f"{calls} calls",
            "seed": 1,
            "duration": f"{SECONDS} s",
            "topology": {
                "kind": "explicit",
                "hosts": [host for pair in pairs for host in pair],
                "links": [
                    {"name": f"link{index}", "ends": list(pair), **link} for index, pair in enumerate(pairs)
                ],
            },
            "flows": [
                {
                    "name": f"call{index}",
                    "from": left,
                    "to": right,
                    "app": {
                        **media({"kind": CONTROL}, both=True),
                        "rate": {"start": "1 Mbit/s", "max": f"{RATE_MBPS} Mbit/s"},
                    },
                }
                for index, (left, right) in enumerate(pairs)
            ],
        }
    )


def packets(document: Document, folder: Path) -> list[tuple[int, int, int]]:
    """The end that sent each packet, when in nanoseconds, and its UDP payload in bytes."""
    found = voxpath.run(document, out=folder, observe=["packets"], backends=["sim"])
    frame = pl.read_parquet(found.folders[0] / "packets.parquet").filter(
        # A packet enters the queue, or is dropped before it.
        pl.col("action").cast(pl.String).is_in(["enqueued", "dropped"])
    )
    end = pl.col("link").cast(pl.String).str.ends_with("ba").cast(pl.Int64)
    rows = frame.select(end, pl.col("time_ns"), pl.col("ip_bytes") - HEADERS).rows()
    return sorted((int(end), int(at), int(size)) for end, at, size in rows)


@dataclass(frozen=True)
class Measured:
    """What was found.

    Attributes:
        ratios: Processor time of ns-3 over ours, round by round.
        ours_s: Median of ours.
        theirs_s: Median of theirs.
        hops: Packets over the link, ours and theirs.
        thousand_s: Processor time of a thousand calls in one run.
        each_bytes: What each of them holds, from the peaks of one call and of a thousand.
    """

    ratios: list[float]
    ours_s: float
    theirs_s: float
    hops: tuple[int, int]
    thousand_s: float
    each_bytes: float

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios)

    @property
    def holds(self) -> bool:
        """Whether the bar is reached."""
        return self.ratio >= LEAST_TIMES_LESS_CPU

    def verdicts(self) -> list[str]:
        """For the terminal."""
        state = "holds" if self.holds else "DOES NOT HOLD"
        return [
            f"call: at least {LEAST_TIMES_LESS_CPU:g} times less CPU time than ns-3: {self.ratio:.3g}: {state}"
        ]

    def section(self, where: str) -> str:
        """Of the benchmarks' page."""
        return f"""\
A call of {SECONDS} s at {RATE_MBPS} Mbit/s, both ways, with `{CONTROL}`, over one link of {DELAY_MS} ms. ns-3 sends datagrams of the same sizes at the
same times ([benches/peers/call.py](../../benches/peers/call.py)): it has no encoder, no rate control and no reports to make. Processor time is
that of whole processes, the median of {len(self.ratios)} rounds; the ratio is the median of the ratios within a round.

Measured on: {where}.

| | CPU s | packet-hops |
| --- | ---: | ---: |
| voxpath, the call | {self.ours_s:.4f} | {self.hops[0]:,} |
| ns-3, its datagrams | {self.theirs_s:.4f} | {self.hops[1]:,} |

| bar | reached | holds |
| --- | ---: | --- |
| at least {LEAST_TIMES_LESS_CPU:g} times less CPU time than ns-3 | {self.ratio:.3g} | {"yes" if self.holds else "NO"} |

A thousand such calls in one run take {self.thousand_s:.1f} s of CPU time; each of them holds {self.each_bytes / 1e3:,.0f} kB at its end,
results included.
"""


def measure(rounds: int) -> Measured:
    """Runs both in turn.

    Raises:
        BenchError: One of them is missing or failed.
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        one, thousand, listed = folder / "one.json", folder / "thousand.json", folder / "packets.txt"
        document = scenario()
        one.write_text(document.plan.json, "utf-8")
        thousand.write_text(scenario(1000).plan.json, "utf-8")
        sent = packets(document, folder / "runs")
        listed.write_text("".join(f"{end} {at} {size}\n" for end, at, size in sent), "utf-8")
        program = TARGET / "release" / "examples" / "plan"
        peer = HERE / "build" / "datagrams_ns3"
        told = [
            f"--list={listed}",
            f"--rate-mbps={RATE_MBPS}",
            f"--delay-ms={DELAY_MS}",
            f"--duration-s={SECONDS}",
            f"--queue-bytes={QUEUE_BYTES}",
        ]
        ours = Contestant("voxpath", lambda _: [str(program), str(one)], _missing(program))
        theirs = Contestant("ns-3", lambda _: [str(peer), *told], _missing(peer))
        many = Contestant("voxpath", lambda _: [str(program), str(thousand)], _missing(program))
        case = Case("call", 1, RATE_MBPS, SECONDS)
        found = compete([ours, theirs], case, rounds)
        of_many = compete([many], case, 1)[0][0]
    first = found[0]
    return Measured(
        [theirs.cpu_s / ours.cpu_s for ours, theirs in found],
        statistics.median(ours.cpu_s for ours, _ in found),
        statistics.median(theirs.cpu_s for _, theirs in found),
        (first[0].report.packet_hops, first[1].report.packet_hops),
        of_many.cpu_s,
        (of_many.peak_rss_bytes - first[0].peak_rss_bytes) / 999,
    )


def _missing(path: Path):
    return lambda: None if path.is_file() else f"{path.name} is not built"


def main() -> int:
    """Prints the section."""
    try:
        found = measure(3)
    except BenchError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(found.section("this machine"))
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
