"""Sockets of TCP and of Multipath TCP, and what the kernel says of them."""

from __future__ import annotations

import errno
import socket
import struct
from typing import Any

_MPTCP = getattr(socket, "IPPROTO_MPTCP", 262)
_SOL_MPTCP, _MPTCP_INFO, _FALLBACK = 284, 1, 1
"""Of linux/mptcp.h; and the bit of `mptcpi_flags` that says that the connection goes on as TCP."""


class NoMultipathError(OSError):
    """The kernel has no Multipath TCP."""


def make(family: socket.AddressFamily, multipath: bool) -> socket.socket:
    """A socket of a stream; small writes leave at once.

    Raises:
        NoMultipathError: It is to be one of Multipath TCP, which the kernel does not have.
    """
    try:
        made = socket.socket(family, socket.SOCK_STREAM, _MPTCP if multipath else 0)
    except OSError as error:
        if multipath and error.errno in {errno.EPROTONOSUPPORT, errno.ENOPROTOOPT, errno.EINVAL}:
            told = "this machine's kernel has no Multipath TCP (or net.mptcp.enabled is 0)"
            raise NoMultipathError(told) from error
        raise
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def listening(family: socket.AddressFamily, place: tuple[str, int]) -> socket.socket:
    """A socket that listens, for Multipath TCP and TCP where the kernel has both, else for TCP."""
    try:
        made = make(family, True)
    except NoMultipathError:
        made = make(family, False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(place)
    made.listen(64)
    return made


def told(connected: socket.socket) -> dict[str, Any]:
    """What the kernel says of a connection: its first subflow by TCP_INFO, and the whole by MPTCP_INFO.

    Returns:
        `rtt_us`, `rttvar_us`, `cwnd_segments`, `retransmissions` of the first subflow; and of Multipath TCP
        `subflows`, which stand now, and `fallback`. What is not known is left out.
    """
    found: dict[str, Any] = {}
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    except OSError:
        info = b""
    if len(info) >= 104:
        words = struct.unpack_from("=24I", info, 8)
        found |= {
            "rtt_us": words[15],
            "rttvar_us": words[16],
            "cwnd_segments": words[18],
            "retransmissions": words[23],
        }
    try:
        whole = connected.getsockopt(_SOL_MPTCP, _MPTCP_INFO, 96)
    except OSError:
        return found
    if len(whole) >= 12:
        (flags,) = struct.unpack_from("=I", whole, 8)
        found |= {"subflows": 1 + whole[0], "fallback": bool(flags & _FALLBACK)}
    return found
