"""The speech application simulated: beside what the real client and master send, and beside arithmetic."""

from __future__ import annotations

import asyncio
import math
import os
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import voxpath as voxpath_package
from conftest import PATIENCE_S, process
from speech_service import CAPS, CARD, Stub, run, service
from voxpath import handshake
from voxpath.scenario import ScenarioError, from_dict
from voxpath.scenario.apps.speech import DecoderFile, Utterance
from voxpath.voice.speech import client
from voxpath.voice.speech.audio_files import audio_of
from voxpath.voice.speech.profile import ProfileError, decoder_profile, utterance_profile
from voxpath.voice.speech.recognisers import Heard

AUDIO = client.Audio("card", CARD, CAPS, 32_000.0)
HALF = {"per_second": "500 ms", "finishing": "40 ms", "finishing_per_second": "100 ms"}


def scenario(app: dict, link: dict | None = None, **more) -> dict:
    """A session over 20 ms each way, and nothing else."""
    return {
        "name": "speech",
        "topology": {"kind": "pipe", "link": link or {"delay": "20 ms"}},
        "hosts": {"client": {"profile": "linux"}, "server": {"profile": "linux"}},
        "flows": [{"name": "speaker", "app": {"kind": "speech", **app}}],
        **more,
    }


def simulated(tmp_path: Path, app: dict, link: dict | None = None, **more) -> dict:
    """The row of its flow."""
    result = voxpath_package.run(from_dict(scenario(app, link, **more)), out=tmp_path / "runs")
    (row,) = result.flows.to_dicts()
    return row


@dataclass
class Relay:
    """Between the client and the master: passes octets on, and keeps them."""

    target: int
    sent: dict[str, bytes] = field(default_factory=lambda: {"up": b"", "down": b""})

    async def pump(self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            self.sent[way] += data
            writer.write(data)
            await writer.drain()
        writer.close()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self.pump("up", reader, back), self.pump("down", there, writer))


