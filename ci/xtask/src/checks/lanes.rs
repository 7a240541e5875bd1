//! Runs the steps of `cargo xtask test`: the named ones one after the other, or all of them in two lanes.
//!
//! Half of the steps leave a processor idle: they wait for limits, silence and deaths. So steps that share nothing with the others
//! run beside them, each in a process of its own, whose output is shown when it has ended. Two steps share something if they write
//! the same files, or if one of them installs what the other one runs. Cargo itself lets one of two builds in the same folder wait.
//! Once the second lane has run its own steps, it takes the last of those that either lane may run. So both end at about the same
//! time, whatever the machine.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use std::{iter, thread};

use crate::checks::steps::{CheckStep, STEPS};
use crate::counts::{CheckCounts, StepResult, finish, table, take_failures};
use crate::{OWN_PATH, Outcome, disk, processors, target, top};

/// The steps of the second lane. They need nothing but the installation, which [`AFTER`] makes. The first ones build in folders of their
/// own: the first lane compiles most of what there is meanwhile, and cargo would let others wait for that.
const BESIDE: &[&str] = &[
    "miri",
    "loom",
    "fuzz",
    "bindings",
    "interface",
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

/// From this step on, the steps of the first lane need nothing but the installation: either lane may run them.
const EITHER_FROM: &str = "conformance";

/// Runs the named steps, or all. The last line counts; or a file gets the results, for the other lane.
pub(crate) fn run(names: &[String], file: Option<&Path>) -> Outcome {
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
    if let Some(file) = file {
        return disk::write(file, &serde_json::to_string(&results).map_err(|error| error.to_string())?);
    }
    print!("{}", table(&results, begun.elapsed()));
    finish(results.iter().map(|result| result.counts).sum())
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
    let at = |name: &str| STEPS.iter().position(|step| step.name == name).expect("the list has that step");
    let first = |from, to| STEPS[from..to].iter().filter(|step| !BESIDE.contains(&step.name));
    let (after, either) = (at(AFTER) + 1, at(EITHER_FROM));
    let mut results: Vec<StepResult> = first(0, after).map(run_step).collect();
    let open: Mutex<VecDeque<&'static CheckStep>> = Mutex::new(first(either, STEPS.len()).collect());
    let take = |from: fn(&mut VecDeque<&'static CheckStep>) -> Option<&'static CheckStep>| {
        from(&mut open.lock().expect("nobody panics while a step is taken"))
    };
    let beside = thread::scope(|lanes| {
        let beside = lanes.spawn(|| {
            let own = BESIDE.iter().map(|name| &STEPS[at(name)]);
            own.chain(iter::from_fn(|| take(VecDeque::pop_back))).map(run_beside).collect::<Outcome<Vec<_>>>()
        });
        results.extend(first(after, either).map(run_step));
        results.extend(iter::from_fn(|| take(VecDeque::pop_front)).map(run_step));
        beside.join().expect("a lane does not panic")
    })?;
    for (result, mut ended) in beside {
        ended.wait().map_err(|error| format!("the process of the step {} is gone: {error}", result.name))?;
        results.push(result);
    }
    results.sort_by_key(|result| at(&result.name));
    Ok(results)
}

/// Runs a step in a process of its own and prints what it has said when it ends; what it says as errors is seen at once. The process
/// is not waited for: from then on its processor time would count for the step that the first lane runs.
fn run_beside(step: &CheckStep) -> Outcome<(StepResult, Child)> {
    let failed = |why: String| format!("the step {} in the second lane: {why}", step.name);
    let file = target().join("lanes").join(step.name);
    // One of an earlier run is no result of this step.
    let _ = std::fs::remove_file(&file);
    let mut process = Command::new(&*OWN_PATH);
    process.args(["test", step.name, "--results"]).arg(&file).current_dir(top());
    process.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut process = process.spawn().map_err(|error| failed(format!("it cannot be started: {error}")))?;
    let mut said = Vec::new();
    let mut output = process.stdout.take().expect("a pipe was asked for");
    output.read_to_end(&mut said).map_err(|error| failed(format!("its output cannot be read: {error}")))?;
    print!("{}", String::from_utf8_lossy(&said));
    let read = |text: String| serde_json::from_str::<Vec<StepResult>>(&text).map_err(|error| error.to_string());
    let result = disk::read(&file).and_then(read).map_err(failed)?.pop();
    Ok((result.ok_or_else(|| failed("it has ended without its counts".into()))?, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_lane_names_steps_behind_the_one_that_it_needs() {
        let at = |name: &str| STEPS.iter().position(|step| step.name == name);
        assert!(at(AFTER).is_some());
        BESIDE.iter().for_each(|name| assert!(at(name) > at(AFTER), "{name} is no step, or one before {AFTER}"));
        assert!(at(EITHER_FROM) > at(AFTER) && !BESIDE.contains(&EITHER_FROM));
    }
}
