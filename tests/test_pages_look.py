"""Pages as people see them, at two widths, light and dark: nothing overflows or complains, axe agrees."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

import voxpath as voxpath_package
from conftest import SMALL
from look import look
from reports import LONG, NETWORK, PLOT, REPORT, TOGETHER
from voxpath.cli.actions.live_page import Live, served
from voxpath.cli.actions.watch import Look
from voxpath.document import Lead, Section
from voxpath.report.html import render
from voxpath.report.observed import watched
from voxpath.report.site import INDEX, Page, site
from voxpath.report.sweep import report_of

if TYPE_CHECKING:
    from voxpath.backends.real.steering import Steering
    from voxpath.cli.actions.watch import Watch

MS = 1_000_000


def pages(small: Path, tmp_path: Path) -> dict[str, str]:
    """A page with every kind of part, a report of a run and one of a sweep, and a site's index."""
    every = dataclasses.replace(
        REPORT,
        # Plots beside each other are narrower where the window becomes narrow.
        sections=[*REPORT.sections, Section("More", [TOGETHER, NETWORK, LONG]), Section("Two", [PLOT, PLOT])],
        lead=Lead("It takes long.", TOGETHER, "It takes a moment."),
    )
    document = voxpath_package.load(small)
    answers = voxpath_package.sweep(document, 2, out=tmp_path / "runs")
    seen = watched(document, tmp_path / "runs", ["sim"], answers.outcomes)
    run = render(report_of(document, answers, 2, (), "voxpath report small.toml", seen))
    small.write_text(small.read_text() + '\n[sweep]\n"topology.link.loss" = ["0 %", "1 %", "2 %"]\n')
    swept = voxpath_package.load(small)
    sweep = render(report_of(swept, voxpath_package.sweep(swept, 2, out=tmp_path / "runs"), 2, (), "c"))
    made = {"every": render(every), "run": run, "sweep": sweep}
    return {**made, "index": site("Ours", [Page("Runs", name, text) for name, text in made.items()])[INDEX]}


def live(small: Path) -> Live:
    """The page of a run that goes on, with a minute of what two directions did."""
    document = voxpath_package.load(small)
    looks = [
        Look(count * 250 * MS, name, 90 * count, size * count, count // 9, count // 7, count % 9, 7 * MS)
        for count in range(240)
        for name, size in (("link: client → server", 9_000), ("link: server → client", 150_000))
    ]
    watch = SimpleNamespace(looks=looks, network=SimpleNamespace(plan=document.plan.data))
    event = {"at": "2 s", "link": "link", "up": {"delay": "80 ms", "loss": "2 %"}}
    steering = SimpleNamespace(document=document.with_events([event]), events=[event])
    return Live(cast("Watch", watch), cast("Steering", steering))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is wrong with each page, at each width and in each scheme: a browser starts slowly."""
    folder = tmp_path_factory.mktemp("pages")
    small = folder / "small.toml"
    small.write_text(SMALL)
    bad = '<!DOCTYPE html><title>x</title><p style="width:2000px"><img src="data:,"><script>no()</script>'
    for name, text in {**pages(small, folder), "bad": bad}.items():
        (folder / f"{name}.html").write_text(text, "utf-8")

    addresses = {file.stem: file.as_uri() for file in sorted(folder.glob("*.html"))}
    with served(live(small)) as page:
        return asyncio.run(look({**addresses, "live": page}, folder / "profile"))


@pytest.mark.parametrize("page", ["every", "run", "sweep", "index", "live"])
def test_a_page_looks_right_at_both_widths_in_both_schemes(page: str, found: dict[str, list[str]]):
    mine = {key: wrong for key, wrong in found.items() if key.startswith(f"{page} ")}
    assert len(mine) == 4
    assert {key: wrong for key, wrong in mine.items() if wrong} == {}


def test_a_page_that_looks_wrong_is_found_out(found: dict[str, list[str]]):
    told = "\n".join(found["bad 400 light"] + found["bad 1300 dark"])
    assert "pixels too wide" in told
    assert "image-alt" in told
    assert "no is not defined" in told
