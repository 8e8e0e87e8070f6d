#!/usr/bin/env python3
"""`make differential`: scenarios that nobody chose, on the live kernel and simulated.

Draws scenarios: one to four flows of every application but `speech` (whose recogniser is drawn in the simulator and computed by a
machine), Nagle's algorithm, congestion controls, windows, queues, losses, jitter, reordering, capacities and changes. Each is run on the kernel and simulated over the same decisions of loss and delay. `--record`
adds to differential.jsonl, which can be interrupted; without it, the page docs/measured/differential.md is written, the worst first.
`--reduce NAME` looks for a smaller scenario that is as far apart.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import copy
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import beside

from voxpath.scenario import ScenarioError

RECORD = Path(__file__).resolve().parent / "differential.jsonl"
PAGE = beside.ROOT / "docs" / "measured" / "differential.md"
RUNS = 4
RUNS_OF_DOUBT = 12
"""Of a scenario that does not hold: the interval of four runs says little where one of ten waits for a timer."""
RUNS_OF_QUESTION = 40
"""Of one whose ranks tell both sides apart beyond 20 %: among so many metrics chance does that, too."""
SHARE = 0.9
FAR = 0.2
"""Beyond this a case needs its cause in docs/kernel.md."""
WAIT_S = 0.15
"""What waits for a timer comes so much later at least, for the shortest of an established connection lasts 0.2 s (TCP_RTO_MIN)."""
LENGTH_S = 8


def drawn(seed: int, number: int) -> beside.Case:
    """A scenario; the same for the same seed and number."""
    while True:
        rng = random.Random(f"differential {seed} {number}")  # noqa: S311
        case = beside.Case(f"{seed}-{number}", f"seed {seed}", _scenario(rng, f"{seed}-{number}"))
        try:
            case.document  # noqa: B018
        except ScenarioError:
            # What does not go together is drawn anew, under a number that no other has.
            number += 1_000_000
            continue
        return case


def _between(rng: random.Random, least: float, most: float) -> float:
    """Evenly over the orders of magnitude, to two digits."""
    return float(f"{least * (most / least) ** rng.random():.2g}")


def _scenario(rng: random.Random, name: str) -> dict[str, Any]:
    rate = _between(rng, 0.5, 100)
    one_way = _between(rng, 0.5, 150)
    held = max(1.0, rate * 1e6 / 8 * 2 * one_way / 1e3 / 1500)
    link: dict[str, Any] = {
        "rate": f"{rate} Mbit/s",
        "delay": _delay(rng, one_way),
        "queue": _queue(rng, held),
    }
    capacity = rng.random()
    if capacity < 0.2:
        slow = f"{max(0.2, rate / 10):.2g} Mbit/s"
        link = {
            "delay": link["delay"],
            "queue": link["queue"],
            "down": {"rate": link["rate"]},
            "up": {"rate": slow},
        }
    elif capacity < 0.28:
        link["rate"] = {"kind": "trace", "file": "traces/ride.trace"}
    if rng.random() < 0.5:
        link["loss"] = _loss(rng)
    if rng.random() < 0.15:
        link["reorder"] = {"probability": f"{_between(rng, 0.1, 5)} %", "by": f"{_between(rng, 1, 20)} ms"}
    tcp: dict[str, Any] = {"congestion": rng.choice(["cubic", "cubic", "reno", "bbr"])}
    if rng.random() < 0.2:
        tcp["receive_buffer"] = f"{round(_between(rng, 16_000, 1_000_000))} B"
    host = {"profile": "linux", "tcp": tcp}
    flows = [_flow(rng, f"f{number}", rate) for number in range(rng.choice([1, 1, 1, 2, 2, 3, 4]))]
    data = {
        "name": name,
        "seed": rng.randrange(1, 10**6),
        "duration": f"{LENGTH_S} s",
        "topology": {"kind": "pipe", "link": link},
        "hosts": {"client": host, "server": host},
        "flows": flows,
    }
    if rng.random() < 0.15 and isinstance(link["delay"], str) and isinstance(link.get("rate"), str):
        events = [
            {"at": "3 s", "link": "link", "rate": f"{max(0.5, rate * rng.choice([0.2, 0.5, 2])):.2g} Mbit/s"}
        ]
        data["events"] = events
    return data


def _delay(rng: random.Random, one_way: float) -> Any:
    law = rng.random()
    if law < 0.05:
        shape = round(rng.uniform(3, 8), 1)
        return {
            "kind": "pareto",
            "least": f"{one_way} ms",
            "shape": shape,
            "correlation": f"{rng.choice([0, 50])} %",
        }
    if law < 0.2:
        deviation = f"{_between(rng, 0.1, max(0.2, one_way / 5))} ms"
        return {
            "kind": "normal",
            "mean": f"{one_way} ms",
            "deviation": deviation,
            "reorder": rng.random() < 0.3,
        }
    return f"{one_way} ms"


def _queue(rng: random.Random, held: float) -> Any:
    room = f"{max(8, round(held * rng.choice([0.5, 1, 2])))} packets"
    least = max(5, round(held / 4))
    red = {
        "kind": "red",
        "min": f"{least} packets",
        "max": f"{3 * least} packets",
        "limit": f"{6 * least} packets",
    }
    return rng.choice([room, room, room, room, {"kind": "codel"}, {"kind": "fq_codel"}, {"kind": "pie"}, red])


def _loss(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.25:
        return {"kind": "gilbert_elliott", "to_bad": f"{_between(rng, 0.05, 0.5)} %", "to_good": "30 %"}
    if kind < 0.35:
        singles = {"p14": f"{_between(rng, 0.05, 0.5)} %", "p32": "10 %", "p23": "50 %"}
        return {"kind": "four_state", "p13": f"{_between(rng, 0.05, 0.3)} %", "p31": "30 %", **singles}
    if kind < 0.45:
        outage = {"start": f"{rng.choice([1, 2, 3])} s", "length": f"{_between(rng, 50, 1500)} ms"}
        return {"kind": "outages", "outages": [outage]}
    return f"{_between(rng, 0.05, 3)} %"


def _flow(rng: random.Random, name: str, rate: float) -> dict[str, Any]:
    client, server = ("client", "server") if rng.random() < 0.8 else ("server", "client")
    flow: dict[str, Any] = {
        "name": name,
        "from": client,
        "to": server,
        "start": f"{rng.choice([0, 0, 200, 700])} ms",
    }
    nagle = {"kind": "tcp", "nagle": rng.random() < 0.5}
    match rng.choice(
        [
            "bulk",
            "bulk",
            "endless",
            "download",
            "download",
            "voice",
            "voice",
            "web",
            "cbr",
            "push",
            "ping",
            "onoff",
        ]
    ):
        case "bulk":
            app: dict[str, Any] = {"kind": "bulk", "size": f"{round(_between(rng, 2e4, rate * 3e5))} B"}
        case "endless":
            app = {"kind": "bulk"}
        case "download":
            response = round(_between(rng, 500, 2e5))
            app = {
                "kind": "download",
                "request": "200 B",
                "response": f"{response} B",
                "requests": 5,
                "pause": "50 ms",
            }
            flow["transport"] = nagle
        case "voice":
            sizes = {"block": f"{rng.choice([640, 2475, 8000])} B", "partial": "100 B", "answer": "750 B"}
            app = {
                "kind": "voice",
                "blocks": 6,
                "interval": "200 ms",
                "requests": 2,
                "pause": "300 ms",
                **sizes,
            }
            flow["transport"] = nagle
        case "web":
            app = {"kind": "web", "connections": 2}
        case "cbr":
            app = {"kind": "cbr", "packet": "172 B", "interval": "20 ms"}
        case "ping":
            app = {"kind": "ping", "packet": f"{rng.choice([64, 1000])} B", "interval": "50 ms"}
        case "onoff":
            app = {
                "kind": "onoff",
                "rate": f"{_between(rng, 0.05, 0.8) * rate:.2g} Mbit/s",
                "on": "400 ms",
                "off": "600 ms",
            }
            flow["transport"] = rng.choice([{"kind": "udp"}, nagle])
        case _:
            updates = [
                [f"{at} ms", f"{rng.choice([220, 600, 4000])} B"] for at in (500, 900, 1000, 2500, 2520)
            ]
            app = {"kind": "push", "way": rng.choice(["streaming", "long_polling"]), "updates": updates}
            flow["transport"] = nagle
    return flow | {"app": app}


def smaller(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Scenarios with one thing less."""
    for at in range(len(data["flows"]) if len(data["flows"]) > 1 else 0):
        yield data | {"flows": data["flows"][:at] + data["flows"][at + 1 :]}
    if "events" in data:
        yield {key: value for key, value in data.items() if key != "events"}
    link = data["topology"]["link"]
    plainer = [
        {key: value for key, value in link.items() if key != gone}
        for gone in ("loss", "reorder")
        if gone in link
    ]
    if isinstance(link.get("delay"), dict):
        plainer.append(link | {"delay": link["delay"]["mean"]})
    if isinstance(link.get("queue"), dict):
        plainer.append(link | {"queue": "100 packets"})
    for one in plainer:
        changed = copy.deepcopy(data)
        changed["topology"]["link"] = one
        yield changed


