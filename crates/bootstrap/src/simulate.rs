//! The requests of a starting job to its launcher, counted at sizes that no machine here has.
//!
//! The real calls of a start of many nodes are made against a manager that counts. Each address is fetched when it is
//! needed. PE 0 makes the calls, and so do the leader of every node and one other PE of it, which stands for the rest
//! of the node: all of them ask the same.

use std::collections::HashMap;
use std::sync::Arc;

use oxshmem_base::Error;
use parking_lot::Mutex;

use crate::manager::{Found, Manager};
use crate::{Membership, mapping, node, pmi1, wireup};

/// All requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values published.
    pub puts: u64,
    /// Values fetched.
    pub gets: u64,
    /// Fences of the whole job.
    pub fences: u64,
    /// Bytes published.
    pub published: u64,
    /// Bytes fetched.
    pub fetched: u64,
    /// Values that PE 0 publishes and fetches; it hears what every node could do.
    pub first: u64,
    /// Those of the busiest of the others.
    pub most: u64,
}

impl Tally {
    /// Everything that a server hears, with a word of each PE for each fence.
    pub fn requests(&self, pes: u32) -> u64 {
        self.puts + self.gets + self.fences * u64::from(pes)
    }
}

/// Bytes of what a node says of the transports that it has.
pub const VOTE: usize = 300;

/// The start of a job of `pes` PEs in blocks of `per_node`, whose addresses have `address` bytes. Every PE then asks for the address
/// of one PE of another node.
pub fn start(pes: u32, per_node: u32, address: usize) -> Result<Tally, Error> {
    let mut stage = SimulatedJob::new(pes, per_node)?;
    for node in 0..stage.nodes.len() {
        stage.act(node, StandIn::Leader, 1, |job| {
            wireup::announce(job, 0, &[7; 128]).and_then(|()| node::invite(job, 0))
        })?;
    }
    stage.tally.fences += 1;
    for node in 0..stage.nodes.len() {
        let members = stage.nodes[node].leader.node().members.clone();
        let others = members.len() as u64 - 1;
        stage.act(node, StandIn::Leader, 1, |job| wireup::heard(job, 0).map(drop))?;
        stage.act(node, StandIn::Other, others, |job| node::invited(job, 0))?;
        stage.act(node, StandIn::Leader, 1, |job| wireup::vote(job, 0, &[3; VOTE]))?;
    }
    stage.tally.fences += 1;
    stage.act(0, StandIn::Leader, 1, |job| wireup::count(job, 0, |votes| Ok(votes[0].clone())))?;
    stage.tally.fences += 1;
    for node in 0..stage.nodes.len() {
        let members = stage.nodes[node].leader.node().members.clone();
        stage.act(node, StandIn::Leader, 1, |job| wireup::outcome(job, 0).map(drop))?;
        let addresses: Vec<Vec<u8>> = members.iter().map(|pe| example(*pe, address)).collect();
        stage.act(node, StandIn::Leader, 1, |job| wireup::publish_all(job, 0, &addresses))?;
    }
    stage.tally.fences += 1;
    for node in 0..stage.nodes.len() {
        let peer = stage.nodes[(node + 1) % stage.nodes.len()].leader.rank();
        let members = stage.nodes[node].leader.node().members.len() as u64;
        stage.act(node, StandIn::Everybody, members, |job| {
            let found = wireup::PublishedAddresses::fetched_late(job, 0).of(peer)?;
            assert_eq!(found, example(peer, address), "the simulated launcher keeps what it is given");
            Ok(())
        })?;
    }
    let mut asked = stage.nodes.iter().map(|node| node.asked);
    let [first, other] = asked.next().unwrap_or_default();
    let most = asked.flatten().fold(other, u64::max);
    Ok(Tally { first, most, ..stage.tally })
}

/// The simulated job.
struct SimulatedJob {
    shared: Arc<Shared>,
    nodes: Vec<Actors>,
    tally: Tally,
}

/// The PEs of a node that make calls.
struct Actors {
    leader: Membership,
    other: Option<Membership>,
    /// The requests of the leader, and those of each other PE.
    asked: [u64; 2],
}

/// The PEs of a node that one PE stands for.
#[derive(Clone, Copy)]
enum StandIn {
    Leader,
    Other,
    /// The leader, which stands for all.
    Everybody,
}

impl SimulatedJob {
    fn new(pes: u32, per_node: u32) -> Result<SimulatedJob, Error> {
        let shared = Arc::new(Shared { nodes: nodes(pes, per_node), ..Shared::default() });
        let job = |rank: u32| Membership::of(Box::new(Counting { rank, shared: Arc::clone(&shared) }));
        let actors = |first: u32| {
            let other = Some(first + 1).filter(|other| per_node > 1 && *other < pes);
            Ok(Actors { leader: job(first)?, other: other.map(job).transpose()?, asked: [0; 2] })
        };
        let nodes = (0..pes).step_by(per_node as usize).map(actors).collect::<Result<_, Error>>()?;
        Ok(SimulatedJob { shared, nodes, tally: Tally::default() })
    }

