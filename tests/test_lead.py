"""What a page begins with, and the pictures that are chosen for it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import voxpath as voxpath_package
from browser import browse
from reports import LONG, NETWORK, PLOT, REPORT, TABLE, TOGETHER
from voxpath.document import Lead, Map, Plot, Section, Together
from voxpath.report.connection import connections
from voxpath.report.distribution import cdf
from voxpath.report.html import render
from voxpath.report.lead import called
from voxpath.report.network import draw
from voxpath.report.observed import watched
from voxpath.report.sweep import report_of
from voxpath.report.topology import network_of
from voxpath.results.tables import tables

LOSS_AND_DELAY = """\
[sweep]
"topology.link.loss" = ["0 %", "1 %", "2 %"]
"topology.link.delay" = ["1 ms", "2 ms", "9 ms"]
"""
LED = dataclasses.replace(REPORT, lead=Lead("It takes long.", TOGETHER, "It takes a moment."))


def test_a_page_begins_with_the_claim_one_sentence_and_the_picture():
    page = render(LED)
    places = [
        page.index(text)
        for text in ("It takes a moment.", "It takes long.", "Two of one time", "It takes 1.5")
    ]
    assert places == sorted(places)
    assert places[-1] < page.index('aria-label="Contents"')
    assert re.search(r"<details[^>]*><summary>more findings</summary><p>It takes 1.5", page)


@pytest.mark.parametrize(("rows", "folded"), [(12, False), (13, True)])
def test_a_long_table_is_unfolded_by_whoever_wants_it(rows: int, folded: bool):
    table = dataclasses.replace(LONG, rows=LONG.rows[:rows])
    page = render(dataclasses.replace(REPORT, sections=[Section("s", [table])]))
    assert (f'<span class="count">{rows} rows</span>' in page) == folded
    assert page.count("<tr>") == rows + 1


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("response_p50_ns", "median response time"),
        ("delay_p95_ns", "95th percentile of the delay"),
        ("client_video_delay_p95_ns", "95th percentile of the video delay at the client"),
        ("completion_s", "completion time"),
    ],
)
def test_a_metric_is_called_as_people_do(metric: str, words: str):
    assert called(metric) == words


def test_a_distribution_goes_from_none_to_all():
    plot = cdf("t", "", {"a": [4.0, 1.0, 2.0, 2.0, 8.0, 3.0, 5.0, 6.0], "few": [1.0]}, "delay", "ms")
    assert plot is not None
    (curve,) = plot.curves
    assert list(zip(curve.x, curve.y, strict=True)) == [
        (1, 0), (1, 12.5), (2, 37.5), (3, 50), (4, 62.5), (5, 75), (6, 87.5), (8, 100)
    ]  # fmt: skip
    assert cdf("t", "", {"few": [1.0] * 7}, "delay", "ms") is None


def test_a_long_distribution_is_thinned_to_its_quantiles():
    plot = cdf("t", "", {"a": range(10_000)}, "delay", "ms")
    assert plot is not None
    assert len(plot.curves[0].x) < 500
    for x, y in zip(plot.curves[0].x[1:], plot.curves[0].y[1:], strict=True):
        assert y == pytest.approx((x + 1) / 100)


def test_a_connection_has_one_axis_of_time(small: Path, tmp_path: Path):
    document = voxpath_package.load(small)
    outcomes = watched(document, tmp_path / "runs", ["sim"], ())
    assert [outcome.folder for outcome in watched(document, tmp_path / "runs", ["sim"], outcomes)] == [
        outcomes[0].folder
    ]
    (series,) = tables([outcomes], "series")
    (view,) = connections(series, most=1)
    assert [plot.title for plot in view.plots] == ["bytes", "round trip", "retransmitted"]
    assert len({plot.x for plot in view.plots}) == 1
    names = [curve.name for plot in view.plots for curve in plot.curves]
    assert {"congestion window", "in flight", "smoothed round trip"} <= set(names)
    sent = view.plots[-1].curves[0].y[-1]
    assert sent == series.filter(metric="retransmissions", end="server")["value"].max()
    (flight,) = (curve for curve in view.plots[0].curves if curve.name == "in flight")
    assert flight.x[-1] == pytest.approx(series.filter(end="server")["time_ns"].max() / 1e9)


def test_nothing_is_watched_where_there_is_no_stream(tmp_path: Path):
    app = {"kind": "cbr", "packet": "100 B", "interval": "20 ms", "packets": "10 packets"}
    link = {"kind": "pipe", "link": {"delay": "1 ms"}}
    document = voxpath_package.load({"name": "x", "topology": link, "flows": [{"app": app}]})
    assert watched(document, tmp_path, ["sim"], ()) == ()


def answered(tmp_path: Path, extra: str, small: Path, replications: int | None = None):
    scenario = tmp_path / "asked.toml"
    scenario.write_text(small.read_text() + extra)
    document = voxpath_package.load(scenario)
    answers = voxpath_package.sweep(document, replications, out=tmp_path / "runs")
    seen = watched(document, tmp_path / "runs", ["sim"], answers.outcomes)
    return report_of(document, answers, replications or 1, (), "c", seen)


@pytest.mark.parametrize(
    ("extra", "replications", "kind", "says"),
    [
        ("", 1, Together, r"The completion time of download is 0\.\d+ s\."),
        (
            '[sweep]\n"topology.link.loss" = ["0 %", "2 %"]',
            2,
            Plot,
            r"from .* \(loss 0 %\) to .* \(loss 2 %\), each",
        ),
        (
            LOSS_AND_DELAY,
            1,
            Map,
            r"goes from",
        ),
    ],
)
def test_the_picture_is_chosen_by_what_was_asked(
    extra: str, replications: int, kind: type, says: str, small: Path, tmp_path: Path
):
    report = answered(tmp_path, extra, small, replications)
    assert report.lead is not None
    assert isinstance(report.lead.picture, kind)
    assert re.search(says, report.lead.sentence)
    assert render(report).count(f">{report.lead.picture.title}</h3>") == 1


def test_users_who_wait_are_told_how_long(tmp_path: Path):
    app = {"kind": "cbr", "packet": "172 B", "interval": "20 ms", "packets": "50 packets"}
    link = {"delay": {"kind": "normal", "mean": "9 ms", "deviation": "3 ms"}}
    scenario = {
        "name": "x",
        "topology": {"kind": "pipe", "link": link},
        "flows": [{"name": "talk", "app": app}],
    }
    document = voxpath_package.load(scenario)
    answers = voxpath_package.sweep(document, 1, out=tmp_path)
    lead = report_of(document, answers, 1, (), "c").lead
    assert lead is not None
    assert lead.sentence.startswith("The 95th percentile of the delay of talk is")
    assert isinstance(lead.picture, Plot)
    assert lead.picture.title == "Distribution of the one-way delay"


def test_a_network_is_drawn_with_what_its_links_do():
    plan = voxpath_package.load(
        {
            "name": "x",
            "topology": {
                "kind": "explicit",
                "hosts": ["phone", "service"],
                "routers": ["r"],
                "links": [
                    {"ends": ["phone", "r"], "rate": "1 Mbit/s", "up": {"loss": "1 %"}},
                    {"ends": ["r", "service"], "delay": "9 ms", "name": "fast"},
                    {"ends": ["r", "service"], "delay": "9 ms", "queue": "9 packets", "rate": "2 Mbit/s"},
                ],
            },
            "flows": [{"from": "phone", "to": "service", "app": {"kind": "bulk", "size": "1 B"}}],
        }
    ).plan.data
    network = network_of(plan)
    assert network is not None
    assert network.edges[0].label == ["to r: 1 Mbit/s, 1 % lost", "to phone: 1 Mbit/s"]
    drawn = draw(network)
    for text in ("phone", "service", "9 ms", "2 Mbit/s, 9 ms, 9 packets"):
        assert f">{text}</text>" in drawn
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', drawn)
    assert len(places) == len(set(places)), "no text lies on another one"


def test_a_network_that_is_too_large_is_not_drawn():
    nodes = [{"name": f"h{i}", "kind": "host", "addresses": []} for i in range(61)]
    assert network_of({"nodes": nodes, "links": [1], "programs": [], "flows": []}) is None
    assert len(NETWORK.nodes) < 61


def test_what_is_read_or_zoomed_in_one_plot_is_so_in_all(tmp_path: Path):
    script = """
      const plots = [...document.querySelectorAll(".together figure.plot")];
      const legend = (figure) => figure.querySelector(".legend .at").textContent;
      mouse(plots[0].querySelector(".u-over"), "mousemove", 0.5, 0.5); await pause();
      const found = { at: plots.map(legend) };
      const pressed = new KeyboardEvent("keydown", { key: "+", bubbles: true });
      plots[1].querySelector(".canvas").dispatchEvent(pressed); await pause();
      found.zoomed = plots.map((figure) => !figure.querySelector(".controls button").disabled);
      plots[0].querySelector(".controls button").click(); await pause();
      found.reset = plots.map((figure) => figure.querySelector(".controls button").disabled);
      const link = document.querySelector("figure.network [data-told]");
      link.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      found.told = document.querySelector("figure.network .told").textContent;
      return found;
    """
    sections = [Section("s", [NETWORK, PLOT, TABLE])]
    found = browse(render(dataclasses.replace(LED, sections=sections)), script, tmp_path)
    assert len(found["at"]) == 2
    assert len(set(found["at"])) == 1
    assert found["at"][0].startswith("time ")
    assert found["zoomed"] == [True, True]
    assert found["reset"] == [True, True]
    assert found["told"] == "access: 1 Mbit/s"
