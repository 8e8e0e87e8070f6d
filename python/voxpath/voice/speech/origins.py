"""Which web pages may use the service from a browser.

A browser lets any page open sockets to any server, and says in `Origin` whose page it is. By DNS rebinding a
page may also be served under a name that leads to us a moment later: its origin is then our own name. So a
page of our own is believed by any name only where clients have to know a token, else by an address, as
`localhost`, or as `machine`, which is what hosts of an emulated network call this machine.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Collection

_HEADERS = {
    "Access-Control-Allow-Methods": "PUT, POST, OPTIONS",
    "Access-Control-Allow-Headers": (
        "origin, x-requested-with, x-csrftoken, content-type, accept, authorization, "
        "user-id, content-id, device-id"
    ),
    "Access-Control-Max-Age": "1000",
    "Vary": "Origin",
}

_PORTS = {"http": 80, "https": 443}
"""The port of an origin that names none."""

_SOCKETS = ("ws://", "wss://")
"""How origins begin that are a socket's own address: so does ws4py, with which Kaldi's own client is written.
No page has such an origin."""


@dataclass(frozen=True)
class Origin:
    """Whose page something is (RFC 6454)."""

    scheme: str
    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Origin:
        """Reads `https://example.org` or `http://example.org:8080`.

        Raises:
            ValueError: It is no web page's.
        """
        # Slashes at the end are what people copy.
        parts = urlsplit(text.removesuffix("/"))
        if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
            raise ValueError("an origin is http:// or https://, a host, and its port if it has one")
        if parts.path or parts.query or parts.fragment:
            raise ValueError("an origin ends with its host or port")
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
        return cls(parts.scheme, host, parts.port or _PORTS[parts.scheme])


@dataclass(frozen=True)
class Origins:
    """Whose pages are let in."""

    named: Collection[Origin] = ()
    """Origins that the operator allows."""
    tokens: bool = False
    """Clients have to know a token."""

    def allow(self, origin: str, host: str) -> bool:
        """Whether a page of this origin may send a request to this `Host`."""
        try:
            page = Origin.read(origin)
            # Whoever ends TLS before us may have another scheme.
            ours = Origin.read(f"{page.scheme}://{host}")
        except ValueError:
            return False
        return page in self.named or (page == ours and (self.tokens or _steady(page.host)))

    async def check(self, request: web.Request) -> None:
        """Refuses a page that is not let in; who is no browser says no origin.

        Raises:
            HTTPForbidden: It is not.
        """
        if not all(self.allow(origin, request.host) for origin in _said(request)):
            raise web.HTTPForbidden(text="pages of this origin may not use this service (--origin)")

    async def tell(self, request: web.Request, response: web.StreamResponse) -> None:
        """Lets a browser show the answer to a page of another origin that is allowed."""
        for origin in _said(request):
            try:
                is_named = Origin.read(origin) in self.named
            except ValueError:
                continue
            if is_named:
                response.headers.update(_HEADERS | {"Access-Control-Allow-Origin": origin})


def is_page(request: web.Request) -> bool:
    """Whether a browser sends a request for a page."""
    return bool(_said(request))


def _said(request: web.Request) -> list[str]:
    said = request.headers.getall("Origin", [])
    return [origin for origin in said if not origin.startswith(_SOCKETS)]


def _steady(name: str) -> bool:
    """Whether nobody else decides where this name leads."""
    if name in {"localhost", "machine"} or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
