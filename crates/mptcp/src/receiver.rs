//! The receiving half of the data level: one receive buffer and one window for all subflows.

use crate::reassembly::DataReassembly;
use crate::sequence::DataSequence;
use voxpath_tcp::{Config, FIRST_SHARE, Packets, ReceiveAccounting, ReceiveMemory, Receiving, first_room};
use voxpath_units::Time;
use voxpath_wire::Payload;

/// One direction's data as it comes.
#[derive(Debug)]
pub(crate) struct DataReceiver {
    /// None before the other end's key is known.
    pub(crate) sequence: Option<DataSequence>,
    pub(crate) queue: DataReassembly,
    /// Octets for which there is room; at first, where memory is counted.
    capacity: u32,
    /// Where memory is counted, as Linux does: how much.
    memory: Option<ReceiveMemory>,
    /// Of all subflows the packets that carry the least for their memory, once some have come.
    packets: Option<Packets>,
    /// How many shares of memory count as data: the least of any subflow.
    shares: u64,
    /// The right edge of the window that was announced.
    advertised: u64,
}

impl DataReceiver {
    pub(crate) fn new(config: &Config) -> Self {
        let counts_memory = config.receive_accounting == ReceiveAccounting::Memory;
        Self {
            sequence: None,
            queue: DataReassembly::new(1),
            capacity: first_room(config),
            memory: counts_memory.then(|| ReceiveMemory::new(config)),
            packets: None,
            shares: FIRST_SHARE,
            advertised: 1,
        }
    }

