"""Tables of answers for the terminal: a run's flows, the cells of a sweep, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath import terminal
from voxpath.names import listed
from voxpath.results.intervals import relative
from voxpath.results.metrics import shown as shown_as
from voxpath.results.rows import Wholes
from voxpath.results.selection import declined, grouped
from voxpath.scenario.sweep import short_names, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from voxpath.document import Table
    from voxpath.real_tables import Runs
    from voxpath.results.answers import Answers, Line
    from voxpath.results.rows import Row

_SHOWN_FLOWS = 20
_SHOWN_LINES = 200

_COLUMNS = (
    ("completion s", ("completion_s",), 1.0),
    ("response ms", ("response_p50_ns",), 1e-6),
    ("response ms, p95", ("response_p95_ns",), 1e-6),
    ("partial ms", ("partial_p50_ns",), 1e-6),
    ("partial ms, p95", ("partial_p95_ns",), 1e-6),
    ("final result s", ("final_latency_s",), 1.0),
    ("update ms", ("update_p50_ns",), 1e-6),
    ("update ms, p95", ("update_p95_ns",), 1e-6),
    ("real-time factor", ("total_factor",), 1.0),
    ("goodput Mbit/s", ("goodput_bps",), 1e-6),
    ("sent again", ("client_retransmissions", "server_retransmissions"), 1.0),
    ("timeouts", ("client_timeouts", "server_timeouts"), 1.0),
    ("delay ms", ("delay_p50_ns",), 1e-6),
    ("delay ms, p95", ("delay_p95_ns",), 1e-6),
    ("delay ms, max", ("delay_max_ns",), 1e-6),
    ("jitter ms", ("jitter_ns",), 1e-6),
    ("lost", ("datagrams_lost",), 1.0),
    ("there Mbit/s", ("client_media_received_bps", "leg_client_media_received_bps"), 1e-6),
    ("back Mbit/s", ("server_media_received_bps", "leg_server_media_received_bps"), 1e-6),
    (
        "media lost %",
        ("client_media_loss", "server_media_loss", "leg_client_media_loss", "leg_server_media_loss"),
        100.0,
    ),
    (
        "queueing ms, p95",
        (
            "client_queueing_p95_ns",
            "server_queueing_p95_ns",
            "leg_client_queueing_p95_ns",
            "leg_server_queueing_p95_ns",
        ),
        1e-6,
    ),
    (
        "video ms, p95",
        ("client_video_delay_p95_ns", "server_video_delay_p95_ns", "leg_server_video_delay_p95_ns"),
        1e-6,
    ),
    (
        "video not played",
        ("client_video_unplayed", "server_video_unplayed", "leg_server_video_unplayed"),
        1.0,
    ),
    (
        "audio ms, p95",
        ("client_audio_delay_p95_ns", "server_audio_delay_p95_ns", "leg_server_audio_delay_p95_ns"),
        1e-6,
    ),
    (
        "audio not played",
        ("client_audio_unplayed", "server_audio_unplayed", "leg_server_audio_unplayed"),
        1.0,
    ),
    ("layers", ("leg_layers_mean",), 1.0),
    ("window back s", ("window_recovery_s",), 1.0),
    ("messages", ("messages_published", "messages_received", "messages_in", "coap_messages"), 1.0),
    ("readings", ("coap_readings",), 1.0),
    ("age ms", ("coap_age_p50_ns",), 1e-6),
    ("age ms, p95", ("coap_age_p95_ns",), 1e-6),
    ("undelivered", ("messages_undelivered", "coap_undelivered"), 1.0),
    ("again", ("messages_duplicated", "messages_again", "coap_duplicates"), 1.0),
    ("dropped", ("messages_dropped",), 1.0),
    ("longest queue", ("longest_queue",), 1.0),
    ("delivery ms", ("delivery_p50_ns", "latency_p50_ns", "coap_delivery_p50_ns"), 1e-6),
    ("delivery ms, p95", ("delivery_p95_ns", "latency_p95_ns", "coap_delivery_p95_ns"), 1e-6),
    ("bodies kB", ("body_bytes", "coap_bodies_bytes"), 1e-3),
    ("MQTT kB", ("mqtt_bytes",), 1e-3),
    ("CoAP kB", ("coap_bytes",), 1e-3),
    ("IP kB", ("ip_bytes",), 1e-3),
)
"""Title, metrics and scale of the columns; of two ends the one that has more to tell is shown."""

_SPARE = (
    "timeouts",
    "audio not played",
    "audio ms, p95",
    "window back s",
    "longest queue",
    "bodies kB",
    "jitter ms",
    "delay ms, max",
    "real-time factor",
    "partial ms, p95",
    "update ms, p95",
    "sent again",
    "delay ms, p95",
    "response ms, p95",
    "partial ms",
    "update ms",
    "age ms, p95",
)
"""What a narrow terminal leaves out, the least important first."""

_SPARE_OF_COMPARISON = ("n", "p95", "median")
_ABOVE_COMPARISON = ("metric", "flow", "source")


def print_rows(name: str, rows: Sequence[Row], replications: int) -> None:
    """One line per flow and estimator that has an answer, and why the others have none."""
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    silent: dict[str, dict[str, list[str]]] = {}
    flows = list(dict.fromkeys(row.entity for row in rows))
    shown = set(flows[:_SHOWN_FLOWS])
    for row in rows:
        if row.entity in shown and row.status == "not applicable":
            entities = silent.setdefault(row.estimator, {}).setdefault(row.reason, [])
            entities.extend({row.entity}.difference(entities))
        elif row.entity in shown:
            lines.setdefault((row.entity, row.estimator), {})[row.metric] = row
    ordered = sorted(lines.items(), key=lambda line: flows.index(line[0][0]))
    wholes = Wholes(rows)
    cells = [[*names, *_cells(found, wholes)] for names, found in ordered]
    columns = ["flow", "estimator", *(title for title, _, _ in _COLUMNS), "incomplete"]
    used = [index for index in range(len(columns)) if any(line[index] for line in cells)]
    out = terminal.console()
    title = f"{name}: {_spread(replications)}"
    if cells:
        shown_cells = [[line[i] for i in used] for line in cells]
        terminal.print_table(title, [columns[i] for i in used], shown_cells, _SPARE, out)
    refusals = {
        (estimator, reason): tuple(entities)
        for estimator, reasons in silent.items()
        for reason, entities in reasons.items()
    }
    for (reason, refused), estimators in grouped(refusals).items():
        out.print(f"{_do_not_apply(estimators)} to {listed(refused)}: {reason}")
    if len(flows) > len(shown):
        out.print(f"{len(flows) - len(shown)} flows more stand in flows.parquet")


def _do_not_apply(estimators: Sequence[str]) -> str:
    return f"{listed(estimators)} {'does' if len(estimators) == 1 else 'do'} not apply"


def _cells(found: Mapping[str, Row], wholes: Wholes) -> list[str]:
    cells = []
    for _, metrics, scale in _COLUMNS:
        answered = [row for metric in metrics if (row := found.get(metric)) and row.value is not None]
        best = max(answered, key=lambda row: row.value or 0.0, default=None)
        cells.append("" if best is None else wholes.told(best, scale))
    reasons = {row.metric: row.reason for row in found.values() if row.status == "incomplete"}
    if len(reasons) == len(found) and len(set(reasons.values())) == 1:
        return [*cells, next(iter(reasons.values()))]
    return [*cells, "; ".join(f"{metric} {reason}" for metric, reason in reasons.items())]


def print_sweep(name: str, answers: Answers, replications: int) -> None:
    """One line per cell, flow and estimator that has an answer, and why the others have none."""
    lines: list[list[str]] = []
    for variant in answers.variants:
        found: dict[tuple[str, str], dict[str, Row]] = {}
        for row in variant.rows:
            if row.status != "not applicable":
                found.setdefault((row.entity, row.estimator), {})[row.metric] = row
        axes = [text_of(variant.values[axis]) for axis in answers.axes]
        lines += [[*axes, *names, *_cells(rows, variant.wholes)] for names, rows in found.items()]
    columns = [
        *short_names(answers.axes),
        "flow",
        "estimator",
        *(title for title, _, _ in _COLUMNS),
        "incomplete",
    ]
    cells = len(answers.variants)
    title = f"{name}: {_spread(replications)}" + (f", in each of {cells} cells" if cells > 1 else "")
    _print_used(title, columns, lines, _SPARE, above=("flow",))
    _print_declined(declined(answers))


def _print_declined(found: Iterable[tuple[list[str], list[str], str]]) -> None:
    out = terminal.console()
    for estimators, where, reason in found:
        out.print(f"{_do_not_apply(estimators)} to {listed(where)}: {reason}")


def print_document(table: Table) -> None:
    """A table of a report, with what must be known to read it."""
    rows = [[str(cell) for cell in row] for row in table.rows]
    terminal.print_table(table.title, table.columns, rows, table.spare)
    for note in table.notes:
        terminal.console().print(note)


def print_comparison(answers: Answers, lines: Sequence[Line]) -> None:
    """One line per metric, flow, source, cell and estimator; `Answers.lines` says what is compared."""
    cells = []
    for line in lines:
        row, read = line.row, shown_as(line.row.metric)
        if row.value is None:
            continue
        cells.append(
            [
                read.title,
                row.entity,
                line.variant.source,
                *(text_of(line.variant.values.get(axis, "")) for axis in answers.axes),
                row.estimator,
                line.value,
                *([str(found.scaled(read.factor)) for found in line.quantiles] or ["", ""]),
                str(row.n),
                "" if line.difference is None else relative(line.difference),
                row.reason,
            ]
        )
    columns = ["metric", "flow", "source", *short_names(answers.axes), "estimator"]
    columns += ["mean ± t", "median", "p95", "n", "difference", "incomplete"]
    same = {"source"} if len({variant.source for variant in answers.variants}) == 1 else set()
    title = "intervals are of 95 %; runs are compared with the first cell's, other answers with these"
    _print_used(title, columns, cells, _SPARE_OF_COMPARISON, same, _ABOVE_COMPARISON)
    _print_declined(declined(answers, {line.row.metric for line in lines}))


def _print_used(
    title: str,
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    spare: Sequence[str],
    hidden: Collection[str] = (),
    above: Sequence[str] = (),
) -> None:
    """A table without the columns that are empty or hidden."""
    used = [
        index
        for index, column in enumerate(columns)
        if column not in hidden and any(line[index] for line in lines)
    ]
    out = terminal.console()
    shown = [[line[index] for index in used] for line in lines[:_SHOWN_LINES]]
    terminal.print_table(title, [columns[index] for index in used], shown, spare, out, above)
    if len(lines) > len(shown):
        out.print(f"{len(lines) - len(shown)} lines more; --save FILE writes all of them")


def _spread(replications: int) -> str:
    return f"mean and 95 % t-interval of {replications} replications" if replications > 1 else "one run"


def print_programs(runs: Runs) -> None:
    """Prints what programs did, where there were any."""
    from voxpath.real_tables import tables_of, unknown

    for table in tables_of(runs):
        print_document(table)
    for _, folder in runs:
        if reason := unknown(folder):
            terminal.console().print(f"{folder}: TCP connections of programs are not known: {reason}")
