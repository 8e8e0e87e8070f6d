"""From a recording to what the other side hears."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath.names import did_you_mean
from voxpath.voice.call import buffer as jitter
from voxpath.voice.call import kernel, player
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import read
from voxpath.voice.call.talk import Talk
from voxpath.voice.call.transports import TRANSPORTS
from voxpath.voice.call.transports.base import Wants, Way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.scenario import Document
    from voxpath.voice.call.codecs.base import Codec
    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Transport

WAYS = ("there", "back")

_USUAL = Wish()


@dataclass(frozen=True)
class Call:
    """A call.

    Attributes:
        network: What it crossed.
        transport: By which.
        codec: That encoded it.
        buffer: The listeners' jitter buffer, as a scenario has it.
        document: The scenario that was run.
        folder: Where the run is kept.
        talks: What was said: there, and back if that was asked for.
    """

    network: Network
    transport: Transport
    codec: Codec
    buffer: Mapping[str, Any]
    document: Document
    folder: Path
    talks: Sequence[Talk]


def chosen(name: str, known: Mapping[str, Any], what: str) -> Any:
    """One of a list.

    Raises:
        CallError: It is none of them.
    """
    if name not in known:
        raise CallError(f"{name!r} is no {what}; {did_you_mean(name, list(known))}")
    return known[name]


def call(
    network: Network,
    recordings: Sequence[Path | str | None] = (None,),
    *,
    over: str = "rtp",
    codec: str = "opus",
    wish: Wish = _USUAL,
    buffer: str = "60 ms",
    redundancy: int = 0,
    backend: str = "sim",
    seed: int | None = None,
    out: Path | str = "runs",
    force: bool = False,
) -> Call:
    """Sends a voice, or two, through a network in virtual time.

    Args:
        network: What it crosses.
        recordings: What is said at its first host, and at its second one; a file, or none for the sample.
        over: A transport.
        codec: A codec.
        wish: What is asked of the codec.
        buffer: The jitter buffer: `adaptive`, or how long the first frame waits.
        redundancy: So many earlier frames in each packet of RTP.
        backend: `sim`, in virtual time; or `real`, over the kernel, which takes as long as the recording.
        seed: Of the random streams; the scenario's own without it.
        out: Directory of the runs.
        force: Make the run anew if it is there already.

    Raises:
        CallError: Something cannot be used.
        ScenarioError: The network cannot be.
        StoreError: The run cannot be kept.
        RealError: The machine cannot run it in real time.
    """
    chosen(backend, dict.fromkeys(("sim", "real")), "backend of a call")
    by: Transport = chosen(over, TRANSPORTS, "transport")
    coder: Codec = chosen(codec, CODECS, "codec")
    if not 1 <= len(recordings) <= len(WAYS):
        raise CallError("a call has one recording, or two for both directions")
    wants = Wants(jitter.parse(buffer), redundancy)
    said = [read(path) for path in recordings]
    coded = [coder.encode(one, wish) for one in said]
    ends = (network.here, network.there)
    ways = [
        Way(name, from_, to, [len(frame) for frame in encoded.frames], encoded.frame_ns)
        for name, from_, to, encoded in zip(WAYS, ends, reversed(ends), coded, strict=False)
    ]
    if backend == "real":
        if over != "rtp" or redundancy:
            raise CallError("over the kernel a voice goes by rtp, without redundancy")
        document = kernel.planned(network, seed)
        came, folder = kernel.carry(document, ways, coded, Path(out))
    else:
        document = planned(network, by, ways, wants, seed)
        folder = _run(document, Path(out), force)
        came = [by.arrivals(folder, way) for way in ways]
    talks = []
    for way, one, encoded, arrivals in zip(ways, said, coded, came, strict=True):
        heard = player.play(coder, encoded, arrivals, wants.buffer)
        talks.append(Talk(way, one, encoded, player.clean(coder, encoded), arrivals, heard))
    return Call(network, by, coder, wants.buffer, document, folder, talks)


def planned(
    network: Network, transport: Transport, ways: Sequence[Way], wants: Wants, seed: int | None
) -> Document:
    """The scenario of a call.

    Raises:
        CallError: The transport cannot carry it.
        ScenarioError: The network cannot be.
    """
    from voxpath.scenario import from_dict

    if any(not any(way.sizes) for way in ways):
        raise CallError("there is nothing to send: no frame of the recording has a byte")
    data = {
        **transport.scenario(network, ways, wants),
        "name": f"a voice over {transport.name}: {network.told}",
    }
    if seed is not None:
        data["seed"] = seed
    return from_dict(data, network.told, network.base)


def _run(document: Document, out: Path, force: bool) -> Path:
    from voxpath.backends.base import Question
    from voxpath.backends.sim import SimBackend

    backend = SimBackend(out, force=force)
    ((outcome,),) = backend.run([Question(document, range(1))])
    verdict = json.loads((outcome.folder / "verdict.json").read_bytes())
    if not verdict["valid"]:
        raise CallError(f"the run is not valid: {'; '.join(verdict['problems'])}")
    return outcome.folder
