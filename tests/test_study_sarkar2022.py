"""The study of 2022: its published numbers are whole, and the quick study tells of each what it must."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from reports import text_of
from voxpath.backends.answer import ask
from voxpath.backends.formula import FormulaBackend
from voxpath.backends.sim import SimBackend
from voxpath.document import Checks, Ladder, Map, Plot, Table, Text
from voxpath.results.packs import Packs
from voxpath.studies.base import Answer
from voxpath.studies.sarkar2022.compare import STUDY, run
from voxpath.studies.sarkar2022.questions import FULL, QUICK, questions
from voxpath.studies.sarkar2022.scenario import LOSSES, VARIANTS, document
from voxpath.studies.sarkar2022.verdicts import published


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study") / "runs"


def answered(store: Path, *names: str) -> Answer:
    """The quick study by some backends; runs that are there are not repeated."""
    backends = [backend for backend in (SimBackend(store), FormulaBackend()) if backend.name in names]
    return run(
        lambda asked, named: ask(
            [("study", {}, question) for question in asked],
            [backend for backend in backends if backend.name in named],
        ),
        True,
    )


@pytest.fixture(scope="module")
def answer(store: Path) -> Answer:
    return answered(store, *STUDY.backends)


def parts(answer: Answer, kind: type) -> list:
    return [part for section in answer.report.sections for part in section.parts if isinstance(part, kind)]


def checks(answer: Answer) -> dict[str, bool | None]:
    return {check.claim: check.holds for group in parts(answer, Checks) for check in group.checks}


def test_every_table_with_numbers_is_there():
    tables = {name: table for name, table in published().items() if name.startswith("table")}
    assert set(tables) == {f"table{number}" for number in (1, 3, 4, 5, 6, 7, 8, 9)}
    assert [len(tables[f"table{number}"]["rows"]) for number in (1, 3, 4, 5, 6, 7, 8, 9)] == [
        9,
        5,
        5,
        5,
        5,
        5,
        5,
        15,
    ]


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


def test_every_published_number_has_a_verdict(answer: Answer):
    printed = Counter()
    for name, table in published().items():
        for row in table.get("rows", ()):
            numbers = [key for key in row if key not in {"loss", "ber", "rtt"}]
            printed[name.replace("table", "Table ")] += len(numbers)
    judged = Counter(item.published.table for item in answer.comparisons)
    assert judged == printed
    assert len({item.key for item in answer.comparisons}) == printed.total()
    # Without bit errors nothing is lost, by definition.
    unanswered = [item.published for item in answer.comparisons if item.verdict == "no answer"]
    assert [(number.table, number.value) for number in unanswered] == [("Table 3", 0)]


def test_a_printed_value_is_only_changed_with_a_reason(answer: Answer):
    for item in answer.comparisons:
        number = item.published
        assert number.note or number.value == pytest.approx(number.printed, abs=0.3), item.key


def test_every_number_that_differs_has_a_cause_that_holds(answer: Answer):
    differing = [item for item in answer.comparisons if item.verdict == "differs"]
    assert {item.published.table for item in differing} == {"Table 1", "Table 8"}
    assert all(item.cause is not None for item in differing)
    by_runs = [item for item in differing if item.ours is not None and item.ours.n > 1]
    assert all(item.cause.holds for item in differing if item.cause and item not in by_runs)
    # Five replications may differ by chance, and then refute nothing.
    assert all(item.cause.holds is not False for item in by_runs if item.cause)


def test_the_publication_contradicts_itself_where_it_does(answer: Answer):
    found = {item.key for item in answer.comparisons if item.verdict == "contradicts itself"}
    assert {table for table, _, _ in found} == {"Table 1", "Table 7", "Table 8", "Table 9"}
    assert {key for key in found if key[0] == "Table 7"} == {
        ("Table 7", "calculated", "1 %"),
        ("Table 7", "calculated", "10 %"),
    }
    assert {key for key in found if key[0] == "Table 8"} == {("Table 8", "difference", "1 %")}
    above = {
        ("Table 1", f"PER, L = {size} bytes", f"BER {ber}") for size in (1250, 1500) for ber in (0.1, 0.0001)
    }
    assert above <= found


def test_no_check_of_the_quick_study_fails_and_most_are_decided(answer: Answer):
    found = checks(answer)
    # One recommendation of the publication is not needed with BBR.
    assert [claim[:25] for claim, holds in found.items() if holds is False] == ["'Avoid the combination of"]
    assert list(found.values()).count(True) > 2 * list(found.values()).count(None)
    every = [check for group in parts(answer, Checks) for check in group.checks]
    assert len(every) > 40
    told = f"{sum(check.holds is True for check in every)} of {len(every)} checks hold"
    assert any(line.startswith(told) for line in answer.report.answer)


def test_what_follows_from_the_publication_alone_follows_and_is_no_check(answer: Answer, store: Path):
    for found in (answer, answered(store, "formula")):
        computed = [table for table in parts(found, Table) if table.columns[:2] == ("claim", "computation")]
        rows = [row for table in computed for row in table.rows]
        assert len(rows) >= 11
        assert [row[0] for row in rows if row[2]] == []
        assert not {row[0] for row in rows} & set(checks(found))


def test_the_report_has_every_table_and_figure(answer: Answer):
    tables = [table.title.split(":")[0] for table in parts(answer, Table)]
    assert {f"Table {number}" for number in (1, 4, 5, 6, 7, 8, 9)} <= set(tables)
    plots = [plot.title.split(":")[0] for plot in parts(answer, Plot)]
    assert {f"Figure {number}" for number in range(2, 9)} <= set(plots)
    assert [ladder.title.split(":")[0] for ladder in parts(answer, Ladder)] == ["Figure 10"]
    assert [found.title for found in parts(answer, Map)] == [
        "Completion time",
        "Error of window_limit",
        "Error of cardwell",
        "Error of pftk_full",
        "Error of pftk_short",
    ]


def test_tables_plots_and_maps_are_of_one_shape(answer: Answer):
    for table in parts(answer, Table):
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
    for plot in parts(answer, Plot):
        for curve in plot.curves:
            assert len(curve.x) == len(curve.y) > 0
            assert list(curve.x) == sorted(curve.x)
            assert len(curve.low) == len(curve.high)
            assert len(curve.low) in {0, len(curve.x)}
    for found in parts(answer, Map):
        for panel in found.panels:
            assert len(panel.values) == len(panel.details) == len(found.ys)
            assert {len(row) for row in (*panel.values, *panel.details)} == {len(found.xs)}


def test_the_ladder_shows_one_loss_and_its_retransmission(answer: Answer):
    (ladder,) = parts(answer, Ladder)
    fates = Counter(segment.fate for segment in ladder.segments)
    assert (fates["lost"], fates["retransmission"]) == (1, 1)
    lost, again = (next(s for s in ladder.segments if s.fate == fate) for fate in ("lost", "retransmission"))
    assert lost.received_s is None
    assert lost.label == again.label
    assert again.received_s is not None
    assert again.received_s > again.sent_s > lost.sent_s
    assert all(s.received_s is None or 0.02 < s.received_s - s.sent_s < 0.04 for s in ladder.segments)


def test_the_page_begins_with_what_was_claimed_what_was_found_and_a_picture(answer: Answer):
    lead = answer.report.lead
    assert lead is not None
    assert "takes 60.21 s over a clean channel, and 1953.61 s" in lead.claim
    found = re.match(r"The same set-up takes (\d+) s without loss and (\d+) s with 10 % loss", lead.sentence)
    assert found is not None
    assert found[1] == "50"
    assert 1500 < int(found[2]) < 2500
    assert isinstance(lead.picture, Plot)
    assert "Figure 6" in lead.picture.title


def test_a_report_is_small(answer: Answer):
    assert len(repr(answer.report)) < 1_000_000


def test_the_same_runs_give_the_same_report(answer: Answer, store: Path):
    assert answered(store, *STUDY.backends) == answer


def test_the_simulator_alone_gives_the_same_verdicts(answer: Answer, store: Path):
    alone = answered(store, "sim")
    assert [replace(item, cause=None) for item in alone.comparisons] == [
        replace(item, cause=None) for item in answer.comparisons
    ]
    assert not any("Cardwell" in str(cell) for row in alone.table.rows for cell in row)
    for found in parts(alone, Map)[1:]:
        assert {value for panel in found.panels for row in panel.values for value in row} == {None}
        assert all(
            detail.startswith("not asked")
            for panel in found.panels
            for row in panel.details
            for detail in row
        )


def test_formulas_alone_leave_out_what_only_runs_show(store: Path):
    alone = answered(store, "formula")
    unanswered = {item.published.table for item in alone.comparisons if item.verdict == "no answer"}
    # Of Table 3 it is the row without bit errors.
    assert unanswered == {"Table 3", "Table 4", "Table 5", "Table 6", "Table 7", "Table 8"}
    assert any("Cardwell" in str(cell) for row in alone.table.rows for cell in row)
    assert not checks(alone)
    assert not any(parts(alone, kind) for kind in (Plot, Map, Ladder))
    said = [paragraph for text in parts(alone, Text) for paragraph in text.paragraphs]
    assert sum(paragraph.startswith("Not asked") for paragraph in said) == 8


@pytest.mark.parametrize("effort", [FULL, QUICK])
def test_what_is_compared_is_run_often_enough_and_traces_are_recorded(effort):
    asked = questions(effort)
    for cell, question in asked.items():
        if not cell.change and not cell.traced:
            assert len(question.replications) == effort.replications
        assert (question.observe is not None) == cell.traced
    assert FULL.replications >= 30


def test_the_command_prints_verdicts_and_keeps_every_run(voxpath, tmp_path, store: Path, answer: Answer):
    (tmp_path / "runs").symlink_to(store)
    called = voxpath("study", "sarkar2022", "--quick")
    assert called.code == 0, called.err
    for table in ("Table 4", "Table 5", "Table 6", "Table 8"):
        assert sum(table in line for line in called.out.splitlines()) >= len(LOSSES)
    assert "undecided" in called.out
    assert answer.table.notes[-1] in called.out
    runs = {(q.document.plan.json, n, q.observe) for q in questions(QUICK).values() for n in q.replications}
    alone = {path.name for path in store.iterdir()} - {"packs"}
    assert len(alone | set(Packs(store).names())) == len(runs)
    again = voxpath("study", "sarkar2022", "--quick", "--backend", "formula")
    assert again.code == 0
    assert "report: sarkar2022.html" in again.out
    assert answer.report.question in text_of((tmp_path / "sarkar2022.html").read_text("utf-8"))
    assert "±" not in again.out.split("\n", 1)[1]
