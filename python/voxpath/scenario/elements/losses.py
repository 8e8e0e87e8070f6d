"""Which packets a wire loses or damages."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, Tag, model_validator

from voxpath.scenario.elements.kinds import BY_KIND, TEXT, Planned
from voxpath.scenario.elements.traces import Traces, losses
from voxpath.scenario.quantities import PositiveSpan, Probability, Span
from voxpath.scenario.table import Table, faults


class BernoulliLoss(Table):
    """Each packet is lost independently; `loss = "0.3 %"` says the same."""

    kind: Literal["bernoulli"]
    probability: Probability = Field(description="That a packet is lost.")

    def planned(self, _traces: Traces) -> Planned:
        """The plan's loss."""
        return {"kind": "bernoulli", "p": self.probability}


class BitErrorLoss(Table):
    """Each bit is wrong independently; a packet with a wrong bit is lost."""

    kind: Literal["bit_errors"]
    rate: float = Field(ge=0, le=1, allow_inf_nan=False, description="Bit error rate, such as 1e-5.")
    form: Literal["exact", "linear"] = Field(
        "exact",
        description="exact: 1 - (1 - rate)^(8 L) for a packet of L bytes; linear: min(1, 8 L rate), "
        "the approximation of Sarkar et al. 2022.",
    )

    def planned(self, _traces: Traces) -> Planned:
        """The plan's loss."""
        return {"kind": "bit_errors", "rate": float(self.rate), "form": self.form}


class ListedLoss(Table):
    """Exactly these packets are lost, counted from 1 as they leave the serialiser."""

    kind: Literal["list"]
    packets: tuple[Annotated[int, Field(ge=1, le=2**63)], ...] = Field(
        strict=False, min_length=1, description="Ascending, without repetition."
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for index in range(1, len(self.packets)):
            if self.packets[index] <= self.packets[index - 1]:
                raise faults(
                    (
                        ("packets", index),
                        f"{self.packets[index]} does not come after {self.packets[index - 1]}",
                    )
                )
        return self

    def planned(self, _traces: Traces) -> Planned:
        """The plan's loss."""
        return {"kind": "list", "packets": list(self.packets)}


class GilbertElliottLoss(Table):
    """Losses in bursts: a chain of a good and a bad state, a step with each packet (netem's `gemodel`)."""

    kind: Literal["gilbert_elliott"]
    to_bad: Probability = Field(description="Of a step from the good state to the bad one (p).")
    to_good: Probability = Field(description="Of a step back (r): bursts have 1/r packets on average.")
    loss_bad: Probability = Field(1.0, description="Of a loss in the bad state (1 - h); '100 %' without it.")
    loss_good: Probability = Field(0.0, description="Of a loss in the good state (1 - k); '0 %' without it.")

    def planned(self, _traces: Traces) -> Planned:
        """The plan's loss."""
        return {
            "kind": "gilbert_elliott",
            "to_bad": self.to_bad,
            "to_good": self.to_good,
            "loss_good": self.loss_good,
            "loss_bad": self.loss_bad,
        }


class FourStateLoss(Table):
    """Losses in bursts and one by one: a chain of four states, a step with each packet (netem's `state`).

    1: received in a gap, 2: received in a burst, 3: lost in a burst, 4: lost in a gap, left for 1 at once.
    """

    kind: Literal["four_state"]
    p13: Probability = Field(description="Of a step from 1 to 3: a burst begins.")
    p31: Probability = Field(description="Of a step from 3 to 1: it ends.")
    p32: Probability = Field(0.0, description="Of a step from 3 to 2: a packet comes through in a burst.")
    p23: Probability = Field(1.0, description="Of a step from 2 to 3: losses go on.")
    p14: Probability = Field(0.0, description="Of a step from 1 to 4: a single packet is lost.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for key, of, total in (
            ("p13", "p13 and p14", self.p13 + self.p14),
            ("p31", "p31 and p32", self.p31 + self.p32),
        ):
            if total > 1:
                raise faults(((key,), f"{of} are steps from one state: together at most '100 %'"))
        return self

    def planned(self, _traces: Traces) -> Planned:
        """The plan's loss."""
        steps = {"p13": self.p13, "p31": self.p31, "p32": self.p32, "p23": self.p23, "p14": self.p14}
        return {"kind": "four_state", **steps}


class Outage(Table):
    """A while in which everything is lost."""

    start: Span = Field(description="From the run's start, or that of the period.")
    length: PositiveSpan = Field(description="How long it lasts.")


class OutageLoss(Table):
    """Everything is lost that leaves the serialiser during an outage."""

    kind: Literal["outages"]
    outages: tuple[Outage, ...] = Field(
        strict=False, min_length=1, description="In order, none touching another."
    )
    every: PositiveSpan | None = Field(None, description="When they start over; never without it.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        end = -1
        for index, outage in enumerate(self.outages):
            if outage.start <= end:
                raise faults((("outages", index, "start"), "must come after the end of the outage before"))
            end = outage.start + outage.length
        if self.every is not None and self.every < end:
            raise faults((("every",), "must not come before the end of the last outage"))
        return self

    def planned(self, _traces: Traces) -> Planned:
        """The plan's loss."""
        spans = [[outage.start, outage.start + outage.length] for outage in self.outages]
        return {"kind": "outages", "outages": spans, "period_ns": self.every}


class TracedLoss(Table):
    """Losses as they were recorded, packet by packet, over and over."""

    kind: Literal["trace"]
    file: str = Field(
        description="A 1 for each packet that was lost, a 0 for each other; below the scenario's directory."
    )

    def planned(self, traces: Traces) -> Planned:
        """The plan's loss.

        Raises:
            TraceError: The file is no such trace.
        """
        return {"kind": "trace", "lost": losses(traces, self.file)}


LossTable = (
    BernoulliLoss | BitErrorLoss | ListedLoss | GilbertElliottLoss | FourStateLoss | OutageLoss | TracedLoss
)

Loss = Annotated[
    Annotated[Probability, Tag(TEXT)]
    | Annotated[BernoulliLoss, Tag("bernoulli")]
    | Annotated[BitErrorLoss, Tag("bit_errors")]
    | Annotated[ListedLoss, Tag("list")]
    | Annotated[GilbertElliottLoss, Tag("gilbert_elliott")]
    | Annotated[FourStateLoss, Tag("four_state")]
    | Annotated[OutageLoss, Tag("outages")]
    | Annotated[TracedLoss, Tag("trace")],
    BY_KIND,
]


def planned_loss(loss: float | LossTable | None, traces: Traces) -> Planned:
    """The plan's loss.

    Raises:
        TraceError: A file is no such trace.
    """
    match loss:
        case None:
            return {"kind": "none"}
        case float():
            return {"kind": "bernoulli", "p": loss}
        case table:
            return table.planned(traces)
