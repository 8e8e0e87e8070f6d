//! The window that is announced: what of the receive buffer, and when (RFC 9293 section 3.8.6.2.2).

use super::Receiver;
use super::memory::{Packets, ReceiveMemory, first_room};
use crate::config::{Config, ReceiveAccounting};
use crate::shared::{MAX_UNSCALED_WINDOW, Shared, elapsed_since};
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::Timestamps;

/// What the buffer may hold, and the round trip in which the application empties it.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) memory: ReceiveMemory,
    /// The round trip as the receiver sees it, of whose data little is acknowledged (`rcv_rtt_est`).
    rtt: Option<Span>,
    /// The timestamp that was echoed last.
    echo: u32,
    /// The right edge when this window began, and when that was.
    window: Option<(u64, Time)>,
}

impl Space {
    pub(super) fn new(config: &Config) -> Self {
        Self { memory: ReceiveMemory::new(config), rtt: None, echo: 0, window: None }
    }

    /// The round trip as the receiver sees it, once it has.
    pub(super) const fn round_trip(&self) -> Option<Span> {
        self.rtt
    }

    /// A shorter round trip counts at once; a longer one smoothly, and only where it is one for certain (tcp_rcv_rtt_update()).
    fn take_round_trip(&mut self, rtt: Span, certain: bool) {
        self.rtt = Some(match self.rtt {
            Some(known) if rtt >= known => known + if certain { (rtt - known) / 8 } else { Span::ZERO },
            _ => rtt,
        });
    }
}

/// Octets for which a window is announced at first, by an end whose segments have so many octets of options. Linux offers whole segments
/// (tcp_select_initial_window()).
pub(super) fn first_window(config: &Config, options: u32) -> u32 {
    let space = first_room(config);
    let segment = u32::from(config.mss).saturating_sub(options).max(1);
    let counts_octets = config.receive_accounting == ReceiveAccounting::Octets;
    if counts_octets || space < segment { space } else { space - space % segment }
}

impl Receiver {
    /// Measures the round trip by a segment with so many octets: from an acknowledgment to the first full one that was sent on it
    /// (tcp_rcv_rtt_measure_ts()), and from one window to the next (tcp_rcv_rtt_measure()), which lasts as long at least. The answer to what another
    /// acknowledgment, without data, has answered before tells when the application was ready, too.
    pub(crate) fn measure_rtt(&mut self, cx: &Shared, now: Time, stamps: Option<Timestamps>, len: u32) {
        if cx.config.receive_accounting == ReceiveAccounting::Octets {
            return;
        }
        let echo = stamps.filter(|_| cx.options.timestamps).map_or(0, |stamps| stamps.echo);
        let new = core::mem::replace(&mut self.space.echo, echo) != echo && len >= self.usual_segment(cx);
        if len == 0 {
            return;
        }
        // What an application leaves unread may have come late because of that (tcp_rcv_rtt_update()).
        let has_read = self.buffer.readable() == 0 && !self.is_reader_behind(now);
        let by_stamps = elapsed_since(now, echo).filter(|&rtt| new && rtt > Span::ZERO);
        let (next, right) = (self.buffer.next(), self.advertised);
        let space = &mut self.space;
        if let Some(rtt) = by_stamps {
            space.take_round_trip(rtt, has_read);
        }
        match space.window {
            Some((end, _)) if next < end => {}
            Some((_, since)) => {
                space.take_round_trip(now - since, false);
                space.window = Some((right, now));
            }
            None => space.window = Some((right, now)),
        }
    }

    /// The handshake is over: measuring begins (tcp_init_buffer_space()).
    pub(crate) fn begin_space(&mut self, cx: &Shared, now: Time) {
        let segment = u32::from(cx.config.mss).saturating_sub(cx.options_len());
        self.space.memory.begin(now);
        self.space.memory.expect(&cx.config, segment);
    }

    /// When the measuring of what the application takes began, or began anew.
    pub(crate) const fn measured_since(&self) -> Time {
        self.space.memory.since()
    }

