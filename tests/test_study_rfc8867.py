"""The test cases of RFC 8867: what their scenarios are, and what is measured of a run."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from voxpath.document import Cell
from voxpath.results.intervals import summarise
from voxpath.scenario import from_dict, read
from voxpath.studies.media import Media, media_of
from voxpath.studies.rfc8867 import claims, compare
from voxpath.studies.rfc8867.cases import CASES, Case, Flow, Variant, scenario
from voxpath.studies.rfc8867.measures import Run, run_of
from voxpath.studies.rfc8867.questions import CONTROLS, FULL, QUICK, REFERENCE, Effort, Found, ask_all, cells
from voxpath.studies.rfc8867.questions import Cell as Asked

sys.path += [str(ROOT / "benches"), str(ROOT / "benches" / "rmcat")]

GCC = {"kind": "gcc"}


def media(received: list[float], delay: float = 60.0, lost: int = 0) -> Media:
    """A flow that receives so many bits in each second."""
    rates = np.array(received, dtype=float)
    packets = np.full(len(rates), 100.0)
    return Media(rates, rates, rates, packets, np.full(len(rates), float(lost)), np.full(len(rates), delay))


def one_flow(received: list[float], forward: tuple[tuple[float, float], ...] = ((0, 1.0),)) -> Run:
    case = Case("0", "one flow", len(received), forward=forward)
    return Run(case, {"media1": media(received)}, {}, {"media1": 50.0})


@pytest.mark.parametrize("section", list(CASES))
def test_each_case_is_a_scenario_with_every_control(section: str):
    for cell in cells(FULL):
        if cell.section == section:
            assert from_dict(scenario(section, CONTROLS[cell.control], cell.variant)).plan


def test_capacities_follow_the_tables_of_the_rfc():
    plan = from_dict(scenario("5.1", GCC)).plan.data
    (bottleneck,) = (link for link in plan["links"] if link["name"] == "bottleneck")
    assert bottleneck["ab"]["rate_bps"] == 1_000_000
    changes = [
        (event["at_ns"] // 10**9, event["change"]["set"])
        for event in plan["events"]
        if "set" in event["change"]
    ]
    # 300 ms of 2.5 Mbit/s are 93 750 bytes.
    told = str(changes)
    assert [at for at, _ in changes if at in {40, 60, 80}]
    for value in ("2500000", "600000", "93750", "22500"):
        assert value in told


def test_background_traffic_leaves_what_is_to_be_available():
    made = scenario("5.2", GCC, Variant(background=True))
    rates = {
        flow["name"]: (1000 + 28) * 8e9 / int(flow["app"]["interval"].removesuffix(" ns"))
        for flow in made["flows"]
        if flow["name"].startswith("background-up")
    }
    # 4 Mbit/s less 2 times 1.0, 1.75, 0.5 and 1.0 Mbit/s; at first nothing is taken.
    assert [round(rate / 1e5) / 10 for rate in rates.values()] == [2.0, 0.5, 3.0, 2.0]


def test_the_delays_of_a_flow_add_up():
    for section, expected in (("5.5", [10, 25, 50, 100, 150]), ("6.3", [100, 40, 40])):
        made = scenario(section, GCC)
        delays = {
            tuple(link["ends"]): float(link.get("delay", "0 ms").split()[0])
            for link in made["topology"]["links"]
        }
        routers = made["topology"]["routers"]
        for number, delay in enumerate(expected, 1):
            (left,) = (end[1] for end in delays if end[0] == f"s{number}")
            (right,) = (end[0] for end in delays if end[1] == f"r{number}")
            path = [(f"s{number}", left), (right, f"r{number}")]
            way = routers[routers.index(left) : routers.index(right) + 1]
            path += list(pairwise(way))
            assert sum(delays[hop] for hop in path) == pytest.approx(delay), (section, number)


def test_stretches_end_where_capacities_or_flows_change():
    assert CASES["5.1"].stretches == [(0, 40), (40, 60), (60, 80), (80, 99)]
    assert CASES["5.8"].stretches == [(0, 40), (40, 60), (60, 119)]
    assert CASES["5.8"].active(50) == ["media1", "media3"]
    assert CASES["5.4"].active(30) == ["media1", "media2"]


def test_a_rate_settles_when_it_stays_near():
    ramp = [100_000.0 * second for second in range(10)] + [1_000_000.0] * 31
    (stretch,) = one_flow(ramp).stretches
    # From 800 kbit/s on it is within 20 %.
    assert stretch.settled == 8
    assert stretch.steady == 1_000_000
    assert stretch.variation == 0
    swings = [1_000_000.0, 300_000.0] * 20
    assert one_flow(swings).stretches[0].settled is None


def test_queueing_is_delay_beyond_propagation_and_seconds_without_packets_do_not_count():
    run = one_flow([1e6] * 10)
    delay = np.array([60.0] * 9 + [np.nan])
    run = replace(run, media={"media1": replace(run.media["media1"], delay=delay)})
    assert run.queueing.size == 9
    assert run.queueing_quantile(0.5) == 10


def test_fairness_counts_windows_within_a_factor_of_three():
    case = Case("0", "two flows", 41, flows=(Flow(), Flow()))
    fast, slow = [900_000.0] * 41, [400_000.0] * 20 + [100_000.0] * 21
    run = Run(case, {"media1": media(fast), "media2": media(slow)}, {}, {"media1": 50.0, "media2": 50.0})
    assert run.fair(1) == pytest.approx(20 / 40)
    assert run.fair(20) == pytest.approx(1 / 2)


def test_utilisation_is_of_what_flows_can_use():
    # Beyond 1.53 Mbit/s a flow has nothing to send.
    assert one_flow([1_530_000.0] * 20, ((0, 4.0),)).utilisation == pytest.approx(1)
    assert one_flow([500_000.0] * 20).utilisation == pytest.approx(0.5)


def test_the_dispute_is_decided_by_intervals():
    fair, starves = claims.friendly([0.9, 1.0, 1.1], "here")
    assert (fair.holds, starves.holds) == (True, False)
    fair, starves = claims.friendly([0.10, 0.11, 0.12], "here")
    assert (fair.holds, starves.holds) == (False, True)
    fair, starves = claims.friendly([5.0, 5.1, 5.2], "here")
    assert (fair.holds, starves.holds) == (False, False)
    fair, starves = claims.friendly([0.2, 0.5], "here")
    assert (fair.holds, starves.holds) == (None, None)


def of_case(section: str, rates: dict[str, list[float]], tcp: float = 0.0) -> Run:
    """A run of a case whose media flows receive so many bits in each second of its time."""
    case = CASES[section]
    flows = {name: media([*rates[name], *[0.0] * (case.duration - len(rates[name]))]) for name in case.names}
    return Run(case, flows, dict.fromkeys(case.competing, tcp), dict.fromkeys(case.names, 50.0))


def verdicts(section: str, rates: dict[str, list[float]], tcp: float = 0.0) -> dict[str, bool | None]:
    """What is decided by two equal runs, by the first words of the claims."""
    run = of_case(section, rates, tcp)
    return {check.claim.split(" (")[0]: check.holds for check in claims.of_case(section, [run, run], {})}


def test_flows_that_start_one_after_the_other_converge_or_do_not():
    starts = [0, 10, 20, 30, 40]
    each = "Each flow converges to a steady rate, irrespective of its round trip"
    uses = "It converges to the bottleneck's capacity: in the second half of each stretch all flows receive"
    uses += " at least 70% of it, or of what their encoders make."
    steady = {f"media{i}": [0.0] * at + [780e3] * (299 - at) for i, at in enumerate(starts, 1)}
    found = verdicts("5.5", steady)
    assert (found[each], found[uses]) == (True, True)
    # The last one to come needs longer than half of what is left.
    late = steady | {"media5": [0.0] * 40 + [300e3] * 200 + [780e3] * 59}
    assert verdicts("5.5", late)[each] is False
    # Two that swing against each other use the link, and neither is steady.
    swing = [1_000e3, 500e3] * 150
    one, other = swing[:299], swing[1:300]
    found = verdicts("5.5", steady | {"media1": one, "media2": [0.0] * 10 + other[10:]})
    assert (found[each], found[uses]) == (False, True)
    # Before all are there they need not use it.
    slow = {
        name: [150e3 if second < 40 else one for second, one in enumerate(r)] for name, r in steady.items()
    }
    slow = {name: [0.0] * at + slow[name][at:] for name, at in zip(slow, starts, strict=True)}
    assert verdicts("5.5", slow)[uses] is True
    assert verdicts("5.5", {name: [one / 2 for one in r] for name, r in steady.items()})[uses] is False


def test_media_beside_short_tcp_flows_converge_recover_and_do_not_starve():
    leaves = "They converge to what the short flows leave: in the second half of their time all media flows"
    leaves += " receive at least 70% of it, or of what their encoders make."
    recovers, fed = "They recover from each burst", "There is no persistent starvation"
    steady = [0.0] * 5 + [600e3] * 294
    # Ten TCP flows of 50 kbit/s leave 1.5 Mbit/s.
    found = verdicts("5.7", {"media1": steady, "media2": steady}, 50e3)
    assert [found[leaves], found[recovers], found[fed]] == [True, True, True]
    assert verdicts("5.7", {"media1": steady, "media2": steady})[leaves] is False
    ratchet = [0.0] * 5 + [900e3] * 194 + [500e3] * 100
    found = verdicts("5.7", {"media1": steady, "media2": ratchet}, 50e3)
    assert [found[leaves], found[recovers], found[fed]] == [True, False, True]
    # A burst of two seconds is none; ten seconds are.
    for seconds, holds in ((2, True), (10, False)):
        dips = [*steady[:150], *[0.0] * seconds, *steady[150 + seconds :]]
        assert verdicts("5.7", {"media1": steady, "media2": dips}, 50e3)[fed] is holds


def test_a_flow_that_begins_is_given_a_window_until_it_is_fed():
    rates = [0.0] * 5 + [100e3] * 5 + [600e3] * 289
    assert of_case("5.7", {"media1": rates, "media2": rates}).fed(150e3, 5) == 1
    assert of_case("5.7", {"media1": rates, "media2": rates}).fed(650e3, 5) == 0


class Outcomes:
    """Answers as the simulator's; notes which replications of which scenarios are asked for."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, range]]] = []

    def __call__(self, questions, _backends):
        self.asked.append([(one.document.source, one.replications) for one in questions])
        return [SimpleNamespace(outcomes=list(one.replications)) for one in questions]


