"""`voxpath measure ...`."""

from __future__ import annotations

from typing import Any

import click

from voxpath.cli.parts import Command, Group

_PORT = 5301
_ANY = "0.0.0.0"  # noqa: S104 - it serves


@click.group(
    cls=Group,
    epilog="""
Examples:
  voxpath measure serve
  voxpath measure ask server.example.org --mptcp --requests 20
""",
)
def measure() -> None:
    """Voice requests between two machines, by TCP or the kernel's Multipath TCP, as iperf-siri measures them.

    One machine serves, the other asks. What is asked travels on a control channel, so the server needs no
    options. docs/measuring.md says what the times are.
    """


@measure.command(cls=Command)
@click.option("--bind", default=_ANY, show_default=True, help="An address of this machine.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0: a free one."
)
def serve(bind: str, port: int) -> int:
    """Answers until it is stopped, whoever asks.

    Nobody is asked who he is: serve where only those reach it who may. What it sends is bounded by what
    clients ask for, a megabyte for each message.
    """
    from voxpath.cli.actions import measure as action

    return action.serve(bind, port)


@measure.command(cls=Command)
@click.argument("host")
@click.option("--port", type=click.IntRange(1, 65535), default=_PORT, show_default=True)
@click.option("--bind", default="", help="An address of this machine, of the first subflow.")
@click.option("--mptcp", is_flag=True, help="By the kernel's Multipath TCP.")
@click.option("--requests", type=click.IntRange(1), default=5, show_default=True)
@click.option("--bursts", type=click.IntRange(1), default=9, show_default=True, help="Of each request.")
@click.option("--packets", type=click.IntRange(1), default=9, show_default=True, help="Of each burst.")
@click.option("--smallest", default="50 B", show_default=True, help="Of packets.")
@click.option("--largest", default="500 B", show_default=True, help="Of packets.")
@click.option("--interval", default="300 ms", show_default=True, help="Between bursts.")
@click.option("--wait", default="4 s", show_default=True, help="Between requests, answered or not.")
@click.option("--intermediate", default="100 B", show_default=True, help="To each burst but the last.")
@click.option("--answer", default="750 B", show_default=True, help="The answer to a request.")
@click.option("--tls", type=click.Choice(("1.2", "1.3")), help="Octets of a handshake and of records.")
@click.option(
    "--persistent/--reconnect", default=True, show_default=True, help="One connection for all, or one each."
)
@click.option("--side", type=click.IntRange(0, 100), default=0, show_default=True, help="Side connections.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the sizes of packets.")
@click.option("--json", "as_json", is_flag=True, help="One object with every request.")
def ask(host: str, **given: Any) -> int:
    """Asks the server at HOST, and tells how long its answers took."""
    from voxpath.cli.actions import measure as action

    return action.ask(host, given)
