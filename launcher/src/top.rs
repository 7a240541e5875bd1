//! `oxshmem top`: a table of what the PEs of a running job do, again and again.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use oxshmem_base::Error;
use oxshmem_flight::waits::{AwaitedCollectives, Subject};
use oxshmem_flight::{Activity, State, Witness};
use oxshmem_os::process;
use oxshmem_report::dots::{self, Dot, DotLine};
use oxshmem_report::page::{Document, TableFold, escape};

use crate::ask::{self, JobView};
use crate::{results, stdout, verdict};

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
    /// Write each table also as a page to this file
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
    /// Seconds from one table to the next
    #[arg(long, short = 'd', value_name = "SECONDS", default_value = "1")]
    delay: f64,
}

/// Back to the first line, without what an empty screen in between would show; and what erases the rest of a line, and of the screen.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K\n";
const REST_OF_SCREEN: &str = "\x1b[J";

/// The time from one table to the next. Without any the tool would do nothing but ask the job.
fn seconds_between(seconds: f64) -> Result<Duration, String> {
    let delay = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    if delay.is_zero() { Err("rates need some time between two tables".into()) } else { Ok(delay) }
}

impl TopArgs {
    /// Shows tables until the job ends or the user interrupts; the last one, if it is to be printed once.
    pub fn run(&self) -> Result<String, Error> {
        let delay = seconds_between(self.delay).map_err(|why| {
            Error::new(format!("--delay {}", self.delay)).because(why).fix("pass a number of seconds above 0")
        })?;
        let job = ask::meant(self.job)?;
        // A job that is stopped has no table, and who asks once does not wait until it goes on.
        let view = if self.once { ask::view_at_once } else { ask::view };
        let mut before = view(job)?;
        // A page has rates, which take two views.
        if self.once && self.json && self.html.is_none() {
            return Ok(line(&before));
        }
        let is_screen = std::io::stdout().is_terminal() && !self.once && !self.json;
        let mut is_first = true;
        loop {
            std::thread::sleep(delay);
            // A job that has ended has no next table.
            let now = match view(job) {
                Ok(now) => now,
                Err(_) if !ask::jobs().contains(&job) => return Ok(farewell(job, self.json)),
                Err(error) => return Err(error),
            };
            let text = if self.json { line(&now) } else { table(&before, &now) };
            if let Some(file) = &self.html {
                let unwritten = results::unwritten(file, "choose another place for --html");
                results::write(file, page(&before, &now)).map_err(unwritten)?;
            }
            if self.once {
                return Ok(text);
            }
            let text = match process::terminal_rows() {
                Some(rows) if is_screen => fitting(text, rows),
                _ => text,
            };
            let text = match (is_screen, is_first) {
                (true, true) => format!("\x1b[2J{HOME}{}{REST_OF_SCREEN}", text.replace('\n', REST_OF_LINE)),
                (true, false) => format!("{HOME}{}{REST_OF_SCREEN}", text.replace('\n', REST_OF_LINE)),
                (false, _) => text,
            };
            if let Err(status) = stdout::print("oxshmem", &text) {
                std::process::exit(i32::from(status));
            }
            (before, is_first) = (now, false);
        }
    }
}

/// The part of a table that fits a screen of so many rows: a longer one scrolls, and its head is never seen.
fn fitting(text: String, rows: usize) -> String {
    let lines = text.lines().count();
    // The cursor stands behind the last line.
    if lines < rows {
        return text;
    }
    let kept = rows.saturating_sub(2);
    let shown: String = text.lines().take(kept).map(|line| format!("{line}\n")).collect();
    format!("{shown}{} lines more: `oxshmem top --once` prints all\n", lines - kept)
}

/// The last words about a job. Programs read objects alone, and see that no more come.
fn farewell(job: u32, json: bool) -> String {
    if json { String::new() } else { format!("job {job} has ended\n") }
}

fn line(view: &JobView) -> String {
    serde_json::to_string(view).expect("numbers and words have a JSON form") + "\n"
}

const TITLES: [&str; 8] = ["PE", "STATE", "CALL", "TEAM, PEER", "SECONDS", "BYTES/s", "CALLS/s", "HOST"];

/// A PE and how much it does in a second.
struct PeRow {
    words: [String; TITLES.len()],
    bytes: f64,
    calls: f64,
}

/// Of each PE what it does; rates are those between two views.
fn rows(before: &JobView, now: &JobView) -> Vec<PeRow> {
    let seconds = (now.seconds - before.seconds).max(1e-3);
    let row = |one: &Witness| {
        let earlier = before.witnesses.iter().find(|other| other.pe == one.pe);
        let rate = |of: fn(&Witness) -> u64| {
            earlier.map_or(0.0, |earlier| of(one).saturating_sub(of(earlier)) as f64 / seconds)
        };
        let (bytes, calls) = (rate(|one| one.bytes), rate(|one| one.made));
        let (call, about, age) = doing(one);
        let host = now.hosts.get(one.pe as usize).cloned().unwrap_or_default();
        let words = [one.pe.to_string(), state(one).into(), call, about, age, short(bytes), short(calls), host];
        PeRow { words, bytes, calls }
    };
    now.witnesses.iter().map(row).collect()
}

