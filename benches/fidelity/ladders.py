#!/usr/bin/env python3
"""`make ladders`: kernel and simulator over the same exact losses, packet by packet.

Loses named packets of an upload (the nth with data, acknowledgments, the tail, a repetition, pairs) on real hosts and in the simulator's
`linux`, lays the ladders side by side and writes docs/measured/ladders.md.
"""
# SPDX-License-Identifier: Apache-2.0

import difflib
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import voxpath
from voxpath.backends.base import Question
from voxpath.backends.real.backend import RealBackend
from voxpath.backends.sim import SimBackend, observation
from voxpath.scenario import Document
from voxpath.sweeps.workers import Workers

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "ladders.md"

SEGMENTS = 30
MSS = 1448
RATE_MBIT = 20
"""Segments come 0.6 ms apart then, and whoever reads them on the kernel mostly wakes in between."""
BEFORE_DATA = 2
"""Packets of the sender before the first with data: those of the handshake."""
BEFORE_ACKS = 1
TOLERANCE_MS = 12.0
"""What a kernel's timer of a quarter of a second may be late, and we with it."""


@dataclass(frozen=True)
class Pattern:
    """What is lost.

    Attributes:
        name: In words.
        data: Packets of the sender, by their place among those with data, from 1; repetitions count.
        acks: Packets of the receiver, by their place behind the SYN|ACK.
    """

    name: str
    data: tuple[int, ...] = ()
    acks: tuple[int, ...] = ()


PATTERNS = (
    Pattern("nothing"),
    *(Pattern(f"data {n}", data=(n,)) for n in (1, 2, 5, 9, 10, 11, 20)),
    Pattern("the tail", data=(SEGMENTS,)),
    Pattern("the last two", data=(SEGMENTS - 1, SEGMENTS)),
    Pattern("the last three", data=(SEGMENTS - 2, SEGMENTS - 1, SEGMENTS)),
    Pattern("the head, two", data=(1, 2)),
    Pattern("neighbours", data=(5, 6)),
    Pattern("a pair with one between", data=(5, 7)),
    Pattern("three, one between each", data=(4, 6, 8)),
    Pattern("the first flight", data=tuple(range(1, 11))),
    *(Pattern(f"acknowledgment {n}", acks=(n,)) for n in (1, 2, 5)),
    Pattern("acknowledgments 1 to 5", acks=(1, 2, 3, 4, 5)),
)


@dataclass(frozen=True)
class Step:
    """A packet as it was sent: what it is, and when in milliseconds since the SYN."""

    what: tuple[int, ...]
    at_ms: float


@dataclass(frozen=True)
class Compared:
    """Two ladders of one direction, side by side.

    Attributes:
        ours: Packets in the simulator's.
        theirs: Packets in the kernel's.
        alike: Packets that both have, in the same order.
        off_ms: The most by which one of these differs in time.
        first: The first packet that only one of them has, if there is any.
    """

    ours: int
    theirs: int
    alike: int
    off_ms: float
    first: str


def scenario(pattern: Pattern, congestion: str) -> Document:
    """An upload of thirty segments over 25 ms each way; the last segment is full."""
    link: dict[str, Any] = {"delay": "25 ms", "rate": f"{RATE_MBIT} Mbit/s", "queue": "100 packets"}
    lists = {
        "up": [BEFORE_DATA + n for n in pattern.data],
        "down": [BEFORE_ACKS + n for n in pattern.acks],
    }
    for direction, packets in lists.items():
        if packets:
            link[direction] = {"loss": {"kind": "list", "packets": packets}}
    host = {"profile": "linux", "tcp": {"congestion": congestion}}
    return voxpath.load(
        {
            "name": f"{pattern.name}, {congestion}",
            "seed": 1,
            "duration": "20 s",
            "topology": {"kind": "pipe", "link": link},
            "hosts": {"client": host, "server": host},
            "flows": [
                {
                    "name": "upload",
                    "from": "client",
                    "to": "server",
                    "app": {"kind": "bulk", "size": f"{SEGMENTS * MSS} B"},
                }
            ],
        }
    )


