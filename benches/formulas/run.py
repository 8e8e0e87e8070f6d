#!/usr/bin/env python3
"""`make formulas`: how far each closed form is from published values and from the simulator.

Writes docs/measured/formulas.md. A distance is no verdict: a formula holds under its own assumptions, and the page says how far
they carry.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import math
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import voxpath
from voxpath.backends.base import Question
from voxpath.backends.formula import FormulaBackend
from voxpath.backends.formula.limits import medium_rate, window_rate
from voxpath.backends.formula.mathis import mathis_rate
from voxpath.backends.formula.pftk import approximate_rate, send_rate, timeout_share
from voxpath.backends.formula.queueing import md1_wait, token_bucket_delay
from voxpath.backends.formula.recovery import congestion_avoidance, rounds_to
from voxpath.backends.formula.transmissions import transmissions
from voxpath.backends.formula.wire import packet_error_rate
from voxpath.backends.sim import SimBackend, flows
from voxpath.results.identity import Observe
from voxpath.results.intervals import Summary, summarise
from voxpath.results.rows import Row
from voxpath.scenario import Document
from voxpath.sweeps.workers import Workers

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "formulas.md"

PLAIN = {"window_scaling": False, "sack": False, "timestamps": False, "nagle": False}
SMALL = PLAIN | {"receive_buffer": "8760 B"}
OPEN = {"timestamps": False, "nagle": False, "congestion": "reno"}
EACH_ACK = {"delayed_ack": {"max_segments": 1}}

STACKS: dict[str, dict[str, Any]] = {
    "riverbed16": {"profile": "riverbed16"},
    "linux, reno, 6 segments": {"profile": "linux", "tcp": SMALL | {"congestion": "reno"}},
    "rfc, 6 segments": {"profile": "rfc", "tcp": SMALL},
    "rfc, 6 segments, per ACK": {"profile": "rfc", "tcp": SMALL | {"byte_counting": False}},
    "rfc, 6 segments, per ACK, no delay": {
        "profile": "rfc",
        "tcp": SMALL | EACH_ACK | {"byte_counting": False},
    },
    "rfc, 6 segments, SACK": {"profile": "rfc", "tcp": SMALL | {"sack": True}},
    "rfc": {"profile": "rfc", "tcp": OPEN},
    "rfc, per ACK": {"profile": "rfc", "tcp": OPEN | {"byte_counting": False}},
    "rfc, no delay": {"profile": "rfc", "tcp": OPEN | EACH_ACK},
}
"""Stacks by name. With 6 segments the window is 8760 bytes; `per ACK`: MSS²/cwnd for each acknowledgment, else
bytes are counted; `no delay`: an acknowledgment for each segment, else for two."""


LOSS_MODELS = ("mathis", "pftk_full", "pftk_short", "cardwell")


@dataclass(frozen=True)
class Case:
    """A set-up that some formulas are asked about.

    Attributes:
        what: The set-up, for people.
        document: The same, ready to run.
        metric: What is compared.
        estimators: Which formulas.
        times: How many times the replications: short transfers with rare losses vary most, and cost least.
    """

    what: str
    document: Document
    metric: str
    estimators: Sequence[str]
    times: int = 1


def scenario(
    name: str, link: dict[str, Any], app: dict[str, Any], stack: str = "rfc", count: int = 1
) -> Document:
    """Hosts alike on a pipe."""
    return voxpath.load(
        {
            "name": name,
            "seed": 1,
            "topology": {"kind": "pipe", "link": link},
            "hosts": {"client": STACKS[stack], "server": STACKS[stack]},
            "flows": [{"name": "flow", "app": app} | ({"count": count} if count > 1 else {})],
        }
    )


def download(
    stack: str,
    size: str,
    loss: str = "",
    *,
    both: bool = False,
    rate: str = "",
    limit: str = "",
    times: int = 1,
) -> Case:
    """A download over 20 ms each way: under loss, of data only or both ways, or with a limit and no loss."""
    link: dict[str, Any] = {"delay": "20 ms"}
    what = f"{stack}; {size}"
    if rate:
        link["rate"] = rate
        what += f", {rate}"
    if loss:
        link |= {"loss": loss} if both else {"down": {"loss": loss}}
        what += f", {loss} lost" + (" both ways" if both else "")
    app = {"kind": "download", "request": "100 B", "response": size}
    document = scenario(what, link, app, stack)
    return Case(what, document, "completion_s", [limit] if limit else LOSS_MODELS, times)


def again(case: Case) -> Case:
    """The same set-up's retransmissions."""
    return Case(case.what, case.document, "server_retransmissions", ["expected_transmissions"])


