"""The speech service, held against the protocols as they are described: no client of ours is used here.

URLs, keys and codes are spelled out. Only where decoding is not the point does a stub recognise.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sys
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from unittest.mock import AsyncMock
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web

from conftest import ROOT
from speech_service import (
    CAPS,
    CARD,
    Service,
    Stub,
    events,
    finals,
    pocketsphinx,
    run,
    service,
    transcribe,
    vosk,
)
from voxpath.voice.speech import master, worker
from voxpath.voice.speech.course import Arrivals
from voxpath.voice.speech.protocol import Request
from voxpath.voice.speech.recognisers import Heard
from voxpath.voice.speech.samples import samples


def test_speech_is_recognised_with_partial_results_in_order_and_the_server_closes():
    async def test() -> None:
        async with service(make=pocketsphinx) as one:
            pcm = samples("sample:cards/005")[0].pcm()
            told = await transcribe(one, pcm)
            results = [event for event in told if "result" in event]
            assert {event["status"] for event in told} == {0}
            assert len({event["id"] for event in told}) == 1
            assert [event["result"]["final"] for event in results[:-1]] == [False] * (len(results) - 1)
            assert len(results) > 2
            assert "seven of hearts" in finals(told)
            last = results[-1]
            assert set(last) >= {"segment", "segment-start", "segment-length", "total-length"}
            assert last["result"]["hypotheses"][0]["word-alignment"][0]["word"] == "eight"
            state = told[-1]["adaptation_state"]
            assert set(state) == {"id", "value", "type", "time"}
            # What was learnt may be given back.
            async with one.speak() as socket:
                await socket.send_str(json.dumps({"adaptation_state": state}))
                await socket.send_bytes(CARD)
                await socket.send_bytes(b"EOS")
                assert finals(await events(socket)) == "ten of clubs"

    run(test)


def test_http_put_answers_with_one_utterance():
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(CARD), 5000):
            yield CARD[at : at + 5000]

    async def test() -> None:
        async with service() as one:
            url = one.url("/client/dynamic/recognize", "http")
            async with one.http.put(url, data=chunks(), headers={"Content-Type": CAPS}) as answer:
                assert answer.status == 200
                told = await answer.json()
            assert told["status"] == 0
            assert set(told) == {"status", "hypotheses", "id"}
            assert told["hypotheses"][0]["utterance"].endswith("octets")
            async with one.http.options(url) as answer:
                assert answer.status == 200
                assert "Access-Control-Allow-Origin" not in answer.headers

    run(test)


def test_the_status_socket_tells_every_change():
    async def test() -> None:
        async with service(2) as one, one.http.ws_connect(one.url("/client/ws/status")) as socket:
            first = await socket.receive_json()
            assert first == {"num_workers_available": 2, "num_requests_processed": 0}
            await transcribe(one, CARD)
            seen = [first]
            while seen[-1] != {"num_workers_available": 2, "num_requests_processed": 1}:
                seen.append(await socket.receive_json())
            assert 1 in {one["num_workers_available"] for one in seen}

    run(test)


def test_a_worker_of_the_original_protocol_serves_clients():
    """Connects, is told of the session, hears frames as they were sent, answers, closes."""

    async def test() -> None:
        async with service(0) as one, one.http.ws_connect(one.url("/worker/ws/speech")) as original:
            await one.until(lambda: one.master.pool.available == 1)
            client = asyncio.create_task(transcribe(one, b"ab" * 10, block=20))
            begin = await original.receive_json()
            assert begin["content_type"] == CAPS
            assert set(begin) == {"id", "content_type", "user_id", "content_id"}
            assert await original.receive_bytes() == b"ab" * 10
            assert await original.receive_str() == "EOS"
            result = {"hypotheses": [{"transcript": "tere"}], "final": True}
            await original.send_json({"status": 0, "segment": 0, "result": result})
            await original.close()
            told = await client
            assert finals(told) == "tere"
            assert told[0]["id"] == begin["id"]

    run(test)


@pytest.mark.parametrize("path", ["/vosk", "/"])
def test_vosk_answers_every_message_of_audio_once(path: str):
    async def test() -> None:
        async with service() as one, one.http.ws_connect(one.url(path)) as socket:
            await socket.send_str('{"config": {"sample_rate": 16000, "words": true}}')
            replies = []
            for at in range(0, len(CARD), 6400):
                await socket.send_bytes(CARD[at : at + 6400])
                replies.append(await socket.receive_json())
            assert all(set(reply) == {"partial"} for reply in replies)
            assert replies[-1]["partial"].endswith("so far")
            await socket.send_str('{"reset" : 1}')
            assert (await socket.receive_json())["text"].endswith("octets")
            await socket.send_str('{"eof" : 1}')
            assert await socket.receive_json() == {"text": ""}
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE

    run(test)


@pytest.mark.parametrize(
    ("caps", "said", "status"),
    [
        ("video/avi", [CARD], 5),
        ("audio/x-raw, rate=(int)99999999", [CARD], 5),
        ("audio/x-raw, format=(string)S12LE", [CARD], 5),
        ("audio/x-wav", [b"RIFF....AVI LIST", "EOS"], 5),
        ("audio/x-wav", [b"RIFF", "EOS"], 5),
        ("audio/ogg", [b"OggX" + bytes(60), "EOS"], 5),
        (CAPS, ["not JSON", "EOS"], 5),
        (CAPS, ['{"adaptation_state": {"value": 5}}', "EOS"], 5),
        ("", [b"fLaC" + bytes(9000), "EOS"], 5),
        (CAPS, ["[" * 1500, "EOS"], 5),
        (CAPS, ['{"a":' * 1500, "EOS"], 5),
        (CAPS, ["1" * 5000, "EOS"], 5),
    ],
)
def test_what_cannot_be_heard_is_refused_and_the_worker_returns(
    caps: str, said: list[str | bytes], status: int
):
    async def test() -> None:
        async with service() as one:
            async with one.speak(caps) as socket:
                for part in said:
                    await (socket.send_str(part) if isinstance(part, str) else socket.send_bytes(part))
                told = await events(socket)
            assert told[-1]["status"] == status
            assert told[-1]["message"]
            await one.until(lambda: one.master.pool.available == 1)
            assert finals(await transcribe(one, CARD)).endswith("octets")

    run(test)


def test_what_comes_behind_the_end_is_not_heard():
    """The original ignores it; a client that says `EOS` twice has its result."""

    async def test() -> None:
        async with service() as one, one.speak() as socket:
            for part in (CARD, b"EOS", CARD):
                await socket.send_bytes(part)
            await socket.send_str("EOS")
            told = await events(socket)
            assert {event["status"] for event in told} == {0}
            assert finals(told) == finals(await transcribe(one, CARD))

    run(test)


def test_a_state_of_another_recogniser_is_no_obstacle():
    """Such as a client kept that spoke to a Kaldi server before; what is no state at all is one."""

    async def test() -> None:
        async with service(make=pocketsphinx) as one:
            kaldi = base64.b64encode(zlib.compress(b"<NumSpeakers> 1")).decode()
            for kind in ("string+gzip+base64", "ivector"):
                async with one.speak() as socket:
                    state = {"type": kind, "value": kaldi, "time": "2014-11-14T11:08:49"}
                    await socket.send_str(json.dumps({"adaptation_state": state}))
                    await socket.send_bytes(CARD)
                    await socket.send_str("EOS")
                    assert finals(await events(socket)) == "ten of clubs"

    run(test)


@pytest.mark.parametrize("said", ["[" * 1500, '{"config": {"sample_rate": 1' + "0" * 400 + "}}", "1" * 5000])
def test_what_is_none_of_vosks_messages_is_refused_and_the_worker_returns(said: str):
    async def test() -> None:
        async with service() as one:
            async with one.http.ws_connect(one.url("/vosk")) as socket:
                await socket.send_str(said)
                (told,) = await events(socket)
            assert told["status"] == 5
            assert told["error"]
            await one.until(lambda: one.master.pool.available == 1)
            assert finals(await transcribe(one, CARD)).endswith("octets")

    run(test)


def test_vosks_clients_have_no_result_behind_an_error():
    """They stop at the first message that has `text`."""

    async def test() -> None:
        async with service() as one, one.http.ws_connect(one.url("/vosk")) as socket:
            await socket.send_str('{"config": {"sample_rate": 1}}')
            await socket.send_str('{"eof" : 1}')
            (told,) = await events(socket)
            assert set(told) == {"error", "status"}
            assert told["status"] == 5

    run(test)


def test_audio_that_reads_like_the_end_is_audio():
    """In Vosk's protocol and in an HTTP body `EOS` means nothing; and an answer to each message stays one."""

    async def test() -> None:
        async with service() as one:
            *parts, whole = await vosk(one, '{"config": {"sample_rate": 16000}}', CARD, b"EOS", CARD)
            assert [set(part) for part in parts] == [{"partial"}] * 3
            assert whole["text"] == finals(await transcribe(one, CARD + b"EOS" + CARD))
        async with service(0) as one, one.http.ws_connect(one.url("/worker/ws/speech")) as other:
            await one.until(lambda: one.master.pool.available == 1)
            asking = asyncio.create_task(
                one.http.put(one.url("/client/dynamic/recognize", "http"), data=b"EOS")
            )
            await other.receive_json()
            said = [message.data async for message in _until_the_end(other)]
            assert said == [b"E", b"OS"]
            await other.close()
            async with await asking as answer:
                assert (await answer.json())["status"] == 0

    run(test)


