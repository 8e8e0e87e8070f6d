"""Malformed datagrams that flood both ends of a call between real hosts: they are counted, and nothing else.

`python fuzz/datagrams.py` sends a million (`make soak`), `tests/test_real_calls.py` fewer. A program on each
host sends them with the address and port of that host's end: a connected socket hears of nobody else. What
is counted has to be what was sent, without what the kernel's receive buffer had no room for. Where that is
nothing, the call's frames have to be those of the same call left alone, which is simulated.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import voxpath

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20
ENDS = {"client": ("10.0.0.1", 49_152), "server": ("10.0.0.2", 5_001)}
"""Addresses and ports of the first flow (`ports_of` in the engine)."""
SLOT_S = 0.01
"""Datagrams are sent in bursts of so long."""
SETTLES_S = 2.0
"""After the last one, so that all have come when counters are read."""

LARGEST = 65_507
"""Octets of UDP over IPv4."""
LARGE_EVERY = 500
STRANGER = b"\0\0\0\1"
"""A source that nobody announced."""
FLIGHTS = (92, 64, 214, 738, 643, 666)
"""Octets of a call's handshake (`crates/rtc/src/session/setup.rs`): no malformed one is as long."""
TAG = 14
"""Octets of SRTCP's index and tag."""


def malformed(draws: random.Random) -> Iterator[bytes]:
    """Datagrams that are none of any call, each in one way, in turn; some are as large as UDP has them."""
    for number in range(sys.maxsize):
        large = number % LARGE_EVERY == 0
        rest = draws.randbytes(LARGEST - 40 if large else draws.randrange(8, 1200))
        # Another version than 2; of zero octets; no header.
        yield bytes([draws.choice((0x00, 0x40, 0xC0)) | draws.randrange(64)]) + rest
        yield b""
        yield b"\x80" + rest[: draws.randrange(11)]
        # RTP of a stranger, whole, and with bits flipped.
        rtp = b"\x80" + bytes([draws.choice((96, 98, 111)), *rest[:2]]) + rest[:4] + STRANGER + rest
        yield rtp
        yield flipped(rtp, draws, keep=range(8, 12))
        # RTCP that says that it is longer than it is, and reports that are shorter than their count says.
        yield b"\x80" + bytes([draws.randrange(200, 207), 0xFF, 0xFF]) + rest
        yield b"\x9f\xc9\x00\x01" + rest[:4] + bytes(TAG)
        # RTCP of a stranger, whole, and with bits flipped.
        body = rest[: len(rest) // 4 * 4]
        head = bytes([0x80, draws.randrange(200, 207)]) + (len(body) // 4 + 1).to_bytes(2, "big")
        rtcp = head + STRANGER + body + bytes(TAG)
        yield rtcp
        yield flipped(rtcp, draws, keep=range(4, 8))
        # STUN and DTLS: no flight of a handshake, and a record that is cut or has no known chunk.
        stun = bytes([draws.randrange(2), draws.randrange(256), *rest[:2]]) + b"\x21\x12\xa4\x42" + rest
        yield stun if len(stun) not in FLIGHTS else stun + b"\0"
        dtls = bytes([draws.randrange(20, 64), 0xFE, 0xFD]) + draws.randbytes(8) + rest
        yield dtls if len(dtls) not in FLIGHTS else dtls + b"\0"
        yield b"\x17\xfe\xfd" + rest[: draws.randrange(40)]
        # The largest of all; of it a fragment may be lost on its way.
        yield rest if not large else b"\0" + draws.randbytes(LARGEST - 1)


def flipped(octets: bytes, draws: random.Random, keep: range) -> bytes:
    """With up to eight bits flipped, none in `keep` and none of the version."""
    made = bytearray(octets)
    for _ in range(draws.randrange(1, 9)):
        at = draws.randrange(1, len(made))
        if at not in keep:
            made[at] ^= 1 << draws.randrange(8)
    return bytes(made)


def flood(host: str, datagrams: int, rate: int) -> dict[str, int]:
    """Sends datagrams from this host's end of the call at a rate; what became of them as this host knows."""
    ends = dict(ENDS)
    local = ends.pop(host)
    ((_, remote),) = ends.items()
    made = malformed(random.Random(f"{SEED} {host}"))
    octets = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        out.bind(local)
        begin, sent = time.monotonic(), 0
        while sent < datagrams:
            due = min(datagrams, int((time.monotonic() - begin) * rate))
            for _ in range(due - sent):
                octets += out.sendto(next(made), remote)
            sent = max(sent, due)
            time.sleep(SLOT_S)
        time.sleep(SETTLES_S)
        return {"sent": sent, "octets": octets, "refused": refused(local), "lost": lost_here()}


def refused(local: tuple[str, int]) -> int:
    """Datagrams for which the receive buffer of the call's socket, which is connected, had no room."""
    _, *rows = (line.split() for line in Path("/proc/net/udp").read_text().splitlines())
    (drops,) = (
        int(row[-1])
        for row in rows
        if int(row[1].split(":")[1], 16) == local[1] and row[2] != "00000000:0000"
    )
    return drops


def lost_here() -> int:
    """Packets that were dropped before they left, and datagrams that were not put together again."""
    dropped = sum(int(path.read_text()) for path in Path("/sys/class/net").glob("*/statistics/tx_dropped"))
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:")
    )
    return dropped + int(dict(zip(names, values, strict=True))["ReasmFails"])


def scenario(datagrams: int, rate: int, *, alone: bool) -> dict[str, Any]:
    """The call, and the programs that flood it, half of the datagrams each."""
    lasts = datagrams / rate + 6
    this = str(Path(__file__).resolve())
    media = {"rate": {"start": "1 Mbit/s"}, "video": {"rate": "500 kbit/s"}, "audio": {}, "nack": True}
    safe = {"protection": "dtls_srtp", "data": {"size": "1 kB", "interval": "100 ms"}}
    hosts: dict[str, Any] = {}
    for host in () if alone else ENDS:
        command = [sys.executable, this, "flood", host, str(datagrams // 2), str(rate // 2)]
        hosts[host] = {"profile": "linux", "run": command, "start": "1 s"}
    return {
        "name": "a call left alone" if alone else "a flood of malformed datagrams",
        "duration": f"{lasts + 20:.0f} s",
        "topology": {"kind": "pipe", "link": {"rate": "1 Gbit/s", "delay": "1 ms"}},
        **({} if alone else {"hosts": hosts}),
        "flows": [{"name": "call", "app": {"kind": "call", "duration": f"{lasts:.0f} s", **media, **safe}}],
    }


@dataclass
class Call:
    """What is judged of a run.

    Attributes:
        status: Of the flow.
        wrong: Octets of media that are wrong.
        counted: Malformed datagrams, by the end at which they came.
        frames: Each frame, as it was made.
        played: Of these, how many were played.
        messages: What became of the messages of the data channel, and how often.
        dropped: Packets that the network dropped.
    """

    status: str
    wrong: int
    counted: dict[str, int]
    frames: set[tuple[Any, ...]]
    played: float
    messages: Counter[str]
    dropped: int

    @classmethod
    def of(cls, run: Path) -> Call:
        """A run."""
        tables = {
            name: pl.read_parquet(run / f"{name}.parquet").with_columns(
                pl.selectors.categorical().cast(pl.String)
            )
            for name in ("flows", "calls", "frames", "data_messages", "elements")
        }
        (flow,) = tables["flows"].to_dicts()
        frames = tables["frames"]
        return cls(
            flow["status"],
            flow["bytes_wrong"],
            dict(tables["calls"].select("end", "datagrams_malformed").iter_rows()),
            set(frames.select("end", "media", "frame", "frame_bytes", "frame_packets", "key").iter_rows()),
            float(frames["played_ns"].is_not_null().sum() / frames.height),
            Counter(tables["data_messages"]["outcome"]),
            int(tables["elements"]["packets_dropped"].sum()),
        )


def judge(datagrams: int, rate: int, folder: Path) -> list[str]:
    """Runs the call; what does not hold."""
    begin = time.monotonic()
    (run,) = voxpath.run(scenario(datagrams, rate, alone=False), out=folder, backends=["real"]).folders
    took = time.monotonic() - begin
    (left,) = voxpath.run(scenario(datagrams, rate, alone=True), out=folder, backends=["sim"]).folders
    call, alone = Call.of(run), Call.of(left)
    told = {end: json.loads((run / "programs" / f"{end}.stdout").read_text()) for end in ENDS}
    sent = {"client": told["server"], "server": told["client"]}
    lost = call.dropped + sum(one["lost"] for one in told.values())
    refused = sum(one["refused"] for one in told.values())
    for end in ENDS:
        print(
            f"{end}: {sent[end]['sent']} malformed datagrams of {sent[end]['octets']} octets were sent to it,"
            f" the kernel had no room for {told[end]['refused']}, {call.counted[end]} were counted"
        )
    print(
        f"{lost} packets were lost on their way; {call.played:.1%} of frames were played,"
        f" {alone.played:.1%} of the call alone; messages: {dict(call.messages)}; {took:.0f} s"
    )
    print("the run's own problems:", json.loads((run / "verdict.json").read_text())["problems"] or "none")
    missing = {end: sent[end]["sent"] - call.counted[end] for end in ENDS}
    exact = [missing[end] == told[end]["refused"] for end in ENDS]
    undisturbed = not lost and not refused
    return [
        said
        for holds, said in (
            (sum(one["sent"] for one in told.values()) >= datagrams, "fewer were sent than asked for"),
            (lost or all(exact), f"what was neither counted nor refused: {missing}"),
            # A packet that is lost is one datagram at most; media is lost too, which makes it no larger.
            (
                all(0 <= missing[end] <= told[end]["refused"] + lost for end in ENDS),
                f"not counted: {missing}",
            ),
            (sum(missing.values()) <= 0.1 * datagrams, "more than a tenth was not counted"),
            (call.status == alone.status == "completed", f"the call's status is {call.status}"),
            (call.wrong == 0, f"{call.wrong} octets of media are wrong"),
            (call.played > 0.9, "more than a tenth of the frames was not played"),
            (not undisturbed or call.frames == alone.frames, "frames are not those of the call alone"),
            (not undisturbed or call.messages == alone.messages, "messages are not those of the call alone"),
        )
        if not holds
    ]


def main() -> int:
    """Floods a call, or is the program that does."""
    if sys.argv[1:2] == ["flood"]:
        host, datagrams, rate = sys.argv[2:]
        print(json.dumps(flood(host, int(datagrams), int(rate))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datagrams", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=8_000, help="datagrams a second")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        problems = judge(asked.datagrams, asked.rate, Path(folder))
    for problem in problems:
        print("does not hold:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
