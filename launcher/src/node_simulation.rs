//! `oxshmem simulate --node`: the protocols of one node on a model of a machine's caches, and the measurement that makes
//! such a model of this machine.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use oxshmem_base::{Error, file, names};
use oxshmem_os::cpus;
use oxshmem_schedule::algorithm::Collective;
use oxshmem_schedule::node::coherence::{self, LineDistance, MACHINES, NodeMachine, NodeQuestion};
use oxshmem_topology::{Node, Processor, discover};

use crate::calibrate::{run, time};
use crate::results;

/// The most PEs that are simulated on a node.
const MOST_PES: u32 = 1024;

/// Simulates the protocols of a node, flat and through levels: the table, and the drawing.
pub fn simulate(
    name: &str,
    collective: Collective,
    pes: Option<Vec<u32>>,
    bytes: u64,
) -> Result<(String, String), Error> {
    let machine = machine(name)?;
    let pes = team_sizes(name, &machine, pes)?;
    let question =
        NodeQuestion { collective, bytes: if collective == Collective::Sync { 0 } else { bytes.next_multiple_of(8) } };
    let entries = coherence::compare(&question, &pes, &machine).ok_or_else(|| {
        Error::new(format!("{collective} cannot be simulated on a node"))
            .because("no protocol of the node is data for it")
            .fix("choose sync, broadcast or one of the reductions")
    })?;
    let text = format!("{collective}, {}", coherence::table(&entries, &question, &machine));
    Ok((text, coherence::svg(&entries, &question, &machine)))
}

/// The sizes of teams: those that the user wants, or powers of two as far as the machine and the simulation go.
fn team_sizes(name: &str, machine: &NodeMachine, wanted: Option<Vec<u32>>) -> Result<Vec<u32>, Error> {
    let most = machine.most().min(MOST_PES);
    let doubling = || std::iter::successors(Some(2), |size| Some(size * 2)).take_while(|size| *size <= most.max(2));
    let sizes = wanted.unwrap_or_else(|| doubling().collect());
    let Some(size) = sizes.iter().find(|size| **size > most) else { return Ok(sizes) };
    let why = if machine.most() > MOST_PES {
        format!("a node is simulated with at most {MOST_PES} PEs")
    } else {
        format!("it has {} hardware threads, and the model gives each PE one", machine.most())
    };
    Err(Error::new(format!("{size} PEs cannot be simulated on {name}")).because(why).fix("choose fewer with --pes"))
}

/// A machine by its name, or out of a file.
fn machine(name: &str) -> Result<NodeMachine, Error> {
    let known = MACHINES.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let text = match known {
        Some(text) => text,
        None => file::read(name).map_err(|error| {
            let error = Error::new(format!("there is no machine {name}")).because(error);
            let all = MACHINES.map(|(known, _)| known);
            match names::nearest(name, all) {
                Some(near) => error.fix(format!("say --node {near}")),
                None => error.fix(format!("name a file, or one of {}", all.join(", "))),
            }
        })?,
    };
    NodeMachine::read(&text).map_err(|mistake| {
        let place = if mistake.line > 0 { format!("line {}: ", mistake.line) } else { String::new() };
        Error::new(format!("{name} describes no machine"))
            .because(format!("{place}{}", mistake.why))
            .fix("mend that, or let oxshmem simulate --calibrate-node=FILE write a description")
    })
}

/// Rounds of measurements of this machine.
const ROUNDS: usize = 7;

