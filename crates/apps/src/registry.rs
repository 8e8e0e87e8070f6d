//! What is made of the lists in `apps/mod.rs`: enumerations of all applications and processes, which pass each call on.

// Whoever has a list has these names, of which the enumerations are made.
pub(crate) use crate::datagrams::DatagramRecord;
pub(crate) use crate::entity::Entity;
pub(crate) use crate::machine::{DatagramMachine, Machine, StreamMachine};
pub(crate) use crate::process::{
    Peer, Process, ProcessContext, ProcessEntity, ProcessSettings, Sockets, Work,
};
pub(crate) use crate::record::Record;
pub(crate) use crate::settings::{FlowContext, Over, Settings};
pub(crate) use crate::socket::{Datagrams, Stream};
pub(crate) use alloc::vec::Vec;
pub(crate) use core::any::Any;
pub(crate) use core::net::IpAddr;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use voxpath_net::element::Draw;
pub(crate) use voxpath_units::Time;
pub(crate) use voxpath_units::check::Check;

/// Makes of each line `"kind" Variant(settings), over streams: ends, over datagrams: ends;` a variant of [`App`], and of
/// each end one of [`StreamApplication`] or [`DatagramApplication`].
macro_rules! applications {
    ($(
        $(#[$meta:meta])*
        $name:literal $variant:ident($settings:ty)
            $(, over streams: $($stream:ident($stream_machine:ty)),+)?
            $(, over datagrams: $($datagram:ident($datagram_machine:ty)),+)?;
    )+) => {
        /// Any application, as the plan has it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum App {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($settings), )+
        }

        $( impl From<$settings> for App {
            fn from(settings: $settings) -> Self {
                Self::$variant(settings)
            }
        } )+

        impl App {
            /// The names of all applications, in the order of the list.
            pub const KINDS: &[&str] = &[$($name),+];

            /// The plan's name for its kind.
            pub const fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )+ }
            }

            /// What the application of this name may go over, its usual way first; none if there is no such application.
            pub fn transports_of(name: &str) -> Option<&'static [Over]> {
                match name { $( $name => Some(<$settings>::TRANSPORTS), )+ _ => None }
            }

            /// As [`Settings::TRANSPORTS`].
            pub const fn transports(&self) -> &'static [Over] {
                match self { $( Self::$variant(_) => <$settings>::TRANSPORTS, )+ }
            }

            /// As [`Settings::TABLES`].
            pub const fn tables(&self) -> &'static [&'static dyn Entity] {
                match self { $( Self::$variant(_) => <$settings>::TABLES, )+ }
            }

            /// What the plan says of it, without its kind.
            pub fn settings(&self) -> &dyn Any {
                match self { $( Self::$variant(settings) => settings, )+ }
            }

            /// The tables of all applications, each once, in the order of the list.
            pub fn all_tables() -> Vec<&'static dyn Entity> {
                let mut all: Vec<&'static dyn Entity> = Vec::new();
                $( for &table in <$settings>::TABLES {
                    if all.iter().all(|known| known.name() != table.name()) {
                        all.push(table);
                    }
                } )+
                all
            }

            /// As [`Settings::RECEIVER`].
            pub const fn receiver(&self) -> usize {
                match self { $( Self::$variant(_) => <$settings>::RECEIVER, )+ }
            }

            /// As [`Settings::check`].
            pub fn check(&self, check: &mut Check<'_>) {
                match self { $( Self::$variant(settings) => settings.check(check), )+ }
            }

            /// As [`Settings::check_real`].
            pub fn check_real(&self, over: Over, check: &mut Check<'_>) {
                match self { $( Self::$variant(settings) => settings.check_real(over, check), )+ }
            }

            /// As [`Settings::is_endless`].
            pub fn is_endless(&self) -> bool {
                match self { $( Self::$variant(settings) => settings.is_endless(), )+ }
            }

            /// As [`Settings::is_paced`].
            pub fn is_paced(&self) -> bool {
                match self { $( Self::$variant(settings) => settings.is_paced(), )+ }
            }

            /// As [`Settings::ends`].
            pub fn ends(&self, flow: &FlowContext<'_>, over: Over) -> [Machine; 2] {
                match self { $( Self::$variant(settings) => settings.ends(flow, over), )+ }
            }

            /// Any application, as [`Settings::sample`].
            pub fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
                const SAMPLES: &[fn(&mut dyn Draw, bool) -> App] =
                    &[$(|draw, may_be_endless| <$settings>::sample(draw, may_be_endless).into()),+];
                SAMPLES[draw.below(SAMPLES.len() as u64) as usize](draw, may_be_endless)
            }
        }

        /// One end of any application over a byte stream.
        #[derive(Debug)]
        #[allow(missing_docs)] // Each is documented where it stands.
        pub enum StreamApplication { $($( $($stream($stream_machine),)+ )?)+ }

        impl StreamMachine for StreamApplication {
            fn drive(&mut self, now: Time, socket: &mut impl Stream) {
                match self { $($( $(Self::$stream(end) => end.drive(now, socket),)+ )?)+ }
            }

            fn poll_timeout(&self) -> Option<Time> {
                match self { $($( $(Self::$stream(end) => end.poll_timeout(),)+ )?)+ }
            }

            fn stop(&mut self) {
                match self { $($( $(Self::$stream(end) => end.stop(),)+ )?)+ }
            }

            fn record(&self) -> &Record {
                match self { $($( $(Self::$stream(end) => end.record(),)+ )?)+ }
            }
        }

        /// One end of any application over datagrams.
        #[derive(Debug)]
        #[allow(missing_docs)] // Each is documented where it stands.
        pub enum DatagramApplication { $($( $($datagram($datagram_machine),)+ )?)+ }

        impl DatagramMachine for DatagramApplication {
            fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
                match self { $($( $(Self::$datagram(end) => end.drive(now, socket),)+ )?)+ }
            }

            fn poll_timeout(&self) -> Option<Time> {
                match self { $($( $(Self::$datagram(end) => end.poll_timeout(),)+ )?)+ }
            }

            fn stop(&mut self) {
                match self { $($( $(Self::$datagram(end) => end.stop(),)+ )?)+ }
            }

            fn record(&self) -> &DatagramRecord {
                match self { $($( $(Self::$datagram(end) => end.record(),)+ )?)+ }
            }

            fn seen(&self) -> &dyn Any {
                match self { $($( $(Self::$datagram(end) => end.seen(),)+ )?)+ }
            }

            fn observe(&mut self) {
                match self { $($( $(Self::$datagram(end) => end.observe(),)+ )?)+ }
            }

            fn memory(&self) -> usize {
                match self { $($( $(Self::$datagram(end) => end.memory(),)+ )?)+ }
            }
        }

        $($($( impl From<$stream_machine> for Machine {
            fn from(end: $stream_machine) -> Self {
                Self::Stream(StreamApplication::$stream(end))
            }
        } )+)?)+
        $($($( impl From<$datagram_machine> for Machine {
            fn from(end: $datagram_machine) -> Self {
                Self::Datagrams(DatagramApplication::$datagram(end))
            }
        } )+)?)+
    };
}
pub(crate) use applications;

