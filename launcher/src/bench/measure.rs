//! The jobs of a campaign: in each round every group of patterns runs once under every library, one after the other.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_os::process;
use serde::Deserialize;

use super::campaign::{Entrant, Figure, Measurand, Sampling, UnfinishedFigure, Unmeasured};
use super::contender::Contender;
use super::patterns::{GROUPS, START};
use super::progress_bar::ProgressBar;
use crate::captured::{self, Captured};
use crate::verdict::counted;

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    pub(crate) rounds: u32,
    pub(crate) batch: Duration,
    /// The time for repetitions of a small operation that are timed one by one.
    pub(crate) singles: Duration,
    pub(crate) sizes: Vec<u64>,
    /// Patterns whose names contain this.
    pub(crate) only: String,
    /// No round begins that would end after this time.
    pub(crate) limit: Option<Duration>,
}

/// A job that takes longer than this hangs.
const JOB_LIMIT: Duration = Duration::from_secs(600);

/// The pattern that the driver measures itself.
const START_UP: &str = "start-up";

/// How long a job may take to end after it has been asked to.
const GRACE: Duration = Duration::from_secs(3);

/// A line of PE 0.
#[derive(Deserialize)]
#[serde(untagged)]
enum PrintedLine {
    Hello { library: String, standard: String, pes: u32, init: f64 },
    Row(Sampling),
    Complete { complete: bool },
}

#[derive(Default)]
pub(crate) struct Findings {
    order: Vec<Measurand>,
    pending: HashMap<Measurand, UnfinishedFigure>,
    pub(crate) subjects: Vec<Entrant>,
    pub(crate) missing: Vec<Unmeasured>,
    /// The groups of the operations, by pattern and form.
    groups: HashMap<(String, String), String>,
    /// Groups without any pattern that the user wants.
    unwanted: Vec<&'static str>,
    pub(crate) pes: u32,
    pub(crate) rounds: u32,
}

impl Findings {
    /// All results, in the order in which they came.
    pub(crate) fn figures(&mut self) -> Vec<Figure> {
        let order = std::mem::take(&mut self.order);
        order.into_iter().filter_map(|of| self.pending.remove(&of)?.finish(of)).collect()
    }

    fn add(&mut self, contender: &str, group: &str, round: &Sampling) {
        let Sampling { pattern, form, bytes, .. } = round.clone();
        self.groups.entry((pattern.clone(), form.clone())).or_insert_with(|| group.to_owned());
        let of = Measurand { contender: contender.to_owned(), pattern, form, bytes };
        if !self.pending.contains_key(&of) {
            self.order.push(of.clone());
        }
        self.pending.entry(of).or_default().add(round);
    }

    /// Notes how many PEs a job has; figures of jobs with unlike numbers are not put beside each other.
    fn of_as_many(&mut self, contender: &str, pes: u32) -> Result<(), Error> {
        if self.pes == 0 || self.pes == pes {
            self.pes = pes;
            return Ok(());
        }
        Err(Error::new(format!("the job of {contender} has {}", counted(pes as usize)))
            .because(format!("the jobs before had {}; what stands behind `--` is for our oshrun alone", self.pes))
            .fix("say how many before `--`, for all libraries: -n N"))
    }

    /// Notes the operations that the program of another library leaves out, because the library does not have them. `ours`: the name of
    /// the library that has all.
    fn note_absent(&mut self, ours: &str) {
        let is_of = |of: &Measurand, name: &str, other: &Measurand| {
            of.contender == name && (&of.pattern, &of.form) == (&other.pattern, &other.form)
        };
        for subject in self.subjects.iter().filter(|subject| subject.name != ours) {
            let mut absent: Vec<String> = Vec::new();
            for of in self.order.iter().filter(|of| of.contender == ours) {
                let group = &self.groups[&(of.pattern.clone(), of.form.clone())];
                let is_measured = self.order.iter().any(|other| is_of(other, &subject.name, of));
                if !is_measured && !self.lacks(&subject.name, group) && !absent.contains(&of.name()) {
                    absent.push(of.name());
                }
            }
            if !absent.is_empty() {
                self.missing.push(Unmeasured {
                    contender: subject.name.clone(),
                    group: absent.join("; "),
                    why: format!("OpenSHMEM {} has no such calls", subject.standard),
                });
            }
        }
    }

