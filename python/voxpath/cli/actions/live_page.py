"""`--live`: a page on loopback of what the links do while a command runs, by which they can be changed.

Whoever can change a network is who has the page's address: it has a secret, which is said on our standard
error alone. A page of another site does not know the secret, is no origin that is listened to, and cannot
call itself by our address.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from voxpath import interrupts
from voxpath.backends.real.problems import RealError
from voxpath.backends.real.steering import STEERED, WAYS, links_of
from voxpath.report.markup import element, escape
from voxpath.report.shell import asset, document_of, plotting, policy_of
from voxpath.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voxpath.backends.real.steering import Steering
    from voxpath.cli.actions.watch import Look, Watch

_MOST_BYTES = 10_000
"""Of a change that somebody sends."""

_SHOWN = 480
"""Rounds of looks that a page shows, four a second; it is not sent older ones."""


class ChangeError(ValueError):
    """What was sent is no change of a link."""


class Live:
    """What the page shows, and what is asked of it.

    Attributes:
        watch: What the links did.
        steering: By which they are changed.
    """

    def __init__(self, watch: Watch, steering: Steering) -> None:
        self.watch = watch
        self.steering = steering

    def page(self) -> str:
        """The page; what it shows it asks for."""
        style = asset("uplot.min.css") + asset("style.css") + asset("live.css")
        script = plotting() + asset("live.js")
        title = str(self.watch.network.plan["name"])
        body = [
            '<header class="top">',
            element("button", "dark / light", type="button", id="theme", hidden=True),
            element("h1", escape(title)),
            element(
                "p",
                f"{element('span', 'running', id='state')}, {element('output', '0 s', id='time')}; "
                f"changes by hand: {element('output', '0', id='count')}",
                class_="question",
            ),
            "</header>",
            "<main></main>",
            element("section", element("h2", "Changed by hand") + '<ol id="changes" class="changes"></ol>'),
        ]
        policy = f"{policy_of(style, script)}; connect-src 'self'; form-action 'none'; base-uri 'none'"
        return document_of(title, policy, style, body, script)

    def looks(self, after: int) -> dict[str, Any]:
        """What the links are now, and how they were looked at since a round."""
        looks: Sequence[Look] = self.watch.looks
        document = self.steering.document
        links = links_of(document.plan.data, looks[-1].time_ns if looks else 0)
        rounds = len(looks) // len(links)
        first = max(after, rounds - _SHOWN, 0)
        rows: list[list[tuple[int, ...]]] = [[] for _ in links]
        for index in range(first * len(links), rounds * len(links)):
            look = looks[index]
            lost = look.dropped + look.lost
            rows[index % len(links)].append(
                (look.time_ns, look.served_bytes, look.waiting, look.delay_ns, lost)
            )
        return {
            "time": looks[-1].time_ns if looks else 0,
            "seen": rounds,
            "links": links,
            "looks": rows,
            "changes": [_told(event) for event in self.steering.events],
        }

    def change(self, sent: object) -> None:
        """Changes what was sent.

        Raises:
            ChangeError: It is no change.
            ScenarioError: The scenario's language has no such change.
            RealError: The network did not take it.
        """
        match sent:
            case {"link": str(link), "ways": dict(ways)} if ways.keys() <= set(WAYS.values()) and all(
                isinstance(values, dict)
                and values.keys() <= set(STEERED)
                and all(isinstance(value, str) for value in values.values())
                for values in ways.values()
            ):
                self.steering.change(link, ways)
            case _:
                raise ChangeError(
                    f"a change has a link and ways, of which {' and '.join(WAYS.values())} have "
                    f"texts for {', '.join(STEERED)}"
                )


def _told(event: Mapping[str, Any]) -> str:
    parts = [
        f"{way}: {', '.join(f'{key} {value}' for key, value in event[way].items())}"
        for way in WAYS.values()
        if event.get(way)
    ]
    return f"{event['at']}: {event['link']}, {'; '.join(parts)}"


@contextlib.contextmanager
def served(live: Live) -> Iterator[str]:
    """Serves the page while the context lasts; its address."""
    secret = secrets.token_urlsafe(24)
    handler = type("Handler", (_Handler,), {"live": live, "secret": secret})
    server = _Server(("127.0.0.1", 0), handler)
    # What ends a command is for the command, and not for a thread that serves a page.
    with interrupts.blocked():
        thread = threading.Thread(target=server.serve_forever, name="live", daemon=True)
        thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{secret}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Whoever keeps a connection open does not keep us.
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of those who hang up: the terminal is the command's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    live: Live
    secret: str
    timeout = 30

    def do_GET(self) -> None:
        """The page, or what the links did."""
        match self._asked():
            case "":
                self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.live.page())
            case "looks":
                query = parse_qs(urlsplit(self.path).query)
                after = query.get("after", ["0"])[0]
                is_number = after.isdecimal() and len(after) < 20
                self._json(HTTPStatus.OK, self.live.looks(int(after) if is_number else 0))
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", "")

    def do_POST(self) -> None:
        """A change."""
        if self._asked() != "changes":
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "")
        elif self.headers.get("Origin") != f"http://{self._here}":
            self._json(HTTPStatus.FORBIDDEN, {"wrong": "only the page itself changes links"})
        elif self.headers.get_content_type() != "application/json":
            self._json(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"wrong": "a change is sent as application/json"})
        else:
            self._change()

    def _change(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._json(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"wrong": f"a change has up to {_MOST_BYTES} bytes"}
            )
            return
        try:
            self.live.change(json.loads(self.rfile.read(int(length))))
        except ScenarioError as error:
            wrong = "; ".join(
                f"{problem.key.rpartition('.')[2]}: {problem.message}" for problem in error.problems
            )
            self._json(HTTPStatus.BAD_REQUEST, {"wrong": wrong})
        except (RealError, ValueError, RecursionError) as error:
            self._json(HTTPStatus.BAD_REQUEST, {"wrong": str(error)})
        else:
            self._json(HTTPStatus.OK, {})

    @property
    def _here(self) -> str:
        return f"127.0.0.1:{self.server.server_port}"

    def _asked(self) -> str | None:
        """What is asked for, if whoever asks may."""
        # A name of somebody else's that leads to this address is not ours.
        if self.headers.get("Host") != self._here:
            return None
        secret, slash, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        # Only ASCII can be compared in constant time.
        known = secret.isascii() and secrets.compare_digest(secret, self.secret)
        return rest if known and slash else None

    def _json(self, status: HTTPStatus, data: object) -> None:
        self._answer(status, "application/json", json.dumps(data))

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing: the terminal is the command's."""
