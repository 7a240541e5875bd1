//! Faults that are planted in protocols (`oxshmem_base::planted!`): each is in force while jobs over the simulated network, or the
//! tests of a protocol, look for it, and must be found.

mod arguments;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use oxshmem_faults::{AT_ONCE, in_parallel};

use crate::checks::packages;
use crate::checks::random::job;
use crate::checks::workspace_tests::LIKE_ALL;
use crate::counts::{CheckCounts, skipped};
use crate::product::build;
use crate::{Outcome, command, top};

/// A fault, and what is to find it.
struct PlantedFault {
    name: &'static str,
    what: &'static str,
    found_by: FoundBy,
}

/// The check that is to find a fault.
enum FoundBy {
    /// Jobs of a program over the simulated network: its arguments, PEs, nodes, the strategy.
    Sim(&'static SimulatedJobs),
    /// The test of this name, beside the code of one of [`WITH_TESTS`].
    Test(&'static str),
}

/// Jobs of one program.
struct SimulatedJobs {
    program: &'static str,
    arguments: &'static [&'static str],
    pes: &'static str,
    nodes: &'static str,
    /// Seconds after which a job hangs.
    limit: &'static str,
}

/// The usual limit. A fault that shows itself only by a hang has a shorter one.
const LIMIT: &str = "30";

/// Seeds in which a fault is found.
const SEEDS: &str = "60";

/// Jobs of a program with the usual limit.
const fn jobs(
    program: &'static str,
    arguments: &'static [&'static str],
    pes: &'static str,
    nodes: &'static str,
) -> SimulatedJobs {
    SimulatedJobs { program, arguments, pes, nodes, limit: LIMIT }
}

/// Teams that get the memory of teams before them, with two PEs on each of two nodes.
const TEAMS: &SimulatedJobs = &jobs("teams_that_follow", &["30"], "4", "2");
/// Broadcasts without pause, from a root that stays, and from one that follows another.
const STAYS: &SimulatedJobs = &jobs("broadcasts", &["stay", "1"], "4", "4");
const CHANGES: &SimulatedJobs = &jobs("broadcasts", &["change", "1"], "4", "4");
/// Groups of broadcasts by one active set, between which all PEs meet.
const GROUPS: &SimulatedJobs = &SimulatedJobs { limit: "8", ..jobs("broadcasts", &["groups", "1"], "4", "4") };
/// Collectives that go in pieces.
const LONG: &SimulatedJobs = &jobs("collectives_in_a_row", &["1", "long"], "4", "4");
/// Small programs that are right.
const LOCK: &SimulatedJobs = &jobs("luck/right_lock_protects", &[], "4", "4");
const BARRIER: &SimulatedJobs = &jobs("luck/right_barrier_completes", &[], "3", "3");
const FENCE: &SimulatedJobs = &jobs("luck/right_fence_before_flag", &[], "2", "2");
const SIGNAL: &SimulatedJobs = &jobs("luck/right_data_after_signal", &[], "3", "3");
const FINALIZES: &SimulatedJobs = &jobs("luck/right_get_from_who_finalizes", &[], "3", "3");
const IN_A_ROW: &SimulatedJobs = &jobs("collectives_in_a_row", &[], "4", "4");
const LOCALLY: &SimulatedJobs = &jobs("luck/right_source_after_local_complete", &[], "3", "3");
const FREED: &SimulatedJobs = &jobs("luck/right_freed_under_a_put", &[], "3", "3");
const BEHIND: &SimulatedJobs =
    &SimulatedJobs { limit: "8", ..jobs("luck/right_collective_behind_a_request", &[], "3", "3") };
const REQUESTS: &SimulatedJobs = &jobs("requests", &["many", "61", "forwards"], "4", "4");
const IN_A_ROW_ON_TWO: &SimulatedJobs = &jobs("collectives_in_a_row", &[], "4", "2");

