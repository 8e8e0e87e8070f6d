"""A voice through codec, transport and network: what is heard, and how it is judged."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
import wave
from collections import deque
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from browser import browse
from voxpath import _engine
from voxpath.scenario import ScenarioError
from voxpath.voice.call import buffer as jitter
from voxpath.voice.call import call, delay, emodel, page, verdict
from voxpath.voice.call.codecs import CODECS, concealment, g711
from voxpath.voice.call.codecs.base import Encoded, Impairment, Wish
from voxpath.voice.call.codecs.pcm import Pcm
from voxpath.voice.call.measures import conversation, visqol
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.measures.conversation import Judged, judge
from voxpath.voice.call.network import of_scenario, one_link
from voxpath.voice.call.player import MISSING, Fate, Heard, play
from voxpath.voice.call.problems import CallError
from voxpath.voice.call.programs import rtp
from voxpath.voice.call.recording import Recording, read
from voxpath.voice.call.stretch import shifted
from voxpath.voice.call.transports import TRANSPORTS
from voxpath.voice.call.transports.base import NEVER, Arrivals, Wants, Way
from voxpath.voice.call.transports.stream import Stream

PERFECT = one_link({}, "perfect")
FAR = one_link({"delay": "150 ms"}, "far")
BAD = one_link(
    {"delay": {"kind": "normal", "mean": "80 ms", "deviation": "15 ms"}, "loss": "5 %"}, "jitter and loss"
)


def save(path: Path, values: np.ndarray, rate: int, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(values.astype("<i2").tobytes())
    return path


def tone(rate: int, seconds: float, hz: float = 150.0) -> np.ndarray:
    """A buzz with the harmonics of a voice."""
    at = np.arange(int(rate * seconds)) / rate
    return np.rint(sum(4000 / n * np.sin(2 * np.pi * n * hz * at) for n in range(1, 8))).astype(np.int16)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("over", TRANSPORTS)
def test_over_a_perfect_network_what_is_heard_is_what_was_encoded(over: str, codec: str, tmp_path: Path):
    made = call(PERFECT, over=over, codec=codec, out=tmp_path)
    (talk,) = made.talks
    assert np.array_equal(talk.heard.values, talk.clean)
    assert len(talk.clean) == len(talk.said.at(talk.encoded.rate_hz))
    assert talk.heard.count(Fate.PLAYED) == len(talk.encoded.frames)


def test_what_is_heard_of_pcm_over_a_perfect_network_is_the_recording(tmp_path: Path):
    (talk,) = call(PERFECT, codec="pcm", out=tmp_path).talks
    assert np.array_equal(talk.heard.values, talk.said.values)


def test_measures_are_at_their_ceilings_on_a_perfect_network(tmp_path: Path):
    raw = call(PERFECT, codec="pcm", buffer="0 ms", out=tmp_path)
    scores = verdict.judged(raw, raw.talks[0], ("pesq", "stoi", "visqol")).scores
    # The end of P.862.2's scale, and of STOI's; ViSQOL's is what a recording has beside itself.
    assert scores["pesq"].value == pytest.approx(
        0.999 + 4 / (1 + math.exp(-1.3669 * 4.5 + 3.8224)), abs=0.001
    )
    assert scores["stoi"].value == pytest.approx(1, abs=1e-6)
    said = raw.talks[0].said.at(16_000) / 32_768
    itself = visqol._model().measure_from_arrays(said, said, 16_000).moslqo
    assert scores["visqol"].value == pytest.approx(itself)
    made = call(PERFECT, codec="g711", buffer="0 ms", out=tmp_path)
    found = judge(Evidence(made.talks[0], made.codec, False))
    assert found is not None
    assert found.rating == emodel.rate(emodel.of_delay(delay.of(made.talks[0]).total_ms))
    # A frame and the concealment's look-ahead are all the delay; its echo is all that takes from 93.2.
    assert found.rating.r > 92
    assert emodel.rate(emodel.Connection()).r - found.rating.r == pytest.approx(found.of_delay, abs=0.01)


def test_the_same_seed_gives_the_same_sound_and_another_one_another(tmp_path: Path):
    one, again, other = (
        call(BAD, seed=seed, out=tmp_path / folder).talks[0].heard.values
        for seed, folder in ((1, "a"), (1, "b"), (2, "a"))
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_frames_cross_the_network_with_the_sizes_that_the_encoder_made(tmp_path: Path):
    made = call(BAD, out=tmp_path)
    rows = pl.read_parquet(made.folder / "frames.parquet")
    assert rows["frame_bytes"].to_list() == [len(frame) for frame in made.talks[0].encoded.frames]


def test_the_player_plays_what_the_engine_says_is_in_time(tmp_path: Path):
    made = call(BAD, codec="pcm", buffer="20 ms", out=tmp_path)
    rows = pl.read_parquet(made.folder / "frames.parquet")
    names = {"complete": Fate.PLAYED, "late": Fate.LATE, "lost": Fate.LOST}
    told = [names[fate] for fate in rows["fate"]]
    assert list(made.talks[0].heard.fates) == told
    assert {Fate.LATE, Fate.LOST} <= set(told)


def test_a_copy_in_the_next_packet_stands_for_a_lost_frame(tmp_path: Path):
    with_copies, without = (
        call(BAD, wish=Wish(fec=fec), out=tmp_path).talks[0].heard for fec in (True, False)
    )
    assert with_copies.count(Fate.RECOVERED) > 0
    assert without.count(Fate.RECOVERED) == 0
    assert with_copies.count(Fate.LOST) < without.count(Fate.LOST)


def test_redundant_frames_fill_gaps_and_only_rtp_has_them(tmp_path: Path):
    none, one = (call(BAD, codec="g711", redundancy=n, out=tmp_path).talks[0].heard for n in (0, 1))
    assert one.count(Fate.LOST) < none.count(Fate.LOST)
    with pytest.raises(CallError, match="redundancy is RTP's"):
        call(BAD, over="tcp", redundancy=1, out=tmp_path)


def test_lost_packets_are_asked_for_and_played_where_the_buffer_waits_for_a_round_trip(tmp_path: Path):
    def heard(buffer: str, nack: bool) -> Heard:
        return call(BAD, codec="pcm", buffer=buffer, nack=nack, out=tmp_path).talks[0].heard

    long, short = ({nack: heard(buffer, nack) for nack in (False, True)} for buffer in ("300 ms", "20 ms"))
    assert long[True].count(*MISSING) < long[False].count(*MISSING) / 4
    # What comes after a round trip is too late, and not lost.
    assert short[True].count(Fate.LOST) < short[False].count(Fate.LOST) / 4
    assert short[True].count(Fate.LATE) > short[False].count(Fate.LATE)
    with pytest.raises(CallError, match="nack is RTP's"):
        call(BAD, over="mqtt", nack=True, out=tmp_path)


@pytest.mark.parametrize("over", ["tcp", "websocket", "mptcp", "mqtt"])
def test_a_reliable_transport_loses_nothing_and_comes_late(over: str, tmp_path: Path):
    (talk,) = call(BAD, over=over, out=tmp_path).talks
    assert talk.heard.count(Fate.LOST) == 0
    assert talk.heard.count(Fate.LATE) > 0


def test_the_shares_of_the_delay_are_those_of_frames_that_were_played(tmp_path: Path):
    (talk,) = call(one_link({"rate": "1 kbit/s"}, "slow"), buffer="60 ms", out=tmp_path).talks
    assert talk.heard.count(Fate.LATE) > 0
    found = delay.of(talk)
    # The first frame waits for 60 ms in the buffer; the others are played when they are due, if they came.
    assert 0 <= found.buffer_ms <= 60
    assert found.network_ms < found.network_p5_ms, "those that were late are told apart"


TWO_PATHS = """
name = "two paths"
[topology]
kind = "multipath"
[topology.paths]
wifi = { delay = "10 ms", loss = "20 %" }
lte = { delay = "20 ms", loss = "20 %" }
[hosts.client]
profile = "linux"
real = true
[hosts.server]
profile = "linux"
"""


def test_multipath_tcp_takes_all_paths_of_a_scenario_both_ways(tmp_path: Path):
    (tmp_path / "two.toml").write_text(TWO_PATHS)
    made = call(of_scenario(tmp_path / "two.toml"), (None, None), over="mptcp", out=tmp_path / "runs")
    rows = pl.read_parquet(made.folder / "connections.parquet")
    # Whoever speaks, whichever end has the paths: both carry some of it.
    carried = rows.filter(pl.col("bytes_delivered") > 2_000)
    assert sorted(carried["subflow"]) == [1, 1, 2, 2]


@pytest.mark.parametrize("delay_ms", [300, 1000, 5000, 12_000])
@pytest.mark.parametrize("over", TRANSPORTS)
def test_connections_are_open_when_somebody_speaks_however_long_the_way(
    over: str, delay_ms: int, tmp_path: Path
):
    """And nothing is cut off by the end of the run, but what a lost connection takes, which is told."""
    made = call(
        one_link({"delay": f"{delay_ms} ms"}, "far"), (None, None), over=over, codec="g711", out=tmp_path
    )
    for talk in made.talks:
        took = (talk.arrivals.complete - talk.arrivals.captured) / 1e6
        assert took[0] == pytest.approx(delay_ms, abs=1)
        missing = int((talk.arrivals.complete == NEVER).sum())
        assert bool(missing) == bool(talk.arrivals.remarks)
        # MQTT's keep-alive gives up what does not answer for a minute.
        assert not missing or (over, delay_ms, talk.way.name) == ("mqtt", 12_000, "back")


@pytest.mark.parametrize(
    "delay",
    [
        {"kind": "schedule", "steps": [{"at": "0 s", "delay": "10 ms"}, {"at": "1 s", "delay": "1 s"}]},
        {"kind": "normal", "mean": "1 s", "deviation": "10 ms"},
        {"kind": "pareto", "least": "900 ms", "shape": 20.0},
    ],
)
def test_a_delay_that_varies_counts_with_its_longest(delay: dict[str, Any], tmp_path: Path):
    made = call(one_link({"delay": delay}, "varies"), over="tcp", codec="g711", out=tmp_path)
    assert made.talks[0].arrivals.captured[0] > 1e9 * (1 + Stream.opens * 2 * 0.9)
    assert not made.talks[0].arrivals.remarks


def test_a_delay_that_the_timeline_brings_counts(tmp_path: Path):
    """A satellite takes over a second before the end."""
    network = one_link({"delay": "5 ms"}, "satellite later")
    later = {"at": "8 s", "link": "link", "delay": "8 s"}
    made = call(
        dataclasses.replace(network, data={**network.data, "events": [later]}), codec="g711", out=tmp_path
    )
    assert (made.talks[0].arrivals.complete != NEVER).all()


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ("tcp", "the connection was open 1.0"),
        ("mqtt", "came to the broker before the listener had subscribed"),
    ],
)
def test_a_connection_that_opens_after_speech_began_is_told(over: str, told: str, tmp_path: Path):
    """SYN is sent again after 1 s, and after 2 s more."""
    deaf = {"kind": "outages", "outages": [{"start": "0 s", "length": "2.5 s"}]}
    made = call(
        one_link({"loss": deaf}, "deaf at first"), (None, None), over=over, codec="g711", out=tmp_path
    )
    talk = made.talks[1]
    assert len(talk.arrivals.remarks) == 1
    assert told in talk.arrivals.remarks[0]
    one = verdict.judged(made, talk, ())
    assert page.talk_told(talk, one)["frames"]["remarks"] == talk.arrivals.remarks
    assert any(told in str(cell) for row in page.numbers(talk, one).rows for cell in row)


@pytest.mark.parametrize("over", ["tcp", "websocket", "mptcp"])
def test_a_connection_that_never_opens_is_told(over: str, tmp_path: Path):
    made = call(one_link({"loss": "100 %"}, "nothing"), over=over, codec="g711", out=tmp_path)
    assert made.talks[0].arrivals.remarks == ["the connection was never open"]


def test_an_end_that_does_not_hear_of_the_end_is_heard_once(tmp_path: Path):
    """It says the same again until it notices, which is none of the call's frames."""
    lossy = one_link({"delay": "300 ms", "loss": "20 %"}, "20 % loss")
    made = call(lossy, (None, None), codec="g711", out=tmp_path)
    assert [len(talk.heard.fates) for talk in made.talks] == [len(talk.encoded.frames) for talk in made.talks]


