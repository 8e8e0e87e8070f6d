//! What a script says.

use crate::segment::Segment;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use voxpath_mptcp::{self as mptcp, Scheduling};
use voxpath_tcp::{Config, Ended, Profile};
use voxpath_units::{Span, Time};

/// A script: what it is about, what it runs on, and what happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The rules that it covers, by their names in the list of rules.
    pub rules: Vec<String>,
    /// What it runs on.
    pub stacks: Vec<Stack>,
    /// What it speaks.
    pub transport: Transport,
    /// Parameters that differ from the stack's own.
    pub settings: Vec<Setting>,
    /// How far the kernel's times may be off.
    pub tolerance: Span,
    /// Why the kernel does otherwise than `linux`, where events tell them apart.
    pub differs: Option<String>,
    /// Why it does not run on the kernel, where `linux` is among its stacks.
    pub simulated: Option<String>,
    /// What happens, in the order of the file.
    pub events: Vec<Event>,
}

impl Script {
    /// The parameters of TCP on a stack; the kernel is asked to do as `linux`.
    ///
    /// # Errors
    /// A setting names no parameter, or not a value of it: its line, and what is wrong.
    pub fn config(&self, stack: Stack) -> Result<Config, (usize, String)> {
        let mut config = stack.profile().config();
        // A script says when a timer is due. How late a wheel makes it depends on the kernel's clock, which no script knows.
        config.rto.wheel = false;
        let own = self.settings.iter().filter(|setting| !setting.is_of_multipath());
        with_settings(&config, &own.collect::<Vec<_>>(), |config| {
            config.problems().next().map(|(key, message)| format!("{key}: {message}"))
        })
    }

    /// The parameters of Multipath TCP on a stack, those of its profile; none if the script is about TCP.
    ///
    /// # Errors
    /// As of [`Script::config`].
    pub fn multipath(&self, stack: Stack) -> Result<Option<mptcp::Config>, (usize, String)> {
        let mut own = self.settings.iter().filter(|setting| setting.is_of_multipath());
        if self.transport == Transport::Tcp {
            return match own.next() {
                Some(setting) => Err((setting.line, format!("`{}` needs `transport: mptcp`", setting.key))),
                None => Ok(None),
            };
        }
        let mut config = mptcp::Config::default();
        if stack.profile() == Profile::Linux {
            config.scheduler = Scheduling::Kernel;
            (config.opportunistic_retransmission, config.penalisation) = (false, false);
        }
        with_settings(&config, &own.collect::<Vec<_>>(), |_| None).map(Some)
    }
}

/// Parameters with settings applied.
fn with_settings<T: Serialize + DeserializeOwned>(
    config: &T,
    settings: &[&Setting],
    problem: impl Fn(&T) -> Option<String>,
) -> Result<T, (usize, String)> {
    let with = |settings: &[&Setting]| {
        let mut whole = serde_json::to_value(config).map_err(|error| error.to_string())?;
        settings.iter().try_for_each(|setting| setting.apply(&mut whole))?;
        let config: T = serde_json::from_value(whole).map_err(|error| error.to_string())?;
        problem(&config).map_or(Ok(config), Err)
    };
    with(settings).map_err(|reason| {
        // Some make sense together only: it is the one behind the last that do.
        let good = (0..settings.len()).rev().find(|&count| with(&settings[..count]).is_ok());
        let culprit = settings[good.unwrap_or(0)];
        (culprit.line, format!("`{}`: {reason}", culprit.key))
    })
}

/// What a script speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// Multipath TCP (RFC 8684).
    Mptcp,
}

/// What a script runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// Our TCP in virtual time.
    Profile(Profile),
    /// The live kernel.
    Kernel,
}

impl Stack {
    /// The profile whose parameters it has.
    pub const fn profile(self) -> Profile {
        match self {
            Self::Profile(profile) => profile,
            Self::Kernel => Profile::Linux,
        }
    }

    /// Every stack, by name.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        let simulated = Profile::ALL.into_iter().map(|(name, profile)| (name, Self::Profile(profile)));
        simulated.chain([("kernel", Self::Kernel)])
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::all().find(|(_, stack)| stack == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// A parameter of the endpoint, by its name in [`Config`], or behind `mptcp.` in [`mptcp::Config`]; inner ones with a dot (`rto.min`).
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Where it stands.
    pub line: usize,
    /// The parameter.
    pub key: String,
    /// Its value, as plans write it.
    pub value: serde_json::Value,
}

/// What the keys of Multipath TCP's parameters begin with.
const OF_MULTIPATH: &str = "mptcp.";

impl Setting {
    fn is_of_multipath(&self) -> bool {
        self.key.starts_with(OF_MULTIPATH)
    }

