//! Frames from packets, in any order; and which of them can be decoded.

use super::playout::Playout;
use crate::record::{Fate, ReceivedFrame};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// A packet, as far as frames are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its sequence number, unwrapped.
    pub sequence: u64,
    /// The frame's number.
    pub frame: u32,
    /// When the frame was captured, as the media's clock counts.
    pub media: Span,
    /// It begins its frame.
    pub start: bool,
    /// It ends its frame.
    pub end: bool,
    /// In the packet that begins a frame: it can be decoded without others.
    pub key: bool,
    /// It came by retransmission, error correction or redundancy.
    pub repaired: bool,
}

/// Frames that come of one source.
#[derive(Debug)]
pub struct Assembly {
    /// Frames build upon the one before them, as those of video do.
    chained: bool,
    playout: Playout,
    /// Frames from number `first` on: those that are not decided.
    open: VecDeque<Open>,
    first: u32,
    /// When the last frame was decoded.
    decoded: Time,
    /// Whether the last frame that was passed was decoded.
    running: bool,
    has_decoded: bool,
    blocked: Option<Time>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Open {
    media: Option<Span>,
    start: Option<u64>,
    end: Option<u64>,
    received: u32,
    key: bool,
    repaired: bool,
    due: Option<Time>,
    complete: Option<Time>,
}

impl Open {
    fn is_whole(&self) -> bool {
        matches!((self.start, self.end), (Some(start), Some(end)) if end >= start && end - start + 1 == u64::from(self.received))
    }
}

impl Assembly {
    /// Of a source whose frames build upon each other, or do not.
    pub fn new(chained: bool, buffer: super::Buffer) -> Self {
        Self {
            chained,
            playout: Playout::new(buffer),
            open: VecDeque::new(),
            first: 0,
            decoded: Time::ZERO,
            running: false,
            has_decoded: false,
            blocked: None,
        }
    }

    /// A new packet came; `frames` is where their fates are noted.
    pub fn take(&mut self, now: Time, piece: &Piece, frames: &mut Vec<ReceivedFrame>) {
        let Some(index) = piece.frame.checked_sub(self.first).map(|index| index as usize) else { return };
        if frames.len() <= piece.frame as usize {
            frames.resize(piece.frame as usize + 1, ReceivedFrame::default());
        }
        if self.open.len() <= index {
            self.open.resize(index + 1, Open::default());
        }
        while self.open.len() > MOST_OPEN {
            self.abandon(frames);
            self.running = false;
        }
        let index = (piece.frame - self.first) as usize;
        let open = &mut self.open[index];
        if open.complete.is_some() {
            return;
        }
        open.media = Some(piece.media);
        open.received += 1;
        open.repaired |= piece.repaired;
        if piece.start {
            (open.start, open.key) = (Some(piece.sequence), piece.key);
        }
        if piece.end {
            open.end = Some(piece.sequence);
        }
        if !open.is_whole() {
            return;
        }
        open.complete = Some(now);
        open.due = Some(self.playout.due(now, piece.media));
        frames[piece.frame as usize].complete = Some(now);
        frames[piece.frame as usize].repaired = open.repaired;
        if self.chained {
            self.decode(now, frames);
            let waits = self.open.iter().any(|open| open.complete.is_some());
            self.blocked = waits.then(|| self.blocked.unwrap_or(now));
        } else {
            self.play(piece.frame, frames);
        }
    }

    /// A frame that builds upon nothing is played when it is due, or not at all.
    fn play(&mut self, number: u32, frames: &mut [ReceivedFrame]) {
        let open = &self.open[(number - self.first) as usize];
        if let (Some(complete), Some(due)) = (open.complete, open.due) {
            let frame = &mut frames[number as usize];
            (frame.fate, frame.played) = match complete <= due {
                true => (Fate::Complete, Some(due)),
                false => (Fate::Late, None),
            };
        }
        while self.open.front().is_some_and(|open| open.complete.is_some()) {
            self.pass();
        }
    }

    /// Decodes what can be decoded: frames in their order, or from a key frame on.
    fn decode(&mut self, now: Time, frames: &mut [ReceivedFrame]) {
        loop {
            let next = self.open.front().copied();
            if let Some(Open { complete: Some(complete), due: Some(due), key, .. }) = next
                && (key || self.running)
            {
                (self.running, self.has_decoded) = (true, true);
                self.decoded = self.decoded.max(complete);
                let frame = &mut frames[self.first as usize];
                frame.played = Some(self.decoded.max(due));
                frame.fate = if self.decoded <= due { Fate::Complete } else { Fate::Late };
                self.pass();
                continue;
            }
            // A key frame that is due begins anew, whatever is missing before it.
            let is_due = |open: &Open| open.key && open.due.is_some_and(|due| due <= now || !self.running);
            let Some(skipped) = self.open.iter().skip(1).position(is_due) else { return };
            for _ in 0..=skipped {
                self.abandon(frames);
            }
            self.running = false;
        }
    }

