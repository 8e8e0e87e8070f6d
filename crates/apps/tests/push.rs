//! Updates by HTTP's ways: when each is told, and in which answer.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use voxpath_apps::push::{Client, LENGTH, Push, PushWay, Server};
use voxpath_apps::{Record, StreamApplication, StreamMachine};
use voxpath_units::Time;

const POLLING: PushWay = PushWay::Polling { every_ns: 100_000_000 };

fn push(way: PushWay, updates: &[(u64, u32)]) -> Push {
    Push {
        way,
        request_bytes: 30,
        head_bytes: 20,
        updates: updates.iter().map(|&(at, octets)| (at * 1_000_000, octets)).collect(),
    }
}

fn ends(push: Push) -> [StreamApplication; 2] {
    let push = Arc::new(push);
    [
        StreamApplication::PushClient(Box::new(Client::new(Arc::clone(&push), Time::ZERO, 0, 1))),
        StreamApplication::PushServer(Box::new(Server::new(push, Time::ZERO, 0, 1))),
    ]
}

/// Lets both ends talk across a delay: when the client had each update, and what it read.
fn told(push: Push, one_way_ms: u64) -> (Vec<Time>, u64) {
    let [mut client, mut server] = ends(push);
    let (mut there, mut back) = (Link::new(one_way_ms), Link::new(one_way_ms));
    for now in 0..100_000 {
        there.carry(now);
        back.carry(now);
        let (outgoing, incoming) = (&mut there.sent, &mut back.come);
        drive(&mut client, ms(now), Socket { outgoing, incoming, room: u32::MAX, read: 9999 });
        let (outgoing, incoming) = (&mut back.sent, &mut there.come);
        drive(&mut server, ms(now), Socket { outgoing, incoming, room: u32::MAX, read: 9999 });
        if client.record().finished && server.record().finished {
            assert_eq!((client.record().wrong_octets, server.record().wrong_octets), (0, 0));
            assert!(client.record().completed_at.is_some());
            assert_eq!((client.poll_timeout(), server.poll_timeout()), (None, None));
            return (received(client.record()), client.record().octets);
        }
    }
    panic!("no end: {client:?}, {server:?}");
}

/// When each update that came was read whole.
fn received(record: &Record) -> Vec<Time> {
    record.messages().iter().filter_map(|update| update.received_at).collect()
}

/// A direction that delays.
struct Link {
    delay_ms: u64,
    sent: Pipe,
    under_way: VecDeque<(u64, Pipe)>,
    come: Pipe,
}

impl Link {
    fn new(delay_ms: u64) -> Self {
        Self { delay_ms, sent: Pipe::default(), under_way: VecDeque::new(), come: Pipe::default() }
    }

    /// Takes what was sent in the millisecond before, and hands over what arrives.
    fn carry(&mut self, now: u64) {
        let sent = std::mem::take(&mut self.sent);
        self.sent.closed = sent.closed;
        self.under_way.push_back(((now + self.delay_ms).saturating_sub(1), sent));
        while let Some((_, pipe)) = self.under_way.pop_front_if(|(at, _)| *at <= now) {
            self.come.len += pipe.len;
            self.come.data.extend(pipe.data);
            self.come.closed = pipe.closed;
        }
    }
}

#[test]
fn what_is_streamed_comes_one_way_after_it_is_ready() {
    let (times, octets) =
        told(push(PushWay::Streaming { event_bytes: 8 }, &[(10, 5), (100, 6), (130, 7), (130, 8)]), 50);
    // The first was ready before the request came.
    assert_eq!(times, [100, 150, 180, 180].map(ms));
    assert_eq!(octets, 20 + 4 * 8 + 26);
}

#[test]
fn a_long_poll_is_held_back_until_there_is_an_update_and_takes_all_that_there_are() {
    let (times, octets) = told(push(PushWay::LongPolling, &[(100, 5), (130, 6), (190, 7), (400, 8)]), 50);
    // The client asks again at 150 ms; that comes at 200 ms.
    assert_eq!(times, [150, 250, 250, 450].map(ms));
    assert_eq!(octets, 3 * 20 + 26);
}

