//! One job over the simulated network.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use oxshmem_base::Error;

use super::{ScratchFile, SimArgs};
use crate::captured::{self, Captured};
use crate::machine::beside;
use crate::program::{NOT_EXECUTABLE, NOT_FOUND};
use crate::races::{self, ReportLines};
use crate::scratch::Scratch;
use crate::tool_job;
use crate::verdict::TIMED_OUT;
use crate::wrapper::quoted;

/// The exit statuses of `oshrun` if the program cannot be run, and if it is not there.
const NOT_RUN: [i32; 2] = [NOT_EXECUTABLE, NOT_FOUND];

/// The beginning of each sentence of `oshrun`.
const SPEAKER: &str = "oshrun: ";

/// The common part of all jobs of a command.
#[derive(Clone)]
pub(super) struct JobUnderSim {
    oshrun: PathBuf,
    pub(super) pes: u32,
    nodes: Option<u32>,
    timeout: u64,
    race: bool,
    program: Vec<OsString>,
    /// Where the files of jobs are.
    pub(super) scratch: Arc<Scratch>,
}

/// How a job has ended.
pub(super) struct SimulatedRun {
    job: Captured,
    summary: HashMap<String, String>,
    /// The reports of races.
    pub(super) races: ReportLines,
}

impl JobUnderSim {
    pub(super) fn new(arguments: &SimArgs) -> Result<Self, Error> {
        let SimArgs { pes, nodes, timeout, race, program, .. } = arguments.clone();
        let scratch = Arc::new(Scratch::new("sim")?);
        Ok(Self { oshrun: beside("oshrun")?, pes, nodes, timeout, race, program, scratch })
    }

    /// The same program on fewer PEs.
    pub(super) fn with(&self, pes: u32) -> Self {
        Self { pes, nodes: self.nodes.map(|nodes| nodes.min(pes)), ..self.clone() }
    }

    fn arguments(&self, words: &str) -> Vec<OsString> {
        let nodes = self.nodes.map(|nodes| format!("--nodes={nodes}"));
        let head = [format!("--sim={words}"), "-n".into(), self.pes.to_string()];
        head.into_iter().chain(nodes).map(OsString::from).chain(self.program.iter().cloned()).collect()
    }

    /// The command that repeats a run, as a shell reads it back.
    pub(super) fn command_line(&self, words: &str) -> String {
        let arguments: Vec<String> = self.arguments(words).iter().map(|word| quoted(word.as_ref())).collect();
        format!("oshrun {}", arguments.join(" "))
    }

    /// Runs the job with this choice and `more` of it.
    pub(super) fn run(&self, words: &str, more: &str) -> Result<SimulatedRun, Error> {
        let summary = ScratchFile::new(&self.scratch, "summary");
        let detail = format!("{words},summary={}{more}", summary.0.display());
        let mut command = tool_job::launcher(&self.oshrun);
        command.arg(format!("--timeout={}", self.timeout)).args(self.arguments(&detail));
        // A deadlock ends the job at once, and says who waits for whom.
        command.env("SHMEM_DEADLOCK", "abort");
        let races = ScratchFile::new(&self.scratch, "races");
        if self.race {
            // A race is told at the end, and hides no failure of the program itself.
            command.env("SHMEM_RACE_JSON", &races.0).env("SHMEM_RACE_STATUS", "0");
        }
        // A process that a PE leaves behind may hold the outputs.
        let job = captured::whole(&mut command);
        let job = job.map_err(|error| Error::new("oshrun cannot be started").because(error))?;
        let program = self.program[0].display().to_string();
        if let Some(said) = job.status.code().and_then(|status| words_of_not_run(status, &job.messages)) {
            return Err(not_run(&program, &said));
        }
        if self.race
            && let Some(error) = unwatched(&program, &job.messages)
        {
            return Err(error);
        }
        let text = std::fs::read_to_string(&summary.0).unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()));
        // A run without races has written none.
        let races = if races.0.exists() { races::read(&races.0)? } else { ReportLines::default() };
        Ok(SimulatedRun { job, summary: text.lines().filter_map(pair).collect(), races })
    }
}

