//! What the kernel says of a connection: `TCP_INFO`.

use rustix::fd::{AsFd, AsRawFd};
use std::mem::{MaybeUninit, offset_of, size_of};
use voxpath_units::Span;

/// `TCP_INFINITE_SSTHRESH`: no loss yet.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// What `tcpi_min_rtt` is before the first sample.
const NO_MIN_RTT: u32 = u32::MAX;

/// A connection's numbers, as far as this kernel gives them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// `TCP_ESTABLISHED` is 1, `TCP_CLOSE` 7.
    pub(crate) state: u8,
    /// `TCP_CA_Open` is 0, `TCP_CA_Disorder` 1, `TCP_CA_CWR` 2, `TCP_CA_Recovery` 3, `TCP_CA_Loss` 4.
    pub(crate) ca_state: u8,
    pub(crate) mss: u32,
    /// Segments.
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
    pub(crate) unacked: u32,
    pub(crate) rtt_us: u32,
    pub(crate) rttvar_us: u32,
    pub(crate) rto_us: u32,
    /// The shortest round trip; none without a sample.
    pub(crate) min_rtt_us: Option<u32>,
    /// Data that the peer has acknowledged; who opened has its SYN counted too, and who closed its FIN.
    pub(crate) bytes_acked: u64,
    /// Data sent, and how much of it was sent again. Since Linux 4.19.
    pub(crate) bytes_sent: Option<u64>,
    pub(crate) bytes_retransmitted: Option<u64>,
    pub(crate) total_retransmissions: u32,
    pub(crate) segments_out: u32,
    pub(crate) data_segments_out: Option<u32>,
    /// Since Linux 6.7.
    pub(crate) total_timeouts: Option<u16>,
}

/// The beginning of `struct tcp_info` of `linux/tcp.h`, which only ever grows at its end; what an older kernel
/// does not know stays zero, and the length it returns says so.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    state: u8,
    ca_state: u8,
    bytes_1: [u8; 6],
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    words_1: [u32; 10],
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rates: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    longs_1: [u64; 4],
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

/// What the kernel says of `socket`; none if it is no TCP socket.
pub(crate) fn tcp_info(socket: impl AsFd) -> Option<TcpInfo> {
    let mut bytes = [0_u8; size_of::<Raw>()];
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `bytes`, which outlives the call.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    (asked == 0).then(|| TcpInfo::of_bytes(&bytes[..len as usize]))
}

impl TcpInfo {
    /// Reads a `struct tcp_info`, of which an older kernel may give less, and a newer one more.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        // SAFETY: `Raw` is plain data, for which all zeroes are valid.
        let mut raw: Raw = unsafe { MaybeUninit::zeroed().assume_init() };
        let len = bytes.len().min(size_of::<Raw>());
        // SAFETY: both hold `len` bytes and do not overlap, and any bytes make a `Raw`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast(), len) };
        let has = |end: usize| len >= end;
        Self {
            state: raw.state,
            ca_state: raw.ca_state,
            mss: raw.snd_mss,
            cwnd: raw.snd_cwnd,
            ssthresh: raw.snd_ssthresh,
            unacked: raw.unacked,
            rtt_us: raw.rtt,
            rttvar_us: raw.rttvar,
            rto_us: raw.rto,
            min_rtt_us: Some(raw.min_rtt)
                .filter(|&rtt| has(offset_of!(Raw, min_rtt) + 4) && rtt != NO_MIN_RTT),
            bytes_acked: raw.bytes_acked,
            bytes_sent: has(offset_of!(Raw, bytes_sent) + 8).then_some(raw.bytes_sent),
            bytes_retransmitted: has(offset_of!(Raw, bytes_retrans) + 8).then_some(raw.bytes_retrans),
            total_retransmissions: raw.total_retrans,
            segments_out: raw.segs_out,
            data_segments_out: has(offset_of!(Raw, data_segs_out) + 4).then_some(raw.data_segs_out),
            total_timeouts: has(offset_of!(Raw, total_rto) + 2).then_some(raw.total_rto),
        }
    }

    /// Data that has arrived, retransmissions counted once; `opened` says that this end sent the first SYN.
    pub(crate) fn delivered_bytes(self, opened: bool) -> u64 {
        // Acknowledging the SYN counts for who opened, acknowledging a FIN for either: what was sent bounds both.
        let acked = self.bytes_acked.saturating_sub(opened.into());
        let sent =
            self.bytes_sent.zip(self.bytes_retransmitted).map(|(sent, again)| sent.saturating_sub(again));
        sent.map_or(acked, |sent| acked.min(sent))
    }

    /// The smoothed round-trip time; none without a sample.
    pub(crate) fn srtt(self) -> Option<Span> {
        Some(self.rtt_us).filter(|&rtt| rtt > 0).map(|rtt| Span::from_micros(rtt.into()))
    }

    /// The shortest round trip.
    pub(crate) fn min_rtt(self) -> Option<Span> {
        self.min_rtt_us.map(|rtt| Span::from_micros(rtt.into()))
    }

    /// The congestion window.
    pub(crate) fn cwnd_bytes(self) -> u64 {
        u64::from(self.cwnd) * u64::from(self.mss)
    }

    /// The time series of the kernel's connections, under the names of the simulator's.
    fn series(self) -> [(&'static str, Option<u64>); 7] {
        let octets = |segments: u32| u64::from(segments) * u64::from(self.mss);
        let nanos = |micros: u32| Some(u64::from(micros) * 1000);
        let ssthresh = (self.ssthresh != INFINITE_SSTHRESH).then(|| octets(self.ssthresh));
        [
            ("cwnd_bytes", Some(octets(self.cwnd))),
            ("ssthresh_bytes", ssthresh),
            ("flight_bytes", Some(octets(self.unacked))),
            ("srtt_ns", nanos(self.rtt_us)),
            ("rttvar_ns", nanos(self.rttvar_us)),
            ("rto_ns", nanos(self.rto_us)),
            ("retransmissions", Some(self.total_retransmissions.into())),
        ]
    }

    /// The values of the time series that are not what they were before.
    pub(crate) fn changes_since(self, before: Option<Self>) -> impl Iterator<Item = (&'static str, u64)> {
        let before = before.map(Self::series);
        self.series().into_iter().enumerate().filter_map(move |(i, (name, value))| {
            let known = before.and_then(|before| before[i].1);
            value.filter(|&value| known != Some(value)).map(|value| (name, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_over_loopback_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
        let (mut server, _) = listener.accept().expect("connected");
        client.write_all(b"hello").expect("open");
        server.read_exact(&mut [0; 5]).expect("sent");
        let info = tcp_info(&client).expect("TCP");
        assert_eq!((info.state, info.data_segments_out), (1, Some(1)));
        assert!(info.mss > 500 && info.cwnd >= 10 && info.rto_us >= 200_000, "{info:?}");
        // SYN, ACK of the handshake, data.
        assert!(info.segments_out >= 3, "{info:?}");
        assert_eq!((info.total_retransmissions, info.total_timeouts), (0, Some(0)));
    }
}
