//! The cost of starting a job: measured at the sizes that run here, predicted for those that do not.
//!
//! The requests are counted by making the calls of a start against a manager that counts
//! ([`oxshmem_bootstrap::simulate`]). What a request costs is measured: jobs of this very program are started by the
//! `oshrun` beside it, join, meet on their nodes, and fetch the address of a PE of another node.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_bootstrap::simulate::{self, Tally};
use oxshmem_bootstrap::{Membership, Parcel, node, wireup};

use crate::tool_job;

/// The name of a PE of a measured job on the command line.
pub const AS_PE: &str = "start-as-pe";

/// Jobs that are run: PEs, and on how many virtual nodes.
const MEASURED: [(u32, u32); 4] = [(8, 2), (16, 2), (32, 4), (64, 8)];
/// PEs of jobs that are predicted, and the PEs of each node.
const PREDICTED: [u32; 3] = [1_000, 10_000, 100_000];
const PER_NODE: u32 = 128;
/// Bytes of the address of a PE by TCP.
const ADDRESS: usize = 96;
/// Requests of every PE before it knows its job: the greeting of PMI-1 and the mapping.
const GREETING: u64 = 5;
/// How long a message between servers of two nodes takes.
const HOP: Duration = Duration::from_micros(50);
/// How much a server passes on in a second.
const BYTES_A_SECOND: f64 = 1e9;

/// Measures and predicts.
pub fn report() -> Result<String, Error> {
    let mut text = format!("Starting jobs here, all PEs on one machine, one server (oshrun)\n{HEADING}\n");
    let mut cost = 0.0;
    let mut rows = Vec::new();
    for (pes, nodes) in MEASURED {
        let tally = simulate::start(pes, pes / nodes, ADDRESS)?;
        let seconds = measure(pes, nodes)?;
        // The largest job has the least noise, and the server is what the other sizes wait for too.
        cost = seconds / requests(&tally, pes) as f64;
        rows.push((pes, nodes, tally, seconds));
    }
    for (pes, nodes, tally, seconds) in rows {
        let predicted = requests(&tally, pes) as f64 * cost;
        _ = writeln!(text, "{}  {:>10}  {:>10}", row(pes, nodes, &tally), shown(seconds), shown(predicted));
    }
    _ = writeln!(
        text,
        "A request costs {:.1} µs here: the longest start of {} PEs, divided by its requests. Predicted from it:\n\
         \nStarts of larger jobs, {PER_NODE} PEs on a node; nothing of this is measured\n{LARGE_HEADING}",
        cost * 1e6,
        MEASURED[MEASURED.len() - 1].0
    );
    for pes in PREDICTED {
        let nodes = pes.div_ceil(PER_NODE);
        let tally = simulate::start(pes, PER_NODE, ADDRESS)?;
        let one_server = requests(&tally, pes) as f64 * cost;
        let naive = (u64::from(pes) * u64::from(pes) + u64::from(pes) * (GREETING + 4)) as f64 * cost;
        let each = each_node_a_server(&tally, pes, nodes, cost);
        _ = writeln!(
            text,
            "{}  {:>10}  {:>10}  {:>10}  {:>8}",
            row(pes, nodes, &tally),
            shown(one_server),
            shown(each),
            shown(naive),
            shown(with_own_tree(pes, nodes) as f64 * cost)
        );
    }
    text += "One server: every request goes to oshrun. A server per node: Slurm, Hydra, PMIx; a node's PEs ask their own, a fence\n\
             is a tree of messages of 50 µs and brings all values to all nodes at 1 GB/s. All by all: one server, and every PE\n\
             fetches the address of every other at the start, which oxshmem does not do. Own tree: one server, and what nodes say\n\
             of transports and addresses goes through connections of our own, which oxshmem does not do either.\n";
    Ok(text)
}

const HEADING: &str = "   PEs  nodes     puts      gets  published  asks/PE   PE 0    measured   predicted";
const LARGE_HEADING: &str =
    "   PEs  nodes     puts      gets  published  asks/PE   PE 0  one server  one a node  all by all  own tree";