/// Words of `oshrun` about a program that it cannot run, about one that the system does not start, and about limits of the host.
const NOT_RUN_WORDS: [&str; 3] = ["cannot run ", "could not be started", "is too low for the PEs of this host"];
/// Words of `oshrun` about a job that it has ended because its time was over.
const HANG_WORDS: [&str; 2] = ["the job did not end within ", "(--timeout)"];

/// The lines of launchers: of the one that runs the job, and of those that its PEs have started.
fn launcher_lines(said: &str) -> impl Iterator<Item = &str> {
    said.lines().filter_map(|line| line.strip_prefix(SPEAKER))
}

/// The words of `oshrun` about a program that it has not run, from their first line on. The status alone does not say so: it is also
/// that of a program that ends with it, and then `oshrun` names the PE and the status.
fn words_of_not_run(status: i32, said: &str) -> Option<String> {
    let verdict = format!("; exit {status}");
    if !NOT_RUN.contains(&status) || launcher_lines(said).any(|line| line.ends_with(&verdict)) {
        return None;
    }
    let is_told = |line: &str| {
        line.strip_prefix(SPEAKER).is_some_and(|line| NOT_RUN_WORDS.iter().any(|words| line.contains(words)))
    };
    let lines: Vec<&str> = said.lines().skip_while(|line| !is_told(line)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether `oshrun` has ended the job because its time was over. A program may end with the same status by itself.
fn is_hang(status: Option<i32>, said: &str) -> bool {
    let is_told = |line: &str| HANG_WORDS.iter().all(|words| line.contains(words));
    status == Some(TIMED_OUT) && launcher_lines(said).any(is_told)
}

/// The words of `oshrun` about a program that it cannot run, as an error of this tool.
fn not_run(program: &str, said: &str) -> Error {
    retold(format!("{program} cannot be simulated"), SPEAKER, said)
}

/// Words of the race detector about a job whose races it does not look for, and about a report that it cannot write.
const UNWATCHED: [&str; 2] = ["are not looked for", "the report is not added to"];

/// The words of the race detector in a job of which it does not report all races, as an error of this tool.
fn unwatched(program: &str, said: &str) -> Option<Error> {
    let is_told = |line: &str| line.starts_with("oxshmem: ") && UNWATCHED.iter().any(|words| line.contains(words));
    let lines: Vec<&str> = said.lines().skip_while(|line| !is_told(line)).collect();
    (!lines.is_empty())
        .then(|| retold(format!("the races of {program} cannot be found"), "oxshmem: ", &lines.join("\n")))
}

/// An error that another program has printed, as the reason of one of this tool.
fn retold(what: String, speaker: &str, said: &str) -> Error {
    let part = |name: &str| said.lines().find_map(|line| line.trim_start().strip_prefix(name)).map(str::trim);
    let first = said.lines().next().unwrap_or_default();
    let first = first.strip_prefix(speaker).unwrap_or(first);
    let why = part("because:").map_or_else(|| first.to_owned(), |why| format!("{first}: {why}"));
    let error = Error::new(what).because(why);
    match part("to fix:") {
        Some(fix) => error.fix(fix),
        None => error,
    }
}

impl SimulatedRun {
    pub(super) fn is_failure(&self) -> bool {
        !self.job.status.success()
    }

    /// Whether two runs have failed in the same way.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.job.status == other.job.status && self.is_hang() == other.is_hang()
    }

    fn is_hang(&self) -> bool {
        is_hang(self.job.status.code(), &self.job.messages)
    }

    pub(super) fn in_words(&self) -> String {
        match self.job.status.code() {
            _ if self.is_hang() => "the job hangs".into(),
            Some(status) => format!("exit status {status}"),
            None => self.job.status.to_string(),
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.summary.get(name)?.parse().ok()
    }

    /// Steps of the run, if it has come to its end.
    pub(super) fn steps(&self) -> Option<u64> {
        self.number("steps")
    }

    /// The step from which on the run is no function of the seed; 0: it is one.
    pub(super) fn overrun(&self) -> u64 {
        self.number("overrun").unwrap_or(0)
    }

    pub(super) fn digest(&self) -> &str {
        self.summary.get("digest").map_or("none: the job did not come to its end", String::as_str)
    }

    /// The output of the job, for people.
    pub(super) fn shown(&self, seed: u64) -> String {
        const MOST: usize = 30;
        let text = [self.job.output.as_str(), &self.job.messages].concat();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown: String = lines.iter().take(MOST).map(|line| format!("    {line}\n")).collect();
        let more = lines.len().saturating_sub(MOST);
        let more = if more > 0 { format!("    ... and {more} lines more\n") } else { String::new() };
        format!("\nSeed {seed}: {}. The job printed:\n{shown}{more}", self.in_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_repeats_a_run_survives_a_shell() {
        let program = ["./flag", "two words", "*"].map(OsString::from).to_vec();
        let scratch = Arc::new(Scratch::new("test").expect("a folder"));
        let oshrun = PathBuf::from("oshrun");
        let job = JobUnderSim { oshrun, pes: 4, nodes: Some(2), timeout: 60, race: false, program, scratch };
        assert_eq!(job.command_line("lazy:7"), "oshrun --sim=lazy:7 -n 4 --nodes=2 ./flag 'two words' '*'");
    }

    #[test]
    fn the_launcher_s_error_keeps_its_parts() {
        let (why, fix) = ("  because: no directory of PATH holds it", "  to fix:  did you mean ./hello?");
        let lines = ["oshrun: cannot run hello", why, fix];
        let error = Error::new("hello cannot be simulated")
            .because("cannot run hello: no directory of PATH holds it")
            .fix("did you mean ./hello?");
        assert_eq!(not_run("hello", &lines.join("\n")).to_string(), error.to_string());
        assert!(not_run("x", "oshrun: cannot run x\n").to_string().contains("because: cannot run x"));
    }

    #[test]
    fn a_program_that_ends_with_a_status_of_the_launcher_has_run() {
        let ended = |status: i32| {
            format!("oshrun: PE 1 of 3 exited with status {status}; 2 other PEs stopped; exit {status}\n")
        };
        for status in NOT_RUN {
            assert_eq!(words_of_not_run(status, &ended(status)), None);
            // A launcher that the program has started may say so; then the program has run.
            assert_eq!(words_of_not_run(status, &("oshrun: cannot run ./b\n".to_owned() + &ended(status))), None);
            let (note, missing) = ("oshrun: note: 1\n", "oshrun: cannot run ./a\n  because: there is no such file");
            assert_eq!(words_of_not_run(status, &[note, missing].concat()).as_deref(), Some(missing));
            let unstarted = "oshrun: PE 0 of 3 could not be started: the system refused it";
            assert_eq!(words_of_not_run(status, unstarted).as_deref(), Some(unstarted));
            assert_eq!(words_of_not_run(1, missing), None);
        }
        let late = "oshrun: the job did not end within 2s (--timeout): 3 of 3 PEs stopped; exit 124\n";
        assert!(is_hang(Some(124), late) && !is_hang(Some(124), &ended(124)) && !is_hang(Some(1), late));
    }

    #[test]
    fn a_job_without_the_detector_s_look_is_no_job_without_races() {
        let said = "hello\noxshmem: races are not looked for in this job\n  because: no heap\n  to fix:  make one\n";
        let error = unwatched("./a", said).expect("an error").to_string();
        let reason = "because: races are not looked for in this job: no heap";
        assert!(error.contains(reason) && error.contains("make one"), "{error}");
        let unwritten = "oxshmem: the report is not added to /tmp/x: No space left on device";
        assert!(unwatched("./a", unwritten).is_some());
        assert!(unwatched("./a", "races are not looked for, says the program\n").is_none());
    }
}
