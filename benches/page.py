"""The page that benchmarks write, docs/measured/benchmarks.md: its sections, and on what and of which code they were measured."""
# SPDX-License-Identifier: Apache-2.0

import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "benchmarks.md"

PEERS = "The dumbbell beside ns-3, ns-2 and SimPy"
HOP = "What a hop costs"
SCALE = "Many flows, idle flows, observed flows"
SUBFLOWS = "Two subflows beside one flow"
SWEEPS = "Sweeps, and the start of the command line"
ECHO = "Echo cancellers"

SECTIONS = {
    PEERS: "make bench",
    HOP: "make bench",
    SCALE: "make bench-scale",
    SUBFLOWS: "make bench-mptcp",
    SWEEPS: "make bench-sweep",
    ECHO: "make bench-aec",
}
"""All of them in their order, and what renews each; `make bench` renews every one."""

_HEAD = """# Benchmarks

Written by `make bench`; do not edit. Every section names the machine and the commit of its measurement.

| section | renewed by | measured | |
| --- | --- | --- | --- |
{rows}
"""

_STAMP = re.compile(
    r"^Measured on: .*; commit (?P<commit>\w+) of (?P<day>[\d-]+)(?P<changed>, with changes)?\.$",
    re.MULTILINE,
)


def machine() -> str:
    """What the numbers are measured on, and what else it does now."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load average {os.getloadavg()[0]:.1f} at the start"


def section(text: str, title: str) -> str:
    """What a page says in a section; empty if it has none of that title."""
    return sections(text).get(title, "")


def measured_on() -> str:
    """What a section says that it was measured on, and of which code: `Measured on: …`."""
    commit, day = _git("log", "-1", "--format=%h %cs").split()
    changed = (
        ", with changes"
        if _git("status", "--porcelain", "--untracked-files=no", "--", "crates", "python")
        else ""
    )
    return f"{machine()}; commit {commit} of {day}{changed}"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603, S607
    return done.stdout.strip()


def renew(title: str, body: str) -> None:
    """Writes a section of the benchmarks' page; the others stay as they are."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else _HEAD
    PAGE.write_text(whole(with_section(text, title, body)), encoding="utf-8")


def whole(text: str) -> str:
    """The benchmarks' page with its sections in their order, and a head that says how old each is."""
    found = sections(text)
    unknown = set(found) - set(SECTIONS)
    if unknown:
        raise ValueError(f"{PAGE.name} has sections that nothing renews: {', '.join(sorted(unknown))}")
    ordered = {title: found[title] for title in SECTIONS if title in found}
    head = _HEAD.format(rows="\n".join(_rows(ordered)))
    return "\n".join([head, *(f"## {title}\n{body.strip()}\n" for title, body in ordered.items())])


def _rows(found: dict[str, str]) -> list[str]:
    stamps = {title: _STAMP.search(body) for title, body in found.items()}
    latest = max((made["day"], made["commit"]) for made in stamps.values() if made)
    rows = []
    for title, command in SECTIONS.items():
        made = stamps.get(title)
        if made is None:
            rows.append(f"| {title} | `{command}` | not yet | |")
            continue
        measured = f"{made['day']}, commit {made['commit']}{made['changed'] or ''}"
        age = "older than the latest" if made["day"] < latest[0] else ""
        link = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        rows.append(f"| [{title}](#{link}) | `{command}` | {measured} | {age} |")
    return rows


def sections(text: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def with_section(text: str, title: str, body: str) -> str:
    """A page in which a section says something else; at the end if it has none of that title."""
    section = f"## {title}\n{body.strip()}\n"
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return f"{text.rstrip()}\n\n{section}"
    rest = text[found.end() :]
    return text[: found.start()] + section + (f"\n{rest}" if rest else "")
