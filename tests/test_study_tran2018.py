"""The study tran2018: its networks and statistics by hand, and that a small one answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from voxpath.document import Checks
from voxpath.studies.tran2018 import compare, difference, measures, networks, printed
from voxpath.studies.tran2018.printed import MOBILE, MOBILITIES, STATIONARY
from voxpath.studies.tran2018.questions import PUBLISHED, QUICK, Effort, Requests, questions

if TYPE_CHECKING:
    from voxpath.studies.base import Answer

FEW = Effort({STATIONARY: 3, MOBILE: 3}, 1, 1, far=False)


def requests(delays: list[float], rssi: list[float], nodes: list[int]) -> Requests:
    return Requests(np.array(delays), np.array(rssi), np.array(nodes))


def test_a_link_by_hand():
    # 20 dB over the floor: log2(101) * 10 MHz * 0.5 * 0.5; a tenth of the delay, a hundredth of the loss.
    link = networks.link(-80.0, 0.5)
    assert link.down_bps == pytest.approx(5e6 * 6.6582 * 0.5, rel=1e-4)
    assert link.up_bps == pytest.approx(0.3 * link.down_bps, rel=1e-6)
    assert (link.delay_s, link.loss, link.connected) == (0.025, 0.001, True)
    assert not networks.link(-113.0, 0.5).connected


def test_shadowing_has_the_deviation_and_memory_that_it_is_said_to_have():
    signals = [networks.node(MOBILE, number, 0)["first"] for number in range(0, 300, 3)]
    around = np.array([signal.rssi_dbm - signal.rssi_dbm.mean() for signal in signals])
    # A bus goes 8 m in a second: exp(-8/50).
    together = np.corrcoef(around[:, :-1].ravel(), around[:, 1:].ravel())[0, 1]
    assert together == pytest.approx(np.exp(-8 / 50), abs=0.05)
    means = [networks.node(MOBILE, number, 0)["first"].rssi_dbm.mean() for number in range(300)]
    assert np.mean(means) == pytest.approx(networks.KINDS[MOBILE].mean_dbm, abs=1)


def test_a_node_is_the_same_whenever_it_is_asked_for_and_another_in_each_repetition():
    one, again, other = (networks.node(MOBILE, 4, repetition)["second"] for repetition in (0, 0, 1))
    assert (one.rssi_dbm == again.rssi_dbm).all()
    assert not (one.rssi_dbm == other.rssi_dbm).any()
    assert one.share == other.share


def test_all_configurations_meet_the_same_networks():
    met: dict[tuple[str, int, int], list[object]] = {}
    for run, question in questions(FEW).items():
        plan = question.document.plan.data
        met.setdefault((run.cell.mobility, run.number, run.repetition), []).append(
            (plan["links"], plan["events"], plan["nodes"])
        )
    assert len(met) == 6
    assert all(all(one == several[0] for one in several) for several in met.values())
    assert len(questions(QUICK)) < 700


def test_statistics_by_hand():
    some = requests([0.1, 0.2, 0.3, np.inf], [-60, -70, -80, -90], [0, 0, 1, 1])
    assert measures.mean(some) == pytest.approx(0.2)
    assert measures.percentile(some, 50) == pytest.approx(0.3)
    assert measures.percentile(some, 99) == measures.LATE_S
    assert measures.slowest(some) == pytest.approx((0.3 + 10) / 2)
    assert measures.in_time(some, 0.2) == pytest.approx(0.5)
    assert measures.correlation(some) == pytest.approx(-1)
    # A cell against itself: whoever is drawn, the ratio is one.
    same = measures.ratio(some, some, measures.mean)
    assert same is not None
    assert (same.mean, same.half_width) == (1, 0)
    assert measures.of_one(requests([], [], []), measures.mean) is None


def regions(delays_s: dict[str, float], octets: dict[str, float]) -> difference.Regions:
    """Two paths at one place of the map, where each scheduler always takes as long."""
    effort = difference.Effort(4, 0, (0,), (0,), ())
    found = difference.Regions(effort, {}, {})
    found._simulated = {
        difference.Place(0, 0, name): difference.Answers(
            np.full((4, 5), delays_s.get(name, 1.0)), np.full(4, octets.get(name, 100.0))
        )
        for name in difference.TRANSPORTS
    }
    return found


def test_who_is_best_and_what_copies_are_worth_by_hand():
    found = regions({"blest": 0.2, "redundant": 0.1, "ecf": 0.2}, {"redundant": 250.0})
    assert difference.best(found, 0, 0) == ("redundant", [])
    others = [name for name in difference.MULTIPATH if name != "redundant"]
    assert difference.best(found, 0, 0, others) == ("blest", ["ecf"])
    (row,) = difference.worth(found)
    assert (row.other, row.delay, row.octets) == ("blest", 0.5, 2.5)
    assert row.saved_ms == pytest.approx(100)
    told = difference.answer(found)[1]
    assert "worth its octets at 1 of 1" in told
    assert "2.50 times the octets" in told
    assert "answers 100 ms sooner in the median" in told
    later = difference.answer(regions({"blest": 0.2, "redundant": 0.25}, {}))[1]
    assert "answers 50 ms later in the median" in later
    assert "at 0 of 1" in difference.answer(regions({"redundant": 0.95}, {}))[1]


def test_the_map_has_thousands_of_runs_and_the_kernel_is_asked_on_it():
    places = difference.places(difference.FULL)
    assert len(places) * difference.FULL.runs > 5000
    assert {(place.delay_ms, place.loss) for place in places} >= set(difference.CHECKED)
    document = difference._document(difference.Place(50, 2, "ecf"))
    (first, second) = document.plan.data["links"][:2]
    assert [link["ab"]["delay_ns"] / 1e6 for link in (first, second)] == [25, 75]
    assert [link["ab"]["loss"]["p"] for link in (first, second)] == pytest.approx([0.025, 0.005])


def test_table_one_is_asked_for_as_it_is_printed():
    printed_items = printed.correlations()
    assert len(printed_items) == 2 * len(PUBLISHED)
    assert {item.case for item in printed_items} == set(PUBLISHED)
    assert {item.column for item in printed_items} == set(MOBILITIES)
    assert max(abs(item.printed) for item in printed_items) == 0.34


def test_a_small_study_judges_every_sentence_and_correlation(
    voxpath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found: list[Answer] = []

    def keep(*given: Any) -> Answer:
        found.append(compare.run(*given))
        return found[0]

    monkeypatch.setattr(compare, "QUICK", FEW)
    apart = difference.Effort(2, 1, (0, 100), (0,), ((100, 0),))
    monkeypatch.setattr(difference, "QUICK", apart)
    monkeypatch.setattr("voxpath.studies.tran2018.STUDY", replace(compare.STUDY, run=keep))
    called = voxpath("study", "tran2018", "--quick")
    assert called.code == 0, called.err
    (answer,) = found
    checks = [
        check
        for section in answer.report.sections
        for part in section.parts
        if isinstance(part, Checks)
        for check in part.checks
    ]
    claims = [check.claim for check in checks]
    (beside,) = set(claims) - set(printed.published()["claims"].values())
    assert len(claims) == 1 + len(printed.published()["claims"])
    assert "100 ms longer" in beside, "the kernel was asked at a point of the map"
    (high,) = (check for check in checks if check.claim == printed.claim("printed_high"))
    assert high.holds is False
    assert high.evidence == "stationary -0.34, mobile -0.2"
    assert len(answer.comparisons) == 10
    assert all(item.verdict != "no answer" for item in answer.comparisons)
    assert len(answer.table.rows) == 10
    page = (tmp_path / "tran2018.html").read_text("utf-8")
    for title in (
        "Figure 6: response delay, mobile nodes",
        "95th percentile of response delay",
        "Energy of two LTE radios",
        "Redundant is worth its octets at",
    ):
        assert title in page
