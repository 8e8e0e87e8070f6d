"""The network of the study, the programs on it, and the application that is simulated in their place."""

from __future__ import annotations

import shlex
import sys
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from voxpath.scenario import Document, from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Edge = Literal["bridge", "tun"]
"""How the client is joined: the publication's TAP device with a bridge, or a TUN device."""

SPEECH = "speech"
"""The flow that is recognised."""

_TIMES = ("per_second", "listening", "finishing", "finishing_per_second")
"""Of the decoder, beside its curve."""

FASTER = 10.0
"""Where a recogniser is to be no obstacle: how many times as fast as the recorded one it is."""

PORT = 8888
"""Of the service: the Kaldi GStreamer server's."""

PROMPTS = "sample:prompts/"
BYTES_PER_S = 32_000
"""Of the audio: 16 kHz, 16 bits."""

SETTLED_S = 4
"""When the first utterance may begin: what the background loses at its start is over by then."""

WATCHED_S = 60
"""For how long after that the background is watched alone."""


@cache
def published() -> Mapping[str, Any]:
    """The contents of `published.toml`."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


LIMIT = float(published()["text"]["real_time_factor"])
"""Of the real-time factor, in the publication's words: slower than speech above it."""


@dataclass(frozen=True)
class Background:
    """What makes the loss where it is not set: endless transfers, and web sources of 16 users each.

    They send in the direction of the speech, from the left to the right, as the publication's sources do.
    """

    bulk: int
    web: int


@dataclass(frozen=True)
class Setting:
    """A setting of Table 1, as we choose it.

    Attributes:
        number: The publication's.
        round_trip_ms: Of propagation.
        loss: Of packets from the client to the server: set, or what the background is tuned for.
        background: What produces that loss.
    """

    number: int
    round_trip_ms: int
    loss: str
    background: Background

    @property
    def name(self) -> str:
        """With what is special to it."""
        return f"setting {self.number}: {self.round_trip_ms} ms, {self.loss}"


@dataclass(frozen=True)
class Network:
    """The dumbbell.

    Attributes:
        bottleneck_ms: One-way.
        access_ms: One-way, of every host's link.
        loss: Set on the bottleneck, towards the servers.
        back: The same towards the clients.
        background: Beside the speech.
        rate: Of the bottleneck.
        queue: Of the bottleneck.
    """

    bottleneck_ms: float
    access_ms: float = 2
    loss: str = "0 %"
    back: str = "0 %"
    background: Background = field(default_factory=lambda: Background(0, 0))
    rate: str = "10 Mbit/s"
    queue: str = "100 packets"


ROOMY = "1000 packets"
"""A queue that holds the longest file, 660 packets: where loss is set, that alone is lost."""

HIGH, LOW = published()["text"]["high_loss"], published()["text"]["low_loss"]
SETTINGS = (
    Setting(1, published()["text"]["high_delay_ms"], HIGH, Background(7, 2)),
    Setting(2, published()["text"]["high_delay_ms"], LOW, Background(4, 2)),
    Setting(3, published()["text"]["low_delay_ms"], HIGH, Background(5, 2)),
    Setting(4, published()["text"]["low_delay_ms"], LOW, Background(3, 2)),
)
"""With as many transfers as lose so much at a bottleneck of 10 Mbit/s and 100 packets."""


def share_of(loss: str) -> float:
    """A loss as a part of the packets."""
    return float(loss.removesuffix(" %")) / 100


def first_reading(setting: Setting, *, produced: bool) -> Network:
    """Round-trip propagation as printed, with access links of 2 ms."""
    access = 2
    return _with_loss(Network(setting.round_trip_ms / 2 - 2 * access, access), setting, produced=produced)


def second_reading(setting: Setting, *, produced: bool) -> Network:
    """Access links of 20 ms as printed, and what is called round trip as the bottleneck's one way."""
    return _with_loss(Network(setting.round_trip_ms, 20), setting, produced=produced)


def _with_loss(network: Network, setting: Setting, *, produced: bool) -> Network:
    if produced:
        return replace(network, background=setting.background)
    return replace(network, loss=setting.loss, queue=ROOMY)


def topology(network: Network) -> dict[str, Any]:
    """As a scenario has it."""
    return {
        "kind": "dumbbell",
        "pairs": 3,
        "bottleneck": {
            "rate": network.rate,
            "delay": f"{network.bottleneck_ms:g} ms",
            "queue": network.queue,
            "up": {"loss": network.loss},
            "down": {"loss": network.back},
        },
        "access": {
            "rate": published()["text"]["access_rate"],
            "delay": f"{network.access_ms:g} ms",
            "queue": published()["text"]["access_queue"],
        },
    }


def _background(background: Background) -> list[dict[str, Any]]:
    flows: list[dict[str, Any]] = []
    if background.bulk:
        flows.append(
            {
                "name": "bulk",
                "from": "client2",
                "to": "server2",
                "count": background.bulk,
                "simulated": True,
                "app": {"kind": "bulk"},
            }
        )
    if background.web:
        # Who loads pages is on the right, so that the pages come the way of the speech.
        flows.append(
            {
                "name": "web",
                "from": "server3",
                "to": "client3",
                "count": background.web,
                "simulated": True,
                "app": {"kind": "web", "connections": published()["text"]["web_connections"]},
            }
        )
    return flows


def serving() -> list[str]:
    """The master with one worker, on the server."""
    where = ["--host", "0.0.0.0", "--insecure", "--port", str(PORT)]  # noqa: S104 - of its namespace
    return [sys.executable, "-m", "voxpath", "speech", "serve", *where, "--workers", "1", "--wait", "60"]