const fn sim(name: &'static str, what: &'static str, job: &'static SimulatedJobs) -> PlantedFault {
    PlantedFault { name, what, found_by: FoundBy::Sim(job) }
}

const fn test(name: &'static str, what: &'static str, test: &'static str) -> PlantedFault {
    PlantedFault { name, what, found_by: FoundBy::Test(test) }
}

/// The packages whose tests find faults, beside those of [`LIKE_ALL`]: so cargo takes the test programs that the step unit has built.
const WITH_TESTS: [&str; 6] =
    ["--package", "oxshmem-transport", "--package", "oxshmem-transport-ucx", "--package", "oxshmem-runtime"];

/// The protocol of TCP's sessions in virtual time, whose connections are cut.
const CUTS: &str = "cuts_lose_nothing_and_repeat_nothing";
/// A channel of UCX, which must be here.
const LONG_PUT: &str = "what_comes_behind_a_long_put_waits";

/// All planted faults. A new one is a row here and a `planted!` in the source.
const FAULTS: &[PlantedFault] = &[
    sim("mailbox-parity", "mailboxes do not take turns", IN_A_ROW),
    sim("message-by-its-head", "a message counts as whole when its first word is there", IN_A_ROW),
    sim("scratch-parity", "scratch does not take turns", IN_A_ROW),
    sim("operand-not-kept", "an operand that changes is put from where it lies", IN_A_ROW),
    sim("copy-parity", "copies of operands do not take turns", IN_A_ROW),
    sim("operand-unfenced", "a signal does not wait for the operand in front of it", IN_A_ROW),
    sim("signals-of-a-word-unordered", "a later signal of a word overtakes an earlier one with its bytes", LONG),
    sim("local-completion-skipped", "a collective ends while the network reads its arrays", IN_A_ROW),
    sim("sources-given-back-at-once", "a local completion does not wait for the network", LOCALLY),
    sim("line-parity", "lines of an exchange do not take turns", IN_A_ROW_ON_TWO),
    sim("gather-parity", "gather buffers do not take turns", IN_A_ROW),
    sim("part-parity", "outgoing buffers do not take turns", IN_A_ROW),
    sim("fetched-too-early", "fetched blocks are used before they are there", IN_A_ROW),
    sim("block-without-acknowledgement", "a parent does not wait for acknowledgements", STAYS),
    sim("acknowledged-before-children", "a leader acknowledges a half before its children have", STAYS),
    sim("stamp-before-payload", "the stamp of a broadcast is not behind its payload", STAYS),
    sim("block-of-another-tree", "halves change while broadcasts go down several trees", CHANGES),
    sim("barrier-of-a-part", "a barrier of some PEs counts as one of all", GROUPS),
    sim("stamps-of-a-dead-team", "the stamps of a team that has ended stay", TEAMS),
    sim("lease-of-an-old-number", "a slot begins anew with numbers that its lines have passed", TEAMS),
    sim("barrier-without-quiet", "a barrier completes no puts", BARRIER),
    sim("fence-forgotten", "a fence does nothing", FENCE),
    sim("lock-without-quiet", "a lock is handed on while puts are under way", LOCK),
    sim("heap-call-without-quiet", "memory is freed and used again while puts to it are under way", FREED),
    sim("request-over-too-early", "a nonblocking collective is over while it has stopped half way", REQUESTS),
    sim("blocking-before-its-turn", "a collective that waits overtakes those that have returned at once", BEHIND),
    sim("leaves-without-meeting", "a PE that finalizes does not wait for those that still read its memory", FINALIZES),
    sim("signal-before-its-data", "a long put and its signal have no order", SIGNAL),
    test(
        "key-of-another-piece",
        "memory that has grown is reached by the key that it had before",
        "bytes_are_found_in_the_piece_that_holds_them",
    ),
    test(
        "acknowledged-unexecuted",
        "a frame of TCP is acknowledged before it has been executed",
        "a_get_alone_takes_one_frame_each_way",
    ),
    test(
        "eager-parity",
        "eager buffers of a node do not take turns",
        "the_next_exchange_leaves_the_buffers_of_this_one_alone",
    ),
    test(
        "entry-not-taken",
        "a root writes an entry of its ring that a member is yet to read",
        "posted_broadcasts_arrive_in_order",
    ),
    test(
        "place-with-a-posted-broadcast",
        "a place passes to another set while a broadcast is posted in it",
        "a_place_stays_with_its_set",
    ),
    test("sent-twice-after-a-break", "what the peer has executed is sent again over a new connection", CUTS),
    test("not-sent-again-after-a-break", "what a broken connection had under way is not sent again", CUTS),
    test(
        "acknowledged-by-an-earlier-question",
        "an answer acknowledges what was sent after its question",
        "an_answer_completes_nothing_after_its_question",
    ),
    test(
        "message-before-its-batch",
        "a message overtakes those that wait for company",
        "messages_that_follow_one_another_go_in_one_batch",
    ),
    test("long-put-overtaken", "what comes behind a put by rendezvous is done before it has arrived", LONG_PUT),
    test(
        "mailboxes-never-cleared",
        "stamps of mailboxes come again after 2^31 runs",
        "a_word_is_cleared_before_its_stamp_comes_again",
    ),
];

