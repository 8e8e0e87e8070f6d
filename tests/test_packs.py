"""Runs that lie together: what a folder would have of each, whoever packed them and in which order."""

from __future__ import annotations

import contextlib
import fcntl
import json
import secrets
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import SCENARIOS, SMALL, contents
from test_damage import bits, flipped
from voxpath.results import digests, index, packs
from voxpath.results.answers import Answers
from voxpath.results.folders import locked
from voxpath.results.frames import parquet
from voxpath.results.identity import Observe
from voxpath.results.kept import table, tables_of
from voxpath.results.packs import Packs
from voxpath.results.problems import DamagedError, StoreError
from voxpath.results.store import Store
from voxpath.scenario import parse, read
from voxpath.sweeps.runs import Task, pack, perform, perform_all
from voxpath.sweeps.workers import Workers

SWEEP = f"""{SMALL}
[sweep]
"topology.link.loss" = ["0 %", "3 %"]
replications = 4
"""


def tasks(text: str, root: Path, replications: int) -> list[Task]:
    return [
        Task(cell.document.plan.json, cell.document.written, number, Observe(), str(root), together=True)
        for cell in parse(text).cells()
        for number in range(replications)
    ]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_packed_run_has_the_bytes_that_its_folder_would_have(path: Path, tmp_path: Path):
    """Of every scenario; two replications lie together with another scenario."""
    document = read(path)
    small = read_small(tmp_path)
    some = [
        Task(document.plan.json, document.written, number, Observe(), str(tmp_path / "packed"), together=True)
        for number in (0, 1)
    ]
    some.insert(1, replace(some[0], plan=small.plan, scenario=small.scenario))
    outcomes = pack(some)
    for task, outcome in zip(some, outcomes, strict=True):
        alone = perform(replace(task, root=str(tmp_path / "alone"), together=False)).folder
        if not outcome.packed:
            continue
        packed = Packs(tmp_path / "packed").files(outcome.folder.name)
        del packed[digests.ENVIRONMENT]
        assert packed | {digests.FILE: contents(alone)[digests.FILE]} == contents(alone)
    assert outcomes[1].packed


def read_small(directory: Path) -> Task:
    document = parse(SMALL)
    return Task(document.plan.json, document.written, 0, Observe(), str(directory), together=True)