    fn lacks(&self, contender: &str, group: &str) -> bool {
        self.missing.iter().any(|missing| missing.contender == contender && missing.group == group)
    }
}

/// The least number of rounds, however long they take: one alone says nothing of the spread.
const LEAST_ROUNDS: u32 = 2;

/// Makes all rounds. What our own library cannot do is an error; what another one cannot do is noted.
pub(crate) fn measure(contenders: &[Contender], effort: &Effort) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let begun = Instant::now();
    let steps = effort.rounds as usize * (GROUPS.len() + 1) * contenders.len();
    let mut progress = ProgressBar::new(steps);
    for round in 0..effort.rounds {
        let took = begun.elapsed();
        let end_of_next = took + took / round.max(1);
        if round >= LEAST_ROUNDS && effort.limit.is_some_and(|limit| end_of_next > limit) {
            break;
        }
        measure_round(round, contenders, effort, &mut progress, &mut findings)?;
        findings.rounds = round + 1;
    }
    let place = |subject: &Entrant| contenders.iter().position(|contender| contender.name == subject.name);
    findings.subjects.sort_by_key(place);
    findings.note_absent(&contenders[0].name);
    Ok(findings)
}

/// Runs every group of patterns once under each library.
fn measure_round(
    round: u32,
    contenders: &[Contender],
    effort: &Effort,
    progress: &mut ProgressBar,
    findings: &mut Findings,
) -> Result<(), Error> {
    for group in [START].into_iter().chain(GROUPS) {
        for place in 0..contenders.len() {
            // No library is always the first.
            let turn = (place + round as usize) % contenders.len();
            let (contender, is_ours) = (&contenders[turn], turn == 0);
            progress.step(&format!("round {} of {}: {group}, {}", round + 1, effort.rounds, contender.name));
            if findings.lacks(&contender.name, group) || findings.unwanted.contains(&group) {
                continue;
            }
            match run(contender, group, effort, findings) {
                // In the first round ours is the first, so no other library starts a job without patterns.
                Ok(0) if is_ours => findings.unwanted.push(group),
                Ok(_) => {}
                Err(error) if is_ours => return Err(error),
                Err(error) => findings.missing.push(Unmeasured {
                    contender: contender.name.clone(),
                    group: group.to_owned(),
                    why: error.in_one_line(),
                }),
            }
        }
    }
    Ok(())
}

/// Runs one job and adds what it has measured, also of a job that breaks off. Returns how many patterns it had.
fn run(contender: &Contender, group: &str, effort: &Effort, findings: &mut Findings) -> Result<usize, Error> {
    let sizes: Vec<String> = effort.sizes.iter().map(u64::to_string).collect();
    let micros = |time: Duration| time.as_micros().to_string();
    let arguments =
        [group.to_owned(), micros(effort.batch), micros(effort.singles), sizes.join(","), effort.only.clone()];
    let begun = Instant::now();
    let job = finished(contender.job(&arguments))?;
    let took = begun.elapsed();
    let wants_start = START_UP.contains(&effort.only);
    let (mut complete, mut patterns) = (false, 0);
    for line in job.output.lines() {
        match serde_json::from_str(line) {
            Ok(PrintedLine::Hello { library, standard, pes, init }) => {
                findings.of_as_many(&contender.name, pes)?;
                if wants_start {
                    findings.add(&contender.name, group, &Sampling::of_time(START_UP, "shmem_init", init));
                }
                let subject =
                    Entrant { name: contender.name.clone(), library, standard, launcher: contender.described() };
                if findings.subjects.iter().all(|known| known.name != subject.name) {
                    findings.subjects.push(subject);
                }
            }
            Ok(PrintedLine::Row(round)) => {
                findings.add(&contender.name, group, &round);
                patterns += 1;
            }
            Ok(PrintedLine::Complete { complete: said }) => complete = said,
            // Libraries may print sentences of their own.
            Err(_) => process::say(&format!("{line}\n")),
        }
    }
    // Some libraries crash when they are finalized; what was measured before is good.
    if !complete {
        return Err(broken_off(contender, group, &job));
    }
    if group == START && wants_start {
        findings.add(&contender.name, group, &Sampling::of_time(START_UP, "whole job", took.as_nanos() as f64));
        patterns += 1;
    }
    Ok(patterns)
}