/// Names the arguments, and what shows each.
pub(crate) fn list() -> Outcome<CheckCounts> {
    let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
    arguments::show(&names)?;
    println!("{} arguments, {} planted faults", arguments::ARGUMENTS.len(), names.len());
    Ok(CheckCounts { passed: arguments::ARGUMENTS.len(), ..CheckCounts::default() })
}

/// Plants each fault, or those that are named, and looks whether it is found.
pub(crate) fn run(names: &[String]) -> Outcome<CheckCounts> {
    let planted = planted_in_source()?;
    let listed: BTreeSet<String> = FAULTS.iter().map(|fault| fault.name.to_owned()).collect();
    if planted != listed {
        let (missing, stale): (Vec<_>, Vec<_>) =
            (planted.difference(&listed).collect(), listed.difference(&planted).collect());
        return Err(format!("the list of planted faults lacks {missing:?} and has {stale:?}, which no source plants"));
    }
    arguments::show(&FAULTS.iter().map(|fault| fault.name).collect())?;
    let library = build::checked_library()?;
    let chosen: Vec<&PlantedFault> =
        FAULTS.iter().filter(|fault| names.is_empty() || names.iter().any(|name| name == fault.name)).collect();
    // Built one after the other, before jobs at a time want them.
    for fault in &chosen {
        if let FoundBy::Sim(job) = fault.found_by {
            job::build(job.program)?;
        }
    }
    let look = |fault: &&PlantedFault| -> Outcome<CheckCounts> {
        let begun = Instant::now();
        if fault.found_by.needs_ucx() && !packages::has_ucx() {
            return Ok(skipped!("{}: there is no UCX here (package libucx0)", fault.name));
        }
        let found = fault.look(&library)?;
        let took = begun.elapsed().as_secs_f64();
        let how = found.clone().unwrap_or_else(|| "NOT FOUND".into());
        println!("{}: {}: {how} ({took:.1} s)", fault.name, fault.what);
        Ok(CheckCounts::one(found.is_some()))
    };
    let mut counts = CheckCounts::default();
    for found in in_parallel(AT_ONCE, &chosen, look) {
        counts += found?;
    }
    Ok(counts)
}

impl FoundBy {
    fn needs_ucx(&self) -> bool {
        matches!(self, FoundBy::Test(LONG_PUT))
    }
}

