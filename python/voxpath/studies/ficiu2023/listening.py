"""What it sounds like: before, after, by each canceller; and the spectrum of what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voxpath.document import Axis, Curve, Plot, Section, Sound, Sounds
from voxpath.studies.ficiu2023.experiment import published
from voxpath.voice.aec import nlms, widely_linear
from voxpath.voice.aec.measures import erle, spectrum
from voxpath.voice.aec.signals import half_wave, recorded, room, stereo, synthetic_paths, with_noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voxpath.document import Part
    from voxpath.voice.aec import Canceller
    from voxpath.voice.aec.samples import Samples

_LENGTH = 256
"""Of the echo paths: 32 ms."""

_ALPHA = 0.4
_SNR_DB = 40.0
_SEED = 3
_FAR_LEVEL, _NEAR_LEVEL = 0.05, 0.04
"""Root mean squares in full scales."""

_LEARNT_S, _SWAP_S, _TALK_S = 12.0, 3.0, 3.0
"""What nobody hears, then an excerpt around the swap, then the near end speaks."""

_BEFORE_SWAP_S = 1.0


def section() -> Section:
    """The far end's voice from two loudspeakers, the microphones swapped, and a voice in the room."""
    rate = published()["figure2"]["rate"]
    learnt, swap, talk = (int(seconds * rate) for seconds in (_LEARNT_S, _SWAP_S, _TALK_S))
    count = learnt + swap + talk
    spoken = recorded(rate)
    rng = np.random.default_rng(_SEED)
    rooms = [room(int(2.5 * _LENGTH), rng) for _ in range(2)]
    far = _FAR_LEVEL * half_wave(stereo(np.resize(spoken, count), rooms), _ALPHA)
    first = synthetic_paths(_LENGTH, _SEED)
    at = learnt + int(_BEFORE_SWAP_S * rate)
    near = first.echo(far)
    near[:, at:] = first.swapped().echo(far)[:, at:]
    near = with_noise(near, _SNR_DB, _SEED)
    talker = np.resize(recorded(rate, "cards"), talk)
    talker *= _NEAR_LEVEL / np.sqrt(np.mean(talker**2))
    near[:, count - talk :] += talker
    cancellers: dict[str, Canceller] = {
        "NLMS": nlms(_LENGTH),
        "WL-RLS-DCD, N_it = 1": widely_linear(_LENGTH, memory=96, reuse=1),
        "WL-DR-RLS-DCD, N_it = 3": widely_linear(_LENGTH, memory=96, reuse=3),
        "WL-DR-RLS-DCD, N_it = 3, guarded": widely_linear(_LENGTH, memory=96, reuse=3, guard=0.999),
    }
    heard = {"before": near} | {name: canceller.process(far, near) for name, canceller in cancellers.items()}
    swapped, spoken_over = slice(learnt, learnt + swap), slice(count - talk, count)
    alone = slice(learnt - 2 * rate, learnt)
    return Section(
        "Listening",
        [
            Sounds(
                "The microphones are interchanged after one second",
                "The left microphone: the far end's recorded voice as an echo of 32 ms paths, noise 40 dB "
                "below. Every canceller has learnt for 12 s before.",
                [
                    _sound(name, samples[0, swapped], rate, _after(near, samples, at, swapped.stop))
                    for name, samples in heard.items()
                ],
            ),
            Sounds(
                "Somebody speaks in the room",
                "Right after that: the near end's voice should be all that is left.",
                [
                    _sound(name, samples[0, spoken_over], rate, _kept(samples, talker, spoken_over))
                    for name, samples in heard.items()
                ],
            ),
            *_spectra(heard, alone, rate),
        ],
    )


def _after(near: Samples, out: Samples, start: int, end: int) -> str:
    if out is near:
        return "What the microphone hears."
    less = erle(near[:, start:end], out[:, start:end])
    return f"The echo is {less:.1f} dB less in the two seconds after the swap."


def _kept(out: Samples, talker: Samples, when: slice) -> str:
    """How far what is left is above or below the voice itself."""
    error = out[0, when] - talker
    ratio = 10 * np.log10(np.mean(talker**2) / np.mean(error**2))
    return f"The voice is {ratio:.1f} dB above everything else."


def _sound(name: str, samples: Samples, rate: int, text: str) -> Sound:
    return Sound(name, text, rate, [samples.tolist()])


def _spectra(heard: dict[str, Samples], when: slice, rate: int) -> Sequence[Part]:
    curves = []
    for name, samples in heard.items():
        frequencies, power = spectrum(samples[:, when], rate)
        curves.append(Curve(name, frequencies.tolist(), power.tolist()))
    return [
        Plot(
            "Spectrum of what is left",
            "Both microphones, in the two seconds before the first excerpt: nobody speaks in the room.",
            Axis("frequency", "Hz"),
            Axis("power density", "dB of full scale in 1 Hz"),
            curves,
        )
    ]
