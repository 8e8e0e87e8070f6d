"""What `voxpath speech ...` does."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import os
import secrets
import signal
import socket
import ssl as tls
import sys
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import click

from voxpath import terminal, texts
from voxpath.cli.actions.common import print_json
from voxpath.voice.speech import client, master, worker
from voxpath.voice.speech.audio_files import AudioError, audio_of
from voxpath.voice.speech.hearing import read
from voxpath.voice.speech.origins import Origin
from voxpath.voice.speech.protocol import CLIENT_STATUS, MessageError
from voxpath.voice.speech.recognisers import NAMES, UnavailableError, load
from voxpath.voice.speech.samples import SampleError
from voxpath.voice.speech.samples import samples as find_samples
from voxpath.voice.speech.trial import trial

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    from voxpath.voice.speech.trial import Trial

log = logging.getLogger(__name__)
_FAILED = 1
_REFUSED = 2
"""How a worker ends that cannot work: its model, its package or its token is wrong."""
_PAUSE_S = (0.1, 5.0)
_SETTLED_S = 30.0
_HARD_OF_HEARING_S = 10.0
_REACHED = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where whoever listens everywhere is reached from here


def serve(
    *,
    host: str,
    port: int,
    workers: int | None,
    recogniser: str,
    model: Path | None,
    wait: float,
    sessions: int,
    session: float,
    longest: float,
    idle: float,
    head: float,
    message: int,
    token: str | None,
    worker_token: str | None,
    certificate: Path | None,
    key: Path | None,
    origins: tuple[str, ...],
    insecure: bool,
    **hearing: float | None,
) -> int:
    """Serves until it is told to end; `hearing` has what stands in `hearing.RANGES`."""
    limits = master.Limits(
        message_bytes=message,
        session_s=session,
        longest_s=longest,
        head_s=head,
        idle_s=idle,
        sessions=sessions,
        wait_s=wait,
    )
    context = None
    if certificate is not None:
        context = tls.create_default_context(tls.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(certificate, key)
        except (tls.SSLError, OSError) as error:
            raise click.UsageError(f"--certificate: {error}") from error
    elif key is not None:
        raise click.UsageError("--key: belongs to --certificate")
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    if not _is_loopback(host):
        _check_secure(host, token, worker_token, insecure=insecure, encrypted=context is not None)
    if token is not None and worker_token is None:
        if not count:
            raise click.UsageError("--workers 0: workers elsewhere need a token (--worker-token-file)")
        # Those that we start are told; nobody else is to hear what clients say.
        worker_token = secrets.token_urlsafe()
    settings = master.Settings(
        limits, _asked(hearing), token, worker_token, [_origin(one) for one in origins]
    )
    own = _Workers(count, recogniser, model, worker_token, certificate)
    _log()
    return _run(_serve(settings, host, port, context, own))


def _check_secure(
    host: str, token: str | None, worker_token: str | None, *, insecure: bool, encrypted: bool
) -> None:
    """Refuses to serve a network without tokens, and warns of what else is open."""
    missing = [
        f"--{name}-file"
        for name, given in (("token", token), ("worker-token", worker_token))
        if given is None
    ]
    if missing and not insecure:
        raise click.UsageError(
            f"--host {host}: anybody on the network could use it and hear its clients; give "
            f"{' and '.join(missing)}, or say --insecure"
        )
    if not encrypted:
        terminal.warn(
            f"--host {host} without --certificate: audio, results and tokens cross the network in the open"
        )


def _origin(text: str) -> Origin:
    try:
        return Origin.read(text)
    except ValueError as error:
        raise click.UsageError(f"--origin {text}: {error}") from error


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at a host."""
    if not host:
        raise click.UsageError("--host: it is empty; 0.0.0.0 or :: is every address of this machine")
    try:
        found = {one[4][0] for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise click.UsageError(f"--host {host}: {error.strerror}") from error
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)


def _asked(hearing: Mapping[str, float | None]) -> dict[str, float]:
    try:
        return read({name: value for name, value in hearing.items() if value is not None})
    except MessageError as error:
        raise click.UsageError(f"--{error}") from error


