"""Runs whose files have changed since they were written: noticed, named, and made again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import voxpath as voxpath_package
from conftest import contents
from voxpath.results import digests
from voxpath.results.identity import Observe
from voxpath.results.kept import Kept, table
from voxpath.results.problems import DamagedError, StoreError
from voxpath.results.store import Store
from voxpath.scenario import read
from voxpath.sweeps.runs import Task, perform


@pytest.fixture
def task(small: Path, tmp_path: Path) -> Task:
    document = read(small)
    return Task(
        document.plan.json,
        document.written,
        0,
        Observe(tcp=True, capture=("client",)),
        str(tmp_path / "runs"),
    )


def flipped(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def bits(path: Path, count: int = 16) -> Iterator[int]:
    # Another run's environment may be shorter.
    size = 8 * path.stat().st_size - 64
    yield from range(0, size, max(1, size // count))


def test_one_bit_anywhere_makes_a_run_again_and_tells_of_it(task: Task):
    folder = perform(task).folder
    whole = contents(folder)
    tried = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        for bit in bits(path):
            flipped(path, bit)
            made = perform(task)
            assert not made.reused, (name, bit)
            assert made.damage == f"{name} is not what was written" or name == digests.FILE
            assert contents(folder) == whole
            assert perform(task).reused
            tried += 1
    assert tried > 150


@pytest.mark.parametrize("name", ["digests.json", "verdict.json", "flows.parquet", "captures/client.pcapng"])
@pytest.mark.parametrize("how", ["missing", "empty", "longer", "a folder", "a link to nothing"])
def test_files_that_are_lost_or_others_are_noticed(task: Task, name: str, how: str):
    folder = perform(task).folder
    whole = contents(folder)
    path = folder / name
    data = path.read_bytes()
    path.unlink()
    match how:
        case "empty":
            path.write_bytes(b"")
        case "longer":
            path.write_bytes(data + b"\n")
        case "a folder":
            path.mkdir()
        case "a link to nothing":
            path.symlink_to("nothing")
    made = perform(task)
    assert made.damage is not None
    assert name in made.damage
    assert contents(folder) == whole


@pytest.mark.parametrize(
    "told", ["[]", "{}", "null", '{"a": 1}', "[" * 100_000, '{"verdict.json": [], "a\\u0000": 1}']
)
def test_digests_that_are_none_are_damage(task: Task, told: str):
    folder = perform(task).folder
    (folder / digests.FILE).write_text(told)
    with pytest.raises(DamagedError, match=folder.name):
        Store(folder.parent).find(folder.name)
    assert perform(task).damage == "digests.json is not what was written"


def test_an_invalid_run_that_is_whole_is_no_damage(task: Task):
    outcome = perform(task)
    files = {path.name: path.read_bytes() for path in outcome.folder.iterdir() if path.is_file()}
    verdict = json.loads(files["verdict.json"]) | {"valid": False}
    del files[digests.FILE]
    Store(outcome.folder.parent).keep(
        outcome.folder.name, {**files, "verdict.json": json.dumps(verdict).encode()}
    )
    assert perform(task) == replace(outcome, damage=None)


def test_the_command_line_names_a_damaged_run_and_goes_on(voxpath, small: Path, tmp_path: Path):
    small.write_text(small.read_text() + "[sweep]\nreplications = 3\n")
    before = voxpath("sweep", small)
    whole = contents(tmp_path / "runs")
    folder = sorted((tmp_path / "runs").iterdir())[1]
    flipped(folder / "flows.parquet", 8 * 100)
    again = voxpath("sweep", small)
    assert again.code == 0
    named = (
        f"Warning: runs/{folder.name} was damaged (flows.parquet is not what was written), and was made again"
    )
    assert named in again.err
    assert again.out.replace(" (2 of them there already)", "") == before.out
    assert contents(tmp_path / "runs") == whole


def test_python_is_warned_of_a_damaged_run(small: Path, tmp_path: Path):
    document = voxpath_package.load(small)
    result = voxpath_package.run(document, out=tmp_path / "runs")
    flipped(result.folders[0] / "verdict.json", 3)
    with pytest.warns(RuntimeWarning, match=r"was damaged \(verdict.json is not what was written\)"):
        again = voxpath_package.run(document, out=tmp_path / "runs")
    assert again.flows.equals(result.flows)


@pytest.fixture
def old(task: Task) -> Path:
    """A run without digests, as it was kept before there were any."""
    folder = perform(task).folder
    (folder / digests.FILE).unlink()
    return folder


@pytest.mark.parametrize("command", ["show", "compare"])
@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("identity.json", "[]", "identity.json has no 'replication', a whole number"),
        ("identity.json", '{"replication": "x"}', "identity.json has no 'replication', a whole number"),
        ("identity.json", "", "identity.json is no JSON"),
        ("identity.json", "[" * 100_000, "identity.json is no JSON"),
        ("verdict.json", "null", "verdict.json has no 'valid', true or false"),
        ("plan.json", '{"seed": 1}', "plan.json has no 'name', a text"),
        ("flows.parquet", "PAR1", "cannot be read"),
        ("digests.json", '{"verdict.json":""}', "is damaged: verdict.json is not what was written"),
    ],
)
def test_a_folder_that_is_no_run_is_refused_by_its_name(
    command: str, name: str, text: str, says: str, voxpath, old: Path
):
    (old / name).write_text(text)
    called = voxpath(command, old)
    assert called.code == 2
    assert f"Error: {old} " in called.err
    assert says in called.err
    assert "Traceback" not in called.err


@pytest.mark.parametrize("command", ["show", "compare"])
def test_a_table_without_what_is_looked_for_is_refused_by_its_runs_name(command: str, voxpath, old: Path):
    table(old, "elements").write_parquet(old / "flows.parquet")
    table(old, "elements").drop("packets_held").write_parquet(old / "elements.parquet")
    called = voxpath(command, old)
    assert called.code == 2
    assert f"Error: {old} cannot be read: " in called.err
    assert "Traceback" not in called.err


def test_whatever_a_table_has_become_it_is_refused_by_its_runs_name(old: Path):
    """Panics of polars are no exceptions of Python, and one of these bits brings them about."""
    path = old / "flows.parquet"
    whole = path.read_bytes()
    refused = 0
    for bit in bits(path, 400):
        flipped(path, bit)
        try:
            table(old, "flows")
        except StoreError as error:
            assert str(old) in str(error)
            refused += 1
        path.write_bytes(whole)
    assert refused > 50


def test_runs_without_digests_are_shown(voxpath, old: Path):
    called = voxpath("show", old)
    assert called.code == 0
    assert Kept.read(old).identity["replication"] == 0
