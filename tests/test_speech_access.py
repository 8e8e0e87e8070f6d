"""Who is let in by the speech service: pages of a browser, tokens of clients and of workers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import aiohttp
import pytest

from speech_service import CARD, PATIENT, Stub, finals, run, service, transcribe
from voxpath.voice.speech import worker
from voxpath.voice.speech.origins import Origin


def test_only_named_pages_and_our_own_use_the_service_in_a_browser():
    friend = "https://friend.example"
    named = Origin.read("https://Friend.example:443/")

    async def test() -> None:
        async with service(settings=replace(PATIENT, origins=(named,))) as one:
            url = one.url("/client/dynamic/reference", "http")
            evil = f"http://evil.example:{one.port}"
            for origin, host, status in (
                ("https://evil.example", None, 403),
                ("null", None, 403),
                # DNS rebinding: their name leads to us.
                (evil, f"evil.example:{one.port}", 403),
                (f"http://127.0.0.1:{one.port}", None, 200),
                (f"http://localhost:{one.port}", f"localhost:{one.port}", 200),
                (f"http://machine:{one.port}", f"machine:{one.port}", 200),
                (f"http://localhost:{one.port}", f"LOCALHOST:{one.port}", 200),
                # Somebody may answer a short name on the local network.
                (f"http://evil:{one.port}", f"evil:{one.port}", 403),
                (f"http://user@127.0.0.1:{one.port}", None, 403),
                (f"http://127.0.0.1:{one.port}/path", None, 403),
                (f"ftp://127.0.0.1:{one.port}", None, 403),
                (f"http://127.0.0.1:{one.port + 1}", None, 403),
                ("http://127.0.0.1:port", None, 403),
                # No page has such an origin; ws4py says it, with which Kaldi's client is written.
                (f"ws://127.0.0.1:{one.port}", None, 200),
                (friend, None, 200),
            ):
                headers = {"Origin": origin, "Content-Id": "1"} | ({"Host": host} if host else {})
                async with one.http.post(url, data="ten of clubs", headers=headers) as answer:
                    assert answer.status == status, origin
                    told = answer.headers.get("Access-Control-Allow-Origin")
                    assert told == (friend if origin == friend else None)
            async with one.http.options(url, headers={"Origin": friend}) as answer:
                assert "content-id" in answer.headers["Access-Control-Allow-Headers"]
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await one.http.ws_connect(one.url("/worker/ws/speech"), headers={"Origin": friend})
            for path in ("/client/ws/speech", "/client/ws/status", "/vosk", "/", "/worker/ws/speech"):
                with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                    await one.http.ws_connect(one.url(path), headers={"Origin": "https://evil.example"})
        async with service(settings=replace(PATIENT, client_token="c", worker_token="w")) as one:
            # Who rebinds a name does not know the token; who has a name of its own does.
            host = f"speech.example:{one.port}"
            headers = {"Origin": f"https://{host}", "Host": host}
            async with one.http.ws_connect(one.url("/client/ws/status?token=c"), headers=headers) as socket:
                assert "num_workers_available" in await socket.receive_json()

    run(test)


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "friend.example",
        "ftp://friend.example",
        "https://friend.example/page",
        "https://a@b.example",
        "https://",
        "https://b.example:x",
    ],
)
def test_only_an_origin_can_be_named(origin: str):
    with pytest.raises(ValueError, match=r"origin|[Pp]ort"):
        Origin.read(origin)


def test_a_token_that_is_no_text_is_not_it():
    async def test() -> None:
        async with service(0, settings=replace(PATIENT, client_token="c", worker_token="w")) as one:
            for given, status in (
                (b"Bearer \xff\xfe", b"401"),
                (b"Bearer", b"401"),
                (b"Basic c", b"401"),
                # RFC 9110 section 11.1: in any case.
                (b"bearer  c", b"400"),
            ):
                reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
                writer.write(
                    b"POST /client/dynamic/reference HTTP/1.1\r\nHost: machine\r\nContent-Length: 0\r\n"
                    b"Authorization: " + given + b"\r\n\r\n"
                )
                assert (await reader.readline()).split()[1] == status, given
                writer.close()

    run(test)


def test_without_a_token_of_theirs_workers_are_not_given_the_audio_of_clients_who_have_one():
    async def test() -> None:
        async with service(0, settings=replace(PATIENT, client_token="c")) as one:
            with pytest.raises(worker.RefusedError):
                await worker.work(worker.Settings(one.url("", "ws")), Stub())

    run(test)


def test_tokens_are_asked_of_clients_and_workers():
    async def test() -> None:
        settings = replace(PATIENT, client_token="c", worker_token="w")
        async with service(settings=settings) as one:
            for headers in ({}, {"Authorization": "Bearer w"}, {"Authorization": "Basic c"}):
                with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
                    await transcribe(one, CARD, headers=headers)
            told = await transcribe(one, CARD, headers={"Authorization": "Bearer c"})
            assert finals(told).endswith("octets")
            async with one.http.ws_connect(one.url("/client/ws/status?token=c")) as socket:
                assert "num_workers_available" in await socket.receive_json()
            with pytest.raises(worker.RefusedError):
                await worker.work(worker.Settings(one.url("", "ws"), "wrong"), Stub())

    run(test)
