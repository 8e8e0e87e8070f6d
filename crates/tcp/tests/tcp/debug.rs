use crate::ladder::span_ms;
use crate::pair::{App, Pair};
use voxpath_tcp::config::DelayedAck;
use voxpath_tcp::{Config, Congestion, Profile, Recovery};
use voxpath_units::Span;
#[test]
fn debug() {
    let network = crate::properties::Network { seed: 8648133716542505140, loss: 60, duplication: 0, jitter: 3, bad_for: 1000 };
    let mut c = Config { send_buffer: 3000, receive_buffer: 1000000, window_scaling: false, timestamps: true, sack: false, nagle: false, congestion: Congestion::Cubic, recovery: Recovery::Tahoe, initial_window: 1, dupack_threshold: 2, limited_transmit: false, byte_counting: false, cwnd_validation: false, idle_restart: false,
      delayed_ack: DelayedAck { max_delay: Span::ZERO, max_segments: 1 }, syn_retries: 60, retries: 60, msl: Span::from_secs(100_000), ..Profile::Linux.config() };
    c.rto.min = span_ms(1);
    c.persist.min = span_ms(1);
    let mut s = Config { receive_buffer: 1000000, send_buffer: 1000000, window_scaling: false, timestamps: true, sack: true, nagle: false, congestion: Congestion::Reno, recovery: Recovery::Tahoe, initial_window: 1, dupack_threshold: 1, limited_transmit: true, byte_counting: true, cwnd_validation: false, idle_restart: false,
      delayed_ack: DelayedAck { max_delay: Span::ZERO, max_segments: 1 }, syn_retries: 60, retries: 60, msl: Span::from_secs(100_000), ..Profile::Riverbed16.config() };
    s.rto.min = span_ms(1);
    s.persist.min = span_ms(1);
    let app = |octets| App { octets, write_size: 100_000, slow_reader: None };
    let mut pair = Pair::new([c, s], [app(33721), app(23169)], move |end, index, h| {
        let f = network.fate(end, index);
        println!("{end} #{index} {:?} seq {} ack {} w {} ts {:?} -> {f:?}", h.flags, h.seq.0.wrapping_sub(if end==0 {u32::MAX-20000} else {4000000}), h.ack.0.wrapping_sub(if end==1 {u32::MAX-20000} else {4000000}), h.window, h.options.timestamps);
        f
    });
    pair.drive();
}
