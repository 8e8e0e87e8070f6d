"""`voxpath run`, `sweep`, `compare` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath.cli.parts import FORCE, JOBS, OUT, Command, backends, names, save

if TYPE_CHECKING:
    from collections.abc import Iterable


def _observable() -> Iterable[str]:
    from voxpath.backends.sim import OBSERVABLE

    return OBSERVABLE


def _metrics() -> Iterable[str]:
    from voxpath.backends.sim import METRICS

    return dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics)


DASK = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on a Dask cluster: a scheduler's address, or local:2 for two processes here.",
)
REPLICATIONS = click.option(
    "--replications", type=click.IntRange(1, 1_000_000), help="How many; overrides the scenario's [sweep]."
)
FORMULAS = click.option(
    "--formulas",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A Python file with formulas of your own, asked beside those of the literature.",
)


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
@click.option("--replication", type=click.IntRange(0, 2**63 - 1), help="Make this replication alone.")
@REPLICATIONS
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Overrides the scenario's seed.")
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=names(backends),
    help="Who answers, with commas between.",
)
@FORMULAS
@click.option(
    "--observe",
    default="",
    shell_complete=names(_observable),
    help="What to record besides the results: tcp, packets, or both.",
)
@click.option("--capture", multiple=True, metavar="HOST", help="Capture a host's packets; may be repeated.")
@OUT
@JOBS
@FORCE
def run(scenario: Path, **options: Any) -> int:
    """Runs a SCENARIO and prints what its flows got."""
    from voxpath.cli.actions import runs

    return runs.run(scenario, runs.RunOptions(**options))


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
@REPLICATIONS
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Overrides the scenario's seed.")
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=names(backends),
    help="Who answers, with commas between.",
)
@FORMULAS
@click.option(
    "--observe",
    default="",
    shell_complete=names(_observable),
    help="What to record besides the results: tcp, packets, or both.",
)
@click.option("--capture", multiple=True, metavar="HOST", help="Capture a host's packets; may be repeated.")
@save("the flows of all runs, with a column for each axis")
@OUT
@JOBS
@DASK
@FORCE
def sweep(scenario: Path, **options: Any) -> int:
    """Runs every cell of the [sweep] of a SCENARIO, and goes on where it was interrupted.

    Each key of [sweep] with a list is an axis: a dotted key of the scenario and the values that it takes.
    The same replication has the same random streams in every cell.
    """
    from voxpath.cli.actions import runs

    return runs.sweep(scenario, runs.SweepOptions(**options))


@click.command(
    cls=Command,
    epilog="""
Examples:
  voxpath compare scenarios/loss-and-delay.toml --replications 3
  voxpath compare scenarios/lossy-download.toml scenarios/window-limit.toml --metric completion_s
""",
)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@REPLICATIONS
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=names(backends),
    help="Who answers, with commas between.",
)
@FORMULAS
@click.option(
    "--metric",
    multiple=True,
    shell_complete=names(_metrics),
    help="What to compare; may be repeated.",
)
@save("the summary")
@OUT
@JOBS
@DASK
@FORCE
def compare(sources: tuple[Path, ...], **options: Any) -> int:
    """Lays SOURCES side by side: scenarios, the cells of their sweeps, and folders of runs.

    What has not been run yet is run. Differences are to the first of a kind, with intervals of paired
    differences where both have the same replications.
    """
    from voxpath.cli.actions import runs

    return runs.compare(sources, runs.CompareOptions(**options))


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
@REPLICATIONS
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Overrides the scenario's seed.")
@click.option(
    "--backend",
    default="sim,formula",
    show_default=True,
    shell_complete=names(backends),
    help="Who answers, with commas between.",
)
@click.option(
    "--metric",
    multiple=True,
    shell_complete=names(_metrics),
    help="What to show; may be repeated.",
)
@click.option(
    "--observe",
    default="",
    shell_complete=names(_observable),
    help="What to record besides the results: tcp, packets, or both.",
)
@click.option("--capture", multiple=True, metavar="HOST", help="Capture a host's packets; may be repeated.")
@click.option(
    "-o",
    "--save",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page; by default the scenario's name with .html, in the current directory.",
)
@FORMULAS
@OUT
@JOBS
@DASK
@FORCE
def report(scenario: Path, **options: Any) -> int:
    """Writes one HTML page about a SCENARIO or its sweep: tables, figures, formulas beside the simulator.

    The page needs nothing else to be read. What has not been run yet is run.
    """
    from voxpath.cli.actions import runs

    return runs.report(scenario, runs.ReportOptions(**options))
