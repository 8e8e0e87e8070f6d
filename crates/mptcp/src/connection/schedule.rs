//! Which subflow gets what, and what is sent again (RFC 8684 sections 3.3.2, 3.3.6).

use super::transmit::ack_options;
use super::{Connection, Mode, SubflowId};
use crate::checksum::data_checksum;
use crate::scheduler::{Candidate, Chunk, Pick, bit};
use crate::subflow::Handshake;
use voxpath_tcp::Phase;
use voxpath_units::{Span, Time};

/// The most octets of one mapping: its length has 16 bits.
const MAPPING: u64 = 65_535;

/// The shortest time after which the data level sends again (TCP_RTO_MIN).
pub(super) const MIN_TIMEOUT: Span = Span::from_millis(200);
/// The longest (TCP_RTO_MAX).
const MAX_TIMEOUT: Span = Span::from_secs(120);

impl Connection {
    /// Gives subflows what they can send.
    pub(super) fn schedule(&mut self, now: Time) {
        match self.mode {
            Mode::Opening => return,
            Mode::Fallback(id) => return self.write_plain(id),
            Mode::Multipath => {}
        }
        let (weighs_memory, is_awaited) = (self.scheduler.weighs_memory(), self.snd.buffer.is_awaited());
        let has_work = self.has_work();
        // Where an application waits, memory may grow though nothing is to be given out.
        let may_grow = weighs_memory && is_awaited;
        if self.ended.is_some() || !(has_work || may_grow) {
            return self.keep_time(now);
        }
        let mut candidates = core::mem::take(&mut self.candidates);
        candidates.clear();
        for id in 0..self.subflows.len() {
            let subflow = &self.subflows[id];
            if subflow.is_ready() && !subflow.staleness.is_stale {
                candidates.push(self.candidate(id, weighs_memory));
            }
        }
        if !has_work {
            self.settle_scheduler(&mut candidates, is_awaited);
            self.candidates = candidates;
            return self.keep_time(now);
        }
        if self.scheduler.waits_until_stale() {
            self.measure_interval(now);
        }
        self.scheduler.begin();
        loop {
            let Some((chunk, pick)) = self.pick(now, &candidates) else {
                // Who has caught up with the others may take what is new.
                let (una, nxt) = (self.snd.una, self.snd.nxt);
                let Some((from, pick)) = self.scheduler.duplicate(now, una, nxt, &candidates) else {
                    break;
                };
                let sent = self.give(pick.subflow, from, pick.len);
                self.counters.octets_reinjected += sent;
                self.book(&mut candidates, pick.subflow, sent);
                continue;
            };
            let sent = self.give(pick.subflow, chunk.from, pick.len);
            if !chunk.is_new {
                self.snd.take_reinjection(sent);
                self.counters.octets_reinjected += sent;
            } else {
                self.snd.nxt += sent;
            }
            self.book(&mut candidates, pick.subflow, sent);
        }
        self.settle_scheduler(&mut candidates, is_awaited);
        self.open_window(now, &mut candidates);
        self.probe(&candidates);
        self.candidates = candidates;
        self.keep_time(now);
    }

    /// Tells the scheduler that all was given that can be now.
    fn settle_scheduler(&mut self, candidates: &mut [Candidate], is_awaited: bool) {
        if is_awaited && self.scheduler.weighs_memory() {
            for one in candidates.iter_mut() {
                one.shows_window_open = self.subflows[one.subflow].tcp.shows_window_open();
            }
        }
        self.scheduler.settled(candidates, is_awaited);
    }

    /// Whether something could be sent that was not.
    fn has_work(&self) -> bool {
        self.snd.nxt < self.snd.buffer.end()
            || self.snd.first_reinjection().is_some()
            || (self.snd.una < self.snd.nxt && self.scheduler.duplicates())
    }

