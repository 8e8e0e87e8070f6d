"""From a recording to what the other side hears."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxpath.names import did_you_mean
from voxpath.results.kept import table
from voxpath.voice.call import buffer as jitter
from voxpath.voice.call import delay, echo, kernel, player, times
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.recording import read
from voxpath.voice.call.talk import Talk
from voxpath.voice.call.transports import TRANSPORTS
from voxpath.voice.call.transports.base import NEVER, Wants, Way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voxpath.scenario import Document
    from voxpath.voice.call.codecs.base import Codec, Encoded
    from voxpath.voice.call.echo import Loudspeaker
    from voxpath.voice.call.network import Network
    from voxpath.voice.call.recording import Recording
    from voxpath.voice.call.transports.base import Arrivals, Transport

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
        rejected: What was wrong with attempts over the kernel that came before it.
    """

    network: Network
    transport: Transport
    codec: Codec
    buffer: Mapping[str, Any]
    document: Document
    folder: Path
    talks: Sequence[Talk]
    rejected: Sequence[str] = ()


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
    nack: bool = False,
    loudspeaker: Loudspeaker | None = None,
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
        nack: Whether packets of RTP that are lost are asked for.
        loudspeaker: At the second host, whose echo comes back to the first one; it takes two recordings.
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
    wants = Wants(jitter.parse(buffer), redundancy, nack)
    if loudspeaker is not None:
        chosen(loudspeaker.room, echo.ROOMS, "room")
        if len(recordings) != len(WAYS):
            raise CallError("an echo comes back with what the other side says: give a second recording")
        if backend == "real":
            raise CallError("over the kernel there is no loudspeaker: its echo is computed by sim")
    said = [read(path) for path in recordings]
    sender = _Sender(network, by, coder, wish, wants, backend, seed, Path(out), force)
    sent = sender.send(said, [coder.encode(one, wish) for one in said])
    if loudspeaker is not None:
        sent = _with_echo(sender, sent, loudspeaker)
    return Call(network, by, coder, wants.buffer, sent.document, sent.folder, sent.talks, sent.rejected)


@dataclass(frozen=True)
class _Sent:
    document: Document
    folder: Path
    talks: Sequence[Talk]
    rejected: Sequence[str]


@dataclass(frozen=True)
class _Sender:
    """Everything of a call but what is said."""

    network: Network
    transport: Transport
    codec: Codec
    wish: Wish
    wants: Wants
    backend: str
    seed: int | None
    out: Path
    force: bool

    def send(self, said: Sequence[Recording], coded: Sequence[Encoded]) -> _Sent:
        """Sends the frames of each recording, and plays what comes."""
        network = self.network
        ends = (network.here, network.there)
        ways = [
            Way(name, from_, to, list(map(len, encoded.frames)), encoded.frame_ns, encoded.clock_hz)
            for name, from_, to, encoded in zip(WAYS, ends, reversed(ends), coded, strict=False)
        ]
        _check_spoken(ways)
        ways = timed(network, self.transport, ways, self.wants)
        if self.backend == "real":
            carriers = [self.transport.carrier(network, way, self.wants) for way in ways]
            told = f"a voice by {self.transport.name}"
            document = kernel.planned(
                carriers[0].network, self.seed, told, gone_ns=max(way.gone_ns for way in ways)
            )
            came, folder, rejected = kernel.carry(document, carriers, ways, coded, self.out)
        else:
            document = planned(network, self.transport, ways, self.wants, self.seed)
            folder, rejected = _run(document, self.out, self.force), []
            rows = table(folder, self.transport.table)
            came = [
                replace(
                    self.transport.arrivals(rows, way),
                    remarks=self.transport.remarks(partial(table, folder), way),
                )
                for way in ways
            ]
        talks = []
        for way, one, encoded, arrivals in zip(ways, said, coded, came, strict=True):
            heard = player.play(self.codec, encoded, arrivals, self.wants.buffer)
            clean = player.clean(self.codec, encoded)
            too_large = self._too_large(document, way, arrivals)
            talks.append(Talk(way, one, encoded, clean, arrivals, heard, too_large=too_large))
        return _Sent(document, folder, talks, rejected)

    def _too_large(self, document: Document, way: Way, arrivals: Arrivals) -> int:
        """How many frames did not come, in packets larger than the MTU of a link and than any that came."""
        mtus = [mtu for link in document.plan.data["links"] if (mtu := link["mtu"]) is not None]
        packets = self.transport.packets(way, self.wants) if mtus else None
        if packets is None:
            return 0
        lost = arrivals.complete == NEVER
        # Not every link is on the way.
        passed = packets[~lost].max(initial=0)
        return int((lost & (packets > min(mtus)) & (packets > passed)).sum())


def _with_echo(sender: _Sender, sent: _Sent, loudspeaker: Loudspeaker) -> _Sent:
    """The same call with the echo of what is played at the second host in what it sends.

    What comes decides what the echo is, and the echo's frames share the network with it. So the run is made
    with the echo of the run before until both agree.
    """
    near = sent.talks[1].said
    before, settled = _played(*sent.talks), False
    for _ in range(echo.MOST_ROUNDS):
        there, _ = sent.talks
        made = echo.taken(loudspeaker, near, before, there.encoded.rate_hz)
        coded = [there.encoded, sender.codec.encode(made.sent, sender.wish)]
        sent = sender.send([there.said, made.voice], coded)
        now = _played(*sent.talks)
        settled = now.same(before)
        if settled:
            break
        before = now
    there, back = sent.talks
    way = delay.of(there)
    quiet = sender.codec.encode(made.voice, sender.wish)
    alone = player.play(sender.codec, quiet, back.arrivals, sender.wants.buffer).values
    told = echo.Echo(
        loudspeaker,
        made.level_db,
        made.erle_db,
        made.erle_end_db,
        made.canceller_ms,
        there_ms=None if way is None else way.total_ms,
        alone=alone,
        quiet=quiet,
        settled=settled,
    )
    return replace(sent, talks=[there, replace(back, echo=told)])


def _played(there: Talk, back: Talk) -> echo.Played:
    """What the second host plays, on the clock of its microphone."""
    encoded = there.encoded
    begins = (
        int(there.arrivals.captured[0])
        + int(there.heard.wait[0])
        + encoded.lookahead * 1_000_000_000 // encoded.rate_hz
    )
    # A frame is there when its last sample is.
    opened = int(back.arrivals.captured[0]) - back.encoded.frame_ns
    return echo.Played(there.heard.values, begins - opened)


def _check_spoken(ways: Sequence[Way]) -> None:
    """Refuses a direction in which nothing is sent."""
    if any(not any(way.sizes) for way in ways):
        raise CallError("there is nothing to send: no frame of the recording has a byte")


def timed(network: Network, transport: Transport, ways: Sequence[Way], wants: Wants) -> list[Way]:
    """Directions with how long the call waits, and how their flows are called.

    Raises:
        CallError: The transport does not go over the network.
        ScenarioError: The network cannot be.
    """
    waits = times.of(network, transport, ways, wants)
    return [replace(way, times=waits, voice=network.voice) for way in ways]


def planned(
    network: Network, transport: Transport, ways: Sequence[Way], wants: Wants, seed: int | None
) -> Document:
    """The scenario of a call.

    Raises:
        CallError: The transport cannot carry it.
        ScenarioError: The network cannot be.
    """
    from voxpath.scenario import from_dict

    data = {
        **transport.scenario(network, ways, wants),
        **network.lasting(max(way.gone_ns for way in ways)),
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
