//! A run in real time: threads, devices and sockets around one world.

use crate::clock::Clock;
use crate::connections::{ConnectionReport, ConnectionSample, Connections};
use crate::device::{Device, DeviceCounts, Kind};
use crate::drive::{Progress, Timing, drive};
use crate::error::HostError;
use crate::live::{Alarm, Live};
use crate::namespace::Namespace;
use crate::processes::{Processed, Processes};
use crate::sockets::{self, Harvest, Shared, Sockets};
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use voxpath_sim::plan::LinkEvent;
use voxpath_sim::{LinkState, Problem, RealTime, Report, Strays};
use voxpath_units::{Span, Time};

/// How often connections are sampled where series are observed.
const SAMPLE_EVERY: Span = Span::from_millis(10);
/// How long whoever changes links waits for the loop, which looks many times a second.
const PATIENCE: Duration = Duration::from_secs(2);
/// Real-time priority of the threads that send and receive on hosts, the lowest that has effect: else a program of others keeps them from a
/// processor until the next jiffy, which is four milliseconds.
const ENDS_PRIORITY: i32 = 1;
/// That of the loop, which nobody but the kernel is to keep waiting.
pub(crate) const LOOP_PRIORITY: i32 = 2;

/// How the loop's thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_FIFO: it runs whenever it wants to.
    Fifo,
    /// Like any other thread.
    Normal,
}

/// Everything that came of a run in real time.
#[derive(Debug)]
pub struct Outcome {
    /// As of the simulator.
    pub report: Report,
    /// How faithful it was.
    pub timing: Timing,
    /// Frames of hosts that went nowhere.
    pub strays: Strays,
    /// The devices of real hosts.
    pub devices: Vec<DeviceReport>,
    /// Values over time of the TCP connections of programs, if they were observed.
    pub samples: Vec<ConnectionSample>,
    /// What came of each of these connections.
    pub connections: Vec<ConnectionReport>,
    /// The names of the plan's flows.
    pub flow_names: Vec<String>,
    /// Why nothing is known of them.
    pub unwatched: Option<HostError>,
    /// How the loop was scheduled.
    pub scheduling: Scheduling,
    /// Whether idle processors were kept awake while packets were on their way.
    pub kept_awake: bool,
    /// What the loop had of a processor.
    pub spent: Spent,
    /// What the ends of flows had of one, which are all on one thread.
    pub ends_spent: Spent,
    /// `CLOCK_MONOTONIC` at time zero.
    pub origin_ns: u64,
}

/// What a thread had of a processor.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// How long it ran.
    pub processor: Span,
    /// The part of it that the kernel needed for system calls.
    pub kernel: Span,
    /// How long it was ready to run and did not.
    pub waited: Span,
}

/// What became of a real host's device.
#[derive(Debug)]
pub struct DeviceReport {
    /// Index of the host.
    pub host: u32,
    /// What it was.
    pub kind: Kind,
    /// Why it was no TUN device, if it should have been one.
    pub instead: Option<HostError>,
    /// What the kernel counted.
    pub counts: DeviceCounts,
}

/// What the threads of a run share.
#[derive(Debug)]
struct Board {
    sockets: Shared,
    stop: AtomicBool,
    now_ns: AtomicU64,
    /// The simulated ends and the network have nothing left to do.
    is_idle: AtomicBool,
    /// A process on a real host has something to do that the run waits for.
    processes_busy: AtomicBool,
    /// A thread has ended, by itself or because it was told to.
    has_ended: AtomicBool,
    /// Somebody wants to see the links.
    look: AtomicBool,
    /// The links as they were seen last. The loop only ever tries to lock it.
    seen: Mutex<Option<Seen>>,
    /// Somebody wants to change links.
    hand: AtomicBool,
    /// What is to be changed, and who waits to hear when it was.
    wanted: Mutex<Option<(Vec<LinkEvent>, SyncSender<Changed>)>>,
}

/// When links were changed by hand, or what is wrong with the changes.
pub type Changed = Result<Time, Vec<Problem>>;

/// When links were looked at, and how they were.
pub type Seen = (Time, Vec<LinkState>);

