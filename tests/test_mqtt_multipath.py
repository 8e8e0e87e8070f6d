"""Processes over Multipath TCP: their subflows, simulated and the kernel's, and what is refused."""

from __future__ import annotations

import polars as pl
import pytest

from voxpath import api
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real.configuration import configurations
from voxpath.scenario import ScenarioError, parse

KERNEL = 'scheduler = "linux", opportunistic_retransmission = false, penalisation = false, retry = "0 s"'
MPTCP = f'transport = {{ kind = "mptcp", {KERNEL} }}'
SCENARIO = """
name = "MQTT over two paths"
duration = "60 s"
[topology]
kind = "multipath"
access = { rate = "1 Gbit/s", delay = "1 ms" }
[topology.paths]
wifi = { rate = "10 Mbit/s", delay = "10 ms", queue = "100 packets" }
lte = { rate = "5 Mbit/s", delay = "30 ms", queue = "100 packets", loss = "1 %" }
[hosts.client]
profile = "linux"
[hosts.server]
profile = "linux"
[[processes]]
name = "broker"
host = "server"
BROKER
app = { kind = "broker" }
[[processes]]
name = "reader"
host = "client"
CLIENTS
app = { kind = "subscriber", broker = "server", filters = ["a/#"], messages = 6, clean = false }
[[processes]]
name = "device"
host = "client"
CLIENTS
[processes.app]
kind = "publisher"
broker = "server"
topic = "a/b"
size = "300 kB"
messages = 6
qos = 1
interval = "100 ms"
start = "1 s"
clean = false
"""


def text(broker: str = MPTCP, clients: str = MPTCP) -> str:
    return SCENARIO.replace("BROKER", broker).replace("CLIENTS", clients)


def run(text: str, folder, backend: str = "sim"):
    path = folder / "multipath.toml"
    path.write_text(text)
    (made,) = api.run(path, out=folder / "runs", backends=[backend]).folders
    return made


def table(folder, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


def test_every_connection_of_clients_has_rows_of_its_subflows(tmp_path):
    made = run(text(), tmp_path)
    assert table(made, "publications")["deliveries"].to_list() == [1] * 6
    rows = table(made, "connections")
    device = rows.filter(pl.col("end") == "opened by device").sort("subflow")
    assert device["subflow"].to_list() == [1, 2]
    assert device["address"].n_unique() == 2
    # Bodies, and what MQTT adds.
    assert device["bytes_delivered"].sum() > 6 * 300_000
    assert device["bytes_delivered"].min() > 100_000
    accepted = rows.filter(pl.col("flow") == "device", pl.col("end") == "accepted by broker")
    assert accepted.sort("subflow")["peer_address"].to_list() == device["address"].to_list()
    wire = table(made, "wire").filter(pl.col("end") == "opened by device").sort("subflow")
    # Headers of IP and TCP with their options are between 40 and 120 bytes.
    headers = wire["ip_bytes_sent"] - wire["data_bytes_sent"]
    assert ((headers >= 40 * wire["packets_sent"]) & (headers <= 120 * wire["packets_sent"])).all()


def test_connections_end_with_a_killed_broker_and_come_again(tmp_path):
    events = "".join(
        f'[[events]]\nat = "{at}"\nprocess = "broker"\ndoes = "{does}"\n'
        for at, does in (("1500 ms", "stop"), ("3 s", "start"))
    )
    stored = text().replace('kind = "broker"', 'kind = "broker", persistent = true')
    made = run(stored + events, tmp_path)
    # At least once: what was not acknowledged comes again.
    assert table(made, "publications")["deliveries"].min() >= 1
    assert table(made, "clients")["connections_lost"].min() >= 1
    opened = table(made, "connections").filter(pl.col("end") == "opened by device")
    assert opened.filter(pl.col("subflow") == 1).height >= 2


@pytest.mark.parametrize(
    ("broker", "clients"), [(MPTCP, ""), ("", MPTCP), ('transport = { kind = "tcp" }', "")]
)
def test_who_speaks_multipath_tcp_alone_falls_back_to_tcp(broker, clients, tmp_path):
    made = run(text(broker, clients), tmp_path)
    assert table(made, "publications")["deliveries"].to_list() == [1] * 6
    device = table(made, "connections").filter(pl.col("end") == "opened by device")
    assert device.height == 1


PROXIED = """
name = "a path split, one half of it over two links"
[topology]
kind = "explicit"
hosts = ["phone", "proxy", "cloud"]
[[topology.links]]
name = "wifi"
ends = ["phone", "proxy"]
rate = "5 Mbit/s"
delay = "10 ms"
queue = "100 packets"
[[topology.links]]
name = "lte"
ends = ["phone", "proxy"]
rate = "5 Mbit/s"
delay = "30 ms"
queue = "100 packets"
[[topology.links]]
name = "line"
ends = ["proxy", "cloud"]
rate = "100 Mbit/s"
delay = "10 ms"
[hosts.phone.interfaces]
wifi = []
lte = []
[[processes]]
name = "half"
host = "proxy"
transport = { kind = "mptcp" }
app = { kind = "proxy" }
[[flows]]
name = "upload"
from = "phone"
to = "cloud"
through = ["half"]
transport = { kind = "mptcp" }
app = { kind = "bulk", size = "2 MB" }
"""


def test_a_proxy_takes_two_paths_where_the_other_end_has_one(tmp_path):
    made = run(PROXIED, tmp_path)
    flow = table(made, "flows").row(0, named=True)
    assert (flow["status"], flow["bytes_wrong"], flow["bytes_delivered"]) == ("completed", 0, 2_000_000)
    rows = table(made, "connections")
    client = rows.filter(pl.col("end") == "client").sort("subflow")
    assert client["subflow"].to_list() == [1, 2]
    assert client["bytes_delivered"].min() > 300_000
    # The server's flow is over Multipath TCP too, and the proxy opens that half.
    onward = rows.filter(pl.col("end") == "opened by half")
    assert onward["bytes_delivered"].sum() >= 2_000_000


def test_clients_use_the_kernels_subflows(tmp_path):
    made = run(text(), tmp_path, "real")
    assert table(made, "publications")["deliveries"].to_list() == [1] * 6
    rows = table(made, "connections").filter(pl.col("end") == "client")
    # Two connections of two subflows each.
    assert rows.height == 4
    assert rows["bytes_delivered"].sum() > 6 * 300_000


def test_what_the_kernel_does_not_do_is_refused_by_its_key():
    with pytest.raises(UnanswerableError, match=r"process 'reader' asks for: take scheduler = .linux."):
        configurations(parse(text(clients='transport = { kind = "mptcp" }')).plan.data)


def test_datagrams_have_no_transport_of_connections():
    coap = text().replace('kind = "broker"', 'kind = "coap_server"')
    with pytest.raises(ScenarioError, match="coap_server sends datagrams") as told:
        parse(coap)
    assert "transport" in str(told.value)


def test_a_link_that_no_end_has_is_no_backup():
    with pytest.raises(ScenarioError, match="'lane' is no link at which 'client' has an address"):
        parse(text(clients='transport = { kind = "mptcp", backup = ["lane"] }'))