/// Measures this machine, writes its description and says how far it predicts a barrier.
pub fn calibrate(file: &Path) -> Result<String, Error> {
    // A file that cannot be written is reported before the measurements.
    let unwritten = results::unwritten(file, "choose another place");
    results::try_path(file).map_err(unwritten)?;
    let node = discover("auto")?.node;
    let farthest = |machine: &NodeMachine| machine.line[LineDistance::Node as usize];
    // The processors of a virtual machine may move between two measurements. So lines are measured before the barriers and behind
    // them, and the round stands in which they have changed least.
    let rounds = (0..ROUNDS).map(|_| {
        let mut machine = measured(&node)?;
        let alone = time(&run(1, None)?, "barrier")?.0;
        machine.call = (alone * 10.0).round() / 10.0;
        let together = if machine.most() < 2 { None } else { Some(time(&run(2, None)?, "barrier")?) };
        let change = (farthest(&measured(&node)?) / farthest(&machine)).ln().abs();
        Ok((machine, together, change))
    });
    let rounds = rounds.collect::<Result<Vec<_>, Error>>()?;
    let steadiest = rounds.into_iter().min_by(|(.., a), (.., b)| a.total_cmp(b));
    let (machine, together, _) = steadiest.expect("there is a round");
    let text = format!(
        "# Measured by oxshmem simulate --calibrate-node: the times of a line, and a barrier of one PE as the time of a\n\
         # call. Distances that this machine does not have are those of the next nearer one; all else is assumed.\n{}",
        machine.write()
    );
    results::write(file, text).map_err(unwritten)?;
    let mut report = format!("{}\nwritten to {}\n", machine.describe(), file.display());
    let Some((least, median)) = together else {
        return Ok(report + "one processor: there is no barrier to compare with\n");
    };
    let question = NodeQuestion { collective: Collective::Sync, bytes: 0 };
    let entries = coherence::compare(&question, &[2], &machine).expect("a barrier is data");
    let predicted = entries[0].outcomes[0].1.expect("the barrier's protocol is proven to end").time;
    let _ = writeln!(
        report,
        "a barrier of 2 PEs: {predicted:.1} ns simulated; {median:.1} ns measured, {least:.1} at least; measured over \
         simulated {:.2}",
        median / predicted
    );
    Ok(report)
}

/// The description of a node whose parts are all alike, with the times of lines that are measured now.
fn measured(node: &Node) -> Result<NodeMachine, Error> {
    let count = |property: fn(&Processor) -> u32| node.count(property) as u32;
    let (sockets, cores, threads) = (count(|p| p.package), count(|p| p.core), node.processors.len() as u32);
    let (numa, caches) = (count(|p| p.numa).max(sockets), count(|p| p.l3).max(count(|p| p.numa)));
    let mut machine = NodeMachine {
        name: "this machine".into(),
        sockets,
        numa: numa / sockets,
        caches: caches / numa,
        cores: cores / caches,
        threads: threads / cores,
        line: [0.0; 5],
        claim: 0.5,
        call: 0.0,
        hit: 1.2,
        byte: [0.025, 0.03, 0.06, 0.06, 0.1],
        boundary: [0.014, 0.008],
    };
    if machine.all_cores() != cores || machine.most() != threads {
        return Err(Error::new("this machine cannot be described")
            .because(format!("its parts are not alike: {}", node.describe()))
            .fix("write a description yourself; those of oxshmem show how"));
    }
    let allowed = cpus::allowed();
    let mine: Vec<&Processor> = node.processors.iter().filter(|p| allowed.contains(&(p.cpu as usize))).collect();
    let mut nearer = None;
    for (place, line) in machine.line.iter_mut().enumerate() {
        // The first pair of processors of this distance stands for all.
        let pairs = || mine.iter().flat_map(|a| mine.iter().map(move |b| (*a, *b)));
        let pair = pairs().find(|(a, b)| a.cpu != b.cpu && distance(a, b) as usize == place);
        let found = match pair {
            Some((a, b)) => Some(way_of_a_line(a.cpu as usize, b.cpu as usize)?),
            None => nearer,
        };
        *line = found.unwrap_or(0.0);
        nearer = found;
    }
    // A distance below all measured ones, as that of two threads of a core where cores have one, gets the least.
    let nearest = machine.line.iter().copied().find(|line| *line > 0.0).unwrap_or(0.0);
    machine.line.iter_mut().filter(|line| **line == 0.0).for_each(|line| *line = nearest);
    Ok(machine)
}