def streaming(utterances: Sequence[str], *, paced: bool) -> list[str]:
    """The client: waits until the worker is there, and says what it measured on its standard output."""
    speech = shlex.join([sys.executable, "-m", "voxpath", "speech"])
    server = f"--server ws://server1:{PORT}"
    options = "" if paced else "--unpaced"
    return [
        "sh",
        "-c",
        f"""
until {speech} status {server} 2>/dev/null | grep -q '^1 '; do sleep 0.2; done
records=$(mktemp)
trap 'rm "$records"' EXIT
{speech} stream {shlex.join(utterances)} {server} {options} --save "$records" >&2 && cat "$records"
""",
    ]


def real(
    setting: str,
    network: Network,
    utterances: Sequence[str],
    *,
    paced: bool = False,
    edge: Edge = "bridge",
) -> Document:
    """The service and its client as programs, the background simulated in the same run.

    Args:
        setting: For the scenario's name.
        network: Between them.
        utterances: Prompts, streamed one after the other.
        paced: As they are spoken, or as fast as TCP takes them.
        edge: How the client is joined.
    """
    names = [f"{PROMPTS}{utterance}" for utterance in utterances]
    spoken_s = sum(length_s(utterance) for utterance in utterances)
    return from_dict(
        {
            "name": f"ramli2018: {setting}",
            "seed": 2018,
            # Where recognition takes as long as this, the run has failed.
            "duration": f"{SETTLED_S + 30 + 5 * spoken_s:.0f} s",
            "topology": topology(network),
            "hosts": {
                "client1": {
                    "profile": "linux",
                    "edge": edge,
                    "run": streaming(names, paced=paced),
                    "start": f"{SETTLED_S} s",
                    "ends": True,
                },
                "server1": {"profile": "linux", "run": serving(), "listens": PORT},
            },
            "flows": _background(network.background),
        },
        f"ramli2018/real/{setting}",
    )


def simulated(
    setting: str,
    network: Network,
    utterance: str,
    *,
    paced: bool = False,
    nagle: bool = False,
    block_ms: int = 250,
    faster: float = 1.0,
    tcp: Mapping[str, Any] | None = None,
    afterwards: bool = False,
) -> Document:
    """One session of the same service, simulated like its background.

    Args:
        setting: For the scenario's name.
        network: Between client and server.
        utterance: A prompt.
        paced: As it is spoken, or as fast as TCP takes it.
        nagle: Whether small segments wait.
        block_ms: Audio in each message.
        faster: How many times as fast as the recorded recogniser this one is.
        tcp: Keys of both stacks that are not Linux's.
        afterwards: Whether recognition begins when all of the audio is there.
    """
    stack = {"profile": "linux"} | ({"tcp": dict(tcp)} if tcp else {})
    background = _background(network.background)
    scenario = {
        "name": f"ramli2018: {setting}",
        "seed": 2018,
        "topology": topology(network),
        "hosts": {"client1": stack, "server1": stack},
        "flows": [
            {
                "name": SPEECH,
                "from": "client1",
                "to": "server1",
                "start": f"{SETTLED_S if background else 0} s",
                "transport": {"kind": "tcp", "nagle": nagle},
                "app": {
                    "kind": "speech",
                    "utterance": _afterwards(recorded(utterance)) if afterwards else recorded(utterance),
                    "decoder": _decoder(faster),
                    "block": f"{block_ms} ms",
                    "paced": paced,
                },
            },
            *background,
        ],
    }
    if background:
        # Beside endless flows nothing else ends the run.
        scenario["duration"] = f"{SETTLED_S + 30 + 3 * length_s(utterance):.0f} s"
    return from_dict(scenario, f"ramli2018/sim/{setting}")


def alone(setting: str, network: Network, until_s: int) -> Document:
    """The background without anybody who speaks, until some moment.

    Runs of a replication are the same up to the sooner of their ends.
    """
    return from_dict(
        {
            "name": f"ramli2018: background of {setting}",
            "seed": 2018,
            "duration": f"{until_s} s",
            "topology": topology(network),
            "flows": _background(network.background),
        },
        f"ramli2018/background/{setting}",
    )


@cache
def recorded(name: str) -> Mapping[str, Any]:
    """What was recorded of the recogniser without a network: of an utterance, or `decoder`, its speed."""
    return tomllib.loads(files(__package__).joinpath("recorded", f"{name}.toml").read_text("utf-8"))


def _afterwards(utterance: Mapping[str, Any]) -> dict[str, Any]:
    """The same utterance, of which nothing is decoded before its end, and only final results are told."""
    whole = octets(utterance["audio"])
    segments = []
    for one in utterance["segments"]:
        ends = octets(one["ends"]) if "ends" in one else whole
        heard_ns = (
            int(one["lead"].removesuffix(" ns")) + (ends - octets(one["begins"])) * 10**9 // BYTES_PER_S
        )
        segments.append({"begins": f"{whole} B", "ends": f"{whole} B", "lead": f"{heard_ns} ns"})
    del segments[-1]["ends"]
    finals = [
        {key: one[key] for key in ("size", "spoken")} for one in utterance["results"] if "spoken" in one
    ]
    return {**utterance, "segments": segments, "results": finals}


def octets(size: str) -> int:
    """A recorded size."""
    return int(size.removesuffix(" B"))


def _decoder(faster: float) -> dict[str, Any]:
    """The recorded decoder, made faster."""

    def less(span: str) -> str:
        return f"{round(int(span.removesuffix(' ns')) / faster)} ns"

    decoder = dict(recorded("decoder")["decoder"])
    if faster != 1.0:
        decoder["curve"] = [[at, less(took)] for at, took in decoder["curve"]]
        for key in _TIMES:
            decoder[key] = less(decoder[key])
    return decoder


def length_s(utterance: str) -> float:
    """How long a prompt sounds."""
    return octets(recorded(utterance)["audio"]) / BYTES_PER_S
