"""Tables that have to fit into a terminal: no number is broken, and what is left out is said."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from conftest import ROOT
from voxpath import terminal
from voxpath.columns import fit

NUMBERS = st.one_of(
    st.floats(-1e6, 1e6).map(lambda value: f"{value:.6g}"),
    st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)).map(lambda pair: f"{pair[0]:.5f} ± {pair[1]:.5f}"),
    st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)).map(lambda pair: f"{pair[0]:.2f} ± {pair[1]:.2f} %"),
    st.floats(0, 1e3).map(lambda value: f"{value:.3f} [{value - 1:.3f}, {value + 1:.3f}]"),
    st.just(""),
)
NAMES = st.from_regex(r"[a-z][a-z-]{0,20}", fullmatch=True)
REASONS = st.lists(st.from_regex(r"[a-z]{1,12}", fullmatch=True), max_size=20).map(" ".join)


@st.composite
def some_tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]], list[str]]:
    kinds = draw(st.lists(st.sampled_from([NUMBERS, NAMES, REASONS]), min_size=1, max_size=9))
    heads = [f"head {number}" for number in range(len(kinds))]
    rows = draw(st.lists(st.tuples(*kinds).map(list), min_size=1, max_size=4))
    spare = draw(st.lists(st.sampled_from(heads), unique=True))
    return heads, rows, spare


def printed(heads: list[str], rows: list[list[str]], spare: list[str], width: int) -> str:
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False)
    terminal.print_table("a title of some words", heads, rows, spare, out)
    assert isinstance(out.file, io.StringIO)
    # Styles are no characters.
    return re.sub(r"\x1b\[[0-9;]*m", "", out.file.getvalue())


@given(some_tables(), st.integers(50, 140))
def test_no_number_and_no_name_is_broken_at_any_width(table, width: int):
    heads, rows, spare = table
    text = printed(heads, rows, spare, width)
    assert all(len(line) <= width for line in text.splitlines())
    left_out = fit(heads, rows, width, spare).left_out
    assert set(left_out) <= set(spare)
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            if head in left_out:
                # It is prose, which wraps between words.
                assert head in " ".join(text.rsplit("left out for want of room", 1)[1].split())
            elif re.fullmatch(r"[-\d].*|\S*", cell):
                assert cell in text
            else:
                assert all(word in text for word in cell.split())


def test_the_least_important_columns_go_first_and_no_more_than_need_to():
    heads, row = ["flow", "mean", "median", "n"], ["download", "1.3824 ± 0.0029", "1.3825 [1.37, 1.39]", "30"]
    assert fit(heads, [row], 55, ["n", "median"]).left_out == []
    assert fit(heads, [row], 54, ["n", "median"]).left_out == ["n"]
    assert fit(heads, [row], 40, ["n", "median"]).left_out == ["median", "n"]


def test_where_the_important_columns_have_no_room_each_row_is_a_block():
    heads, row = ["flow", "mean", "n"], ["download", "1.3824 ± 0.0029", "30"]
    assert fit(heads, [row, row], 27, ["n"]).stacked
    lines = [line.split() for line in printed(heads, [row, row], ["n"], 27).splitlines() if line.strip()]
    block = [["flow", "download"], ["mean", "1.3824", "±", "0.0029"], ["n", "30"]]
    assert lines == [["a", "title", "of", "some", "words"], *block, *block]


def test_reasons_are_broken_between_words_before_a_column_is_left_out():
    reason = "no run of these three had anything to say of it"
    fitted = fit(["flow", "n", "incomplete"], [["call", "3", reason]], 44, ["n"])
    assert fitted.left_out == []
    assert fitted.rows[0][2].replace("\n", " ") == reason


def test_in_a_pipe_lines_are_whole(capsys: pytest.CaptureFixture[str]):
    long = "word " * 200
    terminal.print_table(None, ["a", "b"], [["1", long.strip()]])
    assert long.strip() in capsys.readouterr().out


LINES = (
    ("run", "scenarios/lossy-download.toml", "--replications", "3"),
    ("run", "scenarios/shared-bottleneck.toml"),
    ("run", "scenarios/voice-request.toml"),
    ("sweep", "scenarios/queue-disciplines.toml", "--replications", "2"),
    ("compare", "scenarios/loss-and-delay.toml", "--replications", "2"),
    ("study", "sarkar2022", "--quick", "--backend", "formula"),
    ("doctor",),
)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_commands_fit_into_80_columns_and_say_what_they_left_out(
    line: tuple[str, ...], voxpath, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    wide = voxpath(*line)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "dumb")
    narrow = voxpath(*line)
    assert (narrow.code, wide.code) == (0, 0), narrow.err
    assert all(len(one) <= 80 for one in narrow.out.splitlines())
    means = set(re.findall(r"(?<![\d.])\d[\d.]* ± \d[\d.]*(?![\d.])", wide.out))
    lost = {mean for mean in means if mean not in narrow.out}
    assert not lost or "left out for want of room" in narrow.out
    # Whatever stands in a line of the narrow table stands in the wide one: no number was cut.
    numbers = re.findall(r"(?<![\w.-])\d+\.\d+(?![\w.-])", narrow.out)
    assert [number for number in numbers if number not in wide.out] == []
