//! Translates addresses and ports of TCP and UDP (RFC 3022, NAPT): whoever sends from the link's first node is seen at one address.
//!
//! A mapping is independent of the other end, as RFC 4787 (REQ-1) and RFC 5382 (REQ-1) ask for, and so is who may use it.

use super::segment::{Known, address_of, readdress};
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::Draw;
use crate::packet::{AddressId, Packet};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// The first port of those that are given out.
const FIRST_PORT: u16 = 1024;

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translate {
    /// What packets from the link's first node come from, as those behind its second node see it. Packets of the other family pass.
    pub address: IpAddr,
    /// For how long nothing has to pass until a mapping is forgotten; none keeps it.
    pub forget_ns: Option<u64>,
}

/// An end inside: its protocol, address and port.
type Inside = (bool, AddressId, u16);

#[derive(Debug)]
struct Mapping {
    inside: Known,
    port: u16,
    used: Time,
}

/// At work.
#[derive(Debug)]
pub struct Process {
    outside: Option<Known>,
    forget: Option<Span>,
    addresses: Arc<[IpAddr]>,
    by_inside: BTreeMap<Inside, u16>,
    by_outside: BTreeMap<(bool, u16), Mapping>,
    next: u16,
}

impl Model for Translate {
    type Process = Process;

    const NEEDS_BOTH_WAYS: bool = true;
    const TAKES_UDP: bool = true;

    fn check(&self, check: &mut Check<'_>) {
        if let Some(forget) = self.forget_ns {
            check.at("forget_ns").span_above_zero(forget);
        }
    }

    fn process(&self, around: &Surroundings) -> Process {
        let id = around.addresses.iter().position(|ip| *ip == self.address);
        Process {
            outside: id.map(|id| (AddressId(id as u32), self.address)),
            forget: self.forget_ns.map(Span::from_nanos),
            addresses: around.addresses.clone(),
            by_inside: BTreeMap::new(),
            by_outside: BTreeMap::new(),
            next: FIRST_PORT,
        }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { address: [192, 0, 2, 1].into(), forget_ns: draw.bit().then(|| 1 + draw.span()) }
    }
}

impl Process {
    fn is_forgotten(&self, now: Time, mapping: &Mapping) -> bool {
        self.forget.is_some_and(|forget| now.since(mapping.used) > forget)
    }

    /// The port outside of an end inside; none is free if there is none.
    fn port(&mut self, now: Time, is_udp: bool, inside: Known, port: u16) -> Option<u16> {
        let key = (is_udp, inside.0, port);
        if let Some(&known) = self.by_inside.get(&key) {
            let mapping = self.by_outside.get_mut(&(is_udp, known))?;
            let used = core::mem::replace(&mut mapping.used, now);
            if self.forget.is_none_or(|forget| now.since(used) <= forget) {
                return Some(known);
            }
            self.forget_port(is_udp, known);
        }
        for _ in FIRST_PORT..=u16::MAX {
            let free = self.next;
            self.next = free.checked_add(1).unwrap_or(FIRST_PORT);
            match self.by_outside.get(&(is_udp, free)) {
                Some(mapping) if !self.is_forgotten(now, mapping) => {}
                _ => {
                    self.forget_port(is_udp, free);
                    self.by_inside.insert(key, free);
                    self.by_outside.insert((is_udp, free), Mapping { inside, port, used: now });
                    return Some(free);
                }
            }
        }
        None
    }

    fn forget_port(&mut self, is_udp: bool, port: u16) {
        if let Some(mapping) = self.by_outside.remove(&(is_udp, port)) {
            self.by_inside.remove(&(is_udp, mapping.inside.0, mapping.port));
        }
    }
}

impl Works for Process {
    fn handle(&mut self, now: Time, way: Way, mut packet: Packet, passed: &mut Passed<'_>) {
        let is_udp = packet.is_udp();
        let known = address_of(&packet, way == Way::Ab, &self.addresses);
        let (Some(outside), Some((src, dst)), Some(known)) = (self.outside, packet.ports(), known) else {
            return passed.pass(packet);
        };
        match way {
            Way::Ab if known.1.is_ipv4() == outside.1.is_ipv4() => {
                let Some(port) = self.port(now, is_udp, known, src) else { return passed.drop(packet) };
                readdress(&mut packet, true, outside, port);
                passed.pass_changed(packet);
            }
            Way::Ba if packet.dst == outside.0 => {
                let forget = self.forget;
                let is_known =
                    |mapping: &&mut Mapping| forget.is_none_or(|forget| now.since(mapping.used) <= forget);
                let Some(mapping) = self.by_outside.get_mut(&(is_udp, dst)).filter(is_known) else {
                    return passed.drop(packet);
                };
                mapping.used = now;
                readdress(&mut packet, false, mapping.inside, mapping.port);
                passed.pass_changed(packet);
            }
            _ => passed.pass(packet),
        }
    }
}