def exchanged(block_s: float) -> tuple[dict[str, bytes], str]:
    """What a real client and a real master say to each other, and the address that the client knows."""
    found: list[tuple[dict[str, bytes], str]] = []

    async def test() -> None:
        async with service() as one:
            relay = Relay(one.port)
            server = await asyncio.start_server(relay, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            address = f"127.0.0.1:{port}"
            settings = client.Settings(f"ws://{address}", paced=False, block_s=block_s)
            record = await client.stream(one.http, AUDIO, settings)
            assert record.status == 0
            server.close()
            await server.wait_closed()
            found.append((relay.sent, address))

    run(test)
    return found[0]


def of_any_version(headers: str) -> str:
    """A handshake without its key, date, and who they are."""
    headers = re.sub(r"(Key|Accept): [A-Za-z0-9+/=]{24,28}\r", r"\1: \r", headers)
    headers = re.sub(r"Date: [^\r]{29}\r", "Date: \r", headers)
    return re.sub(r"(Agent|Server): Python/[^\r]*\r", r"\1: \r", headers)


@pytest.mark.parametrize("block_s", [0.002, 0.25, 4.0])
def test_every_octet_is_that_of_the_real_exchange(tmp_path: Path, block_s: float):
    sent, address = exchanged(block_s)
    request, _, frames = sent["up"].partition(b"\r\n\r\n")
    response, _, told = sent["down"].partition(b"\r\n\r\n")
    assert of_any_version(request.decode() + "\r\n\r\n") == of_any_version(handshake.request(address, CAPS))
    assert of_any_version(response.decode() + "\r\n\r\n") == of_any_version(handshake.response())
    utterance = utterance_profile(Stub(), "pocketsphinx", AUDIO)
    app = {
        "utterance": utterance,
        "block": f"{block_s} s",
        "paced": False,
        "decoder": HALF,
        "address": address,
    }
    document = from_dict(scenario(app))
    planned = document.plan.data["flows"][0]["app"]
    row = simulated(tmp_path, app)
    assert (row["status"], row["bytes_wrong"]) == ("completed", 0)
    # Of 125 octets and fewer, up to 64 KiB, and more: each kind of header is among them.
    sizes = [len(message) for message in messages(frames)]
    blocks = math.ceil(len(CARD) / planned["block_bytes"])
    assert [planned["block_bytes"]] * (blocks - 1) == sizes[: blocks - 1]
    assert sizes[blocks:] == [3, 2]
    texts = messages(told)
    assert len(texts) == len(planned["results"]) + 2
    # Times in the texts have more or fewer digits.
    for text, result in zip(texts, planned["results"], strict=False):
        assert abs(len(text) - result["bytes"]) <= 12, text
    assert len(texts[-2]) == planned["farewell_bytes"]
    digits = sum(len(text) - result["bytes"] for text, result in zip(texts, planned["results"], strict=False))
    version = len(response) + 4 - planned["response_bytes"]
    assert row["bytes_delivered"] == len(sent["down"]) - digits - version
    up = planned["request_bytes"] + len(frames)
    assert up == planned["request_bytes"] + sum(frame(size) + 4 for size in sizes)


def frame(size: int) -> int:
    return size + (2 if size < 126 else 4 if size < 65_536 else 10)


def messages(data: bytes) -> list[bytes]:
    """The payloads of frames, masked or not, read by RFC 6455 section 5.2."""
    found = []
    while data:
        masked, length, at = data[1] & 0x80, data[1] & 0x7F, 2
        if length >= 126:
            at = 4 if length == 126 else 10
            length = int.from_bytes(data[2:at], "big")
        at += 4 if masked else 0
        found.append(data[at : at + length])
        data = data[at + length :]
    return found


def test_times_on_a_clean_path_are_those_of_arithmetic(tmp_path: Path):
    """40 ms round trip, no rate: everything is propagation, pacing and decoding."""
    row = simulated(tmp_path, {"length": "2 s", "speech": [["0 s", "1.9 s"]], "decoder": HALF})
    ms = 1_000_000
    assert row["established_ns"] == 40 * ms
    assert row["websocket_ns"] == 80 * ms
    assert row["audio_first_ns"] == (80 + 250) * ms
    assert row["audio_last_ns"] == (80 + 2000) * ms
    # The last quarter second takes 125 ms, the end of 2 s of segment 40 + 200 ms.
    assert row["decoding_ns"] == (125 + 240) * ms
    assert row["decoding_total_ns"] == (1000 + 240) * ms
    assert row["network_ns"] == 40 * ms
    assert row["end_pointing_ns"] == 0
    assert row["final_ns"] == (2080 + 20 + 365 + 20) * ms
    assert row["final_latency_s"] == pytest.approx(0.405)
    assert row["after_audio_s"] == pytest.approx(0.405)
    assert row["decoding_factor"] == pytest.approx(0.62)
    assert row["total_factor"] == pytest.approx((2485 - 330) / 2000)


def test_speech_that_ends_before_the_audio_does_waits_for_its_hangover(tmp_path: Path):
    row = simulated(
        tmp_path, {"length": "3 s", "speech": [["0 s", "1 s"]], "hangover": "600 ms", "decoder": HALF}
    )
    ms = 1_000_000
    # Speech is over with the block that ends at 1 s, and that is decided in the one that ends at 1.75 s.
    assert row["end_pointing_ns"] == 750 * ms
    # Of that block 100 ms are the segment's, which has 1.6 s.
    assert row["decoding_ns"] == (50 + 40 + 160) * ms
    assert row["after_audio_s"] == pytest.approx((1750 + 20 + 250 + 20 - 3000) / 1000)


def test_an_unpaced_upload_on_a_slow_link_is_bound_by_the_link(tmp_path: Path):
    link = {"delay": "10 ms", "rate": "400 kbit/s", "queue": "100 packets"}
    fast = {"per_second": "10 ms"}
    row = simulated(tmp_path, {"length": "5 s", "paced": False, "decoder": fast}, link)
    # 160 kB and their headers at 400 kbit/s, and the last decoding and round trip.
    least = (160_000 + 21 * 8 + 112 * 52) * 8 / 400_000
    assert least < row["final_ns"] / 1e9 - row["websocket_ns"] / 1e9 < least + 0.15
    assert 0.64 < row["total_factor"] < 0.75
    # asyncio takes 64 KiB, and says that it was sent.
    assert row["audio_last_ns"] < row["final_ns"] - 1e9


def test_a_session_is_the_same_again_and_its_seed_decides(tmp_path: Path):
    app = {"length": "2 s", "decoder": {**HALF, "spread": 0.3, "jitter": 0.3, "finishing_spread": 0.3}}
    one = simulated(tmp_path / "a", app)
    assert simulated(tmp_path / "b", app) == one
    assert simulated(tmp_path / "c", app, seed=2)["decoding_total_ns"] != one["decoding_total_ns"]


def test_results_have_a_table_of_their_own(tmp_path: Path):
    result = voxpath_package.run(
        from_dict(scenario({"length": "1 s", "decoder": HALF})), out=tmp_path / "runs"
    )
    frame = pl.read_parquet(result.folders[0] / "results.parquet")
    assert frame.get_column("final").to_list() == [0, 0, 0, 1]
    assert (frame.get_column("received_ns") - frame.get_column("understood_ns")).to_list() == [20_000_000] * 4
    (row,) = result.flows.to_dicts()
    assert row["final_ns"] == frame.get_column("received_ns").to_list()[-1]
    assert row["result_first_ns"] == frame.get_column("received_ns").to_list()[0]


def test_programs_of_asyncio_do_not_hold_small_segments_back():
    flows = from_dict(scenario({"length": "1 s", "decoder": HALF})).plan.data["flows"]
    assert flows[0]["transport"]["client"]["nagle"] is False
    told = scenario({"length": "1 s", "decoder": HALF})
    told["flows"][0]["transport"] = {"kind": "tcp", "nagle": True}
    assert from_dict(told).plan.data["flows"][0]["transport"]["client"]["nagle"] is True


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        ({"length": None}, "app.utterance", "one of utterance, audio, length is needed"),
        ({"audio": "x.wav"}, "app.length", "audio and length"),
        ({"length": None, "audio": "x.wav"}, "app.audio", "cannot be read"),
        ({"length": None, "utterance": "x.utterance"}, "app.utterance", "cannot be read"),
        ({"decoder": None}, "app.decoder", "is missing"),
        ({"decoder": "x.decoder"}, "app.decoder", "cannot be read"),
        ({"decoder": {**HALF, "spread": 9.0}}, "app.decoder", "at most 3"),
        ({"decoder": {**HALF, "curve": [["1 s", "2 s"], ["500 ms", "3 s"]]}}, "app.decoder.curve", "ascend"),
        ({"speech": [["1 s", "500 ms"]]}, "app.speech[0]", "a beginning and an end"),
        ({"block": "0 s"}, "app.block", "is zero"),
        (
            {"length": None, "utterance": {"audio": "9 B", "length": "1 s"}, "hangover": "1 s"},
            "app.hangover",
            "has no effect",
        ),
        ({"paces": True}, "app.paces", "did you mean 'paced'"),
    ],
)
def test_a_wrong_session_is_refused_by_its_key(change: dict, key: str, says: str):
    app = {"length": "2 s", "decoder": HALF} | change
    with pytest.raises(ScenarioError) as refused:
        from_dict(scenario({name: value for name, value in app.items() if value is not None}))
    assert any(f"flows[0].{key}" in str(one) and says in str(one) for one in refused.value.problems), (
        refused.value
    )


