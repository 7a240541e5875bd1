//! How long jobs take to start: 64 empty programs, and 1,000 PEs over 8 made-up hosts of this machine.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::checks::launchers;
use crate::counts::CheckCounts;
use crate::{Outcome, command};

/// The longest time that 64 empty programs may take, from the first to the last.
const LIMIT: Duration = Duration::from_millis(500);
const TRIES: usize = 11;

/// Measures both. Time decides here, so it is no part of the checks.
pub(crate) fn run(prefix: &Path) -> Outcome<CheckCounts> {
    let oshrun = prefix.join("bin/oshrun");
    let mut times = Vec::new();
    for _ in 0..TRIES {
        times.push(timed(Command::new(&oshrun).args(["-n", "64", "true"]))?.0);
    }
    times.sort_unstable();
    let median = times[TRIES / 2];
    println!("oshrun -n 64 true: {} of {TRIES} tries, the median; the least {}", shown(median), shown(times[0]));
    let hello = launchers::compile()?;
    let mut job = Command::new(&oshrun);
    job.args(["-H", "h[1-8]", "--launch-agent", "env ON={host}", "-n", "1000"]).arg(&hello);
    let (time, said) = timed(&mut job)?;
    let greetings = said.lines().filter(|line| line.starts_with("PE ") && line.ends_with("of 1000, 125 on this node"));
    let met = greetings.count() == 1000 && said.contains("ring closed, teams agree");
    println!(
        "1,000 PEs over 8 hosts, a barrier, a ring and teams: {}, {}",
        shown(time),
        if met { "well" } else { "NOT WELL" }
    );
    Ok([median <= LIMIT, met].into_iter().map(CheckCounts::one).sum())
}

fn timed(job: &mut Command) -> Outcome<(Duration, String)> {
    let begun = Instant::now();
    let said = command::read(job.stdin(Stdio::null()))?;
    Ok((begun.elapsed(), said))
}

fn shown(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
