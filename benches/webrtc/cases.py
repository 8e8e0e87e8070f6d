"""The networks in which a call of browsers and a simulated one are compared, and what is measured in a run of either."""
# SPDX-License-Identifier: Apache-2.0

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxpath.scenario import Document, from_dict

CODEC, SIZE, FPS, MAX_KBPS = "VP8", "640x480", 30, 2500
"""Chromium's: of the client's video. The server sends none."""

AUDIO_KBPS = 32
"""Opus as Chromium sets it (`targetBitrate`)."""

START_KBPS = 300
"""libwebrtc's own (`kDefaultStartBitrateBps`)."""

MIN_VIDEO_KBPS = 30
"""`kDefaultMinVideoBitrateBps`."""

MIN_AUDIO_KBPS = AUDIO_KBPS + 56 * 8 * 50 / 1000
"""What libwebrtc allocates to audio at least: its bitrate and the overhead of a packet over the longest frame, which is 20 ms
(`AudioSendStream::GetMinMaxBitrateConstraints`). The 56 octets depend on header extensions and SRTP's tag; they are what
the record's smallest estimate has above `MIN_VIDEO_KBPS` and `AUDIO_KBPS` (tests/test_webrtc.py).
"""

STARTS_S = 3
"""About when Chromium has started and the call begins; the simulated one does so at this time."""

DELAY_MS = 25
QUEUE_MS = 300
"""Room before the bottleneck, at its first capacity."""

_ACCESS = "100 Mbit/s"
_LINK = "bottleneck ab"
TCP = "tcp"
ENCODER = "encoder.txt"
"""Beside a scenario of ours: what its encoder makes of the target."""
END = 3
"""The last seconds of a run are not measured."""

_SETTLED_LOW, _SETTLED_HIGH = 1.1, 0.8
"""Of the capacity: below the one a call has come down, above the other one it has come back."""


@dataclass(frozen=True)
class Case:
    """A network.

    Attributes:
        title: What it is called in tables.
        rates: Capacities in kbit/s, and from when in seconds.
        end: Of the run, in seconds.
        since: From here on it is measured.
        tcp: When TCP transfers without an end begin beside the call.
        transfers: How many of them.
        judged: Whether figures have bars; else they are shown.
        frames_of: The network whose encoder's frames ours has; its own without.
    """

    title: str
    rates: tuple[tuple[int, int], ...]
    end: int
    since: int
    tcp: int | None = None
    frames_of: str | None = None
    transfers: int = 1
    judged: bool = True

    @property
    def flows(self) -> tuple[str, ...]:
        """Names of the TCP transfers."""
        others = (f"{TCP}{number}" for number in range(2, self.transfers + 1))
        return () if self.tcp is None else (TCP, *others)


CASES = {
    "500": Case("0.5 Mbit/s", ((0, 500),), 70, 20),
    "1000": Case("1 Mbit/s", ((0, 1000),), 70, 20),
    "2000": Case("2 Mbit/s", ((0, 2000),), 70, 20),
    "steps": Case("2, 0.5, 2 Mbit/s", ((0, 2000), (35, 500), (65, 2000)), 100, 20, frames_of="2000"),
    "tcp": Case("2 Mbit/s, one TCP transfer", ((0, 2000),), 80, 30, tcp=10),
    "five": Case(
        "5 Mbit/s, five TCP transfers",
        ((0, 5000),),
        80,
        30,
        tcp=10,
        frames_of="2000",
        transfers=5,
        judged=False,
    ),
}


def caller(name: str) -> str:
    """The host that sends video. Hosts have numbers where there is more than one pair."""
    return "client" if CASES[name].tcp is None else "client1"