    fn apply(&self, whole: &mut serde_json::Value) -> Result<(), String> {
        let mut place = whole;
        for part in self.key.trim_start_matches(OF_MULTIPATH).split('.') {
            if place.is_null() {
                *place = serde_json::Value::Object(serde_json::Map::new());
            }
            let serde_json::Value::Object(object) = place else { return Err("it has no parts".into()) };
            place = object.entry(part).or_insert(serde_json::Value::Null);
        }
        *place = self.value.clone();
        Ok(())
    }
}

/// One line of a script's body.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where it stands, counted from 1.
    pub line: usize,
    /// The stacks that it is for; all if empty.
    pub only: Vec<Stack>,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub action: Action,
}

/// When an event happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Since the start.
    At(Time),
    /// Since the event before.
    After(Span),
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A segment arrives from the peer.
    Arrive(Segment),
    /// A segment has to leave.
    Leave(Segment),
    /// A router says that a link takes no packet of more than `mtu` bytes of the segment that begins at `seq`.
    TooBig {
        /// Bytes, the IP header included.
        mtu: u16,
        /// The number of the segment's first octet.
        seq: u32,
    },
    /// The application calls.
    Call(Call),
    /// The endpoint has to say this of itself.
    Check(Vec<Check>),
    /// Nothing more was sent until now.
    Quiet,
}

/// What the application calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Waits for a connection.
    Listen,
    /// Opens one.
    Connect,
    /// Writes so many octets, which the socket has to take.
    Write(u32),
    /// Writes more than the socket takes, which has to be so many octets.
    Fill(u32),
    /// Reads so many octets, which have to be there.
    Read(u32),
    /// Has nothing more to send, but goes on reading.
    Shutdown,
    /// Has nothing more to send, and reads no more.
    Close,
    /// Gives the connection up.
    Abort,
}

/// A quantity that TCP counts in octets, and scripts in segments or octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Full-sized segments.
    Segments(u64),
    /// Octets; the kernel, which counts segments, has to have as many as fit.
    Octets(u64),
}

/// What the endpoint has to say of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// RFC 9293's state.
    State(State),
    /// The congestion window.
    Cwnd(Amount),
    /// The slow-start threshold; none while it is arbitrarily high.
    Ssthresh(Option<Amount>),
    /// The retransmission timeout, back-off included.
    Rto(Span),
    /// The smoothed round-trip time.
    Srtt(Span),
    /// Where loss recovery is.
    Phase(Phase),
    /// Octets that can be read.
    Readable(u64),
    /// Whether an application that waits for room in the send buffer is woken.
    Writable(bool),
    /// Whether the peer has closed and everything was read.
    AtEnd(bool),
    /// How the connection ended; none while it goes on.
    Ended(Option<Ended>),
    /// Segments sent again so far.
    Retransmissions(u64),
    /// Whether Multipath TCP goes on as TCP.
    Fallback(bool),
    /// Subflows that stand.
    Subflows(u64),
}

/// A state of RFC 9293 section 3.3.2 as it can be seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The RFC's names.
pub enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

impl State {
    /// Every state, by the name that scripts have for it.
    pub const ALL: [(&'static str, Self); 11] = [
        ("listen", Self::Listen),
        ("syn-sent", Self::SynSent),
        ("syn-received", Self::SynReceived),
        ("established", Self::Established),
        ("fin-wait-1", Self::FinWait1),
        ("fin-wait-2", Self::FinWait2),
        ("close-wait", Self::CloseWait),
        ("closing", Self::Closing),
        ("last-ack", Self::LastAck),
        ("time-wait", Self::TimeWait),
        ("closed", Self::Closed),
    ];
}

impl From<voxpath_tcp::State> for State {
    fn from(state: voxpath_tcp::State) -> Self {
        use voxpath_tcp::State as Tcp;
        match state {
            Tcp::SynSent => Self::SynSent,
            Tcp::SynReceived => Self::SynReceived,
            Tcp::Established => Self::Established,
            Tcp::FinWait1 => Self::FinWait1,
            Tcp::FinWait2 => Self::FinWait2,
            Tcp::CloseWait => Self::CloseWait,
            Tcp::Closing => Self::Closing,
            Tcp::LastAck => Self::LastAck,
            Tcp::TimeWait => Self::TimeWait,
            Tcp::Closed => Self::Closed,
        }
    }
}

/// Where loss recovery is.
pub use voxpath_tcp::Phase;

/// The phases of loss recovery, by the name that scripts have for them.
pub(crate) const PHASES: [(&str, Phase); 4] = [
    ("open", Phase::Open),
    ("recovery", Phase::Recovery),
    ("loss", Phase::Loss),
    ("reduction", Phase::Reduction),
];

/// How a connection may have ended, by name.
pub(crate) const ENDS: [(&str, Option<Ended>); 6] = [
    ("no", None),
    ("closed", Some(Ended::Closed)),
    ("refused", Some(Ended::Refused)),
    ("reset", Some(Ended::Reset)),
    ("aborted", Some(Ended::Aborted)),
    ("timed-out", Some(Ended::TimedOut)),
];
