//! Queues that hold no more than they must: of ten thousand connections most have one thing in each, or nothing.

use alloc::collections::VecDeque;

/// Puts `item` behind the others. The first memory that a queue takes is for one alone, where the library takes it for four.
#[inline]
pub(crate) fn push_back<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.capacity() == 0 {
        queue.reserve_exact(1);
    }
    queue.push_back(item);
}
