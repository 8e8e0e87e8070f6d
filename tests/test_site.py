"""What is in a store: listed, and as a site."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from browser import browse
from reports import LADDER, MAP, NETWORK, REPORT, text_of
from voxpath.document import Axis, Curve, Lead, Plot, Sound, VoiceMark, VoicePath
from voxpath.report.html import render
from voxpath.report.site import INDEX, NoPageError, Page, site
from voxpath.report.thumbnail import thumbnail
from voxpath.results.listing import listed

SWEPT = """
[sweep]
"topology.link.loss" = ["2 %", "0 %", "0.5 %"]
"topology.link.delay" = ["20 ms", "5 ms"]
replications = 2
"""


@pytest.fixture
def store(voxpath, small: Path, tmp_path: Path) -> Path:
    """A store with three runs of a scenario in folders, and a sweep in packs."""
    assert voxpath("run", small, "--replications", "3").code == 0
    (tmp_path / "swept.toml").write_text(small.read_text().replace('"small"', '"swept"') + SWEPT)
    assert voxpath("sweep", "swept.toml").code == 0
    return tmp_path / "runs"


def test_a_store_is_listed_with_axes_and_verdicts(store: Path, voxpath):
    told = voxpath("list", store)
    assert told.code == 0
    assert re.search(r"small +sim +3 +valid ", told.out)
    assert re.search(r"swept +sim +12 +valid +(delay \(2\), loss \(3\)|loss \(3\), delay \(2\)) ", told.out)
    listing = {one["scenario"]: one for one in json.loads(voxpath("list", store, "--json").out)["scenarios"]}
    assert listing["swept"]["runs"] == 12
    assert len(listing["swept"]["cells"]) == 6
    assert {"topology.link.loss": "2 %", "topology.link.delay": "5 ms"} in [
        cell["values"] for cell in listing["swept"]["cells"]
    ]
    for run in listing["small"]["cells"][0]["runs"]:
        assert voxpath("show", store / run).code == 0


def test_runs_that_another_version_has_kept_are_counted(voxpath, small: Path, tmp_path: Path):
    assert voxpath("run", small).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    identity = folder / "identity.json"
    identity.write_text(identity.read_text().replace('"format":2', '"format":1'))
    told = voxpath("list", "--json")
    assert json.loads(told.out)["others"] == 1
    assert "1 run that another version of voxpath has kept" in " ".join(told.err.split())
    assert json.loads(told.out)["scenarios"] == []


def test_an_invalid_run_is_told(store: Path, voxpath, small: Path):
    limited = (
        small.read_text()
        .replace('"small"', '"cut"')
        .replace("[topology]", 'limits = { time = "1 ms" }\n[topology]')
    )
    small.write_text(limited)
    voxpath("run", small)
    (cut,) = (one for one in listed(store) if one.name == "cut")
    assert (cut.count, cut.invalid) == (1, 1)
    assert re.search(r"cut +sim +1 +1 invalid", voxpath("list", store).out)


def test_what_is_no_store_is_refused(voxpath):
    refused = voxpath("list", "nowhere")
    assert refused.code == 2
    assert "nowhere is no directory of runs" in refused.err


def test_a_site_has_a_page_for_each_scenario_of_a_store(store: Path, voxpath, tmp_path: Path):
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    made = voxpath("site", store, "--out", "pages")
    assert made.code == 0, made.err
    index = (tmp_path / "pages" / INDEX).read_text()
    links = re.findall(r'<a href="([^"]+)"', index)
    assert sorted(links) == ["small-sim.html", "swept-sim.html"]
    assert all((tmp_path / "pages" / link).is_file() for link in links)
    swept = (tmp_path / "pages" / "swept-sim.html").read_text()
    lead = re.search(r'<p class="lead">(.*?)</p>', swept)
    assert lead is not None
    assert re.search(r"from .* \(.*loss.0.%.*\) to .* \(.*loss.2.%.*\), each the mean of 2.runs", lead[1])
    assert "Completion over loss" in swept
    assert "mean of 3\u00a0runs" in (tmp_path / "pages" / "small-sim.html").read_text()
    after = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    assert before == after, "nothing is run for it"


def test_a_replication_that_was_watched_counts_once(store: Path, voxpath, small: Path, tmp_path: Path):
    assert voxpath("report", small, "--replications", "3").code == 0
    (one,) = (one for one in listed(store) if one.name == "small")
    assert one.count == 4
    assert voxpath("site", store, "--out", "pages").code == 0
    page = (tmp_path / "pages" / "small-sim.html").read_text()
    assert "mean of 3\u00a0runs" in page
    assert "congestion window" in page


def test_a_site_takes_runs_scenarios_and_pages(store: Path, voxpath, small: Path, tmp_path: Path):
    (tmp_path / "sarkar2022.html").write_text(render(REPORT))
    run = min(path for path in store.iterdir() if (path / "verdict.json").is_file())
    made = voxpath("site", run, small, "sarkar2022.html", "--out", "pages", "--title", "Ours")
    assert made.code == 0, made.err
    index = (tmp_path / "pages" / INDEX).read_text()
    assert re.findall(r"<h2>(.*?)</h2>", index) == ["Runs", "Studies"]
    assert "<h1>Ours</h1>" in index
    assert len(re.findall(r'class="card"', index)) == 3


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "nowhere is no store, no run, no scenario"),
        ("rfc8867", "make it by voxpath study rfc8867"),
        ("foreign.html", "foreign.html is no page that voxpath has made"),
    ],
)
def test_what_is_no_source_is_refused(source: str, message: str, voxpath, tmp_path: Path):
    (tmp_path / "foreign.html").write_text("<h1>Hello</h1>")
    refused = voxpath("site", source, "--out", "pages")
    assert refused.code == 2
    assert message in refused.err
    assert not (tmp_path / "pages").exists()


def test_pages_of_one_name_do_not_overwrite_each_other():
    files = site("t", [Page("Runs", "a", render(REPORT)), Page("Runs", "A!", render(REPORT))])
    assert sorted(files) == ["a.html", "a2.html", INDEX]
    with pytest.raises(NoPageError, match="is no page that voxpath has made"):
        site("t", [Page("Runs", "a", "<p>")])


def test_a_card_of_a_study_has_its_claim_and_what_was_found():
    lead = Lead("This holds.", None, "It is fast.")
    index = site("t", [Page("Studies", "a", render(dataclasses.replace(REPORT, lead=lead)))])[INDEX]
    assert "The claim It is fast. What we found This holds." in " ".join(text_of(index).split())


def test_a_card_of_a_call_has_its_waveform_over_what_was_missing():
    sound = Sound("heard", "", 4, [[0.0, 0.5, -0.25, 0.0]])
    marks = [VoiceMark(0.25, 0.5, "lost", ""), VoiceMark(0.5, 0.75, "recovered", "")]
    drawn = thumbnail(VoicePath("What was heard", "", [sound], 0, marks, []))
    assert re.findall(r'<rect x="([\d.]+)"[^>]*fill="([^"]*)"', drawn) == [
        ("84.0", "var(--curve-1)"),
        ("160.0", "var(--curve-2)"),
    ]
    # From its least to its largest value: the second sample reaches the upper edge.
    assert "M122.0 8.0V8.0" in drawn


def test_the_search_shows_what_has_all_of_its_words(tmp_path: Path):
    pages = [Page("Runs", name, render(REPORT).replace("A report", title)) for name, title in
             (("a", "web over lte"), ("b", "voice over lte"), ("c", "web over dsl"))]  # fmt: skip
    script = """
      const search = document.getElementById("search");
      const shown = () => [...document.querySelectorAll(".card")].filter((card) => card.offsetParent).length;
      const found = [shown()];
      for (const words of ["LTE", "lte web", "nothing"]) {
        search.value = words;
        search.dispatchEvent(new Event("input"));
        found.push(shown());
      }
      found.push(document.getElementById("count").textContent);
      return found;
    """
    assert browse(site("t", pages)[INDEX], script, tmp_path) == [3, 2, 1, 0, "0 pages"]


@pytest.mark.parametrize(("values", "depth"), [([0.0, 0.0], 142.0), ([0.0, 2.0], 142.0), ([5.0, 5.0], 75.0)])
def test_a_card_draws_nothing_at_all_on_its_axis(values: list[float], depth: float):
    plot = Plot("Losses", "", Axis("time", "s"), Axis("losses"), [Curve("lost", [0.0, 1.0], values)])
    found = re.search(r'd="M8\.0 ([0-9.]+)L', thumbnail(plot))
    assert found is not None
    assert float(found[1]) == depth


@pytest.mark.parametrize("part", [NETWORK, LADDER, MAP])
def test_a_card_has_the_colours_of_its_page(part, tmp_path: Path):
    page = render(dataclasses.replace(REPORT, lead=Lead("It takes a moment.", part)))
    index = site("t", [Page("Runs", "a", page)])[INDEX]
    # What no style speaks of is black, which the page has nowhere but on light cells of a map.
    script = """
      const shapes = [...document.querySelectorAll(".card svg :is(rect, path, circle, text:not(.black))")];
      return [shapes.length, shapes.filter((shape) => getComputedStyle(shape).fill == "rgb(0, 0, 0)").length];
    """
    count, black = browse(index, script, tmp_path)
    assert count > 3
    assert black == 0
