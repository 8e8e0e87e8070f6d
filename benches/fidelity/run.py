#!/usr/bin/env python3
"""`make fidelity`: how far our stacks are from a live kernel and from other simulators, set-up by set-up.

Reads reference.toml, simulates each of its set-ups, and writes docs/measured/fidelity.md. It states distances and passes no
verdict: closing them is the work on TCP.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import os
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import voxpath
from voxpath.backends.base import Question
from voxpath.backends.sim import SimBackend
from voxpath.results.rows import Row
from voxpath.scenario import Document
from voxpath.sweeps.workers import Workers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "measured" / "fidelity.md"

PLAIN = {
    "receive_buffer": "8760 B",
    "window_scaling": False,
    "sack": False,
    "timestamps": False,
    "nagle": False,
}
"""The window of the study, and the options that it was measured without."""

STACKS: dict[str, dict[str, Any]] = {
    "linux": {"profile": "linux", "tcp": {**PLAIN, "congestion": "reno"}},
    # `tcp_reordering` is the number of duplicates that signal a loss.
    "linux, reordering 10": {
        "profile": "linux",
        "tcp": {**PLAIN, "congestion": "reno", "dupack_threshold": 10},
    },
    "rfc": {"profile": "rfc", "tcp": PLAIN},
    "rfc, reno, RTO from 0.2 s": {
        "profile": "rfc",
        "tcp": {**PLAIN, "recovery": "reno", "rto": {"min": "200 ms"}},
    },
}

IPERF_S = 10


def download(setup: dict[str, Any], loss: str) -> Document:
    """One set-up as a scenario."""
    link: dict[str, Any] = {"delay": setup["delay"]}
    if "rate" in setup:
        link["rate"] = setup["rate"]
    if setup["direction"] == "both":
        link["loss"] = loss
    else:
        link["down"] = {"loss": loss}
    return voxpath.load(
        {
            "name": f"{setup['name']}, {loss}",
            "seed": 1,
            "topology": {"kind": "pipe", "link": link},
            "hosts": {"client": STACKS[setup["stack"]], "server": STACKS[setup["stack"]]},
            "flows": [
                {
                    "name": "flow",
                    "from": "client",
                    "to": "server",
                    "app": {"kind": "download", "request": "100 B", "response": "10 MB"},
                }
            ],
        }
    )


def iperf(congestion: str, row: dict[str, Any]) -> Document:
    """A bulk transfer for a fixed time."""
    host = {"profile": "linux", "tcp": {"congestion": congestion}}
    return voxpath.load(
        {
            "name": f"iperf, {congestion}, {row['rate']}",
            "seed": 1,
            "duration": f"{IPERF_S} s",
            "topology": {
                "kind": "pipe",
                "link": {"rate": row["rate"], "delay": "20 ms", "queue": row["queue"]},
            },
            "hosts": {"client": host, "server": host},
            "flows": [{"name": "flow", "from": "client", "to": "server", "app": {"kind": "bulk"}}],
        }
    )


def theirs(row: dict[str, Any]) -> tuple[float, str]:
    """The reference's mean, and how it is printed."""
    if "mean" in row:
        return row["mean"], f"{row['mean']:g} ± {row['sd']:g} (sd of {row['n']})"
    values: list[float] = row["values"]
    return statistics.fmean(values), ", ".join(f"{value:g}" for value in values)


def answer(backend: SimBackend, documents: list[Document], replications: int, metric: str) -> Iterator[Row]:
    """One metric of the only flow of each scenario."""
    questions = [Question(document, range(replications)) for document in documents]
    for rows in backend.answer(questions):
        yield next(row for row in rows if row.metric == metric)


def line(label: str, printed: str, reference: float, row: Row, scale: float) -> str:
    """A line of a table."""
    if row.summary is None:
        return f"| {label} | {printed} | {row.reason} | |\n"
    ours = row.summary.scaled(scale)
    return f"| {label} | {printed} | {ours} | {ours.mean / reference - 1:+.1%} |\n"


def page(backend: SimBackend, replications: int) -> str:
    """The page for docs/."""
    reference = tomllib.loads((HERE / "reference.toml").read_text(encoding="utf-8"))
    text = f"""# How far we are from others

Written by `make fidelity`; do not edit. "Ours" is the mean and the 95 % t-interval of {replications} replications. "Theirs" is from
[benches/fidelity/reference.toml](../../benches/fidelity/reference.toml), which says how it was measured. [LIMITATIONS.md](../../LIMITATIONS.md) lists what is
missing in our `linux`.

## Download of 10,000,000 bytes with a window of 8760 bytes: seconds
"""
    sets = reference["set"]
    documents = [download(setup, row["loss"]) for setup in sets for row in setup["rows"]]
    answers = answer(backend, documents, replications, "completion_s")
    for setup in sets:
        text += f"\n### {setup['name']}\nOurs: `{setup['stack']}`.\n\n"
        text += "| loss | theirs | ours | difference |\n| --- | ---: | ---: | ---: |\n"
        for row in setup["rows"]:
            mean, printed = theirs(row)
            text += line(row["loss"], printed, mean, next(answers), 1)

    text += f"\n## Goodput of one bulk flow over {IPERF_S} s: Mbit/s\n"
    documents = [iperf(group["congestion"], row) for group in reference["goodput"] for row in group["rows"]]
    # Nothing is random in these.
    answers = answer(backend, documents, 1, "goodput_bps")
    for group in reference["goodput"]:
        text += (
            f"\n### {group['name']}\n\n| rate | theirs | ours | difference |\n| --- | ---: | ---: | ---: |\n"
        )
        for row in group["rows"]:
            text += line(row["rate"], f"{row['value']:g}", row["value"], next(answers), 1e-6)
    return text


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=30, metavar="N", help="default %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(SimBackend(Path(folder), Workers(os.cpu_count() or 1)), options.replications)
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text + f"\nwritten: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
