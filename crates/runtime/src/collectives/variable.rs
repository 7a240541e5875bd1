//! All-to-all with blocks of different sizes.

use core::ptr;

use oxshmem_base::Error;
use oxshmem_base::knobs::TargetSizes;

use crate::collectives::call::Call;
use crate::collectives::node_exchange;
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::memory::direct::FAST;
use crate::start::state;
use crate::transfers::length;

/// The contribution of one member: a block for each member.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) source: *const u8,
    /// Where each member's block begins, in bytes.
    pub(crate) offsets: *const usize,
    /// How long it is.
    pub(crate) sizes: *const usize,
}

/// Where what comes in goes.
#[derive(Clone, Copy)]
pub(crate) enum BlockTargets {
    /// The block of member i to `offsets[i]`; its size to `sizes[i]`.
    Places { target: *mut u8, offsets: *const usize, sizes: *mut usize },
    /// One block behind the other, at most `room` bytes; their total to `total`.
    Packed { target: *mut u8, room: usize, total: *mut usize },
}

impl BlockTargets {
    /// The argument that is NULL, if one of the caller's own arrays is.
    fn missing(self) -> Option<&'static str> {
        let arrays = match self {
            Self::Places { offsets, sizes, .. } => [("t_offsets", offsets), ("t_sizes", sizes.cast_const())],
            Self::Packed { total, .. } => [("t_size", total.cast_const()); 2],
        };
        arrays.into_iter().find(|(_, array)| array.is_null()).map(|(name, _)| name)
    }
}

/// Every member fetches its block from every member.
///
/// # Safety
/// As the extension asks: everything in `blocks` is symmetric, the arrays have an element for each member, and what is
/// named by `into` has the room.
pub(crate) unsafe fn alltoallv(call: Call<'_>, blocks: Blocks, into: BlockTargets) {
    let call = call.declare(CallKind::Alltoallv, 0, 0);
    let (mine, words) = (call.team.my as usize, length::bytes::<usize>(call.team.size as usize));
    call.require_symmetric_arrays([
        ("s_offsets", (blocks.offsets.cast(), words)),
        ("s_sizes", (blocks.sizes.cast(), words)),
    ]);
    if let Some(argument) = into.missing() {
        errors::null(call.name, argument);
    }
    for i in 0..call.team.size as usize {
        // SAFETY: the caller promises that its own arrays have an element for each member.
        let (offset, size) = unsafe { (blocks.offsets.add(i).read_unaligned(), blocks.sizes.add(i).read_unaligned()) };
        if size > 0 {
            let block = place(call, "s_offsets", blocks.source, offset);
            if !FAST.believes_array(block as usize, size) {
                call.require_symmetric_arrays([("source", (block, size))]);
            }
        }
    }
    let sources = enter(call, blocks);
    let source_of = |i: usize| sources.get(i).map_or(blocks.source, |&name| FAST.named(name) as *const u8);
    // The words of all members on the caller's block, all under way at once.
    let mut said = vec![[0_usize; 2]; call.team.size as usize];
    for (member, words) in (0..).zip(&mut said) {
        for (array, word) in [blocks.offsets, blocks.sizes].into_iter().zip(words) {
            let from = array.wrapping_add(mine).cast();
            // SAFETY: the member has entered, so its arrays are ready; they have an element for each member, and the word
            // stays where it is until all is fetched.
            unsafe { call.fetch(member, from, ptr::from_mut(word).cast(), size_of::<usize>()) };
        }
    }
    call.fetched();
    let mut packed = 0_usize;
    for (member, [offset, size]) in (0..).zip(said) {
        let i = member as usize;
        let (target, at, size) = match into {
            BlockTargets::Places { target, offsets, sizes } => {
                // SAFETY: the caller promises that its own arrays have an element for each member.
                let (at, room) = unsafe { (offsets.add(i).read_unaligned(), sizes.add(i).read_unaligned()) };
                let size = fitting(call, member, size, room);
                // SAFETY: the caller promises that its own arrays have an element for each member, and that `sizes` is
                // writable.
                unsafe { sizes.add(i).write_unaligned(size) };
                (target, at, size)
            }
            BlockTargets::Packed { target, room, .. } => {
                let with = packed.saturating_add(size);
                if with > room {
                    too_long(call, "target_len", member, with, room);
                }
                packed += size;
                (target, packed - size, size)
            }
        };
        if size > 0 {
            // However much the member sends, it must fit into symmetric memory.
            let to = call.at(call.team.my, place(call, "t_offsets", target, at), size);
            let from = place(call, "s_offsets", source_of(i), offset);
            // SAFETY: the member has entered; `at` has found the room.
            unsafe { call.fetch(member, from, to, size) };
        }
    }
    if let BlockTargets::Packed { total, .. } = into {
        // SAFETY: the caller promises that `total` is writable.
        unsafe { total.write(packed) };
    }
    call.fetched();
    call.leave();
}

/// All members enter. They read the offsets and the sizes of each other by their own names for them, so all must name the same arrays. The
/// source may be another array on each member, and a member that sends nothing need not have one. Returns what each member calls its own,
/// or nothing if all call it as the caller does.
fn enter(call: Call<'_>, blocks: Blocks) -> Vec<u64> {
    let arrays = [blocks.offsets.cast(), blocks.sizes.cast(), blocks.source];
    let words = arrays.map(|array| call.compared_name(array));
    if call.have_same(&words) {
        return Vec::new();
    }
    let mut sources = Vec::with_capacity(call.team.size as usize);
    node_exchange::exchange(call, &words, |member, theirs| {
        for (at, argument) in ["s_offsets", "s_sizes"].into_iter().enumerate() {
            if theirs[at] != words[at] {
                call.other_array(member, argument);
            }
        }
        sources.push(theirs[2]);
    });
    sources
}

/// Where the block at an offset begins. An offset that wraps around the address space ends the job.
fn place(call: Call<'_>, argument: &str, array: *const u8, offset: usize) -> *const u8 {
    if (array as usize).checked_add(offset).is_none() {
        errors::too_long(call.name, argument, array as usize);
    }
    array.wrapping_add(offset)
}

/// How much of a block is taken: all of it, unless the target sizes say how much room there is.
fn fitting(call: Call<'_>, member: u32, size: usize, room: usize) -> usize {
    match state::current().map_or(TargetSizes::Results, |life| life.settings.alltoallv_target_sizes) {
        TargetSizes::Abort if size > room => too_long(call, "t_sizes", member, size, room),
        TargetSizes::Truncate => size.min(room),
        _ => size,
    }
}

#[cold]
fn too_long(call: Call<'_>, argument: &str, member: u32, size: usize, room: usize) -> ! {
    errors::fail(
        &Error::new(format!("{}: the block of PE {member} does not fit into {argument}", call.name))
            .because(format!("with it {size} bytes come in, and there is room for {room}"))
            .fix("make the target longer, or send less"),
    )
}