def stream(rate: float) -> Case:
    """Datagrams of 250 bytes over a link with bit errors."""
    link = {"delay": "20 ms", "loss": {"kind": "bit_errors", "rate": rate}}
    app = {"kind": "cbr", "packet": "222 B", "interval": "1 ms", "packets": "5000 packets"}
    what = f"5000 IP packets of 250 B, BER {rate:g}"
    return Case(what, scenario(what, link, app), "datagrams_lost", ["bit_errors_exact", "bit_errors_linear"])


def streams(count: int) -> Case:
    """Streams that start at the same moment."""
    link = {"delay": "5 ms", "rate": "10 Mbit/s"}
    app = {"kind": "cbr", "packet": "972 B", "interval": "20 ms", "packets": "20 packets"}
    what = f"{count} streams of 1000 B each 20 ms that start together, 10 Mbit/s"
    return Case(what, scenario(what, link, app, count=count), "delay_max_ns", ["token_bucket"])


LOSSY = [
    *(download("rfc, 6 segments, per ACK", "10 MB", loss) for loss in ("0.1 %", "1 %", "10 %")),
    *(download("rfc, 6 segments", "10 MB", loss) for loss in ("1 %", "10 %")),
    *(download("linux, reno, 6 segments", "10 MB", loss) for loss in ("1 %", "10 %")),
    *(download("riverbed16", "10 MB", loss) for loss in ("1 %", "10 %")),
    download("rfc, 6 segments, per ACK", "10 MB", "1 %", both=True),
    *(download(stack, "100 MB", "0.1 %") for stack in ("rfc", "rfc, per ACK", "rfc, no delay")),
    *(download(stack, "10 MB", "1 %") for stack in ("rfc", "rfc, per ACK", "rfc, no delay")),
    download("rfc, per ACK", "10 MB", "3 %"),
    *(download("rfc, per ACK", size, "1 %", times=5) for size in ("10 kB", "100 kB")),
    download("rfc, per ACK", "1 MB", "1 %"),
]

CASES = [
    *(download("rfc, 6 segments", size, limit="window_limit") for size in ("10 kB", "100 kB", "10 MB")),
    download("rfc, 6 segments", "10 MB", rate="10 Mbit/s", limit="window_limit"),
    download("rfc", "100 kB", limit="window_limit"),
    download("rfc", "10 MB", rate="5 Mbit/s", limit="medium_limit"),
    *LOSSY,
    *(again(case) for case in LOSSY[:9]),
    again(download("rfc, 6 segments, SACK", "10 MB", "1 %")),
    stream(1e-5),
    stream(1e-4),
    streams(10),
    streams(20),
]


