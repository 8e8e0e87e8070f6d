#!/usr/bin/env python3
"""`make classes`: the simulated `linux` beside a live kernel over what the grid of bulk transfers does not have.

Requests with Nagle's algorithm on and off, packets that overtake each other, jitter, traffic both ways over an asymmetric link, two
congestion controls at one bottleneck, queue disciplines, a recorded capacity, outages. `--record N` adds what is missing to N runs of
the kernel a cell to classes.jsonl; without it, each cell is simulated for the same runs, and its lines in docs/measured/grid.md are written.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import beside
import page

RECORD = Path(__file__).resolve().parent / "classes.jsonl"
PAGE = beside.ROOT / "docs" / "measured" / "grid.md"
TITLE = "Off the grid"
RUNS = 8
SHARE = 0.9


def scenario(
    link: dict[str, Any], flows: Sequence[dict[str, Any]], congestion: str = "cubic", **more: Any
) -> dict[str, Any]:
    """A pipe between two hosts."""
    host = {"profile": "linux", "tcp": {"congestion": congestion}}
    return {
        "name": "cell",
        "seed": 1,
        "topology": {"kind": "pipe", "link": link},
        "hosts": {"client": host, "server": host},
        "flows": list(flows),
        **more,
    }


def bulk(size: str | None = "10 MB", **more: Any) -> dict[str, Any]:
    """A transfer to the server."""
    app = {"kind": "bulk"} | ({} if size is None else {"size": size})
    return {"name": "bulk", "from": "client", "to": "server", "app": app, **more}


def cells() -> Iterator[beside.Case]:
    """Every cell."""
    for group, some in (
        ("requests", requests()),
        ("reordering", reordering()),
        ("jitter", jitter()),
        ("both ways", both_ways()),
        ("mixed congestion controls", mixed()),
        ("queue disciplines", disciplines()),
        ("capacity and outages", capacities()),
        ("bursts and small windows", others()),
    ):
        for name, data in some:
            yield beside.Case(f"{group}: {name}", group, data | {"name": name})


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Answers and requests of several segments."""
    link = {"rate": "20 Mbit/s", "delay": "30 ms", "queue": "100 packets"}
    pages = {"kind": "download", "request": "200 B", "response": "20 kB", "requests": 10, "pause": "100 ms"}
    voice = {
        "kind": "voice",
        "blocks": 9,
        "block": "2475 B",
        "interval": "300 ms",
        "partial": "100 B",
        "answer": "750 B",
        "processing": "50 ms",
        "requests": 3,
        "pause": "500 ms",
    }
    updates = [
        ["1 s", "220 B"],
        ["1.25 s", "220 B"],
        ["1.5 s", "2200 B"],
        ["1.55 s", "600 B"],
        ["3 s", "4000 B"],
    ]
    push = {"kind": "push", "way": "streaming", "updates": updates}
    for nagle in (True, False):
        tcp = {"kind": "tcp", "nagle": nagle}
        how = f"Nagle {'on' if nagle else 'off'}"
        for loss in ("0 %", "0.7 %"):
            flow = {"name": "answers", "app": pages, "transport": tcp}
            yield f"ten answers of 20 kB, {loss}, {how}", scenario(link | {"loss": loss}, [flow])
        for delay in ("10 ms", "75 ms"):
            flow = {"name": "voice", "app": voice, "transport": tcp}
            lossy = link | {"rate": "5 Mbit/s", "delay": delay, "loss": "0.5 %"}
            yield f"voice in blocks of 2475 B, {delay}, {how}", scenario(lossy, [flow])
        flow = {"name": "push", "app": push, "transport": tcp}
        yield f"updates of up to 4 kB, {how}", scenario(link | {"loss": "1 %"}, [flow])


def reordering() -> Iterator[tuple[str, dict[str, Any]]]:
    """Packets that overtake each other."""
    link = {"rate": "20 Mbit/s", "delay": "30 ms", "queue": "100 packets"}
    late = {"probability": "2 %", "by": "15 ms"}
    for congestion in ("reno", "cubic", "bbr"):
        data = scenario(link | {"up": {"reorder": late}}, [bulk()], congestion)
        yield f"2 % overtaken by 15 ms, {congestion}", data
    lossy = link | {"up": {"reorder": late, "loss": "0.5 %"}}
    for congestion in ("reno", "cubic"):
        yield f"2 % overtaken by 15 ms, 0.5 % lost, {congestion}", scenario(lossy, [bulk("5 MB")], congestion)
    for share, by in (("0.2 %", "5 ms"), ("10 %", "3 ms")):
        data = scenario(link | {"up": {"reorder": {"probability": share, "by": by}}}, [bulk()])
        yield f"{share} overtaken by {by}, cubic", data


