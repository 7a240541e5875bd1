//! The arguments that the ways of a collective have in common.

use core::ops::Range;
use core::ptr;

use oxshmem_reduce::{Kernel, Kind, Op, Store};
use oxshmem_schedule::algorithm::OperatorLaw;
use oxshmem_schedule::way::ReduceFacts;

use crate::collectives::call::Call;
use crate::collectives::run::Arrays;
use crate::teams::span::Span;
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
    /// Of the caller's words, in place, by an operator that forgives repetition.
    pub(crate) fn of_words(kernel: Kernel, words: &mut [u64]) -> Self {
        let (dest, n) = (words.as_mut_ptr().cast(), words.len());
        Self { law: OperatorLaw::Idempotent, kernel, element: size_of::<u64>(), dest, source: dest, n }
    }

    /// The facts on which its way depends.
    pub(crate) fn facts(&self) -> ReduceFacts {
        let Self { law, element, n, .. } = *self;
        ReduceFacts { law, element, n, in_place: ptr::eq(self.dest, self.source) }
    }

    /// Its arrays, as a schedule takes them.
    pub(crate) fn arrays(&self) -> Arrays<'static> {
        let Self { kernel, element, dest, source, .. } = *self;
        Arrays { dest, room: self.bytes(), source, element, kernel: Some(kernel), ..Arrays::NONE }
    }

    /// The same of at most `n` elements each, one after the other.
    pub(crate) fn pieces(self, n: usize) -> impl Iterator<Item = Self> {
        (0..self.n).step_by(n).map(move |first| Self {
            dest: self.dest.wrapping_add(first * self.element),
            source: self.source.wrapping_add(first * self.element),
            n: n.min(self.n - first),
            ..self
        })
    }

    /// Bytes of an array.
    pub(crate) fn bytes(&self) -> usize {
        length::of(self.n, self.element)
    }

    /// Combines these operands, in this order, in the destination; of none it makes zeros.
    ///
    /// # Safety
    /// Each operand and the destination have `n` elements. All bits zero is the number zero of every type that may have no operands.
    pub(crate) unsafe fn fold(&self, operands: &[*const u8]) {
        // SAFETY: the caller promises the elements.
        unsafe {
            match operands {
                [] => ptr::write_bytes(self.dest, 0, self.bytes()),
                operands => self.kernel.fold(self.dest, operands, self.n, Store::Cached),
            }
        }
    }

    /// Combines the elements `range` of the sources of all members on the caller's node, in `into`.
    ///
    /// # Safety
    /// These members are ready: nobody writes their sources. `into` has room for the elements, and nobody else looks at it.
    pub(crate) unsafe fn fold_node(&self, call: Call<'_>, span: &Span, range: Range<usize>, into: *mut u8) {
        let begin = range.start * self.element;
        let operand = |member| call.at(member, self.source, self.bytes()).wrapping_add(begin).cast_const();
        let operands: Vec<*const u8> = span.here().map(operand).collect();
        // SAFETY: the caller promises the elements.
        unsafe { self.kernel.fold(into, &operands, range.len(), Store::Cached) };
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

impl Spread {
    /// Member `my` contributes what it has for the others: if it is the root, it copies the payload to `at`.
    ///
    /// # Safety
    /// There is room for the payload, and the root's source has it.
    pub(crate) unsafe fn contribute(&self, my: u32, at: *mut u8) {
        if my == self.root {
            // SAFETY: the caller promises both.
            unsafe { ptr::copy_nonoverlapping(self.source, at, self.bytes) };
        }
    }

    /// Member `my` takes the payload, which is at `at`; the root has it in its source.
    ///
    /// # Safety
    /// The payload is there, and the destination has the room.
    pub(crate) unsafe fn take(&self, my: u32, at: *const u8) {
        let Self { dest, source, bytes, root, to_root } = *self;
        if my != root {
            // SAFETY: the caller promises both.
            unsafe { ptr::copy_nonoverlapping(at, dest, bytes) };
        } else if to_root && !ptr::eq(dest, source) {
            // SAFETY: both have the bytes, as the call demands.
            unsafe { ptr::copy(source, dest, bytes) };
        }
    }
}