def reduce(case: beside.Case, out: Path) -> beside.Case:
    """The smallest scenario found that is apart by more than it may be, each tried on the kernel."""
    again = True
    while again:
        again = False
        for data in smaller(dict(case.data)):
            tried = beside.Recorded(beside.Case(f"{case.name}'", case.group, data))
            ((_, runs),) = beside.measured([(tried, range(RUNS))], out, 1)
            apart = (
                beside.compare(tried.case, runs, beside.simulated((tried.case, sorted(runs)))) if runs else []
            )
            if any(not one.holds for one in apart):
                case, again = tried.case, True
                break
    return case


def waits(found: Sequence[Sequence[beside.Compared]]) -> tuple[float, float]:
    """Which share of times, the kernel's and ours, lies further than a timer's wait beyond the kernel's median of its scenario."""
    times = [one for metrics in found for one in metrics if one.metric.endswith(("_p50", "_p95"))]
    far = [0, 0]
    for one in times:
        bound = statistics.median(one.kernel) + WAIT_S
        for side, runs in enumerate((one.kernel, one.ours)):
            far[side] += sum(value > bound for value in runs)
    return far[0] / sum(len(one.kernel) for one in times), far[1] / sum(len(one.ours) for one in times)


def text_of(found: Sequence[Sequence[beside.Compared]]) -> str:
    """The page."""
    held = [one for one in found if all(metric.holds for metric in one)]
    kernel_waits, our_waits = waits(found)
    text = f"""# Scenarios that nobody chose, on the kernel and simulated

Written by `make differential`; do not edit. Random scenarios (benches/fidelity/differential.py) run on the live kernel
(benches/fidelity/differential.jsonl; `make differential-record` adds some), and are simulated with the same decisions of loss and delay. A scenario holds if each
metric is within {beside.BAR:.0%}, a millisecond, or the kernel's own 95 % interval; retransmissions within {beside.REPEATS_SHARE:.0%} or {beside.REPEATS}.
The kernel runs {RUNS} times, {RUNS_OF_DOUBT} times where that does not hold, and {RUNS_OF_QUESTION} times where ranks tell both apart (`--doubted`, `--runs`); each of its runs is simulated {beside.DRAWS} times, with starts that are
as late as those of hosts.

{len(held)} of {len(found)} scenarios hold; {SHARE:.0%} is required.

Of all times {kernel_waits:.1%} of the kernel's and {our_waits:.1%} of ours are {WAIT_S} s or more beyond the kernel's median of their scenario: they wait for a timer, or for a repaired loss.

| scenarios | hold |
| --- | ---: |
"""
    for group in dict.fromkeys(one[0].case.group for one in found):
        some = [one for one in found if one[0].case.group == group]
        text += f"| {group} | {sum(one in held for one in some)} of {len(some)} |\n"
    text += (
        "\n## Metrics that do not hold, the worst first\n\n"
        "A rank test's p says how likely it is that runs of one kind are ordered as unlike as the kernel's and ours.\n\n"
        "| scenario | metric | kernel (runs) | ours | difference | medians | p | what it is |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
    )
    apart = sorted((m for one in found for m in one if not m.holds), key=lambda m: -m.excess)
    for one in apart:
        kernel, ours = (statistics.fmean(side) for side in (one.kernel, one.ours))
        kernel_middle, our_middle = (statistics.median(side) for side in (one.kernel, one.ours))
        text += (
            f"| {one.case.name} | {one.metric} | {kernel:.4g} ± {one.interval:.2g} ({len(one.kernel)}) | {ours:.4g} | "
            f"{one.share:+.1%} | {kernel_middle:.4g}, {our_middle:.4g} | {one.chance:.2g} | {_told(one.case.data)} |\n"
        )
    return text


