//! Every application and every process, in one list each.
//!
//! | | opens the flow | answers |
//! | --- | --- | --- |
//! | bulk | [`Source`](bulk::Source) writes and closes | [`Sink`](bulk::Sink) reads to the end |
//! | download, voice | [`Client`](dialogue::Client) asks | [`Server`](dialogue::Server) answers and closes |
//! | iperf_siri | [`Client`](iperf_siri::Client) speaks | [`Server`](iperf_siri::Server) answers and closes |
//! | web | [`Client`](web::Client) loads pages | [`Server`](web::Server) answers |
//! | speech | [`Client`](speech::Client) sends an utterance | [`Server`](speech::Server) decodes, tells and closes |
//! | push | [`Client`](push::Client) asks for updates | [`Server`](push::Server) tells them and closes |
//! | on and off | [`Source`](onoff::Source) writes in bursts | [`Sink`](bulk::Sink) reads to the end |
//! | constant bit rate, on and off by datagrams | [`Sender`](cbr::Sender) | [`Receiver`](cbr::Receiver) |
//! | recorded | [`Sender`](recorded::Sender) | [`Receiver`](recorded::Receiver) |
//! | call | [`Caller`](call::Caller) sends and receives media | another one does too |
//! | ping | [`Pinger`](ping::Pinger) sends and counts answers | [`Echo`](ping::Echo) sends back |
//!
//! An application is a file here, its `mod` line and its entry, and a file of its name in `python/voxpath/scenario/apps/`. Plans,
//! scenarios, results, runs on real hosts and property tests learn it from there. docs/extending.md adds one.

pub mod bulk;
pub mod call;
pub mod cbr;
pub mod coap;
pub mod dialogue;
pub mod forwarding;
pub mod iperf_siri;
pub mod mqtt;
pub mod onoff;
pub mod ping;
pub mod proxy;
pub mod push;
pub mod recorded;
pub mod speech;
pub mod web;

use crate::registry::*;
use alloc::boxed::Box;

applications! {
    /// Bulk transfer.
    "bulk" Bulk(bulk::Bulk), over streams: BulkSource(bulk::Source), BulkSink(bulk::Sink);
    /// Requests and answers in turn.
    "download" Download(dialogue::Download),
        over streams: DialogueClient(dialogue::Client), DialogueServer(dialogue::Server);
    /// Requests in blocks, with partial answers.
    "voice" Voice(dialogue::Voice);
    /// Requests in bursts of small packets.
    "iperf_siri" IperfSiri(iperf_siri::IperfSiri),
        over streams: SiriClient(Box<iperf_siri::Client>), SiriServer(Box<iperf_siri::Server>);
    /// Datagrams at a constant rate.
    "cbr" Cbr(cbr::Cbr), over datagrams: Sender(Box<cbr::Sender>), Receiver(Box<cbr::Receiver>);
    /// Datagrams as they were recorded.
    "recorded" Recorded(recorded::Recorded),
        over datagrams: RecordedSender(Box<recorded::Sender>), RecordedReceiver(Box<recorded::Receiver>);
    /// Datagrams that come back.
    "ping" Ping(ping::Ping), over datagrams: Pinger(Box<ping::Pinger>), Echo(Box<ping::Echo>);
    /// Audio and video both ways.
    "call" Call(Box<call::Call>), over datagrams: Caller(Box<call::Caller>);
    /// A user of the web.
    "web" Web(web::Web), over streams: WebClient(Box<web::Client>), WebServer(Box<web::Server>);
    /// A source that is on and off in turn.
    "onoff" OnOff(onoff::OnOff), over streams: OnOffSource(Box<onoff::Source>);
    /// Updates that a server has for a client.
    "push" Push(push::Push), over streams: PushClient(Box<push::Client>), PushServer(Box<push::Server>);
    /// A session of speech recognition.
    "speech" Speech(Box<speech::Speech>),
        over streams: SpeechClient(speech::Client), SpeechServer(Box<speech::Server>);
}

processes! {
    /// Passes on what comes to some of its ports.
    "proxy" Proxy(proxy::Proxy), proxy::Relay;
    /// An MQTT broker.
    "broker" Broker(mqtt::broker::Broker), mqtt::broker::Server;
    /// MQTT clients that publish.
    "publisher" Publisher(mqtt::publisher::Publisher), mqtt::publisher::Sender;
    /// MQTT clients that subscribe.
    "subscriber" Subscriber(mqtt::subscriber::Subscriber), mqtt::subscriber::Listener;
    /// A CoAP client that puts bodies or asks for a resource.
    "coap_client" CoapClient(coap::client::CoapClient), coap::client::Requester;
    /// A CoAP client that observes a resource.
    "coap_observer" CoapObserver(coap::observer::CoapObserver), coap::observer::Watcher;
    /// A CoAP server.
    "coap_server" CoapServer(coap::server::CoapServer), coap::server::Running;
    /// Passes on media of one to many.
    "forwarder" Forwarder(Box<forwarding::server::Server>), forwarding::server::Running;
    /// Sends media to a forwarder.
    "presenter" Presenter(Box<forwarding::party::Presenter>), forwarding::party::End<true>;
    /// Receives media from a forwarder.
    "viewer" Viewer(Box<forwarding::party::Viewer>), forwarding::party::End<false>;
}
