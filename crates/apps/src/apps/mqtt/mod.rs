//! MQTT: publishers, subscribers and brokers as processes; what they speak is in the crate `mqtt`.
//!
//! | process | what it is |
//! | --- | --- |
//! | [`broker`] | a [`voxpath_mqtt::Broker`] behind a port |
//! | [`publisher`] | clients that publish at a rate |
//! | [`subscriber`] | clients that subscribe, and note what comes |
//!
//! `clients.rs` has what publishers and subscribers are alike in, `account.rs` what each of the three
//! saw, `tables.rs` what a run tells of messages. Which message is which stands in `identity.rs`, and in `order.rs` of short ones.

mod account;
pub mod broker;
mod clients;
mod identity;
mod options;
mod order;
pub mod publisher;
pub mod subscriber;
mod tables;

pub use identity::MessageId;
pub use options::{ClientOptions, WillOptions};
