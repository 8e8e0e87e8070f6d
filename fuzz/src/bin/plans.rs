//! `cargo run --package voxpath-fuzz --bin plans -- 200`: the first random plans, as JSON, one a line. They are always the same
//! as long as their generator is; `make same-record` keeps them beside their results.
use std::process::ExitCode;
use voxpath_fuzz::plan::base;

fn main() -> ExitCode {
    let count = std::env::args().nth(1).and_then(|text| text.parse::<u16>().ok());
    let Some(count) = count else {
        eprintln!("plans COUNT: how many plans, 0 to {}", u16::MAX);
        return ExitCode::FAILURE;
    };
    for number in 0..count {
        println!("{}", serde_json::to_string(&base(number)).expect("a plan is JSON"));
    }
    ExitCode::SUCCESS
}
