"""Links in one line: what options say, as a scenario has it; presets; ranges of ports."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from voxpath import options
from voxpath.scenario import from_dict
from voxpath.scenario.one_link import PRESETS, LinkError, link
from voxpath.scenario.relays import read_publish, read_reach


def planned(table: dict[str, object], base: Path = Path()) -> list[dict[str, object]]:
    """Both directions of a plan's link."""
    data = {
        "name": "x",
        "topology": {"kind": "pipe", "link": table},
        "flows": [{"app": {"kind": "bulk", "size": "1 B"}}],
    }
    (found,) = from_dict(data, base=base).plan.data["links"]
    return [found["ab"], found["ba"]]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_run_and_names_its_source(name: str):
    up, down = planned(link({}, name))
    assert up["delay_ns"] > 0
    assert down["rate_bps"] >= up["rate_bps"] > 0
    assert re.search(r"WebPageTest|[A-Z][a-z]+( et al\.)? \d{4}", PRESETS[name].source)


def test_the_help_names_every_preset():
    assert ", ".join(sorted(PRESETS)) in options.PRESET.meaning


def test_the_presets_of_webpagetest_have_its_round_trips():
    for name, milliseconds in (("5g", 20), ("dsl", 50), ("lte", 70), ("geo-satellite", 600)):
        assert sum(way["delay_ns"] for way in planned(link({}, name))) == milliseconds * 1_000_000


def test_the_cafes_round_trips_are_as_long_as_its_source_says():
    (delay,) = {str(way["delay_variation"]) for way in planned(link({}, "wifi-cafe"))}
    table = link({}, "wifi-cafe")["delay"]
    mean, deviation = (float(table[key].removesuffix(" ms")) for key in ("mean", "deviation"))
    assert "normal" in delay
    drawn = np.random.default_rng(1).normal(mean, deviation, (2, 200_000)).clip(min=0).sum(axis=0)
    assert 0.5 < np.mean(drawn > 20) < 0.65
    assert np.mean(drawn > 100) == pytest.approx(0.1, abs=0.01)


def test_bursts_have_the_loss_and_the_length_that_are_asked_for():
    up, _ = planned(link({"": {"loss": "2 %", "burst": "5 packets"}}))
    p, r = up["loss"]["to_bad"], up["loss"]["to_good"]
    assert 1 / r == pytest.approx(5)
    assert p / (p + r) == pytest.approx(0.02)


def test_what_is_nearer_counts(tmp_path: Path):
    (tmp_path / "a.trace").write_text("1\n")
    trace = str(tmp_path / "a.trace")
    given = {
        "": {"rate": "1 Mbit/s", "delay": "1 ms"},
        "down": {"trace": trace, "delay": "2 ms", "jitter": "1 ms"},
    }
    up, down = planned(link(given, "dsl"), tmp_path)
    assert (up["rate_bps"], up["delay_ns"], up["delay_variation"]) == (1_000_000, 1_000_000, None)
    assert (down["rate_bps"], down["delay_ns"]) == (None, 2_000_000)
    assert down["delay_variation"]["kind"] == "normal"
    # A preset's rates of each direction, which nobody else has asked for.
    assert up["queue_packets"] == down["queue_packets"] == 50


def test_traces_of_several_directories_have_names_below_one(tmp_path: Path):
    for name in ("a/up.trace", "b/c/down.trace"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("5\n")
    given = {way: {"trace": str(next(tmp_path.rglob(f"{way}.trace")))} for way in ("up", "down")}
    table = link(given)
    assert (table["up"]["rate"]["file"], table["down"]["rate"]["file"]) == ("a/up.trace", "b/c/down.trace")


def test_an_option_that_cannot_be_is_named_with_its_direction():
    with pytest.raises(LinkError, match="give --loss, too") as refused:
        link({"up": {"burst": "2 packets"}})
    assert refused.value.option == "up-burst"


@pytest.mark.parametrize(
    ("text", "port", "target", "count"),
    [("8000", 8000, 8000, 1), ("80-89:8000-8009", 80, 8000, 10), ("5000-5999", 5000, 5000, 1000)],
)
def test_ports_in_a_row_are_reached(text: str, port: int, target: int, count: int):
    found = read_reach(f"{text}/udp")
    assert (found.port, found.target, found.count, found.transport) == (port, target, count, "udp")


@pytest.mark.parametrize("text", ["server:8001-8000", "9000-9001:server:80", "server:1-1001", "server:0-3"])
def test_ranges_that_cannot_be_are_refused(text: str):
    with pytest.raises(ValueError, match=r"range of ports|ports to|is no port"):
        read_publish(text)


def test_a_range_is_a_relay_for_each_port():
    host = {"profile": "linux", "reach": ["7000-7002:8000-8002/udp"], "publish": ["9000-9001:server:80-81"]}
    data = {
        "name": "x",
        "duration": "1 s",
        "topology": {"kind": "pipe", "link": {}},
        "hosts": {"client": host, "server": {"profile": "linux", "real": True}},
    }
    relays = from_dict(data).plan.data["relays"]
    assert [(relay["port"], relay["target"]) for relay in relays] == [
        (7000, 8000), (7001, 8001), (7002, 8002), (9000, 80), (9001, 81)
    ]  # fmt: skip
