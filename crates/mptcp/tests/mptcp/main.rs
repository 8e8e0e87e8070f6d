//! Two ends of a connection in virtual time, over paths that delay, lose and change what they carry.
#![allow(missing_docs)]

mod basics;
mod fallback;
mod hostile;
mod network;
mod paths;
mod properties;
mod send_space;
mod stale;
