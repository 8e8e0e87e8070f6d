"""Who sends media to a forwarder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from voxpath.scenario.apps.call import WAY, Media, Sends
from voxpath.scenario.planning import plan
from voxpath.scenario.processes.forwarding import FROM_PRESENTER, LEGS, SECONDS, PartyTable
from voxpath.scenario.table import From, Keys

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.forwarding import Conference
    from voxpath.scenario.traces import Traces


class Presenter(PartyTable, Media):
    """Sends audio and video to a forwarder, which passes them on to its viewers."""

    PLAN: ClassVar[Keys] = {"sends": From("video", lambda app, _: app, also=WAY)}
    SUMMARIES = (SECONDS, LEGS)
    METRICS = (*FROM_PRESENTER, "leg_key_requests")

    kind: Literal["presenter"]

    def sends(self, conference: Conference, files: Traces, faults: list[tuple[Path, str]]) -> Any:  # noqa: ARG002
        """What it sends, in the plan."""
        if self.parity is not None:
            faults.append((("parity",), "a forwarder does not pass parity packets on"))
        if self.data is not None:
            faults.append((("data",), "a forwarder does not pass messages on"))
        return plan(Sends.model_construct(**{key: getattr(self, key) for key in WAY}), files, faults)
