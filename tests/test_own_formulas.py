"""Formulas of a user's own: a file or a `Formulas`, answers in the same tables, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import SMALL
from voxpath.formulas import Formula, FormulaError, Formulas, Transfer, load
from voxpath.scenario import parse

FILE = """\
from voxpath.formulas import Formula, need_no_loss

def double(transfer):
    need_no_loss(transfer)
    return transfer.took(2 * transfer.round_trip)

def gap(stream):
    return {"delay_max_ns": 1e9 * stream.interval}

TRANSFER_FORMULAS = [Formula("double", ["completion_s"], double)]
STREAM_FORMULAS = [Formula("gap", ["delay_max_ns"], gap)]
"""
CALL = """\
[[flows]]
name = "call"
app = { kind = "cbr", packet = "172 B", interval = "20 ms", packets = "50 packets" }
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def lines(out: str, name: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines() if f" {name} " in line]


def test_own_formulas_answer_beside_the_others(voxpath, small: Path, mine: Path):
    small.write_text(SMALL.replace('loss = "1 %"', 'loss = "0 %"') + CALL)
    called = voxpath("run", small, "--formulas", mine)
    assert called.code == 0, called.err
    assert lines(called.out, "gap")[0][:3] == ["call", "gap", "20"]


def test_a_sweep_and_a_comparison_have_them_too(voxpath, small: Path, mine: Path):
    small.write_text(SMALL + '[sweep]\n"topology.link.loss" = ["0 %", "1 %"]\nreplications = 2\n')
    swept = voxpath("sweep", small, "--formulas", mine)
    assert swept.code == 0, swept.err
    (line,) = [words for words in lines(swept.out, "double") if "%" in words]
    assert line[:4] == ["0", "%", "download", "double"]
    (declined,) = [line for line in swept.out.splitlines() if "packets are lost on the way" in line]
    assert declined.startswith("window_limit, medium_limit and double do not apply to download in 1 cell")
    compared = voxpath("compare", small, "--formulas", mine, "--metric", "completion_s", "--save", "s.csv")
    assert compared.code == 0, compared.err
    summary = pl.read_csv("s.csv").filter(estimator="double", status="ok")
    assert summary.get_column("mean").to_list() == [pytest.approx(float(line[4]), rel=5e-4)]  # four digits


def test_python_takes_functions(tmp_path: Path):
    def double(transfer: Transfer) -> dict[str, float]:
        return {"completion_s": 2 * transfer.round_trip, "server_retransmissions": 1.0}

    own = Formulas(transfer=[Formula("double", ["completion_s", "{sender}_retransmissions"], double)])
    result = voxpath_package.run(parse(SMALL), out=tmp_path, formulas=own)
    rows = {row.metric: row.value for row in result.rows if row.estimator == "double"}
    # 5 ms each way; two segments of 1500 bytes and an acknowledgment of 52 at 10 Mbit/s.
    assert rows == {
        "completion_s": pytest.approx(2 * (0.010 + (2 * 1500 + 52) * 8 / 10e6)),
        "server_retransmissions": 1.0,
    }
    answers = voxpath_package.sweep(parse(SMALL), out=tmp_path, formulas=own)
    assert "double" in answers.summary.get_column("estimator").to_list()
    answers = voxpath_package.compare(parse(SMALL), out=tmp_path, formulas=own)
    assert "double" in answers.summary.get_column("estimator").to_list()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "mine.py cannot be read: No such file"),
        ("x = (\n", "mine.py:1: '(' was never closed"),
        ("\n1 / 0\n", "mine.py:2: ZeroDivisionError"),
        ("import nothing_of_that_name\n", "mine.py:1: ModuleNotFoundError"),
        ("x = 1\n", "lists no formula: it sets TRANSFER_FORMULAS or STREAM_FORMULAS"),
        ("TRANSFER_FORMULAS = [len]\n", "TRANSFER_FORMULAS is a list of Formula"),
        (FILE.replace('"double"', '"mathis"'), "there are two formulas mathis"),
        (FILE.replace('"gap"', '"double"'), "there are two formulas double"),
        (FILE.replace('"double"', '"sim"'), "mine.py:10: 'sim' is no name for a formula"),
        (FILE.replace('"double"', '"two words"'), "is no name for a formula"),
        (FILE.replace("completion_s", "completon_s"), "did you mean 'completion_s'"),
        (FILE.replace('["completion_s"]', '"completion_s"'), "are a list of one name at least"),
    ],
)
def test_a_file_that_is_none_is_refused_before_anything_runs(
    text: str | None, says: str, voxpath, small: Path, tmp_path: Path
):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    called = voxpath("run", small, "--formulas", "mine.py")
    assert called.code == 2
    assert "--formulas" in called.err
    assert says in called.err
    assert not (tmp_path / "runs").exists()


def test_a_file_is_read_anew_after_every_edit_and_leaves_nothing_beside_it(mine: Path):
    assert load(mine).transfer[0].name == "double"
    mine.write_text(FILE.replace('"double"', '"triple"'))
    assert load(mine).transfer[0].name == "triple"
    assert [path.name for path in mine.parent.iterdir()] == ["mine.py"]


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ("1 / 0", "failed on 'download' at mine.py:4: ZeroDivisionError: division by zero"),
        ("{}", "failed on 'download'"),
        ("{'completion_s': None}", "TypeError"),
        ("{'completion_s': float('nan')}", "says that completion_s of 'download' is nan"),
    ],
)
def test_a_formula_that_fails_is_named_and_the_runs_are_kept(
    result: str, says: str, voxpath, small: Path, mine: Path, tmp_path: Path
):
    mine.write_text(FILE.replace("need_no_loss(transfer)", f"return {result}"))
    called = voxpath("run", small, "--formulas", "mine.py")
    assert called.code == 1
    assert f"Error: the formula double {says}" in called.err or says in called.err
    assert "Traceback" not in called.err
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_formulas_need_the_backend_that_asks_them(voxpath, small: Path, mine: Path):
    called = voxpath("run", small, "--formulas", mine, "--backend", "sim")
    assert called.code == 2
    assert "needs the backend formula" in called.err


def test_a_name_that_is_taken_is_refused_in_python_before_anything_runs(tmp_path: Path):
    own = Formulas(transfer=[Formula("cardwell", ["completion_s"], lambda transfer: transfer.took(1.0))])
    with pytest.raises(FormulaError, match="two formulas cardwell"):
        voxpath_package.run(parse(SMALL), out=tmp_path / "runs", formulas=own)
    assert not (tmp_path / "runs").exists()
