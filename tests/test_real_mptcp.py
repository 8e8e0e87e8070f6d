"""The kernel's Multipath TCP from scenarios: what it is told, what it carries, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import voxpath
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
    rows = result.table("connections").filter(pl.col("end") == "server")
    # Who opens chooses ports for subflows that join; they are told by their ends.
    assert rows["flow"][0] == "both"
    (joined,) = rows["flow"][1:]
    assert joined.startswith("client:")
    assert rows["bytes_delivered"][1] > 300_000


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
