"""The study thapa2023: captures by hand, sizes by the standard, and that the quick study answers."""

from __future__ import annotations

import re

import polars as pl
import pytest

from voxpath.backends import named
from voxpath.backends.answer import ask
from voxpath.backends.formula import Formulas
from voxpath.studies.thapa2023 import cited, emergency, later, offload, readings
from voxpath.studies.thapa2023.measures import captures, data_segments, mqtt_packets, stream_bytes
from voxpath.studies.thapa2023.questions import QUICK, SIM, Cell, ask_all, real_questions
from voxpath.studies.thapa2023.scenario import (
    INTERNET,
    LAN,
    MQTT,
    NETWORKS,
    RECEIVER,
    SENDER,
    SOCKET,
    WAYS,
    payloads,
)

SYN, ACK, FIN = 2, 16, 1


def packet(
    at_us: float, host: str, out: bool, header: int, data: int, flags: int = ACK, seq: int = 0
) -> dict:
    link = f"{host} ab" if out else f"{host} ba"
    return {
        "time_ns": round(at_us * 1000),
        "link": link,
        "action": "enqueued" if out else "delivered",
        "ip_bytes": 20 + header + data,
        "payload_bytes": data,
        "tcp_flags": flags,
        "seq": seq,
    }


def test_a_capture_is_summed_up_by_hand():
    rows = [
        packet(1000, SENDER, True, 40, 0, SYN, 99),
        packet(2000, SENDER, False, 40, 0, SYN | ACK, 499),
        packet(2000, SENDER, True, 32, 1448, ACK, 100),
        packet(2001, SENDER, True, 32, 1448, ACK, 1548),
        # Sent again: not new to the stream, and not contiguous.
        packet(9000, SENDER, True, 32, 1448, ACK, 100),
        packet(9500, SENDER, False, 32, 0, ACK, 500),
        packet(9501, SENDER, False, 32, 0, ACK, 500),
        packet(2500, RECEIVER, False, 32, 1448, ACK, 100),
        packet(9900, RECEIVER, True, 32, 0, ACK, 500),
        # What passes elsewhere is nobody's, and what is only on its way is not captured.
        {**packet(9950, RECEIVER, False, 32, 9, ACK, 7), "action": "lost"},
        packet(9960, "broker", True, 32, 9, ACK, 7),
    ]
    sender, receiver = captures(pl.DataFrame(rows), INTERNET)
    assert sender.header_bytes == 40 + 40 + 5 * 32
    assert sender.one_way_bytes(out=True) == 40 + 3 * 32
    # The first two segments with data are one packet, and so are the two acknowledgments.
    assert sender.offloaded_bytes == 40 + 40 + 3 * 32
    assert sender.stream_bytes == 2 * 1448
    assert sender.data_segments == 3
    assert sender.seconds == pytest.approx(0.008501)
    assert receiver.header_bytes == 64
    assert receiver.seconds == pytest.approx(0.0015)


def test_packets_of_mqtt_have_the_octets_of_the_standard():
    # CONNECT with six characters, CONNACK, PUBLISH with ten of the topic and one of payload, DISCONNECT.
    assert mqtt_packets(1, SENDER) == [20, 4, 15, 2]
    assert mqtt_packets(1, RECEIVER) == [22, 4, 17, 5, 15, 2]
    # Remaining lengths of one, two, three and four octets.
    sizes = (115, 116, 16_371, 16_372, 2_097_140)
    assert [mqtt_packets(size, SENDER)[2] - size for size in sizes] == [14, 15, 15, 16, 17]
    # An identifier and a PUBACK; with QoS 2 three packets.
    assert mqtt_packets(1, SENDER, qos=1) == [20, 4, 17, 4, 2]
    assert mqtt_packets(1, SENDER, qos=2) == [20, 4, 17, 4, 4, 4, 2]
    assert data_segments(SOCKET, 1448, SENDER) == 1
    assert data_segments(SOCKET, 1449, SENDER) == 2
    assert data_segments(MQTT, 1000, SENDER) == 3
    assert data_segments(MQTT, 1000, RECEIVER) == 6


def test_simulated_transfers_carry_what_the_closed_form_says(tmp_path):
    found = ask_all(asking(tmp_path), QUICK)
    assert found.without == "the backend real was not asked"
    for network in NETWORKS:
        for way in WAYS:
            for payload, octets in payloads().items():
                runs = found.runs(Cell(network, way, payload), SIM)
                assert len(runs) == QUICK.replications
                for host in (SENDER, RECEIVER):
                    assert {run.stream[host] for run in runs} == {stream_bytes(way, octets, host)}
                    if network == LAN:
                        assert {run.segments[host] for run in runs} == {data_segments(way, octets, host)}
    counted, _ = readings.table(found)
    assert len(counted.rows) == len(readings.READINGS)
    # One transfer's headers are the same however the network is called.
    assert all(check.holds for check in readings.contradictions(found))


