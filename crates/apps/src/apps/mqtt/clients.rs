//! Clients of one process, and their connections.

use super::options::ClientOptions;
use crate::layers::{Carried, Farewells, LayerCounts, LayerOptions, Layers};
use crate::process::{Event, SocketId, Sockets};
use crate::socket::Stream;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_mqtt::{Client, ClientEvent, Reason, Subscription};
use voxpath_units::{Span, Time};

/// Octets read at a time.
const PIECE: u32 = 64 << 10;

/// A client, its connection, and what is known of both.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) client: Client,
    socket: Option<SocketId>,
    layers: Layers,
    /// The connection stands, and the client knows.
    stands: bool,
    /// When to connect.
    connect_at: Option<Time>,
    /// When it is woken.
    armed: Option<Time>,
    /// It has nothing left to do: it does not connect again.
    pub(crate) is_leaving: bool,
    pub(crate) account: Account,
}

/// What a client's connections were.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Account {
    /// When the broker first accepted it.
    pub(crate) connected_at: Option<Time>,
    /// How often it did.
    pub(crate) connections: u64,
    /// How often a connection was lost, or refused.
    pub(crate) lost: u64,
    /// What a broker said last when it ended or refused a connection.
    pub(crate) reason: Option<Reason>,
    /// When it had left.
    pub(crate) left_at: Option<Time>,
    /// What the layers of connections that are gone have carried.
    gone: LayerCounts,
}

/// All clients of a process.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) list: Vec<One>,
    target: SocketAddr,
    retry: Span,
    layers: LayerOptions,
    by_socket: BTreeMap<SocketId, u32>,
    farewells: Farewells,
    timers: BTreeSet<(Time, u32)>,
    /// Clients that have not left.
    here: u32,
}

impl Clients {
    pub(crate) fn new(
        options: &ClientOptions,
        target: SocketAddr,
        subscriptions: impl Fn(u32) -> Arc<[Subscription]>,
    ) -> Self {
        let one = |number: u32| {
            let at = options.start_ns.saturating_add(options.spread_ns.saturating_mul(number.into()));
            One {
                client: Client::new(options.client(number), subscriptions(number)),
                socket: None,
                layers: Layers::default(),
                stands: false,
                connect_at: Some(Time::from_nanos(at)),
                armed: None,
                is_leaving: false,
                account: Account::default(),
            }
        };
        let mut clients = Self {
            list: (0..options.count).map(one).collect(),
            target,
            retry: Span::from_nanos(options.retry_ns),
            layers: options.layers.clone(),
            by_socket: BTreeMap::new(),
            farewells: Farewells::default(),
            timers: BTreeSet::new(),
            here: options.count,
        };
        (0..options.count).for_each(|number| clients.arm(number, None));
        clients
    }

