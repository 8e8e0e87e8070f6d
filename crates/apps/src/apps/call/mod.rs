//! A call: audio and video in RTP both ways, on one pair of ports.
//!
//! What an end does is a [`Session`] of `crates/rtc`; this file gives it a socket.

pub(crate) mod tables;

use crate::datagrams::DatagramRecord;
use crate::entity::Entity;
use crate::machine::{DatagramMachine, Machine};
use crate::settings::{FlowContext, Over, Settings};
use crate::socket::Datagrams;
use alloc::boxed::Box;
use alloc::format;
use core::any::Any;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_rtc::clock::Drift;
use voxpath_rtc::session::{Config, Party, Protection, Session};
use voxpath_rtc::settings::Sends;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// `from` and `to` send each other media.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// What `from` sends; it may be nothing.
    pub there: Option<Sends>,
    /// What `to` sends.
    pub back: Option<Sends>,
    /// How long the call lasts; none until the run ends.
    pub duration_ns: Option<u64>,
    /// Regular RTCP packets are not more frequent than this.
    pub rtcp_interval_ns: u64,
    /// How its packets are protected.
    pub protection: Protection,
    /// What the clocks of `from` and `to` gain against that of the run, in parts in a thousand million.
    pub drift_ppb: [i64; 2],
}

impl Call {
    /// What is sent each way, and its key.
    fn ways(&self) -> impl Iterator<Item = (&'static str, &Sends)> {
        let ways = [("there", &self.there), ("back", &self.back)];
        ways.into_iter().filter_map(|(key, sends)| Some((key, sends.as_ref()?)))
    }
}

impl Settings for Box<Call> {
    const TRANSPORTS: &'static [Over] = &[Over::Datagrams];
    const RECEIVER: usize = 1;
    const TABLES: &'static [&'static dyn Entity] =
        &[&tables::CALLS, &tables::DATA, &tables::FRAMES, &tables::MEDIA_SECONDS, &tables::SIGNALS];

    fn check(&self, check: &mut Check<'_>) {
        let any = self.ways().any(|(_, sends)| sends.video.is_some() || sends.audio.is_some());
        check.at("there").need(any, "a call has audio or video, in one direction at least");
        for (key, sends) in self.ways() {
            sends.check(&mut check.at(key));
        }
        if let Some(ns) = self.duration_ns {
            check.at("duration_ns").span_above_zero(ns);
        }
        for (end, &ppb) in self.drift_ppb.iter().enumerate() {
            Drift::check(ppb, &mut check.at("drift_ppb").at(end));
        }
        for (key, _) in self.ways().filter(|(_, sends)| sends.data.is_some()) {
            let message = "a data channel needs the protection dtls_srtp, whose records its messages are in";
            check.at(key).at("data").need(self.protection == Protection::DtlsSrtp, message);
        }
        check.at("rtcp_interval_ns").span_of_at_least(self.rtcp_interval_ns, Span::from_millis(10));
    }

    fn is_endless(&self) -> bool {
        self.duration_ns.is_none()
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let patterns = flow.patterns();
        let parties = [0, 1]
            .map(|end| Party::draw(end, patterns[end as usize], &mut flow.draws(&format!("rtp {end}"))));
        [0, 1].map(|end| {
            let config = Config {
                end,
                sends: [self.there.as_ref(), self.back.as_ref()],
                parties,
                drift_ppb: self.drift_ppb,
                start: flow.start,
                duration: self.duration_ns.map(Span::from_nanos),
                rtcp_interval: Span::from_nanos(self.rtcp_interval_ns),
                protection: self.protection,
                name: flow.name,
                seed: flow.seed,
            };
            let planned = self.duration_ns.map(|_| 1);
            let record = DatagramRecord { planned, ..DatagramRecord::default() };
            Machine::from(Box::new(Caller { session: Session::new(&config), stopped: false, record }))
        })
    }

    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
        let protection = [Protection::None, Protection::Srtp, Protection::DtlsSrtp][draw.below(3) as usize];
        let mut sends = || {
            let sends = Sends::sample(draw);
            Sends { data: sends.data.filter(|_| protection == Protection::DtlsSrtp), ..sends }
        };
        let there = sends();
        let back = sends();
        let back = draw.bit().then_some(back);
        let (there, back) = if draw.bit() { (Some(there), back) } else { (back, Some(there)) };
        let endless = may_be_endless && draw.bit();
        Box::new(Call {
            there,
            back,
            duration_ns: (!endless).then(|| 1 + draw.below(3_000_000_000)),
            rtcp_interval_ns: 10_000_000 + draw.below(5_000_000_000),
            protection,
            drift_ppb: [0, 1].map(|_| draw.below(400_001) as i64 - 200_000),
        })
    }
}

/// One end.
#[derive(Debug)]
pub struct Caller {
    session: Session,
    stopped: bool,
    record: DatagramRecord,
}

impl DatagramMachine for Caller {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some((data, ecn)) = socket.receive_marked() {
            let (octets, wrong) = self.session.handle_datagram(now, &data, ecn);
            if octets > 0 {
                self.record.arrivals.add(now, octets);
            }
            self.record.arrivals.wrong += u64::from(wrong);
        }
        self.session.handle_timeout(now);
        while let Some(transmit) = self.session.poll_transmit(now) {
            socket.send_marked(transmit.data, transmit.ecn);
        }
        // The one call that was planned is over.
        if self.session.is_done() && !self.stopped && self.record.sent_at.is_empty() {
            self.record.sent_at.push(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.session.poll_timeout()
    }

    fn stop(&mut self) {
        self.stopped = !self.session.is_done();
        self.session.stop();
    }

    fn record(&self) -> &DatagramRecord {
        &self.record
    }

    fn seen(&self) -> &dyn Any {
        self.session.record()
    }

    fn observe(&mut self) {
        self.session.observe();
    }

    fn memory(&self) -> usize {
        self.record.memory() + self.session.record().memory()
    }
}