    /// Lets the memory grow with what the application takes in a round trip, so that the sender's window may double
    /// (tcp_rcv_space_adjust()). It is about to read a segment that ends before the octet `first`, and what is here behind it; `waiting` octets it had
    /// left before. An owner takes what is here, and says by how much it grows.
    pub(super) fn adjust_receive_space(&mut self, cx: &Shared, now: Time, first: u64, waiting: u64) {
        if cx.owned.is_some() {
            return;
        }
        let (next, rtt) = (self.buffer.next(), self.space.rtt);
        if let Some(taken) = self.space.memory.measure(now, rtt, first..next, waiting) {
            self.follow_reader(cx, taken);
        }
    }

    /// The application has taken so much in a round trip: more than ever.
    pub(crate) fn follow_reader(&mut self, cx: &Shared, taken: u64) {
        let (beyond, packets) = (self.buffer.beyond(), self.packets(cx));
        self.space.memory.follow(taken, beyond, packets.share_of_data());
    }

    /// Data has come beyond a gap: the memory grows with how far that is.
    pub(super) fn grow_memory_beyond_gap(&mut self, cx: &Shared) {
        let (beyond, packets) = (self.buffer.beyond(), self.packets(cx));
        self.space.memory.span(beyond, packets);
    }

    /// The application made room: tells the peer if that opens the window by enough (RFC 9293 section
    /// 3.8.6.2.2; two segments or half the buffer, one segment if the window was closed).
    ///
    /// Linux tells only when the window has at least doubled (tcp_cleanup_rbuf()).
    pub(super) fn announce_room(&mut self, cx: &Shared) {
        if cx.owned.is_some() {
            // Who announces the window knows when.
            return;
        }
        let (edge, next) = (self.window_edge(cx, cx.options.rcv_shift), self.nxt());
        if cx.config.receive_accounting == ReceiveAccounting::Memory {
            let announced = self.advertised.saturating_sub(next);
            let before = self.window_unread.map_or(announced, u64::from);
            let now = edge.saturating_sub(next);
            let worth = now > 0 && now >= 2 * before && 2 * before <= u64::from(self.buffer.capacity());
            if worth && cx.is_synchronised() && !self.fin_taken {
                // An acknowledgment from before the application read comes first.
                self.ack_again = self.window_unread.is_some();
                self.ack_now = true;
            }
            return;
        }
        let gained = edge.saturating_sub(self.advertised);
        let segment = u64::from(self.full_size.max(1));
        let closed = self.advertised <= self.nxt();
        let worth = if closed { segment } else { 2 * segment };
        if cx.is_synchronised()
            && gained >= worth.min(u64::from(self.buffer.capacity()) / 2)
            && !self.fin_taken
        {
            self.ack_now = true;
        }
    }

    /// The right edge that can be announced: never to the left of an earlier one, and moved only by a
    /// segment or half the buffer (silly window syndrome avoidance, RFC 9293 section 3.8.6.2.2); `shift` is that of the segment.
    pub(super) fn window_edge(&self, cx: &Shared, shift: u8) -> u64 {
        let capacity = self.buffer.capacity();
        let (room, step) = if cx.config.receive_accounting == ReceiveAccounting::Octets {
            (self.buffer.room(), (capacity / 2).min(u32::from(cx.config.mss)))
        } else {
            let step =
                if shift > 0 { 0 } else { (capacity / 2).min(u32::from(cx.config.mss)).min(self.full_size) };
            (self.select_window(cx, self.buffer.held(), shift), step)
        };
        let edge = self.buffer.next() + u64::from(room.min(MAX_UNSCALED_WINDOW << shift));
        if edge < self.advertised + u64::from(step) { self.advertised } else { edge }
    }

    /// What a gap is filled with waits for the application while it is acknowledged: so Linux does, whatever the application makes of
    /// it then.
    pub(super) fn acknowledge_before_reading(&mut self, cx: &Shared) {
        if cx.config.receive_accounting == ReceiveAccounting::Memory && cx.owned.is_none() {
            let window = self.window_edge(cx, cx.options.rcv_shift).saturating_sub(self.nxt());
            // At most what a scaled window can tell.
            self.window_unread = Some(window as u32);
        }
        self.ack_before_data(cx);
    }

