"""Comparisons, quantiles and `show`: what is said of results, and in which form."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import ROOT, SMALL, digests_of
from voxpath.results import digests
from voxpath.results.answers import Answers, Variant
from voxpath.results.intervals import Summary, along_a_line, paired, quantile, summarise
from voxpath.results.rows import Row
from voxpath.scenario import parse

SWEEP = SMALL + '\n[sweep]\n"topology.link.delay" = ["5 ms", "20 ms"]\nreplications = 6\n'


def test_the_median_of_ten_values_lies_between_the_second_and_the_ninth():
    """Any table of order-statistic intervals: n = 10, median, 2 and 9, covers with 97.9 %."""
    found = quantile([float(value) for value in range(1, 11)], 0.5)
    assert (found.value, found.low, found.high) == (5.5, 2.0, 9.0)


def test_few_values_give_no_interval_and_some_give_one_end():
    assert quantile([1.0, 2.0, 3.0, 4.0, 5.0], 0.5).low is None
    six = quantile([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.5)
    assert (six.low, six.high) == (1.0, 6.0)
    tail = quantile([float(value) for value in range(40)], 0.95)
    assert tail.low is not None
    assert tail.high is None, "1 - 0.95^40 is 87 %: the largest of 40 is not sure to lie above"
    assert quantile([float(value) for value in range(71)], 0.95).high is None
    assert quantile([float(value) for value in range(72)], 0.95).high == 71.0, "0.95^72 < 2.5 %"


def test_the_quantile_is_interpolated_between_neighbours():
    assert quantile([0.0, 10.0], 0.95).value == pytest.approx(9.5)
    assert quantile([3.0], 0.5).value == 3.0
    with pytest.raises(ValueError, match="one value"):
        quantile([], 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile([1.0], 1.0)


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_the_interval_covers_the_quantile_as_often_as_it_says_whatever_the_distribution(p: float):
    dice = random.Random(7)
    true = -math.log(1 - p)
    covered = 0
    for _ in range(1000):
        found = quantile([dice.expovariate(1) for _ in range(60)], p)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= true <= found.high
    # 95 % at least; 1000 trials of that have a standard deviation of 0.7 %.
    assert covered >= 930


def test_paired_differences_leave_out_what_both_have_in_common():
    common = [1.0, 5.0, 9.0, 2.0]
    found = paired([value + 0.5 for value in common], common)
    assert (found.mean, found.half_width) == (0.5, 0.0)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        paired([1.0], [1.0, 2.0])


def test_a_line_predicts_a_further_value_as_often_as_it_says():
    dice = random.Random(7)
    covered = 0
    for _ in range(1000):
        xs = [dice.uniform(0, 10) for _ in range(20)]
        low, high = along_a_line(xs, [2 + 3 * x + dice.gauss(0, 1) for x in xs], 8)
        covered += low <= 26 + dice.gauss(0, 1) <= high
    assert 930 <= covered <= 970


def test_a_line_without_scatter_has_no_width_and_too_few_points_make_none():
    assert along_a_line([1, 2, 3], [2, 4, 6], 10) == pytest.approx((20, 20))
    for xs in ([1.0, 2.0], [2.0, 2.0, 2.0], []):
        with pytest.raises(ValueError, match="three pairs"):
            along_a_line(xs, xs, 1)


def test_small_numbers_are_printed_with_the_digits_that_their_interval_leaves():
    assert str(summarise([0.00123, 0.00125])) == "0.00124 ± 0.00013"
    assert str(summarise([2.0, 2.0])) == "2 ± 0"
    assert str(quantile([0.001 * value for value in range(1, 11)], 0.5)) == "0.0055 [0.0020, 0.0090]"


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


def test_cells_stand_beside_each_other_with_intervals_and_differences(voxpath, swept: Path):
    called = voxpath("compare", swept, "--metric", "completion_s", "--save", "summary.csv")
    assert called.code == 0, called.err
    first, second = [line for line in called.out.splitlines() if " sim " in line]
    assert "±" in first
    assert "[" in first
    assert not first.rstrip().endswith("%")
    assert second.rstrip().endswith("%")
    summary = pl.read_csv("summary.csv").filter(metric="completion_s", estimator="sim")
    assert summary.get_column("topology.link.delay").to_list() == ["5 ms", "20 ms"]
    row = summary.row(1, named=True)
    assert row["difference_low"] < row["difference_percent"] < row["difference_high"]
    assert row["median_low"] <= row["median"] <= row["median_high"]


def test_a_difference_is_that_of_pairs_in_percent_of_the_first(tmp_path: Path):
    answers = voxpath_package.sweep(parse(SWEEP), out=tmp_path / "runs")
    flows = answers.flows.pivot("topology.link.delay", index="replication", values="completion_s")
    differences = (flows.get_column("20 ms") - flows.get_column("5 ms")).to_list()
    mean = summarise(flows.get_column("5 ms").to_list()).mean
    (line,) = [
        line
        for line in answers.lines
        if (line.row.metric, line.row.estimator) == ("completion_s", "sim")
        and line.variant is answers.variants[1]
    ]
    expected = summarise(differences)
    assert line.difference is not None
    assert line.difference.mean == pytest.approx(100 * expected.mean / mean)
    assert line.difference.half_width == pytest.approx(100 * expected.half_width / mean)


def answers_of(*rows: tuple[str, list[float]]) -> Answers:
    """One cell, by each estimator its values; a closed form has one, and no replications."""
    found, frames = [], {}
    for estimator, values in rows:
        summary = summarise(values)
        found.append(Row("f", "completion_s", estimator, summary.mean, len(values), summary.interval))
        if len(values) > 1:
            frames[estimator] = pl.DataFrame(
                {"replication": range(len(values)), "flow": ["f"] * len(values), "completion_s": values}
            )
    return Answers([Variant("a", {}, found, frames, [])])


@pytest.mark.parametrize("order", [("form", "sim", "real"), ("sim", "real", "form")])
def test_answers_are_compared_with_the_first_runs_whatever_was_asked_before(order: tuple[str, ...]):
    values = {"form": [8.0], "sim": [9.0, 11.0, 10.0], "real": [10.0, 12.0, 11.0]}
    lines = {
        line.row.estimator: line.difference
        for line in answers_of(*((name, values[name]) for name in order)).lines
    }
    assert lines["sim"] is None
    # Paired: the same replication has the same random streams.
    assert lines["real"] == Summary(3, pytest.approx(10.0), pytest.approx(0.0))
    assert lines["form"] is not None
    assert lines["form"].mean == pytest.approx(-20)
    assert lines["form"].half_width == pytest.approx(10 * summarise(values["sim"]).half_width)


def test_replications_of_any_size_stand_beside_each_other(small: Path, voxpath, tmp_path: Path):
    for replication in ("0", "3000000000"):
        assert (
            voxpath("run", small, "--backend", "sim", "--replication", replication, "--out", "kept").code == 0
        )
    called = voxpath("compare", *(tmp_path / "kept").iterdir())
    assert called.code == 0, called.err


@pytest.mark.parametrize(("column", "value"), [("goodput_bps", "fast"), ("flow", 1)])
def test_a_column_of_another_kind_is_refused_with_the_runs_name(
    column: str, value: object, small: Path, voxpath, tmp_path: Path
):
    """As somebody may make it who makes the digests too."""
    voxpath("run", small, "--backend", "sim", "--replications", "2", "--out", "kept")
    folder, _ = runs = sorted((tmp_path / "kept").iterdir())
    path = folder / "flows.parquet"
    pl.read_parquet(path).with_columns(pl.lit(value).alias(column)).write_parquet(path)
    written = {
        str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }
    written.pop(digests.FILE)
    (folder / digests.FILE).write_bytes(digests_of(written))
    called = voxpath("compare", *runs)
    assert called.code == 2
    assert str(folder.name) in called.err
    assert f"the column {column} of flows holds" in called.err


def test_differences_that_are_rounding_have_no_spread():
    found = paired([0.1 + 0.2, 1.1 + 2.2], [0.3 + 0.1, 3.3 + 0.1])
    assert (found.half_width, paired([1.0, 2.0], [1.0, 2.0 - 1e-9]).half_width) != (0, 0)
    assert found == Summary(2, pytest.approx(-0.1), 0.0)
    assert paired([0.3, 0.7], [0.1 + 0.2, 0.7]).half_width == 0


def test_what_cannot_answer_says_so_before_anything_is_run(voxpath, tmp_path: Path):
    link = 'kind = "pipe"\nlink = { delay = "1 ms" }'
    host = 'profile = "linux"\nrun = ["true"]'
    (tmp_path / "only.toml").write_text(f'name = "only"\n[topology]\n{link}\n[hosts.client]\n{host}\n')
    called = voxpath("run", "only.toml", "--backend", "real,sim", "--out", "kept")
    assert called.code == 2
    assert "the backend sim has no model of it" in called.err
    assert not (tmp_path / "kept").exists()


def test_a_comparison_of_nothing_says_so(voxpath, tmp_path: Path):
    assert voxpath("exec", "--delay", "1 ms", "--out", "kept", "--", "true").code == 0
    called = voxpath("compare", *(tmp_path / "kept").iterdir())
    assert called.code == 2
    assert "there is nothing to compare" in called.err


def test_closed_forms_alone_are_compared_with_the_first():
    lines = answers_of(("one", [8.0]), ("other", [10.0])).lines
    assert [line.difference for line in lines] == [None, Summary(1, 25.0, None)]


def test_a_comparison_tells_who_declines_and_why(voxpath):
    called = voxpath("compare", ROOT / "scenarios" / "two-paths.toml", "--backend", "formula")
    assert called.code == 0, called.err
    assert re.search(r"(?s)do(es)? not apply to utterance: \w", called.out), called.out


def test_scenarios_and_runs_are_compared_and_replications_of_one_plan_are_one_variant(
    voxpath, small: Path, tmp_path: Path
):
    voxpath("run", small, "--replications", "3", "--out", "kept")
    runs = sorted((tmp_path / "kept").iterdir())
    other = tmp_path / "other.toml"
    other.write_text(SMALL.replace("5 ms", "50 ms"))
    called = voxpath("compare", other, *runs, "--metric", "completion_s")
    assert called.code == 0, called.err
    lines = [line for line in called.out.splitlines() if " sim " in line]
    assert len(lines) == 2
    assert "and 2 more" in lines[1]
    answers = voxpath_package.compare(parse(SMALL), *runs, out=tmp_path / "kept", replications=3)
    first, second = (
        line for line in answers.lines if (line.row.metric, line.row.estimator) == ("completion_s", "sim")
    )
    assert first.row.value == second.row.value
    assert answers.flows.get_column("source").n_unique() == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.toml"], "no such file"),
        (["sweep.toml", "--metric", "completion"], "did you mean 'completion_s'"),
        (["sweep.toml", "--dask", "x"], "--dask"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: list[str], says: str, voxpath, swept: Path):
    called = voxpath("compare", *arguments)
    assert called.code == 2, called.out
    assert says in called.err
    assert swept.exists()


@pytest.fixture
def watched(voxpath, small: Path, tmp_path: Path) -> Path:
    """A run with its series."""
    assert voxpath("run", small, "--observe", "tcp").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def test_a_run_is_shown_by_its_folder_and_by_the_beginning_of_its_name(voxpath, watched: Path):
    called = voxpath("show", watched)
    assert called.code == 0, called.err
    for part in ("seed 7, replication 0", "valid", "bytes_delivered", "200000", "loss", "p95", "cwnd_bytes"):
        assert part in called.out
    short = voxpath("show", watched.name[:6])
    assert short.code == 0, short.err
    assert short.out.splitlines()[0] == called.out.splitlines()[0]


def test_a_series_is_a_plot_a_picture_or_a_table(voxpath, watched: Path, tmp_path: Path):
    shown = voxpath("show", watched, "--series", "cwnd_bytes").out
    assert "Congestion window" in shown
    assert "download, server" in shown
    assert "⠀" in shown, "drawn with dots"
    voxpath("show", watched, "--series", "cwnd_bytes", "--save", "cwnd.txt")
    assert "Congestion window" in (tmp_path / "cwnd.txt").read_text()
    voxpath("show", watched, "--series", "cwnd_bytes", "--save", "cwnd.svg")
    assert ElementTree.parse(tmp_path / "cwnd.svg").getroot().tag.endswith("svg")
    voxpath("show", watched, "--series", "cwnd_bytes", "--save", "cwnd.csv")
    assert set(pl.read_csv(tmp_path / "cwnd.csv").get_column("metric")) == {"cwnd_bytes"}


@pytest.mark.parametrize("name", ["flows", "requests", "elements", "series"])
def test_a_table_is_shown_and_saved(name: str, voxpath, watched: Path, tmp_path: Path):
    assert voxpath("show", watched, "--table", name).code == 0
    assert voxpath("show", watched, "--table", name, "--save", "table.parquet").code == 0
    assert pl.read_parquet(tmp_path / "table.parquet").equals(pl.read_parquet(watched / f"{name}.parquet"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--table", "flow"], "did you mean 'flows'"),
        (["--table", "packets"], "--observe records"),
        (["--series", "cwnd_byte"], "did you mean 'cwnd_bytes'"),
        (["--table", "flows", "--save", "x.doc"], "allowed: .csv"),
        (["--save", "x.csv"], "--table or --series"),
    ],
)
def test_what_a_run_does_not_have_is_refused(arguments: list[str], says: str, voxpath, watched: Path):
    called = voxpath("show", watched, *arguments)
    assert called.code == 2, called.out
    assert says in called.err


def test_a_run_that_is_not_there_is_refused(voxpath, small: Path):
    voxpath("run", small, "--replications", "40")
    assert "is no run" in voxpath("show", "zz").err
    assert "is no run" in voxpath("show", "nowhere/at/all").err
    assert "runs of runs begin with" in voxpath("show", "").err or voxpath("show", "").code == 2
