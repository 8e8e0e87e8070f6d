//! Segment arrival (RFC 9293 section 3.10.7), with the checks of RFC 5961 and RFC 7323.

use super::recovery::{Acknowledged, Phase};
use super::{Connection, Ended, State};
use crate::cc::{RateSample, Sample};
use crate::sent::Delivered;
use crate::shared::{elapsed_since, timestamp};
use crate::unwrap_offset;
use alloc::boxed::Box;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlocks, TcpFlags, TcpHeader, Timestamps};

impl Connection {
    /// Takes a segment of this connection in.
    pub fn handle_segment(&mut self, now: Time, header: &TcpHeader, payload: &Payload) {
        self.shared.counters.segments_received += 1;
        self.note_heard(now);
        match self.shared.state {
            State::Closed => self.snd.reset = reset_for(header, payload).map(Box::new),
            State::SynSent => self.arrive_in_syn_sent(now, header),
            _ => self.arrive(now, header, payload),
        }
    }

    /// Section 3.10.7.3.
    fn arrive_in_syn_sent(&mut self, now: Time, header: &TcpHeader) {
        let flags = header.flags;
        let acks_syn = flags.contains(TcpFlags::ACK) && header.ack == self.seq(1) && self.snd.nxt == 1;
        if flags.contains(TcpFlags::ACK) && !acks_syn {
            self.snd.reset = reset_for(header, &Payload::Empty).map(Box::new);
            return;
        }
        if flags.contains(TcpFlags::RST) {
            if acks_syn {
                self.end(Ended::Refused);
            }
            return;
        }
        if !flags.contains(TcpFlags::SYN) {
            return;
        }
        self.take_syn(header);
        if acks_syn {
            self.rcv.ack_before_data(&self.shared);
            self.establish(now, header);
        } else {
            // Both ends opened at once: answer with a SYN that acknowledges theirs.
            self.shared.state = State::SynReceived;
            self.snd.syn_pending = true;
        }
    }

    /// Takes the peer's SYN and its options in.
    pub(super) fn take_syn(&mut self, header: &TcpHeader) {
        self.take_ecn_setup(header.flags);
        self.shared.options.take_syn(&header.options);
        self.rcv.take_syn(&self.shared, header);
        self.set_window(header, 0, 0);
    }

    /// The handshake is over: sizes the window by what both ends agreed on.
    fn establish(&mut self, now: Time, header: &TcpHeader) {
        self.shared.state = State::Established;
        self.note_heard(now);
        self.snd.syn_pending = false;
        let syn_losses = self.timers.expiries;
        self.acknowledge(now, self.snd.una.max(1), header, &mut Delivered::default(), 0);
        self.timers.retransmit = None;
        self.timers.expiries = 0;
        if self.shared.options.sack && self.shared.config.rack {
            self.scoreboard.see_losses_by_time();
        }
        let smss = u64::from(self.smss());
        let whole = syn_losses <= self.shared.config.tolerated_syn_losses;
        let segments = if whole { self.shared.config.initial_window } else { 1 };
        self.window.smss = smss;
        self.window.cwnd = smss * u64::from(segments);
        if syn_losses > 0 {
            self.shared.rtt.after_syn_timeout();
        }
    }

