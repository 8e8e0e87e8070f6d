"""What `voxpath replay` does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from voxpath import _engine, terminal
from voxpath.cli.actions.common import write_new
from voxpath.cli.actions.show import ShowError, find
from voxpath.results.kept import Kept, table, tables_of
from voxpath.results.store import StoreError
from voxpath.scenario import ScenarioError, read
from voxpath.scenario.replayed import NothingError, replayed

if TYPE_CHECKING:
    from pathlib import Path


def replay(run: Path, out: Path, save: Path) -> int:
    """Writes the scenario; 0.

    Raises:
        click.ClickException: There is no such run, nothing to be replayed, or something in the file's place.
    """
    try:
        folder = find(run, out)
        kept = Kept.read(folder)
        rows = table(folder, "connections").to_dicts() if "connections" in tables_of(folder) else []
        document = read(folder / "scenario.toml")
        data = replayed(document.data, rows)
    except (ShowError, StoreError, ScenarioError) as error:
        raise click.ClickException(str(error)) from None
    except NothingError as error:
        raise click.ClickException(f"{run} cannot be replayed: {error}") from None
    files = {save: _engine.format_toml(json.dumps(data)).encode()}
    files |= {save.parent / name: contents for name, contents in document.plan.files.items()}
    write_new(files)
    count = len(data["flows"])
    told = "one flow" if count == 1 else f"{count} flows"
    terminal.console().print(f"{kept.plan['name']}: {told} in {save}; voxpath run {save}")
    return 0
