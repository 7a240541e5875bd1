//! Teams with members on several nodes: their exchanges, their loads, and the slots of their active sets.
//!
//! Everybody leaves its line, a number and seven words, in everybody's inbox: by store where the member is on the node,
//! by the network otherwise. A slot has two inboxes that take turns, for the same reason as the lines of `slot`.
//!
//! Everything else that collectives do across nodes is loads: everybody fetches what it needs after all have entered and
//! before anybody leaves. This is the way that is right for every call; schedules are the fast way, and come later.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use oxshmem_base::Error;
use oxshmem_reduce::{Kernel, Store};
use oxshmem_transport::{Amo, Region, Remote, SignalUpdate, Width};

use crate::active_set::Key;
use crate::collective::Call;
use crate::control::{self, ControlBlock, INBOX_LINE, REGISTRY, SLOTS};
use crate::diagnose;
use crate::far::{Found, on_world_pe};
use crate::life;
use crate::network;
use crate::slot::PAYLOAD_WORDS;
use crate::team::{Members, TeamState};
use crate::wait::{self, Needs, Reason};

/// Bytes of a line.
const LINE: usize = INBOX_LINE;
const _: () = assert!(LINE == 8 * (1 + PAYLOAD_WORDS));

/// Slots that teams may have: all of one node; of several, all but what the registry gives away.
pub(crate) fn slots() -> usize {
    if network::is_open() { SLOTS - REGISTRY } else { SLOTS }
}

/// See `slot::exchange`.
#[cold]
pub(crate) fn exchange(
    team: &TeamState,
    call: &'static str,
    number: u64,
    payload: &[u64],
    mut visit: impl FnMut(u32, &[u64; PAYLOAD_WORDS]),
) {
    let parity = number as usize & 1;
    let slot = team.slot.unwrap_or_else(|| unreachable!("teams that span nodes have slots"));
    let own = control::inbox(life::my_window(), slot, parity);
    let mut line = [0; 1 + PAYLOAD_WORDS];
    line[0] = number;
    line[1..=payload.len()].copy_from_slice(payload);
    for member in 0..team.size {
        let pe = team.world(member);
        match life::window_of(pe) {
            Some(window) => leave_here(control::inbox(window, slot, parity), team.my, &line),
            None => leave_there(pe, own as usize - control::own(), team.my, &line),
        }
    }
    for member in 0..team.size {
        let place = own.wrapping_add(member as usize * LINE).cast::<u64>();
        // SAFETY: an aligned word of the caller's inbox, which others write by atomic stores.
        let word = unsafe { AtomicU64::from_ptr(place) };
        let reason = Reason { call, address: place as usize, needs: Needs::Team(team) };
        wait::until(reason, None, || (word.load(Acquire) == number).then_some(()));
        // SAFETY: the words were written before the number, and are written again two exchanges later at the earliest.
        visit(member, unsafe { &*place.wrapping_add(1).cast::<[u64; PAYLOAD_WORDS]>() });
    }
}

fn leave_here(inbox: *mut u8, my: u32, line: &[u64; 1 + PAYLOAD_WORDS]) {
    let place = inbox.wrapping_add(my as usize * LINE).cast::<u64>();
    // SAFETY: line `my` of an inbox is written by this PE only, and nobody reads it between two exchanges.
    unsafe {
        ptr::copy_nonoverlapping(line[1..].as_ptr(), place.add(1), PAYLOAD_WORDS);
        AtomicU64::from_ptr(place).store(line[0], Release);
    }
}

fn leave_there(pe: u32, inbox: usize, my: u32, line: &[u64; 1 + PAYLOAD_WORDS]) {
    let at =
        |offset: usize| Remote { pe, region: Region::Control, offset: (inbox + my as usize * LINE + offset) as u64 };
    network::issue(|lane| {
        // SAFETY: inboxes lie inside the control region; `put` has copied the words when it returns.
        unsafe {
            lane.put(at(8), line[1..].as_ptr().cast(), 8 * PAYLOAD_WORDS);
            lane.fence();
            lane.amo(at(0), Width::Eight, SignalUpdate::Set(line[0]).amo(), ptr::null_mut());
        }
    });
}