class _Workers:
    """Processes beside the master: one that is lost is replaced, and all end with it, however it ends."""

    def __init__(
        self, count: int, recogniser: str, model: Path | None, token: str | None, certificate: Path | None
    ) -> None:
        self.count = count
        self._arguments = ["--recogniser", recogniser]
        self._arguments += ["--model", str(model)] if model is not None else []
        # What it serves with is what they trust.
        self._arguments += ["--ca", str(certificate)] if certificate is not None else []
        self._environment = os.environ | ({"VOXPATH_WORKER_TOKEN": token} if token else {})
        self.have_begun = False
        """All of them were there once: from then on the end of one is an accident."""

    async def run(self, url: str) -> None:
        """Keeps them; returns when one of them cannot work."""
        keepers = [asyncio.create_task(self._keep(url)) for _ in range(self.count)]
        try:
            if keepers:
                await asyncio.wait(keepers, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.Event().wait()
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)

    async def _keep(self, url: str) -> None:
        command = [sys.executable, "-m", "voxpath", "speech", "work", url, "--attached", *self._arguments]
        pause = _PAUSE_S[0]
        while True:
            begun = time.monotonic()
            # It ends when its input does: also where nobody is left to terminate it.
            process = await asyncio.create_subprocess_exec(
                *command, env=self._environment, process_group=0, stdin=asyncio.subprocess.PIPE
            )
            try:
                code = await process.wait()
            finally:
                await _end(process)
            if not self.have_begun or code == _REFUSED:
                return
            log.warning("a worker has ended (%d), another one begins", code)
            pause = _PAUSE_S[0] if time.monotonic() - begun > _SETTLED_S else min(2 * pause, _PAUSE_S[1])
            await asyncio.sleep(pause)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Asks a process to end, and ends one that does not hear."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(_HARD_OF_HEARING_S):
                await process.wait()
        except TimeoutError:
            process.kill()
    await process.wait()


async def _serve(
    settings: master.Settings, host: str, port: int, context: tls.SSLContext | None, own: _Workers
) -> int:
    try:
        runner, made, bound = await master.serve(settings, host, port, context)
    except OSError as error:
        raise click.UsageError(f"cannot listen at {host}:{port}: {error.strerror}") from error
    running = asyncio.create_task(own.run(_url_of(_REACHED.get(host, host), bound, context)))
    # Who reads this finds somebody who listens.
    ready = asyncio.create_task(made.pool.until_available(own.count))
    try:
        await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            own.have_begun = True
            everywhere = "every address of this machine, " if host in _REACHED else ""
            click.echo(f"serving at {everywhere}{_url_of(host, bound, context)}")
        await running
        click.echo("Error: a worker has ended; its messages are above", err=True)
        return _FAILED
    finally:
        for task in (running, ready):
            task.cancel()
        await asyncio.gather(running, ready, return_exceptions=True)
        await runner.cleanup()


def _url_of(host: str, port: int, context: tls.SSLContext | None) -> str:
    return f"{'wss' if context else 'ws'}://{f'[{host}]' if ':' in host else host}:{port}"


def work(
    address: str,
    *,
    recogniser: str,
    model: Path | None,
    worker_token: str | None,
    ca: Path | None,
    attached: bool,
) -> int:
    """Works until it is told to end."""
    _log()
    try:
        loaded = load(recogniser, model)
    except UnavailableError as error:
        raise click.UsageError(str(error)) from error
    settings = worker.Settings(_url(address), worker_token, _trust(ca))

    async def until_refused() -> int:
        await worker.work(settings, loaded)
        return 0

    try:
        return _run(until_refused(), sys.stdin.fileno() if attached else None)
    except worker.RefusedError as error:
        raise click.UsageError(str(error)) from error


def stream(
    files: tuple[str, ...],
    *,
    server: str,
    protocol: str,
    paced: bool,
    block: float,
    save: Path | None,
    session: float | None,
    token: str | None,
    ca: Path | None,
    as_json: bool,
    **hearing: float | None,
) -> int:
    """Streams one after the other."""
    asked = _asked(hearing) | ({} if session is None else {"session": session})
    try:
        audios = [audio for name in files for audio in audio_of(name)]
    except (AudioError, SampleError) as error:
        raise click.UsageError(str(error)) from error
    settings = client.Settings(
        _url(server), protocol == "vosk", paced, block_s=block, asked=asked, token=token, ssl=_trust(ca)
    )
    if settings.vosk and any(not audio.content_type.startswith("audio/x-raw") for audio in audios):
        raise click.UsageError(
            "Vosk's protocol carries raw samples only: a WAV file of 16 bits and one channel"
        )
    records: list[client.Utterance] = []

    async def all_of_them() -> int:
        async with aiohttp.ClientSession() as http:
            for audio in audios:
                records.append(await client.stream(http, audio, settings))
                _show(records[-1], quiet=as_json)
        return 0 if all(record.status == 0 for record in records) else _FAILED

    code = _run(all_of_them())
    if save is not None:
        save.write_text(json.dumps([record.to_json() for record in records], indent=1) + "\n", "utf-8")
    if as_json:
        print_json({"command": "speech stream", "utterances": [record.to_json() for record in records]})
    return code