    /// A subflow as schedulers see it, which can carry data.
    fn candidate(&self, id: SubflowId, weighs_memory: bool) -> Candidate {
        let subflow = &self.subflows[id];
        let tcp = &subflow.tcp;
        let sending = tcp.sending();
        let queued = tcp.unacknowledged();
        Candidate {
            subflow: id,
            backup: subflow.is_backup(),
            srtt: sending.srtt,
            rttvar: sending.rttvar,
            cwnd: sending.cwnd,
            mss: tcp.segment_size(),
            queued,
            taken: if weighs_memory { tcp.send_memory_taken() } else { 0 },
            room: sending.room,
            shows_window_open: false,
            memory: u64::from(self.tcp_config.send_buffer).saturating_sub(queued),
            in_loss: sending.phase == Phase::Loss,
            pacing_rate: sending.pacing_rate,
            silent: subflow.silent,
            doubted: subflow.was_bad || subflow.has_long_timeout,
            last_news: subflow.last_news,
        }
    }

    /// The next chunk, and who carries how much of it.
    fn pick(&mut self, now: Time, candidates: &[Candidate]) -> Option<(Chunk, Pick)> {
        let window = self.snd.edge.saturating_sub(self.snd.nxt);
        let waiting = self.snd.buffer.end() - self.snd.nxt;
        let una = self.snd.una;
        let chunk = match self.snd.first_reinjection() {
            Some((from, len, carried)) => Chunk {
                from,
                una,
                len: len.min(MAPPING),
                waiting: len + waiting,
                window,
                is_new: false,
                carried,
            },
            None => {
                let len = waiting.min(window).min(MAPPING);
                Chunk { from: self.snd.nxt, una, len, waiting, window, is_new: true, carried: 0 }
            }
        };
        let piece = self.snd.pieces.end_of(chunk.from).map_or(u64::MAX, |end| end - chunk.from);
        let chunk = Chunk { len: chunk.len.min(piece), ..chunk };
        if chunk.len == 0 {
            return None;
        }
        let pick = self.scheduler.pick(now, &chunk, candidates)?;
        debug_assert!(pick.len > 0 && pick.len <= chunk.len, "{pick:?} of {chunk:?}");
        Some((chunk, pick))
    }

    /// Writes octets of the data sequence to a subflow; how many it took.
    pub(super) fn give(&mut self, id: SubflowId, from: u64, len: u64) -> u64 {
        let subflow = &mut self.subflows[id];
        let room = u64::from(subflow.tcp.writable());
        let len = len.min(room) as u32;
        if len == 0 {
            return 0;
        }
        let data = self.snd.buffer.read(from, len);
        let start = subflow.tcp.write_offset();
        if self.checksum {
            let sum = data_checksum(self.snd.sequence.number(from), start as u32, len as u16, &data);
            subflow.own_checksums.insert(start, sum);
        }
        // Pieces that follow one another leave in full segments, as they share buffers in Linux (mptcp_skb_can_collapse_to()). Not where a checksum would
        // have to be made anew: what lies before may have been acknowledged by way of another subflow, and is gone.
        let taken = if self.scheduler.waits_until_stale() && !self.checksum {
            subflow.tcp.write_mapped_on(&data, from)
        } else {
            subflow.tcp.write_mapped(&data, from)
        };
        debug_assert_eq!(taken, len, "there is room");
        taken.into()
    }

