//! How PEs of different nodes find each other: one published value for each node, fetched when a PE needs it.
//!
//! A published value costs every launcher something, and a value that all PEs fetch costs N times as much. So PE 0
//! publishes the facts for all in one value, which the leaders fetch and hand on; a PE's address goes to its leader, which publishes
//! those of its node together. In jobs of few nodes the leaders of several PEs fetch the addresses of all nodes at the start and hand them on.
//! Elsewhere no PE fetches a node's addresses before it talks to that node. Launchers are asked O(1) times by each PE.

use std::collections::BTreeMap;

use oxshmem_base::Error;
use parking_lot::Mutex;

use crate::Membership;
use crate::node::Circle;

/// PE 0 says what all PEs must know. Others can have it after the next fence.
pub fn announce(job: &Membership, epoch: u32, words: &[u8]) -> Result<(), Error> {
    if job.rank() == 0 { job.put(&words_key(epoch), words) } else { Ok(()) }
}

/// The values that PE 0 has announced before the last fence, on every PE.
pub fn announced(job: &Membership, epoch: u32, circle: &Circle) -> Result<Vec<u8>, Error> {
    circle.spread(job, || heard(job, epoch))
}

/// The leader's part of it.
pub(crate) fn heard(job: &Membership, epoch: u32) -> Result<Vec<u8>, Error> {
    job.get(0, &words_key(epoch))
}

/// Collects a value from each node, lets PE 0 decide, and returns the decision on every PE. Only PE 0 asks once for each
/// node, which a launcher answers faster than it passes the values of all nodes on to all. Collective.
pub fn agree(
    job: &Membership,
    epoch: u32,
    circle: &Circle,
    mine: impl FnOnce() -> Vec<u8>,
    decide: impl FnOnce(Vec<Vec<u8>>) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    if job.node().my_index == 0 {
        vote(job, epoch, &mine())?;
    }
    job.fence()?;
    if job.rank() == 0 {
        count(job, epoch, decide)?;
    }
    job.fence()?;
    circle.spread(job, || outcome(job, epoch))
}

/// The leader's part of it. Keys are one space for all PEs.
pub(crate) fn vote(job: &Membership, epoch: u32, mine: &[u8]) -> Result<(), Error> {
    job.put(&vote_key(epoch, job.node().index), mine)
}

/// That of PE 0.
pub(crate) fn count(
    job: &Membership,
    epoch: u32,
    decide: impl FnOnce(Vec<Vec<u8>>) -> Result<Vec<u8>, Error>,
) -> Result<(), Error> {
    let of = |node| job.get(job.places().leader_of(node), &vote_key(epoch, node));
    let votes = (0..job.node().count).map(of).collect::<Result<_, Error>>()?;
    job.put(&outcome_key(epoch), &decide(votes)?)
}

/// The values that the leaders fetch in the end.
pub(crate) fn outcome(job: &Membership, epoch: u32) -> Result<Vec<u8>, Error> {
    job.get(0, &outcome_key(epoch))
}

/// Brings the addresses of this node's PEs together and publishes them. Others can have them after the next fence.
pub fn publish(job: &Membership, epoch: u32, circle: &Circle, address: Vec<u8>) -> Result<(), Error> {
    let addresses = circle.gather(job, address)?;
    if job.node().my_index == 0 { publish_all(job, epoch, &addresses) } else { Ok(()) }
}

/// The leader's part of it.
pub(crate) fn publish_all(job: &Membership, epoch: u32, addresses: &[Vec<u8>]) -> Result<(), Error> {
    job.put(&addresses_key(epoch, job.node().index), &together(addresses))
}

/// In jobs of at most this many nodes the leaders of several PEs fetch all addresses at the start. A PE that asks the
/// launcher in the middle of its work serves no peer meanwhile: with 256 PEs on 2 processors the launcher answered
/// late, and PEs that waited for its answer were taken for dead.
const FEW_NODES: u32 = 64;

/// The addresses that all nodes have published: what the leader has handed on. Others are fetched node by node, when an
/// address of the node is first needed.
#[derive(Debug)]
pub struct PublishedAddresses<'j> {
    job: &'j Membership,
    epoch: u32,
    nodes: Mutex<BTreeMap<u32, NodeAddresses>>,
}

/// The PEs of a node, ascending, with their addresses.
type NodeAddresses = Vec<(u32, Vec<u8>)>;

