//! What a layer is.

use alloc::vec::Vec;
use core::fmt::Debug;
use voxpath_wire::Payload;

/// The other end does not speak the layer's protocol, or breaks a rule of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// What a layer made of what has come.
#[derive(Debug, Default)]
pub struct Made {
    /// For who is above.
    pub up: Vec<Payload>,
    /// An answer, for the other end.
    pub down: Vec<Payload>,
    /// Nothing comes any more.
    pub is_over: bool,
}

/// One end of a layer.
pub trait Layer: Debug + Send {
    /// What this end says first; none of one that waits for the other.
    fn begin(&mut self) -> Option<Payload>;
    /// Takes in what has come.
    fn receive(&mut self, data: Payload, made: &mut Made) -> Result<(), Failed>;
    /// Whether both ends have shaken hands.
    fn is_open(&self) -> bool;
    /// What travels of `data`, once it is open.
    fn send(&mut self, data: &Payload) -> Payload;
    /// What this end says last; none if it says nothing, or has said it.
    fn close(&mut self) -> Option<Payload>;
    /// Whether it has to hear something of the other end before what is below is closed.
    fn waits(&self) -> bool {
        false
    }
}
