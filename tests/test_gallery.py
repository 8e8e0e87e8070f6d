"""The gallery of notebooks: each still runs from top to bottom, and has what it gave."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells with code."""
    found = json.loads(notebook.read_text("utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_in_order_and_says_what_came(notebook: Path):
    assert [cell["execution_count"] for cell in cells(notebook)] == list(range(1, len(cells(notebook)) + 1))
    kinds = {
        kind for cell in cells(notebook) for output in cell["outputs"] for kind in output.get("data", ())
    }
    assert "text/html" in kinds, "a table or a chart"
    assert not [output for cell in cells(notebook) for output in cell["outputs"] if "ename" in output]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells(notebook):
        module = ast.parse("".join(cell["source"]))
        last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
        exec(compile(module, notebook.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
            # What a notebook shows of it can be made.
            shown = getattr(value, "_repr_html_", None) or getattr(value, "_repr_mimebundle_", None)
            assert value is None or (shown is not None and shown()), type(value)
