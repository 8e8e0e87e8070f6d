//! The largest value of a sliding window, kept in three (Nichols' algorithm, `lib/win_minmax.c` of Linux).

/// The best, second and third best value of the window, each younger than the one before.
#[derive(Debug, Default)]
pub(super) struct WindowedMax {
    best: [(u64, u64); 3],
}

impl WindowedMax {
    /// The largest value.
    pub(super) const fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Takes in `value` at `time`, and forgets what is older than `window`.
    pub(super) fn update(&mut self, window: u64, time: u64, value: u64) {
        let new = (time, value);
        if value >= self.best[0].1 || time - self.best[2].0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let age = time - self.best[0].0;
        if age > window {
            // The best has passed, the others move up; the next may have passed, too.
            self.best = [self.best[1], self.best[2], new];
            if time - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never more than the true maximum of the window, and exact where values only fall or only rise.
        #[test]
        fn it_is_no_larger_than_the_windows_maximum(values in prop::collection::vec(0_u64..1000, 1..60)) {
            let mut max = WindowedMax::default();
            for (time, &value) in values.iter().enumerate() {
                max.update(10, time as u64, value);
                let from = time.saturating_sub(10);
                let exact = values[from..=time].iter().max().copied().unwrap_or(0);
                prop_assert!(max.get() <= exact && max.get() >= value);
            }
        }
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for time in 1..=10 {
            max.update(10, time, 50);
            assert_eq!(max.get(), 100, "at {time}");
        }
        max.update(10, 11, 50);
        assert_eq!(max.get(), 50);
    }
}
