"""Intervals beside scipy's."""
# SPDX-License-Identifier: Apache-2.0

import math
import statistics

import pytest
from scipy.special import stdtrit

from voxpath.results.intervals import summarise


@pytest.mark.parametrize("n", [*range(2, 200), 999, 1000, 1001, 20_000])
def test_a_t_interval_has_the_quantile_of_its_degrees_of_freedom(n: int):
    values = [float(value) for value in range(n)]
    half_width = stdtrit(n - 1, 0.975) * statistics.stdev(values) / math.sqrt(n)
    assert summarise(values).half_width == pytest.approx(half_width, rel=1e-12)