async def _until_the_end(socket: aiohttp.ClientWebSocketResponse) -> AsyncIterator[aiohttp.WSMessage]:
    async for message in socket:
        if message.data == "EOS":
            return
        yield message


def test_a_session_in_which_nothing_was_said_has_a_status():
    async def test() -> None:
        async with service(make=Mute) as one:
            told = await transcribe(one, bytes(16_000))
            assert [event["status"] for event in told] == [0]

    run(test)


class Mute(Stub):
    """Has learnt nothing, and understood nothing."""

    def adaptation(self) -> None:
        return None


def test_a_worker_that_says_nothing_or_that_something_is_wrong_leaves_nobody_waiting():
    async def test() -> None:
        async with service(0) as one:
            for says, status in ((None, 0), (3, 3)):
                async with one.http.ws_connect(one.url("/worker/ws/speech")) as other:
                    await one.until(lambda: one.master.pool.available == 1)
                    asking = asyncio.create_task(transcribe(one, CARD))
                    async for _ in _until_the_end(other):
                        pass
                    # One that says what is wrong need not close before the master does.
                    await (other.close() if says is None else other.send_json({"status": says}))
                    assert [event["status"] for event in await asking] == [status]

    run(test)


def test_a_body_that_is_compressed_once_more_is_refused():
    async def test() -> None:
        async with service() as one:
            url = one.url("/client/dynamic/recognize", "http")
            headers = {"Content-Type": CAPS, "Content-Encoding": "gzip"}
            async with one.http.put(url, data=CARD, headers=headers) as answer:
                told = await answer.json()
            assert told["status"] == 5
            assert "Content-Encoding gzip" in told["message"]

    run(test)


