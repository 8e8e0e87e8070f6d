"""The study: tables recomputed, a known tract measured, speech sent through a codec; and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.document import Cell, Checks, Facts, Lead, Report, Scatter, Section, Table, Text
from voxpath.studies.base import COMPUTE, Answer, Study, checks_of, held, origin, shown
from voxpath.studies.karaoui2023 import tables, vocal_tract, voice_path
from voxpath.voice.audio import opus
from voxpath.voice.phonetics import measurement, praat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Part
    from voxpath.studies.base import Ask, Comparison
    from voxpath.studies.karaoui2023.vocal_tract import Found
    from voxpath.studies.karaoui2023.voice_path import Passed


def run(ask: Ask, quick: bool) -> Answer:
    """Computes everything; nothing is asked of a network.

    Raises:
        RuntimeError: Praat, a codec or recorded speech is missing.
    """
    del ask
    judged = tables.comparisons()
    try:
        passed = voice_path.find(voice_path.QUICK if quick else voice_path.FULL)
        pair, tried = vocal_tract.tuned()
        found = [vocal_tract.find(one, quick=quick) for one in (vocal_tract.untuned(), pair)]
    except ValueError as error:
        raise RuntimeError(str(error)) from error
    sections = [
        Section("The printed tables", _tables(judged)),
        Section("A known vocal tract", _tract(found, tried, quick=quick)),
        Section("A voice path", _path(passed)),
    ]
    report = Report(
        "Karaoui et al. 2023: vowels beside pharyngealised consonants",
        "Do the printed tables follow from their rows, does an instrument of known accuracy find what the "
        "text says in a vocal tract whose truth is known, and what does a voice path do to vowels?",
        _answer(judged, found, passed),
        sections,
        origin("karaoui2023", quick, Praat=praat.version(), Opus=opus.version()),
        Lead(
            _sentence(judged, found[-1]),
            [part for part in sections[1].parts if isinstance(part, Scatter)][-1],
            "A pharyngealised consonant raises F1 and lowers F2 of the vowel /a/ beside it, F3 and F4 hardly "
            "move, and the higher the larynx, the higher F1.",
        ),
    )
    return Answer(_terminal(judged, sections, report), judged, report)


def _sentence(judged: Sequence[Comparison], tract: Found) -> str:
    moved = ", ".join(f"F{index + 1} {hz:+.0f} Hz" for index, hz in enumerate(tract.shift))
    over, alone = tables.correlation()
    return (
        f"In a vocal tract whose truth is known such a gesture can move {moved}. Of {_derived(judged)} "
        f"printed numbers that follow from others {_count(judged, 'agrees')} do. That larynx and F1 go "
        f"together is {over.verdict} over the six printed vowels ({over.evidence}), and rests on one word: "
        f"without it {alone.evidence}."
    )


def _derived(judged: Sequence[Comparison]) -> int:
    """How many printed numbers follow from others."""
    return len(judged) - _count(judged, "no answer")


def _count(judged: Sequence[Comparison], verdict: str) -> int:
    return sum(item.verdict == verdict for item in judged)


def _answer(judged: Sequence[Comparison], found: Sequence[Found], passed: Sequence[Passed]) -> list[str]:
    told = [
        (
            f"Of {_derived(judged)} numbers that follow from others, {_count(judged, 'agrees')} do, "
            f"{_count(judged, 'contradicts itself')} contradict the publication's own rows; "
            f"{_count(judged, 'no answer')} more follow from nothing that is printed."
        ),
        *(f"{check.claim} This is {check.verdict}: {check.evidence}." for check in tables.correlation()),
    ]
    for one in found:
        moved = ", ".join(f"F{index + 1} {hz:+.0f} Hz" for index, hz in enumerate(one.shift))
        told.append(f"The {one.pair.name} pair of postures moves {moved}.")
    worst = max(one.loss for one in passed)
    by = voice_path.independent(passed)
    clean, silent = by[24, 0.0, None], by[24, worst, "zero"]
    sizes = [one.formants.overall[0].size for one in (clean, silent)]
    gain = voice_path.gain(passed, 24, worst)
    told_gain = shown(gain)
    told.append(
        f"Opus at 24 kbit/s moves F1 by {sizes[0]:.0f} Hz (median); with {100 * worst:g} % loss filled "
        f"by silence, by {sizes[1]:.0f} Hz. Error correction is worth {told_gain} of PESQ over "
        "concealment there."
    )
    return told


def _tables(judged: Sequence[Comparison]) -> list[Part]:
    text = Text(
        [
            (
                "Measured rows are taken as they are printed. Every number that follows from them is "
                "computed again; it agrees if the result rounds, or is cut, to what is printed: the "
                "publication cuts most percentages. With the word about, it agrees if it is less than a unit "
                "of the last digit off. One, 0.601 cm, is judged by two digits, as "
                "what it is made of has no more. P stands for the voiced pharyngeal, T for the "
                "pharyngealised stop, PTah for the word with both."
            )
        ]
    )
    places = list(dict.fromkeys(item.published.table for item in judged))
    overview = Table(
        "Verdicts",
        ["where", "numbers", "agree", "contradict", "follow from nothing printed"],
        [
            [
                place,
                str(len(of)),
                str(_count(of, "agrees")),
                str(_count(of, "contradicts itself")),
                str(_count(of, "no answer") or ""),
            ]
            for place in places
            for of in [[item for item in judged if item.published.table == place]]
        ],
    )
    return [
        text,
        overview,
        Checks("The tables as a whole", tables.checks()),
        *(tables.table(p, judged) for p in places),
    ]


def _tract(found: Sequence[Found], tried: int, *, quick: bool) -> list[Part]:
    untuned, tuned = found
    facts = Facts(
        "Postures",
        [
            ("synthesiser", "Praat's, a man's tract; muscles at rest unless named"),
            ("untuned, plain", vocal_tract.muscles_told(untuned.pair.plain)),
            ("untuned, pharyngealised", vocal_tract.muscles_told(untuned.pair.emphatic)),
            ("tuned, plain", vocal_tract.muscles_told(tuned.pair.plain)),
            ("tuned, pharyngealised", vocal_tract.muscles_told(tuned.pair.emphatic)),
            ("pharyngeal, on either", vocal_tract.muscles_told(vocal_tract.PHARYNGEAL)),
        ],
    )
    text = Text(
        [
            (
                "The untuned pair has no regard to formants: an open vowel by lowered jaw and tongue body, "
                "and on it a fifth of the gestures that the publication's introduction names (hyoid and "
                "larynx raised, pharynx constricted); towards half of them the pharynx closes."
            ),
            (
                f"The tuned pair is the best of {tried} for the published shifts of F1 to F4 by the area "
                "function alone, with the hyoid's rise set to the published 3.2 mm. That it comes close "
                "says what the model can reach, not what it predicts: what was searched or put in is shown "
                "and does not count. So is the correlation of larynx and F1, as the hyoid "
                "carries the larynx, its rise was set, and F1 was searched to rise. That the sound follows "
                "the area function counts, and so does what the pharyngeal gesture does, which nobody "
                "searched. Intervals are over repetitions with another jaw; those of correlations take "
                "vowels for independent of each other, which are steps between postures, and so are too "
                "narrow."
            ),
            (
                "The publication speaks of transitions and durations, and prints no number of them. The "
                "instrument measures both; the moving tract says how well."
            ),
            (
                "Praat's hyoid carries the larynx: both rise together here, where the publication has 3.2 "
                "and 1.4 mm."
            ),
        ]
    )
    checks = Checks(
        "The instrument against the area function",
        [check for one in found for check in vocal_tract.oracle_checks(one)],
    )
    parts: list[Part] = [facts, text, vocal_tract.table(found), checks]
    for one in found:
        parts += [vocal_tract.checks(one), vocal_tract.superposition(one)]
        parts += vocal_tract.transition(one.pair, quick=quick)
        parts += measurement.tables(one.measured, one.measured.references(vocal_tract.PLAIN_CONTEXT))
        parts.append(measurement.vowel_space(one.measured))
        parts += vocal_tract.pictures(one)
        parts += measurement.component_shapes(one.measured)
    return parts


def _path(passed: Sequence[Passed]) -> list[Part]:
    text = Text(
        [
            (
                "Sentences of men (a reader of LibriVox; in full, also a speaker who names cards), their "
                "vowels by forced alignment, through Opus with 20 ms frames. Packets are lost independently "
                "of each other and, in full, in bursts (Gilbert's two states), the same ones for every rate "
                "and repair. A lost frame is replaced by the copy in the next packet (fec), by the "
                "decoder's guess (concealment), or by silence (zero)."
            )
        ]
    )
    voices = voice_path.voices_table(passed)
    more = [] if voices is None else [voices]
    return [text, voice_path.table(passed), *more, *voice_path.plots(passed), voice_path.checks(passed)]


def _terminal(judged: Sequence[Comparison], sections: Sequence[Section], report: Report) -> Table:
    rows: list[list[str | Cell]] = [
        [item.published.table, item.published.column, f"{item.published.printed:g}", item.reason]
        for item in judged
        if item.verdict == "contradicts itself"
    ]
    checks = checks_of(sections)
    open_ = [f"{check.verdict}: {check.claim} ({check.evidence})" for check in checks if not check.holds]
    title = "Karaoui et al. 2023: numbers that contradict the publication's own rows"
    return Table(
        title, ["where", "number", "printed", "reason"], rows, [*report.answer, held(checks), *open_]
    )


STUDY = Study(
    name="karaoui2023",
    title="Karaoui, Djeradi, Djeradi: Acoustic and Articulatory Characterization of the Effects of Arabic "
    "Pharyngealized Consonant on Adjacent Vowel, 2023",
    backends=(COMPUTE,),
    run=run,
)
