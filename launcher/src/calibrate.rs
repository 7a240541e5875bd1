//! The simulator against the machine: LogGP parameters measured between two PEs of this node, and what they predict
//! for two, four and eight, beside what the same schedules take.
//!
//! The model gives every PE a processor. Where PEs outnumber processors they take turns, and the prediction is only what
//! the messages would cost: the report says so.

use std::fmt::Write as _;
use std::process::Stdio;

use oxshmem_base::Error;
use oxshmem_os::cpus;
use oxshmem_schedule::algorithm::{Collective, OperatorLaw};
use oxshmem_schedule::simulate::{Cluster, Setting, simulate};
use oxshmem_schedule::step::Plan;

use crate::machine::{beside, helper};
use crate::schedules::schedule;
use crate::tool_job;

/// The schedule that is predicted and measured.
const ALGORITHM: &str = "dissemination-2";

/// Least and median, in nanoseconds.
pub(crate) type Times = (f64, f64);

/// Measures, predicts and compares.
pub fn report() -> Result<String, Error> {
    let pair = run(2, Some(ALGORITHM))?;
    let machine = machine(&pair)?;
    let processors = cpus::usable();
    let mut text = format!(
        "measured on this node between 2 PEs ({processors} processors): o = g = {:.1} ns, L = {:.1} ns, G = {:.4} ns/B\n\n\
         {:<12}{:>5}{:>16}{:>18}{:>18}{:>9}\n",
        machine.overhead,
        machine.latency[0],
        machine.per_byte[0],
        "by the",
        "PEs",
        "simulated µs",
        "measured: least",
        "median",
        "ratio"
    );
    for pes in [2, 4, 8] {
        let measured = if pes == 2 { pair.clone() } else { run(pes, Some(ALGORITHM))? };
        let maximum = Collective::Reduce(OperatorLaw::Idempotent);
        for (name, collective, count) in [("barrier", Collective::Sync, 0), ("max", maximum, 1)] {
            let schedule = schedule(collective, ALGORITHM)?;
            let plan = Plan::new(pes, count);
            let outcome = simulate(&schedule, &plan, &machine, &Setting::default()).map_err(|refused| {
                Error::new(format!("{ALGORITHM} cannot be simulated")).because(format!("{refused:?}"))
            })?;
            let (least, median) = time(&measured, name)?;
            let _ = write!(
                text,
                "{name:<12}{pes:>5}{:>16.3}{:>18.3}{:>18.3}{:>9.2}",
                outcome.time / 1e3,
                least / 1e3,
                median / 1e3,
                least / outcome.time
            );
            let crowded = pes as usize > processors;
            text += if crowded { "  PEs share processors, which the model does not know\n" } else { "\n" };
        }
    }
    let _ = write!(text, "\nall by {ALGORITHM}; ratio is the least measured time over the simulated one\n");
    Ok(text)
}

/// A machine of one node with the measured parameters. A put to a word is over when it is in the store buffer, so the
/// time between two of them is both o and g; half a round trip is o, L and o.
fn machine(pair: &[(String, Times)]) -> Result<Cluster, Error> {
    let (overhead, _) = time(pair, "put")?;
    let (half, _) = time(pair, "half")?;
    let (per_byte, _) = time(pair, "byte")?;
    Ok(Cluster {
        name: "this node",
        pes_per_node: 1 << 10,
        nodes_per_switch: 1,
        switches_per_group: 1,
        overhead,
        gap: overhead,
        latency: [(half - 2.0 * overhead).max(0.0); 4],
        per_byte: [per_byte; 4],
        work: per_byte,
        node_stage: 0.0,
    })
}

pub(crate) fn time(measured: &[(String, Times)], wanted: &str) -> Result<Times, Error> {
    let found = measured.iter().find(|(name, _)| name == wanted).map(|(_, times)| *times);
    found.ok_or_else(|| Error::new(format!("the measurement has no {wanted}")).fix("install all tools of one version"))
}

/// Runs the measuring program, with a schedule by name or with what the library does by itself.
pub(crate) fn run(pes: u32, algorithm: Option<&str>) -> Result<Vec<(String, Times)>, Error> {
    let mut command = tool_job::launcher(beside("oshrun")?);
    command.args(["--bind", "-n", &pes.to_string()]).arg(helper("oshmeasure")?).env_remove("SHMEM_TUNING");
    // A value goes before those of other names of the same variable, which the user may have set.
    for knob in ["SHMEM_BARRIER_ALGORITHM", "SHMEM_REDUCE_ALGORITHM"] {
        command.env(knob, algorithm.unwrap_or("auto"));
    }
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Error::new("oshrun cannot be started").because(error))?;
    if !output.status.success() {
        return Err(Error::new(format!("the measurement on {pes} PEs failed")).because(output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(line).collect())
}

/// `name least median`.
fn line(line: &str) -> Option<(String, Times)> {
    let mut words = line.split(' ');
    let name = words.next()?.to_owned();
    let mut number = || words.next()?.parse().ok();
    Some((name, (number()?, number()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_becomes_a_machine_that_predicts_it() {
        let lines = "put 5.0 6\nhalf 60 70\nbyte 0.1 0.2\nnoise\n";
        let pair: Vec<_> = lines.lines().filter_map(line).collect();
        assert_eq!(pair.len(), 3);
        let machine = machine(&pair).unwrap();
        let sync = schedule(Collective::Sync, ALGORITHM).unwrap();
        let time = |pes| simulate(&sync, &Plan::new(pes, 0), &machine, &Setting::default()).unwrap().time;
        // A round is the way of one signal.
        assert!((time(2) - 60.0).abs() < 0.01 && (time(8) - 180.0).abs() < 0.01, "{} {}", time(2), time(8));
    }
}
