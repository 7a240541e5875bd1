//! `oshrun`: starts the PEs of a job and stays with them until the last one has ended.

use std::ffi::OsString;

use oxshmem_launcher::arguments::Refusal;
use oxshmem_launcher::plan::JobPlan;
use oxshmem_launcher::{agent, guardian, job, usage};

/// The exit status for a wrong command line.
const USAGE: i32 = 2;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [first, mark] = &arguments[..]
        && first == guardian::ARGUMENT
    {
        return guardian::keep(&mark.to_string_lossy());
    }
    if arguments.iter().eq([agent::ARGUMENT]) {
        std::process::exit(agent::serve());
    }
    let status = match JobPlan::from_arguments(arguments) {
        Ok(plan) => job::run(&plan),
        Err(Refusal::Usage(error)) => usage("oshrun", &error),
        Err(Refusal::Error(error)) => {
            eprintln!("oshrun: {error}");
            USAGE
        }
    };
    std::process::exit(status)
}
