"""Times of messages, simulated and on real hosts: `make mqtt` writes docs/measured/mqtt.md.

In each cell a publisher has one message after the other, at QoS 1, for a broker, to which one client has subscribed. It is simulated,
run over the kernel's TCP with our broker, and run with mosquitto for a broker. Each has the same replications, so the links of all three
lose by the same draws. A real run whose verdict says that the machine had no time for it is no measurement; where no run of a cell is
left, the cell is not within bounds.

A program needs a moment until it runs after something has come for it. That decides races, such as whether an acknowledgment of MQTT is
there before the next message leaves, and with it whether Nagle's algorithm holds a message back. So it is measured first, in a capture at
a real broker, and the simulated processes have it (`wake`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from voxpath import api

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/measured/mqtt.md"
WITHIN = 0.05
"""How far a real median may be from a simulated one."""
RUNS, RUNS_WITH_LOSS = 3, 5
"""Replications of a cell."""


@dataclass(frozen=True)
class Cell:
    """A network and a message."""

    rate: str
    delay: str
    loss: str
    size: str
    messages: int


CELLS = [
    *(
        Cell(rate, delay, "0 %", size, 8 if size != "300 kB" else 3)
        for rate in ("2 Mbit/s", "20 Mbit/s")
        for delay in ("5 ms", "40 ms")
        for size in ("10 B", "1 kB", "30 kB", "300 kB")
    ),
    *(
        Cell("20 Mbit/s", delay, "0.5 %", size, 40)
        for delay in ("5 ms", "40 ms")
        for size in ("1 kB", "30 kB")
    ),
]


def scenario(cell: Cell, conf: Path | None, wake: str = "0 us") -> str:
    """One cell; with a configuration for mosquitto where that is the broker."""
    links = "\n".join(
        f'[[topology.links]]\nname = "{name}"\nends = {ends}\nrate = "{cell.rate}"\ndelay = "{cell.delay}"\n'
        f'loss = "{cell.loss}"\nqueue = {{ kind = "drop_tail", limit = "1000 packets" }}'
        for name, ends in (("up", '["field", "cloud"]'), ("down", '["cloud", "office"]'))
    )
    hosts = "\n".join(f'[hosts.{host}]\nprofile = "linux"' for host in ("field", "office", "cloud"))
    broker = (
        '[[processes]]\nname = "broker"\nhost = "cloud"\nwake = "' + wake + '"\napp = { kind = "broker" }'
    )
    if conf is not None:
        broker = ""
        hosts += f'\nrun = ["mosquitto", "-c", "{conf}"]\nlistens = 1883'
    return f"""name = "mqtt"
[topology]
kind = "explicit"
hosts = ["field", "cloud", "office"]
{links}
{hosts}
{broker}
[[processes]]
name = "reader"
host = "office"
wake = "{wake}"
[processes.app]
kind = "subscriber"
broker = "cloud"
filters = ["field/#"]
messages = {cell.messages}
[[processes]]
name = "device"
host = "field"
wake = "{wake}"
[processes.app]
kind = "publisher"
broker = "cloud"
topic = "field/temperature"
size = "{cell.size}"
interval = "0 s"
messages = {cell.messages}
qos = 1
start = "500 ms"
"""


@dataclass(frozen=True)
class Times:
    """Of the messages of one cell by one broker.

    Attributes:
        median: From publishing to delivery in ms, over all messages of the runs that count; none without one.
        invalid: Runs that do not count, because their verdict says so.
    """

    median: float | None
    invalid: int


def times(text: str, backend: str, folder: Path, replications: int) -> Times:
    """How long messages took."""
    path = folder / "cell.toml"
    path.write_text(text)
    result = api.run(path, replications, out=folder / "runs", backends=[backend])
    took: list[int] = []
    invalid = 0
    for run in result.folders:
        if not json.loads((Path(run) / "verdict.json").read_text())["valid"]:
            invalid += 1
            continue
        rows = pl.read_parquet(Path(run) / "publications.parquet")
        took += (rows["last_delivered_ns"] - rows["published_ns"]).to_list()
    return Times(statistics.median(took) / 1e6 if took else None, invalid)


def waking_us(folder: Path) -> int:
    """How long our broker on a real host takes from a message that comes to the same one leaving; in microseconds.

    The lower quartile of many: a machine that does other things too is late at times, and those runs do not count.
    """
    path = folder / "waking.toml"
    path.write_text(scenario(Cell("20 Mbit/s", "5 ms", "0 %", "100 B", 40), None))
    (run,) = api.run(path, out=folder / "runs", backends=["real"], capture=["cloud"]).folders
    fields = ["-Y", "mqtt.msgtype == 3", "-T", "fields", "-e", "frame.time_epoch", "-e", "tcp.dstport"]
    capture = Path(run) / "captures" / "cloud.pcapng"
    said = subprocess.run(["tshark", "-r", capture, *fields], capture_output=True, text=True, check=True)  # noqa: S603, S607
    came: list[float] = []
    took: list[float] = []
    for line in said.stdout.splitlines():
        at, port = line.split("\t")
        if port == "1883":
            came.append(float(at))
        elif came:
            took.append(float(at) - came.pop(0))
    return round(statistics.quantiles(took, n=4)[0] * 1e6)


def told(real: Times, simulated: float) -> tuple[str, bool]:
    """A real time beside the simulated one, and whether it is near enough."""
    if real.median is None:
        return "no valid run", False
    error = real.median / simulated - 1
    return f"{real.median:.1f} ({error:+.1%})", abs(error) <= WITHIN


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=len(CELLS), help="only the first so many")
    parser.add_argument(
        "--runs", type=Path, help="where runs are kept, so that it goes on where it was interrupted"
    )
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args()
    lines, near, invalid, made = [], [0, 0], 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = options.runs or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "mosquitto.conf"
        conf.write_text("listener 1883\nallow_anonymous true\n")
        wake = f"{waking_us(folder)} us"
        for cell in CELLS[: options.cells]:
            runs = RUNS if cell.loss == "0 %" else RUNS_WITH_LOSS
            simulated = times(scenario(cell, None, wake), "sim", folder, runs).median
            if simulated is None:
                raise SystemExit("a simulated run is not valid")
            real = [times(scenario(cell, program), "real", folder, runs) for program in (None, conf)]
            texts, good = zip(*(told(one, simulated) for one in real), strict=True)
            near = [count + is_near for count, is_near in zip(near, good, strict=True)]
            invalid, made = invalid + sum(one.invalid for one in real), made + 2 * runs
            both = " | ".join(texts)
            line = f"| {cell.rate} | {cell.delay} | {cell.loss} | {cell.size} | {simulated:.1f} | {both} |"
            print(line, flush=True)  # noqa: T201
            lines.append(line)
    page = f"""# Messages, simulated and real

`make mqtt` writes this page. A publisher has one message after the other, at QoS 1, for a broker two links away from its only
subscriber. The time is from publishing to delivery, its median over all messages of {RUNS} runs, of {RUNS_WITH_LOSS} where links lose packets, in ms. Behind each real
median stands how far it is from the simulated one. Simulated and real runs lose by the same draws, and simulated processes need {wake} to wake up, as our broker did in a real run before. Of {made} real runs {invalid} do not count: their own verdict says
that the machine had no time for them, after three attempts. With the kernel's TCP and our broker {near[0]} of {len(lines)} cells are within {WITHIN:.0%}, with mosquitto {near[1]}.

| rate of each link | its delay | its loss | message | simulated | kernel, our broker | kernel, mosquitto |
| --- | --- | --- | --- | --- | --- | --- |
"""
    options.out.write_text(page + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