def asking(folder):
    """Answers by the simulator alone."""
    backends = named.make(["sim"], named.Runs(folder), Formulas())
    return lambda questions, asked: ask(
        [("x", {}, question) for question in questions],
        [backend for backend in backends if backend.name in asked],
    )


def test_offload_hides_headers_from_a_capture():
    """The kernel's own: what passes whole has one header, whatever an adapter makes of it."""
    seen = {(one.way, one.payload, one.offload): one for one in offload.measure()}
    assert len(seen) == 2 * 2 * 2
    for way in WAYS:
        whole, cut = seen[way, "1000 kB", True], seen[way, "1000 kB", False]
        assert whole.largest > 1500
        assert cut.largest == 1500
        # A segment for each 1448 octets at least, one way.
        assert cut.header_bytes >= 32 * -(-1_000_000 // 1448)
        assert 2 * whole.header_bytes < cut.header_bytes


def test_the_quick_study_has_real_brokers_and_judges_every_sentence(voxpath):
    called = voxpath("study", "thapa2023", "--quick")
    assert called.code == 0, called.err
    for network in NETWORKS:
        assert len(re.findall(rf"^ {network} .* receiver ", called.out, re.MULTILINE)) == len(payloads())
    (made,) = re.findall(r"results: (\d+) runs", called.out)
    simulated = QUICK.replications * len(NETWORKS) * len(WAYS) * len(payloads())
    assert int(made) >= simulated + len(real_questions(QUICK))
    assert any("mosquitto" in str(question.document.plan.data) for question in real_questions(QUICK).values())


def test_what_it_leaves_for_later_is_asked_and_answered(tmp_path):
    ask = asking(tmp_path)
    wanted = {
        cell: question
        for cell, question in later.questions(1).items()
        if cell.part in {"queue", "login", "outage"}
    }
    told = later.Told(dict(zip(wanted, ask(list(wanted.values()), ("sim",)), strict=True)))
    for policy in later.POLICIES:
        cell = later.Later("queue", f"{policy}, {later.RATES[-1]}")
        published, dropped, undelivered = (
            told.total(cell, *which)
            for which in (
                ("publisher", "messages_published"),
                ("broker", "messages_dropped"),
                ("publisher", "messages_undelivered"),
            )
        )
        assert 0 < dropped <= undelivered < published
        assert told.total(cell, "broker", "longest_queue") == later.ROOM
    # Away for 30 s of five messages each, and QoS 0 is not kept for who is not there.
    assert told.total(later.Later("outage", "", 0), "publisher", "messages_undelivered") >= 150
    assert told.total(later.Later("outage", "", 2), "publisher", "messages_undelivered") == 0
    plain, right = (
        told.total(later.Later("login", case), "publisher", "mqtt_bytes") for case in ("None", "s3cret")
    )
    assert right - plain == len("field") + len("s3cret") + 4


def test_messages_with_deadlines_are_late_by_every_way(tmp_path):
    asked = {cell: one for cell, one in emergency.questions(1).items() if cell.errors in {0.0, 1e-4}}
    delays = emergency.Delays(dict(zip(asked, asking(tmp_path)(list(asked.values()), ("sim",)), strict=True)))
    for way in emergency.WAYS:
        clean, damaged = (emergency.Cell(way, errors) for errors in (0.0, 1e-4))
        assert delays.shares(clean, 100) == [1.0]
        # No message is there before the air has carried it.
        assert delays.shares(clean, 0.5) == [0.0]
        assert 0.3 < delays.shares(damaged, 100)[0] <= delays.shares(damaged, 1000)[0] <= 1


def test_octets_of_other_protocols_by_hand():
    assert cited.coap_octets(100) == (4 + 2 + 6 + 5 + 1) + 6
    assert cited.mqtt_octets(100) == (2 + 2 + 10 + 2) + 4
    # Frames of 8 octets around a method of 19, a header of 14, and the body.
    assert cited.amqp_octets(100) == 3 * 8 + 19 + 14
    assert (
        cited.http_octets(100)
        == len("POST /field/data HTTP/1.1")
        + len("Host: broker")
        + len("Content-Length: 100")
        + 4 * 2
        + len("HTTP/1.1 204 No Content")
        + 2 * 2
    )


def test_coap_takes_a_round_trip_for_each_block(tmp_path):
    cells = [cited.Cell(cited.CONFIRMED, size, "0 %") for size in (1024, 1025)]
    asked = {cell: one for cell, one in cited.questions(2).items() if cell in cells}
    found = cited.Cited(dict(zip(asked, asking(tmp_path)(list(asked.values()), ("sim",)), strict=True)))
    one, two = (found.response_ms(cell).mean for cell in cells)
    assert two == pytest.approx(2 * one, rel=0.1)
