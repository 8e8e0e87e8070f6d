"""Voice requests: from the scenario to what is said of their delays."""

from __future__ import annotations

import polars as pl
import pytest

import voxpath as voxpath_package
from voxpath.backends.sim import METRICS
from voxpath.scenario import ScenarioError, from_dict

APP = {
    "kind": "voice",
    "blocks": 9,
    "block": "2475 B",
    "interval": "300 ms",
    "partial": "100 B",
    "answer": "750 B",
    "processing": "50 ms",
    "requests": 3,
    "pause": "4 s",
}
TIMES = {"response_p50_ns": 90e6, "response_p95_ns": 90e6, "partial_p50_ns": 40e6, "partial_p95_ns": 40e6}
"""Of a round trip of 40 ms without rate and loss: it, and for the response the processing."""


def scenario(app: dict, **more) -> dict:
    """A voice request over 20 ms each way; segments do not wait for one another."""
    return {
        "name": "voice",
        "topology": {"kind": "pipe", "link": {"delay": "20 ms"}},
        "flows": [{"name": "speaker", "app": app, "transport": {"kind": "tcp", "nagle": False}}],
        **more,
    }


def test_a_voice_request_is_resolved_with_its_defaults():
    (flow,) = from_dict(scenario(APP)).plan.data["flows"]
    assert flow["app"] == {
        "kind": "voice",
        "blocks": 9,
        "block_bytes": 2475,
        "interval_ns": 300_000_000,
        "partial_bytes": 100,
        "answer_bytes": 750,
        "processing_ns": 50_000_000,
        "requests": 3,
        "pause_ns": 4_000_000_000,
    }
    required = {key: APP[key] for key in ("kind", "blocks", "block", "interval", "answer")}
    (flow,) = from_dict(scenario(required)).plan.data["flows"]
    left_out = {"partial_bytes": 0, "processing_ns": 0, "requests": 1, "pause_ns": 0}
    assert left_out.items() <= flow["app"].items()


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        ({"blocks": None}, "app.blocks", "is missing"),
        ({"block": None}, "app.block", "is missing"),
        ({"interval": None}, "app.interval", "is missing"),
        ({"answer": None}, "app.answer", "is missing"),
        ({"blocks": 0}, "app.blocks", "at least 1"),
        ({"block": "0 B"}, "app.block", "is zero"),
        ({"interval": "0 ms"}, "app.interval", "is zero"),
        ({"answer": "0 B"}, "app.answer", "is zero"),
        ({"partial": 100}, "app.partial", "has no unit"),
        ({"partials": "100 B"}, "app.partials", "did you mean 'partial'"),
        ({"block": "100 TB"}, "app.block", "at most 1000 TB"),
        ({"partial": "100 TB"}, "app.partial", "at most 1000 TB"),
        ({"answer": "900 TB"}, "app.answer", "at most 1000 TB"),
    ],
)
def test_a_wrong_voice_request_is_refused_by_its_key(change: dict, key: str, says: str):
    app = {name: value for name, value in (APP | change).items() if value is not None}
    with pytest.raises(ScenarioError) as refused:
        from_dict(scenario(app))
    (problem,) = refused.value.problems
    assert f"flows[0].{key}: " in str(problem)
    assert says in str(problem)


def test_a_voice_request_needs_a_byte_stream():
    wrong = scenario(APP)
    wrong["flows"][0]["transport"] = {"kind": "udp"}
    with pytest.raises(ScenarioError, match="voice needs tcp"):
        from_dict(wrong)


def test_a_run_tells_how_long_the_answers_take(tmp_path):
    result = voxpath_package.run(voxpath_package.load(scenario(APP)), replications=2, out=tmp_path)
    found = {row.metric: row for row in result.rows if row.estimator == "sim"}
    assert set(found) == set(METRICS["voice"])
    assert {metric: found[metric].value for metric in TIMES} == TIMES
    assert {row.status for row in found.values()} == {"ok"}
    assert {row.status for row in result.rows if row.estimator != "sim"} == {"not applicable"}
    requests = pl.read_parquet(result.folders[0] / "requests.parquet")
    response = requests.get_column("completed_ns") - requests.get_column("last_byte_sent_ns")
    assert response.to_list() == [90_000_000] * 3
    assert requests.get_column("partials_in_time").to_list() == [8] * 3


def test_without_partial_answers_nothing_is_said_of_them(tmp_path):
    app = {key: value for key, value in APP.items() if key != "partial"}
    result = voxpath_package.run(voxpath_package.load(scenario(app)), out=tmp_path)
    found = {row.metric: row for row in result.rows if row.estimator == "sim"}
    assert set(found) == set(METRICS["voice"]) - {"partial_p50_ns", "partial_p95_ns"}
    assert {row.status for row in found.values()} == {"ok"}


def test_partial_answers_that_never_come_are_missed(tmp_path):
    # Nothing comes back after the handshake.
    link = {"delay": "20 ms", "down": {"loss": {"kind": "list", "packets": list(range(2, 99))}}}
    cut = scenario(APP, duration="5 s") | {"topology": {"kind": "pipe", "link": link}}
    result = voxpath_package.run(voxpath_package.load(cut), out=tmp_path)
    found = {row.metric: row for row in result.rows if row.estimator == "sim"}
    for metric in TIMES:
        assert (found[metric].status, found[metric].reason) == ("incomplete", "in no run (unfinished)")


def test_the_command_line_shows_response_and_partial_answers(voxpath, tmp_path):
    (tmp_path / "voice.toml").write_text(voxpath_package.load(scenario(APP)).text)
    called = voxpath("run", "voice.toml")
    assert called.code == 0, called.err
    (title,) = (line for line in called.out.splitlines() if line.lstrip().startswith("flow "))
    for column in ("response ms", "response ms, p95", "partial ms", "partial ms, p95"):
        assert column in title
    assert "as it is spoken" in called.out
    (folder,) = (tmp_path / "runs").iterdir()
    (line,) = (line for line in voxpath("show", folder).out.splitlines() if "response, ms" in line)
    assert "3 of 3" in line
    assert "90 [" in line
    compared = voxpath("compare", "voice.toml").out
    assert "response p95, ms" in compared
    assert "partial p95, ms" in compared
