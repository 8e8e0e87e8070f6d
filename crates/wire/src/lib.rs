//! Wire formats, without state.
//!
//! Each protocol has a *representation*: a plain header value ([`ip::IpHeader`], [`tcp::TcpHeader`],
//! [`udp::UdpHeader`], [`icmp::IcmpHeader`]) with `parse` (untrusted bytes in, never panics) and `emit` (bytes out);
//! `parse(emit(x)) == x`. Inside the simulator packets travel as these values; bytes exist only at a
//! device or in a capture.
//!
//! | module | what is in | what is not |
//! | --- | --- | --- |
//! | [`payload`] | pattern, shared bytes, or a rope of them | |
//! | [`ip`] | IPv4 and IPv6 as one header value; patches in place | IP options, extension headers, reassembly |
//! | [`tcp`] | header, MSS, window scale, SACK, timestamps, Multipath TCP; other options as they are | urgent data |
//! | [`udp`] | header | UDP-Lite, UDP options |
//! | [`icmp`] | echo, errors and what they quote, of both versions | neighbour discovery, redirects, parameter problems: kept as they are |
//! | [`rtp`] | header, extensions, the descriptor of VP8 | contributing sources, other payload formats |
//! | [`vp9`] | the descriptor of VP9 | flexible mode, scalability structures |
//! | [`rtcp`] | SR, RR, SDES, BYE, APP, NACK, PLI, REMB, transport-wide and RFC 8888 feedback | extended reports: kept as they are |
//! | [`packet`] | whole packets out of headers and payload, and back | link layers: a TUN device has none |
//! | [`ethernet`] | Ethernet II frames, ARP for IPv4 | VLANs, 802.3 lengths |
//! | [`checksum`] | Internet checksum, from scratch and incrementally | |
//! | [`pcapng`] | captures, written | reading captures |
//!
//! Read [`payload`] first: it says how ten million bytes travel without being stored. Then [`packet`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod checksum;
mod error;
pub mod ethernet;
mod field;
pub mod icmp;
pub mod ip;
pub mod packet;
pub mod payload;
mod payload_queue;
pub mod pcapng;
pub mod rtcp;
pub mod rtp;
pub mod tcp;
pub mod udp;
pub mod vp9;

pub use error::{Header, WireError, WireErrorKind};
pub use payload::{Held, Payload};
pub use payload_queue::PayloadQueue;
