//! Reductions: what each way does, and the parts on one node.

use core::ptr;

use oxshmem_reduce::{Kernel, Op, Operand, Operator, Store};
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::CollectiveWay;
use oxshmem_schedule::way::size_limits::PAYLOAD;

use crate::collectives::arguments::{Reduction, allowed};
use crate::collectives::between_nodes::reduce::{reduce_by_nodes, reduce_in_order};
use crate::collectives::between_nodes::{self, eager, slices};
use crate::collectives::call::{Call, member_share};
use crate::collectives::levels;
use crate::collectives::node_eager;
use crate::collectives::node_exchange;
use crate::collectives::on_node::{payload, words_of};
use crate::collectives::run;
use crate::collectives::signature::CallKind;
use crate::collectives::way::{self, Asked};
use crate::transfers::length;

/// Teams up to this size find room for their pointers on the stack.
const ON_STACK: usize = 16;

/// Combines `n` elements of all members, in team order; all members get the result.
///
/// # Safety
/// As the standard asks of the call: `dest` and `source` are symmetric arrays of `n` elements, the same or disjoint.
#[inline(always)]
pub(crate) unsafe fn reduce<O: Operator, T: Operand<O>>(call: Call<'_>, dest: *mut T, source: *const T, n: usize) {
    let bytes = length::bytes::<T>(n);
    let call = call.declare(const { kind_of(O::OP) }, bytes, T::KIND as u32);
    if n == 0 {
        return;
    }
    call.require_symmetric((dest.cast(), bytes), (source.cast(), bytes));
    if bytes <= PAYLOAD && call.team.is_plain() {
        // SAFETY: the caller promises symmetric arrays of `n` elements, which fit a payload here.
        return unsafe { by_exchange::<O, T>(call, dest, source, n) };
    }
    call.write_late_record(call.team.meetings() + 1);
    let reduction = Reduction {
        law: allowed(O::OP, T::KIND),
        kernel: Kernel::of::<O, T>(),
        element: size_of::<T>(),
        dest: dest.cast(),
        source: source.cast(),
        n,
    };
    let way = way::of(call, Asked::Reduce(reduction.facts()));
    // SAFETY: the caller promises symmetric arrays of `n` elements, the same or disjoint; they fit a payload where the way is an
    // exchange.
    unsafe {
        match way {
            CollectiveWay::Exchange => by_exchange::<O, T>(call, dest, source, n),
            way => by(call, way, reduction),
        }
    }
}

/// Every way but an exchange.
///
/// # Safety
/// As for [`reduce`].
#[cold]
unsafe fn by(call: Call<'_>, way: CollectiveWay, reduction: Reduction) {
    let Reduction { kernel, element, dest, source, n, .. } = reduction;
    // SAFETY: the caller promises symmetric arrays of `n` elements, the same or disjoint.
    unsafe {
        match (way, &call.team.span) {
            (CollectiveWay::Schedule(schedule, piece), _) => {
                run::on_node(call, schedule, piece, Plan::new(call.team.size, n as u64), reduction.arrays());
            }
            (CollectiveWay::Levels, _) => levels::reduce(call, reduction),
            (CollectiveWay::NodeEager, _) => fold_first(call, reduction, call.team.size),
            (CollectiveWay::Members, None) if call.team.size == 1 => ptr::copy(source, dest, n * element),
            (CollectiveWay::Members, None) => in_slices(call, kernel, element, dest, source, n),
            (CollectiveWay::Inline(way), Some(span)) => between_nodes::combine(call, span, way, reduction),
            (CollectiveWay::Eager(way), Some(span)) => eager::reduce(call, span, way, reduction),
            (CollectiveWay::Gathered(way), Some(span)) => {
                eager::fold_first(call, span, way, reduction, call.team.size);
            }
            (CollectiveWay::Slices { parts, results }, Some(span)) => {
                slices::reduce(call, span, parts, results, reduction);
            }
            (CollectiveWay::Pieces(n), _) => {
                reduction.pieces(n).for_each(|piece| by(call, way::of(call, Asked::Reduce(piece.facts())), piece));
            }
            (CollectiveWay::Rendezvous(way), Some(span)) => reduce_by_nodes(call, span, way, reduction),
            (CollectiveWay::Members, Some(_)) => reduce_in_order(call, reduction),
            (way, _) => unreachable!("a reduction does not go by {way:?}"),
        }
    }
}

/// The elements travel with one exchange.
///
/// # Safety
/// As for [`reduce`]; the elements are at most a payload.
#[inline(always)]
unsafe fn by_exchange<O: Operator, T: Operand<O>>(call: Call<'_>, dest: *mut T, source: *const T, n: usize) {
    if n == 1 && size_of::<T>() <= 8 {
        // SAFETY: the caller promises symmetric arrays of `n` elements; here that is one, of at most a word.
        unsafe { of_one::<O, T>(call, dest, source) }
    } else {
        // SAFETY: the caller promises symmetric arrays of `n` elements, which fit a payload.
        unsafe { in_payload::<O, T>(call, dest, source, n, |_| true) }
    }
}

const fn kind_of(op: Op) -> CallKind {
    match op {
        Op::And => CallKind::And,
        Op::Or => CallKind::Or,
        Op::Xor => CallKind::Xor,
        Op::Max => CallKind::Max,
        Op::Min => CallKind::Min,
        Op::Sum => CallKind::Sum,
        Op::Prod => CallKind::Prod,
    }
}