impl<'j> PublishedAddresses<'j> {
    /// Those that were published with this epoch before the last fence. Collective on the node.
    pub fn new(job: &'j Membership, epoch: u32, circle: &Circle) -> Result<PublishedAddresses<'j>, Error> {
        let addresses = PublishedAddresses::fetched_late(job, epoch);
        let nodes = job.node().count;
        if nodes > FEW_NODES || job.node().members.len() < 2 {
            return Ok(addresses);
        }
        let fetch = || (0..nodes).map(|node| addresses.published(node)).collect::<Result<Vec<_>, _>>();
        let all = circle.spread(job, || Ok(together(&fetch()?)))?;
        let all = apart(&all).filter(|all| all.len() == nodes as usize);
        let all = all.ok_or_else(|| addresses.no_addresses(job.node().index, 0))?;
        for (node, published) in (0..).zip(all) {
            let of_node = addresses.parse(node, &published)?;
            addresses.nodes.lock().insert(node, of_node);
        }
        Ok(addresses)
    }

    /// The same, none of which is fetched before it is needed.
    pub fn fetched_late(job: &'j Membership, epoch: u32) -> PublishedAddresses<'j> {
        PublishedAddresses { job, epoch, nodes: Mutex::default() }
    }

    fn published(&self, node: u32) -> Result<Vec<u8>, Error> {
        self.job.get(self.job.places().leader_of(node), &addresses_key(self.epoch, node))
    }

    /// The addresses of a node's PEs, of what its leader has published.
    fn parse(&self, node: u32, published: &[u8]) -> Result<NodeAddresses, Error> {
        let members = self.job.places().members_of(node);
        let addresses = apart(published).filter(|addresses| addresses.len() == members.len());
        let addresses = addresses.ok_or_else(|| self.no_addresses(node, published.len()))?;
        Ok(members.into_iter().zip(addresses).collect())
    }

    fn no_addresses(&self, node: u32, bytes: usize) -> Error {
        let members = self.job.places().pes_on(node);
        Error::new(format!("node {node} published something that is no set of {members} addresses"))
            .because(format!("it has {bytes} bytes"))
            .fix("run one version of oxshmem on all PEs")
    }

    /// The address of a PE.
    pub fn of(&self, pe: u32) -> Result<Vec<u8>, Error> {
        let node = self.job.places().node_of(pe);
        let mut nodes = self.nodes.lock();
        let addresses = match nodes.get(&node) {
            Some(addresses) => addresses,
            None => nodes.entry(node).or_insert(self.parse(node, &self.published(node)?)?),
        };
        let place = addresses.binary_search_by_key(&pe, |(member, _)| *member).expect("a PE is a member of its node");
        Ok(addresses[place].1.clone())
    }
}

fn words_key(epoch: u32) -> String {
    format!("words.{epoch}")
}

fn vote_key(epoch: u32, node: u32) -> String {
    format!("vote.{epoch}.{node}")
}

fn outcome_key(epoch: u32) -> String {
    format!("outcome.{epoch}")
}

fn addresses_key(epoch: u32, node: u32) -> String {
    format!("addresses.{epoch}.{node}")
}

/// Addresses of one node differ in little. Of each only what is between the beginning and the end that it shares with the
/// address before it is written: the lengths of the three parts, and the middle one.
fn together(addresses: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before: &[u8] = &[];
    for address in addresses {
        let room = address.len().min(before.len()).min(usize::from(u16::MAX));
        let same = |(a, b): &(&u8, &u8)| a == b;
        let head = address.iter().zip(before).take(room).take_while(same).count();
        let tail = address.iter().rev().zip(before.iter().rev()).take(room - head).take_while(same).count();
        let middle = &address[head..address.len() - tail];
        bytes.extend((head as u16).to_le_bytes());
        bytes.extend((tail as u16).to_le_bytes());
        bytes.extend((middle.len() as u32).to_le_bytes());
        bytes.extend(middle);
        before = address;
    }
    bytes
}

/// Takes apart what [`together`] made, and nothing else.
fn apart(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut addresses: Vec<Vec<u8>> = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_first_chunk()?;
        let (tail, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (head, tail) = (usize::from(u16::from_le_bytes(*head)), usize::from(u16::from_le_bytes(*tail)));
        let (middle, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let before = addresses.last().map_or(&[][..], Vec::as_slice);
        let tail_at = before.len().checked_sub(tail).filter(|&at| at >= head)?;
        addresses.push([&before[..head], middle, &before[tail_at..]].concat());
        bytes = rest;
    }
    Some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_node_of_many_takes_little_room() {
        let address =
            |pe: u32| format!("oxtcp1 {}\nboot 0123456789abcdef net:[4026531840]\n10.0.4.5", 40000 + pe).into_bytes();
        let addresses: Vec<Vec<u8>> = (0..128).map(address).collect();
        let bytes = together(&addresses);
        assert!(bytes.len() < 128 * 12, "{} bytes for addresses of {}", bytes.len(), addresses[0].len());
        assert_eq!(apart(&bytes), Some(addresses));
    }

    proptest! {
        #[test]
        fn addresses_survive(addresses in proptest::collection::vec("[ab]{0,12}", 0..20)) {
            let addresses: Vec<Vec<u8>> = addresses.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(apart(&together(&addresses)), Some(addresses));
        }

        #[test]
        fn garbage_is_refused_and_takes_no_room(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(addresses) = apart(&bytes) {
                prop_assert!(addresses.len() <= bytes.len() / 8);
            }
        }
    }
}
