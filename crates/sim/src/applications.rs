//! From a plan's application to the machines at both ends of its flow.

use crate::plan::{self, App, Flow, ObjectSize, PushWay};
use alloc::boxed::Box;
use alloc::sync::Arc;
use voxpath_apps::dialogue::{self, Dialogue};
use voxpath_apps::onoff::{self, Switch};
use voxpath_apps::push::{self, Push};
use voxpath_apps::sample::{Count, Law, LogNormal};
use voxpath_apps::speech::decoder::{Decoder, Segment, Service};
use voxpath_apps::speech::server::Worker;
use voxpath_apps::speech::{self, Talk, Told};
use voxpath_apps::web::{self, Model};
use voxpath_apps::{Application, bulk, cbr};
use voxpath_net::Seed;
use voxpath_units::{Span, Time};

/// The two applications of a flow over a byte stream; none where it sends datagrams. Patterns are numbered by flow
/// and direction.
pub(crate) fn stream_applications(flow: &Flow, index: u32, seed: Seed) -> Option<[Application; 2]> {
    let (there, back) = (index * 2, index * 2 + 1);
    let dialogue = match flow.app {
        App::Bulk { bytes } => {
            return Some([
                Application::BulkSource(bulk::Source::new(there, bytes)),
                Application::BulkSink(bulk::Sink::new(there, bytes)),
            ]);
        }
        App::Speech(ref app) => return Some(speech_applications(flow, app, [there, back], seed)),
        App::Web { .. } => {
            let model = web_model(&flow.app)?;
            // Both ends draw the sizes of the same objects.
            let objects = || stream(flow, "objects", seed);
            let user = stream(flow, "user", seed);
            return Some([
                Application::WebClient(Box::new(web::Client::new(model, there, back, objects(), user))),
                Application::WebServer(Box::new(web::Server::new(model, there, back, objects()))),
            ]);
        }
        App::OnOff { packet_bytes, interval_ns, packets, .. } => {
            let (size, interval) = (u64::from(packet_bytes), Span::from_nanos(interval_ns));
            let source = onoff::Source::new(switch(flow, seed)?, there, size, interval, packets);
            return Some([
                Application::OnOffSource(Box::new(source)),
                Application::BulkSink(bulk::Sink::new(there, packets.map(|packets| packets * size))),
            ]);
        }
        App::Push { way, request_bytes, head_bytes, ref updates } => {
            let start = Time::from_nanos(flow.start_ns);
            let ready = |&(at, octets): &(u64, u32)| (start + Span::from_nanos(at), octets);
            let push = Arc::new(Push {
                way: push_way(way),
                request: request_bytes,
                head: head_bytes,
                updates: updates.iter().map(ready).collect(),
            });
            return Some([
                Application::PushClient(Box::new(push::Client::new(Arc::clone(&push), there, back))),
                Application::PushServer(Box::new(push::Server::new(push, there, back))),
            ]);
        }
        App::Download { request_bytes, response_bytes, requests, pause_ns } => {
            Dialogue::download(request_bytes, response_bytes, requests, Span::from_nanos(pause_ns))
        }
        App::Voice {
            blocks,
            block_bytes,
            interval_ns,
            partial_bytes,
            answer_bytes,
            processing_ns,
            requests,
            pause_ns,
        } => Dialogue {
            blocks,
            block: block_bytes,
            interval: Span::from_nanos(interval_ns),
            partial: partial_bytes,
            answer: answer_bytes,
            processing: Span::from_nanos(processing_ns),
            requests,
            pause: Span::from_nanos(pause_ns),
        },
        App::Cbr { .. } => return None,
    };
    Some([
        Application::DialogueClient(dialogue::Client::new(dialogue, there, back)),
        Application::DialogueServer(dialogue::Server::new(dialogue, there, back)),
    ])
}

/// The two ends of a flow of datagrams; none where it needs a byte stream.
pub(crate) fn datagram_ends(flow: &Flow, index: u32, seed: Seed) -> Option<(cbr::Sender, cbr::Receiver)> {
    let start = Time::from_nanos(flow.start_ns);
    let (size, pace, count) = match flow.app {
        App::Cbr { packet_bytes, interval_ns, packets } => {
            let interval = Span::from_nanos(interval_ns);
            (packet_bytes, cbr::Pace::Constant { start, interval }, packets)
        }
        App::OnOff { packet_bytes, interval_ns, packets, .. } => {
            let interval = Span::from_nanos(interval_ns);
            (packet_bytes, cbr::Pace::OnOff { switch: switch(flow, seed)?, interval }, packets)
        }
        App::Bulk { .. }
        | App::Download { .. }
        | App::Voice { .. }
        | App::Web { .. }
        | App::Push { .. }
        | App::Speech(_) => return None,
    };
    let schedule = cbr::Schedule { stream: 2 * index, size, pace, count };
    Some((cbr::Sender::new(schedule.clone()), cbr::Receiver::new(schedule)))
}

