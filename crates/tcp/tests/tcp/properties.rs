//! Whole connections under any pattern of loss, duplication and reordering, for any parameters.

use crate::ladder::span_ms;
use crate::pair::{App, Fate, Pair};
use proptest::prelude::*;
use voxpath_tcp::config::DelayedAck;
use voxpath_tcp::{Config, Congestion, Connection, Ended, Owner, Profile, Recovery};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlock, SackBlocks, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};

prop_compose! {
    pub fn config()(
        profile in 0_usize..3,
        bits in any::<u32>(),
        recovery in prop::sample::select(vec![Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Linux]),
        (_, congestion) in prop::sample::select(Congestion::ALL),
        mss in prop::sample::select(vec![1460_u16, 1460, 536, 100]),
        send_buffer in prop::sample::select(vec![1_000_000_u32, 20_000, 3000]),
        receive_buffer in prop::sample::select(vec![1_000_000_u32, 300_000, 65_535, 8760, 1460, 700]),
        initial_window in 1_u32..12,
        dupack_threshold in 1_u32..5,
        max_segments in 1_u32..4,
        max_delay in prop::sample::select(vec![0_u64, 40, 200]),
        rto_min in prop::sample::select(vec![1_u64, 200, 1000]),
    ) -> Config {
        let bit = |n: u32| bits >> n & 1 == 1;
        let mut config = Profile::ALL[profile].1.config();
        config.rto.min = span_ms(rto_min);
        config.persist.min = span_ms(rto_min);
        Config {
            mss, send_buffer, receive_buffer, recovery, initial_window, dupack_threshold,
            window_scaling: bit(0),
            timestamps: bit(1),
            sack: bit(2),
            nagle: bit(3),
            congestion,
            limited_transmit: bit(4),
            byte_counting: bit(5),
            cwnd_validation: bit(6),
            idle_restart: bit(7),
            rack: bit(8),
            loss_probe: bit(9),
            prr: bit(10),
            dsack: bit(11),
            undo: bit(12),
            frto: bit(13),
            ssthresh_from_cwnd: bit(14),
            window_from_duplicates: bit(16),
            delayed_ack: DelayedAck { max_delay: span_ms(max_delay), max_segments, adaptive: bit(15), quick: 16 },
            // A run of bad luck is no dead peer.
            syn_retries: 1000,
            retries: 1000,
            // Long enough for every repeated FIN to find an answer.
            msl: Span::from_secs(100_000),
            ..config
        }
    }
}

prop_compose! {
    fn app()(
        octets in prop_oneof![Just(0_u64), 1_u64..3000, 3000_u64..60_000],
        write_size in prop::sample::select(vec![100_000_u32, 1460, 333, 90, 40]),
        slow in prop::option::of((1_u32..4000, 1_u64..300)),
    ) -> App {
        let slow_reader = slow.filter(|(octets, _)| *octets > 100).map(|(octets, rest)| (octets, span_ms(rest)));
        App { octets, write_size, slow_reader }
    }
}

/// Small and repeatable numbers, a stream for each packet (SplitMix64).
pub fn noise(seed: u64, end: usize, index: u64) -> impl FnMut(u64) -> u64 {
    fn mix(z: u64) -> u64 {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    let mut state = mix(seed ^ mix(index * 2 + end as u64));
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(state) % below
    }
}

/// A network that loses, repeats and delays by chance, `bad_for` packets of each end long.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    pub seed: u64,
    loss: u64,
    duplication: u64,
    jitter: u64,
    bad_for: u64,
}

impl Network {
    pub fn fate(&self, end: usize, index: u64) -> Fate {
        let mut noise = noise(self.seed, end, index);
        let delay = span_ms(10);
        if index >= self.bad_for {
            return vec![delay];
        }
        let mut fate = Fate::new();
        if noise(100) >= self.loss {
            fate.push(delay + Span::from_micros(noise(self.jitter * 1000 + 1)));
        }
        if noise(100) < self.duplication {
            fate.push(delay + Span::from_micros(noise(self.jitter * 1000 + 1)));
        }
        fate
    }
}

