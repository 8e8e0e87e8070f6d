"""Multipath TCP: a byte stream over all paths that the hosts have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from voxpath.voice.call.transports.base import Carrier
from voxpath.voice.call.transports.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Wants, Way


class Mptcp(Stream):
    """The same framing over all paths that the hosts have."""

    name: ClassVar[str] = "mptcp"
    about: ClassVar[str] = "RTP packets framed on a Multipath TCP connection (RFC 8684)"
    framing: ClassVar[str] = (
        "RTP's header and a length of 2 bytes (RFC 4571), Multipath TCP without Nagle's algorithm, IP"
    )
    TRANSPORT: ClassVar[Mapping[str, Any]] = {"kind": "mptcp", "nagle": False, "signal": True}
    """The listener opens the connection, and learns of the speaker's other addresses."""

    def carrier(self, network: Network, way: Way, wants: Wants) -> Carrier:
        """The kernel's path manager opens paths from the addresses of who opens the connection."""
        del way
        wants.refuse_repair(self.name)
        return Carrier("streams", None, ["mptcp"], network)
