"""Audio and video both ways."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from voxpath.scenario.apps.call_media import (
    Adaptive,
    Audio,
    DataChannel,
    JitterBuffer,
    Pause,
    Range,
    Video,
)
from voxpath.scenario.apps.call_summaries import FRAMES, MESSAGES, METRICS, SECONDS
from voxpath.scenario.apps.table import AppTable, default
from voxpath.scenario.elements.kinds import TEXT
from voxpath.scenario.planning import plan
from voxpath.scenario.problems import PlanError
from voxpath.scenario.quantities import Drift, Packets, PositiveSize, PositiveSpan
from voxpath.scenario.rates import Rates, control_of
from voxpath.scenario.table import From, Keys, Table, faults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.scenario.problems import Path
    from voxpath.scenario.traces import Traces


class Media(Table):
    """What an end sends."""

    video: Video | None = Field(None, description="Its camera; no video without it.")
    audio: Audio | None = Field(None, description="Its microphone; no audio without it.")
    control: Rates = Field("none", description="Its rate control.")
    rate: Range = Field(
        default_factory=Range, description="Rates of all media together, RTP headers included."
    )
    packet: Annotated[PositiveSize, Field(le=1472)] = default("1200 B", "An RTP packet, at most.")
    queue: PositiveSpan = default(
        "2 s", "A frame of video is dropped if what was captured before waits longer to be sent."
    )
    buffer: JitterBuffer = Field(
        default_factory=lambda: Adaptive(kind="adaptive"), description="The jitter buffer at the other end."
    )
    nack: bool = Field(
        False, description="Lost packets of video are asked for and sent again (RFC 4585, RFC 4588)."
    )
    audio_nack: bool = Field(False, description="Lost packets of audio, likewise.")
    parity: Annotated[Packets, Field(le=15)] | None = Field(
        None, description="One parity packet for each so many packets of a frame of video (RFC 8627)."
    )
    redundancy: int = Field(
        0, ge=0, le=3, description="So many earlier frames in each packet of audio (RFC 2198)."
    )
    inband_fec: bool = Field(
        False, description="Each frame of audio tells the one before at a lower quality, as Opus can."
    )
    circuit_breaker: bool = Field(
        False, description="Media stops for the rest of the call where RFC 8083 says that it has to."
    )
    data: DataChannel | None = Field(
        None, description="Messages in a data channel beside its media; with the protection dtls_srtp."
    )
    pauses: Annotated[tuple[Pause, ...], Field(strict=False)] = Field(
        (), description="When its camera and its microphone are off, one after another."
    )


class Sends(Media):
    """What an end sends."""

    PLAN: ClassVar[Keys] = {
        "control": From("control", lambda sends, _: control_of(sends.control)),
        "repair": From(
            "nack",
            lambda sends, _: _repair(sends),
            also=("audio_nack", "parity", "redundancy", "inband_fec"),
        ),
    }


def _repair(sends: Sends) -> dict[str, Any]:
    return {
        "nack": sends.nack,
        "audio_nack": sends.audio_nack,
        "parity_packets": sends.parity,
        "redundant_frames": sends.redundancy,
        "inband": sends.inband_fec,
    }


WAY = tuple(Media.model_fields)
"""What an end says of what it sends."""
_TABLE = "table"
_TEXT_OR_TABLE = Discriminator(lambda value: TEXT if isinstance(value, str) else _TABLE)
_Back = Annotated[
    Annotated[Literal["same", "none"], Tag(TEXT)] | Annotated[Sends, Tag(_TABLE)], _TEXT_OR_TABLE
]


def _back(app: Call, files: Traces) -> Any:
    if app.back == "none":
        return None
    if app.back != "same":
        return app.back
    # What is wrong with it is said of what `from` sends.
    with contextlib.suppress(PlanError):
        return app.there(files)
    return None


class Call(AppTable, Media):
    """`from` and `to` send each other audio and video in RTP, on one pair of ports; over UDP.

    What stands at the top is what `from` sends, and `to` too unless `back` says otherwise.
    """

    PLAN: ClassVar[Keys] = {
        "there": From("video", lambda app, files: app.there(files), also=WAY),
        # Without a table of its own it is what `there` is made of.
        "back": From("back", _back, also=WAY),
        "drift_ppb": From("clock_drift", lambda app, _: [app.clock_drift, 0]),
    }
    SUMMARIES = (SECONDS, FRAMES, MESSAGES)
    METRICS = METRICS

    kind: Literal["call"]
    back: _Back = Field("same", description='What `to` sends: "same", "none", or a table of these keys.')
    duration: PositiveSpan | None = Field(None, description="How long; until the run ends without it.")
    protection: Literal["none", "srtp", "dtls_srtp"] = Field(
        "none",
        description="srtp adds the octets of AEAD_AES_128_GCM (RFC 7714); dtls_srtp also a connectivity check"
        " and a DTLS handshake before media.",
    )
    clock_drift: Drift = default(
        "0 ppm", "What the clock of `from` gains against that of `to`, which is that of the run."
    )
    rtcp_interval: PositiveSpan = default(
        "1 s", "Regular RTCP packets are not more frequent (T_rr_interval of RFC 4585)."
    )

    def there(self, files: Traces) -> Any:
        """What `from` sends, in the plan; none if it sends nothing."""
        if self.video is None and self.audio is None:
            return None
        sends = Sends.model_construct(**{key: getattr(self, key) for key in WAY})
        found: list[tuple[Path, str]] = []
        made = plan(sends, files, found)
        if found:
            raise PlanError(found[0][1])
        return made

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        has_media = self.video is not None or self.audio is not None
        if self.data is not None and not has_media:
            raise faults((("data",), "needs video or audio of the same end beside it"))
        back = self.back if isinstance(self.back, Sends) else None
        if not has_media and (back is None or (back.video is None and back.audio is None)):
            raise faults((("video",), "is missing, and audio too: a call has one of them, one way at least"))
        return self

    @classmethod
    def known(cls, app: Mapping[str, Any]) -> str:
        """Nothing."""
        del app
        return "a call adapts its rate to what comes back: the forms are of data that is there"
