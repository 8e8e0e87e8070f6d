//! Path management: which subflows there should be (RFC 8684 sections 3.2, 3.4).

use crate::subflow::Subflow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_units::{Span, Time};

/// What one end does for more subflows than the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathManagement {
    /// Which subflows this end opens.
    pub opens: Opens,
    /// Announce this end's other addresses (ADD_ADDR).
    pub signal: bool,
    /// The most subflows that this end opens or accepts beside the first.
    pub limit: u8,
    /// When it begins to open them.
    pub joins: When,
    /// Less than this in a second is low throughput, where that is waited for: bits of data in both directions together.
    pub low_throughput_bps: u64,
    /// How long after a subflow failed it is tried again, and twice as long after each further failure; zero never does, as Linux.
    #[serde(with = "voxpath_tcp::config::nanos")]
    pub retry: Span,
}

impl Default for PathManagement {
    fn default() -> Self {
        Self {
            opens: Opens::FullMesh,
            signal: false,
            limit: 8,
            joins: When::AtOnce,
            low_throughput_bps: 1_000_000,
            retry: Span::ZERO,
        }
    }
}

/// When an end begins to open further subflows. Once it has begun it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// As soon as the connection stands.
    AtOnce,
    /// When every subflow has ended, or had a timeout and was not heard since. Who has sent nothing cannot know.
    OnFailure,
    /// When the oracle doubts a subflow (`oracle.rs`): who sends knows it a second after the path fails, or while it gets worse.
    OnDoubt,
    /// When a second has passed in which data moved or was not acknowledged, and less moved than the bound.
    OnLowThroughput,
}

/// Which subflows an end opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opens {
    /// None.
    Nothing,
    /// From each address of its own to each of the other end.
    FullMesh,
    /// From each address of its own to the other end's first.
    PerInterface,
    /// As many as `limit` allows between the first two addresses, from other ports.
    Ports,
}

/// An address of this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress {
    /// The address.
    pub ip: IpAddr,
    /// Subflows from here are to be used only if no other is there.
    pub backup: bool,
    /// It is there when the connection begins.
    pub is_up: bool,
}

/// A subflow that should be opened: by whoever has ports to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// From which address.
    pub local: IpAddr,
    /// To which address and port.
    pub remote: SocketAddr,
    /// How this end calls `local`.
    pub(crate) local_id: u8,
    /// How the other end calls `remote`.
    pub(crate) remote_id: u8,
    /// It is to be used only if no other is there.
    pub(crate) backup: bool,
}

/// How often an address is announced that is not confirmed, and after how long again (Linux' `net.mptcp.add_addr_timeout`).
const ANNOUNCEMENTS: u8 = 3;
const ANNOUNCE_AGAIN: Span = Span::from_secs(120);

/// What an end knows of addresses.
#[derive(Debug)]
pub(crate) struct PathManager {
    management: PathManagement,
    /// Its own; the address with the identifier 0 is that of the first subflow, the others are called by their place here, from 1 on.
    local: Vec<Local>,
    /// The other end's, but for that of the first subflow.
    announced: Vec<(u8, SocketAddr)>,
    /// The other end has withdrawn the address of the first subflow.
    first_is_gone: bool,
    /// The other end takes no further subflows at that address and port (C of MP_CAPABLE, section 3.1).
    first_is_spared: bool,
    /// Pairs between which the application wants a subflow.
    asked: VecDeque<(IpAddr, SocketAddr)>,
    /// Pairs that were tried.
    tried: Vec<Tried>,
    /// Identifiers of its own addresses that are gone, and of which the other end was not told.
    removals: Vec<u8>,
    /// It has begun to open subflows.
    has_begun: bool,
    /// When throughput is looked at next, and how much had moved when it was looked at last.
    look: Option<(Time, u64)>,
    /// How many were opened that are told apart by ports alone.
    ports_tried: u8,
    /// It was asked for a subflow to open, had none, and has heard of nothing since that could change that.
    has_none: bool,
}

/// How often what failed is tried again, and how long apart at most: doubled as often.
const RETRIES: u32 = 6;
/// How many subflows a connection ever has: schedulers tell them apart by bits.
const MOST: usize = 64;
/// Over how long throughput is measured.
const LOOK: Span = Span::from_secs(1);

