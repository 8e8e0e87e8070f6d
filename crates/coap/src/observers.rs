//! Who observes what, and what each of them has to be told (RFC 7641 section 4).
//!
//! An observer has one confirmable notification on its way at a time (section 4.5.1). What changes meanwhile is told when that is
//! acknowledged, or in its place when it would be sent again (section 4.5.2); states between are skipped.

use crate::reliability::{Pending, Transmission};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// A notification is confirmable at least this often (section 4.5).
const CONFIRMED_EACH: Span = Span::from_secs(24 * 3600);

pub(crate) type Token = Vec<u8>;
type Path = Vec<String>;

/// An entry of the list of observers.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) path: Path,
    /// The largest block that it takes: SZX.
    pub(crate) exponent: u8,
    /// It was not told the present state.
    is_stale: bool,
    /// The last notification, which may be reset.
    last_id: Option<u16>,
    /// When it last acknowledged something.
    confirmed_at: Time,
}

impl Observation {
    /// Whether its next notification has to be confirmable though others are not.
    pub(crate) fn has_to_confirm(&self, now: Time) -> bool {
        now.since(self.confirmed_at) >= CONFIRMED_EACH
    }
}

/// An end that observes.
#[derive(Debug, Default)]
struct Peer {
    observations: BTreeMap<Token, Observation>,
    pending: Option<(Token, Pending)>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    peers: BTreeMap<SocketAddr, Peer>,
    by_path: BTreeMap<Path, BTreeSet<(SocketAddr, Token)>>,
    timers: BTreeSet<(Time, SocketAddr)>,
    len: usize,
}

impl Observers {
    /// Entries of the list.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether a notification waits for its acknowledgment.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.timers.is_empty()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    pub(crate) fn get(&self, from: SocketAddr, token: &[u8]) -> Option<&Observation> {
        self.peers.get(&from)?.observations.get(token)
    }

    /// Adds an entry, or renews it; the response tells it the present state.
    pub(crate) fn add(&mut self, now: Time, from: SocketAddr, token: Token, path: Path, exponent: u8) {
        self.remove(from, &token);
        self.by_path.entry(path.clone()).or_default().insert((from, token.clone()));
        let entry = Observation { path, exponent, is_stale: false, last_id: None, confirmed_at: now };
        self.peers.entry(from).or_default().observations.insert(token, entry);
        self.len += 1;
    }

    /// Removes an entry, and what is on its way of it.
    pub(crate) fn remove(&mut self, from: SocketAddr, token: &[u8]) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        let Some(entry) = peer.observations.remove(token) else { return };
        self.len -= 1;
        if let Some((_, pending)) = peer.pending.take_if(|(of, _)| of == token) {
            self.timers.remove(&(pending.due, from));
        }
        if peer.observations.is_empty() {
            self.peers.remove(&from);
        }
        if let Some(list) = self.by_path.get_mut(&entry.path) {
            list.remove(&(from, token.to_vec()));
            if list.is_empty() {
                self.by_path.remove(&entry.path);
            }
        }
    }

    /// A resource has changed: whom that concerns.
    pub(crate) fn changed(&mut self, path: &[String]) -> Vec<SocketAddr> {
        let mut concerned = Vec::new();
        for (to, token) in self.by_path.get(path).into_iter().flatten() {
            if let Some(entry) = self.peers.get_mut(to).and_then(|peer| peer.observations.get_mut(token)) {
                entry.is_stale = true;
            }
            concerned.push(*to);
        }
        concerned.dedup();
        concerned
    }

    /// Which of its observations a peer can be told of next: one that changed, while nothing else is on its way.
    pub(crate) fn next(&self, to: SocketAddr) -> Option<Token> {
        let peer = self.peers.get(&to).filter(|peer| peer.pending.is_none())?;
        peer.observations.iter().find(|(_, it)| it.is_stale).map(|(token, _)| token.clone())
    }

    /// A peer has acknowledged or reset a message.
    pub(crate) fn answered(&mut self, now: Time, from: SocketAddr, id: u16, is_reset: bool) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        let was_last = |(_, it): &(&Token, &Observation)| is_reset && it.last_id == Some(id);
        let token = match peer.pending.take_if(|(_, pending)| pending.id == id) {
            Some((token, pending)) => {
                self.timers.remove(&(pending.due, from));
                token
            }
            None => match peer.observations.iter().find(was_last) {
                Some((token, _)) => token.clone(),
                None => return,
            },
        };
        if is_reset {
            self.remove(from, &token);
        } else if let Some(entry) = peer.observations.get_mut(&token) {
            entry.confirmed_at = now;
        }
    }

    /// A notification was made and is sent at `now`; with `pending` it waits for its acknowledgment.
    pub(crate) fn told(&mut self, to: SocketAddr, token: Token, id: u16, pending: Option<Pending>) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        let Some(entry) = peer.observations.get_mut(&token) else { return };
        entry.is_stale = false;
        entry.last_id = Some(id);
        if let Some(pending) = pending {
            self.timers.insert((pending.due, to));
            peer.pending = Some((token, pending));
        }
    }

    /// What follows from a notification whose time is over by `now`.
    pub(crate) fn expire(&mut self, now: Time, transmission: Transmission) -> Option<Expired> {
        let &(at, to) = self.timers.first()?;
        if at > now {
            return None;
        }
        self.timers.pop_first();
        let peer = self.peers.get_mut(&to)?;
        let (token, pending) = peer.pending.as_mut()?;
        let token = token.clone();
        if !pending.again(transmission, now) {
            self.remove(to, &token);
            return Some(Expired::GivenUp(to));
        }
        if peer.observations.get(&token).is_some_and(|it| it.is_stale) {
            return peer.pending.take().map(|(_, pending)| Expired::Newer(to, token, pending));
        }
        self.timers.insert((pending.due, to));
        Some(Expired::Send(to, pending.datagram.clone()))
    }
}

/// What follows when the time of a notification is over.
#[derive(Debug)]
pub(crate) enum Expired {
    /// A notification of the present state takes its place.
    Newer(SocketAddr, Token, Pending),
    /// It is sent again.
    Send(SocketAddr, Payload),
    /// It was given up, and with it the observation.
    GivenUp(SocketAddr),
}