fn row(pes: u32, nodes: u32, tally: &Tally) -> String {
    let kib = tally.published.div_ceil(1024);
    let [most, first] = [tally.most, tally.first].map(|asks| asks + GREETING + tally.fences);
    format!("{pes:>6} {nodes:>6} {:>8} {:>9} {kib:>6} KiB {most:>8} {first:>6}", tally.puts, tally.gets)
}

fn requests(tally: &Tally, pes: u32) -> u64 {
    tally.requests(pes) + GREETING * u64::from(pes)
}

/// Requests that remain if votes, their outcome and addresses go through a tree of connections of our own: of the launcher it takes
/// the words of PE 0, the invitations, the addresses of each node, fetched by one other node, and two fences.
fn with_own_tree(pes: u32, nodes: u32) -> u64 {
    let (pes, nodes) = (u64::from(pes), u64::from(nodes));
    let (puts, gets) = (1 + 2 * nodes, pes + nodes);
    GREETING * pes + puts + gets + 2 * pes
}

fn each_node_a_server(tally: &Tally, pes: u32, nodes: u32, cost: f64) -> f64 {
    let of_a_node = requests(tally, pes) as f64 / f64::from(nodes) * cost;
    let depth = f64::from(nodes.next_power_of_two().trailing_zeros());
    let fences = tally.fences as f64 * 2.0 * depth * HOP.as_secs_f64();
    of_a_node + fences + tally.published as f64 / BYTES_A_SECOND
}

fn shown(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 1000.0 => format!("{s:.1} s"),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// The longest start among the PEs of a job, the shortest of three tries.
fn measure(pes: u32, nodes: u32) -> Result<f64, Error> {
    let failed = |why: String| Error::new(format!("a job of {pes} PEs could not be measured")).because(why);
    let me = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let mut oshrun = tool_job::launcher(me.with_file_name("oshrun"));
        oshrun.args(["-n", &pes.to_string(), "--nodes", &nodes.to_string()]).arg(&me).arg(AS_PE);
        let output = oshrun.output().map_err(|error| failed(format!("oshrun: {error}")))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let times: Vec<f64> = said.lines().filter_map(|line| line.parse().ok()).collect();
        if !output.status.success() || times.len() != pes as usize {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        best = best.min(times.into_iter().fold(0.0, f64::max));
    }
    Ok(best)
}

/// One PE of a measured job: makes the calls of a start and says how many seconds they took.
pub fn as_pe() -> Result<String, Error> {
    let begun = Instant::now();
    let job = Membership::join(&Settings::from_env()?.0)?;
    wireup::announce(&job, 0, &[7; 128])?;
    let gathered = node::share(&job, 0, Parcel::default(), |_| Ok(Parcel::default()))?;
    wireup::announced(&job, 0, &gathered.circle)?;
    wireup::agree(&job, 0, &gathered.circle, || vec![3; simulate::VOTE], |votes| Ok(votes[0].clone()))?;
    wireup::publish(&job, 0, &gathered.circle, vec![b'x'; ADDRESS])?;
    job.fence()?;
    let (places, mine) = (job.places(), job.node().index);
    wireup::PublishedAddresses::fetched_late(&job, 0).of(places.leader_of((mine + 1) % places.nodes()))?;
    let seconds = begun.elapsed().as_secs_f64();
    job.done();
    Ok(format!("{seconds}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_per_node_beats_one_server_and_both_beat_fetching_every_address() {
        // The largest takes half a minute in a debug build.
        let sizes = if std::env::var_os("CHECK_LONG").is_some() { &PREDICTED[..] } else { &PREDICTED[..2] };
        for &pes in sizes {
            let tally = simulate::start(pes, PER_NODE, ADDRESS).unwrap();
            let one = requests(&tally, pes);
            assert!(one < 14 * u64::from(pes), "{one} requests for {pes} PEs");
            let tree = with_own_tree(pes, pes.div_ceil(PER_NODE));
            assert!(tree < one && tree > one / 2, "{tree} instead of {one} requests for {pes} PEs");
            assert!(each_node_a_server(&tally, pes, pes.div_ceil(PER_NODE), 1e-5) < one as f64 * 1e-5);
            assert!(one < u64::from(pes) * u64::from(pes));
        }
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        assert_eq!([shown(0.0123), shown(12.0), shown(7200.0)], ["12.3 ms", "12.0 s", "2.0 h"]);
    }
}
