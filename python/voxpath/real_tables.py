"""What programs did in runs on real hosts, for the terminal: how they ended, and their connections."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from voxpath import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

_SAID_WIDTH = 100
_SHOWN_LINES = 20
_ENDS = ("client", "server")

HEADS = (
    "replication",
    "connection",
    "data from",
    "Mbit/s",
    "s",
    "round trip ms",
    "retransmitted",
    "least ms",
    "bytes",
    "timeouts",
)
"""Of the table of connections. A line is of one direction, so that what its sender's TCP found is its own."""

_SPARE = ("timeouts", "bytes", "least ms", "s")


def print_all(runs: Sequence[tuple[int, Path]]) -> None:
    """Prints what programs did, where there were any.

    Args:
        runs: Replication and folder of each.
    """
    several = len(runs) > 1
    programs = [line for run in runs for line in _programs(*run)]
    if programs:
        heads = ["replication", "host", "program", "ended", "said last"]
        _print("programs", heads, programs, (), several=several)
    connections = [line for run in runs for line in _connections(*run)]
    if connections:
        shown = connections[:_SHOWN_LINES]
        _print("TCP connections of programs", HEADS, shown, _SPARE, several=several)
        if len(connections) > len(shown):
            left = len(connections) - len(shown)
            terminal.console().print(
                f"{left} lines more: voxpath show {runs[0][1]} --table connections --save FILE"
            )
    for _, folder in runs:
        if reason := _unknown(folder):
            terminal.console().print(f"{folder}: TCP connections of programs are not known: {reason}")


def _print(
    title: str,
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    spare: Sequence[str],
    *,
    several: bool,
) -> None:
    used = [index for index in range(len(heads)) if index > 0 or several]
    used = [index for index in used if any(line[index] for line in lines)]
    shown = [[line[index] for index in used] for line in lines]
    terminal.print_table(title, [heads[index] for index in used], shown, spare)


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    if (folder / f"{name}.parquet").is_file():
        import polars as pl

        yield from pl.read_parquet(folder / f"{name}.parquet", glob=False).iter_rows(named=True)


def _programs(replication: int, folder: Path) -> Iterator[list[str]]:
    """How each program ended, and the last that it said."""
    for number, program in enumerate(_rows(folder, "programs")):
        said = [
            line
            for name in ("stderr", "stdout")
            for line in _said(folder / "programs" / f"{program['host']}.{name}")
        ]
        code = program["exit_code"]
        yield [
            str(replication) if number == 0 else "",
            program["host"],
            program["command"].split("\n")[0],
            "served until the end" if code is None else f"exit code {code}",
            said[-1] if said else "",
        ]


def _said(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return []
    said = (terminal.plain(line).strip() for line in text.splitlines())
    return [line[:_SAID_WIDTH] for line in said if line]


def _connections(replication: int, folder: Path) -> Iterator[list[str]]:
    """Each connection, in each direction in which data went."""
    first = True
    for row in _rows(folder, "connections"):
        talking = [end for end in _ENDS if row[f"{end}_bytes_delivered"]] or [_ENDS[0]]
        for number, end in enumerate(talking):
            yield [
                str(replication) if first else "",
                row["connection"] if number == 0 else "",
                row[end],
                *_numbers(row, end),
            ]
            first = False


def _numbers(row: Mapping[str, Any], end: str) -> list[str]:
    sent = row[f"{end}_data_segments_sent"]
    again = row[f"{end}_retransmissions"]
    of = f" of {sent}" if sent is not None else ""
    return [
        _scaled(row[f"{end}_goodput_bps"], 1e-6),
        _scaled(row["ended_ns"] - row["opened_ns"], 1e-9),
        _scaled(row[f"{end}_srtt_ns"], 1e-6),
        "" if again is None else f"{again}{of}",
        _scaled(row[f"{end}_min_rtt_ns"], 1e-6),
        _scaled(row[f"{end}_bytes_delivered"], 1),
        _scaled(row[f"{end}_timeouts"], 1),
    ]


def _scaled(value: float | None, factor: float) -> str:
    if value is None:
        return ""
    return str(value) if factor == 1 else f"{value * factor:.3g}"


def _unknown(folder: Path) -> str | None:
    """Why nothing is known of connections."""
    try:
        found: str | None = json.loads((folder / "fidelity.json").read_bytes())["connections_unknown_because"]
    except (OSError, ValueError, KeyError):
        return None
    return found
