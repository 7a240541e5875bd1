//! The abstract memory: what each element holds, which PE touched it last, and whether a remote write to it is under
//! way.

use super::{Fault, fault};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The abstract content of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofValue {
    /// The initial contents, which may be anything.
    Undefined,
    /// The number zero.
    Zero,
    /// A reduction of operands.
    Operands {
        /// Which element of the sources, and of which call.
        element: u64,
        /// The PEs whose operand is in.
        of: u64,
        /// Whether one is in twice.
        repeated: bool,
        /// The association, hashed.
        tree: u64,
    },
}

impl ProofValue {
    pub(crate) fn operand(rank: u32, element: u64) -> Self {
        Self::Operands { element, of: 1 << rank, repeated: false, tree: hash(u64::from(rank) + 1, element) }
    }

    /// `self ∘ right`.
    pub(crate) fn with(self, right: Self) -> Self {
        match (self, right) {
            (Self::Zero, other) | (other, Self::Zero) => other,
            (
                Self::Operands { element, of, repeated, tree },
                Self::Operands { element: element2, of: of2, repeated: repeated2, tree: tree2 },
            ) if element == element2 => Self::Operands {
                element,
                of: of | of2,
                repeated: repeated || repeated2 || of & of2 != 0,
                tree: hash(tree, tree2),
            },
            _ => Self::Undefined,
        }
    }
}

fn hash(left: u64, right: u64) -> u64 {
    let mixed = (left.rotate_left(23) ^ right.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(left << 7);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[derive(Clone, Copy)]
struct ProofCell {
    value: ProofValue,
    /// The owner's time when it last touched the element, or saw the signal of a write to it.
    touched: u32,
    /// The write under way.
    pending: Option<u32>,
}

/// The memory of one PE.
pub(super) struct ProofMemory {
    rank: usize,
    cells: Vec<ProofCell>,
}

impl ProofMemory {
    pub(super) fn new(rank: usize, len: usize) -> Self {
        Self { rank, cells: vec![ProofCell { value: ProofValue::Undefined, touched: 0, pending: None }; len] }
    }

    /// The owner reads.
    pub(super) fn read(&mut self, at: usize, now: u32) -> Result<ProofValue, Fault> {
        self.touch(at, now)?;
        Ok(self.cells[at].value)
    }

    /// The owner writes.
    pub(super) fn write(&mut self, at: usize, now: u32, value: ProofValue) -> Result<(), Fault> {
        self.touch(at, now)?;
        self.cells[at].value = value;
        Ok(())
    }

    fn touch(&mut self, at: usize, now: u32) -> Result<(), Fault> {
        let cell = &mut self.cells[at];
        if cell.pending.is_some() {
            return Err(fault!(Race, "PE {} uses element {at} while a write to it is under way", self.rank));
        }
        cell.touched = now;
        Ok(())
    }

    /// Another PE, which knows the owner up to `known`, writes.
    pub(super) fn land(&mut self, at: usize, write: u32, known: u32, value: ProofValue) -> Result<(), Fault> {
        let cell = &mut self.cells[at];
        if cell.pending.is_some() || cell.touched > known {
            return Err(fault!(
                Race,
                "a write lands on element {at} of PE {} (last touched at {}, writer knows {known}, another write under \
                 way: {})",
                self.rank,
                cell.touched,
                cell.pending.is_some()
            ));
        }
        cell.pending = Some(write);
        cell.value = value;
        Ok(())
    }

    /// The owner has seen the signal of `write`.
    pub(super) fn seen(&mut self, range: Range<usize>, write: u32, now: u32) {
        for cell in &mut self.cells[range] {
            if cell.pending == Some(write) {
                cell.pending = None;
                cell.touched = now;
            }
        }
    }
}
