"""The study: runs, checks each sentence, and puts the report together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Check, Checks, Facts, Lead, Report, Section, Table, Text
from voxpath.studies.base import COMPUTE, Answer, Study, checks_of, decided, held, origin
from voxpath.studies.ficiu2023 import claims, experiment, figures, image, listening, several
from voxpath.studies.ficiu2023.experiment import FULL, QUICK, published, run_all

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from typing import TypeVar

    from voxpath.studies.base import Ask
    from voxpath.studies.ficiu2023.experiment import Course, Effort, Trial

    K = TypeVar("K", bound=Hashable)


def run(ask: Ask, quick: bool) -> Answer:
    """Runs everything here: there is no network to ask about."""
    del ask
    effort = QUICK if quick else FULL
    first = _courses(experiment.figure1(effort))
    second = _courses(experiment.figure2(effort, "speech"))
    spoken = _courses(experiment.figure2(effort, "recorded"))
    exact1, exact2 = (_courses(one(effort)) for one in (experiment.exact1, experiment.exact2))
    drawn = {curve: found for curve, found in first.items() if curve in experiment.CURVES}
    figures_ = [
        figures.plot(
            drawn, "Figure 1: noise, signs change", "As the publication's Figure 1.", effort.after1, exact1
        ),
        figures.plot(
            second,
            "Figure 2: synthetic syllables, microphones swapped",
            "As Figure 2.",
            effort.after2,
            exact2,
        ),
        figures.plot(spoken, "Figure 2: recorded speech, microphones swapped", "As Figure 2.", effort.after2),
    ]
    late = figures.late(_courses(experiment.late(effort)), first)
    tables = [
        figures.numbers(first, "Figure 1 in numbers"),
        figures.numbers(second, "Figure 2 in numbers: synthetic syllables"),
        figures.numbers(spoken, "Figure 2 in numbers: recorded speech"),
    ]
    checks = [
        Checks("Figure 1", [*claims.of_figure1(first), *claims.of_exact(first, exact1), *late]),
        Checks(
            "Figure 2, synthetic syllables",
            [*claims.of_figure2(second), *claims.of_exact(second, exact2)],
        ),
        Checks("Figure 2, recorded speech", claims.of_figure2(spoken)),
        Checks("Beside an independent implementation", claims.of_peer(first)),
    ]
    sections = [
        _set_up(effort, quick),
        Section("Figures 1 and 2", [*figures_, *checks, *tables]),
        image.section(image.moves(effort.stretches)),
        listening.section(),
        figures.misprints(_courses(experiment.misprints(effort))),
        figures.landscape(_courses(experiment.landscape(effort)), effort),
        figures.word_lengths(_courses(experiment.word_lengths(effort)), effort),
        several.section(several.run_all(effort)),
        Section("What a sample costs", [figures.cost()]),
    ]
    every = checks_of(sections)
    tally = held(every)
    report = Report(
        "Stereophonic echo cancellation: Ficiu, Stanciu, Paleologu and Albu 2023",
        "Does using each sample several times let WL-RLS-DCD track faster, what does it cost, and are the "
        "published equations right?",
        [tally],
        sections,
        origin("ficiu2023", quick, replications=str(effort.replications)),
        Lead(_sentence(checks[0].checks[0], first, every), figures_[0], checks[0].checks[0].claim),
    )
    rows = [
        [group.title, check.claim, check.verdict, check.evidence]
        for section in sections
        for group in section.parts
        if isinstance(group, Checks)
        for check in group.checks
    ]
    columns = ("where", "claim", "verdict", "evidence")
    table = Table("Ficiu et al. 2023", columns, rows, (tally,), ("evidence", "where"))
    return Answer(table, [], report)


def _sentence(first: Check, courses: claims.Courses, every: Sequence[Check]) -> str:
    """What became of the claim that the method is published for, and of the others."""
    won = claims.sooner(courses).values()
    means = [one.mean for one in won if one is not None]
    by = f"{min(means):.0f} to {max(means):.0f}" if means else "an unknown number of"
    told = (
        f"after a change the misalignment is back at {claims.HALF_WAY_DB:g} dB {by} samples sooner with each "
        "step to a larger N_it"
    )
    counted = [check for check in every if not check.set_aside]
    good = sum(check.holds is True for check in counted)
    return f"{decided(first)}: {told}. Of {len(counted)} checks {good} hold."


def _courses(trials: Mapping[K, Sequence[Trial]]) -> dict[K, list[Course]]:
    """The courses of all replications of every curve, all run at once."""
    flat = [trial for found in trials.values() for trial in found]
    courses = iter(run_all(flat))
    return {curve: [next(courses) for _ in found] for curve, found in trials.items()}


def _set_up(effort: Effort, quick: bool) -> Section:
    first, second = published()["figure1"], published()["figure2"]
    swapped = second["change_at_s"] * second["rate"]
    facts = Facts(
        "Set-up",
        (
            ("solver", "H = 1, N_u = 4, M_b = 16; single precision"),
            (
                "Figure 1",
                f"L = {first['length']}, K = {first['memory']}, AR(1) noise with the pole {first['pole']}",
            ),
            (
                "Figure 2",
                f"L = {second['length']}, K = {second['memory']}, speech, {second['rate']} Hz",
            ),
            ("signs change", f"after {effort.before1:,} samples (published: {first['change_at']:,})"),
            ("microphones swapped", f"after {effort.before2:,} samples (published: {swapped:,})"),
            ("rooms", "synthetic: Gaussian noise that decays by 35 dB; the far ones 2.5 times as long"),
            ("noise", f"white, SNR {first['snr_db']} dB at each microphone"),
            (
                "replications",
                f"{effort.replications} of Figure 1, {effort.replications2} of Figure 2; own rooms each",
            ),
        ),
    )
    text = ["The publication prints curves and no numbers; each of its sentences is a check that can fail."]
    if quick:
        text.append(
            f"This is the quick version: rooms change sooner (in full after {FULL.before1:,} samples), "
            f"with {effort.replications} replications where it has "
            f"{FULL.replications}, and a smaller map."
        )
    return Section("Set-up", [facts, Text(text)])


STUDY = Study(
    name="ficiu2023",
    title="Ficiu, Stanciu, Paleologu, Albu: A Low-Complexity Data-Reuse RLS Algorithm for SAEC, 2023",
    backends=(COMPUTE,),
    run=run,
)