fn head(now: &JobView) -> String {
    format!("job {}, {}, {:.0} s: {}", now.job, verdict::counted(now.pes as usize), now.seconds, now.command)
}

fn table(before: &JobView, now: &JobView) -> String {
    let mut text = head(now) + "\n";
    let rows = rows(before, now).into_iter().map(|row| row.words);
    for [pe, state, call, about, age, bytes, calls, host] in std::iter::once(TITLES.map(str::to_owned)).chain(rows) {
        let line = format!("{pe:>5} {state:<10} {call:<26} {about:<14} {age:>7} {bytes:>10} {calls:>10}  {host}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// PEs that the figures of a page show.
const SHOWN: usize = 64;

/// The same as a page, with figures.
fn page(before: &JobView, now: &JobView) -> String {
    let rows = rows(before, now);
    let mut page = Document::new("What the PEs of a job do", &escape(&head(now)));
    page.heading("Now");
    let words = rows.iter().map(|row| row.words.clone());
    page.table("Each PE: its call, or its last one in brackets.", &TITLES, 4, words, TableFold::Open);
    page.heading("In a second");
    page.open_figures();
    // The axis has powers of ten, so it has no place for a rate of nothing.
    let mut figure = |caption: &str, value: fn(&PeRow) -> f64| {
        let line = |row: &PeRow| {
            let dot = Dot { hue: 0, value: value(row), around: None, note: short(value(row)) };
            DotLine { name: format!("PE {}", row.words[0]), dots: vec![dot] }
        };
        let lines: Vec<DotLine> = rows.iter().filter(|row| value(row) > 0.0).take(SHOWN).map(line).collect();
        if lines.is_empty() {
            page.figure(&format!("{caption} There are none."), "")
        } else {
            page.figure(caption, &dots::svg(caption, "per second", &lines, short))
        }
    };
    figure("Calls of the PEs that make any.", |row| row.calls);
    figure("Bytes of the PEs that move any.", |row| row.bytes);
    page.close_figures();
    page.finish()
}

/// The state of a PE in one word.
fn state(one: &Witness) -> &'static str {
    match (&one.activity, one.state, !one.is_waiting()) {
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
    if let Some(wait) = one.waits.first().filter(|wait| wait.has_thread()) {
        let about = match wait.subject {
            Subject::Meeting(meeting) => format!("of {} #{}", meeting.size, meeting.number),
            Subject::Collectives(AwaitedCollectives { call, team, .. }) => {
                let of = team.map_or_else(String::new, |team| format!(" of {} #{}", team.size, team.number));
                format!("{call}{of}").trim_start().to_owned()
            }
            Subject::Lock { after: pe }
            | Subject::Room { peer: pe }
            | Subject::FirstMember { pe }
            | Subject::Operation { peer: Some(pe) } => format!("PE {pe}"),
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

    #[test]
    fn a_table_that_is_longer_than_the_screen_keeps_its_head() {
        let text = "head\nPE\n0\n1\n2\n";
        assert_eq!(fitting(text.into(), 6), text);
        assert_eq!(fitting(text.into(), 5), "head\nPE\n0\n2 lines more: `oxshmem top --once` prints all\n");
        assert_eq!(fitting(text.into(), 1).lines().count(), 1);
    }

    #[test]
    fn a_table_comes_some_time_after_the_one_before() {
        assert_eq!(seconds_between(0.5), Ok(Duration::from_millis(500)));
        assert!(seconds_between(0.0).is_err() && seconds_between(-1.0).is_err() && seconds_between(f64::NAN).is_err());
    }

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
    fn a_page_draws_the_pes_that_do_something() {
        let html = page(&view(100, 0, 10.0), &view(4100, 0, 12.0));
        assert!(html.contains("<td>sleeps</td>") && html.contains("<td class=\"n\">2.0k</td>"), "{html}");
        assert!(html.contains("Bytes of the PEs that move any. There are none."), "{html}");
        assert_eq!(html.matches("<svg").count(), 1, "{html}");
    }

    #[test]
    fn what_programs_read_has_objects_alone() {
        assert!(serde_json::from_str::<JobView>(&line(&view(0, 0, 1.0))).is_ok());
        assert_eq!((farewell(7, true).as_str(), farewell(7, false).as_str()), ("", "job 7 has ended\n"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 999.0, 1000.0, 123_456.0, 2.5e9].map(short), ["0", "999", "1.0k", "123k", "2.5G"]);
    }
}
