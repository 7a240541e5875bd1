//! The conformance programs over emulated InfiniBand: PEs on two nodes in the rig `rdma`, each with the nearest of two cards.

use crate::checks::conformance::{self, CaseSelection};
use crate::counts::CheckCounts;
use crate::{Outcome, rigs};

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
const BRIEF_SECONDS: &str = "2400";
/// See [`BRIEF_SECONDS`].
const SECONDS: &str = "3600";
/// See [`BRIEF_SECONDS`].
const EVERYTHING_SECONDS: &str = "36000";

/// The step of `cargo xtask test`.
pub(crate) fn brief() -> Outcome<CheckCounts> {
    let runs: Vec<String> = BRIEF.iter().map(|(transport, cases)| run_of(transport, PES, Some(cases))).collect();
    let cases: Vec<&str> = BRIEF.iter().map(|(_, cases)| *cases).collect();
    in_one_machine(&CaseSelection::of(&cases.join(",")), &runs, BRIEF_SECONDS)
}

/// Runs in one machine.
#[derive(clap::Args)]
pub(crate) struct RdmaArguments {
    /// Transports, separated by commas
    #[arg(long = "transport", default_value = "ucx:rc")]
    transports: String,
    /// Devices of atomics, separated by commas: processor, network
    #[arg(long)]
    amo: Option<String>,
    /// Numbers of PEs, separated by commas
    #[arg(long, default_value = PES)]
    pes: String,
    /// Begin with this program: the one that an earlier machine did not reach
    #[arg(long)]
    from: Option<String>,
    /// Seconds after which a case counts as hung
    #[arg(long)]
    limit: Option<u64>,
    /// Jobs at a time
    #[arg(long)]
    at_once: Option<usize>,
    /// Run every case, each printed as it ends, which takes hours
    #[arg(long)]
    everything: bool,
    /// Only cases whose `program/NAME` contains one of these texts, separated by commas
    filter: Option<String>,
}

/// Runs the cases that were asked for, or a brief selection.
pub(crate) fn run(arguments: &RdmaArguments) -> Outcome<CheckCounts> {
    let numbers = [("limit", arguments.limit), ("at-once", arguments.at_once.map(|number| number as u64))];
    let numbers = numbers.map(|(name, number)| (name, number.map(|number| number.to_string())));
    let texts = [("amo", arguments.amo.clone()), ("from", arguments.from.clone())];
    let given = numbers.into_iter().chain(texts).filter_map(|(name, value)| Some(format!(" --{name} '{}'", value?)));
    let filter = arguments.filter.as_deref();
    let runs = vec![run_of(&arguments.transports, &arguments.pes, filter) + &given.collect::<String>()];
    match filter {
        Some(cases) => in_one_machine(&CaseSelection::of(cases), &runs, SECONDS),
        None if arguments.everything => in_one_machine(&CaseSelection::everything(), &runs, EVERYTHING_SECONDS),
        None => brief(),
    }
}

/// The options of a run in the machine, whose two processors are enough for the PEs of one job.
fn run_of(transports: &str, pes: &str, cases: Option<&str>) -> String {
    let filter = cases.map(|cases| format!(" --filter '{cases}'")).unwrap_or_default();
    format!("--nodes 2 --pes {pes} --emulated --at-once 1 --progress --transport '{transports}'{filter}")
}

/// Each run is one check.
fn in_one_machine(programs: &CaseSelection, runs: &[String], seconds: &str) -> Outcome<CheckCounts> {
    // The machine would take minutes to compile them.
    conformance::build(programs)?;
    let mut script = "status=0\n".to_string();
    for options in runs {
        script += &format!("'{}' conformance {options} || status=1\n", crate::OWN_PATH.display());
    }
    Ok(rigs::start("rdma", &["-t", seconds, "bash", "-c", &(script + "exit $status")])?.counts(runs.len()))
}