    /// The handshake is over: measuring begins.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(memory) = &mut self.memory {
            memory.begin(now);
        }
    }

    /// Data in order has arrived, where `waiting` octets were unread before. Once in the longest round trip of the subflows the memory grows with what the
    /// application takes: how much, if that is more than ever; the subflows are to follow (mptcp_rcv_space_adjust()).
    pub(crate) fn follow_reader(
        &mut self,
        now: Time,
        waiting: u64,
        subflows: impl Iterator<Item = Receiving> + Clone,
    ) -> Option<u64> {
        let memory = self.memory.as_mut()?;
        let round_trip = subflows.clone().filter_map(|one| one.round_trip).max();
        let packets = subflows.clone().filter_map(|one| one.packets);
        self.packets = Some(packets.min_by_key(|one| one.share_of_data())?);
        // A subflow that has brought nothing yet is one of them.
        let shares = subflows.map(|one| one.packets.map_or(FIRST_SHARE, Packets::share_of_data));
        self.shares = shares.min()?;
        let ack = self.queue.data_ack();
        let taken = memory.measure(now, round_trip, ack..ack, waiting)?;
        // What other subflows bring is beyond a gap for no loss: it does not count.
        memory.follow(taken, 0, self.shares);
        Some(taken)
    }

    /// Takes in octets that belong at `from`; how many were new. What lies beyond the window is not kept: its sender has to repeat it.
    pub(crate) fn take(&mut self, from: u64, data: &Payload) -> u64 {
        let most = self.edge().saturating_sub(from).min(u64::from(data.len())) as u32;
        if most == 0 {
            return 0;
        }
        if most == data.len() {
            self.queue.insert(from, data)
        } else {
            self.queue.insert(from, &data.slice(0, most))
        }
    }

    /// Takes in octets of TCP, whose window has been theirs.
    pub(crate) fn take_plain(&mut self, from: u64, data: &Payload) {
        self.queue.insert(from, data);
    }

    /// The other end's last octet is before `at`.
    pub(crate) fn note_fin(&mut self, at: u64) {
        self.queue.note_fin(at);
    }

    /// Octets for which there is room beside so many that are held.
    fn room(&self, held: u64) -> u64 {
        match (&self.memory, self.packets) {
            (Some(memory), Some(packets)) => memory.room(held, packets, self.shares).into(),
            _ => u64::from(self.capacity).saturating_sub(held),
        }
    }

    /// The right edge of what is kept; never less than what was announced (RFC 8684 section 3.3.1).
    fn edge(&self) -> u64 {
        (self.queue.data_ack() + self.room(self.queue.readable())).max(self.advertised)
    }

    /// The window that a subflow is to announce, counted from the data ACK. Where memory is counted, also what is beyond a gap takes some
    /// (__tcp_select_window()); but a subflow never draws back what it has announced itself, so little comes of that (tcp_select_window(),
    /// mptcp_set_rwin()).
    pub(crate) fn window(&self, subflow: impl FnOnce() -> Receiving) -> u32 {
        self.common_window().unwrap_or_else(|| self.counted_window(subflow()))
    }

    // Apart, so that it is not begun where memory is not counted.
    #[inline(never)]
    fn counted_window(&self, subflow: Receiving) -> u32 {
        let ack = self.queue.data_ack();
        let window = self.select().min(subflow.limit.into()).max(subflow.announced.into());
        // At most 1 GiB, as the buffer.
        ((ack + window).max(self.advertised) - ack) as u32
    }

    /// The window that each subflow is to announce; none where memory is counted.
    pub(crate) fn common_window(&self) -> Option<u32> {
        self.memory.is_none().then(|| (self.edge() - self.queue.data_ack()) as u32)
    }

    /// The window beside all that is held; none where there is little left.
    fn select(&self) -> u64 {
        let (room, whole) = (self.room(self.queue.held()), self.room(0));
        let segment = self.packets.map_or(0, |packets| packets.segment);
        let is_little = room < whole / 2 && (room < whole / 16 || room < u64::from(segment));
        if is_little { 0 } else { room }
    }

    /// A segment leaves with this window.
    pub(crate) fn announced(&mut self, window: u32) {
        self.advertised = self.advertised.max(self.queue.data_ack() + u64::from(window));
    }

    /// Octets of the window that the other end knows of.
    fn left(&self) -> u64 {
        self.advertised.saturating_sub(self.queue.data_ack())
    }

    /// Whether the other end believes in half of what fits at most.
    pub(crate) fn is_half_used(&self) -> bool {
        2 * self.left() <= self.room(0)
    }

    /// Whether the other end, which believes in half of what fits at most, has to hear of this window though nothing comes: twice as much is there,
    /// as Linux' tcp_cleanup_rbuf() asks.
    pub(crate) fn opens(&self, window: u32, mss: u64) -> bool {
        let (left, room) = (self.left(), u64::from(window));
        // Less than a segment would make for silly windows (RFC 9293 section 3.8.6.2.2).
        room >= 2 * left && room - left >= mss.min(self.room(0) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_tcp::Profile;
    use voxpath_units::Span;

    /// What a subflow says that has announced so much of the window, and has room for 1 MiB.
    fn subflow(announced: u32, segment: u32) -> Receiving {
        let packets = (segment > 0).then_some(Packets { segment, headers: 80 });
        Receiving { announced, limit: 1 << 20, round_trip: Some(Span::from_millis(50)), packets }
    }

    #[test]
    fn a_window_of_all_subflows_closes_and_opens() {
        let config = Config { receive_buffer: 1000, ..Profile::Rfc.config() };
        let mut receiver = DataReceiver::new(&config);
        let one = subflow(0, 0);
        let window_opens = |receiver: &DataReceiver| {
            let window = receiver.window(|| one);
            (window, receiver.is_half_used() && receiver.opens(window, 100))
        };
        receiver.announced(receiver.window(|| one));
        assert_eq!(receiver.take(1, &Payload::pattern(0, 0, 800)), 800);
        assert_eq!(window_opens(&receiver), (200, false));
        assert_eq!(
            receiver.take(801, &Payload::pattern(0, 800, 300)),
            200,
            "what was not announced is not kept"
        );
        assert_eq!(window_opens(&receiver), (0, false));
        receiver.queue.read(99);
        assert_eq!(window_opens(&receiver), (99, false), "a silly window");
        receiver.queue.read(1);
        assert_eq!(window_opens(&receiver), (100, true));
        receiver.announced(receiver.window(|| one));
        assert_eq!(window_opens(&receiver), (100, false));
    }

    /// An end of the profile `linux` whose subflows have brought segments of 1420 octets.
    fn linux() -> DataReceiver {
        let mut receiver = DataReceiver::new(&Profile::Linux.config());
        assert_eq!(receiver.window(|| subflow(0, 0)), 65_536, "half of 128 KiB");
        assert_eq!(receiver.follow_reader(Time::ZERO, 0, [subflow(0, 1420)].into_iter()), None);
        receiver
    }

    /// 1420 of 2304 octets of each packet are data: 157 of 256 shares.
    const SHARE: u64 = 157;

    #[test]
    fn memory_grows_with_what_comes_of_all_subflows_in_the_longest_round_trip() {
        let mut receiver = linux();
        let first = (128 << 10) * SHARE / 256;
        assert_eq!(u64::from(receiver.window(|| subflow(0, 1420))), first);
        assert_eq!(u64::from(receiver.window(|| Receiving { limit: 64_240, ..subflow(0, 1420) })), 64_240);
        let short = Receiving { round_trip: Some(Span::from_millis(10)), ..subflow(0, 1420) };
        let both = [short, subflow(0, 1420)];
        receiver.begin(Time::ZERO);
        assert_eq!(receiver.take(1, &Payload::pattern(0, 0, 29_200)), 29_200);
        receiver.queue.read(29_200);
        assert_eq!(receiver.follow_reader(Time::ZERO + Span::from_millis(49), 0, both.into_iter()), None);
        let taken = receiver.follow_reader(Time::ZERO + Span::from_millis(50), 0, both.into_iter());
        assert_eq!(taken, Some(29_200));
        // Ten segments of 1460 octets are expected; twice as much came, so the window is four times that, and twice as much more as it grew by.
        let memory = (2 * 29_200 + 2 * 2 * 29_200) * 256 / SHARE;
        assert_eq!(u64::from(receiver.window(|| subflow(0, 1420))), memory * SHARE / 256);
    }

    #[test]
    fn a_subflow_that_has_brought_nothing_counts_half_of_memory_as_data() {
        let mut receiver = linux();
        let joining = [subflow(0, 1420), subflow(0, 0)];
        receiver.begin(Time::ZERO);
        assert_eq!(receiver.take(1, &Payload::pattern(0, 0, 29_200)), 29_200);
        receiver.queue.read(29_200);
        let taken = receiver.follow_reader(Time::ZERO + Span::from_millis(50), 0, joining.into_iter());
        assert_eq!(taken, Some(29_200));
        let window = 2 * 29_200 + 2 * 2 * 29_200;
        assert_eq!(u64::from(receiver.window(|| subflow(0, 1420))), window);
        assert_eq!(receiver.follow_reader(Time::ZERO, 0, [subflow(0, 1420); 2].into_iter()), None);
        assert_eq!(u64::from(receiver.window(|| subflow(0, 1420))), 2 * window * SHARE / 256);
    }

    #[test]
    fn what_waits_for_another_subflow_does_not_draw_the_window_back() {
        let mut receiver = linux();
        let first = receiver.window(|| subflow(0, 1420));
        receiver.announced(first);
        assert_eq!(receiver.take(1421, &Payload::pattern(0, 1420, 42_600)), 42_600);
        assert_eq!(receiver.window(|| subflow(first - 42_600, 1420)), first, "not beyond a gap");
        assert_eq!(receiver.take(1, &Payload::pattern(0, 0, 1420)), 1420);
        // Unread it is, and each subflow holds what it has announced.
        assert_eq!(receiver.window(|| subflow(first - 42_600, 1420)), first - 42_600);
        assert_eq!(receiver.window(|| subflow(first - 1420, 1420)), first - 1420);
        receiver.queue.read(44_020);
        assert_eq!(receiver.window(|| subflow(first - 42_600, 1420)), first);
    }
}
