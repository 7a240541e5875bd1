//! How a new team gets its slot: the leases of `oxshmem_schedule::lease`, with the team's exchanges as its messages.
//!
//! With the slot go the numbers from which the new team counts its exchanges and its scheduled calls. Every PE knows
//! numbers that no line and no word of its slots has passed; the greatest of the members' numbers are agreed on together
//! with the leases.

use std::sync::{Mutex, MutexGuard, PoisonError};

use oxshmem_schedule::lease::{Leases, Settled, Slots, WORDS};

use crate::control::SLOTS;
use crate::slot::{self, reached};
use crate::team::TeamState;

/// Pieces that hold the bits of all slots.
const PIECES: usize = SLOTS.div_ceil(64 * WORDS);

/// How far a team has counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Numbers {
    /// Exchanges and announcements, in a window of half the numbers.
    pub(crate) exchanges: u32,
    /// Calls that ran a schedule.
    pub(crate) calls: u64,
}

impl Numbers {
    /// What has passed neither `self` nor `other` is behind both.
    fn or_beyond(self, other: Self) -> Self {
        let exchanges = if reached(other.exchanges, self.exchanges) { other.exchanges } else { self.exchanges };
        Self { exchanges, calls: self.calls.max(other.calls) }
    }
}

/// What this PE has not given to a team.
struct Ledger {
    slots: Slots<PIECES>,
    /// No line and no word of this PE has passed these.
    passed: Numbers,
}

static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);

/// A slot for a team, and what it hands down to the team's children.
pub(crate) struct Lease {
    pub(crate) slot: u16,
    pub(crate) base: Numbers,
    pub(crate) children: Leases,
}

/// The leases of a team, and the numbers that go with them.
#[derive(Default)]
pub(crate) struct Held {
    leases: Leases,
    base: Numbers,
}

impl Held {
    /// What a child of a splitting parent starts with.
    pub(crate) fn inherited(lease: &mut Lease) -> Self {
        Self { leases: std::mem::take(&mut lease.children), base: lease.base }
    }
}

/// Starts with all slots free but the world's; returns the world's leases.
pub(crate) fn begin() -> Held {
    let (slots, leases) = Slots::new(SLOTS as u16);
    *lock() = Some(Ledger { slots, passed: Numbers::default() });
    Held { leases, base: Numbers::default() }
}

fn lock() -> MutexGuard<'static, Option<Ledger>> {
    LEDGER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_ledger<R>(act: impl FnOnce(&mut Ledger) -> R) -> R {
    act(lock().as_mut().expect("teams exist only between begin and the last finalize"))
}

/// Takes a lease of `parent`; all its members call this, in the same order. Sends something only if there is none left.
/// `None`, on all members alike, if no slot is free on all of them.
pub(crate) fn pop(call: &'static str, parent: &TeamState) -> Option<Lease> {
    let mut held = parent.held.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = match held.leases.pop() {
        Some(slot) => slot,
        None => {
            agree(call, parent, parent.identity(), &mut held)?;
            held.leases.pop()?
        }
    };
    let children = held.leases.hand_down();
    Some(Lease { slot, base: held.base, children })
}

/// Finds a slot for a team whose members alone meet, as `meeting`.
pub(crate) fn meet(call: &'static str, meeting: &TeamState, identity: u64) -> Option<Lease> {
    let mut held = Held::default();
    agree(call, meeting, identity, &mut held)?;
    let slot = held.leases.pop()?;
    Some(Lease { slot, base: held.base, children: held.leases })
}

/// Gets leases for `held` by agreement of the team.
fn agree(call: &'static str, team: &TeamState, identity: u64, held: &mut Held) -> Option<()> {
    let mut search = Slots::<PIECES>::search(identity);
    loop {
        let offer = with_ledger(|ledger| ledger.slots.offer(&search));
        let mut agreed = [u64::MAX; WORDS];
        slot::exchange(team, call, offer.words(), |_, words| {
            agreed.iter_mut().zip(words).for_each(|(agreed, word)| *agreed &= word);
        });
        match with_ledger(|ledger| ledger.slots.settle(&mut search, offer, &agreed, &mut held.leases)) {
            Settled::Granted => break,
            Settled::Again => {}
            Settled::Crowded => std::thread::yield_now(),
            Settled::Exhausted => return None,
        }
    }
    let mut base = with_ledger(|ledger| ledger.passed);
    slot::exchange(team, call, &[base.exchanges.into(), base.calls], |_, words| {
        base = base.or_beyond(Numbers { exchanges: words[0] as u32, calls: words[1] });
    });
    held.base = base;
    Some(())
}

/// Gives back a lease that this PE is not a member for.
pub(crate) fn decline(mut lease: Lease) {
    with_ledger(|ledger| {
        ledger.slots.release(lease.slot);
        ledger.slots.release_all(&mut lease.children);
    });
}

/// Gives back what a destroyed team had. The team is quiet: its last exchange had no payload.
pub(crate) fn give_back(team: &TeamState) {
    let Some(slot) = team.slot else { return };
    let mut held = team.held.lock().unwrap_or_else(PoisonError::into_inner);
    with_ledger(|ledger| {
        ledger.slots.release(slot as u16);
        ledger.slots.release_all(&mut held.leases);
        ledger.passed = ledger.passed.or_beyond(team.beyond());
    });
}
