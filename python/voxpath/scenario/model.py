"""The whole scenario. Read this first: the tables that it names are each in a module of their own."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from voxpath.scenario.flows import Flow
from voxpath.scenario.limits import Limits
from voxpath.scenario.processes import Process
from voxpath.scenario.quantities import Address, Name, Port, PositiveSpan, Span
from voxpath.scenario.relays import Publish, Reach
from voxpath.scenario.sweep import Sweep
from voxpath.scenario.table import Keys, Table, faults
from voxpath.scenario.tcp import Profile, Stack
from voxpath.scenario.timeline import Event
from voxpath.scenario.topology import Topology

DEFAULT_PROFILE = "rfc"
"""The stack of a host that names none."""


class Host(Table):
    """A host that the topology has already: its addresses and its stack."""

    PLAN: ClassVar[Keys] = {"command": "run"}

    profile: Profile = Field(DEFAULT_PROFILE, description="Stack profile.")
    addresses: tuple[Address, ...] = Field(
        (), strict=False, description="IPv4 or IPv6; by position, of the scenario's family, without them."
    )
    interfaces: dict[Name, Annotated[tuple[Address, ...], Field(strict=False)]] = Field(
        default_factory=dict,
        description="Links of the host by which it has addresses of their own; an empty list takes them by "
        "position. Packets from such an address leave by its link, and packets to it arrive by it.",
    )
    tcp: Stack | None = Field(None, description="Parameters in which the host differs from its profile.")
    simulated: bool = Field(False, description="Stays simulated in the backend real.")
    real: bool = Field(
        False,
        description="Real in the backend real though nothing of the scenario runs there: for programs that "
        "are started from outside.",
    )
    edge: Literal["tun", "veth", "tap", "bridge"] | None = Field(
        None,
        description="How a real host is joined to the network: by a TUN device (IP packets), a pair of "
        "virtual Ethernet devices without ARP, a TAP device (Ethernet frames and ARP), or a bridge with a "
        "TAP device for a port. Without it TUN, or veth where /dev/net/tun is not ours to use.",
    )
    run: tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(
        None,
        strict=False,
        min_length=1,
        description="A program and its arguments, which the backend real runs on this host.",
    )
    listens: Port | None = Field(
        None,
        description="The TCP port at which the program serves: the run starts when it listens, and ends it. "
        "Without one the run lasts until the program ends by itself.",
    )
    start: Span | None = Field(None, description="When the program starts, from the run's start.")
    ends: bool = Field(
        False,
        description="The end of the program ends the run, whatever is still going on, such as background "
        "without an end of its own.",
    )
    reach: tuple[Reach, ...] = Field(
        (),
        strict=False,
        description="Ports of this machine's loopback that are reached at this host, in the backend real: "
        "8000, or '80:8000' to reach the machine's port 8000 at port 80, or '8000-8009'; '/udp' behind it "
        "for datagrams.",
    )
    publish: tuple[Publish, ...] = Field(
        (),
        strict=False,
        description="Ports of other hosts that are reached at this machine's loopback, in the backend real; "
        "what comes there goes out from this host: 'server:8000', or '9000:server:8000' for the machine's "
        "port 9000, or ranges of ports; '/udp' behind it for datagrams.",
    )
    internet: bool = Field(
        False,
        description="Stands for every IPv4 address that is not the scenario's, in the backend real: what "
        "this machine reaches, but for its loopback, is reached through this host; needs slirp4netns.",
    )

    @property
    def is_active(self) -> bool:
        """Whether something may happen there beside flows."""
        return self.real or any((self.run, self.reach, self.publish, self.internet))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = []
        if self.run is None:
            found += [
                ((key,), "has no effect without a program to run: give run")
                for key in ("listens", "start", "ends")
                if getattr(self, key) not in (None, False)
            ]
        else:
            if self.simulated:
                found.append((("run",), "a simulated host runs no programs: leave out one of the two keys"))
            if self.listens is not None and self.start is not None:
                found.append((("start",), "a program that listens is there before the run starts"))
            if self.listens is not None and self.ends:
                found.append((("ends",), "has no effect: a program that listens is ended with the run"))
        found += [
            ((key,), "a simulated host has no way out: leave out one of the two keys")
            for key in ("reach", "publish", "internet")
            if self.simulated and getattr(self, key)
        ]
        if self.simulated and self.edge is not None:
            found.append((("edge",), "has no effect on a simulated host: leave out one of the two keys"))
        if self.simulated and self.real:
            found.append((("real",), "contradicts simulated"))
        if found:
            raise faults(*found)
        return self


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"{name!r} has characters that cannot be printed")
    return name


class Scenario(Table):
    """A network, the hosts on it, and what they do."""

    model_config = ConfigDict(
        # Closer than this a schema cannot say that something has to happen.
        json_schema_extra={
            "anyOf": [
                {"required": ["flows"], "properties": {"flows": {"minItems": 1}}},
                {"required": ["hosts"]},
                {"required": ["processes"], "properties": {"processes": {"minItems": 1}}},
            ]
        }
    )

    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)] = Field(
        description="For people."
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        1, description="Root of every random stream, together with the replication."
    )
    duration: PositiveSpan | None = Field(
        None,
        description="When the run ends, whatever is still going on; when every flow has ended without it.",
    )
    family: Literal["ipv4", "ipv6", "both"] = Field(
        "ipv4", description="Of addresses that nobody has given: 10.0.0.0/8, fd76:6f78::/32, or one of each."
    )
    topology: Topology
    hosts: dict[Name, Host] = Field(default_factory=dict, description="Hosts that differ from the default.")
    processes: tuple[Process, ...] = Field(
        (), strict=False, description="What runs on hosts besides the ends of flows."
    )
    flows: tuple[Flow, ...] = Field(
        (),
        strict=False,
        validate_default=True,
        description="At least one, unless a host runs a program, or a process does something of its own.",
    )
    events: tuple[Event, ...] = Field(
        (),
        strict=False,
        description="What changes during the run, in any order; before all else of its time.",
    )
    limits: Limits = Field(default_factory=Limits, description="What ends a run before its time.")
    sweep: Sweep | None = None

    @field_validator("flows")
    @classmethod
    def _something_happens(cls, flows: tuple[Flow, ...], known: ValidationInfo) -> tuple[Flow, ...]:
        # Hosts that have faults of their own may have wanted to run something.
        hosts: dict[str, Host] | None = known.data.get("hosts")
        processes: tuple[Process, ...] | None = known.data.get("processes")
        if flows or hosts is None or processes is None:
            return flows
        works = any(process.app.WORKS for process in processes)
        if not works and not any(host.is_active for host in hosts.values()):
            raise ValueError("is missing: nothing happens without a flow, or a host that runs a program")
        return flows
