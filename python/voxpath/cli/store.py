"""`voxpath list`, `site` and `replay`: what is in a store, in a table, as pages, as a scenario."""

from __future__ import annotations

from pathlib import Path

import click

from voxpath import options
from voxpath.cli.options import option
from voxpath.cli.parts import JSON, Command, Directory


@click.command(
    "list",
    cls=Command,
    epilog="""
Examples:
  voxpath list
  voxpath list runs --json
""",
)
@click.argument("store", required=False, default=Path("runs"), type=Directory(path_type=Path))
@JSON
def list_(store: Path, json: bool) -> int:
    """Lists what is in a STORE (by default runs): scenarios, their runs and verdicts, axes, and when.

    What was made last stands first.
    """
    from voxpath.cli.actions import store as action

    return action.list_runs(store, json)


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath site runs --out site
  voxpath site runs sarkar2022.html scenarios/loss-and-delay.toml --out site
""",
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=Directory(path_type=Path),
    help="Of the site; pages of an older one are replaced.",
)
@click.option("--title", default="voxpath", show_default=True, help="Its heading.")
def site(sources: tuple[Path, ...], out: Path, title: str) -> int:
    """Makes one static site of SOURCES, with an index, pictures and a search; a double click opens it.

    A source is a store, of which each scenario gets a page; a run; a scenario, of which what has not been run
    yet is run; or a page that voxpath has made before, such as that of a study.
    """
    from voxpath.cli.actions import store as action

    return action.site(sources, out, title)


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath replay 3f2a --save replay.toml
""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o", "--save", required=True, metavar="FILE.toml", type=click.Path(path_type=Path), help="The scenario."
)
@option(options.OUT, help="Directory of the runs, where RUN is not a folder.")
def replay(run: Path, save: Path, out: Path) -> int:
    """Writes a scenario of what programs did in a RUN, such as one that voxpath exec kept.

    Each of their TCP connections is a flow that starts when it was opened and moves as many bytes, over the
    same network: in virtual time, as often as you like, with other values.
    """
    from voxpath.cli.actions import replay as action

    return action.replay(run, out, save)