class Broken(Stub):
    """Fails in the middle of one session, and when that is let go."""

    sessions = -1
    """A recogniser is reset as it is made, too."""

    def reset(self) -> None:
        super().reset()
        self.sessions += 1

    def feed(self, pcm: bytes) -> None:
        super().feed(pcm)
        if self.sessions == 1:
            raise RuntimeError("no")

    def finish(self) -> Heard:
        if self.sessions == 1:
            raise RuntimeError("no")
        return super().finish()


def test_a_recogniser_that_fails_ends_its_session_with_a_status_and_not_the_worker():
    async def test() -> None:
        async with service(make=Broken) as one:
            told = await transcribe(one, CARD)
            assert [event["status"] for event in told] == [2]
            assert told[-1]["message"]
            await one.until(lambda: one.master.pool.available == 1)
            assert finals(await transcribe(one, CARD)).endswith("octets")
            assert not one.workers[0].done()

    run(test)


def test_a_worker_outlives_a_master_that_says_no_request():
    async def test() -> None:
        said = iter(["[" * 1500, "{}", json.dumps({"id": "1"})])
        heard = asyncio.Event()

        async def ask(request: web.Request) -> web.WebSocketResponse:
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            first = next(said)
            await socket.send_str(first)
            if "id" in first:
                await socket.send_str("EOS")
                assert (await socket.receive_json())["adaptation_state"]
                heard.set()
            await socket.receive()
            return socket

        app = web.Application()
        app.router.add_get("/worker/ws/speech", ask)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        to = worker.Settings(f"ws://127.0.0.1:{runner.addresses[0][1]}")
        working = asyncio.create_task(worker.work(to, Stub()))
        await heard.wait()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await runner.cleanup()

    run(test)


