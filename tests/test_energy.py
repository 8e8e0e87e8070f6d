"""Energy of radios by hand."""

from __future__ import annotations

import pytest

from voxpath.results.energy import RADIOS, Radio, energy

PLAIN = Radio(
    busy_w=2.0, busy_s=1.0, tail_w=1.0, tail_s=10.0, promotion_w=3.0, promotion_s=0.5, up_j=0.1, down_j=0.01
)


def test_states_by_hand():
    # One packet: promoted, busy for 1 s, 10 s of tail, then idle.
    one = energy(PLAIN, [0], [10], [True], 100)
    assert (one.joules, one.promotions, one.connected_s) == (pytest.approx(1.5 + 2 + 10 + 1), 1, 11)
    # The second comes while the tail lasts, the third after it; the account ends within the third's tail.
    three = energy(PLAIN, [21, 0, 5], [0, 0, 0], [True, True, True], 25)
    assert three.promotions == 2
    assert three.joules == pytest.approx(2 * 1.5 + (2 + 4) + (2 + 10) + (2 + 3))
    assert energy(PLAIN, [], [], [], 5).joules == 0


def test_what_is_received_costs_what_it_costs_and_a_late_packet_is_refused():
    up, down = (energy(PLAIN, [0], [100], [way], 0).joules for way in (True, False))
    assert (up - 1.5, down - 1.5) == (pytest.approx(10), pytest.approx(1))
    with pytest.raises(ValueError, match="after the end at 1 s"):
        energy(PLAIN, [2], [1], [True], 1)
    with pytest.raises(ValueError, match="not one length"):
        energy(PLAIN, [2], [1, 1], [True], 3)


def test_a_lonely_packet_costs_lte_its_tail_and_wifi_little():
    lte, wifi = (energy(RADIOS[name], [0], [8000], [True], 60).joules for name in ("lte", "wifi"))
    # 1.06 W for 11.576 s are nearly all of it.
    assert 12.2 < lte < 12.8
    assert lte / wifi > 100
