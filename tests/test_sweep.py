"""Sweeps: cells, common random numbers, resumption, and the same bytes whoever makes the runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future
from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import PATIENCE_S, SMALL, contents, process
from processes import Tool
from voxpath import _engine, halts
from voxpath.results.identity import Observe
from voxpath.results.outcome import Outcome
from voxpath.results.packs import WHOSE, Packs
from voxpath.scenario import parse
from voxpath.scenario.sweep import split
from voxpath.sweeps import runs
from voxpath.sweeps.crew import Crew
from voxpath.sweeps.runs import Task
from voxpath.sweeps.workers import Workers

SWEEP = (
    SMALL
    + """
[sweep]
"topology.link.loss" = ["0 %", "1 %", "3 %"]
"flows[0].app.response" = ["20 kB", "50 kB"]
replications = 4
"""
)
LOSS, SIZE = "topology.link.loss", "flows[0].app.response"


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A file with a sweep of six cells and four replications."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


def zipped(text: str) -> str:
    return text.replace('["0 %", "1 %", "3 %"]', '["0 %", "1 %"]') + 'mode = "zip"\n'


def test_a_product_has_every_combination_and_the_last_axis_varies_fastest():
    cells = [tuple(cell.values.values()) for cell in parse(SWEEP).cells()]
    assert cells == [
        ("0 %", "20 kB"),
        ("0 %", "50 kB"),
        ("1 %", "20 kB"),
        ("1 %", "50 kB"),
        ("3 %", "20 kB"),
        ("3 %", "50 kB"),
    ]


def test_zip_takes_the_values_pair_by_pair():
    cells = [tuple(cell.values.values()) for cell in parse(zipped(SWEEP)).cells()]
    assert cells == [("0 %", "20 kB"), ("1 %", "50 kB")]


def test_a_cell_is_the_scenario_that_one_would_write_by_hand():
    by_hand = parse(SMALL.replace('loss = "1 %"', 'loss = "3 %"').replace("200 kB", "50 kB"))
    cell = list(parse(SWEEP).cells())[-1]
    assert cell.document.plan.json == by_hand.plan.json
    assert parse(cell.document.text).plan.json == by_hand.plan.json


def test_axes_begin_tables_that_are_not_there_and_replace_whole_ones():
    text = f'{SMALL}\n[sweep]\n"hosts.client.tcp.congestion" = ["reno", "cubic"]\n'
    text += '"topology.link.up" = [{ delay = "1 ms" }, { delay = "2 ms", loss = "1 ppm" }]\n'
    plans = [cell.document.plan.data for cell in parse(text).cells()]
    assert [plan["flows"][0]["transport"]["client"]["congestion"] for plan in plans] == [
        "reno",
        "reno",
        "cubic",
        "cubic",
    ]
    assert [plan["links"][0]["ab"]["delay_ns"] for plan in plans] == [1_000_000, 2_000_000] * 2


def test_without_axes_the_scenario_is_the_only_cell():
    document = parse(SMALL)
    (cell,) = document.cells()
    assert cell.document is document
    assert cell.values == {}


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("duration", ("duration",)),
        ("flows[0].app.size", ("flows", 0, "app", "size")),
        ('hosts."a.b".profile', ("hosts", "a.b", "profile")),
        ("topology.links[2].ends[1]", ("topology", "links", 2, "ends", 1)),
    ],
)
def test_a_key_is_split_into_its_parts(key: str, path: tuple):
    assert split(key) == path


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", "a[x]", "a[0", "[0]", "a[0]b", "a b", 'a."b'])
def test_what_is_no_key_is_refused(key: str):
    with pytest.raises(ValueError, match="is not a key"):
        split(key)


def test_the_same_replication_has_the_same_random_streams_in_every_cell(tmp_path: Path):
    """Two cells that differ where no random number is drawn lose the same packets."""
    text = f'{SMALL}\n[sweep]\n"topology.link.delay" = ["5 ms", "6 ms"]\nreplications = 8\n'
    flows = voxpath_package.sweep(parse(text), out=tmp_path / "runs").flows
    sent = flows.pivot("topology.link.delay", index="replication", values="server_retransmissions")
    assert sent.get_column("5 ms").to_list() == sent.get_column("6 ms").to_list()
    assert sent.get_column("5 ms").n_unique() > 1


def test_a_sweep_runs_every_cell_and_replication_and_prints_each_cell(voxpath, swept: Path, tmp_path: Path):
    called = voxpath("sweep", swept, "--jobs", "2", "--save", "flows.csv")
    assert called.code == 0, called.err
    assert len(finished(tmp_path / "runs")) == 24
    lines = [line.split() for line in called.out.splitlines() if " sim " in line]
    assert [line[:4] for line in lines][:2] == [["0", "%", "20", "kB"], ["0", "%", "50", "kB"]]
    assert len(lines) == 6
    assert all("±" in line for line in lines)
    flows = pl.read_csv(tmp_path / "flows.csv")
    assert flows.columns[:6] == [LOSS, f"{LOSS} [%]", SIZE, f"{SIZE} [kB]", "replication", "flow"]
    assert flows.height == 24


def test_a_finished_sweep_is_not_repeated_and_a_wider_one_makes_only_what_is_new(
    voxpath, swept: Path, tmp_path: Path
):
    voxpath("sweep", swept)
    made = environments(tmp_path / "runs")
    assert len(made) == 24
    assert "24 of them there already" in voxpath("sweep", swept).out
    assert "24 of them there already" in voxpath("sweep", swept, "--replications", "5").out
    assert made.items() <= environments(tmp_path / "runs").items()
    assert len(finished(tmp_path / "runs")) == 30


def test_a_cell_and_the_same_scenario_alone_are_one_run(voxpath, swept: Path, tmp_path: Path):
    voxpath("sweep", swept)
    (tmp_path / "alone.toml").write_text(SMALL.replace("200 kB", "50 kB"))
    assert "there already" in voxpath("run", "alone.toml", "--replication", "2").out


def test_a_sweep_of_one_cell_does_not_speak_of_several(voxpath, small: Path):
    small.write_text(SMALL + "\n[sweep]\nreplications = 2\n")
    assert "cells" not in voxpath("sweep", small).out.splitlines()[0]


def test_a_sweep_needs_a_sweep(voxpath, small: Path, tmp_path: Path):
    called = voxpath("sweep", small)
    assert called.code == 2
    assert "has no [sweep]" in called.err
    assert [path.name for path in tmp_path.iterdir()] == [small.name]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--save", "flows.txt"], "allowed: .csv, .json, .parquet"),
        (["--save", "nowhere/flows.csv"], "no directory"),
        (["--dask", "somewhere"], "write a scheduler's address"),
        (["--dask", "local:2", "--jobs", "2"], "give one of them"),
        (["--backend", "simulator"], "allowed: sim, formula"),
    ],
)
def test_a_wrong_option_of_a_sweep_is_refused(arguments, says: str, voxpath, swept: Path, tmp_path: Path):
    called = voxpath("sweep", swept, *arguments)
    assert called.code == 2, called.out
    assert says in called.err
    assert [path.name for path in tmp_path.iterdir()] == [swept.name]


BLOWS: list[tuple[halts.Point, int]] = [
    ("run.begins", 1),
    ("store.folder-made", 1),
    ("store.half-written", 1),
    ("store.half-written", 2),
    ("store.written", 1),
    ("store.renamed", 1),
    ("run.begins", 3),
    ("run.noted", 1),
    ("run.noted", 2),
    ("packs.merged", 1),
]
"""The point of the kill, and how often it is reached before that."""


def test_a_sweep_that_is_killed_again_and_again_ends_with_the_bytes_of_an_undisturbed_one(
    voxpath, swept: Path, tmp_path: Path
):
    """SIGKILL comes before, while and after a run is written, and between runs."""
    voxpath("sweep", swept, "--replications", "30", "--out", "whole")
    whole = contents(tmp_path / "whole")
    store = tmp_path / "killed"
    sweep = ("sweep", swept, "--replications", "30", "--out", "killed", "--jobs", "2")
    for point, passings in BLOWS:
        tool = Tool(tmp_path, *sweep, halt_at=point)
        try:
            tool.halted_after(passings)
            before = finished(store)
            tool.popen.kill()
            code, _ = tool.ended()
        finally:
            tool.killed()
        assert code == -signal.SIGKILL
        kept = finished(store)
        assert before <= kept, point
        assert (kept == finished(tmp_path / "whole")) == (point == "packs.merged"), point
        for table in ("flows", "connections", "requests", "elements") if kept else ():
            there, those = (
                Packs(root).table(sorted(kept), table).sort(WHOSE, maintain_order=True)
                for root in (store, tmp_path / "whole")
            )
            assert there.equals(those), "as a whole or not at all"
    made = environments(store)
    called = voxpath(*sweep)
    assert called.code == 0, called.err
    assert "180 of them there already" in called.out
    assert contents(store) == whole
    assert environments(store) == made, "no run is repeated"


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_whoever_is_ended_while_it_replaces_a_run_has_replaced_it(
    blow: signal.Signals, voxpath, small: Path, tmp_path: Path
):
    """Ended when the old folder is out of the way and the new one is not in its place yet."""
    voxpath("run", small)
    whole = contents(tmp_path / "runs")
    tool = Tool(tmp_path, "run", small, "--force", halt_at="store.moved-away")
    try:
        tool.halted()
        assert list((tmp_path / "runs").glob("[!.]*")) == []
        tool.popen.send_signal(blow)
        tool.ended()
    finally:
        tool.killed()
    called = voxpath("run", small)
    assert "(1 of them there already)" in called.out
    assert contents(tmp_path / "runs") == whole, "and nothing hidden is left"


def test_whoever_is_killed_while_it_merges_a_few_new_runs_into_a_pack_loses_none(
    voxpath, swept: Path, tmp_path: Path
):
    sweep = ("sweep", swept, "--replications", "30")
    voxpath(*sweep)
    whole = contents(tmp_path / "runs")
    tool = Tool(tmp_path, "sweep", swept, "--replications", "1", "--force", halt_at="store.moved-away")
    try:
        tool.halted()
        assert len(finished(tmp_path / "runs")) == 6, "the pack with all of them is out of the way"
        tool.popen.kill()
        tool.ended()
    finally:
        tool.killed()
    called = voxpath(*sweep)
    assert "180 of them there already" in called.out
    assert contents(tmp_path / "runs") == whole


def finished(store: Path) -> set[str]:
    """Names of the packed runs that are there."""
    return set(Packs(store).names())


def environments(store: Path) -> dict[str, bytes]:
    """Where, when and how fast each of them was made."""
    packs = Packs(store)
    return {name: packs.described(name)["environment.json"] for name in packs.names()}


@pytest.mark.parametrize(
    ("point", "passings"),
    [("run.begins", 1), ("store.half-written", 1), ("store.renamed", 2), ("run.noted", 1)],
)
def test_an_interrupt_leaves_finished_runs_alone(
    point: halts.Point, passings: int, tmp_path: Path, swept: Path
):
    tool = Tool(tmp_path, "sweep", swept, "--replications", "30", "--jobs", "2", halt_at=point)
    try:
        tool.halted_after(passings)
        before = finished(tmp_path / "runs")
        tool.interrupt()
        code, err = tool.ended()
    finally:
        tool.killed()
    assert code == 130, err
    assert err.splitlines()[-1] == "voxpath: interrupted"
    kept = finished(tmp_path / "runs")
    assert before <= kept
    assert len(kept) < 180
    assert list(tmp_path.glob("runs/**/.*")) == []


def test_a_dask_cluster_of_two_processes_gives_the_same_bytes(voxpath, swept: Path, tmp_path: Path):
    assert voxpath("sweep", swept, "--out", "here").code == 0
    tool = Tool(tmp_path, "sweep", swept, "--out", "there", "--dask", "local:2", halt_at="run.begins")
    try:
        # While one of them halts in a run, the other one is given the next.
        halted = {found.pid for found in tool.halted(2)}
        code, err = tool.ended()
    finally:
        tool.killed()
    assert code == 0, err
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    workers = {json.loads(told)["process"] for told in environments(tmp_path / "there").values()}
    assert workers == halted, "both processes of the cluster have worked"
    assert tool.popen.pid not in workers


def test_a_scheduler_is_used_by_its_address(voxpath, swept: Path, tmp_path: Path):
    code = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""
    (tmp_path / "cluster.py").write_text(code)
    cluster = subprocess.Popen(
        [sys.executable, "cluster.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert cluster.stdout is not None
    address = cluster.stdout.readline().strip()
    runner = process("sweep", swept, "--out", "there", "--dask", address, cwd=tmp_path)
    _, err = runner.communicate(timeout=PATIENCE_S)
    cluster.communicate("\n", timeout=PATIENCE_S)
    assert runner.returncode == 0, err
    voxpath("sweep", swept, "--out", "here")
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def some_tasks(root: Path, count: int) -> list[Task]:
    plan = parse(SWEEP).plan.json
    scenario = {"scenario.toml": b""}
    return [Task(plan, scenario, number, Observe(), str(root), together=True) for number in range(count)]


def test_runs_that_take_longer_than_those_before_come_back_to_be_made_by_whoever_is_free(
    monkeypatch, tmp_path: Path
):
    made = []

    def counted(tasks, *others):
        performed = perform_batch(tasks, *others)
        made.append((len(tasks), len(performed.outcomes)))
        return performed

    perform_batch, pack = runs.perform_batch, runs.pack
    monkeypatch.setattr(runs, "perform_batch", counted)
    monkeypatch.setattr(runs, "pack", lambda tasks, stop, _: pack(tasks, stop, 0.0))
    outcomes = runs.perform_all(some_tasks(tmp_path, 40), Workers(2))
    assert [outcomes[index].replication for index in range(40)] == list(range(40))
    assert [number for _, number in made] == [1] * 40
    assert max(given for given, _ in made) > 1


class Slow(Executor):
    """Workers who have batches, and end one whenever nothing has come for a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.width = 2
        self.held: list[tuple[Future, int]] = []
        self.given: list[tuple[int, int]] = []

    def submit(self, *given):
        future: Future = Future()
        count = len(given[1])
        self.held.append((future, count))
        self.given.append((len(self.held), count))
        return future

    def end_one(self) -> None:
        future, count = self.held.pop(0)
        outcome = Outcome(Path("run"), 0, reused=False, valid=True, packed=True)
        future.set_result(runs.Performed(dict.fromkeys(range(count), outcome), self.seconds * count))


