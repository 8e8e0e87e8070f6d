//! Which message a short body is of: its topic tells whose it is, its octets the low ones of the message's number, and the order
//! of messages the rest, since MQTT keeps the order of a topic (section 4.6 of both versions).
//!
//! A number is what follows most closely on the one before. At QoS 0 that is the next one with these octets; above it a message
//! can come again, so it is the nearest one. What was not published yet is no candidate. So a number is wrong only where more
//! messages in a row were lost than one octet can count.

use super::account::{Published, PublisherAccount};
use super::identity::{LEAST_TELLING, MessageId, Short};
use crate::process::Saw;
use alloc::collections::BTreeMap;
use voxpath_mqtt::{Qos, Text};
use voxpath_units::Time;

/// Who says something short on which topic, and what came last to whom.
pub(super) struct Order<'a> {
    /// None where several do: no body tells whose it is.
    topics: BTreeMap<&'a Text, Option<Whose<'a>>>,
    last: BTreeMap<(Receiver, u16, u32), u32>,
}

/// Who got a message: a client of a process, or the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Receiver {
    pub(super) process: u16,
    pub(super) client: u32,
    /// When it could get one first.
    pub(super) since: Time,
}

/// What a client published.
#[derive(Clone, Copy)]
struct Whose<'a> {
    process: u16,
    client: u32,
    qos: Qos,
    /// In turn.
    sizes: &'a [u32],
    published: &'a [Published],
}

impl<'a> Order<'a> {
    pub(super) fn new(saw: &'a [Saw<'a>]) -> Self {
        let mut topics = BTreeMap::new();
        let accounts = saw.iter().filter_map(|saw| saw.account.downcast_ref::<PublisherAccount>());
        for account in accounts.filter(|account| account.sizes.iter().any(|&size| size < LEAST_TELLING)) {
            for (client, source) in (0..).zip(&account.sources) {
                let &PublisherAccount { process, qos, ref sizes, .. } = account;
                let whose = Whose { process, client, qos, sizes, published: &source.published };
                topics.entry(&source.topic).and_modify(|it| *it = None).or_insert(Some(whose));
            }
        }
        Self { topics, last: BTreeMap::new() }
    }

    /// Which message came to somebody at a time: one that is known, or of a topic and an octet or a few. All that came has to be
    /// told, in its order.
    pub(super) fn tell(
        &mut self,
        receiver: Receiver,
        what: Result<MessageId, (&Text, Option<Short>)>,
        at: Time,
    ) -> Option<MessageId> {
        if self.topics.is_empty() {
            return what.ok();
        }
        let id = match what {
            Ok(id) => id,
            Err((topic, short)) => {
                let whose = (*self.topics.get(topic)?)?;
                let last = self.last.get(&(receiver, whose.process, whose.client)).copied();
                whose.id(whose.number(short?, last, receiver.since, at)?)
            }
        };
        let last = self.last.entry((receiver, id.process, id.client)).or_insert(id.number);
        *last = (*last).max(id.number);
        Some(id)
    }
}

