//! A segment as a script says it.

use crate::multipath::{self, Multipath};
use crate::peer::OURS;
use std::fmt;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlock, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};

/// A segment that arrives, or what is expected of one that leaves: there, what was not said is not compared.
/// Numbers count from each side's SYN, which is 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// Of which subflow, from 0 on.
    pub subflow: usize,
    /// Control bits.
    pub flags: TcpFlags,
    /// The number of the first octet.
    pub seq: Option<u32>,
    /// Octets of data.
    pub len: Option<u32>,
    /// The acknowledgment number.
    pub ack: Option<u32>,
    /// The window field as it stands in the header.
    pub window: Option<u16>,
    /// Options.
    pub options: Options,
    /// The network has marked it (CE), or it may be marked (ECT).
    pub ecn: Option<bool>,
}

/// Options; each that is `None` was not said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<Option<u16>>,
    /// Window scale.
    pub scale: Option<Option<u8>>,
    /// SACK permitted.
    pub sack_permitted: Option<bool>,
    /// Timestamps.
    pub stamps: Option<Option<Stamps>>,
    /// SACK blocks.
    pub sack: Option<Vec<(u32, u32)>>,
    /// Options of Multipath TCP, in their order.
    pub multipath: Option<Vec<Multipath>>,
    /// There may be others of Multipath TCP between them.
    pub is_open: bool,
}

impl Options {
    /// The same for what lies `octets` further on.
    pub(crate) fn further(&self, octets: u32) -> Self {
        let further =
            |options: &Vec<Multipath>| options.iter().map(|option| option.further(octets)).collect();
        Self { multipath: self.multipath.as_ref().map(further), ..self.clone() }
    }
}

/// What a script says of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// They are there.
    Some,
    /// They have these values.
    These(u32, u32),
}

impl Segment {
    /// The options of what arrives; timestamps that are only said to be there are `usual`.
    pub(crate) fn options(&self, receiver: Seq, usual: Timestamps) -> TcpOptions {
        let Options { mss, scale, sack_permitted, stamps, sack, .. } = &self.options;
        let stamps = stamps.flatten().map(|stamps| match stamps {
            Stamps::Some => usual,
            Stamps::These(value, echo) => Timestamps { value, echo },
        });
        let mut options = TcpOptions {
            mss: mss.flatten(),
            window_scale: scale.flatten(),
            sack_permitted: sack_permitted.unwrap_or(false),
            timestamps: stamps,
            ..TcpOptions::default()
        };
        for &(left, right) in sack.iter().flatten() {
            let (left, right) = (receiver.wrapping_add(left), receiver.wrapping_add(right));
            options.sack.push(SackBlock { left, right });
        }
        options
    }

    /// Whether there is something of Multipath TCP in it.
    pub(crate) fn is_multipath(&self) -> bool {
        self.subflow > 0 || self.options.multipath.as_ref().is_some_and(|options| !options.is_empty())
    }

    /// Octets of the sequence space.
    pub fn occupies(&self) -> u32 {
        let control = |flag| u32::from(self.flags.contains(flag));
        self.len.unwrap_or(0) + control(TcpFlags::SYN) + control(TcpFlags::FIN)
    }