/// A pair of addresses between which a subflow was opened.
#[derive(Debug, Clone, Copy)]
struct Tried {
    local: IpAddr,
    remote: SocketAddr,
    /// In a row.
    failures: u32,
    then: Then,
}

/// What becomes of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// A subflow is there, or none shall be.
    Nothing,
    /// It has failed, and is tried again then.
    Waits(Time),
    /// That time has come.
    Again,
}

#[derive(Debug)]
struct Local {
    address: LocalAddress,
    is_up: bool,
    /// It is there again after it was gone.
    is_back: bool,
    /// The other end has been told of it, and has confirmed it.
    told: Told,
}

/// How far an announcement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    No,
    /// Sent, not confirmed: again at this time, after so many times.
    Sent {
        again: Time,
        times: u8,
    },
    Confirmed,
}

impl PathManager {
    pub(crate) fn new(management: PathManagement, local: &[LocalAddress]) -> Self {
        let of =
            |&address: &LocalAddress| Local { address, is_up: address.is_up, is_back: false, told: Told::No };
        Self {
            has_begun: management.joins == When::AtOnce,
            management,
            local: local.iter().map(of).collect(),
            announced: Vec::new(),
            first_is_gone: false,
            first_is_spared: false,
            asked: VecDeque::new(),
            tried: Vec::new(),
            removals: Vec::new(),
            look: None,
            ports_tried: 0,
            has_none: false,
        }
    }

    /// How this end calls one of its addresses, where the first subflow has `first`.
    pub(crate) fn id_of(&self, ip: IpAddr, first: IpAddr) -> u8 {
        if ip == first {
            return 0;
        }
        let place = self.local.iter().position(|local| local.address.ip == ip);
        place.map_or(u8::MAX, |place| place as u8 + 1)
    }

    /// Whether subflows from an address of this end are backups.
    pub(crate) fn is_backup(&self, ip: IpAddr) -> bool {
        self.local.iter().any(|local| local.address.ip == ip && local.address.backup)
    }

    pub(crate) fn limit(&self) -> usize {
        self.management.limit.into()
    }

    /// The other end has announced an address.
    pub(crate) fn learn(&mut self, id: u8, remote: SocketAddr) {
        self.has_none = false;
        if id == 0 {
            // That of the first subflow is known; it can only be there again.
            if core::mem::take(&mut self.first_is_gone) {
                self.tried.retain(|tried| tried.remote != remote);
            }
        } else if !self.announced.contains(&(id, remote)) {
            // At most one for each identifier.
            self.forget(id);
            self.announced.push((id, remote));
            self.tried.retain(|tried| tried.remote != remote);
        }
    }

    /// Nothing more is to be opened to the address of the first subflow.
    pub(crate) fn spare_first(&mut self) {
        self.first_is_spared = true;
    }

    /// The application wants a subflow between these, where the first one goes to `first`; whether it may have one.
    pub(crate) fn ask(&mut self, local: IpAddr, remote: SocketAddr, first: SocketAddr) -> bool {
        let is_there = self.local.iter().any(|known| known.address.ip == local && known.is_up);
        let is_spared = self.first_is_spared && remote == first;
        let may = is_there && !is_spared && local.is_ipv4() == remote.is_ipv4();
        if may {
            self.has_none = false;
            self.asked.push_back((local, remote));
        }
        may
    }

    /// The other end has withdrawn an address.
    pub(crate) fn forget(&mut self, id: u8) {
        self.has_none = false;
        self.announced.retain(|(known, _)| *known != id);
        self.first_is_gone |= id == 0;
    }

    /// A subflow has ended before the connection did, at `now`; whether it had stood, and whether it may be tried again.
    pub(crate) fn failed(&mut self, now: Time, [local, remote]: [SocketAddr; 2], stood: bool, may: bool) {
        self.has_none = false;
        let pair = |tried: &Tried| (tried.local, tried.remote) == (local.ip(), remote);
        let before = self.tried.iter().position(pair).map(|place| self.tried.swap_remove(place));
        let failures = if stood { 0 } else { before.map_or(0, |tried| tried.failures) };
        let again = may && failures <= RETRIES && self.management.retry > Span::ZERO;
        let wait = self.management.retry.saturating_mul(1 << failures.min(RETRIES));
        let then = if again { Then::Waits(now + wait) } else { Then::Nothing };
        self.tried.push(Tried { local: local.ip(), remote, failures: failures + 1, then });
    }