#[test]
fn polls_are_answered_at_once_also_with_nothing() {
    let (times, octets) = told(push(POLLING, &[(100, 5), (130, 6), (160, 7)]), 50);
    // Polls are sent at 0, 100 and 200 ms: each answer comes when the next one is due.
    assert_eq!(times, [200, 200, 300].map(ms));
    assert_eq!(octets, 3 * 20 + 18);
}

#[test]
fn polls_that_an_answer_outlasts_are_left_out() {
    let (times, octets) = told(push(POLLING, &[(130, 5), (500, 6)]), 60);
    // Polls at 0, 200 and 400 ms, as an answer takes 120 ms.
    assert_eq!(times, [320, 720].map(ms));
    assert_eq!(octets, 4 * 20 + 11);
}

/// The server may tell how long an answer is in two pieces.
#[test]
fn octets_that_come_one_by_one_are_the_same_answers() {
    for way in [PushWay::Streaming { event_bytes: LENGTH }, PushWay::LongPolling, POLLING] {
        let updates: Vec<_> = (0..20).map(|i| (i * 37, 1 + i as u32 * 11)).collect();
        let sum: u64 = updates.iter().map(|(_, octets)| u64::from(*octets)).sum();
        let [client, server] = converse(ends(Push { head_bytes: LENGTH, ..push(way, &updates) }), 3, 1);
        assert_eq!(received(client.record()).len(), updates.len());
        assert!(received(client.record()).iter().zip(&updates).all(|(come, (ready, _))| *come >= ms(*ready)));
        assert_eq!((client.record().wrong_octets, server.record().wrong_octets), (0, 0));
        assert_eq!((client.record().octets - sum) % LENGTH, 0);
    }
}

#[test]
fn who_leaves_closes_and_the_server_follows() {
    let [mut client, mut server] = ends(push(PushWay::LongPolling, &[(1_000, 5)]));
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    let mut both = |now, client: &mut StreamApplication, server: &mut StreamApplication| {
        drive(client, ms(now), Socket { outgoing: &mut there, incoming: &mut back, room: 999, read: 999 });
        drive(server, ms(now), Socket { outgoing: &mut back, incoming: &mut there, room: 999, read: 999 });
    };
    both(0, &mut client, &mut server);
    assert_eq!(server.poll_timeout(), Some(ms(1_000)));
    client.stop();
    both(1, &mut client, &mut server);
    both(2, &mut client, &mut server);
    assert!(client.record().finished && server.record().finished);
    assert_eq!((client.record().completed_at, server.record().completed_at), (None, None));
    assert_eq!(server.poll_timeout(), None);
}

proptest! {
    /// RFC 6202 section 2.2: an update that comes just after an answer waits for three ways of the network.
    #[test]
    fn each_update_comes_when_the_next_answer_can_have_it(
        mut ready in prop::collection::vec(0..2_000_u64, 1..30),
        one_way in 1..200_u64,
    ) {
        ready.sort_unstable();
        let updates: Vec<_> = ready.iter().map(|&at| (at, 10)).collect();
        let (streamed, _) = told(push(PushWay::Streaming { event_bytes: 8 }, &updates), one_way);
        let expected: Vec<_> = ready.iter().map(|&at| ms(at.max(one_way) + one_way)).collect();
        prop_assert_eq!(streamed, expected);

        let (mut answered, mut asked) = (None, one_way);
        let expected: Vec<_> = ready
            .iter()
            .map(|&at| {
                if answered.is_none_or(|answered| at > answered) {
                    answered = Some(at.max(asked));
                    asked = at.max(asked) + 2 * one_way;
                }
                ms(answered.unwrap_or_default() + one_way)
            })
            .collect();
        let (polled, _) = told(push(PushWay::LongPolling, &updates), one_way);
        prop_assert_eq!(polled, expected);
    }
}
