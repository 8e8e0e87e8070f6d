"""Times of messages, simulated and on real hosts: `make mqtt` writes docs/measured/mqtt.md.

In each cell a publisher has one message after the other, at QoS 1, for a broker, to which one client has subscribed. It is simulated,
run over the kernel's TCP with our broker, and run with mosquitto for a broker.
"""

from __future__ import annotations

import argparse
import statistics
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


def scenario(cell: Cell, conf: Path | None) -> str:
    """One cell; with a configuration for mosquitto where that is the broker."""
    links = "\n".join(
        f'[[topology.links]]\nname = "{name}"\nends = {ends}\nrate = "{cell.rate}"\ndelay = "{cell.delay}"\n'
        f'loss = "{cell.loss}"\nqueue = {{ kind = "drop_tail", limit = "1000 packets" }}'
        for name, ends in (("up", '["field", "cloud"]'), ("down", '["cloud", "office"]'))
    )
    hosts = "\n".join(f'[hosts.{host}]\nprofile = "linux"' for host in ("field", "office", "cloud"))
    broker = '[[processes]]\nname = "broker"\nhost = "cloud"\napp = { kind = "broker" }'
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
[processes.app]
kind = "subscriber"
broker = "cloud"
filters = ["field/#"]
messages = {cell.messages}
[[processes]]
name = "device"
host = "field"
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


def median_ms(text: str, backend: str, folder: Path, replications: int) -> float:
    """The median time from publishing to delivery, over all messages."""
    path = folder / "cell.toml"
    path.write_text(text)
    result = api.run(path, replications, out=folder / "runs", backends=[backend])
    times: list[int] = []
    for run in result.folders:
        rows = pl.read_parquet(Path(run) / "publications.parquet")
        times += (rows["last_delivered_ns"] - rows["published_ns"]).to_list()
    return statistics.median(times) / 1e6


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=len(CELLS), help="only the first so many")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args()
    lines, near = [], [0, 0]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        conf = folder / "mosquitto.conf"
        conf.write_text("listener 1883\nallow_anonymous true\n")
        for cell in CELLS[: options.cells]:
            simulated = median_ms(scenario(cell, None), "sim", folder, 1 if cell.loss == "0 %" else 10)
            real = [median_ms(scenario(cell, program), "real", folder, 1) for program in (None, conf)]
            off = [value / simulated - 1 for value in real]
            near = [count + (abs(error) <= WITHIN) for count, error in zip(near, off, strict=True)]
            told = " | ".join(f"{value:.1f} ({error:+.1%})" for value, error in zip(real, off, strict=True))
            line = f"| {cell.rate} | {cell.delay} | {cell.loss} | {cell.size} | {simulated:.1f} | {told} |"
            print(line, flush=True)  # noqa: T201
            lines.append(line)
    page = f"""# Messages, simulated and real

`make mqtt` writes this page. A publisher has one message after the other, at QoS 1, for a broker two links away from its only
subscriber. The time is from publishing to delivery, its median over all messages, in ms. Behind each real median stands how far it is from
the simulated one. With the kernel's TCP and our broker {near[0]} of {len(lines)} cells are within {WITHIN:.0%}, with mosquitto {near[1]}.

| rate of each link | its delay | its loss | message | simulated | kernel, our broker | kernel, mosquitto |
| --- | --- | --- | --- | --- | --- | --- |
"""
    options.out.write_text(page + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
