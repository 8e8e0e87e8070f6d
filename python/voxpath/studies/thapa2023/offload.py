"""What a capture at a host's own device shows, with segmentation offload and without: measured, not modelled.

Two network namespaces are joined by a pair of virtual Ethernet devices. With offload a packet of up to 64 KiB
goes through whole, as a driver and a capture see it before the adapter cuts it; without, it is cut before.
`python -m` runs the inner half, which is root of namespaces of its own.
"""

# ruff: noqa: S603, S607 - what is started is named here

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from voxpath.studies.thapa2023.scenario import MQTT, SOCKET, TOPIC, WAYS, payloads

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEAR, _FAR = "10.9.0.1", "10.9.0.2"
_DEVICE = "near0"
_PORT = {SOCKET: 5000, MQTT: 1883}
_WITHIN_S = 20.0
_NEEDS = ("unshare", "nsenter", "ip", "mosquitto", "mosquitto_pub", "mosquitto_sub")
_ALL_PROTOCOLS, _SOL_PACKET, _OUTGOING = 3, 263, 4
_RECEIVE_BUFFER = 8 << 20


@dataclass(frozen=True)
class Seen:
    """One transfer, as a capture at the sender's device has it.

    Attributes:
        way: `socket` or `MQTT`.
        payload: As the publication has it.
        offload: Whether packets pass before they are segmented.
        header_bytes: TCP headers, both ways.
        packets: Both ways.
        largest: Octets of the largest IP packet.
    """

    way: str
    payload: str
    offload: bool
    header_bytes: int
    packets: int
    largest: int


class OffloadError(Exception):
    """The machine has no such namespaces, devices or programs."""


def measure() -> list[Seen]:
    """Each way with the smallest and the largest payload, with offload and without.

    Raises:
        OffloadError: The machine cannot.
    """
    missing = [name for name in _NEEDS if shutil.which(name) is None]
    if missing:
        raise OffloadError(f"{', '.join(missing)} is missing")
    mapped = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *mapped, "--net", "--mount", sys.executable, "-m", __name__]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=4 * _WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        raise OffloadError("the transfers between two namespaces did not end") from None
    if done.returncode:
        raise OffloadError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it failed")
    return [Seen(**one) for one in json.loads(done.stdout)]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def _joined() -> Iterator[tuple[str, ...]]:
    """Another namespace behind a pair of devices: what a command in it begins with."""
    with subprocess.Popen(
        ["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as other:
        try:
            own = Path("/proc/self/ns/net").readlink()
            _eventually(lambda: Path(f"/proc/{other.pid}/ns/net").readlink() != own)
            inside = ("nsenter", f"--net=/proc/{other.pid}/ns/net")
            _run(
                "ip", "link", "add", _DEVICE, "type", "veth", "peer", "name", "far0", "netns", str(other.pid)
            )
            for prefix, device, address in (((), _DEVICE, _NEAR), (inside, "far0", _FAR)):
                _run(*prefix, "ip", "address", "add", f"{address}/24", "dev", device)
                _run(*prefix, "ip", "link", "set", device, "up")
                _run(*prefix, "ip", "link", "set", "lo", "up")
            yield inside
        finally:
            other.kill()


def _eventually(condition: object) -> None:
    end = time.monotonic() + _WITHIN_S
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            raise OffloadError("a program did not start")
        time.sleep(0.01)


class _Capture:
    """The packets of TCP at the device, counted while they pass."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self._socket.bind((_DEVICE, _ALL_PROTOCOLS))
        self._socket.settimeout(0.3)
        self.header_bytes = self.packets = self.largest = 0
        self._thread = threading.Thread(target=self._count)
        self._stopped = threading.Event()
        self._thread.start()

    def _count(self) -> None:
        while True:
            try:
                packet = self._socket.recv(1 << 17)
            except TimeoutError:
                if self._stopped.is_set():
                    return
                continue
            if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
                continue
            self.packets += 1
            self.header_bytes += 4 * (packet[4 * (packet[0] & 15) + 12] >> 4)
            self.largest = max(self.largest, len(packet))

    def stop(self) -> None:
        """Waits until nothing more comes; a packet that found no room is an error."""
        self._stopped.set()
        self._thread.join()
        _, dropped = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, 6, 8))
        self._socket.close()
        if dropped:
            raise OffloadError(f"the capture lost {dropped} packets")


_SERVES = f"""import socket
server = socket.create_server(("", {_PORT[SOCKET]}))
while True:
    taken, _ = server.accept()
    while taken.recv(65536):
        pass
    taken.close()"""


def _listening(inside: tuple[str, ...], port: int) -> bool:
    done = subprocess.run(
        [*inside, "cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, check=True
    )
    return f":{port:04X} ".encode() in done.stdout


def _send(way: str, octets: int) -> None:
    data = bytes(octets)
    if way == MQTT:
        command = ["mosquitto_pub", "-h", _FAR, "-t", TOPIC, "-s"]
        subprocess.run(command, input=data, check=True, capture_output=True, timeout=_WITHIN_S)
        return
    with socket.create_connection((_FAR, _PORT[SOCKET]), timeout=_WITHIN_S) as there:
        there.sendall(data)
        there.shutdown(socket.SHUT_WR)
        there.recv(1)


def _transfers(inside: tuple[str, ...]) -> Iterator[Seen]:
    smallest, *_, largest = payloads()
    for offload in (True, False):
        if not offload:
            _run("ip", "link", "set", _DEVICE, "gso_max_segs", "1")
            _run(*inside, "ip", "link", "set", "far0", "gso_max_segs", "1")
        for way in WAYS:
            for payload in (smallest, largest):
                capture = _Capture()
                try:
                    _send(way, payloads()[payload])
                finally:
                    capture.stop()
                yield Seen(way, payload, offload, capture.header_bytes, capture.packets, capture.largest)


def main() -> None:
    """The inner half: prints what it saw as JSON."""
    conf = r"listener 1883\nallow_anonymous true\n"
    with _joined() as inside:
        servers = [
            subprocess.Popen([*inside, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for command in (
                [sys.executable, "-c", _SERVES],
                ["bash", "-c", f"exec mosquitto -c <(printf '{conf}')"],
            )
        ]
        try:
            for port in _PORT.values():
                _eventually(lambda port=port: _listening(inside, port))
            print(json.dumps([vars(seen) for seen in _transfers(inside)]))  # noqa: T201
        finally:
            for server in servers:
                server.kill()
                server.wait()


if __name__ == "__main__":
    try:
        main()
    except (OSError, OffloadError, subprocess.SubprocessError) as error:
        sys.exit(str(error))
