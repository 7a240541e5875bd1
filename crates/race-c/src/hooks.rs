//! The functions that the shim calls around transfers, atomics and waits, and for the program's own accesses.
//!
//! The arguments are those of the routines. Nothing here dereferences a pointer of the program but the lists that a call has just
//! filled or is about to read.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicU32, compiler_fence};

use oxshmem_os::stack;
use oxshmem_race::{AccessKind, AtomicType, FetchedAtomic, ProgramMark, Race, Site, Strand, Stream};

use crate::node::{self, RaceNode, ShimPart, ShimReach};
use crate::report::{self, LOAD, STORE};
use crate::standard::{self, Context, Team};
use crate::threads;

/// Whether there are local buffers that the program must not touch: the shim looks at it before it calls.
// SAFETY: no other object has this name; the shim reads it as the atomic it is.
#[unsafe(no_mangle)]
pub(crate) static race_buffers: AtomicU32 = AtomicU32::new(0);

pub(crate) fn say(node: &RaceNode, race: Option<Race>) {
    if let Some(race) = race {
        report::race(node, &race);
    }
}

pub(crate) fn site(node: &RaceNode, pc: *const c_void, call: u16) -> Site {
    let pc = pc as usize;
    let pc = if node.module.contains(&pc) { stack::caller_of(node.module).unwrap_or(pc) } else { pc };
    let is_ours = (node.loaded.bias..node.loaded.end).contains(&pc);
    Site { pc: if is_ours { (pc - node.loaded.bias) as u64 } else { 0 }, call }
}

pub(crate) fn stream(ctx: Context) -> Stream {
    if standard::is_default(ctx) { Stream::Default } else { Stream::Other }
}

/// No PE has this number.
const NOBODY: c_int = -1;

/// The world number that a PE number means on a context.
pub(crate) fn world(ctx: Context, pe: c_int) -> c_int {
    if standard::is_default(ctx) || ctx.is_null() {
        return pe;
    }
    if !standard::is_context(ctx) {
        return NOBODY;
    }
    let mut team: Team = std::ptr::null();
    // SAFETY: the program passes the context to a routine that asks for a live one; the result goes to our variable.
    match unsafe { standard::pshmem_ctx_get_team(ctx, &mut team) } {
        0 if !std::ptr::eq(team, standard::world()) => standard::world_pe(team, pe),
        _ => pe,
    }
}

/// An access of the caller to local memory by a call that is over when it returns.
pub(crate) fn local(node: &RaceNode, strand: Strand<'_, '_>, address: usize, len: usize, kind: AccessKind, site: Site) {
    if address == 0 || len == 0 {
        return;
    }
    if race_buffers.load(Relaxed) != 0 {
        say(node, strand.buffer(address, len, kind, site));
    }
    if let Some(place) = node.resolve(address) {
        say(node, strand.access(place, len, kind, site));
    }
}

/// A local buffer that a nonblocking operation uses until a quiet.
fn begin_buffer(
    node: &RaceNode,
    strand: Strand<'_, '_>,
    stream: Stream,
    address: usize,
    len: usize,
    kind: AccessKind,
    site: Site,
) {
    if address == 0 || len == 0 {
        return;
    }
    say(node, strand.buffer(address, len, kind, site));
    let place = node.resolve(address).filter(|place| place.pe == node.me);
    say(node, strand.begin_buffer(stream, address, place, len, kind, site));
    buffers_begun();
}

/// Buffers that have been added are in use.
pub(crate) fn buffers_begun() {
    race_buffers.swap(1, AcqRel);
}

