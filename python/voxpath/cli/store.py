"""`voxpath list`, `gc`, `site` and `replay`: a store in a table, cleaned, as pages, and as a scenario."""

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
    "gc",
    cls=Command,
    epilog="""
Examples:
  voxpath gc
  voxpath gc runs --other-builds
""",
)
@click.argument("store", required=False, default=Path("runs"), type=Directory(path_type=Path))
@click.option(
    "--other-builds",
    is_flag=True,
    help="Simulated runs of other builds of the engine go, too; without it, it is said how many there are.",
)
@JSON
def gc(store: Path, other_builds: bool, json: bool) -> int:
    """Removes from a STORE (by default runs) what no sweep will use again, and merges many small packs.

    That is what killed processes left, and packs that were set aside as damaged. Runs on real hosts stay,
    whoever made them: they cannot be made again.
    """
    from voxpath.cli.actions import store as action

    return action.collect_garbage(store, json, other_builds=other_builds)


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
  voxpath replay 3f2a --network --save network.toml
  voxpath replay call.pcapng --preset lte --save call.toml
""",
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--network",
    is_flag=True,
    help="Only the network of a run, with what was changed by hand: for another program.",
)
@click.option(
    "--preset",
    metavar="NAME",
    help="The link between the ends of a capture; without it, one that does nothing.",
)
@click.option(
    "-o", "--save", required=True, metavar="FILE.toml", type=click.Path(path_type=Path), help="The scenario."
)
@option(options.OUT, help="Directory of the runs, where SOURCE is a run's name.")
def replay(source: Path, network: bool, preset: str | None, save: Path, out: Path) -> int:
    """Writes a scenario of what programs did: in a run, such as one that voxpath exec kept, or in a capture.

    Each of their TCP connections is a flow that starts when it was opened and moves as many bytes. Datagrams
    leave one by one when they were captured. A run has its network, and what was changed by hand is changed
    again: in virtual time, as often as you like, with other values.
    """
    from voxpath.cli.actions import replay as action

    return action.replay(source, out, save, preset, only_network=network)