    /// Section 3.10.7.4.
    fn arrive(&mut self, now: Time, header: &TcpHeader, payload: &Payload) {
        let Some(start) = self.rcv.offset(header.seq) else {
            self.refuse(now, header, payload);
            return;
        };
        let flags = header.flags;
        let syn = u64::from(flags.contains(TcpFlags::SYN));
        let end = start + syn + u64::from(payload.len()) + u64::from(flags.contains(TcpFlags::FIN));

        if self.shared.state == State::SynReceived
            && start == 0
            && flags.contains(TcpFlags::SYN | TcpFlags::ACK)
        {
            // Both ends opened at once: section 3.10.7.4 would refuse the peer's repeated SYN, and with it the
            // acknowledgment that it carries.
            self.arrive_in_syn_received(now, header, start);
            if self.shared.state == State::Established {
                self.rcv.ack_at_once();
            }
            return;
        }
        if flags.contains(TcpFlags::RST) {
            self.arrive_reset(now, start);
            return;
        }
        let out_of_time = self.rcv.is_old_duplicate(&self.shared, now, header);
        if out_of_time || !self.rcv.is_acceptable(start, end) {
            self.refuse(now, header, payload);
            if !out_of_time && end <= self.rcv.nxt() {
                self.take_late_ack(now, header, start);
            }
            return;
        }
        if flags.contains(TcpFlags::SYN) {
            // RFC 5961 section 4.2
            self.rcv.challenge(now);
            return;
        }
        if !flags.contains(TcpFlags::ACK) {
            return;
        }
        self.rcv.take_timestamp(now, header, start);
        if self.rcv.take_ecn(&self.shared, flags, !payload.is_empty()) {
            self.shared.counters.marked += 1;
        }
        if self.shared.state == State::SynReceived {
            self.arrive_in_syn_received(now, header, start);
            if self.shared.state != State::Established {
                return;
            }
        } else if !self.arrive_ack(now, header, start, payload) {
            return;
        }
        self.rcv.measure_rtt(&self.shared, now, header.options.timestamps, payload.len());
        self.arrive_text(now, start, payload, flags.contains(TcpFlags::PSH));
        if flags.contains(TcpFlags::FIN) {
            self.rcv.note_fin(end);
        }
        self.take_fin(now);
    }

    /// Section 3.10.7.4, second check, as RFC 5961 section 3.2 has it: only the exact number resets, any other in
    /// the window is challenged.
    fn arrive_reset(&mut self, now: Time, start: u64) {
        if start == self.rcv.nxt() {
            let refused = self.shared.state == State::SynReceived;
            self.end(if refused { Ended::Refused } else { Ended::Reset });
        } else if (self.rcv.nxt()..self.rcv.right_edge()).contains(&start) {
            self.rcv.challenge(now);
        }
    }

    /// A segment from before the window may bring an acknowledgment that nothing else will: two ends that have each taken the
    /// other's probe of a closed window do not know it, so that both go on to speak from before the other's window
    /// (4.4BSD's tcp_input() takes it, too).
    fn take_late_ack(&mut self, now: Time, header: &TcpHeader, start: u64) {
        let says = header.flags.contains(TcpFlags::ACK) && !header.flags.contains(TcpFlags::SYN);
        let ack = unwrap_offset(header.ack, self.snd.iss, self.snd.una);
        if self.shared.is_synchronised() && says && ack.is_some_and(|ack| ack > self.snd.una) {
            self.arrive_ack(now, header, start, &Payload::Empty);
        }
    }

    /// An unacceptable segment is answered with the state of things, unless it is a reset.
    fn refuse(&mut self, now: Time, header: &TcpHeader, payload: &Payload) {
        if header.flags.contains(TcpFlags::RST) {
            return;
        }
        if header.flags.contains(TcpFlags::SYN) && self.shared.state == State::SynReceived {
            // The peer has not seen our SYN|ACK; or its SYN is not the one that we have taken, and ours looks as wrong to it.
            self.snd.syn_pending |= self.rcv.may_challenge(now);
            return;
        }
        if payload.is_empty() && !header.flags.contains(TcpFlags::FIN) {
            self.rcv.challenge(now);
            return;
        }
        self.rcv.answer_refused(&self.shared, self.rcv.offset(header.seq), payload.len());
        if self.shared.state == State::TimeWait && header.flags.contains(TcpFlags::FIN) {
            // RFC 9293 section 3.10.7.4: our last acknowledgment was lost; the wait starts over.
            self.enter_time_wait(now);
        }
    }