def scenario(name: str, *, browsers: bool, folder: Path = Path()) -> Document:
    """A case, with browsers on real hosts or with our call, whose encoder's ratios are in a folder."""
    case = CASES[name]
    first = case.rates[0][1]
    flows: list[dict[str, Any]] = []
    hosts: dict[str, Any] = {}
    client = caller(name)
    server = client.replace("client", "server")
    if browsers:
        length = case.end - STARTS_S - 2
        offer = ["voxpath", "webrtc", "offer", server, "--codec", CODEC, "--size", SIZE, "--fps", str(FPS)]
        offer += ["--max-rate", f"{MAX_KBPS} kbit/s", "--duration", f"{length} s"]
        answer = ["voxpath", "webrtc", "answer", "--no-video"]
        hosts[client] = {"profile": "linux", "run": offer}
        hosts[server] = {"profile": "linux", "run": answer, "listens": 8000}
    else:
        flows.append({"name": "call", "start": f"{STARTS_S} s", "app": _call()})
    for pair, transfer in enumerate(case.flows, start=2):
        app = {"kind": "download", "request": "100 B", "response": "1 GB"}
        # What is downloaded goes the way of the client's video.
        ends = (f"client{pair}", f"server{pair}")
        flow = {"name": transfer, "from": ends[1], "to": ends[0], "start": f"{case.tcp} s", "app": app}
        flows.append(flow)
        hosts |= {host: {"profile": "linux", "simulated": True} for host in ends}
    capacity: Any = f"{first} kbit/s"
    if len(case.rates) > 1:
        steps = [{"at": f"{at} s", "rate": f"{kbps} kbit/s"} for at, kbps in case.rates]
        capacity = {"kind": "schedule", "steps": steps}
    made = {
        "name": f"{case.title}: {'browsers' if browsers else 'our call'}",
        "duration": f"{case.end} s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 1 + len(case.flows),
            "bottleneck": {
                "delay": f"{DELAY_MS} ms",
                "up": {"rate": capacity, "queue": f"{first * QUEUE_MS // 8} B"},
                "down": {"rate": "10 Mbit/s", "queue": "375 kB"},
            },
            "access": {"rate": _ACCESS, "delay": "0 s"},
        },
        **({"hosts": hosts} if hosts else {}),
        **({"flows": flows} if flows else {}),
    }
    return from_dict(made, base=folder)


def _call() -> dict[str, Any]:
    audio = {"control": "libwebrtc", "audio": {"rate": f"{AUDIO_KBPS} kbit/s"}}
    return {
        "kind": "call",
        "protection": "dtls_srtp",
        "nack": True,
        "video": {"fps": FPS, "ratios": ENCODER},
        **audio,
        "rate": _rate(MIN_VIDEO_KBPS + MIN_AUDIO_KBPS),
        "back": audio | {"rate": _rate(MIN_AUDIO_KBPS)},
    }


def _rate(least_kbps: float) -> dict[str, str]:
    """An estimate is no lower than what the media have at least (`WebRTC-Bwe-MinAllocAsLowerBound`)."""
    rates = {"min": least_kbps, "start": START_KBPS, "max": MAX_KBPS + AUDIO_KBPS}
    return {name: f"{kbps:g} kbit/s" for name, kbps in rates.items()}


@dataclass
class Measured:
    """What a run shows.

    Attributes:
        seconds: When the estimate changed.
        kbps: To what.
        estimate: Its mean, in kbit/s.
        sent: Video as it was sent, in kbit/s.
        p50: Queueing delay at the bottleneck of packets that went the video's way, in ms.
        p95: Likewise.
        down: Seconds until the estimate is below 1.1 of the smaller capacity.
        back: Seconds until it is above 0.8 of the larger one.
        share: Of what went through the bottleneck beside TCP, the call's part.
        problem: Why the run says nothing of a network.
    """

    seconds: np.ndarray = field(repr=False)
    kbps: np.ndarray = field(repr=False)
    estimate: float
    sent: float
    p50: float
    p95: float
    down: float | None = None
    back: float | None = None
    share: float | None = None
    problem: str | None = None


