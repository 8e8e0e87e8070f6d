//! Numbered datagrams: what they carry, and what became of them.

use crate::entity::EntityOf;
use alloc::vec::Vec;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::Payload;
use voxpath_wire::payload::pattern_offset;

/// The smallest payload whose bytes tell which datagram it is, because it holds a whole block of the pattern
/// wherever it begins.
pub const LEAST_REAL: u32 = 15;
/// The largest payload (RFC 768; an IPv4 packet has 65 535 octets with its header of 20 and UDP's of 8).
const MOST: u32 = 65_507;

/// A datagram has a payload, and room for it.
pub(crate) fn check_size(packet_bytes: u32, check: &mut Check<'_>) {
    check_octets(packet_bytes, &mut check.at("packet_bytes"));
}

/// The same, of octets whose place it is.
pub(crate) fn check_octets(octets: u32, place: &mut Check<'_>) {
    place.need((1..=MOST).contains(&octets), format_args!("a datagram carries 1 to {MOST} bytes"));
}

/// The bytes of a datagram tell its number.
pub(crate) fn check_real_size(packet_bytes: u32, check: &mut Check<'_>) {
    check_real_octets(packet_bytes, &mut check.at("packet_bytes"));
}

/// The same, of octets whose place it is.
pub(crate) fn check_real_octets(octets: u32, place: &mut Check<'_>) {
    let message = format_args!("datagrams to or from a real host have at least {LEAST_REAL} bytes");
    place.need(octets >= LEAST_REAL, message);
}

/// Datagram `number` of `size` octets: that part of the pattern `stream`.
pub(crate) fn numbered(stream: u32, number: u64, size: u32) -> Payload {
    Payload::pattern(stream, number * u64::from(size), size)
}

/// Which datagram of pattern `stream` it is, each of which begins `stride` octets behind the one before; none of them, if
/// its content is wrong.
fn number_of(data: &Payload, stream: u32, stride: u32) -> Option<u64> {
    match data {
        Payload::Pattern { stream: s, offset, .. } => {
            let stride = u64::from(stride);
            (*s == stream && offset.is_multiple_of(stride)).then_some(offset / stride)
        }
        Payload::Held(_) => match data.as_bytes() {
            Some(bytes) => number_of_bytes(bytes, stream, stride),
            // It may have bytes of the pattern.
            None => {
                let mut bytes = Vec::new();
                data.write_to(&mut bytes);
                number_of_bytes(&bytes, stream, stride)
            }
        },
        Payload::Empty => None,
    }
}

/// Which datagram bytes are, by what they say. One of the first eight begins a block of the pattern.
fn number_of_bytes(bytes: &[u8], stream: u32, stride: u32) -> Option<u64> {
    (0..8).find_map(|skipped| {
        let block = *bytes.get(skipped..)?.first_chunk()?;
        let offset = pattern_offset(stream, block)?.checked_sub(skipped as u64)?;
        let mut expected = Vec::new();
        let number = offset / u64::from(stride);
        let size = u32::try_from(bytes.len()).ok()?;
        Payload::pattern(stream, number * u64::from(stride), size).write_to(&mut expected);
        (expected == bytes).then_some(number)
    })
}

/// What one end of an application over datagrams sent and received.
#[derive(Debug, Clone, Default)]
pub struct DatagramRecord {
    /// When each datagram that was sent was due.
    pub sent_at: Vec<Time>,
    /// How many it is to send; none has no end.
    pub planned: Option<u64>,
    /// What came.
    pub arrivals: Arrivals,
}

impl DatagramRecord {
    /// Takes in what has come: part of pattern `stream` in datagrams of `size` octets. Its number, unless its content is
    /// wrong.
    pub(crate) fn take(&mut self, now: Time, data: &Payload, stream: u32, size: u32) -> Option<u64> {
        self.take_sized(now, data, stream, size, |_| Some(size))
    }

    /// The same where each datagram has a size of its own, and begins `stride` octets behind the one before.
    pub(crate) fn take_sized(
        &mut self,
        now: Time,
        data: &Payload,
        stream: u32,
        stride: u32,
        size: impl Fn(u64) -> Option<u32>,
    ) -> Option<u64> {
        let number = number_of(data, stream, stride).filter(|&number| size(number) == Some(data.len()));
        match number {
            Some(number) => self.arrivals.take(now, number, data.len()),
            None => self.arrivals.wrong += u64::from(data.len()),
        }
        number
    }

