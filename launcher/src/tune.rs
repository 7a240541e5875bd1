//! Which schedule is the quickest between the user's nodes: every one that serves a collective is measured at several
//! sizes, and what wins becomes a table for `SHMEM_TUNING`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use oxshmem_base::Error;
use oxshmem_os::process;
use oxshmem_schedule::algorithm::names::{COLLECTIVES, FAMILIES, NAMES, find};
use oxshmem_schedule::algorithm::{Collective, Schedule};
use oxshmem_schedule::choose::{Row, to_json};
use oxshmem_schedule::way::{Rules, TeamFacts};

use crate::machine::{beside, helper};
use crate::schedules::ELEMENT;
use crate::{results, tool_job};

/// Every schedule is measured in this many jobs, which alternate with those of the others, so that a disturbance
/// affects all schedules.
const ROUNDS: u32 = 3;
/// A schedule stays the choice at the next size as long as no other is quicker by more than this, and the standard table's choice
/// stays as long as no schedule is.
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
    // A file that cannot be written is reported before minutes of measurement.
    let unwritten = results::unwritten(file, "choose another place for --output");
    results::create(file).map_err(unwritten)?;
    let runs = ROUNDS as usize * (1 + NAMES.len() + LONG_CHAINS.len());
    process::say(&format!("oxshmem: {runs} jobs of some seconds each follow, a minute or more in all\n"));
    let mut times = Times::new();
    for round in 1..=ROUNDS {
        for name in [STANDARD].into_iter().chain(NAMES).chain(LONG_CHAINS) {
            process::say(&format!("oxshmem: round {round} of {ROUNDS}, {name}\n"));
            for (collective, bytes, nanoseconds) in measured(oshrun, name)? {
                let best = times.entry((collective, bytes)).or_default().entry(name).or_insert(f64::MAX);
                *best = best.min(nanoseconds);
            }
        }
    }
    merge_equal_ways(&mut times, nodes);
    let rows = rows(&times, nodes);
    results::write(file, to_json(&rows)).map_err(unwritten)?;
    Ok(report(&times) + &summary(&times, rows.len(), file))
}

/// Runs the measuring program with one schedule for all collectives that it serves.
fn measured(oshrun: &[String], name: &'static str) -> Result<Vec<(usize, u64, f64)>, Error> {
    let served = |collective: Collective| name == STANDARD || find(collective, name).is_some();
    let mut command = tool_job::launcher(beside("oshrun")?);
    for (family, collectives) in FAMILIES {
        let name = if collectives.iter().any(|&collective| served(collective)) { name } else { STANDARD };
        command.env(format!("SHMEM_{family}_ALGORITHM"), name);
    }
    let lines = run(command.args(oshrun).arg(helper("oshtune")?).env_remove("SHMEM_TUNING"))?;
    Ok(lines.lines().filter_map(line).filter(|(collective, ..)| served(COLLECTIVES[*collective].1)).collect())
}