def test_a_worker_that_is_to_end_ends_at_the_end_of_a_session_too():
    async def test() -> None:
        ending = asyncio.Event()

        class Connection(worker._Connection):
            async def _read(self) -> None:
                try:
                    await asyncio.Event().wait()
                finally:
                    ending.set()
                    await asyncio.Event().wait()

            async def _recognise(self, request: Request) -> None:
                assert request.id == "1"
                await asyncio.sleep(0)

        socket = AsyncMock()
        socket.receive.return_value = aiohttp.WSMessage(aiohttp.WSMsgType.TEXT, json.dumps({"id": "1"}), None)
        with ThreadPoolExecutor(1) as thread:
            serving = asyncio.create_task(Connection(socket, Stub(), thread).serve())
            await ending.wait()
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving

    run(test)


class Undecided(Stub):
    """Understands nothing in the end, after it has said something else."""

    def finish(self) -> Heard:
        return Heard("")


def test_partial_results_are_followed_by_a_final_one_whatever_it_is():
    async def test() -> None:
        async with service(make=Undecided) as one:
            told = [event["result"] for event in await transcribe(one, CARD) if "result" in event]
            assert [result["final"] for result in told[-2:]] == [False, True]
            assert told[-1]["hypotheses"][0]["transcript"] == ""

    run(test)


def test_decoding_counts_from_when_the_master_had_the_message_that_was_decided_by(
    monkeypatch: pytest.MonkeyPatch,
):
    """A worker may read late; which message it is about it says, and no client is told."""
    now = 10.0
    monkeypatch.setattr(master, "time", SimpleNamespace(monotonic=lambda: now))

    async def test() -> None:
        nonlocal now
        async with service(0) as one, one.http.ws_connect(one.url("/worker/ws/speech")) as late:
            await one.until(lambda: one.master.pool.available == 1)
            url = f"{one.url('/client/ws/speech')}?content-type={quote(CAPS)}&timing=1"
            async with one.http.ws_connect(url) as socket:
                await socket.send_bytes(b"ab")
                assert (await late.receive_json())["timing"]
                await late.receive_bytes()
                now += 0.25
                await socket.send_bytes(b"cd")
                await late.receive_bytes()
                now += 0.5
                for message, since in ((1, 0.75), (2, 0.5)):
                    result = {"hypotheses": [{"transcript": "tere"}], "final": True}
                    timing = {"decoding": 0.0, "since_arrival": 99.0, "message": message}
                    await late.send_json({"status": 0, "segment": 0, "result": result, "timing": timing})
                    told = await socket.receive_json()
                    assert told["timing"] == {"decoding": 0.0, "since_arrival": since, "waiting": 0.0}
                await late.send_json({"status": 0, "timing": {"message": 3}})
                assert (await socket.receive_json())["status"] == 2

    run(test)


