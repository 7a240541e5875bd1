//! The conformance programs across two hosts, and the cable between them, which is pulled.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use oxshmem_faults::{changed, comes_true};

use crate::checks::conformance::{self, CaseSelection};
use crate::counts::{CheckCounts, skipped};
use crate::rigs::hosts::Rig;
use crate::{OWN_PATH, Outcome, command, disk, target, top, watchdog};

/// A test of the cable, given the installation.
type Check = fn(&Path) -> Outcome;

pub(crate) fn across() -> CheckCounts {
    CaseSelection::across_hosts().iter().map(conformance::run).sum()
}

/// Builds what [`bad_cable`] runs. Returns its words for the emulated machine, whose kernel can make a cable bad.
pub(crate) fn bad_cable_words(prefix: &Path) -> Outcome<Vec<String>> {
    program(prefix, "transfers")?;
    conformance::build(&CaseSelection { emulated: false, ..CaseSelection::over_a_bad_cable(BAD) })?;
    Ok(vec![OWN_PATH.display().to_string(), "bad-cable".into()])
}

/// Delay with jitter, packets that overtake others, and loss.
const BAD: &str = "delay 2ms 1ms reorder 25% loss 1%";

/// Transfers, and some conformance programs as they were built, over a bad cable.
pub(crate) fn bad_cable(prefix: &Path) -> Outcome<CheckCounts> {
    println!("a cable with {BAD}");
    let mut job = Transfers::start(prefix, "bad", BAD, 60)?;
    // Enough for a hundred lost packets.
    job.wait_until(|job| job.said().contains("round 5"))?;
    job.stop()?;
    job.ends_well()?;
    let lost = job.rig.cable("statistics")?;
    let lost = lost.split("dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("no");
    println!("transfers were right; one end of the cable has lost {lost} packets");
    let mut counts = CheckCounts::one(true);
    counts += conformance::run(&CaseSelection::over_a_bad_cable(BAD));
    Ok(counts)
}

/// Everything that can happen to a cable that is pulled.
pub(crate) fn pulled(prefix: &Path) -> CheckCounts {
    let cables: [(&str, Check); 5] = [
        ("a cable that is pulled for 5 s", pulled_for_a_while),
        ("a cable that stays pulled", pulled_for_good),
        ("a PE that dies in mid-transfer", killed),
        ("rails over two cables", |prefix| over_two_cables(prefix, "tcp")),
        ("rails over two cables by libfabric", |prefix| over_two_cables(prefix, "ofi:tcp")),
    ];
    let checked = |(name, check): (&str, Check)| match Rig::new("").map(drop) {
        Err(why) => skipped!("{name}: {why}"),
        Ok(()) => CheckCounts::of(name, check(prefix)),
    };
    cables.into_iter().map(checked).sum()
}

/// A job on both hosts whose PEs transfer and check until they are told to stop.
struct Transfers {
    rig: Rig,
    job: Child,
    output: PathBuf,
    stop: PathBuf,
}

/// Anything that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(180);

/// One of the programs for cables, built anew if its source is newer.
pub(crate) fn program(prefix: &Path, name: &str) -> Outcome<PathBuf> {
    let executable = target().join("conformance/bin").join(name);
    let source = top().join("crates/shmem-c/tests/cable").join(name).with_extension("c");
    if changed(&executable) < changed(&source) {
        command::compile(prefix, &["-O1", "-Wall", "-Wextra", "-Werror"], &[source], &executable)?;
    }
    Ok(executable)
}

impl Transfers {
    /// Starts the job and waits until it is under way.
    fn start(prefix: &Path, name: &str, quality: &str, timeout: u32) -> Outcome<Transfers> {
        Self::between(Rig::new(quality)?, prefix, name, timeout, ("tcp", 1))
    }

    /// The same between the hosts of a rig, over this many rails of a transport.
    fn between(rig: Rig, prefix: &Path, name: &str, timeout: u32, by: (&str, u32)) -> Outcome<Transfers> {
        let executable = program(prefix, "transfers")?;
        let output = executable.with_extension(format!("{name}.output"));
        let stop = executable.with_extension(format!("{name}.stop"));
        let _ = fs::remove_file(&stop);
        let file = fs::File::create(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let mut oshrun = Command::new(prefix.join("bin/oshrun"));
        oshrun.args(["-n", "4", "--nodes", "2"]).args(rig.through()).arg(executable).arg(&stop);
        // In a machine with cards UCX or libfabric would go past the cable.
        let (transport, rails) = by;
        oshrun.env("SHMEM_TRANSPORT", transport).env("SHMEM_RAILS", rails.to_string());
        oshrun.env("SHMEM_PEER_TIMEOUT", timeout.to_string()).stdin(Stdio::null()).stdout(file).stderr(errors);
        let job = rig.enter(&mut oshrun).spawn().map_err(|error| format!("oshrun cannot be started: {error}"))?;
        let mut transfers = Transfers { rig, job, output, stop };
        transfers.wait_until(|all| all.said().contains("round 3"))?;
        Ok(transfers)
    }

    fn stop(&self) -> Outcome {
        disk::write(&self.stop, "")
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// Waits until `done`, which must come before the job ends.
    fn wait_until(&mut self, done: impl Fn(&Self) -> bool) -> Outcome {
        let mut ended = None;
        comes_true(LIMIT, || {
            ended = self.job.try_wait().expect("our child");
            ended.is_some() || done(self)
        });
        if done(self) { Ok(()) } else { Err(format!("the job came to nothing ({ended:?}):\n{}", self.said())) }
    }

    fn ends_well(&mut self) -> Outcome {
        match self.end()? {
            (Some(0), said) if said.contains("all right after") => Ok(()),
            (status, said) => Err(format!("it ended with {status:?}:\n{said}")),
        }
    }

    /// Waits for the job's end; returns its status and what it said.
    fn end(&mut self) -> Outcome<(Option<i32>, String)> {
        let mut ended = None;
        comes_true(LIMIT, || {
            ended = self.job.try_wait().expect("our child");
            ended.is_some()
        });
        let status = ended.ok_or_else(|| format!("it hangs:\n{}", self.said()))?;
        Ok((status.code(), self.said()))
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        let _ = self.job.kill();
        let _ = self.job.wait();
        let _ = fs::remove_file(&self.stop);
    }
}

fn pulled_for_a_while(prefix: &Path) -> Outcome {
    let mut job = Transfers::start(prefix, "while", "", 60)?;
    job.rig.cable("cut")?;
    thread::sleep(Duration::from_secs(5));
    job.rig.cable("mend")?;
    job.stop()?;
    job.ends_well()
}

fn pulled_for_good(prefix: &Path) -> Outcome {
    let mut job = Transfers::start(prefix, "for-good", "", 5)?;
    job.rig.cable("cut")?;
    let (status, said) = job.end()?;
    let named = |line: &str| line.contains(": PE ") && line.contains(" at 198.51.100.") && line.contains(" is lost");
    if status == Some(1) && said.lines().any(named) && !said.contains("WRONG") {
        return Ok(());
    }
    Err(format!("it ended with {status:?}, and not with a sentence that names the PE and its address:\n{said}"))
}

/// The launcher sees a PE die, and names it; no process hangs, and none reads damaged data.
fn killed(prefix: &Path) -> Outcome {
    let mut job = Transfers::start(prefix, "killed", "", 60)?;
    let victim = children(job.job.id()).into_iter().max().ok_or("the job has no PEs")?;
    conformance::job::kill(victim);
    let (status, said) = job.end()?;
    if status == Some(137) && said.contains("was killed by SIGKILL") && !said.contains("WRONG") {
        return Ok(());
    }
    Err(format!("it ended with {status:?} instead of 137 and a sentence:\n{said}"))
}

/// Two rails take an interface each, and long transfers use both.
fn over_two_cables(prefix: &Path, transport: &str) -> Outcome {
    let rig = Rig::with("", &["-2"])?;
    let mut job = Transfers::between(rig, prefix, "rails", 60, (transport, 2))?;
    job.stop()?;
    job.ends_well()?;
    let traffic = job.rig.cable("traffic")?;
    let sent = |cable: &str| {
        let line = traffic.lines().find_map(|line| line.strip_prefix(cable)?.trim().parse::<u64>().ok());
        line.ok_or(format!("nothing is known of {cable}: {traffic}"))
    };
    // Three rounds of two PEs with 1 MiB each way and back are 18 MiB; half of them may take either.
    match (sent("cable0")?, sent("second0")?) {
        (first, second) if first.min(second) >= 3 << 20 => Ok(()),
        (first, second) => Err(format!("{first} bytes went over one cable and {second} over the other")),
    }
}

fn children(launcher: u32) -> Vec<u32> {
    let children = watchdog::processes().into_iter().filter(|process| process.parent == launcher);
    let runs_it = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path.ends_with("transfers"));
    children.map(|process| process.pid).filter(runs_it).collect()
}
