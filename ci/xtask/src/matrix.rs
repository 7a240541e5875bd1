//! Every conformance case over every transport between virtual nodes, one cell after the other: hours, of which the steps
//! of `cargo xtask test` run the best part.

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::conformance::{self, Options, numbers};
use crate::counts::Counts;

/// The transports that carry a job here without a network card.
const TRANSPORTS: &[&str] = &["tcp", "ofi:tcp", "ofi:tcp;ofi_rxm", "ofi:shm", "ucx:tcp"];

/// A case that needs more has stopped: eight PEs on two processors take their time over sockets.
const LIMIT: Duration = Duration::from_secs(240);

/// `cargo xtask matrix [--transport NAME,NAME] [--nodes 2,4] [--pes 2,4,8] [--filter TEXT]`.
pub(crate) fn run(arguments: &[String]) -> Outcome<Counts> {
    let mut transports: Vec<String> = TRANSPORTS.iter().map(|&name| name.into()).collect();
    let (mut nodes, mut pes, mut filter) = (vec![2, 4], vec![2, 4, 8], None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--transport" => transports = value.split(',').map(str::to_string).collect(),
            "--nodes" => nodes = numbers(value)?,
            "--pes" => pes = numbers(value)?,
            "--filter" => filter = Some(value.clone()),
            other => return Err(format!("`{other}` is not an option of `matrix`")),
        }
    }
    let mut cells = Vec::new();
    let mut total = Counts::default();
    for transport in &transports {
        for &nodes in &nodes {
            for &pes in pes.iter().filter(|&&pes| pes >= nodes) {
                let begun = Instant::now();
                let options = Options::between(transport, nodes, pes, filter.clone());
                let counts = conformance::run(&Options { limit: Some(LIMIT), progress: true, ..options });
                let Counts { passed, failed, skipped } = counts;
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
    Ok(total)
}
