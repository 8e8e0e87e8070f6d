"""Many calls of one kind, by counts alone: what comes in time, and what the E-model makes of it.

No sound is decoded and no run is kept, so a hundred calls take about as long as one that is heard.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voxpath import _engine
from voxpath.results.frames import frame
from voxpath.results.identity import Observe
from voxpath.voice.call import buffer as jitter
from voxpath.voice.call import emodel
from voxpath.voice.call.codecs import CODECS
from voxpath.voice.call.measures.conversation import rated
from voxpath.voice.call.path import chosen, planned, timed
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.transports import TRANSPORTS
from voxpath.voice.call.transports.base import NEVER, Wants, Way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.voice.call.codecs.base import Encoded, Impairment
    from voxpath.voice.call.measures.conversation import Judged
    from voxpath.voice.call.network import Network
    from voxpath.voice.call.transports.base import Arrivals

_RUN = "run"


@dataclass(frozen=True)
class Counted:
    """A call by its counts.

    Attributes:
        judged: By the E-model; none where nothing was heard.
        delay_ms: From mouth to ear; none where no frame came.
        concealed: Share of the frames that were sent and not there when they were due; none where none was
            sent.
    """

    judged: Judged | None
    delay_ms: float | None
    concealed: float | None

    @property
    def r(self) -> float:
        """The transmission rating; its lowest where nothing was heard."""
        return 0.0 if self.judged is None else self.judged.rating.r

    @property
    def mos(self) -> float:
        """MOS-CQE; its lowest where nothing was heard."""
        return emodel.mos_of(self.r)


def many(
    network: Network,
    encoded: Encoded,
    replications: Sequence[int],
    *,
    over: str = "rtp",
    codec: str = "g711",
    buffer: str = "60 ms",
    seed: int | None = None,
) -> list[Counted]:
    """One direction of a call, over and over; the arguments are those of `voxpath.voice.call.call`.

    Args:
        network: What it crosses.
        encoded: The frames that are sent.
        replications: Numbers of the replications; each is the run that `call` makes with replication 0.
        over: A transport.
        codec: That encoded the frames; a recommendation has to know what losses do to it.
        buffer: How long the first frame waits.
        seed: Of the random streams; the scenario's own without it.

    Raises:
        CallError: Something cannot be used.
        ScenarioError: The network cannot be.
        RuntimeError: The engine failed.
    """
    transport, known = chosen(over, TRANSPORTS, "transport"), chosen(codec, CODECS, "codec").impairment
    wants = Wants(jitter.parse(buffer))
    if known is None or any(encoded.copies):
        raise CallError(
            f"{codec}: calls are counted of a codec that G.113 has, without copies in its packets"
        )
    if wants.buffer["kind"] == jitter.ADAPTIVE:
        raise CallError("calls are counted with a jitter buffer that keeps its delay")
    way = Way("there", network.here, network.there, [len(one) for one in encoded.frames], encoded.frame_ns)
    (way,) = timed(network, transport, [way], wants)
    document = planned(network, transport, [way], wants, seed)
    made, groups, error = _engine.run([(document.plan.json, replications)], Observe().json)
    if error is not None:
        raise error
    for verdict, *_ in made:
        if not (told := json.loads(verdict))["valid"]:
            raise CallError(f"a run is not valid: {'; '.join(told['problems'])}")
    found: dict[int, Counted] = {}
    for indices, tables in groups:
        whole = frame(tables[transport.table])
        rows = whole.partition_by(_RUN, as_dict=True)
        for place, index in enumerate(indices):
            # A run in which nothing was sent has no rows.
            arrivals = transport.arrivals(rows.get((place,), whole.clear()), way)
            found[index] = _counted(arrivals, encoded, known, wants)
    return [found[index] for index in range(len(made))]


def _counted(arrivals: Arrivals, encoded: Encoded, known: Impairment, wants: Wants) -> Counted:
    asked = jitter.waits(arrivals, wants.buffer)
    came = np.flatnonzero(asked != NEVER)
    sent = arrivals.sent != NEVER
    if not len(came):
        return Counted(None, None, 1.0 if sent.any() else None)
    wait = int(asked[came[np.argmin(arrivals.complete[came])]])
    late = (arrivals.complete != NEVER) & (arrivals.complete > arrivals.captured + wait)
    missing = late | (arrivals.complete == NEVER)
    share = float(late.sum()) / max(1, int(missing[sent].sum()))
    delay_ms = encoded.frame_ns / 1e6 + 1000 * encoded.lookahead / encoded.rate_hz + wait / 1e6
    if missing[sent].all():
        return Counted(None, delay_ms, 1.0)
    return Counted(rated(known, delay_ms, missing[sent], share), delay_ms, float(missing[sent].mean()))
