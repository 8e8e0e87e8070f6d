"""`voxpath study`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath import options
from voxpath.cli.options import JOBS, option
from voxpath.cli.parts import JSON, Command, names

if TYPE_CHECKING:
    from collections.abc import Iterable


def _studies() -> Iterable[str]:
    from voxpath import studies

    return studies.NAMES


class StudyCommand(Command):
    """The command of studies, whose help lists those that are there."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what the command does, and what its argument can be."""
        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"NAME: {', '.join(_studies())}.")


@click.command(
    cls=StudyCommand,
    epilog="""
Examples:
  voxpath study sarkar2022 --quick
  voxpath study sarkar2022 --quick --backend formula --report formulas.html
""",
)
@click.argument("name", shell_complete=names(_studies))
@click.option("--quick", is_flag=True, help="Fewer replications: wider intervals, sooner.")
@option(
    options.BACKENDS,
    default=None,
    show_default=False,
    help="Who answers, with commas between; by default the study's own, real only where it is one of these.",
)
@click.option(
    "--report",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page; by default the study's name with .html, in the current directory.",
)
@option(options.OUT)
@JOBS
@option(options.FORCE)
@JSON
def study(name: str, **given: Any) -> int:
    """Reproduces a publication: our numbers beside the published ones, in a table and on an HTML page."""
    from voxpath.cli.actions import study as action

    return action.study(name, action.StudyOptions(**given))
