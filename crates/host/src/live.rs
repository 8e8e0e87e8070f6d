//! The edge as it is: the wall clock, devices, and epoll with nanoseconds.

use crate::awake::Awake;
use crate::clock::Clock;
use crate::device::Device;
use crate::drive::Edge;
use crate::error::{Context, HostError};
use bytes::{Bytes, BytesMut};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::Arc;
use voxpath_units::{Span, Time};

/// The longest packet that a device hands over: the IP length field's limit.
const LONGEST: usize = 65_535;
/// Memory is asked for in pieces that hold many packets.
const CHUNK: usize = 1 << 20;
/// Marks the event that only wakes.
const ALARM: u64 = u64::MAX;
const EVENTS: usize = 64;
/// Packets taken in before it is looked whether other hosts have sent something too.
const TURN: u32 = 64;
/// How long before a deadline the kernel is asked to wake us; the rest is waited for awake, since timers are late by about as much.
const WATCH: Span = Span::from_micros(100);
/// The share of the time that may be spent so: one part of this many.
const WATCH_SHARE: u64 = 10;

/// Wakes a sleeping loop.
#[derive(Debug, Clone)]
pub(crate) struct Alarm(Arc<OwnedFd>);

impl Alarm {
    pub(crate) fn new() -> Result<Self, HostError> {
        let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self(Arc::new(made.context(|| "make an eventfd".into())?)))
    }

    /// Wakes whoever waits, now or next.
    pub(crate) fn ring(&self) {
        // It can only fail because it rings already.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn quiet(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8]);
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}

/// Waits for `deadline` on `clock`, or for an event; tells what happened, and how much.
pub(crate) fn wait(
    epoll: &OwnedFd,
    clock: Clock,
    deadline: Option<Time>,
    mut on_event: impl FnMut(u64, EventFlags),
) -> Result<usize, HostError> {
    let timeout = deadline.map(|deadline| {
        let left = deadline.as_nanos().saturating_sub(clock.now().as_nanos());
        Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 }
    });
    let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
    let happened = match epoll::wait(epoll, &mut events, timeout.as_ref()) {
        Ok((happened, _)) => happened,
        Err(rustix::io::Errno::INTR) => return Ok(0),
        Err(errno) => return Err(errno).context(|| "wait for packets".into()),
    };
    for event in &*happened {
        on_event(event.data.u64(), event.flags);
    }
    Ok(happened.len())
}

/// The real edge.
#[derive(Debug)]
pub(crate) struct Live {
    clock: Clock,
    epoll: OwnedFd,
    /// Devices by the index of their host; none of hosts that are simulated.
    devices: Vec<Option<Device>>,
    /// Hosts whose device may hold packets, in the order in which they are read next.
    ready: VecDeque<u32>,
    is_ready: Vec<bool>,
    /// Packets taken in since epoll was asked.
    taken: u32,
    alarm: Alarm,
    buffer: BytesMut,
    awake: Awake,
    /// Packets have passed since it was last waited.
    active: bool,
    /// Time spent awake before deadlines.
    watched: Span,
}

impl Live {
    pub(crate) fn new(devices: Vec<Option<Device>>, alarm: Alarm) -> Result<Self, HostError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).context(|| "make an epoll instance".into())?;
        let watch = || "watch a device".to_owned();
        for (host, device) in (0_u64..).zip(&devices) {
            if let Some(device) = device {
                // Edge-triggered: a device is read until it is empty before it is waited for again.
                let flags = EventFlags::IN | EventFlags::ET;
                epoll::add(&epoll, device, EventData::new_u64(host), flags).context(watch)?;
            }
        }
        epoll::add(&epoll, alarm.descriptor(), EventData::new_u64(ALARM), EventFlags::IN).context(watch)?;
        let is_ready = vec![false; devices.len()];
        let ready = VecDeque::new();
        Ok(Self {
            clock: Clock::start(),
            epoll,
            devices,
            ready,
            is_ready,
            taken: 0,
            alarm,
            buffer: BytesMut::new(),
            awake: Awake::new(),
            active: false,
            watched: Span::ZERO,
        })
    }

    /// The run goes by this clock.
    pub(crate) const fn begin(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Whether idle processors are kept awake while packets are on their way.
    pub(crate) const fn keeps_awake(&self) -> bool {
        self.awake.is_allowed()
    }

    /// Waits as [`wait`]; how many devices have something, or the alarm.
    fn sleep(&mut self, deadline: Option<Time>) -> Result<usize, HostError> {
        let Self { epoll, clock, ready, is_ready, alarm, .. } = self;
        wait(epoll, *clock, deadline, |data, _| {
            if data == ALARM {
                alarm.quiet();
            } else if !is_ready[data as usize] {
                is_ready[data as usize] = true;
                ready.push_back(data as u32);
            }
        })
    }

    pub(crate) fn devices(&mut self) -> &mut [Option<Device>] {
        &mut self.devices
    }
}

impl Edge for Live {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn receive(&mut self) -> Result<Option<(u32, Bytes)>, HostError> {
        if self.taken == TURN {
            // A host whose device is never empty would keep the others from being heard.
            self.wait(Some(Time::ZERO))?;
        }
        while let Some(&host) = self.ready.front() {
            if self.buffer.len() < LONGEST {
                self.buffer = BytesMut::zeroed(CHUNK);
            }
            let device = self.devices[host as usize].as_mut().expect("only devices are watched");
            match device.receive(&mut self.buffer[..LONGEST])? {
                Some(len) => {
                    self.taken += 1;
                    self.active = true;
                    // One packet of each host in turn.
                    self.ready.rotate_left(1);
                    return Ok(Some((host, self.buffer.split_to(len).freeze())));
                }
                None => {
                    self.ready.pop_front();
                    self.is_ready[host as usize] = false;
                }
            }
        }
        Ok(None)
    }

    fn deliver(&mut self, host: u32, packet: &[u8]) -> bool {
        self.active = true;
        self.devices[host as usize].as_ref().is_some_and(|device| device.send(packet))
    }

    fn wait(&mut self, deadline: Option<Time>) -> Result<(), HostError> {
        self.taken = 0;
        let now = self.clock.now();
        if std::mem::take(&mut self.active) {
            self.awake.active(now);
        } else {
            self.awake.rest(now);
        }
        let until = deadline.into_iter().chain(self.awake.poll_timeout()).min();
        let may_watch = self.watched.as_nanos() * WATCH_SHARE <= now.as_nanos();
        let Some(deadline) = deadline.filter(|&deadline| until == Some(deadline) && may_watch) else {
            return self.sleep(until).map(drop);
        };
        let begin = Time::from_nanos(deadline.as_nanos().saturating_sub(WATCH.as_nanos()));
        if now < begin && self.sleep(Some(begin))? > 0 {
            return Ok(());
        }
        let begun = self.clock.now();
        loop {
            let happened = self.sleep(Some(Time::ZERO))?;
            let now = self.clock.now();
            if happened > 0 || now >= deadline {
                self.watched = self.watched + now.since(begun);
                return Ok(());
            }
        }
    }
}