    fn arrive_in_syn_received(&mut self, now: Time, header: &TcpHeader, start: u64) {
        if !header.flags.contains(TcpFlags::ACK) {
            return;
        }
        if header.ack != self.seq(1) || self.snd.nxt == 0 {
            self.snd.reset = reset_for(header, &Payload::Empty).map(Box::new);
            return;
        }
        self.set_window(header, start, 1);
        self.establish(now, header);
    }

    /// Section 3.10.7.4, fifth check; whether the segment is still worth looking at.
    fn arrive_ack(&mut self, now: Time, header: &TcpHeader, start: u64, payload: &Payload) -> bool {
        // RFC 5961 section 5.2: neither what was never sent, nor what no segment of a window ago can mean.
        let plausible = self.snd.una.saturating_sub(self.snd.max_wnd)..=self.snd.nxt;
        let Some(ack) =
            unwrap_offset(header.ack, self.snd.iss, self.snd.una).filter(|ack| plausible.contains(ack))
        else {
            self.rcv.challenge(now);
            return false;
        };
        let echo = header.options.timestamps.filter(|_| self.shared.options.timestamps);
        let highest = self.scoreboard.sacked().as_slice().last().map_or(self.snd.una, |range| range.end);
        let mut delivered = Delivered::default();
        self.recovery.newly_lost = false;
        let una = self.snd.una;
        let (prior_in_flight, lost_before) =
            if self.by_rate() { (self.pipe(), self.scoreboard.lost()) } else { (0, 0) };
        self.note_usage();
        let duplicate_told = self.take_dsack(&header.options.sack, ack);
        let newly_sacked = self.take_sack(&header.options.sack, &mut delivered);
        delivered.octets = newly_sacked;
        let window_before = self.snd.wnd;
        if ack >= self.snd.una {
            self.update_window(now, header, start, ack);
        }
        let plain =
            payload.is_empty() && !header.flags.contains(TcpFlags::FIN) && self.snd.wnd == window_before;
        // First: an acknowledgment with an echo lets the window grow no more (RFC 3168 section 6.1.2).
        self.take_echo(now, header.flags);
        if ack > self.snd.una {
            self.acknowledge(now, ack, header, &mut delivered, highest);
        } else if ack == self.snd.una && self.flight() > 0 && self.snd.wnd > 0 {
            // RFC 5681 section 2's definition of a duplicate; RFC 6675 counts new SACK information. The answers to
            // probes of a closed window look alike, but tell of no loss.
            if newly_sacked > 0 || (plain && !self.shared.options.sack) {
                if newly_sacked > 0 {
                    let rtt = delivered.sack_rtt(now);
                    if let Some(rtt) = rtt.filter(|_| self.shared.rtt.follows_linux()) {
                        self.shared.rtt.sample(rtt, self.snd.una, self.snd.nxt);
                    }
                    self.take_delivered(now, &delivered, highest, None);
                }
                let ack =
                    Acknowledged { now, advanced: false, octets: 0, prior: una, delivered: &delivered, echo };
                delivered.octets += self.on_duplicate_ack(&ack, newly_sacked);
                if delivered.is_older_than(self.sent.first_sent()) && self.extends_timer() {
                    self.restart_retransmit_timer(now);
                }
            }
        }
        self.control_by_rate(now, &delivered, prior_in_flight, lost_before);
        self.finish_ack(now, ack, una, &delivered, duplicate_told, plain && newly_sacked == 0);
        if self.snd.wnd == 0 && self.flight() > 0 {
            // Also where the peer drew its window back: as long as it answers probes, the connection must not time
            // out (RFC 9293 section 3.8.6.1).
            self.timers.retransmit = None;
            self.ensure_persist_timer(now);
        }
        true
    }