/// How many PEs, one on each node, these arguments start.
fn size(oshrun: &[String]) -> Result<u32, Error> {
    let lines = run(tool_job::launcher(beside("oshrun")?).args(oshrun).args(["sh", "-c", "echo $PMI_SIZE"]))?;
    let size = lines.lines().next().and_then(|line| line.trim().parse().ok());
    size.ok_or_else(|| {
        Error::new("oshrun does not say how many PEs it starts")
            .because(format!("it says {lines:?}"))
            .fix("behind `--` stand options of oshrun only, and no program: -H a,b,c -N 1")
    })
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

/// A row does not always change how a call goes. The schedules that leave a call on its built-in way have been measured by the
/// same code as the built-in choice, so all of them get the least of their times.
fn merge_equal_ways(times: &mut Times, nodes: u32) {
    for ((collective, bytes), times) in times.iter_mut() {
        let collective = COLLECTIVES[*collective].1;
        let is_built_in = |name: &str| name == STANDARD || leaves_way(collective, name, nodes, *bytes);
        let equal: Vec<&'static str> = times.keys().copied().filter(|name| is_built_in(name)).collect();
        let least = equal.iter().map(|name| times[name]).fold(f64::INFINITY, f64::min);
        times.extend(equal.into_iter().map(|name| (name, least)));
    }
}

/// Whether a call between nodes with one PE on each goes the same way with a row for this schedule as without, whether the nodes share
/// processors or not.
fn leaves_way(collective: Collective, name: &str, nodes: u32, bytes: u64) -> bool {
    let Some(schedule) = find(collective, name) else { return true };
    // The way of a barrier is to meet, by any schedule.
    if collective == Collective::Sync {
        return false;
    }
    let row = [Row { collective, max_size: u32::MAX, max_bytes: u64::MAX, schedule }];
    [false, true].into_iter().all(|crowded| {
        let way = |own| {
            let team = TeamFacts::spread(nodes, nodes, Rules { own, crowded, served: true });
            team.way(collective, ELEMENT as usize, bytes.div_ceil(ELEMENT) as usize)
        };
        way(&row) == way(&[])
    })
}

/// The quickest of one size.
fn quickest(times: &BTreeMap<&'static str, f64>) -> Option<(&'static str, f64)> {
    let named = times.iter().filter(|(name, _)| **name != STANDARD).map(|(name, time)| (*name, *time));
    named.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The choice for one size of a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SizeChoice {
    bytes: u64,
    /// The schedule that is the quickest there, or little slower and the choice of the size before.
    schedule: &'static str,
    /// Whether the table names it. The others are left to the standard table.
    is_named: bool,
}

/// The choice of each size, small sizes first. A table has rows up to a size, so a size below one that gains gets a schedule too:
/// one that is not slower than the standard table's choice. Where there is none, the larger sizes gain nothing either.
fn choices(times: &Times, collective: usize) -> Vec<SizeChoice> {
    let mut choices: Vec<SizeChoice> = Vec::new();
    // How many of the choices are named.
    let mut named = 0;
    let mut is_open = true;
    for ((_, bytes), times) in times.iter().filter(|((of, _), _)| *of == collective) {
        let Some((best, time)) = quickest(times) else { continue };
        let before = choices.last().map(|choice| choice.schedule);
        let stays = before.filter(|name| times.get(name).is_some_and(|before| *before <= time * MARGIN));
        let schedule = stays.unwrap_or(best);
        choices.push(SizeChoice { bytes: *bytes, schedule, is_named: false });
        let (taken, standard) = (times[schedule], times.get(STANDARD).copied().unwrap_or(f64::MAX));
        is_open &= taken <= standard * MARGIN;
        if is_open && taken * MARGIN < standard {
            named = choices.len();
        }
    }
    choices[..named].iter_mut().for_each(|choice| choice.is_named = true);
    choices
}

/// The table: each named schedule up to the largest size that it is the choice of, the last one without a limit if no size is
/// left to the standard table; for teams of at most `size` nodes, because nothing is known of larger ones.
fn rows(times: &Times, size: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (number, (_, collective)) in COLLECTIVES.into_iter().enumerate() {
        let choices = choices(times, number);
        for (place, choice) in choices.iter().enumerate().filter(|(_, choice)| choice.is_named) {
            let next = choices.get(place + 1);
            if next.is_some_and(|next| next.is_named && next.schedule == choice.schedule) {
                continue;
            }
            // Between two sizes that differ in their choice the change is in the middle, as factors go.
            let middle = |next: &SizeChoice| ((choice.bytes as f64 * next.bytes as f64).sqrt()) as u64;
            let max_bytes = next.map_or(u64::MAX, middle);
            let schedule: Option<Schedule> = find(collective, choice.schedule);
            rows.extend(schedule.map(|schedule| Row { collective, max_size: size, max_bytes, schedule }));
        }
    }
    rows
}

/// The table of all times, and how they were found.
fn report(times: &Times) -> String {
    let mut text = format!(
        "{:<20}{:>10}  {:<18}{:>12}{:>20}  in the table\n",
        "collective", "bytes", "schedule", "µs", "built-in choice µs"
    );
    for (number, (name, _)) in COLLECTIVES.into_iter().enumerate() {
        for SizeChoice { bytes, schedule, is_named } in choices(times, number) {
            let us = |name| times[&(number, bytes)].get(name).map_or(f64::NAN, |time| time / 1e3);
            let named = if is_named { "yes" } else { "no" };
            let _ = writeln!(
                text,
                "{name:<20}{bytes:>10}  {schedule:<18}{:>12.1}{:>20.1}  {named}",
                us(schedule),
                us(STANDARD)
            );
        }
    }
    let percent = 100.0 * (MARGIN - 1.0);
    let _ = writeln!(
        text,
        "\nA schedule is the quickest, or that of the size before where it is at most {percent:.0} % slower.\n\
         A time is the least of {ROUNDS} rounds, and that of a round the lower quartile of its batches."
    );
    text
}

/// How many rows the table has, and how many sizes it leaves to the standard table.
fn summary(times: &Times, rows: usize, file: &Path) -> String {
    let all: Vec<SizeChoice> = (0..COLLECTIVES.len()).flat_map(|number| choices(times, number)).collect();
    let left = all.iter().filter(|choice| !choice.is_named).count();
    let percent = 100.0 * (MARGIN - 1.0);
    let left_out = match left {
        0 => String::new(),
        _ => format!(
            "{left} of {} sizes are left to the built-in choice: no schedule was quicker there by more than {percent:.0} %, or a row \
             for it would have made a smaller size slower\n",
            all.len()
        ),
    };
    match rows {
        0 => format!("{left_out}{} has no row, and changes nothing\n", file.display()),
        rows => {
            let told = if rows == 1 { "1 row is".into() } else { format!("{rows} rows are") };
            format!("{left_out}{told} in {}: set SHMEM_TUNING to it\n", file.display())
        }
    }
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

    fn named(times: &Times, collective: usize) -> Vec<(u64, &'static str, bool)> {
        choices(times, collective).iter().map(|choice| (choice.bytes, choice.schedule, choice.is_named)).collect()
    }

    #[test]
    fn the_quickest_answers_up_to_the_middle_of_where_another_one_is() {
        let times = times(&[
            ("tree-2", "broadcast 64 10"),
            ("chain-8192", "broadcast 64 20"),
            ("tree-2", "broadcast 1024 99"),
            ("chain-8192", "broadcast 1024 30"),
            ("auto", "broadcast 1024 50"),
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
        assert_eq!(named(&times, 2), [(8, "census", true), (64, "census", true)]);
        let table = rows(&times, 2);
        assert_eq!((table.len(), from_json(&to_json(&table))), (1, Ok(table.clone())));
    }

    #[test]
    fn sizes_without_a_clear_gain_are_left_to_the_standard_table() {
        let times = times(&[
            // A gain, a tie below a gain, a gain, and a tie.
            ("tree-2", "broadcast 8 10"),
            ("auto", "broadcast 8 20"),
            ("tree-2", "broadcast 64 21"),
            ("auto", "broadcast 64 20"),
            ("tree-2", "broadcast 512 20"),
            ("auto", "broadcast 512 30"),
            ("tree-2", "broadcast 4096 39"),
            ("auto", "broadcast 4096 40"),
            // Every schedule is slower at a size: a row for the larger one would answer there, too.
            ("ring", "fcollect 8 40"),
            ("auto", "fcollect 8 5"),
            ("ring", "fcollect 64 10"),
            ("auto", "fcollect 64 50"),
        ]);
        let broadcast = COLLECTIVES.iter().position(|(name, _)| *name == "broadcast").expect("it is a collective");
        let in_table: Vec<bool> = named(&times, broadcast).iter().map(|(_, _, is_named)| *is_named).collect();
        assert_eq!(in_table, [true, true, true, false]);
        let rows: Vec<String> =
            rows(&times, 2).iter().map(|row| format!("{} {}", row.schedule, row.max_bytes)).collect();
        assert_eq!(rows, ["tree-2 1448"]);
        let told = summary(&times, rows.len(), Path::new("t.json"));
        assert!(told.starts_with("3 of 6 sizes are left to the built-in choice"), "{told}");
        assert!(told.ends_with("1 row is in t.json: set SHMEM_TUNING to it\n"), "{told}");
        assert!(summary(&times, 0, Path::new("t.json")).ends_with("t.json has no row, and changes nothing\n"));
    }

    /// The measurement of a row that changes nothing is one of the built-in choice.
    #[test]
    fn a_schedule_that_leaves_the_way_gains_nothing() {
        let mut times = times(&[
            ("auto", "fcollect 2097152 300"),
            ("census", "fcollect 2097152 200"),
            ("auto", "broadcast 8 30"),
            ("scatter-gather", "broadcast 8 20"),
        ]);
        merge_equal_ways(&mut times, 2);
        let fcollect = COLLECTIVES.iter().position(|(name, _)| *name == "fcollect").expect("it is a collective");
        assert_eq!(times[&(fcollect, 2 << 20)], BTreeMap::from([("auto", 200.0), ("census", 200.0)]));
        let (_, of_rows) = times.iter().find(|((_, bytes), _)| *bytes == 8).expect("a broadcast");
        assert_eq!(*of_rows, BTreeMap::from([("auto", 30.0), ("scatter-gather", 20.0)]));
        assert_eq!(rows(&times, 2).len(), 1);
    }

    #[test]
    fn what_is_no_measurement_is_left_out() {
        for noise in ["", "broadcast", "broadcast 8", "nothing 8 9", "broadcast x 9", "oxshmem: 2 PEs on 2 nodes"] {
            assert_eq!(line(noise), None, "{noise}");
        }
    }
}