def test_what_is_not_decided_is_asked_more_often_up_to_a_bound():
    effort = Effort(5, 20, ("5.1", "5.3", "6.2"), ("gcc", "nada"), variants=False)
    ask = Outcomes()
    wanted = {Asked("6.2", "gcc"): 20, Asked("5.3", "nada"): 10, Asked("5.1", "nada"): 99}
    found = ask_all(
        ask,
        effort,
        lambda found: [cell for cell, count in wanted.items() if len(found.outcomes[cell]) < count],
    )
    counts = {cell: len(runs) for cell, runs in found.outcomes.items()}
    # Those that are compared run by run have as many.
    assert counts == {
        Asked("5.1", "gcc"): 20,
        Asked("6.2", "gcc"): 20,
        Asked("5.3", "gcc"): 5,
        Asked("5.3", "gcc", REFERENCE): 5,
        Asked("5.1", "nada"): 20,
        Asked("6.2", "nada"): 20,
        Asked("5.3", "nada"): 10,
        Asked("5.3", "nada", REFERENCE): 10,
    }
    assert all(list(runs) == list(range(len(runs))) for runs in found.outcomes.values())
    # Each replication is asked for once.
    assert sum(len(numbers) for questions in ask.asked for _, numbers in questions) == sum(counts.values())


