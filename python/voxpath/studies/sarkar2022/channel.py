"""The channel of Table 3 as it is named: wrong bits, which short packets seldom have.

The publication takes a bit error rate for the probability that a packet of the longest size is lost, and then
discards packets of any size so often. Here the same downloads meet the bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.backends.formula.wire import packet_error_rate
from voxpath.document import Cell as Entry
from voxpath.document import Check, Checks, Section, Table, Text
from voxpath.results.decisions import all_of, below, negated
from voxpath.studies.base import compare, shown
from voxpath.studies.sarkar2022.questions import BIT_ERRORS, NO_LOST_ACKS, Cell
from voxpath.studies.sarkar2022.scenario import LONGEST, VARIANTS, bit_error_rate
from voxpath.studies.sarkar2022.tables import NOT_ASKED
from voxpath.studies.sarkar2022.verdicts import published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voxpath.studies.base import Comparison, Key
    from voxpath.studies.sarkar2022.questions import Found

_TIME = "completion_s"
_ACK = 40
"""Bytes of an acknowledgment: IP and TCP header without options."""

_DEEP = "10 %"


def section(found: Found, items: Mapping[Key, Comparison]) -> Section:
    """Downloads under bit errors beside those under dropped packets."""
    title = "Bit errors in place of dropped packets"
    if not found.simulated:
        return Section(title, [NOT_ASKED])
    rows: list[list[str | Entry]] = []
    for loss in found.effort.cause_losses:
        rate = bit_error_rate(loss)
        for variant in VARIANTS:
            times = [
                shown(found.summary(Cell(variant, loss, change), _TIME))
                for change in ("", BIT_ERRORS, NO_LOST_ACKS)
            ]
            rows.append(
                [
                    variant,
                    loss,
                    f"{rate:.3g}",
                    *(f"{100 * packet_error_rate(rate, size):.3g} %" for size in (LONGEST, _ACK)),
                    *times,
                ]
            )
    columns = (
        "stack",
        "packets dropped",
        "bit error rate",
        f"of {LONGEST} bytes lost",
        f"of {_ACK} bytes lost",
        "dropped, s",
        "bit errors, s",
        "no acknowledgment lost, s",
    )
    text = (
        "Table 3 equates a drop probability with a bit error rate, by the longest packet. Of "
        "acknowledgments, which are short, the same rate loses few; the publication's cloud discards them "
        "as often as data."
    )
    return Section(
        title,
        [
            Text((text,)),
            Table("Completion under both, mean and 95 % t-interval", columns, rows),
            Checks("Checks", checks(found, items)),
        ],
    )


def checks(found: Found, items: Mapping[Key, Comparison]) -> list[Check]:
    """What bit errors do that dropped packets do not."""
    said = published()["bit_errors"]
    bits = {variant: Cell(variant, _DEEP, BIT_ERRORS) for variant in VARIANTS}
    saved = {variant: found.slower(cell, cell._replace(change="")) for variant, cell in bits.items()}
    prompt = {variant: cell._replace(change=NO_LOST_ACKS) for variant, cell in bits.items()}
    apart = {variant: found.slower(cell, prompt[variant]) for variant, cell in bits.items()}
    number = items["Table 4", "response time", _DEEP].published
    judged = compare(number, found.summary(bits["riverbed16"], _TIME))
    return [
        Check(
            said["faster"],
            all_of(map(below, saved.values())),
            "; ".join(f"{variant} {shown(one)} s" for variant, one in saved.items()),
        ),
        Check(
            f"{said['acknowledgments']} Within {100 * said['share']:g} %.",
            all_of(found.as_slow(cell, prompt[variant], said["share"]) for variant, cell in bits.items()),
            "; ".join(f"{variant} {shown(one)} s apart" for variant, one in apart.items()),
        ),
        Check(
            f"{said['reach']} ({number.value:g} s)",
            negated(judged.within_reach),
            judged.reason,
        ),
    ]
