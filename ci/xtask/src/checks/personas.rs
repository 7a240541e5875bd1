//! Conformance over personas: a libfabric whose providers demand and promise what those of cards do, and misreport what public issues
//! say that they misreport (`crates/transport-ofi/examples/personas`, natures in `crates/transport-ofi/src/mock/natures.rs`).

use oxshmem_faults::is_long;

use crate::checks::conformance::{self, CaseSelection};
use crate::checks::instructions;
use crate::counts::CheckCounts;
use crate::{Outcome, disk, target};

/// The personas, each with its device of atomics.
const PERSONAS: [(&str, &str); 9] = [
    ("mock_slingshot", "processor"),
    ("mock_slingshot", "network"),
    ("mock_efa", "processor"),
    ("mock_verbs", "processor"),
    ("mock_shm", "processor"),
    ("mock_shm", "network"),
    ("mock_local", "processor"),
    ("mock_orderly", "network"),
    ("mock_datagrams", "processor"),
];

/// The cases of every run of the checks; with `CHECK_LONG=1` all that move data between nodes.
const BRIEF: &str = "rma/RMA_1_,amo/AMO_4,signals/SIG_4,ordering/ORD_1,reduce/RED_1_in";
/// Those of a persona that has run with the other device of atomics: plain puts and gets have none.
const ATOMICS: &str = "amo/AMO_4,signals/SIG_4,ordering/ORD_1,reduce/RED_1_in";
const LONG: &str = "rma/,random/,amo/,signals/,ordering/,contexts/,locks/,reduce/,collectives/,broadcast/,collect/,alltoall/,\
    scan/,active_sets/,strided/,heap/";

#[derive(clap::Args, Clone, Default)]
pub(crate) struct PersonaArguments {
    /// Only personas whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Only cases whose `program/NAME` contains one of these texts, separated by commas
    #[arg(long)]
    filter: Option<String>,
}

/// Runs a part of the cases over each of them, with two PEs on each of two nodes.
pub(crate) fn run(arguments: &PersonaArguments) -> Outcome<CheckCounts> {
    let folder = target().join("personas");
    disk::make_folder(&folder)?;
    instructions::libfabric("personas", "libpersonas.a", &folder)?;
    let path = ("LD_LIBRARY_PATH".to_string(), folder.display().to_string());
    let mut counts = CheckCounts::default();
    for (at, (persona, atomics)) in PERSONAS.into_iter().enumerate() {
        if !persona.contains(&arguments.only) {
            continue;
        }
        let has_run = PERSONAS[..at].iter().any(|(earlier, _)| *earlier == persona);
        let usual = match (is_long(), has_run) {
            (true, _) => LONG,
            (false, true) => ATOMICS,
            (false, false) => BRIEF,
        };
        let cases = arguments.filter.clone().unwrap_or_else(|| usual.into());
        let mut selection = CaseSelection::between(&format!("ofi:{persona}"), 2, 4, Some(cases));
        // Each message takes turns of three threads, which a crowded machine gives slowly.
        selection.limit = Some(180);
        for environment in &mut selection.environments {
            environment.extend([path.clone(), ("SHMEM_AMO".into(), atomics.into())]);
        }
        let ran = conformance::run(&selection);
        println!("{persona}, atomics by the {atomics}: {} passed, {} failed", ran.passed, ran.failed);
        counts += ran;
    }
    Ok(counts)
}
