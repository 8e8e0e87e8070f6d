//! CoAP: a client and a server as processes over UDP; what they speak is in the crate `coap`.

mod account;
pub mod client;
pub mod server;
mod tables;