/// Works for the caller's strand, while races are looked for. A handler of a signal that has interrupted the detector does nothing here.
pub(crate) fn with(work: impl FnOnce(&'static RaceNode, Strand<'static, 'static>)) {
    if let (Some(node), Some(_inside)) = (node::current(), threads::step_inside()) {
        work(node, node.detector.strand(threads::current(node)));
    }
}

/// Buffers are not in use any more; `still`: other buffers were in use when the strand looked.
///
/// A thread adds a buffer before it calls [`buffers_begun`]. Either this swap reads the value that the call has written, and the look
/// after the swap finds the buffer, or the call sets the word after this swap.
pub(crate) fn buffers_ended(node: &RaceNode, still: bool) {
    if !still {
        race_buffers.swap(0, AcqRel);
        if node.detector.has_buffers() {
            buffers_begun();
        }
    }
}

/// A function that the shim calls.
macro_rules! hook {
    ($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:expr) => {
        $(#[$meta])*
        // SAFETY: no other function has this name; the shim declares it with the same arguments.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) {
            with($body)
        }
    };
}

pub(crate) use hook;

hook! {
    fn race_allocated(block: *mut c_void, size: usize, pc: *const c_void, call: u16) |node, _| {
        if let Some(place) = node.resolve(block as usize).filter(|_| !block.is_null()) {
            node.blocks.lock().insert(place.offset, (size, site(node, pc, call)));
        }
    }
}

hook! {
    fn race_freed(block: *mut c_void) |node, strand| {
        if let Some(place) = node.resolve(block as usize).filter(|_| !block.is_null())
            && let Some((size, _)) = node.blocks.lock().remove(&place.offset)
        {
            strand.forget(place, size);
        }
    }
}

/// A thread's strand as the shim knows it, to renew accesses itself; the shim has a type of the same layout.
#[repr(C)]
struct ShimView {
    /// The rest is the strand's in the life with this memory.
    reach: *const ShimReach,
    /// See [`ProgramMark`].
    now: *const AtomicU32,
    place: u64,
    /// The part of another PE's memory that the thread has accessed last; null if there is none.
    far: *const ShimPart,
    key: u64,
}

/// A load or store of the program. `view` is null, or the thread's.
// SAFETY: no other function has this name; the shim declares it with the same arguments.
#[unsafe(no_mangle)]
extern "C" fn race_plain(address: usize, len: usize, kind: c_int, pc: *const c_void, view: *mut ShimView) {
    let (Some(node), Some(_inside)) = (node::current(), threads::step_inside()) else { return };
    let strand = node.detector.strand(threads::current(node));
    let (kind, call) = if kind == 0 { (AccessKind::Read, LOAD) } else { (AccessKind::Write, STORE) };
    local(node, strand, address, len, kind, site(node, pc, call));
    if view.is_null() {
        return;
    }
    let far = node.far(address);
    // SAFETY: the shim passes the address of a variable that only this thread touches. What it points to then stays for ever. A handler
    // of a signal that comes in between reads words that were there before, or the new ones; it finds the first word last.
    unsafe {
        if !std::ptr::eq((*view).reach, node.reach) {
            let ProgramMark { now, key, place } = strand.mark();
            (&raw mut (*view).now).write(now);
            (&raw mut (*view).place).write(place);
            (&raw mut (*view).key).write(u64::from(key));
            (&raw mut (*view).far).write(far.map_or(std::ptr::null(), std::ptr::from_ref));
            compiler_fence(Release);
            (&raw mut (*view).reach).write(node.reach);
        } else if let Some(far) = far {
            (&raw mut (*view).far).write(far);
        }
    }
}

hook! {
    fn race_atomic(address: usize, len: usize, updates: c_int, pc: *const c_void) |node, strand| {
        if let Some(place) = node.resolve(address) {
            let site = site(node, pc, if updates != 0 { STORE } else { LOAD });
            say(node, strand.atomic(place, len, updates != 0, site));
        }
    }
}

/// The strand has awaited or fetched the value at this address, if other PEs can reach it.
fn observe(node: &RaceNode, strand: Strand<'_, '_>, address: usize, len: usize) {
    if let Some(place) = node.resolve(address) {
        strand.observe(place, len);
    }
}

hook! {
    fn race_atomic_done(address: usize, len: usize) |node, strand| observe(node, strand, address, len)
}

/// Where the bytes of a transfer go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TransferWay {
    Put,
    Get,
}

/// How a put or get is made.
struct TransferCall {
    way: TransferWay,
    stream: Stream,
    /// The world number of the other PE.
    pe: c_int,
    nonblocking: bool,
    site: Site,
}

/// One put or get of contiguous bytes between addresses that the caller names.
fn transfer(node: &RaceNode, strand: Strand<'_, '_>, call: &TransferCall, dest: usize, source: usize, len: usize) {
    let &TransferCall { way, stream, pe, nonblocking, site } = call;
    if len == 0 {
        return;
    }
    let (far, near, used) = match way {
        TransferWay::Put => (dest, source, AccessKind::Read),
        TransferWay::Get => (source, dest, AccessKind::Write),
    };
    if node.leaves(far, len) {
        return;
    }
    if nonblocking {
        begin_buffer(node, strand, stream, near, len, used, site)
    } else {
        local(node, strand, near, len, used, site)
    }
    let Some(place) = node.copy_on(far, pe) else { return };
    let race = match (way, nonblocking) {
        (TransferWay::Put, _) => strand.put(stream, place, len, AccessKind::Write, site),
        (TransferWay::Get, true) => strand.pull(stream, place, len, site),
        (TransferWay::Get, false) => strand.access(place, len, AccessKind::Read, site),
    };
    say(node, race);
}

hook! {
    fn race_transfer(
        ctx: Context, dest: usize, source: usize, len: usize, pe: c_int, is_put: c_int, nonblocking: c_int,
        pc: *const c_void, call: u16
    ) |node, strand| {
        let way = if is_put != 0 { TransferWay::Put } else { TransferWay::Get };
        let nonblocking = nonblocking != 0;
        let made =
            TransferCall { way, stream: stream(ctx), pe: world(ctx, pe), nonblocking, site: site(node, pc, call) };
        transfer(node, strand, &made, dest, source, len);
    }
}

