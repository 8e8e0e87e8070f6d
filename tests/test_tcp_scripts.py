"""Conformance scripts from the command line, and what they cover. That each holds, tests in Rust say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT

GOOD = """\
rules: none
stacks: rfc

0.0  listen
0.0  < S 0:0(0) win 1000 <mss 1000>
0.0  > S. 0:0(0) ack 1
"""


@pytest.fixture
def coverage(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benches" / "scripts")
    import coverage

    yield coverage
    sys.modules.pop("coverage", None)


def test_the_list_of_what_is_covered_is_up_to_date(coverage):
    everything = coverage.read_all()
    assert coverage.problems(everything) == []
    assert coverage.PAGE.read_text() == coverage.page(everything), "make tcp-scripts"


def test_a_rule_that_nobody_has_listed_is_told(coverage, tmp_path):
    (tmp_path / "a.pkt").write_text(GOOD)
    script = coverage.scripts.read(tmp_path / "a.pkt")
    assert coverage.problems([script]) == ["a.pkt: there is no rule none in rules.toml"]


def test_a_script_that_holds_says_so(voxpath, tmp_path):
    (tmp_path / "a.pkt").write_text(GOOD)
    called = voxpath("tcp-script", "a.pkt", "--ladder")
    assert (called.code, called.out.splitlines()[0]) == (0, "a.pkt on rfc: holds")
    assert "> S. 0:0(0) ack 1 win 65535 <mss 1460>" in called.out


def test_a_script_that_does_not_hold_says_where_and_shows_what_was(voxpath, tmp_path):
    (tmp_path / "a.pkt").write_text(GOOD + "0.1 assert state established\n")
    called = voxpath("tcp-script", "a.pkt")
    assert called.code == 1
    assert called.out.startswith("a.pkt:7 on rfc: at 0.100000000 s: State(Established) does not hold")
    assert "0.000000 > S. 0:0(0)" in called.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.1 jump", 'a.pkt:7:5: "jump" is no event'),
        ("0.1 > X 0:0(0)", "a.pkt:7:7: 'X' is no flag"),
        ("0.1 > . 1:100(1)", 'a.pkt:7:9: "1:100(1)" is not SEQ:END(LEN)'),
        ("@linux 0.1 quiet", "a.pkt:7:1: linux is not among the script's stacks"),
        ("0.1 > . 1:1(0) ack 1 <mss>", 'a.pkt:7:26: ">" is not a size'),
        ("x: y", "a.pkt:7:1: a line behind the first event begins with a time"),
    ],
)
def test_what_is_wrong_with_a_script_is_told_with_its_place(line, message, voxpath, tmp_path):
    (tmp_path / "a.pkt").write_text(GOOD + line + "\n")
    called = voxpath("tcp-script", "a.pkt")
    assert called.code == 2
    assert message in called.err


def test_an_unknown_parameter_or_stack_is_told(voxpath, tmp_path):
    (tmp_path / "a.pkt").write_text("set: speed 9\n" + GOOD)
    assert "a.pkt:1:1: `speed`: unknown field" in voxpath("tcp-script", "a.pkt").err
    (tmp_path / "a.pkt").write_text(GOOD)
    assert "there is no such stack" in voxpath("tcp-script", "a.pkt", "--stack", "minix").err
    assert "none of the scripts names such a stack" in voxpath("tcp-script", "a.pkt", "--stack", "linux").err


def test_a_script_runs_on_the_live_kernel():
    # In a process of its own: who makes namespaces stays in them.
    script = "tests/scripts/open-talk-close.pkt"
    command = [sys.executable, "-m", "voxpath", "tcp-script", script, "--stack", "kernel"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{script} on kernel: holds\n"
