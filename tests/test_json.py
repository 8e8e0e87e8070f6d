"""What commands print for programs: docs/json.md describes it, and this holds it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from scipy.io import wavfile

from conftest import ROOT, Called, process
from speech_service import run, service
from test_tcp_scripts import GOOD
from test_vowels import recording
from voxpath.cli.main import cli
from voxpath.voice.phonetics import accuracy

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


def test_a_call_is_told_by_direction(voxpath):
    found = told(voxpath("call", "--delay", "80 ms", "--measures", "emodel", "--json"))
    (talk,) = found["talks"]
    assert (talk["from"], talk["to"], talk["heard"]) == ("client", "server", "heard.wav")
    delay = talk["delay"]
    parts = ("frame_ms", "codec_ms", "sender_ms", "network_ms", "buffer_ms")
    assert delay["total_ms"] == pytest.approx(sum(delay[part] for part in parts))
    assert delay["network_ms"] >= 80
    frames = talk["frames"]
    assert frames["sent"] > 0 == frames["never_came"]
    assert list(talk["scores"]) == ["emodel"]
    assert Path(found["report"]).is_file()
    assert Path(found["run"]).is_dir()


def test_a_cancelled_echo_is_told(voxpath, tmp_path: Path):
    rate, lag = 8_000, 400
    far = 0.1 * np.random.default_rng(1).standard_normal(4 * rate)
    echo = 0.5 * np.concatenate([np.zeros(lag), far[:-lag]])
    for name, values in (("far", far), ("mic", echo)):
        wavfile.write(tmp_path / f"{name}.wav", rate, (32767 * values).astype("int16"))
    called = voxpath("aec", "--far", "far.wav", "--mic", "mic.wav", "-o", "out.wav", "--json")
    found = told(called)
    assert (found["rate_hz"], found["channels"], found["duration_s"]) == (rate, 1, 4.0)
    assert found["delay_s"] == pytest.approx(lag / rate, abs=20 / rate)
    assert found["second_half_db"] > 20
    assert "second half" in called.err
    live = voxpath("aec", "--live", "--rate", "8000", "--delay", "0 ms", "--json")
    assert (live.code, "takes no --json" in live.err) == (2, True)


def test_scripts_are_told_one_by_one(voxpath, tmp_path: Path):
    (tmp_path / "a.pkt").write_text(GOOD)
    (tmp_path / "b.pkt").write_text(GOOD + "0.1 assert state established\n")
    called = voxpath("tcp-script", "a.pkt", "b.pkt", "--json")
    good, bad = json.loads(called.out)["ran"]
    assert (called.code, good["holds"], bad["holds"]) == (1, True, False)
    assert (good["script"], good["stack"], good["line"], good["reason"]) == ("a.pkt", "rfc", None, None)
    assert (bad["line"], "does not hold" in bad["reason"]) == (7, True)
    assert any("> S. 0:0(0)" in step for step in good["ladder"])


def test_measured_vowels_are_told_by_kind_and_one_by_one(voxpath, tmp_path: Path):
    audio, grid = recording(tmp_path)
    tiers = ("--tier", "vowel", "--contexts", "context", "--save", "vowels.csv", "--json")
    called = voxpath("vowels", "measure", audio, grid, *tiers)
    found = told(called)
    assert "vowels.csv" in called.err
    assert (found["reference"], len(found["vowels"])) == ("plain", 6)
    assert found["settings"]["ceiling_hz"] == 5000
    (shift,) = (row for row in found["kinds"] if (row["kind"], row["formant"]) == ("a (emphatic)", 1))
    assert (shift["n"], shift["reference"]) == (3, "a (plain)")
    assert shift["difference_low_hz"] < shift["difference_hz"] < shift["difference_high_hz"]
    assert shift["difference_hz"] == pytest.approx(138, abs=30)
    compared = told(voxpath("vowels", "compare", audio, audio, grid, "--tier", "vowel", "--json"))
    assert {row["verdict"] for row in compared["shifts"]} == {"repeatable"}
    assert [row["formant"] for row in compared["shifts"] if row["vowel"] is None] == [1, 2, 3, 4]
    assert (len(compared["vowels"]), compared["lost"], compared["unknown"]) == (6, [], [])


def test_the_accuracy_of_formants_is_told(voxpath, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(accuracy, "MEN", {"u": accuracy.MEN["u"]})
    monkeypatch.setattr(accuracy, "VOICES", accuracy.VOICES[:1])
    monkeypatch.setattr(accuracy, "BANDS_HZ", ((150, 180),))
    first, *rest = told(voxpath("vowels", "accuracy", "--json"))["errors"]
    assert (first["formant"], first["pitches_hz"], first["at"]) == (1, [150, 180], "u at 180 Hz")
    assert (first["error_percent"] > first["limit_percent"], first["within"]) == (True, False)
    assert [row["formant"] for row in rest] == [2, 3]


def test_recognisers_are_told_with_what_they_heard(voxpath):
    found = told(voxpath("speech", "recognisers", "pocketsphinx", "--samples", "sample:cards/001", "--json"))
    (one,) = found["recognisers"]
    assert (one["name"], one["here"], one["reason"]) == ("pocketsphinx", True, None)
    (heard,) = one["samples"]
    assert (heard["samples"], heard["words"], heard["errors"], heard["word_error_rate"]) == (
        "sample:cards/001", 3, 0, 0.0,
    )  # fmt: skip


def test_a_speech_service_and_what_was_streamed_to_it_are_told(tmp_path: Path):
    async def call(url: str, command: str, *arguments: str) -> dict:
        words = ["speech", command, *arguments, "--server", url, "--json"]
        running = await asyncio.to_thread(process, *words, cwd=tmp_path)
        out, err = await asyncio.to_thread(running.communicate)
        return told(Called(running.returncode, out, err))

    async def test() -> None:
        async with service() as one:
            url = one.url("")
            found = await call(url, "status")
            assert (found["server"], found["workers_available"], found["requests_processed"]) == (url, 1, 0)
            (utterance,) = (await call(url, "stream", "sample:cards/001", "--unpaced"))["utterances"]
            assert (utterance["status"], utterance["results"][-1]["final"]) == (0, True)
            assert utterance["transcript"].endswith("octets")
            assert utterance["latency_s"] > 0

    run(test)


def test_one_value_is_printed_once(voxpath):
    refused = voxpath("speech", "status", "--watch", "--json")
    assert (refused.code, "give one of them" in refused.err) == (2, True)


def test_problems_go_to_standard_error(voxpath, small: Path):
    small.write_text(small.read_text().replace("[topology]", 'limits = { time = "1 ms" }\n[topology]'))
    called = voxpath("run", small, "--json")
    assert called.code == 1
    assert json.loads(called.out)["runs"][0]["valid"] is False
    assert "invalid run" in called.err


def commands(group: click.Group, before: str = "voxpath") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def test_the_page_describes_every_command_that_has_it_and_no_other():
    page = (ROOT / "docs" / "json.md").read_text()
    described = set(re.findall(r"`(voxpath [a-z -]+)`", page))
    assert described == {
        name
        for name, command in commands(cli)
        if any("--json" in parameter.opts for parameter in command.params)
    }


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
