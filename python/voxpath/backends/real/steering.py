"""Links of a running network, changed by hand: what is changed becomes events of the scenario."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from voxpath import _engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.backends.real.session import Session
    from voxpath.scenario import Document

WAYS = {"ab": "up", "ba": "down"}
"""What a plan and a scenario call the directions of a link."""

STEERED = ("rate", "delay", "loss")
"""What of a direction can be changed by hand, by the keys of a scenario's event."""


class Steering:
    """Changes links of a network, from any thread, and keeps what was changed.

    Attributes:
        events: What was changed, as events of the scenario, in the order of time.
    """

    events: list[dict[str, Any]]

    def __init__(self, document: Document, session: Session) -> None:
        """Nothing is changed yet.

        Args:
            document: The scenario that runs.
            session: Where it runs, its links steered.
        """
        self.events = []
        self._document = self._changed = document
        self._session = session
        self._lock = threading.Lock()

    @property
    def document(self) -> Document:
        """The scenario in which what was changed by hand happens by itself."""
        return self._changed

    def change(self, link: str, ways: Mapping[str, Mapping[str, str]]) -> None:
        """Changes a link now.

        Args:
            link: Its name.
            ways: New values of `up` and `down`, by their keys (`STEERED`), as a scenario writes them.

        Raises:
            ScenarioError: The scenario's language has no such change.
            RealError: The network did not take it.
        """
        with self._lock:
            now, _ = self._session.look()
            event = {"link": link, **ways}
            # Of equal times the event that is written last comes last.
            before = self._document.with_events([*self.events, {"at": _engine.format_span(now), **event}])
            own = sum(_at(change) == now for change in self.document.plan.data["events"])
            planned = [change for change in before.plan.data["events"] if _at(change) == now][own:]
            at = self._session.change([change["change"] for change in planned])
            events = [*self.events, {"at": _engine.format_span(at), **event}]
            self._changed = self._document.with_events(events)
            self.events = events


def links_of(plan: Mapping[str, Any], at: int) -> list[dict[str, Any]]:
    """What can be changed of each direction of a plan's links, and what it is at a time.

    Each has the link's name, its direction, its ends, and the texts of `STEERED`: empty where there is no
    bound. `varies` names those that vary by themselves; a rate that does cannot be changed.
    """
    nodes: Sequence[Mapping[str, Any]] = plan["nodes"]
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for index, link in enumerate(plan["links"]):
        ends = [nodes[link[end]]["name"] for end in ("a", "b")]
        for way, name in WAYS.items():
            values = link[way]
            kinds = {
                "rate": values["capacity"],
                "delay": values["delay_variation"],
                "loss": None if values["loss"]["kind"] in _PLAIN_LOSSES else values["loss"],
            }
            found[index, way] = {
                "link": link["name"],
                "way": name,
                "ends": ends if name == "up" else ends[::-1],
                "varies": {key: kind["kind"] for key, kind in kinds.items() if kind is not None},
                "rate": _rate(values["rate_bps"]),
                "delay": _engine.format_span(values["delay_ns"]),
                "loss": _loss(values["loss"]),
            }
    for event in plan["events"]:
        change = event["change"]
        if change["kind"] == "link" and event["at_ns"] <= at:
            of = found[change["link"], change["direction"]]
            match change["set"]:
                case {"kind": "rate", "rate_bps": rate}:
                    of["rate"] = _rate(rate)
                case {"kind": "delay", "delay_ns": delay}:
                    of["delay"] = _engine.format_span(delay)
                case {"kind": "loss", "loss": loss}:
                    of["loss"] = _loss(loss)
            if change["set"]["kind"] in of["varies"]:
                del of["varies"][change["set"]["kind"]]
    return list(found.values())


_PLAIN_LOSSES = ("none", "bernoulli")


def _at(event: Mapping[str, Any]) -> int:
    at: int = event["at_ns"]
    return at


def _rate(rate: int | None) -> str:
    return "" if rate is None else _engine.format_rate(rate)


def _loss(loss: Mapping[str, Any]) -> str:
    """A probability, which is all that a hand sets."""
    return _engine.format_prob(loss["p"]) if loss["kind"] == "bernoulli" else "0 %"
