//! `oshrun`: starts the PEs of a job and stays with them until the last one has ended.

use std::ffi::OsString;

use oxshmem_launcher::arguments::Refusal;
use oxshmem_launcher::plan::{JobPlan, WaitingHosts};
use oxshmem_launcher::waiting::part::{JobPart, part_of};
use oxshmem_launcher::waiting::{host, reach};
use oxshmem_launcher::{agent, guardian, job};
use oxshmem_os::signals;

fn main() {
    // Without the statuses of PEs a job that fails would end with 0.
    signals::keep_statuses_of_children();
    // One that is blocked would reach neither the launcher nor its PEs, and nothing would end the job but SIGKILL.
    signals::unblock_all();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [first, mark] = &arguments[..]
        && first == guardian::ARGUMENT
    {
        return guardian::keep(&mark.to_string_lossy());
    }
    let tells = arguments.iter().eq([agent::ARGUMENT, agent::WITH_STATUS]);
    if tells || arguments.iter().eq([agent::ARGUMENT]) {
        std::process::exit(agent::serve(tells));
    }
    let status = match arguments.split_first() {
        Some((first, rest)) if first == reach::ARGUMENT => Ok(reach::carry(rest)),
        Some((first, rest)) if first == host::ARGUMENT => {
            WaitingHosts::from_arguments(rest).map(|waiting| host::wait(&waiting))
        }
        _ => launch(arguments),
    };
    std::process::exit(status.unwrap_or_else(|refusal| refusal.tell("oshrun")))
}

/// Runs a job, or waits for the host that does.
fn launch(arguments: Vec<OsString>) -> Result<i32, Refusal> {
    let plan = JobPlan::from_arguments(arguments)?;
    Ok(match part_of(&plan)? {
        JobPart::Launches => job::run(&plan),
        JobPart::Waits(waiting) => host::wait(&waiting),
    })
}