    /// Compares with a segment that has left with the options `sent` of Multipath TCP, whose numbers count from `ours` and `theirs`, its timestamps from `stamp_base`, which
    /// may be off by `slack` milliseconds. What is pushed is not compared.
    ///
    /// # Errors
    /// What differs.
    pub fn compare(
        &self,
        header: &TcpHeader,
        payload: &Payload,
        sent: &[Multipath],
        (ours, theirs): (Seq, Seq),
        (stamp_base, slack): (u32, u32),
    ) -> Result<(), String> {
        let seq = header.seq.0.wrapping_sub(ours.0);
        let pushed = TcpFlags::PSH.0;
        same(
            "flags",
            Some(flag_letters(TcpFlags(self.flags.0 & !pushed))),
            flag_letters(TcpFlags(header.flags.0 & !pushed)),
        )?;
        same("sequence number", self.seq, seq)?;
        same("length", self.len, payload.len())?;
        if header.flags.contains(TcpFlags::ACK) {
            same("acknowledgment number", self.ack, header.ack.0.wrapping_sub(theirs.0))?;
        }
        same("window", self.window, header.window)?;
        let options = &header.options;
        same("option mss", self.options.mss.map(Shown), Shown(options.mss))?;
        same("option wscale", self.options.scale.map(Shown), Shown(options.window_scale))?;
        same("option sackOK", self.options.sack_permitted, options.sack_permitted)?;
        match (self.options.stamps, options.timestamps) {
            (Some(None), Some(_)) => return Err("it has timestamps".into()),
            (Some(Some(_)), None) => return Err("it has no timestamps".into()),
            (Some(Some(Stamps::These(value, echo))), Some(stamps)) => {
                let sent = stamps.value.wrapping_sub(stamp_base);
                if sent.abs_diff(value) > slack {
                    return Err(format!("timestamp {sent}, expected {value}"));
                }
                same("echoed timestamp", Some(echo), stamps.echo)?;
            }
            _ => {}
        }
        if let Some(expected) = &self.options.sack {
            let relative = |seq: Seq| seq.0.wrapping_sub(theirs.0);
            let blocks = options.sack.as_slice();
            let sent: Vec<_> =
                blocks.iter().map(|block| (relative(block.left), relative(block.right))).collect();
            if &sent != expected {
                return Err(format!("SACK blocks {sent:?}, expected {expected:?}"));
            }
        }
        if let Some(expected) = &self.options.multipath
            && !multipath::are(expected, sent, self.options.is_open)
        {
            let told = |options: &[Multipath]| match options {
                [] => "none".to_owned(),
                options => options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            };
            return Err(format!("options of Multipath TCP: {}, expected {}", told(sent), told(expected)));
        }
        let place = multipath::place(sent, header.flags).unwrap_or_else(|| u64::from(seq).wrapping_sub(1));
        if !payload.is_empty() && !holds(payload, place) {
            return Err("its octets are not those of that place".into());
        }
        Ok(())
    }
}

/// Whether a payload is what the endpoint under test writes at this place.
fn holds(payload: &Payload, offset: u64) -> bool {
    let expected = Payload::pattern(OURS, offset, payload.len());
    if payload == &expected {
        return true;
    }
    let octets = |payload: &Payload| {
        let mut octets = Vec::new();
        payload.write_to(&mut octets);
        octets
    };
    octets(payload) == octets(&expected)
}

#[derive(PartialEq, Eq)]
struct Shown<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

fn same<T: PartialEq + fmt::Display>(what: &str, expected: Option<T>, sent: T) -> Result<(), String> {
    match expected {
        Some(expected) if expected != sent => Err(format!("{what} {sent}, expected {expected}")),
        _ => Ok(()),
    }
}

/// The letters that stand for control bits.
pub(crate) const FLAGS: [(char, TcpFlags); 8] = [
    ('S', TcpFlags::SYN),
    ('F', TcpFlags::FIN),
    ('R', TcpFlags::RST),
    ('P', TcpFlags::PSH),
    ('E', TcpFlags::ECE),
    ('W', TcpFlags::CWR),
    ('U', TcpFlags::URG),
    ('.', TcpFlags::ACK),
];

fn flag_letters(flags: TcpFlags) -> String {
    let letters: String =
        FLAGS.iter().filter(|(_, flag)| flags.contains(*flag)).map(|(letter, _)| *letter).collect();
    if letters.is_empty() { "-".into() } else { letters }
}

/// A segment, as a script would write it.
pub(crate) fn describe(
    header: &TcpHeader,
    payload: &Payload,
    multipath: &[Multipath],
    (ours, theirs): (Seq, Seq),
    stamp_base: u32,
) -> String {
    let seq = header.seq.0.wrapping_sub(ours.0);
    let len = payload.len();
    let mut text = format!("{} {seq}:{}({len})", flag_letters(header.flags), seq.wrapping_add(len));
    if header.flags.contains(TcpFlags::ACK) {
        text += &format!(" ack {}", header.ack.0.wrapping_sub(theirs.0));
    }
    text += &format!(" win {}", header.window);
    let mut options = Vec::new();
    options.extend(header.options.mss.map(|mss| format!("mss {mss}")));
    options.extend(header.options.window_scale.map(|shift| format!("wscale {shift}")));
    options.extend(header.options.sack_permitted.then(|| "sackOK".to_owned()));
    options.extend(
        header
            .options
            .timestamps
            .map(|stamps| format!("TS val {} ecr {}", stamps.value.wrapping_sub(stamp_base), stamps.echo)),
    );
    let blocks = header.options.sack.as_slice();
    if !blocks.is_empty() {
        let relative = |seq: Seq| seq.0.wrapping_sub(theirs.0);
        let blocks = blocks.iter().map(|block| format!("{}:{}", relative(block.left), relative(block.right)));
        options.push(format!("sack {}", blocks.collect::<Vec<_>>().join(" ")));
    }
    options.extend(multipath.iter().map(ToString::to_string));
    if options.is_empty() { text } else { format!("{text} <{}>", options.join(", ")) }
}
