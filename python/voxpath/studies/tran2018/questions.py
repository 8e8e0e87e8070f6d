"""What is asked, and what comes back: the delays of requests, with the signal that they met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from voxpath.backends.base import Question
from voxpath.results.energy import RADIOS, Energy, energy
from voxpath.results.identity import Observe
from voxpath.results.tables import tables
from voxpath.studies.tran2018.networks import LENGTH_S, PATHS, node
from voxpath.studies.tran2018.printed import MOBILE, MOBILITIES, STATIONARY, setting
from voxpath.studies.tran2018.scenario import BELGIUM, TCP, TOKYO, application, mptcp, voice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from voxpath.results.answers import Variant
    from voxpath.studies.base import Ask

AS_TCP, DEFAULT, SERVER = "TCP", "MPTCP Default", "MPTCP Server"
NO_IR = " No-IR"
"""Without intermediate responses."""

MULTIPATH = (DEFAULT, SERVER, DEFAULT + NO_IR, SERVER + NO_IR)
"""The four configurations of Figure 6."""

PUBLISHED = (AS_TCP, *MULTIPATH)

_TRANSPORTS: Mapping[str, Mapping[str, Any]] = {
    AS_TCP: TCP,
    DEFAULT: mptcp(),
    SERVER: mptcp(server="server"),
}

SCHEDULERS = ("round_robin", "redundant", "blest", "ecf", "linux")
NO_TLP = ", no TLP"

BEYOND: Mapping[str, Mapping[str, Any]] = {
    **{name: mptcp(name) for name in SCHEDULERS},
    "MPTCP Server at both ends": mptcp("server"),
    "MPTCP Server, client's oracle": mptcp(server="server", joins="on_doubt"),
    "MPTCP Default, LIA": mptcp(coupling="lia"),
    "MPTCP Default, BALIA": mptcp(coupling="balia"),
    "MPTCP Default, uncoupled": mptcp(coupling=None),
}
"""What the publication does not have, on the same networks; with intermediate responses."""

FLAWED = "MPTCP Default, the tool's rules"
"""With both rules of the published tool switched on."""


def transport(name: str) -> Mapping[str, Any]:
    """Who carries the requests of a configuration."""
    bare = name.removesuffix(NO_TLP).removesuffix(NO_IR)
    return _TRANSPORTS.get(bare) or BEYOND.get(bare) or _TRANSPORTS[DEFAULT]


def stack(name: str) -> Mapping[str, Any]:
    """What differs from Linux' own TCP on both hosts."""
    return {"loss_probe": False} if name.endswith(NO_TLP) else {}


def app(name: str) -> dict[str, Any]:
    """The traffic of a configuration."""
    rules = {"answer_each_read": True, "answer_in_one_read": True} if name == FLAWED else {}
    return application(intermediate=NO_IR not in name, **rules)


class Cell(NamedTuple):
    """Nodes of a kind, with a configuration, towards a server."""

    mobility: str
    name: str
    server: str = BELGIUM


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
        nodes: Of each kind.
        repetitions: Of the publication's configurations.
        beyond: Of all others.
        far: Whether the far server is asked too.
    """

    nodes: Mapping[str, int]
    repetitions: int
    beyond: int
    far: bool


def _nodes() -> Mapping[str, int]:
    return {STATIONARY: setting("stationary_nodes"), MOBILE: setting("mobile_nodes")}


FULL = Effort(_nodes(), setting("repetitions"), setting("repetitions"), far=True)
QUICK = Effort({STATIONARY: 14, MOBILE: 20}, 1, 1, far=False)


def cells(effort: Effort) -> dict[Cell, int]:
    """Every cell, and how many repetitions it has."""
    asked = {Cell(mobility, name): effort.repetitions for mobility in MOBILITIES for name in PUBLISHED}
    tlp = [AS_TCP + NO_TLP, *(name + NO_TLP for name in MULTIPATH)]
    for name in (*BEYOND, *tlp, *(name + NO_IR for name in SCHEDULERS), FLAWED):
        asked[Cell(MOBILE, name)] = effort.beyond
    if effort.far:
        asked |= {
            Cell(mobility, name, TOKYO): effort.repetitions for mobility in MOBILITIES for name in PUBLISHED
        }
    return asked


WEIGHED = (AS_TCP, DEFAULT, SERVER, "redundant")
"""Whose energy is told, of mobile nodes, from every packet of the first repetition."""
RADIO = "lte"


class Run(NamedTuple):
    """A minute of a node."""

    cell: Cell
    number: int
    repetition: int


def questions(effort: Effort) -> dict[Run, Question]:
    """Every run; all configurations meet the same networks."""
    return {
        Run(cell, number, repetition): Question(
            voice(
                cell.mobility,
                number,
                repetition,
                transport(cell.name),
                app(cell.name),
                cell.server,
                stack(cell.name),
            ),
            observe=Observe(packets=True) if _is_weighed(cell, repetition) else None,
        )
        for cell, repetitions in cells(effort).items()
        for number in range(effort.nodes[cell.mobility])
        for repetition in range(repetitions)
    }


def _is_weighed(cell: Cell, repetition: int) -> bool:
    return cell.name in WEIGHED and cell.mobility == MOBILE and cell.server == BELGIUM and repetition == 0


class Requests(NamedTuple):
    """The requests of a cell, an entry for each.

    Attributes:
        delay_s: Response delay; infinite where there was no answer until the end.
        rssi_dbm: Of the default network when the last packet was sent.
        node: Whose it is.
    """

    delay_s: NDArray[np.float64]
    rssi_dbm: NDArray[np.float64]
    node: NDArray[np.int64]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which of them have an answer."""
        return np.isfinite(self.delay_s)


