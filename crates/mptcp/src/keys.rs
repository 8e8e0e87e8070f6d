//! Keys, and what both ends derive from them (RFC 8684 sections 3.1, 3.2, 3.4.1), with SHA-256 as the HMAC-SHA256 bit of MP_CAPABLE asks.

use core::net::IpAddr;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What one end has told the other in the handshake, and only that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

impl Key {
    /// How the end that has this key calls the connection: the leftmost 32 bits of the key's hash (section 3.2).
    pub fn token(self) -> u32 {
        u32::from_be_bytes(first(&self.hash()))
    }

    /// The initial data sequence number of that end: the rightmost 64 bits (section 3.1).
    pub fn initial_number(self) -> u64 {
        u64::from_be_bytes(last(&self.hash()))
    }

    fn hash(self) -> [u8; 32] {
        Sha256::digest(self.0.to_be_bytes()).into()
    }
}

/// One end of the handshake of a subflow: its key, and the random number of its MP_JOIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joining {
    /// Its key.
    pub key: Key,
    /// Its random number.
    pub nonce: u32,
}

impl Joining {
    /// With this an end shows the other that it has both keys (section 3.2).
    pub fn hmac(self, other: Self) -> JoinHmac {
        let mut mac = keyed(self.key, other.key);
        mac.update(&self.nonce.to_be_bytes());
        mac.update(&other.nonce.to_be_bytes());
        JoinHmac(mac.finalize().into_bytes().into())
    }
}

/// The HMAC of an MP_JOIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinHmac([u8; 32]);

impl JoinHmac {
    /// What a SYN|ACK has of it: the leftmost 64 bits.
    pub fn short(&self) -> u64 {
        u64::from_be_bytes(first(&self.0))
    }

    /// What the third segment has of it: the leftmost 160 bits.
    pub fn long(&self) -> [u8; 20] {
        first(&self.0)
    }
}

/// The rightmost 64 bits of the HMAC with which `sender` announces an address to `receiver` (section 3.4.1).
pub fn address_hmac(sender: Key, receiver: Key, address_id: u8, address: IpAddr, port: Option<u16>) -> u64 {
    let mut mac = keyed(sender, receiver);
    mac.update(&[address_id]);
    match address {
        IpAddr::V4(address) => mac.update(&address.octets()),
        IpAddr::V6(address) => mac.update(&address.octets()),
    }
    mac.update(&port.unwrap_or(0).to_be_bytes());
    let hmac: [u8; 32] = mac.finalize().into_bytes().into();
    u64::from_be_bytes(last(&hmac))
}

/// HMAC-SHA256 with both keys, that of who speaks first.
fn keyed(ours: Key, theirs: Key) -> Hmac<Sha256> {
    let key = [ours.0.to_be_bytes(), theirs.0.to_be_bytes()];
    Hmac::new_from_slice(key.as_flattened()).expect("HMAC takes keys of any length")
}

fn first<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    *hash.first_chunk().expect("the hash is longer")
}

fn last<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    *hash.last_chunk().expect("the hash is longer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    const A: Joining = Joining { key: Key(0x0123_4567_89ab_cdef), nonce: 0x1122_3344 };
    const B: Joining = Joining { key: Key(0xfedc_ba98_7654_3210), nonce: 0x5566_7788 };

    // The expected values are those of Python's hashlib and hmac.

    #[test]
    fn token_and_initial_number_are_the_ends_of_the_keys_hash() {
        for (key, token, initial) in [
            (A.key, 0x55c5_3f5d, 0x5707_62cd_38be_9818),
            (B.key, 0x18f9_781b, 0x2808_18bf_0fa7_e28e),
            (Key(0), 0xaf55_70f5, 0xe5b2_328d_e0e8_3dfc),
        ] {
            assert_eq!((key.token(), key.initial_number()), (token, initial));
        }
    }

    #[test]
    fn each_end_shows_both_keys_with_its_own_first() {
        let long = [
            0xd8, 0xb5, 0xe4, 0x6b, 0x7a, 0x78, 0x2e, 0x79, 0xd3, 0xec, 0xfd, 0x78, 0x30, 0x77, 0x51, 0xdf,
            0x99, 0x3e, 0x22, 0x2b,
        ];
        assert_eq!(A.hmac(B).long(), long);
        assert_eq!(B.hmac(A).short(), 0x0d44_dc5f_5551_21b7);
    }

    #[test]
    fn an_address_is_announced_with_a_port_of_zero_where_it_has_none() {
        let v4 = IpAddr::from(Ipv4Addr::new(10, 0, 0, 9));
        let v6 = IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9));
        assert_eq!(address_hmac(A.key, B.key, 2, v4, None), 0xc67e_0c95_8836_8699);
        assert_eq!(address_hmac(A.key, B.key, 3, v6, Some(8080)), 0x46e1_23b4_3d66_7dbf);
    }
}
