"""`voxpath tcp-script`."""

from __future__ import annotations

from pathlib import Path

import click

from voxpath.cli.parts import JSON, Command


@click.command(
    "tcp-script",
    cls=Command,
    epilog="""
Examples:
  voxpath tcp-script tests/scripts/newreno.pkt
  voxpath tcp-script tests/scripts/zero-window.pkt --stack linux --ladder
""",
)
@click.argument("scripts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--stack",
    default="",
    help="Where: rfc, linux, riverbed16, kernel, with commas between; else all of a script's but the kernel.",
)
@click.option("--ladder", is_flag=True, help="Print what left and what arrived, also where all holds.")
@JSON
def tcp_script(scripts: tuple[Path, ...], stack: str, ladder: bool, json: bool) -> int:
    """Runs conformance SCRIPTS of TCP: in virtual time, or on the live kernel.

    What a script is stands in docs/tcp-scripts.md.
    """
    from voxpath.cli.actions import tcp_script as action

    return action.run(scripts, stack, ladder=ladder, as_json=json)
