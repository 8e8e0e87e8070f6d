"""Which answers are shown: of which metrics, in which order, and who has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from voxpath.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from voxpath.results.answers import Answers, Line

_What = TypeVar("_What")

MAIN_METRICS = (
    "completion_s",
    "goodput_bps",
    "response_p50_ns",
    "response_p95_ns",
    "partial_p50_ns",
    "partial_p95_ns",
    "final_latency_s",
    "update_p50_ns",
    "update_p95_ns",
    "after_audio_s",
    "total_factor",
    "delay_p50_ns",
    "delay_p95_ns",
    "jitter_ns",
    "datagrams_lost",
    "client_media_received_bps",
    "server_media_received_bps",
    "client_queueing_p95_ns",
    "client_media_loss",
    "client_video_delay_p95_ns",
    "client_video_unplayed",
    "client_audio_delay_p95_ns",
    "client_audio_unplayed",
)
"""What is compared where nothing is asked for."""


def wanted(lines: Sequence[Line], metrics: Sequence[str]) -> list[str]:
    """The metrics that are asked for, or the main ones.

    Raises:
        ValueError: No line has such a metric.
    """
    known = list(dict.fromkeys(line.row.metric for line in lines))
    for metric in metrics:
        if metric not in known:
            raise ValueError(f"{metric!r} is not among the answers; {did_you_mean(metric, known)}")
    return list(metrics or [metric for metric in MAIN_METRICS if metric in known] or known)


def chosen(lines: Sequence[Line], metrics: Sequence[str]) -> list[Line]:
    """The lines of some metrics that have an answer, metric by metric and flow by flow.

    Raises:
        ValueError: No line has such a metric.
    """
    order = wanted(lines, metrics)
    flows = list(dict.fromkeys(line.row.entity for line in lines))
    answered = [line for line in lines if line.row.metric in order and line.row.value is not None]
    return sorted(answered, key=lambda line: (order.index(line.row.metric), flows.index(line.row.entity)))


def grouped(refusals: Mapping[tuple[str, str], _What]) -> dict[tuple[str, _What], list[str]]:
    """The estimators that decline the same for the same reason; of what each declines for which."""
    found: dict[tuple[str, _What], list[str]] = {}
    for (estimator, reason), what in refusals.items():
        found.setdefault((reason, what), []).append(estimator)
    return found


def declined(answers: Answers, metrics: Collection[str] = ()) -> Iterator[tuple[list[str], list[str], str]]:
    """Who has no answer, for which flows in how many cells, and why; of all metrics if none is named."""
    rows = (
        (index, row)
        for index, variant in enumerate(answers.variants)
        for row in variant.rows
        if not metrics or row.metric in metrics
    )
    silent: dict[tuple[str, str], dict[str, set[int]]] = {}
    for index, row in rows:
        if row.status == "not applicable":
            silent.setdefault((row.estimator, row.reason), {}).setdefault(row.entity, set()).add(index)
    counted = {
        key: tuple((flow, len(cells)) for flow, cells in flows.items()) for key, flows in silent.items()
    }
    for (reason, flows), estimators in grouped(counted).items():
        one = len(answers.variants) == 1
        yield estimators, [flow if one else f"{flow} in {_cells_of(count)}" for flow, count in flows], reason


def _cells_of(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
