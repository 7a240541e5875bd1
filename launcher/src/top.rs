//! `oxshmem top`: a table of what the PEs of a running job do, again and again.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::Duration;

use clap::Args;
use oxshmem_base::Error;
use oxshmem_flight::waits::Subject;
use oxshmem_flight::{Activity, State, Witness};

use crate::ask::{self, JobView};

/// The job and how it is shown.
#[derive(Args)]
pub struct TopArgs {
    /// The process number of the job's oshrun [default: the only job there is]
    #[arg(value_name = "JOB")]
    job: Option<u32>,
    /// Print the table once
    #[arg(long)]
    once: bool,
    /// Print JSON, one line for each table
    #[arg(long)]
    json: bool,
    /// Seconds from one table to the next
    #[arg(long, short = 'd', value_name = "SECONDS", default_value = "1")]
    delay: f64,
}

/// Back to the first line, without what an empty screen in between would show; and what erases the rest of a line, and of the screen.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K\n";
const REST_OF_SCREEN: &str = "\x1b[J";

impl TopArgs {
    /// Shows tables until the job ends or the user interrupts; the last one, if it is to be printed once.
    pub fn run(&self) -> Result<String, Error> {
        let delay = Duration::try_from_secs_f64(self.delay).map_err(|error| {
            Error::new(format!("--delay {}", self.delay)).because(error).fix("pass a number of seconds")
        })?;
        let job = ask::meant(self.job)?;
        let mut before = ask::view(job)?;
        if self.once && self.json {
            return Ok(line(&before));
        }
        let is_screen = std::io::stdout().is_terminal() && !self.once && !self.json;
        let mut is_first = true;
        loop {
            std::thread::sleep(delay);
            // A job that has ended has no next table.
            let now = match ask::view(job) {
                Ok(now) => now,
                Err(_) if !ask::jobs().contains(&job) && !self.once => return Ok(format!("job {job} has ended\n")),
                Err(error) => return Err(error),
            };
            let text = match self.json {
                true => line(&now),
                false => table(&before, &now),
            };
            if self.once {
                return Ok(text);
            }
            let text = match (is_screen, is_first) {
                (true, true) => format!("\x1b[2J{HOME}{}{REST_OF_SCREEN}", text.replace('\n', REST_OF_LINE)),
                (true, false) => format!("{HOME}{}{REST_OF_SCREEN}", text.replace('\n', REST_OF_LINE)),
                (false, _) => text,
            };
            let mut out = std::io::stdout().lock();
            if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                return Ok(String::new());
            }
            (before, is_first) = (now, false);
        }
    }
}

fn line(view: &JobView) -> String {
    serde_json::to_string(view).expect("numbers and words have a JSON form") + "\n"
}

/// A line for each PE; rates are those between two views.
fn table(before: &JobView, now: &JobView) -> String {
    let seconds = (now.seconds - before.seconds).max(1e-3);
    let mut text = format!("job {}, {} PEs, {:.0} s: {}\n", now.job, now.pes, now.seconds, now.command);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{:>5} {:<10} {:<26} {:<14} {:>7} {:>10} {:>10}  HOST",
        "PE", "STATE", "CALL", "TEAM, PEER", "SECONDS", "BYTES/s", "CALLS/s"
    );
    for one in &now.witnesses {
        let earlier = before.witnesses.iter().find(|other| other.pe == one.pe);
        let rate = |of: fn(&Witness) -> u64| {
            earlier.map_or(0.0, |earlier| of(one).saturating_sub(of(earlier)) as f64 / seconds)
        };
        let (call, about, age) = doing(one);
        let host = now.hosts.get(one.pe as usize).map_or("", String::as_str);
        let _ = writeln!(
            text,
            "{:>5} {:<10} {call:<26} {about:<14} {age:>7} {:>10} {:>10}  {host}",
            one.pe,
            state(one),
            short(rate(|one| one.bytes)),
            short(rate(|one| one.made))
        );
    }
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The state of a PE in one word.
fn state(one: &Witness) -> &'static str {
    match (&one.activity, one.state, one.waits.is_empty()) {
        (_, State::Finalized, _) => "finalized",
        (Activity::Ended, ..) | (_, State::Gone, _) => "ended",
        (Activity::Hidden(_), ..) => "hidden",
        (Activity::Stopped, ..) => "stopped",
        (_, State::Starting, _) => "starting",
        (_, State::Running, false) => "waits",
        (Activity::Sleeps, ..) => "sleeps",
        (Activity::Computes | Activity::Unknown, ..) => "computes",
    }
}

/// The call that a PE waits in, or its last one in brackets; its team or peer; and for how long.
fn doing(one: &Witness) -> (String, String, String) {
    if let Some(wait) = one.waits.first() {
        let about = match wait.subject {
            Subject::Meeting(meeting) => format!("of {} #{}", meeting.size, meeting.number),
            Subject::Lock { after: pe } | Subject::Room { peer: pe } | Subject::Operation { peer: Some(pe) } => {
                format!("PE {pe}")
            }
            Subject::Variables { .. } | Subject::Operation { peer: None } => String::new(),
        };
        return (wait.call.clone(), about, wait.seconds.to_string());
    }
    match one.calls.first() {
        Some(call) => {
            let peer = call.subject.peer.map_or_else(String::new, |peer| format!("PE {peer}"));
            (format!("({})", call.name), peer, (call.age / 1_000_000_000).to_string())
        }
        None => Default::default(),
    }
}

/// A number in four digits at most.
fn short(number: f64) -> String {
    let steps = ["", "k", "M", "G", "T"];
    let (mut number, mut step) = (number, 0);
    while number >= 1000.0 && step + 1 < steps.len() {
        number /= 1000.0;
        step += 1;
    }
    if step == 0 || number >= 100.0 {
        format!("{number:.0}{}", steps[step])
    } else {
        format!("{number:.1}{}", steps[step])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(made: u64, bytes: u64, seconds: f64) -> JobView {
        let one = Witness { made, bytes, activity: Activity::Sleeps, ..Witness::new(0, State::Running, Vec::new()) };
        let other = Witness { activity: Activity::Ended, ..Witness::new(1, State::Gone, Vec::new()) };
        let hosts = vec!["n1".into(), "n2".into()];
        JobView { job: 7, pes: 2, seconds, command: "./a".into(), hosts, witnesses: vec![one, other] }
    }

    #[test]
    fn rates_are_those_between_two_views() {
        let text = table(&view(100, 0, 10.0), &view(4100, 3_000_000, 12.0));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "job 7, 2 PEs, 12 s: ./a");
        let fields: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(fields, ["0", "sleeps", "1.5M", "2.0k", "n1"]);
        assert!(lines[3].contains("ended") && lines[3].ends_with("n2"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 999.0, 1000.0, 123_456.0, 2.5e9].map(short), ["0", "999", "1.0k", "123k", "2.5G"]);
    }
}