def published() -> Iterator[tuple[str, str, str, float, float]]:
    """Formula, set-up, where the value is from, their value, ours."""
    n = 1e7 / 1460
    study = "Sarkar et al. 2022"
    yield (
        "window_limit",
        "8760 B each 40 ms, 10 MB: s",
        f"{study}, (13)",
        45.66,
        1e7 / window_rate(8760, 0.04),
    )
    yield (
        "medium_limit",
        "1460 of 1538 B at 10 Mbit/s: B/s",
        f"{study}, (9)",
        1_186_605.98,
        medium_rate(1.25e6, 1460, 78),
    )
    for rate, size, right in ((1e-5, 1250, 9.52), (1e-5, 1500, 11.3), (1e-4, 1250, 63.2), (1e-4, 1500, 69.9)):
        ours = 100 * packet_error_rate(rate, size)
        yield "bit_errors_exact", f"BER {rate:g}, {size} B: %", f"{study}, Table 1, corrected", right, ours
    for p, needed in ((1e-4, 0.69), (1e-3, 6.86), (0.01, 69.2), (0.1, 761)):
        ours = transmissions(n, p) - n
        yield (
            "expected_transmissions",
            f"10 MB, {100 * p:g} % lost: segments",
            f"{study}, Table 7, corrected",
            needed,
            ours,
        )
    for p, timeout, full, short in (
        (0.01, 0.2, 61, None),
        (0.1, 0.2, 206, 254),
        (0.1, 1, 606, 848),
        (0.1, 3, 1606, 2333),
    ):
        what = f"6 segments each 42 ms, b = 2, T0 = {timeout:g} s, {100 * p:g} % lost, 10 MB: s"
        yield "pftk_full", what, "worked out apart", full, n / send_rate(p, 0.042, timeout, 6, 2)
        if short:
            yield "pftk_short", what, "worked out apart", short, n / approximate_rate(p, 0.042, timeout, 6, 2)
    for every, rounds in ((1, 4), (2, 9)):
        ours = rounds_to(8760, congestion_avoidance(4380, 1460, every))
        yield (
            "window_recovery",
            f"3 to 6 segments, {every} an acknowledgment: rounds",
            f"{study}, Table 9, corrected",
            rounds,
            ours,
        )


def by_hand() -> Iterator[tuple[str, str, str, float, float]]:
    """The same of values worked out here, from nothing but the equations as they are printed."""
    for every, constant in ((1, math.sqrt(3 / 2)), (2, math.sqrt(3 / 4))):
        what = f"1e-4 lost, 100 ms, {every} an acknowledgment: segments/s"
        source = "Mathis et al. 1997, C / (R √p)"
        yield "mathis", what, source, constant / (0.1 * math.sqrt(1e-4)), mathis_rate(1e-4, 0.1, every)
    q = _q(0.1, 6)
    yield "timeout_share", "6 segments, 10 % lost", "Padhye et al. 1998, Q(w)", q, timeout_share(0.1, 6)
    for size in (1250, 1500):
        per = 8 * size * 1e-6
        ours = packet_error_rate(1e-6, size, "linear")
        yield "bit_errors_linear", f"BER 1e-6, {size} B: %", "Sarkar et al. 2022, (3)", 100 * per, 100 * ours
    for load in (0.5, 0.8):
        wait = load / (2 * (1 - load))
        what = f"load {load:g}, service 1 ms: ms"
        yield "md1_wait", what, "Kleinrock 1975, ρ / 2(1 - ρ)", wait, 1e3 * md1_wait(load, 0.001)
    document = scenario(
        "one segment, 10 % lost",
        {"delay": "20 ms", "down": {"loss": "10 %"}},
        {"kind": "download", "request": "100 B", "response": "1 kB"},
        "rfc, 6 segments",
    )
    # SYN and SYN-ACK, of which the second is lost; the request's and the response's round; what a loss costs.
    opened = 0.04 + 1.0 * ((1 - 0.1) / (1 - 2 * 0.1) - 1)
    q = _q(0.1, (0.5 + 6) / 1.5)
    back_off = sum(0.1**power * factor for power, factor in enumerate((1, 1, 2, 4, 8, 16, 32)))
    lost = 0.1 * (q * back_off * 1.0 / 0.9 + (1 - q) * 0.04)
    (rows,) = FormulaBackend().answer([Question(document)])
    ours = next(row for row in rows if (row.estimator, row.metric) == ("cardwell", "completion_s"))
    what = "1 kB, 6 segments each 40 ms, T0 = 1 s, 10 % lost: s"
    yield "cardwell", what, "Cardwell et al. 2000, worked out here", opened + 0.04 / 6 + lost, ours.value
    what = "15,000 B at once into 1.5 MB/s that starts within 2 ms: ms"
    ours = 1e3 * token_bucket_delay(15_000, 1.5e6, 0.002)
    yield "token_bucket", what, "Cruz 1991, T + σ/C", 2 + 15_000 / 1.5e3, ours


def _q(p: float, w: float) -> float:
    """Q(w) of Padhye et al. 1998: the share of loss indications that are timeouts."""
    kept = 1 - p
    return min(1.0, (1 - kept**3) * (1 + kept**3 * (1 - kept ** (w - 3))) / (1 - kept**w))


