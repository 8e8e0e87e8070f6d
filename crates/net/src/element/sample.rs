//! Random settings, for property tests and fuzzing: whatever the settings of an element or of an application may be, it draws them
//! itself.
//!
//! A test says what it draws from, and within which bounds: links on which transfers are to end are milder than those that
//! are to break something.

/// What settings are drawn from.
pub trait Draw {
    /// A number below `n`, which is above zero.
    fn below(&mut self, n: u64) -> u64;

    /// A probability.
    fn prob(&mut self) -> f64;

    /// Nanoseconds; may be zero.
    fn span(&mut self) -> u64;

    /// Bits per second; may be zero.
    fn rate(&mut self) -> u64;

    /// Yes or no.
    fn bit(&mut self) -> bool {
        self.below(2) == 1
    }

    /// A number from 0 up to, not including, 1.
    fn unit(&mut self) -> f64 {
        self.below(1 << 32) as f64 / (1_u64 << 32) as f64
    }
}

impl dyn Draw + '_ {
    /// Bits per second; a megabit where that would be zero.
    pub fn rate_above_zero(&mut self) -> u64 {
        match self.rate() {
            0 => 1_000_000,
            rate => rate,
        }
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
