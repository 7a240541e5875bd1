//! Runs the steps of `cargo xtask test`: the named ones one after the other, or all of them in two lanes.
//!
//! Half of the steps leave a processor idle: they wait for limits, silence and deaths. So steps that share nothing with the others
//! run beside them, in a process of their own, whose output is shown when it has ended. Two steps share something if they write the
//! same files, or if one of them installs what the other one runs. Cargo itself lets one of two builds in the same folder wait.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::checks::steps::{CheckStep, STEPS};
use crate::counts::{CheckCounts, StepResult, finish, results_in, table, take_failures};
use crate::{OWN_PATH, Outcome, processors, top};

/// The steps of the second lane. They need nothing but the installation, which [`AFTER`] makes.
const BESIDE: &[&str] = &[
    "bindings",
    "interface",
    "miri",
    "loom",
    "fuzz",
    "dependent",
    "manual",
    "book",
    "examples",
    "python",
    "sim",
    "instructions",
    "small-buffers",
    "launchers",
    "rdma",
    "namespaces",
    "cable",
    "sanitize",
];

/// The second lane begins behind this step.
const AFTER: &str = "build";

/// Runs the named steps, or all. The last line counts.
pub(crate) fn run(names: &[String]) -> Outcome {
    let is_step = |name: &str| STEPS.iter().any(|step| step.name == name);
    if let Some(unknown) = names.iter().find(|name| !is_step(name)) {
        return Err(format!("`{unknown}` is not a step; `test --list` names them"));
    }
    let begun = Instant::now();
    let results = if names.is_empty() {
        all()?
    } else {
        STEPS.iter().filter(|step| names.iter().any(|name| name == step.name)).map(run_step).collect()
    };
    print!("{}", table(&results, begun.elapsed()));
    let mut total = CheckCounts::default();
    results.iter().for_each(|result| total += result.counts);
    finish(total)
}

fn run_step(step: &CheckStep) -> StepResult {
    println!("== {}: {}", step.name, step.what);
    let (begun, before) = (Instant::now(), processors::used());
    let counts = (step.run)().unwrap_or_else(|why| CheckCounts::of::<()>(step.name, Err(why)));
    let (took, used) = (begun.elapsed(), processors::used() - before);
    println!("-- {} took {} s, and {} s of processors", step.name, took.as_secs(), used.as_secs());
    StepResult { name: step.name.into(), took, used, counts, failures: take_failures() }
}

/// All steps, with their results in the order of the list.
fn all() -> Outcome<Vec<StepResult>> {
    let mut results = Vec::new();
    let mut beside = None;
    for step in STEPS.iter().filter(|step| !BESIDE.contains(&step.name)) {
        results.push(run_step(step));
        if step.name == AFTER {
            beside = Some(second_lane()?);
        }
    }
    println!("== the second lane: {}", BESIDE.join(", "));
    let (mut lane, output) = beside.expect("the list has that step");
    let output = output.join().expect("a thread that reads does not panic");
    let output = output.map_err(|error| format!("the output of the second lane cannot be read: {error}"))?;
    // Its processor time counts from here on, which is no part of a step of the first lane.
    let status = lane.wait().map_err(|error| format!("the second lane is gone: {error}"))?;
    let text = String::from_utf8_lossy(&output);
    print!("{text}");
    results.extend(results_in(&text, BESIDE));
    if let Some(missing) = STEPS.iter().find(|step| !results.iter().any(|result| result.name == step.name)) {
        return Err(format!("the second lane ended with {status} before it had run {}", missing.name));
    }
    results.sort_by_key(|result| STEPS.iter().position(|step| step.name == result.name));
    Ok(results)
}

/// Starts the steps of the second lane, with a thread that reads what they print: a full pipe would stop them. What they say as
/// errors is seen at once.
fn second_lane() -> Outcome<(Child, JoinHandle<io::Result<Vec<u8>>>)> {
    let mut lane = Command::new(&*OWN_PATH);
    lane.arg("test").args(BESIDE).current_dir(top()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut lane = lane.spawn().map_err(|error| format!("the second lane cannot be started: {error}"))?;
    let mut output = lane.stdout.take().expect("a pipe was asked for");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        output.read_to_end(&mut text).map(|_| text)
    });
    Ok((lane, reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_lane_names_steps_behind_the_one_that_it_needs() {
        let at = |name: &str| STEPS.iter().position(|step| step.name == name);
        assert!(at(AFTER).is_some());
        BESIDE.iter().for_each(|name| assert!(at(name).is_some(), "{name} is not a step"));
    }
}