def compared(
    cases: Sequence[Case], backend: SimBackend, replications: int
) -> Iterator[tuple[str, str, str, Row, Row]]:
    """Formula, set-up, metric, its row and the simulator's, where both have a value."""
    questions = {
        case.document.text: Question(case.document, range(replications * case.times)) for case in cases
    }
    simulated = dict(zip(questions, backend.answer(list(questions.values())), strict=True))
    estimated = dict(zip(questions, FormulaBackend().answer(list(questions.values())), strict=True))
    for case in cases:
        ours = longest(row for row in simulated[case.document.text] if row.metric == case.metric)
        for row in estimated[case.document.text]:
            wanted = row.entity == ours.entity and row.metric == case.metric
            if wanted and row.estimator in case.estimators and row.value is not None:
                yield row.estimator, case.what, case.metric, row, ours


def longest(rows: Iterable[Row]) -> Row:
    """Of several flows the one with the largest value: a bound is about that."""
    return max(rows, key=lambda row: row.value or 0)


def recoveries(backend: SimBackend) -> Iterator[tuple[str, str, float, Summary]]:
    """One lost segment, and the window's way back, read off the simulator's own trace."""
    for stack in ("rfc, 6 segments, per ACK, no delay", "rfc, 6 segments, per ACK", "rfc, 6 segments"):
        link = {"delay": "20 ms", "down": {"loss": {"kind": "list", "packets": [500]}}}
        app = {"kind": "download", "request": "100 B", "response": "2 MB"}
        document = scenario(f"{stack}; one lost", link, app, stack)
        ((outcome,),) = backend.run([Question(document)])
        series = pl.read_parquet(outcome.folder / "series.parquet").filter(pl.col("end") == "server")
        phase = series.filter(pl.col("metric") == "phase")
        repaired = phase.filter(pl.col("value") == 0).get_column("time_ns").max()
        window = series.filter((pl.col("metric") == "cwnd_bytes") & (pl.col("time_ns") >= repaired))
        back = window.filter(pl.col("value") >= 8760).get_column("time_ns").min()
        (rows,) = FormulaBackend().answer([Question(document)])
        row = next(row for row in rows if row.metric == "window_recovery_s")
        yield row.estimator, f"{stack}; one segment lost", row.value, summarise([(back - repaired) / 1e9])


def timeouts(backend: SimBackend, replications: int) -> Iterator[tuple[str, str, float, Summary]]:
    """How many losses in 100 end in a timeout: Q of Padhye et al. beside timeouts per retransmission."""
    for stack in ("rfc, 6 segments, per ACK", "riverbed16"):
        case = download(stack, "10 MB", "1 %")
        (outcomes,) = backend.run([Question(case.document, range(replications))])
        (found,) = flows([outcomes])
        shares = 100 * found.get_column("server_timeouts") / found.get_column("server_retransmissions")
        yield "timeout_share", case.what, 100 * timeout_share(0.01, 6), summarise(shares.to_list())