    /// Gives up the first frame that is open.
    fn abandon(&mut self, frames: &mut [ReceivedFrame]) {
        let complete = self.open.front().is_some_and(|open| open.complete.is_some());
        frames[self.first as usize].fate = if complete { Fate::Frozen } else { Fate::Lost };
        self.pass();
    }

    fn pass(&mut self) {
        self.open.pop_front();
        self.first += 1;
    }

    /// Whether any frame was decoded.
    pub const fn has_decoded(&self) -> bool {
        self.has_decoded
    }

    /// Since when a whole frame waits for another one that it builds upon; none if none does.
    pub const fn blocked_since(&self) -> Option<Time> {
        self.blocked
    }
}

/// Frames from one that has not come on, at most.
const MOST_OPEN: usize = 1000;

#[cfg(test)]
mod tests {
    use super::super::Buffer;
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn assembly(chained: bool) -> (Assembly, Vec<ReceivedFrame>) {
        (Assembly::new(chained, Buffer::Fixed { delay_ns: 100_000_000 }), Vec::new())
    }

    /// Frame `frame` of `packets` packets, captured at 40 ms times its number; its packet `which`.
    fn piece(frame: u32, packets: u64, which: u64, key: bool) -> Piece {
        Piece {
            sequence: u64::from(frame) * packets + which,
            frame,
            media: Span::from_millis(40) * u64::from(frame),
            start: which == 0,
            end: which + 1 == packets,
            key,
            repaired: false,
        }
    }

    fn fates(frames: &[ReceivedFrame]) -> Vec<Fate> {
        frames.iter().map(|frame| frame.fate).collect()
    }

    #[test]
    fn a_frame_is_whole_when_all_between_its_ends_is_there_in_any_order() {
        let (mut assembly, mut frames) = assembly(true);
        for which in [2, 0, 1] {
            assert_eq!(frames.first().and_then(|frame| frame.complete), None);
            assembly.take(at(30 + which), &piece(0, 3, which, true), &mut frames);
        }
        let expected = ReceivedFrame {
            complete: Some(at(31)),
            played: Some(at(131)),
            fate: Fate::Complete,
            repaired: false,
        };
        assert_eq!(frames, [expected]);
    }

    #[test]
    fn what_builds_upon_a_late_frame_is_late_and_upon_a_lost_one_frozen() {
        let (mut assembly, mut frames) = assembly(true);
        assembly.take(at(10), &piece(0, 1, 0, true), &mut frames);
        assembly.take(at(90), &piece(2, 1, 0, false), &mut frames);
        assembly.take(at(130), &piece(3, 1, 0, false), &mut frames);
        // Due at 150 ms, 190 ms and 230 ms.
        assembly.take(at(200), &piece(1, 1, 0, false), &mut frames);
        assert_eq!(fates(&frames), [Fate::Complete, Fate::Late, Fate::Late, Fate::Complete]);
        assert_eq!(frames[2].played, Some(at(200)));
        assembly.take(at(250), &piece(5, 1, 0, false), &mut frames);
        assembly.take(at(330), &piece(6, 1, 0, true), &mut frames);
        assert_eq!(frames[6].fate, Fate::Pending, "frame 4 may still come, until frame 6 is due");
        assembly.take(at(385), &piece(7, 1, 0, false), &mut frames);
        assert_eq!(fates(&frames)[4..], [Fate::Lost, Fate::Frozen, Fate::Complete, Fate::Complete]);
    }

    #[test]
    fn audio_that_is_late_is_not_played_and_holds_nothing_up() {
        let (mut assembly, mut frames) = assembly(false);
        for (ms, frame) in [(10, 0), (90, 2), (170, 1), (171, 3)] {
            assembly.take(at(ms), &piece(frame, 1, 0, true), &mut frames);
        }
        assembly.take(at(250), &piece(5, 1, 0, true), &mut frames);
        let expected =
            [Fate::Complete, Fate::Late, Fate::Complete, Fate::Complete, Fate::Pending, Fate::Complete];
        assert_eq!(fates(&frames), expected);
        assert_eq!(frames[1].played, None);
    }
}