def jitter() -> Iterator[tuple[str, dict[str, Any]]]:
    """Delays that vary."""
    for congestion in ("reno", "cubic", "bbr"):
        delay = {"kind": "normal", "mean": "30 ms", "deviation": "5 ms"}
        data = scenario({"rate": "20 Mbit/s", "queue": "100 packets", "delay": delay}, [bulk()], congestion)
        yield f"jitter of 5 ms, {congestion}", data
    for deviation, reorder in (("1 ms", False), ("2 ms", True)):
        delay: dict[str, Any] = {
            "kind": "normal",
            "mean": "30 ms",
            "deviation": deviation,
            "reorder": reorder,
        }
        data = scenario({"rate": "20 Mbit/s", "queue": "100 packets", "delay": delay}, [bulk()])
        yield f"jitter of {deviation}{' with overtaking' if reorder else ''}, cubic", data


def both_ways() -> Iterator[tuple[str, dict[str, Any]]]:
    """Transfers in both directions over an asymmetric link."""
    for down, up, queue in (
        ("20 Mbit/s", "1 Mbit/s", 20),
        ("20 Mbit/s", "1 Mbit/s", 100),
        ("10 Mbit/s", "2 Mbit/s", 50),
    ):
        link = {
            "delay": "20 ms",
            "down": {"rate": down, "queue": "100 packets"},
            "up": {"rate": up, "queue": f"{queue} packets"},
        }
        flows = [bulk(None, name="up"), bulk(None, name="down") | {"from": "server", "to": "client"}]
        for congestion in ("cubic", "reno") if queue == 20 else ("cubic",):
            data = scenario(link, flows, congestion, duration="12 s")
            yield f"{down} down, {up} up with {queue} packets, {congestion}", data


def mixed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Two congestion controls at one bottleneck."""
    for one, other in (("reno", "cubic"), ("bbr", "cubic")):
        for rate, queue in (("10 Mbit/s", 40), ("30 Mbit/s", 150)):
            flows = [
                bulk(None, name=name) | {"transport": {"kind": "tcp", "congestion": name}}
                for name in (one, other)
            ]
            link = {"rate": rate, "delay": "20 ms", "queue": f"{queue} packets"}
            yield f"{one} beside {other}, {rate}", scenario(link, flows, duration="12 s")


def disciplines() -> Iterator[tuple[str, dict[str, Any]]]:
    """CoDel, FQ-CoDel, RED and PIE."""
    call = {
        "name": "call",
        "from": "client",
        "to": "server",
        "app": {"kind": "cbr", "packet": "172 B", "interval": "20 ms"},
    }
    red = {"kind": "red", "min": "20 packets", "max": "60 packets", "limit": "100 packets"}
    for name, queue in (
        ("CoDel", {"kind": "codel"}),
        ("FQ-CoDel", {"kind": "fq_codel"}),
        ("RED", red),
        ("PIE", {"kind": "pie"}),
    ):
        link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": queue}
        data = scenario(link, [bulk(None), call], duration="10 s")
        yield f"{name}, a transfer and a call", data
    for name, queue in (("CoDel", {"kind": "codel"}), ("FQ-CoDel", {"kind": "fq_codel"})):
        link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": queue}
        flows = [bulk(None, name="one"), bulk(None, name="two", start="500 ms")]
        yield f"{name}, two transfers", scenario(link, flows, duration="10 s")


def capacities() -> Iterator[tuple[str, dict[str, Any]]]:
    """A recorded capacity, steps, outages."""
    ride = {"kind": "trace", "file": "traces/ride.trace"}
    for congestion in ("cubic", "bbr"):
        link = {"rate": ride, "delay": "25 ms", "queue": "200 packets"}
        yield f"a ride, {congestion}", scenario(link, [bulk(None)], congestion, duration="12 s")
    for length in ("300 ms", "1 s"):
        outage = {"kind": "outages", "outages": [{"start": "2 s", "length": length}]}
        link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "60 packets", "loss": outage}
        for congestion in ("cubic", "bbr"):
            yield f"an outage of {length}, {congestion}", scenario(link, [bulk("6 MB")], congestion)
    events = [
        {"at": "3 s", "link": "link", "rate": "2 Mbit/s"},
        {"at": "6 s", "link": "link", "rate": "20 Mbit/s", "delay": "50 ms"},
    ]
    link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "60 packets"}
    yield "a rate that changes", scenario(link, [bulk(None)], duration="9 s", events=events)


def others() -> Iterator[tuple[str, dict[str, Any]]]:
    """Losses in bursts, windows of a few segments."""
    burst = {"kind": "gilbert_elliott", "to_bad": "0.3 %", "to_good": "30 %"}
    for congestion in ("reno", "cubic"):
        link = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "100 packets", "up": {"loss": burst}}
        yield f"bursts of losses, {congestion}", scenario(link, [bulk("5 MB")], congestion)
    link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "50 packets", "up": {"loss": "1 %"}}
    small = {"kind": "tcp", "receive_buffer": "20000 B"}
    yield "a window of 20 kB, 1 % lost", scenario(link, [bulk("2 MB", transport=small)])


def text_of(found: Sequence[Sequence[beside.Compared]]) -> str:
    """The section of the page."""
    groups = dict.fromkeys(one[0].case.group for one in found)
    held = sum(all(metric.holds for metric in one) for one in found)
    runs = min(len(one[0].kernel) for one in found)
    text = f"""These cells are not in the grid: one for each kind of traffic, network and queue in which stacks may differ. They are recorded from the kernel
