"""Runs from the command line: results, determinism, interrupts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import SMALL, contents
from processes import Tool, until
from voxpath import _engine
from voxpath.backends.formula import STREAM_FORMULAS, TRANSFER_FORMULAS
from voxpath.results.metrics import dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDLESS = """\
name = "endless"
duration = "100000 h"

[topology]
kind = "pipe"
link = { rate = "1 Gbit/s", delay = "5 ms", queue = "1000 packets" }

[[flows]]
app = { kind = "bulk" }
"""
"""A scenario that would run for days."""


def test_a_run_leaves_a_folder_with_everything(voxpath, small: Path, tmp_path: Path):
    called = voxpath("run", small, "--out", "runs", "--observe", "tcp", "--capture", "client")
    assert called.code == 0, called.err
    (folder,) = (tmp_path / "runs").iterdir()
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names >= {
        "captures/client.pcapng",
        "digests.json",
        "elements.parquet",
        "environment.json",
        "flows.parquet",
        "identity.json",
        "plan.json",
        "requests.parquet",
        "scenario.toml",
        "series.parquet",
        "verdict.json",
    }
    assert (folder / "scenario.toml").read_text() == SMALL
    assert json.loads((folder / "verdict.json").read_bytes())["valid"] is True
    assert json.loads((folder / "identity.json").read_bytes())["build"] == _engine.BUILD
    (flow,) = pl.read_parquet(folder / "flows.parquet").to_dicts()
    assert flow["flow"] == "download"
    assert flow["bytes_delivered"] == 200_000
    assert flow["completed_ns"] > flow["established_ns"] > flow["start_ns"] == 0
    assert "download" in called.out
    assert str(folder.relative_to(tmp_path)) in called.out


def test_a_finished_run_is_not_repeated_unless_forced(voxpath, small: Path, tmp_path: Path):
    voxpath("run", small)
    (folder,) = (tmp_path / "runs").iterdir()
    before = (folder / "environment.json").read_bytes()
    assert "there already" in voxpath("run", small).out
    assert (folder / "environment.json").read_bytes() == before
    assert "there already" not in voxpath("run", small, "--force").out
    assert (folder / "environment.json").read_bytes() != before


def test_the_same_scenario_gives_the_same_bytes_on_any_number_of_workers(
    voxpath, small: Path, tmp_path: Path
):
    options = ["--replications", "6", "--observe", "tcp,packets", "--capture", "server"]
    for out, jobs in (("one", "1"), ("again", "1"), ("two", "2"), ("three", "3")):
        assert voxpath("run", small, *options, "--out", out, "--jobs", jobs).code == 0
    first = contents(tmp_path / "one")
    assert len({path.split("/")[0] for path in first}) == 6
    for out in ("again", "two", "three"):
        assert contents(tmp_path / out) == first, out


def test_replications_differ_and_so_do_seeds(voxpath, small: Path, tmp_path: Path):
    voxpath("run", small, "--replications", "5")
    voxpath("run", small, "--seed", "8")
    folders = list((tmp_path / "runs").iterdir())
    assert len(folders) == 6
    assert len({(folder / "elements.parquet").read_bytes() for folder in folders}) > 1


def test_one_replication_is_the_same_alone_and_among_others(voxpath, small: Path, tmp_path: Path):
    voxpath("run", small, "--replications", "4", "--out", "all")
    voxpath("run", small, "--replication", "3", "--out", "alone")
    alone = contents(tmp_path / "alone")
    assert alone.items() <= contents(tmp_path / "all").items()


def test_observation_is_not_behaviour(voxpath, small: Path, tmp_path: Path):
    voxpath("run", small, "--out", "blind")
    voxpath("run", small, "--out", "watched", "--observe", "tcp,packets,capacity", "--capture", "client")
    (blind,), (watched,) = ((tmp_path / out).iterdir() for out in ("blind", "watched"))
    for table in ("flows", "requests", "elements"):
        assert (blind / f"{table}.parquet").read_bytes() == (watched / f"{table}.parquet").read_bytes()


def test_every_column_is_in_the_metric_dictionary_and_the_other_way_round(
    voxpath, small: Path, tmp_path: Path
):
    datagrams = 'app = { kind = "cbr", packet = "172 B", interval = "20 ms", packets = "2 packets" }\n'
    web = 'app = { kind = "web", connections = 1, pages = 1 }\n'
    voice = (
        'app = { kind = "voice", blocks = 3, block = "160 B", interval = "20 ms", partial = "20 B",'
        ' answer = "20 B", requests = 1 }\n'
    )
    speech = 'app = { kind = "speech", length = "100 ms", decoder = { per_second = "100 ms" } }\n'
    push = 'app = { kind = "push", way = "streaming", updates = [["10 ms", "10 B"]] }\n'
    event = '[[events]]\nat = "10 ms"\nlink = "link"\ndelay = "9 ms"\n'
    data = 'data = { size = "1 kB", interval = "100 ms" }, protection = "dtls_srtp"'
    call = f'app = {{ kind = "call", control = "nada", video = {{ fps = 30 }}, {data} }}\n'
    host = '[[processes]]\nname = "{}"\nhost = "{}"\napp = {{ kind = {} }}\n'
    processes = (
        host.format("broker", "server", '"broker"')
        + host.format(
            "sensors",
            "client",
            '"publisher", broker = "server", topic = "t", size = "9 B", messages = 1, qos = 1',
        )
        + host.format("alarms", "client", '"subscriber", broker = "server", filters = ["#"]')
    )
    apps = "".join(f"[[flows]]\n{app}" for app in (datagrams, web, voice, speech, push, call))
    small.write_text(f'duration = "3 s"\n{SMALL}{apps}{event}{processes}')
    voxpath("run", small, "--observe", "tcp,packets,capacity,rtc", "--capture", "client")
    (folder,) = (tmp_path / "runs").iterdir()
    written = {path.stem: pl.read_parquet(path).columns for path in folder.glob("*.parquet")}
    described = {table: list(columns) for table, columns in dictionary().items() if table != "series_metrics"}
    # Of browsers, CoAP, forwarding servers, iperf_siri and Multipath TCP this scenario has nothing.
    assert described.keys() - written.keys() == {
        "browsers",
        "coap",
        "exchanges",
        "flaws",
        "leg_frames",
        "leg_seconds",
        "legs",
        "multipath",
        "readings",
    }
    for table, columns in written.items():
        assert set(columns) <= set(described[table]), table
        assert table == "flows" or set(columns) == set(described[table]), table


def test_every_metric_of_the_series_is_in_the_dictionary(voxpath, tmp_path: Path):
    # Losses on the way out and idle times bring every metric to light.
    (tmp_path / "busy.toml").write_text(SMALL.replace('"1 %"', '"10 %"'))
    voxpath("run", "busy.toml", "--observe", "tcp")
    (folder,) = (tmp_path / "runs").iterdir()
    found = set(pl.read_parquet(folder / "series.parquet").get_column("metric"))
    assert found == set(dictionary()["series_metrics"])


def test_times_name_their_clock():
    for table, columns in dictionary().items():
        for name, metric in columns.items():
            assert bool(metric.clock) == (metric.unit in {"ns", "s", "bit/s"}), f"{table}.{name}"
            assert name.endswith("_ns") == (metric.unit == "ns"), f"{table}.{name}"


def test_python_gives_frames_rows_and_folders(small: Path, tmp_path: Path):
    result = voxpath_package.run(
        voxpath_package.load(small),
        replications=3,
        out=tmp_path / "runs",
        observe=["tcp"],
        capture=["server", "client"],
    )
    assert result.flows.get_column("replication").to_list() == [0, 1, 2]
    formulas = {formula.name for formula in (*TRANSFER_FORMULAS, *STREAM_FORMULAS)}
    assert {row.estimator for row in result.rows} == {"sim", *formulas}
    for folder in result.folders:
        assert {path.stem for path in (folder / "captures").iterdir()} == {"client", "server"}


@pytest.mark.parametrize("wish", [{"observe": ["udp"]}, {"capture": ["nobody"]}])
def test_python_refuses_what_cannot_be_observed(wish: dict, small: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="allowed: "):
        voxpath_package.run(voxpath_package.load(small), out=tmp_path / "runs", **wish)
    assert not (tmp_path / "runs").exists()


def test_piped_output_has_no_escapes_and_folds_nothing(voxpath, small: Path):
    out = voxpath("run", small, "--replications", "3").out
    assert "\x1b" not in out
    assert "±" in out
    lines = out.splitlines()
    assert "window_limit and medium_limit do not apply to download: packets are lost on the way" in lines


@pytest.fixture
def simulating(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tool]:
    """A command whose workers are inside of the engine, where they would stay for days."""
    starting_s = 2.0
    jobs = request.param
    (tmp_path / "endless.toml").write_text(ENDLESS)
    options = ("--replications", str(jobs + 1), "--jobs", str(jobs))
    tool = Tool(tmp_path, "run", "endless.toml", *options)
    try:
        # Starting takes less; what computes longer simulates.
        until(lambda: any(found.used_s >= starting_s for found in tool.processes()))
        tool.assert_alive()
        yield tool
    finally:
        tool.killed()


@pytest.mark.parametrize("simulating", [1, 2], indirect=True)
def test_an_interrupt_ends_a_long_run_and_leaves_nothing(simulating: Tool, tmp_path: Path):
    simulating.interrupt()
    code, err = simulating.ended()
    assert (code, err.strip()) == (130, "voxpath: interrupted")
    left = {path.name for path in tmp_path.iterdir()} - {simulating.temporary.name}
    assert left == {"endless.toml"}
    assert list(simulating.temporary.iterdir()) == []


def test_an_invalid_run_is_kept_reported_and_made_again(voxpath, small: Path, monkeypatch, tmp_path: Path):
    real = _engine.run
    verdict = '{"valid": false, "problems": ["a packet is missing"]}'

    def invalid(*given):
        (made,), groups, error = real(*given)
        return [(verdict, *made[1:])], groups, error

    monkeypatch.setattr(_engine, "run", invalid)
    for _ in range(2):
        called = voxpath("run", small)
        assert called.code == 1
        assert "invalid run" in called.err
        assert "a packet is missing" in called.err
        assert "there already" not in called.out
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_failing_engine_is_told_without_a_traceback(voxpath, small: Path, monkeypatch, tmp_path: Path):
    def fail(*_: object) -> None:
        raise RuntimeError("the engine panicked: an invariant")

    monkeypatch.setattr(_engine, "run", fail)
    called = voxpath("run", small)
    assert called.code == 1
    assert called.err == "Error: the engine panicked: an invariant\n"
    assert [path.name for path in tmp_path.iterdir()] == [small.name]
