//! The TCP options: what they mean, how they lie in the header.
//!
//! The layout is that of Linux (`tcp_options_write` in net/ipv4/tcp_output.c), so that a header is as long as
//! the one that a real host would send: header overhead is one of the things that voxpath measures.

use super::{ForeignOptions, Seq, kind};
use crate::error::{Header, WireError, WireErrorKind};
use crate::field::be32;
use alloc::vec::Vec;

/// The options of a segment. TCP's own are fields; what others add to TCP is kept as it is
/// ([`TcpOptions::foreign`]), in the room that SACK blocks leave: so a header is no larger for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpOptions {
    /// Maximum segment size, in bytes (RFC 9293 section 3.7.1); on SYN segments.
    pub mss: Option<u16>,
    /// Window scale shift count (RFC 7323 section 2); on SYN segments.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 section 2); on SYN segments.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments (RFC 2018 section 3).
    pub sack: SackBlocks,
}

/// The timestamps option (RFC 7323 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Timestamps {
    /// TSval, the sender's timestamp clock.
    pub value: u32,
    /// TSecr, the value echoed.
    pub echo: u32,
}

/// One block of a selective acknowledgment: the octets `left..right` were received (RFC 2018 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: Seq,
    /// The sequence number after its last.
    pub right: Seq,
}

/// At most four SACK blocks, most recent first; kept inline because a packet must not allocate.
///
/// The blocks that are not used hold the options that are not TCP's own ([`TcpOptions::foreign`]): a header has no
/// room for many of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SackBlocks {
    len: u8,
    /// Octets of foreign options, which begin in the last block's last word and go towards the first.
    foreign: u8,
    /// Octets that they take in a header, each option padded to a multiple of four.
    padded_foreign: u8,
    blocks: [SackBlock; SackBlocks::MAX],
}

impl SackBlocks {
    /// The option's length limit (RFC 2018 section 3): four blocks, three beside timestamps.
    pub const MAX: usize = 4;

    /// No block.
    pub const EMPTY: Self = Self {
        len: 0,
        foreign: 0,
        padded_foreign: 0,
        blocks: [SackBlock { left: Seq(0), right: Seq(0) }; Self::MAX],
    };

    /// Appends a block; `false` if there is no room.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let room = self.room();
        let Some(slot) = self.blocks[..room].get_mut(usize::from(self.len)) else { return false };
        *slot = block;
        self.len += 1;
        true
    }

    /// The blocks in order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many blocks there may be beside the foreign options.
    fn room(&self) -> usize {
        Self::MAX - usize::from(self.foreign).div_ceil(8)
    }

    /// Appends a foreign option; `false` if there is no room.
    fn push_foreign(&mut self, octets: &[u8]) -> bool {
        let room = 8 * (Self::MAX - usize::from(self.len));
        if usize::from(self.foreign) + octets.len() > room {
            return false;
        }
        self.padded_foreign += octets.len().next_multiple_of(4) as u8;
        // Whole words where one begins: what is appended is padded to whole words mostly.
        let (begun, whole) = octets.split_at(octets.len().min(usize::from(self.foreign.wrapping_neg() % 4)));
        self.put_octets(begun);
        let (words, rest) = whole.as_chunks::<4>();
        for &word in words {
            *self.word_mut(usize::from(self.foreign) / 4) = u32::from_be_bytes(word);
            self.foreign += 4;
        }
        self.put_octets(rest);
        true
    }

    fn put_octets(&mut self, octets: &[u8]) {
        for &octet in octets {
            let at = usize::from(self.foreign);
            *self.word_mut(at / 4) |= u32::from(octet) << (24 - 8 * (at % 4));
            self.foreign += 1;
        }
    }

    fn foreign(&self) -> ForeignOptions {
        if self.foreign == 0 {
            return ForeignOptions::EMPTY;
        }
        let mut octets = [0; ForeignOptions::ROOM];
        let (words, _) = octets.as_chunks_mut::<4>();
        if self.len == 0 {
            // Mostly there are no blocks: zeros are behind the options.
            for (index, word) in words.iter_mut().enumerate() {
                *word = self.word(index).to_be_bytes();
            }
            return ForeignOptions::of(octets, self.foreign);
        }
        for (index, word) in words[..usize::from(self.foreign).div_ceil(4)].iter_mut().enumerate() {
            *word = self.word(index).to_be_bytes();
        }
        ForeignOptions::of(octets, self.foreign)
    }

    fn word(&self, index: usize) -> u32 {
        let block = &self.blocks[Self::MAX - 1 - index / 2];
        if index.is_multiple_of(2) { block.right.0 } else { block.left.0 }
    }

    fn word_mut(&mut self, index: usize) -> &mut u32 {
        let block = &mut self.blocks[Self::MAX - 1 - index / 2];
        if index.is_multiple_of(2) { &mut block.right.0 } else { &mut block.left.0 }
    }
}

