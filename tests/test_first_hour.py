"""What a hostile first user tried: wrong inputs, narrow terminals, names with blanks."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from rich.console import Console

from conftest import ROOT
from voxpath import live, terminal
from voxpath.backends.real import internet
from voxpath.cli.actions.watch import Look, print_summary
from voxpath.scenario import from_dict

SWEPT = """
[sweep]
"topology.link.loss" = ["0 %", "1 %", "2 %"]
"topology.link.delay" = ["20 ms", "5 ms", "100 ms"]
replications = 2
"""


def plain(text: str) -> str:
    """Without styles, which are no characters."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


@pytest.fixture
def swept(small: Path) -> Path:
    small.write_text(small.read_text() + SWEPT)
    return small


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch):
    """Makes standard output a terminal of some width."""

    def make(width: int) -> None:
        monkeypatch.setattr(Console, "is_terminal", True)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")

    return make


def test_a_missing_page_of_a_site_is_told_in_words(voxpath):
    called = voxpath("site", "missing.html", "--out", "site")
    assert (called.code, called.err) == (2, "Error: missing.html: there is no such file\n")
    assert "make it by voxpath study sarkar2022" in voxpath("site", "sarkar2022.html", "--out", "site").err
    assert not Path("site").exists()


def test_a_site_looks_at_all_sources_before_it_runs_any(voxpath, small: Path):
    called = voxpath("site", small, "missing.html", "--out", "site")
    assert called.code == 2
    assert not Path("runs").exists()


def test_a_scenario_with_programs_is_no_page_by_itself(voxpath):
    called = voxpath("site", ROOT / "scenarios/real-web.toml", "--out", "site")
    assert called.code == 2
    assert "runs a program" in called.err
    assert "voxpath site RUN" in called.err


def test_a_site_is_refused_where_a_file_is(voxpath, small: Path):
    called = voxpath("site", small, "--out", small)
    assert called.code == 2
    assert f"{small} is a file: a site is a directory" in called.err
    assert not Path("runs").exists()


def test_where_nothing_was_run_the_list_says_what_makes_runs(voxpath):
    called = voxpath("list")
    assert called.code == 2
    assert "voxpath run SCENARIO keeps its runs in runs" in called.err


def test_commands_that_are_told_can_be_pasted(voxpath):
    told = voxpath("new", "my web.toml").out
    assert "voxpath run 'my web.toml'" in told
    told = voxpath("run", "my web.toml", "--replication", "0", "--out", "my runs").out
    assert "voxpath sweep 'my web.toml'" in told
    (run,) = Path("my runs").iterdir()
    shown = voxpath("show", run).out
    command = re.search(r"voxpath (show .* --table \w+)", shown)
    assert command is not None
    assert voxpath(*shlex.split(command[1])).code == 0
    listed = voxpath("list", "my runs").out
    command = re.search(r"voxpath (show .*?), or voxpath (site .*) --out DIR", listed)
    assert command is not None
    assert voxpath(*shlex.split(command[1])).code == 0
    assert voxpath(*shlex.split(command[2]), "--out", "site").code == 0


@pytest.mark.parametrize("command", ["compare", "report"])
def test_a_metric_that_no_run_has_is_refused_before_anything_is_run(voxpath, small: Path, command: str):
    called = voxpath(command, small, "--metric", "completion")
    assert called.code == 2
    assert "'completion' is no metric; did you mean 'completion_s'?" in called.err
    assert not Path("runs").exists()


def test_a_number_that_is_none_is_told_in_plain_words(voxpath, small: Path):
    assert "'x' is not a valid integer." in voxpath("run", small, "--seed", "x").err
    assert "'x' is not a valid integer." in voxpath("run", small, "--replications", "x").err


@pytest.mark.parametrize("option", ["jitter", "burst"])
def test_what_a_second_link_lacks_is_told_by_its_own_option(voxpath, option: str):
    value, other = {"jitter": ("3 ms", "delay"), "burst": ("4 packets", "loss")}[option]
    called = voxpath("exec", f"--{other}", "1 %", f"--second-{option}", value, "--", "true")
    assert called.code == 2
    assert f"--second-{option}" in called.err
    assert f"give --second-{other}, too" in called.err


def test_a_comparison_of_nine_cells_stays_a_table_at_80_columns(voxpath, swept: Path, narrow):
    narrow(80)
    told = plain(voxpath("compare", swept, "--backend", "sim").out)
    lines = told.splitlines()
    assert max(map(len, lines)) <= 80
    # A line for each cell, of each of two metrics, with a heading; not a block of lines for each.
    assert len(lines) < 45
    assert {"completion, s", "goodput, Mbit/s"} <= {line.strip() for line in lines}
    assert told.count("left out for want of room") == 1
    assert len(re.findall(r"^ *page? .* sim ", told, re.MULTILINE)) in {0, 18}


def test_a_list_at_80_columns_keeps_the_name_by_which_a_run_is_shown(voxpath, swept: Path, narrow):
    swept.write_text(swept.read_text().replace('"small"', '"a scenario with a long name of its own"'))
    assert voxpath("sweep", swept, "--backend", "sim").code == 0
    narrow(80)
    told = plain(voxpath("list").out)
    assert max(map(len, told.splitlines())) <= 80
    named = re.search(r"voxpath show (\w+)", told)
    assert named is not None
    assert told.count(named[1]) == 2
    assert voxpath("show", named[1]).code == 0


def test_a_list_at_80_columns_says_when(voxpath, small: Path, narrow):
    assert voxpath("run", small, "--replication", "0", "--backend", "sim").code == 0
    narrow(80)
    assert re.search(r" valid .* \d{4}-\d\d-\d\d \d\d:\d\d ", plain(voxpath("list").out))