def random_arrivals(backend: SimBackend, load: float, packets: int, draws: int) -> Summary:
    """Mean wait in ms of datagrams that come at random: each is a flow of its own, one millisecond on the link."""
    documents = []
    for draw in range(draws):
        generator = random.Random(f"{load} {draw}")  # noqa: S311
        now, starts = 0.0, []
        for _ in range(packets):
            now += generator.expovariate(load / 1e6)
            starts.append(round(now))
        app = {"kind": "cbr", "packet": "1222 B", "interval": "1 s", "packets": "1 packets"}
        documents.append(
            voxpath.load(
                {
                    "name": f"random arrivals, load {load:g}, draw {draw}",
                    "topology": {"kind": "pipe", "link": {"rate": "10 Mbit/s", "delay": "1 ms"}},
                    "flows": [{"start": f"{start} ns", "app": app} for start in starts],
                }
            )
        )
    # The first tenth finds the queue emptier than it is in the long run.
    outcomes = backend.run([Question(document) for document in documents])
    delays = [each.get_column("delay_mean_ns")[packets // 10 :].mean() for each in flows(outcomes)]
    return summarise([delay / 1e6 - 2 for delay in delays])


def line(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |\n"


def measured(estimator: str, what: str, unit: str, value: float, ours: Summary) -> str:
    """A line of the table of the simulator."""
    error = "" if ours.mean == 0 else f"{round(100 * (value / ours.mean - 1), 1) + 0.0:+.1f}"
    mean = (
        f"{ours.mean:.4g}"
        if ours.half_width is None or ours.half_width < 1e-9
        else f"{ours.mean:.4g} ± {ours.half_width:.2g}"
    )
    return line([estimator, what, unit, f"{value:.4g}", mean, error])


UNITS = {
    "completion_s": ("s", 1.0),
    "server_retransmissions": ("segments", 1.0),
    "datagrams_lost": ("datagrams", 1.0),
    "delay_max_ns": ("ms, longest", 1e-6),
}


def page(folder: Path, replications: int, jobs: int) -> str:
    """The page for docs/."""
    backend = SimBackend(folder / "runs", Workers(jobs))
    traced = SimBackend(folder / "traced", observe=Observe(tcp=True))
    text = """# Closed forms beside the simulator

Written by `make formulas`; do not edit. Every formula is an estimator of its own and holds under its own assumptions.
Its docstring in [python/voxpath/backends/formula](../../python/voxpath/backends/formula) has equation, source and validity.
A formula has no line for a set-up to which it does not apply.

## Against published values
"Corrected" is the publication's own case without its misprint. "Worked out apart" was computed by hand before
this code was written. If the source is an equation, the bench itself computes the value from it.

| formula | set-up | source | theirs | ours | error, % |
| --- | --- | --- | ---: | ---: | ---: |
"""
    for estimator, what, source, theirs, ours in (*published(), *by_hand()):
        digits = 9 if theirs > 1e5 else 4
        error = f"{100 * (ours / theirs - 1):+.2f}".replace("-0.00", "+0.00")
        text += line([estimator, what, source, f"{theirs:.{max(digits, 5)}g}", f"{ours:.{digits}g}", error])
    text += f"""
## Against the simulator
Mean and 95 % t-interval of {replications} replications, and of five times as many for downloads of 10 and 100 kB under loss. A value
without interval is the same in each replication. The delay is 20 ms each way. Data is lost; acknowledgments are lost only in rows that say both ways. Stacks:
`6 segments` is a window of 8760 bytes. `per ACK` adds MSS²/cwnd for each acknowledgment; the others count bytes. `no delay`
acknowledges each segment, the others every second one. The error is that of the formula against the simulator's mean.

The causes of the larger errors:

- The window limit counts fractions of rounds. Its error is below one round trip, which is a large part of a short transfer.
- Padhye's and Cardwell's models lose the rest of a round with its first loss, and a share Q of the losses ends in a timeout
  (`timeout_share`). Here losses are independent, and far fewer end in a timeout: fewest with `rfc` (limited transmit, NewReno), more with
  `riverbed16` (neither). So the models are far too slow with a T0 of 1 s, and close with Linux's 0.24 s.
- `riverbed16` at 10 % is slower than all models. By Karn's rule it keeps a backed-off timeout until a segment is acknowledged that was
  sent once; the models start each loss from T0.
- The recovery of the window counts bytes in whole acknowledgments. Delayed acknowledgments make this coarse, by one round trip.

| formula | set-up | unit | formula | simulator | error, % |
| --- | --- | --- | ---: | ---: | ---: |
"""
    for estimator, what, metric, row, ours in compared(CASES, backend, replications):
        unit, scale = UNITS[metric]
        text += measured(estimator, what, unit, row.value * scale, ours.summary.scaled(scale))
    for estimator, what, value, ours in timeouts(backend, replications):
        text += measured(estimator, what, "% of losses", value, ours)
    for estimator, what, value, ours in recoveries(traced):
        text += measured(estimator, what, "s", value, ours)
    for load in (0.5, 0.8):
        ours = random_arrivals(backend, load, packets=1500, draws=10)
        text += measured(
            "md1_wait", f"1250 B at random on 10 Mbit/s, load {load:g}", "ms", md1_wait(load, 1.0), ours
        )
    return text


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=20, metavar="N", help="default %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(Path(folder), options.replications, os.cpu_count() or 1)
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text + f"\nwritten: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