def test_what_is_in_sealed_packs_depends_on_the_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In one sweep or in many, in any order, gathered on the way or not, in packs of three runs or in one."""
    monkeypatch.setattr(packs, "_GATHERED", 2)
    for most in (3, packs.MOST_RUNS):
        monkeypatch.setattr(packs, "MOST_RUNS", most)
        one, many = tmp_path / f"one {most}", tmp_path / f"many {most}"
        perform_all(tasks(SWEEP, one, 4), Workers())
        for task in reversed(tasks(SWEEP, many, 4)):
            pack([task])
            Packs(many).gather()
        assert all(folder.name.startswith("loose-") for folder in (many / "packs").iterdir())
        perform_all(tasks(SWEEP, many, 4), Workers())
        assert contents(one) == contents(many)
        assert len(list((one / "packs").iterdir())) == -(-8 // most)


@pytest.mark.parametrize("by", [None, "run"])
def test_a_table_gives_the_same_bytes_however_many_pieces_it_came_in(by: str | None):
    whole = pl.DataFrame({"run": range(100), "text": [str(number % 7) for number in range(100)]})
    pieces = pl.concat([whole[:40], whole[40:]], rechunk=False)
    assert pieces.n_chunks() == 2
    assert parquet(pieces, by) == parquet(whole, by)


def test_reading_runs_of_a_store_reads_which_there_are_once_but_sees_what_is_new_and_what_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second = tasks(SWEEP, tmp_path, 2)[:2]
    pack([first])
    indexed = Packs._indexed
    read = []
    monkeypatch.setattr(Packs, "_indexed", lambda self: (read.append(self.root), indexed(self))[1])
    for name in tables_of(first.folder):
        table(first.folder, name)
    assert read == [tmp_path]
    pack([second])
    assert tables_of(second.folder) == tables_of(first.folder)
    assert read == [tmp_path] * 2
    for path in tmp_path.rglob("flows.parquet"):
        path.write_bytes(path.read_bytes()[:-9])
    for task in (first, second):
        with pytest.raises(StoreError, match="flows"):
            table(task.folder, "elements")


def test_threads_that_read_runs_of_a_store_do_not_share_what_they_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (task,) = tasks(SWEEP, tmp_path, 1)[:1]
    pack([task])
    looked: list[Packs] = []
    look = Packs.look_again
    monkeypatch.setattr(Packs, "look_again", lambda self: (looked.append(self), look(self))[1])
    together = threading.Barrier(2)

    def read_tables() -> list[str]:
        together.wait()
        found = tables_of(task.folder)
        together.wait()
        return found

    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(read_tables) for _ in range(2))
        assert first.result() == second.result() == tables_of(task.folder)
    assert len({id(one) for one in looked}) == 3


def test_few_runs_are_found_as_many_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = tasks(SWEEP, tmp_path, 4)
    for task in asked[:-1]:
        pack([task])
    # Of one that is in two packs the younger counts.
    pack(asked[:2])
    few = Packs(tmp_path)
    found = [few.find(task.identity.name) for task in asked]
    monkeypatch.setattr(index, "_FEW", 0)
    many = Packs(tmp_path)
    assert [many.find(task.identity.name) for task in asked] == found
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert found[-1] is None
    assert many.names() == few.names() == sorted(task.identity.name for task in asked[:-1])


@pytest.mark.parametrize("most", [3, packs.MOST_RUNS])
def test_a_merge_killed_while_it_removes_ends_with_the_same_bytes(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packs, "MOST_RUNS", most)
    undisturbed = tmp_path / "undisturbed"
    perform_all(tasks(SWEEP, undisturbed, 4), Workers())
    for left in range(1, 9):
        store = tmp_path / f"{left} left"
        for task in tasks(SWEEP, store, 4):
            pack([task])
        loose = sorted((store / "packs").iterdir())[:left]
        for folder in loose:
            shutil.copytree(folder, tmp_path / "aside" / folder.name)
        Packs(store).seal()
        for folder in loose:
            shutil.move(tmp_path / "aside" / folder.name, folder)
        perform_all(tasks(SWEEP, store, 4), Workers())
        assert contents(store) == contents(undisturbed)


def test_a_sweep_that_grows_takes_the_small_packs_that_are_there_into_its_own(tmp_path: Path):
    for replications in (1, 2, 3, 8):
        perform_all(tasks(SWEEP, tmp_path, replications), Workers())
        assert len(list((tmp_path / "packs").iterdir())) == 1
    large = list((tmp_path / "packs").iterdir())
    perform_all(tasks(SWEEP, tmp_path, 9), Workers())
    found = list((tmp_path / "packs").iterdir())
    assert len(found) == 2, "two runs do not have sixteen written again"
    assert set(large) < set(found)
    assert len(Packs(tmp_path).names()) == 18


def test_runs_with_other_columns_lie_in_other_packs(tmp_path: Path):
    app = '{ kind = "cbr", packet = "500 B", interval = "20 ms", packets = "50 packets" }'
    other = '{ kind = "download", request = "1 B", response = "1 kB" }'
    text = f'{SMALL}\n[sweep]\n"flows[0].app" = [{app}, {other}]\n'
    answers = voxpath_package.sweep(parse(text), replications=2, out=tmp_path)
    assert len(list((tmp_path / "packs").iterdir())) == 2
    for folder in (tmp_path / "packs").iterdir():
        flows = pl.read_parquet(folder / "tables" / "flows.parquet")
        assert ("delay_p50_ns" in flows.columns) == (flows["transport"][0] == "udp")
        assert flows["run"].to_list() == [0, 1]
    assert answers.flows["app"].to_list() == ["cbr", "cbr", "download", "download"]


def test_a_folder_and_a_pack_answer_for_each_other(tmp_path: Path):
    alone = [perform(replace(task, together=False)) for task in tasks(SWEEP, tmp_path, 4)[:3]]
    outcomes = perform_all(tasks(SWEEP, tmp_path, 4), Workers())
    assert [outcome.reused for outcome in outcomes] == [True] * 3 + [False] * 5
    assert [outcome.packed for outcome in outcomes] == [False] * 3 + [True] * 5
    assert [outcome.folder for outcome in outcomes[:3]] == [outcome.folder for outcome in alone]
    last = replace(tasks(SWEEP, tmp_path, 4)[-1], together=False)
    copied = perform(last)
    assert copied.reused
    assert json.loads((copied.folder / "environment.json").read_bytes())["processor_ns"] > 0
    assert contents(perform(replace(last, root=str(tmp_path / "other"))).folder) == contents(copied.folder)


def test_runs_that_are_made_anew_take_the_place_of_those_before(tmp_path: Path):
    perform_all(tasks(SWEEP, tmp_path, 1), Workers())
    before = {name: Packs(tmp_path).described(name) for name in Packs(tmp_path).names()}
    perform_all([replace(task, force=True) for task in tasks(SWEEP, tmp_path, 1)], Workers())
    after = {name: Packs(tmp_path).described(name) for name in Packs(tmp_path).names()}
    assert before.keys() == after.keys()
    for name, described in after.items():
        assert described.pop(digests.ENVIRONMENT) != before[name].pop(digests.ENVIRONMENT)
        assert described == before[name]


def test_one_bit_anywhere_in_a_pack_makes_its_runs_again_and_tells_of_it(tmp_path: Path):
    some = tasks(SWEEP, tmp_path, 2)
    perform_all(some, Workers())
    (folder,) = (tmp_path / "packs").iterdir()
    whole = contents(tmp_path)
    tried = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        for bit in bits(path, 3):
            flipped(path, bit)
            outcomes = perform_all(some, Workers())
            assert [outcome.reused for outcome in outcomes] == [False] * 4, (name, bit)
            (told,) = {outcome.damage for outcome in outcomes}
            assert told is not None
            # Digests that are others may accuse any file, and environments have theirs in another one.
            if name not in {digests.FILE, digests.ENVIRONMENTS}:
                assert told == f"packs/{folder.name}: {name} is not what was written"
            (aside,) = (tmp_path / "packs").glob("damaged-*")
            shutil.rmtree(aside)
            assert contents(tmp_path) == whole
            tried += 1
    assert tried > 30


def test_a_damaged_run_of_a_pack_is_refused_by_show_and_compare(voxpath, tmp_path: Path):
    perform_all(tasks(SWEEP, tmp_path / "runs", 1), Workers())
    name = Packs(tmp_path / "runs").names()[0]
    (table,) = tmp_path.rglob("flows.parquet")
    flipped(table, 800)
    for command in ("show", "compare"):
        called = voxpath(command, f"runs/{name}")
        assert called.code == 2
        assert f"runs/{name} is damaged: packs/" in called.err
        assert "Traceback" not in called.err
    with pytest.raises(DamagedError):
        Packs(tmp_path / "runs").find(name)


def test_a_packed_run_is_shown_and_compared_like_one_in_a_folder(voxpath, tmp_path: Path):
    outcomes = perform_all(tasks(SWEEP, tmp_path / "runs", 1), Workers())
    for task in tasks(SWEEP, tmp_path / "solo", 1):
        perform(replace(task, together=False))
    for outcome in outcomes:
        name = outcome.folder.name
        for arguments in ([], ["--table", "flows"], ["--table", "requests"], ["--table", "nothing"]):
            packed = voxpath("show", f"runs/{name}", *arguments)
            alone = voxpath("show", f"solo/{name}", *arguments)
            assert packed.code == alone.code
            assert packed.out == alone.out.replace("solo/", "runs/")
            assert packed.err == alone.err
    name = outcomes[0].folder.name
    assert voxpath("show", name[:6], "--out", "runs").out == voxpath("show", f"runs/{name}").out
    names = [outcome.folder.name for outcome in outcomes]
    compared = [voxpath("compare", *(f"{root}/{name}" for name in names)) for root in ("runs", "solo")]
    assert compared[0].code == 0, compared[0].err
    assert compared[0].out == compared[1].out.replace("solo", "runs")


def of_another_version(folder: Path) -> None:
    """Makes a pack one of the next version's."""
    written = {name: data for name, data in contents(folder).items() if name != digests.FILE}
    written["environment.json"] = (folder / "environment.json").read_bytes()
    written["environment.parquet"] = (folder / "environment.parquet").read_bytes()
    head = json.loads(written["pack.json"]) | {"format": packs.FORMAT + 1}
    Store(folder.parent).keep(folder.name, written | {"pack.json": packs.canonical(head).encode()})


