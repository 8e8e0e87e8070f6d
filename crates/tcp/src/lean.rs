//! Queues that hold no more than they must: of ten thousand connections most have one thing in each, or nothing. And where something is in a
//! long one.

use alloc::collections::VecDeque;

/// Puts `item` behind the others. The first memory that a queue takes is for one alone, where the library takes it for four.
#[inline]
pub(crate) fn push_back<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.capacity() == 0 {
        queue.reserve_exact(1);
    }
    queue.push_back(item);
}

/// As [`VecDeque::partition_point`], of a queue where mostly one of the last is looked for.
#[inline]
pub fn partition_point_near_end<T>(queue: &VecDeque<T>, is_before: impl Fn(&T) -> bool) -> usize {
    /// How many of the last are looked at before the queue is halved.
    const LAST: usize = 4;
    for place in (queue.len().saturating_sub(LAST)..queue.len()).rev() {
        if is_before(&queue[place]) {
            return place + 1;
        }
    }
    if queue.len() <= LAST { 0 } else { queue.partition_point(is_before) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_near_the_end_and_far_from_it() {
        for len in 0..12 {
            let queue: VecDeque<u32> = (0..len).collect();
            for first in 0..=len {
                assert_eq!(partition_point_near_end(&queue, |&item| item < first), first as usize);
            }
        }
    }
}