fn broken_off(contender: &Contender, group: &str, job: &Captured) -> Error {
    let what = format!("the job `{group}` of {} did not end its measurements", contender.name);
    let last: Vec<&str> = job.messages.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    let how =
        if job.is_late { format!("it took longer than {} s", JOB_LIMIT.as_secs()) } else { job.status.to_string() };
    let why = if last.is_empty() { how } else { format!("{how}: {}", last.join(" / ")) };
    Error::new(what).because(why).fix(format!(
        "run it by itself: {} {} {group} 500 1000 8 ''",
        contender.described(),
        contender.program.display()
    ))
}

/// Waits for a job, and stops it when its time is over: launchers stop their PEs when they are asked to end.
fn finished(mut command: Command) -> Result<Captured, Error> {
    captured::within(JOB_LIMIT, GRACE, &mut command).map_err(|error| {
        Error::new(format!("{} cannot be started", command.get_program().display()))
            .because(error)
            .fix("name the launcher with its path: --with-oshrun PATH")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pe_0_are_told_apart() {
        let kind = |line: &str| match serde_json::from_str::<PrintedLine>(line) {
            Ok(PrintedLine::Hello { pes, .. }) => format!("hello of {pes}"),
            Ok(PrintedLine::Row(round)) => format!("{} of {}", round.pattern, round.samples.len()),
            Ok(PrintedLine::Complete { .. }) => "complete".into(),
            Err(_) => "noise".into(),
        };
        assert_eq!(kind(r#"{"library":"x","standard":"1.6","pes":4,"init":12}"#), "hello of 4");
        assert_eq!(
            kind(
                r#"{"pattern":"p","form":"","bytes":8,"batch":1,"clock":1.5,"operations":1,"samples":[1,2],"singles":[[3,4]]}"#
            ),
            "p of 2"
        );
        assert_eq!(kind(r#"{"complete":true}"#), "complete");
        assert_eq!(kind("a library's greeting"), "noise");
    }

    #[test]
    fn libraries_whose_jobs_have_unlike_numbers_of_pes_are_not_compared() {
        let mut findings = Findings::default();
        assert_eq!((findings.of_as_many("oxshmem", 4), findings.of_as_many("oxshmem", 4)), (Ok(()), Ok(())));
        let told = findings.of_as_many("Open MPI", 2).expect_err("it has 2").to_string();
        assert!(told.contains("the job of Open MPI has 2 PEs") && told.contains("the jobs before had 4"), "{told}");
        assert_eq!(findings.pes, 4);
    }

    /// An operation of a group that has failed is no operation that the library lacks.
    #[test]
    fn operations_that_another_library_lacks_are_noted() {
        let entrant = |name: &str, standard: &str| Entrant {
            name: name.into(),
            library: name.into(),
            standard: standard.into(),
            launcher: "oshrun".into(),
        };
        let mut findings =
            Findings { subjects: vec![entrant("oxshmem", "1.6"), entrant("old", "1.4")], ..Findings::default() };
        let mut add = |library: &str, group: &str, pattern: &str, form: &str| {
            findings.add(library, group, &Sampling::of_time(pattern, form, 1.0));
        };
        add("oxshmem", "latency", "put", "");
        add("old", "latency", "put", "");
        add("oxshmem", "latency", "put with signal", "");
        add("oxshmem", "reductions", "maximum of longs", "team");
        add("oxshmem", "teams", "team", "split_2d and destroy");
        let failed = Unmeasured { contender: "old".into(), group: "teams".into(), why: "it ended".into() };
        findings.missing.push(failed.clone());
        findings.note_absent("oxshmem");
        let absent = Unmeasured {
            contender: "old".into(),
            group: "put with signal; maximum of longs, team".into(),
            why: "OpenSHMEM 1.4 has no such calls".into(),
        };
        assert_eq!(findings.missing, [failed, absent]);
    }

    #[test]
    fn a_launcher_that_is_not_there_is_named() {
        let error = finished(Command::new("/nowhere/oshrun")).map(drop).expect_err("nothing is there");
        assert!(error.to_string().contains("/nowhere/oshrun"), "{error}");
    }
}
