//! Mutations by chance, without coverage: what `make test` has in place of libFuzzer.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Inputs made from others; the same ones for the same seed.
#[derive(Debug)]
pub struct Mutator(Xoshiro256PlusPlus);

/// The longest input.
const MOST_BYTES: usize = 4096;

/// Bytes with which things begin, end and overflow.
const EDGES: [u8; 8] = [0, 1, 4, 0x40, 0x7f, 0x80, 0xfe, 0xff];

impl Mutator {
    /// A sequence of mutations.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An input somewhat like one or two of these.
    pub fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.one_of(corpus);
        for _ in 0..1 + self.below(6) {
            let at = self.below(bytes.len() + 1);
            let until = at + self.below((bytes.len() - at).min(32) + 1);
            match self.below(8) {
                0 => drop(bytes.drain(at..until)),
                1 => {
                    let block = bytes[at..until].to_vec();
                    let to = self.below(bytes.len() + 1);
                    drop(bytes.splice(to..to, block));
                }
                2 => {
                    let block: Vec<u8> = (0..1 + self.below(16)).map(|_| self.0.next_u32() as u8).collect();
                    drop(bytes.splice(at..at, block));
                }
                3 => {
                    let other = self.one_of(corpus);
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[self.below(other.len() + 1)..]);
                }
                4 => bytes[at..until].fill(EDGES[self.below(EDGES.len())]),
                5 => bytes[at..until].iter_mut().for_each(|byte| *byte = self.0.next_u32() as u8),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
        }
        bytes.truncate(MOST_BYTES);
        bytes
    }

    fn one_of(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        match corpus.len() {
            0 => Vec::new(),
            len => corpus[self.below(len)].clone(),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }
}
