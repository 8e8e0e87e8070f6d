//! A dialogue in blocks: what is due when, and that nothing but counted octets decides who speaks.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use voxpath_apps::dialogue::Dialogue;
use voxpath_apps::{Stream, StreamApplication, StreamMachine};
use voxpath_units::Span;
use voxpath_wire::Payload;

/// Three blocks of 10 octets, 100 ms apart.
const SPOKEN: Dialogue = Dialogue {
    blocks: 3,
    block: 10,
    interval: Span::from_millis(100),
    partial: 4,
    answer: 7,
    processing: Span::ZERO,
    requests: 2,
    pause: Span::from_millis(1_000),
};

/// Puts octets of the peer's pattern before an application and drives it; how many octets it wrote.
fn hear(app: &mut StreamApplication, at_ms: u64, stream: u32, offset: u64, len: u32) -> u32 {
    let (mut outgoing, mut incoming) = (Pipe::default(), Pipe::default());
    incoming.data.push_back(Payload::pattern(stream, offset, len));
    incoming.len = len;
    drive(
        app,
        ms(at_ms),
        Socket { outgoing: &mut outgoing, incoming: &mut incoming, room: u32::MAX, read: 9999 },
    );
    outgoing.len
}

/// Drives an application that hears nothing and may write `room` octets; how many it wrote.
fn wake(app: &mut StreamApplication, at_ms: u64, room: u32) -> u32 {
    let (mut outgoing, mut incoming) = (Pipe::default(), Pipe::default());
    drive(app, ms(at_ms), Socket { outgoing: &mut outgoing, incoming: &mut incoming, room, read: 9999 });
    outgoing.len
}

/// The published tool looked for a mark in what a read gave, and answered a block twice that came in two reads.
#[test]
fn a_block_in_two_reads_is_answered_once() {
    let [_, mut server] = speakers(SPOKEN);
    assert_eq!(hear(&mut server, 0, 0, 0, 9), 0, "not whole yet");
    assert_eq!(hear(&mut server, 1, 0, 9, 1), 4);
    assert_eq!(hear(&mut server, 2, 0, 10, 15), 4, "the second, and half of the third");
    assert_eq!(hear(&mut server, 3, 0, 25, 4), 0);
    assert_eq!(hear(&mut server, 4, 0, 29, 1), 7);
    assert_eq!(server.record().wrong_octets, 0);
}

/// There too, two blocks in one read were one mark, and a partial answer was left out.
#[test]
fn blocks_that_come_together_are_answered_each() {
    let [_, mut server] = speakers(SPOKEN);
    assert_eq!(hear(&mut server, 0, 0, 0, 30), 4 + 4 + 7);
}

/// How long each partial answer took.
fn partials(client: &StreamApplication) -> Vec<Span> {
    let messages = client.record().messages().iter();
    messages.filter_map(|partial| Some(partial.received_at?.since(partial.ready_at))).collect()
}

/// The published tool took a read of more than 700 bytes for the answer, and missed one that came in two.
#[test]
fn an_answer_in_two_reads_is_one_answer() {
    let [mut client, _] = speakers(SPOKEN);
    for at_ms in [0, 100, 200] {
        assert_eq!(wake(&mut client, at_ms, 999), 10);
    }
    hear(&mut client, 230, 1, 0, 9);
    hear(&mut client, 240, 1, 9, 5);
    assert_eq!(client.record().requests[0].completed_at, None, "an octet is missing");
    hear(&mut client, 250, 1, 14, 1);
    let request = client.record().requests[0];
    assert_eq!((request.octets, request.first_at, request.completed_at), (15, Some(ms(230)), Some(ms(250))));
    assert_eq!(request.last_sent_at, Some(ms(200)));
    assert_eq!(client.poll_timeout(), Some(ms(1_250)));
    // The partial answers to the blocks of 0 and 100 ms were whole at 230 ms.
    assert_eq!(partials(&client), [230, 130].map(Span::from_millis));
    assert_eq!(request.partials_in_time, Some(0));
}

#[test]
fn partial_answers_before_the_end_of_speech_are_in_time() {
    let [mut client, _] = speakers(SPOKEN);
    wake(&mut client, 0, 999);
    hear(&mut client, 30, 1, 0, 4);
    wake(&mut client, 100, 999);
    hear(&mut client, 199, 1, 4, 3);
    wake(&mut client, 200, 999);
    hear(&mut client, 201, 1, 7, 1);
    assert_eq!(client.record().requests[0].partials_in_time, Some(1), "of the second, an octet was late");
    assert_eq!(partials(&client), [30, 101].map(Span::from_millis));
}

