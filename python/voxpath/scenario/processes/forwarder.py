"""A server that passes on media of one to many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.forwarding import Conference, PartyTable
from voxpath.scenario.processes.table import Among, ProcessTable
from voxpath.scenario.quantities import Port, PositiveSpan

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path


class Forwarder(ProcessTable):
    """A selective forwarding server (RFC 7667 section 3.7): what one presenter sends goes on to every viewer.

    Each leg has its own reports, rate control, send queue and history of packets that may be asked for again.
    Where frames have layers, a viewer gets as many as the rate control of its leg has room for.
    """

    WORKS = True

    kind: Literal["forwarder"]
    port: Port = Field(
        5004, description="Where it waits for the presenter; the viewers have the ports behind it, in order."
    )
    key_every: PositiveSpan = default("1 s", "The presenter is asked for a key frame no sooner again.")
    protection: Literal["none", "srtp", "dtls_srtp"] = Field("none", description="Of all legs, as of a call.")
    rtcp_interval: PositiveSpan = default(
        "1 s", "On all legs, regular RTCP packets are not more frequent (T_rr_interval of RFC 4585)."
    )

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The server as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        (own,) = (it for it in among.processes if it.name == among.name)
        conference = Conference(own, among.processes)
        if len(conference.presenters) != 1:
            names = ", ".join(it.name for it in conference.presenters) or "none"
            faults.append(((), f"has one presenter that names it, not {names}"))
        if self.port + len(conference.viewers) > 65535:
            faults.append((("port",), "leaves no ports behind it for all viewers"))
        if faults:
            return {"kind": self.kind}
        # What is wrong with what a party says is told where it stands.
        source, *viewers = (
            {"port": conference.port(leg), "sends": it.app.sends(conference, among.files, [])}
            for leg, it in enumerate(conference.parties)
            if isinstance(it.app, PartyTable)
        )
        return {
            "kind": self.kind,
            "source": source,
            "viewers": viewers,
            "legs": conference.legs(),
            "key_every_ns": self.key_every,
        }
