"""voxpath from Python: load a scenario, run it, look at frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import polars as pl

    from voxpath.backends.base import Row
    from voxpath.scenario import Document


@dataclass(frozen=True)
class Result:
    """What runs of a scenario gave.

    Attributes:
        flows: One row per replication and flow; columns as in the metric dictionary.
        rows: Means and intervals of the simulator, and the formulas' estimates.
        folders: The runs, replication by replication.
    """

    flows: pl.DataFrame
    rows: Sequence[Row]
    folders: Sequence[Path]


def load(source: Path | str | Mapping[str, Any]) -> Document:
    """A scenario from a file, or from a dictionary with the keys and texts of a file.

    Raises:
        ScenarioError: The scenario cannot run; every problem is listed.
    """
    from voxpath import scenario

    return scenario.read(source) if isinstance(source, (str, Path)) else scenario.from_dict(source)


def run(
    document: Document,
    replications: int = 1,
    *,
    out: Path | str = "runs",
    observe: Collection[str] = (),
    capture: Collection[str] = (),
    jobs: int = 1,
    force: bool = False,
) -> Result:
    """Runs a scenario; runs that are in `out` already are not repeated.

    Args:
        document: The scenario.
        replications: How many runs, which differ in their random streams alone.
        out: Directory of the store.
        observe: What to record besides the results: `tcp`, `packets`.
        capture: Hosts whose packets are captured.
        jobs: Worker processes. With more than one, a script needs the usual `if __name__ == "__main__":`.
        force: Make runs anew that are there already.

    Raises:
        ValueError: There is nothing of that name to observe or capture.
        RuntimeError: The engine failed; this is a bug of ours.
        StoreError: The results cannot be written.
    """
    from voxpath.backends.base import Question
    from voxpath.backends.formula import FormulaBackend
    from voxpath.backends.sim import SimBackend, flows, observation, rows

    question = Question(document, range(replications))
    observed = observation(document, observe, capture)
    (outcomes,) = SimBackend(Path(out), jobs, observed, force).run([question])
    frame = flows(outcomes)
    (formulas,) = FormulaBackend().answer([question])
    return Result(frame, [*rows(frame), *formulas], [outcome.folder for outcome in outcomes])
