//! Whatever paths, losses, middleboxes and applications do: every octet arrives once and in order, or the connection ends with an error.

use crate::network::{Path, World, at, ms, two_paths};
use proptest::prelude::*;
use voxpath_mptcp::{Config, Coupling, Opens, PathManagement, Scheduling, When};
use voxpath_tcp::{Ended, Profile};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// What happens to a path, or to the address behind it.
#[derive(Debug, Clone, Copy)]
enum Event {
    Path { path: usize, is_up: bool },
    Address { client: usize, is_up: bool },
    Backup { subflow: usize, backup: bool },
    Close { subflow: usize },
    Abort { end: usize },
}

/// What a middlebox does from some segment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Box {
    Nothing,
    /// Takes options off.
    Strip,
    /// Changes an octet of data now and then.
    Corrupt,
}

fn config() -> impl Strategy<Value = Config> {
    let opens =
        prop::sample::select(vec![Opens::FullMesh, Opens::PerInterface, Opens::Ports, Opens::Nothing]);
    let joins =
        prop::sample::select(vec![When::AtOnce, When::OnFailure, When::OnDoubt, When::OnLowThroughput]);
    (0..Scheduling::ALL.len(), 0..Coupling::ALL.len(), (opens, joins), 0_u8..4, any::<[bool; 6]>()).prop_map(
        |(
            scheduler,
            coupling,
            (opens, joins),
            limit,
            [signal, checksum, long, opportunistic, penalise, again],
        )| Config {
            scheduler: Scheduling::ALL[scheduler].1,
            coupling: Coupling::ALL[coupling].1,
            paths: PathManagement {
                opens,
                signal,
                limit,
                joins,
                low_throughput_bps: 5_000_000,
                retry: if again { ms(500) } else { Span::ZERO },
            },
            checksum,
            long_numbers: long,
            opportunistic_retransmission: opportunistic,
            penalisation: penalise,
            close_timeout: Span::from_secs(20),
        },
    )
}

fn path() -> impl Strategy<Value = Path> {
    (1_u64..200, 1_u64..40, prop::sample::select(vec![0_u64, 0, 100, 20, 6]))
        .prop_map(|(delay, rate, loss)| Path { loss, ..Path::new(delay, rate) })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0_usize..2, any::<bool>()).prop_map(|(path, is_up)| Event::Path { path, is_up }),
        (0_usize..2, any::<bool>()).prop_map(|(client, is_up)| Event::Address { client, is_up }),
        (0_usize..4, any::<bool>()).prop_map(|(subflow, backup)| Event::Backup { subflow, backup }),
        (0_usize..4).prop_map(|subflow| Event::Close { subflow }),
        (0_usize..40).prop_map(|end| if end < 2 {
            Event::Abort { end }
        } else {
            Event::Path { path: end % 2, is_up: true }
        }),
    ]
}

fn apply(world: &mut World, event: Event) {
    match event {
        Event::Path { path, is_up } => {
            if let Some(path) = world.paths.values_mut().nth(path) {
                path.is_up = is_up;
            }
        }
        Event::Address { client, is_up } => {
            let ip = world.setups[0].addresses[client].ip;
            world.end(0).connection.set_address(ip, is_up);
        }
        Event::Backup { subflow, backup } => {
            let connection = &mut world.end(0).connection;
            if subflow < connection.subflows().len() {
                connection.set_backup(subflow, backup);
            }
        }
        Event::Close { subflow } => {
            let connection = &mut world.end(0).connection;
            if subflow < connection.subflows().len() && !connection.is_fallback() {
                connection.close_subflow(subflow);
            }
        }
        Event::Abort { end } => {
            if world.ends[end].is_some() {
                world.end(end).connection.abort();
            }
        }
    }
    world.run(0);
    world.run(1);
}

/// Runs a world in which these things happen; whether an application was handed what was not sent.
fn run(world: &mut World, events: &[(u64, Event)]) {
    world.start();
    for &(when, event) in events {
        world.run_until(Time::ZERO + ms(when));
        apply(world, event);
    }
    // Paths come back at last; but who was cut off for long may have given up.
    for path in world.paths.values_mut() {
        path.is_up = true;
        path.loss = path.loss.max(20);
    }
    world.run_until(at(3000));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_octet_arrives_once_and_in_order_or_the_connection_ends_with_an_error(
        configs in [config(), config()],
        paths in [path(), path()],
        octets in [0_u64..400_000, 0_u64..400_000],
        buffer in prop::sample::select(vec![20_000_u32, 100_000, 4_000_000]),
        reader in prop::option::of((500_u32..20_000, 1_u64..20)),
        mut events in prop::collection::vec((0_u64..6000, event()), 0..6),
        middlebox in (prop::sample::select(vec![Box::Nothing, Box::Nothing, Box::Strip, Box::Corrupt]), 0_u64..60, 0_usize..3),
        seed in any::<u64>(),
    ) {
        events.sort_by_key(|(when, _)| *when);
        let mut world = two_paths(paths, octets[0], octets[1]);
        (0..seed % 100).for_each(|_| { world.draw(); });
        for (side, config) in world.setups.iter_mut().zip(&configs) {
            side.config = config.clone();
            side.tcp = voxpath_tcp::Config {
                receive_buffer: buffer,
                receive_autotuning: false,
                retries: 8,
                ..Profile::Linux.config()
            };
            side.app.reader = reader.map(|(octets, rest)| (octets, ms(rest)));
        }
        let (what, from, whose) = middlebox;
        let mut seen = 0;
        world.change = std::boxed::Box::new(move |end, header, payload| {
            seen += 1;
            if seen < from || (whose < 2 && end != whose) {
                return true;
            }
            match what {
                Box::Nothing => {}
                Box::Strip => header.options = voxpath_wire::tcp::TcpOptions {
                    sack: Default::default(),
                    ..header.options
                },
                Box::Corrupt if seen % 7 == 0 && payload.len() > 1 => {
                    let mut octets = Vec::new();
                    payload.write_to(&mut octets);
                    octets[0] ^= 1;
                    *payload = Payload::bytes(octets.into());
                }
                Box::Corrupt => {}
            }
            true
        });
        run(&mut world, &events);
        // Nobody can tell what was changed where nobody compares checksums, or after a fallback.
        let is_changed = what == Box::Corrupt;
        let mut wanted = [octets[1], octets[0]].into_iter();
        for i in 0..2 {
            let wanted = wanted.next().expect("two ends");
            let Some(end) = &world.ends[i] else { continue };
            prop_assert!(end.app.wrong == 0 || is_changed, "end {}: {} wrong", i, end.app.wrong);
            prop_assert!(end.app.read <= wanted || is_changed);
            let ended = end.connection.ended();
            // Who has nothing to send cannot know that the other end is gone, as in TCP without keep-alives.
            let other = world.ends[1 - i].as_ref().and_then(|other| other.connection.ended());
            let is_left = other.is_some_and(|how| how != Ended::Closed);
            prop_assert!(ended.is_some() || is_left, "end {} stalls, the other is {:?}: {:?}", i, other, world.ends[1 - i].as_ref().map(|end| &end.connection));
            if ended == Some(Ended::Closed) {
                prop_assert_eq!(end.app.read, wanted, "end {} closed", i);
                prop_assert!(end.app.finished.is_some());
            }
        }
    }
}