    fn book(&self, candidates: &mut alloc::vec::Vec<Candidate>, id: SubflowId, sent: u64) {
        if sent == 0 {
            // It takes no more now, whatever its windows say.
            candidates.retain(|candidate| candidate.subflow != id);
        } else if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.subflow == id) {
            candidate.room = candidate.room.saturating_sub(sent);
            candidate.queued += sent;
            candidate.taken += sent;
            candidate.memory = candidate.memory.saturating_sub(sent);
        }
    }

    /// Where the other end's window holds back what a subflow could carry: what blocks it is retransmitted there, and the subflow that holds it
    /// slowed down (mptcp_rcv_buf_optimization() of Linux v0.9x).
    fn open_window(&mut self, now: Time, candidates: &mut alloc::vec::Vec<Candidate>) {
        let blocked = self.snd.nxt < self.snd.buffer.end() && self.snd.nxt >= self.snd.edge;
        if !blocked || self.snd.una >= self.snd.nxt || self.snd.first_reinjection().is_some() {
            return;
        }
        let Config { opportunistic, penalises } = self.blocking_rules();
        let head = self.snd.una;
        let Some(holder) = (0..self.subflows.len()).find(|&id| {
            self.subflows[id]
                .tcp
                .mappings()
                .any(|mapping| (mapping.value..mapping.value + u64::from(mapping.len)).contains(&head))
        }) else {
            return;
        };
        let theirs = self.subflows[holder].tcp.metrics();
        let Some(best) = candidates
            .iter()
            .filter(|candidate| candidate.subflow != holder && !candidate.in_loss)
            .filter(|candidate| candidate.has_room(MAPPING))
            .min_by_key(|candidate| candidate.srtt)
            .copied()
        else {
            return;
        };
        let (ours, others) = (best.srtt.unwrap_or(Span::ZERO), theirs.srtt.unwrap_or(Span::MAX));
        let slower = &mut self.subflows[holder];
        let mss = slower.tcp.segment_size();
        if penalises && others > ours && theirs.phase == Phase::Open {
            let since = slower.penalised.map(|then| now.since(then));
            if since.is_none_or(|since| since >= others) {
                slower.penalised = Some(now);
                slower.tcp.penalise();
                self.counters.penalties += 1;
            }
        }
        let helps = theirs.cwnd <= 4 * mss || ours.saturating_mul(4) < others;
        if opportunistic && helps && self.subflows[best.subflow].helped <= head {
            let len = self.head_len(holder, head).min(best.mss);
            self.subflows[best.subflow].helped = head + 1;
            self.scheduler.blocked();
            let sent = self.give(best.subflow, head, len);
            self.counters.octets_reinjected += sent;
            self.book(candidates, best.subflow, sent);
        }
    }

    fn blocking_rules(&self) -> Config {
        Config {
            opportunistic: self.config.opportunistic_retransmission,
            penalises: self.config.penalisation,
        }
    }

    /// Octets from `head` on of the mapping that has it.
    pub(super) fn head_len(&self, holder: SubflowId, head: u64) -> u64 {
        let mut mappings = self.subflows[holder].tcp.mappings();
        let end = mappings.find_map(|mapping| {
            let end = mapping.value + u64::from(mapping.len);
            (mapping.value..end).contains(&head).then_some(end)
        });
        end.map_or(0, |end| end - head)
    }

    /// A closed window with nothing outstanding that would bring news of it: one octet goes beyond it, which the subflow's own persist timer
    /// repeats (RFC 9293 section 3.8.6.1).
    fn probe(&mut self, candidates: &[Candidate]) {
        let closed = self.snd.nxt >= self.snd.edge && self.snd.nxt < self.snd.buffer.end();
        if !closed || self.snd.una < self.snd.nxt {
            return;
        }
        let best = candidates.iter().min_by_key(|candidate| (candidate.backup, candidate.srtt));
        if let Some(id) = best.map(|best| best.subflow) {
            self.snd.nxt += self.give(id, self.snd.nxt, 1);
        }
    }

    /// TCP gets what it has room for.
    fn write_plain(&mut self, id: SubflowId) {
        while self.snd.nxt < self.snd.buffer.end() {
            let len = (self.snd.buffer.end() - self.snd.nxt).min(u64::from(u32::MAX)) as u32;
            let taken = self.subflows[id].tcp.write(&self.snd.buffer.read(self.snd.nxt, len));
            self.snd.nxt += u64::from(taken);
            if taken == 0 {
                break;
            }
        }
        let tcp = &mut self.subflows[id].tcp;
        let una = self.snd.nxt - tcp.unacknowledged().min(self.snd.nxt - 1);
        self.snd.acknowledge(una);
        if self.snd.buffer.is_closed() && self.snd.nxt == self.snd.buffer.end() {
            tcp.close();
        }
    }

    /// Sets the timer of the data level, which runs while something is not acknowledged there.
    pub(super) fn keep_time(&mut self, now: Time) {
        if !self.snd.is_outstanding() || self.ended.is_some() || self.mode != Mode::Multipath {
            self.retransmit = None;
        } else if self.retransmit.is_none() && self.scheduler.waits_until_stale() {
            self.retransmit = Some(self.subflows[0].tcp.expiry(now, self.interval));
        } else if self.retransmit.is_none() {
            let live = self.subflows.iter().filter(|subflow| subflow.is_ready());
            let longest = live.map(|subflow| subflow.tcp.rto()).max().unwrap_or(MIN_TIMEOUT);
            let backed_off = longest.max(MIN_TIMEOUT).saturating_mul(1 << self.expiries.min(6));
            self.retransmit = Some(now + backed_off.min(MAX_TIMEOUT));
        }
    }

    /// The timer of the data level: what is missing first goes again, by any subflow; or the DATA_FIN does.
    pub(super) fn handle_data_timeout(&mut self, now: Time) {
        if self.retransmit.take_if(|due| *due <= now).is_none() || self.leave_plain_subflows() {
            return;
        }
        if self.scheduler.waits_until_stale() && self.snd.una < self.snd.nxt {
            return self.retransmit_first(now);
        }
        self.expiries += 1;
        if self.expiries > self.tcp_config.retries {
            // As TCP's R2 (RFC 9293 section 3.8.3).
            for subflow in &mut self.subflows {
                subflow.tcp.abort();
            }
            return self.end(voxpath_tcp::Ended::TimedOut);
        }
        self.counters.timeouts += 1;
        if self.snd.una < self.snd.nxt {
            let mss = self.subflows.iter().map(|subflow| subflow.tcp.segment_size()).max().unwrap_or(1);
            let head = self.snd.una;
            let holders = (0..self.subflows.len()).filter(|&id| self.head_len(id, head) > 0);
            let carried = holders.fold(0, |bits, id| bits | bit(id));
            let others = (0..self.subflows.len()).filter(|&id| self.subflows[id].is_ready());
            if carried == 0 || others.filter(|&id| carried & bit(id) == 0).count() > 0 {
                self.snd.reinject(head, head + mss, carried);
            }
        } else {
            for subflow in self.subflows.iter_mut().filter(|subflow| subflow.is_ready()) {
                subflow.tcp.acknowledge_now();
            }
        }
    }

    /// Has every subflow announce the window of the connection, and keep room for its options.
    pub(super) fn settle_owners(&mut self) {
        if let Mode::Fallback(_) = self.mode {
            return;
        }
        let (data_options, dss) = (self.data_len(), self.dss_len());
        let (common, is_used) = (self.rcv.common_window(), self.rcv.is_half_used());
        for subflow in self.subflows.iter_mut().filter(|subflow| !subflow.is_over()) {
            let window = common.unwrap_or_else(|| self.rcv.window(|| subflow.tcp.receiving()));
            let owner = voxpath_tcp::Owner { window, ack_options: ack_options(subflow, dss), data_options };
            if subflow.tcp.owner() != Some(&owner) {
                subflow.tcp.set_owner(owner);
            }
            if is_used
                && subflow.handshake == Handshake::Done
                && self.rcv.opens(window, subflow.tcp.segment_size())
            {
                subflow.tcp.acknowledge_now();
            }
        }
    }
}

/// What is done about a blocked window.
struct Config {
    opportunistic: bool,
    penalises: bool,
}
