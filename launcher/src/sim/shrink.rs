//! The smallest run that still fails: fewer PEs, and the earliest step from which on the network may be kind.

use std::fmt::Write as _;

use oxshmem_base::Error;
use oxshmem_os::process;

use super::names::StaticNames;
use super::run::{JobUnderSim, SimulatedRun};
use super::{ScratchFile, explain};

/// Steps that are looked for if the failing run did not say how many it has.
const MOST_STEPS: u64 = 1 << 20;
/// Runs that may write their story until one of them fails.
const STORIES: u32 = 3;

/// Explains a failure: repeats it, shrinks it, and tells the story of the step at which its outcome turns.
pub(super) fn explain(job: &JobUnderSim, words: &str, outcome: &SimulatedRun) -> Result<String, Error> {
    let mut text = String::new();
    tell("a seed fails; the smallest run that fails is looked for (--no-story leaves this out)");
    let again = job.run(words, "")?;
    if !again.is_failure() {
        let _ = writeln!(
            text,
            "It did not fail again. A PE computes, sleeps or reads a clock between its calls, or threads race: then a run is no \
             function of its seed alone."
        );
        return Ok(text);
    }
    let (job, words) = fewer_pes(job, words, outcome)?;
    let kind = match turning_point(&job, &words)? {
        TurningPoint::Step(kind) => kind,
        TurningPoint::Start => {
            let _ = writeln!(
                text,
                "It fails as well where the network does everything at once. Run it without the simulated network first. If it passes \
                 there, the order in which PEs run is enough: look for a PE that does not wait for another one."
            );
            return Ok(text);
        }
        TurningPoint::Unknown => {
            let _ = writeln!(
                text,
                "It passed wherever the network became kind, the latest at step {MOST_STEPS} or behind it. The step that decides comes \
                 later, or the run is no function of its seed alone."
            );
            return Ok(text);
        }
    };
    let (mut lines, mut has_failed) = (String::new(), false);
    for _ in 0..STORIES {
        let story = ScratchFile::new(&job.scratch, "story");
        has_failed = job.run(&words, &format!(",kind={kind},story={}", story.0.display()))?.is_failure();
        lines = std::fs::read_to_string(&story.0).unwrap_or_default();
        // On a busy machine a PE may lose its turn while it writes. Then the steps are those of another run.
        if has_failed {
            break;
        }
    }
    let _ = writeln!(text, "The smallest run that fails: {}", job.command_line(&format!("{words},kind={kind}")));
    if !has_failed {
        let _ = writeln!(
            text,
            "It did not fail while it wrote down its steps, so those below are of another run. Ask again when the machine is less busy."
        );
    }
    let story = explain::story(&lines, kind);
    text += &match StaticNames::of(&lines) {
        Some(names) => names.in_text(&story),
        None => story,
    };
    Ok(text)
}

/// Says what is tried now: a run that hangs takes until its limit, and there may be twenty of them.
fn tell(what: &str) {
    process::say(&format!("oxshmem sim: {what}\n"));
}

/// The job on as few PEs as still fails with this choice.
fn fewer_pes(job: &JobUnderSim, words: &str, outcome: &SimulatedRun) -> Result<(JobUnderSim, String), Error> {
    for pes in 2..job.pes {
        let smaller = job.with(pes);
        tell(&format!("{pes} of {} PEs", job.pes));
        let tried = smaller.run(words, "")?;
        // A program that cannot run on so few PEs fails over a kind network, too.
        let is_same = tried.is_failure() && tried.is_like(outcome);
        if is_same && !smaller.run(words, ",kind=0")?.is_failure() {
            return Ok((smaller, words.to_owned()));
        }
    }
    Ok((job.clone(), words.to_owned()))
}

/// Where a run turns into one that fails.
enum TurningPoint {
    /// The first step from which on a kind network comes too late.
    Step(u64),
    /// A network that is kind from the start fails as well.
    Start,
    /// A network that becomes kind at a step that was tried does not fail.
    Unknown,
}

fn turning_point(job: &JobUnderSim, words: &str) -> Result<TurningPoint, Error> {
    let fails = |kind: u64| job.run(words, &format!(",kind={kind}")).map(|outcome| outcome.is_failure());
    if fails(0)? {
        return Ok(TurningPoint::Start);
    }
    // The step is not known if the run did not end: then it is looked for in strides.
    let mut high = job.run(words, "")?.steps().unwrap_or(0).max(64);
    while !fails(high)? {
        if high >= MOST_STEPS {
            return Ok(TurningPoint::Unknown);
        }
        high *= 2;
    }
    tell(&format!("the step that decides, among {high}"));
    let mut low = 0;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fails(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(TurningPoint::Step(high))
}
