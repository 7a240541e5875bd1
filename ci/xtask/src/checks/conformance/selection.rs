//! Which cases run, on which installation and how: the selections of the steps, and that of a command line.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Parser;
use oxshmem_faults::{AT_ONCE, is_long};
use oxshmem_schedule::algorithm::names::{FAMILIES, serving};

pub(super) type Environment = Vec<(String, String)>;

/// Numbers of PEs that a command line has by itself.
const USUAL_PES: [u32; 5] = [1, 2, 3, 4, 8];
/// Those of the checks: every case has four PEs on two nodes as well. With `CHECK_LONG=1` those above.
const BRIEF_PES: [u32; 4] = [1, 2, 3, 8];

/// The instrumentation that the compiler adds to the programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instrumentation {
    Nothing,
    /// The address and undefined-behaviour sanitizers.
    Sanitizers,
    /// The race detector of the wrappers.
    Races,
}

/// A selection of cases, and the installation that they run on.
#[derive(Parser)]
pub(crate) struct CaseSelection {
    /// Folder of the installation
    #[arg(long, default_value_os_t = crate::default_prefix())]
    pub(crate) prefix: PathBuf,
    /// Numbers of PEs, separated by commas; every case runs once with each
    #[arg(long, value_delimiter = ',', default_values_t = USUAL_PES)]
    pub(crate) pes: Vec<u32>,
    /// Only cases whose `program/NAME` contains one of these texts, separated by commas; `kill/` selects the kill tests alone
    #[arg(long)]
    pub(crate) filter: Option<String>,
    #[arg(skip = Instrumentation::Nothing)]
    pub(crate) instrumentation: Instrumentation,
    /// Run the kill tests too
    #[arg(long)]
    pub(crate) kill: bool,
    /// Spread the PEs over this many virtual nodes
    #[arg(long, default_value_t = 1)]
    pub(crate) nodes: u32,
    /// Each node is a host of its own: a network namespace with its own mounts, at a cable of this quality.
    #[arg(skip)]
    pub(crate) hosts: Option<String>,
    /// Run in an emulated machine: programs as they were built, and more patience
    #[arg(long)]
    pub(crate) emulated: bool,
    /// Jobs at a time
    #[arg(long, default_value_t = AT_ONCE)]
    pub(crate) at_once: usize,
    /// Seconds after which a case counts as hung
    #[arg(long)]
    pub(crate) limit: Option<u64>,
    /// Print each case as it ends, as on a terminal
    #[arg(long)]
    pub(crate) progress: bool,
    /// Every case runs once with each of these sets of variables, under what it sets itself.
    #[arg(skip = vec![Environment::new()])]
    pub(crate) environments: Vec<Environment>,
}

impl CaseSelection {
    /// Every case at several numbers of PEs, and the kill tests.
    pub(crate) fn everything() -> CaseSelection {
        let pes = if is_long() { USUAL_PES.into() } else { BRIEF_PES.into() };
        CaseSelection { pes, kill: true, ..CaseSelection::usual() }
    }

    /// The collectives under every schedule that can be named, as many of different collectives at a time as there are.
    pub(crate) fn algorithms() -> CaseSelection {
        let families: Vec<(String, Vec<&str>)> = FAMILIES
            .map(|(family, collectives)| (format!("SHMEM_{family}_ALGORITHM"), serving(collectives).collect()))
            .into();
        let most = families.iter().map(|(_, names)| names.len()).max().unwrap_or(0);
        let turn = |turn: usize| {
            families.iter().map(|(variable, names)| (variable.clone(), names[turn % names.len()].into())).collect()
        };
        let programs = "collectives/,reduce/,broadcast/,collect/,alltoall/,scan/,active_sets/";
        let environments = (0..most).map(turn).collect();
        CaseSelection { environments, ..CaseSelection::of(programs) }
    }

    /// The same on one node, where a schedule runs only if the user names it. The prover knows every size, and all cases have all
    /// schedules between four nodes; these runs show the executor of a node. Six PEs are a power of two and two more. With
    /// `CHECK_LONG=1` all cases at several sizes.
    pub(crate) fn algorithms_on_a_node() -> CaseSelection {
        if is_long() {
            return CaseSelection { pes: vec![2, 3, 5, 8], ..CaseSelection::algorithms() };
        }
        let programs = "collectives/,active_sets/,reduce/RED_1";
        CaseSelection { pes: vec![6], filter: Some(programs.into()), ..CaseSelection::algorithms() }
    }

    /// The collectives of two nodes by the schedules of this table.
    pub(crate) fn by_table(table: &str) -> CaseSelection {
        let environments = vec![vec![("SHMEM_TUNING".to_string(), table.to_string())]];
        let programs = "collectives/,reduce/,broadcast/,collect/,alltoall/,active_sets/";
        CaseSelection { pes: vec![2], nodes: 2, environments, ..CaseSelection::of(programs) }
    }

    /// The cases that depend on the network's addresses and on the host's files, with the nodes in network namespaces. One PE on each
    /// shows how hosts reach each other; with two on each run those that share a host's files. (Every case has two PEs on each of two
    /// nodes of one host as well.) With `CHECK_LONG=1` all run with both.
    pub(crate) fn across_hosts() -> [CaseSelection; 2] {
        let files = "smoke/,setup/,sessions/,heap/,collectives/COL_1,collectives/SYN_1";
        let all = "smoke/,setup/,sessions/,rma/,amo/,signals/,ordering/,locks/,heap/,collectives/";
        [(2, all), (4, if is_long() { all } else { files })].map(|(pes, programs)| CaseSelection {
            pes: vec![pes],
            nodes: 2,
            hosts: Some(String::new()),
            ..CaseSelection::of(programs)
        })
    }

