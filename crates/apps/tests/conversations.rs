//! Both ends of each application, over a socket that takes and gives as little as it likes: what they saw does not
//! depend on how the stream was cut. The dialogue's own rules are in `dialogue.rs`.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use voxpath_apps::dialogue::Dialogue;
use voxpath_apps::{StreamApplication, StreamMachine, bulk};
use voxpath_units::Span;

proptest! {
    #[test]
    fn a_bulk_transfer_arrives_whole(octets in 0..5_000_u64, room in 1..800_u32, read in 1..800_u32) {
        let ends = [
            StreamApplication::BulkSource(bulk::Source::new(4, Some(octets))),
            StreamApplication::BulkSink(bulk::Sink::new(4, Some(octets))),
        ];
        let [source, sink] = converse(ends, room, read);
        let record = sink.record();
        prop_assert_eq!((record.octets, record.wrong_octets), (octets, 0));
        prop_assert!(record.completed_at.is_some());
        prop_assert_eq!(record.first_at.is_some(), octets > 0);
        prop_assert_eq!(source.record().octets, 0);
    }

    #[test]
    fn a_dialogue_takes_its_turns(
        request in 1..2_000_u64, response in 1..3_000_u64, count in 1..5_u32, pause_ms in 0..50_u64,
        room in 1..800_u32, read in 1..800_u32,
    ) {
        let pause = Span::from_millis(pause_ms);
        let ends = speakers(Dialogue::download(request, response, count, pause));
        let [client, server] = converse(ends, room, read);
        let (asked, answered) = (server.record(), client.record());
        prop_assert_eq!((asked.octets, asked.wrong_octets), (request * u64::from(count), 0));
        prop_assert_eq!((answered.octets, answered.wrong_octets), (response * u64::from(count), 0));

        prop_assert_eq!(answered.requests.len(), count as usize);
        for request in &answered.requests {
            prop_assert_eq!(request.octets, response);
            let times = [Some(request.sent_at), request.first_at, request.completed_at];
            prop_assert!(times.is_sorted() && times[1].is_some(), "{:?}", times);
        }
        for pair in answered.requests.windows(2) {
            let completed = pair[0].completed_at.expect("checked above");
            prop_assert_eq!(pair[1].sent_at, completed + pause, "the next question waits for the pause, and no longer");
        }
        prop_assert_eq!(answered.completed_at, answered.requests.last().and_then(|request| request.completed_at));
    }
}

/// A sink that got less than it was promised says so.
#[test]
fn a_transfer_cut_short_is_finished_but_not_complete() {
    let ends = [
        StreamApplication::BulkSource(bulk::Source::new(4, Some(99))),
        StreamApplication::BulkSink(bulk::Sink::new(4, Some(100))),
    ];
    let [_, sink] = converse(ends, 50, 50);
    assert_eq!((sink.record().octets, sink.record().completed_at), (99, None));
    assert!(sink.record().finished);
}

#[test]
fn octets_of_another_stream_are_wrong() {
    let ends = [
        StreamApplication::BulkSource(bulk::Source::new(4, Some(1_000))),
        StreamApplication::BulkSink(bulk::Sink::new(5, Some(1_000))),
    ];
    let [_, sink] = converse(ends, 50, 50);
    assert!(sink.record().wrong_octets > 900, "{}", sink.record().wrong_octets);
}
