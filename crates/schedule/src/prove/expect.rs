//! The contents of `dest` after a call, and the lengths of a call's arrays.

use super::memory::ProofValue;
use super::{Fault, ProofCall, fault};
use crate::algorithm::census::Round;
use crate::algorithm::gather::Shares;
use crate::algorithm::{Collective, OperatorLaw};
use alloc::vec::Vec;

/// The length of a PE's block in a collect: small, different, sometimes nothing.
pub(super) fn block_length(rank: u32, call: u64) -> u64 {
    (u64::from(rank * 7 + rank / 5) + call * 3) % 4
}

/// The sum of the block lengths of `ranks`.
pub(super) fn lengths(ranks: impl Iterator<Item = u32>, call: u64) -> u64 {
    ranks.map(|rank| block_length(rank, call)).sum()
}

/// Elements of source and dest.
pub(super) fn extents(call: &ProofCall, size: u32, number: u64) -> (u64, u64) {
    let n = u64::from(size);
    match call.wanted {
        Collective::Sync => (0, 0),
        Collective::Fcollect => (call.count, n * call.count),
        Collective::Collect => (4, lengths(0..size, number)),
        Collective::Shares => (1, u64::from(Shares::results(size))),
        Collective::Alltoall => (n * call.count, n * call.count),
        _ => (call.count, call.count),
    }
}

/// The name of an element of the sources of a call.
pub(crate) fn element(number: u64, at: u64) -> u64 {
    number << 32 | at
}

/// Which operands, and of which element, the elements of dest must hold on `rank`.
fn wanted(call: &ProofCall, size: u32, rank: u32, number: u64) -> Vec<(u64, u64)> {
    let all = |ranks: core::ops::Range<u32>| ranks.fold(0u64, |mask, rank| mask | 1 << rank);
    let same = |mask: u64| (0..call.count).map(|i| (mask, i)).collect();
    let blocks = |first: u64| {
        (0..size).flat_map(|from| (0..call.count).map(move |i| (1u64 << from, first * call.count + i))).collect()
    };
    match call.wanted {
        Collective::Sync => Vec::new(),
        Collective::Reduce(_) => same(all(0..size)),
        Collective::Inscan => same(all(0..rank + 1)),
        Collective::Exscan => same(all(0..rank)),
        Collective::Broadcast => same(1 << call.root),
        Collective::Fcollect => blocks(0),
        Collective::Alltoall => blocks(u64::from(rank)),
        Collective::Collect => {
            (0..size).flat_map(|from| (0..block_length(from, number)).map(move |i| (1u64 << from, i))).collect()
        }
        Collective::Shares => {
            let window = |len: u32| (1..=len).fold(0u64, |mask, back| mask | 1 << ((rank + size - back) % size));
            let windows = (0..Round::count(size)).map(|r| (window(Round::of(size, r).window), 0));
            windows.chain([(all(0..size), 0), (all(0..rank), 0)]).collect()
        }
    }
}

/// Whether a value is what a collective has to make of the operands of the PEs `mask`; with no look at their order.
pub(crate) fn is_right(wanted: Collective, found: ProofValue, element: u64, mask: u64) -> bool {
    match found {
        ProofValue::Zero => mask == 0,
        ProofValue::Undefined => false,
        ProofValue::Operands { element: of_element, of, repeated, .. } => {
            let forgiven = wanted == Collective::Reduce(OperatorLaw::Idempotent);
            of_element == element && of == mask && (!repeated || forgiven)
        }
    }
}

/// Compares dest with what it must be. `trees` remembers the association the first PE came with.
pub(super) fn check(
    call: &ProofCall,
    size: u32,
    rank: u32,
    number: u64,
    dest: &[ProofValue],
    trees: &mut Vec<u64>,
) -> Result<(), Fault> {
    for (at, (mask, index)) in wanted(call, size, rank, number).into_iter().enumerate() {
        let found = dest[at];
        if !is_right(call.wanted, found, element(number, index), mask) {
            return Err(fault!(
                Result,
                "call {number}, PE {rank} of {size}: dest[{at}] is {found:x?}, not element {index} of PEs {mask:#x}"
            ));
        }
        if let (Collective::Reduce(OperatorLaw::FixedTree), ProofValue::Operands { tree, .. }) = (call.wanted, found) {
            if trees.len() == at {
                trees.push(tree);
            }
            if trees[at] != tree {
                return Err(fault!(
                    Association,
                    "call {number}: PE {rank} of {size} associates dest[{at}] its own way"
                ));
            }
        }
    }
    Ok(())
}