def _told(data: Any) -> str:
    """A scenario in a line."""
    link = data["topology"]["link"]
    path = ", ".join(f"{key} {_plain(value)}" for key, value in link.items())
    tcp = _plain(data["hosts"]["client"]["tcp"])
    apps = "; ".join(_plain(flow["app"] | flow.get("transport", {})) for flow in data["flows"])
    return f"{path}; {tcp}; {apps}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(
            _plain(inner) if key in ("kind", "congestion") else f"{key} {_plain(inner)}"
            for key, inner in value.items()
            if key != "updates"
        )
    return str(value)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--record",
        type=int,
        metavar="COUNT",
        help="record the first scenarios of the seed until there are so many",
    )
    parser.add_argument("--seed", type=int, default=1, help="which scenarios are drawn (default %(default)s)")
    parser.add_argument(
        "--at-once", type=int, default=4, help="runs on the kernel under way together (default %(default)s)"
    )
    parser.add_argument(
        "--doubted",
        nargs="+",
        metavar="NAME",
        help="record these scenarios until they have more runs",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=RUNS_OF_DOUBT,
        help="how many runs doubted scenarios are to have (default %(default)s)",
    )
    parser.add_argument("--reduce", metavar="NAME", help="look for a smaller scenario that is as far apart")
    parser.add_argument(
        "--out",
        type=Path,
        default=beside.ROOT / "runs" / "differential",
        help="directory of the kernel's runs",
    )
    options = parser.parse_args()
    if options.record is not None:
        cases = [drawn(options.seed, number) for number in range(options.record)]
        beside.record(RECORD, cases, RUNS, options.out, options.at_once)
        return 0
    known = beside.read(RECORD)
    if options.doubted:
        cases = [known[name].case for name in options.doubted]
        beside.record(RECORD, cases, options.runs, options.out, options.at_once)
        return 0
    if options.reduce is not None:
        sys.stdout.write(beside.Recorded(reduce(known[options.reduce].case, options.out)).line + "\n")
        return 0
    found = list(beside.compared(list(known.values())))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    text = text_of(found)
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text + f"\nwritten: {PAGE.relative_to(beside.ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
