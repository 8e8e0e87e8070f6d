//! What stands between a program and its connection: TLS, WebSocket, or one over the other.
//!
//! A layer makes of what the program writes what travels, and of what comes what the program reads. The program keeps its
//! [`Stream`], which stands once the layers have shaken hands. Each connection's end has a [`Layers`] of its own.

mod farewells;
mod layer;
pub mod tls;
pub mod websocket;

use crate::socket::Stream;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::AddAssign;
pub(crate) use farewells::Farewells;
pub use layer::{Failed, Layer, Made};
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_wire::Payload;

/// Octets read from the connection at a time.
const PIECE: u32 = 64 << 10;
/// What waits to be written before nothing more is read.
const MOST_UNWRITTEN: usize = 64;

/// What connections go over, as the plan has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerOptions {
    /// TLS 1.3.
    pub tls: Option<tls::Tls>,
    /// WebSocket, over TLS if that is there.
    pub websocket: Option<websocket::WebSocket>,
}

impl LayerOptions {
    pub(crate) fn check(&self, check: &mut Check<'_>) {
        if let Some(tls) = &self.tls {
            tls.check(&mut check.at("tls"));
        }
        if let Some(websocket) = &self.websocket {
            websocket.check(&mut check.at("websocket"));
        }
    }

    /// What keeps them from being used where a host is real.
    pub(crate) fn check_real(&self, check: &mut Check<'_>) {
        if let Some(tls) = &self.tls {
            tls.check_real(&mut check.at("tls"));
        }
    }

    /// Whether connections go over nothing.
    pub(crate) const fn is_empty(&self) -> bool {
        self.tls.is_none() && self.websocket.is_none()
    }

    /// The layers of a new connection's end, which opened it or accepted it; `secure` makes that of TLS.
    pub(crate) fn layers(
        &self,
        has_opened: bool,
        secure: impl FnOnce(&tls::Tls, bool) -> Box<dyn Layer>,
    ) -> Layers {
        let mut list: Vec<Box<dyn Layer>> = Vec::new();
        if let Some(tls) = &self.tls {
            list.push(secure(tls, has_opened));
        }
        if let Some(websocket) = &self.websocket {
            list.push(Box::new(websocket.end(has_opened, self.tls.is_some())));
        }
        Layers { list, has_tls: self.tls.is_some(), ..Layers::default() }
    }
}

/// Octets that a layer had its connection carry, with what it carries itself.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl AddAssign for Carried {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// The same of each kind of layer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayerCounts {
    pub(crate) tls: Carried,
    pub(crate) websocket: Carried,
}

impl AddAssign for LayerCounts {
    fn add_assign(&mut self, other: Self) {
        self.tls += other.tls;
        self.websocket += other.websocket;
    }
}

/// The layers of a connection's end; none, and what is written travels as it is.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// From the connection up.
    list: Vec<Box<dyn Layer>>,
    /// The lowest one is TLS.
    has_tls: bool,
    counts: LayerCounts,
    /// How many have begun.
    begun: usize,
    /// What is to be written to the connection.
    unwritten: VecDeque<Payload>,
    /// What has come for the program, which it has not read.
    unread: VecDeque<Payload>,
    /// Nothing comes any more, or what came is not understood.
    is_over: bool,
    /// How many layers are still to be closed, the uppermost first; none before the program closes it.
    closing: Option<usize>,
    /// The connection below was closed: all was said and written.
    has_closed: bool,
}

