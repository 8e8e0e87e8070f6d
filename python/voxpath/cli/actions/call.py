"""What `voxpath call` does."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voxpath import _engine, files, options, terminal
from voxpath.backends.base import UnanswerableError
from voxpath.backends.real.problems import RealError
from voxpath.cli.actions.common import check_store, chosen_names, print_json, save_page
from voxpath.names import did_you_mean
from voxpath.results.store import StoreError
from voxpath.scenario import ScenarioError
from voxpath.scenario.one_link import LinkError, base_of, link, option_of
from voxpath.tables import print_document
from voxpath.voice.call import page, verdict
from voxpath.voice.call import path as voice
from voxpath.voice.call.codecs.base import Wish
from voxpath.voice.call.echo import LEAST_LOSS_DB, MOST_LOSS_DB, ROOMS, USUAL_LOSS_DB, Loudspeaker
from voxpath.voice.call.measures import MEASURES
from voxpath.voice.call.network import Network, of_scenario, one_link
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.wav import write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_DIRECTIONS = ("", "up", "down")


def call(recordings: Sequence[Path], given: Mapping[str, Any]) -> int:
    """Sends a voice, or two, through a network; 0.

    Raises:
        click.ClickException: Bad input; nothing has been written.
    """
    if len(recordings) > len(voice.WAYS):
        raise click.UsageError("a call has one recording, or two for both directions")
    measures = tuple(MEASURES)
    if given["measures"] != "all":
        measures = chosen_names(given["measures"], measures, "--measures")
    heard, save = given["heard"] or Path("heard.wav"), given["save"] or Path("call.html")
    outputs = [_output(heard, name, len(recordings)) for name in voice.WAYS[: max(1, len(recordings))]]
    _check(outputs, save, recordings)
    check_store(given["out"], ("sim",))
    network, loudspeaker = _network(given), _loudspeaker(given)
    try:
        made = voice.call(
            network,
            recordings or (None,),
            over=given["over"],
            codec=given["codec"],
            wish=_wish(given),
            buffer=given["buffer"],
            redundancy=given["redundancy"],
            nack=given["nack"],
            loudspeaker=loudspeaker,
            backend=given["backend"],
            seed=given["seed"],
            out=given["out"],
            force=given["force"],
        )
    except ScenarioError as error:
        raise click.ClickException(_told(error, given)) from None
    except (CallError, StoreError, RealError, UnanswerableError) as error:
        raise click.ClickException(str(error)) from None
    judged = [verdict.judged(made, talk, measures) for talk in made.talks]
    quiet = given["json"]
    out = terminal.console(stderr=quiet)
    for talk, one, path in zip(made.talks, judged, outputs, strict=True):
        if not quiet:
            out.print(f"{one.sentence}", style="bold")
            print_document(page.numbers(talk, one))
        try:
            write(path, talk.heard.values, talk.encoded.rate_hz)
        except OSError as error:
            terminal.complain(f"{path}: {error.strerror or error}")
            return 1
        out.print(f"heard: {path}")
    code = save_page(page.report(made, judged, _command()), save, quiet=quiet)
    for number, problem in enumerate(made.rejected, start=1):
        out.print(f"attempt {number} of {len(made.rejected) + 1} was invalid: {problem}")
    out.print(f"results: {made.folder}")
    if quiet:
        talks = [
            page.talk_told(talk, one) | {"heard": str(path)}
            for talk, one, path in zip(made.talks, judged, outputs, strict=True)
        ]
        told = {"command": "call", "build": _engine.BUILD, "talks": talks}
        told |= {"report": str(save), "run": str(made.folder), "rejected": list(made.rejected)}
        print_json(told)
    return code


def _command() -> str:
    return shlex.join(["voxpath", *sys.argv[1:]])


def _output(heard: Path, way: str, count: int) -> Path:
    return heard if count < len(voice.WAYS) else heard.with_stem(f"{heard.stem}-{way}")


def _check(outputs: Sequence[Path], save: Path, recordings: Sequence[Path]) -> None:
    """Refuses files that cannot be written, or that are what is read, before anything is run."""
    for path in outputs:
        if path.suffix != ".wav":
            raise click.BadParameter(f"{path} is no recording: its name ends in .wav", param_hint="--heard")
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"{path}: there is no such directory", param_hint="--heard")
        if any(path.resolve() == recording.resolve() for recording in recordings):
            raise click.BadParameter(f"{path}: is what is said", param_hint="--heard")
    try:
        files.check_page(save)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--save") from None


def _network(given: Mapping[str, Any]) -> Network:
    texts = _texts(given)
    is_link = any(texts.values()) or given["preset"] is not None or given["mtu"] is not None
    if given["scenario"] is not None:
        if is_link:
            raise click.UsageError("--scenario has links of its own: leave out the options of a link")
        try:
            return of_scenario(given["scenario"])
        except (ScenarioError, CallError) as error:
            raise click.ClickException(str(error)) from None
    base = base_of([texts])
    try:
        table = link(texts, given["preset"], base)
    except LinkError as error:
        raise click.BadParameter(str(error), param_hint=f"--{error.option}") from None
    table |= {} if given["mtu"] is None else {"mtu": given["mtu"]}
    told = [f"preset {given['preset']}"] if given["preset"] else []
    told += [
        f"{direction} {name} {text}".strip()
        for direction, values in texts.items()
        for name, text in values.items()
    ]
    return one_link(table, ", ".join(told) or "a perfect network", base)


def _texts(given: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The options of the link, by direction."""
    texts: dict[str, dict[str, str]] = {direction: {} for direction in _DIRECTIONS}
    for declared in options.LINK:
        for direction in _DIRECTIONS:
            name = f"{direction}_{declared.name}" if direction else declared.name
            if given[name] is not None:
                texts[direction][declared.name] = given[name]
    return texts