impl TcpOptions {
    /// What the data offset leaves for options, in bytes (RFC 9293 section 3.1): 15 words less 5.
    pub const MAX_WIRE_LEN: u32 = 40;

    /// Length on the wire in bytes, padded to a multiple of four.
    ///
    /// Laid out as Linux does: timestamps and SACK each behind two no-operations, SACK-permitted in the
    /// padding of the timestamps where both are present, each foreign option in front of its padding. At most [`TcpOptions::MAX_WIRE_LEN`] if there are at
    /// most [`TcpOptions::sack_room`] blocks; longer options cannot be emitted.
    pub fn wire_len(&self) -> u32 {
        self.wire_len_with(0)
    }

    /// Likewise with one more foreign option of so many octets.
    fn wire_len_with(&self, octets: u32) -> u32 {
        self.wire_len_before_sack(octets)
            + match self.sack.len {
                0 => 0,
                blocks => 4 + 8 * u32::from(blocks),
            }
    }

    /// How many SACK blocks fit beside the other options: four alone, three beside timestamps (RFC 2018
    /// section 3).
    pub fn sack_room(&self) -> usize {
        self.sack_room_beside(0)
    }

    /// Likewise where so many octets of foreign options are still to be added.
    pub fn sack_room_beside(&self, octets: u32) -> usize {
        let room = Self::MAX_WIRE_LEN.saturating_sub(self.wire_len_before_sack(0) + 4 + octets);
        let foreign = (octets as usize).div_ceil(8);
        self.sack.room().saturating_sub(foreign).min((room / 8) as usize)
    }

    /// The options that are not TCP's own, in their order.
    pub fn foreign(&self) -> ForeignOptions {
        self.sack.foreign()
    }

    /// Appends an option that is not TCP's own, kind and length included; `false`, and nothing is changed, if it is not one, or
    /// does not fit beside the others: at most [`ForeignOptions::ROOM`] octets are kept.
    pub fn push_foreign(&mut self, option: &[u8]) -> bool {
        ForeignOptions::is_option(option)
            && self.wire_len_with(option.len() as u32) <= Self::MAX_WIRE_LEN
            && self.sack.push_foreign(option)
    }

    /// As [`TcpOptions::push_foreign`], of an option of `len` octets that is then written word by word; none, and nothing is changed, if it is not the
    /// only one, or if it does not fit.
    #[inline]
    pub(super) fn push_only_words(&mut self, len: u8) -> Option<impl FnMut(u32)> {
        let padded = len.next_multiple_of(4);
        let is_alone = self.sack.len == 0 && self.sack.foreign == 0;
        if !is_alone || self.own_len_before_sack() + u32::from(padded) > Self::MAX_WIRE_LEN {
            return None;
        }
        let sack = &mut self.sack;
        (sack.foreign, sack.padded_foreign) = (len, padded);
        let mut index = 0;
        Some(move |word| {
            *sack.word_mut(index) = word;
            index += 1;
        })
    }

    /// Appends all of these, or none; whether they fit.
    pub fn add_foreign(&mut self, others: &ForeignOptions) -> bool {
        let mut with = *self;
        let fits = others.iter().all(|option| with.push_foreign(option));
        if fits {
            *self = with;
        }
        fits
    }

