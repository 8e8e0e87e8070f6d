"""`voxpath schema` and `voxpath doctor`."""

from __future__ import annotations

import click

from voxpath.cli.parts import JSON, Command


@click.command(cls=Command)
def schema() -> None:
    """Prints the JSON Schema of scenarios, for editors."""
    from voxpath.scenario.schema import schema_json

    click.echo(schema_json())


@click.command(cls=Command)
@JSON
def doctor(json: bool) -> int:
    """Tells what works on this machine, and why the rest does not."""
    from voxpath.cli.actions import doctor as action

    return action.doctor(json)
