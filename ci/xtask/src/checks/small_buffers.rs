//! Collectives, signals, ordering and transfers over connections that hold some KiB at most (`ci/rigs/small-buffers`): to a sender this is
//! a network that is slow or busy.

use oxshmem_faults::{AT_ONCE, in_parallel, is_long};

use crate::Outcome;
use crate::checks::conformance::{self, CaseSelection};
use crate::checks::random::TRANSPORTS;
use crate::checks::random::job::{self, SpreadJob};
use crate::counts::{CheckCounts, skipped};
use crate::rigs::{self, Ending};

/// Conformance cases: collectives, signals, ordering and transfers.
const CASES: &str = "collectives/,broadcast/,reduce/,signals/,ordering/,rma/RMA_1";

/// Those over another transport in a brief run: each kind takes one of them, and the library's own connections. With
/// `CHECK_LONG=1` each takes all.
fn cases(transport: &str) -> &'static str {
    match transport {
        _ if is_long() => CASES,
        "ofi:tcp" => "collectives/,rma/RMA_1",
        "ucx:tcp" => "broadcast/,signals/,ordering/",
        _ => CASES,
    }
}

/// The faults' programs between nodes, each with its arguments and PEs, one on each node.
const PROGRAMS: &[(&str, &[&str], u32)] = &[
    ("eager", &[], 3),
    ("broadcasts", &["stay", "4"], 8),
    ("broadcasts", &["stay", "4"], 5),
    ("broadcasts", &["turns", "4"], 4),
    ("broadcasts", &["groups", "4"], 4),
];

/// The step of the faults has these by tcp with small buffers (`ci/faults/tests/between_nodes.rs`).
const ALSO_A_FAULT: &[(&str, &[&str], u32)] = &[("broadcasts", &["stay", "4"], 8), ("broadcasts", &["turns", "4"], 4)];

pub(crate) fn check() -> Outcome<CheckCounts> {
    if let Ending::Skipped = rigs::start("small-buffers", &["true"])? {
        return Ok(CheckCounts { skipped: 1, ..CheckCounts::default() });
    }
    conformance::build(&CaseSelection::of(CASES))?;
    let mut counts = CheckCounts::default();
    for transport in TRANSPORTS {
        let shape = |pes: u32| SpreadJob { pes, nodes: pes, transport: Some(transport.into()), small_buffers: true };
        let nothing = [String::from("stay"), String::from("0")];
        if let Some(why) = job::obstacle(&shape(2), &job::build("broadcasts")?, &nothing)? {
            counts += skipped!("everything by {transport} with small buffers: {why}");
            continue;
        }
        counts += programs(transport, shape);
        let own = crate::OWN_PATH.to_string_lossy();
        let cases = cases(transport);
        let run = [&*own, "conformance", "--nodes", "4", "--pes", "4", "--transport", transport, "--filter", cases];
        counts += match rigs::start("small-buffers", &run) {
            Ok(Ending::Skipped) => skipped!("conformance by {transport} with small buffers: the rig has said why"),
            outcome => CheckCounts::of(format!("conformance by {transport}"), outcome),
        };
    }
    Ok(counts)
}

fn programs(transport: &str, shape: impl Fn(u32) -> SpreadJob + Sync) -> CheckCounts {
    let is_new = |job: &&(&str, &[&str], u32)| transport != "tcp" || !ALSO_A_FAULT.contains(job);
    let jobs: Vec<_> = PROGRAMS.iter().filter(is_new).copied().collect();
    let run = |(name, arguments, pes): &(&str, &[&str], u32)| {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
        let outcome = job::build(name).and_then(|program| shape(*pes).run(&program, &arguments));
        CheckCounts::of(format!("{name} on {}", shape(*pes)), outcome)
    };
    in_parallel(AT_ONCE, &jobs, run).into_iter().sum()
}
