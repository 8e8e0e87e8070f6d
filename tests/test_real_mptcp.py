"""The kernel's Multipath TCP from scenarios: what it is told, what it carries, what is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import voxpath
from conftest import ROOT
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real.configuration import configurations
from voxpath.scenario import from_dict

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = {"scheduler": "linux", "opportunistic_retransmission": False, "penalisation": False, "retry": "0 s"}


def scenario(family: str = "ipv4", **transport: Any) -> dict[str, Any]:
    path = {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "100 packets"}
    return {
        "name": "two paths",
        "family": family,
        "hosts": {name: {"profile": "linux"} for name in ("client", "server")},
        "topology": {
            "kind": "multipath",
            "paths": {"wifi": path, "lte": path | {"loss": "0.2 %"}},
            "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
        },
        "flows": [
            {
                "name": "both",
                "transport": {"kind": "mptcp", **KERNEL, **transport},
                "app": {"kind": "download", "request": "200 kB", "response": "2 MB"},
            }
        ],
    }


def told(**transport: Any) -> tuple[list[list[str]], list[dict[str, str]]]:
    """Commands about Multipath TCP, and keys, of the client and of the server."""
    made = configurations(from_dict(scenario(**transport)).plan.data)
    commands = [
        [line.removeprefix("mptcp ") for line in made[host].ip.splitlines() if line.startswith("mptcp ")]
        for host in (0, 1)
    ]
    return commands, [dict(made[host].sysctl) for host in (0, 1)]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_the_kernels_of_two_hosts_carry_every_octet_by_two_subflows(family: str, tmp_path: Path):
    result = voxpath.run(scenario(family), out=tmp_path, backends=["real"])
    flow = result.flows.row(0, named=True)
    assert (flow["status"], flow["bytes_wrong"], flow["bytes_delivered"]) == ("completed", 0, 2_000_000)
    for end in ("client", "server"):
        rows = result.table("connections").filter(pl.col("end") == end)
        assert rows.select("flow", "subflow").rows() == [("both", 1), ("both", 2)], end
        assert rows["fallback"][0] == 0
        assert (rows["srtt_ns"] > 20_000_000).all()
    whole = result.table("multipath").sort("end").select("end", "bytes_acked", "bytes_received").rows()
    assert whole == [("client", 200_000, 2_000_000), ("server", 2_000_000, 200_000)]
    # What each subflow carried is what arrived, and what was sent twice.
    assert 2_000_000 <= rows["bytes_delivered"].sum() < 2_400_000
    assert rows["bytes_delivered"].min() > 300_000
    assert set(rows["peer_address"]) == {"10.0.0.1", "10.0.0.2"} or family == "ipv6"


def test_a_flow_over_tcp_before_it_at_the_same_server_takes_no_path_away(tmp_path: Path):
    data = scenario()
    plain = {**data["flows"][0], "name": "before", "transport": {"kind": "tcp"}}
    result = voxpath.run(data | {"flows": [plain, *data["flows"]]}, out=tmp_path, backends=["real"])
    assert set(result.flows["status"]) == {"completed"}
    assert result.table("multipath").select("flow", "fallback").rows() == [("both", 0)] * 2


def test_a_client_of_the_kernel_and_a_simulated_server_are_rows_of_one_flow(tmp_path: Path):
    data = scenario()
    data["hosts"]["server"] |= {"simulated": True}
    result = voxpath.run(data, out=tmp_path, backends=["real"], observe=["tcp"])
    rows = result.table("connections").sort("end", "subflow")
    assert rows.select("flow", "end", "subflow").rows() == [
        ("both", end, number) for end in ("client", "server") for number in (1, 2)
    ]
    series = result.table("series").filter(pl.col("metric") == "srtt_ns", pl.col("subflow") == 2)
    assert set(series["flow"]) == {"both"}
    assert set(series["end"]) == {"client", "server"}


def test_endpoints_limits_and_keys_follow_from_the_scenario():
    (client, server), keys = told(backup=["lte"], checksum=True, limit=3)
    assert client == [
        "limits set subflow 3 add_addr_accepted 3",
        "endpoint add 10.0.0.1 dev net0 subflow fullmesh",
        "endpoint add 10.0.0.2 dev net0 subflow fullmesh backup",
    ]
    assert server == ["limits set subflow 3 add_addr_accepted 0"]
    assert [key["mptcp/checksum_enabled"] for key in keys] == ["1", "1"]
    (client, _), _ = told(opens="per_interface", close_timeout="5 s")
    assert client[1:] == [f"endpoint add 10.0.0.{i} dev net0 subflow" for i in (1, 2)]


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ({"scheduler": "blest"}, 'take scheduler = "linux"'),
        ({"coupling": "lia"}, 'take coupling = "uncoupled"'),
        ({"penalisation": True}, "take penalisation = false"),
        ({"opens": "ports"}, 'take opens = "full_mesh"'),
        ({"retry": "1 s"}, "take retry = 0"),
        ({"signal": True}, "take signal = false"),
        ({"limit": 9}, "take limit = 8"),
        ({"mss": "500 B"}, "cannot be told mss"),
    ],
)
def test_what_the_kernel_does_not_do_is_refused(transport: dict[str, Any], said: str):
    with pytest.raises(UnanswerableError, match=said):
        told(**transport)


def test_a_host_has_one_kernel():
    data = scenario()
    data["flows"].append({**data["flows"][0], "name": "other"})
    data["flows"][1]["transport"] = {"kind": "mptcp", **KERNEL, "limit": 1}
    with pytest.raises(UnanswerableError, match="has one kernel, but flow 'other'"):
        configurations(from_dict(data).plan.data)


def test_events_of_addresses_are_refused():
    data = scenario() | {"events": [{"at": "1 s", "host": "client", "interface": "wifi", "connected": False}]}
    with pytest.raises(UnanswerableError, match="let the host be simulated"):
        configurations(from_dict(data).plan.data)


@pytest.mark.parametrize(
    ("ours", "family", "paths"),
    # Over IPv6 a kernel tells its first window rounded up, and drops what comes beyond it as data.
    [("server", "ipv4", 3), ("client", "ipv4", 2), ("server", "ipv6", 3), ("client", "ipv6", 2)],
)
def test_ours_and_the_kernels_carry_every_octet_by_all_paths(
    ours: str, family: str, paths: int, tmp_path: Path
):
    data = scenario(family)
    data["hosts"][ours] |= {"simulated": True}
    more = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "100 packets"}
    data["topology"]["paths"] |= {f"path{number}": more for number in range(2, paths)}
    data["flows"][0]["app"] = {"kind": "download", "request": "3 MB", "response": "3 MB"}
    result = voxpath.run(data, out=tmp_path, backends=["real"])
    flow = result.flows.row(0, named=True)
    assert (flow["status"], flow["bytes_wrong"], flow["bytes_delivered"]) == ("completed", 0, 3_000_000)
    rows = result.table("connections").filter(pl.col("end") == ours)
    assert rows["subflow"].to_list() == list(range(1, paths + 1))
    assert (rows["bytes_delivered"] > 200_000).all(), rows["bytes_delivered"]
    assert rows["bytes_delivered"].sum() >= 3_000_000


@pytest.mark.parametrize("ours", ["server", "client", None])
def test_a_path_that_goes_down_and_comes_back_costs_no_octet(ours: str | None, tmp_path: Path):
    data = scenario()
    if ours:
        data["hosts"][ours] |= {"simulated": True}
    data["flows"][0]["app"] = {"kind": "download", "request": "100 kB", "response": "12 MB"}
    data["events"] = [
        {"at": at, "link": "wifi", "connected": connected}
        for at, connected in (("1 s", False), ("3 s", True))
    ]
    result = voxpath.run(data, out=tmp_path, backends=["real"])
    flow = result.flows.row(0, named=True)
    assert (flow["status"], flow["bytes_wrong"], flow["bytes_delivered"]) == ("completed", 0, 12_000_000)


@pytest.fixture
def trouble(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "fuzz")
    import multipath

    yield multipath
    sys.modules.pop("multipath", None)


@pytest.mark.parametrize(
    ("ours", "sends", "what"),
    [
        ("client", "server", "withdrawn"),
        ("server", "server", "withdrawn"),
        ("client", "server", "backup"),
        ("server", "server", "backup"),
        ("client", "client", "backup used"),
        ("server", "client", "backup used"),
    ],
)
def test_addresses_that_are_withdrawn_and_backups_are_understood_by_ours_and_the_kernels(
    ours: str, sends: str, what: str, trouble, tmp_path: Path
):
    case = trouble.Case(ours, sends, "ipv4", 2, what)
    assert trouble.judge(case, 2_000_000, tmp_path) == []


def test_an_unmodified_program_goes_over_our_multipath_tcp_by_a_relay_at_its_edge(tmp_path: Path):
    ours = {"kind": "mptcp", "scheduler": "lowest_rtt"}
    path = {"rate": "20 Mbit/s", "queue": "100 packets"}
    wire = {"rate": "1 Gbit/s", "delay": "100 us"}
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file").write_bytes(bytes(3_000_000))
    fetched = tmp_path / "fetched"
    data = {
        "name": "a relay at the edge",
        "topology": {
            "kind": "explicit",
            "hosts": ["phone", "edge", "gateway", "server"],
            "links": [
                {"name": "inside", "ends": ["phone", "edge"], **wire},
                {"name": "wifi", "ends": ["edge", "gateway"], "delay": "10 ms", **path},
                {"name": "lte", "ends": ["edge", "gateway"], "delay": "30 ms", **path},
                {"name": "lan", "ends": ["gateway", "server"], **wire},
            ],
        },
        "hosts": {
            "phone": {
                "profile": "linux",
                "run": ["curl", "-sS", "--retry", "9", "-o", str(fetched), "http://10.9.0.1:8000/file"],
            },
            "edge": {
                "profile": "linux",
                "simulated": True,
                "interfaces": {"wifi": [], "lte": [], "inside": ["10.9.0.1"]},
            },
            "gateway": {"profile": "linux", "simulated": True},
            "server": {
                "profile": "linux",
                "run": ["python3", "-m", "http.server", "8000", "--directory", str(tmp_path / "served")],
                "listens": 8000,
            },
        },
        "processes": [
            {
                "name": f"relay-{host}",
                "host": host,
                "transport": ours,
                "app": {"kind": "proxy", "forwards": [{"port": 8000, "to": to}]},
            }
            for host, to in (("edge", "gateway"), ("gateway", "server"))
        ],
    }
    result = voxpath.run(data, out=tmp_path / "runs", backends=["real"])
    assert fetched.read_bytes() == bytes(3_000_000)
    rows = result.table("connections").filter(
        pl.col("end") == "accepted by relay-gateway", pl.col("bytes_delivered") > 500_000
    )
    # The kernels at both ends speak TCP; between the relays both networks carry the answer.
    assert rows["subflow"].n_unique() == 2
    assert rows["peer_address"].n_unique() == 2
    # What the last acknowledgments said is not told where the program has ended the run.
    assert rows["bytes_delivered"].sum() > 2_500_000


def test_a_host_that_is_real_for_programs_from_outside_opens_paths_from_its_addresses():
    paths = {name: {"delay": "10 ms"} for name in ("wifi", "lte")}
    data = {
        "name": "two paths",
        "topology": {"kind": "multipath", "paths": paths},
        "hosts": {"client": {"profile": "linux", "real": True}, "server": {"profile": "linux", "real": True}},
    }
    made = configurations(from_dict(data).plan.data)
    lines = [line for line in made[0].ip.splitlines() if line.startswith("mptcp endpoint")]
    assert lines == [f"mptcp endpoint add 10.0.0.{place} dev net0 subflow" for place in (1, 2)]
