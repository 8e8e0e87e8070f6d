"""The study of 2022: its published numbers are whole, and the quick study tells what it must."""

from __future__ import annotations

import pytest

from voxpath.backends.base import Row
from voxpath.results.intervals import Summary, summarise
from voxpath.studies import NAMES, load
from voxpath.studies.base import Published, Tolerance, compare
from voxpath.studies.sarkar2022.compare import numbers, published
from voxpath.studies.sarkar2022.scenario import LOSSES, VARIANTS, document


def test_every_table_with_numbers_is_there():
    tables = published()
    assert set(tables) == {f"table{number}" for number in (1, 4, 5, 6, 7, 8, 9)}
    assert [len(tables[f"table{number}"]["rows"]) for number in (1, 4, 5, 6, 7, 8, 9)] == [
        9,
        5,
        5,
        5,
        5,
        5,
        15,
    ]
    assert len(numbers()) == 20


def test_the_publication_is_consistent_where_it_says_so():
    tables = published()
    base, *others = tables["table4"]["rows"]
    for row in others:
        percent = 100 * (row["printed"] / base["printed"] - 1)
        assert percent == pytest.approx(row["difference_percent"], abs=0.06)
    for printed, simulated in zip(tables["table5"]["rows"], tables["table7"]["rows"], strict=True):
        assert printed["printed"] == simulated["simulated"]
    for row, sent in zip(tables["table5"]["rows"], tables["table6"]["rows"], strict=True):
        assert sent["printed"] - tables["table6"]["rows"][0]["printed"] == row["printed"]


def test_the_notes_on_misprints_are_right():
    tables = published()
    rows = {row["loss"]: row for row in tables["table8"]["rows"]}
    assert 100 * (rows["1 %"]["printed"] / rows["0 %"]["printed"] - 1) == pytest.approx(50.93, abs=0.005)
    assert pytest.approx(0.632, abs=0.001) == 1 - (1 - 1e-4) ** (8 * 1250)
    assert pytest.approx(0.699, abs=0.001) == 1 - (1 - 1e-4) ** (8 * 1500)
    for loss, needed in ((0.0001, 0.69), (0.001, 6.86), (0.01, 69.2), (0.1, 761)):
        assert 6849.32 * loss / (1 - loss) == pytest.approx(needed, rel=0.01)


def test_table_9_follows_its_own_rule():
    cwnd = 4380.0
    for row in published()["table9"]["rows"]:
        assert int(cwnd) == pytest.approx(row["cwnd"], abs=2)
        cwnd += 1460 * 1460 / cwnd


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_cell_can_run(variant: str, loss: str):
    plan = document(variant, loss).plan.data
    assert plan["flows"][0]["transport"]["client"]["receive_buffer"] == 8760
    assert [link["name"] for link in plan["links"]] == ["bottleneck", "client-left", "right-server"]


def number(value: float, **tolerance: float) -> Published:
    return Published("Table 0", "0 %", "completion_s", value, value, Tolerance(**tolerance))


def row(summary: Summary) -> Row:
    return Row("f", "completion_s", "sim", summary.mean, summary.n, summary.interval)


def test_a_value_agrees_inside_the_prediction_interval_and_differs_outside():
    ours = summarise([9.0, 10.0, 11.0])
    assert ours.prediction is not None
    low, high = ours.prediction
    for value, verdict in (
        (low + 0.01, "agrees"),
        (high - 0.01, "agrees"),
        (low - 0.01, "differs"),
        (high + 0.01, "differs"),
    ):
        assert compare(number(value), row(ours)).verdict == verdict


def test_a_tolerance_widens_the_interval_from_both_sides():
    ours = row(summarise([50.0, 50.0]))
    for value, verdict in ((50.49, "agrees"), (50.52, "differs"), (49.51, "agrees"), (49.49, "differs")):
        assert compare(number(value, relative=0.01), ours).verdict == verdict


def test_runs_without_a_value_give_no_verdict():
    incomplete = Row(
        "f", "completion_s", "sim", 50.0, 2, (49.0, 51.0), "incomplete", "1 of 3 runs have no value"
    )
    assert compare(number(50), incomplete).verdict == "no answer"
    assert compare(number(50), None).verdict == "no answer"
    assert compare(None, incomplete).verdict is None


def test_studies_are_found_by_name():
    assert [load(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(KeyError):
        load("nobody1999")


def test_the_quick_study_prints_our_numbers_beside_theirs(voxpath, tmp_path):
    called = voxpath("study", "sarkar2022", "--quick")
    assert called.code == 0, called.err
    for table in ("Table 4", "Table 5", "Table 6"):
        assert sum(table in line for line in called.out.splitlines()) >= len(LOSSES)
    assert "not applicable" in called.out
    quick = load("sarkar2022").quick
    assert len(list((tmp_path / "runs").iterdir())) == quick * len(LOSSES) * len(VARIANTS)
    again = voxpath("study", "sarkar2022", "--quick", "--backend", "formula")
    assert again.code == 0
    assert "report: sarkar2022.html" in again.out
    assert "Ours beside theirs" in (tmp_path / "sarkar2022.html").read_text("utf-8")
    assert "±" not in again.out.split("\n", 1)[1]


def test_a_study_whose_page_cannot_be_written_does_not_run(voxpath, tmp_path):
    called = voxpath("study", "sarkar2022", "--quick", "--report", "nowhere/page.html")
    assert called.code == 2
    assert "--report" in called.err
    assert not (tmp_path / "runs").exists()
