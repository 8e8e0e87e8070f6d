"""The books of a network that has ended: its verdict at once, its tables when somebody wants them.

Frames cost the start of polars, which is most of what `voxpath exec` would add to a short command.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voxpath.results.outcome import Found

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from voxpath.backends.real.programs import Programs
    from voxpath.results.frames import Tables

_OF_PROGRAMS = ("samples", "programs", "subflows")
"""What the engine tells of programs' connections beside a run's tables: values over time, their ends, and
which of
them are subflows of what."""


@dataclass(frozen=True)
class Books:
    """What came of a run.

    Attributes:
        plan: What ran.
        verdict: Whether it is valid, and why not.
        fidelity: How late it was, and what its hosts waited for.
        environment: What may differ between two runs of one identity.
        tables: As the engine gives them.
        captures: Of each host that was captured.
        programs: Those of the scenario, which have ended.
        written: What they wrote to files, by name.
        by_browsers: Tables of what browsers among them told.
    """

    plan: Mapping[str, Any]
    verdict: Mapping[str, Any]
    fidelity: Mapping[str, Any]
    environment: dict[str, Any]
    tables: Tables
    captures: Mapping[str, bytes]
    programs: Programs
    written: Mapping[str, bytes]
    by_browsers: Mapping[str, pl.DataFrame]

    def found(self) -> Found:
        """The run with its tables as files."""
        from voxpath.results.frames import parquet

        files = {f"{name}.parquet": parquet(rows) for name, rows in self._frames().items()}
        files |= {f"captures/{host}.pcapng": packets for host, packets in self.captures.items()}
        files |= {"fidelity.json": json.dumps(self.fidelity).encode(), **self.written}
        if self.programs.all:
            files["programs.parquet"] = parquet(self.programs.table())
        return Found(json.dumps(self.verdict), files, self.environment)

    def connections(self) -> pl.DataFrame:
        """TCP connections of programs, by the names of their hosts; no rows where there were none."""
        from voxpath.backends.real import connections
        from voxpath.results.frames import frame

        seen, subflows = (frame(self.tables[name]) for name in ("programs", "subflows"))
        return connections.named(seen, self.plan, subflows)

    def _frames(self) -> dict[str, pl.DataFrame]:
        import polars as pl

        from voxpath.backends.real import connections
        from voxpath.results.frames import frame, framed

        samples, seen, subflows = (frame(self.tables[name]) for name in _OF_PROGRAMS)
        frames = framed({name: table for name, table in self.tables.items() if name not in _OF_PROGRAMS})
        if "series" in frames:
            frames["series"] = connections.joined(frames["series"], samples, seen, self.plan, subflows)
        if not seen.is_empty():
            known = [frames["connections"]] if "connections" in frames else []
            frames["connections"] = pl.concat([*known, connections.named(seen, self.plan, subflows)])
        for name, rows in self.by_browsers.items():
            known = [frames[name]] if name in frames else []
            frames[name] = pl.concat([*known, rows], how="diagonal_relaxed")
        return frames
