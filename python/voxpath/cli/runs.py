"""`voxpath run`, `sweep`, `compare` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from voxpath import options
from voxpath.cli.options import JOBS, SEED, option, takes
from voxpath.cli.parts import JSON, Command, save


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath run scenarios/lossy-download.toml
  voxpath run scenarios/lossy-download.toml --replications 20 --jobs 2
  voxpath run scenarios/lossy-download.toml --replication 7 --observe tcp --capture client
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@option(options.REPLICATION, default=None)
@option(options.REPLICATIONS)
@SEED
@takes(options.BACKENDS, options.FORMULAS, options.OBSERVE, options.CAPTURE, options.OUT)
@JOBS
@option(options.FORCE)
@JSON
def run(scenario: Path, **given: Any) -> int:
    """Runs a SCENARIO and prints what its flows got."""
    from voxpath.cli.actions import runs

    return runs.run(scenario, runs.RunOptions(**given))


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath sweep scenarios/loss-and-delay.toml
  voxpath sweep scenarios/loss-and-delay.toml --replications 3 --jobs 2 --save flows.csv
  voxpath sweep scenarios/loss-and-delay.toml --dask local:2
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@option(options.REPLICATIONS)
@SEED
@takes(options.BACKENDS, options.FORMULAS, options.OBSERVE, options.CAPTURE)
@save("the flows of all runs, with a column for each axis")
@option(options.OUT)
@JOBS
@takes(options.DASK, options.SHARDS, options.FORCE)
@JSON
def sweep(scenario: Path, **given: Any) -> int:
    """Runs every cell of the [sweep] of a SCENARIO, and goes on where it was interrupted.

    Each key of [sweep] with a list is an axis: a dotted key of the scenario and the values that it takes.
    The same replication has the same random streams in every cell.
    """
    from voxpath.cli.actions import runs

    return runs.sweep(scenario, runs.SweepOptions(**given))


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath compare scenarios/loss-and-delay.toml --replications 3
  voxpath compare scenarios/lossy-download.toml scenarios/window-limit.toml --metric completion_s
""",
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@takes(options.REPLICATIONS, options.BACKENDS, options.FORMULAS, options.METRICS)
@save("the summary")
@option(options.OUT)
@JOBS
@takes(options.DASK, options.SHARDS, options.FORCE)
@JSON
def compare(sources: tuple[Path, ...], **given: Any) -> int:
    """Lays SOURCES side by side: scenarios, the cells of their sweeps, and folders of runs.

    What has not been run yet is run. Differences are to the first of a kind, with intervals of paired
    differences where both have the same replications.
    """
    from voxpath.cli.actions import runs

    return runs.compare(sources, runs.CompareOptions(**given))


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath report scenarios/loss-and-delay.toml
  voxpath report scenarios/loss-and-delay.toml --replications 3 --metric completion_s --save page.html
  voxpath report scenarios/lossy-download.toml --observe tcp
""",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@option(options.REPLICATIONS)
@SEED
@takes(options.BACKENDS, options.METRICS, options.OBSERVE, options.CAPTURE)
@click.option(
    "-o",
    "--save",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page; by default the scenario's name with .html, in the current directory.",
)
@takes(options.FORMULAS, options.OUT)
@JOBS
@takes(options.DASK, options.SHARDS, options.FORCE)
def report(scenario: Path, **given: Any) -> int:
    """Writes one HTML page about a SCENARIO or its sweep: tables, figures, formulas beside the simulator.

    The page needs nothing else to be read. What has not been run yet is run.
    """
    from voxpath.cli.actions import runs

    return runs.report(scenario, runs.ReportOptions(**given))