/// A run that is going on.
#[derive(Debug)]
pub struct Run {
    hosts: Vec<Option<Namespace>>,
    board: Arc<Board>,
    world: JoinHandle<Result<Turned, HostError>>,
    sockets: JoinHandle<Result<Harvest, HostError>>,
    /// Drives processes, where there are any.
    processes: Option<(JoinHandle<Result<Processed, HostError>>, Alarm)>,
    /// Watches the connections of programs; or why nobody does.
    connections: Result<JoinHandle<Result<Connections, HostError>>, HostError>,
    observe_tcp: bool,
    alarms: [Alarm; 2],
    clock: Clock,
}

/// Where the threads of a run wait for each other: its time zero is when the last of them is ready.
struct Start {
    threads: Barrier,
    clock: OnceLock<Clock>,
}

impl Start {
    /// Waits for the others; the run's clock, which has just begun.
    fn begin(&self) -> Clock {
        self.threads.wait();
        *self.clock.get_or_init(Clock::start)
    }

    /// The same on a thread of hosts' ends.
    fn begin_ends(&self) -> Clock {
        hurry(ENDS_PRIORITY);
        sockets::warm_up();
        self.begin()
    }
}

/// What the loop's thread hands back.
struct Turned {
    world: RealTime,
    timing: Timing,
    live: Live,
    ended: Time,
    scheduling: Scheduling,
    spent: Spent,
}

