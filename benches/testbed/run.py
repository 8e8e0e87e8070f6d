#!/usr/bin/env python3
"""`make testbed`: the downloads of Sarkar et al. 2022 on today's kernel, in real time, beside everything that answers them.

Runs the study `sarkar2022` with the backend `real` too, and writes docs/testbed.md from its report. Runs are kept in
runs/, so that it goes on where it was interrupted.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page

from voxpath import _engine
from voxpath.backends.formula import FormulaBackend
from voxpath.backends.real.backend import ATTEMPTS, RealBackend
from voxpath.backends.real.session import RealError
from voxpath.backends.sim import SimBackend
from voxpath.live import View
from voxpath.report.document import Cell, Checks, Facts, Part, Section, Table, Text
from voxpath.studies import load
from voxpath.sweeps.answer import ask
from voxpath.sweeps.pool import processors
from voxpath.sweeps.workers import Workers
from voxpath.terminal import Progress

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "testbed.md"
SECTIONS = ("Table 8 beside today's kernel", "The testbed of Table 8")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="few runs, none at 10 %%; the page is only printed"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "runs", help="directory of the runs")
    parser.add_argument(
        "--kept", action="store_true", help="make no runs on the kernel, take those that are there"
    )
    options = parser.parse_args()
    study = load("sarkar2022")
    machine = page.machine()
    with Progress("testbed", None) as progress:
        backends = [
            SimBackend(options.out, Workers(processors()), on_done=lambda _: progress.advance()),
            FormulaBackend(),
            RealBackend(
                options.out,
                attempts=0 if options.kept else ATTEMPTS,
                at_once=study.real_at_once,
                on_done=lambda outcome: progress.advance(made=not outcome.reused),
                on_look=View(progress).look,
            ),
        ]
        try:
            answer = study.run(
                lambda questions, named: ask(
                    [(study.name, {}, question) for question in questions],
                    [backend for backend in backends if backend.name in named],
                ),
                options.quick,
            )
        except RealError as error:
            sys.stderr.write(f"no real hosts here: {error}\n")
            return 1
    text = f"""# Table 8 on today's kernel

Written by `make testbed`; do not edit. The downloads of Sarkar, Ammann and Zabir 2022 over a real network stack: 10,000,000
bytes with a window of 8760 bytes, what the [study](../python/voxpath/studies/sarkar2022/README.md) says of them, and why
today's kernel differs from the published testbed. Measured on {machine}; engine {_engine.BUILD}.

"""
    for section in answer.report.sections:
        if section.title in SECTIONS:
            text += "\n".join(section_lines(section)) + "\n"
    if options.quick:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")
    sys.stdout.write(f"{text}\nwritten: {PAGE.relative_to(ROOT)}\n")
    return 0


def section_lines(section: Section) -> Iterator[str]:
    """A section as Markdown."""
    yield f"## {section.title}"
    for part in section.parts:
        yield from part_lines(part)
        yield ""


def part_lines(part: Part) -> Iterator[str]:
    """A part as Markdown."""
    match part:
        case Text(paragraphs):
            for paragraph in paragraphs:
                yield from ("", paragraph)
        case Facts(title, facts):
            yield from (f"### {title}", "")
            yield from table_lines(("", ""), facts)
        case Table(title, columns, rows, notes):
            yield from (f"### {title}", "")
            yield from table_lines(columns, rows)
            for note in notes:
                yield from ("", note)
        case Checks(title, checks):
            yield from (f"### {title}", "")
            for check in checks:
                yield f"- {'Holds' if check.holds else '**Does not hold**'}: {check.claim} ({check.evidence})"
        case _:
            raise TypeError(f"a page has no {type(part).__name__}")


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str | Cell]]) -> Iterator[str]:
    """A table as Markdown."""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(str(cell).strip() for cell in row)} |"


if __name__ == "__main__":
    sys.exit(main())
