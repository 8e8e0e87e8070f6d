//! How late something was, as a histogram: the run's own account of its fidelity.

use voxpath_units::Span;

/// Buckets of each power of two; a bucket is at most an eighth of its value wide.
const SUB_BITS: u32 = 3;
const BUCKETS: usize = (64 << SUB_BITS) as usize;

/// A histogram of spans with buckets that grow with the value.
#[derive(Debug, Clone)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    max: Span,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max: Span::ZERO }
    }
}

impl Lateness {
    /// Takes a value in; allocates nothing.
    pub fn record(&mut self, late: Span) {
        self.counts[bucket(late.as_nanos())] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// How many values there are.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// The largest value.
    pub const fn max(&self) -> Span {
        self.max
    }

    /// The value that `percent` of all do not exceed, at most an eighth too large; zero without values.
    pub fn percentile(&self, percent: f64) -> Span {
        let rank = (self.total as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= rank {
                return Span::from_nanos(upper_end(bucket)).min(self.max);
            }
        }
        Span::ZERO
    }

    /// The buckets that hold something: upper end in nanoseconds, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let held = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        held.map(|(bucket, &count)| (upper_end(bucket), count))
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < 1 << SUB_BITS {
        return nanos as usize;
    }
    let exponent = nanos.ilog2();
    let mantissa = (nanos >> (exponent - SUB_BITS)) & ((1 << SUB_BITS) - 1);
    (((exponent - SUB_BITS + 1) << SUB_BITS) as u64 + mantissa) as usize
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let (group, mantissa) = ((bucket >> SUB_BITS) as u32, (bucket & ((1 << SUB_BITS) - 1)) as u64);
    if group == 0 {
        return mantissa;
    }
    let width = 1_u64 << (group - 1);
    (((1 << SUB_BITS) + mantissa) << (group - 1)) + (width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_an_eighth_wide() {
        for exponent in 0..63_u32 {
            for nanos in [(1_u64 << exponent) - 1, 1 << exponent, (1 << exponent) + (1 << exponent) / 3] {
                let end = upper_end(bucket(nanos));
                assert!(end >= nanos && end - nanos <= nanos / 8, "{nanos} in a bucket up to {end}");
            }
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(99.0), Span::ZERO);
        for micros in 1..=1000 {
            lateness.record(Span::from_micros(micros));
        }
        for (percent, micros) in [(50.0, 500), (99.0, 990), (100.0, 1000)] {
            let (found, exact) = (lateness.percentile(percent).as_nanos(), micros * 1000);
            assert!(found >= exact && found <= exact + exact / 8, "p{percent} is {found} ns");
        }
        assert_eq!(lateness.buckets().map(|(_, count)| count).sum::<u64>(), 1000);
    }
}