def spread(pool: Slow, tasks: list[Task], monkeypatch) -> list[int]:
    """Places of the runs in the order in which they ended."""
    monkeypatch.setattr(runs, "_LOOK_SECONDS", 0.001)
    crew = Crew(pool, lambda: pool.width, look=pool.end_one)
    return [index for index, _ in runs._spread(crew, range(len(tasks)), tasks.__getitem__)]


def test_no_worker_has_two_runs_before_anybody_knows_how_long_they_take(monkeypatch, tmp_path: Path):
    pool = Slow(seconds=60)
    assert sorted(spread(pool, some_tasks(tmp_path, 6), monkeypatch)) == list(range(6))
    assert pool.given[:2] == [(1, 1), (2, 1)]
    assert all(count == 1 for _, count in pool.given)


def test_short_runs_come_in_large_batches_once_they_are_known(monkeypatch, tmp_path: Path):
    pool = Slow(seconds=0.001)
    assert sorted(spread(pool, some_tasks(tmp_path, 400), monkeypatch)) == list(range(400))
    assert len(pool.given) < 40


def test_workers_that_join_in_the_middle_are_used(monkeypatch, tmp_path: Path):
    pool = Slow(seconds=60)
    before = pool.end_one

    def joined() -> None:
        if len(pool.given) == 6:
            pool.width = 5
        before()

    pool.end_one = joined
    spread(pool, some_tasks(tmp_path, 40), monkeypatch)
    assert max(held for held, _ in pool.given[:6]) == 4
    assert max(held for held, _ in pool.given) == 10


