//! Processes, driven: they are woken, hear of events at their sockets, and are given what nobody else expects.

use super::World;
use crate::address::{FourTuple, Label};
use crate::endpoint::Kind;
use crate::owner::Owner;
use crate::processes::{ProcessSockets, end_of};
use crate::sockets::{Bound, Listener, Port};
use voxpath_apps::ProcessMachine;
use voxpath_apps::process::{Event, Process, SocketId};
use voxpath_mptcp::joins;
use voxpath_net::packet::Packet;
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::TcpFlags;

impl World {
    /// Has every process open what has to be there when the run starts.
    pub(crate) fn start_processes(&mut self) {
        for process in 0..self.processes.len() as u32 {
            self.start_process(Time::ZERO, process);
        }
    }

    /// Has a process open what has to be there when it starts, unless it runs on a real host, which is told by its own clock.
    pub(crate) fn start_process(&mut self, now: Time, process: u32) {
        if !self.processes[process as usize].is_outside {
            self.with_process(now, process, |machine, sockets| {
                machine.start(sockets);
                machine.drive(now, sockets);
            });
        }
    }

    /// Kills a process: its connections are reset, and nobody waits at its ports. The run waits for it if it is to run again.
    pub(crate) fn stop_process(&mut self, now: Time, process: u32) {
        let running = &mut self.processes[process as usize];
        if running.is_outside {
            return;
        }
        running.machine.as_mut().expect("a process that is not driven is there").stop(now);
        running.events.clear();
        // Wake-ups that the event queue has find nothing due.
        running.armed = None;
        let is_awaited = self.timeline.runs_again(process);
        self.busy = self.busy + usize::from(is_awaited) - usize::from(running.busy);
        running.busy = is_awaited;
        for endpoint in self.sockets.stop(process) {
            self.flush(now, endpoint as usize);
        }
    }

    /// A process's wake-up is due, unless an earlier one has replaced it.
    pub(crate) fn wake_process(&mut self, now: Time, process: u32) {
        let running = &mut self.processes[process as usize];
        if running.armed == Some(now) {
            running.armed = None;
            self.with_process(now, process, |machine, sockets| machine.drive(now, sockets));
        }
    }

    /// Something happened at a socket of a process: lets it do what it can.
    pub(crate) fn run_owner(&mut self, now: Time, index: usize, process: u32) {
        let running = &mut self.processes[process as usize];
        let socket = SocketId(index as u32);
        let kind = &mut self.sockets.endpoints[index].kind;
        let is_established = kind.is_established();
        if let Some(Owner::Process { accepted_at: accepted_at @ Some(_), .. }) = kind.owner_mut() {
            // A process knows of a connection once it stands.
            if is_established && let Some(listener) = accepted_at.take() {
                let Listener { id, .. } = self.sockets.listeners[listener as usize];
                running.tell(Event::Accepted { listener: id, socket });
            }
        } else {
            running.tell(Event::Ready(socket));
        }
        if running.wake == Span::ZERO {
            running.touched.insert(index as u32);
            return self.with_process(now, process, |machine, sockets| machine.drive(now, sockets));
        }
        // Its host acknowledges meanwhile.
        self.busy += usize::from(!core::mem::replace(&mut running.busy, true));
        let at = now + running.wake;
        self.arm_process(process, at);
        self.flush(now, index);
    }

    /// Enters a process's wake-up unless the event queue has an earlier one.
    fn arm_process(&mut self, process: u32, at: Time) {
        let running = &mut self.processes[process as usize];
        if running.armed.is_none_or(|armed| at < armed) {
            let at = at.max(self.network.events.now());
            running.armed = Some(at);
            self.network.events.push(at, running.target);
        }
    }

    fn with_process(
        &mut self,
        now: Time,
        process: u32,
        act: impl FnOnce(&mut ProcessMachine, &mut ProcessSockets<'_>),
    ) {
        let running = &mut self.processes[process as usize];
        let Some(mut machine) = running.machine.take() else {
            unreachable!("a process is driven by its own sockets one after the other");
        };
        let (network, table) = (&mut self.network, &mut self.sockets);
        act(&mut machine, &mut ProcessSockets { network, table, running, process });
        let (next, busy) = (machine.poll_timeout(), machine.is_busy());
        running.machine = Some(machine);
        self.busy = self.busy + usize::from(busy) - usize::from(running.busy);
        running.busy = busy;
        if let Some(at) = next {
            self.arm_process(process, at);
        }
        while let Some(endpoint) = self.processes[process as usize].touched.pop_first() {
            self.flush(now, endpoint as usize);
        }
    }

    /// A packet that no socket expects in particular: the one that waits at its port, or a new one of who listens there.
    pub(crate) fn claim(&mut self, node: u32, packet: &Packet) -> Option<usize> {
        let tuple = FourTuple::of(packet)?;
        let port = Port { node, is_udp: packet.is_udp(), number: tuple.local.1 };
        let opens = packet.tcp().is_none_or(|header| {
            header.flags.contains(TcpFlags::SYN) && !header.flags.intersects(TcpFlags::ACK | TcpFlags::RST)
        });
        let token = packet.tcp().filter(|_| opens).and_then(joins);
        if let Some(joined) = token.and_then(|token| self.sockets.by_token(node, token)) {
            return Some(joined as usize);
        }
        match self.sockets.bound(port, packet.flow)? {
            Bound::Endpoint(endpoint) => {
                if !matches!(self.sockets.endpoints[endpoint as usize].kind, Kind::Datagram(_)) {
                    if !opens {
                        return None;
                    }
                    self.sockets.settle(endpoint, port, tuple);
                }
                Some(endpoint as usize)
            }
            // A subflow of a connection that is gone is refused (RFC 8684 section 3.2).
            Bound::Listener(_) if !opens || token.is_some() => None,
            Bound::Listener(listener) => {
                let Listener { process, .. } = self.sockets.listeners[listener as usize];
                let own = self.network.nodes[node as usize].addresses.clone();
                let addresses = &self.network.addresses[own.start as usize..own.end as usize];
                let running = &mut self.processes[process as usize];
                let kind = running.connection(Some(listener), process, addresses);
                // The label of who opens is carried on.
                let label = Label::of(packet.flow, tuple);
                let index = self.sockets.add(label, end_of(process, false), node, kind, running.works);
                self.sockets.name(index);
                Some(index as usize)
            }
        }
    }
}
