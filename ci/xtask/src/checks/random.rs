//! The random differential test (`ci/faults/programs/random`), one seed a job, over numbers of PEs, nodes and transports; and streams of
//! broadcasts (`ci/faults/programs/broadcasts.c`), each cell of such a table many times.

pub(crate) mod job;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use job::SpreadJob;
use oxshmem_faults::{AT_ONCE, in_parallel};

use crate::Outcome;
use crate::counts::{CheckCounts, failed, skipped};

/// The transports that carry a job between virtual nodes without a network card.
pub(crate) const TRANSPORTS: [&str; 3] = ["tcp", "ofi:tcp", "ucx:tcp"];

/// Jobs at a time where each job is to have three others beside it.
const CROWD: usize = 4;

/// Turns of a run of broadcasts: one by the world's team, one by its active set.
const TURNS: u32 = 2;

#[derive(Parser, Clone)]
pub(crate) struct RandomArguments {
    /// Jobs, each with the next seed, dealt to the shapes one after the other; with --broadcasts the runs of each cell
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed [default: from the clock]
    #[arg(long)]
    first: Option<u64>,
    /// Operations of each job
    #[arg(long, default_value_t = 150)]
    steps: u64,
    /// Numbers of PEs
    #[arg(long, value_delimiter = ',', default_values_t = [2, 3, 4, 8])]
    pes: Vec<u32>,
    /// Numbers of nodes; of a job with fewer PEs as many as there are PEs
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    nodes: Vec<u32>,
    /// Transports between nodes
    #[arg(long, value_delimiter = ',', default_values = TRANSPORTS)]
    transport: Vec<String>,
    /// Connections that hold some KiB (ci/rigs/small-buffers), and nothing else
    #[arg(long)]
    small_buffers: bool,
    /// Go on for this many minutes, however many seeds that takes
    #[arg(long)]
    minutes: Option<u64>,
    /// Jobs at a time
    #[arg(long, default_value_t = AT_ONCE)]
    at_once: usize,
    /// Streams of broadcasts in the place of the random test, with one PE on each of --pes nodes: plain, with small buffers, and beside
    /// three other jobs
    #[arg(long)]
    broadcasts: bool,
    /// With --broadcasts: beside three other jobs, and nothing else
    #[arg(long, requires = "broadcasts", conflicts_with = "small_buffers")]
    beside: bool,
}

impl RandomArguments {
    /// The part of the random test that belongs to every run of the checks.
    fn brief(first: u64, seeds: u64, small_buffers: bool) -> RandomArguments {
        let usual = RandomArguments::parse_from(["random"]);
        let nodes = if small_buffers { vec![4, 8] } else { usual.nodes };
        RandomArguments { seeds, first: Some(first), nodes, small_buffers, ..usual }
    }

    /// Every combination of PEs, nodes and transports once.
    fn shapes(&self) -> Vec<SpreadJob> {
        let mut shapes: Vec<SpreadJob> = Vec::new();
        for &pes in &self.pes {
            let mut nodes: Vec<u32> = self.nodes.iter().map(|&nodes| nodes.clamp(1, pes.max(1))).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for nodes in nodes {
                // A job of one node has no network, and nothing of it is slower for small buffers.
                let by: Vec<Option<String>> = match nodes {
                    1 if self.small_buffers => Vec::new(),
                    1 => vec![None],
                    _ => self.transport.iter().cloned().map(Some).collect(),
                };
                let small_buffers = self.small_buffers;
                shapes.extend(by.into_iter().map(|transport| SpreadJob { pes, nodes, transport, small_buffers }));
            }
        }
        shapes
    }
}

/// Seconds of the clock: another first seed in every run, which the run prints.
pub(crate) fn seed_of_the_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

pub(crate) fn brief() -> Outcome<CheckCounts> {
    let first = seed_of_the_clock();
    let parts = [(first, PLAIN_SEEDS, false), (first + PLAIN_SEEDS, SMALL_BUFFER_SEEDS, true)];
    parts.into_iter().map(|(first, count, small)| seeds(&RandomArguments::brief(first, count, small))).sum()
}

/// Seeds of each part of the step: about a minute on two processors.
const PLAIN_SEEDS: u64 = 60;
const SMALL_BUFFER_SEEDS: u64 = 20;

pub(crate) fn run(arguments: &RandomArguments) -> Outcome<CheckCounts> {
    if arguments.broadcasts { broadcasts(arguments) } else { seeds(arguments) }
}

/// The shapes of which jobs run here, and how many cannot, for reasons that are printed.
fn possible(shapes: Vec<SpreadJob>, arguments: &[String], name: &str) -> Outcome<(Vec<SpreadJob>, CheckCounts)> {
    let program = job::build(name)?;
    let mut known = BTreeMap::new();
    let mut counts = CheckCounts::default();
    let mut possible = Vec::new();
    for shape in shapes {
        let is_possible = match known.entry((shape.small_buffers, shape.transport.clone())) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                let obstacle = job::obstacle(&shape, &program, arguments)?;
                if let Some(why) = &obstacle {
                    counts += skipped!("{name}, all jobs like {shape}: {why}");
                }
                *unknown.insert(obstacle.is_none())
            }
        };
        if is_possible {
            possible.push(shape);
        }
    }
    Ok((possible, counts))
}

