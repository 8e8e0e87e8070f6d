"""What intervals decide: yes, no, or nothing."""

from __future__ import annotations

import pytest

from voxpath.document import Check, Checks, Section
from voxpath.results.decisions import above, all_of, below, between, minus, near, negated, within
from voxpath.results.intervals import Summary, summarise
from voxpath.studies.base import checks_of, held, shown

SURE, UNSURE, ONE = Summary(5, 0.69, 0.26), Summary(5, 0.69, 1.26), Summary(1, 0.69, None)


def test_a_claim_is_decided_by_the_whole_interval():
    assert above(SURE) is True
    assert above(SURE, 1.0) is False
    assert above(UNSURE) is None, "0.69 ± 1.26 s is neither more than nothing nor not"
    assert (below(SURE), below(SURE, 1.0), below(UNSURE)) == (False, True, None)
    assert above(0.5, SURE) is None
    assert above(Summary(5, 2.0, 0.0), 2.0) is False, "as much is not more"


def test_one_value_decides_nothing_and_a_known_number_does():
    assert above(ONE) is below(ONE) is within(ONE, 0, 1) is None
    assert above(None) is below(None) is within(None, 0, 1) is None
    assert above(0.69) is True


def test_two_means_are_held_against_each_other_by_their_difference():
    one, other = Summary(5, 10.0, 3.0), Summary(4, 4.0, 4.0)
    assert minus(one, other) == Summary(4, 6.0, 5.0)
    assert above(one, other) is True, "though their intervals overlap"
    assert above(one, Summary(4, 5.5, 4.0)) is None
    assert minus(one, ONE).half_width is None
    assert above(one, ONE) is None


@pytest.mark.parametrize(
    ("ends", "decided"),
    [((0.8, 1.2), True), ((0.75, 1.25), True), ((0.7, 1.2), None), ((1.3, 1.4), False), ((0.1, 2.0), None)],
)
def test_what_lies_between_two_limits(ends: tuple[float, float], decided: bool | None):
    assert within(ends, 0.75, 1.25) is decided


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("share", "spread", "decided"),
    [(0.95, 0.0, True), (1.08, 0.0, True), (0.8, 0.0, False), (1.2, 0.0, False), (1.08, 0.2, None)],
)
def test_a_share_of_a_mean_is_a_bound_with_its_spread(sign: int, share: float, spread: float, decided):
    reference = [sign * one for one in (90.0, 100.0, 110.0, 95.0, 105.0)]
    off = (-1, 1, 0, 1, -1)
    values = [share * one + 100 * spread * by for one, by in zip(reference, off, strict=True)]
    assert near(values, reference, 0.1) is decided


def test_a_bound_that_is_not_known_decides_nothing():
    # 4 is within 10 % of 40, but of a mean that may be 0 as well that is not known.
    assert near([40.0, 44.0, 4.0], [100.0, -60.0, 80.0], 0.1) is None
    assert between(SURE, Summary(5, -0.69, 0.26)) is between(Summary(5, -0.69, 0.26), SURE) is True
    assert between(SURE, SURE) is False
    assert between(SURE, UNSURE) is None


def test_claims_are_joined():
    assert all_of([True, True]) is True
    assert all_of([True, None]) is None
    assert all_of([None, False]) is False, "one that fails decides"
    assert all_of([]) is True
    assert (negated(True), negated(False), negated(None)) == (False, True, None)


def check(holds: bool | None, aside: str = "") -> Check:
    return Check(f"It is {holds}.", holds, "so", aside)


def test_what_is_undecided_counts_as_neither():
    checks = [check(True), check(True), check(None), check(False), check(False, "the machine slept")]
    assert checks_of([Section("s", [Checks("c", checks)])]) == checks
    assert held(checks) == (
        "2 of 4 checks hold; the data cannot decide 1; 1 more is not counted; 1 does not hold: It is False."
    )
    assert held(checks[:2]) == "2 of 2 checks hold."
    assert [one.verdict for one in checks[1:4]] == ["holds", "undecided", "does not hold"]
    assert [one.mark for one in checks] == ["good", "good", "open", "bad", "open"]
    assert str(checks[4].cell) == "does not hold"
    assert checks[4].cell.reason == "so; not counted: the machine slept"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.69317421], "0.693"),
        ([27375.4417], "27375"),
        ([1.0, 2.0], "1.50 ± 6.35"),
        ([50.0788, 50.0788], "50.0788 ± 0"),
    ],
)
def test_a_single_run_has_no_more_digits_than_are_known(values: list[float], text: str):
    assert shown(summarise(values)) == text
    assert shown(None) == ""
