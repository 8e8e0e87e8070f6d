"""Results as values: what another build answers otherwise is found, and told apart from what has moved."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT, SMALL
from voxpath import _engine, load

RUN = ROOT / "benches" / "same" / "run.py"


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benches")
    import same.difference
    import same.record
    import same.recording

    yield same
    for name in [name for name in sys.modules if name == "same" or name.startswith("same.")]:
        del sys.modules[name]


@pytest.fixture
def recorded(same, tmp_path: Path):
    """A scenario with a sweep, recorded."""
    path = tmp_path / "small.toml"
    path.write_text(f'{SMALL}\n[sweep]\n"topology.link.loss" = ["0 %", "1 %"]\n')
    return same.record.record(("scenarios",), None, lambda _: None, [path])


def changed(recording, table: str, frame: pl.DataFrame):
    return replace(recording, tables={**recording.tables, table: frame})


def told(same, a, b, expected=()) -> list[str]:
    return "\n".join(same.difference.difference(a, b, expected).lines(5)).splitlines()


def test_the_same_recorded_again_is_equal_and_a_file_keeps_it(same, recorded, tmp_path):
    again = same.record.record(("scenarios",), None, lambda _: None, [tmp_path / "small.toml"])
    recorded.save(tmp_path / "kept.zip")
    found = same.difference.difference(same.recording.Recording.load(tmp_path / "kept.zip"), again)
    assert found.is_none
    assert found.rows > 500
    assert {"flows", "packets", "series", "summary", "verdict", "captures"} <= set(recorded.tables)
    # Each cell is recorded, the formulas beside the simulator, and only the first run is looked at closely.
    assert set(recorded.tables["flows"].select("cell", "replication").rows()) == {
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    }
    assert set(recorded.tables["packets"].select("cell", "replication").rows()) == {(0, 0)}
    assert recorded.tables["summary"]["estimator"].n_unique() > 1


def test_a_changed_value_is_found_with_its_scenario_table_column_and_row(same, recorded):
    flows = recorded.tables["flows"]
    here = (pl.col("cell") == 1) & (pl.col("replication") == 1)
    one = flows.filter(here)["completed_ns"].item()
    later = flows.with_columns(pl.when(here).then(one + 1).otherwise("completed_ns").alias("completed_ns"))
    assert told(same, recorded, changed(recorded, "flows", later)) == [
        "other values (A -> B):",
        "  scenario/small: flows.completed_ns: 1 of 4 rows",
        f"    cell 1, replication 1, flow download: {one} -> {one + 1}",
    ]


def test_a_value_that_is_lost_is_found(same, recorded):
    series = recorded.tables["series"]
    lost = series.with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise("value").alias("value")
    )
    lines = told(same, recorded, changed(recorded, "series", lost))
    assert len(lines) == 3
    assert lines[2].endswith(f": {series['value'][7]!r} -> None")


def test_rows_subjects_columns_and_tables_that_one_side_lacks_stand_apart(same, recorded):
    b = changed(recorded, "flows", recorded.tables["flows"].drop("server_timeouts").head(3))
    b = changed(b, "ends", recorded.tables["flows"].select("subject", "cell", "replication", "flow"))
    more = recorded.tables["verdict"].with_columns(pl.lit("scenario/other").alias("subject"))
    a = changed(recorded, "verdict", pl.concat([recorded.tables["verdict"], more]))
    assert told(same, a, b) == [
        "only in A:",
        "  subject scenario/other",
        "  flows.server_timeouts",
        "  scenario/small: flows: 1 rows",
        "    cell 1, replication 1, flow download",
        "only in B:",
        "  table ends",
    ]


def moved(recording):
    """A column in a table of its own."""
    flows = recording.tables["flows"]
    owner = ("subject", "cell", "replication", "flow")
    end = flows.select(*owner, pl.lit("client").alias("end"), pl.col("client_timeouts").alias("timeouts"))
    b = changed(recording, "flows", flows.drop("client_timeouts"))
    return changed(b, "ends", end)


MOVED = """\
[[difference]]
kind = "moved"
table = "flows"
column = "client_timeouts"
sql = "SELECT subject, cell, replication, flow, timeouts AS value FROM ends WHERE end = 'client'"
reason = "a table of its own"

