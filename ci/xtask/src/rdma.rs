//! The conformance programs over emulated InfiniBand: PEs on two nodes in the rig `rdma`, each with the nearest of two cards.

use crate::Outcome;
use crate::conformance::{self, Options};
use crate::counts::Counts;
use crate::rig::{self, Ending};

/// The brief selection for the checks: a transport and cases.
const BRIEF: &[(&str, &str)] = &[
    (
        "ucx:rc",
        "smoke/,signals/SIG_2_put,signals/SIG_2_zero,signals/SIG_3,signals/SIG_7_fence,ordering/ORD_1_quiet,ordering/ORD_6",
    ),
    (
        "ofi:verbs;ofi_rxm",
        "smoke/,signals/SIG_2_put,signals/SIG_3,signals/SIG_7_fence,ordering/ORD_1_quiet,ordering/ORD_7,amo/AMO_4_barrier",
    ),
];

/// PEs of a job, unless somebody wants more: one on each node.
const PES: &str = "2";

/// How long the machine may take for the checks, for cases that somebody names, and for all of them.
const BRIEF_SECONDS: &str = "900";
/// See [`BRIEF_SECONDS`].
const SECONDS: &str = "3600";
/// See [`BRIEF_SECONDS`].
const EVERYTHING_SECONDS: &str = "36000";

/// The step of `cargo xtask test`.
pub(crate) fn brief() -> Outcome<Counts> {
    let runs: Vec<String> = BRIEF.iter().map(|(transport, cases)| run_of(transport, PES, Some(cases))).collect();
    let cases: Vec<&str> = BRIEF.iter().map(|(_, cases)| *cases).collect();
    in_one_machine(&Options::of(&cases.join(",")), &runs, BRIEF_SECONDS)
}

/// `cargo xtask rdma [--transport NAME,NAME] [--amo NAME,NAME] [--pes N,N] [--from PROGRAM] [--limit SECONDS]
/// [--at-once N] [--everything | FILTER]`. All cases are run in one machine, which prints each as it ends; one that hangs is ended after
/// the limit, and the next begins. What a machine has not come to, another begins with by `--from`.
pub(crate) fn run(arguments: &[String]) -> Outcome<Counts> {
    let mut arguments = arguments.iter();
    let (mut transports, mut pes, mut everything, mut filter) = ("ucx:rc", PES, false, None);
    let mut more = String::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--transport" => transports = value()?,
            "--pes" => pes = value()?,
            "--amo" | "--from" | "--limit" | "--at-once" => more += &format!(" {argument} '{}'", value()?),
            "--everything" => everything = true,
            text if !text.starts_with('-') => filter = Some(text),
            other => return Err(format!("`{other}` is not an option of `rdma`")),
        }
    }
    let run = || vec![run_of(transports, pes, filter) + &more];
    match filter {
        Some(cases) => in_one_machine(&Options::of(cases), &run(), SECONDS),
        None if everything => in_one_machine(&Options::everything(), &run(), EVERYTHING_SECONDS),
        None => brief(),
    }
}

/// The options of a run in the machine, whose two processors are enough for the PEs of one job.
fn run_of(transports: &str, pes: &str, cases: Option<&str>) -> String {
    let filter = cases.map(|cases| format!(" --filter '{cases}'")).unwrap_or_default();
    format!("--nodes 2 --pes {pes} --emulated --at-once 1 --progress --transport '{transports}'{filter}")
}

/// Each run is one check.
fn in_one_machine(programs: &Options, runs: &[String], seconds: &str) -> Outcome<Counts> {
    // The machine would take minutes to compile them.
    conformance::build(programs)?;
    let mut script = "status=0\n".to_string();
    for options in runs {
        script += &format!("'{}' conformance {options} || status=1\n", crate::OWN_PATH.display());
    }
    let ending = rig::start("rdma", &["-t", seconds, "bash", "-c", &(script + "exit $status")])?;
    Ok(match ending {
        Ending::Well => Counts { passed: runs.len(), ..Counts::default() },
        Ending::Skipped => Counts { skipped: runs.len(), ..Counts::default() },
    })
}
