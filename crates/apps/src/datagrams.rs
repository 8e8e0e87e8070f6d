//! Numbered datagrams: what they carry, and what became of them.

use alloc::vec::Vec;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::payload::pattern_offset;

/// The smallest payload whose bytes tell which datagram it is, because it holds a whole block of the pattern
/// wherever it begins.
pub const LEAST_REAL: u32 = 15;
/// The largest payload (RFC 768; an IPv4 packet has 65 535 octets with its header of 20 and UDP's of 8).
const MOST: u32 = 65_507;

/// A datagram has a payload, and room for it.
pub(crate) fn check_size(packet_bytes: u32, check: &mut Check<'_>) {
    let fits = (1..=MOST).contains(&packet_bytes);
    check.at("packet_bytes").need(fits, format_args!("a datagram carries 1 to {MOST} bytes"));
}

/// The bytes of a datagram tell its number.
pub(crate) fn check_real_size(packet_bytes: u32, check: &mut Check<'_>) {
    let message = format_args!("datagrams to or from a real host have at least {LEAST_REAL} bytes");
    check.at("packet_bytes").need(packet_bytes >= LEAST_REAL, message);
}

/// Datagram `number` of `size` octets: that part of the pattern `stream`.
pub(crate) fn numbered(stream: u32, number: u64, size: u32) -> Payload {
    Payload::pattern(stream, number * u64::from(size), size)
}

/// Which datagram of pattern `stream` it is; none of them, if its content is wrong.
pub(crate) fn number_of(data: &Payload, stream: u32, size: u32) -> Option<u64> {
    match data {
        _ if data.len() != size => None,
        Payload::Pattern { stream: s, offset, .. } => {
            let size = u64::from(size);
            (*s == stream && offset.is_multiple_of(size)).then_some(offset / size)
        }
        // The content says which datagram bytes are. One of the first eight begins a block of the pattern.
        Payload::Bytes(bytes) => (0..8).find_map(|skipped| {
            let block = *bytes.get(skipped..)?.first_chunk()?;
            let offset = pattern_offset(stream, block)?.checked_sub(skipped as u64)?;
            let mut expected = Vec::new();
            let number = offset / u64::from(size);
            numbered(stream, number, size).write_to(&mut expected);
            (expected == bytes[..]).then_some(number)
        }),
        Payload::Empty => None,
    }
}

/// What one end of an application over datagrams sent and received.
#[derive(Debug, Clone, Default)]
pub struct DatagramRecord {
    /// Datagrams sent.
    pub sent: u64,
    /// How many it is to send; none has no end.
    pub planned: Option<u64>,
    /// What came.
    pub arrivals: Arrivals,
}

impl DatagramRecord {
    /// Takes in what has come: part of pattern `stream` in datagrams of `size` octets, each due when `due` says. Its
    /// number, unless its content is wrong.
    pub(crate) fn take(
        &mut self,
        now: Time,
        data: &Payload,
        stream: u32,
        size: u32,
        due: impl FnOnce(u64) -> Time,
    ) -> Option<u64> {
        let number = number_of(data, stream, size);
        match number {
            Some(number) => self.arrivals.take(now, number, size, || due(number)),
            None => self.arrivals.wrong += u64::from(data.len()),
        }
        number
    }

    /// Bytes that it holds.
    pub const fn memory(&self) -> usize {
        self.arrivals.memory()
    }
}

/// What came of numbered datagrams.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    /// Delay of each datagram, in the order of arrival; ns.
    delays: Vec<u64>,
    octets: u64,
    first_at: Option<Time>,
    last_at: Option<Time>,
    highest: Option<u64>,
    reordered: u64,
    duplicates: u64,
    /// Which datagrams came, 64 to a word.
    seen: Vec<u64>,
    jitter_16: u64,
    /// Octets in datagrams whose content was not what was sent.
    pub wrong: u64,
}

/// What an end saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Reception {
    /// Different datagrams received.
    pub datagrams: u64,
    /// Octets in them.
    pub octets: u64,
    /// Datagrams received again.
    pub duplicates: u64,
    /// Datagrams that came after one sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Octets in datagrams whose content was not what was sent.
    pub wrong: u64,
    /// When the last one came.
    pub last_at: Option<Time>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) after the last one.
    pub jitter: Span,
    /// Delays, ascending; ns.
    pub delays: Vec<u64>,
}

impl Arrivals {
    /// Takes in datagram `number` of `size` octets, which was due at what `due` says.
    pub(crate) fn take(&mut self, now: Time, number: u64, size: u32, due: impl FnOnce() -> Time) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        self.octets += u64::from(size);
        self.first_at.get_or_insert(now);
        self.last_at = Some(now);
        if self.highest.is_some_and(|highest| number < highest) {
            self.reordered += 1;
        }
        self.highest = self.highest.max(Some(number));

        let delay = now.since(due()).as_nanos();
        if let Some(&before) = self.delays.last() {
            // J += (|D| - J) / 16, held as 16 J as in RFC 3550 appendix A.8.
            self.jitter_16 = self.jitter_16 + delay.abs_diff(before) - (self.jitter_16 + 8) / 16;
        }
        self.delays.push(delay);
    }

    /// The highest number that came.
    pub const fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// Different datagrams that came.
    pub const fn count(&self) -> u64 {
        self.delays.len() as u64
    }

    /// When the first one came.
    pub const fn first_at(&self) -> Option<Time> {
        self.first_at
    }

    /// Bytes that the account holds.
    pub const fn memory(&self) -> usize {
        (self.delays.capacity() + self.seen.capacity()) * size_of::<u64>()
    }

    /// What was received so far.
    pub fn reception(&self) -> Reception {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        Reception {
            datagrams: self.delays.len() as u64,
            octets: self.octets,
            duplicates: self.duplicates,
            reordered: self.reordered,
            wrong: self.wrong,
            last_at: self.last_at,
            jitter: Span::from_nanos(self.jitter_16 / 16),
            delays,
        }
    }
}