([benches/fidelity/classes.jsonl](../../benches/fidelity/classes.jsonl), at least {runs} runs a cell; `make classes-record`) and simulated for the same runs (`make
classes`). A cell holds if each of its metrics is within {beside.BAR:.0%}, a millisecond, or the kernel's own 95 % interval; retransmissions within {beside.REPEATS_SHARE:.0%} or
{beside.REPEATS}. {SHARE:.0%} of the cells are required to hold: {held} of {len(found)} do, {"as they have to" if held >= SHARE * len(found) else "which is too few"}.

| cells | hold |
| --- | ---: |
"""
    for group in groups:
        some = [one for one in found if one[0].case.group == group]
        text += f"| {group} | {sum(all(m.holds for m in one) for one in some)} of {len(some)} |\n"
    text += "\n| cell | metric | kernel (runs) | ours | difference | holds |\n| --- | --- | ---: | ---: | ---: | --- |\n"
    for one in found:
        for metric in one:
            text += row(metric)
    return text


def row(one: beside.Compared) -> str:
    """A line of the table."""
    kernel, ours = (sum(side) / len(side) for side in (one.kernel, one.ours))
    return (
        f"| {one.case.name} | {one.metric} | {kernel:.4g} ± {one.interval:.2g} ({len(one.kernel)}) | {ours:.4g} | "
        f"{one.share:+.1%} | {'yes' if one.holds else 'NO'} |\n"
    )


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--record", type=int, metavar="RUNS", help="record the kernel until each cell has so many"
    )
    parser.add_argument(
        "--at-once", type=int, default=4, help="runs on the kernel under way together (default %(default)s)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cells whose name has this in it")
    parser.add_argument(
        "--out", type=Path, default=beside.ROOT / "runs" / "classes", help="directory of the kernel's runs"
    )
    options = parser.parse_args()
    chosen = [cell for cell in cells() if options.only in cell.name]
    if options.record is not None:
        beside.record(RECORD, chosen, options.record, options.out, options.at_once)
        return 0
    known = beside.read(RECORD)
    found = list(beside.compared([known[cell.name] for cell in chosen if cell.name in known]))
    if options.only:
        sys.stdout.writelines(row(metric) for one in found for metric in one)
        return 0
    PAGE.write_text(
        page.with_section(PAGE.read_text(encoding="utf-8"), TITLE, text_of(found)), encoding="utf-8"
    )
    sys.stdout.writelines(row(metric) for one in found for metric in one if not metric.holds)
    sys.stdout.write(f"written: {PAGE.relative_to(beside.ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
