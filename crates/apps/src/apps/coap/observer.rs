//! A client that observes a resource (RFC 7641).

use super::options::{Asking, ClientOptions};
use super::tables;
use crate::process::{Process, ProcessContext, ProcessEntity, ProcessSettings, Sockets, Work};
use core::any::Any;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_coap::Outcome;
use voxpath_units::Time;
use voxpath_units::check::Check;

/// A client that observes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoapObserver {
    /// What it is.
    pub client: ClientOptions,
    /// It leaves after so many representations, and the run waits for that; without it it stays.
    pub readings: Option<u32>,
}

impl ProcessSettings for CoapObserver {
    type Machine = Watcher;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::READINGS, &tables::ENDS];

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        self.client.check(nodes, &mut check.at("client"));
        check.at("readings").need(self.readings != Some(0), "at least 1");
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [self.client.server.node].into_iter()
    }

    fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let asking = self.client.ask(context, address);
        let begins_at = Some(self.client.start());
        Watcher { settings: self.clone(), asking, begins_at, has_left: false, ended: None }
    }
}

/// The process.
#[derive(Debug)]
pub struct Watcher {
    settings: CoapObserver,
    asking: Asking,
    /// When it begins to observe.
    begins_at: Option<Time>,
    /// It has had enough.
    has_left: bool,
    ended: Option<Outcome>,
}

impl Process for Watcher {
    fn start(&mut self, sockets: &mut impl Sockets) {
        self.asking.start(sockets);
    }

    fn stop(&mut self, now: Time) {
        self.asking.stop();
        // The process has forgotten that it observed.
        self.asking.account.client.forget();
        let is_over = self.has_left || self.ended.is_some();
        self.begins_at = self.begins_at.or_else(|| (!is_over).then_some(now));
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        self.asking.take(now, sockets);
        let Self { settings, asking: Asking { account, draws, .. }, begins_at, has_left, ended } = self;
        let below = &mut |limit| draws.span_below(limit);
        if begins_at.take_if(|at| *at <= now).is_some() {
            account.client.observe(now, 0, below);
        }
        account.note(now);
        let is_enough = settings.readings.is_some_and(|most| account.readings.len() >= most as usize);
        if is_enough && !core::mem::replace(has_left, true) {
            account.client.leave(now, below);
        }
        while let Some(it) = account.client.poll_ended() {
            *ended = Some(it.outcome);
        }
        self.asking.send(sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        Time::earliest([self.begins_at, self.asking.account.client.poll_timeout()])
    }

    fn is_busy(&self) -> bool {
        self.settings.readings.is_some() && self.ended.is_none()
    }

    fn work(&self) -> Option<Work> {
        let Self { settings, asking: Asking { account, .. }, .. } = self;
        let is_whole = match settings.readings {
            Some(most) => account.readings.len() >= most as usize,
            // Whoever takes what comes has all of it.
            None => !account.readings.is_empty() && self.ended.is_none(),
        };
        let refused = matches!(self.ended, Some(Outcome::Refused(_) | Outcome::NotObserved));
        let status = match is_whole {
            true => "completed",
            false if refused => "refused",
            false => "unfinished",
        };
        Some(Work {
            transport: "coap",
            to: settings.client.server.node,
            start: settings.client.start(),
            status,
            first: account.readings.first().map(|it| it.at),
            completed: account.readings.last().map(|it| it.at).filter(|_| is_whole),
            octets: account.octets(),
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.asking.account
    }
}