class Found:
    """What came back."""

    def __init__(self, effort: Effort, answers: Mapping[Run, Variant]) -> None:
        """Takes the answers, and reads their tables at once."""
        self.effort = effort
        runs = list(answers)
        outcomes = [[one for one in answers[run].outcomes if one.valid] for run in runs]
        self._requests = _by_cell(runs, tables(outcomes, "requests"), _delays)
        self._subflows = _by_cell(runs, tables(outcomes, "connections"), _shares)
        self._flaws = _by_cell(runs, tables(outcomes, "flaws"), lambda _, frame: frame)
        weighed = [place for place, run in enumerate(runs) if _is_weighed(run.cell, run.repetition)]
        packets = tables([outcomes[place] for place in weighed], "packets")
        self._energies = _by_cell([runs[place] for place in weighed], packets, _energies)

    def cells(self) -> list[Cell]:
        """Those that have an answer."""
        return list(self._requests)

    def requests(self, cell: Cell) -> Requests:
        """The requests of a cell; none if it was not asked."""
        parts = self._requests.get(cell, [])
        if not parts:
            return Requests(np.empty(0), np.empty(0), np.empty(0, np.int64))
        return Requests(
            np.concatenate([part.delay_s for part in parts]),
            np.concatenate([part.rssi_dbm for part in parts]),
            np.concatenate([part.node for part in parts]),
        )

    def subflows(self, cell: Cell) -> NDArray[np.float64]:
        """Of each run: its node, octets by the first subflow and by others, data segments that were sent."""
        return np.array(self._subflows.get(cell, []))

    def energies(self, cell: Cell) -> list[dict[str, Energy]]:
        """What the radio of each path took, of each run whose packets are known."""
        return self._energies.get(cell, [])

    def flaws(self, cell: Cell) -> dict[str, int]:
        """How often the published tool's rules did something, or would have."""
        frames = self._flaws.get(cell, [])
        if not frames:
            return {}
        whole = pl.concat(frames).select(pl.col("^answers_.*$").sum())
        return {name: int(value) for name, value in whole.row(0, named=True).items()}


_T = TypeVar("_T")


def _by_cell(
    runs: Sequence[Run], frames: Sequence[pl.DataFrame], of: Callable[[Run, pl.DataFrame], _T]
) -> dict[Cell, list[_T]]:
    found: dict[Cell, list[_T]] = {}
    for run, frame in zip(runs, frames, strict=True):
        if not frame.is_empty():
            found.setdefault(run.cell, []).append(of(run, frame))
    return found


def _delays(run: Run, frame: pl.DataFrame) -> Requests:
    sent = frame.get_column("last_byte_sent_ns")
    spoken = frame.filter(sent.is_not_null())
    at, done = spoken.get_column("last_byte_sent_ns"), spoken.get_column("completed_ns")
    delay = (done.cast(pl.Float64) - at.cast(pl.Float64)) / 1e9
    rssi = node(run.cell.mobility, run.number, run.repetition)[PATHS[0]].rssi_dbm
    seconds = (at // 1_000_000_000).to_numpy()
    return Requests(
        delay.fill_null(np.inf).to_numpy(), rssi[seconds], np.full(spoken.height, run.number, np.int64)
    )


def _energies(run: Run, frame: pl.DataFrame) -> dict[str, Energy]:
    """A packet takes the node's energy when it sends it, and when it comes."""
    del run
    passes = {path: ((f"{path} ab", "enqueued"), (f"{path} ba", "delivered")) for path in PATHS}
    found = {}
    for path, ways in passes.items():
        own = [
            frame.filter(pl.col("link") == link, pl.col("action") == action).with_columns(up=pl.lit(way == 0))
            for way, (link, action) in enumerate(ways)
        ]
        rows = pl.concat(own)
        found[path] = energy(
            RADIOS[RADIO],
            rows["time_ns"].to_numpy() / 1e9,
            8 * rows["ip_bytes"].to_numpy().astype(float),
            rows["up"].to_numpy(),
            float(LENGTH_S),
        )
    return found


def _shares(run: Run, frame: pl.DataFrame) -> tuple[float, ...]:
    """What each end received by the first subflow and by all others, and all data segments."""
    first = frame.filter(pl.col("subflow").fill_null(1) == 1)
    own = float(first.get_column("bytes_delivered").sum())
    others = float(frame.get_column("bytes_delivered").sum()) - own
    return (float(run.number), own, others, float(frame.get_column("data_segments_sent").sum()))


SIM = "sim"


def ask_all(ask: Ask, effort: Effort) -> Found:
    """Asks everything."""
    asked = questions(effort)
    return Found(effort, dict(zip(asked, ask(list(asked.values()), (SIM,)), strict=True)))
