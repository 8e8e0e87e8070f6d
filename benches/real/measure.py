"""What the real-time network does beside what it was asked for, by the same small programs over it and without it.

Everything runs between two real hosts on one link. Beside the emulated way both have a plain veth pair, so that
what the kernel and the programs cost is measured in the same seconds, and taken off.
"""
# SPDX-License-Identifier: Apache-2.0

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binom

from voxpath.backends.real.entered import Entered
from voxpath.backends.real.session import Session
from voxpath.results.identity import Observe
from voxpath.scenario import from_dict

HERE = Path(__file__).resolve().parent
TAP_BRIDGE = HERE.parent / "peers" / "build" / "tapbridge"
BASELINE = ("192.168.77.1", "192.168.77.2")
PORT = "7000"
QUIET = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
CLIENT, SERVER = 0, 1
OFFERED = 1.25
"""How many times its rate a link is offered, to see its rate."""
BACKLOG_S = 0.1
"""What a link that is too slow for its load holds."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Round trips beyond twice the link's delay, and those of the bare kernel; microseconds.

    Attributes:
        one_way_ms: What was asked for.
        error_p50: Beyond that, and beyond the bare kernel's median; `error_p99` likewise.
        error_p99: See there.
        least_p50: The same of the least that a delay can be; `least_p99` likewise.
        least_p99: See there.
        baseline_p50: Of the bare kernel; `baseline_p99` likewise.
        baseline_p99: See there.
        lost: Round trips that never ended.
        late_p99: How late our loop handed packets over.
        scheduling: How our loop was scheduled.
    """

    one_way_ms: float
    error_p50: float
    error_p99: float
    least_p50: float
    least_p99: float
    baseline_p50: float
    baseline_p99: float
    lost: int
    late_p99: float
    scheduling: str


@dataclass(frozen=True, slots=True)
class Rate:
    """What came through a link that was offered more than its rate; Mbit/s of IP packets."""

    asked: float
    got: float
    late_p99: float


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets lost of those sent, and the interval in which 99.9 % of such counts lie."""

    asked: float
    sent: int
    lost: int
    low: int
    high: int
    reordered: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a link without a rate carried of an offered load."""

    offered_pps: float
    received: int
    sent: int
    delay_first_ms: float
    delay_last_ms: float
    cost: "Cost | None"

    @property
    def is_clean(self) -> bool:
        """Nothing lost, and no delay that grows."""
        return self.received == self.sent and self.delay_last_ms < self.delay_first_ms + 5


def build() -> str:
    """The workload, compiled."""
    program = Path(tempfile.gettempdir()) / "voxpath-bench-udp"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(HERE / "udp.c")]
    subprocess.run(command, check=True)  # noqa: S603
    return str(program)


