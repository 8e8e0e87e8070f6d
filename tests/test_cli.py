"""The command line beside its runs: help, schema, doctor, examples."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conftest import ROOT
from voxpath import _engine, extras, texts
from voxpath.cli.main import cli
from voxpath.scenario.schema import schema


def test_help_is_there_at_once():
    """Nothing heavy is imported for it."""
    code = (
        "import sys; from voxpath.cli.main import run_command; code = run_command(['--help']);"
        "heavy = {'polars', 'pydantic', 'rich', 'numpy', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout


def test_a_sweep_waits_for_no_numerics(tmp_path: Path):
    """Importing them takes as long as a hundred short runs."""
    scenario, out = str(ROOT / "benches/sweep/quick.toml"), str(tmp_path)
    code = (
        "import sys; from voxpath.cli.main import run_command;"
        f"code = run_command(['sweep', {scenario!r}, '--replications', '2', "
        f"'--backend', 'sim', '--out', {out!r}]);"
        "heavy = {'numpy', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_behind_a_link_waits_for_no_tables():
    """What reads and writes tables takes longer to start than the network does."""
    code = (
        "import sys; from voxpath.cli.main import run_command;"
        "code = run_command(['exec', '--delay', '0 ms', '--', 'true']);"
        "heavy = {'polars', 'rich', 'numpy', 'scipy', 'http.server'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [[], *([name] for name in cli.commands)])
def test_every_command_has_help(command: list[str], voxpath):
    called = voxpath(*command, "--help")
    assert called.code == 0
    assert called.out.startswith("Usage: voxpath")


def every(command: click.Command) -> Iterator[click.Command]:
    yield command
    for one in getattr(command, "commands", {}).values():
        yield from every(one)


def test_no_help_shows_what_is_meant_for_click():
    for command in every(cli):
        assert "\\b" not in (command.help or ""), command.name


def test_the_version_is_the_builds(voxpath):
    assert voxpath("--version").out == f"voxpath {_engine.BUILD}\n"


def test_the_schema_is_printed_as_json(voxpath):
    assert json.loads(voxpath("schema").out) == schema()


def test_doctor_says_what_works(voxpath):
    called = voxpath("doctor")
    assert called.code == 0
    for part in ("engine", "tshark", "TUN", "nsenter", "namespaces", "real hosts"):
        assert part in called.out


def test_no_command_is_bad_input(voxpath):
    assert voxpath("fly").code == 2


def test_a_reader_that_goes_away_is_no_error():
    command = f"{shlex.quote(sys.executable)} -m voxpath schema | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "completed"),
    [("sw", "sweep"), ("sweep scenarios/loss-and-delay.toml --da", "--dask"), ("show --se", "--series")],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(words: str, completed: str, shell: str):
    parts = ["voxpath", *words.split()]
    environment = {
        **os.environ,
        "_VOXPATH_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(parts),
        "COMP_CWORD": parts[-1] if shell == "fish" else str(len(parts) - 1),
    }
    program = Path(sys.executable).with_name("voxpath")
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert completed in re.split(r"[\s,:]", done.stdout), done.stderr


def test_what_a_program_says_steers_no_terminal():
    assert texts.plain("\x1b[31mred\x1b[0m\x07 x") == "red x"


def test_doctor_knows_every_extra_and_how_to_get_it(voxpath, monkeypatch: pytest.MonkeyPatch):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.EXTRAS) == set(declared)
    needed = ["absent-package>=1 ; extra == 'rooms'", "click>=8 ; extra == 'dask'", "no ; extra == 'rooms-x'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: needed)
    assert (extras.lacking("rooms"), extras.lacking("dask")) == (["absent-package"], [])
    told = voxpath("doctor").out
    assert "absent-package missing: pip install '.[rooms]'" in told
