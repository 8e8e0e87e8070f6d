"""The page of the benchmarks: one section is renewed, the others stay."""

from __future__ import annotations

import sys

import pytest

from conftest import ROOT
from voxpath.document import (
    Axis,
    Cell,
    Check,
    Checks,
    Cloud,
    Curve,
    Map,
    Panel,
    Plot,
    Scatter,
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


def benchmarks(days: dict[str, str]) -> str:
    where = "a machine, load average 0.1 at the start"
    return "# Old\n\n" + "\n".join(
        f"## {title}\nMeasured on: {where}; commit c{index} of {day}.\n"
        for index, (title, day) in enumerate(days.items())
    )


def test_the_page_says_of_each_section_when_it_was_measured_and_which_are_older(page):
    days = {page.ECHO: "2026-11-02", page.PEERS: "2026-11-23", page.HOP: "2026-11-23"}
    text = page.whole(benchmarks(days))
    assert list(page.sections(text)) == [page.PEERS, page.HOP, page.ECHO], "in their order"
    rows = {row.split("](")[0].strip("| ["): row for row in text.splitlines() if row.startswith("| [")}
    assert "| `make bench` | 2026-11-23, commit c1 |  |" in rows[page.PEERS]
    assert "| `make bench-aec` | 2026-11-02, commit c0 | older than the latest |" in rows[page.ECHO]
    assert f"| {page.SCALE} | `make bench-scale` | not yet | |" in text
    assert page.whole(text) == text


def test_a_section_that_is_renewed_takes_no_other_with_it(page, monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(page, "PAGE", tmp_path / "benchmarks.md")
    page.PAGE.write_text(page.whole(benchmarks(dict.fromkeys(page.SECTIONS, "2026-11-02"))))
    page.renew(page.HOP, "Measured on: a machine; commit d of 2026-11-24, with changes.\n")
    text = page.PAGE.read_text()
    assert list(page.sections(text)) == list(page.SECTIONS)
    assert text.count("older than the latest") == len(page.SECTIONS) - 1


def test_a_section_that_nothing_renews_is_refused(page):
    with pytest.raises(ValueError, match=r"sections that nothing renews: Echoes"):
        page.whole("# Benchmarks\n\n## Echoes\nMeasured on: x; commit c of 2026-11-02.\n")


def test_the_benchmarks_have_every_section_with_its_commit_and_their_age(page):
    text = page.PAGE.read_text()
    assert list(page.sections(text)) == list(page.SECTIONS)
    assert "| not yet |" not in text
    assert page.whole(text) == text, "the head is of these sections"
    makefile = (ROOT / "Makefile").read_text()
    for command in page.SECTIONS.values():
        target = command.removeprefix("make ")
        assert f"\n{target}:" in makefile


@pytest.mark.usefixtures("page")
def test_the_sweeps_are_told_with_their_bars():
    from sweep.run import Round, Swept, Took

    def measured(one: float, two: float, engine: float) -> Round:
        alone, both = Took(5.0, 5.0), Took(5.2, 10.0)
        return Round(Took(one, one), Took(two, one), engine, Took(90.0, 90.0), alone, both)

    rounds = (measured(20.0, 10.0, 16.0), measured(30.0, 16.0, 16.0), measured(22.0, 11.0, 17.0))
    more = Took(200.0, 200.0), Took(108.0, 204.0)
    good = Swept("here", rounds, more, (0.3, 0.2, 0.4))
    assert good.holds
    told = "2.00 (two processes of the engine alone: 1.92)"
    assert (
        f"| speed-up with two workers | {told} | at least 1.85 where these reach 1.9 | yes |"
        in good.section()
    )
    assert "| processor time in the engine, one worker | 77% | at least 75% | yes |" in good.section()
    assert "| speed beside a folder for each run | 4.1 times | at least 4 times | yes |" in good.section()
    assert "| `voxpath --help` | 0.200 s, median 0.300 s | under 0.25 s | yes |" in good.section()
    assert "Of 10000 runs the speed-up with two workers is 1.85:" in good.section()
    slow = Swept("here", (measured(30.0, 18.0, 15.0),), more, (0.3, 0.26))
    assert not slow.holds
    assert slow.section().count("| NO |") == 4


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
        Checks(
            "Checks",
            [
                Check("It is so.", True, "1 < 2"),
                Check("It is not.", False, "3 > 2"),
                Check("Who knows?", None, "1 ± 2"),
                Check("It is late.", True, "3 < 4", "the machine slept"),
            ],
        ),
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
        *("### Checks", "", "- Holds: It is so. (1 < 2)", "- **Does not hold**: It is not. (3 > 2)"),
        "- Undecided: Who knows? (1 ± 2)",
        *("- Holds, not counted (the machine slept): It is late. (3 < 4)", ""),
    ]


@pytest.mark.usefixtures("page")
def test_clouds_of_points_are_told_by_their_quartiles():
    from studies import part_lines

    # Five slices of as many points each: those from 0 to 19, 20 to 39 and so on.
    points = [(float(x), float(x % 20)) for x in range(100)]
    cloud = Scatter("Delays", "Points.", Axis("signal", "dBm"), Axis("delay"), [Cloud("one", points)])
    lines = list(part_lines(cloud))
    assert lines[:6] == [
        *("### Delays", "", "Points.", ""),
        "| signal, dBm | one: delay |",
        "| --- | --- |",
    ]
    assert lines[6] == "| 0 to 19.8 | 9.5 (4.75 to 14.2; 20) |"
    assert lines[10] == "| 79.2 to 99 | 9.5 (4.75 to 14.2; 20) |", "the last point is in the last slice"


@pytest.mark.usefixtures("page")
def test_long_curves_in_steps_are_told_by_what_they_have_last_had():
    from studies import part_lines

    one = Curve("one", list(range(500)), [float(x) for x in range(500)], style="steps")
    two = Curve("two", [249.5, 499], [7.0, 8.0], style="steps")
    rows = list(part_lines(Plot("Rate", "", Axis("time", "s"), Axis("rate"), [one, two])))[6:]
    assert len(rows) == 40
    assert (rows[0], rows[-1]) == ("| 0 | 0 |  |", "| 499 | 499 | 8 |")
    assert [row.split("|")[3].strip() for row in rows].count("7") == 19


@pytest.mark.usefixtures("page")
def test_what_is_only_to_be_seen_is_refused():
    from studies import part_lines

    drawing = Spectrogram("", "", Axis(""), Axis(""), [], (0, 0, 0, 0), [])
    with pytest.raises(TypeError, match="Spectrogram"):
        list(part_lines(drawing))
