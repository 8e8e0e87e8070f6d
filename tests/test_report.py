"""Reports of scenarios and sweeps: what they say, and how they are asked for."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import ROOT, SCENARIOS, SMALL
from reports import text_of
from voxpath.document import Axis, Map, Plot, Table
from voxpath.report.directions import directions, scale_of
from voxpath.report.html import render
from voxpath.report.sweep import report_of
from voxpath.results.answers import Answers, Variant
from voxpath.results.outcome import Outcome
from voxpath.scenario import parse, read
from voxpath.scenario.quantities import in_one_unit


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["0.1 %", "1000 ppm", "1 %"], [0.1, 0.1, 1.0], "%"),
        (["20 ms", "1.5 s"], [0.02, 1.5], "s"),
        (["500 kbit/s", "5 Mbit/s"], [0.5, 5.0], "Mbit/s"),
        (["1000 B", "64 KiB"], [1000 / 1024, 64.0], "KiB"),
        (["10 packets", "1 packet"], [10.0, 1.0], "packets"),
        (["10 segments"], [10.0], "segments"),
    ],
)
def test_quantities_become_numbers_of_one_unit(texts: list[str], numbers: list[float], unit: str):
    found = in_one_unit(texts)
    assert found is not None
    assert found[0] == pytest.approx(numbers)
    assert found[1] == unit


@pytest.mark.parametrize("texts", [["reno", "cubic"], ["20 ms", "1 MB"], ["20 ms", "slow"], ["0 %", "1 ms"]])
def test_what_is_no_quantity_of_one_kind_is_none(texts: list[str]):
    assert in_one_unit(texts) is None


def swept(axes: str):
    return parse(f"{SMALL}\n[sweep]\n{axes}\n")


def test_the_axis_with_most_numbers_lies_horizontally():
    found = directions(
        swept(
            '"hosts.server.tcp.congestion" = ["reno", "cubic"]\n"topology.link.delay" = ["5 ms", "20 ms"]\n'
            '"topology.link.rate" = ["1 Mbit/s", "500 kbit/s", "10 Mbit/s"]'
        )
    )
    assert [one.name for one in found] == ["rate", "delay", "congestion"]
    rate, _, congestion = found
    assert (rate.numbers, rate.axis.unit, rate.axis.scale) == ((1.0, 0.5, 10.0), "Mbit/s", "log")
    assert rate.places[:3] == (0, 1, 2)
    assert congestion.axis.names == ("reno", "cubic")
    assert not congestion.ordered


def test_zero_beside_decades_is_named_in_order():
    (loss,) = directions(swept('"topology.link.loss" = ["10 %", "0 %", "0.1 %"]'))
    assert loss.axis.names == ("0 %", "0.1 %", "10 %")
    assert loss.places == (2, 0, 1)
    assert loss.ordered


def test_zipped_axes_are_one_direction():
    (found,) = directions(
        swept('"topology.link.loss" = ["0 %", "1 %"]\n"topology.link.delay" = ["1 ms", "2 ms"]\nmode = "zip"')
    )
    assert found.texts == ("0 %, 1 ms", "1 %, 2 ms")
    assert not found.ordered


def test_a_scale_is_logarithmic_where_decades_are_spanned():
    assert scale_of([1.0, 30.0]) == "log"
    assert scale_of([1.0, 10.0]) == "linear"
    assert scale_of([0.0, 1000.0]) == "linear"
    assert scale_of([]) == "linear"


# --- sweeps ---------------------------------------------------------------------------------------------

THREE_AXES = (
    '"topology.link.loss" = ["0.5 %", "1 %", "2 %"]\n"topology.link.delay" = ["5 ms", "10 ms", "20 ms"]\n'
    '"topology.link.rate" = ["1 Mbit/s", "10 Mbit/s"]\nreplications = 2'
)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory):
    document = swept(THREE_AXES)
    answers = voxpath_package.sweep(document, out=tmp_path_factory.mktemp("runs"))
    return document, answers, report_of(document, answers, 2, ["completion_s"], "voxpath report small.toml")


def test_a_plot_of_a_sweep_holds_what_the_answers_say(three):
    _, answers, report = three
    section = next(section for section in report.sections if section.title == "Completion")
    plots = [part for part in section.parts if isinstance(part, Plot)]
    assert [plot.title for plot in plots] == [
        f"Completion over loss: rate {rate}" for rate in ("1 Mbit/s", "10 Mbit/s")
    ]
    assert (plots[0].x, plots[0].y.unit) == (Axis("loss", "%"), "s")
    assert plots[0].y == plots[1].y, "panels can be compared"
    cell = {"topology.link.loss": "1 %", "topology.link.delay": "20 ms", "topology.link.rate": "10 Mbit/s"}
    line = next(
        line
        for line in answers.lines
        if line.variant.values == cell and (line.row.metric, line.row.estimator) == ("completion_s", "sim")
    )
    curve = next(curve for curve in plots[1].curves if curve.name.startswith("delay 20 ms"))
    at = list(curve.x).index(1.0)
    assert line.row.interval is not None
    assert (curve.y[at], curve.low[at], curve.high[at]) == (line.row.value, *line.row.interval)
    grid = report.lead.picture
    assert isinstance(grid, Map)
    assert grid.panels[1].values[2][1] == line.row.value
    (table,) = (part for part in section.parts if isinstance(part, Table))
    row = next(row for row in table.rows if list(row[:3]) == list(cell.values()) and "sim" in row)
    assert str(line.row.summary) in row


def test_the_answer_of_a_sweep_names_the_ends(three):
    _, answers, report = three
    (sentence,) = report.answer
    lines = [
        line for line in answers.lines if line.row.metric == "completion_s" and line.row.estimator == "sim"
    ]
    most = max(lines, key=lambda line: line.row.value or 0)
    assert f"to {most.row.summary} s" in sentence
    assert all(value in sentence.split(" to ")[1] for value in most.variant.values.values())


def test_formulas_that_decline_say_why(three):
    _, answers, report = three
    reasons = {line.row.reason for line in answers.lines if line.row.status == "not applicable"}
    assert reasons
    seen = text_of(render(report))
    assert all(reason in seen for reason in reasons)


def test_a_flow_without_a_name_is_called_by_its_place(tmp_path: Path):
    document = parse(SMALL.replace('name = "download"\n', ""))
    answers = voxpath_package.sweep(document, out=tmp_path)
    page = text_of(render(report_of(document, answers, 1, [], "x")))
    assert "What does “flow1” get from this network?" in page
    assert "flow flow1 app = " in page


def test_a_scenario_without_flows_has_a_report_of_its_programs():
    document = read(ROOT / "scenarios" / "real-iperf3.toml")
    nothing = Answers([Variant(document.source, {}, [], {}, [])])
    page = text_of(render(report_of(document, nothing, 1, [], "x")))
    assert "What do the programs on server and client get from this network?" in page


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_that_is_shipped_has_a_set_up_to_show(path: Path):
    document = read(path)
    nothing = Answers([Variant(document.source, cell.values, [], {}, []) for cell in document.cells()])
    page = text_of(render(report_of(document, nothing, 1, [], "x")))
    assert document.scenario.name in page


CALL = """\
name = "a call"
duration = "20 s"

