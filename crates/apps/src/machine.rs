//! What an application does at one end of its flow.

use crate::datagrams::DatagramRecord;
use crate::record::Record;
use crate::socket::{Datagrams, Stream};
use alloc::boxed::Box;
use core::any::Any;
use voxpath_units::Time;

pub use crate::apps::{DatagramApplication, StreamApplication};

/// One end of an application over a byte stream.
pub trait StreamMachine {
    /// Does what the socket allows at `now`.
    fn drive(&mut self, now: Time, socket: &mut impl Stream);

    /// When to drive it though nothing happened at the socket.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Has the end that opened its flow leave: it begins nothing more and closes, reading what still comes. Ends that
    /// answer follow it.
    fn stop(&mut self) {}

    /// What it received.
    fn record(&self) -> &Record;
}

/// One end of an application over datagrams.
pub trait DatagramMachine {
    /// Takes in what has come by `now`, and sends what is due.
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams);

    /// When the next datagram is due; none as long as nothing comes.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Has the end that opened its flow begin nothing more.
    fn stop(&mut self) {}

    /// What it sent and received.
    fn record(&self) -> &DatagramRecord;

    /// What it saw, where that is more than single datagrams: what [`Told::ends`](crate::Told::ends) has of it.
    fn seen(&self) -> &dyn Any {
        self.record()
    }

    /// Has it note what only those want to know who look closely.
    fn observe(&mut self) {}

    /// Bytes that what it saw takes.
    fn memory(&self) -> usize {
        self.record().memory()
    }
}

impl<M: StreamMachine> StreamMachine for Box<M> {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        (**self).drive(now, socket);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn stop(&mut self) {
        (**self).stop();
    }

    fn record(&self) -> &Record {
        (**self).record()
    }
}

impl<M: DatagramMachine> DatagramMachine for Box<M> {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        (**self).drive(now, socket);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn stop(&mut self) {
        (**self).stop();
    }

    fn record(&self) -> &DatagramRecord {
        (**self).record()
    }

    fn seen(&self) -> &dyn Any {
        (**self).seen()
    }

    fn observe(&mut self) {
        (**self).observe();
    }

    fn memory(&self) -> usize {
        (**self).memory()
    }
}

/// One end of any application.
#[derive(Debug)]
pub enum Machine {
    /// Over a byte stream.
    Stream(StreamApplication),
    /// Over datagrams.
    Datagrams(DatagramApplication),
}

impl Machine {
    /// As [`StreamMachine::stop`].
    pub fn stop(&mut self) {
        match self {
            Self::Stream(application) => application.stop(),
            Self::Datagrams(application) => application.stop(),
        }
    }
}
