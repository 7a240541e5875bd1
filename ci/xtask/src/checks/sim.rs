//! Conformance over the simulated network: cases under every strategy, with the assertions of the protocols in force. With
//! `CHECK_LONG=1`, and as a task of its own, every other program too.

mod programs;
mod table;

use crate::Outcome;
use crate::checks::conformance::{self, CaseSelection};
use crate::counts::CheckCounts;
use crate::product::build;

pub(crate) use programs::{SimulationArguments, run as programs};

/// The strategies with a seed of each.
const DETAILS: [&str; 5] = ["lazy:1", "random:4", "priority:9", "starved-pe:2", "starved-pair:3"];

/// The cases that move data or meet between nodes. Programs of threads, files and processes are another matter.
const CASES: &str = "collectives/,reduce/,broadcast/,collect/,alltoall/,scan/,active_sets/,signals/,ordering/ORD_1,\
    rma/,amo/AMO_4,amo/AMO_7,locks/LCK_1,teams/,strided/STR_1";

/// A part of the cases under every strategy, each with four PEs on two and on four nodes in turns.
pub(crate) fn run() -> Outcome<CheckCounts> {
    let library = build::checked_library()?;
    let mut counts = CheckCounts::default();
    for (turn, detail) in DETAILS.iter().enumerate() {
        let nodes = if turn % 2 == 0 { 4 } else { 2 };
        let mut selection = CaseSelection::between(&format!("sim:{detail}"), nodes, 4, Some(CASES.into()));
        for environment in &mut selection.environments {
            environment.push(("LD_LIBRARY_PATH".into(), library.display().to_string()));
        }
        counts += conformance::run(&selection);
    }
    if std::env::var_os("CHECK_LONG").is_some() {
        counts += programs(&SimulationArguments::default())?;
    }
    Ok(counts)
}