    /// What an acknowledgment leads to once all of it was taken in: undoing, the window's reduction, the loss probe.
    fn finish_ack(
        &mut self,
        now: Time,
        ack: u64,
        una: u64,
        delivered: &Delivered,
        duplicate_told: bool,
        plain: bool,
    ) {
        let advanced = self.snd.una > una;
        if duplicate_told && self.recovery.phase() != Phase::Loss && self.may_undo(None) {
            self.take_back(now);
        }
        if self.has_probe_repaired(ack, duplicate_told, plain && !advanced)
            && self.recovery.phase() == Phase::Open
            && !self.by_rate()
        {
            // RFC 8985 section 7.4.2: a loss that the probe repaired was a loss.
            self.reduce_ssthresh(now, self.flight());
            self.window.cwnd = self.window.ssthresh;
        }
        if self.shared.config.prr
            && !self.by_rate()
            && matches!(self.recovery.phase(), Phase::Recovery | Phase::Reduction)
        {
            let safe = advanced && !self.recovery.newly_lost;
            self.reduce_in_proportion(delivered.charged(), safe);
        }
        if advanced {
            self.schedule_loss_probe(now);
        }
    }

    /// Lets a congestion control that goes by the rate of delivery set the window.
    fn control_by_rate(&mut self, now: Time, delivered: &Delivered, prior_in_flight: u64, lost_before: u64) {
        let Some(rate) = &mut self.rate else { return };
        let rtt = delivered.latest_rtt(now);
        let measured = rate.measure(now, delivered, rtt);
        let sample = RateSample {
            now,
            total_delivered: rate.delivered(),
            prior_delivered: measured.prior_delivered,
            delivered: measured.delivered,
            interval: measured.interval,
            app_limited: measured.app_limited,
            acked: delivered.charged(),
            lost: self.scoreboard.lost().saturating_sub(lost_before),
            prior_in_flight,
            in_flight: self.pipe(),
            rtt,
            srtt: self.shared.rtt.srtt(),
            in_recovery: matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss),
        };
        self.cc.cong_control(&sample, &mut self.window);
    }

    /// RFC 8985 section 6.2, steps 1 to 3, and the round-trip time for congestion control.
    fn take_delivered(&mut self, now: Time, delivered: &Delivered, highest: u64, echo: Option<Timestamps>) {
        let rtt = delivered.latest_rtt(now);
        if let Some(rtt) = rtt {
            self.rack.sample(rtt);
        }
        if self.shared.config.rack {
            if let Some(lowest) = delivered.lowest_original.filter(|&lowest| lowest < highest) {
                self.note_reordering(lowest);
            }
            // tcp_skb_spurious_retrans()
            let is_original = |at| {
                echo.is_some_and(|stamps| {
                    stamps.echo != 0 && stamps.echo.wrapping_sub(timestamp(at)).cast_signed() < 0
                })
            };
            self.rack.advance(now, delivered, is_original);
        }
        let sample = Sample { now, rtt, una: self.snd.una, nxt: self.snd.nxt };
        self.cc.pkts_acked(&sample, &mut self.window);
    }

    /// An original has arrived that begins at `lowest`, after what was sent later (tcp_check_sack_reordering()).
    pub(super) fn note_reordering(&mut self, lowest: u64) {
        let sacked = self.scoreboard.sacked().as_slice().last().filter(|range| range.end > self.snd.una);
        let highest = sacked.map_or(self.snd.una, |range| range.end.saturating_sub(self.window.smss));
        let reach = highest.saturating_sub(lowest).div_ceil(self.window.smss);
        self.rack
            .saw_reordering(u32::try_from(reach).unwrap_or(u32::MAX).min(self.shared.config.max_reordering));
    }

    /// RFC 2883 section 4: the first block reports a duplicate if it lies below the acknowledgment or inside the second one.
    fn take_dsack(&mut self, blocks: &SackBlocks, ack: u64) -> bool {
        let Some((first, rest)) = blocks.as_slice().split_first().filter(|_| self.shared.options.sack) else {
            return false;
        };
        let offset = |seq| unwrap_offset(seq, self.snd.iss, self.snd.una);
        let (Some(left), Some(right)) = (offset(first.left), offset(first.right)) else { return false };
        let inside = rest.first().is_some_and(|second| {
            offset(second.left).is_some_and(|start| start <= left)
                && offset(second.right).is_some_and(|end| right <= end)
        });
        // Duplicates of what was never sent are lies.
        let duplicate = left < right && right <= self.snd.nxt && (right <= ack || inside);
        if duplicate {
            self.on_dsack(right - left, right);
        }
        duplicate
    }

    /// Takes SACK blocks in; octets that are newly SACKed.
    fn take_sack(&mut self, blocks: &SackBlocks, delivered: &mut Delivered) -> u64 {
        if !self.shared.options.sack {
            return 0;
        }
        let before = self.scoreboard.sacked().octets();
        let mut ranges = [0..0, 0..0, 0..0, 0..0];
        for (range, block) in ranges.iter_mut().zip(blocks.as_slice()) {
            let left = unwrap_offset(block.left, self.snd.iss, self.snd.una);
            let right = unwrap_offset(block.right, self.snd.iss, self.snd.una);
            // What lies outside of the flight is a duplicate's report, old, or nonsense.
            if let (Some(left), Some(right)) = (left, right)
                && self.snd.una < left
                && right <= self.snd.nxt
            {
                *range = left..right;
            }
        }
        // In the order of octets, as Linux does: which one is the last to be delivered tells the round-trip time.
        ranges.sort_unstable_by_key(|range| range.start);
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            let mut from = range.start;
            while let Some(gap) = self.scoreboard.sacked().first_gap(from, range.end) {
                from = gap.end;
                self.scoreboard.sack(gap.clone());
                self.sent.sack(gap, self.scoreboard.sacked(), delivered);
            }
        }
        self.scoreboard.sacked().octets() - before
    }

    /// Takes the announced window from this segment unless it is an older one (section 3.10.7.4, WL1 and WL2). One that
    /// acknowledges something new never is, though it may repeat old data and so be below WL1 (Linux'
    /// tcp_may_update_window()): without its window SND.WND would count from the wrong octet.
    fn update_window(&mut self, now: Time, header: &TcpHeader, start: u64, ack: u64) {
        let newer =
            ack > self.snd.una || self.snd.wl1 < start || (self.snd.wl1 == start && self.snd.wl2 <= ack);
        if !newer {
            return;
        }
        let was_closed = self.snd.wnd == 0;
        self.set_window(header, start, ack);
        if self.snd.wnd > 0 && was_closed {
            let probed = core::mem::take(&mut self.timers.probes) > 0;
            self.timers.persist = None;
            if self.flight() > 0 && ack == self.snd.una {
                // What probed the closed window was not taken: send it again, with what may follow.
                self.lose_refused();
                if probed && self.sent.len() == 1 {
                    // Else nothing is outstanding: a probe is no data to Linux (tcp_ack_update_window()).
                    self.restart_after_silence(now);
                }
                self.restart_retransmit_timer(now);
            }
        }
    }

    fn set_window(&mut self, header: &TcpHeader, start: u64, ack: u64) {
        // The window of a SYN is never scaled (RFC 7323 section 2.2), nor is that of a SYN|ACK.
        let shift = if header.flags.contains(TcpFlags::SYN) { 0 } else { self.shared.options.snd_shift };
        self.snd.wnd = u64::from(header.window) << shift;
        self.snd.max_wnd = self.snd.max_wnd.max(self.snd.wnd);
        (self.snd.wl1, self.snd.wl2) = (start, ack);
    }

    /// SND.UNA advances to `ack`.
    fn acknowledge(
        &mut self,
        now: Time,
        ack: u64,
        header: &TcpHeader,
        delivered: &mut Delivered,
        highest: u64,
    ) {
        let prior = self.snd.una;
        let octets = ack - prior;
        let echo = header.options.timestamps.filter(|_| self.shared.options.timestamps);
        self.sent.acknowledge(ack, delivered);
        let timed = delivered.rtt(now);
        // A timestamp tells which copy was answered, but counts milliseconds: it serves where Karn's rule
        // leaves nothing better (RFC 7323 section 4.1).
        let echoed = || echo.and_then(|stamps| elapsed_since(now, stamps.echo));
        let measured = if self.shared.rtt.follows_linux() {
            delivered.longest_rtt(now).or_else(|| delivered.sack_rtt(now))
        } else {
            timed
        };
        if let Some(rtt) = measured.or_else(echoed) {
            self.shared.rtt.sample(rtt, ack, self.snd.nxt);
        }

        let was_synchronised = self.snd.una > 0;
        // What had been SACKed left the network before: it does not clock the window now.
        let octets = octets - self.scoreboard.sacked_octets(self.snd.una, ack);
        let newly_sacked = core::mem::take(&mut delivered.octets);
        self.snd.una = ack;
        self.take_delivered(now, delivered, highest, echo);
        let data_end = self.snd.buffer.end();
        let data_before = self.shared.counters.octets_acknowledged;
        self.shared.counters.octets_acknowledged = ack.min(data_end) - 1;
        self.snd.buffer.acknowledge(ack.min(data_end));
        self.scoreboard.acknowledge(ack);
        // Progress: time-outs and probes in a row are counted afresh.
        (self.timers.expiries, self.timers.probes, self.timers.persist) = (0, 0, None);
        if !was_synchronised {
            return;
        }
        if self.flight() == 0 {
            // RFC 6298 (5.2)
            self.timers.retransmit = None;
            self.timers.reordering = None;
            self.probe.due = false;
            self.timers.user = None;
        } else if self.new_ack_restarts_timer() {
            // (5.3)
            self.restart_retransmit_timer(now);
        }
        self.restart_user_timeout(now);
        let octets = octets.min(self.shared.counters.octets_acknowledged - data_before);
        delivered.octets = newly_sacked + self.uncount_duplicates(octets);
        let acknowledged = Acknowledged { now, advanced: true, octets, prior, delivered, echo };
        self.on_new_ack(&acknowledged);
        if self.snd.fin && ack == self.snd_end() {
            self.our_fin_is_acknowledged(now);
        }
    }

    fn our_fin_is_acknowledged(&mut self, now: Time) {
        match self.shared.state {
            State::FinWait1 => self.shared.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.end(Ended::Closed),
            _ => {}
        }
    }

    /// Section 3.10.7.4, seventh check.
    fn arrive_text(&mut self, now: Time, start: u64, payload: &Payload, pushed: bool) {
        if payload.is_empty() {
            return;
        }
        if !matches!(self.shared.state, State::Established | State::FinWait1 | State::FinWait2) {
            return;
        }
        let octets = self.rcv.take_data(&self.shared, now, start, payload, pushed);
        self.shared.counters.octets_received += octets;
    }

    /// Section 3.10.7.4, eighth check: takes the peer's FIN once everything before it has arrived.
    fn take_fin(&mut self, now: Time) {
        if !self.rcv.take_fin() {
            return;
        }
        match self.shared.state {
            State::SynReceived | State::Established => self.shared.state = State::CloseWait,
            State::FinWait1 => self.shared.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }
}

/// The reset that answers a segment for which there is no connection (section 3.10.7.1).
fn reset_for(header: &TcpHeader, payload: &Payload) -> Option<TcpHeader> {
    if header.flags.contains(TcpFlags::RST) {
        return None;
    }
    if header.flags.contains(TcpFlags::ACK) {
        return Some(TcpHeader { seq: header.ack, flags: TcpFlags::RST, ..TcpHeader::default() });
    }
    let occupies = |flag| u32::from(header.flags.contains(flag));
    let len = payload.len() + occupies(TcpFlags::SYN) + occupies(TcpFlags::FIN);
    let (ack, flags) = (header.seq.wrapping_add(len), TcpFlags::RST | TcpFlags::ACK);
    Some(TcpHeader { ack, flags, ..TcpHeader::default() })
}