impl Layers {
    /// A connection with these layers, as a program sees it. What can be done at once is done: handshakes, what waits to be written.
    pub(crate) fn over<S: Stream>(&mut self, stream: S) -> Layered<'_, S> {
        let mut layered = Layered { layers: self, stream };
        if !layered.layers.list.is_empty() && layered.stream.is_connected() {
            layered.layers.begin();
            layered.flush();
            while !layered.layers.is_open() && layered.receive() {}
        }
        layered
    }

    /// Has each layer begin once the one below is open.
    fn begin(&mut self) {
        while self.begun < self.list.len() && self.list[..self.begun].iter().all(|layer| layer.is_open()) {
            let first = self.list[self.begun].begin();
            self.put(self.begun, first);
            self.begun += 1;
        }
    }

    fn is_open(&self) -> bool {
        !self.is_over && self.closing.is_none() && self.list.iter().all(|layer| layer.is_open())
    }

    /// Whether the program has closed it and nothing is left to be written or waited for.
    pub(crate) fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// Octets that are to be written to the connection.
    fn unwritten(&self) -> u64 {
        self.unwritten.iter().map(|data| u64::from(data.len())).sum()
    }

    /// Octets of all that its layers said and heard so far.
    pub(crate) const fn counts(&self) -> LayerCounts {
        self.counts
    }

    fn carried(&mut self, place: usize) -> &mut Carried {
        if self.has_tls && place == 0 { &mut self.counts.tls } else { &mut self.counts.websocket }
    }

    /// Puts out what the layer at a place has for the connection, by way of those below.
    fn put(&mut self, place: usize, data: impl IntoIterator<Item = Payload>) {
        for mut data in data {
            if place < self.list.len() {
                self.carried(place).sent += u64::from(data.len());
            }
            for below in (0..place).rev() {
                data = self.list[below].send(&data);
                self.carried(below).sent += u64::from(data.len());
            }
            self.unwritten.push_back(data);
        }
    }

    /// Takes in what has come over the connection.
    fn take(&mut self, data: Payload) {
        let mut coming = alloc::vec![data];
        for place in 0..self.list.len() {
            let mut made = Made::default();
            let mut failed = Ok(());
            for data in coming {
                self.carried(place).received += u64::from(data.len());
                failed = failed.and_then(|()| self.list[place].receive(data, &mut made));
            }
            self.put(place, made.down);
            self.is_over |= made.is_over || failed.is_err();
            coming = made.up;
        }
        self.unread.extend(coming.into_iter().filter(|data| !data.is_empty()));
        self.begin();
    }
}

/// A connection with layers, as a program sees it.
pub(crate) struct Layered<'a, S> {
    layers: &'a mut Layers,
    stream: S,
}

impl<S: Stream> Layered<'_, S> {
    fn has_closed(&self) -> bool {
        self.layers.has_closed
    }

    /// Takes in what has come over the connection; whether there was something.
    fn receive(&mut self) -> bool {
        // Whoever does not take answers, such as pongs, is not read from either.
        if self.layers.unwritten.len() > MOST_UNWRITTEN {
            return false;
        }
        if self.layers.is_over {
            // What still comes is heard by nobody; how it ends is.
            return self.layers.closing.is_some() && !self.stream.read(PIECE).is_empty();
        }
        let data = self.stream.read(PIECE);
        let has_come = !data.is_empty();
        if has_come {
            self.layers.take(data);
            if self.layers.closing.is_some() {
                self.layers.unread.clear();
            }
            self.flush();
        }
        has_come
    }

    /// Writes what waits, as far as the connection takes it.
    fn flush(&mut self) {
        while let Some(next) = self.layers.unwritten.pop_front() {
            let taken = self.stream.write(&next);
            if taken < next.len() {
                self.layers.unwritten.push_front(next.slice(taken, next.len() - taken));
                // A socket may take less than there is room for at a time.
                if taken == 0 || self.stream.writable() == 0 {
                    break;
                }
            }
        }
    }
}