    fn wire_len_before_sack(&self, octets: u32) -> u32 {
        let own = self.own_len_before_sack();
        if self.sack.foreign == 0 && octets == 0 {
            return own;
        }
        let padded = own + u32::from(self.sack.padded_foreign) + octets.next_multiple_of(4);
        if padded <= Self::MAX_WIRE_LEN { padded } else { (self.tight_len() + octets).next_multiple_of(4) }
    }

    /// Length without SACK blocks and without padding, for what fits no other way.
    fn tight_len(&self) -> u32 {
        let own = |present: bool, len| if present { len } else { 0 };
        own(self.mss.is_some(), 4)
            + own(self.window_scale.is_some(), 3)
            + own(self.sack_permitted, 2)
            + own(self.timestamps.is_some(), 10)
            + u32::from(self.sack.foreign)
    }

    fn own_len_before_sack(&self) -> u32 {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        // Alone, SACK-permitted takes 2 bytes and 2 of padding; timestamps have that padding to give.
        if self.timestamps.is_some() {
            len += 12;
        } else if self.sack_permitted {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        len
    }

    /// Reads the bytes between the fixed header and the data.
    ///
    /// Options that are not TCP's own are kept, the last of a repeated option counts, and
    /// the window scale is not limited to 14: that is for its user to do (RFC 7323 section 2.3). A sender that
    /// packs tighter than Linux may bring a SACK block too many to be emitted again; as SACK is advisory (RFC
    /// 2018 section 3) such blocks are left out. Where foreign options alone take more than [`ForeignOptions::ROOM`] octets,
    /// those that do not fit are ignored, as RFC 9293 section 3.1 (MUST-6) lets TCP ignore them all.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut options = Self::default();
        let mut sack = SackBlocks::EMPTY;
        let mut at = 0;
        while let Some(&kind) = bytes.get(at) {
            match kind {
                kind::END => break,
                kind::NO_OPERATION => at += 1,
                _ => {
                    let option = one_option(bytes, at)?;
                    options.read(option, &mut sack).ok_or(bad_option(at, kind, option.len() as u8))?;
                    at += option.len();
                }
            }
        }
        for &block in sack.as_slice().iter().take(options.sack_room()) {
            options.sack.push(block);
        }
        Ok(options)
    }

    /// Takes over one option, kind and length included; `None` if its kind cannot have that length.
    fn read(&mut self, option: &[u8], sack: &mut SackBlocks) -> Option<()> {
        match *option {
            [kind::MSS, 4, high, low] => self.mss = Some(u16::from_be_bytes([high, low])),
            [kind::WINDOW_SCALE, 3, shift] => self.window_scale = Some(shift),
            [kind::SACK_PERMITTED, 2] => self.sack_permitted = true,
            [kind::TIMESTAMPS, 10, ref body @ ..] => {
                let body: &[u8; 8] = body.first_chunk()?;
                self.timestamps = Some(Timestamps { value: be32(body, 0), echo: be32(body, 4) });
            }
            [kind::SACK, _, ref body @ ..] => *sack = SackBlocks::parse(body)?,
            [kind::MSS | kind::WINDOW_SCALE | kind::SACK_PERMITTED | kind::TIMESTAMPS, ..] => return None,
            _ => {
                self.sack.push_foreign(option);
            }
        }
        Some(())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        const NOP: u8 = kind::NO_OPERATION;
        if self.sack.foreign == 0 {
            return self.emit_own(out);
        }
        let foreign = self.foreign();
        if self.own_len_before_sack() + foreign.padded_len() > Self::MAX_WIRE_LEN {
            return self.emit_tight(&foreign, out);
        }
        self.emit_own(out);
        for option in foreign.iter() {
            out.extend_from_slice(option);
            out.extend(core::iter::repeat_n(NOP, option.len().next_multiple_of(4) - option.len()));
        }
    }

