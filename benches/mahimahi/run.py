"""`voxpath exec --trace` beside the simulator and Mahimahi's mm-link: `make mahimahi` writes docs/measured/mahimahi.md.

A program behind the link sends datagrams faster than a packet-delivery trace lets them pass. Packets are counted second by second, where
they leave the link and where a program has them. The same in virtual time is beside it, and what mm-link makes of the trace: by a model of
its queue, and by the program itself where it is installed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from voxpath import api
from voxpath.results import captured
from voxpath.scenario import from_dict

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/measured/mahimahi.md"

WITHIN = 0.02
"""How far the packets of a second may be from each other, by their share."""

SETTLES_S = 3
"""Until then the queue may be empty, because the program starts."""

PAYLOAD = 1472
"""With the headers of UDP and IPv4 1500 bytes, which are one delivery opportunity."""

QUEUE = 1000

SENDER = """
import socket, sys, time
host, port, interval, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect((host, port))
begun, sent = time.monotonic(), 0
while (now := time.monotonic() - begun) < seconds:
    while sent * interval <= now:
        try:
            out.send(b"x" * 1472)
        except OSError:
            pass
        sent += 1
    time.sleep(0.002)
"""
"""Sends datagrams of `PAYLOAD` at an interval."""


@dataclass(frozen=True)
class Counts:
    """Packets of each second from `SETTLES_S` on, by who counts.

    Attributes:
        left: When they left the link, as a capture at its end has it.
        received: When a program had them, by its own clock.
    """

    left: list[int]
    received: list[int]


def opportunities(trace: Path, seconds: int) -> list[int]:
    """Milliseconds of a trace's delivery opportunities within so many seconds, the trace over and over."""
    once = [int(line) for line in trace.read_text().split("\n") if line.strip() and not line.startswith("#")]
    found: list[int] = []
    base = 0
    while base < 1000 * seconds:
        found += [base + at for at in once]
        base += once[-1]
    return [at for at in found if at < 1000 * seconds]