    /// Lets one PE of a node act for `weight` PEs.
    fn act(
        &mut self,
        node: usize,
        who: StandIn,
        weight: u64,
        act: impl FnOnce(&Membership) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Actors { leader, other, asked } = &mut self.nodes[node];
        let (job, acting) = match who {
            StandIn::Leader => (Some(&*leader), [1, 0]),
            StandIn::Other => (other.as_ref(), [0, 1]),
            StandIn::Everybody => (Some(&*leader), [1, u64::from(other.is_some())]),
        };
        *self.shared.counts.lock() = RequestCounts::default();
        job.map_or(Ok(()), act)?;
        let counts = self.shared.counts.lock();
        let tally = &mut self.tally;
        tally.puts += weight * counts.puts;
        tally.gets += weight * counts.gets;
        tally.published += weight * counts.published;
        tally.fetched += weight * counts.fetched;
        for (asked, acts) in asked.iter_mut().zip(acting) {
            *asked += acts * (counts.puts + counts.gets);
        }
        Ok(())
    }
}

fn nodes(pes: u32, per_node: u32) -> Vec<u32> {
    let text = mapping::vector(pes, per_node);
    mapping::nodes_of(&text, pes).expect("our own mapping is understood")
}

/// An address like those of TCP: a port that differs, and addresses that the node's PEs share.
fn example(pe: u32, length: usize) -> Vec<u8> {
    let mut address = format!("oxtcp1 {}\n", 20000 + pe % 40000).into_bytes();
    address.resize(length.max(address.len()), b'x');
    address
}

/// The state that all simulated PEs see.
#[derive(Debug, Default)]
struct Shared {
    nodes: Vec<u32>,
    values: Mutex<HashMap<String, String>>,
    counts: Mutex<RequestCounts>,
}

#[derive(Debug, Default)]
struct RequestCounts {
    puts: u64,
    gets: u64,
    published: u64,
    fetched: u64,
}

/// The manager of one simulated PE.
#[derive(Debug)]
struct Counting {
    rank: u32,
    shared: Arc<Shared>,
}

impl Manager for Counting {
    fn protocol(&self) -> String {
        "simulation".into()
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.shared.nodes.len() as u32
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        Ok(Some(self.shared.nodes.clone()))
    }

    fn longest(&self) -> usize {
        pmi1::LIMITS.value - 1
    }

    fn put(&self, key: &str, text: &str) -> Result<(), Error> {
        let mut counts = self.shared.counts.lock();
        counts.puts += 1;
        counts.published += (key.len() + text.len()) as u64;
        let before = self.shared.values.lock().insert(key.into(), text.into());
        assert_eq!(before, None, "no key is put twice");
        Ok(())
    }

    fn fence(&self) -> Result<(), Error> {
        Ok(())
    }

    fn get(&self, _: u32, key: &str) -> Result<Found, Error> {
        let found = self.shared.values.lock().get(key).cloned();
        let mut counts = self.shared.counts.lock();
        counts.gets += 1;
        counts.fetched += found.as_ref().map_or(0, |text| (key.len() + text.len()) as u64);
        Ok(found.ok_or_else(|| "nobody put it".into()))
    }

    fn abort(&self, _: i32, _: &str) {}

    fn finalize(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_19_no_pe_asks_more_in_a_larger_job() {
        let small = start(256, 16, 120).unwrap();
        for pes in [1024, 4096] {
            let large = start(pes, 16, 120).unwrap();
            assert_eq!(large.most, small.most, "{large:?} beside {small:?}");
            // PE 0 asks once for each node, and no PE once for each PE.
            assert_eq!(large.first - small.first, u64::from((pes - 256) / 16), "{large:?} beside {small:?}");
            let grown = u64::from(pes / 256);
            assert!(large.gets <= grown * small.gets + grown && large.puts <= grown * small.puts, "{large:?}");
        }
    }

    #[test]
    fn a_node_publishes_three_values_and_pe_0_two_more() {
        let tally = start(64, 8, 40).unwrap();
        assert_eq!((tally.puts, tally.fences), (8 * 3 + 2, 4));
        // Leaders fetch PE 0's words and its decision, PE 0 their votes, the others their invitation, and all of them one
        // node's addresses.
        assert_eq!(tally.gets, 64 + 8 + 8 + 64);
        assert_eq!((tally.first, tally.most), (5 + 2 + 8 + 1, 6));
    }

    #[test]
    fn uneven_nodes_and_single_pes_start_too() {
        for (pes, per_node) in [(1, 1), (5, 1), (7, 3), (4, 9)] {
            assert!(start(pes, per_node, 300).is_ok(), "{pes} by {per_node}");
        }
    }
}