impl Whose<'_> {
    fn id(&self, number: u32) -> MessageId {
        MessageId { process: self.process, client: self.client, number }
    }

    fn number(&self, short: Short, last: Option<u32>, since: Time, at: Time) -> Option<u32> {
        let Self { qos, sizes, published, .. } = *self;
        let there = published.partition_point(|it| it.due_at <= at) as u32;
        let fits = |&number: &u32| {
            sizes[number as usize % sizes.len()] == short.len() && short.is_of(self.id(number))
        };
        let turn = short.turn();
        let after = |from: u32| {
            let first = from + (short.low().wrapping_sub(from) & (turn - 1));
            // Sizes come in turn: of as many numbers one fits, or none does.
            (first..there).step_by(turn as usize).take(sizes.len()).find(fits)
        };
        match last {
            // A client with several filters may get it once for each.
            Some(last) if qos == Qos::AtMostOnce => after(last + 1).or(Some(last).filter(fits)),
            Some(last) => after((last + 1).saturating_sub(turn / 2)),
            // What was there before is retained, or has waited.
            None => after(published.partition_point(|it| it.due_at < since) as u32)
                .or_else(|| (0..there).rev().take(turn as usize * sizes.len()).find(fits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use voxpath_mqtt::Reason;
    use voxpath_units::Span;
    use voxpath_wire::Payload;

    const SECOND: Span = Span::from_secs(1);

    /// One message a second, from the first second on.
    fn published(count: u64) -> Vec<Published> {
        let at = |number: u64| Time::ZERO + SECOND * (number + 1);
        let of = |number| Published {
            due_at: at(number),
            sent_at: None,
            acknowledged_at: None,
            reason: Reason::SUCCESS,
        };
        (0..count).map(of).collect()
    }

    fn whose<'a>(qos: Qos, sizes: &'a [u32], published: &'a [Published]) -> Whose<'a> {
        Whose { process: 3, client: 5, qos, sizes, published }
    }

    /// The octets of a message as real hosts get them.
    fn short(whose: &Whose<'_>, number: u32) -> Short {
        let mut octets = Vec::new();
        whose.id(number).body(whose.sizes[number as usize % whose.sizes.len()]).write_to(&mut octets);
        Short::of(&Payload::bytes(octets.into())).unwrap()
    }

    proptest! {
        #[test]
        fn losses_and_repetitions_of_less_than_an_octet_counts_do_not_matter(
            steps in prop::collection::vec((0..120_i64, -100..120_i64), 1..60),
            above in any::<bool>(),
            size in 1..8_u32,
        ) {
            let published = published(20_000);
            let sizes = [size];
            let qos = if above { Qos::AtLeastOnce } else { Qos::AtMostOnce };
            let whose = whose(qos, &sizes, &published);
            let mut last: Option<u32> = None;
            for (forward, any) in steps {
                let step = if above { any } else { forward };
                let number = last.map_or(0, |last| (i64::from(last) + 1 + step).max(0) as u32);
                // It came with what was published meanwhile.
                let at = published[number as usize].due_at + SECOND * 1000;
                prop_assert_eq!(whose.number(short(&whose, number), last, Time::ZERO, at), Some(number));
                last = last.max(Some(number));
            }
        }
    }

    #[test]
    fn who_comes_late_gets_what_comes_then_or_what_was_retained() {
        let published = published(1000);
        let sizes = [1];
        let whose = whose(Qos::AtMostOnce, &sizes, &published);
        let first = |number: u32, since: u32| {
            let [since, at] = [since, number].map(|number| published[number as usize].due_at);
            whose.number(short(&whose, number), None, since, at + SECOND * 2)
        };
        assert_eq!(first(700, 690), Some(700));
        assert_eq!(first(700, 701), Some(700));
    }

    #[test]
    fn what_was_not_published_yet_or_has_another_size_did_not_come() {
        let published = published(1000);
        let sizes = [1, 100, 2];
        let whose = whose(Qos::AtMostOnce, &sizes, &published);
        let at = published[600].due_at;
        assert_eq!(whose.number(short(&whose, 600), Some(590), Time::ZERO, at), Some(600));
        assert_eq!(whose.number(short(&whose, 603), Some(590), Time::ZERO, at), None);
        // 602 has two octets; the octet of 602 belongs to 858, which comes later.
        let one = Short::of(&Payload::bytes(vec![90].into())).unwrap();
        assert_eq!(whose.number(one, Some(590), Time::ZERO, at), None);
    }

    #[test]
    fn a_client_of_two_filters_may_get_one_message_twice() {
        let published = published(10);
        let sizes = [1];
        let whose = whose(Qos::AtMostOnce, &sizes, &published);
        let at = published[9].due_at;
        assert_eq!(whose.number(short(&whose, 4), Some(4), Time::ZERO, at), Some(4));
    }
}
