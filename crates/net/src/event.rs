//! The event queue: virtual time's total order.
//!
//! Events are ordered by (time, order of scheduling). Both, and the target, are packed into one 128-bit
//! key, so that an entry is 16 bytes, four siblings fill one cache line, and a comparison is a single
//! subtraction. The heap is 4-ary, and [`EventQueue::pop`] leaves a hole at the root that the next
//! [`EventQueue::push`] fills: the usual "deliver one, schedule its successor" costs one sift, not two.

use alloc::vec::Vec;
use voxpath_units::Time;

/// Whom an event wakes: an index that the world gives meaning to; below 2^24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target(u32);

impl Target {
    /// The largest number of targets.
    pub const LIMIT: u32 = 1 << TARGET_BITS;

    /// The target `index`; `None` at and above [`Target::LIMIT`].
    pub const fn new(index: u32) -> Option<Self> {
        if index < Self::LIMIT { Some(Self(index)) } else { None }
    }

    /// The index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the total order among events of one time.
///
/// Whoever knows early that something will happen takes its ticket then, and may enter the event itself
/// later, when it is the next of its kind: a link of a thousand packets in flight has one entry here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

const TARGET_BITS: u32 = 24;
const TICKET_BITS: u32 = 64 - TARGET_BITS;
const ARITY: usize = 4;

/// Events by (time, ticket).
#[derive(Debug, Default)]
pub struct EventQueue {
    /// A 4-ary min-heap of time (64 bits), ticket (40 bits), target (24 bits).
    heap: Vec<u128>,
    /// The root was popped and its place not yet refilled.
    hole: bool,
    next_ticket: u64,
    now: Time,
}

impl EventQueue {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time of the event popped last.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// How many tickets were drawn, hence how many things were scheduled.
    pub const fn scheduled(&self) -> u64 {
        self.next_ticket
    }

    /// How many more can be drawn.
    pub const fn tickets_left(&self) -> u64 {
        (1 << TICKET_BITS) - self.next_ticket
    }

    /// Bytes that it holds.
    pub const fn memory(&self) -> usize {
        self.heap.capacity() * size_of::<u128>()
    }

    /// Entries waiting.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    /// Whether nothing is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next place in the order.
    ///
    /// Panics after 2^40 tickets: eleven hours at thirty million a second.
    pub fn ticket(&mut self) -> Ticket {
        let ticket = self.next_ticket;
        assert!(ticket < 1 << TICKET_BITS, "a run has fewer than 2^{TICKET_BITS} events");
        self.next_ticket += 1;
        Ticket(ticket)
    }

    /// Wakes `target` at `time`, after everything scheduled for that time so far.
    pub fn push(&mut self, time: Time, target: Target) {
        let ticket = self.ticket();
        self.push_with(time, ticket, target);
    }

    /// Wakes `target` at `time`, in the place of `ticket`.
    ///
    /// Panics if `time` has passed: an effect would precede its cause.
    pub fn push_with(&mut self, time: Time, ticket: Ticket, target: Target) {
        assert!(time >= self.now, "an event lies in the past");
        let key = (u128::from(time.as_nanos()) << 64)
            | (u128::from(ticket.0) << TARGET_BITS)
            | u128::from(target.0);
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.heap.push(key);
            self.sift_up(self.heap.len() - 1, key);
        }
    }

    /// The time of the next event.
    pub fn peek_time(&mut self) -> Option<Time> {
        self.fill_hole();
        self.heap.first().map(|&key| Time::from_nanos((key >> 64) as u64))
    }

    /// Removes the next event and advances the clock to it.
    pub fn pop(&mut self) -> Option<(Time, Ticket, Target)> {
        self.fill_hole();
        let key = *self.heap.first()?;
        self.hole = true;
        self.now = Time::from_nanos((key >> 64) as u64);
        let ticket = Ticket(key as u64 >> TARGET_BITS);
        Some((self.now, ticket, Target(key as u32 & (Target::LIMIT - 1))))
    }

    fn fill_hole(&mut self) {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop().expect("the hole is an entry");
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
    }

    /// Places `key`, whose place so far is the root.
    fn sift_down(&mut self, key: u128) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            let smallest = match heap.get(first..first + ARITY) {
                Some(&[a, b, c, d]) => {
                    // A tournament of conditional moves: which child is smallest is anyone's guess.
                    let (i, x) = if b < a { (1, b) } else { (0, a) };
                    let (j, y) = if d < c { (3, d) } else { (2, c) };
                    first + if y < x { j } else { i }
                }
                _ => {
                    let rest = &heap[first.min(heap.len())..];
                    match rest.iter().enumerate().min_by_key(|&(_, &k)| k) {
                        Some((i, _)) => first + i,
                        None => break,
                    }
                }
            };
            if heap[smallest] >= key {
                break;
            }
            heap[at] = heap[smallest];
            at = smallest;
        }
        heap[at] = key;
    }

    /// Places `key`, whose place so far is `at`.
    fn sift_up(&mut self, mut at: usize, key: u128) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn target(i: u32) -> Target {
        Target::new(i).expect("small")
    }

    #[test]
    fn events_of_one_time_keep_the_order_of_scheduling() {
        let mut queue = EventQueue::new();
        for i in 0..100 {
            queue.push(Time::from_nanos(5), target(i));
        }
        for i in 0..100 {
            let (time, _, woken) = queue.pop().expect("an event");
            assert_eq!((time, woken), (Time::from_nanos(5), target(i)));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn an_early_ticket_goes_first_though_entered_late() {
        let mut queue = EventQueue::new();
        let early = queue.ticket();
        queue.push(Time::from_nanos(1), target(2));
        queue.push_with(Time::from_nanos(1), early, target(1));
        assert_eq!(queue.pop(), Some((Time::from_nanos(1), early, target(1))));
    }

    #[test]
    #[should_panic(expected = "an event lies in the past")]
    fn time_never_goes_back() {
        let mut queue = EventQueue::new();
        queue.push(Time::from_nanos(2), target(0));
        queue.pop();
        queue.push(Time::from_nanos(1), target(0));
    }

    proptest! {
        /// The same operations on a sorted set give the same events, whatever the interleaving.
        #[test]
        fn agrees_with_a_sorted_set(steps in prop::collection::vec((0_u64..50, any::<bool>()), 1..400)) {
            let mut queue = EventQueue::new();
            let mut model = BTreeSet::new();
            for (i, (delta, pop)) in steps.into_iter().enumerate() {
                if pop {
                    prop_assert_eq!(queue.peek_time().map(Time::as_nanos), model.first().map(|&(t, _)| t));
                    let expected = model.pop_first();
                    let got = queue.pop().map(|(t, _, target)| (t.as_nanos(), target.index()));
                    prop_assert_eq!(got, expected);
                } else {
                    let time = queue.now().as_nanos() + delta;
                    queue.push(Time::from_nanos(time), target(i as u32));
                    model.insert((time, i));
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