/// Makes of each line `"kind" Variant(settings), machine;` a variant of [`ProcessApp`] and one of [`ProcessMachine`].
macro_rules! processes {
    ($( $(#[$meta:meta])* $name:literal $variant:ident($settings:ty), $machine:ty; )+) => {
        /// Any process, as the plan has it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum ProcessApp {
            $( $(#[$meta])* #[serde(rename = $name)] $variant($settings), )+
        }

        impl ProcessApp {
            /// The names of all processes, in the order of the list.
            pub const KINDS: &[&str] = &[$($name),+];

            /// The plan's name for its kind.
            pub const fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )+ }
            }

            /// As [`ProcessSettings::check`].
            pub fn check(&self, nodes: u32, check: &mut Check<'_>) {
                match self { $( Self::$variant(settings) => settings.check(nodes, check), )+ }
            }

            /// The names of those that pass flows on.
            pub fn passing() -> Vec<&'static str> {
                [$( ($name, <$settings>::PASSES_ON) ),+]
                    .into_iter()
                    .filter_map(|(name, passes_on)| passes_on.then_some(name))
                    .collect()
            }

            /// As [`ProcessSettings::check_real`].
            pub fn check_real(&self, check: &mut Check<'_>) {
                match self { $( Self::$variant(settings) => settings.check_real(check), )+ }
            }

            /// As [`ProcessSettings::encrypts`].
            pub fn encrypts(&self) -> bool {
                match self { $( Self::$variant(settings) => settings.encrypts(), )+ }
            }

            /// As [`ProcessSettings::has_alone`].
            pub fn has_alone(&self) -> Vec<alloc::string::String> {
                match self { $( Self::$variant(settings) => settings.has_alone().collect(), )+ }
            }

            /// As [`ProcessSettings::is_endless`].
            pub fn is_endless(&self) -> bool {
                match self { $( Self::$variant(settings) => settings.is_endless(), )+ }
            }

            /// As [`ProcessSettings::TABLES`].
            pub const fn tables(&self) -> &'static [&'static dyn ProcessEntity] {
                match self { $( Self::$variant(_) => <$settings>::TABLES, )+ }
            }

            /// The tables of all processes, each once, in the order of the list.
            pub fn all_tables() -> Vec<&'static dyn ProcessEntity> {
                let mut all: Vec<&'static dyn ProcessEntity> = Vec::new();
                $( for &table in <$settings>::TABLES {
                    if all.iter().all(|known| known.name() != table.name()) {
                        all.push(table);
                    }
                } )+
                all
            }

            /// As [`ProcessSettings::ports`].
            pub fn ports(&self) -> Vec<(u16, Over)> {
                match self { $( Self::$variant(settings) => settings.ports().collect(), )+ }
            }

            /// As [`ProcessSettings::targets`].
            pub fn targets(&self) -> Vec<u32> {
                match self { $( Self::$variant(settings) => settings.targets().collect(), )+ }
            }

            /// As [`ProcessSettings::machine`].
            pub fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> ProcessMachine {
                match self { $( Self::$variant(settings) => ProcessMachine::$variant(settings.machine(context, address)), )+ }
            }

            /// Any process that passes on, as [`ProcessSettings::sample`].
            pub fn sample(draw: &mut dyn Draw, peers: &[(Peer, Over)]) -> Self {
                const SAMPLES: &[fn(&mut dyn Draw, &[(Peer, Over)]) -> Option<ProcessApp>] =
                    &[$(|draw, peers| <$settings>::sample(draw, peers).map(ProcessApp::$variant)),+];
                let mut drawn: Vec<Self> = SAMPLES.iter().filter_map(|sample| sample(draw, peers)).collect();
                drawn.swap_remove(draw.below(drawn.len() as u64) as usize)
            }
        }

        /// Any process that runs.
        #[derive(Debug)]
        #[allow(missing_docs)] // Each is documented where it stands.
        pub enum ProcessMachine { $( $variant($machine), )+ }

        impl Process for ProcessMachine {
            fn start(&mut self, sockets: &mut impl Sockets) {
                match self { $( Self::$variant(process) => process.start(sockets), )+ }
            }

            fn stop(&mut self, now: Time) {
                match self { $( Self::$variant(process) => process.stop(now), )+ }
            }

            fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
                match self { $( Self::$variant(process) => process.drive(now, sockets), )+ }
            }

            fn poll_timeout(&self) -> Option<Time> {
                match self { $( Self::$variant(process) => process.poll_timeout(), )+ }
            }

            fn is_busy(&self) -> bool {
                match self { $( Self::$variant(process) => process.is_busy(), )+ }
            }

            fn held(&self) -> u64 {
                match self { $( Self::$variant(process) => process.held(), )+ }
            }

            fn work(&self) -> Option<Work> {
                match self { $( Self::$variant(process) => process.work(), )+ }
            }

            fn account(&self) -> &dyn Any {
                match self { $( Self::$variant(process) => process.account(), )+ }
            }
        }

        $( impl From<$machine> for ProcessMachine {
            fn from(process: $machine) -> Self {
                Self::$variant(process)
            }
        } )+
    };
}
pub(crate) use processes;