def _wish(given: Mapping[str, Any]) -> Wish:
    def read(name: str, parse: Callable[[str], int]) -> int | None:
        if given[name] is None:
            return None
        try:
            return parse(given[name])
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=f"--{name}") from None

    return Wish(
        read("bitrate", _engine.parse_rate), read("frame", _engine.parse_span), given["fec"], given["dtx"]
    )


def _loudspeaker(given: Mapping[str, Any]) -> Loudspeaker | None:
    if given["room"] is None:
        if given["echo_loss"] is not None or given["cancel"]:
            raise click.UsageError("--echo-loss and --cancel are of a loudspeaker: give --room")
        return None
    if given["room"] not in ROOMS:
        raise click.BadParameter(
            f"there is no room {given['room']!r}; {did_you_mean(given['room'], list(ROOMS))}",
            param_hint="--room",
        )
    text = given["echo_loss"] or f"{USUAL_LOSS_DB:g} dB"
    number, _, unit = text.partition(" ")
    try:
        loss = float(number)
    except ValueError:
        loss = float("nan")
    if unit != "dB" or not LEAST_LOSS_DB <= loss <= MOST_LOSS_DB:
        raise click.BadParameter(
            f"{text!r}: a loss from '{LEAST_LOSS_DB:g} dB' to '{MOST_LOSS_DB:g} dB' is expected",
            param_hint="--echo-loss",
        )
    return Loudspeaker(given["room"], loss, given["cancel"])


def _told(error: ScenarioError, given: Mapping[str, Any]) -> str:
    """The problems, by option where they are the link's."""
    if given["scenario"] is not None:
        return str(error)
    told, texts = [], _texts(given)
    for problem in error.problems:
        # With a broker the link is one of several (`transports/mqtt.py`), and the first.
        _, found, key = problem.key.replace("topology.links[0].", "topology.link.").partition(
            "topology.link."
        )
        option = f"--{option_of(key, texts)}: " if found else ""
        told.append(f"{option}{problem.message}")
    return "\n".join(["nothing was run", *told])
