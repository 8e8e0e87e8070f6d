"""`voxpath gc`: what no sweep will use again goes, and all else stays as it is."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, contents
from test_damage import flipped
from test_packs import SWEEP, of_another_version, tasks
from voxpath import _engine
from voxpath.results import packs
from voxpath.results.folders import Folders
from voxpath.results.identity import Identity
from voxpath.results.packs import Packs
from voxpath.results.problems import StoreError
from voxpath.sweeps.runs import Task, pack, perform

OTHER = "0" * 16


@pytest.fixture
def other_build(monkeypatch: pytest.MonkeyPatch) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """While such a context lasts, runs are of another engine."""

    @contextlib.contextmanager
    def patched() -> Iterator[None]:
        with monkeypatch.context() as some:
            some.setattr(Task, "identity", property(_of_another_build))
            yield

    return patched


def _of_another_build(task: Task) -> Identity:
    return Identity(task.plan, "sim", task.replication, OTHER, task.observe)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SWEEP)
    return path


def told(voxpath, *arguments: str) -> dict[str, object]:
    called = voxpath("gc", *arguments, "--json")
    assert called.code == 0, called.err
    found: dict[str, object] = json.loads(called.out)
    return found


def test_a_clean_store_stays_as_it_is(voxpath, small: Path, tmp_path: Path):
    assert voxpath("sweep", small).code == 0
    before = contents(tmp_path / "runs")
    found = told(voxpath)
    assert contents(tmp_path / "runs") == before
    assert found["removed"] == {"left": 0, "damaged": 0, "runs": 0}
    there = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert (found["files"], found["bytes"]) == (len(there), sum(path.stat().st_size for path in there))
    assert "removed: nothing" in voxpath("gc").out


def test_what_a_killed_process_left_goes_and_many_small_packs_are_merged(
    voxpath, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packs, "_GATHERED", 8)
    assert voxpath("sweep", small, "--out", "whole").code == 0
    for task in tasks(SWEEP, tmp_path / "runs", 4):
        pack([task])
    left = tmp_path / "runs" / "packs" / ".partial-loose-0-1"
    left.mkdir()
    (left / "pack.json").write_text("{")
    found = told(voxpath)
    assert found["removed"] == {"left": 1, "damaged": 0, "runs": 0}
    (merged,) = (tmp_path / "runs" / "packs").iterdir()
    assert merged.name.startswith("loose-"), "a sweep may be under way"
    assert "8 of them there already" in voxpath("sweep", small).out
    assert contents(tmp_path / "runs") == contents(tmp_path / "whole")


def test_packs_that_a_sweep_merges_meanwhile_do_not_end_it(
    voxpath, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    voxpath("sweep", small)
    gone = tmp_path / "runs" / "packs" / ".partial-loose-0-1"
    gone.mkdir()
    look = os.scandir
    looked = []

    def merged(folder: Any = ".") -> Any:
        if str(folder).endswith(gone.name) and not looked:
            looked.append(folder)
            gone.rmdir()
        return look(folder)

    monkeypatch.setattr("os.scandir", merged)
    called = voxpath("gc")
    assert looked
    assert called.code == 0, called.err


def test_runs_of_other_builds_are_counted_and_go_where_that_is_asked_for(
    voxpath, other_build, small: Path, tmp_path: Path
):
    """Packed alone, packed with ours, and in folders."""
    assert voxpath("sweep", small).code == 0
    assert voxpath("run", small).code == 0
    before = contents(tmp_path / "runs")
    with other_build():
        pack(tasks(SWEEP, tmp_path / "runs", 4))
        perform(replace(tasks(SMALL, tmp_path / "runs", 1)[0], together=False))
    Packs(tmp_path / "runs").seal()
    (mixed,) = (tmp_path / "runs" / "packs").iterdir()
    assert json.loads((mixed / "pack.json").read_bytes())["runs"] == 16
    found = told(voxpath)
    assert (found["removed"], found["other_builds"]) == ({"left": 0, "damaged": 0, "runs": 0}, 9)
    assert "9 runs of other builds: --other-builds removes them" in voxpath("gc").out
    found = told(voxpath, "--other-builds")
    assert (found["removed"], found["other_builds"]) == ({"left": 0, "damaged": 0, "runs": 9}, 0)
    assert "8 of them there already" in voxpath("sweep", small).out
    assert contents(tmp_path / "runs") == before


def test_a_sweep_that_goes_on_with_another_build_says_so(voxpath, other_build, small: Path, tmp_path: Path):
    ours = tasks(SWEEP, tmp_path / "runs", 3)
    with other_build():
        # It makes another plan of the same text.
        pack([replace(task, plan=task.plan.replace('"seed":', '"seed":1')) for task in ours])
    told_of = "6 runs of these cells are of another build of the engine and not used"
    called = voxpath("sweep", small)
    assert told_of in called.err
    assert "voxpath gc runs --other-builds" in called.err
    assert voxpath("sweep", small).err == "", "nothing is missing"
    assert voxpath("sweep", small, "--force").err == "", "everything is asked for anew"
    other = small.with_name("other.toml")
    other.write_text(SWEEP.replace("3 %", "4 %").replace("0 %", "5 %"))
    assert voxpath("sweep", other).err == "", "other runs"
    assert told_of in voxpath("sweep", small, "--replications", "5").err


def test_a_store_of_other_builds_alone_is_empty_afterwards(voxpath, other_build, tmp_path: Path):
    with other_build():
        pack(tasks(SWEEP, tmp_path / "runs", 4))
    found = told(voxpath, "--other-builds")
    assert (found["removed"], found["files"]) == ({"left": 0, "damaged": 0, "runs": 8}, 0)


def test_a_full_disk_keeps_packs_apart_and_nothing_else(
    voxpath, other_build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for task in tasks(SWEEP, tmp_path / "runs", 4):
        pack([task])
    before = contents(tmp_path / "runs")
    with other_build():
        pack(tasks(SWEEP, tmp_path / "runs", 2))

    def full(_: Folders, name: str, __: object) -> Path:
        raise StoreError(f"cannot write {name}: No space left on device")

    monkeypatch.setattr(packs, "_GATHERED", 2)
    monkeypatch.setattr(Folders, "keep", full)
    called = voxpath("gc", "--other-builds")
    assert called.code == 0, called.err
    assert "removed: 4 runs of other builds" in called.out
    assert "small packs of runs are left as they are: cannot write" in called.err
    assert contents(tmp_path / "runs") == before


def test_real_runs_of_other_builds_stay(voxpath, tmp_path: Path):
    folder = perform(replace(tasks(SMALL, tmp_path / "runs", 1)[0], together=False)).folder
    identity = json.loads((folder / "identity.json").read_bytes())
    assert identity["build"] == _engine.BUILD
    (folder / "identity.json").write_text(json.dumps({**identity, "backend": "real", "build": OTHER}))
    assert told(voxpath, "--other-builds")["removed"] == {"left": 0, "damaged": 0, "runs": 0}
    assert folder.is_dir()


def test_packs_that_were_set_aside_go(voxpath, small: Path, tmp_path: Path):
    assert voxpath("sweep", small).code == 0
    (there,) = (tmp_path / "runs" / "packs").iterdir()
    flipped(there / "tables" / "flows.parquet", 800)
    assert voxpath("sweep", small).code == 0
    assert [path.name for path in (tmp_path / "runs" / "packs").glob("damaged-*")]
    assert told(voxpath)["removed"] == {"left": 0, "damaged": 1, "runs": 0}
    assert not list((tmp_path / "runs" / "packs").glob("damaged-*"))
    assert "8 of them there already" in voxpath("sweep", small).out


def test_what_is_no_store_is_refused_and_what_lies_beside_packs_is_left_alone(
    voxpath, small: Path, tmp_path: Path
):
    refused = voxpath("gc", "nowhere")
    assert (refused.code, "nowhere is no directory of runs" in refused.err) == (2, True)
    refused = voxpath("gc", small)
    assert (refused.code, "is no directory of runs" in refused.err) == (2, True)
    own = tmp_path / "runs" / "packs" / "damaged-photographs"
    own.mkdir(parents=True)
    (own / "one.jpg").write_text("a cat")
    assert told(voxpath)["removed"] == {"left": 0, "damaged": 0, "runs": 0}
    assert (own / "one.jpg").read_text() == "a cat"


def test_a_pack_of_another_version_is_named_and_nothing_goes(voxpath, small: Path, tmp_path: Path):
    assert voxpath("sweep", small).code == 0
    (there,) = (tmp_path / "runs" / "packs").iterdir()
    of_another_version(there)
    before = contents(tmp_path / "runs")
    refused = voxpath("gc", "--other-builds")
    assert refused.code == 2
    assert "another version of voxpath" in refused.err
    assert contents(tmp_path / "runs") == before