    /// What is due at `now`: what failed may be tried again; and whether throughput is low, where `moved` octets have moved so far and
    /// some are not acknowledged or not.
    pub(crate) fn tick(&mut self, now: Time, moved: u64, is_outstanding: bool) {
        for tried in &mut self.tried {
            if let Then::Waits(due) = tried.then
                && due <= now
            {
                tried.then = Then::Again;
                self.has_none = false;
                if self.management.opens == Opens::Ports {
                    tried.then = Then::Nothing;
                    self.ports_tried = self.ports_tried.saturating_sub(1);
                }
            }
        }
        if self.has_begun || self.management.joins != When::OnLowThroughput {
            return;
        }
        match self.look {
            Some((due, before)) if due <= now => {
                let octets = moved - before;
                let is_busy = octets > 0 || is_outstanding;
                if is_busy && octets.saturating_mul(8) < self.management.low_throughput_bps {
                    self.begin();
                }
                self.look = Some((now + LOOK, moved));
            }
            Some(_) => {}
            None => self.look = Some((now + LOOK, moved)),
        }
    }

    /// No subflow is known to carry anything.
    pub(crate) fn note_failure(&mut self) {
        if self.management.joins == When::OnFailure {
            self.begin();
        }
    }

    /// Whether an oracle is asked.
    pub(crate) fn has_oracle(&self) -> bool {
        self.management.joins == When::OnDoubt
    }

    /// The oracle doubts a subflow.
    pub(crate) fn note_doubt(&mut self) {
        self.begin();
    }

    fn begin(&mut self) {
        self.has_none &= self.has_begun;
        self.has_begun = true;
    }

    /// A subflow was closed: another one may have its place.
    pub(crate) const fn note_closed(&mut self) {
        self.has_none = false;
    }

    /// Whether neither time nor what subflows do leads to anything: it opens them at once, nobody is to doubt them, and none has failed that is tried
    /// again.
    pub(crate) fn is_settled(&self) -> bool {
        let waits = |tried: &Tried| matches!(tried.then, Then::Waits(_));
        self.has_begun && !self.has_oracle() && !self.tried.iter().any(waits)
    }

    /// Whether the other end may have to be told of an address.
    pub(crate) fn has_to_tell(&self) -> bool {
        self.management.signal || !self.removals.is_empty()
    }

    /// Whether it is known without looking that there is no subflow to open.
    pub(crate) const fn has_none(&self) -> bool {
        self.has_none
    }

    /// The next subflow to open, which counts as tried then.
    pub(crate) fn next(&mut self, subflows: &[Subflow]) -> Option<Opening> {
        let next = self.look_for_next(subflows);
        self.has_none = next.is_none();
        next
    }

    fn look_for_next(&mut self, subflows: &[Subflow]) -> Option<Opening> {
        let first = subflows.first()?;
        let live = subflows.iter().skip(1).filter(|subflow| !subflow.is_over()).count();
        if live >= self.limit() || subflows.len() >= MOST {
            return None;
        }
        let opening = |local: &Local, id: u8, remote: SocketAddr, local_id| Opening {
            local: local.address.ip,
            remote,
            local_id,
            remote_id: id,
            backup: local.address.backup,
        };
        while let Some((ip, remote)) = self.asked.pop_front() {
            // It may have gone since.
            if let Some(local) = self.local.iter().find(|local| local.address.ip == ip && local.is_up) {
                // What the other end calls its address comes with its answer.
                return Some(opening(local, 0, remote, self.id_of(ip, first.local.ip())));
            }
        }
        if !self.has_begun {
            return None;
        }
        let may_use_first = !(self.first_is_gone || self.first_is_spared);
        if self.management.opens == Opens::Ports {
            if self.first_is_spared {
                return None;
            }
            let local =
                self.local.iter().find(|local| local.address.ip == first.local.ip() && local.is_up)?;
            if self.ports_tried >= self.management.limit {
                return None;
            }
            self.ports_tried += 1;
            return Some(opening(local, 0, first.remote, 0));
        }
        let everywhere = match self.management.opens {
            Opens::Nothing | Opens::Ports => return None,
            Opens::FullMesh => self.announced.as_slice(),
            Opens::PerInterface => &[],
        };
        let known = may_use_first.then_some((0, first.remote));
        let remotes = || known.into_iter().chain(everywhere.iter().copied());
        let wanted = self.local.iter().filter(|local| local.is_up).flat_map(|local| {
            let ip = local.address.ip;
            remotes().filter_map(move |(id, remote)| {
                (remote.is_ipv4() == ip.is_ipv4()).then_some((local, id, remote))
            })
        });
        let is_there = |ip: IpAddr, remote: SocketAddr| {
            let same = |subflow: &Subflow| subflow.local.ip() == ip && subflow.remote == remote;
            subflows.iter().any(|subflow| same(subflow) && !subflow.is_over())
        };
        let of = |ip: IpAddr, remote: SocketAddr| {
            self.tried.iter().position(|tried| (tried.local, tried.remote) == (ip, remote))
        };
        let (local, id, remote) = wanted
            .filter(|(local, _, remote)| {
                of(local.address.ip, *remote).is_none_or(|place| self.tried[place].then == Then::Again)
            })
            .find(|(local, _, remote)| !is_there(local.address.ip, *remote))?;
        let local_id = self.id_of(local.address.ip, first.local.ip());
        let opening = opening(local, id, remote, local_id);
        match of(opening.local, remote) {
            Some(place) => self.tried[place].then = Then::Nothing,
            None => {
                let fresh = Tried { local: opening.local, remote, failures: 0, then: Then::Nothing };
                self.tried.push(fresh);
            }
        }
        Some(opening)
    }

