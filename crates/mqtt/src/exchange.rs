//! One direction of a session at QoS 1 and 2 (sections 4.3, 4.4 and 4.6): what was sent and not yet acknowledged, and
//! what came and is not to be taken twice. Clients and brokers have both.

use crate::packet::Qos;
use alloc::collections::VecDeque;
use alloc::collections::btree_map::{BTreeMap, Entry};

/// Of the 65 535 identifiers some are left for what is no message.
const MOST_IN_FLIGHT: u16 = u16::MAX - 1000;

/// Messages that were sent, in their order, until the other end has acknowledged them.
#[derive(Debug)]
pub(crate) struct Sender<M> {
    in_flight: VecDeque<InFlight<M>>,
    /// Identifiers go round; 0 is none.
    last_id: u16,
    /// How many may be in flight.
    most: u16,
}

#[derive(Debug)]
pub(crate) struct InFlight<M> {
    pub(crate) id: u16,
    pub(crate) qos: Qos,
    pub(crate) message: M,
    /// A PUBREC has come: the message is not sent again, only its identifier is held (figure 4.3).
    pub(crate) is_received: bool,
    /// It was given to the connection that is there now.
    pub(crate) is_sent: bool,
}

impl<M> Sender<M> {
    pub(crate) fn new(most: u16) -> Self {
        Self { in_flight: VecDeque::new(), last_id: 0, most: most.min(MOST_IN_FLIGHT) }
    }

    pub(crate) fn set_most(&mut self, most: u16) {
        self.most = most.min(MOST_IN_FLIGHT);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.in_flight.len() < usize::from(self.most)
    }

    pub(crate) fn len(&self) -> usize {
        self.in_flight.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// An identifier that is not in use, for something else than a message too.
    pub(crate) fn free_id(&mut self) -> u16 {
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            // There is one: see MOST_IN_FLIGHT.
            if self.in_flight.iter().all(|it| it.id != self.last_id) {
                return self.last_id;
            }
        }
    }

    /// Takes a message in; its identifier. There has to be room.
    pub(crate) fn begin(&mut self, qos: Qos, message: M) -> u16 {
        debug_assert!(self.has_room() && qos > Qos::AtMostOnce);
        let id = self.free_id();
        self.in_flight.push_back(InFlight { id, qos, message, is_received: false, is_sent: true });
        id
    }

    fn place(&self, id: u16) -> Option<usize> {
        // Most acknowledgments come in the order of the messages.
        self.in_flight.iter().position(|it| it.id == id)
    }

    /// The end of a message: a PUBACK at QoS 1, a PUBCOMP at QoS 2, or a PUBREC that refuses it. None if it was not in
    /// flight, or not so.
    pub(crate) fn end(&mut self, id: u16, qos: Qos) -> Option<InFlight<M>> {
        let place = self.place(id).filter(|&it| self.in_flight[it].qos == qos)?;
        self.in_flight.remove(place)
    }

    /// A PUBREC has come; whether there is such a message.
    pub(crate) fn received(&mut self, id: u16) -> bool {
        let place = self.place(id).filter(|&it| self.in_flight[it].qos == Qos::ExactlyOnce);
        place.is_some_and(|it| {
            self.in_flight[it].is_received = true;
            true
        })
    }

    /// The connection is gone: all has to be sent again, in the same order.
    pub(crate) fn disconnected(&mut self) {
        self.in_flight.iter_mut().for_each(|it| it.is_sent = false);
    }

    /// What has to be sent again next.
    pub(crate) fn again(&mut self) -> Option<&InFlight<M>> {
        let it = self.in_flight.iter_mut().find(|it| !it.is_sent)?;
        it.is_sent = true;
        Some(it)
    }

    /// Gives all of it up.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = InFlight<M>> {
        self.in_flight.drain(..)
    }
}

/// Messages at QoS 2 that came and are not yet released.
#[derive(Debug)]
pub(crate) struct Receiver<M> {
    ids: BTreeMap<u16, M>,
}

impl<M> Default for Receiver<M> {
    fn default() -> Self {
        Self { ids: BTreeMap::new() }
    }
}

impl<M> Receiver<M> {
    /// A message of QoS 2 has come; whether it is new. One that is not is the same message again.
    pub(crate) fn take(&mut self, id: u16, message: M) -> bool {
        match self.ids.entry(id) {
            Entry::Vacant(place) => {
                place.insert(message);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// A PUBREL has come: the message, if there was one.
    pub(crate) fn release(&mut self, id: u16) -> Option<M> {
        self.ids.remove(&id)
    }

    pub(crate) fn contains(&self, id: u16) -> bool {
        self.ids.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// What was never released.
    pub(crate) fn into_messages(self) -> impl Iterator<Item = M> {
        self.ids.into_values()
    }
}
