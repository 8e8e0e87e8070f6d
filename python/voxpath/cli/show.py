"""`voxpath show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from voxpath import options
from voxpath.cli.options import option
from voxpath.cli.parts import JSON, Command, save


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath show 3f2a
  voxpath show 3f2a --table requests --save requests.csv
  voxpath show 3f2a --series cwnd_bytes --series srtt_ns
  voxpath show 3f2a --series cwnd_bytes --save cwnd.svg
""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--table", help="This table alone, such as flows, connections, requests, elements.")
@click.option("--series", multiple=True, help="A series over time, such as cwnd_bytes; may be repeated.")
@save("the table (.csv, .json, .parquet) or the plot (.svg, .txt)", formats=False)
@option(options.OUT, help="Directory of the runs, where RUN is not a folder.")
@JSON
def show(run: Path, **given: Any) -> int:
    """Shows what one RUN found: its folder, or the beginning of its name."""
    from voxpath.cli.actions import show as action

    return action.show(run, action.ShowOptions(**given))
