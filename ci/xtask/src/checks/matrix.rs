//! Every conformance case over every transport between virtual nodes, one cell after the other: hours, of which the steps
//! of `cargo xtask test` run the best part.

use std::time::{Duration, Instant};

use crate::checks::conformance::{self, CaseSelection};
use crate::counts::CheckCounts;

/// The transports that carry a job here without a network card.
const TRANSPORTS: &[&str] = &["tcp", "ofi:tcp", "ofi:tcp;ofi_rxm", "ofi:shm", "ucx:tcp"];

/// A case that needs more has stopped: eight PEs on two processors take their time over sockets.
const LIMIT: Duration = Duration::from_secs(240);

/// The cells of the matrix.
#[derive(clap::Args)]
pub(crate) struct MatrixArguments {
    /// Transports, separated by commas
    #[arg(long = "transport", value_delimiter = ',', default_values = TRANSPORTS)]
    transports: Vec<String>,
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4])]
    nodes: Vec<u32>,
    /// Numbers of PEs
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8])]
    pes: Vec<u32>,
    /// Only cases whose `program/NAME` contains one of these texts, separated by commas
    #[arg(long)]
    filter: Option<String>,
}

/// Runs one cell after the other.
pub(crate) fn run(arguments: &MatrixArguments) -> CheckCounts {
    let MatrixArguments { transports, nodes, pes, filter } = arguments;
    let mut cells = Vec::new();
    let mut total = CheckCounts::default();
    for transport in transports {
        for &nodes in nodes {
            for &pes in pes.iter().filter(|&&pes| pes >= nodes) {
                let begun = Instant::now();
                let options = CaseSelection::between(transport, nodes, pes, filter.clone());
                let counts = conformance::run(&CaseSelection { limit: Some(LIMIT), progress: true, ..options });
                let CheckCounts { passed, failed, skipped } = counts;
                let took = begun.elapsed().as_secs();
                cells.push(format!(
                    "{transport:<16} {nodes} nodes {pes:>2} PEs: {passed} passed, {failed} failed, {skipped} skipped, {took} s"
                ));
                println!("{}", cells[cells.len() - 1]);
                total += counts;
            }
        }
    }
    println!("\n{}", cells.join("\n"));
    total
}
