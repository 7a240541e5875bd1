//! The description of the machine that the node's leader, which alone has looked at it, hands to the PEs of the node.

use crate::node::Node;
use crate::placement::{PePlace, groups};

/// One PE's part.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Share {
    /// The processors to be bound to; empty to stay as it is.
    pub bind: Vec<u32>,
    /// The system's number of the NUMA node for its memory, where there is a choice.
    pub numa: Option<u32>,
    /// The names of network cards, its own first and the others in the order in which it would use several.
    pub nics: Vec<String>,
    /// Which group of PEs around one L3 it belongs to.
    pub l3_group: u32,
    /// Which group of PEs on one NUMA node it belongs to.
    pub numa_group: u32,
    /// Which group of PEs on one package it belongs to.
    pub package_group: u32,
}

/// The parts of PEs at these places, with their cards (`nic::rails`); `bind` says whether the places are still to be taken.
pub fn shares(node: &Node, places: &[PePlace], rails: &[Vec<u32>], bind: bool) -> Vec<Share> {
    let groups = groups(places);
    let choice = node.memories.len() > 1;
    let share = |(pe, place): (usize, &PePlace)| Share {
        bind: if bind { place.cpus.clone() } else { Vec::new() },
        numa: place.numa.filter(|_| choice).map(|numa| node.memories[numa as usize].number),
        nics: rails[pe].iter().map(|&nic| node.nics[nic as usize].name.clone()).collect(),
        l3_group: groups.l3[pe],
        numa_group: groups.numa[pe],
        package_group: groups.package[pe],
    };
    places.iter().enumerate().map(share).collect()
}

/// As bytes, to be sent to PEs that run the same version.
pub fn encode(shares: &[Share]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for share in shares {
        // No name of a device has a line's end.
        let names = share.nics.join("\n");
        let numa = share.numa.unwrap_or(u32::MAX);
        let groups = [share.l3_group, share.numa_group, share.package_group];
        let words = [share.bind.len() as u32, names.len() as u32, numa];
        bytes.extend(words.iter().chain(&groups).chain(&share.bind).flat_map(|word| word.to_le_bytes()));
        bytes.extend(names.as_bytes());
    }
    bytes
}

/// Takes apart what [`encode`] made, and nothing else.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Share>> {
    let mut shares = Vec::new();
    let word = |bytes: &mut &[u8]| {
        let (word, rest) = bytes.split_first_chunk::<4>()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*word))
    };
    while !bytes.is_empty() {
        let (cpus, names) = (word(&mut bytes)?, word(&mut bytes)?);
        let numa = Some(word(&mut bytes)?).filter(|&numa| numa != u32::MAX);
        let (l3_group, numa_group, package_group) = (word(&mut bytes)?, word(&mut bytes)?, word(&mut bytes)?);
        let bind = (0..cpus).map(|_| word(&mut bytes)).collect::<Option<_>>()?;
        let (names, rest) = bytes.split_at_checked(names as usize)?;
        bytes = rest;
        let nics = str::from_utf8(names).ok()?.lines().map(String::from).collect();
        shares.push(Share { bind, numa, nics, l3_group, numa_group, package_group });
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_arrive_as_they_were_sent() {
        let shares = [
            Share {
                bind: vec![3, 7],
                numa: Some(1),
                nics: vec!["mlx5_0".into(), "mlx5_1".into()],
                l3_group: 4,
                numa_group: 1,
                package_group: 2,
            },
            Share::default(),
        ];
        let bytes = encode(&shares);
        assert_eq!(decode(&bytes).as_deref(), Some(&shares[..]));
        let whole = encode(&shares[..1]).len();
        for cut in 1..bytes.len() {
            assert_eq!(decode(&bytes[..cut]).is_some(), cut == whole, "{cut}");
        }
    }

    #[test]
    fn more_processors_than_bytes_are_refused() {
        assert_eq!(decode(&[0xff; 40]), None);
    }
}
