//! Runs the steps of `cargo xtask test`: the named ones one after the other, or all of them in three lanes.
//!
//! Half of the steps leave a processor idle: they wait for limits, silence and deaths. So steps that share nothing with the others
//! run beside them in two more lanes, each in a process of its own, whose output is shown when it has ended. Two steps share something
//! if they write the same files, or if one of them installs what the other one runs. Cargo itself lets one of two builds in the same
//! folder wait. Once no step is left that runs beside the first lane only, the other lanes take the last of those that any lane may
//! run. So all end at about the same time, whatever the machine.

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

/// The steps that never run in the first lane. They need nothing but the installation, which [`AFTER`] makes. The first ones build in
/// folders of their own: the first lane compiles most of what there is meanwhile, and cargo would let others wait for that.
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
    // The first lane has compiled its tests by then, and lets cargo compile these.
    "faults",
    "proofs",
    "instructions",
    "small-buffers",
    "launchers",
    "rdma",
    "namespaces",
    "cable",
    "sanitize",
];

/// Lanes beside the first one. With one of them two processors are idle for a quarter of the time.
const LANES_BESIDE: usize = 2;

/// They begin behind this step.
const AFTER: &str = "build";

/// From this step on, the steps of the first lane need nothing but the installation: any lane may run them.
const ANY_FROM: &str = "conformance";

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
    let (after, any) = (at(AFTER) + 1, at(ANY_FROM));
    let mut results: Vec<StepResult> = first(0, after).map(run_step).collect();
    let beside = StepQueue::of(BESIDE.iter().map(|name| &STEPS[at(name)]));
    let open = StepQueue::of(first(any, STEPS.len()));
    let lane = || {
        let steps = iter::from_fn(|| beside.take(VecDeque::pop_front).or_else(|| open.take(VecDeque::pop_back)));
        steps.map(run_beside).collect::<Outcome<Vec<_>>>()
    };
    let ended = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES_BESIDE).map(|_| scope.spawn(lane)).collect();
        results.extend(first(after, any).map(run_step));
        results.extend(iter::from_fn(|| open.take(VecDeque::pop_front)).map(run_step));
        lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic")).collect::<Outcome<Vec<_>>>()
    })?;
    for (result, mut ended) in ended.into_iter().flatten() {
        ended.wait().map_err(|error| format!("the process of the step {} is gone: {error}", result.name))?;
        results.push(result);
    }
    results.sort_by_key(|result| at(&result.name));
    Ok(results)
}

/// The steps that no lane has taken yet.
struct StepQueue(Mutex<VecDeque<&'static CheckStep>>);

impl StepQueue {
    fn of(steps: impl Iterator<Item = &'static CheckStep>) -> Self {
        Self(Mutex::new(steps.collect()))
    }

    fn take(
        &self,
        from: fn(&mut VecDeque<&'static CheckStep>) -> Option<&'static CheckStep>,
    ) -> Option<&'static CheckStep> {
        from(&mut self.0.lock().expect("a lane does not panic while it takes a step"))
    }
}

/// Runs a step in a process of its own and prints what it has said when it ends; what it says as errors is seen at once. The process
/// is not waited for: from then on its processor time would count for the step that the first lane runs.
fn run_beside(step: &CheckStep) -> Outcome<(StepResult, Child)> {
    let failed = |why: String| format!("the step {} beside the first lane: {why}", step.name);
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
    fn the_lanes_beside_have_steps_behind_the_one_that_they_need() {
        let at = |name: &str| STEPS.iter().position(|step| step.name == name);
        assert!(at(AFTER).is_some());
        BESIDE.iter().for_each(|name| assert!(at(name) > at(AFTER), "{name} is no step, or one before {AFTER}"));
        assert!(at(ANY_FROM) > at(AFTER) && !BESIDE.contains(&ANY_FROM));
    }
}