def test_arrivals_are_kept_of_the_last_messages():
    arrivals = Arrivals()
    for second in range(70_000):
        arrivals.note(float(second))
    assert arrivals.of(70_000) == 69_999.0
    assert arrivals.of(70_000 - 65_535) == 70_000.0 - 65_536
    assert arrivals.of(70_000 - 65_536) is None
    for none in (0, -1, 70_001):
        with pytest.raises(LookupError):
            arrivals.of(none)


@pytest.mark.parametrize(
    "says",
    [
        "no JSON",
        "[]",
        '{"status": 0, "result": 5}',
        "[" * 1500,
        '{"status": 0, "x": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_a_worker_that_says_what_is_no_result_ends_its_session(says: str):
    async def test() -> None:
        async with service(0) as one, one.http.ws_connect(one.url("/worker/ws/speech")) as broken:
            await one.until(lambda: one.master.pool.available == 1)
            url = one.url("/client/dynamic/recognize", "http")
            asking = asyncio.create_task(one.http.put(url, data=CARD))
            await broken.receive_json()
            await broken.send_str(says)
            async with await asking as answer:
                told = await answer.json()
            assert told["status"] == 2
            assert told["message"]

    run(test)


def test_a_reference_names_what_it_is_of():
    async def test() -> None:
        async with service(0) as one:
            url = one.url("/client/dynamic/reference", "http")
            async with one.http.post(url, data="ten of clubs") as answer:
                assert (answer.status, await answer.text()) == (400, "No Content-Id specified")
            async with one.http.post(url, data="ten of clubs", headers={"Content-Id": "1"}) as answer:
                assert answer.status == 200

    run(test)


@pytest.mark.parametrize("kind", ["text/plain; charset=nosuch", "text/plain; charset=utf-8"])
def test_a_reference_may_be_any_octets(kind: str):
    async def test() -> None:
        async with service(0) as one:
            url = one.url("/client/dynamic/reference", "http")
            headers = {"Content-Id": "1", "Content-Type": kind}
            async with one.http.post(url, data=b"\xff\xfe\xfd", headers=headers) as answer:
                assert answer.status == 200

    run(test)


def test_vosks_configuration_is_kept_or_refused():
    rate = '{ "config" : { "sample_rate" : "16000", "new_key": 1 } }'

    async def test() -> None:
        async with service(make=pocketsphinx) as one:
            assert await vosk(one) == [{"text": ""}]
            *_, plain = await vosk(one, rate, CARD[:16000], '{"config": {"words": true}}', CARD[16000:])
            assert plain["text"] == "ten of clubs"
            assert [set(word) for word in plain["result"]] == [{"conf", "start", "end", "word"}] * 3
            *_, short = await vosk(one, rate, '{"config": {"words": false}}', CARD)
            assert short == {"text": "ten of clubs"}
            *_, several = await vosk(one, rate, '{"config": {"max_alternatives": 20}}', CARD)
            (best,) = several["alternatives"]
            assert best["text"] == "ten of clubs"
            assert [set(word) for word in best["result"]] == [{"start", "end", "word"}] * 3
            for key, value in (("phrase_list", ["ten"]), ("model", "x"), ("sample_rate", "fast")):
                async with one.http.ws_connect(one.url("/")) as socket:
                    await socket.send_json({"config": {key: value}})
                    told = await socket.receive_json()
                    assert told["status"] == 5
                    assert told["error"].startswith(f"config.{key}")
                    assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE

    run(test)


QUIET = bytes(2 * 16_000 * 4)


@pytest.mark.parametrize("path", ["/client/ws/speech", "/vosk", "/client/dynamic/recognize"])
def test_what_a_session_hears_is_asked_in_its_address_or_of_the_service(path: str):
    """Silence that ends it, silence that ends a segment; a client has the last word."""

    async def said(one: Service, asked: str, pcm: bytes) -> tuple[int, int]:
        """Its status, and how often speech has ended."""
        url = f"{one.url(path, 'http' if 'dynamic' in path else 'ws')}?content-type={quote(CAPS)}&{asked}"
        if "dynamic" in path:
            async with one.http.put(url, data=pcm, headers={"Content-Type": CAPS}) as answer:
                told = await answer.json()
            return told["status"], str(told.get("hypotheses")).count("octets")
        async with one.http.ws_connect(url) as socket:
            if "vosk" in path:
                await socket.send_str('{"config": {"sample_rate": 16000}}')
            await socket.send_bytes(pcm)
            await socket.send_str('{"eof" : 1}' if "vosk" in path else "EOS")
            told = await events(socket)
        return told[-1].get("status", 0), json.dumps(told).count("octets")

    async def test() -> None:
        twice = CARD + QUIET[:16_000] + CARD
        async with service() as one:
            assert await said(one, "", twice) == (0, 1)
            assert await said(one, "hangover=0.3", twice) == (0, 2)
            assert await said(one, "silence=3", QUIET) == (1, 0)
            assert await said(one, "silence=0", 8 * QUIET) == (0, 0)
            assert await said(one, "", 8 * QUIET) == (1, 0)
        asked = {"hangover": 0.3, "silence": 3.0}
        async with service(settings=master.Settings(master.Limits(wait_s=5.0), asked)) as one:
            assert await said(one, "", twice) == (0, 2)
            assert await said(one, "hangover=0.75", twice) == (0, 1)
            assert await said(one, "", QUIET) == (1, 0)
            assert await said(one, "silence=0", QUIET) == (0, 0)

    run(test)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("silence=-1", "silence '-1': a number from 0 to 86400 is expected"),
        ("hangover=x", "hangover 'x': a number from 0.03 to 10 is expected"),
        ("share=0.2", "share '0.2': a number from 0.5 to 1 is expected"),
        ("onset=1", "lead 0.45: it has the onset in it, which is 1"),
    ],
)
def test_what_cannot_be_heard_so_is_refused(asked: str, message: str):
    async def test() -> None:
        async with service() as one, one.http.ws_connect(one.url(f"/client/ws/speech?{asked}")) as socket:
            (told,) = await events(socket)
            assert (told["status"], told["message"]) == (5, message)

    run(test)


