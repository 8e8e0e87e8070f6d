"""What commands print for programs: docs/json.md describes it, and this holds it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import ROOT, process
from voxpath.cli.main import cli

ANSWER = {"source", "flow", "metric", "unit", "estimator", "n", "mean", "mean_low", "mean_high"}
ANSWER |= {"median", "p95", "difference_percent", "status", "reason"}
RUN = {"run", "replication", "valid", "reused"}
SWEEP = '\n[sweep]\n"topology.link.loss" = ["0 %", "2 %"]\n'


def told(called) -> dict:
    """The one value that is printed, strictly JSON."""

    def refuse(text: str) -> float:
        raise AssertionError(f"{text} is no JSON")

    assert called.code == 0, called.err
    return json.loads(called.out, parse_constant=refuse)


@pytest.fixture
def swept(small: Path) -> Path:
    small.write_text(small.read_text() + SWEEP)
    return small


def test_a_run_is_told_with_its_answers_and_folders(voxpath, small: Path):
    found = told(voxpath("run", small, "--replications", "3", "--json"))
    assert {"command", "build", "axes", "answers", "runs"} == set(found)
    assert set(found["answers"][0]) >= ANSWER
    assert [set(run) for run in found["runs"]] == [RUN] * 3
    (simulated,) = (
        row for row in found["answers"] if (row["metric"], row["estimator"]) == ("completion_s", "sim")
    )
    assert (simulated["unit"], simulated["n"], simulated["flow"]) == ("s", 3, "download")
    assert simulated["mean_low"] < simulated["mean"] < simulated["mean_high"]
    declined = [row for row in found["answers"] if row["status"] == "not applicable"]
    assert declined
    assert all(row["mean"] is None and row["reason"] for row in declined)


@pytest.mark.parametrize("command", ["sweep", "compare"])
def test_cells_are_told_by_the_values_of_their_axes(command: str, voxpath, swept: Path):
    found = told(voxpath(command, swept, "--json"))
    assert found["axes"] == ["topology.link.loss"]
    assert {row["topology.link.loss"] for row in found["answers"]} == {"0 %", "2 %"}
    assert {row["topology.link.loss [%]"] for row in found["answers"]} == {0.0, 2.0}


def test_a_comparison_has_the_metrics_that_were_asked_for(voxpath, swept: Path):
    found = told(voxpath("compare", swept, "--metric", "goodput_bps", "--json"))
    assert {row["metric"] for row in found["answers"]} == {"goodput_bps"}


def test_one_run_is_told_with_its_tables(voxpath, small: Path):
    (run,) = told(voxpath("run", small, "--json"))["runs"]
    found = told(voxpath("show", run["run"], "--json"))
    assert (found["scenario"], found["verdict"]["valid"]) == ("small", True)
    assert found["identity"]["backend"] == "sim"
    assert found["tables"]["flows"][0]["status"] == "completed"
    alone = told(voxpath("show", run["run"], "--table", "requests", "--json"))
    assert list(alone["tables"]) == ["requests"]
    assert "requests" in found["known_tables"]
    refused = voxpath("show", run["run"], "--table", "nothing", "--json")
    assert refused.code == 2
    assert "no table 'nothing'" in refused.err


def test_a_study_is_told_number_by_number(voxpath):
    found = told(voxpath("study", "sarkar2022", "--quick", "--backend", "formula", "--json"))
    assert set(found["numbers"][0]) >= {"table", "column", "case", "printed", "ours", "verdict", "reason"}
    assert {check["verdict"] for check in found["checks"]} <= {"holds", "does not hold", "undecided"}
    assert found["claim"].startswith("A download of 10 MB")
    assert Path(found["report"]).is_file()


def test_what_works_here_is_told(voxpath):
    found = told(voxpath("doctor", "--json"))
    assert {"name", "works", "detail", "serves", "required"} == set(found["parts"][0])


def test_problems_go_to_standard_error(voxpath, small: Path):
    small.write_text(small.read_text().replace("[topology]", 'limits = { time = "1 ms" }\n[topology]'))
    called = voxpath("run", small, "--json")
    assert called.code == 1
    assert json.loads(called.out)["runs"][0]["valid"] is False
    assert "invalid run" in called.err


def test_the_page_describes_every_command_that_has_it():
    page = (ROOT / "docs" / "json.md").read_text()
    for name, command in cli.commands.items():
        if any("--json" in parameter.opts for parameter in command.params):
            assert f"`voxpath {name}" in page, name


def test_who_interrupts_is_told_what_is_kept_and_how_to_go_on(small: Path, tmp_path: Path):
    running = process("run", small, "--replications", "100000", cwd=tmp_path)
    assert running.stderr is not None
    # Told of every few seconds.
    assert re.match(r"small: [1-9]", running.stderr.readline())
    running.send_signal(2)
    _, err = running.communicate()
    assert running.returncode == 130
    *_, kept, last = filter(None, err.splitlines())
    assert last == "voxpath: interrupted"
    found = re.fullmatch(
        r"voxpath: (\d+) of 100000 runs are kept in runs; the same command goes on there", kept
    )
    assert found is not None, kept
    assert int(found[1]) > 0
