#!/usr/bin/env python3
"""The links of the dumbbell in README.md as a SimPy 4 model. Prints one JSON line.

    sender i --access-- left router ==bottleneck== right router --access-- receiver i

Only the links are the dumbbell's. The senders keep a fixed window, so there is no loss, no
recovery and no congestion control: read packet-hops per second here, not goodput.

Two ways to write a link, the rest is shared: `StoreLink` as SimPy's own examples do it (a process
that serves a `Store`, and a process for each packet on its way), `CallbackLink` with bare timeouts.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import json
import math
import re
import sys
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import simpy

MSS_BYTES = 1460
DATA_BYTES = 1500
ACK_BYTES = 40
ACK_EVERY_PACKETS = 2
# Windows of 1.5 bandwidth-delay products keep the bottleneck busy and its queue half full.
WINDOW_BDP = 1.5


@dataclass(slots=True)
class Packet:
    """One IP packet. `hops` are the links still to cross, the next one last; then it calls `done`."""

    size_bytes: int
    hops: list["Link"]
    done: Callable[[], None]


class Link:
    """One direction of a link: a serialiser with an unbounded queue, then a propagation delay."""

    def __init__(self, env: simpy.Environment, rate_bps: float, delay_s: float) -> None:
        self.env = env
        self.seconds_per_byte = 8 / rate_bps
        self.delay_s = delay_s
        self.delivered_packets = 0

    def send(self, packet: Packet) -> None:
        """Takes a packet into the queue."""
        raise NotImplementedError

    def arrive(self, packet: Packet) -> None:
        """Counts the packet at the far end and passes it on."""
        self.delivered_packets += 1
        if packet.hops:
            packet.hops.pop().send(packet)
        else:
            packet.done()


class StoreLink(Link):
    """A process takes packets from a `Store`; each packet propagates as a process of its own."""

    def __init__(self, env: simpy.Environment, rate_bps: float, delay_s: float) -> None:
        super().__init__(env, rate_bps, delay_s)
        self.queue = simpy.Store(env)
        env.process(self.serialise())

    def send(self, packet: Packet) -> None:
        """Wakes the server if it waits."""
        self.queue.put(packet)

    def serialise(self) -> Generator[simpy.Event, Packet, None]:
        """Serves the queue for ever."""
        while True:
            packet = yield self.queue.get()
            yield self.env.timeout(packet.size_bytes * self.seconds_per_byte)
            self.env.process(self.propagate(packet))

    def propagate(self, packet: Packet) -> Generator[simpy.Event, None, None]:
        """Carries one packet to the far end."""
        yield self.env.timeout(self.delay_s)
        self.arrive(packet)


class CallbackLink(Link):
    """The same with callbacks on timeouts: no process, no store."""

    def __init__(self, env: simpy.Environment, rate_bps: float, delay_s: float) -> None:
        super().__init__(env, rate_bps, delay_s)
        self.queue: deque[Packet] = deque()

    def send(self, packet: Packet) -> None:
        """Starts the serialiser if it was idle."""
        self.queue.append(packet)
        if len(self.queue) == 1:
            self.serialise(packet)

    def serialise(self, packet: Packet) -> None:
        """Starts to transmit; the packet stays at the queue's head until it is out."""
        timeout = self.env.timeout(packet.size_bytes * self.seconds_per_byte)
        timeout.callbacks.append(self.serialised)

    def serialised(self, _event: simpy.Event) -> None:
        """Lets the packet propagate and turns to the next."""
        self.env.timeout(self.delay_s, self.queue.popleft()).callbacks.append(self.propagated)
        if self.queue:
            self.serialise(self.queue[0])

    def propagated(self, event: simpy.Event) -> None:
        """The packet is at the far end."""
        packet: Any = event.value  # SimPy does not type what an event carries
        self.arrive(packet)


class Flow:
    """A sender with a fixed window, and its receiver. Either path is a list of links in order."""

    def __init__(self, forward: list[Link], reverse: list[Link], window_packets: int) -> None:
        # Turned round, so that a packet takes its next link with pop().
        self.forward = forward[::-1]
        self.reverse = reverse[::-1]
        self.window_packets = window_packets
        self.received_packets = 0

    def start(self, _event: simpy.Event) -> None:
        """Sends the first window."""
        self.send_data(self.window_packets)

    def send_data(self, packets: int) -> None:
        """The sender puts packets on its link."""
        for _ in range(packets):
            hops = self.forward.copy()
            hops.pop().send(Packet(DATA_BYTES, hops, self.received))

    def received(self) -> None:
        """The receiver acknowledges every second packet."""
        self.received_packets += 1
        if self.received_packets % ACK_EVERY_PACKETS == 0:
            hops = self.reverse.copy()
            hops.pop().send(Packet(ACK_BYTES, hops, self.acked))

    def acked(self) -> None:
        """The sender keeps its window full."""
        self.send_data(ACK_EVERY_PACKETS)


def peak_rss_bytes() -> int:
    """Peak resident bytes of this program since it was started (0 where /proc is missing)."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found.group(1)) * 1024 if found else 0


def main() -> None:
    """Builds the dumbbell, runs it, prints the line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--flows", type=int, default=1, help="number of senders")
    parser.add_argument("--rate-mbps", type=float, default=10, help="bottleneck, 10^6 bit/s")
    parser.add_argument("--access-rate-mbps", type=float, default=100, help="each access link")
    parser.add_argument("--duration-s", type=float, default=60, help="simulated seconds")
    parser.add_argument("--rtt-ms", type=float, default=40, help="propagation there and back")
    parser.add_argument("--access-delay-ms", type=float, default=1, help="one way, each access link")
    parser.add_argument("--stagger-ms", type=float, default=10, help="flow i starts at i times this")
    parser.add_argument("--style", choices=("store", "callback"), default="store")
    options = parser.parse_args()
    middle_delay_s = (options.rtt_ms / 2 - 2 * options.access_delay_ms) / 1e3
    if options.flows < 1 or middle_delay_s < 0:
        parser.error("--flows must be at least 1 and --rtt-ms cover the access links")

    env = simpy.Environment()
    make: Callable[[simpy.Environment, float, float], Link]
    make = StoreLink if options.style == "store" else CallbackLink
    links: list[Link] = []

    def link(rate_mbps: float, delay_s: float) -> Link:
        links.append(make(env, rate_mbps * 1e6, delay_s))
        return links[-1]

    def access() -> Link:
        return link(options.access_rate_mbps, options.access_delay_ms / 1e3)

    forward = link(options.rate_mbps, middle_delay_s)
    reverse = link(options.rate_mbps, middle_delay_s)
    bdp_packets = options.rate_mbps * 1e6 * options.rtt_ms / 1e3 / 8 / DATA_BYTES
    # Even, so that the last packet of a window is acknowledged without a timer.
    window_packets = 2 * math.ceil(WINDOW_BDP * bdp_packets / options.flows / 2)
    flows: list[Flow] = []
    for i in range(options.flows):
        out, back = [access(), forward, access()], [access(), reverse, access()]
        flows.append(Flow(out, back, window_packets))
        env.timeout(i * options.stagger_ms / 1e3).callbacks.append(flows[-1].start)

    env.run(until=options.duration_s)
    received = sum(flow.received_packets for flow in flows)
    report = {
        "simulator": f"simpy-{options.style}",
        "flows": options.flows,
        "goodput_bps": round(received * MSS_BYTES * 8 / options.duration_s),
        "packet_hops": sum(each.delivered_packets for each in links),
        "events": None,
        "sim_seconds": options.duration_s,
        "peak_rss_bytes": peak_rss_bytes(),
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
