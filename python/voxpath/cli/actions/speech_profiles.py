"""What `voxpath speech profile` and `voxpath speech utterance` do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine
from voxpath.voice.speech.audio_files import AudioError, audio_of
from voxpath.voice.speech.profile import ProfileError, decoder_profile, utterance_profile
from voxpath.voice.speech.recognisers import UnavailableError, load
from voxpath.voice.speech.samples import SampleError

if TYPE_CHECKING:
    from pathlib import Path

    from voxpath.voice.speech.client import Audio
    from voxpath.voice.speech.recognisers import Recogniser

_QUIET = 1.1
"""Contention below it is that of a quiet machine."""


def profile(
    files: tuple[str, ...], *, save: Path, repetitions: int, recogniser: str, model: Path | None
) -> int:
    """`voxpath speech profile`."""
    audios = [audio for name in files for audio in _audio(name)]
    made = _load(recogniser, model)
    try:
        found = decoder_profile(made, recogniser, audios, repetitions)
    except ProfileError as error:
        raise click.UsageError(str(error)) from error
    _save(found, save)
    decoder, origin = found["decoder"], found["origin"]
    click.echo(
        f"{save}: {origin['segments']} segments in {origin['audio_s']:g} s of audio; decoding "
        f"{decoder['per_second']} a second, its end {decoder['finishing']} and "
        f"{decoder['finishing_per_second']} a second"
    )
    if origin["contention"] > _QUIET:
        click.echo(
            f"the machine was busy: calls took {origin['contention']:g} times the least that they took",
            err=True,
        )
    return 0


def utterance(file: str, *, save: Path, recogniser: str, model: Path | None) -> int:
    """`voxpath speech utterance`."""
    audios = _audio(file)
    if len(audios) > 1:
        raise click.UsageError(f"{file}: {len(audios)} utterances, where one is needed")
    try:
        found = utterance_profile(_load(recogniser, model), recogniser, audios[0])
    except ProfileError as error:
        raise click.UsageError(str(error)) from error
    _save(found, save)
    finals = sum("spoken" in result for result in found["results"])
    partials = len(found["results"]) - finals
    click.echo(f"{save}: {len(found['segments'])} segments, {partials} partial and {finals} final results")
    return 0


def _audio(name: str) -> list[Audio]:
    try:
        return audio_of(name)
    except (AudioError, SampleError) as error:
        raise click.UsageError(str(error)) from error


def _load(recogniser: str, model: Path | None) -> Recogniser:
    try:
        return load(recogniser, model)
    except UnavailableError as error:
        raise click.UsageError(str(error)) from error


def _save(found: dict[str, Any], path: Path) -> None:
    try:
        path.write_text(_engine.format_toml(json.dumps(found)), "utf-8")
    except OSError as error:
        raise click.UsageError(f"--save: cannot write {path}: {error.strerror}") from error