def test_a_cell_is_undecided_where_one_of_its_expectations_is():
    effort = Effort(2, 2, ("5.6",), ("nada",), variants=False)
    run = Run(CASES["5.6"], {"media1": media([1e6] * 120)}, {"tcp": 1e6}, {"media1": 50.0})
    other = Run(CASES["5.6"], {"media1": media([1e6] * 120)}, {"tcp": 9e6}, {"media1": 50.0})
    for runs, cell in (([run, run], []), ([run, other], [Asked("5.6", "nada")])):
        found = Found({}, effort)
        found._runs = {Asked("5.6", "nada"): runs}
        assert sorted(set(compare.undecided(found))) == cell


VIDEO = {
    "flow": "media1",
    "end": "client",
    "media": "video",
    "second": 1,
    "media_target_bps": 100.0,
    "media_sent_bps": 90.0,
    "media_received_bps": 80.0,
    "media_packets_received": 3,
    "media_packets_expected": 4,
    "media_packets_lost": 1,
    "owd_mean_ns": 50_000_000,
}
"""A second of a media flow, in `media_seconds`."""


def test_rates_are_those_of_all_flows_and_frames_not_played_a_share_of_those_captured():
    case = Case("0", "two flows", 11, flows=(Flow(), Flow(5)))
    seconds = [VIDEO | {"second": second} for second in range(10)]
    seconds += [VIDEO | {"flow": "media2", "second": second} for second in range(5, 10)]
    counts = {"client_video_frames": 30, "client_audio_frames": 50, "client_audio_unplayed": 0}
    flows = [
        {"flow": name, "bytes_delivered": 1, "client_video_unplayed": unplayed, **counts}
        for name, unplayed in (("media1", 2), ("media2", 6))
    ]
    flows.append(flows[0] | {"flow": "tcp", "client_video_unplayed": None})
    run = run_of(case, pl.DataFrame(seconds), pl.DataFrame(flows))
    assert run.mean(lambda media: media.sent) == pytest.approx(90 * 1.5)
    assert run.mean(lambda media: media.received) == pytest.approx(80 * 1.5)
    assert run.unplayed == pytest.approx(8 / 160)


