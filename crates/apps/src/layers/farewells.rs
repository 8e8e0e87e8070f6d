//! Connections that their program has closed, until the last octets have left and the other end has said good-bye.

use super::{LayerCounts, Layers};
use crate::process::{SocketId, Sockets};
use crate::socket::Stream;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// How long nothing may leave of what is left to be written; then the connection is reset.
const STUCK: Span = Span::from_secs(60);
/// How long the other end is waited for that is only to say good-bye.
const SILENT: Span = Span::from_secs(10);
/// Octets read, and thrown away, at a time.
const PIECE: u32 = 64 << 10;

/// The connections of a process that are being closed.
#[derive(Debug, Default)]
pub(crate) struct Farewells {
    waiting: BTreeMap<SocketId, Farewell>,
    /// What layers of connections that are gone had carried, and whose they were.
    gone: Vec<(u32, LayerCounts)>,
}

#[derive(Debug)]
struct Farewell {
    layers: Layers,
    /// Who wants to know what they carried.
    owner: Option<u32>,
    /// Octets that were to be written when it last was waited for.
    unwritten: u64,
    until: Time,
}

impl Farewells {
    /// Closes a connection that its program does not use any more. It is given back once all is said.
    pub(crate) fn close(
        &mut self,
        now: Time,
        socket: SocketId,
        layers: Layers,
        owner: Option<u32>,
        sockets: &mut impl Sockets,
    ) {
        self.waiting.insert(socket, Farewell { layers, owner, unwritten: u64::MAX, until: now });
        self.drive(now, socket, sockets);
    }

    /// Something happened at a socket; whether it is one of these.
    pub(crate) fn drive(&mut self, now: Time, socket: SocketId, sockets: &mut impl Sockets) -> bool {
        let Some(Farewell { layers, owner, unwritten, until }) = self.waiting.get_mut(&socket) else {
            return false;
        };
        let mut stream = layers.over(sockets.stream(socket));
        stream.close();
        if !stream.has_closed() {
            while !stream.read(PIECE).is_empty() {}
            stream.close();
        }
        drop(stream);
        let left = layers.unwritten();
        if left < core::mem::replace(unwritten, left) {
            *until = now + if left > 0 { STUCK } else { SILENT };
        }
        if layers.has_closed() || sockets.has_ended(socket) || *until <= now {
            self.gone.extend(owner.map(|owner| (owner, layers.counts())));
            self.waiting.remove(&socket);
            sockets.release(socket);
        }
        true
    }

    /// Gives up those that were waited for long enough.
    pub(crate) fn handle_timeout(&mut self, now: Time, sockets: &mut impl Sockets) {
        let due = self.waiting.iter().filter(|(_, it)| it.until <= now).map(|(socket, _)| *socket);
        for socket in due.collect::<Vec<_>>() {
            self.drive(now, socket, sockets);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.waiting.values().map(|it| it.until).min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The process was killed: its sockets are gone.
    pub(crate) fn clear(&mut self) {
        let waited = core::mem::take(&mut self.waiting).into_values();
        self.gone.extend(waited.filter_map(|it| Some((it.owner?, it.layers.counts()))));
    }

    /// What layers of connections that are gone had carried, and whose they were; each once.
    pub(crate) fn take_gone(&mut self) -> Vec<(u32, LayerCounts)> {
        core::mem::take(&mut self.gone)
    }

    /// What layers of connections that are waited for have carried of somebody.
    pub(crate) fn carried(&self, owner: u32) -> impl Iterator<Item = LayerCounts> {
        self.waiting.values().filter(move |it| it.owner == Some(owner)).map(|it| it.layers.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Carried;
    use super::super::tests::{Wire, carry, shaken};
    use super::*;
    use crate::process::{Event, ListenerId};
    use core::net::SocketAddr;
    use voxpath_wire::Payload;

    const SOCKET: SocketId = SocketId(7);

    /// The only socket of a process: a wire.
    #[derive(Default)]
    struct One {
        wire: Wire,
        released: bool,
    }

    impl Sockets for One {
        fn poll_event(&mut self) -> Option<Event> {
            None
        }
        fn listen(&mut self, _: u16) -> ListenerId {
            unreachable!("a connection is closed")
        }
        fn connect(&mut self, _: SocketAddr, _: Option<SocketId>) -> SocketId {
            unreachable!("a connection is closed")
        }
        fn stream(&mut self, _: SocketId) -> impl Stream {
            &mut self.wire
        }
        fn has_ended(&self, _: SocketId) -> bool {
            false
        }
        fn bind(&mut self, _: Option<u16>, _: Option<SocketId>) -> SocketId {
            unreachable!("a connection is closed")
        }
        fn send_to(&mut self, _: SocketId, _: SocketAddr, _: Payload) {}
        fn receive_from(&mut self, _: SocketId) -> Option<(SocketAddr, Payload)> {
            None
        }
        fn release(&mut self, _: SocketId) {
            self.released = true;
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn who_never_says_good_bye_is_waited_for_ten_seconds_whatever_else_he_says() {
        let ([mut client, server], [mut here, there]) = shaken(false, true);
        let mut sockets = One { wire: there, released: false };
        let mut farewells = Farewells::default();
        farewells.close(at(100), SOCKET, server, Some(3), &mut sockets);
        assert_eq!(farewells.poll_timeout(), Some(at(110)));
        for second in 101..110 {
            client.over(&mut here).write(&Payload::pattern(1, 0, 1000));
            carry(&mut here, &mut sockets.wire);
            assert!(farewells.drive(at(second), SOCKET, &mut sockets));
            assert_eq!((sockets.wire.inn.len(), sockets.released), (0, false));
        }
        farewells.handle_timeout(at(110), &mut sockets);
        assert!(sockets.released && farewells.is_empty());
        assert!(!farewells.drive(at(110), SOCKET, &mut sockets));
        let [(3, counts)] = farewells.take_gone()[..] else { panic!("one connection was closed") };
        // Nine frames of a client, and what came before.
        assert!(counts.websocket.received > 9 * 1008 && counts.tls == Carried::default());
        assert!(farewells.take_gone().is_empty());
    }

    #[test]
    fn who_takes_nothing_is_waited_for_a_minute_from_the_last_octet_that_he_took() {
        let ([_, mut server], [_, mut there]) = shaken(true, false);
        there.piece = 100;
        server.over(&mut there).write(&Payload::pattern(1, 0, 1000));
        let mut sockets = One { wire: there, released: false };
        let mut farewells = Farewells::default();
        farewells.close(at(1), SOCKET, server, None, &mut sockets);
        assert_eq!(farewells.poll_timeout(), Some(at(61)));
        sockets.wire.out.take(50);
        farewells.drive(at(40), SOCKET, &mut sockets);
        farewells.handle_timeout(at(61), &mut sockets);
        assert!(!sockets.released);
        farewells.handle_timeout(at(100), &mut sockets);
        assert!(sockets.released && farewells.is_empty());
    }

    #[test]
    fn a_connection_without_layers_is_given_back_at_once() {
        let mut sockets = One::default();
        Farewells::default().close(at(1), SOCKET, Layers::default(), None, &mut sockets);
        assert!(sockets.wire.closed && sockets.released);
    }
}