fn push_way(way: PushWay) -> push::Way {
    match way {
        PushWay::Streaming { event_bytes } => push::Way::Streaming { event: event_bytes },
        PushWay::LongPolling => push::Way::LongPolling,
        PushWay::Polling { every_ns } => push::Way::Polling { every: Span::from_nanos(every_ns) },
    }
}

fn speech_applications(
    flow: &Flow,
    app: &plan::Speech,
    [there, back]: [u32; 2],
    seed: Seed,
) -> [Application; 2] {
    let talk = Arc::new(talk(app));
    let span = Span::from_nanos;
    let decoder = &app.decoder;
    let worker = Worker {
        piece: decoder.piece_bytes,
        waiting: span(app.waiting_ns),
        forwarding: span(decoder.forwarding_ns),
    };
    let service = Service {
        curve: decoder.curve_ns.iter().map(|&(heard, took)| (span(heard), span(took))).collect(),
        per_second: span(decoder.per_second_ns),
        listening: span(decoder.listening_ns),
        finishing: span(decoder.finishing_ns),
        finishing_per_second: span(decoder.finishing_per_second_ns),
        spread: decoder.spread,
        jitter: decoder.jitter,
        finishing_spread: decoder.finishing_spread,
    };
    let segment = |segment: &plan::Segment| Segment {
        begins: segment.begins_bytes,
        lead: span(segment.lead_ns),
        ends: segment.ends_bytes,
    };
    let segments = app.segments.iter().map(segment).collect();
    let decoder = Decoder::new(service, segments, stream(flow, "decoder", seed));
    let server = speech::Server::new(Arc::clone(&talk), worker, decoder, there, back);
    [
        Application::SpeechClient(speech::Client::new(talk, app.paced, there, back)),
        Application::SpeechServer(Box::new(server)),
    ]
}

/// What both ends of a session know.
pub(crate) fn talk(app: &plan::Speech) -> Talk {
    let told = |result: &plan::SpeechResult| Told {
        after: result.after_bytes,
        octets: result.bytes,
        spoken: result.spoken_bytes,
    };
    Talk {
        request: app.request_bytes,
        response: app.response_bytes,
        audio: app.audio_bytes,
        length: Span::from_nanos(app.length_ns),
        block: app.block_bytes,
        results: app.results.iter().map(told).collect(),
        farewell: app.farewell_bytes,
    }
}

/// The laws of a web application; none of another one.
pub(crate) fn web_model(app: &App) -> Option<Model> {
    let &App::Web { request_bytes, main, embedded, objects, parsing_ns, reading_ns, pages } = app else {
        return None;
    };
    Some(Model {
        request: request_bytes,
        main: size(main),
        embedded: size(embedded),
        objects: Count { shape: objects.shape, scale: objects.scale, bound: objects.bound },
        parsing: Law::Exponential(Span::from_nanos(parsing_ns)),
        reading: Law::Exponential(Span::from_nanos(reading_ns)),
        pages,
    })
}

fn size(size: ObjectSize) -> LogNormal {
    LogNormal::new(size.mean_bytes, size.deviation_bytes, size.least_bytes, size.most_bytes)
}

/// When an on-off source is on.
fn switch(flow: &Flow, seed: Seed) -> Option<Switch> {
    let App::OnOff { on, off, .. } = flow.app else { return None };
    let law = |law| match law {
        plan::Law::Constant { mean_ns } => Law::Constant(Span::from_nanos(mean_ns)),
        plan::Law::Exponential { mean_ns } => Law::Exponential(Span::from_nanos(mean_ns)),
        plan::Law::Pareto { mean_ns, shape } => Law::Pareto { mean: Span::from_nanos(mean_ns), shape },
    };
    Some(Switch::new(law(on), law(off), Time::from_nanos(flow.start_ns), stream(flow, "switch", seed)))
}

fn stream(flow: &Flow, what: &str, seed: Seed) -> voxpath_net::Stream {
    seed.stream(&alloc::format!("flow {} {what}", flow.name))
}