    /// Without any padding but at the end: so fits what was parsed from bytes that had none.
    fn emit_tight(&self, foreign: &ForeignOptions, out: &mut Vec<u8>) {
        let start = out.len();
        for option in [
            Self { mss: self.mss, ..Self::default() },
            Self { window_scale: self.window_scale, ..Self::default() },
            Self { sack_permitted: self.sack_permitted, ..Self::default() },
            Self { timestamps: self.timestamps, ..Self::default() },
        ] {
            let at = out.len();
            option.emit_own(out);
            let padding = out[at..].iter().take_while(|&&octet| octet == kind::NO_OPERATION).count();
            out.drain(at..at + padding);
        }
        out.extend_from_slice(foreign.as_slice());
        let len = out.len() - start;
        out.extend(core::iter::repeat_n(kind::END, len.next_multiple_of(4) - len));
    }

    fn emit_own(&self, out: &mut Vec<u8>) {
        const NOP: u8 = kind::NO_OPERATION;
        if let Some(mss) = self.mss {
            out.extend_from_slice(&[kind::MSS, 4]);
            out.extend_from_slice(&mss.to_be_bytes());
        }
        if self.sack_permitted || self.timestamps.is_some() {
            out.extend_from_slice(if self.sack_permitted && self.timestamps.is_some() {
                &[kind::SACK_PERMITTED, 2]
            } else {
                &[NOP, NOP]
            });
        }
        match self.timestamps {
            Some(Timestamps { value, echo }) => {
                out.extend_from_slice(&[kind::TIMESTAMPS, 10]);
                out.extend_from_slice(&value.to_be_bytes());
                out.extend_from_slice(&echo.to_be_bytes());
            }
            None if self.sack_permitted => out.extend_from_slice(&[kind::SACK_PERMITTED, 2]),
            None => {}
        }
        if let Some(shift) = self.window_scale {
            out.extend_from_slice(&[NOP, kind::WINDOW_SCALE, 3, shift]);
        }
        if !self.sack.is_empty() {
            out.extend_from_slice(&[NOP, NOP, kind::SACK, 2 + 8 * self.sack.len]);
            for block in self.sack.as_slice() {
                out.extend_from_slice(&block.left.0.to_be_bytes());
                out.extend_from_slice(&block.right.0.to_be_bytes());
            }
        }
    }
}

impl SackBlocks {
    /// The blocks of an option's body; `None` unless they are one to four whole blocks.
    fn parse(body: &[u8]) -> Option<Self> {
        let (blocks, rest) = body.as_chunks::<8>();
        if blocks.is_empty() || !rest.is_empty() {
            return None;
        }
        let mut parsed = Self::EMPTY;
        for block in blocks {
            let block = SackBlock { left: Seq(be32(block, 0)), right: Seq(be32(block, 4)) };
            parsed.push(block).then_some(())?;
        }
        Some(parsed)
    }
}

/// The option at `at`, kind and length included.
fn one_option(bytes: &[u8], at: usize) -> Result<&[u8], WireError> {
    let &[kind, length, ..] = &bytes[at..] else {
        return Err(WireError::truncated(Header::Tcp, at, 2, bytes.len() - at));
    };
    if length < 2 {
        return Err(bad_option(at, kind, length));
    }
    bytes.get(at..at + usize::from(length)).ok_or(bad_option(at, kind, length))
}

