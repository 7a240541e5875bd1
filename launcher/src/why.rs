//! `oxshmem why`: who waits for whom in a running job.

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use oxshmem_base::Error;
use oxshmem_flight::report::{self, Certainty};
use oxshmem_flight::{Activity, State, Witness};

use serde::Serialize;

use crate::ask::{self, JobView};
use crate::{races, verdict};

/// The largest number of PEs for which the text has the command that shows their stack.
const STACKS: usize = 4;

/// The job and how much of it.
#[derive(Args)]
pub struct WhyArgs {
    /// The process number of the job's oshrun [default: the only job there is]
    #[arg(value_name = "JOB")]
    job: Option<u32>,
    /// Show this many of the last calls of each PE, 32 at most
    #[arg(long, value_name = "N", default_value = "0")]
    calls: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer of `--json`.
#[derive(Serialize)]
struct ExplainedView {
    #[serde(flatten)]
    view: JobView,
    /// Why the waits do not end, in the sentences of the text.
    conclusions: Vec<String>,
}

impl ExplainedView {
    fn new(mut view: JobView) -> Self {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        view.hosts.iter_mut().filter(|host| host.is_empty()).for_each(|host| *host = own.trim().into());
        let text = report::conclusions(&view.witnesses, view.pes, Certainty::Seen);
        Self { view, conclusions: text.lines().map(|line| line.trim().into()).collect() }
    }
}

impl WhyArgs {
    /// The picture.
    pub fn run(&self) -> Result<String, Error> {
        let mut view = ask::view_at_once(ask::meant(self.job)?)?;
        if self.json {
            return Ok(serde_json::to_string_pretty(&ExplainedView::new(view))
                .expect("numbers and words have a JSON form")
                + "\n");
        }
        let pes = verdict::counted(view.pes as usize);
        let head = format!("job {}, {pes}, {:.0} s: {}\n", view.job, view.seconds, view.command);
        let text = head + &report::picture(&view.witnesses, view.pes, Certainty::Seen) + &stacks(&view);
        view.witnesses.iter_mut().for_each(|one| one.calls.truncate(self.calls));
        Ok(text + &report::histories(&view.witnesses))
    }
}

/// How to see where PEs are that compute or sleep outside of the library.
fn stacks(view: &JobView) -> String {
    let is_outside = |one: &&Witness| {
        let is_inside = one.is_waiting() || one.calls.first().is_some_and(|call| call.took.is_none());
        one.state == State::Running && !is_inside
    };
    let mut text = String::new();
    // Of a program in Python gdb shows the functions of the interpreter, and no line of the program.
    let is_python = view.command.split(' ').next().is_some_and(|word| races::is_python(Path::new(word)));
    let doing = |one: &Witness| match one.activity {
        Activity::Computes => Some("computes in the program"),
        // It may read a file, or wait for a lock of its own.
        Activity::Sleeps => Some("sleeps in the system"),
        _ => None,
    };
    let outside = view.witnesses.iter().filter(is_outside).filter_map(|one| Some((one, doing(one)?)));
    for (one, doing) in outside.take(STACKS) {
        let Some(pid) = one.process else { continue };
        let host = view.hosts.get(one.pe as usize).filter(|host| !host.is_empty());
        let on = host.map_or_else(String::new, |host| format!("{host}, "));
        let there = if host.is_some() { " there" } else { "" };
        let (tool, source) = if is_python {
            (format!("py-spy dump --pid {pid}"), " (pip install py-spy)")
        } else {
            (format!("gdb -p {pid} -batch -ex backtrace"), "")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  PE {} ({on}pid {pid}) {doing}: `{tool}`{there} shows where{source}.", one.pe);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pe_outside_of_the_library_is_told_with_its_process_and_its_host() {
        let one = |pe, activity| {
            let process = Some(40 + pe);
            Witness { activity, process, ..Witness::new(pe, State::Running, Vec::new()) }
        };
        let mut view = JobView {
            job: 7,
            pes: 4,
            seconds: 1.0,
            command: "./a".into(),
            hosts: vec![String::new(), String::new(), "n2".into(), "n2".into()],
            witnesses: [Activity::Stopped, Activity::Computes, Activity::Computes, Activity::Sleeps]
                .into_iter()
                .zip(0..)
                .map(|(activity, pe)| one(pe, activity))
                .collect(),
        };
        assert_eq!(
            stacks(&view),
            "  PE 1 (pid 41) computes in the program: `gdb -p 41 -batch -ex backtrace` shows where.\n  \
             PE 2 (n2, pid 42) computes in the program: `gdb -p 42 -batch -ex backtrace` there shows where.\n  \
             PE 3 (n2, pid 43) sleeps in the system: `gdb -p 43 -batch -ex backtrace` there shows where.\n"
        );
        view.command = "/usr/bin/python3 heat.py".into();
        let line =
            "  PE 1 (pid 41) computes in the program: `py-spy dump --pid 41` shows where (pip install py-spy).\n";
        assert!(stacks(&view).starts_with(line), "{}", stacks(&view));
    }
}