    /// Datagrams sent.
    pub const fn sent(&self) -> u64 {
        self.sent_at.len() as u64
    }

    /// Bytes that it holds.
    pub const fn memory(&self) -> usize {
        self.sent_at.capacity() * size_of::<Time>() + self.arrivals.memory()
    }
}

/// What came of numbered datagrams.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    /// Number and time of each datagram, in the order of arrival.
    arrived: Vec<(u64, Time)>,
    /// Numbers of those that came again, in the order of arrival.
    copies: Vec<u64>,
    octets: u64,
    /// When the first datagram came, and the last one that had not come before.
    first_and_last: Option<(Time, Time)>,
    /// Which datagrams came, 64 to a word.
    seen: Vec<u64>,
    /// Octets in datagrams whose content was not what was sent.
    pub wrong: u64,
}

impl Arrivals {
    /// Takes in datagram `number` of `size` octets.
    pub(crate) fn take(&mut self, now: Time, number: u64, size: u32) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.copies.push(number);
            return;
        }
        self.seen[word] |= bit;
        self.arrived.push((number, now));
        self.add(now, size);
    }

    /// Takes in octets of what is no numbered datagram.
    pub(crate) fn add(&mut self, now: Time, octets: u32) {
        self.octets += u64::from(octets);
        let (first, _) = self.first_and_last.unwrap_or((now, now));
        self.first_and_last = Some((first, now));
    }

    /// Different datagrams that came.
    pub const fn count(&self) -> u64 {
        self.arrived.len() as u64
    }

    /// Octets in them.
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// When the first one came.
    pub fn first_at(&self) -> Option<Time> {
        self.first_and_last.map(|(first, _)| first)
    }

    /// When the last one came that had not come before.
    pub fn last_at(&self) -> Option<Time> {
        self.first_and_last.map(|(_, last)| last)
    }

    /// Bytes that the account holds.
    pub const fn memory(&self) -> usize {
        let arrived = self.arrived.capacity() * size_of::<(u64, Time)>();
        arrived + (self.copies.capacity() + self.seen.capacity()) * size_of::<u64>()
    }
}

/// A datagram that was sent, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// Number of its flow.
    flow: u32,
    /// Its own number in the flow.
    number: u64,
    /// When it was due.
    due_at: Time,
    /// When it came, and as which.
    arrival: Option<(u64, Time)>,
    copies: u64,
}

/// The table of datagrams.
pub(crate) static DATAGRAMS: EntityOf<Datagram> = EntityOf {
    is_of: |told| told.saw::<DatagramRecord>(),
    table: TableOf {
        name: "datagrams",
        about: "One row per datagram of a flow.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            (
                "datagram",
                Meaning::count("sending application", "Number of the datagram in its flow, from 0."),
                Of::U64(|row| row.number),
            ),
            (
                "sent_ns",
                Meaning::time("sending application", "When it was due to be sent."),
                Of::U64(|row| row.due_at.as_nanos()),
            ),
            (
                "received_ns",
                Meaning::time(
                    "receiving application",
                    "When it came first; of a ping, when its answer did. No value where it was lost, or still on its way when the run ended.",
                ),
                Of::OptU64(|row| row.arrival.map(|(_, at)| at.as_nanos())),
            ),
            (
                "arrival",
                Meaning::count("receiving application", "Its place in the order of arrival, from 0."),
                Of::OptU64(|row| row.arrival.map(|(place, _)| place)),
            ),
            (
                "copies",
                Meaning::count("receiving application", "How often it came again."),
                Of::U64(|row| row.copies),
            ),
        ],
    },
    rows: |told, rows| {
        let Some(ends) = told.seen::<DatagramRecord>() else { return };
        let (sender, arrivals) = (ends[0], &ends[told.receiver].arrivals);
        let begin = rows.len();
        rows.extend((0..).zip(&sender.sent_at).map(|(number, &due_at)| Datagram {
            flow: told.flow,
            number,
            due_at,
            arrival: None,
            copies: 0,
        }));
        // What nobody of the run sent, but a stranger on a real host, has no row.
        let sent = &mut rows[begin..];
        for (place, &(number, at)) in (0..).zip(&arrivals.arrived) {
            if let Some(row) = sent.get_mut(number as usize) {
                row.arrival = Some((place, at));
            }
        }
        for &number in &arrivals.copies {
            if let Some(row) = sent.get_mut(number as usize) {
                row.copies += 1;
            }
        }
    },
};
