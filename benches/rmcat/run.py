#!/usr/bin/env python3
"""`make rmcat`: the test cases of RFC 8867 with every rate control, as a page with a figure of each case.

Runs the study `rfc8867` and writes docs/measured/rmcat.md, the figures beside it, and scenarios/rmcat. Runs are kept in runs/, so that it
goes on where it was interrupted. `--scenarios` writes the scenario files alone; `--logs FOLDER` has the logs of RFC 8868 of a run of each
case: what tshark reads in a capture at the receiver.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import page
from studies import ROOT, RUNS, answering, part_lines, section_lines
from svg import sheet

import voxpath
from voxpath import _engine
from voxpath.document import Section
from voxpath.scenario import from_dict
from voxpath.studies.rfc8867 import compare, figures
from voxpath.studies.rfc8867.cases import CASES, scenario
from voxpath.studies.rfc8867.questions import CONTROLS, FULL, QUICK, Cell, Found, ask_all

PAGE = ROOT / "docs" / "measured" / "rmcat.md"
IMAGES = PAGE.parent / "rmcat"
SCENARIOS = ROOT / "scenarios" / "rmcat"

FIELDS = (
    "frame.time_epoch",
    "rtp.p_type",
    "rtp.ssrc",
    "rtp.seq",
    "rtp.timestamp",
    "rtp.marker",
    "udp.length",
)
"""RFC 8868 section 3: time, payload type, source, sequence number, timestamp, marker, size."""

_HEAD = """# Rate controls in the test cases of RFC 8867

Written by `make rmcat`; do not edit. The study [rfc8867](../../python/voxpath/studies/rfc8867/README.md) says what is measured and how the RFC is read;
[scenarios/rmcat](../../scenarios/rmcat) has the cases as files. Measured on {machine}; engine {build}; {replications} replications, and up to {most} of a case and
control with an expectation that fewer do not decide.

"""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few cases and runs; the page is only printed")
    parser.add_argument("--out", type=Path, default=RUNS, help="directory of the runs")
    parser.add_argument("--scenarios", action="store_true", help="write the scenario files, and no more")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="write the logs of RFC 8868, and no more")
    options = parser.parse_args()
    if options.logs is not None:
        return logs(options.logs)
    write_scenarios()
    if options.scenarios:
        return 0
    machine = page.machine()
    effort = QUICK if options.quick else FULL
    with answering("rfc8867", options.out) as ask:
        found = ask_all(ask, effort, compare.undecided)
    head = _HEAD.format(
        machine=machine, build=_engine.BUILD, replications=effort.replications, most=effort.most
    )
    text = head + "\n".join(lines(found, options.quick)) + "\n"
    if options.quick:
        sys.stdout.write(text)
        return 0
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    return 0


def lines(found: Found, quick: bool) -> Iterator[str]:
    """The page."""
    for sentence in compare.headline(found):
        yield from (sentence, "")
    for section in found.effort.sections:
        yield f"## {section} {CASES[section].title}"
        name = f"case-{section}.svg"
        if not quick:
            IMAGES.mkdir(exist_ok=True)
            (IMAGES / name).write_text(figure(found, section), encoding="utf-8")
        yield from ("", f"![Rates and queueing delays of case {section}](rmcat/{name})", "")
        yield from part_lines(compare.case_table(found, section))
        yield ""
    yield from section_lines(Section("What the RFC expects", [compare.verdict_table(found)]))
    if "5.6" in found.effort.sections:
        yield from section_lines(compare.dispute(found))


def figure(found: Found, section: str) -> str:
    """A case: for each control the rates of a run above, its queueing delays below."""
    columns = []
    for control in found.effort.controls:
        run = found.runs(Cell(section, control))[0]
        columns.append([figures.rates(run, control), figures.delays(run, control)])
    return sheet(f"{section} {CASES[section].title}", columns, figures.CAPACITY)


def write_scenarios() -> None:
    """A file for each case, whose sweep goes through the rate controls."""
    SCENARIOS.mkdir(exist_ok=True)
    for section, case in CASES.items():
        (SCENARIOS / f"{section}.toml").write_text(scenario_text(section, case.title), encoding="utf-8")


def scenario_text(section: str, title: str) -> str:
    """A case as a file."""
    made = scenario(section, {"kind": "gcc"})
    made["name"] = f"RFC 8867, {section}: {title[0].lower()}{title[1:]}"
    head = (
        f"# RFC 8867, section {section}: {title}.\n"
        "# Written by `make rmcat` from python/voxpath/studies/rfc8867/cases.py, which says how the RFC is read.\n"
        f"#   voxpath run scenarios/rmcat/{section}.toml\n"
    )
    return head + "\n".join(toml(made)) + "\n"


def toml(data: Mapping[str, Any]) -> Iterator[str]:
    """A scenario as TOML: tables of the first level, arrays of tables, everything deeper in one line."""
    for key, value in data.items():
        if not isinstance(value, dict) and not _is_tables(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in data.items():
        if isinstance(value, dict) and value:
            plain = {name: one for name, one in value.items() if not _is_tables(one)}
            deep = {name: one for name, one in value.items() if _is_tables(one)}
            yield from ("", f"[{_key(key)}]")
            yield from (f"{_key(name)} = {_value(one)}" for name, one in plain.items())
            for name, tables in deep.items():
                for table in tables:
                    yield from ("", f"[[{_key(key)}.{_key(name)}]]")
                    yield from (f"{_key(inner)} = {_value(one)}" for inner, one in table.items())
        elif _is_tables(value):
            for table in value:
                yield from ("", f"[[{_key(key)}]]")
                yield from (f"{_key(name)} = {_value(one)}" for name, one in table.items())


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else f'"{key}"'


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{ {', '.join(f'{_key(key)} = {_value(one)}' for key, one in value.items())} }}"
        case _:
            return str(value)


def logs(folder: Path) -> int:
    """The packets that each receiver of media got, in a file for each case, control and receiver."""
    folder.mkdir(parents=True, exist_ok=True)
    for section, case in CASES.items():
        for control, table in CONTROLS.items():
            hosts = [f"r{number}" for number in range(1, len(case.flows) + 1)]
            with tempfile.TemporaryDirectory() as made:
                document = from_dict(scenario(section, table))
                found = voxpath.run(document, out=made, capture=hosts, backends=["sim"], replication=0)
                for capture in sorted(found.folders[0].glob("*.pcapng")):
                    name = f"{section}-{control.replace(' ', '-')}-{capture.stem}.tsv"
                    (folder / name).write_text(log(capture), encoding="utf-8")
    sys.stdout.write(f"written: {folder}\n")
    return 0


def log(capture: Path) -> str:
    """What came in a capture, as RFC 8868 wants it logged."""
    command = [
        "tshark",
        "-r",
        str(capture),
        "-d",
        "udp.port==1-65535,rtp",
        "-Y",
        "rtp.version == 2 && rtp.p_type < 128",
    ]
    command += ["-T", "fields", "-E", "header=y", *(word for field in FIELDS for word in ("-e", field))]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
