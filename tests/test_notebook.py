"""Results in notebooks: frames, charts and tables of every kind of result."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import polars as pl
import pytest

import voxpath
from voxpath.realtime import RealResult
from voxpath.results.problems import StoreError

SWEEP = '\n[sweep]\n"topology.link.loss" = ["0 %", "2 %"]\n"topology.link.delay" = ["5 ms", "9 ms"]\n'


@pytest.fixture
def result(small: Path):
    return voxpath.run(small, replications=3, out=small.parent / "runs")


def test_a_result_has_its_tables_and_a_summary(result):
    requests = result.table("requests")
    assert requests["run"].n_unique() == 3
    (row,) = result.summary.filter(metric="completion_s", estimator="sim").to_dicts()
    values = result.flows["completion_s"]
    assert (row["mean"], row["median"], row["n"]) == (pytest.approx(values.mean()), values.median(), 3)
    assert row["mean_low"] < row["mean"] < row["mean_high"]


def test_a_table_that_no_run_has_is_told_with_those_that_there_are(result, small: Path, tmp_path: Path):
    with pytest.raises(StoreError, match=r"has no table 'request'; did you mean 'requests'\? allowed: "):
        result.table("request")
    small.write_text(small.read_text() + SWEEP)
    answers = voxpath.sweep(small, replications=2, out=tmp_path / "swept")
    with pytest.raises(StoreError, match=r"has no table 'request'; did you mean 'requests'\?"):
        answers.table("request")


def real_result(folders: list[Path]) -> RealResult:
    flows = pl.DataFrame({"replication": [0], "flow": ["a"]})
    tables = {"flows": flows.drop("replication"), "links": pl.DataFrame({"link": ["up", "down"]})}
    return RealResult(flows, [], folders, True, [], tables, {}, {})


def test_a_real_result_has_its_tables_whether_it_is_kept_or_not(tmp_path: Path):
    lost = real_result([])
    assert lost.table("links").to_dict(as_series=False) == {"run": ["", ""], "link": ["up", "down"]}
    kept = real_result([tmp_path / "0123"])
    assert kept.table("flows").to_dicts() == [{"run": "0123", "flow": "a"}]
    with pytest.raises(StoreError, match=r"the run has no table 'link'; did you mean 'links'\?"):
        kept.table("link")
    assert kept.summary.height == 0
    assert kept._repr_html_().startswith("<table>")
    with pytest.raises(ValueError, match="there is no answer to be drawn"):
        kept.plot()


def test_a_result_of_formulas_alone_has_no_table_but_a_summary(small: Path, tmp_path: Path):
    result = voxpath.run(small, out=tmp_path, backends=["formula"])
    with pytest.raises(StoreError, match="there is no run that could have a table 'flows'"):
        result.table("flows")
    assert result.summary.height == len(result.rows) > 0


def test_a_result_of_two_backends_has_a_summary_of_each(small: Path, tmp_path: Path):
    one = voxpath.run(small, out=tmp_path)
    both = voxpath.Result(one.flows.with_columns(backend=one.flows["flow"]), one.rows, one.folders)
    assert both.summary.height == one.summary.height


def test_a_chart_shows_means_with_intervals(result):
    drawn = json.loads(result.plot().to_json())
    (data,) = drawn["datasets"].values()
    assert {row["metric"] for row in data} == {"completion_s"}
    (simulated,) = (row for row in data if row["estimator"] == "sim")
    assert simulated["mean_low"] < simulated["mean"] < simulated["mean_high"]
    assert result.plot("goodput_bps").to_dict()["layer"][0]["encoding"]["y"]["title"] == "goodput, Mbit/s"


def test_a_chart_of_a_sweep_has_the_axes_numbers_and_colours(small: Path, tmp_path: Path):
    small.write_text(small.read_text() + SWEEP)
    answers = voxpath.sweep(small, replications=2, out=tmp_path / "runs")
    chart = answers.plot().to_dict()
    encoding = chart["layer"][0]["encoding"]
    assert (encoding["x"]["type"], encoding["color"]["type"]) == ("quantitative", "nominal")
    (data,) = chart["datasets"].values()
    assert {row[encoding["x"]["field"]] for row in data} in ({0.0, 2.0}, {5.0, 9.0})
    assert "2 %" in answers._repr_html_()


def test_an_unknown_metric_and_a_missing_altair_are_told(result, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="no answer has the metric 'speed'; allowed: completion_s"):
        result.plot("speed")
    real = builtins.__import__

    def without(name: str, *more):
        if name == "altair":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"altair is missing: pip install '\.\[notebook\]'"):
        result.plot()
