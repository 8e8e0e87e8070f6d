//! CoAP as processes over UDP; what they speak is in the crate `coap`.
//!
//! | process | what it is |
//! | --- | --- |
//! | [`server`] | resources of its own or that are put, behind a port |
//! | [`client`] | puts bodies or asks for a resource at a rate |
//! | [`observer`] | is told the changes of a resource |
//!
//! `options.rs` has what clients and observers are alike in, `account.rs` what each of the three saw, `tables.rs` what a run
//! tells of them.

mod account;
pub mod client;
pub mod observer;
mod options;
pub mod server;
mod tables;

pub use options::{ClientOptions, TransmissionOptions};
