"""The study hoang2017: printed numbers by hand, scenarios, and that the quick study answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import voxpath as voxpath_package
from voxpath.scenario import from_dict
from voxpath.scenario.rates import RATES
from voxpath.studies.hoang2017 import misprints, printed, tables
from voxpath.studies.hoang2017.questions import QUICK, READINGS, SENDERS, SWITCHES, questions
from voxpath.studies.hoang2017.scenario import VARIANT, one_way
from voxpath.studies.hoang2017.session import goodput, loss, losses, mean_sent, of_first, steady_share
from voxpath.studies.media import Media


def session(sent: list[float], received: list[float]) -> Media:
    count = np.full(len(sent), 100.0)
    return Media(np.array(sent), np.array(sent), np.array(received), count, count, count)


def test_the_mean_of_table_8_is_below_the_printed_estimate():
    # 70 % of 5.76, 12.5 % each of 4.32 and 2.88, 5 % of nothing.
    assert printed.mean_available(0.5) == pytest.approx(4_932_000)
    assert printed.mean_available(1.0) == pytest.approx(5_112_000)
    assert sum(printed.probabilities(0.5).values()) == pytest.approx(1)
    assert printed.expected_loss(7_082_516, 0.5) == pytest.approx(1 - 4_932_000 / 7_082_516)
    # Below the idle rate nothing is lost there.
    assert printed.expected_loss(5_000_000, 0.5) == pytest.approx(0.125 * (0.136 + 0.424) + 0.05)


def test_tfs_contradicts_its_definition():
    assert misprints.total_by_tfs(0) == pytest.approx(6 * 688.5 / 1.51)
    assert misprints.total_by_tfs(1) == pytest.approx(6 * 323 / 0.72)
    for column in (0, 1):
        assert misprints.total_by_tfs(column) < printed.table3("goodput", column)[0].printed


def test_the_printed_packets_end_before_the_first_report():
    assert misprints.longest_session_s() == pytest.approx(1000 * 1500 * 8 / 7.2e6)
    assert misprints.longest_session_s() < printed.setting("table7", "RTCP interval")
    assert misprints.packet_for(20) == pytest.approx(54_000)
    assert len(misprints.table().rows) == 14


def test_a_sessions_measures_by_hand():
    media = session([10.0, 10.0, 20.0, 20.0], [10.0, 5.0, 5.0, 20.0])
    assert mean_sent(media) == 15
    assert of_first(2)(media) == 10
    assert goodput(media) == 10
    assert loss(media) == pytest.approx(1 / 3)
    assert losses(media, 2).tolist() == pytest.approx([0.25, 0.375])
    assert steady_share(session([1.0, 1.0, 1.05, 2.0], [1.0] * 4), 1, 0.1) == pytest.approx(2 / 3)


def test_every_switch_of_the_variant_is_turned_round_once():
    known = set(RATES["hoang2017"].model_fields) - {"kind"}
    assert {name for switch in SWITCHES.values() for name in switch} == known
    usual = RATES["hoang2017"](kind="hoang2017")
    for switch in SWITCHES.values():
        assert all(getattr(usual, name) != value for name, value in switch.items())


def test_all_senders_meet_the_network_of_table_8():
    asked = questions(QUICK)
    for name, question in asked.items():
        if name.network == "Table 8" and name.change not in READINGS:
            link = question.document.plan.data["links"][0]
            states = link["ab"]["loss"]["capacity"]["states"]
            assert [state["rate_bps"] for state in states] == [5_760_000, 4_320_000, 2_880_000, 0]
            assert link["ba"]["loss"] == {"kind": "none"}


def test_a_session_with_slow_reports_ends(tmp_path):
    """What waits in the send queue at its end is sent, and then the session is over."""
    app = one_way(VARIANT, 3e6, 7.2e6, 10e6, length="10 s")
    link = {"delay": "10 ms", "up": {"loss": "30 %"}}
    document = from_dict(
        {
            "name": "x",
            "topology": {"kind": "pipe", "link": link},
            "limits": {"events": 1_000_000},
            "flows": [{"app": app}],
        }
    )
    found = voxpath_package.run(document, out=tmp_path, backends=["sim"])
    assert found.flows["status"].to_list() == ["completed"]


def test_the_quick_study_judges_every_printed_number(voxpath):
    called = voxpath("study", "hoang2017", "--quick", "--json")
    assert called.code == 0, called.err
    numbers = json.loads(called.out)["numbers"]
    by_table = {it["table"]: [other for other in numbers if other["table"] == it["table"]] for it in numbers}
    # As many as the tables have; Table 3 has a mean and a deviation in each of two columns.
    sizes = {"Table 2": 4, "Table 3": 16, "Table 6": 5, "Table 7": 8, "Table 8": 7, "Table 9": 16}
    sizes |= {"Section 3.4.3.1": 2, "Section 4.1": 1}
    assert {table: len(found) for table, found in by_table.items()} == sizes
    for table in ("Table 2", "Table 6", "Table 8", "Table 9"):
        assert {it["verdict"] for it in by_table[table]} == {"agrees"}, table
    # What is not answered says why.
    silent = [it for it in numbers if it["verdict"] == "no answer"]
    assert all(it["reason"] for it in silent)
    assert {(it["table"], it["case"]) for it in silent if "σ" not in it["column"]} == {
        ("Table 7", "Numbers of RTP packets")
    }
    (estimate,) = by_table["Section 4.1"]
    assert estimate["verdict"] == "differs"
    counts = Counter(it["verdict"] for it in numbers)
    page = Path("hoang2017.html").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert f"{counts['differs']} differ, {counts['no answer']} have no answer" in page
    shown = voxpath("study", "hoang2017", "--quick")
    assert all(name in shown.out for name in SENDERS), shown.out


def test_the_first_threshold_is_that_of_a_run():
    signals = pl.DataFrame({"time_ns": [2, 0], "signal": ["threshold_ms"] * 2, "number": [9.0, 11.0]})
    found: Any = SimpleNamespace(table=lambda *_: (signals,))
    assert tables.first_threshold_ms(found) == 11
