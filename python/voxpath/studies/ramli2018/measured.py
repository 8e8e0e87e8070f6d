"""What one utterance took, alike for the programs of a real run and for the simulated application."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from voxpath.studies.ramli2018.scenario import SPEECH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from voxpath.results.outcome import Outcome

CLIENT = "client1"
"""The host of the speaker."""


@dataclass(frozen=True)
class Measured:
    """An utterance of one run.

    Attributes:
        utterance: Its name.
        replication: Of the run.
        length_s: How long it sounds.
        session_s: From the opening of the connection to the final result: what a browser tells.
        response_s: From the last octet of audio sent to the final result.
        total_factor: From the first octet sent to the final result, per second of audio.
        decoding_s: The recogniser's time.
        errors: Word error rate; none where nothing is recognised.
        transcript: What was understood; empty where nothing is recognised.
    """

    utterance: str
    replication: int
    length_s: float
    session_s: float
    response_s: float
    total_factor: float
    decoding_s: float
    errors: float | None = None
    transcript: str = ""

    @property
    def decoding_factor(self) -> float:
        """The recogniser's time per second of audio."""
        return self.decoding_s / self.length_s

    @property
    def network_s(self) -> float:
        """What of the session is not the recogniser's time: the connection, the audio's way, the result's."""
        return self.session_s - self.decoding_s


def of_programs(outcomes: Iterable[Outcome]) -> Iterator[Measured]:
    """What the clients of real runs said; how late a run was has nothing to do with what it found.

    Raises:
        RuntimeError: An utterance was not recognised.
    """
    for outcome in outcomes:
        if outcome.valid:
            yield from of_program(outcome.folder, outcome.replication)


def of_program(folder: Path, replication: int) -> Iterator[Measured]:
    """What the client of a real run said.

    Raises:
        RuntimeError: An utterance was not recognised.
    """
    for told in json.loads((folder / "programs" / f"{CLIENT}.stdout").read_bytes()):
        if told["status"] != 0 or told["final_s"] is None:
            raise RuntimeError(
                f"{folder}: {told['name']} ended with status {told['status']}: {told['message']}"
            )
        yield Measured(
            told["name"].rpartition("/")[2],
            replication,
            told["length_s"],
            told["final_s"],
            told["latency_s"],
            told["total_factor"],
            told["decoding_s"],
            told["word_error_rate"],
            told["transcript"],
        )


def of_flows(utterance: str, flows: pl.DataFrame) -> Iterator[Measured]:
    """What the simulated client measured.

    Raises:
        RuntimeError: A session had no result within its run.
    """
    if flows.is_empty():
        return
    for row in flows.filter(pl.col("flow") == SPEECH).iter_rows(named=True):
        if row["final_ns"] is None:
            raise RuntimeError(f"{utterance}, replication {row['replication']}: {row['status']}, no result")
        yield Measured(
            utterance,
            row["replication"],
            row["audio_ns"] / 1e9,
            (row["final_ns"] - row["start_ns"]) / 1e9,
            row["after_audio_s"],
            row["total_factor"],
            row["decoding_total_ns"] / 1e9,
        )
