"""Who receives media from a forwarder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from voxpath.scenario.apps.call import Sends
from voxpath.scenario.apps.call_media import Adaptive, JitterBuffer, Range
from voxpath.scenario.apps.table import default
from voxpath.scenario.planning import plan
from voxpath.scenario.processes.forwarding import FRAMES, LEGS, SECONDS, TO_VIEWER, PartyTable
from voxpath.scenario.quantities import PositiveSpan
from voxpath.scenario.rates import Rates
from voxpath.scenario.table import From, Keys

if TYPE_CHECKING:
    from voxpath.scenario.problems import Path
    from voxpath.scenario.processes.forwarding import Conference
    from voxpath.scenario.traces import Traces


_OF_PRESENTER = ("video", "audio", "packet", "redundancy", "inband_fec")
"""What is sent on every leg as the presenter sends it."""
_OWN = ("control", "rate", "queue", "buffer", "nack", "audio_nack", "circuit_breaker")


class Viewer(PartyTable):
    """Receives from a forwarder what its presenter sends. What it says of sending is said of its leg."""

    PLAN: ClassVar[Keys] = {"sends": From("control", lambda app, _: app, also=_OWN[1:])}
    SUMMARIES = (SECONDS, FRAMES, LEGS)
    METRICS = TO_VIEWER

    kind: Literal["viewer"]
    control: Rates = Field(
        "none", description="The rate control of its leg; none sends what rate.start has room for."
    )
    rate: Range = Field(
        default_factory=Range, description="Rates of all media on its leg together, RTP headers included."
    )
    queue: PositiveSpan = default(
        "2 s", "The forwarder leaves out frames while what came before waits longer to be sent."
    )
    buffer: JitterBuffer = Field(
        default_factory=lambda: Adaptive(kind="adaptive"), description="Its jitter buffer."
    )
    nack: bool = Field(
        False,
        description="It asks the forwarder for lost packets of video (RFC 4585), which sends them again.",
    )
    audio_nack: bool = Field(False, description="Likewise, for those of audio.")
    circuit_breaker: bool = Field(
        False, description="Media stops on its leg for the rest of the call where RFC 8083 says so."
    )

    def sends(self, conference: Conference, files: Traces, faults: list[tuple[Path, str]]) -> Any:
        """What it is sent, in the plan: the presenter's media, and what it says itself."""
        (presenter,) = conference.presenters
        said = {key: getattr(presenter.app, key) for key in _OF_PRESENTER}
        said |= {key: getattr(self, key) for key in _OWN}
        return plan(Sends.model_construct(**said, parity=None, data=None), files, faults)