#[test]
fn audio_waits_for_the_socket_and_its_clock_does_not() {
    let [mut client, _] = speakers(SPOKEN);
    assert_eq!(wake(&mut client, 0, 3), 3);
    assert_eq!(client.poll_timeout(), Some(ms(100)));
    assert_eq!(wake(&mut client, 50, 0), 0);
    // The second block queues behind the first, of which the socket has taken three octets.
    assert_eq!(wake(&mut client, 130, 0), 0);
    assert_eq!(client.poll_timeout(), Some(ms(200)), "due 100 ms after the block before was due");
    assert_eq!(wake(&mut client, 170, 999), 17);
    assert_eq!(client.record().requests[0].last_sent_at, None);
    assert_eq!(wake(&mut client, 200, 9), 9);
    assert_eq!(client.record().requests[0].last_sent_at, None, "an octet waits");
    assert_eq!(wake(&mut client, 210, 999), 1);
    let request = client.record().requests[0];
    assert_eq!((request.sent_at, request.last_sent_at), (ms(0), Some(ms(210))));
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn a_client_that_is_woken_late_catches_up_and_keeps_its_clock() {
    let [mut client, _] = speakers(SPOKEN);
    assert_eq!(wake(&mut client, 0, 999), 10);
    assert_eq!(wake(&mut client, 103, 999), 10);
    assert_eq!(client.poll_timeout(), Some(ms(200)));
    assert_eq!(wake(&mut client, 777, 999), 10);
    hear(&mut client, 800, 1, 0, 15);
    assert_eq!(client.poll_timeout(), Some(ms(1_800)));
    assert_eq!(wake(&mut client, 2_050, 999), 30, "all that was due since");
    assert_eq!(client.record().requests[1].sent_at, ms(2_050));
}

#[test]
fn the_answer_takes_its_time_and_partial_ones_do_not() {
    let [_, mut server] = speakers(Dialogue { processing: Span::from_millis(50), ..SPOKEN });
    assert_eq!(hear(&mut server, 0, 0, 0, 29), 8);
    assert_eq!(server.poll_timeout(), None);
    assert_eq!(hear(&mut server, 20, 0, 29, 1), 0);
    assert_eq!(server.poll_timeout(), Some(ms(70)));
    assert_eq!(wake(&mut server, 69, 999), 0);
    assert_eq!(server.poll_timeout(), Some(ms(70)));
    assert_eq!(wake(&mut server, 70, 5), 5);
    assert_eq!(server.poll_timeout(), None);
    assert_eq!(wake(&mut server, 80, 999), 2);
}

#[test]
fn a_server_that_is_left_alone_waits_for_nothing() {
    let [_, mut server] = speakers(Dialogue { processing: Span::from_millis(50), ..SPOKEN });
    hear(&mut server, 0, 0, 0, 30);
    let (mut outgoing, mut incoming) = (Pipe::default(), Pipe { closed: true, ..Pipe::default() });
    let mut socket = Socket { outgoing: &mut outgoing, incoming: &mut incoming, room: 99, read: 99 };
    server.drive(ms(10), &mut socket);
    assert!(socket.outgoing.closed);
    assert_eq!((server.record().finished, server.record().completed_at), (true, None));
    assert_eq!(server.poll_timeout(), None);
}

/// A connection that does not stand yet, and has a timer of its own.
struct Closed;

impl Stream for Closed {
    fn is_connected(&self) -> bool {
        false
    }

    fn writable(&self) -> u32 {
        0
    }

    fn write(&mut self, _: &Payload) -> u32 {
        0
    }

    fn read(&mut self, _: u32) -> Payload {
        Payload::Empty
    }

    fn is_at_end(&self) -> bool {
        false
    }

    fn close(&mut self) {}
}

#[test]
fn nobody_speaks_before_the_connection_stands() {
    let [mut client, mut server] = speakers(SPOKEN);
    for app in [&mut client, &mut server] {
        app.drive(ms(0), &mut Closed);
        assert_eq!(app.poll_timeout(), None);
    }
    assert_eq!(wake(&mut client, 40, 999), 10);
    assert_eq!(client.record().requests[0].sent_at, ms(40));
    assert_eq!(client.poll_timeout(), Some(ms(140)));
}

proptest! {
    /// Whatever the socket takes and gives at once: all is said, answered once, and in turn.
    #[test]
    fn a_dialogue_in_blocks_takes_its_turns(
        blocks in 1..8_u32, block in 1..500_u64, interval_ms in 1..40_u64, partial in 0..300_u64,
        answer in 1..900_u64, processing_ms in 0..30_u64, requests in 1..4_u32, pause_ms in 0..50_u64,
        room in 1..800_u32, read in 1..800_u32,
    ) {
        let [interval, processing, pause] = [interval_ms, processing_ms, pause_ms].map(Span::from_millis);
        let dialogue = Dialogue { blocks, block, interval, partial, answer, processing, requests, pause };
        let [client, server] = converse(speakers(dialogue), room, read);
        let (answered, asked) = (client.record(), server.record());
        let partials = if partial == 0 { 0 } else { u64::from(blocks) - 1 };
        let each = partials * partial + answer;
        let all = u64::from(requests);
        prop_assert_eq!((asked.octets, asked.wrong_octets), (block * u64::from(blocks) * all, 0));
        prop_assert_eq!((answered.octets, answered.wrong_octets), (each * all, 0));
        prop_assert_eq!(answered.messages().len() as u64, partials * all);
        prop_assert_eq!(answered.requests.len(), requests as usize);
        for request in &answered.requests {
            prop_assert_eq!(request.octets, each);
            let times = [Some(request.sent_at), request.last_sent_at, request.completed_at];
            prop_assert!(times.is_sorted() && times[1].is_some(), "{:?}", times);
            let spoken = request.last_sent_at.expect("checked above") - request.sent_at;
            prop_assert!(spoken >= interval * (u64::from(blocks) - 1));
            if u64::from(room) >= block {
                // The server reads in between, so each block is taken when it is due.
                prop_assert_eq!(spoken, interval * (u64::from(blocks) - 1));
            }
            let [asked, answered] = [request.last_sent_at, request.completed_at].map(|at| at.expect("it is over"));
            prop_assert!(answered.since(asked) >= processing);
            prop_assert_eq!(request.partials_in_time.is_some(), partials > 0);
            prop_assert!(request.partials_in_time <= Some(partials));
            prop_assert!(request.first_at.is_some() && request.first_at <= request.completed_at);
        }
        for pair in answered.requests.windows(2) {
            let completed = pair[0].completed_at.expect("checked above");
            prop_assert_eq!(pair[1].sent_at, completed + pause);
        }
        prop_assert_eq!(answered.completed_at, answered.requests.last().and_then(|request| request.completed_at));
        prop_assert!(asked.completed_at.is_some());
    }
}
