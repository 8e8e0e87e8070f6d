"""The echo of a loudspeaker in a call: how loud, how late, what the canceller does, what the E-model says."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_voice_call import FAR, PERFECT, save, tone
from voxpath.voice.call import Call, call, delay, emodel, verdict
from voxpath.voice.call.codecs.base import Encoded
from voxpath.voice.call.echo import ROOMS, Echo, Loudspeaker, weighted_loss
from voxpath.voice.call.measures.base import Evidence
from voxpath.voice.call.measures.conversation import judge
from voxpath.voice.call.network import one_link
from voxpath.voice.call.problems import CallError

RATE = 16_000


def answer(tmp_path: Path, before: float = 11.0, after: float = 1.0) -> Path:
    """Somebody who waits until the other one has spoken."""
    quiet = [np.zeros(int(RATE * seconds), np.int16) for seconds in (before, after)]
    return save(tmp_path / "answer.wav", np.concatenate((quiet[0], tone(RATE, 1), quiet[1])), RATE)


def spoken(tmp_path: Path, *, network: Any = FAR, codec: str = "pcm", **settings: Any) -> Call:
    loudspeaker = Loudspeaker(**{"room": "office", **settings})
    return call(network, (None, answer(tmp_path)), codec=codec, loudspeaker=loudspeaker, out=tmp_path)


@pytest.mark.parametrize("loss", [0.0, 13.0, 40.0])
def test_the_loss_of_a_flat_path_is_its_loss(loss: float):
    hz = np.linspace(0, 8_000, 801)
    assert weighted_loss(hz, np.full(801, 10 ** (-loss / 10))) == pytest.approx(loss, abs=0.01)


def test_what_is_outside_of_the_telephone_band_does_not_count():
    hz = np.linspace(0, 8_000, 8_001)
    inside = (hz >= 250) & (hz <= 3_450)
    loud_outside = np.where(inside, 0.01, 1.0)
    assert weighted_loss(hz, loud_outside) == pytest.approx(20, abs=0.01)
    # An octave of the band alone: its share on the axis of the logarithm.
    octave = ((hz >= 500) & (hz < 1_000)).astype(float)
    share = np.log10(2) / np.log10(3_400 / 300)
    assert weighted_loss(hz, octave) == pytest.approx(-10 * np.log10(share), abs=0.01)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("rate", [8_000, 16_000])
def test_a_room_has_the_loss_that_is_asked_for(room: str, rate: int):
    response = Loudspeaker(room, 17.0).response(rate)
    size = 1 << 17
    hz = np.fft.rfftfreq(size, 1 / rate)
    assert weighted_loss(hz, np.abs(np.fft.rfft(response, size)) ** 2) == pytest.approx(17.0, abs=0.2)
    decay = np.cumsum(response[::-1] ** 2)[::-1]
    after = decay[int(ROOMS[room].decay_s * rate / 2)] / decay[0]
    assert -45 < 10 * np.log10(after) < -15, "half of the time in which it falls by 60 dB"


def test_an_echo_comes_as_late_as_both_ways_take(tmp_path: Path):
    made = spoken(tmp_path, loss_db=20)
    there, back = made.talks
    echo = back.heard.values.astype(float) - back.echo.alone
    said = there.said.values.astype(float)
    size = 1 << 20
    lags = np.fft.irfft(np.fft.rfft(echo, size) * np.conj(np.fft.rfft(said, size)), size)
    lag_ms = 1000 * int(np.argmax(lags[: size // 2])) / RATE
    # From one microphone's clock to the other's, and back to the first speaker's ear.
    opened = [int(talk.arrivals.captured[0] - talk.encoded.frame_ns) / 1e6 for talk in made.talks]
    way = delay.of(back)
    assert way is not None
    late_ms = opened[1] + lag_ms + way.total_ms - opened[0]
    acoustic = np.linalg.norm(np.subtract(ROOMS["office"].loudspeaker, ROOMS["office"].microphone)) / 0.343
    both = back.echo.there_ms + way.total_ms
    assert late_ms == pytest.approx(both + acoustic, abs=0.5)
    assert back.echo.way_ms(way.total_ms) == both / 2


def test_the_echo_is_the_room_s_answer_to_what_was_heard(tmp_path: Path):
    there, back = spoken(tmp_path, network=PERFECT, loss_db=12).talks
    response = Loudspeaker("office", 12).response(RATE)
    echo = np.convolve(there.heard.values.astype(float), response)
    found = back.heard.values.astype(float) - back.echo.alone
    begin = int(np.flatnonzero(np.abs(found) > 2)[0]) - int(np.flatnonzero(np.abs(echo) > 2)[0])
    length = min(len(echo), len(found) - begin)
    assert np.abs(echo[:length] - found[begin : begin + length]).max() <= 1.0
    assert back.echo.level_db == pytest.approx(
        10 * np.log10(np.sum(echo**2) / np.sum(there.heard.values.astype(float) ** 2)), abs=0.01
    )


def test_who_has_the_loudspeaker_hears_no_echo_and_without_a_room_nobody_does(tmp_path: Path):
    with_room = spoken(tmp_path)
    without = call(FAR, (None, answer(tmp_path)), codec="pcm", out=tmp_path)
    assert with_room.talks[0].echo is None
    assert np.array_equal(with_room.talks[0].heard.values, without.talks[0].heard.values)
    back = with_room.talks[1]
    alone = back.echo.alone
    assert np.array_equal(alone[: len(without.talks[1].heard.values)], without.talks[1].heard.values)
    assert [talk.echo for talk in without.talks] == [None, None]


def rating(made: Call) -> Any:
    found = judge(Evidence(made.talks[1], made.codec, False))
    assert found is not None
    return found


def test_the_canceller_lowers_the_echo_and_is_late(tmp_path: Path):
    plain, cancelled = (spoken(tmp_path, codec="g711", cancel=cancel) for cancel in (False, True))
    one, other = plain.talks[1], cancelled.talks[1]
    assert one.echo.erle_db == 0
    assert other.echo.erle_db > 15
    assert other.echo.telr_db() == pytest.approx(8 + 2 + 20 + other.echo.erle_db)
    assert other.echo.canceller_ms > 0
    assert delay.of(other).total_ms == pytest.approx(delay.of(one).total_ms + other.echo.canceller_ms)
    loud, soft = (np.sum((talk.heard.values.astype(float) - talk.echo.alone) ** 2) for talk in (one, other))
    # What is left of the echo passes the codec, whose steps do not shrink with it.
    assert 10 * np.log10(loud / soft) > 10
    assert rating(cancelled).rating.r > rating(plain).rating.r + 10
    assert verdict.judged(plain, one, ("emodel",)).sentence.endswith("the echo")


def test_models_that_are_not_made_for_echoes_say_so_and_opus_is_rated_without_them(tmp_path: Path):
    made = spoken(tmp_path, codec="opus", loss_db=30)
    silent = call(FAR, (None, answer(tmp_path)), codec="opus", out=tmp_path)
    judged = verdict.judged(made, made.talks[1], ("pesq", "stoi"))
    assert "echo" in judged.scores["pesq"].reason
    assert judged.scores["pesq"].value is None
    assert "noise" in judged.scores["stoi"].reason
    # The codec's Ie comes from the same words without an echo; they stand in a longer silence.
    assert rating(made).rating.ie_eff == pytest.approx(rating(silent).rating.ie_eff, abs=6)
    assert rating(made).of_echo > 5 > rating(silent).of_echo == 0


def echo_of(loss: float, erle: float | None, there_ms: float | None) -> Echo:
    nothing = np.zeros(0, np.int16)
    quiet = Encoded("", 8_000, 0, 160, [], 0, [])
    return Echo(Loudspeaker("office", loss, True), -loss, erle, erle, 0.0, there_ms, nothing, quiet, True)


@given(
    st.floats(0, 55),
    st.floats(0, 40),
    st.floats(1, 400),
    st.floats(0, 20),
    st.floats(0, 90),
)
def test_a_louder_or_later_echo_is_never_better(
    loss: float, erle: float, way: float, more: float, later: float
):
    def r(loss: float, way: float) -> float:
        given = emodel.of_delay(way)
        return emodel.rate(echo_of(loss, erle, way).connection(given, way)).r

    assert r(loss + more, way) >= r(loss, way) - 1e-9
    assert r(loss, way + later) <= r(loss, way) + 1e-9


def test_an_echo_beyond_the_range_of_g107_is_not_rated(tmp_path: Path):
    assert echo_of(20, 0, 200).beyond(200) is None
    assert "500 ms" in str(echo_of(20, 0, 600).beyond(500))
    assert "too little" in str(echo_of(20, None, 200).beyond(200))
    assert "below the 5 dB" in str(echo_of(0, -6, 200).beyond(200))
    # Above the range nobody hears it: the end of the range counts.
    given = emodel.of_delay(200)
    assert echo_of(60, 40, 200).connection(given, 200).telr == 65
    made = spoken(tmp_path, network=one_link({"delay": "480 ms"}, "very far"))
    judged = verdict.judged(made, made.talks[1], ("emodel",))
    assert judged.sentence.startswith("not rated: T of")
    assert judged.scores["emodel"].value is None
    told = made.talks[1].echo.rows(judged.delay.total_ms)
    assert ["TELR", "not applicable"] in [row[:2] for row in told]


@pytest.mark.parametrize(("there", "back"), [(None, 100.0), (100.0, None), (None, None)])
def test_an_echo_that_nobody_hears_has_no_numbers(there: float | None, back: float | None):
    echo = echo_of(20, None, there)
    told = echo.told(back)
    assert {told[key] for key in ("delay_ms", "telr_db", "t_ms", "beyond")} == {None}
    assert echo.rows(back) == [["echo", "none", "no frame came there or back"]]


def test_who_played_nothing_is_rated_without_an_echo():
    assert echo_of(20, None, None).connection(emodel.of_delay(100), 100) == emodel.of_delay(100)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"recordings": (None,)}, "give a second recording"),
        ({"backend": "real"}, "computed by sim"),
        ({"loudspeaker": Loudspeaker("offise")}, "did you mean 'office'"),
    ],
)
def test_what_has_no_echo_is_refused(settings: dict[str, Any], told: str, tmp_path: Path):
    with pytest.raises(CallError, match=told):
        call(
            PERFECT,
            **{"recordings": (None, answer(tmp_path)), "loudspeaker": Loudspeaker("office"), **settings},
            out=tmp_path,
        )
    with pytest.raises(CallError, match="0 to 80 dB"):
        Loudspeaker("office", 90)


def test_the_command_tells_of_the_echo(voxpath: Any, tmp_path: Path):
    said = save(tmp_path / "said.wav", np.concatenate((tone(RATE, 3), np.zeros(RATE, np.int16))), RATE)
    heard = answer(tmp_path, before=3.5)
    done = voxpath(
        "call", said, heard, "--codec", "pcm", "--room", "booth", "--echo-loss", "25 dB", "--cancel", "--json"
    )
    assert done.code == 0, done.err
    there, back = json.loads(done.out)["talks"]
    assert there["echo"] is None
    assert (back["echo"]["room"], back["echo"]["echo_loss_db"]) == ("booth", 25)
    assert back["echo"]["telr_db"] == pytest.approx(35 + back["echo"]["erle_db"])
    assert back["delay"]["canceller_ms"] > 0
    page = (tmp_path / "call.html").read_text("utf-8")
    for words in ("TELR", "ERLE", "without the echo", "25 dB from loudspeaker to microphone"):
        assert words in page, words


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--room", "ofice"], "did you mean 'office'"),
        (["--cancel"], "give --room"),
        (["--room", "office", "--echo-loss", "loud"], "'0 dB' to '80 dB'"),
        (["--room", "office", "--echo-loss", "99 dB"], "'0 dB' to '80 dB'"),
        (["--room", "office"], "give a second recording"),
    ],
)
def test_what_cannot_be_is_told(arguments: list[str], told: str, voxpath: Any, tmp_path: Path):
    done = voxpath("call", *arguments)
    assert done.code == 2
    assert told in done.err
    assert not list(tmp_path.glob("*.wav"))


def test_a_verdict_names_the_echo():
    connection = dataclasses.replace(emodel.of_delay(100), telr=30)
    found = emodel.rate(connection)
    share = found.id_ - emodel.rate(emodel.of_delay(100)).id_
    from voxpath.voice.call.measures.conversation import Judged

    assert verdict.told(Judged(found, 0.0, False, 1.0, 0.0, share)).endswith(": the echo")