    /// When the next one has to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        Time::earliest([self.timers.first().map(|(at, _)| *at), self.farewells.poll_timeout()])
    }

    /// Whether a client has not left, or its last octets have not.
    pub(crate) fn is_busy(&self) -> bool {
        self.here > 0 || !self.farewells.is_empty()
    }

    /// Whether all have left.
    pub(crate) const fn have_left(&self) -> bool {
        self.here == 0
    }

    /// What happened at a socket, whose client is told if it has one.
    pub(crate) fn hear(&mut self, now: Time, event: Event, sockets: &mut impl Sockets) -> Option<u32> {
        let Event::Ready(socket) = event else { return None };
        self.farewells.drive(now, socket, sockets);
        self.settle();
        self.by_socket.get(&socket).copied()
    }

    /// Does what is due at connections that are being closed.
    pub(crate) fn handle_timeout(&mut self, now: Time, sockets: &mut impl Sockets) {
        self.farewells.handle_timeout(now, sockets);
        self.settle();
    }

    /// Notes what the layers of connections that are gone have carried.
    fn settle(&mut self) {
        for (number, counts) in self.farewells.take_gone() {
            self.list[number as usize].account.gone += counts;
        }
    }

    /// What the layers of a client's connections have carried: TLS and WebSocket, of those that it has.
    pub(crate) fn carried(&self, number: u32) -> [Option<Carried>; 2] {
        let one = &self.list[number as usize];
        let mut counts = one.account.gone;
        counts += one.layers.counts();
        self.farewells.carried(number).for_each(|it| counts += it);
        let LayerOptions { tls, websocket } = &self.layers;
        [tls.as_ref().map(|_| counts.tls), websocket.as_ref().map(|_| counts.websocket)]
    }

    /// The next client that is to be woken by `now`.
    pub(crate) fn poll_due(&mut self, now: Time) -> Option<u32> {
        let &(at, number) = self.timers.first()?;
        if at > now {
            return None;
        }
        self.timers.pop_first();
        self.list[number as usize].armed = None;
        Some(number)
    }

    /// Wakes a client when it or its connection wants that, or at `also`.
    pub(crate) fn arm(&mut self, number: u32, also: Option<Time>) {
        let one = &mut self.list[number as usize];
        let wanted = [one.client.poll_timeout(), one.connect_at, also].into_iter().flatten().min();
        if wanted == one.armed {
            return;
        }
        if let Some(before) = one.armed.take() {
            self.timers.remove(&(before, number));
        }
        one.armed = wanted;
        self.timers.extend(wanted.map(|at| (at, number)));
    }

    /// Does what can be done at a client's connection: opens it, reads, writes what there is, closes.
    pub(crate) fn drive(&mut self, now: Time, number: u32, sockets: &mut impl Sockets) {
        let one = &mut self.list[number as usize];
        if one.connect_at.take_if(|at| *at <= now).is_some() {
            let socket = sockets.connect(self.target, None);
            one.socket = Some(socket);
            one.stands = false;
            one.layers = self.layers.layers(true, |tls, is_client| sockets.secure(tls, is_client));
            self.by_socket.insert(socket, number);
        }
        let Some(socket) = one.socket else { return };
        one.client.handle_timeout(now);
        let mut stream = one.layers.over(sockets.stream(socket));
        if !one.stands && stream.is_connected() {
            one.stands = true;
            one.client.connected(now);
        }
        if one.stands {
            loop {
                let data = stream.read(one.client.wanted().min(PIECE));
                if data.is_empty() {
                    break;
                }
                one.client.handle_input(now, data);
            }
            write(now, &mut one.client, &mut stream);
        }
        let is_over = stream.is_at_end();
        drop(stream);
        if is_over || one.client.wants_close() || sockets.has_ended(socket) {
            self.lose(now, number, sockets);
        }
    }

    /// Writes what a client has, as far as the connection takes it.
    pub(crate) fn write(&mut self, now: Time, number: u32, sockets: &mut impl Sockets) {
        let one = &mut self.list[number as usize];
        if let (Some(socket), true) = (one.socket, one.stands) {
            let mut stream = one.layers.over(sockets.stream(socket));
            write(now, &mut one.client, &mut stream);
        }
    }

    /// A client leaves once all is written.
    pub(crate) fn leave(&mut self, now: Time, number: u32, sockets: &mut impl Sockets) {
        let one = &mut self.list[number as usize];
        if !one.is_leaving {
            one.is_leaving = true;
            one.connect_at = None;
            one.client.disconnect(now);
            self.drive(now, number, sockets);
            let one = &mut self.list[number as usize];
            if one.socket.is_none() && one.account.left_at.is_none() {
                one.account.left_at = Some(now);
                self.here -= 1;
            }
        }
    }

    /// The process is killed at `now`: all connections are gone. Sessions are stored; who has not left connects as soon as the
    /// process runs again.
    pub(crate) fn stop(&mut self, now: Time) {
        self.by_socket.clear();
        self.farewells.clear();
        self.settle();
        for number in 0..self.list.len() as u32 {
            let one = &mut self.list[number as usize];
            let Some(_) = one.socket.take() else { continue };
            one.account.gone += core::mem::take(&mut one.layers).counts();
            one.client.disconnected();
            one.stands = false;
            if one.is_leaving {
                one.account.left_at = Some(now);
                self.here -= 1;
            } else {
                one.account.lost += 1;
                one.connect_at = Some(now);
            }
            self.arm(number, None);
        }
    }

    fn lose(&mut self, now: Time, number: u32, sockets: &mut impl Sockets) {
        let one = &mut self.list[number as usize];
        let Some(socket) = one.socket.take() else { return };
        self.by_socket.remove(&socket);
        let layers = core::mem::take(&mut one.layers);
        self.farewells.close(now, socket, layers, Some(number), sockets);
        self.settle();
        let one = &mut self.list[number as usize];
        one.client.disconnected();
        one.stands = false;
        if one.is_leaving {
            one.account.left_at = Some(now);
            self.here -= 1;
        } else {
            one.account.lost += 1;
            one.connect_at = Some(now + self.retry);
        }
    }

    /// What happened to a client, which its account has noted.
    pub(crate) fn poll_event(&mut self, now: Time, number: u32) -> Option<ClientEvent> {
        let One { client, account, .. } = &mut self.list[number as usize];
        let event = client.poll_event()?;
        match &event {
            ClientEvent::Connected { .. } => {
                account.connected_at.get_or_insert(now);
                account.connections += 1;
            }
            ClientEvent::Ended(reason) => account.reason = Some(*reason),
            _ => {}
        }
        Some(event)
    }
}

/// Writes what a client has, as far as its connection takes it.
fn write(now: Time, client: &mut Client, stream: &mut impl Stream) {
    loop {
        let mut has_written = false;
        let mut is_full = false;
        while let Some(next) = client.poll_transmit() {
            let taken = stream.write(&next);
            has_written |= taken > 0;
            if taken < next.len() {
                client.untake(next.slice(taken, next.len() - taken));
                // A socket may take less than there is room for at a time.
                is_full = taken == 0 || stream.writable() == 0;
                if is_full {
                    break;
                }
            }
        }
        if has_written {
            // Messages that waited for the connection may be made packets of now.
            client.wrote(now);
        }
        if is_full || !has_written {
            return;
        }
    }
}