impl<S: Stream> Stream for Layered<'_, S> {
    fn is_connected(&self) -> bool {
        self.stream.is_connected() && self.layers.is_open()
    }

    fn writable(&self) -> u32 {
        let waits = !self.layers.unwritten.is_empty() || !self.layers.is_open();
        if waits { 0 } else { self.stream.writable() }
    }

    /// Takes all that it is given as soon as there is any room: what is one message to the program is one to a layer. What the
    /// connection does not take waits here, and nothing more is taken meanwhile.
    fn write(&mut self, data: &Payload) -> u32 {
        if self.layers.list.is_empty() {
            return self.stream.write(data);
        }
        if data.is_empty() || self.writable() == 0 {
            return 0;
        }
        self.layers.put(self.layers.list.len(), [data.clone()]);
        self.flush();
        data.len()
    }

    fn read(&mut self, max: u32) -> Payload {
        if self.layers.list.is_empty() {
            return self.stream.read(max);
        }
        while self.layers.unread.is_empty() && self.receive() {}
        let Some(next) = self.layers.unread.pop_front() else { return Payload::Empty };
        if next.len() > max {
            self.layers.unread.push_front(next.slice(max, next.len() - max));
            return next.slice(0, max);
        }
        next
    }

    fn is_at_end(&self) -> bool {
        self.layers.unread.is_empty() && (self.layers.is_over || self.stream.is_at_end())
    }

    /// Closes it as far as that can be done now: each layer has its last word, and hears that of the other end where its protocol
    /// asks for it; then the connection is closed. Until [`Layers::has_closed`], it is to be asked for again whenever
    /// something happens.
    fn close(&mut self) {
        let layers = &mut *self.layers;
        if layers.closing.is_none() {
            if !layers.list.iter().all(|layer| layer.is_open()) {
                // Nobody is there who would understand what waits.
                layers.unwritten.clear();
            }
            layers.closing = Some(layers.begun);
        }
        self.flush();
        let Self { layers, stream } = self;
        while let Some(place @ 1..) = layers.closing {
            let layer = &mut layers.list[place - 1];
            if layer.is_open()
                && let Some(last) = layer.close()
            {
                layers.put(place - 1, [last]);
            }
            if layers.list[place - 1].waits() && !stream.is_at_end() {
                break;
            }
            layers.closing = Some(place - 1);
        }
        self.flush();
        let Self { layers, stream } = self;
        if layers.closing == Some(0) && layers.unwritten.is_empty() {
            layers.has_closed = true;
            stream.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;
    use voxpath_wire::PayloadQueue;

    /// One end of a connection: what it has written, and what has come for it.
    #[derive(Default)]
    pub(super) struct Wire {
        pub(super) out: PayloadQueue,
        pub(super) inn: PayloadQueue,
        /// Octets that it takes, and hands out, at a time.
        pub(super) piece: u32,
        pub(super) closed: bool,
        pub(super) is_at_end: bool,
    }

    impl Stream for &mut Wire {
        fn is_connected(&self) -> bool {
            true
        }

        fn writable(&self) -> u32 {
            self.piece.saturating_sub(self.out.len() as u32)
        }

        fn write(&mut self, data: &Payload) -> u32 {
            let taken = data.len().min(self.writable());
            self.out.push(data.slice(0, taken));
            taken
        }

        fn read(&mut self, max: u32) -> Payload {
            self.inn.read(max.min(self.piece))
        }

        fn is_at_end(&self) -> bool {
            self.is_at_end && self.inn.is_empty()
        }

        fn close(&mut self) {
            self.closed = true;
        }
    }

    pub(super) fn options(tls: bool, websocket: bool) -> LayerOptions {
        LayerOptions {
            tls: tls.then_some(tls::Tls {
                library: tls::Library::Openssl,
                server: "cloud".to_string(),
                certificate_bytes: 800,
            }),
            websocket: websocket
                .then(|| websocket::WebSocket { host: "cloud:1883".to_string(), path: "/mqtt".to_string() }),
        }
    }

    fn octets(payload: &Payload) -> Vec<u8> {
        let mut bytes = Vec::new();
        payload.write_to(&mut bytes);
        bytes
    }

    fn all(queue: &mut PayloadQueue) -> Vec<u8> {
        octets(&queue.take(queue.len() as u32))
    }

    /// What one end wrote comes to the other.
    pub(super) fn carry(from: &mut Wire, to: &mut Wire) {
        while !from.out.is_empty() {
            to.inn.push(from.out.read(u32::MAX));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            tls in any::<bool>(),
            websocket in any::<bool>(),
            piece in 1..5_000_u32,
            messages in prop::collection::vec((any::<bool>(), 1..70_000_u32), 1..6),
        ) {
            let options = options(tls, websocket);
            let mut ends = [(options.layers(true, tls::Tls::by_sizes), Wire { piece, ..Wire::default() }),
                (options.layers(false, tls::Tls::by_sizes), Wire { piece, ..Wire::default() })];
            // Each end writes its messages one after the other, and reads what comes.
            let written = [true, false].map(|of| {
                let mine = messages.iter().filter(|(client, _)| *client == of);
                mine.enumerate().map(|(i, (_, len))| Payload::pattern(i as u32, 3, *len)).collect::<Vec<_>>()
            });
            let mut read = [Vec::new(), Vec::new()];
            let mut left = written.clone();
            for _ in 0..1_000_000 {
                for (end, (layers, wire)) in ends.iter_mut().enumerate() {
                    let mut stream = layers.over(wire);
                    while stream.is_connected() && !left[end].is_empty() {
                        let taken = stream.write(&left[end][0]);
                        prop_assert!(taken == 0 || taken == left[end][0].len() || !tls && !websocket);
                        let rest = left[end][0].slice(taken, left[end][0].len() - taken);
                        if taken == 0 {
                            break;
                        } else if rest.is_empty() {
                            left[end].remove(0);
                        } else {
                            left[end][0] = rest;
                        }
                    }
                    loop {
                        let data = stream.read(1000);
                        if data.is_empty() {
                            break;
                        }
                        read[1 - end].extend(octets(&data));
                    }
                }
                let [(_, client), (_, server)] = &mut ends;
                let is_quiet = client.out.is_empty() && server.out.is_empty();
                carry(client, server);
                carry(server, client);
                if is_quiet && left.iter().all(Vec::is_empty) {
                    break;
                }
            }
            for (read, written) in read.iter().zip(&written) {
                prop_assert!(*read == octets(&Payload::rope(written.iter().cloned())));
            }
        }

        #[test]
        fn masked_frames_are_read_however_they_come(
            piece in 1..3_000_u32,
            frames in prop::collection::vec((any::<[u8; 4]>(), 1..70_000_usize), 1..4),
        ) {
            let options = options(false, true);
            let (mut client, mut server) = (options.layers(true, tls::Tls::by_sizes), options.layers(false, tls::Tls::by_sizes));
            let (mut here, mut there) =
                (Wire { piece: u32::MAX, ..Wire::default() }, Wire { piece, ..Wire::default() });
            client.over(&mut here);
            carry(&mut here, &mut there);
            server.over(&mut there);
            let mut sent = Vec::new();
            for (number, (mask, len)) in frames.iter().enumerate() {
                let data: Vec<u8> = (0..*len).map(|at| (at * 7 + number) as u8).collect();
                let mut frame = alloc::vec![0x82];
                match *len {
                    0..=125 => frame.push(0x80 | *len as u8),
                    126..=0xffff => frame.extend([0x80 | 126, (len >> 8) as u8, *len as u8]),
                    _ => {
                        frame.push(0x80 | 127);
                        frame.extend((*len as u64).to_be_bytes());
                    }
                }
                frame.extend(mask);
                frame.extend(data.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
                sent.extend(data);
                there.inn.push(Payload::bytes(frame.into()));
            }
            let mut read = Vec::new();
            let mut stream = server.over(&mut there);
            loop {
                let data = stream.read(1_000);
                if data.is_empty() {
                    break;
                }
                read.extend(octets(&data));
            }
            prop_assert!(!stream.is_at_end() && read == sent);
        }

        #[test]
        fn whatever_comes_nothing_panics_and_a_failure_is_an_end(
            tls in any::<bool>(),
            is_client in any::<bool>(),
            shaken in any::<bool>(),
            came in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut layers = options(tls, !tls).layers(is_client, tls::Tls::by_sizes);
            let mut wire = Wire { piece: u32::MAX, ..Wire::default() };
            if shaken {
                let mut other = options(tls, !tls).layers(!is_client, tls::Tls::by_sizes);
                let mut there = Wire { piece: u32::MAX, ..Wire::default() };
                for _ in 0..4 {
                    layers.over(&mut wire);
                    carry(&mut wire, &mut there);
                    other.over(&mut there);
                    carry(&mut there, &mut wire);
                }
                prop_assert!(layers.over(&mut wire).is_connected());
            }
            wire.inn.push(Payload::bytes(came.into()));
            let mut stream = layers.over(&mut wire);
            while !stream.read(10).is_empty() {}
            stream.close();
            // Who has shaken hands over a WebSocket may wait for a Close frame, but not behind the connection's end.
            let waits = !stream.has_closed();
            prop_assert!(!waits || shaken && !tls);
            prop_assert!(wire.closed != waits);
            wire.is_at_end = true;
            let mut stream = layers.over(&mut wire);
            while !stream.read(10).is_empty() {}
            stream.close();
            prop_assert!(wire.closed);
        }

        #[test]
        fn what_was_written_comes_though_the_connection_is_closed_over_a_full_buffer(
            tls in any::<bool>(),
            websocket in any::<bool>(),
            is_client in any::<bool>(),
            piece in 1..3_000_u32,
            len in 1..70_000_u32,
        ) {
            let (mut ends, mut wires) = shaken(tls, websocket);
            let (writer, reader) = (usize::from(!is_client), usize::from(is_client));
            wires[writer].piece = piece;
            let message = Payload::pattern(1, 3, len);
            let mut left = message.clone();
            let mut read = Vec::new();
            for _ in 0..200_000 {
                let mut stream = ends[writer].over(&mut wires[writer]);
                let taken = stream.write(&left);
                left = left.slice(taken, left.len() - taken);
                if left.is_empty() {
                    stream.close();
                    prop_assert!(!tls && !websocket || stream.write(&message) == 0);
                }
                let mut stream = ends[reader].over(&mut wires[reader]);
                loop {
                    let data = stream.read(1000);
                    if data.is_empty() {
                        break;
                    }
                    read.extend(octets(&data));
                }
                if stream.is_at_end() {
                    stream.close();
                }
                let [client, server] = &mut wires;
                carry(client, server);
                carry(server, client);
                (client.is_at_end, server.is_at_end) = (server.closed, client.closed);
                if wires.iter().all(|wire| wire.closed) {
                    break;
                }
            }
            prop_assert!(wires.iter().all(|wire| wire.closed));
            prop_assert!(read == octets(&message));
        }
    }

    /// Two ends that have shaken hands, and their wires.
    pub(super) fn shaken(tls: bool, websocket: bool) -> ([Layers; 2], [Wire; 2]) {
        let options = options(tls, websocket);
        let mut ends = [options.layers(true, tls::Tls::by_sizes), options.layers(false, tls::Tls::by_sizes)];
        let mut wires = [(); 2].map(|()| Wire { piece: u32::MAX, ..Wire::default() });
        for _ in 0..4 {
            for (layers, wire) in ends.iter_mut().zip(&mut wires) {
                layers.over(wire);
            }
            let [client, server] = &mut wires;
            carry(client, server);
            carry(server, client);
        }
        (ends, wires)
    }

    #[test]
    fn a_websocket_ends_by_close_frames_of_both_and_the_server_closes_the_connection() {
        let ([mut client, mut server], [mut here, mut there]) = shaken(false, true);
        client.over(&mut here).close();
        assert_eq!(all(&mut here.out), *b"\x88\x82\0\0\0\0\x03\xe8");
        assert!(!here.closed && !client.has_closed());
        there.inn.push(Payload::bytes(b"\x88\x82\0\0\0\0\x03\xe8".to_vec().into()));
        let mut stream = server.over(&mut there);
        assert!(stream.read(10).is_empty() && stream.is_at_end());
        stream.close();
        assert_eq!((all(&mut there.out), there.closed), (b"\x88\x02\x03\xe8".to_vec(), true));
        here.inn.push(Payload::bytes(b"\x88\x02\x03\xe8".to_vec().into()));
        let mut stream = client.over(&mut here);
        assert!(stream.read(10).is_empty());
        stream.close();
        assert!(!here.closed, "the server is to close the connection first");
        here.is_at_end = true;
        client.over(&mut here).close();
        assert!(here.closed && here.out.is_empty());
    }

    #[test]
    fn a_server_that_closes_first_waits_for_the_clients_close_frame() {
        let ([mut client, mut server], [mut here, mut there]) = shaken(false, true);
        server.over(&mut there).close();
        assert!(!there.closed);
        carry(&mut there, &mut here);
        // Data that was on its way, and a ping, which is not answered any more.
        client.over(&mut here).write(&Payload::pattern(1, 0, 100));
        here.out.push(Payload::bytes(b"\x89\x80\0\0\0\0".to_vec().into()));
        let mut stream = client.over(&mut here);
        assert!(stream.read(10).is_empty() && stream.is_at_end());
        carry(&mut here, &mut there);
        let mut stream = server.over(&mut there);
        assert!(stream.read(1000).is_empty());
        stream.close();
        assert!(there.closed && there.out.is_empty());
    }

    #[test]
    fn whoever_breaks_a_rule_is_told_so_and_is_not_waited_for() {
        let close = |content: &[u8]| [&[0x88, 0x80 | content.len() as u8, 0, 0, 0, 0], content].concat();
        let broken = [
            // Not masked, a text, a reserved bit, a control frame of two fragments, a length with its highest bit.
            b"\x82\x01a".to_vec(),
            b"\x81\x81\0\0\0\0a".to_vec(),
            b"\xc2\x81\0\0\0\0a".to_vec(),
            b"\x08\x80\0\0\0\0".to_vec(),
            b"\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
            // Half a status code, one that is never sent, a reason that is no UTF-8.
            close(b"\x03"),
            close(b"\x03\xed"),
            close(b"\x03\xe8\xff"),
        ];
        for sent in broken {
            let ([_, mut server], [_, mut there]) = shaken(false, true);
            there.inn.push(Payload::bytes(sent.clone().into()));
            let mut stream = server.over(&mut there);
            assert!(stream.read(10).is_empty() && stream.is_at_end(), "{sent:02x?}");
            stream.close();
            assert_eq!(
                (all(&mut there.out), there.closed),
                (b"\x88\x02\x03\xea".to_vec(), true),
                "{sent:02x?}"
            );
        }
        // A Close frame without a code is answered by one.
        let ([_, mut server], [_, mut there]) = shaken(false, true);
        there.inn.push(Payload::bytes(close(b"").into()));
        server.over(&mut there).read(10);
        assert_eq!(all(&mut there.out), *b"\x88\0");
    }

    #[test]
    fn who_speaks_something_else_is_at_an_end() {
        for (tls, first) in [(true, &b"\x10\x0c\x00\x04MQTT"[..]), (false, b"GET / HTTP/1.1\r\n\r\n")] {
            let mut layers = options(tls, !tls).layers(false, tls::Tls::by_sizes);
            let mut wire = Wire { piece: u32::MAX, ..Wire::default() };
            wire.inn.push(Payload::bytes(first.to_vec().into()));
            let stream = layers.over(&mut wire);
            assert!(stream.is_at_end() && !stream.is_connected());
        }
    }

    #[test]
    fn a_request_that_opens_no_websocket_is_answered_by_the_status_of_its_fault() {
        let right = "GET /mqtt HTTP/1.1\r\nHost: cloud\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Protocol: chat, mqtt\r\n\r\n";
        let long = "x".repeat(9000);
        for (was, is, status) in [
            ("", "", "101 "),
            ("GET", "POST", "400 "),
            ("Upgrade: WebSocket", "Upgrade: h2c", "400 "),
            ("keep-alive, Upgrade", "keep-alive", "400 "),
            ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZQ==", "400 "),
            ("chat, mqtt", "chat", "400 "),
            (
                "Version: 13",
                "Version: 8",
                "426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
            ),
            ("cloud", &long, "431 "),
        ] {
            let mut server = options(false, true).layers(false, tls::Tls::by_sizes);
            let mut wire = Wire { piece: u32::MAX, ..Wire::default() };
            wire.inn.push(Payload::bytes(right.replacen(was, is, 1).into_bytes().into()));
            let mut stream = server.over(&mut wire);
            let is_open = stream.is_connected();
            assert_eq!((is_open, stream.is_at_end()), (status == "101 ", !is_open), "{is}");
            if !is_open {
                stream.close();
                assert!(wire.closed, "{is}");
            }
            let answer = all(&mut wire.out);
            assert!(answer.starts_with(format!("HTTP/1.1 {status}").as_bytes()), "{is}");
            assert!(answer.ends_with(b"\r\n\r\n"));
        }
    }

    #[test]
    fn a_websocket_is_opened_and_framed_as_the_rfc_has_it() {
        let options = options(false, true);
        let (mut client, mut server) =
            (options.layers(true, tls::Tls::by_sizes), options.layers(false, tls::Tls::by_sizes));
        let mut here = Wire { piece: u32::MAX, ..Wire::default() };
        let mut there = Wire { piece: u32::MAX, ..Wire::default() };
        client.over(&mut here);
        let request = all(&mut here.out);
        assert!(request.starts_with(b"GET /mqtt HTTP/1.1\r\nHost: cloud:1883\r\nUpgrade: websocket\r\n"));
        there.inn.push(Payload::bytes(request.into()));
        server.over(&mut there);
        let answer = all(&mut there.out);
        // Its key and the answer to it are those of section 1.3.
        let accepted = b"\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
        assert!(answer.windows(accepted.len()).any(|it| it == accepted));
        here.inn.push(Payload::bytes(answer.into()));
        assert_eq!(client.over(&mut here).write(&Payload::bytes(b"Hello".to_vec().into())), 5);
        assert_eq!(all(&mut here.out), *b"\x82\x85\0\0\0\0Hello");
        // Section 5.7: a masked frame, one in two fragments, and a ping, which is answered.
        there.inn.push(Payload::bytes(b"\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58".to_vec().into()));
        assert_eq!(octets(&server.over(&mut there).read(10)), b"Hello");
        here.inn.push(Payload::bytes(b"\x02\x03Hel\x80\x02lo\x89\x05Hello".to_vec().into()));
        let mut stream = client.over(&mut here);
        assert_eq!([octets(&stream.read(10)), octets(&stream.read(10))], [b"Hel".to_vec(), b"lo".to_vec()]);
        assert!(stream.read(10).is_empty());
        assert_eq!(all(&mut here.out), *b"\x8a\x85\0\0\0\0Hello");
        assert_eq!([0, 125, 126, 65_535, 65_536].map(websocket::frame), [2, 127, 130, 65_539, 65_546]);
        assert_eq!(websocket::masked(3), 9);
        for len in [0, 125, 126, 65_535, 65_536_u32] {
            there.out = PayloadQueue::new();
            server.over(&mut there).write(&Payload::pattern(1, 0, len));
            assert_eq!(there.out.len(), if len == 0 { 0 } else { websocket::frame(len.into()) });
        }
    }

    /// The types that the records of TLS show that wait.
    fn types(queue: &mut PayloadQueue) -> Vec<u8> {
        let waiting = queue.take(queue.len() as u32);
        let bytes = octets(&waiting);
        queue.push(waiting);
        let mut types = Vec::new();
        let mut rest = &bytes[..];
        while let [kind, _, _, high, low, ..] = *rest {
            types.push(kind);
            rest = &rest[5 + usize::from(u16::from_be_bytes([high, low]))..];
        }
        types
    }

    #[test]
    fn records_of_tls_have_16_kib_at_most_and_22_octets_more() {
        let options = options(true, false);
        let (mut client, mut server) =
            (options.layers(true, tls::Tls::by_sizes), options.layers(false, tls::Tls::by_sizes));
        let mut here = Wire { piece: u32::MAX, ..Wire::default() };
        let mut there = Wire { piece: u32::MAX, ..Wire::default() };
        let (mut sent, mut kinds) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            client.over(&mut here);
            sent.push(here.out.len());
            kinds.push(types(&mut here.out));
            carry(&mut here, &mut there);
            server.over(&mut there);
            sent.push(there.out.len());
            kinds.push(types(&mut there.out));
            carry(&mut there, &mut here);
        }
        assert_eq!(sent, [517, 1171, 80, 510, 0, 0]);
        // ClientHello; ServerHello, ChangeCipherSpec and what is encrypted; the same of the client; tickets.
        assert_eq!(kinds, [vec![22], vec![22, 20, 23], vec![20, 23], vec![23], vec![], vec![]]);
        // As OpenSSL cuts it: 16406 and 3638 octets.
        client.over(&mut here).write(&Payload::pattern(1, 0, 20_000));
        assert_eq!(here.out.len(), 16_406 + 3_638);
        assert_eq!(here.out.peek::<5>().0, [23, 3, 3, 0x40, 0x11]);
        carry(&mut here, &mut there);
        client.over(&mut here).close();
        assert_eq!((here.out.len(), here.closed), (24, true));
        assert_eq!(types(&mut here.out), [23], "an alert does not show");
        carry(&mut here, &mut there);
        let mut stream = server.over(&mut there);
        assert_eq!(stream.read(u32::MAX), Payload::pattern(1, 0, 16_384));
        assert!(!stream.is_at_end());
        assert_eq!(stream.read(u32::MAX), Payload::pattern(1, 16_384, 3_616));
        assert!(stream.read(1).is_empty() && stream.is_at_end());
    }
}