def test_two_recordings_are_two_directions_of_one_call(tmp_path: Path):
    other = save(tmp_path / "other.wav", tone(16_000, 2), 16_000)
    for over in TRANSPORTS:
        # By RTP the answer begins when the call is heard of; byte streams open slowly over a long way.
        network = FAR if over == "rtp" else PERFECT
        there, back = call(network, (None, other), over=over, out=tmp_path).talks
        assert (there.way.from_, back.way.from_) == ("client", "server"), over
        assert np.array_equal(there.heard.values, there.clean), over
        assert np.array_equal(back.heard.values, back.clean), over


def test_pauses_are_not_sent_with_dtx(tmp_path: Path):
    pause = np.zeros(16_000 * 2, np.int16)
    path = save(tmp_path / "pause.wav", np.concatenate((tone(16_000, 1), pause, tone(16_000, 1))), 16_000)
    (talk,) = call(PERFECT, (path,), wish=Wish(dtx=True), out=tmp_path).talks
    assert talk.heard.count(Fate.UNSENT) > 20
    assert np.array_equal(talk.heard.values, talk.clean)


def test_an_adaptive_buffer_waits_less_and_keeps_the_pitch(tmp_path: Path):
    fixed, adaptive = (call(BAD, buffer=buffer, out=tmp_path).talks[0] for buffer in ("150 ms", "adaptive"))
    assert adaptive.heard.wait.mean() < fixed.heard.wait.mean()
    # What is stretched is told: every sample that is more stands in the wait.
    more = (adaptive.heard.wait[-1] - adaptive.heard.wait[0]) * adaptive.encoded.rate_hz / 1e9
    assert abs(len(adaptive.heard.values) - adaptive.encoded.samples - more) <= adaptive.encoded.frame // 2