prop_compose! {
    pub fn network()(
        seed in any::<u64>(),
        loss in prop::sample::select(vec![0_u64, 2, 10, 30, 60]),
        duplication in prop::sample::select(vec![0_u64, 0, 5, 30]),
        jitter in prop::sample::select(vec![0_u64, 0, 3, 30, 1500]),
        bad_for in prop::sample::select(vec![30_u64, 200, 1000]),
    ) -> Network {
        Network { seed, loss, duplication, jitter, bad_for }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_written_is_read_once_and_in_order_and_both_ends_close(
        client in config(), server in config(), apps in [app(), app()], network in network(),
    ) {
        let mut pair = Pair::new([client, server], apps, move |end, index, _| network.fate(end, index));
        pair.drive();
    }
}

/// Found by chance: a timeout's repetition that pacing held back, and an acknowledgment of what had been sent before, by which the timeout was
/// spurious. Nothing was repeated then, and no timer ran any more.
#[test]
fn a_timeout_that_was_spurious_before_anything_was_repeated_leaves_a_timer() {
    let tuned = |config: Config, mss, receive_buffer, congestion| {
        let mut config = Config {
            mss,
            receive_buffer,
            congestion,
            sack: true,
            loss_probe: true,
            frto: true,
            window_scaling: false,
            timestamps: false,
            syn_retries: 1000,
            retries: 1000,
            msl: Span::from_secs(100_000),
            ..config
        };
        (config.rto.min, config.persist.min) = (span_ms(1), span_ms(1));
        config
    };
    let configs = || {
        let client = tuned(Profile::Rfc.config(), 1460, 1_000_000, Congestion::Bbr);
        [client, tuned(Profile::Linux.config(), 100, 700, Congestion::Reno)]
    };
    let reader = Some((700, span_ms(281)));
    let apps = || {
        [
            App { octets: 8869, write_size: 100_000, slow_reader: None },
            App { octets: 521, write_size: 100_000, slow_reader: reader },
        ]
    };
    for seed in 0..3000 {
        let network = Network { seed, loss: 30, duplication: 0, jitter: 3, bad_for: 200 };
        Pair::new(configs(), apps(), move |end, index, _| network.fate(end, index)).drive();
    }
}

/// A segment of anything: flags and options by chance, numbers near those in use.
fn garbage(noise: &mut impl FnMut(u64) -> u64, near: &TcpHeader) -> (TcpHeader, Payload) {
    let offset = |noise: &mut dyn FnMut(u64) -> u64| match noise(5) {
        0 => 0,
        1 => noise(3000) as u32,
        2 => (noise(3000) as u32).wrapping_neg(),
        3 => noise(100_000) as u32,
        _ => noise(1 << 32) as u32,
    };
    let seq = near.seq.wrapping_add(offset(noise));
    let ack = near.ack.wrapping_add(offset(noise));
    let mut sack = SackBlocks::EMPTY;
    for _ in 0..noise(4) {
        let left = near.ack.wrapping_add(offset(noise));
        sack.push(SackBlock { left, right: left.wrapping_add(offset(noise)) });
    }
    let options = TcpOptions {
        mss: (noise(4) == 0).then(|| noise(65_536) as u16),
        window_scale: (noise(4) == 0).then(|| noise(256) as u8),
        sack_permitted: noise(4) == 0,
        timestamps: (noise(2) == 0)
            .then(|| Timestamps { value: noise(1 << 32) as u32, echo: noise(1 << 32) as u32 }),
        sack,
    };
    // Every other one is a bare acknowledgment: of those a stack believes most.
    let flags = if noise(2) == 0 { TcpFlags::ACK } else { TcpFlags(noise(256) as u8) };
    let header = TcpHeader { seq, ack, flags, window: noise(65_536) as u16, options, ..TcpHeader::default() };
    (header, Payload::pattern(77, noise(1000), [0, 0, noise(3000)][noise(3) as usize] as u32))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_never_panics_and_only_a_valid_reset_ends_a_connection(
        config in config(), seed in any::<u64>(), active in any::<bool>(), closing in any::<bool>(), owned in any::<bool>(),
    ) {
        let mut noise = noise(seed, 0, 0);
        let (iss, irs) = (Seq(7), Seq(u32::MAX - 100));
        let offer = TcpOptions { mss: Some(1460), window_scale: Some(3), sack_permitted: true,
            timestamps: Some(Timestamps { value: 5, echo: 0 }), ..TcpOptions::default() };
        let syn = TcpHeader { seq: irs, flags: TcpFlags::SYN, window: 5000, options: offer, ..TcpHeader::default() };
        let mut tcp = if active {
            Connection::connect(config, iss)
        } else {
            Connection::accept(config, iss, &syn)
        };
        if owned {
            tcp = tcp.owned_by(Owner { window: 5000, ack_options: 12, data_options: 28 });
        }
        let mut now = Time::ZERO;
        while tcp.poll_transmit(now).is_some() {}
        let flags = if active { TcpFlags::SYN | TcpFlags::ACK } else { TcpFlags::ACK };
        let seq = if active { irs } else { irs.wrapping_add(1) };
        let options = if active { offer } else { TcpOptions::default() };
        let answer = TcpHeader { seq, ack: iss.wrapping_add(1), flags, window: 5000, options, ..TcpHeader::default() };
        tcp.handle_segment(now, &answer, &Payload::Empty);
        // What a peer could send next, as the endpoint's own segments tell.
        let mut near = TcpHeader { seq: irs.wrapping_add(1), ack: iss.wrapping_add(1), ..TcpHeader::default() };
        let mut expected = near.seq;
        for i in 0..300_u64 {
            while tcp.poll_transmit(now).map(|(header, payload)| {
                if !header.flags.contains(TcpFlags::RST) {
                    (near.seq, near.ack) = (header.ack, header.seq.wrapping_add(payload.len()));
                    expected = header.ack;
                }
            }).is_some() {}
            prop_assert!(tcp.poll_timeout().is_none_or(|due| due > now));
            if noise(4) == 0 {
                tcp.write_mapped(&Payload::pattern(0, i * 5000, noise(5000) as u32), i);
            }
            if closing && i == 150 {
                tcp.close();
            }
            if noise(3) == 0 {
                now = tcp.poll_timeout().filter(|_| noise(3) == 0).unwrap_or(now + span_ms(noise(100)));
                tcp.handle_timeout(now);
                continue;
            }
            let (header, payload) = garbage(&mut noise, &near);
            tcp.handle_segment(now, &header, &payload);
            while !tcp.read(1 << 20).is_empty() {}
            while tcp.poll_received().is_some() {}
            match tcp.ended() {
                None | Some(Ended::TimedOut) => {}
                Some(Ended::Closed) => prop_assert!(closing && i >= 150),
                Some(Ended::Reset) => {
                    prop_assert!(header.flags.contains(TcpFlags::RST) && header.seq == expected);
                }
                other => prop_assert!(false, "{:?}", other),
            }
            if tcp.ended().is_some() {
                break;
            }
        }
    }
}
