"""What a forwarder and those who come to it have in common, and what is summarised of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from voxpath.names import did_you_mean
from voxpath.scenario.apps.call_summaries import MediaFrames, MediaSeconds
from voxpath.scenario.apps.summaries import Counted
from voxpath.scenario.apps.table import default
from voxpath.scenario.metric import Metric
from voxpath.scenario.processes.table import Among, ProcessTable
from voxpath.scenario.quantities import Name, PositiveSpan, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes import Process
    from voxpath.scenario.traces import Traces

TRANSPORT = "rtp"
_SERVER = "forwarding server"

SECONDS = MediaSeconds("leg_seconds", TRANSPORT, "leg_")
FRAMES = MediaFrames("leg_frames", TRANSPORT, "leg_")
FROM_PRESENTER = ("leg_client_media_received_bps", "leg_client_media_loss", "leg_client_queueing_p95_ns")
TO_VIEWER = (
    "leg_server_media_received_bps",
    "leg_server_media_loss",
    "leg_server_queueing_p95_ns",
    "leg_server_video_delay_p95_ns",
    "leg_server_video_unplayed",
    "leg_server_audio_delay_p95_ns",
    "leg_server_audio_unplayed",
    "leg_layers_mean",
    "leg_key_requests",
)


@dataclass(frozen=True)
class Legs(Counted):
    """What a leg carried."""

    table: str = "legs"
    transport: str = TRANSPORT

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What the columns mean."""
        return {
            "leg_layers_mean": Metric(
                "1", _SERVER, "Layers of a frame of video that was passed on to a viewer: mean of them."
            ),
            "leg_layer_changes": Metric("1", _SERVER, "How often more or fewer layers were passed on."),
            "leg_key_requests": Metric(
                "1", _SERVER, "Key frames that the viewer asked for; of a presenter, that it was asked for."
            ),
            "leg_packets_withheld": Metric("1", _SERVER, "The presenter's packets that were not passed on."),
        }

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row for each flow that has rows."""
        return rows.rename(
            {
                "layers_mean": "leg_layers_mean",
                "layer_changes": "leg_layer_changes",
                "key_requests": "leg_key_requests",
                "packets_withheld": "leg_packets_withheld",
            }
        ).select("flow", *self.metrics)


LEGS = Legs()


class PartyTable(ProcessTable):
    """Who comes to a forwarder."""

    WORKS = True

    forwarder: Name = Field(description="The process that passes media on.")
    start: Span = default("0 s", "When it comes.")
    duration: PositiveSpan | None = Field(
        None,
        description="How long; a viewer as long as the presenter, who stays until the run ends.",
    )

    @classmethod
    def ends(cls, app: Mapping[str, Any]) -> bool:
        """Whether it leaves by itself."""
        return app["duration_ns"] is not None

    def sends(self, conference: Conference, files: Traces, faults: list[tuple[Path, str]]) -> Any:
        """What is sent on its leg, in the plan."""
        raise NotImplementedError

    def planned(self, among: Among, faults: list[tuple[Path, str]]) -> dict[str, Any]:
        """The party as a plan holds it."""
        if among.passed:
            faults.append(((), "flows go through proxies only"))
        servers = {it.name: it for it in among.processes if it.app.kind == "forwarder"}
        if self.forwarder not in servers:
            hint = did_you_mean(self.forwarder, servers)
            faults.append((("forwarder",), f"{self.forwarder!r} is no process of kind forwarder; {hint}"))
            return {"kind": self.kind}
        conference = Conference(servers[self.forwarder], among.processes)
        if len(conference.presenters) != 1:
            # The forwarder says so.
            return {"kind": self.kind}
        leg = [it.name for it in conference.parties].index(among.name)
        return {
            "kind": self.kind,
            "server": {"node": among.nodes.get(conference.server.host, 0), "port": conference.port(leg)},
            "legs": conference.legs(),
            "sends": self.sends(conference, among.files, faults),
            "start_ns": self.start,
            "duration_ns": self.duration,
        }


class Conference:
    """The parties of a forwarder.

    Attributes:
        server: The forwarder itself.
        presenters: Those who send to it; one, if nothing is wrong.
        viewers: Who receives from it, in the order of the scenario.
    """

    def __init__(self, server: Process, processes: Sequence[Process]) -> None:
        parties = [
            it for it in processes if isinstance(it.app, PartyTable) and it.app.forwarder == server.name
        ]
        self.server = server
        self.presenters = [it for it in parties if it.app.kind == "presenter"]
        self.viewers = [it for it in parties if it.app.kind == "viewer"]

    def legs(self) -> dict[str, Any]:
        """How legs are set up."""
        app: Any = self.server.app
        return {"rtcp_interval_ns": app.rtcp_interval, "protection": app.protection}

    def port(self, leg: int) -> int:
        """Where the server waits for a leg; that of who presents is 0."""
        app: Any = self.server.app
        return int(app.port) + leg

    @property
    def parties(self) -> list[Process]:
        """Who has a leg, in the order of legs."""
        return [*self.presenters, *self.viewers]
