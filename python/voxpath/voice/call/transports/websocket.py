"""WebSocket: a message for each frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from voxpath.voice.call.transports.base import Carrier
from voxpath.voice.call.transports.stream import Stream

if TYPE_CHECKING:
    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Wants, Way


class WebSocket(Stream):
    """A message for each frame, as a browser's client sends them."""

    name: ClassVar[str] = "websocket"
    about: ClassVar[str] = "a WebSocket message for each frame (RFC 6455)"
    framing: ClassVar[str] = (
        "a masked WebSocket frame's head of 6 or 8 bytes, TCP without Nagle's algorithm, IP"
    )

    @staticmethod
    def head(size: int) -> int:
        """2 octets and the mask; 2 more for lengths above 125 (RFC 6455 section 5.2)."""
        return 6 if size <= 125 else 8

    def carrier(self, network: Network, way: Way, wants: Wants) -> Carrier:
        """The listener is the server, since clients mask what they send."""
        wants.refuse_repair(self.name)
        return Carrier("websockets", way.to, [], network, counts=True)
