"""Our client's records, the command line around it, TLS, and the page in a real browser."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import ssl
import subprocess
import wave
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest

from devtools import Browser, chromium
from speech_service import CAPS, CARD, PATIENT, Service, Stub, run, service
from test_speech_audio import SENT, sent
from voxpath.cli.actions import speech as actions
from voxpath.voice.speech import client, master, worker
from voxpath.voice.speech.audio_files import AudioError, audio_of
from voxpath.voice.speech.samples import samples

AUDIO = client.Audio("card", CARD, CAPS, 32_000.0, "ten of clubs")


def settings(one: Service, **more) -> client.Settings:
    return client.Settings(one.url(""), **more)


@pytest.mark.parametrize("paced", [True, False])
def test_a_record_tells_when_everything_happened_and_shares_add_up(paced: bool):
    async def test() -> None:
        async with service() as one:
            record = await client.stream(one.http, AUDIO, settings(one, paced=paced, block_s=0.1))
            assert record.status == 0
            assert record.bytes == len(CARD)
            times = [
                record.connected_s,
                record.first_sent_s,
                record.last_sent_s,
                record.final_s,
                record.closed_s,
            ]
            assert times == sorted(times)
            at = [result.at_s for result in record.results]
            assert at == sorted(at)
            assert [result.final for result in record.results] == [False] * (len(at) - 1) + [True]
            assert record.word_error_rate is not None
            # The last speech was sent with the last block or before.
            assert record.shares.total_s >= record.latency_s - 1e-3
            assert min(vars(record.shares).values()) >= 0
            if paced:
                assert record.last_sent_s >= AUDIO.length_s
                # The first block is sent when it is over, or late.
                assert record.total_factor > 1 - (0.1 + record.late_s) / AUDIO.length_s
            json.dumps(record.to_json())

    run(test)


def test_the_delay_of_end_pointing_is_not_the_networks():
    """Speech, then silence until its end is decided: what was waited for is told as such."""

    async def test() -> None:
        async with service() as one:
            audio = client.Audio("card", CARD + bytes(48_000), CAPS, 32_000.0)
            record = await client.stream(one.http, audio, settings(one, block_s=0.05))
            # Each block was sent when it was due, or so much later, or while the next one was.
            late_s = record.late_s + 0.05
            assert 0.4 - late_s < record.shares.end_pointing_s < 1.0 + late_s

    run(test)


def test_the_shares_of_a_delay_are_told_by_when_audio_was_sent(monkeypatch: pytest.MonkeyPatch):
    """Blocks of 50 ms from 1 s on; speech ends after 1 s of audio, which is decided after 1.6 s."""
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: 3.0))
    stream = client._Stream(AUDIO, client.Settings("ws://nowhere"))
    stream._sent = [(block / 20, 1 + block / 20) for block in range(1, 40)]
    stream._record.connected_s = 0.5
    for waiting, expected in ((0.0, (0.15, 0.0, 0.25, 0.6)), (2.2, (0.05, 0.1, 0.25, 0.6))):
        stream._shares({"end_of_speech": 1.0, "decided": 1.6, "since_arrival": 0.25, "waiting": waiting})
        shares = stream._record.shares
        assert (shares.network_s, shares.waiting_s, shares.decoding_s, shares.end_pointing_s) == (
            pytest.approx(expected)
        )
        assert shares.total_s == pytest.approx(1.0)


def test_vosks_protocol_gives_the_same_transcript():
    async def test() -> None:
        async with service() as one:
            both = [
                await client.stream(one.http, AUDIO, settings(one, paced=False, vosk=vosk, block_s=block))
                for vosk, block in itertools.product((False, True), (0.02, 0.25))
            ]
            assert len({record.transcript for record in both}) == 1
            assert {record.status for record in both} == {0}

    run(test)


def test_what_is_asked_of_a_session_is_asked_by_both_protocols():
    async def test() -> None:
        audio = client.Audio("twice", CARD + bytes(16_000) + CARD, CAPS, 32_000.0)
        async with service() as one:
            for vosk, count in ((False, 2), (True, 2)):
                asked = settings(one, paced=False, vosk=vosk, asked={"hangover": 0.3, "session": 900.0})
                record = await client.stream(one.http, audio, asked)
                assert record.status == 0
                assert sum(result.final for result in record.results) == count

    run(test)


def test_there_is_a_worker_for_each_processor_that_may_be_used(monkeypatch: pytest.MonkeyPatch, voxpath):
    counts = []

    async def serve(settings, *others) -> int:
        counts.append((others[-1].count, settings.hearing, settings.limits.session_s))
        return 0

    monkeypatch.setattr(actions, "_serve", serve)
    monkeypatch.setattr(actions.os, "sched_getaffinity", lambda _: {0, 2, 5})
    assert voxpath("speech", "serve").code == 0
    assert voxpath("speech", "serve", "--workers", "1", "--silence", "0", "--session", "7200").code == 0
    assert counts == [(3, {}, 600.0), (1, {"silence": 0.0}, 7200.0)]
    assert "--lead 0.1: it has the onset in it" in voxpath("speech", "serve", "--lead", "0.1").err


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """What is asked of the service instead of serving."""
    asked: list[tuple] = []

    async def serve(*given) -> int:
        asked.append(given)
        return 0

    monkeypatch.setattr(actions, "_serve", serve)
    for variable in ("VOXPATH_TOKEN", "VOXPATH_WORKER_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    return asked


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_network_is_served_only_with_both_tokens_unless_insecure_is_said(
    host: str, served: list[tuple], voxpath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "clients").write_text("one\n")
    (tmp_path / "workers").write_text("two\n")
    serve = ("speech", "serve", "--host", host)
    for given in ([], ["--token-file", "clients"], ["--worker-token-file", "workers"]):
        called = voxpath(*serve, *given)
        assert called.code == 2
        assert "or say --insecure" in " ".join(called.err.split())
    assert served == []
    called = voxpath(*serve, "--token-file", "clients", "--worker-token-file", "workers")
    assert called.code == 0
    assert "Warning" in called.err
    assert "in the open" in called.err
    assert voxpath(*serve, "--insecure").code == 0
    monkeypatch.setenv("VOXPATH_TOKEN", "three")
    monkeypatch.setenv("VOXPATH_WORKER_TOKEN", "four")
    assert voxpath(*serve).code == 0
    tokens = [(given[0].client_token, given[0].worker_token) for given in served]
    assert tokens == [("one", "two"), (None, None), ("three", "four")]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--host", "nosuch.invalid", "--host nosuch.invalid: "),
        ("--host", "", "it is empty"),
        ("--origin", "*", "--origin *: an origin is http://"),
        ("--origin", "https://friend.example/page", "an origin ends with its host or port"),
    ],
)
def test_addresses_and_origins_that_are_none_are_refused(
    option: str, value: str, said: str, served: list[tuple], voxpath
):
    called = voxpath("speech", "serve", option, value)
    assert called.code == 2
    assert said in " ".join(called.err.split())
    assert served == []


def test_only_our_own_workers_hear_clients_who_have_a_token(
    served: list[tuple], voxpath, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VOXPATH_TOKEN", "one")
    assert voxpath("speech", "serve", "--host", "localhost").code == 0
    (settings, *_, own) = served[0]
    assert len(settings.worker_token) > 20
    assert own._environment["VOXPATH_WORKER_TOKEN"] == settings.worker_token
    called = voxpath("speech", "serve", "--workers", "0")
    assert called.code == 2
    assert "--worker-token-file" in called.err


@pytest.mark.parametrize("written", ["", "two words", "né"])
def test_a_file_without_a_token_is_refused(written: str, served: list[tuple], voxpath, tmp_path: Path):
    (tmp_path / "clients").write_text(written)
    called = voxpath("speech", "serve", "--token-file", "clients")
    assert called.code == 2
    assert "has no token" in " ".join(called.err.split())
    assert served == []


def test_what_goes_wrong_is_in_the_record():
    async def test() -> None:
        async with service(0, settings=master.Settings(client_token="c")) as one:
            record = await client.stream(one.http, AUDIO, settings(one))
            assert record.message == "the server answers 401"
            record = await client.stream(one.http, AUDIO, settings(one, token="c"))
            assert (record.status, record.final_s) == (9, None)
            gone = await client.stream(one.http, AUDIO, client.Settings("ws://127.0.0.1:1"))
            assert gone.status is None
            assert gone.message

    run(test)


def test_tls_carries_clients_and_workers(tmp_path: Path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-out", certificate, "-keyout", key], check=True, capture_output=True)

    async def test() -> None:
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(certificate, key)
        trusting = ssl.create_default_context(cafile=str(certificate))
        runner, _, port = await master.serve(PATIENT, "127.0.0.1", 0, serving)
        url = f"wss://127.0.0.1:{port}"
        working = asyncio.create_task(worker.work(worker.Settings(url, ssl=trusting), Stub()))
        try:
            async with aiohttp.ClientSession() as http:
                to = client.Settings(url, paced=False, ssl=trusting)
                assert (await client.stream(http, AUDIO, to)).status == 0
                doubting = await client.stream(http, AUDIO, client.Settings(url))
                assert "CERTIFICATE_VERIFY_FAILED" in doubting.message
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await runner.cleanup()

    run(test)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stream", "nothing.wav"], "nothing.wav: No such file"),
        (["stream", "sample:none"], "the sets are cards, librivox"),
        (["stream", "sample:cards/001", "--server", "http://x"], "begins with ws:// or wss://"),
        (["serve", "--key", "small.toml"], "belongs to --certificate"),
        (["work", "localhost"], "begins with ws:// or wss://"),
    ],
)
@pytest.mark.usefixtures("small")
def test_bad_input_of_the_commands_is_told(voxpath, arguments: list[str], message: str):
    called = voxpath("speech", *arguments)
    assert called.code == 2
    assert message in called.err


def test_the_page_streams_a_file_in_a_real_browser(tmp_path: Path):
    async def test() -> None:
        async with service() as one, page(one, tmp_path / "profile") as browser:
            await browser.choose("#file", samples("sample:cards/001")[0].path)
            await browser.until("session && session.over && session.latency !== undefined")
            assert (
                (await browser.value("document.getElementById('text').textContent"))
                .strip()
                .endswith("octets")
            )
            told = await browser.value("({sent: session.sent, results: session.results, "
                                       "seconds: session.seconds, factor: session.factor})")  # fmt: skip
            assert told["seconds"] == pytest.approx(AUDIO.length_s, abs=1e-3)
            assert len(told["sent"]) == 5
            # Blocks are sent when they are over, so the audio takes as long as it lasts.
            assert told["sent"][-1] >= AUDIO.length_s
            assert told["factor"] > 0.7
            times = [result["at"] for result in told["results"]]
            assert times == sorted(times)
            drawn = "document.querySelectorAll('#diagram line.{}').length"
            assert await browser.value(drawn.format("sent")) == 5
            assert await browser.value(drawn.format("final")) == 1
            figures = await browser.value("document.getElementById('figures').textContent")
            assert "result after the last audio" in figures
            assert "real-time factor" in figures
            await one.until(lambda: one.master.pool.available == 1)

    run(test)


def test_files_of_every_kind_are_sent_as_they_are(tmp_path: Path):
    """In as much time as they last; what is none is told before anything is sent."""
    for name in SENT:
        (tmp_path / "said").write_bytes(sent(name))
        (audio,) = audio_of(str(tmp_path / "said"))
        assert audio.data == sent(name)
        assert audio.length_s == pytest.approx(1.0, abs=0.1)
    for data, message in (
        (b"nothing", "no format of audio"),
        (b"fLaC" + bytes(99), "FLAC that cannot be read"),
    ):
        (tmp_path / "said").write_bytes(data)
        with pytest.raises(AudioError, match=message):
            audio_of(str(tmp_path / "said"))


def test_a_recorder_of_a_browser_is_understood_as_it_goes(tmp_path: Path):
    """MediaRecorder writes WebM without lengths; its pieces are sent as they come."""
    record = """new Promise(async (done) => {
      const media = await navigator.mediaDevices.getUserMedia({ audio: true });
      const recorder = new MediaRecorder(media, { mimeType: "audio/webm;codecs=opus" });
      const url = new URL("client/ws/speech", location.href.replace("http", "ws"));
      url.searchParams.set("content-type", recorder.mimeType);
      const socket = new WebSocket(url), told = [];
      socket.onmessage = (event) => {
        told.push(JSON.parse(event.data));
        if (told.length === 2) recorder.stop();
      };
      socket.onclose = () => done(told);
      recorder.ondataavailable = (event) => socket.send(event.data);
      recorder.onstop = () => { media.getTracks().forEach((track) => track.stop()); socket.send("EOS"); };
      socket.onopen = () => recorder.start(100);
    })"""

    async def test() -> None:
        async with service() as one, page(one, tmp_path / "profile") as browser:
            called = await browser.call(
                "Runtime.evaluate", expression=record, awaitPromise=True, returnByValue=True, userGesture=True
            )
            told = called["result"]["value"]
            assert {event["status"] for event in told} == {0}
            # Before the recording ended, and behind it.
            assert [event["result"]["final"] for event in told[:2]] == [False, False]
            assert told[-2]["result"]["final"]

    run(test)


@contextlib.asynccontextmanager
async def page(one: Service, profile: Path) -> AsyncIterator[Browser]:
    async with chromium(profile) as browser:
        await browser.open(one.url("/", "http"))
        await browser.until("document.readyState === 'complete' && typeof Session === 'function'")
        yield browser


async def click(browser: Browser, name: str) -> None:
    expression = f"document.getElementById('{name}').click()"
    await browser.call("Runtime.evaluate", expression=expression, userGesture=True)


@pytest.mark.parametrize("block", [100, 5000])
def test_the_page_sends_all_that_a_microphone_heard_until_stop(tmp_path: Path, block: int):
    """Also of a block that is not over; the browser's own microphone beeps."""

    async def test() -> None:
        async with service() as one, page(one, tmp_path / "profile") as browser:
            await browser.value(f"document.getElementById('block').value = {block}")
            await click(browser, "microphone")
            await browser.until("session && session.heard >= 0.5 * session.rate")
            await click(browser, "stop")
            await browser.until("session.over")
            told = await browser.value("[session.heard, session.seconds * session.rate, session.status || 0]")
            assert told[0] == pytest.approx(told[1])
            assert told[2] == 0
            # Everything is as before, and can be had again.
            await browser.until("!document.getElementById('microphone').disabled")

    run(test)