def _show(record: client.Utterance, *, quiet: bool) -> None:
    if record.status != 0:
        code = "no status" if record.status is None else f"status {record.status}"
        click.echo(texts.safe(f"{record.name}: {code}: {record.message}"), err=True)
        return
    if quiet:
        return
    click.echo(texts.safe(f"{record.name}: {record.transcript}"))
    told = [f"{record.length_s:.2f} s of audio"]
    for name, value, unit in (
        ("result after", record.latency_s, " s"),
        ("word error rate", record.word_error_rate, ""),
        ("real-time factor total", record.total_factor, ""),
        ("decoding", record.decoding_factor, ""),
    ):
        told += [f"{name} {value:.3f}{unit}"] if value is not None else []
    click.echo("  " + ", ".join(told))
    if record.shares is not None:
        parts = {name.removesuffix("_s"): value for name, value in vars(record.shares).items()}
        told = [f"{name.replace('_', '-')} {1e3 * value:.1f} ms" for name, value in parts.items()]
        click.echo(f"  {1e3 * record.shares.total_s:.1f} ms from the end of speech: " + ", ".join(told))


def status(*, server: str, watch: bool, token: str | None, ca: Path | None, as_json: bool) -> int:
    """Prints what the status socket says."""
    if watch and as_json:
        raise click.UsageError("--watch prints until Ctrl-C, --json one value: give one of them")
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def listen() -> int:
        try:
            async with (
                aiohttp.ClientSession() as http,
                http.ws_connect(
                    _url(server).rstrip("/") + CLIENT_STATUS, headers=headers, ssl=_trust(ca) or True
                ) as socket,
            ):
                async for message in socket:
                    told = json.loads(message.data)
                    free, ended = told["num_workers_available"], told["num_requests_processed"]
                    if as_json:
                        print_json(
                            {
                                "command": "speech status",
                                "server": server,
                                "workers_available": free,
                                "requests_processed": ended,
                            }
                        )
                    else:
                        click.echo(f"{free} workers available, {ended} requests processed")
                    if not watch:
                        return 0
        except aiohttp.WSServerHandshakeError as error:
            click.echo(f"Error: {server} answers {error.status}", err=True)
        except (aiohttp.ClientError, OSError) as error:
            click.echo(f"Error: {error}", err=True)
        return _FAILED

    return _run(listen())


def recognisers(
    names: tuple[str, ...], *, samples: tuple[str, ...], model: Path | None, as_json: bool
) -> int:
    """Prints what can be used, and what came of the samples."""
    if model is not None and len(names) != 1:
        raise click.UsageError("--model: belongs to one recogniser, and that has to be named")
    try:
        found_samples = {one: find_samples(one) for one in samples}
    except SampleError as error:
        raise click.UsageError(str(error)) from error
    told = []
    for name in names or NAMES:
        one: dict[str, Any] = {"name": name, "here": True, "reason": None, "samples": []}
        told.append(one)
        try:
            loaded = load(name, model)
        except UnavailableError as error:
            one |= {"here": False, "reason": str(error)}
            _tell(one, quiet=as_json)
            continue
        _tell(one, quiet=as_json)
        for source, spoken in found_samples.items():
            made = trial(loaded, spoken)
            one["samples"].append({"samples": source, **made.to_json()})
            _tell_trial(source, made, quiet=as_json)
    if as_json:
        print_json({"command": "speech recognisers", "recognisers": told})
    return 0 if any(one["here"] for one in told) else _FAILED


def _tell(one: Mapping[str, Any], *, quiet: bool) -> None:
    if not quiet:
        click.echo(f"{one['name']}: " + ("here" if one["here"] else f"not here: {one['reason']}"))


def _tell_trial(source: str, made: Trial, *, quiet: bool) -> None:
    if not quiet:
        click.echo(
            f"  {source}: {made.errors} of {made.words} words are wrong, word error rate "
            f"{made.word_error_rate:.3f}, real-time factor {made.real_time_factor:.2f} "
            f"(processor time, {made.audio_s:.1f} s of audio)"
        )


def _url(text: str) -> str:
    if not text.startswith(("ws://", "wss://")):
        raise click.UsageError(f"{text}: an address begins with ws:// or wss://")
    return text


def _trust(ca: Path | None) -> tls.SSLContext | None:
    return None if ca is None else tls.create_default_context(cafile=ca)


def _log() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


def _run(what: Coroutine[Any, Any, int], lifeline: int | None = None) -> int:
    """Runs until it returns; SIGTERM, and the end of a lifeline, end it like Ctrl-C, but are no failure."""

    async def until_terminated() -> int:
        task = asyncio.ensure_future(what)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        if lifeline is not None:

            def let_go() -> None:
                loop.remove_reader(lifeline)
                task.cancel()

            loop.add_reader(lifeline, let_go)
        try:
            return await task
        except asyncio.CancelledError:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            return 0

    return asyncio.run(until_terminated())