def ladder(folder: Path, up: bool) -> list[Step]:
    """What one end has sent, in order, without the sender's bare acknowledgments; numbers count from its SYN, and the peer's."""
    packets = pl.read_parquet(folder / "packets.parquet").filter(pl.col("action") == "enqueued")
    is_up = pl.col("link").str.ends_with("ab")
    first = {way: packets.filter(is_up == way)["seq"][0] for way in (True, False)}
    start = packets["time_ns"][0]
    syn, fin, ack = 2, 1, 16
    steps = []
    for row in packets.filter(is_up == up).iter_rows(named=True):
        seq = (row["seq"] - first[up]) % 2**32
        acked = (row["ack"] - first[not up]) % 2**32 if row["tcp_flags"] & ack else 0
        flags = row["tcp_flags"] & (syn | fin)
        if up and not flags and not row["payload_bytes"]:
            continue
        what = (seq, row["payload_bytes"], flags) if up else (acked, flags)
        steps.append(Step(what, (row["time_ns"] - start) / 1e6))
    return steps


def compare(ours: Sequence[Step], theirs: Sequence[Step]) -> Compared:
    """Aligns two ladders."""
    matcher = difflib.SequenceMatcher(
        None, [step.what for step in ours], [step.what for step in theirs], autojunk=False
    )
    pairs = [
        (ours[block.a + i], theirs[block.b + i])
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    ]
    first = ""
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind != "equal":
            only = [("ours", step) for step in ours[a:a_end]] + [("kernel", step) for step in theirs[b:b_end]]
            who, step = min(only, key=lambda item: item[1].at_ms)
            first = f"{who} {step.what} at {step.at_ms:.0f} ms"
            break
    off = max((abs(a.at_ms - b.at_ms) for a, b in pairs), default=0.0)
    return Compared(len(ours), len(theirs), len(pairs), off, first)


def answers(backend: SimBackend | RealBackend, documents: Sequence[Document]) -> list[Path]:
    """The folders of the runs."""
    observe = observation(documents[0], ("packets",), ())
    backend.answer([Question(document, range(1), observe) for document in documents])
    return [outcomes[0].folder for outcomes in backend.outcomes]


def lines(congestion: str, sim: SimBackend, real: RealBackend) -> Iterator[str]:
    """A table's lines, one for each pattern."""
    ours_theirs = zip(
        PATTERNS,
        *(
            answers(backend, [scenario(pattern, congestion) for pattern in PATTERNS])
            for backend in (sim, real)
        ),
        strict=True,
    )
    for pattern, ours, theirs in ours_theirs:
        data = compare(ladder(ours, up=True), ladder(theirs, up=True))
        acks = compare(ladder(ours, up=False), ladder(theirs, up=False))
        same = data.alike == data.ours == data.theirs
        verdict = "agrees" if same and data.off_ms <= TOLERANCE_MS else "late" if same else "**differs**"
        yield (
            f"| {pattern.name} | {verdict} | {data.alike} of {data.ours}, {data.theirs} | {data.off_ms:.1f} | "
            f"{acks.alike} of {acks.ours}, {acks.theirs} | {data.first or acks.first} |\n"
        )


def main() -> int:
    """The command line."""
    text = f"""# Ladders: the kernel and ours over the same losses

Written by `make ladders`; do not edit. Linux {platform.release().split("-")[0]} on real hosts beside the simulator's `linux`: an upload of {SEGMENTS} segments of {MSS} octets over
25 ms each way at {RATE_MBIT} Mbit/s, of which exactly the named packets are lost (counted among those with data, or after the SYN|ACK). There is one run of each.

"Agrees": the sender's packets are the same, in the same order, none more than {TOLERANCE_MS:g} ms apart; "late": the same packets, further apart. The counts are of equal
packets, of ours, and of the kernel's. The last column is the first packet that only one of them has: for the sender (first octet, octets, SYN 2 or FIN 1), for the receiver
(acknowledged octets and the same numbers). Bare acknowledgments of the sender are left out.
"""
    agreed = total = 0
    with tempfile.TemporaryDirectory() as folder:
        sim = SimBackend(Path(folder) / "sim", Workers(1))
        real = RealBackend(Path(folder) / "real")
        for congestion in ("reno", "cubic"):
            text += f"\n## {congestion}\n\n| lost | sender | data | most apart, ms | acknowledgments | first difference |\n"
            text += "| --- | --- | --- | ---: | --- | --- |\n"
            for line in lines(congestion, sim, real):
                total += 1
                agreed += "| agrees |" in line
                text += line
    text += f"\n{agreed} of {total} agree.\n"
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text + f"\nwritten: {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
