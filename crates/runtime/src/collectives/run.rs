//! Runs the schedules of `oxshmem_schedule` for the collectives of a team.
//!
//! A schedule says what a member does next, and [`run`] does it. What stays inside the member is done here; what reaches
//! another member goes through a [`Wire`]: the memory of the node ([`memory`]), or between the leaders of nodes the
//! network (`between_nodes::leader_wire`). Nothing is allocated, and nothing is chosen at run time but the schedule.
//!
//! On a node [`crate::collectives::node_exchange`] is the standard; schedules run where the user asks for one (`choice`), on teams whose
//! slot has an [`Area`](crate::memory::control::area::Area). All members know alike whether that is so, so they agree on which calls
//! count: only those that come here.
//!
//! **A call's number** is part of every signal, and signals are never reset. A slot that passes to another team goes on
//! from a number that no member of the new team has seen in any word of its slots: each PE remembers the highest number
//! of the teams that have given a slot back, and the greatest one is agreed on together with the lease (`leasing`). All
//! signals of a destroyed team have arrived, because destroy synchronises after its last call, and a call is over at a
//! member when all that was put to it has come: each put has a signal, which the member waits for. The caller of a put may leave
//! before that, once the network has read what it put.
//!
//! **Counters** also only grow, and do so by what the callers' schedules say, whatever the team. So what the owner has
//! waited for is kept beside the counter and passes on with the slot.

mod memory;
mod on_node;
#[cfg(test)]
mod tests;

use core::ptr;

use oxshmem_reduce::{Kernel, Store};
use oxshmem_schedule::algorithm::Schedule;
use oxshmem_schedule::step::{Algorithm, Caller, CallerShare, Loc, Place, Plan, PutSignal, Step};

pub(crate) use on_node::{collect, on_node};

/// The carrier of puts and signals to the other members.
pub(crate) trait Wire {
    /// Writes `bytes` bytes to member `to`, `offset` bytes behind the start of `place`, then signals it: a member that sees the
    /// signal sees the bytes. `from` may be overwritten on return.
    ///
    /// # Safety
    /// `from` is readable; the place is writable and no other member looks at it now. Schedules are proven to keep that.
    unsafe fn put(&self, to: u32, from: *const u8, place: Place, offset: usize, bytes: usize, signal: PutSignal);

    /// Returns when the caller's word number `word` holds at least `value`, and what was put with the signal is there.
    fn wait(&self, word: u32, value: u64);

    /// Returns when the caller's counter holds at least `total`.
    fn wait_count(&self, total: u64);
}

/// The caller's side of a call.
#[derive(Clone, Copy)]
pub(crate) struct Arrays<'a> {
    pub(crate) dest: *mut u8,
    /// Bytes of it.
    pub(crate) room: usize,
    pub(crate) source: *const u8,
    /// Bytes of an element.
    pub(crate) element: usize,
    /// The operator of a reduction.
    pub(crate) kernel: Option<Kernel>,
    /// The sources of more members of the caller's node, in team order. A reduction folds them behind `source`.
    pub(crate) more: &'a [*const u8],
}

impl Arrays<'_> {
    /// Nothing to move, nothing to reduce. Data that is only moved counts in bytes.
    pub(crate) const NONE: Self =
        Self { dest: ptr::null_mut(), room: 0, source: ptr::null(), element: 1, kernel: None, more: &[] };
}

/// Of every call but a collect.
pub(crate) const NO_SHARE: CallerShare<'_> = CallerShare { offset: 0, mine: 0, total: 0, windows: &[] };

/// Does all steps of one member in one call.
///
/// # Safety
/// The arrays hold the elements that the schedule touches under this plan, dest and source the same or disjoint; so do
/// those of the other members, which make the same call with the same plan. `scratch` is the caller's own scratch,
/// to which the wire puts, and has room for the schedule.
pub(crate) unsafe fn run(
    wire: &impl Wire,
    scratch: *mut u8,
    schedule: &Schedule,
    plan: &Plan,
    me: &Caller<'_>,
    arrays: Arrays<'_>,
) {
    let bytes = |elements: u64| elements as usize * arrays.element;
    let locate = |loc: Loc| {
        let start = match loc.place {
            Place::Source => arrays.source.cast_mut(),
            Place::Dest => arrays.dest,
            Place::Scratch => scratch,
        };
        start.wrapping_add(bytes(loc.at))
    };
    for pc in 0.. {
        match schedule.step(plan, me, pc) {
            // SAFETY: the caller promises arrays with the elements that the schedule touches, and scratch with room
            // for it on all members.
            Step::Put { to, from, into, len, signal } => unsafe {
                wire.put(to, locate(from), into.place, bytes(into.at), bytes(len), signal);
            },
            Step::Wait { word, value } => wire.wait(word, value),
            Step::WaitCount { total } => wire.wait_count(total),
            Step::Reduce { into, left, right, stride, terms, len } => {
                let kernel = arrays.kernel.expect("only reductions reduce");
                let more = if right.place == Place::Source { arrays.more } else { &[] };
                let operand = |term: u32| match more.get((term as usize).wrapping_sub(terms as usize)) {
                    Some(source) => source.wrapping_add(bytes(right.at)),
                    None => locate(Loc { at: right.at + u64::from(term) * stride, ..right }).cast_const(),
                };
                // SAFETY: the caller promises arrays with the elements that the schedule touches, and scratch with
                // room for it.
                unsafe { fold(kernel, locate(into), locate(left), operand, terms + more.len() as u32, len as usize) }
            }
            // SAFETY: the caller promises arrays with the elements that the schedule touches, and scratch with room
            // for it.
            Step::Copy { into, from, len } => unsafe { ptr::copy(locate(from), locate(into), bytes(len)) },
            // SAFETY: the caller promises arrays with the elements that the schedule touches, and scratch with room
            // for it.
            Step::Zero { into, len } => unsafe { ptr::write_bytes(locate(into), 0, bytes(len)) },
            Step::Skip => {}
            Step::Done => return,
        }
    }
}

/// Operands folded at once.
const ROW: usize = 32;

/// `into = left op right(0) op … op right(terms - 1)`, in rows that fit on the stack. Schedules that fold more than a row
/// fold into the place of the leftmost operand or into another array, so no operand is overwritten before its turn.
///
/// # Safety
/// As for [`Kernel::fold`].
unsafe fn fold(kernel: Kernel, into: *mut u8, left: *const u8, right: impl Fn(u32) -> *const u8, terms: u32, n: usize) {
    let (mut operands, mut done) = ([left; ROW], 0);
    loop {
        let row = (ROW - 1).min((terms - done) as usize);
        for (operand, term) in operands[1..=row].iter_mut().zip(done..) {
            *operand = right(term);
        }
        // SAFETY: the caller promises `n` elements at each pointer, and `into` is the same as a source or apart from it.
        unsafe { kernel.fold(into, &operands[..=row], n, Store::Cached) };
        done += row as u32;
        if done == terms {
            return;
        }
        operands[0] = into;
    }
}
