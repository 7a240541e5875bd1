//! Prefix sums: what each way does, and the parts on one node.

use core::mem::MaybeUninit;
use core::ptr;

use oxshmem_reduce::{Kernel, Op, Operand, Sum};
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;

use crate::collectives::arguments::{Reduction, allowed};
use crate::collectives::between_nodes::{self, eager};
use crate::collectives::call::{Call, member_share};
use crate::collectives::signature::CallKind;
use crate::collectives::way::{self, Asked};
use crate::collectives::{reduce, run};
use crate::transfers::length;

/// Bytes of a block that is carried along the members.
const BLOCK: usize = 2048;

/// Every member gets the sum over the members before it, and over itself if `inclusive`. Zero where there are none.
///
/// # Safety
/// As for `reduce`.
pub(crate) unsafe fn scan<T: Operand<Sum>>(call: Call<'_>, dest: *mut T, source: *const T, n: usize, inclusive: bool) {
    let bytes = length::bytes::<T>(n);
    let call = call.declare(if inclusive { CallKind::Inscan } else { CallKind::Exscan }, bytes, T::KIND as u32);
    if n == 0 {
        return;
    }
    call.require_symmetric((dest.cast(), bytes), (source.cast(), bytes));
    let (kernel, element, law) = (Kernel::of::<Sum, T>(), size_of::<T>(), allowed(Op::Sum, T::KIND));
    let reduction = Reduction { law, kernel, element, dest: dest.cast(), source: source.cast(), n };
    let way = way::of_bytes(call, bytes, Asked::Scan { facts: reduction.facts(), inclusive });
    if let CollectiveWay::Schedule(schedule, piece) = way {
        let plan = Plan::new(call.team.size, n as u64);
        // SAFETY: the caller promises symmetric arrays of `n` numbers, the same or disjoint.
        return unsafe { run::on_node(call, schedule, piece, plan, reduction.arrays()) };
    }
    let terms = call.team.my + u32::from(inclusive);
    if way == CollectiveWay::Exchange {
        // SAFETY: the caller promises symmetric arrays of `n` numbers, which fit a payload where the way is an exchange; all bits zero is
        // the number zero of every type that has a sum.
        return unsafe {
            reduce::in_payload::<Sum, T>(call, dest, source, n, |member| member < terms);
            if terms == 0 {
                ptr::write_bytes(dest, 0, n);
            }
        };
    }
    if way == CollectiveWay::NodeEager {
        // SAFETY: the caller promises symmetric arrays of `n` numbers, which fit a buffer where the way is eager; at most all members
        // come up to itself.
        return unsafe { reduce::fold_first(call, reduction, terms) };
    }
    if let (CollectiveWay::Gathered(way), Some(span)) = (way, &call.team.span) {
        // SAFETY: the caller promises symmetric arrays of `n` numbers, the same or disjoint; at most all members come up to itself.
        return unsafe { eager::fold_first(call, span, way, reduction, terms) };
    }
    if let (CollectiveWay::Pieces(n), Some(span)) = (way, &call.team.span) {
        for piece in reduction.pieces(n) {
            let way = way::of(call, Asked::Scan { facts: piece.facts(), inclusive });
            let CollectiveWay::Gathered(way) = way else { unreachable!("a piece of prefix sums goes by {way:?}") };
            // SAFETY: the caller promises symmetric arrays of `n` numbers, the same or disjoint; at most all members come up to itself.
            unsafe { eager::fold_first(call, span, way, piece, terms) };
        }
        return;
    }
    if call.team.span.is_some() {
        // SAFETY: the caller promises symmetric arrays of `n` numbers, the same or disjoint.
        return unsafe { between_nodes::reduce::scan(call, dest, source, n, inclusive) };
    }
    call.enter_to_write(dest.cast(), bytes, call.compared_name(source.cast()));
    let (begin, end) = member_share(n, size_of::<T>(), call.team.my as usize, call.team.size as usize);
    let step = (BLOCK / size_of::<T>()).max(1);
    let mut at = begin;
    while at < end {
        let count = step.min(end - at);
        // SAFETY: all members have entered, and this part of all their arrays, at most a block, is ours.
        unsafe { carry(call, dest, source, n, at, count, inclusive) };
        at += count;
    }
    call.leave();
}

/// Carries the running sums of elements `at .. at + count` along all members.
///
/// # Safety
/// All members have entered with symmetric arrays of `n` numbers, the same or disjoint, and no other member touches these elements now. They
/// are no longer than a [`BLOCK`].
unsafe fn carry<T: Operand<Sum>>(
    call: Call<'_>,
    dest: *mut T,
    source: *const T,
    n: usize,
    at: usize,
    count: usize,
    inclusive: bool,
) {
    let bytes = n * size_of::<T>();
    let mut sums = [MaybeUninit::<u64>::uninit(); BLOCK / 8];
    let sums = sums.as_mut_ptr().cast::<T>();
    for member in 0..call.team.size {
        let from = call.at(member, source.cast(), bytes).cast::<T>().wrapping_add(at);
        let to = call.at(member, dest.cast(), bytes).cast::<T>().wrapping_add(at);
        for i in 0..count {
            // SAFETY: `sums` has room for a block, and is filled from member 0 on; the member's element is read before
            // its destination, which may be the same, is written.
            unsafe {
                let value = from.add(i).read();
                let before = if member == 0 { core::mem::zeroed() } else { sums.add(i).read_unaligned() };
                let with = if member == 0 { value } else { <T as Operand<Sum>>::combine(before, value) };
                sums.add(i).write_unaligned(with);
                to.add(i).write(if inclusive { with } else { before });
            }
        }
    }
}
