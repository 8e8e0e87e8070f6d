"""The page of the benchmarks: one section is renewed, the others stay."""

from __future__ import annotations

import sys

import pytest

from conftest import ROOT

PAGE = "# Benchmarks\n\nfirst\n\n## A hop\nold\n\n```text\n# no heading\n```\n\n## Sweeps\nlast\n"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benches")
    import page

    yield page
    for name in ("page", "sweep.run", "sweep"):
        sys.modules.pop(name, None)


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
