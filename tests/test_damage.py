"""Runs whose files have changed since they were written: noticed, named, and made again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import voxpath as voxpath_package
from conftest import SMALL, Called, contents, digests_of
from voxpath.results import digests
from voxpath.results.identity import Observe
from voxpath.results.kept import table
from voxpath.results.problems import DamagedError
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


def test_a_file_that_cannot_be_read_is_named_with_its_place(voxpath, small: Path, tmp_path: Path):
    small.write_text(SMALL + '[sweep]\n"topology.link.loss" = ["0 %", "1 %"]\n')
    assert voxpath("sweep", small).code == 0
    (pack,) = (tmp_path / "runs" / "packs").iterdir()
    (pack / "manifest.parquet").unlink()
    # As little can be read as without permission, by root too.
    (pack / "manifest.parquet").symlink_to("manifest.parquet")
    for command in (("sweep", small), ("list",)):
        called = voxpath(*command)
        assert called.code != 0
        assert f"Error: runs/packs/{pack.name}/manifest.parquet: Too many levels" in called.err


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


@pytest.mark.parametrize("command", ["show", "compare"])
@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("identity.json", "[]", "is no run: identity.json has no 'format', a whole number"),
        ("identity.json", '{"format": 1}', "is no run: identity.json has no 'replication', a whole number"),
        ("identity.json", "", "is no run: identity.json is no JSON"),
        ("identity.json", "[" * 100_000, "is no run: identity.json is no JSON"),
        ("verdict.json", "null", "is damaged: verdict.json is not what was written"),
        ("plan.json", '{"seed": 1}', "is damaged: plan.json is not what was written"),
        ("flows.parquet", "PAR1", "is damaged: flows.parquet is not what was written"),
        ("digests.json", '{"verdict.json":""}', "is damaged: verdict.json is not what was written"),
    ],
)
def test_a_folder_that_is_no_run_is_refused_by_its_name(
    command: str, name: str, text: str, says: str, voxpath, task: Task
):
    folder = perform(task).folder
    (folder / name).write_text(text)
    refused(voxpath(command, folder), f"Error: {folder} {says}")


def refused(called: Called, says: str) -> None:
    assert called.code == 2
    assert says in called.err
    assert "Traceback" not in called.err


@pytest.mark.parametrize("command", ["show", "compare"])
def test_a_run_of_another_version_is_told_apart(command: str, voxpath, task: Task):
    folder = perform(task).folder
    identity = json.loads((folder / "identity.json").read_text())
    (folder / "identity.json").write_text(json.dumps(identity | {"format": 1}))
    (folder / digests.FILE).unlink()
    refused(voxpath(command, folder), f"Error: {folder} was kept by another version of voxpath")


@pytest.mark.parametrize("command", ["show", "compare"])
def test_a_table_without_what_is_looked_for_is_refused_by_its_runs_name(command: str, voxpath, task: Task):
    folder = perform(task).folder
    table(folder, "elements").write_parquet(folder / "flows.parquet")
    table(folder, "elements").drop("packets_held").write_parquet(folder / "elements.parquet")
    files = {name: data for name, data in contents(folder).items() if name != digests.FILE}
    (folder / digests.FILE).write_bytes(digests_of(files))
    refused(voxpath(command, folder), f"Error: {folder} cannot be read: ")
