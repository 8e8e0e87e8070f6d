"""What programs did in runs on real hosts: how they ended, and their TCP connections."""

from __future__ import annotations

import itertools
import json
import shlex
from typing import TYPE_CHECKING

from voxpath import texts
from voxpath.document import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import polars as pl

    Runs = Sequence[tuple[str, Path]]
    """What a run is called, and its folder."""

_SAID_WIDTH = 100
_SHOWN_LINES = 20

_HEADS = (
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


def tables_of(runs: Runs) -> Iterator[Table]:
    """How programs ended, and what came of their connections; nothing where there were none."""
    programs = [line for run in runs for line in _programs(*run)]
    if programs:
        yield _table("programs", ["run", "host", "program", "ended", "said last"], programs, ())
    connections = [line for run in runs for line in _connections(*run)]
    if connections:
        shown = connections[:_SHOWN_LINES]
        left = len(connections) - len(shown)
        note = (
            f"{left} lines more: voxpath show {shlex.quote(str(runs[0][1]))} --table connections --save FILE"
        )
        title = "TCP connections of programs"
        yield _table(title, ["run", *_HEADS], shown, _SPARE, (note,) if left else ())


def told(runs: Runs) -> str:
    """The connection over which most data went, in a sentence; empty without any."""
    return _told([row for _, folder in runs for row in _of_programs(folder)])


def connections_told(connections: pl.DataFrame) -> str:
    """The same of one run, whose table of connections this is."""
    if "opened_ns" not in connections.columns:
        return ""
    return _told([row for row in connections.iter_rows(named=True) if row["opened_ns"] is not None])


def _told(rows: Sequence[Mapping[str, Any]]) -> str:
    ends = [row for row in rows if row["bytes_delivered"]]
    if not ends:
        return ""
    row = max(ends, key=lambda end: end["bytes_delivered"])
    rate, seconds, round_trip, retransmitted, *_ = _numbers(row)
    number = len({row["flow"] for row in rows})
    count = "one TCP connection" if number == 1 else f"{number} TCP connections"
    return (
        f"Programs had {count}. Most data went over {row['flow']}: {rate} Mbit/s from {row['host']} in "
        f"{seconds} s, with a round trip of {round_trip} ms at the end and {retransmitted} segments "
        "retransmitted."
    )


def _table(
    title: str,
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    spare: Sequence[str],
    notes: Sequence[str] = (),
) -> Table:
    """Without the columns in which nothing stands."""
    used = [index for index in range(len(heads)) if any(line[index] for line in lines)]
    rows = [[line[index] for index in used] for line in lines]
    return Table(title, [heads[index] for index in used], rows, notes, spare)


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    if (folder / f"{name}.parquet").is_file():
        import polars as pl

        yield from pl.read_parquet(folder / f"{name}.parquet", glob=False).iter_rows(named=True)


def _programs(run: str, folder: Path) -> Iterator[list[str]]:
    """How each program ended, and the last that it said."""
    for number, program in enumerate(_rows(folder, "programs")):
        said = [
            line
            for name in ("stderr", "stdout")
            for line in _said(folder / "programs" / f"{program['host']}.{name}")
        ]
        code = program["exit_code"]
        yield [
            run if number == 0 else "",
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
    said = (texts.plain(line).strip() for line in text.splitlines())
    return [line[:_SAID_WIDTH] for line in said if line]


def _of_programs(folder: Path) -> Iterator[dict[str, Any]]:
    """The ends of programs' connections: the network had to see when they began."""
    return (row for row in _rows(folder, "connections") if row.get("opened_ns") is not None)


def _connections(run: str, folder: Path) -> Iterator[list[str]]:
    """Each connection, in each direction in which data went."""
    called = run
    for flow, both in itertools.groupby(_of_programs(folder), lambda row: row["flow"]):
        ends = list(both)
        talking = [row for row in ends if row["bytes_delivered"]] or ends[:1]
        for number, row in enumerate(talking):
            yield [called, flow if number == 0 else "", row["host"], *_numbers(row)]
            called = ""


def _numbers(row: Mapping[str, Any]) -> list[str]:
    sent = row["data_segments_sent"]
    again = row["retransmissions"]
    of = f" of {sent}" if sent is not None else ""
    return [
        _scaled(row["goodput_bps"], 1e-6),
        _scaled(row["ended_ns"] - row["opened_ns"], 1e-9),
        _scaled(row["srtt_ns"], 1e-6),
        "" if again is None else f"{again}{of}",
        _scaled(row["min_rtt_ns"], 1e-6),
        _scaled(row["bytes_delivered"], 1),
        _scaled(row["timeouts"], 1),
    ]


def _scaled(value: float | None, factor: float) -> str:
    if value is None:
        return ""
    return str(value) if factor == 1 else f"{value * factor:.3g}"


def unknown(folder: Path) -> str | None:
    """Why nothing is known of connections."""
    try:
        found: str | None = json.loads((folder / "fidelity.json").read_bytes())["connections_unknown_because"]
    except (OSError, ValueError, KeyError):
        return None
    return found