def measured(name: str, folder: Path) -> Measured:
    """What a run shows."""
    case = CASES[name]
    since, until = case.since, case.end - END
    signals = pl.read_parquet(folder / "signals.parquet").filter(
        pl.col("end").cast(pl.String) == "client", pl.col("signal").cast(pl.String) == "target_bps"
    )
    seconds = signals.get_column("time_ns").to_numpy() / 1e9
    kbps = signals.get_column("number").to_numpy() / 1e3
    media = pl.read_parquet(folder / "media_seconds.parquet").filter(
        pl.col("end").cast(pl.String) == "client",
        pl.col("media").cast(pl.String) == "video",
        pl.col("second").is_between(since, until - 1),
    )
    packets = pl.read_parquet(folder / "packets.parquet").filter(pl.col("link").cast(pl.String) == _LINK)
    at, waited, is_tcp, size = _queueing(packets, case)
    inside = (at >= since) & (at < until)
    grid = np.arange(since, until, 0.05)
    found = Measured(
        seconds,
        kbps,
        float(_held(seconds, kbps, grid).mean()),
        float(media.get_column("media_sent_bps").sum() / (until - since) / 1e3),
        *(float(np.percentile(waited[inside], share)) for share in (50, 95)),
        problem=_problem(folder, case),
    )
    if len(case.rates) > 1:
        (_, _), (falls, low), (rises, high) = case.rates
        found.down = _first(seconds, kbps, falls, rises, lambda value: value <= _SETTLED_LOW * low)
        found.back = _first(seconds, kbps, rises, case.end, lambda value: value >= _SETTLED_HIGH * high)
    if case.tcp is not None:
        found.share = float(size[inside & ~is_tcp].sum() / size[inside].sum())
    return found


def _held(seconds: np.ndarray, values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """A value that holds until the next one."""
    return values[np.searchsorted(seconds, grid, side="right") - 1]


def _first(seconds: np.ndarray, values: np.ndarray, since: float, until: float, holds: Any) -> float | None:
    grid = np.arange(since, until, 0.05)
    fits = np.flatnonzero(holds(_held(seconds, values, grid)))
    return float(grid[fits[0]] - since) if len(fits) else None


def _queueing(packets: pl.DataFrame, case: Case) -> tuple[np.ndarray, ...]:
    """Of each packet that left the bottleneck: when it did, how long it had waited in ms, whether it is TCP's, its size."""
    action = pl.col("action").cast(pl.String)
    into, out = packets.filter(action == "enqueued"), packets.filter(action == "delivered")
    # First in, first out, and nothing is lost behind the queue.
    into = into.head(out.height)
    left = out.get_column("time_ns").to_numpy() / 1e9 - DELAY_MS / 1e3
    came = into.get_column("time_ns").to_numpy() / 1e9
    size = out.get_column("ip_bytes").to_numpy()
    if not np.array_equal(size, into.get_column("ip_bytes").to_numpy()):
        raise RuntimeError("packets changed their order in the bottleneck")
    starts = np.array([start for start, _ in case.rates])
    rate = np.array([kbps for _, kbps in case.rates])[np.searchsorted(starts, left, side="right") - 1]
    waited = (left - came) * 1e3 - size * 8 / rate
    is_tcp = out.get_column("flow").cast(pl.String).is_in(case.flows).fill_null(value=False).to_numpy()
    return left, np.maximum(waited, 0), is_tcp, size


def _problem(folder: Path, case: Case) -> str | None:
    """Why a run of browsers says nothing: it was too short, or they had too little processor time."""
    path = folder / "browsers.parquet"
    if not path.is_file():
        return None
    table = pl.read_parquet(path).filter(
        pl.col("end") == "client",
        pl.col("media") == "video",
        pl.col("second").is_between(case.since, case.end - END - 1),
    )
    if table.height < case.end - END - 3 - case.since:
        return f"it was measured for {table.height} s"
    if table.get_column("limited_by_cpu_ns").sum():
        return "Chromium says that the processor limited the quality"
    made = table.get_column("frames_captured").mean()
    if not isinstance(made, float) or made < 0.95 * FPS:
        return f"{made} of {FPS} frames a second came from the camera"
    return None