def test_who_asks_how_it_hears_waits_for_a_worker_that_knows_of_it():
    """A worker of the original would hear as it always does, and nobody would know."""

    async def test() -> None:
        settings = master.Settings(master.Limits(wait_s=0.2))
        async with service(0, settings=settings) as one, one.http.ws_connect(one.url("/worker/ws/speech")):
            await one.until(lambda: one.master.pool.available == 1)
            async with one.http.ws_connect(one.url("/client/ws/speech?silence=0")) as socket:
                assert (await events(socket))[-1]["status"] == 9
            assert one.master.pool.available == 1

    run(test)


def test_a_service_of_two_processes_begins_serves_and_ends(tmp_path):
    """`voxpath speech serve` with a worker of its own, from beginning to end."""

    async def test() -> None:
        command = [sys.executable, "-m", "voxpath", "speech", "serve", "--port", "0", "--workers", "1"]
        server = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        )  # fmt: skip
        try:
            line = (await server.stdout.readline()).decode()
            port = int(line.strip().rpartition(":")[2])
            async with aiohttp.ClientSession() as http:
                one = Service(port, None, [], http)
                async with http.ws_connect(one.url("/client/ws/status")) as socket:
                    while (await socket.receive_json())["num_workers_available"] < 1:
                        pass
                assert finals(await transcribe(one, CARD)) == "ten of clubs"
            server.send_signal(signal.SIGTERM)
            assert await server.wait() == 0
        finally:
            if server.returncode is None:
                server.kill()
            await server.communicate()

    run(test)