/// One seed a job, the shapes one after the other.
fn seeds(arguments: &RandomArguments) -> Outcome<CheckCounts> {
    let program = job::build("random")?;
    let steps = arguments.steps.to_string();
    let (shapes, mut counts) = possible(arguments.shapes(), &["0".into(), "0".into()], "random")?;
    if shapes.is_empty() {
        return Ok(counts);
    }
    let first = arguments.first.unwrap_or_else(seed_of_the_clock);
    println!("random: the first seed is {first}; {} shapes, {steps} operations in each job", shapes.len());
    let begun = Instant::now();
    let until = arguments.minutes.map(|minutes| begun + Duration::from_secs(60 * minutes));
    let mut next = 0;
    loop {
        // A part at a time, so that the clock is looked at.
        let part = if until.is_some() { 8 * arguments.at_once as u64 } else { arguments.seeds };
        let numbers: Vec<u64> = (next..next + part).collect();
        next += part;
        let failed = in_parallel(arguments.at_once, &numbers, |&number| {
            let shape = &shapes[number as usize % shapes.len()];
            let seed = first + number;
            let outcome = shape.run(&program, &[seed.to_string(), steps.clone()]);
            outcome.err().map(|why| failed!("seed {seed} on {shape}: {why}"))
        });
        let failures = failed.iter().flatten().count();
        counts += CheckCounts { passed: failed.len() - failures, failed: failures, skipped: 0 };
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    let took = begun.elapsed().as_secs_f64().max(0.001);
    println!(
        "random: {} of {next} seeds failed in {took:.0} s, which is {:.0} seeds an hour",
        counts.failed,
        next as f64 * 3600.0 / took
    );
    Ok(counts)
}

/// Streams of broadcasts by roots that stay and by roots that take turns: the runs of each cell, and how many were wrong.
fn broadcasts(arguments: &RandomArguments) -> Outcome<CheckCounts> {
    let program = job::build("broadcasts")?;
    let mut counts = CheckCounts::default();
    let begun = Instant::now();
    let (plain, small) = ((", plain", false, arguments.at_once), ("", true, arguments.at_once));
    let beside = (", beside three others", false, CROWD);
    let modes = match (arguments.small_buffers, arguments.beside) {
        (true, _) => vec![small],
        (_, true) => vec![beside],
        _ => vec![plain, small, beside],
    };
    for (name, small_buffers, at_once) in modes {
        let of = |pes: u32| {
            RandomArguments { pes: vec![pes], nodes: vec![pes], small_buffers, ..arguments.clone() }.shapes()
        };
        let shapes = arguments.pes.iter().flat_map(|&pes| of(pes)).collect();
        let (shapes, skipped) = possible(shapes, &["stay".into(), "0".into()], "broadcasts")?;
        counts += skipped;
        for (shape, form) in shapes.iter().flat_map(|shape| ["stay", "turns"].map(|form| (shape, form))) {
            counts += cell(shape, form, at_once, arguments.seeds, name, &program);
        }
    }
    println!(
        "broadcasts: {} of {} runs were wrong in {} s",
        counts.failed,
        counts.passed + counts.failed,
        begun.elapsed().as_secs()
    );
    Ok(counts)
}

/// The runs of one cell. A run without an end, or with any status but 0, is a wrong one.
fn cell(
    shape: &SpreadJob,
    form: &str,
    at_once: usize,
    runs: u64,
    name: &str,
    program: &std::path::Path,
) -> CheckCounts {
    let arguments = [form.to_string(), TURNS.to_string()];
    let runs = vec![(); runs as usize];
    let ended = in_parallel(at_once, &runs, |()| shape.run(program, &arguments).err());
    let wrong: Vec<String> = ended.into_iter().flatten().collect();
    // The first of a cell says it all.
    if let Some(why) = wrong.first() {
        failed!("broadcasts, {form}, {shape}: {why}");
    }
    let (roots, failed) = (if form == "stay" { "roots that stay" } else { "roots that take turns" }, wrong.len());
    println!("{shape}{name}, {roots}: {failed} wrong in {} runs", runs.len());
    CheckCounts { passed: runs.len() - failed, failed, skipped: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_between_the_nodes_and_none_in_a_job_of_one() {
        let shapes = RandomArguments::brief(1, 1, false).shapes();
        // 2 and 3 PEs: 1, 2 and 3 nodes; 4: 1, 2, 4; 8: 1, 2, 4, 8.
        assert_eq!(shapes.iter().filter(|shape| shape.transport.is_none()).count(), 4);
        assert!(shapes.iter().all(|shape| shape.nodes <= shape.pes && (shape.nodes == 1) == shape.transport.is_none()));
        for transport in TRANSPORTS {
            let nodes = |of: &&SpreadJob| of.transport.as_deref() == Some(transport);
            assert_eq!(shapes.iter().filter(nodes).map(|shape| shape.nodes).max(), Some(8));
        }
        assert!(RandomArguments::brief(1, 1, true).shapes().iter().all(|shape| shape.nodes > 1 && shape.small_buffers));
    }
}