@pytest.mark.parametrize("wanted", [-400, 400])
def test_a_stretched_frame_has_whole_periods_more_or_less(wanted: int):
    frame = tone(16_000, 0.04, hz=160.0)
    made, moved = shifted(frame, 16_000, wanted)
    assert len(made) - len(frame) == moved
    assert moved * wanted > 0
    assert moved % 100 == 0, "160 Hz have periods of 100 samples"
    # A passage over whole periods leaves no click: no step is larger than those of the tone.
    assert np.abs(np.diff(made.astype(int))).max() <= np.abs(np.diff(frame.astype(int))).max() * 1.1


@given(
    st.lists(st.tuples(st.integers(0, 400), st.booleans()), min_size=1, max_size=60),
    st.integers(0, 200),
)
def test_a_fixed_jitter_buffer_agrees_with_counting_by_hand(frames: list[tuple[int, bool]], depth: int):
    captured = 20_000_000 * np.arange(len(frames), dtype=np.int64)
    complete = np.array(
        [NEVER if lost else at + 1_000_000 * ms for at, (ms, lost) in zip(captured, frames, strict=True)]
    )
    arrivals = Arrivals(captured, captured.copy(), complete)
    encoded = Encoded(
        "", 8_000, 160 * len(frames), 160, [b"\0" * 320] * len(frames), 0, [False] * len(frames)
    )
    heard = play(Pcm(), encoded, arrivals, {"kind": "fixed", "delay": f"{depth} ms"})
    came = [(int(at), int(born)) for at, born in zip(complete, captured, strict=True) if at != NEVER]
    wait = min(came)[0] - min(came)[1] + depth * 1_000_000 if came else 0
    late = sum(at - born > wait for at, born in came)
    assert heard.count(Fate.LATE) == late
    assert heard.count(Fate.LOST) == len(frames) - len(came)


def test_the_engine_refuses_a_buffer_that_cannot_be():
    for buffer in ('{"kind": "fixed"}', '{"kind": "adaptive", "quantile": 2, "least_ns": 0, "most_ns": 1}'):
        with pytest.raises(ValueError, match=r"missing field|quantile"):
            _engine.playout(buffer, [(0, 0)])
    with pytest.raises(ValueError, match="follows one at 5 ns"):
        _engine.playout('{"kind": "fixed", "delay_ns": 0}', [(0, 5), (0, 4)])
    for text in ("soon", "60", "-1 ms"):
        with pytest.raises(CallError):
            jitter.parse(text)


# ITU-T G.107


def test_the_default_connection_has_the_r_of_the_recommendation():
    rating = emodel.rate(emodel.Connection())
    assert round(rating.r, 1) == 93.2
    assert round(rating.mos, 2) == 4.41


