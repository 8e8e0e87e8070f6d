//! Path management: which subflows there should be (RFC 8684 sections 3.2, 3.4).

use crate::subflow::Subflow;
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
}

impl Default for PathManagement {
    fn default() -> Self {
        Self { opens: Opens::FullMesh, signal: false, limit: 8 }
    }
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
    /// Pairs that were tried: what failed is not tried again before an address changes.
    tried: Vec<(IpAddr, SocketAddr)>,
    /// How many were opened that are told apart by ports alone.
    ports_tried: u8,
}

#[derive(Debug)]
struct Local {
    address: LocalAddress,
    is_up: bool,
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
        let local =
            local.iter().map(|&address| Local { address, is_up: true, told: Told::No }).collect::<Vec<_>>();
        Self { management, local, announced: Vec::new(), tried: Vec::new(), ports_tried: 0 }
    }

    /// How this end calls one of its addresses, where the first subflow has `first`.
    pub(crate) fn id_of(&self, ip: IpAddr, first: IpAddr) -> u8 {
        if ip == first {
            return 0;
        }
        let place = self.local.iter().position(|local| local.address.ip == ip);
        place.map_or(u8::MAX, |place| place as u8 + 1)
    }

    pub(crate) fn limit(&self) -> usize {
        self.management.limit.into()
    }

    /// The other end has announced an address; whether it was new.
    pub(crate) fn learn(&mut self, id: u8, remote: SocketAddr) -> bool {
        if self.announced.contains(&(id, remote)) {
            return false;
        }
        // At most one for each identifier.
        self.forget(id);
        self.announced.push((id, remote));
        true
    }

    /// The other end has withdrawn an address.
    pub(crate) fn forget(&mut self, id: u8) {
        self.announced.retain(|(known, _)| *known != id);
    }

    /// The next subflow to open, which counts as tried then.
    pub(crate) fn next(&mut self, subflows: &[Subflow]) -> Option<Opening> {
        let first = subflows.first()?;
        let live = subflows.iter().skip(1).filter(|subflow| !subflow.is_over()).count();
        if live >= self.limit() {
            return None;
        }
        let opening = |local: &Local, id: u8, remote: SocketAddr, local_id| Opening {
            local: local.address.ip,
            remote,
            local_id,
            remote_id: id,
            backup: local.address.backup,
        };
        if self.management.opens == Opens::Ports {
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
        let remotes = || core::iter::once((0, first.remote)).chain(everywhere.iter().copied());
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
        let (local, id, remote) = wanted
            .filter(|(local, _, remote)| !self.tried.contains(&(local.address.ip, *remote)))
            .find(|(local, _, remote)| !is_there(local.address.ip, *remote))?;
        let local_id = self.id_of(local.address.ip, first.local.ip());
        let opening = opening(local, id, remote, local_id);
        self.tried.push((opening.local, remote));
        Some(opening)
    }

    /// The other end has confirmed an announcement.
    pub(crate) fn confirmed(&mut self, id: u8) {
        let place = usize::from(id).checked_sub(1);
        if let Some(local) = place.and_then(|place| self.local.get_mut(place)) {
            local.told = Told::Confirmed;
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
            if local.address.ip != first && local.is_up {
                local.told = Told::Sent { again: now + ANNOUNCE_AGAIN, times: times + 1 };
                return Some((place as u8 + 1, local.address.ip));
            }
        }
        None
    }

    /// When an announcement is to be repeated.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let again = |local: &Local| match local.told {
            Told::Sent { again, times } if times < ANNOUNCEMENTS && local.is_up => Some(again),
            _ => None,
        };
        self.local.iter().filter_map(again).min()
    }

    /// An address of this end is gone, or there again: its identifier, where that is news.
    pub(crate) fn set_up(&mut self, ip: IpAddr, is_up: bool, first: Option<IpAddr>) -> Option<u8> {
        let id = self.id_of(ip, first?);
        let local = self.local.iter_mut().find(|local| local.address.ip == ip && local.is_up != is_up)?;
        (local.is_up, local.told) = (is_up, Told::No);
        self.tried.retain(|(tried, _)| *tried != ip);
        Some(id)
    }
}
