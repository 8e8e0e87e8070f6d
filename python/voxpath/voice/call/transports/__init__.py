"""Transports of a voice, in one list: a transport is a file here and a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.voice.call.transports.mptcp import Mptcp
from voxpath.voice.call.transports.mqtt import Mqtt
from voxpath.voice.call.transports.rtp import Rtp
from voxpath.voice.call.transports.stream import Stream
from voxpath.voice.call.transports.websocket import WebSocket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.voice.call.transports.base import Transport

TRANSPORTS: Mapping[str, Transport] = {
    transport.name: transport
    for transport in (
        Rtp(),
        Stream(),
        WebSocket(),
        Mptcp(),
        Mqtt(),
    )
}
