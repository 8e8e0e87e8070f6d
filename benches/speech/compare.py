#!/usr/bin/env python3
"""`make speech-compare`: the recognition service on real hosts and simulated, utterance by utterance.

Writes a section of docs/measured/speech-sim.md; with `--recogniser sleeping` of a recogniser that sleeps, so that the network and
the service are compared however busy the machine is. That of a real recogniser is recorded before and after the sessions of each
network, for each utterance on the others: processors that others share are faster in one minute than in the next.
"""
# SPDX-License-Identifier: Apache-2.0

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

sys.path.insert(0, str(Path(__file__).parent))

from page import machine, with_section  # noqa: E402
from sleeping import DECODER, Sleeping  # noqa: E402

from voxpath.voice.speech.audio_files import audio_of  # noqa: E402
from voxpath.voice.speech.compare import SERVE, Both, Sending, beside, measure, simulate  # noqa: E402
from voxpath.voice.speech.profile import hear, profile_of, recording_of, utterance_profile  # noqa: E402
from voxpath.voice.speech.recognisers import Recogniser, load  # noqa: E402

PAGE = ROOT / "docs" / "measured" / "speech-sim.md"
NETWORKS = {
    "10 ms, clean": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "100 packets"},
    "50 ms, 0.5 %": {"rate": "10 Mbit/s", "delay": "25 ms", "queue": "100 packets", "loss": "0.5 %"},
    "120 ms, 0.3 %": {"rate": "2 Mbit/s", "delay": "60 ms", "queue": "100 packets", "loss": "0.3 %"},
}
"""By round trip and loss."""
SENDING = {"paced": Sending(), "unpaced": Sending(paced=False)}
BAR = 0.10
BEFORE = 2
"""Times that the recogniser is recorded before the sessions of a network; once more after them."""
COMPARED, OTHERS = "sample:librivox", "sample:cards"
RECOGNISERS: dict[str, tuple[Callable[[], Recogniser], Sequence[str]]] = {
    "pocketsphinx": (lambda: load("pocketsphinx", None), SERVE),
    "sleeping": (lambda: Sleeping(awake=True), (sys.executable, str(Path(__file__).parent / "sleeping.py"))),
}
"""What is measured: what it decodes with, and the command that serves it."""
TITLES = {
    "pocketsphinx": "Beside the real service",
    "sleeping": "Beside the real service, with a recogniser that sleeps",
}
INTRODUCTIONS = {
    "sleeping": """\
`make speech-compare`: master, worker and client of [speech.md](../speech.md) run as programs on two real hosts, across the network of each
section, and the same sessions are simulated. The worker's recogniser sleeps (0.2 s for each second of speech, 0.15 s where a segment ends). So
the time for decoding is known, and the comparison is of network and service. Values are medians, in milliseconds, real / simulated. Network, decoding and
end-pointing add up to the delay from the end of speech.""",
    "pocketsphinx": """\
The same with PocketSphinx. It was recorded before and after the sessions of each network, without a network. The simulation of an utterance
uses the other nine samples.""",
}


def main() -> int:
    """Measures, simulates, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="of each real session")
    parser.add_argument("--replications", type=int, default=200, help="of each simulated one")
    parser.add_argument("--recogniser", choices=list(RECOGNISERS), default="pocketsphinx")
    parser.add_argument("--networks", type=int, default=len(NETWORKS), help="the first so many")
    parser.add_argument("--print", action="store_true", help="print the section, leave the page as it is")
    options = parser.parse_args()
    on = machine()
    name = options.recogniser
    make, serve = RECOGNISERS[name]
    recogniser = make()
    audios = audio_of(COMPARED)
    utterances = [utterance_profile(recogniser, name, audio) for audio in audios]
    heard, contentions = [*audios, *audio_of(OTHERS)], []
    found: dict[tuple[str, str], list[Both]] = {}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        for network in list(NETWORKS)[: options.networks]:
            for how, sending in SENDING.items():
                sys.stderr.write(f"{network}, {how} ...\n")
                link, files = NETWORKS[network], [f"sample:{audio.name}" for audio in audios]
                decoders: list[Mapping[str, Any]] = [DECODER] * len(audios)
                if name == "sleeping":
                    measured = measure(link, files, options.repetitions, folder, sending, serve)
                else:
                    runs = [hear(recogniser, heard) for _ in range(BEFORE)]
                    measured = measure(link, files, options.repetitions, folder, sending, serve)
                    recording = recording_of(heard, [*runs, hear(recogniser, heard)])
                    contentions.append(recording.contention)
                    decoders = [profile_of(recording.without(one.name), name)["decoder"] for one in audios]
                found[network, how] = [
                    beside(records, simulate(link, utterance, decoder, options.replications, folder, sending))
                    for records, utterance, decoder in zip(measured, utterances, decoders, strict=True)
                ]
    recorded = ""
    if contentions:
        recorded = f" While the recogniser was recorded, calls took up to {max(contentions):.2f} times the least of each."
    counts = f"{options.repetitions} real and {options.replications} simulated sessions of each"
    body = section(found, f"{INTRODUCTIONS[name]}\n\nMeasured on {on}; {counts}.{recorded}")
    if options.print:
        sys.stdout.write(body)
    else:
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), TITLES[name], body), "utf-8")
    return 0


def section(found: Mapping[tuple[str, str], Sequence[Both]], measured: str) -> str:
    """What the page says."""
    lines = [measured, ""]
    for (network, how), all_of_them in found.items():
        of = "latency_s" if how == "paced" else "total_s"
        title = "from the end of speech" if how == "paced" else "from the first byte"
        lines += [
            f"### {network}, {how}",
            f"| utterance | {title}, real / simulated, ms | | network | decoding | end-pointing | real decoding varies by |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for one in all_of_them:
            decoding = [session.decoding_total_s for session in one.real]
            varies = (max(decoding) - min(decoding)) / statistics.median(decoding)
            shares = [pair(one, share) for share in ("network_s", "decoding_s", "end_pointing_s")]
            cells = [f"{one.name[-4:]}, {one.length_s:.1f} s", pair(one, of), f"{one.difference(of):+.1%}"]
            lines.append(f"| {' | '.join([*cells, *shares, f'{varies:.0%}'])} |")
        whole = statistics.median(one.medians(of)[1] for one in all_of_them) / statistics.median(
            one.medians(of)[0] for one in all_of_them
        )
        networks = [one.medians("network_s") for one in all_of_them]
        off = max(abs(simulated - real) for real, simulated in networks)
        within = sum(abs(one.difference(of)) <= BAR for one in all_of_them)
        lines += [
            "",
            (
                f"The median over utterances differs by {whole - 1:+.1%}; {within} of {len(all_of_them)} utterances are "
                f"within {BAR:.0%}. The network's share alone differs by {ms(off)} ms at most."
            ),
            "",
        ]
    return "\n".join(lines)


def ms(seconds: float) -> str:
    """Milliseconds."""
    return f"{1e3 * seconds:.0f}"


def pair(both: Both, of: str) -> str:
    """What is real, and what is simulated."""
    real, simulated = both.medians(of)
    return f"{ms(real)} / {ms(simulated)}"


if __name__ == "__main__":
    sys.exit(main())