fn distance(a: &Processor, b: &Processor) -> LineDistance {
    if a.core == b.core {
        LineDistance::Core
    } else if a.l3 == b.l3 {
        LineDistance::Cache
    } else if a.numa == b.numa {
        LineDistance::Numa
    } else if a.package == b.package {
        LineDistance::Socket
    } else {
        LineDistance::Node
    }
}

/// The remedy where a thread cannot be bound.
const REBIND: &str = "let this process use all processors of the machine: taskset --cpu-list, or its control group";

/// A word on lines of its own.
#[repr(align(128))]
struct LineWord(AtomicU64);

/// Round trips of one measurement, and measurements.
const TRIPS: u64 = 20_000;
const TRIALS: usize = 20;

/// The time from a store to the sight of a polling reader on another processor, in nanoseconds: the least of some trials.
fn way_of_a_line(here: usize, there: usize) -> Result<f64, Error> {
    let (ping, pong) = (LineWord(AtomicU64::new(0)), LineWord(AtomicU64::new(0)));
    let all = TRIPS * TRIALS as u64;
    // There is no limit: where another process takes one of the two processors away, the trial lasts until it is back, and a shorter
    // one stands for all.
    let reach = |word: &LineWord, number: u64| {
        while word.0.load(Ordering::Acquire) != number {
            std::hint::spin_loop();
        }
    };
    let pinned = |cpu: usize| {
        cpus::pin_to(cpu).map_err(|error| {
            Error::new(format!("a thread cannot be bound to processor {cpu}")).because(error).fix(REBIND)
        })
    };
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let bound = pinned(there);
            for number in 1..=all {
                reach(&ping, number);
                pong.0.store(number, Ordering::Release);
            }
            bound
        });
        let call = scope.spawn(|| {
            let bound = pinned(here);
            let mut least = f64::MAX;
            for trial in 0..TRIALS as u64 {
                let start = Instant::now();
                for number in trial * TRIPS + 1..=(trial + 1) * TRIPS {
                    ping.0.store(number, Ordering::Release);
                    reach(&pong, number);
                }
                least = least.min(start.elapsed().as_nanos() as f64 / (2 * TRIPS) as f64);
            }
            bound.map(|()| (least * 10.0).round() / 10.0)
        });
        echo.join().expect("it does not panic")?;
        call.join().expect("it does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_found_by_name_and_mistakes_are_explained() {
        let (table, drawing) = simulate("epyc-7742", Collective::Sync, Some(vec![2, 128]), 8).unwrap();
        assert!(table.contains("simulated, not measured: 0 bytes") && drawing.contains("tree"), "{table}");
        let error = simulate("epyc-7724", Collective::Sync, None, 8).unwrap_err().to_string();
        assert!(error.contains("say --node epyc-7742"), "{error}");
        let error = simulate("grace", Collective::Sync, Some(vec![145]), 8).unwrap_err().to_string();
        assert!(error.contains("144 hardware threads"), "{error}");
        assert!(simulate("grace", Collective::Alltoall, None, 8).is_err());
    }

    #[test]
    fn a_machine_of_more_threads_than_are_simulated_is_simulated_as_far_as_that() {
        let machine = NodeMachine { sockets: 64, ..machine("epyc-9654").unwrap() };
        assert!(machine.most() > 2 * MOST_PES);
        assert_eq!(team_sizes("large", &machine, None).unwrap().last(), Some(&MOST_PES));
        let error = team_sizes("large", &machine, Some(vec![2, MOST_PES + 1])).unwrap_err().to_string();
        assert!(error.contains("1025 PEs") && error.contains("at most 1024 PEs"), "{error}");
    }

    #[test]
    fn the_measurement_of_this_machine_is_a_description() {
        let node = discover("auto").unwrap().node;
        match measured(&node) {
            Ok(machine) => {
                assert_eq!(NodeMachine::read(&machine.write()).as_ref(), Ok(&machine));
                assert_eq!(machine.most() as usize, node.processors.len());
            }
            Err(error) => oxshmem_test_folder::not_run(error),
        }
    }
}