[[difference]]
kind = "only in B"
table = "ends"
reason = "new"
"""


def test_what_moved_is_expected_and_its_values_are_compared_all_the_same(same, recorded, tmp_path):
    path = tmp_path / "expected.toml"
    path.write_text(MOVED)
    b = moved(recorded)
    lines = told(same, recorded, b, same.difference.expectations(path))
    assert lines[:2] == ["expected, 1 times: new", "expected, 1 times: a table of its own"]
    assert len(lines) == 3
    assert lines[2].endswith("rows are equal, but for what was expected")

    other = b.tables["ends"].with_columns(pl.col("timeouts") + 1)
    lines = told(same, recorded, changed(b, "ends", other), same.difference.expectations(path))
    assert lines[1] == "  scenario/small: flows.client_timeouts: 4 of 4 rows"


def test_an_expectation_covers_what_it_names_and_is_told_where_it_covers_nothing(same, recorded):
    flows = recorded.tables["flows"]
    b = changed(
        recorded, "flows", flows.with_columns(pl.col("completed_ns") + 1, pl.col("first_byte_ns") + 1)
    )
    expected = [
        same.difference.Expectation("differs", "flows", "a better clock", "completed_*", "scenario/*"),
        same.difference.Expectation("differs", "flows", "never", "start_ns"),
    ]
    lines = told(same, recorded, b, expected)
    assert "  scenario/small: flows.first_byte_ns: 4 of 4 rows" in lines
    assert not [line for line in lines if "completed_ns" in line]
    assert lines[-2:] == [
        "expected, 1 times: a better clock",
        "expected and not seen: differs: flows.start_ns of *: never",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[difference]]\nkind = "differs"\ntable = "flows"\n', "difference 1: .*reason"),
        ('[[difference]]\nkind = "other"\ntable = "flows"\nreason = "so"\n', "kind 'other' is none of"),
        ('[[difference]]\nkind = "moved"\ntable = "flows"\nreason = "so"\n', "has sql"),
        ('[[difference]]\nkind = "differs"\ntable = "flows"\nreason = " "\n', "why it is so is missing"),
        ("[[diference]]\n", "unknown: diference; allowed: difference"),
        ("kind =", "expected.toml: "),
    ],
)
def test_what_an_expectation_lacks_is_said(same, tmp_path, text, message):
    path = tmp_path / "expected.toml"
    path.write_text(text)
    with pytest.raises(same.difference.ExpectationError, match=message):
        same.difference.expectations(path)


def test_random_plans_are_run_again_from_a_recording_and_a_refused_one_is_a_difference(same, small):
    plan = load(small).plan.json
    plans = [plan, json.dumps({**json.loads(plan), "flows": 1})]
    first = same.record.record(("plans",), plans, lambda _: None)
    again = same.record.record(("plans",), first.plans, lambda _: None)
    assert same.difference.difference(first, again).is_none
    assert list(first.tables["flows"]["subject"]) == ["plan/000"]
    assert first.tables["captures"].height == 2
    assert list(first.tables["unanswerable"]["subject"]) == ["plan/001"]
    assert "invalid type: integer `1`" in first.tables["unanswerable"]["reason"][0]


def test_plans_of_another_version_are_converted_step_by_step_or_refused(same, monkeypatch):
    version = _engine.PLAN_VERSION
    old = json.dumps({"version": version - 2, "flows": [1]})
    with pytest.raises(
        same.recording.RecordingError, match=f"have version {version - 2}, the engine takes {version}"
    ):
        same.record.converted(old)
    steps = {
        version - 2: lambda plan: {**plan, "version": version - 1, "first": True},
        version - 1: lambda plan: {**plan, "version": version, "second": True},
    }
    monkeypatch.setattr(same.record, "CONVERSIONS", steps)
    assert json.loads(same.record.converted(old)) == {
        "version": version,
        "flows": [1],
        "first": True,
        "second": True,
    }


def test_recordings_of_other_plans_are_not_compared(same, recorded):
    a, b = (replace(recorded, plans=[plan]) for plan in ("{}", "[]"))
    with pytest.raises(same.recording.RecordingError, match="FROM=A"):
        same.difference.difference(a, b)


def test_a_report_is_recorded_value_by_value(same):
    from voxpath.document import Axis, Cell, Curve, Plot, Table

    plot = Plot("Time", f"By {_engine.BUILD}.", Axis("x"), Axis("y"), [Curve("one", [1, 2], [0.5, None])])
    table = Table("Found", ("a",), [[Cell("2", "bad")]])
    leaves = list(same.record._leaves("at", plot)) + list(same.record._leaves("table", table))
    assert ("at.caption", 0, None, "By BUILD.") in leaves
    assert ("at.curves[0].x", 1, 2.0, None) in leaves
    assert ("at.curves[0].y[1]", 0, None, None) in leaves
    assert ("table.rows[0][0].mark", 0, None, "bad") in leaves


def test_the_exit_code_says_whether_something_differs(recorded, tmp_path):
    a, b = tmp_path / "a.zip", tmp_path / "b.zip"
    recorded.save(a)
    moved(recorded).save(b)
    (tmp_path / "expected.toml").write_text(MOVED)

    def compare(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(RUN), "compare", *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)

    assert compare("a.zip", "a.zip").returncode == 0
    differs = compare("a.zip", "b.zip")
    assert differs.returncode == 1
    assert "  flows.client_timeouts\n" in differs.stdout
    assert compare("a.zip", "b.zip", "--expected", "expected.toml").returncode == 0
    none = compare("a.zip", "expected.toml")
    assert (none.returncode, none.stderr) == (2, "expected.toml is no recording: File is not a zip file\n")