def test_media_of_both_kinds_are_added_second_by_second():
    audio = VIDEO | {
        "media": "audio",
        "media_received_bps": 20.0,
        "media_packets_received": 1,
        "owd_mean_ns": 90_000_000,
    }
    later = VIDEO | {"second": 3}
    other = VIDEO | {"end": "server", "media_received_bps": 7.0}
    found = media_of(pl.DataFrame([VIDEO, audio, later, other]), "media1", 5)
    assert found.received.tolist() == [0, 100, 0, 80, 0]
    assert found.expected.tolist() == [0, 8, 0, 4, 0]
    assert found.delay[1] == pytest.approx(60)
    assert np.isnan(found.delay[0])
    assert found.loss == pytest.approx(3 / 12)


def test_scenario_files_are_those_of_the_cases():
    from rmcat.run import scenario_text

    for section, case in CASES.items():
        path = ROOT / "scenarios" / "rmcat" / f"{section}.toml"
        assert path.read_text() == scenario_text(section, case.title), "make rmcat, or run.py --scenarios"
        assert read(path).plan.data["links"] == from_dict(scenario(section, GCC)).plan.data["links"]


def test_a_figure_has_a_panel_for_each_control_and_quantity():
    from svg import sheet

    from voxpath.studies.rfc8867 import figures

    run = one_flow([1e6] * 20)
    text = sheet(
        "a case", [[figures.rates(run, name), figures.delays(run, name)] for name in "ab"], "capacity"
    )
    assert text.count("queueing delay</text>") == 2
    assert text.count("<path") == 2 * 3
    assert text.startswith("<svg")
    assert text.endswith("</svg>\n")


def test_the_quick_study_says_who_settles_and_who_starves(voxpath):
    called = voxpath("study", "rfc8867", "--quick")
    assert called.code == 0, called.err
    for control in CONTROLS:
        assert control in called.out
    assert "5.6" in called.out


def test_every_expectation_has_a_verdict_for_every_control():
    assert set(QUICK.controls) == set(CONTROLS)
    assert summarise([1.0, 2.0]).half_width is not None
    case = CASES["5.6"]
    run = Run(case, {"media1": media([1e6] * case.duration)}, {"tcp": 1e6}, {"media1": 50.0})
    found = claims.of_case("5.6", [run, run], {})
    assert [check.holds for check in found] == [True, True]
    assert isinstance(found[0].cell, Cell)
    assert compare.measured([run, run])