    /// A few cases, over a cable as bad as `quality`.
    pub(crate) fn over_a_bad_cable(quality: &str) -> CaseSelection {
        // Cards would go past the cable.
        let selection = CaseSelection::between("tcp", 2, 2, Some("smoke/,rma/RMA_1".into()));
        CaseSelection { hosts: Some(quality.to_string()), emulated: true, ..selection }
    }

    /// A part of the cases, with two PEs on each of two nodes, over this transport: enough to reach every kind of operation
    /// between nodes.
    pub(crate) fn over(transport: &str) -> CaseSelection {
        let programs = "rma/,random/,amo/,signals/,ordering/,contexts/,locks/,reduce/";
        CaseSelection::between(transport, 2, 4, Some(programs.into()))
    }

    /// The cases that update words, with the atomics of this transport: those of a PE on itself and on its node use it too.
    pub(crate) fn with_atomics_of(transport: &str) -> CaseSelection {
        let programs = "amo/AMO_3,amo/AMO_4,amo/AMO_5,amo/AMO_7,amo/AMO_9,signals/SIG_4,signals/SIG_7,locks/LCK_1,\
            locks/LCK_2,random/";
        let mut selection = CaseSelection::between(transport, 2, 4, Some(programs.into()));
        selection.environments[0].push(("SHMEM_AMO".into(), "network".into()));
        selection
    }

    /// The cases that `filter` selects, or all, with these numbers of PEs and nodes over this transport.
    pub(crate) fn between(transport: &str, nodes: u32, pes: u32, filter: Option<String>) -> CaseSelection {
        let environments = vec![vec![("SHMEM_TRANSPORT".to_string(), transport.to_string())]];
        CaseSelection { pes: vec![pes], nodes, filter, environments, ..CaseSelection::usual() }
    }

    pub(crate) fn of(cases: &str) -> CaseSelection {
        CaseSelection { filter: Some(cases.into()), ..CaseSelection::usual() }
    }

    /// Every case on 3 PEs, under the sanitizers.
    pub(crate) fn sanitized() -> CaseSelection {
        CaseSelection { pes: vec![3], instrumentation: Instrumentation::Sanitizers, ..CaseSelection::usual() }
    }

    pub(crate) fn usual() -> CaseSelection {
        CaseSelection::parse_from(["conformance"])
    }

    /// The texts of the filter that none of these names contains: a case that got another name would leave a step without a word.
    pub(super) fn texts_without_a_case(&self, names: &[String]) -> Vec<&str> {
        let texts = self.filter.iter().flat_map(|texts| texts.split(','));
        // The kill tests are no cases.
        let is_known = |text: &str| text.starts_with("kill/") || names.iter().any(|name| name.contains(text));
        texts.filter(|text| !is_known(text)).collect()
    }

    /// Runs each environment with each of the others, if there are any.
    fn cross(&mut self, others: Vec<Environment>) {
        if !others.is_empty() {
            let with = |other: &Environment| -> Vec<Environment> {
                self.environments.iter().map(|one| [one.as_slice(), other].concat()).collect()
            };
            self.environments = others.iter().flat_map(with).collect();
        }
    }

    pub(super) fn selects(&self, program: &str, case: &str) -> bool {
        let name = format!("{program}/{case}");
        self.filter.as_ref().is_none_or(|texts| texts.split(',').any(|text| name.contains(text)))
    }
}

#[derive(clap::Args)]
pub(crate) struct ConformanceArguments {
    #[command(flatten)]
    selection: CaseSelection,
    /// Build the programs with the address and undefined-behaviour sanitizers
    #[arg(long)]
    sanitize: bool,
    /// Build the programs with the race detector, which accuses those alone that `races.rs` explains
    #[arg(long, conflicts_with = "sanitize")]
    race: bool,
    /// Spread the PEs over two network namespaces
    #[arg(long)]
    namespaces: bool,
    /// Transports, separated by commas; each is a run of its own
    #[arg(long, value_delimiter = ',')]
    transport: Vec<String>,
    /// Devices of atomics, separated by commas (processor, network); each is a run of its own
    #[arg(long, value_delimiter = ',')]
    amo: Vec<String>,
    /// Run the collectives under every schedule
    #[arg(long)]
    algorithms: bool,
}

impl ConformanceArguments {
    pub(crate) fn options(self) -> CaseSelection {
        let mut selection = self.selection;
        selection.progress |= std::io::stdout().is_terminal();
        selection.instrumentation = match (self.sanitize, self.race) {
            (true, _) => Instrumentation::Sanitizers,
            (_, true) => Instrumentation::Races,
            _ => Instrumentation::Nothing,
        };
        if self.namespaces {
            (selection.nodes, selection.hosts) = (2, Some(String::new()));
        }
        for (name, values) in [("SHMEM_TRANSPORT", self.transport), ("SHMEM_AMO", self.amo)] {
            selection.cross(values.into_iter().map(|value| vec![(name.to_string(), value)]).collect());
        }
        if self.algorithms {
            let CaseSelection { filter, environments, .. } = CaseSelection::algorithms();
            selection.cross(environments);
            selection.filter = selection.filter.or(filter);
        }
        selection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_selects_nothing_is_named() {
        let names = ["rma/RMA_1_put", "amo-static/AMO_3"].map(String::from);
        assert_eq!(CaseSelection::of("rma/,amo/AMO_3,RMA_1,kill/").texts_without_a_case(&names), ["amo/AMO_3"]);
        assert!(CaseSelection::everything().texts_without_a_case(&names).is_empty());
    }
}