def test_stop_ends_a_file_where_it_is(tmp_path: Path):
    """With what was spoken of its block, and the result of that."""
    length_s = 60 * AUDIO.length_s
    with wave.open(str(tmp_path / "long.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(CARD * 60)

    async def test() -> None:
        async with service() as one, page(one, tmp_path / "profile") as browser:
            await browser.value("document.getElementById('block').value = 5000")
            await browser.choose("#file", tmp_path / "long.wav")
            await browser.until("session && session.now() - session.connected > 1")
            await click(browser, "stop")
            await browser.until("session.over")
            seconds, status, final = await browser.value(
                "[session.seconds, session.status || 0, session.results.at(-1).final]"
            )
            assert 0 < seconds < length_s
            assert (status, final) == (0, True)
            await browser.until("!document.getElementById('file').disabled")

    run(test)


def test_the_page_asks_for_what_its_address_asks_for(tmp_path: Path):
    async def test() -> None:
        settings = master.Settings(master.Limits(wait_s=5.0), client_token="c", worker_token="w")
        async with service(settings=settings) as one, chromium(tmp_path / "profile") as browser:
            await browser.open(one.url("/?token=c&user-id=somebody", "http"))
            await browser.until("document.readyState === 'complete' && typeof Session === 'function'")
            asked = await browser.value("new URL(new Session(16000).socket.url).searchParams.toString()")
            assert asked.startswith("token=c&user-id=somebody&content-type=audio")

    run(test)
