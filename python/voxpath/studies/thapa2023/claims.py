"""Each sentence on Figures 4 to 7 that can fail, as a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Check
from voxpath.results.decisions import above, all_of, below, within
from voxpath.studies.base import shown
from voxpath.studies.thapa2023.questions import ENDS, SIM, Cell
from voxpath.studies.thapa2023.scenario import (
    INTERNET,
    LAN,
    MQTT,
    NETWORKS,
    RECEIVER,
    SOCKET,
    claim,
    payloads,
    published,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voxpath.results.decisions import Decision
    from voxpath.results.intervals import Summary
    from voxpath.studies.thapa2023.questions import Found, Taken

    Value = Callable[[Taken], float]


def limit(name: str) -> float:
    """What its words mean in numbers."""
    return float(published()["setup"][name])


def header(end: str) -> Value:
    """Octets of TCP headers that a host's capture sums up."""
    return lambda taken: taken.header[end]


def seconds(end: str) -> Value:
    """How long the transfer takes, for a host."""
    return lambda taken: taken.seconds[end]


def of_figures(found: Found) -> list[Check]:
    """Figures 4 and 5, then 6 and 7, then section V."""
    return [
        _greater(found, LAN, "lan"),
        _grows(found),
        _constant(found),
        _order(found, LAN, "lan"),
        _twice(found, LAN, "lan"),
        _greater(found, INTERNET, "internet"),
        _steady(found),
        _order(found, INTERNET, "internet"),
        _twice(found, INTERNET, "internet"),
        _ratio(found),
        _time(found),
        _forwarded(found),
    ]


def against_socket(
    found: Found, network: str, payload: str, value: Value, source: str = SIM
) -> Summary | None:
    """How many times the socket's value MQTT has."""
    mqtt, socket = Cell(network, MQTT, payload), Cell(network, SOCKET, payload)
    return found.ratio(mqtt, socket, value, source)


def growth(found: Found, network: str, way: str, value: Value) -> Summary | None:
    """How many times its value with the smallest payload a way has with the largest."""
    smallest, *_, largest = payloads()
    return found.ratio(Cell(network, way, largest), Cell(network, way, smallest), value)


def _each(found: Found, network: str, value: Callable[[str], Value]) -> tuple[list[Summary | None], str]:
    ratios, told = [], []
    for end in ENDS:
        own = [against_socket(found, network, payload, value(end)) for payload in payloads()]
        ratios += own
        told.append(f"{end}: " + ", ".join(shown(ratio) for ratio in own))
    return ratios, f"MQTT over socket, {', '.join(payloads())}; " + "; ".join(told)


def _greater(found: Found, network: str, group: str) -> Check:
    ratios, told = _each(found, network, header)
    return Check(claim(group, "greater"), all_of(above(ratio, 1.0) for ratio in ratios), told)


def _order(found: Found, network: str, group: str) -> Check:
    ratios, told = _each(found, network, header)
    return Check(claim(group, "order"), all_of(above(ratio, limit("order")) for ratio in ratios), told)


def _growths(found: Found, network: str, way: str) -> tuple[list[Summary | None], str]:
    found_ = [growth(found, network, way, header(end)) for end in ENDS]
    told = ", ".join(f"{end} {shown(one)}" for end, one in zip(ENDS, found_, strict=True))
    smallest, *_, largest = payloads()
    return found_, f"headers of {largest} over those of {smallest}: {told}"


def _grows(found: Found) -> Check:
    growths, told = _growths(found, LAN, MQTT)
    return Check(claim("lan", "dramatic"), all_of(above(one, limit("order")) for one in growths), told)


def _flat(growths: Sequence[Summary | None]) -> Decision:
    near = limit("steady")
    return all_of(within(one, 1 - near, 1 + near) for one in growths)


def _constant(found: Found) -> Check:
    growths, told = _growths(found, LAN, SOCKET)
    return Check(claim("lan", "constant"), _flat(growths), told)


def _steady(found: Found) -> Check:
    growths, told = _growths(found, INTERNET, MQTT)
    return Check(claim("internet", "steady"), _flat(growths), told)


def _twice(found: Found, network: str, group: str) -> Check:
    ratios, told = _each(found, network, seconds)
    decided = [above(ratio, limit("twice")) for ratio in ratios]
    most = len(decided) / 2
    holds: Decision = None
    if decided.count(True) > most:
        holds = True
    elif decided.count(False) >= most:
        holds = False
    return Check(
        claim(group, "twice"), holds, f"in {decided.count(True)} of {len(decided)} configurations; {told}"
    )


def _ratio(found: Found) -> Check:
    """The same payload: more headers are a smaller ratio."""
    everywhere = [_each(found, network, header) for network in NETWORKS]
    decisions = [above(ratio, 1.0) for ratios, _ in everywhere for ratio in ratios]
    told = "; ".join(f"{network}: {told}" for network, (_, told) in zip(NETWORKS, everywhere, strict=True))
    return Check(claim("both", "ratio"), all_of(decisions), told)


def _time(found: Found) -> Check:
    everywhere = [_each(found, network, seconds) for network in NETWORKS]
    decisions = [above(ratio, 1.0) for ratios, _ in everywhere for ratio in ratios]
    told = "; ".join(f"{network}: {told}" for network, (_, told) in zip(NETWORKS, everywhere, strict=True))
    return Check(claim("both", "time"), all_of(decisions), told)


def _forwarded(found: Found) -> Check:
    """What a broker does that takes a message whole before it sends it on."""
    near, twice = limit("steady"), limit("twice")
    ratios = [
        against_socket(found, network, payload, seconds(RECEIVER))
        for network in NETWORKS
        for payload in payloads()
    ]
    return Check(
        f"Ours: a broker stores and forwards, so that the receiver has all after {twice:g} times a socket's "
        f"time, within {100 * near:g} %, whatever the payload and the network.",
        all_of(within(ratio, twice * (1 - near), twice * (1 + near)) for ratio in ratios),
        ", ".join(shown(ratio) for ratio in ratios),
    )


def of_sizes(found: Found) -> list[Check]:
    """What holds our two answers together, and both with arithmetic."""
    checks = []
    for end in ENDS:
        worst = 0.0
        for cell in found.cells("real"):
            ours = found.mean(cell._replace(source=None), header(end))
            theirs = found.mean(cell, header(end), "real")
            if ours is not None and theirs is not None and "kB" in cell.payload:
                worst = max(worst, abs(theirs.mean / ours.mean - 1))
        if found.cells("real"):
            checks.append(
                Check(
                    f"From 100 kB on, the {end}'s headers on real hosts are within 5 % of the simulated.",
                    below(worst, 0.05),
                    f"{100 * worst:.2g} % at most",
                )
            )
    return checks
