//! Which schedule is the quickest between the user's nodes: every one that serves a collective is measured at several
//! sizes, and what wins becomes a table for `SHMEM_TUNING`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use oxshmem_base::Error;
use oxshmem_schedule::algorithm::names::{COLLECTIVES, FAMILIES, NAMES, find};
use oxshmem_schedule::algorithm::{Collective, Schedule};
use oxshmem_schedule::choose::{Row, to_json};

use crate::machine::{beside, helper};
use crate::results;

/// Every schedule is measured in so many jobs, in turns with the others, so that a disturbance is nobody's in particular.
const ROUNDS: u32 = 3;
/// A schedule stays the choice at the next size as long as no other is quicker by more than this.
const MARGIN: f64 = 1.1;
/// Chains in longer pieces, which are for networks with dear messages.
const LONG_CHAINS: [&str; 2] = ["chain-65536", "chain-524288"];
/// The choice of the library without a table.
const STANDARD: &str = "auto";

/// The least time of a schedule, by collective and size, in nanoseconds.
type Times = BTreeMap<(usize, u64), BTreeMap<&'static str, f64>>;

/// Measures on the PEs that `oshrun` starts with these arguments, writes the table to `file`, and says what was found.
pub fn tune(oshrun: &[String], file: &Path) -> Result<String, Error> {
    let nodes = size(oshrun)?;
    if nodes < 2 {
        return Err(Error::new("oxshmem tune measures between nodes, and wants one PE on each of at least two")
            .because(format!("`oshrun {}` starts {nodes} PE", oshrun.join(" ")))
            .fix("name hosts behind `--`: -H a,b,c -N 1; or, to try it on this machine: -n 2 --nodes 2"));
    }
    let mut times = Times::new();
    for round in 1..=ROUNDS {
        for name in [STANDARD].into_iter().chain(NAMES).chain(LONG_CHAINS) {
            eprintln!("oxshmem: round {round} of {ROUNDS}, {name}");
            for (collective, bytes, nanoseconds) in measured(oshrun, name)? {
                let best = times.entry((collective, bytes)).or_default().entry(name).or_insert(f64::MAX);
                *best = best.min(nanoseconds);
            }
        }
    }
    let rows = rows(&times, nodes);
    results::write(file, to_json(&rows)).map_err(|error| {
        Error::new(format!("{} cannot be written", file.display()))
            .because(error)
            .fix("choose another place for --output")
    })?;
    Ok(report(&times) + &format!("\n{} rows are in {}: set SHMEM_TUNING to it\n", rows.len(), file.display()))
}

/// Runs the measuring program with one schedule for all collectives that it serves.
fn measured(oshrun: &[String], name: &'static str) -> Result<Vec<(usize, u64, f64)>, Error> {
    let served = |collective: Collective| name == STANDARD || find(collective, name).is_some();
    let mut command = Command::new(beside("oshrun")?);
    for (family, collectives) in FAMILIES {
        let name = if collectives.iter().any(|&collective| served(collective)) { name } else { STANDARD };
        command.env(format!("SHMEM_{family}_ALGORITHM"), name);
    }
    let lines = run(command.args(oshrun).arg(helper("oshtune")?).env_remove("SHMEM_TUNING"))?;
    Ok(lines.lines().filter_map(line).filter(|(collective, ..)| served(COLLECTIVES[*collective].1)).collect())
}

/// How many PEs, one on each node, these arguments start.
fn size(oshrun: &[String]) -> Result<u32, Error> {
    let lines = run(Command::new(beside("oshrun")?).args(oshrun).args(["sh", "-c", "echo $PMI_SIZE"]))?;
    let size = lines.lines().next().and_then(|line| line.trim().parse().ok());
    size.ok_or_else(|| Error::new("oshrun does not say how many PEs it starts").because(format!("it says {lines:?}")))
}

