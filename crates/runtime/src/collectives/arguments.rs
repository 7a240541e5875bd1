//! The arguments that the ways of a collective have in common.

use core::ptr;

use oxshmem_reduce::{Kernel, Kind, Op};
use oxshmem_schedule::algorithm::OperatorLaw;
use oxshmem_schedule::way::ReduceFacts;

use crate::transfers::length;

/// Combines `n` elements of all members.
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    /// The freedom that the operator leaves to the order.
    pub(crate) law: OperatorLaw,
    pub(crate) kernel: Kernel,
    /// Bytes of an element.
    pub(crate) element: usize,
    pub(crate) dest: *mut u8,
    pub(crate) source: *const u8,
    pub(crate) n: usize,
}

impl Reduction {
    /// The facts on which its way depends.
    pub(crate) fn facts(&self) -> ReduceFacts {
        let Self { law, element, n, .. } = *self;
        ReduceFacts { law, element, n, in_place: ptr::eq(self.dest, self.source) }
    }

    /// Bytes of an array.
    pub(crate) fn bytes(&self) -> usize {
        length::of(self.n, self.element)
    }
}

/// The freedom that the operator gives to a schedule with operands of that kind.
pub(crate) fn allowed(op: Op, kind: Kind) -> OperatorLaw {
    let integer =
        matches!(kind, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64);
    match op {
        Op::And | Op::Or | Op::Max | Op::Min => OperatorLaw::Idempotent,
        Op::Xor => OperatorLaw::Exact,
        Op::Sum | Op::Prod if integer => OperatorLaw::Exact,
        Op::Sum | Op::Prod => OperatorLaw::FixedTree,
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
