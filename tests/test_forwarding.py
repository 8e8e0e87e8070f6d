"""A forwarding server: one who presents, many who view, each over a leg of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from tshark import dissect
from voxpath import api
from voxpath.scenario import ScenarioError, from_dict

if TYPE_CHECKING:
    from pathlib import Path

LINKS = {
    "kind": "star",
    "hosts": ["server", "alice", "bob", "carol"],
    "link": {"rate": "20 Mbit/s", "delay": "5 ms"},
}
PRESENTER = {
    "kind": "presenter",
    "forwarder": "sfu",
    "duration": "8 s",
    "rate": {"start": "3 Mbit/s", "max": "3 Mbit/s"},
    "video": {"rates": ["300 kbit/s", "1 Mbit/s"], "layered": True},
    "audio": {},
}
VIEWER = {"kind": "viewer", "forwarder": "sfu", "rate": {"start": "3 Mbit/s", "max": "3 Mbit/s"}}


def scenario(presenter: dict | None = None, viewers: dict[str, dict] | None = None, **more) -> dict:
    views = {"bob": {}, "carol": {}} if viewers is None else viewers
    return {
        "name": "a conference",
        "duration": "12 s",
        "topology": LINKS,
        "processes": [
            {"name": "sfu", "host": "server", "app": {"kind": "forwarder"}},
            {"name": "speaks", "host": "alice", "app": PRESENTER | (presenter or {})},
            *({"name": f"sees-{host}", "host": host, "app": VIEWER | own} for host, own in views.items()),
        ],
    } | more


def run(made: dict, folder: Path, backend: str = "sim", **more) -> tuple[dict[str, dict], Path]:
    result = api.run(from_dict(made), out=folder, backends=[backend], **more)
    (run,) = result.folders
    return {row["flow"]: row for row in result.flows.to_dicts()}, run


def test_each_viewer_gets_the_layers_that_its_leg_has_room_for(tmp_path: Path):
    viewers = {"bob": {}, "carol": {"rate": {"start": "600 kbit/s", "max": "3 Mbit/s"}}}
    flows, folder = run(scenario(viewers=viewers), tmp_path)
    assert flows["sees-bob"]["leg_layers_mean"] == 2
    assert flows["sees-carol"]["leg_layers_mean"] == 1
    assert flows["sees-carol"]["leg_server_media_received_bps"] < 0.5e6
    assert 0.9e6 < flows["sees-bob"]["leg_server_media_received_bps"] < 1.2e6
    assert {flow["status"] for flow in flows.values()} == {"completed"}
    assert {flow["transport"] for flow in flows.values()} == {"rtp"}
    legs = pl.read_parquet(folder / "legs.parquet")
    assert legs["flow"].cast(pl.String).to_list() == ["speaks", "sees-bob", "sees-carol"]
    assert legs["packets_withheld"].to_list()[2] > legs["packets_withheld"].to_list()[1]
    frames = pl.read_parquet(folder / "leg_frames.parquet").with_columns(pl.col("fate").cast(pl.String))
    fates = frames.group_by("flow", "media", "fate").len()
    assert set(fates["fate"]) <= {"complete", "late", "withheld"}
    played = frames.filter(pl.col("fate") == "complete")
    # Each leg has 10 ms of delay, and all of both are behind each other.
    assert (played["frame_complete_ns"] - played["captured_ns"]).min() >= 20_000_000
    assert 7.5 * 30 <= played.filter(flow="sees-bob", media="video").height <= 8 * 30 + 1


def test_who_comes_later_and_leaves_earlier_sees_what_is_in_between(tmp_path: Path):
    flows, folder = run(scenario(viewers={"bob": {"start": "3 s", "duration": "2 s"}}), tmp_path)
    assert flows["sees-bob"]["status"] == "completed"
    frames = pl.read_parquet(folder / "leg_frames.parquet").filter(media="video")
    seen = frames.filter(pl.col("played_ns").is_not_null())
    assert 50 <= seen.height <= 61
    assert 3.0e9 <= seen["captured_ns"].min() <= 3.2e9
    assert frames.filter(pl.col("fate").cast(pl.String) == "withheld").height == frames.height - seen.height
    # Who comes later is given a key frame.
    assert flows["speaks"]["leg_key_requests"] >= 1


def test_tshark_sees_vp9_with_the_layers_that_were_passed_on(tmp_path: Path):
    viewers = {"bob": {"rate": {"start": "600 kbit/s", "max": "3 Mbit/s"}}}
    _, folder = run(scenario(viewers=viewers), tmp_path, capture=["alice", "bob"])
    layers = {}
    for host in ("alice", "bob"):
        # This tshark does not read the descriptor: its fourth octet has the layer (RFC 9628 section 4.2).
        payloads = dissect(folder / "captures" / f"{host}.pcapng", "rtp.p_type == 98", "rtp.payload")
        layers[host] = {bytes.fromhex(payload.replace(":", ""))[3] >> 1 & 7 for (payload,) in payloads}
    assert layers == {"alice": {0, 1}, "bob": {0}}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"forwarder": "nobody"}, r"processes\[1\].app.forwarder"),
        ({"video": {"rate": "1 Mbit/s", "layered": True}}, r"processes\[1\].app.video.layered"),
        ({"parity": "4 packets"}, r"processes\[1\].app.parity"),
        ({"control": {"kind": "scream2", "ecn": True}}, r"processes\[1\].app"),
    ],
)
def test_bad_settings_name_their_place(change: dict, place: str, tmp_path: Path):
    with pytest.raises(ScenarioError, match=place):
        api.run(from_dict(scenario(change)), out=tmp_path)


def test_a_forwarder_has_one_presenter():
    made = scenario()
    made["processes"] = [it for it in made["processes"] if it["name"] != "speaks"]
    with pytest.raises(ScenarioError, match=r"processes\[0\].app.*one presenter that names it, not none"):
        from_dict(made)


def test_legs_over_the_kernels_sockets(tmp_path: Path):
    hosts = {host: {"profile": "linux"} for host in ("server", "alice", "bob")}
    made = scenario({"duration": "4 s"}, {"bob": {"nack": True}, "carol": {}}, hosts=hosts)
    flows, folder = run({**made, "duration": "8 s"}, tmp_path, "real")
    assert {flow["status"] for flow in flows.values()} == {"completed"}
    for viewer in ("sees-bob", "sees-carol"):
        assert flows[viewer]["leg_layers_mean"] == 2
        assert flows[viewer]["bytes_wrong"] == 0
    frames = pl.read_parquet(folder / "leg_frames.parquet").filter(media="video")
    played = frames.filter(pl.col("played_ns").is_not_null())
    assert played.height >= 0.9 * frames.height