impl Run {
    /// Starts a run; its time zero is now. `hosts` are the namespaces by index of the host, with their devices.
    ///
    /// # Errors
    /// A socket of the plan cannot be opened.
    pub fn start(
        mut world: RealTime,
        hosts: Vec<Option<(Namespace, Device)>>,
        observe_tcp: bool,
    ) -> Result<Self, HostError> {
        let (hosts, devices): (Vec<_>, Vec<_>) = hosts.into_iter().map(Option::unzip).unzip();
        let outside = world.take_outside();
        let flows = outside.iter().filter_map(|end| Some((end.local, end.remote?))).collect();
        let sampled = observe_tcp.then_some(SAMPLE_EVERY);
        let connections = Connections::new(&hosts, flows);
        if let (true, Err(error)) = (observe_tcp, &connections) {
            return Err(error.clone());
        }
        let processes = world.take_processes();
        // They wait at their ports before anybody connects.
        let processes = match processes.is_empty() {
            true => None,
            false => Some(Processes::new(&hosts, processes)?),
        };
        let sockets = Sockets::new(&hosts, outside, sampled)?;
        let board = Arc::new(Board {
            sockets: Shared::default(),
            stop: AtomicBool::new(false),
            now_ns: AtomicU64::new(0),
            is_idle: AtomicBool::new(false),
            processes_busy: AtomicBool::new(processes.is_some()),
            has_ended: AtomicBool::new(false),
            look: AtomicBool::new(false),
            seen: Mutex::default(),
            hand: AtomicBool::new(false),
            wanted: Mutex::default(),
        });
        board.sockets.busy.store(sockets.busy(), Ordering::Release);
        let alarm = Alarm::new()?;
        let alarms = [alarm.clone(), sockets.alarm()];
        let live = Live::new(devices, alarm)?;
        let [its, theirs, watching] = [(); 3].map(|()| Arc::clone(&board));
        let spawned = |name: &str| thread::Builder::new().name(name.into());
        let failed = |error| HostError::new("start a thread", error);
        let threads = 3 + usize::from(processes.is_some()) + usize::from(connections.is_ok());
        let start = Arc::new(Start { threads: Barrier::new(threads), clock: OnceLock::new() });
        let signal = Arc::clone(&start);
        let world = spawned("voxpath-net")
            .spawn(move || {
                let turned = turn(world, live, &signal, &its);
                its.has_ended.store(true, Ordering::Release);
                turned
            })
            .map_err(failed)?;
        let signal = Arc::clone(&start);
        let sockets = spawned("voxpath-apps")
            .spawn(move || {
                let ran = sockets.run(signal.begin_ends(), &theirs.sockets);
                theirs.has_ended.store(true, Ordering::Release);
                ran
            })
            .map_err(failed)?;
        let processes = processes
            .map(|processes| {
                let (alarm, board, signal) = (processes.alarm(), Arc::clone(&board), Arc::clone(&start));
                let run = move || {
                    let ran = processes.run(signal.begin_ends(), &board.sockets.stop, &board.processes_busy);
                    if ran.is_err() {
                        board.has_ended.store(true, Ordering::Release);
                    }
                    ran
                };
                spawned("voxpath-processes").spawn(run).map(|thread| (thread, alarm))
            })
            .transpose()
            .map_err(failed)?;
        let connections = match connections {
            Ok(connections) => {
                let signal = Arc::clone(&start);
                let watch = move || connections.watch(signal.begin(), sampled, &watching.stop);
                Ok(spawned("voxpath-watch").spawn(watch).map_err(failed)?)
            }
            Err(error) => Err(error),
        };
        let clock = start.begin();
        Ok(Self { hosts, board, world, sockets, processes, connections, observe_tcp, alarms, clock })
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Whether every flow of the plan is done and no packet is on its way, or a thread has failed.
    pub fn is_done(&self) -> bool {
        self.board.has_ended.load(Ordering::Acquire)
            || (self.board.sockets.busy.load(Ordering::Acquire) == 0
                && !self.board.processes_busy.load(Ordering::Acquire)
                && self.board.is_idle.load(Ordering::Acquire))
    }

    /// TCP ports at which somebody listens on a real host.
    ///
    /// # Errors
    /// There is no such host, or its namespace cannot be entered.
    pub fn listening(&self, host: u32) -> Result<Vec<u16>, HostError> {
        let missing = || HostError::new(format!("look at host {host}"), "it is not real");
        self.hosts.get(host as usize).and_then(Option::as_ref).ok_or_else(missing)?.listening()
    }

    /// The links as they were when they were asked for the time before, if they were; and asks for a look.
    ///
    /// The loop looks when it is asked to, between two packets: whoever does not ask costs nothing.
    pub fn links(&self) -> Option<Seen> {
        let seen = self.board.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.board.look.store(true, Ordering::Release);
        self.alarms[0].ring();
        seen
    }

    /// Changes links by hand, as [`RealTime::change`] does, between two packets.
    ///
    /// # Errors
    /// The network has ended, or did not take the changes in time.
    pub fn change(&self, events: Vec<LinkEvent>) -> Result<Changed, HostError> {
        let (answer, answered) = sync_channel(1);
        *self.board.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some((events, answer));
        self.board.hand.store(true, Ordering::Release);
        self.alarms[0].ring();
        answered.recv_timeout(PATIENCE).or_else(|error| {
            // Taken back; where the loop has taken it already, its answer comes.
            match self.board.wanted.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(_) => Err(HostError::new("change a link (nothing was changed: try again)", error)),
                None => answered.recv().map_err(|error| HostError::new("change a link", error)),
            }
        })
    }