def test_a_worker_with_another_engine_is_refused(monkeypatch):
    from voxpath.sweeps.runs import perform_batch

    monkeypatch.setattr(_engine, "BUILD", "another")
    with pytest.raises(RuntimeError, match="has the engine another"):
        perform_batch([], "this", ())


def test_progress_is_told_in_lines_where_there_is_no_terminal(monkeypatch, capsys):
    from voxpath import terminal

    clock = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    with terminal.Progress("a sweep", 10) as progress:
        for seconds in (0.5, 1.5, 3.0, 7.0):
            clock[0] = seconds
            progress.advance()
    assert capsys.readouterr().err.splitlines() == [
        "a sweep: 2 of 10, 1/s, 0:08 left",
        "a sweep: 4 of 10, 2.17 s each, 0:13 left",
    ]


def test_python_has_the_words_of_the_command_line(tmp_path: Path):
    answers = voxpath_package.sweep(parse(SWEEP), replications=3, out=tmp_path / "runs")
    assert answers.axes == (LOSS, SIZE)
    axes = [LOSS, f"{LOSS} [%]", SIZE, f"{SIZE} [kB]"]
    assert answers.flows.columns[:5] == [*axes, "replication"]
    assert answers.flows.height == 18
    assert answers.table("requests").columns[:5] == [*axes, "replication"]
    summary = answers.summary.filter(metric="completion_s", estimator="sim")
    assert summary.height == 6
    row = summary.row(0, named=True)
    assert row["mean_low"] <= row["mean"] <= row["mean_high"]
    assert (row["n"], row["unit"], row[LOSS]) == (3, "s", "0 %")
    assert len(answers.folders) == 18


def test_axes_of_quantities_have_their_numbers_too(tmp_path: Path):
    axes = """
[sweep]
"topology.link.delay" = ["500 us", "20 ms"]
"flows[0].app.response" = ["1 kB", "1 MB"]
"flows[0].name" = ["one", "other"]
mode = "zip"
"""
    answers = voxpath_package.sweep(parse(SMALL + axes), out=tmp_path)
    assert answers.flows["topology.link.delay"].to_list() == ["500 us", "20 ms"]
    assert answers.flows["topology.link.delay [ms]"].to_list() == [0.5, 20]
    assert answers.flows[f"{SIZE} [MB]"].to_list() == [0.001, 1]
    assert answers.summary["topology.link.delay [ms]"].dtype == pl.Float64
    assert not [name for name in answers.flows.columns if name.startswith("flows[0].name [")]