/// One element of at most a word, the most frequent reduction of all: no loop, no copy by length.
///
/// # Safety
/// `dest` and `source` have an element, which is no longer than a word: [`by_exchange`] looks at that.
#[inline(always)]
unsafe fn of_one<O: Operator, T: Operand<O>>(call: Call<'_>, dest: *mut T, source: *const T) {
    debug_assert!(size_of::<T>() <= size_of::<u64>(), "one element of {} bytes", size_of::<T>());
    let mut word = 0_u64;
    // SAFETY: `source` has an element, which is no longer than a word, as this function demands; any bytes are a word.
    unsafe { ptr::copy_nonoverlapping(source.cast::<u8>(), (&raw mut word).cast(), size_of::<T>()) };
    let mut result = None;
    node_exchange::exchange(call, &[word], |_, theirs| {
        // SAFETY: the member's word begins with its element.
        let value = unsafe { theirs.as_ptr().cast::<T>().read_unaligned() };
        result = Some(result.map_or(value, |before| <T as Operand<O>>::combine(before, value)));
    });
    if let Some(result) = result {
        // SAFETY: `dest` has an element.
        unsafe { dest.write(result) };
    }
}

/// The elements travel with one exchange, and the caller combines those of the first members, as long as their operands are `wanted`, in
/// team order.
///
/// # Safety
/// `dest` and `source` have `n` elements, which are at most a payload.
#[inline(always)]
pub(super) unsafe fn in_payload<O: Operator, T: Operand<O>>(
    call: Call<'_>,
    dest: *mut T,
    source: *const T,
    n: usize,
    wanted: impl Fn(u32) -> bool,
) {
    // SAFETY: `source` has `n` elements, which are at most a payload, as this function demands.
    let words = unsafe { payload(source.cast(), n * size_of::<T>()) };
    node_exchange::exchange(call, &words[..words_of(n * size_of::<T>())], |member, theirs| {
        if !wanted(member) {
            return;
        }
        let theirs = theirs.as_ptr().cast::<T>();
        for i in 0..n {
            // SAFETY: the payload holds `n` elements, whose type may want more alignment than words have; the destination
            // holds `n` elements, the first `member` of which are combined already.
            unsafe {
                let value = theirs.add(i).read_unaligned();
                let value = if member == 0 { value } else { <T as Operand<O>>::combine(dest.add(i).read(), value) };
                dest.add(i).write(value);
            }
        }
    });
}

/// Every member copies its operand to its buffer, and combines those of the first `terms` members; of none it makes zeros.
///
/// # Safety
/// As for [`reduce`]; an operand fits a buffer, and the team has so many members.
pub(super) unsafe fn fold_first(call: Call<'_>, reduction: Reduction, terms: u32) {
    with_pointers(call.team.size as usize, |operands| {
        let bytes = reduction.bytes();
        // SAFETY: the caller promises `n` elements at `source`, which fit a buffer.
        let fill = |buffer| unsafe { ptr::copy_nonoverlapping(reduction.source, buffer, bytes) };
        node_eager::exchange(call, bytes, fill, |member, theirs| operands[member as usize] = theirs);
        // SAFETY: the buffers have `n` elements of all members, and are not written before the next exchange but one; the
        // caller promises the destination. Only sums may have no operands.
        unsafe { reduction.fold(&operands[..terms as usize]) };
    });
}

fn with_pointers(count: usize, run: impl FnOnce(&mut [*const u8])) {
    if count <= ON_STACK {
        run(&mut [ptr::null(); ON_STACK][..count]);
    } else {
        run(&mut vec![ptr::null(); count]);
    }
}

/// Every member combines one slice of the elements, and writes it to all: each source is read once and each destination written
/// once, and no element of a source is overwritten before it was read, in place or not.
///
/// # Safety
/// As for [`reduce`], with elements of `size` bytes, which are those of the kernel.
unsafe fn in_slices(call: Call<'_>, kernel: Kernel, size: usize, dest: *mut u8, source: *const u8, n: usize) {
    call.enter_to_write(dest, n * size, call.compared_name(source));
    let (begin, end) = member_share(n, size, call.team.my as usize, call.team.size as usize);
    if begin < end {
        let bytes = n * size;
        let members = call.team.size as usize;
        let at = |address: *const u8, member: usize| call.at(member as u32, address, bytes).wrapping_add(begin * size);
        let store = if 2 * bytes * members > crate::transfers::cache::last_level_cache() {
            Store::Streaming
        } else {
            Store::Cached
        };
        let run = |dests: &mut [*mut u8], sources: &mut [*const u8]| {
            for member in 0..members {
                dests[member] = at(dest, member);
                sources[member] = at(source, member);
            }
            // SAFETY: all members have entered, so sources are ready and destinations may be written; the slice is ours.
            unsafe { kernel.fold_to_many(dests, sources, end - begin, store) };
        };
        if members <= ON_STACK {
            run(&mut [ptr::null_mut(); ON_STACK][..members], &mut [ptr::null(); ON_STACK][..members]);
        } else {
            run(&mut vec![ptr::null_mut(); members], &mut vec![ptr::null(); members]);
        }
    }
    call.leave();
}