[topology]
kind = "pipe"
link = { rate = "1 Mbit/s", delay = "5 ms", queue = "10 packets", loss = "5 %" }

[[flows]]
name = "call"
app = { kind = "cbr", packet = "172 B", interval = "10 ms", packets = "1000 packets" }
"""


def test_a_report_tells_what_programs_and_their_connections_did(tmp_path: Path):
    document = read(ROOT / "scenarios" / "real-iperf3.toml")
    both = {"flow": "client:40000 > server:5201", "opened_ns": 0, "ended_ns": 2_000_000_000}
    both |= dict.fromkeys(("retransmissions", "timeouts", "cwnd_bytes"), 7)
    both |= {"srtt_ns": 45_000_000, "min_rtt_ns": 40_000_000, "data_segments_sent": 1800}
    ends = [("client", 2_500_000, 10e6), ("server", 0, 0.0)]
    rows = [
        {**both, "end": end, "host": end, "bytes_delivered": sent, "goodput_bps": rate}
        for end, sent, rate in ends
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "connections.parquet")
    command = "iperf3 --client server"
    programs = [{"host": "client", "command": command, "exit_code": 0}]
    pl.DataFrame(programs).write_parquet(tmp_path / "programs.parquet")
    (tmp_path / "verdict.json").write_text('{"valid": true}')
    outcome = Outcome(tmp_path, 0, reused=False, valid=True)
    answers = Answers([Variant(document.source, {}, [], {}, [outcome])])
    page = text_of(render(report_of(document, answers, 1, [], "x")))
    assert f"client {command} exit code 0" in page
    assert "client:40000 > server:5201 client 10 2 45 7 of 1800 40 2500000 7" in page
    assert (
        "Programs had one TCP connection. Most data went over client:40000 > server:5201: 10 Mbit/s from "
        "client in 2 s, with a round trip of 45 ms at the end and 7 of 1800 segments retransmitted." in page
    )


@pytest.mark.usefixtures("voxpath")
def test_a_report_has_what_becomes_of_a_calls_audio(tmp_path: Path):
    app = '{ kind = "call", duration = "2 s", control = "none", audio = {} }'
    text = re.sub("app = .*", f"app = {app}", CALL) + '\n[sweep]\n"topology.link.loss" = ["0 %", "10 %"]\n'
    (tmp_path / "call.toml").write_text(text)
    answers = voxpath_package.sweep("call.toml", out="runs")
    page = text_of(render(report_of(parse(text), answers, 1, [], "x")))
    # 100 frames, a tenth of whose packets does not come.
    unplayed = answers.flows["client_audio_unplayed"].to_list()
    assert unplayed[0] < 3 < unplayed[1]
    assert "Client audio unplayed over loss" in page
    assert "Client audio delay p95 over loss" in page


def test_losses_stand_beside_what_was_sent(voxpath, tmp_path: Path):
    (tmp_path / "call.toml").write_text(CALL)
    answers = voxpath_package.sweep("call.toml", out="runs")
    lost = answers.flows["datagrams_lost"].item()
    assert lost > 10
    page = text_of(render(report_of(parse(CALL), answers, 1, [], "x")))
    assert f"Datagrams lost of call: {lost} of 1000." in page
    assert "all data arrived" not in page, "it did not"
    assert "all data that arrived is what was sent" in page
    for command in ("run", "compare"):
        assert f" {lost} of 1000 " in voxpath(command, "call.toml").out
    several = voxpath("run", "call.toml", "--replications", "3").out
    assert re.search(r" \d+\.\d+ ± \d+\.\d+ of 1000 ", several)


def test_many_flows_share_a_sentence(tmp_path: Path):
    document = parse(SMALL.replace('name = "download"', 'name = "download"\ncount = 5'))
    answers = voxpath_package.sweep(document, out=tmp_path)
    (completion, _) = report_of(document, answers, 1, ["completion_s", "goodput_bps"], "x").answer
    assert re.fullmatch(
        r"Completion of 5 flows: from \S+ s \(download-\d\) to \S+ s \(download-\d\)\.", completion
    )


def test_a_run_that_gave_no_value_is_marked_with_its_reason(tmp_path: Path):
    document = parse(SMALL.replace("seed = 7", 'seed = 7\nduration = "400 ms"'))
    answers = voxpath_package.sweep(document, replications=12, out=tmp_path)
    incomplete = [line for line in answers.lines if line.row.status == "incomplete"]
    assert incomplete, "some runs end before the download"
    page = text_of(render(report_of(document, answers, 12, [], "x")))
    assert incomplete[0].row.reason in page


def test_what_no_run_answers_stands_with_its_reason(tmp_path: Path):
    document = parse(SMALL.replace("seed = 7", 'seed = 7\nduration = "20 ms"'))
    answers = voxpath_package.sweep(document, replications=2, out=tmp_path)
    page = text_of(render(report_of(document, answers, 2, ["completion_s"], "x")))
    assert "No estimator has an answer; the reasons stand below." in page
    assert "completion download sim in no run (unfinished)" in page


def test_closed_forms_alone_do_not_claim_replications(voxpath, small: Path, tmp_path: Path):
    reno = SMALL.replace("[[flows]]", '[hosts.server.tcp]\ncongestion = "reno"\n\n[[flows]]')
    reno = reno.replace("10 Mbit/s", "1 Gbit/s").replace("5 ms", "50 ms")
    small.write_text(f'{reno}\n[sweep]\n"topology.link.loss" = ["0.5 %", "1 %"]\nreplications = 5\n')
    assert voxpath("report", small, "--backend", "formula").code == 0
    page = text_of((tmp_path / "small.html").read_text("utf-8"))
    assert "Closed forms alone: nothing was simulated." in page
    assert "replications 5" not in page
    assert "valid runs" not in page
    assert voxpath("report", small, "--backend", "formula", "--metric", "jitter_ns").code == 2


def test_a_scenario_is_reported_by_the_command_line(voxpath, small: Path, tmp_path: Path):
    called = voxpath("report", small, "--replications", "3", "--observe", "tcp")
    assert called.code == 0, called.err
    assert "report: small.html" in called.out
    page = (tmp_path / "small.html").read_text("utf-8")
    assert "Congestion window." in text_of(page)
    assert "valid runs: 3 of 3" in text_of(page)
    assert str(tmp_path) not in page
    assert not list(tmp_path.glob(".small*")), "nothing is left of writing it"
    again = voxpath("report", small, "--replications", "3", "--observe", "tcp", "-o", "again.html")
    assert "3 of them there already" in again.out
    assert (tmp_path / "again.html").read_text("utf-8") == page


def test_a_sweep_is_reported_from_python_as_by_the_command_line(voxpath, small: Path, tmp_path: Path):
    small.write_text(f'{SMALL}\n[sweep]\n"topology.link.delay" = ["5 ms", "20 ms"]\nreplications = 2\n')
    assert voxpath("report", small, "--metric", "completion_s").code == 0
    written = voxpath_package.write_report(
        voxpath_package.load(small), tmp_path / "python.html", metrics=["completion_s"]
    )
    assert written == tmp_path / "python.html"
    command = re.compile(r"<footer>.*</footer>", re.DOTALL)
    pages = [(tmp_path / name).read_text("utf-8") for name in ("small.html", "python.html")]
    assert command.sub("", pages[0]) == command.sub("", pages[1])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--save", "page.txt"], "its name ends in .html"),
        (["--save", "nowhere/page.html"], "there is no directory nowhere"),
        (["--save", "taken.html"], "is a directory"),
        (["--save", "/proc/page.html"], "cannot write to /proc"),
        (["--metric", "completion"], "did you mean 'completion_s'"),
        (["--backend", "formula", "--observe", "tcp"], "needs the backend sim"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused(
    arguments: list[str], says: str, voxpath, small: Path, tmp_path: Path
):
    (tmp_path / "taken.html").mkdir()
    called = voxpath("report", small, *arguments)
    assert called.code == 2, called.out
    assert says in called.err
    assert not (tmp_path / "small.html").exists()