fn run(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Error::new("oshrun cannot be started").because(error))?;
    if !output.status.success() {
        return Err(Error::new("the measurement failed")
            .because(output.status)
            .fix("behind `--` stand arguments of oshrun that start one PE on each node: -H a,b,c -N 1"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `collective bytes nanoseconds`.
fn line(line: &str) -> Option<(usize, u64, f64)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let collective = COLLECTIVES.iter().position(|(known, _)| *known == name)?;
    Some((collective, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The quickest of one size.
fn quickest(times: &BTreeMap<&'static str, f64>) -> Option<(&'static str, f64)> {
    let named = times.iter().filter(|(name, _)| **name != STANDARD).map(|(name, time)| (*name, *time));
    named.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The winner of each size, small sizes first.
fn winners(times: &Times, collective: usize) -> Vec<(u64, &'static str)> {
    let mut won: Vec<(u64, &'static str)> = Vec::new();
    for ((_, bytes), times) in times.iter().filter(|((of, _), _)| *of == collective) {
        let Some((best, time)) = quickest(times) else { continue };
        let before = won.last().map(|(_, name)| *name);
        let stays = before.filter(|name| times.get(name).is_some_and(|before| *before <= time * MARGIN));
        won.push((*bytes, stays.unwrap_or(best)));
    }
    won
}

/// The table: each winner up to the largest size that it won, the last one without a limit; for teams of at most `size`
/// nodes, because nothing is known of larger ones.
fn rows(times: &Times, size: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (number, (_, collective)) in COLLECTIVES.into_iter().enumerate() {
        let won = winners(times, number);
        for (place, (bytes, name)) in won.iter().enumerate() {
            let next = won.get(place + 1);
            if next.is_some_and(|(_, next)| next == name) {
                continue;
            }
            // Between two sizes that differ in their winner the change is in the middle, as factors go.
            let max_bytes = next.map_or(u64::MAX, |(next, _)| ((*bytes as f64 * *next as f64).sqrt()) as u64);
            let schedule: Option<Schedule> = find(collective, name);
            rows.extend(schedule.map(|schedule| Row { collective, max_size: size, max_bytes, schedule }));
        }
    }
    rows
}

fn report(times: &Times) -> String {
    let mut text =
        format!("{:<20}{:>10}  {:<18}{:>12}{:>18}\n", "collective", "bytes", "chosen", "us", "standard table us");
    for (number, (name, _)) in COLLECTIVES.into_iter().enumerate() {
        for (bytes, chosen) in winners(times, number) {
            let us = |name| times[&(number, bytes)].get(name).map_or(f64::NAN, |time| time / 1e3);
            let _ = writeln!(text, "{name:<20}{bytes:>10}  {chosen:<18}{:>12.1}{:>18.1}", us(chosen), us(STANDARD));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_schedule::choose::from_json;

    fn times(lines: &[(&'static str, &str)]) -> Times {
        let mut times = Times::new();
        for (schedule, text) in lines {
            let (collective, bytes, time) = line(text).expect("a line of a measurement");
            times.entry((collective, bytes)).or_default().insert(schedule, time);
        }
        times
    }

    #[test]
    fn the_quickest_answers_up_to_the_middle_of_where_another_one_is() {
        let times = times(&[
            ("tree-2", "broadcast 64 10"),
            ("chain-8192", "broadcast 64 20"),
            ("tree-2", "broadcast 1024 99"),
            ("chain-8192", "broadcast 1024 30"),
            ("auto", "broadcast 1024 5"),
        ]);
        let rows: Vec<String> =
            rows(&times, 4).iter().map(|row| format!("{} {} {}", row.schedule, row.max_size, row.max_bytes)).collect();
        assert_eq!(rows, ["tree-2 4 256", &format!("chain-8192 4 {}", u64::MAX)]);
        assert!(report(&times).contains("chain-8192"), "{}", report(&times));
    }

    #[test]
    fn a_little_quicker_is_no_reason_to_change() {
        let times = times(&[
            ("ring", "reduce-exact 8 100"),
            ("census", "reduce-exact 8 90"),
            ("ring", "reduce-exact 64 95"),
            ("census", "reduce-exact 64 100"),
        ]);
        assert_eq!(winners(&times, 2), [(8, "census"), (64, "census")]);
        let table = rows(&times, 2);
        assert_eq!((table.len(), from_json(&to_json(&table))), (1, Ok(table.clone())));
    }

    #[test]
    fn what_is_no_measurement_is_left_out() {
        for noise in ["", "broadcast", "broadcast 8", "nothing 8 9", "broadcast x 9", "oxshmem: 2 PEs on 2 nodes"] {
            assert_eq!(line(noise), None, "{noise}");
        }
    }
}