/// Copies `bytes` bytes of a member's symmetric `from`, which is ready, to `to`.
///
/// # Safety
/// `to` is writable for `bytes` bytes.
#[cold]
pub(crate) unsafe fn fetch(call: Call<'_>, member: u32, from: *const u8, to: *mut u8, bytes: usize) {
    match on_world_pe(call.name, from as usize, bytes, call.team.world(member)) {
        // SAFETY: found mapped; the caller vouches for the rest.
        Found::Here(from) => unsafe { ptr::copy(from as *const u8, to, bytes) },
        Found::There(from) => {
            // SAFETY: inside a region; `to` stays valid until the operation is complete.
            network::issue(|lane| unsafe { lane.get_nbi(to, from, bytes) });
            network::complete(call.name);
        }
    }
}

/// Bytes of a member's operand that are fetched at a time.
const PIECE: usize = 256 << 10;

/// A reduction or scan: everybody folds the members `0 .. count` in order, then stores the result when nobody reads any
/// more. Without members the result is zero.
///
/// # Safety
/// As for the engine of the node.
#[cold]
pub(crate) unsafe fn fold(
    call: Call<'_>,
    kernel: Kernel,
    size: usize,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    count: u32,
) {
    let mut result = vec![0_u128; (n * size).div_ceil(16)];
    let result = result.as_mut_ptr().cast::<u8>();
    let step = (PIECE / size).min(n);
    let mut operand = vec![0_u128; (step * size).div_ceil(16)];
    let operand = operand.as_mut_ptr().cast::<u8>();
    call.enter();
    for member in 0..count {
        for at in (0..n).step_by(step) {
            let (piece, offset) = (step.min(n - at), at * size);
            let into = if member == 0 { result.wrapping_add(offset) } else { operand };
            // SAFETY: the member has entered; both buffers are aligned for every type and hold the piece.
            unsafe {
                fetch(call, member, source.wrapping_add(offset), into, piece * size);
                if member > 0 {
                    let sum = result.add(offset);
                    kernel.fold(sum, &[sum, operand], piece, Store::Cached);
                }
            }
        }
    }
    call.leave();
    // SAFETY: the caller's promise; all members have read our source, which `dest` may be.
    unsafe { ptr::copy_nonoverlapping(result, dest, n * size) };
}

/// The teams of active sets that span nodes, as this process has met them. They stay until the next life.
static SETS: Mutex<Option<HashMap<Key, &'static TeamState>>> = Mutex::new(None);

/// Begins a life without active sets.
pub(crate) fn begin() {
    *SETS.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The team of an active set, or of PEs that are about to be a team: its slot comes from the registry.
pub(crate) fn meeting(call: &'static str, key: &Key, members: Members, my: u32) -> &'static TeamState {
    if let Some(team) = SETS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().get(key) {
        return team;
    }
    let slot = register(call, key.hash());
    let team: &'static TeamState = Box::leak(Box::new(TeamState::new(members, key.size, my, slot, 0)));
    SETS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(*key, team);
    team
}

/// The slot that the job's registry, a table at world PE 0, has for this name; the first who asks makes the entry.
fn register(call: &'static str, name: u64) -> u32 {
    for step in 0..REGISTRY {
        let index = (name as usize + step) % REGISTRY;
        let there = claim(call, index, name);
        if there == 0 || there == name {
            return (SLOTS - REGISTRY + index) as u32;
        }
    }
    diagnose::fail(
        &Error::new(format!("{call}: no more active sets over several nodes"))
            .because(format!("the job uses {REGISTRY} pairs of a set and a pSync array already"))
            .fix("use the same pSync arrays again, or teams"),
    )
}

/// Puts `name` into entry `index` if it is free; returns what was there.
fn claim(call: &'static str, index: usize, name: u64) -> u64 {
    let entry = &ControlBlock::own().registry[index];
    if let Some(window) = life::window_of(0) {
        let entry = &ControlBlock::of(window).registry[index];
        return entry.compare_exchange(0, name, AcqRel, Acquire).unwrap_or_else(|there| there);
    }
    let offset = (ptr::from_ref(entry) as usize - control::own()) as u64;
    let to = Remote { pe: 0, region: Region::Control, offset };
    let mut old = 0_u64;
    let place = (&raw mut old).cast();
    // SAFETY: the entry is inside the control region and aligned; `old` stays valid until the operation is complete.
    network::issue(|lane| unsafe {
        lane.amo(to, Width::Eight, Amo::CompareSwap { cond: 0, value: name }, place);
    });
    network::complete(call);
    old
}