    /// The window beside so many octets that are held, where packets take memory; also those beyond a gap do, though they lie within the window
    /// (__tcp_select_window()). It is of whole segments, or where it is scaled all there is, rounded up; or down where more than half is taken.
    fn select_window(&self, cx: &Shared, held: u64, shift: u8) -> u32 {
        let (unit, segment, capacity) = (1 << shift, self.full_size.max(1), self.buffer.capacity());
        let mut room = capacity;
        if held > 0 {
            room = self.room_beside(cx, held);
            let whole = self.room_beside(cx, 0);
            if room < whole / 2 {
                room -= room % unit;
                if room < self.full_size || room < whole / 16 {
                    return 0;
                }
            }
            room = room.min(capacity);
        }
        if shift > 0 { room.next_multiple_of(unit) } else { room - room % segment.min(capacity) }
    }

    /// Whether more than half of the memory is taken: then Linux is in no hurry to acknowledge (__tcp_select_window()).
    pub(super) fn is_short_of_memory(&self, cx: &Shared) -> bool {
        let held = self.buffer.held();
        held > 0
            && cx.config.receive_accounting == ReceiveAccounting::Memory
            && self.room_beside(cx, held) < self.room_beside(cx, 0) / 2
    }

    /// Whether the window's right edge would move as far as what came, were it announced while so much is unread: else Linux leaves
    /// acknowledging to the reader (__tcp_ack_snd_check()).
    pub(super) fn window_moves(&self, cx: &Shared, unread: u64) -> bool {
        // An owner has read before this is asked (`copied_seq` in __tcp_ack_snd_check()).
        if cx.config.receive_accounting == ReceiveAccounting::Octets || cx.owned.is_some() {
            return true;
        }
        let announced = self.advertised.saturating_sub(self.last_ack_sent);
        u64::from(self.select_window(cx, unread, cx.options.rcv_shift)) >= announced
    }

    /// Lets the window grow by two segments, towards what full ones have shown that there is room for beside so many octets
    /// (tcp_grow_window()).
    pub(super) fn grow_receive_buffer(&mut self, cx: &Shared, beside: u64) {
        if cx.config.receive_accounting == ReceiveAccounting::Octets {
            return;
        }
        let segment = self.full_size;
        let limit = MAX_UNSCALED_WINDOW << cx.options.rcv_shift;
        let most = self.room_beside(cx, beside).min(limit);
        let capacity = self.buffer.capacity();
        if capacity < most {
            self.buffer.grow(capacity.saturating_add(2 * segment).min(most));
            self.acknowledge_growth(cx);
        }
    }

    /// Octets for which memory has room beside so many, which came in full segments (tcp_space()).
    fn room_beside(&self, cx: &Shared, held: u64) -> u32 {
        let packets = self.packets(cx);
        self.space.memory.room(held, packets, packets.share_of_data())
    }

    /// What full segments come in.
    pub(crate) fn packets(&self, cx: &Shared) -> Packets {
        Packets { segment: self.full_size.max(1), headers: HEADERS + cx.options_len() }
    }
}

