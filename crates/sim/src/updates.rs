//! What became of updates: when each was ready, and when the client had it.

use crate::plan::{App, Flow, Plan};
use crate::report::{End, Part};
use crate::world::World;
use alloc::vec;
use alloc::vec::Vec;
use voxpath_apps::Record;
use voxpath_net::table::{Column, Data, Table};
use voxpath_units::{Span, Time};

/// How late each update of a flow came that came at all; none of another application.
pub(crate) fn delays(flow: &Flow, client: &Record) -> Option<Vec<Span>> {
    let App::Push(push) = &flow.app else { return None };
    let ready = push.updates.iter().map(|update| ready_at(flow, update));
    Some(ready.zip(client.updates()).map(|(ready, come)| come.since(ready)).collect())
}

fn ready_at(flow: &Flow, &(after_ns, _): &(u64, u32)) -> Time {
    Time::from_nanos(flow.start_ns) + Span::from_nanos(after_ns)
}

/// One row per update; none where no flow has any.
pub(crate) fn table(plan: &Plan, world: &World) -> Option<Table> {
    let (mut flows, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ready, mut received) = (Vec::new(), Vec::new());
    for ((i, flow), ends) in (0..).zip(&plan.flows).zip(world.sockets.flows()) {
        let (App::Push(push), Part::Stream { record, .. }) = (&flow.app, End::of(&ends[0]).part) else {
            continue;
        };
        for (number, update) in push.updates.iter().enumerate() {
            flows.push(i);
            numbers.push(number as u64);
            bytes.push(update.1.into());
            ready.push(ready_at(flow, update).as_nanos());
            received.push(record.updates().get(number).map(|at| at.as_nanos()));
        }
    }
    let names = plan.flows.iter().map(|flow| flow.name.clone()).collect();
    (!flows.is_empty()).then(|| Table {
        name: "updates",
        columns: vec![
            Column { name: "flow", data: Data::Label { names, index: flows } },
            Column { name: "update", data: Data::U64(numbers) },
            Column { name: "bytes", data: Data::U64(bytes) },
            Column { name: "ready_ns", data: Data::U64(ready) },
            Column { name: "received_ns", data: Data::OptU64(received) },
        ],
    })
}
