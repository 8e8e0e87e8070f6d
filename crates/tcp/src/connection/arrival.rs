//! Segment arrival (RFC 9293 section 3.10.7), with the checks of RFC 5961 and RFC 7323.

use super::{Connection, Ended, State};
use crate::recovery::{Acknowledged, Phase, SegmentAck};
use crate::sender::Delivered;
use crate::shared::{TICK, elapsed_since};
use alloc::boxed::Box;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{TcpFlags, TcpHeader};

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
        let acks_syn = flags.contains(TcpFlags::ACK) && header.ack == self.snd.seq(1) && self.snd.nxt == 1;
        if flags.contains(TcpFlags::ACK) && !acks_syn {
            self.snd.reset = reset_for(header, &Payload::Empty).map(Box::new);
            return;
        }
        if flags.contains(TcpFlags::RST) {
            if acks_syn {
                self.shared.note_received(header, 0, 0);
                self.end(Ended::Refused);
            }
            return;
        }
        if !flags.contains(TcpFlags::SYN) {
            return;
        }
        self.take_syn(header);
        self.shared.note_received(header, 0, 0);
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
        self.snd.set_window(&self.shared, header, 0, 0);
    }

    /// The handshake is over: sizes the window by what both ends agreed on.
    fn establish(&mut self, now: Time, header: &TcpHeader) {
        self.shared.state = State::Established;
        self.note_heard(now);
        self.rcv.begin_space(&self.shared, now);
        self.snd.syn_pending = false;
        let expiries = self.snd.timers.expiries;
        // As Linux counts them: once one was lost, what was repeated for the peer's repeated SYN was lost as well (`total_retrans`).
        let syn_losses = if expiries > 0 { self.shared.counters.retransmissions } else { 0 };
        self.acknowledge(now, self.snd.una.max(1), header, &mut Delivered::default(), 0);
        self.snd.establish(&self.shared, syn_losses);
        // It begins with the data; of the SYN's round trip it is told no more than that it was (tcp_init_transfer()).
        self.snd.init_congestion_control(now, self.shared.rtt.srtt());
        self.snd.size_space(&self.shared, &self.recovery);
        if expiries > 0 {
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
            self.arrive_reset(now, header, start);
            return;
        }
        let out_of_time = self.rcv.is_old_duplicate(&self.shared, now, header)
            && !(payload.is_empty() && self.is_disordered_ack(header, start));
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
        let ends_handshake = self.shared.state == State::SynReceived;
        if ends_handshake {
            self.arrive_in_syn_received(now, header, start);
            if self.shared.state != State::Established {
                return;
            }
        } else if !self.arrive_ack(now, header, start, payload) {
            return;
        }
        self.shared.note_received(header, start, payload.len());
        let stamps = header.options.timestamps.filter(|_| !ends_handshake);
        self.rcv.measure_rtt(&self.shared, now, stamps, payload.len());
        if !payload.is_empty() {
            self.arrive_text(now, start, payload, flags.contains(TcpFlags::PSH));
        }
        if flags.contains(TcpFlags::FIN) {
            self.rcv.note_fin(end);
        }
        self.take_fin(now);
    }

    /// Whether an acknowledgment without data only repeats another, so that it may be older than PAWS allows: packets overtake each other, and what it
    /// reports selectively is worth knowing (tcp_disordered_ack_check()).
    fn is_disordered_ack(&self, header: &TcpHeader, start: u64) -> bool {
        let flags = header.flags;
        let window = u64::from(header.window) << self.shared.options.snd_shift;
        self.shared.rtt.follows_linux()
            && self.shared.is_synchronised()
            && flags.contains(TcpFlags::ACK)
            && !(flags.contains(TcpFlags::SYN) || flags.contains(TcpFlags::FIN))
            && start == self.rcv.nxt()
            && self.snd.offset(header.ack) == Some(self.snd.una)
            && (1..=self.snd.wnd).contains(&window)
            && self.rcv.is_older_by_at_most(header, self.shared.rtt.rto() * 6 / 5)
    }

    /// Section 3.10.7.4, second check, as RFC 5961 section 3.2 has it: only the exact number resets, any other in
    /// the window is challenged.
    fn arrive_reset(&mut self, now: Time, header: &TcpHeader, start: u64) {
        if start == self.rcv.nxt() {
            self.shared.note_received(header, start, 0);
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
        let ack = self.snd.offset(header.ack);
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
        if header.ack != self.snd.seq(1) || self.snd.nxt == 0 {
            self.snd.reset = reset_for(header, &Payload::Empty).map(Box::new);
            return;
        }
        self.snd.set_window(&self.shared, header, start, 1);
        self.establish(now, header);
        self.snd.accept();
    }

    /// Section 3.10.7.4, fifth check; whether the segment is still worth looking at.
    fn arrive_ack(&mut self, now: Time, header: &TcpHeader, start: u64, payload: &Payload) -> bool {
        // RFC 5961 section 5.2: neither what was never sent, nor what no segment of a window ago can mean.
        let plausible = self.snd.una.saturating_sub(u64::from(self.snd.max_wnd))..=self.snd.nxt;
        let Some(ack) = self.snd.offset(header.ack).filter(|ack| plausible.contains(ack)) else {
            self.rcv.challenge(now);
            return false;
        };
        let echo = header.options.timestamps.filter(|_| self.shared.options.timestamps);
        let highest = self.snd.scoreboard.sacked().as_slice().last().map_or(self.snd.una, |range| range.end);
        let mut delivered = Delivered::default();
        self.recovery.begin_ack();
        let una = self.snd.una;
        // Where nothing is outstanding an acknowledgment says nothing of the rate (tcp_ack() looks no further then).
        let before = (self.snd.by_rate() && self.snd.flight() > 0)
            .then(|| (self.recovery.pipe(&self.shared, &self.snd), self.snd.scoreboard.lost_ever()));
        self.snd.validate_cwnd(&self.shared, &self.recovery);
        self.snd.end_push();
        let dsack = self.recovery.take_dsack(&self.shared, &self.snd, &header.options.sack, ack);
        let newly_sacked = self.snd.take_sack(&self.shared, &header.options.sack, &mut delivered);
        delivered.octets = newly_sacked;
        let window_before = self.snd.wnd;
        if ack >= self.snd.una {
            self.update_window(now, header, start, ack);
        }
        let plain =
            payload.is_empty() && !header.flags.contains(TcpFlags::FIN) && self.snd.wnd == window_before;
        // First: an acknowledgment with an echo lets the window grow no more (RFC 3168 section 6.1.2).
        self.recovery.take_echo(&self.shared, &mut self.snd, now, header.flags);
        if ack > self.snd.una {
            self.acknowledge(now, ack, header, &mut delivered, highest);
        } else if ack == self.snd.una && self.snd.flight() > 0 && self.snd.wnd > 0 {
            // RFC 5681 section 2's definition of a duplicate; RFC 6675 counts new SACK information. The answers to
            // probes of a closed window look alike, but tell of no loss.
            if newly_sacked > 0 || (plain && !self.shared.options.sack) {
                if newly_sacked > 0 {
                    let rtt = delivered.sack_rtt(now);
                    if let Some(rtt) = rtt.filter(|_| self.shared.rtt.follows_linux()) {
                        self.shared.rtt.sample(rtt, self.snd.una, self.snd.nxt);
                    }
                    self.recovery.take_delivered(&self.shared, &mut self.snd, now, &delivered, highest, None);
                    self.snd.measure(now, &delivered);
                }
                let ack = Acknowledged {
                    now,
                    advanced: false,
                    octets: 0,
                    prior: una,
                    delivered: &delivered,
                    max_payload: self.max_payload_after_timeout(),
                    echo,
                };
                delivered.octets +=
                    self.recovery.on_duplicate_ack(&mut self.shared, &mut self.snd, &ack, newly_sacked);
                if delivered.is_older_than(self.snd.rtx_queue.first_sent())
                    && self.recovery.extends_timer(&self.shared, &self.snd)
                {
                    self.snd.restart_retransmit_timer(&self.shared, now);
                }
            }
        }
        let plain = plain && newly_sacked == 0;
        let segment = SegmentAck { now, ack, prior: una, dsack, plain };
        self.recovery.finish_ack(&mut self.shared, &mut self.snd, segment, &delivered);
        if let Some((prior_in_flight, lost_before)) = before {
            // Last of all, for the state after the acknowledgment counts (tcp_cong_control()).
            self.recovery.control_by_rate(
                &self.shared,
                &mut self.snd,
                now,
                &delivered,
                prior_in_flight,
                lost_before,
            );
        }
        self.snd.expand_space(&self.shared, &self.recovery);
        if self.snd.wnd == 0 && self.snd.flight() > 0 {
            // Also where the peer drew its window back: as long as it answers probes, the connection must not time
            // out (RFC 9293 section 3.8.6.1).
            self.snd.timers.retransmit = None;
            self.snd.ensure_persist_timer(&self.shared, now);
        }
        true
    }

    /// Takes the announced window in, and goes on where a closed one had held transmission back.
    fn update_window(&mut self, now: Time, header: &TcpHeader, start: u64, ack: u64) {
        if self.snd.update_window(&self.shared, header, start, ack) {
            let probed = core::mem::take(&mut self.snd.timers.probes) > 0;
            self.snd.timers.persist = None;
            if self.snd.flight() > 0 && ack == self.snd.una {
                // What probed the closed window was not taken: send it again, with what may follow.
                self.recovery.mark_refused_lost(&mut self.snd);
                if probed && self.snd.rtx_queue.len() == 1 {
                    // Else nothing is outstanding: a probe is no data to Linux (tcp_ack_update_window()).
                    self.snd.restart_after_silence(&self.shared, now);
                }
                self.snd.restart_retransmit_timer(&self.shared, now);
            }
        }
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
        self.snd.rtx_queue.acknowledge(ack, delivered);
        let timed = delivered.rtt(now);
        // A timestamp tells which copy was answered, but counts milliseconds: it serves where Karn's rule
        // leaves nothing better (RFC 7323 section 4.1).
        let echoed = || echo.and_then(|stamps| elapsed_since(now, stamps.echo)).map(|rtt| rtt.max(TICK));
        let measured = if self.shared.rtt.follows_linux() {
            delivered.longest_rtt(now).or_else(|| delivered.sack_rtt(now))
        } else {
            timed
        };
        if measured.is_none() {
            delivered.echoed = echoed();
        }
        if let Some(rtt) = measured.or(delivered.echoed) {
            self.shared.rtt.sample(rtt, ack, self.snd.nxt);
        }

        let was_synchronised = self.snd.una > 0;
        // What had been SACKed left the network before: it does not clock the window now.
        let octets = octets - self.snd.scoreboard.sacked_octets(self.snd.una, ack);
        let newly_sacked = core::mem::take(&mut delivered.octets);
        self.snd.una = ack;
        self.recovery.take_delivered(&self.shared, &mut self.snd, now, delivered, highest, echo);
        if was_synchronised {
            self.snd.measure(now, delivered);
        }
        let data_end = self.snd.buffer.end();
        let data_before = self.shared.counters.octets_acknowledged;
        self.shared.counters.octets_acknowledged = ack.min(data_end) - 1;
        self.snd.buffer.acknowledge(ack.min(data_end));
        if let Some(owned) = &mut self.shared.owned {
            owned.acknowledge(ack);
        }
        self.snd.scoreboard.acknowledge(ack);
        // Progress: time-outs and probes in a row are counted afresh.
        (self.snd.timers.expiries, self.snd.timers.probes, self.snd.timers.persist) = (0, 0, None);
        if !was_synchronised {
            return;
        }
        if self.snd.flight() == 0 {
            // RFC 6298 (5.2)
            self.snd.timers.retransmit = None;
            self.recovery.on_all_acknowledged();
            self.stop_user_timeout();
        } else if self.recovery.new_ack_restarts_timer(&self.shared, &self.snd) {
            // (5.3)
            self.snd.restart_retransmit_timer(&self.shared, now);
        }
        self.restart_user_timeout(now);
        let octets = octets.min(self.shared.counters.octets_acknowledged - data_before);
        delivered.octets = newly_sacked + self.recovery.remove_reno_sacks(&self.shared, &self.snd, octets);
        let acknowledged = Acknowledged {
            now,
            advanced: true,
            octets,
            prior,
            delivered,
            max_payload: self.max_payload_after_timeout(),
            echo,
        };
        self.recovery.on_new_ack(&mut self.shared, &mut self.snd, &acknowledged);
        if self.snd.buffer.is_closed() && ack == self.snd.end() {
            self.our_fin_is_acknowledged(now);
        }
    }

    /// What F-RTO has to know while it tests a timeout; nobody else asks.
    fn max_payload_after_timeout(&self) -> u32 {
        if self.recovery.phase() == Phase::Loss { self.max_payload() } else { 0 }
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
        if !matches!(self.shared.state, State::Established | State::FinWait1 | State::FinWait2) {
            return;
        }
        self.snd.note_data(now.since(self.rcv.measured_since()));
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

/// The reset that answers a segment for which there is no connection, without ports (RFC 9293 section 3.10.7.1); none for a reset.
pub fn reset_for(header: &TcpHeader, payload: &Payload) -> Option<TcpHeader> {
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
