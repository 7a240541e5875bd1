//! Conformance over the simulated network: cases under every strategy, with the assertions of the protocols in force. With
//! `CHECK_LONG=1`, and as a task of its own, every other program too.

mod programs;
mod table;

use crate::Outcome;
use crate::checks::conformance::{self, CaseSelection};
use crate::counts::CheckCounts;
use crate::product::build;

pub(crate) use programs::{SimulationArguments, run as programs};

/// The cases that move data or meet between nodes, in two parts. Programs of threads, files and processes are another matter.
const CASES: [&str; 2] = [
    "collectives/,reduce/,broadcast/,collect/,alltoall/,scan/,active_sets/",
    "signals/,ordering/ORD_1,rma/,amo/AMO_4,amo/AMO_7,locks/LCK_1,strided/STR_1",
];

/// The strategies with a seed of each, and the parts of the cases that run under it in a brief run: each case under three.
const DETAILS: [(&str, &[usize]); 5] =
    [("lazy:1", &[0, 1]), ("random:4", &[1]), ("priority:9", &[0]), ("starved-pe:2", &[1]), ("starved-pair:3", &[0])];

/// The cases under the strategies, each with four PEs on two and on four nodes in turns; with `CHECK_LONG=1` all under all.
pub(crate) fn run() -> Outcome<CheckCounts> {
    let library = build::checked_library()?;
    let mut counts = CheckCounts::default();
    let is_long = std::env::var_os("CHECK_LONG").is_some();
    for (turn, (detail, parts)) in DETAILS.iter().enumerate() {
        let nodes = if turn % 2 == 0 { 4 } else { 2 };
        let parts = if is_long { &[0, 1] } else { *parts };
        let cases: Vec<&str> = parts.iter().map(|part| CASES[*part]).collect();
        let mut selection = CaseSelection::between(&format!("sim:{detail}"), nodes, 4, Some(cases.join(",")));
        for environment in &mut selection.environments {
            environment.push(("LD_LIBRARY_PATH".into(), library.display().to_string()));
        }
        counts += conformance::run(&selection);
    }
    if is_long {
        counts += programs(&SimulationArguments::default())?;
    }
    Ok(counts)
}
