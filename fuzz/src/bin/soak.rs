//! `make soak`: what is too long for every day. It ends by itself, and panics if something does not hold.
use voxpath_fuzz::endurance;
use voxpath_fuzz::soak::Outcome;

fn main() {
    told("10^9 octets over a link that loses, repeats, reorders and damages 1 % each", || {
        endurance::bad_link(1_000_000_000)
    });
    told("10^10 octets in one connection: sequence numbers come round twice", || {
        endurance::wrap(10_000_000_000)
    });
    told("10 000 windows closed for an hour, 10 % of packets lost", || endurance::zero_windows(10_000));
    told("10 000 connections that both ends open at once", || endurance::simultaneous_opens(10_000));
    println!("10 000 flows of one network that start at once");
    println!("  all completed, in {} events", endurance::opens_at_once(10_000));
}

fn told(what: &str, run: impl FnOnce() -> Outcome) {
    println!("{what}");
    let Outcome { took, segments, lost, duplicated, reordered, damaged, retransmissions, probes } = run();
    println!(
        "  every octet arrived, every connection closed: {segments} segments ({lost} lost, {duplicated} \
         duplicated, {reordered} reordered, {damaged} damaged), {retransmissions} repeated, {probes} probes; at \
         most {:.0} s in virtual time",
        took.as_secs_f64()
    );
}