hook! {
    fn race_blocks(
        ctx: Context, dest: usize, source: usize, dst: isize, sst: isize, block: usize, count: usize,
        pe: c_int, is_put: c_int, pc: *const c_void, call: u16
    ) |node, strand| {
        let way = if is_put != 0 { TransferWay::Put } else { TransferWay::Get };
        let made = TransferCall {
            way, stream: stream(ctx), pe: world(ctx, pe), nonblocking: false, site: site(node, pc, call)
        };
        let (far, stride) = if is_put != 0 { (dest, dst) } else { (source, sst) };
        // Before the first block: there may be billions of them.
        if node.resolve(far).is_none() || node.pieces_leave(far, stride, block, count) {
            return;
        }
        for index in 0..count as isize {
            let dest = dest.wrapping_add_signed(index.wrapping_mul(dst));
            transfer(node, strand, &made, dest, source.wrapping_add_signed(index.wrapping_mul(sst)), block);
        }
    }
}

hook! {
    fn race_put_signal(
        ctx: Context, dest: *mut c_void, source: *const c_void, len: usize, signal: *mut u64, pe: c_int,
        nonblocking: c_int, pc: *const c_void, call: u16
    ) |node, strand| {
        let (stream, pe, site) = (stream(ctx), world(ctx, pe), site(node, pc, call));
        if node.leaves(dest as usize, len) {
            return;
        }
        match nonblocking {
            0 => local(node, strand, source as usize, len, AccessKind::Read, site),
            _ => begin_buffer(node, strand, stream, source as usize, len, AccessKind::Read, site),
        }
        let Some(signal) = node.copy_on(signal as usize, pe) else { return };
        match node.copy_on(dest as usize, pe).filter(|_| len > 0) {
            Some(place) => say(node, strand.put_signal(stream, place, len, signal, site)),
            None => say(node, strand.put(stream, signal, 8, AccessKind::SIGNAL, site)),
        }
    }
}

/// Bits of what an atomic does; the shim has the same.
const UPDATES: c_int = 1;
const NONBLOCKING: c_int = 2;
const FLOATING: c_int = 4;

fn atomic_type(bytes: usize, does: c_int) -> AtomicType {
    if does & FLOATING != 0 { AtomicType::Floating(bytes as u8) } else { AtomicType::Integer(bytes as u8) }
}

hook! {
    fn race_update(
        ctx: Context, dest: *mut c_void, len: usize, pe: c_int, does: c_int, pc: *const c_void, call: u16
    ) |node, strand| {
        if let Some(place) = node.copy_on(dest as usize, world(ctx, pe)) {
            let kind = AccessKind::Atomic(atomic_type(len, does));
            say(node, strand.put(stream(ctx), place, len, kind, site(node, pc, call)));
        }
    }
}

hook! {
    fn race_fetch(
        ctx: Context, place: *const c_void, len: usize, pe: c_int, does: c_int, pc: *const c_void, call: u16
    ) |node, strand| {
        let made = FetchedAtomic {
            stream: stream(ctx), of: atomic_type(len, does), updates: does & UPDATES != 0, nonblocking: does & NONBLOCKING != 0
        };
        match node.copy_on(place as usize, world(ctx, pe)) {
            Some(place) => say(node, strand.fetch(made, place, len, site(node, pc, call))),
            // PEs of this node may meet at a variable of another one.
            None => strand.learn_from_all(),
        }
    }
}

hook! {
    fn race_fill(ctx: Context, fetch: *mut c_void, len: usize, pc: *const c_void, call: u16) |node, strand| {
        begin_buffer(node, strand, stream(ctx), fetch as usize, len, AccessKind::Write, site(node, pc, call));
    }
}

hook! {
    fn race_fetched(ctx: Context, place: *const c_void, len: usize, pe: c_int) |node, strand| {
        match node.copy_on(place as usize, world(ctx, pe)) {
            Some(place) => strand.observe(place, len),
            // PEs of this node may meet at a variable of another one.
            None => strand.learn_from_all(),
        }
    }
}

hook! {
    fn race_wait(ivar: *const c_void, len: usize) |node, strand| observe(node, strand, ivar as usize, len)
}

hook! {
    fn race_wait_all(ivars: *const c_void, nelems: usize, status: *const c_int, len: usize) |node, strand| {
        for index in 0..nelems {
            // SAFETY: the call has read as many elements of the list as there are variables.
            let skipped = !status.is_null() && unsafe { *status.add(index) } != 0;
            if !skipped {
                observe(node, strand, ivars as usize + index * len, len);
            }
        }
    }
}

hook! {
    fn race_wait_some(ivars: *const c_void, indices: *const usize, count: usize, len: usize) |node, strand| {
        for number in 0..count {
            // SAFETY: the call has written `count` indices, or the shim passes the address of one.
            let index = unsafe { *indices.add(number) };
            observe(node, strand, ivars as usize + index * len, len);
        }
    }
}