    /// The other end has confirmed an announcement.
    pub(crate) fn confirmed(&mut self, id: u8, first: IpAddr) {
        for (place, local) in self.local.iter_mut().enumerate() {
            let own = if local.address.ip == first { 0 } else { place as u8 + 1 };
            if own == id {
                local.told = Told::Confirmed;
            }
        }
    }

    /// The next address to announce, with its identifier, where the first subflow has `first`: at `now`, or again.
    pub(crate) fn announce(&mut self, now: Time, first: IpAddr) -> Option<(u8, IpAddr)> {
        if !self.management.signal {
            return None;
        }
        for (place, local) in self.local.iter_mut().enumerate() {
            let times = match local.told {
                Told::No => 0,
                Told::Sent { again, times } if again <= now && times < ANNOUNCEMENTS => times,
                Told::Sent { .. } | Told::Confirmed => continue,
            };
            // The other end knows the first one, until that is gone.
            if (local.address.ip != first || local.is_back) && local.is_up {
                local.told = Told::Sent { again: now + ANNOUNCE_AGAIN, times: times + 1 };
                let id = if local.address.ip == first { 0 } else { place as u8 + 1 };
                return Some((id, local.address.ip));
            }
        }
        None
    }

    /// An address of its own that is gone, of which the other end is told now.
    pub(crate) fn withdraw(&mut self) -> Option<u8> {
        self.removals.pop()
    }

    /// When it has something to do of its own accord.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let look = self.look.filter(|_| !self.has_begun).map(|(due, _)| due);
        let waits = |tried: &Tried| match tried.then {
            Then::Waits(due) => Some(due),
            _ => None,
        };
        self.tried.iter().filter_map(waits).chain(look).min()
    }

    /// When an announcement is to be repeated.
    pub(crate) fn poll_announcement(&self) -> Option<Time> {
        if !self.management.signal {
            return None;
        }
        let again = |local: &Local| match local.told {
            Told::Sent { again, times } if times < ANNOUNCEMENTS && local.is_up => Some(again),
            _ => None,
        };
        self.local.iter().filter_map(again).min()
    }

    /// An address of this end is gone, or there again; whether that is news.
    pub(crate) fn set_up(&mut self, ip: IpAddr, is_up: bool, first: IpAddr) -> bool {
        let id = self.id_of(ip, first);
        let changed = self.local.iter_mut().find(|local| local.address.ip == ip && local.is_up != is_up);
        let Some(local) = changed else { return false };
        self.has_none = false;
        (local.is_up, local.told) = (is_up, Told::No);
        local.is_back |= is_up;
        self.tried.retain(|tried| tried.local != ip);
        // It would end what is opened from the address that is there again.
        self.removals.retain(|gone| *gone != id);
        if !is_up {
            self.removals.push(id);
        }
        true
    }
}
