"""A broker of 10 000 clients and 10^6 messages, simulated on one core: `make bench-mqtt` writes docs/measured/mqtt-crowd.md.

Figures are of whole processes of `crates/sim/examples/plan.rs`: reading the plan, the simulation, and its tables in memory.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
sys.path.insert(0, str(ROOT / "benches" / "peers"))

from measure import TARGET, Case, Contestant, Measurement, compete  # noqa: E402 - folders of programs
from page import measured_on  # noqa: E402

from voxpath.scenario import Document, from_dict  # noqa: E402

PAGE = ROOT / "docs/measured/mqtt-crowd.md"
CLIENTS = 10_000
MESSAGES = 1_000_000
IN_FLIGHT = 10_000
"""One client that takes all has more in flight than the 20 of mosquitto let out in a round trip."""
MOST_S = 60.0
"""Of a processor, for each crowd."""
PROGRAM = TARGET / "release" / "examples" / "plan"


@dataclass(frozen=True)
class Crowd:
    """Who speaks to whom: `publishers` clients have the same number of messages each, all of which every subscriber wants."""

    publishers: int
    subscribers: int
    qos: int

    @property
    def messages(self) -> int:
        """Of each publisher."""
        return round(MESSAGES / self.publishers / self.subscribers)

    @property
    def deliveries(self) -> int:
        """Messages that come, over all subscribers."""
        return self.publishers * self.subscribers * self.messages

    def scenario(self) -> Document:
        """Three hosts in a row; each publisher has a message a second, and they take turns within it."""
        each = self.publishers * self.messages
        clients = {"broker": "cloud", "version": "5", "keep_alive": "60 s", "in_flight": IN_FLIGHT}
        reader = {**clients, "kind": "subscriber", "filters": ["#"], "qos": 2, "clients": self.subscribers}
        device = {
            **clients,
            "kind": "publisher",
            "topic": "device/{client}",
            "size": "100 B",
            "interval": "1 s",
            "messages": self.messages,
            "qos": self.qos,
            "clients": self.publishers,
            "start": "2 s",
            "spread": f"{10**9 // self.publishers} ns",
        }
        return _network(
            [
                # Whoever is slow for a moment loses nothing.
                _process("broker", "cloud", {"kind": "broker", "queue": 100_000, "in_flight": IN_FLIGHT}),
                _process("reader", "office", {**reader, "spread": "100 us", "messages": each}),
                _process("device", "field", device),
            ],
            # It ends by itself, unless a message is lost.
            f"{self.messages + 60} s",
        )


CROWDS = [
    Crowd(CLIENTS, 1, 0),
    Crowd(CLIENTS, 1, 1),
    Crowd(CLIENTS, 1, 2),
    Crowd(1, CLIENTS, 1),
]


def silent(clients: int) -> Document:
    """Clients that have subscribed to a topic each, and of which nothing more is heard but their pings."""
    app = {
        "kind": "subscriber",
        "broker": "cloud",
        "filters": ["device/{client}"],
        "clients": clients,
        "spread": "100 us",
    }
    return _network(
        [_process("broker", "cloud", {"kind": "broker"}), _process("reader", "office", app)], "3 s"
    )


def _process(name: str, host: str, app: dict[str, object]) -> dict[str, object]:
    return {"name": name, "host": host, "app": app}


def _network(processes: list[dict[str, object]], duration: str) -> Document:
    line = {"rate": "1 Gbit/s", "delay": "5 ms", "queue": {"kind": "drop_tail", "limit": "100000 packets"}}
    hosts = ["field", "cloud", "office"]
    return from_dict(
        {
            "name": "a crowd at a broker",
            "seed": 1,
            "duration": duration,
            "topology": {
                "kind": "explicit",
                "hosts": hosts,
                "links": [
                    {"name": "up", "ends": hosts[:2], **line},
                    {"name": "down", "ends": hosts[1:], **line},
                ],
            },
            "hosts": {host: {"profile": "linux"} for host in hosts},
            "processes": processes,
        }
    )


def measure(document: Document, folder: Path) -> Measurement:
    """Runs a scenario once."""
    plan = folder / "plan.json"
    plan.write_text(document.plan.json, "utf-8")
    ours = Contestant("voxpath", lambda _: [str(PROGRAM), str(plan)], lambda: None)
    return compete([ours], Case("crowd", CLIENTS, 0, 0), 1)[0][0]


def row(crowd: Crowd, cost: Measurement) -> str:
    """What a crowd cost.

    Raises:
        ValueError: Not all messages came.
    """
    rows = cost.report.rows
    if rows["deliveries"] != crowd.deliveries:
        raise ValueError(f"{rows['deliveries']} of {crowd.deliveries} messages came: {crowd}")
    figures = (
        f"{crowd.publishers:,}",
        f"{crowd.subscribers:,}",
        f"{crowd.qos}",
        f"{rows['publications']:,}",
        f"{rows['deliveries']:,}",
        f"{cost.report.packet_hops:,}",
        f"{cost.cpu_s:.1f}",
        f"{cost.peak_rss_bytes / 1e6:,.0f}",
    )
    return f"| {' | '.join(figures)} |"


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args()
    where = measured_on()
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "voxpath-sim", "--example", "plan"]
    subprocess.run(build, cwd=ROOT, check=True)  # noqa: S603
    lines, slowest = [], 0.0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for crowd in CROWDS:
            cost = measure(crowd.scenario(), folder)
            lines.append(row(crowd, cost))
            sys.stdout.write(f"{lines[-1]}\n")
            sys.stdout.flush()
            slowest = max(slowest, cost.cpu_s)
        one, all_of_them = (measure(silent(count), folder).peak_rss_bytes for count in (1, CLIENTS))
    holds = slowest <= MOST_S
    options.out.write_text(
        PAGE_TEXT.format(
            where=where,
            lines="\n".join(lines),
            each=(all_of_them - one) / (CLIENTS - 1) / 1e3,
            clients=CLIENTS,
            most=MOST_S,
            slowest=slowest,
            holds="yes" if holds else "NO",
        ),
        "utf-8",
    )
    return 0 if holds else 1


PAGE_TEXT = """# A broker and a crowd of clients

`make bench-mqtt` writes this page. One simulated broker has {clients:,} clients, each with a connection over TCP of its own and 100 bytes in
each message, at 1 Gbit/s and 5 ms. Either many publish a message a second each and one client subscribes to all, or one publishes and many
subscribe. Processor time and memory are those of the whole process on one core: reading the plan, the simulation, and its tables.

Measured on: {where}.

| publishers | subscribers | QoS | published | delivered | packet-hops | CPU s | MB at most |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{lines}

A client that has subscribed and is silent holds {each:.1f} kB: its session at both ends, both ends of its connection, its place in the plan, and
its rows in the results.

| bar | reached | holds |
| --- | ---: | --- |
| each crowd in under {most:.0f} s | {slowest:.1f} s | {holds} |
"""


if __name__ == "__main__":
    sys.exit(main())