class Timed:
    """On a clock of its own: nothing for a second, then half a second for that, then a third of the time."""

    def __init__(self) -> None:
        self.now, self.heard, self.slow = 0.0, 0.0, 1.0

    def begin(self) -> None:
        self.heard = 0.0

    def feed(self, pcm: bytes) -> None:
        before, self.heard = self.heard, self.heard + len(pcm) / 32_000
        if self.heard > 1.0:
            self.now += self.slow * (0.5 if before <= 1.0 else (self.heard - before) / 3)

    def partial(self) -> str:
        return ""

    def finish(self) -> Heard:
        self.now += self.slow * (0.04 + 0.1 * self.heard)
        return Heard("something")

    def adaptation(self) -> None:
        return None

    def adapt(self, _state: str) -> None:
        raise AssertionError

    def reset(self) -> None:
        # Every second time the machine is busy, and everything takes half as long again.
        self.slow = 1.0 if self.slow > 1.0 else 1.5


def test_a_profile_says_what_a_recogniser_took(monkeypatch: pytest.MonkeyPatch):
    timed = Timed()
    monkeypatch.setattr("voxpath.voice.speech.profile.time.perf_counter", lambda: timed.now)
    audios = audio_of("sample:librivox")
    found = decoder_profile(timed, "pocketsphinx", audios, 4)
    assert found["origin"]["utterances"] == [audio.name for audio in audios]
    # Two of four wholes took 1.5 times the least.
    assert found["origin"]["contention"] == pytest.approx(1.25)
    decoder = DecoderFile.model_validate(found).decoder
    s = 1_000_000_000
    assert decoder.per_second == pytest.approx(1.25 * s / 3, rel=1e-3)
    assert decoder.finishing == pytest.approx(1.25 * 0.04 * s, rel=1e-3)
    assert decoder.finishing_per_second == pytest.approx(1.25 * 0.1 * s, rel=1e-3)
    assert (decoder.listening, decoder.spread, decoder.jitter) == (0, pytest.approx(0, abs=2e-3), 0)
    (before, nothing), (after, burst), *_ = decoder.curve
    assert (before, nothing) == (pytest.approx(0.99 * s), 0)
    assert (after, burst) == (pytest.approx(1.02 * s), pytest.approx(1.25 * 0.5 * s))


