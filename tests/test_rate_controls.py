"""Rate controls in whole scenarios: how calls share with each other, and with a long TCP flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import voxpath
from voxpath.scenario import from_dict


def call(control: str | dict[str, Any], name: str, start: str) -> dict[str, Any]:
    """Video one way, by RFC 8867's defaults: 150 kbit/s to 1.5 Mbit/s."""
    app = {"kind": "call", "control": control, "back": "none", "video": {"fps": 30}}
    return {"name": name, "start": start, "app": app}


def received(flows: list[dict[str, Any]], rate: str, queue: str, out: Path) -> dict[str, float]:
    """Megabits of video a second that each call has from the 60th second of the run on."""
    up = {"rate": rate, "queue": queue}
    link = {"delay": "50 ms", "up": up, "down": {"rate": "10 Mbit/s"}}
    scenario = {
        "name": "calls",
        "duration": "120 s",
        "topology": {"kind": "pipe", "link": link},
        "flows": flows,
    }
    (folder,) = voxpath.run(from_dict(scenario), out=out).folders
    seconds = pl.read_parquet(folder / "media_seconds.parquet").filter(
        pl.col("end") == "client", pl.col("media") == "video"
    )
    last = seconds.group_by("flow").agg(pl.col("media_received_bps").tail(60).mean() / 1e6)
    return dict(last.iter_rows())


# RFC 8867 section 5.4: three calls over 3.5 Mbit/s, 20 s apart.
@pytest.mark.parametrize("control", ["nada", "scream"])
def test_calls_that_begin_one_after_the_other_have_equal_shares(control: str, tmp_path: Path):
    calls = [call(control, f"call-{i}", f"{20 * i} s") for i in range(3)]
    shares = received(calls, "3.5 Mbit/s", "131250 B", tmp_path)
    assert max(shares.values()) < 1.15 * min(shares.values()), shares
    assert 3.0 < sum(shares.values()) < 3.5, shares


def test_gccs_threshold_decides_how_it_shares_with_tcp(tmp_path: Path):
    """Summed, m is above it whenever TCP fills the queue; to the letter, hardly ever."""
    bulk = {
        "name": "bulk",
        "app": {"kind": "bulk"},
        "transport": {"kind": "tcp", "congestion": "cubic"},
    }
    shares = {
        literal: received(
            [call({"kind": "gcc", "literal_threshold": literal}, "call", "5 s"), bulk],
            "2 Mbit/s",
            "75000 B",
            tmp_path,
        )["call"]
        for literal in (False, True)
    }
    assert shares[False] < 0.4 < 1.2 < shares[True], shares


def test_a_gcc_call_that_joins_two_others_stays_small(tmp_path: Path):
    """m is per group, and the groups of a slow call are further apart."""
    calls = [call("gcc", f"call-{i}", f"{20 * i} s") for i in range(3)]
    shares = received(calls, "3.5 Mbit/s", "131250 B", tmp_path)
    assert shares["call-2"] < 0.5 * min(shares["call-0"], shares["call-1"]), shares
