"""Which tests are slow."""

from __future__ import annotations

import ast

import slow
from conftest import ROOT

SAID = """\
============================= slowest durations =============================
0.70s call     tests/test_a.py::test_one[x]
0.40s setup    tests/test_a.py::test_one[y-[z]]
0.90s call     tests/test_b.py::test_two
"""


def test_all_cases_of_a_test_count_together():
    assert slow.slow(SAID) == ["tests/test_a.py::test_one"]


def test_the_list_names_tests_that_are_there():
    known = {
        f"tests/{path.name}::{node.name}"
        for path in (ROOT / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert slow.listed() - known == set()
