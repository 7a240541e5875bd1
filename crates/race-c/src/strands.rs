//! The functions that the shim calls where strands begin and end, and where the program's threads tell each other something.

use std::collections::HashMap;
use std::ffi::c_int;

use oxshmem_race::StrandKind;
use parking_lot::Mutex;

use crate::hooks::{hook, with};
use crate::node::{self, RaceNode};
use crate::{forks, threads};

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_strand() -> u32 {
    ask(|node| threads::current(node) as u32)
}

/// The answer for the caller; 0 if races are not looked for.
fn ask(work: impl FnOnce(&'static RaceNode) -> u32) -> u32 {
    let (Some(node), Some(_inside)) = (node::current(), threads::step_inside()) else { return 0 };
    work(node)
}

/// Makes a strand that begins now. Its number and one more; 0 if races are not looked for.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_fork(section: c_int) -> u32 {
    ask(|node| {
        threads::are_several();
        let kind = if section != 0 { StrandKind::Section } else { StrandKind::Thread };
        node.detector.strand(threads::current(node)).fork(kind) as u32 + 1
    })
}

/// The caller is the strand with this number from now on. Its number before.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_become(strand: u32) -> u32 {
    threads::become_strand(strand as usize) as u32
}

/// The caller becomes a strand that knows what has been released under this name. Its number before.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_become_from(object: u64) -> u32 {
    ask(|node| {
        threads::are_several();
        threads::current(node);
        threads::become_strand(node.detector.begin_from(name(node, object))) as u32
    })
}

hook! {
    fn race_strand_over(strand: u32) |node, _| node.detector.end_strand(strand as usize)
}

hook! {
    fn race_joined(strand: u32) |node, own| {
        own.join(strand as usize);
        node.detector.end_strand(strand as usize);
    }
}

/// The number for a name that this PE uses: an address, or a value that the shim makes up.
fn name(node: &RaceNode, object: u64) -> u64 {
    object.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (node.me as u64) << 52 ^ 0x7374_7261_6e64
}

hook! {
    fn race_release(object: u64) |node, strand| strand.release(name(node, object))
}

hook! {
    fn race_acquire(object: u64) |node, strand| strand.acquire(name(node, object))
}

/// The number of threads of a barrier and of arrivals so far, by address.
static BARRIERS: Mutex<Option<HashMap<usize, (u64, u64)>>> = Mutex::new(None);

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_barrier_made(barrier: usize, count: u32) {
    if forks::is_child() {
        return;
    }
    BARRIERS.lock().get_or_insert_default().insert(barrier, (count.max(1).into(), 0));
}

/// How often the barrier has let threads pass before the caller comes.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_barrier_round(barrier: usize) -> u32 {
    if forks::is_child() {
        return 0;
    }
    let mut barriers = BARRIERS.lock();
    barriers.as_mut().and_then(|barriers| barriers.get_mut(&barrier)).map_or(0, |(count, arrivals)| {
        let round = *arrivals / *count;
        *arrivals += 1;
        round as u32
    })
}

/// The caller has joined a thread, of which it had asked before what is known.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_thread_joined(thread: u64, known: u64) {
    if let Some(strand) = threads::joined(thread, known) {
        with(|_, own| own.join(strand as usize));
    }
}
