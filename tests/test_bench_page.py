"""The page of the benchmarks: one section is renewed, the others stay."""

from __future__ import annotations

import sys

import pytest

from conftest import ROOT
from voxpath.report.document import (
    Axis,
    Cell,
    Check,
    Checks,
    Curve,
    Map,
    Panel,
    Plot,
    Section,
    Spectrogram,
    Table,
)

PAGE = "# Benchmarks\n\nfirst\n\n## A hop\nold\n\n```text\n# no heading\n```\n\n## Sweeps\nlast\n"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benches")
    import page

    yield page
    for name in ("page", "studies", "sweep.run", "sweep"):
        sys.modules.pop(name, None)


def test_a_section_can_be_taken_out_and_put_in(page):
    assert page.section(PAGE, "Sweeps") == "last\n"
    assert page.section(PAGE, "Nothing") == ""
    assert page.with_section(PAGE, "A hop", page.section(PAGE, "A hop")) == PAGE


def test_a_section_is_replaced_between_others_and_at_the_end(page):
    assert page.with_section(PAGE, "A hop", "new\n") == (
        "# Benchmarks\n\nfirst\n\n## A hop\nnew\n\n## Sweeps\nlast\n"
    )
    assert page.with_section(PAGE, "Sweeps", "new") == PAGE.replace("last", "new")


def test_a_section_that_is_not_there_is_added(page):
    assert page.with_section(PAGE, "Sweep", "new") == f"{PAGE}\n## Sweep\nnew\n"


@pytest.mark.usefixtures("page")
def test_the_sweeps_are_told_with_their_bars():
    from sweep.run import Swept

    good = Swept("here", ((20.0, 10.0), (30.0, 16.0), (22.0, 11.0)), (0.3, 0.2, 0.4))
    assert good.holds
    assert "| speed-up | 2.00 | above 1.8 | yes |" in good.section()
    assert "| `voxpath --help` | 0.200 s, median 0.300 s | under 0.25 s | yes |" in good.section()
    slow = Swept("here", ((20.0, 12.0),), (0.3, 0.26))
    assert not slow.holds
    assert slow.section().count("| NO |") == 2


@pytest.mark.usefixtures("page")
def test_a_section_of_a_report_is_markdown_with_plots_and_maps_as_tables():
    from studies import section_lines

    parts = [
        Plot(
            "Latency",
            "Means.",
            Axis("length", "s"),
            Axis("latency", "s"),
            [
                Curve("one", [1, 2.5], [0.5, None], [0.25, None], [0.75, None]),
                Curve("two", [2.5], [4.0]),
            ],
        ),
        Map(
            "Region",
            "Below 1 is good.",
            Axis("delay"),
            Axis("loss"),
            Axis("factor"),
            ["10 ms", "20 ms"],
            ["0 %", "1 %"],
            [Panel("slow", [[0.5, 1.5], [1.0, None]])],
            1.0,
        ),
        Table("Words", ("a", "b"), [["1", Cell("2", "bad")]], ("A note.",)),
        Checks("Checks", [Check("It is so.", True, "1 < 2"), Check("It is not.", False, "3 > 2")]),
    ]
    assert list(section_lines(Section("Found", parts))) == [
        "## Found",
        *("### Latency", "", "Means.", ""),
        "| length, s | one | two |",
        "| --- | --- | --- |",
        "| 1 | 0.5 (0.25 to 0.75) |  |",
        "| 2.5 |  | 4 |",
        "",
        *("### Region", "", "Below 1 is good.", "", "slow; rows: loss, columns: delay", ""),
        "|  | 10 ms | 20 ms |",
        "| --- | --- | --- |",
        "| 0 % | 0.5 | **1.5** |",
        "| 1 % | 1 |  |",
        "",
        *("### Words", "", "| a | b |", "| --- | --- |", "| 1 | 2 |", "", "A note.", ""),
        *("### Checks", "", "- Holds: It is so. (1 < 2)", "- **Does not hold**: It is not. (3 > 2)", ""),
    ]


@pytest.mark.usefixtures("page")
def test_what_is_only_to_be_seen_is_refused():
    from studies import part_lines

    drawing = Spectrogram("", "", Axis(""), Axis(""), [], (0, 0, 0, 0), [])
    with pytest.raises(TypeError, match="Spectrogram"):
        list(part_lines(drawing))