    /// Ends the run and closes its books.
    ///
    /// # Errors
    /// A device or a socket failed while it ran.
    pub fn finish(self) -> Result<Outcome, HostError> {
        // The network first: what it still delivers is read by the sockets' last look.
        self.board.stop.store(true, Ordering::Release);
        self.alarms[0].ring();
        let turned = join(self.world);
        self.board.sockets.stop.store(true, Ordering::Release);
        self.alarms[1].ring();
        let processes = self.processes.map(|(thread, alarm)| {
            alarm.ring();
            join(thread)
        });
        let Harvest { outside, samples, spent: ends_spent } = join(self.sockets)?;
        let (processes, held) = processes.transpose()?.unwrap_or_default();
        let watched = self.connections.and_then(|watching| {
            watching.thread().unpark();
            join(watching)
        });
        let Turned { mut world, timing, mut live, ended, scheduling, spent } = turned?;
        let told = watched.and_then(|watched| watched.finish(self.clock, world.connections()));
        let ((watched, connections), unwatched) = match told {
            Ok(told) => (told, None),
            Err(error) if self.observe_tcp => return Err(error),
            Err(error) => ((Vec::new(), Vec::new()), Some(error)),
        };
        let mut devices = Vec::new();
        for (host, (device, namespace)) in (0..).zip(live.devices().iter_mut().zip(&self.hosts)) {
            if let (Some(device), Some(namespace)) = (device, namespace) {
                let (kind, instead) = (device.kind(), device.instead().cloned());
                devices.push(DeviceReport { host, kind, instead, counts: device.counts(namespace)? });
            }
        }
        for (at, flow, end, metric, value) in samples {
            world.sample(at, (flow, end, 0), metric, value);
        }
        let flow_names = world.flow_names().map(String::from).collect();
        let strays = world.strays();
        let kept_awake = live.keeps_awake();
        let report = world.finish(ended, outside, processes, &held);
        let origin_ns = self.clock.origin_ns();
        Ok(Outcome {
            report,
            timing,
            strays,
            devices,
            samples: watched,
            connections,
            flow_names,
            unwatched,
            scheduling,
            kept_awake,
            spent,
            ends_spent,
            origin_ns,
        })
    }
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What the loop's thread does.
fn turn(mut world: RealTime, mut live: Live, start: &Start, board: &Board) -> Result<Turned, HostError> {
    let scheduling = hurry(LOOP_PRIORITY);
    live.begin(start.begin());
    let mut timing = Timing::default();
    let ended = drive(&mut world, &mut live, &mut timing, |now, world, _| {
        board.now_ns.store(now.as_nanos(), Ordering::Relaxed);
        board.is_idle.store(world.is_idle(), Ordering::Release);
        if board.look.load(Ordering::Relaxed)
            && let Ok(mut seen) = board.seen.try_lock()
        {
            *seen = Some((now, world.links(now).collect()));
            board.look.store(false, Ordering::Relaxed);
        }
        if board.hand.load(Ordering::Relaxed)
            && let Ok(mut wanted) = board.wanted.try_lock()
        {
            board.hand.store(false, Ordering::Relaxed);
            if let Some((events, answer)) = wanted.take() {
                // Whoever asked may be gone; the table of events has it.
                let _ = answer.send(world.change(now, events).map(|()| now));
            }
        }
        if board.stop.load(Ordering::Acquire) { Progress::Stop } else { Progress::Continue }
    })?;
    Ok(Turned { world, timing, live, ended, scheduling, spent: spent() })
}

/// Has this thread be woken when it wants to, and not up to 50 µs later to save power; and asks for SCHED_FIFO, which needs a privilege.
pub(crate) fn hurry(priority: i32) -> Scheduling {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads one `sched_param`, which outlives the call; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Scheduling::Fifo,
        _ => Scheduling::Normal,
    }
}

/// What this thread has had until now.
pub(crate) fn spent() -> Spent {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let mut columns = text.split_whitespace().map(|column| column.parse().unwrap_or(0));
    let [processor, waited] = [0, 1].map(|_| Span::from_nanos(columns.next().unwrap_or(0)));
    // SAFETY: `rusage` is plain data, for which all zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage`, which outlives the call; it fails for no thread that asks for itself.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    // Neither is negative: the kernel counts from the thread's start.
    let kernel = usage.ru_stime.tv_sec as u64 * 1_000_000 + usage.ru_stime.tv_usec as u64;
    Spent { processor, kernel: Span::from_micros(kernel), waited }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zero_is_when_the_last_thread_is_ready() {
        let start = Start { threads: Barrier::new(3), clock: OnceLock::new() };
        let begun = Clock::start();
        let (ready, clocks) = thread::scope(|scope| {
            let others = [(); 2].map(|()| scope.spawn(|| start.begin()));
            thread::sleep(Duration::from_millis(20));
            let ready = begun.now();
            let last = start.begin();
            let [first, second] = others.map(|other| other.join().expect("it only waits"));
            (ready, [first, second, last])
        });
        let origins = clocks.map(|clock| clock.origin_ns());
        assert_eq!(origins, [origins[0]; 3]);
        assert!(origins[0] >= begun.origin_ns() + ready.as_nanos());
    }
}
