//! The arguments that the ways of a collective have in common.

use oxshmem_reduce::Kernel;
use oxshmem_schedule::algorithm::Operator;

use crate::transfers::length;

/// Combines `n` elements of all members.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    /// The freedom that the operator leaves to the order.
    pub(crate) operator: Operator,
    pub(crate) kernel: Kernel,
    /// Bytes of an element.
    pub(crate) element: usize,
    pub(crate) dest: *mut u8,
    pub(crate) source: *const u8,
    pub(crate) n: usize,
}

impl Reduction {
    /// Bytes of an array.
    pub(crate) fn bytes(&self) -> usize {
        length::of(self.n, self.element)
    }
}

/// Copies `bytes` bytes from the root's source to every member's destination; to the root's own only if `to_root`.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) dest: *mut u8,
    pub(crate) source: *const u8,
    pub(crate) bytes: usize,
    pub(crate) root: u32,
    pub(crate) to_root: bool,
}
