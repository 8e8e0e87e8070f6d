"""The handshake of a speech session, as aiohttp writes it: for our client and master, and for their model.

`tests/test_speech_simulated.py` holds it against what they send. Frames are RFC 6455's; their sizes stand in
`crates/apps/src/layers/websocket.rs`, for both ends to count them.
"""

from __future__ import annotations

from urllib.parse import quote_plus

CLIENT_SPEECH = "/client/ws/speech"
"""Where clients open a session."""

AGENT = "Python/3.11 aiohttp/3.14.5"
"""How both call themselves; other versions differ by some octets."""
WAV = "audio/x-wav"
_UNQUOTED = "/?:@!$'()*,"
"""Besides letters and digits, what yarl leaves as it is in a query."""
_KEY, _ACCEPT, _DATE = 24, 28, "Thu, 01 Jan 1970 00:00:00 GMT"
"""Octets of the key and of its answer (RFC 6455 section 4.1), and a date (RFC 9110 section 5.6.7)."""


def raw_type(rate: int) -> str:
    """The content type of raw samples of 16 bits, as GStreamer writes it."""
    return f"audio/x-raw, layout=(string)interleaved, rate=(int){rate}, format=(string)S16LE, channels=(int)1"


def request(address: str, content_type: str) -> str:
    """The request that opens a session at a server, without its random key."""
    query = f"content-type={quote_plus(content_type, safe=_UNQUOTED)}&timing=1"
    return _lines(
        f"GET {CLIENT_SPEECH}?{query} HTTP/1.1",
        f"Host: {address}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {'A' * _KEY}",
        "Accept: */*",
        "Accept-Encoding: gzip, deflate",
        f"User-Agent: {AGENT}",
    )


def response() -> str:
    """What answers it, without its key and its date."""
    return _lines(
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: upgrade",
        f"Sec-WebSocket-Accept: {'A' * _ACCEPT}",
        f"Date: {_DATE}",
        f"Server: {AGENT}",
    )


def _lines(*lines: str) -> str:
    return "".join(f"{line}\r\n" for line in (*lines, ""))
