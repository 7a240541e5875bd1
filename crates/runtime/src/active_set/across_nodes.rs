//! Active sets with members on several nodes: their slots come from a table at world PE 0.

use core::sync::atomic::{Ordering::AcqRel, Ordering::Acquire};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use oxshmem_base::Error;
use oxshmem_transport::{Amo, Region, Remote, Width};

use super::key::Key;
use crate::control::{self, ControlBlock, REGISTRY, SPANNING};
use crate::members::Members;
use crate::team::TeamState;
use crate::{diagnose, job, lane, network};

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
            return (SPANNING - REGISTRY + index) as u32;
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
    if let Some(window) = job::window_of(0).filter(|_| !network::does_atomics()) {
        let entry = &ControlBlock::of(window).registry[index];
        return entry.compare_exchange(0, name, AcqRel, Acquire).unwrap_or_else(|there| there);
    }
    let offset = control::offset(entry);
    let to = Remote { pe: 0, region: Region::Control, offset };
    let mut old = 0_u64;
    let place = (&raw mut old).cast();
    // SAFETY: the entry is inside the control region and aligned; `old` stays valid until the operation is complete.
    lane::issue(|lane| unsafe {
        lane.amo(to, Width::Eight, Amo::CompareSwap { cond: 0, value: name }, place);
    });
    lane::complete(call);
    old
}