def peak(trace: Path, seconds: int) -> int:
    """The most packets that a trace delivers in a second."""
    return max(Counter(at // 1000 for at in opportunities(trace, seconds)).values())


def per_second(times: list[float], seconds: int) -> list[int]:
    """How many of these times in seconds are in each second that counts."""
    counts = Counter(math.floor(at) for at in times)
    return [counts[second] for second in range(SETTLES_S, seconds)]


def modelled(trace: Path, seconds: int) -> list[int]:
    """What mm-link delivers of packets that always wait.

    An opportunity is 1504 bytes, and so is such a packet with the four bytes of its TUN header: each
    opportunity delivers one (Netravali et al., USENIX ATC 2015, section 4).
    """
    return per_second([at / 1000 for at in opportunities(trace, seconds)], seconds)


def simulated(trace: Path, seconds: int, folder: Path) -> list[int]:
    """Packets of each second in virtual time."""
    (folder / "sim.trace").write_text(trace.read_text())
    interval = 500_000_000 // peak(trace, seconds)
    link = {"rate": {"kind": "trace", "file": "sim.trace"}, "queue": f"{QUEUE} packets"}
    app = {"kind": "cbr", "packet": f"{PAYLOAD} B", "interval": f"{interval} ns"}
    scenario = {
        "name": "saturated", "duration": f"{seconds} s",
        "topology": {"kind": "pipe", "link": link}, "flows": [{"name": "load", "app": app}],
    }  # fmt: skip
    rows = api.run(from_dict(scenario, base=folder), 1, out=folder / "runs").table("datagrams")
    arrived = rows["received_ns"].drop_nulls().to_list()
    return per_second([at / 1e9 for at in arrived], seconds)


def behind(trace: Path, seconds: int, folder: Path) -> Counts:
    """Packets of each second behind `voxpath exec`."""
    received: list[int] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.bind(("127.0.0.1", 0))
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        port = sink.getsockname()[1]
        listening = threading.Thread(target=_receive, args=(sink, received), daemon=True)
        listening.start()
        interval = 0.5 / peak(trace, seconds)
        command = [
            sys.executable, "-m", "voxpath", "exec", "--up-trace", str(trace), "--up-queue", f"{QUEUE} packets",
            "--reach", f"9:{port}/udp", "--capture", "--out", str(folder / "kept"), "--quiet", "--",
            sys.executable, "-c", SENDER, "machine", "9", str(interval), str(seconds + 1),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        if done.returncode:
            raise RuntimeError(f"exec failed: {done.stderr}")
    listening.join()
    (run,) = (folder / "kept").iterdir()
    origin = json.loads((run / "fidelity.json").read_text())["monotonic_origin_ns"]
    (flow,) = [
        flow for flow in captured.read(run / "captures" / "machine.pcapng").datagrams if flow.target.port == 9
    ]
    left = [at / 1e9 for at, _ in flow.sent]
    return Counts(per_second(left, seconds), per_second([(at - origin) / 1e9 for at in received], seconds))


def _receive(sink: socket.socket, received: list[int]) -> None:
    """Notes when each datagram comes, until its socket is closed."""
    sink.settimeout(1)
    while sink.fileno() >= 0:
        try:
            sink.recv(65536)
            received.append(time.monotonic_ns())
        except TimeoutError:
            continue
        except OSError:
            return


def mm_link(trace: Path, seconds: int) -> list[int] | None:
    """Packets of each second behind mm-link, by the receiver's clock; none where it is not installed.

    Its trace begins when it starts, which is told to a few milliseconds.
    """
    if shutil.which("mm-link") is None:
        return None
    received: list[int] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink:
        sink.bind(("0.0.0.0", 0))  # noqa: S104 - mm-link's shell reaches this machine by an address of its own
        port = sink.getsockname()[1]
        listening = threading.Thread(target=_receive, args=(sink, received), daemon=True)
        listening.start()
        interval = str(0.5 / peak(trace, seconds))
        sender = f'exec {sys.executable} -c "$SENDER" $MAHIMAHI_BASE {port} {interval} {seconds + 1}'
        began = time.monotonic_ns()
        command = ["mm-link", str(trace), str(trace), "--", "sh", "-c", sender]
        subprocess.run(command, check=True, env={**os.environ, "SENDER": SENDER})  # noqa: S603 - the machine's
    listening.join()
    return per_second([(at - began) / 1e9 for at in received], seconds)


def cellular(seconds: int, seed: int) -> str:
    """A trace of a cellular link by the model that Sprout fits to recorded ones.

    Deliveries are a Poisson process whose rate is in Brownian motion of 200 packets/s in a root second, and
    stays at zero until it leaves it (Winstein et al., NSDI 2013, section 3.1).
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    rate, at, lines = 300.0, 0, []
    while at < 1000 * seconds:
        rate = min(max(rate + chance.gauss(0, 200 * math.sqrt(0.02)), 0.0), 1000.0)
        for ms in range(at, at + 20):
            threshold, count, product = math.exp(-rate / 1000), 0, chance.random()
            while product > threshold:
                count, product = count + 1, product * chance.random()
            lines += [str(ms + 1)] * count
        at += 20
    return "\n".join([*lines, str(at)]) + "\n"


def worst(ours: list[int], theirs: list[int]) -> float:
    """The largest difference of a second, by its share of theirs, or of their mean where a second is near silence."""
    mean = sum(theirs) / len(theirs)
    pairs = zip(ours, theirs, strict=True)
    return max(abs(one - other) / (other if other >= mean / 10 else mean) for one, other in pairs)


def main() -> int:
    """Writes the page; 1 where a second of `exec` and `sim` is further apart than `WITHIN`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path, help="further traces, such as Mahimahi's own")
    parser.add_argument("--seconds", type=int, default=30, help="of each run")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args()
    rows, far = [], 0
    with tempfile.TemporaryDirectory() as place:
        drawn = Path(place) / "sprout.trace"
        drawn.write_text(cellular(options.seconds, 1))
        traces = [
            ("`scenarios/traces/ride.trace`", ROOT / "scenarios/traces/ride.trace"),
            ("drawn by Sprout's model of cellular links", drawn),
            *((f"`{trace.name}`", trace) for trace in options.traces),
        ]
        for number, (name, trace) in enumerate(traces):
            folder = Path(place) / str(number)
            folder.mkdir()
            sim = simulated(trace, options.seconds, folder)
            real = behind(trace, options.seconds, folder)
            theirs = mm_link(trace, options.seconds)
            found = [
                worst(real.left, sim), worst(real.received, sim), worst(modelled(trace, options.seconds), sim),
            ]  # fmt: skip
            far += found[0] > WITHIN
            told = "not installed" if theirs is None else f"{worst(theirs, sim):.2%}"
            cells = " | ".join([*(f"{error:.2%}" for error in found), told])
            rows.append(f"| {name} | {sum(sim)} | {min(sim)} to {max(sim)} | {cells} |")
            print(rows[-1], flush=True)  # noqa: T201
    options.out.write_text(_PAGE.format(rows="\n".join(rows), seconds=options.seconds, settles=SETTLES_S))
    return int(far > 0)


_PAGE = """# Packet-delivery traces: exec, the simulator, mm-link

`make mahimahi` writes this page. A program behind `voxpath exec --up-trace` sends datagrams of 1500 bytes twice as fast as the trace's
fastest second. Its packets are counted in each second of a run of {seconds} s from second {settles} on. The same load runs in `sim`. Each
column says how far the worst second is from that of `sim`, or from its mean where that second has less than a tenth of it; 2 % was asked for.

| trace | packets in `sim` | in a second | `exec`: left the link | `exec`: received by a program | mm-link, as published | mm-link |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

Packets leave the link at times of the emulated clock. A program has them when the machine gives it a processor, so a packet may count in the next
second. *As published* counts one packet of 1500 bytes for each delivery opportunity of the trace, as section 4 of Mahimahi's paper says. The last
column is mm-link itself, where it is installed: no package registry that this page was made with has Mahimahi, and Debian 12 does not.
`make mahimahi TRACES="a.up b.down"` takes further traces, such as those that Mahimahi comes with.
"""


if __name__ == "__main__":
    sys.exit(main())
