"""Our Multipath TCP beside the kernel's: whatever happens to the paths, every octet arrives.

`python fuzz/multipath.py` sends 100 MB in every case (`make soak`), `tests/test_real_mptcp.py` fewer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import voxpath

if TYPE_CHECKING:
    from collections.abc import Iterator

LASTS_S = 3
"""A transfer by all paths together without losses: rates are chosen for that."""
DOWN_S, UP_S = 0.5, 2.5
"""When a path or an address goes, and comes back."""

KERNEL = {"scheduler": "linux", "opportunistic_retransmission": False, "penalisation": False, "retry": "0 s"}
"""What the kernel's Multipath TCP does, and cannot be told otherwise."""

ENDS = ("client", "server")
TROUBLES = ("loss", "outage", "withdrawn", "backup", "backup used")
"""What happens: the second path loses a packet in two hundred; the first path drops everything for a while;
an address of the client's goes and comes back, which it tells by REMOVE_ADDR; all further subflows are
backups; and they are so while the first path drops everything.
"""


@dataclass(frozen=True)
class Case:
    """A transfer.

    Attributes:
        ours: Which end is ours: `client` or `server`; the other one is the kernel's.
        sends: Which end sends.
        family: `ipv4` or `ipv6`.
        paths: How many.
        trouble: One of `TROUBLES`.
    """

    ours: str
    sends: str
    family: str
    paths: int
    trouble: str

    def __str__(self) -> str:
        """As a line says it."""
        return f"our {self.ours}, the {self.sends} sends, {self.family}, {self.paths} paths, {self.trouble}"

    @property
    def names(self) -> list[str]:
        """The paths' names."""
        return [f"path{number}" for number in range(1, self.paths + 1)]

    def scenario(self, octets: int) -> dict[str, Any]:
        """So many octets, one way."""
        sizes = {"request": "100 B", "response": "100 B"}
        sizes["request" if self.sends == "client" else "response"] = f"{octets} B"
        rate = octets * 8 // LASTS_S // self.paths
        path = {"rate": f"{rate} bit/s", "delay": "10 ms", "queue": "300 packets"}
        paths: dict[str, dict[str, Any]] = {name: dict(path) for name in self.names}
        hosts: dict[str, dict[str, Any]] = {name: {"profile": "linux"} for name in ("client", "server")}
        hosts[self.ours]["simulated"] = True
        transport: dict[str, Any] = {"kind": "mptcp", **KERNEL}
        events: list[dict[str, Any]] = []
        first = self.names[0]
        if self.trouble == "loss":
            paths[self.names[1]]["loss"] = "0.5 %"
        if self.trouble.startswith("backup"):
            transport["client"] = {"backup": self.names[1:]}
        if self.trouble in {"outage", "backup used"}:
            events = [{"link": first, "connected": connected} for connected in (False, True)]
        if self.trouble == "withdrawn" and self.ours == "client":
            events = [
                {"host": "client", "interface": first, "connected": connected} for connected in (False, True)
            ]
        elif self.trouble == "withdrawn":
            # Of a kernel's addresses a scenario has no events: a program takes the endpoint away.
            hosts["client"]["run"] = ["sh", "-c", WITHDRAWAL]
        return {
            "name": str(self),
            "family": self.family,
            "duration": "120 s",
            "hosts": hosts,
            "topology": {
                "kind": "multipath",
                "paths": paths,
                "access": {"rate": "10 Gbit/s", "delay": "1 ms"},
            },
            "flows": [
                {
                    "name": "transfer",
                    "transport": transport,
                    "app": {"kind": "download", **sizes},
                }
            ],
            "events": [{"at": f"{at} s", **event} for at, event in zip((DOWN_S, UP_S), events, strict=False)],
        }


WITHDRAWAL = f"""
set -- $(ip mptcp endpoint show | tail -n 1)
sleep {DOWN_S}
ip mptcp endpoint delete id $3
sleep {UP_S - DOWN_S}
ip mptcp endpoint add $1 dev net0 subflow fullmesh
"""
"""Takes the last endpoint away from the kernel of the host where it runs, and gives it back."""


def cases() -> Iterator[Case]:
    """All of them."""
    for given in product(ENDS, ENDS, ("ipv4", "ipv6"), (2, 3), TROUBLES):
        yield Case(*given)


def judge(case: Case, octets: int, folder: Path) -> list[str]:
    """Runs a case; what does not hold."""
    result = voxpath.run(case.scenario(octets), out=folder, backends=["real"])
    flow = result.flows.row(0, named=True)
    rows = result.table("connections").filter(pl.col("end") == case.ours)
    received = result.table("multipath").filter(pl.col("end") != case.sends)["bytes_received"].to_list()
    passed = dict(
        result.table("elements")
        .filter(pl.col("element") == "delay")
        .select("place", "packets_out")
        .iter_rows()
    )
    way = "ab" if case.sends == "client" else "ba"
    packets = [passed[f"{name} {way}"] for name in case.names]
    least, further = min(packets) / sum(packets), 1 - packets[0] / sum(packets)
    # A path that comes back has another subflow.
    subflows = case.paths + (case.trouble == "withdrawn")
    held = [
        (flow["status"] == "completed", f"the flow is {flow['status']}"),
        (flow["bytes_wrong"] == 0, f"{flow['bytes_wrong']} octets are wrong"),
        (received == [octets], f"{received} of {octets} octets came"),
        (rows["fallback"].fill_null(0).max() == 0, "it went on as TCP"),
        (rows.height == subflows, f"there were {rows.height} subflows in place of {subflows}"),
        (case.trouble != "backup" or further < 0.01, f"backups carried {further:.1%} of the packets"),
        (case.trouble == "backup" or least > 0.01, f"a path carried {least:.1%} of the packets"),
    ]
    return [said for holds, said in held if not holds]


def main() -> int:
    """Every case, a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octets", type=int, default=100_000_000, help="of each transfer")
    parser.add_argument("--only", default="", help="cases whose line has this in it")
    asked = parser.parse_args()
    failed = 0
    for case in cases():
        if asked.only not in str(case):
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            problems = judge(case, asked.octets, Path(folder))
        failed += bool(problems)
        took = time.monotonic() - begin
        print(f"{case}: {'; '.join(problems) or 'every octet arrived'} ({took:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
