//! Why bytes are not the packet that they should be.

use core::fmt;

/// What is wrong with bytes that were to be parsed, in which header and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WireError {
    /// The header that could not be read.
    pub header: Header,
    /// Where the offending field begins, in bytes from the start of what was parsed.
    pub offset: usize,
    /// What is wrong there.
    pub kind: WireErrorKind,
}

/// The headers that can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Header {
    /// IP, before its version is known.
    Ip,
    /// IPv4 (RFC 791).
    Ipv4,
    /// IPv6 (RFC 8200).
    Ipv6,
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// Ethernet II.
    Ethernet,
    /// ARP (RFC 826).
    Arp,
    /// ICMP (RFC 792, RFC 4443).
    Icmp,
    /// RTP (RFC 3550).
    Rtp,
    /// A packet of RTCP (RFC 3550, RFC 4585).
    Rtcp,
    /// The payload descriptor of VP8 (RFC 7741).
    Vp8,
    /// The payload descriptor of VP9 (RFC 9628).
    Vp9,
}

/// The ways in which a header can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireErrorKind {
    /// The bytes end before the header, or before the length that the header states.
    Truncated {
        /// Bytes that there had to be from `offset` on.
        needed: usize,
        /// Bytes that there are.
        available: usize,
    },
    /// Neither IPv4 nor IPv6.
    BadVersion {
        /// The version field.
        version: u8,
    },
    /// A length field that does not even cover its own header.
    BadLength {
        /// The length stated, in bytes.
        stated: usize,
        /// The shortest that is possible, in bytes.
        least: usize,
    },
    /// A TCP option whose length is not one that its kind can have, or that ends outside of the header.
    BadOption {
        /// The option's kind.
        kind: u8,
        /// The length stated, in bytes.
        length: u8,
    },
    /// A header checksum that does not match: the header was damaged on its way.
    BadChecksum {
        /// The checksum stated.
        stated: u16,
        /// The checksum that the header has.
        computed: u16,
    },
    /// A field whose value is none that it can have.
    BadValue {
        /// The value.
        value: u32,
    },
    /// A protocol or an operation that is not ours.
    Unsupported,
}

impl WireError {
    /// The same error seen from `base` bytes further to the front.
    pub(crate) const fn moved_by(mut self, base: usize) -> Self {
        self.offset += base;
        self
    }

    /// `header` lacks bytes: `needed` of them had to begin at `offset`.
    pub(crate) const fn truncated(header: Header, offset: usize, needed: usize, available: usize) -> Self {
        Self { header, offset, kind: WireErrorKind::Truncated { needed, available } }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} header, at byte {}: ", self.header, self.offset)?;
        match self.kind {
            WireErrorKind::Truncated { needed, available } => {
                write!(f, "{needed} bytes needed, {available} available")
            }
            WireErrorKind::BadVersion { version } => write!(f, "version {version} is neither 4 nor 6"),
            WireErrorKind::BadLength { stated, least } => {
                write!(f, "a length of {stated} bytes where at least {least} are needed")
            }
            WireErrorKind::BadOption { kind, length } => {
                write!(f, "option {kind} cannot have a length of {length} bytes here")
            }
            WireErrorKind::BadChecksum { stated, computed } => {
                write!(f, "checksum {stated:#06x} should be {computed:#06x}")
            }
            WireErrorKind::BadValue { value } => write!(f, "{value} is no value that is possible here"),
            WireErrorKind::Unsupported => f.write_str("of a protocol or an operation that is not supported"),
        }
    }
}

impl core::error::Error for WireError {}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "IP",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Ethernet => "Ethernet",
            Self::Arp => "ARP",
            Self::Icmp => "ICMP",
            Self::Rtp => "RTP",
            Self::Rtcp => "RTCP",
            Self::Vp8 => "VP8",
            Self::Vp9 => "VP9",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_error_names_its_header_and_its_place() {
        let kind = WireErrorKind::BadOption { kind: 3, length: 9 };
        let error = WireError { header: Header::Tcp, offset: 20, kind }.moved_by(40);
        assert_eq!(
            error.to_string(),
            "TCP header, at byte 60: option 3 cannot have a length of 9 bytes here"
        );
    }
}
