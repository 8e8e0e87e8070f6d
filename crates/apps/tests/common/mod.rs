//! Two ends and what is between them.
#![allow(dead_code, missing_docs, unreachable_pub)] // Each test binary uses its part.

use std::collections::VecDeque;
use voxpath_apps::dialogue::{Client, Dialogue, Server};
use voxpath_apps::{Stream, StreamApplication, StreamMachine};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets on their way in one direction, and whether their end has been announced.
#[derive(Default)]
pub struct Pipe {
    pub data: VecDeque<Payload>,
    pub len: u32,
    pub closed: bool,
}

/// One end of a connection with little room, which hands out at most `read` octets at a time.
pub struct Socket<'a> {
    pub outgoing: &'a mut Pipe,
    pub incoming: &'a mut Pipe,
    pub room: u32,
    pub read: u32,
}

impl Stream for Socket<'_> {
    fn is_connected(&self) -> bool {
        true
    }

    fn writable(&self) -> u32 {
        if self.outgoing.closed { 0 } else { self.room.saturating_sub(self.outgoing.len) }
    }

    fn write(&mut self, data: &Payload) -> u32 {
        let taken = data.len().min(self.writable());
        if taken > 0 {
            self.outgoing.data.push_back(data.slice(0, taken));
            self.outgoing.len += taken;
        }
        taken
    }

    fn read(&mut self, max: u32) -> Payload {
        let Some(first) = self.incoming.data.front_mut() else { return Payload::Empty };
        let len = first.len().min(max).min(self.read);
        let out = first.slice(0, len);
        *first = first.slice(len, first.len() - len);
        if first.is_empty() {
            self.incoming.data.pop_front();
        }
        self.incoming.len -= len;
        out
    }

    fn is_at_end(&self) -> bool {
        self.incoming.closed && self.incoming.data.is_empty()
    }

    fn close(&mut self) {
        self.outgoing.closed = true;
    }
}

/// The point so many milliseconds in.
pub fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Both ends of a dialogue.
pub fn speakers(dialogue: Dialogue) -> [StreamApplication; 2] {
    [
        StreamApplication::DialogueClient(Client::new(dialogue, 0, 1)),
        StreamApplication::DialogueServer(Server::new(dialogue, 0, 1)),
    ]
}

/// Drives one end, which afterwards has to wait for something to come.
pub fn drive(app: &mut StreamApplication, now: Time, mut socket: Socket<'_>) {
    app.drive(now, &mut socket);
    assert!(app.poll_timeout().is_none_or(|at| at > now), "{app:?} would be woken at {now} for ever");
}

/// Drives both ends in turn, a millisecond apart, until neither has anything left to do.
pub fn converse(
    [mut client, mut server]: [StreamApplication; 2],
    room: u32,
    read: u32,
) -> [StreamApplication; 2] {
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    for now in (0..1_000_000).map(ms) {
        drive(&mut client, now, Socket { outgoing: &mut there, incoming: &mut back, room, read });
        drive(&mut server, now, Socket { outgoing: &mut back, incoming: &mut there, room, read });
        if client.record().finished && server.record().finished {
            assert!(there.closed && back.closed);
            assert_eq!((client.poll_timeout(), server.poll_timeout()), (None, None));
            return [client, server];
        }
    }
    panic!("no end: {client:?}, {server:?}");
}