def test_a_pack_of_another_version_is_refused_by_its_name(voxpath, tmp_path: Path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    assert voxpath("sweep", "sweep.toml").code == 0
    (folder,) = (tmp_path / "runs" / "packs").iterdir()
    of_another_version(folder)
    called = voxpath("sweep", "sweep.toml")
    assert called.code == 1
    assert f"{folder.name} was kept by another version of voxpath" in called.err


def test_somebodys_own_directory_called_packs_does_not_matter(voxpath, tmp_path: Path):
    (tmp_path / "packs" / "rucksack").mkdir(parents=True)
    assert voxpath("show", "nothing").err.startswith("Error: nothing is no run")


def test_who_reads_while_others_merge_finds_everything(tmp_path: Path):
    some = tasks(SWEEP, tmp_path, 2)
    for task in some:
        pack([task])
    reader, other = Packs(tmp_path), Packs(tmp_path)
    names = reader.names()
    assert other.names() == names
    Packs(tmp_path).seal()
    assert all(other.find(name) is not None for name in names)
    assert reader.table(names, "flows").height == 4
    assert reader.tables(names[0])
    with pytest.raises(FileNotFoundError):
        reader.table(names, "series")
    with pytest.raises(StoreError, match="is no run"):
        reader.table(["00"], "flows")


def test_who_merges_faster_than_another_reads_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As long as it can be locked, each pack has another name by the time at which it is looked into."""
    pack(tasks(SWEEP, tmp_path, 2))
    check = digests.check

    def renamed(folder: Path, *arguments: Any, **named: Any) -> None:
        with contextlib.suppress(BlockingIOError), locked(tmp_path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            folder.rename(folder.with_name(f"{folder.name[:-16]}{secrets.token_hex(8)}"))
        check(folder, *arguments, **named)

    monkeypatch.setattr(packs.digests, "check", renamed)
    assert len(Packs(tmp_path).names()) == 4
    with locked(tmp_path, fcntl.LOCK_EX | fcntl.LOCK_NB):
        """It is free again."""


def test_an_invalid_run_of_a_sweep_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from voxpath import _engine

    run = _engine.run

    def invalid(cells, *others):
        made, groups, error = run(cells, *others)
        asked = [replication for _, some in cells for replication in some]
        told = [
            (json.dumps(json.loads(verdict) | {"valid": replication != 1}), *rest)
            for replication, (verdict, *rest) in zip(asked, made, strict=True)
        ]
        return told, groups, error

    monkeypatch.setattr(_engine, "run", invalid)
    outcomes = perform_all(tasks(SMALL, tmp_path, 3), Workers())
    assert [(outcome.valid, outcome.packed) for outcome in outcomes] == [
        (True, True),
        (False, False),
        (True, True),
    ]
    assert (outcomes[1].folder / "verdict.json").is_file()
    monkeypatch.undo()
    for outcome, task in zip(outcomes, tasks(SMALL, tmp_path / "valid", 3), strict=True):
        valid = perform(replace(task, together=False)).folder
        assert table(outcome.folder, "flows").equals(pl.read_parquet(valid / "flows.parquet"))


def test_a_sweep_that_others_merge_meanwhile_finds_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A pack goes while it is checked, or after it was listed."""
    some = tasks(SWEEP, tmp_path, 1)
    for task in some:
        pack([task])
    check = digests.check

    def merged(*given, **options) -> None:
        monkeypatch.setattr(digests, "check", check)
        Packs(tmp_path).seal()
        check(*given, **options)

    monkeypatch.setattr(digests, "check", merged)
    assert len(Packs(tmp_path).names()) == 2
    for task in some:
        pack([replace(task, replication=1)])
    monkeypatch.setattr(packs, "_age", gone_once(tmp_path, monkeypatch))
    assert len(Packs(tmp_path).names()) == 4


def gone_once(root: Path, monkeypatch: pytest.MonkeyPatch):
    age = packs._age

    def merged(pack: Path) -> tuple[int, str]:
        monkeypatch.setattr(packs, "_age", age)
        Packs(root).seal()
        return age(pack)

    return merged


def test_the_current_directory_is_a_store_like_any_other(
    voxpath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    answers = voxpath_package.sweep(parse(SWEEP), out=".")
    assert answers.flows.height == 8
    assert answers.table("requests").height == 8
    names = Packs(Path()).names()
    compared = voxpath("compare", *names[:2])
    assert compared.code == 0, compared.err


def test_what_is_no_pack_is_left_alone(voxpath, tmp_path: Path):
    mine = tmp_path / "runs" / "packs" / "mine"
    mine.mkdir(parents=True)
    (mine / "pack.json").write_text("{}")
    perform_all(tasks(SWEEP, tmp_path / "elsewhere", 1), Workers())
    (pack_elsewhere,) = (tmp_path / "elsewhere" / "packs").iterdir()
    (tmp_path / "runs" / "packs" / pack_elsewhere.name).symlink_to(pack_elsewhere)
    outcomes = perform_all(tasks(SWEEP, tmp_path / "runs", 2), Workers())
    assert [outcome.damage for outcome in outcomes] == [None] * 4
    assert (mine / "pack.json").read_text() == "{}"
    assert pack_elsewhere.is_dir()
    assert list((tmp_path / "runs" / "packs").glob(".*")) == []
    (tmp_path / "packs").write_text("mine, too")
    assert voxpath("show", "nothing").err.startswith("Error: nothing is no run")


def test_damage_costs_those_runs_alone_that_are_asked_for(tmp_path: Path):
    """Two sweeps repair one pack; what else was in it is set aside, and runs of other packs stay."""
    perform_all(tasks(SWEEP, tmp_path, 8), Workers())
    other = perform_all(tasks(SWEEP.replace("seed = 7", "seed = 8"), tmp_path, 1), Workers())
    (table,) = [
        path for path in tmp_path.rglob("elements.parquet") if pl.read_parquet(path)["run"].n_unique() > 2
    ]
    flipped(table, 999)
    first, second = Packs(tmp_path), Packs(tmp_path)
    for found in (first, second):
        with pytest.raises(DamagedError):
            found.find(tasks(SWEEP, tmp_path, 1)[0].identity.name)
    outcomes = perform_all(tasks(SWEEP, tmp_path, 1), Workers())
    assert all("elements.parquet is not what was written" in str(outcome.damage) for outcome in outcomes)
    first.set_aside()
    second.set_aside()
    assert len(Packs(tmp_path).names()) == 4
    (aside,) = (tmp_path / "packs").glob("damaged-*")
    assert pl.read_parquet(aside / "manifest.parquet").height == 16
    assert perform_all(tasks(SWEEP.replace("seed = 7", "seed = 8"), tmp_path, 1), Workers()) == [
        replace(outcome, reused=True) for outcome in other
    ]


def test_new_runs_are_not_called_damaged_for_a_pack_that_cannot_be_read(tmp_path: Path):
    perform_all(tasks(SWEEP, tmp_path, 1), Workers())
    (manifest,) = tmp_path.rglob("manifest.parquet")
    manifest.write_bytes(b"none")
    outcomes = perform_all(tasks(SWEEP.replace("seed = 7", "seed = 8"), tmp_path, 1), Workers())
    assert [outcome.damage for outcome in outcomes] == [None, None]
    assert manifest.is_file()
    outcomes = perform_all(tasks(SWEEP, tmp_path, 1), Workers())
    assert all("manifest.parquet is not what was written" in str(outcome.damage) for outcome in outcomes)


def test_a_damaged_folder_of_a_packed_run_is_replaced(tmp_path: Path):
    (task,) = tasks(SMALL, tmp_path, 1)
    folder = perform(replace(task, together=False)).folder
    flipped(folder / "flows.parquet", 800)
    (made,) = perform_all([task], Workers())
    assert made.damage == "flows.parquet is not what was written"
    assert made.packed
    assert not folder.exists()
    (again,) = perform_all([task], Workers())
    assert again.reused


def test_the_youngest_of_two_runs_counts(tmp_path: Path):
    some = tasks(SWEEP, tmp_path, 8)
    perform_all(some, Workers())
    (forced,) = perform_all([replace(some[0], force=True)], Workers())
    started = {}
    for manifest in tmp_path.rglob("environment.parquet"):
        rows = pl.read_parquet(manifest).filter(name=forced.folder.name)
        started[manifest.parent] = rows["started"][0]
    assert len(started) == 1
    described = Packs(tmp_path).described(forced.folder.name)
    assert json.loads(described[digests.ENVIRONMENT])["started"] == max(started.values())


def test_a_sweep_that_cannot_merge_has_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def full(*_: object) -> None:
        raise StoreError("cannot write a run to packs: No space left on device")

    monkeypatch.setattr(Packs, "_replace", full)
    outcomes = perform_all(tasks(SWEEP, tmp_path, 1), Workers())
    assert all(outcome.valid for outcome in outcomes)
    assert "small packs of runs are left as they are: cannot write" in capsys.readouterr().err
    assert all(outcome.reused for outcome in perform_all(tasks(SWEEP, tmp_path, 1), Workers()))


def test_runs_of_one_plan_keep_their_own_scenario_files(tmp_path: Path):
    (task,) = tasks(SMALL, tmp_path, 1)
    one = replace(task, scenario={"scenario.toml": b"one", "one.csv": b"1"})
    two = replace(task, scenario={"scenario.toml": b"two"}, replication=1)
    found = Packs(tmp_path)
    outcomes = pack([one, two])
    found.seal()
    files = [found.described(outcome.folder.name) for outcome in outcomes]
    assert [told["scenario.toml"] for told in files] == [b"one", b"two"]
    assert ["one.csv" in told for told in files] == [True, False]


def test_runs_before_one_that_fails_are_kept(tmp_path: Path):
    good, bad = tasks(SWEEP, tmp_path, 1)
    with pytest.raises(ValueError, match="missing field"):
        pack([good, replace(bad, plan="{}")])
    assert Packs(tmp_path).names() == [good.identity.name]


@pytest.mark.parametrize(
    "file", ["pack.json", "manifest.parquet", "tables/flows.parquet", "contents.parquet"]
)
def test_merges_leave_a_damaged_pack_as_it_is(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packs, "_GATHERED", 2)
    first, *others = tasks(SWEEP, tmp_path, 2)
    pack([first])
    (damaged,) = (tmp_path / "packs").iterdir()
    flipped(damaged / file, 30)
    before = contents(damaged)
    for task in others:
        pack([task])
        Packs(tmp_path).gather()
    Packs(tmp_path).seal()
    assert contents(damaged) == before
    assert {task.identity.name for task in others} <= set(Packs(tmp_path).names())


def test_a_cell_is_read_from_the_groups_of_rows_that_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("voxpath.results.frames._ROWS", 2)
    outcomes = perform_all(tasks(SWEEP, tmp_path, 4), Workers())
    found = Packs(tmp_path)
    for cell in (outcomes[:4], outcomes[4:]):
        names = [outcome.folder.name for outcome in cell]
        rows = found.table(names, "flows")
        assert sorted(rows[packs.WHOSE]) == sorted(names)
        assert rows.height == len(names)
    (table,) = tmp_path.rglob("flows.parquet")
    within = pl.scan_parquet(table).filter(pl.col("run").is_between(4, 7)).collect()
    assert within["run"].to_list() == [4, 5, 6, 7], "replications of a cell lie side by side"


def test_many_runs_are_answered_as_few_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Tables of more runs than are held are read again, some cells at a time."""
    held = voxpath_package.sweep(parse(SWEEP), out=tmp_path)
    monkeypatch.setattr("voxpath.results.tables._HELD_RUNS", 5)
    streamed = voxpath_package.sweep(parse(SWEEP), out=tmp_path)
    assert streamed.summary.equals(held.summary)
    assert streamed.flows.equals(held.flows)
    assert list(streamed.outcomes) == [replace(outcome, reused=True) for outcome in held.outcomes]


def test_a_sweep_that_saves_nothing_never_holds_the_rows_of_all_runs(
    voxpath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def held(_: Answers) -> pl.DataFrame:
        raise AssertionError("all flows are asked for")

    monkeypatch.setattr(Answers, "flows", property(held))
    (tmp_path / "sweep.toml").write_text(SWEEP)
    assert voxpath("sweep", "sweep.toml").code == 0
    with pytest.raises(AssertionError, match="all flows are asked for"):
        voxpath("sweep", "sweep.toml", "--save", "flows.csv")