impl PlantedFault {
    /// How it was found. `None`: it was not.
    fn look(&self, library: &Path) -> Outcome<Option<String>> {
        let mut command = match &self.found_by {
            FoundBy::Sim(jobs) => jobs.command(library, "0", SEEDS, jobs.limit)?,
            FoundBy::Test(name) => {
                let mut command = command::cargo();
                command.args(["test", "--quiet", "--lib"]).args(LIKE_ALL).args(WITH_TESTS);
                // The output of a test that passes would not be seen.
                command.args(["--", "--nocapture", *name]);
                command
            }
        };
        command.env("SHMEM_PLANTED", self.name).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        let output = command::output(command.current_dir(top()))?;
        if output.status.success() {
            return Ok(None);
        }
        // Of a simulated job `oxshmem sim` shows a part of the output only.
        if matches!(self.found_by, FoundBy::Test(_)) && !is_reached(&output, self.name) {
            return Err(format!("planted {}: a test failed before it had reached the place of the fault", self.name));
        }
        let Some(words) = first_line(&output) else {
            return Err(format!("planted {}: nothing was found, and the check ended with an error", self.name));
        };
        if let FoundBy::Sim(jobs) = &self.found_by {
            jobs.pass_without(library, &words).map_err(|why| format!("planted {}: {why}", self.name))?;
        }
        Ok(Some(words))
    }
}

impl SimulatedJobs {
    /// The tool that tries this many seeds from `first` on.
    fn command(&self, library: &Path, first: &str, seeds: &str, limit: &str) -> Outcome<Command> {
        let mut command = Command::new(crate::default_prefix().join("bin/oxshmem"));
        command.args(["sim", "-n", self.pes, "--nodes", self.nodes, "--first", first, "--seeds", seeds, "--jobs", "1"]);
        command.args(["--no-story", "--timeout", limit]).arg(job::build(self.program)?).args(self.arguments);
        command.env("LD_LIBRARY_PATH", library).stdin(Stdio::null()).current_dir(top());
        Ok(command)
    }

    /// Runs the seed that `words` names without the fault, with the usual limit: if that fails too, nothing was found.
    fn pass_without(&self, library: &Path, words: &str) -> Outcome<()> {
        let Some(seed) = seed_in(words) else { return Err(format!("no seed is named in: {words}")) };
        let output = command::output(&mut self.command(library, seed, "1", LIMIT)?)?;
        if output.status.success() { Ok(()) } else { Err(format!("seed {seed} fails without the fault, too")) }
    }
}

/// The seed in a line of `oxshmem sim` about a seed that fails.
fn seed_in(line: &str) -> Option<&str> {
    line.strip_prefix("oxshmem: seed ")?.split_once(':').map(|(seed, _)| seed)
}

/// Whether the fault says that its place has been reached (`oxshmem_base::planted::is`).
fn is_reached(output: &Output, name: &str) -> bool {
    let line = format!("the planted fault {name} is in force");
    [&output.stderr, &output.stdout].iter().any(|stream| String::from_utf8_lossy(stream).contains(&line))
}

/// The first words about a fault. `None`: there are none, as where a test does not compile.
fn first_line(output: &Output) -> Option<String> {
    let text = [&output.stderr, &output.stdout].map(|stream| String::from_utf8_lossy(stream).into_owned()).concat();
    // The last one stands where a test ends its whole process.
    let words = ["panicked at", "FAILED", "error: test failed"];
    let told = |line: &&str| line.starts_with("oxshmem: seed") || words.iter().any(|words| line.contains(words));
    text.lines().find(told).map(|line| line.trim().to_owned())
}

/// The names in the source.
fn planted_in_source() -> Outcome<BTreeSet<String>> {
    let files =
        command::output(Command::new("git").args(["grep", "-hoE", "planted!\\(\"[a-z-]+\""]).current_dir(top()))?;
    let text = String::from_utf8_lossy(&files.stdout).into_owned();
    let names = text.lines().filter_map(|line| Some(line.split_once('"')?.1.trim_end_matches('"').to_owned()));
    // The macro's own example, and its test.
    Ok(names.filter(|name| !["name", "nothing"].contains(&name.as_str())).collect())
}
