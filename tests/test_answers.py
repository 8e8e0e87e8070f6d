"""Intervals against the tables, and the paths that formulas build on."""

from __future__ import annotations

import math

import pytest

from voxpath.backends.path import paths
from voxpath.results.intervals import Summary, relative, summarise
from voxpath.scenario import from_dict

DOWNLOAD = {"app": {"kind": "download", "request": "100 B", "response": "10 MB"}}


def test_the_interval_of_ten_values_is_that_of_the_tables():
    # Student's t for 9 degrees of freedom is 2.262157 (any table).
    values = [float(value) for value in range(10)]
    summary = summarise(values)
    sd = math.sqrt(sum((value - 4.5) ** 2 for value in values) / 9)
    assert summary.mean == 4.5
    assert summary.half_width == pytest.approx(2.262157 * sd / math.sqrt(10), rel=1e-6)
    assert summary.prediction == pytest.approx(
        (4.5 - 2.262157 * sd * math.sqrt(1.1), 4.5 + 2.262157 * sd * math.sqrt(1.1)), rel=1e-6
    )


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert summarise([3.0]).interval is None
    assert summarise([3.0]).prediction is None
    with pytest.raises(ValueError, match="one value"):
        summarise([])


@pytest.mark.parametrize(
    ("mean", "half_width", "told"),
    [
        (-21.337, 2.0961, "-21.3 ± 2.1 %"),
        (4.2, None, "+4.20 %"),
        (-0.0031234, 0.0002, "-0.00312 ± 0.00020 %"),
        (250.0, 1.2, "+250.0 ± 1.2 %"),
        # What nobody reads as a percentage.
        (103796.38, 28086.2, "1040 ± 280 times as much"),
        (4900.0, None, "50.0 times as much"),
        # A multiple that may be less than none is none.
        (103796.38, 280860.2, "+100000 ± 280000 %"),
        (0.0, 0.0, "0 ± 0 %"),
    ],
)
def test_a_relative_difference_has_the_digits_that_are_known(
    mean: float, half_width: float | None, told: str
):
    assert relative(Summary(5, mean, half_width)) == told


def test_paths_are_the_engines():
    """Fewest hops, hosts forward nothing, static routes first."""
    data = {
        "name": "paths",
        "topology": {
            "kind": "explicit",
            "hosts": ["a", "b", "c"],
            "routers": ["r", "s"],
            "links": [
                {"ends": ["a", "c"]},
                {"ends": ["c", "b"]},
                {"ends": ["a", "r"]},
                {"ends": ["s", "r"]},
                {"ends": ["s", "b"]},
                {"ends": ["r", "b"]},
            ],
        },
        "flows": [{"from": "a", "to": "b", **DOWNLOAD}, {"from": "a", "to": "c", **DOWNLOAD}],
    }
    assert paths(from_dict(data).plan) == [
        ([(2, "ab"), (5, "ab")], [(5, "ba"), (2, "ba")]),
        ([(0, "ab")], [(0, "ba")]),
    ]
    data["topology"]["routes"] = [{"at": "r", "to": "b", "via": "s-r"}]
    assert paths(from_dict(data).plan)[0].there == [(2, "ab"), (3, "ba"), (4, "ab")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.38249, "1.382"),
        (27, "27"),
        (12_345.6, "12346"),
        (0.000123456, "0.0001235"),
        (-0.5, "-0.5000"),
        (0, "0"),
    ],
)
def test_a_value_without_an_interval_has_four_digits_or_is_whole(value: float, text: str):
    assert str(Summary(1, value, None)) == text
