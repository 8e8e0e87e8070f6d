"""A first scenario is written, and the examples lie in the package."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import voxpath as voxpath_package
from conftest import SCENARIOS
from voxpath.cli.actions.common import write_new
from voxpath.files import examples


def test_the_package_has_every_scenario_that_is_shipped():
    assert {path.name for path in examples().values()} == {path.name for path in SCENARIOS}


def test_a_first_scenario_runs_as_it_is_written(voxpath, tmp_path: Path):
    made = voxpath("new")
    assert made.code == 0
    assert "voxpath run first.toml" in made.out
    assert voxpath("run", "first.toml", "--replications", "1").code == 0
    assert len(voxpath_package.load(tmp_path / "first.toml").axes) == 2


def test_an_example_comes_with_its_files(voxpath, tmp_path: Path):
    assert voxpath("new", "mine/ride.toml", "--from", "cellular").code == 0
    assert (tmp_path / "mine" / "traces" / "ride.trace").is_file()
    assert voxpath_package.load(tmp_path / "mine" / "ride.toml").plan.data["links"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "cal"], "did you mean 'call'"),
        (["x.json"], "'x.json' does not end in .toml"),
        (["there.toml"], "there.toml is there already: nothing was written"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments: list[str], message: str, voxpath, tmp_path: Path):
    (tmp_path / "there.toml").write_text("mine")
    refused = voxpath("new", *arguments)
    assert refused.code == 2
    assert message in refused.err
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_the_examples_are_listed(voxpath):
    listed = voxpath("new", "--list")
    assert all(f" {name} " in listed.out for name in examples())


def test_of_several_files_all_are_written_or_none(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(click.ClickException, match="file"):
        write_new({tmp_path / "first.toml": b"a", tmp_path / "file" / "trace": b"b"})
    assert not (tmp_path / "first.toml").exists()