def timer(udp: str, count: int) -> list[float]:
    """How late the machine itself wakes a thread every 10 ms that nothing may keep waiting; microseconds."""
    command = [udp, "timer", str(count), "10000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return sorted(int(line) / 1e3 for line in done.stdout.split())


@contextmanager
def pair(link: dict[str, object]) -> Iterator[Session]:
    """Two real hosts on one link, with a veth pair beside it; the network runs."""
    host = {"profile": "linux", "run": ["true"]}
    data = {
        "name": "bench",
        "duration": "10 min",
        "topology": {"kind": "pipe", "link": link},
        "hosts": {"client": host, "server": host},
    }
    with Session(from_dict(data, "bench").plan.json) as session:
        process, namespaces = session.place
        peer = f"/proc/{process}/fd/{namespaces[SERVER]}"
        for host_index, commands in (
            (
                CLIENT,
                f"link add base type veth peer name base netns {peer}\naddr add {BASELINE[0]}/24 dev base\n",
            ),
            (SERVER, f"addr add {BASELINE[1]}/24 dev base\n"),
        ):
            configuring = Entered(
                session, host_index, ["ip", "-batch", "-"], stdin=subprocess.PIPE, text=True
            )
            configuring.communicate(commands + "link set base up\n")
            if configuring.returncode != 0:
                raise subprocess.CalledProcessError(configuring.returncode, configuring.args)
        session.start(0, Observe().json)
        yield session


def start(session: Session, host: int, *command: str) -> Entered:
    """Starts a program on a host."""
    return Entered(session, host, command, stdout=subprocess.PIPE, text=True)


def delay(udp: str, one_way_ms: float, least: "Joined", count: int, rounds: int = 4) -> Delay:
    """Round trips of 100 packets a second, in rounds of ours, the bare kernel's and the least delay's."""
    trips: dict[str, list[int]] = {"emulated": [], "bare": [], "least": []}
    late: list[float] = []
    each = ("10000", "100")
    for _ in range(rounds):
        with pair({"delay": f"{one_way_ms} ms"}) as session:
            echo = start(session, SERVER, udp, "echo", PORT)
            time.sleep(0.2)
            for way, address in (("emulated", "10.0.0.2"), ("bare", BASELINE[1])):
                trips[way] += _round_trips(
                    start(session, CLIENT, udp, "ping", address, PORT, str(count // rounds), *each)
                )
            fidelity = json.loads(session.finish()[1])
            late.append(fidelity["deliveries"]["p99_ns"] / 1e3)
            echo.kill()
            echo.wait()
        with least(one_way_ms) as place:
            trips["least"] += _pings(udp, place, count // rounds)
    base = statistics.median(trips["bare"])
    errors, floor = (
        [trip - 2 * one_way_ms * 1e6 - base for trip in trips[way]] for way in ("emulated", "least")
    )
    return Delay(
        one_way_ms,
        statistics.median(errors) / 1e3,
        _percentile(errors, 99) / 1e3,
        statistics.median(floor) / 1e3,
        _percentile(floor, 99) / 1e3,
        base / 1e3,
        _percentile(trips["bare"], 99) / 1e3,
        count // rounds * rounds - len(errors),
        statistics.median(late),
        fidelity["scheduling"],
    )


def rate(udp: str, mbit: float, seconds: float) -> Rate:
    """A link offered more than its rate."""
    size = 1400
    wire = size + 28
    # Longer than the sender is ever kept from its processor: a link that runs dry says nothing about its rate.
    backlog = mbit * 1e6 / 8 / wire * BACKLOG_S
    link = {"rate": f"{mbit} Mbit/s", "delay": "5 ms", "queue": f"{backlog:.0f} packets"}
    _, sink, told = _blast(udp, link, OFFERED * mbit * 1e6 / 8 / wire, seconds, size)
    got = (sink["received"] - 1) * wire * 8 / sink["seconds"] / 1e6
    return Rate(mbit, got, told["deliveries"]["p99_ns"] / 1e3)


def loss(udp: str, probability: float, packets: int) -> Loss:
    """Packets of a steady stream over a link that loses some."""
    per_s = 10_000
    link = {"delay": "2 ms", "loss": f"{probability:.4%}".replace("%", " %")}
    blast, sink, _ = _blast(udp, link, per_s, packets / per_s, 100)
    low, high = (int(end) for end in binom.interval(0.999, blast["sent"], probability))
    return Loss(probability, blast["sent"], blast["sent"] - sink["received"], low, high, sink["reordered"])


@dataclass(frozen=True, slots=True)
class Cost:
    """What the loop that joins two hosts spends on a packet; microseconds of processor time.

    Attributes:
        all: Its own code and the kernel's.
        kernel: In system calls: reading the packet and handing it to the other host's stack.
    """

    all: float
    kernel: float


@dataclass(frozen=True, slots=True)
class Place:
    """Two real hosts, whoever joins them.

    Attributes:
        start: Starts a program on one of them.
        server: The address of the other one.
        cost: What a packet has cost, once all have ended; none where that is not known.
    """

    start: "Callable[..., subprocess.Popen[str]]"
    server: str
    cost: "Callable[[], Cost | None]" = lambda: None


Joined = Callable[[float], AbstractContextManager[Place]]
"""Joins two real hosts by a link with a delay, ms."""


@contextmanager
def ours(delay_ms: float) -> Iterator[Place]:
    """Joined by voxpath, by a link without a rate."""
    with pair({"delay": f"{delay_ms} ms"}) as session:

        def cost() -> Cost:
            told = json.loads(session.finish()[1])
            return Cost(*(told[part] / told["packets_in"] / 1e3 for part in ("processor_ns", "kernel_ns")))

        yield Place(lambda host, *command: start(session, host, *command), "10.0.0.2", cost)


def tap_bridge(delay_ms: float) -> AbstractContextManager[Place]:
    """Joined by ns-3's TapBridge: a channel without a rate between two devices."""
    return _joined_by([str(TAP_BRIDGE)], "tap", f"{delay_ms:g}")


def wire(udp: str, delay_ms: float) -> AbstractContextManager[Place]:
    """Joined by the least that a delay can be: two TUN devices and a queue, in C."""
    return _joined_by([udp, "wire"], "tun", f"{delay_ms * 1e3:.0f}")


@contextmanager
def _joined_by(program: list[str], mode: str, delay: str) -> Iterator[Place]:
    """Two hosts, joined by a program that is told two devices and a delay, and says when it is ready."""
    devices = ("left", "right")
    with ExitStack() as stack:

        def held(*command: str) -> "subprocess.Popen[str]":
            process = subprocess.Popen(  # noqa: S603
                ["unshare", "--net", "--kill-child", *command],  # noqa: S607
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        # A tap that is down ends ns-3, and IPv6 would have it up too late.
        made = "".join(f"ip tuntap add {name} mode {mode}; ip link set {name} up; " for name in devices)
        started = " ".join([*program, *devices, delay])
        joint = held("sh", "-c", f"{QUIET}; {made} exec {started}")
        if joint.stdout is None or joint.stdout.readline() != "ready\n":
            raise RuntimeError(f"{program[0]} has not started: is `make bench-setup` done?")
        hosts = [held("sleep", "infinity") for _ in devices]
        time.sleep(0.2)
        for number, (name, host) in enumerate(zip(devices, hosts, strict=True), start=1):
            _in(joint.pid, f"ip link set {name} netns {host.pid}")
            _in(
                host.pid,
                f"{QUIET}; ip link set {name} txqueuelen 10000 up; ip addr add 10.0.0.{number}/24 dev {name}",
            )

        # The addresses of the link layer are asked for once, before anything is measured.
        yield Place(lambda host, *command: _entered(hosts[host].pid, *command), "10.0.0.2")


def _entered(process: int, *command: str) -> "subprocess.Popen[str]":
    entered = ["nsenter", "--target", str(process), "--net", *command]
    return subprocess.Popen(entered, stdout=subprocess.PIPE, text=True)  # noqa: S603


def _in(process: int, script: str) -> None:
    command = ["nsenter", "--target", str(process), "--net", "sh", "-ec", script]
    subprocess.run(command, check=True)  # noqa: S603


def round_trips(udp: str, joined: Joined, count: int) -> list[float]:
    """Round trips of 100 packets a second beyond twice a delay of 20 ms, microseconds."""
    with joined(20) as place:
        return [(trip - 40e6) / 1e3 for trip in _pings(udp, place, count)]


def _pings(udp: str, place: Place, count: int) -> list[int]:
    """Round trips of 100 packets a second, after some that nobody counts."""
    echo = place.start(SERVER, udp, "echo", PORT)
    time.sleep(0.2)
    _round_trips(place.start(CLIENT, udp, "ping", place.server, PORT, "10", "10000", "100"))
    seen = _round_trips(place.start(CLIENT, udp, "ping", place.server, PORT, str(count), "10000", "100"))
    echo.kill()
    echo.wait()
    return seen


def capacity(
    udp: str,
    joined: Joined,
    per_s: float,
    seconds: float,
    size: int = 172,
) -> Capacity:
    """An offered load of packets of 200 bytes over a link of 1 ms."""
    with joined(1) as place:
        echo = place.start(SERVER, udp, "echo", "7001")
        time.sleep(0.2)
        _round_trips(place.start(CLIENT, udp, "ping", place.server, "7001", "10", "10000", "100"))
        echo.kill()
        echo.wait()
        sink_ = place.start(SERVER, udp, "sink", PORT, "500")
        time.sleep(0.2)
        blast_ = place.start(
            CLIENT, udp, "blast", place.server, PORT, f"{per_s:.1f}", f"{seconds}", str(size)
        )
        blast, sink = (json.loads(program.communicate()[0]) for program in (blast_, sink_))
        cost = place.cost()
    return Capacity(
        blast["sent"] / blast["seconds"],
        sink["received"],
        blast["sent"],
        sink["delay_first_ns"] / 1e6,
        sink["delay_last_ns"] / 1e6,
        cost,
    )


def throughput(joined: Joined, seconds: int) -> float:
    """What iperf3 gets through a link of 1 ms without a rate by one TCP connection; Mbit/s of payload."""
    with joined(1) as place:
        served = place.start(SERVER, "iperf3", "--server", "--one-off")
        time.sleep(0.5)
        asked = place.start(CLIENT, "iperf3", "--json", "--time", str(seconds), "--client", place.server)
        found = json.loads(asked.communicate()[0])
        served.wait()
    return float(found["end"]["sum_received"]["bits_per_second"]) / 1e6


def _blast(
    udp: str, link: dict[str, object], per_s: float, seconds: float, size: int
) -> tuple[dict[str, float], dict[str, float], dict[str, dict[str, float]]]:
    with pair(link) as session:
        sink = start(session, SERVER, udp, "sink", PORT, "500")
        time.sleep(0.2)
        blast = start(
            session, CLIENT, udp, "blast", "10.0.0.2", PORT, f"{per_s:.1f}", f"{seconds}", str(size)
        )
        said = [json.loads(program.communicate()[0]) for program in (blast, sink)]
        _, told = session.finish()
    return said[0], said[1], json.loads(told)


def _round_trips(ping: "subprocess.Popen[str]") -> list[int]:
    lines = ping.communicate()[0].split()
    return [int(line) for line in lines if line != "lost"]


def _percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
