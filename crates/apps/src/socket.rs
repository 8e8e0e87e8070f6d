//! What an application sees of its transport.

use voxpath_wire::Payload;
use voxpath_wire::ip::Ecn;

/// A byte stream: a simulated TCP connection, or the operating system's.
pub trait Stream {
    /// Whether the connection stands.
    fn is_connected(&self) -> bool;
    /// Octets that [`Stream::write`] would take now.
    fn writable(&self) -> u32;
    /// Takes in as much of `data` as fits; how many octets that is.
    fn write(&mut self, data: &Payload) -> u32;
    /// Gives out at most `max` octets; empty if there are none now.
    fn read(&mut self, max: u32) -> Payload;
    /// Whether the peer has closed and all that it sent was read.
    fn is_at_end(&self) -> bool;
    /// Closes this end's direction.
    fn close(&mut self);
}

/// A datagram socket.
pub trait Datagrams {
    /// Sends one datagram to the other end; the network may mark it if `ecn` says so.
    fn send_marked(&mut self, data: Payload, ecn: Ecn);
    /// The next datagram that has come from there, and how the network left it marked.
    fn receive_marked(&mut self) -> Option<(Payload, Ecn)>;

    /// Sends one datagram to the other end.
    fn send(&mut self, data: Payload) {
        self.send_marked(data, Ecn::NotEct);
    }

    /// The next datagram that has come from there.
    fn receive(&mut self) -> Option<Payload> {
        self.receive_marked().map(|(data, _)| data)
    }
}
