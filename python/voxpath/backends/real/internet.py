"""A host that stands for the Internet: slirp4netns translates its packets' addresses in user space.

slirp4netns is a program of its own (GPL-2.0). It has a device in the host's network namespace and sockets in
the machine's, so whatever this process reaches by IPv4 is reached; its loopback is not. The host forwards
between that device and the network.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath import interrupts
from voxpath.backends.real.problems import RealError
from voxpath.packages import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PROGRAM = "slirp4netns"

_DEVICE = "out0"

_TUN = Path("/dev/net/tun")

NETWORK = "198.51.100.0/24"
"""Between the host and slirp4netns: addresses for documentation (RFC 5737), so nothing real is hidden."""

_ENDING_S = 5.0
"""How long slirp4netns has to end by itself."""

NAME_SERVER = "198.51.100.3"
"""Passes questions on to the machine's name servers."""

SYSCTL = (
    ("ipv4/ip_forward", "1"),
    # slirp4netns asks for the hosts' addresses as if they were beside it.
    ("ipv4/conf/default/proxy_arp", "1"),
)
"""Keys below /proc/sys/net of the host."""

_READY_S = 20.0
"""How long slirp4netns may take to begin."""


def is_own(address: str) -> bool:
    """Whether an address lies between the host and slirp4netns."""
    return ":" not in address and IPv4Address(address) in IPv4Network(NETWORK)


def gateway(plan: Mapping[str, Any]) -> int | None:
    """The host that stands for the Internet."""
    return next((relay["node"] for relay in plan["relays"] if relay["kind"] == "internet"), None)


def closed() -> str | None:
    """Why slirp4netns cannot make its device, and what to do about it; none if it can."""
    if not _TUN.exists():
        return f"{_TUN} is missing (as root: modprobe tun)"
    if not os.access(_TUN, os.R_OK | os.W_OK):
        return f"{_TUN} is not ours to open (as root: chmod 0666 {_TUN})"
    return None


def _reason(told: str) -> str:
    """What slirp4netns says first of what went wrong; it warns whatever happens."""
    lines = [line for line in told.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[0].strip() if lines else "it says nothing"


@contextlib.contextmanager
def joined(process: int, namespace: int, *, rootless: bool) -> Iterator[Callable[[], int | None]]:
    """Joins a host to what the machine reaches.

    Args:
        process: Who holds the host, as /proc numbers it.
        namespace: Its file descriptor of the host's network.
        rootless: Whether there is a user namespace to be entered.

    Raises:
        RealError: There is no slirp4netns, or it does not begin.
    """
    if problem := missing(_PROGRAM):
        raise RealError(f"a host that stands for the Internet needs {_PROGRAM}: {problem}")
    if problem := closed():
        raise RealError(
            f"a host that stands for the Internet needs {_PROGRAM}, and that a TAP device: {problem}"
        )
    proc = f"/proc/{process}"
    user = [f"--userns-path={proc}/ns/user"] if rootless else []
    ready, says_ready = os.pipe()
    # It ends when we do, however that comes: then nobody holds the other end any more.
    ends, held = os.pipe()
    command = [
        _PROGRAM, "--configure", f"--cidr={NETWORK}", "--mtu=1500", "--disable-host-loopback",
        "--enable-seccomp", f"--ready-fd={says_ready}", f"--exit-fd={ends}",
        *user, "--netns-type=path", f"{proc}/fd/{namespace}", _DEVICE,
    ]  # fmt: skip
    # What it says is not for the command's terminal, and is told where it does not begin.
    with tempfile.TemporaryFile() as said:
        try:
            with interrupts.blocked():
                translating = subprocess.Popen(  # noqa: S603 - a program of the machine's
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    pass_fds=(says_ready, ends),
                    # What a terminal's keys send is for the command.
                    start_new_session=True,
                )
        finally:
            os.close(says_ready)
            os.close(ends)
        try:
            readable, _, _ = select.select([ready], [], [], _READY_S)
            if not readable or not os.read(ready, 1):
                translating.kill()
                translating.wait()
                said.seek(0)
                told = said.read().decode(errors="replace")
                raise RealError(f"{_PROGRAM} does not begin: {_reason(told)}")
            yield translating.poll
        finally:
            os.close(ready)
            os.close(held)
            try:
                translating.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                translating.kill()
                translating.wait()