def test_a_run_is_shown_at_80_and_40_columns(voxpath, small: Path, narrow):
    assert voxpath("run", small, "--replication", "0").code == 0
    run = next(Path("runs").iterdir()).name[:8]
    value = str(json.loads(voxpath("show", run, "--json").out)["tables"]["flows"][0]["bytes_delivered"])
    for width in (80, 40):
        narrow(width)
        told = plain(voxpath("show", run).out)
        assert max(map(len, told.splitlines())) <= width
        assert value in told


def test_rows_taken_apart_lose_none():
    rows = [[metric, flow, "1.000000 ± 0.000001"] for metric in ("a", "b") for flow in ("x", "y")]
    out = Console(file=io.StringIO(), width=29, force_terminal=True, color_system=None)
    terminal.print_table(None, ["metric", "flow", "mean"], rows, (), out, ("metric", "flow"))
    assert isinstance(out.file, io.StringIO)
    text = plain(out.file.getvalue())
    assert text.count("1.000000 ± 0.000001") == 4
    assert [line.strip() for line in text.splitlines() if line.strip() in {"a", "b"}] == ["a", "b"]


def test_a_jitter_stands_in_the_summary_beside_the_delay_that_is_seen(capsys: pytest.CaptureFixture[str]):
    link = {"delay": "50 ms", "up": {"delay": {"kind": "normal", "mean": "40 ms", "deviation": "20 ms"}}}
    data = {"name": "x", "topology": {"kind": "pipe", "link": link}, "hosts": {"client": {"run": ["true"]}}}
    plan = from_dict(data).plan.data
    looks = [Look(10**9, name, 10, 1000, 0, 0, 0, 5 * 10**7) for name in live.names(plan)]
    print_summary(looks, plan)
    told = capsys.readouterr().err
    assert re.search(r"client → server .* 50\.0 +± 20\.0 ms", told)
    assert re.search(r"server → client .* 50\.0 *$", told, re.MULTILINE)
    data["topology"] = {"kind": "pipe", "link": {"delay": "50 ms"}}
    print_summary(looks, from_dict(data).plan.data)
    assert "varies" not in capsys.readouterr().err


def test_a_directory_that_cannot_keep_a_run_is_refused_before_the_command_runs(voxpath, small: Path):
    called = voxpath("exec", "--delay", "0 ms", "--out", small / "kept", "--", "touch", "ran")
    assert called.code == 2
    assert "--out" in called.err
    assert not Path("ran").exists()


def test_a_run_without_connections_names_no_series_to_be_shown(voxpath):
    link = ("--delay", "5 ms", "--jitter", "1 ms")
    called = voxpath("exec", *link, "--report", "page.html", "--out", "kept", "--", "true")
    assert called.code == 0
    assert "(its jitter aside)" in Path("page.html").read_text()
    (run,) = Path("kept").iterdir()
    assert "series" not in plain(voxpath("show", run).out).partition("tables:")[0]


def test_a_trace_that_is_too_large_says_how_large_one_may_be(voxpath):
    Path("long.trace").write_bytes(b"1\n" * (8 * 2**20 + 1))
    called = voxpath("exec", "--trace", "long.trace", "--", "true")
    assert called.code == 2
    assert "'long.trace' is larger than 16 MiB, the most that is read: keep a part of it" in called.err


def test_what_keeps_the_way_out_from_beginning_is_told_and_not_its_warnings(
    voxpath, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    # As slirp4netns says it.
    said = 'open("/dev/net/tun"): Permission denied\nWARNING: Support for seccomp is experimental\n'
    (tmp_path / "slirp4netns").write_text(f"#!/bin/sh\nprintf '%s' '{said}' >&2\nexit 1\n")
    (tmp_path / "slirp4netns").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(internet, "closed", lambda: None)
    called = voxpath("exec", "--internet", "--delay", "0 ms", "--", "true")
    assert called.code == 125
    assert 'slirp4netns does not begin: open("/dev/net/tun"): Permission denied' in called.err


def test_the_way_out_says_what_is_to_be_done_where_its_device_cannot_be_made(
    voxpath, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(internet, "_TUN", tmp_path / "tun")
    called = voxpath("exec", "--internet", "--delay", "0 ms", "--", "true")
    assert called.code == 125
    assert "tun is missing (as root: modprobe tun)" in called.err
    told = json.loads(voxpath("doctor", "--json").out)["parts"]
    assert [part["works"] for part in told if part["name"] == "slirp4netns"] == [False]


def test_a_script_that_is_not_there_is_told_in_words(voxpath):
    called = voxpath("tcp-script", "nothing.tcp")
    assert (called.code, called.err) == (2, "Error: nothing.tcp cannot be read: No such file or directory\n")


def test_a_plot_in_an_unknown_format_is_told_all_that_are_known(voxpath, small: Path):
    assert voxpath("run", small, "--replication", "0", "--observe", "tcp").code == 0
    (run,) = Path("runs").iterdir()
    called = voxpath("show", run, "--series", "cwnd_bytes", "--save", "plot.png")
    assert called.code == 2
    assert "allowed: .svg, .txt, .csv, .json, .parquet" in called.err
    assert voxpath("show", run, "--series", "cwnd_bytes", "--save", "plot.svg").code == 0
    assert Path("plot.svg").read_text().startswith("<svg")


def test_who_lists_a_run_is_told_how_it_is_shown(voxpath, small: Path):
    assert voxpath("run", small, "--replication", "0").code == 0
    (run,) = Path("runs").iterdir()
    assert f"it is a run itself, see voxpath show {run}" in voxpath("list", run).out