/// IP's and TCP's headers without options.
const HEADERS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::{Config, Receiver, Shared, Space};
    use crate::config::Profile;
    use crate::connection::State;
    use crate::receiver::memory::{FIRST_MEMORY, Packets, ReceiveMemory};
    use alloc::sync::Arc;
    use voxpath_units::{Span, Time};
    use voxpath_wire::Payload;

    /// An end whose application reads at once.
    struct Reader {
        end: Receiver,
        shared: Shared,
        taken: u64,
    }

    impl Reader {
        fn new(config: Config) -> Self {
            let mut end = Receiver::new(&config);
            end.space.rtt = Some(Span::from_millis(50));
            let mut shared = Shared::new(Arc::new(config), State::Established);
            (end.full_size, shared.options.timestamps) = (1448, true);
            Self { end, shared, taken: 0 }
        }

        /// So many segments arrive.
        fn take(&mut self, segments: u32) {
            let len = segments * 1448;
            self.end.buffer.insert(1 + self.taken, &Payload::pattern(0, self.taken, len));
            self.taken += u64::from(self.end.buffer.read(len).len());
        }

        /// The memory after round trips that brought so many segments.
        fn memory_after(mut self, rounds: &[u32]) -> u32 {
            for (round, &segments) in (1..).zip(rounds) {
                self.end.adjust_receive_space(
                    &self.shared,
                    Time::ZERO + Span::from_millis(60) * round,
                    self.end.nxt(),
                    0,
                );
                self.take(segments);
            }
            self.end.adjust_receive_space(&self.shared, Time::ZERO + Span::from_secs(10), self.end.nxt(), 0);
            self.end.space.memory.size()
        }
    }

    #[test]
    fn memory_grows_with_what_the_application_takes_in_a_round_trip() {
        let linux = || Reader::new(Profile::Linux.config());
        // Ten segments are what it expects.
        assert_eq!(linux().memory_after(&[10, 10, 10]), FIRST_MEMORY);
        // 28960 octets after 14600: twice that, and twice as much more as it grew by; 160 of 256 shares are data.
        let window = 57_920 + 57_920 * (28_960 - 14_600) / 14_600 * 2;
        assert_eq!(u64::from(linux().memory_after(&[10, 20])), window * 256 / 160);
        assert_eq!(
            linux().memory_after(&[10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120]),
            32 << 20,
            "tcp_rmem's maximum"
        );
        let fixed = Config { receive_autotuning: false, receive_buffer: 65_536, ..Profile::Linux.config() };
        assert_eq!(Reader::new(fixed).memory_after(&[10, 20, 40, 80]), FIRST_MEMORY);
    }

    #[test]
    fn a_receiver_sees_a_queue_grow() {
        let mut space = Space::new(&Profile::Linux.config());
        let ms = Span::from_millis;
        space.take_round_trip(ms(20), true);
        space.take_round_trip(ms(100), true);
        assert_eq!(space.rtt, Some(ms(30)));
        // A window may take long because the sender has nothing to say.
        space.take_round_trip(ms(500), false);
        assert_eq!(space.rtt, Some(ms(30)));
        space.take_round_trip(ms(10), false);
        assert_eq!(space.rtt, Some(ms(10)));
    }

    #[test]
    fn a_scaled_window_in_memory_moves_with_each_segment() {
        // __tcp_select_window(): less than the MSS of 1460, for which RFC 9293 section 3.8.6.2.2 would wait.
        let edge = |config| {
            let mut reader = Reader::new(config);
            reader.end.advertised = reader.end.window_edge(&reader.shared, 0);
            reader.take(1);
            reader.end.window_edge(&reader.shared, 0) - reader.end.advertised
        };
        let linux = edge(Profile::Linux.config());
        assert!((1448 - 128..1448 + 128).contains(&linux), "{linux}");
        assert_eq!(edge(Profile::Rfc.config()), 0);
    }

    #[test]
    fn windows_grow_to_what_the_kernel_announced() {
        // Linux 6.18 over TUN: SO_RCVBUF, segment, headers, and the window in the end, which is of whole segments.
        for (buffer, segment, headers, window) in [
            (8760, 1448, 52, 8688),
            (12_000, 1448, 52, 13_032),
            (20_000, 1448, 52, 23_168),
            (31_250, 1448, 52, 36_200),
            (46_875, 1448, 52, 56_472),
            (46_875, 1460, 40, 56_940),
        ] {
            let config =
                Config { receive_autotuning: false, receive_buffer: buffer, ..Profile::Linux.config() };
            let packets = Packets { segment, headers };
            let room = ReceiveMemory::new(&config).room(1, packets, packets.share_of_data()).max(buffer);
            assert_eq!(room / segment * segment, window, "{buffer} octets");
        }
    }
}
