"""What studies have in common: verdicts from both sides of their limits, and causes for those that differ."""

from __future__ import annotations

import pytest

from voxpath.document import Check
from voxpath.results.intervals import Summary, summarise
from voxpath.results.rows import Row
from voxpath.studies import NAMES, load
from voxpath.studies.base import Published, Tolerance, compare, compare_row, contradiction, with_causes


def number(value: float, **tolerance: float) -> Published:
    return Published("Table 0", "time", "0 %", "s", value, value, Tolerance(**tolerance))


def row(summary: Summary) -> Row:
    return Row("f", "completion_s", "sim", summary.mean, summary.n, summary.interval)


def test_a_value_agrees_inside_the_prediction_interval_and_differs_outside():
    ours = summarise([9.0, 10.0, 11.0])
    assert ours.prediction is not None
    low, high = ours.prediction
    for value, verdict in (
        (high - 0.01, "agrees"),
        (low - 0.01, "differs"),
        (high + 0.01, "differs"),
    ):
        assert compare(number(value), ours).verdict == verdict


def test_a_tolerance_widens_the_interval_from_both_sides():
    ours = summarise([50.0, 50.0])
    for value, verdict in ((50.49, "agrees"), (50.52, "differs"), (49.51, "agrees"), (49.49, "differs")):
        assert compare(number(value, relative=0.01), ours).verdict == verdict


def test_an_interval_as_wide_as_the_number_decides_nothing():
    ours = summarise([9.0, 10.0, 11.0])
    assert ours.prediction is not None
    low, high = ours.prediction
    width = high - low
    assert compare(number(width + 0.01), ours).verdict == "agrees"
    assert compare(number(width - 0.01), ours).verdict == "undecided"
    # Outside it is told apart all the same, and the tolerance does not count as width.
    assert compare(number(low - 0.01), ours).verdict == "differs"
    assert compare(number(10.0, absolute=20), summarise([10.0, 10.0])).verdict == "agrees"
    assert compare(number(0.0), summarise([0.0, 0.0])).verdict == "agrees"


def test_runs_without_a_value_give_no_verdict():
    incomplete = Row(
        "f", "completion_s", "sim", 50.0, 2, (49.0, 51.0), "incomplete", "1 of 3 runs have no value"
    )
    assert compare_row(number(50), incomplete).verdict == "no answer"
    assert compare_row(number(50), None).verdict == "no answer"
    assert compare_row(number(50), row(summarise([50.0, 50.0]))).verdict == "agrees"


def test_only_what_differs_gets_a_cause():
    cause = Check("The moon was full.", holds=True, evidence="a calendar")
    inside, outside = (compare(number(value), summarise([50.0, 50.0])) for value in (50, 51))
    own = contradiction(number(52), None, "52 is not 53")
    key = inside.key
    assert [item.cause for item in with_causes([inside, outside, own], {key: cause})] == [None, cause, None]
    assert with_causes([outside], {})[0].cause is None
    assert (inside.fits, outside.fits, own.fits) == (True, False, False)


def test_studies_are_found_by_name():
    assert [load(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(KeyError):
        load("nobody1999")


def test_a_study_whose_page_cannot_be_written_does_not_run(voxpath, tmp_path):
    called = voxpath("study", "sarkar2022", "--quick", "--report", "nowhere/page.html")
    assert called.code == 2
    assert "--report" in called.err
    assert not (tmp_path / "runs").exists()
