"""Which web pages may use the service from a browser.

A browser lets any page open sockets to any server, and says in `Origin` whose page it is. By DNS rebinding a
page may also be served under a name that leads to us a moment later: its origin is then our own name. So a
page of our own is believed by such a name only where clients have to know a token, else by an address, or by
a name without a dot: nobody has one of these in public, and hosts of an emulated network call this machine
`machine`.
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


@dataclass(frozen=True)
class Origins:
    """Whose pages are let in."""

    named: Collection[str] = ()
    """Origins that the operator allows, as https://example.org."""
    tokens: bool = False
    """Clients have to know a token."""

    def allow(self, origin: str, host: str) -> bool:
        """Whether a page of this origin may send a request to this `Host`."""
        return origin in self.named or self._own(origin, host)

    def _own(self, origin: str, host: str) -> bool:
        try:
            page = urlsplit(origin)
            name = page.hostname or ""
        except ValueError:
            return False
        return bool(name) and page.netloc == host and (self.tokens or _steady(name))

    async def check(self, request: web.Request) -> None:
        """Refuses a page that is not let in; who is no browser says no origin.

        Raises:
            HTTPForbidden: It is not.
        """
        origin = request.headers.get("Origin")
        if origin is not None and not self.allow(origin, request.host):
            raise web.HTTPForbidden(text="pages of this origin may not use this service (--origin)")

    async def tell(self, request: web.Request, response: web.StreamResponse) -> None:
        """Lets a browser show the answer to a page of another origin that is allowed."""
        origin = request.headers.get("Origin")
        if origin is not None and origin in self.named:
            response.headers.update(_HEADERS | {"Access-Control-Allow-Origin": origin})


def _steady(name: str) -> bool:
    """Whether nobody else decides where this name leads."""
    if "." not in name and ":" not in name:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