const fn bad_option(at: usize, kind: u8, length: u8) -> WireError {
    WireError { header: Header::Tcp, offset: at, kind: WireErrorKind::BadOption { kind, length } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emitted(options: &TcpOptions) -> Vec<u8> {
        let mut bytes = Vec::new();
        options.emit(&mut bytes);
        assert_eq!(bytes.len(), options.wire_len() as usize, "{options:?}");
        bytes
    }

    fn blocks(n: u32) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        for i in 0..n {
            assert!(blocks.push(SackBlock { left: Seq(10 * i), right: Seq(10 * i + 5) }));
        }
        blocks
    }

    const TIMESTAMPS: Timestamps = Timestamps { value: 0x0ab0_a319, echo: 0xd35d_6de6 };

    #[test]
    fn a_syn_is_laid_out_as_linux_does() {
        // Options of a SYN-ACK that Linux 6.18 sent over its loopback interface.
        let linux =
            [2, 4, 0xff, 0xd7, 4, 2, 8, 10, 0x0a, 0xb0, 0xa3, 0x19, 0xd3, 0x5d, 0x6d, 0xe6, 1, 3, 3, 10];
        let options = TcpOptions {
            mss: Some(65_495),
            window_scale: Some(10),
            sack_permitted: true,
            timestamps: Some(TIMESTAMPS),
            sack: SackBlocks::EMPTY,
        };
        assert_eq!(emitted(&options), linux);
        assert_eq!(TcpOptions::parse(&linux), Ok(options));
    }

    #[test]
    fn each_option_alone_is_padded_in_front() {
        let none = TcpOptions::default();
        assert_eq!(emitted(&none), []);
        assert_eq!(emitted(&TcpOptions { mss: Some(1460), ..none }), [2, 4, 0x05, 0xb4]);
        assert_eq!(emitted(&TcpOptions { sack_permitted: true, ..none }), [1, 1, 4, 2]);
        assert_eq!(emitted(&TcpOptions { window_scale: Some(7), ..none }), [1, 3, 3, 7]);
        assert_eq!(
            emitted(&TcpOptions { timestamps: Some(TIMESTAMPS), ..none }),
            [1, 1, 8, 10, 0x0a, 0xb0, 0xa3, 0x19, 0xd3, 0x5d, 0x6d, 0xe6]
        );
        assert_eq!(emitted(&TcpOptions { sack: blocks(1), ..none }), [1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 5]);
    }

    #[test]
    fn sack_room_is_what_fits_in_forty_bytes() {
        let everything = TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(TIMESTAMPS),
            sack: SackBlocks::EMPTY,
        };
        let none = TcpOptions::default();
        let beside_timestamps = TcpOptions { timestamps: Some(TIMESTAMPS), ..none };
        for (options, room) in [(none, 4), (beside_timestamps, 3), (everything, 2)] {
            assert_eq!(options.sack_room(), room);
            let with = |n| TcpOptions { sack: blocks(n as u32), ..options }.wire_len();
            assert!(with(room) <= TcpOptions::MAX_WIRE_LEN);
            assert!(room == SackBlocks::MAX || with(room + 1) > TcpOptions::MAX_WIRE_LEN);
        }
    }

    #[test]
    fn a_sack_block_that_linux_would_have_no_room_for_is_left_out() {
        // Unpadded: MSS 4, timestamps 10, three blocks 26. With Linux' padding these are 44 bytes.
        let mut bytes = Vec::from([2, 4, 0x05, 0xb4, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 26]);
        bytes.extend_from_slice(&[7; 24]);
        assert_eq!(bytes.len(), 40);
        let options = TcpOptions::parse(&bytes).expect("every option is well-formed");
        assert_eq!(options.sack.len(), 2);
        assert!(options.wire_len() <= TcpOptions::MAX_WIRE_LEN);
    }

    /// A fast open cookie (RFC 7413) and a Multipath TCP option (RFC 8684).
    const FAST_OPEN: [u8; 6] = [34, 6, 1, 2, 3, 4];
    const REMOVE_ADDR: [u8; 5] = [30, 5, 0x40, 7, 8];

    #[test]
    fn unknown_options_are_kept_and_nothing_follows_the_end() {
        let bytes = [&FAST_OPEN[..], &[1, 3, 3, 9], &REMOVE_ADDR, &[0, 2, 4, 0xff]].concat();
        let options = TcpOptions::parse(&bytes).expect("every option is well-formed");
        assert_eq!((options.window_scale, options.mss), (Some(9), None));
        assert!(options.foreign().iter().eq([&FAST_OPEN[..], &REMOVE_ADDR]));
        // Each is padded as Linux pads it.
        let padded = [&[1, 3, 3, 9], &FAST_OPEN[..], &[1, 1], &REMOVE_ADDR, &[1, 1, 1]].concat();
        assert_eq!(emitted(&options), padded);
        assert_eq!(TcpOptions::parse(&padded), Ok(options));
    }

    #[test]
    fn foreign_options_and_sack_blocks_share_the_header() {
        let mut options =
            TcpOptions { timestamps: Some(TIMESTAMPS), sack: blocks(2), ..TcpOptions::default() };
        assert_eq!(options.wire_len(), 32);
        assert!(!options.push_foreign(&[30, 9, 0, 0, 0, 0, 0, 0, 0]), "nine octets take twelve");
        assert!(options.push_foreign(&[30, 8, 0, 0, 0, 0, 0, 9]));
        assert_eq!(options.wire_len(), 40);
        assert_eq!(options.sack_room(), 2);
        assert!(!options.push_foreign(&[30, 3, 0x50]));
        let bytes = emitted(&options);
        assert_eq!(TcpOptions::parse(&bytes), Ok(options));
    }

    #[test]
    fn what_is_no_foreign_option_is_refused() {
        let mut options = TcpOptions::default();
        for not_one in
            [&[][..], &[30], &[30, 1], &[30, 3], &[30, 3, 0, 0], &[0, 2], &[1, 2], &[2, 4, 5, 6], &[5, 10]]
        {
            assert!(!options.push_foreign(not_one), "{not_one:?}");
        }
        let mut longest = [0; ForeignOptions::ROOM + 1];
        (longest[0], longest[1]) = (253, ForeignOptions::ROOM as u8 + 1);
        assert!(!options.push_foreign(&longest));
        assert_eq!(options, TcpOptions::default());
        longest[1] -= 1;
        assert!(options.push_foreign(&longest[..ForeignOptions::ROOM]));
        assert_eq!(options.sack_room(), 0);
        assert!(!options.sack.push(SackBlock::default()));
    }

    #[test]
    fn what_came_without_padding_can_be_emitted() {
        // MSS 4, window scale 3, SACK permitted 2, timestamps 10, and one of 21: with Linux' padding they are 44 bytes.
        let mut bytes = Vec::from([2, 4, 5, 180, 3, 3, 7, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 253, 21]);
        bytes.extend_from_slice(&[9; 19]);
        let options = TcpOptions::parse(&bytes).expect("every option is well-formed");
        assert_eq!(emitted(&options), bytes);
    }

    #[test]
    fn of_more_foreign_options_than_are_kept_the_last_are_ignored() {
        let bytes = [[253, 20].as_slice(), &[1; 18], &[254, 20], &[2; 18]].concat();
        let options = TcpOptions::parse(&bytes).expect("every option is well-formed");
        assert!(options.foreign().iter().eq([&bytes[..20]]));
    }

    /// A pooled packet has room for no more (`net/src/packet.rs`).
    #[test]
    fn options_take_what_they_took_without_foreign_ones() {
        assert_eq!(size_of::<TcpOptions>(), 56);
    }

    #[test]
    fn a_length_that_an_option_cannot_have_is_an_error_at_its_place() {
        for (bytes, kind, length) in [
            (&[1, 2, 3, 0][..], 2, 3), // MSS of three bytes
            (&[1, 3, 2][..], 3, 2),    // window scale without its shift
            (&[1, 4, 3, 0][..], 4, 3), // SACK-permitted with a body
            (&[1, 8, 9, 0, 0, 0, 0, 0, 0, 0][..], 8, 9),
            (&[1, 5, 2][..], 5, 2), // SACK without a block
            (&[1, 5, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], 5, 14), // one block and a half
            (&[1, 99, 0][..], 99, 0), // would never advance
            (&[1, 99, 1][..], 99, 1),
            (&[1, 99, 4, 0][..], 99, 4), // ends outside of the header
        ] {
            assert_eq!(TcpOptions::parse(bytes), Err(bad_option(1, kind, length)), "{bytes:?}");
        }
        assert_eq!(TcpOptions::parse(&[1, 2]), Err(WireError::truncated(Header::Tcp, 1, 2, 1)));
    }
}
