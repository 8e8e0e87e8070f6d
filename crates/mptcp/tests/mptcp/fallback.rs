//! Where the options do not pass (RFC 8684 section 3.7).

use crate::network::{Path, World, at, two_paths};
use voxpath_mptcp::{Opens, Scheduling};
use voxpath_tcp::{Config, Profile};
use voxpath_units::Span;
use voxpath_wire::Payload;
use voxpath_wire::tcp::mptcp::{CapableFlags, MptcpOption};
use voxpath_wire::tcp::{SackBlocks, TcpFlags, TcpHeader};

fn world() -> World {
    two_paths([Path::new(10, 10), Path::new(20, 10)], 200_000, 300_000)
}

pub(crate) fn strip(header: &mut TcpHeader) {
    header.options.sack = SackBlocks::EMPTY;
}

/// Runs it; which end fell back.
fn fallen(mut world: World) -> [bool; 2] {
    world.start();
    world.run_until(at(200));
    world.check();
    [0, 1].map(|i| world.end(i).connection.is_fallback())
}

#[test]
fn a_syn_without_the_option_is_answered_by_tcp() {
    let mut world = world();
    world.change = Box::new(|end, header, _| {
        if end == 0 && header.flags.contains(TcpFlags::SYN) {
            strip(header);
        }
        true
    });
    assert_eq!(fallen(world), [true, true]);
}

#[test]
fn an_answer_without_the_option_makes_it_tcp() {
    let mut world = world();
    world.change = Box::new(|end, header, _| {
        if end == 1 && header.flags.contains(TcpFlags::SYN) {
            strip(header);
        }
        true
    });
    assert_eq!(fallen(world), [true, true]);
}

/// Adds a flag to the MP_CAPABLE of a SYN of this end.
fn flag(of: usize, flag: CapableFlags) -> World {
    let mut world = world();
    world.change = Box::new(move |end, header, _| {
        let first = header.options.mptcp().flatten().next();
        if let Some(MptcpOption::Capable(mut capable)) = first
            && end == of
            && header.flags.contains(TcpFlags::SYN)
        {
            strip(header);
            capable.flags.0 |= flag.0;
            assert!(header.options.push_mptcp(&MptcpOption::Capable(capable)));
        }
        true
    });
    world
}

#[test]
fn an_extension_that_is_not_known_makes_it_tcp() {
    for end in [0, 1] {
        assert_eq!(fallen(flag(end, CapableFlags::EXTENSIBILITY)), [true, true], "{end}");
    }
}

#[test]
fn an_end_that_takes_no_further_subflows_at_its_first_address_gets_none_there() {
    for (end, opens) in
        [(0, Opens::FullMesh), (1, Opens::FullMesh), (1, Opens::PerInterface), (1, Opens::Ports)]
    {
        let mut world = flag(end, CapableFlags::NO_JOIN);
        world.setups[end].config.paths.opens = Opens::Nothing;
        world.setups[1 - end].config.paths.opens = opens;
        world.start();
        world.run_until(at(200));
        world.check();
        assert_eq!(world.end(0).connection.subflows().len(), 1, "{end}, {opens:?}");
    }
}

#[test]
fn who_does_not_read_closes_the_window_of_tcp_too() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 5_000_000, 0);
    let buffer = 100_000;
    world.setups[1].tcp =
        Config { receive_buffer: buffer, receive_autotuning: false, ..Profile::Rfc.config() };
    world.setups[1].app.reader = Some((10_000, Span::from_millis(100)));
    world.change = Box::new(|_, header, _| {
        strip(header);
        true
    });
    world.start();
    world.run_until(at(10));
    let end = world.end(1);
    assert!(end.connection.is_fallback());
    let (read, held) = (end.app.read, end.connection.readable());
    assert!(read < 1_100_000 && (1..=u64::from(buffer)).contains(&held), "{read}, {held}");
    world.run_until(at(200));
    world.check();
}

#[test]
fn options_that_pass_with_syns_alone_make_it_tcp() {
    for end in [0, 1, 2] {
        let mut world = world();
        world.change = Box::new(move |from, header, _| {
            if (end == 2 || from == end) && !header.flags.contains(TcpFlags::SYN) {
                strip(header);
            }
            true
        });
        assert_eq!(fallen(world), [true, true], "{end}");
    }
}

#[test]
fn a_further_subflow_whose_options_do_not_pass_is_reset() {
    let mut world = world();
    world.change = Box::new(|_, header, _| {
        let port = header.src_port.max(header.dst_port);
        if port > 40_000 && !header.flags.contains(TcpFlags::SYN) {
            strip(header);
        }
        true
    });
    assert_eq!(fallen(world), [false, false]);
}

#[test]
fn a_checksum_shows_what_was_changed_and_the_other_subflow_carries_it() {
    let mut world = world();
    world.setups.iter_mut().for_each(|side| side.config.checksum = true);
    let mut seen = 0;
    world.change = Box::new(move |_, header, payload| {
        let port = header.src_port.max(header.dst_port);
        seen += u32::from(port > 40_000 && payload.len() > 100);
        if seen == 5 && port > 40_000 && payload.len() > 100 {
            let mut octets = Vec::new();
            payload.write_to(&mut octets);
            octets[7] ^= 0x40;
            *payload = Payload::bytes(octets.into());
        }
        true
    });
    world.start();
    world.run_until(at(100));
    world.check();
    let found = [0, 1].map(|i| world.end(i).connection.counters().bad_checksums);
    assert_eq!(found.iter().sum::<u32>(), 1, "{:?} {:?}", world.shares(0), world.shares(1));
    assert!(!world.end(0).connection.is_fallback());
}

#[test]
fn what_was_acknowledged_without_options_is_not_sent_again_to_who_went_on_as_tcp() {
    // The server hears acknowledgments alone, and goes on as TCP. The client hears data that one mapping had covered, and a hole in it.
    for losses in 0..40 {
        let mut world = two_paths([Path { loss: 20, ..Path::new(48, 1) }, Path::new(1, 1)], 1, 25_000);
        (0..losses).for_each(|_| {
            world.draw();
        });
        world.setups[0].addresses.truncate(1);
        world.setups[1].config.scheduler = Scheduling::Kernel;
        for side in &mut world.setups {
            (side.tcp.receive_buffer, side.tcp.receive_autotuning) = (20_000, false);
        }
        let mut seen = 0;
        world.change = Box::new(move |_, header, _| {
            seen += 1;
            // The handshake and the first data of each end have options.
            if seen > 5 {
                strip(header);
            }
            true
        });
        world.start();
        world.run_until(at(3000));
        let read = [0, 1].map(|i| (world.end(i).app.read, world.end(i).app.wrong));
        assert!(read[0].0 <= 25_000 && read[1].0 <= 1, "{losses}: {read:?}");
        assert_eq!((read[0].1, read[1].1), (0, 0), "{losses}");
    }
}
