//! The functions that the shim calls around fences, quiets, locks, collective calls and the end.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

use oxshmem_race::{AccessKind, CallBuffer, CollectiveMeeting, Strand, Stream};

use crate::hooks::{buffers_begun, buffers_ended, hook, local, race_buffers, say, site, stream, with, world};
use crate::members::MeetingMembers;
use crate::node::{self, RaceNode};
use crate::standard::{self, Context, Team};
use crate::threads;

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_ending() -> u64 {
    race_enter_world(1)
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_ended(meeting: u64) {
    race_leave(meeting);
    let mut initialized = 0;
    // SAFETY: the library answers into our variable.
    unsafe { standard::pshmem_query_initialized(&mut initialized) };
    if initialized == 0 {
        race_buffers.store(0, Relaxed);
        node::close();
    }
}

hook! {
    fn race_fence(ctx: Context) |_, strand| {
        // On no context the call does nothing.
        if !ctx.is_null() {
            strand.fence(stream(ctx));
        }
    }
}

fn quiet(node: &RaceNode, strand: Strand<'_, '_>, stream: Stream) {
    buffers_ended(node, strand.quiet(stream));
}

hook! {
    fn race_quiet(ctx: Context) |node, strand| {
        if !ctx.is_null() {
            quiet(node, strand, stream(ctx));
        }
    }
}

hook! {
    fn race_pe_quiet(ctx: Context, pes: *const c_int, count: usize) |node, strand| {
        if ctx.is_null() {
            return;
        }
        for number in 0..count {
            // SAFETY: the program promises the call so many PE numbers.
            let pe = world(ctx, unsafe { *pes.add(number) });
            strand.quiet_to(stream(ctx), node.pes.iter().position(|&world| world == pe));
        }
        // It is not known from which of the PEs data comes, and to which of them a local buffer goes.
        if count > 0 {
            buffers_ended(node, strand.end_results(stream(ctx)));
        }
    }
}

hook! {
    fn race_sources_over() |node, strand| {
        buffers_ended(node, strand.end_sources());
    }
}

/// A number of a symmetric object, the same on all PEs of the node.
fn symmetric_name(node: &RaceNode, object: *const c_void) -> Option<u64> {
    let place = node.resolve(object as usize)?;
    Some((place.offset as u64) << 1 | (place.segment == oxshmem_race::MemoryPart::Statics) as u64)
}

hook! {
    fn race_locked(lock: *const c_void) |node, strand| {
        if let Some(name) = symmetric_name(node, lock) {
            strand.lock(name);
        }
    }
}

hook! {
    fn race_unlocking(lock: *const c_void) |node, strand| {
        quiet(node, strand, Stream::Default);
        if let Some(name) = symmetric_name(node, lock) {
            strand.unlock(name);
        }
    }
}

fn enter(members: Option<MeetingMembers>, completes: c_int, root: c_int) -> u64 {
    let (Some(node), Some(members)) = (node::current(), members) else { return 0 };
    let Some(_inside) = threads::step_inside() else { return 0 };
    let strand = node.detector.strand(threads::current(node));
    if completes != 0 {
        quiet(node, strand, Stream::Default);
    }
    strand.enter(members.print, root < 0 || root == members.me).number()
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_enter_world(completes: c_int) -> u64 {
    node::current().map_or(0, |_| enter(Some(MeetingMembers::world()), completes, -1))
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_enter_team(team: Team, completes: c_int, root: c_int) -> u64 {
    node::current().map_or(0, |node| enter(MeetingMembers::of_team(node, team), completes, root))
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_enter_set(
    start: c_int,
    log_stride: c_int,
    size: c_int,
    sync: *const c_void,
    completes: c_int,
    root: c_int,
) -> u64 {
    node::current().map_or(0, |node| {
        let sync = symmetric_name(node, sync).unwrap_or(0);
        enter(Some(MeetingMembers::of_set(start, log_stride, size, sync)), completes, root)
    })
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_enter_scan(team: Team) -> u64 {
    let Some(node) = node::current() else { return 0 };
    let Some(members) = MeetingMembers::of_team(node, team) else { return 0 };
    let (Ok(me), Some(_inside)) = (u32::try_from(members.me), threads::step_inside()) else { return 0 };
    let strand = node.detector.strand(threads::current(node));
    strand.enter_scan(members.print, me, race_size(team) as u32).number()
}

hook! {
    fn race_split(parent: Team, one: Team, other: Team) |node, _| node.teams.split(parent, [one, other])
}

hook! {
    fn race_team_ends(team: Team) |node, _| {
        // The detector does not query a handle that may be invalid: the call itself refuses it.
        if node.teams.is_named(team)
            && let Some(members) = MeetingMembers::of_team(node, team)
        {
            node.detector.forget_members(members.print);
        }
        node.teams.end(team);
    }
}

hook! {
    fn race_contexts_over() |node, strand| quiet(node, strand, Stream::Other)
}

hook! {
    fn race_leave(meeting: u64) |_, strand| {
        if meeting != 0 {
            strand.leave(CollectiveMeeting::of_number(meeting));
        }
    }
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_size(team: Team) -> usize {
    // Outside of init and finalize the library notes such a question, which is not the program's.
    if team.is_null() || node::current().is_none() || !standard::is_team(team) {
        return 0;
    }
    // SAFETY: the program passes the handle to a collective call, which asks for a team's.
    unsafe { standard::pshmem_team_n_pes(team) }.max(0) as usize
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_is_root_of(team: Team, root: c_int) -> c_int {
    // SAFETY: the program passes the handle to a collective call, which asks for a team's.
    let my_pe = || unsafe { standard::pshmem_team_my_pe(team) };
    (node::current().is_some() && standard::is_team(team) && my_pe() == root).into()
}

// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn race_is_root(start: c_int, log_stride: c_int, root: c_int) -> c_int {
    let is_me = || start + (root << log_stride.clamp(0, 30)) == standard::pshmem_my_pe();
    (node::current().is_some() && is_me()).into()
}

hook! {
    fn race_use(dest: *mut c_void, dest_len: usize, source: *const c_void, source_len: usize, pc: *const c_void, call: u16)
    |node, strand| {
        if node.leaves(dest as usize, dest_len) || node.leaves(source as usize, source_len) {
            return;
        }
        let site = site(node, pc, call);
        local(node, strand, source as usize, source_len, AccessKind::Read, site);
        local(node, strand, dest as usize, dest_len, AccessKind::Write, site);
    }
}

hook! {
    fn race_use_strided(
        dest: *mut c_void, dst: isize, source: *const c_void, sst: isize, len: usize, count: usize, pc: *const c_void, call: u16
    ) |node, strand| {
        // The library refuses such a call. Its count may be wrong, too, and then there are billions of pieces.
        let is_refused = |address: usize, stride| {
            node.resolve(address).is_none() || node.pieces_leave(address, stride, len, count)
        };
        if is_refused(dest as usize, dst) || is_refused(source as usize, sst) {
            return;
        }
        let site = site(node, pc, call);
        for index in 0..count as isize {
            let at = |array: usize, stride: isize| array.wrapping_add_signed(index.wrapping_mul(stride));
            local(node, strand, at(source as usize, sst), len, AccessKind::Read, site);
            local(node, strand, at(dest as usize, dst), len, AccessKind::Write, site);
        }
    }
}

hook! {
    fn race_pieces(
        array: usize, offsets: *const usize, sizes: *const usize, count: usize, writes: c_int, pc: *const c_void, call: u16
    ) |node, strand| {
        // The library refuses such a call.
        if offsets.is_null() || sizes.is_null() {
            return;
        }
        let (site, kind) = (site(node, pc, call), if writes != 0 { AccessKind::Write } else { AccessKind::Read });
        local(node, strand, offsets as usize, count * size_of::<usize>(), AccessKind::Read, site);
        local(node, strand, sizes as usize, count * size_of::<usize>(), kind, site);
        for index in 0..count {
            // SAFETY: the program promises the call an offset and a size for each member.
            let (offset, size) = unsafe { (*offsets.add(index), *sizes.add(index)) };
            if node.leaves(array.wrapping_add(offset), size) {
                return;
            }
            local(node, strand, array.wrapping_add(offset), size, kind, site);
        }
    }
}

hook! {
    fn race_requested(
        request: usize, meeting: u64, dest: usize, dest_len: usize, source: usize, source_len: usize, pc: *const c_void, call: u16
    ) |node, strand| {
        let meeting = (meeting != 0).then(|| CollectiveMeeting::of_number(meeting));
        let arrays = [(source, source_len, AccessKind::Read), (dest, dest_len, AccessKind::Write)];
        let buffers = arrays.map(|(address, len, kind)| {
            let place = node.resolve(address).filter(|place| place.pe == node.me);
            CallBuffer { address, place, len, kind }
        });
        say(node, strand.begin_request(request as u64, meeting, buffers, site(node, pc, call)));
        buffers_begun();
    }
}

hook! {
    fn race_request_over(request: usize) |node, strand| {
        let (race, still) = strand.end_request(request as u64);
        say(node, race);
        buffers_ended(node, still);
    }
}