def test_a_profile_needs_speech():
    with pytest.raises(ProfileError, match="segments of speech"):
        decoder_profile(Stub(), "pocketsphinx", [client.Audio("quiet", bytes(64_000), CAPS, 32_000.0)], 1)


def test_an_utterance_notes_what_is_told_and_where():
    found = utterance_profile(Stub(), "pocketsphinx", AUDIO)
    utterance = Utterance.model_validate(found)
    assert (utterance.audio, utterance.length) == (len(CARD), round(len(CARD) / 32_000 * 1e9))
    (segment,) = utterance.segments
    # Speech is known to begin once a window is speech, and what is heard by then is its lead.
    assert segment.begins == segment.lead * 32_000 / 1e9
    assert segment.ends is None
    *partials, final = utterance.results
    assert [result.spoken for result in partials] == [None] * len(partials)
    assert final.after is None
    assert 0 < final.spoken <= len(CARD)
    steps = [later.after - result.after for result, later in pairwise(partials)]
    # Every quarter second of audio, in frames of 30 ms and blocks of 20 ms.
    assert all(8_000 <= step <= 9_600 for step in steps)


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the ways in differ: test_real_robust")
def test_the_same_machines_talk_over_the_kernels_sockets(tmp_path: Path):
    app = {"length": "600 ms", "decoder": HALF}
    document = from_dict(scenario(app, {"delay": "5 ms", "rate": "10 Mbit/s", "queue": "100 packets"}))
    (tmp_path / "speech.toml").write_text(document.text)
    with process("run", "speech.toml", "--backend", "real", "--out", "real", cwd=tmp_path) as running:
        _, said = running.communicate(timeout=PATIENCE_S)
    frames = [pl.read_parquet(path) for path in (tmp_path / "real").glob("*/flows.parquet")]
    assert frames, said
    (row,) = frames[0].to_dicts()
    (expected,) = voxpath_package.run(document, out=tmp_path / "sim").flows.to_dicts()
    for column in ("status", "bytes_delivered", "bytes_wrong", "audio_ns", "decoding_total_ns"):
        assert row[column] == expected[column], column
    order = [row[f"{name}_ns"] for name in ("websocket", "audio_first", "audio_last", "final", "completed")]
    assert order == sorted(order)