@pytest.mark.parametrize(("r", "mos"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_opinions_are_those_of_annex_b(r: float, mos: float):
    assert emodel.mos_of(r) == pytest.approx(mos, abs=0.01)
    assert emodel.r_of(emodel.mos_of(r)) == pytest.approx(r, abs=1e-6)


_CONNECTIONS = st.tuples(
    # Below a millisecond the recommendation's echo is sidetone, and R rises by 0.06.
    st.floats(1, 1000),
    st.floats(0, 100),
    st.floats(1, 8),
    st.sampled_from([(0.0, 4.3), (0.0, 25.1), (11.0, 19.0)]),
)


@given(_CONNECTIONS, st.floats(0, 500), st.floats(0, 50))
def test_more_delay_or_loss_is_never_better(one: tuple[Any, ...], later: float, more: float):
    delay, loss, burst, (ie, bpl) = one

    def r(delay: float, loss: float) -> float:
        connection = dataclasses.replace(
            emodel.of_delay(delay), ie=ie, bpl=bpl, ppl=min(loss, 100.0), burst_r=burst
        )
        rating = emodel.rate(connection)
        assert 1 <= rating.mos <= 4.5
        return rating.r

    assert r(delay + later, loss) <= r(delay, loss) + 1e-9
    assert r(delay, loss + more) <= r(delay, loss) + 1e-9


@given(st.lists(st.booleans(), max_size=200))
def test_bursts_are_counted(lost: list[bool]):
    ratio = emodel.burst_ratio(lost)
    assert ratio >= 1
    bursts = [run for run in "".join("x" if one else " " for one in lost).split() if run]
    if bursts and sum(lost) < len(lost):
        share = sum(lost) / len(lost)
        assert ratio == pytest.approx(max(1.0, np.mean([len(run) for run in bursts]) * (1 - share)))


_LOSSES = st.one_of(
    st.lists(st.booleans(), min_size=1, max_size=60),
    # Bursts of any length.
    st.lists(st.tuples(st.booleans(), st.integers(1, 80)), min_size=1, max_size=8).map(
        lambda runs: [lost for lost, length in runs for _ in range(length)]
    ),
)


_TABLE = [Impairment(0.0, 4.3, ""), Impairment(11.0, 19.0, ""), CODECS["g711"].impairment]
_DERIVED = st.builds(
    lambda ie, more, ppl, burst: Impairment(ie, emodel.bpl_of(ie, ie + more, ppl, ppl / burst), ""),
    st.floats(0, 95),
    st.floats(0, 95),
    st.floats(0.1, 50),
    st.floats(1, 3),
)


@given(_LOSSES, st.data(), st.sampled_from(_TABLE) | _DERIVED, st.floats(1, 800), st.floats(0, 500))
def test_no_further_loss_or_delay_makes_a_call_better(
    lost: list[bool], data: st.DataObject, known: Impairment, delay: float, later: float
):
    more = [one or other for one, other in zip(lost, data.draw(_mask(len(lost))), strict=True)]
    before = conversation.rated(known, delay, np.array(lost), 0.0).rating
    after = conversation.rated(known, delay + later, np.array(more), 0.0).rating
    assert 0 <= after.r <= before.r + 1e-9
    assert 1 <= after.mos <= before.mos + 1e-9


@pytest.mark.parametrize("codec", CODECS)
def test_no_further_loss_makes_the_rating_of_a_codec_better(codec: str, tmp_path: Path):
    voice = read(None)
    path = save(tmp_path / "short.wav", voice.values[16_000 : 5 * 16_000], 16_000)
    made = call(PERFECT, (path,), codec=codec, out=tmp_path)
    (talk,) = made.talks
    count = len(talk.encoded.frames)
    order = np.random.default_rng(5).permutation(np.arange(1, count))
    before = math.inf
    for lost in (0, count // 20, count // 4, int(0.84 * count), int(0.9 * count), count - 2):
        complete = talk.arrivals.complete.copy()
        complete[order[:lost]] = NEVER
        arrivals = dataclasses.replace(talk.arrivals, complete=complete)
        heard = play(made.codec, talk.encoded, arrivals, made.buffer)
        one = judge(Evidence(dataclasses.replace(talk, arrivals=arrivals, heard=heard), made.codec, False))
        assert one is not None
        assert one.rating.r <= before
        before = one.rating.r
    assert before == 0


@given(st.floats(0, 60), st.floats(0.5, 20), st.floats(1, 2), st.floats(1, 40))
def test_a_derived_robustness_gives_the_impairment_that_it_comes_from(
    ie: float, ppl: float, burst: float, bpl: float
):
    effective = emodel.effective(ie, bpl, ppl, burst)
    assume(effective < 95)
    assert emodel.bpl_of(ie, effective, ppl, ppl / burst) == pytest.approx(bpl)


def _mask(length: int) -> st.SearchStrategy[list[bool]]:
    return st.lists(st.booleans(), min_size=length, max_size=length)


@given(_LOSSES)
def test_within_its_range_losses_are_rated_by_the_recommendation_alone(lost: list[bool]):
    bpl = CODECS["g711"].impairment.bpl
    ppl, burst_r = 100 * sum(lost) / len(lost), emodel.burst_ratio(lost)
    assume(not emodel.beyond(ppl, burst_r, 0))
    assert emodel.losses(lost, bpl) == pytest.approx((ppl, burst_r))


def test_what_is_beyond_the_ranges_of_the_recommendation_is_told(tmp_path: Path):
    far = call(one_link({"delay": "700 ms", "loss": "60 %"}, "far"), codec="g711", out=tmp_path)
    one = verdict.judged(far, far.talks[0], ("emodel",))
    assert one.sentence.endswith("(beyond the E-model's range)")
    assert "beyond the range of G.107: a loss of " in one.scores["emodel"].reason
    assert "a delay of 784 ms (at most 500 ms)" in one.scores["emodel"].reason
    bursts = [place % 20 < 2 for place in range(400)]
    assert emodel.beyond(10, emodel.burst_ratio(bursts), 0) == []
    assert emodel.beyond(10, 2.4, 0) == ["a BurstR of 2.4 (at most 2 with this loss)"]
    assert emodel.beyond(2, 7.9, 500) == []
    assert emodel.beyond(0, 1, 12_345.6) == ["a delay of 12346 ms (at most 500 ms)"]


@given(st.floats(0, 1e-3, exclude_min=True))
def test_what_is_just_beyond_a_range_is_told_with_the_digits_that_show_it(more: float):
    for beyond, most in (((20 + more, 1, 0), 20), ((10, 2 + more, 0), 2), ((0, 1, 500 + more), 500)):
        assume(beyond[0] > 20 or beyond[1] > 2 or beyond[2] > 500)
        (told,) = emodel.beyond(*beyond)
        said = next(float(word) for word in told.split() if word[0].isdigit())
        assert said > most, told


def judged(delay: float, loss: float, burst: float = 1.0, late: float = 0.0) -> Judged:
    connection = dataclasses.replace(emodel.of_delay(delay), bpl=25.1, ppl=loss, burst_r=burst)
    return Judged(emodel.rate(connection), 0.0, None, burst, late)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (judged(50, 0), "nothing spoils it"),
        (judged(50, 8, burst=3), "bursts of loss, not delay"),
        (judged(50, 5), "lost packets, not delay"),
        (judged(50, 8, late=0.9), "frames that come too late, not delay"),
        (judged(500, 0), "delay, not loss"),
        (judged(300, 8), "lost packets and delay"),
    ],
)
def test_a_sentence_names_who_spoils_it(one: Judged, told: str):
    assert verdict.told(one) == f"{verdict.word(one.rating.mos)}, {one.rating.mos:.1f}: {told}"


@pytest.mark.parametrize("tenths", range(10, 46))
def test_one_printed_number_has_one_word(tenths: int):
    words = {verdict.word(tenths / 10 + off) for off in (-0.049, -0.01, 0.0, 0.01, 0.049)}
    assert len(words) == 1


def test_what_no_link_takes_is_not_blamed_on_bursts(tmp_path: Path):
    made = call(one_link({"mtu": "115 B"}, "small"), out=tmp_path)
    assert 0 < made.talks[0].too_large < len(made.talks[0].encoded.frames)
    said = verdict.judged(made, made.talks[0], ("emodel",)).sentence
    assert "packets larger than a link's MTU" in said
    made = call(one_link({"mtu": "100 B"}, "small"), codec="g711", out=tmp_path)
    said = verdict.judged(made, made.talks[0], ("emodel",)).sentence
    assert said == "nothing is heard: every packet is larger than the MTU of a link"


def test_copies_count_where_an_mtu_is_blamed(tmp_path: Path):
    made = call(one_link({"mtu": "100 B"}, "small"), redundancy=3, out=tmp_path)
    (talk,) = made.talks
    largest = 100 - 28 - 12 - 12 - 1
    # The first packets have fewer copies.
    assert talk.too_large == len(talk.encoded.frames) - sum(np.cumsum(talk.way.sizes[:3]) <= largest)
    said = verdict.judged(made, talk, ("emodel",)).sentence
    assert "packets larger than a link's MTU, not delay" in said


@given(st.lists(st.sampled_from([0, 0, 1, 30, 60]), min_size=1, max_size=30), st.integers(0, 3))
def test_packets_with_copies_are_as_large_as_those_that_are_sent(sizes: list[int], copies: int):
    ticks = 5_760
    way = Way("there", "a", "b", sizes, 120_000_000)
    sent: dict[int, list[int]] = {}
    earlier: deque[tuple[int, bytes]] = deque(maxlen=copies)
    for number, size in enumerate(sizes):
        frame = bytes(size)
        if size:
            payload = rtp.redundant(number * ticks, frame, list(earlier)) if copies else frame
            octets = 28 + len(rtp.packet(rtp.REDUNDANT, number, number * ticks, payload, at_ns=0))
            held = rtp.frames_in(number * ticks, payload) if copies else [(number * ticks, frame)]
            for timestamp, _ in held:
                sent.setdefault(timestamp // ticks, []).append(octets)
            earlier.append((number * ticks, frame))
    found = TRANSPORTS["rtp"].packets(way, Wants(jitter.parse("60 ms"), copies))
    assert found is not None
    assert found.tolist() == [min(sent.get(number, [0])) for number in range(len(sizes))]


def test_an_mtu_beside_the_way_is_not_blamed(tmp_path: Path):
    side = tmp_path / "side.toml"
    side.write_text("""
name = "a side link with a small MTU"
[topology]
kind = "explicit"
hosts = ["client", "server", "sensor"]
routers = ["r"]
links = [
  { ends = ["client", "r"], delay = "1 ms", loss = "5 %" },
  { ends = ["r", "server"], delay = "1 ms" },
  { ends = ["r", "sensor"], delay = "1 ms", mtu = "127 B" },
]
[[flows]]
name = "reading"
from = "sensor"
to = "server"
transport = { kind = "tcp" }
app = { kind = "bulk", size = "1 kB" }
""")
    made = call(of_scenario(side), codec="g711", out=tmp_path / "runs")
    assert made.talks[0].heard.count(Fate.LOST) > 0
    assert made.talks[0].too_large == 0


def test_no_share_of_no_frames_is_told(tmp_path: Path):
    made = call(one_link({"loss": "100%"}, "deaf"), (None, None), codec="g711", out=tmp_path)
    back = made.talks[1]
    assert not back.sent.any()
    table = page.numbers(back, verdict.judged(made, back, ("emodel",)))
    shares = {row[0]: row[1] for row in table.rows}
    assert shares["concealed"] == shares["never came"] == "no frame was sent"
    # What was not sent was not concealed.
    count = len(back.encoded.frames)
    assert (back.heard.count(*MISSING), back.heard.count(Fate.UNCONNECTED)) == (0, count)
    assert shares["could not be sent"] == str(count)
    told = page.talk_told(back, verdict.judged(made, back, ("emodel",)))
    assert (told["frames"]["concealed"], told["frames"]["unsent"], told["frames"]["unconnected"]) == (
        0,
        0,
        count,
    )
    assert told["delay"] is None
    assert not back.heard.values.any()


def test_who_has_no_way_to_the_other_end_is_not_connected():
    program = """
from voxpath.voice.call.programs import pacing
print(pacing.connected(pacing.Place("203.0.113.1", 5004, False), pacing.Patience(False, 0.3)))
"""
    alone = ["unshare", "--map-root-user", "--net", sys.executable, "-c", program]
    done = subprocess.run(alone, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_only_codecs_with_copies_speak_of_them(tmp_path: Path):
    for codec, speaks in (("opus", True), ("g711", False)):
        made = call(BAD, codec=codec, out=tmp_path)
        table = page.numbers(made.talks[0], verdict.judged(made, made.talks[0], ()))
        (concealed,) = [row for row in table.rows if row[0] == "concealed"]
        assert ("recovered" in str(concealed[2])) == speaks


def test_the_codec_is_blamed_for_what_it_does_without_losses(tmp_path: Path):
    calm, lossy = (call(network, out=tmp_path) for network in (PERFECT, BAD))
    for buffer in ("60 ms", "adaptive"):
        perfect, bad = (
            judge(Evidence(made.talks[0], made.codec, buffer == "adaptive")) for made in (calm, lossy)
        )
        assert perfect is not None
        assert bad is not None
        assert bad.codec == pytest.approx(perfect.rating.ie_eff)
        assert bad.of_loss > 5 > perfect.of_loss


# Codecs


def test_mu_law_is_that_of_ffmpeg():
    import av

    values = np.arange(-32768, 32768, 7).astype(np.int16)
    codec = av.CodecContext.create("pcm_mulaw", "w")
    codec.sample_rate, codec.layout, codec.format = 8_000, "mono", "s16"
    frame = av.AudioFrame.from_ndarray(values[None, :], format="s16", layout="mono")
    frame.sample_rate = 8_000
    theirs = b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)])
    ours = g711.compress(values)
    # At the borders of two steps both may be meant; what is decoded is the same everywhere else.
    off = np.abs(g711.expand(ours).astype(int) - g711.expand(theirs))
    assert np.mean(off == 0) > 0.97
    assert np.all(off <= np.maximum(np.abs(values.astype(int)) // 16, 8) + 8)


def test_concealment_goes_on_with_the_pitch_and_fades():
    buzz = tone(8_000, 0.6, hz=125.0)
    plain, lossy = concealment.Concealment(), concealment.Concealment()
    frames = buzz.reshape(-1, 160)
    heard = np.concatenate([plain.received(frame) for frame in frames])
    made = np.concatenate(
        [lossy.lost(160) if number == 10 else lossy.received(frame) for number, frame in enumerate(frames)]
    )
    gap = slice(10 * 160, 11 * 160)
    error = np.sqrt(np.mean((made[gap].astype(float) - heard[gap]) ** 2))
    assert error < 0.35 * np.sqrt(np.mean(heard[gap].astype(float) ** 2)), "it is faded a little"
    assert np.array_equal(made[13 * 160 :], heard[13 * 160 :])
    for _ in range(6):
        lossy.lost(160)
    assert not lossy.lost(160).any(), "after 60 ms there is silence"


@pytest.mark.parametrize(
    ("codec", "wish", "told"),
    [
        ("opus", Wish(bitrate=1_000), "6 to 510 kbit/s"),
        ("opus", Wish(frame_ns=7_000_000), "2.5, 5, 10, 20, 40 or 60 ms"),
        ("g711", Wish(bitrate=32_000), "64 kbit/s"),
        ("pcm", Wish(dtx=True), "no DTX"),
        ("pcm", Wish(frame_ns=60_000_000), "give a frame of 2.5 ms or 5 ms or 10 ms or 20 ms"),
        ("g711", Wish(frame_ns=5_000_000), "10, 20, 40 or 60 ms"),
    ],
)
def test_a_codec_says_what_it_can(codec: str, wish: Wish, told: str, tmp_path: Path):
    with pytest.raises(CallError, match=told):
        call(PERFECT, codec=codec, wish=wish, out=tmp_path)


# What is told of the frames, and of nothing


def test_frames_that_came_late_count_as_late_though_their_copies_were_played(tmp_path: Path):
    made = call(BAD, buffer="20 ms", out=tmp_path)
    (talk,) = made.talks
    frames = page.talk_told(talk, verdict.judged(made, talk, ()))["frames"]
    due = talk.arrivals.captured + talk.heard.wait
    came = talk.arrivals.complete != NEVER
    assert frames["late"] == int((came & (talk.arrivals.complete > due)).sum())
    assert frames["recovered"] > 0 < frames["never_came"]
    assert frames["never_came"] + frames["late"] - frames["recovered"] == frames["concealed"]


def test_a_codec_that_gives_silence_is_blamed_and_not_the_recording(tmp_path: Path):
    """Opus has no bits for a sound at 15 bits a frame."""
    made = call(PERFECT, wish=Wish(bitrate=6_000, frame_ns=2_500_000), out=tmp_path)
    talk = made.talks[0]
    assert not talk.clean.any()
    one = verdict.judged(made, talk, ("emodel", "pesq", "visqol", "stoi", "words", "formants"))
    told = f"the codec gives silence: {talk.encoded.told}"
    assert one.sentence == f"not rated: {told}"
    assert {one.scores[name].reason for name in ("emodel", "pesq", "visqol", "stoi", "formants")} == {told}


def test_formants_of_noise_are_told_to_mean_nothing(tmp_path: Path):
    """And those of a voice are not."""
    noise = np.random.default_rng(1).normal(0, 3000, 16_000 * 4).astype(np.int16)
    for path, has_note in ((save(tmp_path / "noise.wav", noise, 16_000), True), (None, False)):
        made = call(PERFECT, (path,), codec="g711", out=tmp_path)
        score = verdict.judged(made, made.talks[0], ("formants",)).scores["formants"]
        doubted = score.reason.endswith("as that of noise and tones does; only a voice has formants")
        assert (doubted or score.value is None) == has_note


def test_a_network_that_lets_nothing_through_is_heard_as_silence(tmp_path: Path):
    made = call(one_link({"loss": "100 %"}, "nothing"), codec="g711", out=tmp_path)
    assert not made.talks[0].heard.values.any()
    one = verdict.judged(made, made.talks[0], ("emodel",))
    assert page.talk_told(made.talks[0], one)["delay"] is None
    assert one.sentence == "nothing is heard: no frame came"
    assert (one.scores["emodel"].value, one.scores["emodel"].reason) == (None, "no frame came")
    assert not any("delay" in str(row[0]) for row in page.numbers(made.talks[0], one).rows)


@pytest.mark.parametrize("over", TRANSPORTS)
def test_where_nothing_is_heard_of_opus_it_is_said(over: str, tmp_path: Path):
    made = call(one_link({"loss": "100 %"}, "nothing"), over=over, out=tmp_path)
    said = verdict.judged(made, made.talks[0], ("emodel",)).sentence
    # What publishes begins when it is connected.
    why = "no frame was sent, since nothing came from the other end" if over == "mqtt" else "no frame came"
    assert said == f"nothing is heard: {why}"


def test_a_direction_in_which_nothing_is_sent_is_not_rated(tmp_path: Path):
    dead = one_link({"up": {"loss": "100 %"}}, "nothing there")
    made = call(dead, (None, None), codec="g711", out=tmp_path)
    there, back = (verdict.judged(made, talk, ("emodel",)) for talk in made.talks)
    assert there.sentence == "nothing is heard: no frame came"
    assert back.sentence == "nothing is heard: no frame was sent, since nothing came from the other end"
    for one in (there, back):
        assert one.scores["emodel"].value is None


def test_the_e_model_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(conversation, "_judge", asked.append)
    made = call(PERFECT, out=tmp_path)
    verdict.judged(made, made.talks[0], ("emodel",))
    assert len(asked) == 1


# One more of a kind


def test_a_transport_and_a_codec_are_one_entry_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    class Fat(Stream):
        name: ClassVar[str] = "fat"

        @staticmethod
        def head(size: int) -> int:
            del size
            return 100

    class Loud(Pcm):
        name: ClassVar[str] = "loud"

        def encode(self, recording: Recording, wish: Wish) -> Encoded:
            return super().encode(dataclasses.replace(recording, values=recording.values // 2), wish)

    monkeypatch.setitem(TRANSPORTS, "fat", Fat())  # type: ignore[arg-type]
    monkeypatch.setitem(CODECS, "loud", Loud())  # type: ignore[arg-type]
    made = call(PERFECT, over="fat", codec="loud", out=tmp_path)
    rows = pl.read_parquet(made.folder / "messages.parquet")
    # The engine counts 4 octets of the head by itself.
    assert set(rows["bytes"]) == {640 + 96}
    assert np.array_equal(made.talks[0].heard.values, made.talks[0].said.values // 2)


# The command and its page


def test_the_command_writes_what_is_heard_and_a_page_that_plays(voxpath: Any, tmp_path: Path):
    done = voxpath("call", "--delay", "80 ms", "--loss", "5 %", "--jitter", "15 ms", "--seed", "3")
    assert done.code == 0, done.err
    assert "delay, mouth to ear" in done.out
    with wave.open(str(tmp_path / "heard.wav")) as file:
        assert (file.getframerate(), file.getnchannels()) == (16_000, 1)
    script = """
        const figure = document.querySelector("figure.voice");
        const [said, heard, difference] = figure.querySelectorAll("audio");
        const field = figure.querySelector(".field");
        const loaded = (player) =>
          player.readyState > 0 || new Promise((done) => player.addEventListener("loadedmetadata", done));
        for (const player of [said, heard, difference]) await loaded(player);
        await heard.play();
        mouse(field, "click", 0.5, 0.3);
        await pause();
        const clicked = heard.currentTime;
        const moved = figure.querySelector(".cursor").getAttribute("transform");
        const mark = figure.querySelector("button[data-at]");
        mark.click();
        await pause();
        heard.pause();
        return { lengths: [said.duration, heard.duration, difference.duration], clicked,
          mark: +mark.dataset.at, at: heard.currentTime, moved };
    """
    shown = browse((tmp_path / "call.html").read_text("utf-8"), script, tmp_path)
    assert shown["lengths"] == pytest.approx([10.09] * 3, abs=0.02)
    assert shown["clicked"] >= 5.0
    assert shown["at"] >= max(0.0, shown["mark"] - 0.5) - 0.01
    assert shown["moved"] != "translate(64 0)"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.wav"], "no such file"),
        (["--over", "pigeon"], "no transport"),
        (["--codec", "opsu"], "did you mean 'opus'"),
        (["--bitrate", "fast"], "--bitrate"),
        (["--loss", "200 %"], "--loss: "),
        (["--up-loss", "200 %"], "--up-loss: "),
        (["--down-rate", "0 kbit/s"], "--down-rate: "),
        (["--trace", "nothing.trace"], "--trace: "),
        (["--delay", "5 ms", "--jitter", "5"], "--jitter: "),
        (["--delay", "5", "--jitter", "5 ms"], "--delay: "),
        (["--scenario", "x.toml", "--loss", "1 %"], "leave out the options"),
        (["--heard", "x.mp3"], "ends in .wav"),
        (["--measures", "pesk"], "pesq"),
        (["--jitter", "5 ms"], "give --delay"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_written(
    arguments: list[str], told: str, voxpath: Any, tmp_path: Path
):
    done = voxpath("call", *arguments)
    assert done.code == 2
    assert told in done.err
    assert not list(tmp_path.glob("*.wav"))
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("over", TRANSPORTS)
@pytest.mark.parametrize("duration", [5, 40], ids=["shorter than the call", "longer"])
def test_other_traffic_that_only_the_runs_duration_ends_goes_on_beside_the_whole_call(
    over: str, duration: int, tmp_path: Path
):
    path = tmp_path / "upload.toml"
    path.write_text(f"""
name = "beside an upload that never ends"
duration = "{duration} s"
[topology]
kind = "explicit"
hosts = ["client", "server", "cloud"]
routers = ["r"]
links = [
  {{ ends = ["client", "r"], rate = "2 Mbit/s", delay = "10 ms", queue = "20 packets" }},
  {{ ends = ["r", "server"], delay = "1 ms" }},
  {{ ends = ["r", "cloud"], delay = "1 ms" }},
]
[[flows]]
name = "upload"
from = "client"
to = "server"
app = {{ kind = "bulk" }}
[[processes]]
name = "broker"
host = "cloud"
app = {{ kind = "broker" }}
""")
    made = call(of_scenario(path), codec="g711", over=over, out=tmp_path / "runs")
    (talk,) = made.talks
    # The queue of the upload, up to the last frames: of 20 packets of 1500 bytes, 120 ms.
    came = (talk.arrivals.complete - talk.arrivals.captured)[talk.arrivals.complete != NEVER]
    assert came.size > 0.9 * talk.arrivals.complete.size
    assert came[-50:].mean() > 40e6
    lasts = made.document.plan.data["duration_ns"]
    assert lasts == max(talk.way.gone_ns, duration * 1_000_000_000)


def test_a_scenario_may_have_a_network_alone(tmp_path: Path):
    path = tmp_path / "network.toml"
    text = 'name = "alone"\n[topology]\nkind = "pipe"\nlink = { delay = "70 ms" }\n'
    path.write_text(text)
    network = of_scenario(path)
    assert "flows" not in network.data
    talk = call(network, codec="g711", out=tmp_path).talks[0]
    assert set(talk.arrivals.complete - talk.arrivals.captured) == {70_000_000}
    path.write_text(text.replace("70 ms", "70"))
    with pytest.raises(ScenarioError) as refused:
        of_scenario(path)
    assert [(problem.key, problem.line) for problem in refused.value.problems] == [("topology.link.delay", 4)]


@pytest.mark.parametrize("over", TRANSPORTS)
def test_a_scenario_may_have_flows_of_the_voices_name(over: str, tmp_path: Path):
    names = ("voice", "voice-there", "voice2")
    pings = [
        {"name": name, "from": "client", "to": "server", "app": {"kind": "ping", "packets": "2 packets"}}
        for name in names
    ]
    network = one_link({"delay": "20 ms"}, "named")
    taken = dataclasses.replace(network, data={**network.data, "flows": pings})
    made = call(taken, (None, None), over=over, codec="g711", out=tmp_path)
    assert all((talk.arrivals.complete != NEVER).all() for talk in made.talks)
    assert taken.voice == "voice3"
    assert network.voice == "voice"


@pytest.mark.parametrize("over", sorted(set(TRANSPORTS) - {"rtp"}))
def test_an_mtu_that_is_too_small_for_a_stream_is_refused_by_its_option(
    voxpath: Any, over: str, tmp_path: Path
):
    refused = voxpath("call", "--over", over, "--mtu", "103 B", "--out", str(tmp_path / "runs"))
    assert refused.code != 0
    told = "--mtu: 103 B leaves 63 bytes to a segment of TCP, which carries at least 64: an MTU of at least "
    assert refused.err.count(f"{told}104 B is expected") == 1
    assert refused.err.count("segment") == 1
    network = one_link({"mtu": "104 B"}, "narrow")
    assert (call(network, over=over, codec="g711", out=tmp_path).talks[0].arrivals.complete != NEVER).all()


def test_a_scenario_brings_its_other_traffic(voxpath: Any, tmp_path: Path):
    (tmp_path / "busy.toml").write_text(
        """
name = "busy"
[topology]
kind = "pipe"
link = { rate = "1 Mbit/s", delay = "20 ms", queue = "100 packets" }
[[flows]]
name = "download"
app = { kind = "bulk", size = "5 MB" }
"""
    )
    done = voxpath("call", "--scenario", "busy.toml")
    assert done.code == 0, done.err
    (folder,) = (tmp_path / "runs").iterdir()
    flows = pl.read_parquet(folder / "flows.parquet")
    assert set(flows["flow"].cast(pl.String)) == {"download", "voice"}
    assert json.loads((folder / "verdict.json").read_bytes())["valid"]
