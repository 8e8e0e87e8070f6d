//! TLS 1.3 of processes on real hosts: rustls, as a layer between a program and its connection.
//!
//! The certificate is made when a process first needs it, with as many octets as the scenario says, and signs itself. Clients take
//! whatever certificate a server has, as long as the server has its key: runs are about time and octets, and their data is no
//! secret. No session is resumed, so that each handshake has the octets that a simulated one has.

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, ServerConfig, ServerConnection,
    SignatureScheme,
};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use voxpath_apps::layers::tls::Tls;
use voxpath_apps::layers::{Failed, Layer, Made};
use voxpath_wire::Payload;

/// A record that says nothing and stands before the first encrypted one of each end (RFC 8446 appendix D.4).
const CHANGE_CIPHER_SPEC: &[u8] = &[20, 3, 3, 0, 1, 1];
/// An extension that nobody knows and whose content is padding, below the arc of examples (2.999).
const PADDING: &[u64] = &[2, 999, 22];

/// What the connections of a process have in common, made as it is needed.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    client: Option<Arc<ClientConfig>>,
    server: Option<Arc<ServerConfig>>,
}

impl Secrets {
    /// One end of a new connection.
    pub(crate) fn end(&mut self, tls: &Tls, is_client: bool) -> Box<dyn Layer> {
        let connection = if is_client {
            let config = self.client.get_or_insert_with(client).clone();
            // An address is no name that travels.
            let nobody = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
            ClientConnection::new(config, nobody).map(Connection::Client)
        } else {
            let config =
                self.server.get_or_insert_with(|| server(&tls.server, tls.certificate_bytes)).clone();
            ServerConnection::new(config).map(Connection::Server)
        };
        let mut connection = connection.expect("what is configured is allowed");
        // What waits is counted by who writes.
        connection.set_buffer_limit(None);
        Box::new(End { connection, is_client, held: Vec::new(), has_closed: false })
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn client() -> Arc<ClientConfig> {
    let verifier = Arc::new(Anybody(provider().signature_verification_algorithms));
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

fn server(name: &str, octets: u32) -> Arc<ServerConfig> {
    let key = KeyPair::generate_for(&PKCS_ED25519).expect("the kernel gives random octets");
    let certificate = certificate(&key, name, octets as usize);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("the certificate is of this key");
    Arc::new(config)
}

/// A certificate that signs itself, of a name and of so many octets.
fn certificate(key: &KeyPair, name: &str, octets: usize) -> CertificateDer<'static> {
    let signed = |padding: usize, common: usize| {
        // A name that is no name of DNS is not among the subject's alternative ones.
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap_or_default();
        let mut subject = DistinguishedName::new();
        // Lengths of DER grow by an octet here and there; another octet of a name fills the gap.
        subject.push(DnType::CommonName, "x".repeat(common));
        params.distinguished_name = subject;
        params.custom_extensions.push(CustomExtension::from_oid_content(PADDING, vec![0; padding]));
        params.self_signed(key).expect("a key of Ed25519 signs").der().clone()
    };
    let without = signed(0, 1).len();
    let most = octets.saturating_sub(without);
    let tried = (0..4).flat_map(|common| (0..16).map(move |less| (common + 1, most.saturating_sub(less))));
    tried
        .map(|(common, padding)| signed(padding, common))
        .find(|it| it.len() == octets)
        .unwrap_or_else(|| panic!("a certificate of {octets} octets: the plan was checked"))
}

/// Takes the certificate of anybody who has its key.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[derive(Debug)]
struct End {
    connection: Connection,
    is_client: bool,
    /// What leaves with what follows.
    held: Vec<u8>,
    has_closed: bool,
}

impl End {
    /// What there is for the other end.
    fn out(&mut self) -> Option<Payload> {
        let mut out = core::mem::take(&mut self.held);
        while self.connection.wants_write() {
            self.connection.write_tls(&mut out).expect("a vector takes all");
        }
        // Of a server's flight that comes in parts, rustls answers the first part with this; OpenSSL sends it with its Finished.
        if self.is_client && self.connection.is_handshaking() && out == CHANGE_CIPHER_SPEC {
            self.held = out;
            return None;
        }
        (!out.is_empty()).then(|| Payload::bytes(out.into()))
    }

    /// Takes octets in, and hands out what was in them.
    fn take(&mut self, mut octets: &[u8], made: &mut Made) -> Result<(), Failed> {
        while !octets.is_empty() {
            self.connection.read_tls(&mut octets).map_err(|_| Failed)?;
            let state = self.connection.process_new_packets().map_err(|_| Failed)?;
            let mut plain = vec![0; state.plaintext_bytes_to_read()];
            made.is_over |= state.peer_has_closed();
            self.connection.reader().read_exact(&mut plain).map_err(|_| Failed)?;
            made.up.push(Payload::bytes(plain.into()));
            if made.is_over {
                break;
            }
        }
        Ok(())
    }
}

impl Layer for End {
    fn begin(&mut self) -> Option<Payload> {
        self.out()
    }

    fn receive(&mut self, data: Payload, made: &mut Made) -> Result<(), Failed> {
        let mut octets = Vec::new();
        data.write_to(&mut octets);
        let taken = self.take(&octets, made);
        // An alert too, of what was not understood.
        made.down.extend(self.out());
        taken
    }

    fn is_open(&self) -> bool {
        !self.connection.is_handshaking()
    }

    fn send(&mut self, data: &Payload) -> Payload {
        let mut octets = Vec::new();
        data.write_to(&mut octets);
        self.connection.writer().write_all(&octets).expect("there is no limit");
        self.out().unwrap_or_default()
    }

    fn close(&mut self) -> Option<Payload> {
        if std::mem::replace(&mut self.has_closed, true) {
            return None;
        }
        self.connection.send_close_notify();
        self.out()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_apps::layers::tls::{Flights, Library};

    fn tls(octets: u32) -> Tls {
        Tls { library: Library::Rustls, server: "cloud".into(), certificate_bytes: octets }
    }

    /// The octets that a client and a server say in turn until both are silent.
    fn shake(client: &mut dyn Layer, server: &mut dyn Layer) -> Vec<u32> {
        assert!(server.begin().is_none());
        let mut flights = Vec::new();
        let mut said: Vec<Payload> = client.begin().into_iter().collect();
        while !said.is_empty() {
            flights.push(said.iter().map(Payload::len).sum());
            let mut made = Made::default();
            let hears: &mut dyn Layer = if flights.len() % 2 == 1 { server } else { client };
            for data in said {
                hears.receive(data, &mut made).expect("both speak TLS");
            }
            said = made.down;
        }
        flights
    }

    #[test]
    fn a_certificate_has_any_length() {
        for name in ["cloud", "a-name-of-a-host-that-is-as-long-as-a-label-of-dns-may-be-which-is"] {
            let least = Tls::LEAST_CERTIFICATE as usize + name.len();
            let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
            for octets in (least..least + 600).chain([Tls::MOST_CERTIFICATE as usize]) {
                assert_eq!(certificate(&key, name, octets).len(), octets);
            }
        }
    }

    #[test]
    fn a_handshake_has_the_octets_that_a_simulated_one_has_with_this_certificate() {
        for octets in [Tls::LEAST_CERTIFICATE + 5, 800, 1500, 5000, Tls::MOST_CERTIFICATE] {
            let tls = tls(octets);
            let mut secrets = Secrets::default();
            let (mut client, mut server) = (secrets.end(&tls, true), secrets.end(&tls, false));
            let flights = shake(&mut *client, &mut *server);
            let Flights { client_hello, server: flight, client_finished, tickets } = tls.library.flights();
            let sized = [client_hello, flight + octets, client_finished, tickets];
            assert_eq!(flights, sized);
            assert!(client.is_open() && server.is_open());
        }
    }

    #[test]
    fn records_come_whole_or_in_parts_and_the_last_one_says_so() {
        let tls = tls(800);
        let mut secrets = Secrets::default();
        let (mut client, mut server) = (secrets.end(&tls, true), secrets.end(&tls, false));
        shake(&mut *client, &mut *server);
        let body = Payload::pattern(7, 0, 40_000);
        let sent = client.send(&body);
        assert_eq!(sent.len(), 40_000 + 3 * 22);
        let mut made = Made::default();
        for at in (0..sent.len()).step_by(1000) {
            server.receive(sent.slice(at, 1000.min(sent.len() - at)), &mut made).unwrap();
        }
        let (mut read, mut written) = (Vec::new(), Vec::new());
        made.up.iter().for_each(|data| data.write_to(&mut read));
        body.write_to(&mut written);
        assert!(read == written && !made.is_over);
        let last = client.close().unwrap();
        assert_eq!(last.len(), 24);
        assert!(client.close().is_none());
        server.receive(last, &mut made).unwrap();
        assert!(made.is_over);
    }

    #[test]
    fn what_is_no_tls_is_answered_by_an_alert() {
        let mut server = Secrets::default().end(&tls(800), false);
        let mut made = Made::default();
        let text = Payload::bytes(b"GET / HTTP/1.1\r\n\r\n".as_slice().into());
        assert!(server.receive(text, &mut made).is_err());
        let mut answer = Vec::new();
        made.down.iter().for_each(|data| data.write_to(&mut answer));
        assert_eq!(answer[0], 21);
    }
}
