//! The network: what carries packets from one host to another, in virtual or in real time alike.
//!
//! Read [`event`] (the total order of events) and [`link`] (what one direction of a link does to a packet)
//! first; [`element`] has the parts that a link is made of.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod element;
pub mod event;
pub mod link;
pub mod packet;
pub mod pool;
pub mod random;
pub mod routing;
pub mod table;
pub mod tap;

pub use event::{EventQueue, Target, Ticket};
pub use link::{Direction, Link, LinkChange};
pub use packet::{AddressId, Ecn, FlowId, Packet, Transport};
pub use pool::{Handle, Pool};
pub use random::{Seed, Stream};
pub use tap::Tap;
