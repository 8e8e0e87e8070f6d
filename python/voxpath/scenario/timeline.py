"""The timeline: what changes during a run, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag, model_validator

from voxpath.names import did_you_mean
from voxpath.scenario.addresses import family
from voxpath.scenario.elements import losses
from voxpath.scenario.elements.losses import Loss
from voxpath.scenario.elements.queues.table import Room
from voxpath.scenario.planning import Origin, plan
from voxpath.scenario.quantities import Address, Name, Rate, Span
from voxpath.scenario.table import From, Keys, Table, faults
from voxpath.scenario.topology import StaticRoute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from voxpath.scenario.network import Network
    from voxpath.scenario.planning import Origins
    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces


class Change(Table):
    """What changes of a link; a key that is left out stays as it is."""

    PLAN: ClassVar[Keys] = {
        "up": "connected",
        "packets": From("queue", lambda change, _: change.queue and change.queue.packets),
        "bytes": From("queue", lambda change, _: change.queue and change.queue.size),
        "loss": From("loss", lambda change, _: None if change.loss is None else losses.model(change.loss)),
    }

    connected: bool | None = Field(
        None, description="false: drops what waits, what is being sent, and what comes; true: no longer."
    )
    rate: Rate | None = Field(None, description="Of the serialiser; what is being sent goes on at it.")
    delay: Span | None = Field(
        None, description="One-way propagation delay of what is sent from now on; nothing overtakes."
    )
    queue: Room | None = Field(None, description="Room; packets that have it already keep it.")
    loss: Loss | None = Field(None, description="Of packets sent from now on.")


class LinkEvent(Change):
    """A link changes, alike in both directions unless `up` and `down` say otherwise."""

    at: Span = Field(description="When, from the run's start.")
    link: Name = Field(description="The link, by its name.")
    up: Change | None = Field(None, description="Of this direction alone.")
    down: Change | None = Field(None, description="Of this direction alone.")

    def direction(self, name: Literal["up", "down"]) -> Change:
        """What changes in one direction."""
        own: Change | None = getattr(self, name)
        given = {key: getattr(self, key) for key in Change.model_fields}
        if own is not None:
            given |= {key: getattr(own, key) for key in own.model_fields_set}
        return Change.model_construct(**given)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found: list[tuple[tuple[str | int, ...], str]] = []
        shared = self.model_fields_set & set(Change.model_fields)
        own = [table.model_fields_set for table in (self.up, self.down) if table is not None]
        if not shared and not any(own):
            found.append((("link",), f"nothing changes of it: give {', '.join(Change.model_fields)}"))
        useless = sorted(shared & own[0] & own[1]) if len(own) == 2 else []
        found.extend(((key,), "has no effect: both up and down give their own") for key in useless)
        if found:
            raise faults(*found)
        return self


class HostEvent(Table):
    """A host leaves the network or joins it again: all of its links at once."""

    at: Span = Field(description="When, from the run's start.")
    host: Name = Field(description="The host.")
    connected: bool = Field(description="false: it leaves; true: it joins again.")


class AddressEvent(Table):
    """A host loses its address at one of its links, has it again, or has another one."""

    at: Span = Field(description="When, from the run's start.")
    interface: Name = Field(description="A link at which the host has addresses of its own.")
    host: Name = Field(description="The host.")
    connected: bool | None = Field(
        None,
        description="false: the host neither sends from its address there nor hears what is sent to it; "
        "true: it does again. If the first event of an interface is true, it has no address before.",
    )
    address: Address | None = Field(None, description="Another address, in place of the one of its family.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.connected is None) == (self.address is None):
            raise faults((("interface",), "give one of connected and address"))
        return self


class FlowEvent(Table):
    """A flow starts or stops."""

    at: Span = Field(description="When, from the run's start.")
    flow: Name = Field(description="The flow; all of its copies.")
    does: Literal["start", "stop"] = Field(
        description="start: instead of its own key start; stop: it begins nothing more, and closes."
    )


class ProcessEvent(Table):
    """A process is killed, or runs again."""

    at: Span = Field(description="When, from the run's start.")
    process: Name = Field(description="The process.")
    does: Literal["start", "stop"] = Field(
        description="stop: it is killed; its connections are reset, and its ports are closed. start: it runs "
        "again, with what it has stored."
    )


class RouteEvent(Table):
    """A route changes: what comes from now on takes another link."""

    at: Span = Field(description="When, from the run's start.")
    route: StaticRoute = Field(description="From which node, to which host, by which link.")


_KINDS = ("link", "interface", "host", "flow", "process", "route")


def _kind(value: object) -> str | None:
    """A tag that is no key of the table, so that the places of errors do not mix them up."""
    if not isinstance(value, dict):
        return "link event"
    return next((f"{kind} event" for kind in _KINDS if kind in value), None)


Event = Annotated[
    Annotated[LinkEvent, Tag("link event")]
    | Annotated[AddressEvent, Tag("interface event")]
    | Annotated[HostEvent, Tag("host event")]
    | Annotated[FlowEvent, Tag("flow event")]
    | Annotated[ProcessEvent, Tag("process event")]
    | Annotated[RouteEvent, Tag("route event")],
    Discriminator(
        _kind,
        custom_error_type="event_kind",
        custom_error_message=f"says what it happens to: one of {', '.join(_KINDS)}",
    ),
]


class _Planned(NamedTuple):
    """A change as a plan holds it.

    Attributes:
        change: The change.
        part: Where in the plan's event that is which comes from a table.
        places: Places in the scenario's event that may spell out that table, the nearest first.
        table: It.
    """

    change: dict[str, Any]
    part: Path
    places: tuple[Path, ...]
    table: Table


class Timeline:
    """Events as a plan holds them."""

    def __init__(
        self,
        network: Network,
        indices: Mapping[str, int],
        flows: Mapping[str, Sequence[int]],
        processes: Sequence[str],
        addresses: Mapping[tuple[str, str], Mapping[int, str]],
        later: Collection[tuple[str, str]],
        traces: Traces,
    ) -> None:
        """What events speak of.

        Args:
            network: Links and nodes.
            indices: The nodes'.
            flows: The plan's flows by the name that a scenario gives them.
            processes: The names of the plan's processes.
            addresses: Those of a host at a link, by their index at the host.
            later: Hosts and those of their addresses that they have from events alone.
            traces: Files.
        """
        self._traces = traces
        self._addresses = addresses
        # Those that are there, or come back when the interface does.
        self._present = {
            (host, link): [index for index, address in known.items() if (host, address) not in later]
            for (host, link), known in addresses.items()
        }
        self._network = network
        self._nodes = indices
        self._links = {link.name: index for index, link in enumerate(network.links)}
        self._flows = flows
        self._processes = processes

    def planned(
        self, events: Sequence[Event], origins: Origins, problems: list[tuple[Path, str]]
    ) -> list[dict[str, Any]]:
        """The plan's events in the order of time, in that of the scenario where times are equal."""
        found: list[tuple[int, int, _Planned]] = []
        # What an event of an address changes depends on those before it.
        for index, event in sorted(enumerate(events), key=lambda one: one[1].at):
            place: Path = ("events", index)
            known = self._known(event)
            if known is not None:
                key, name, names = known
                problems.append(((*place, *key), f"{name!r} is none; {did_you_mean(name, names)}"))
                continue
            faults: list[tuple[Path, str]] = []
            found += [(event.at, index, planned) for planned in self._changes(event, faults)]
            problems += [((*place, *inside), message) for inside, message in dict.fromkeys(faults)]
        found.sort(key=lambda one: one[0])
        for number, (_, index, planned) in enumerate(found):
            place = ("events", index)
            origins["events", number] = Origin((place,), events[index])
            origins["events", number, *planned.part] = Origin(
                tuple((*place, *inside) for inside in planned.places), planned.table
            )
        return [{"at_ns": at, "change": planned.change} for at, _, planned in found]

    def _known(self, event: Event) -> tuple[Path, str, Sequence[str]] | None:
        """The first name that there is not: its key, it, and those that there are."""
        network = self._network
        match event:
            case LinkEvent():
                asked: list[tuple[Path, str, Sequence[str]]] = [(("link",), event.link, list(self._links))]
            case HostEvent():
                asked = [(("host",), event.host, network.hosts)]
            case AddressEvent():
                links = [link for host, link in self._addresses if host == event.host]
                asked = [(("host",), event.host, network.hosts), (("interface",), event.interface, links)]
            case FlowEvent():
                asked = [(("flow",), event.flow, list(self._flows))]
            case ProcessEvent():
                asked = [(("process",), event.process, self._processes)]
            case RouteEvent(route=route):
                ends = [link.name for link in network.links if route.at in (link.a, link.b)]
                asked = [
                    (("route", "at"), route.at, network.routers),
                    (("route", "to"), route.to, network.hosts),
                    (("route", "via"), route.via, ends),
                ]
        return next(((key, name, names) for key, name, names in asked if name not in names), None)

    def _changes(self, event: Event, faults: list[tuple[Path, str]]) -> Iterator[_Planned]:
        match event:
            case LinkEvent():
                yield from self._link_changes(event, "ab", "up", faults)
                yield from self._link_changes(event, "ba", "down", faults)
            case HostEvent():
                for link in self._network.links:
                    if event.host in (link.a, link.b):
                        for way in ("ab", "ba"):
                            change = _link_change(self._links[link.name], way, kind="up", up=event.connected)
                            yield _Planned(change, ("change", "set"), ((),), event)
            case AddressEvent():
                home = (event.host, event.interface)
                for address, up in self._address_changes(event, self._present[home]):
                    change = {
                        "kind": "address",
                        "node": self._nodes[event.host],
                        "address": address,
                        "up": up,
                    }
                    yield _Planned(change, ("change",), ((),), event)
            case FlowEvent():
                for flow in self._flows[event.flow]:
                    change = {"kind": "flow", "flow": flow, "runs": event.does == "start"}
                    yield _Planned(change, ("change",), ((),), event)
            case ProcessEvent():
                process = self._processes.index(event.process)
                change = {"kind": "process", "process": process, "runs": event.does == "start"}
                yield _Planned(change, ("change",), ((),), event)
            case RouteEvent(route=route):
                ends = {"node": self._nodes[route.at], "to": self._nodes[route.to]}
                change = {"kind": "route", **ends, "link": self._links[route.via]}
                yield _Planned(change, ("change",), (("route",),), route)

    def _address_changes(self, event: AddressEvent, present: list[int]) -> list[tuple[int, bool]]:
        """The addresses that go and come, by their index."""
        if event.address is None:
            return [(index, event.connected is True) for index in present]
        known = self._addresses[event.host, event.interface]
        gone = [index for index in present if family(known[index]) == family(event.address)]
        (new,) = (index for index, address in known.items() if address == event.address)
        present[:] = [index for index in present if index not in gone] + [new]
        return [(index, False) for index in gone if index != new] + [(new, True)]

    def _link_changes(
        self, event: LinkEvent, way: str, name: Literal["up", "down"], faults: list[tuple[Path, str]]
    ) -> Iterator[_Planned]:
        """Down first and up last: what waits meanwhile is none of the other changes' business."""
        change = event.direction(name)
        own: Change | None = getattr(event, name)
        found: list[tuple[Path, str]] = []
        part = plan(change, self._traces, found)
        for place, message in found:
            inside = own is not None and place[0] in own.model_fields_set
            faults.append(((name, *place) if inside else place, message))
        kinds = [
            ("up", ("up",), change.connected is False),
            ("rate", ("rate_bps",), change.rate is not None),
            ("delay", ("delay_ns",), change.delay is not None),
            ("queue", ("packets", "bytes"), change.queue is not None),
            ("loss", ("loss",), change.loss is not None),
            ("up", ("up",), change.connected is True),
        ]
        for kind, keys, given in kinds:
            if given:
                planned = _link_change(
                    self._links[event.link], way, kind=kind, **{key: part[key] for key in keys}
                )
                yield _Planned(planned, ("change", "set"), ((name,), ()), change)


def new_addresses(events: Sequence[Event]) -> Iterator[tuple[int, AddressEvent, str]]:
    """The addresses that the timeline gives hosts, and which event does."""
    for index, event in enumerate(events):
        if isinstance(event, AddressEvent) and event.address is not None:
            yield index, event, event.address


def times(events: Sequence[Event], does: Literal["start", "stop"]) -> dict[str, tuple[int, int]]:
    """When flows start or stop, by their name, and which event says so."""
    found: dict[str, tuple[int, int]] = {}
    for index, event in enumerate(events):
        if isinstance(event, FlowEvent) and event.does == does:
            found.setdefault(event.flow, (event.at, index))
    return found


def _link_change(link: int, way: str, **change: Any) -> dict[str, Any]:
    return {"kind": "link", "link": link, "direction": way, "set": change}
