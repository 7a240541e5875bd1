//! The control window of a PE: what the runtime itself shares with the node's other PEs.
//!
//! ```text
//! 0          the index for readers from outside, the PE's state, its bell, its waits
//! CALL_WORDS_AT  what calls write: the PE's last calls, its last statement; behind the older calls in the page of the first slots
//! TEAM_SLOTS synchronisation slots; a team owns one slot number on all its members
//! MAILBOXES  mailboxes and signals of the leaders of nodes, for the slots of teams that span nodes (see `leaders`)
//! TEAM_BUFFERS  where leaders put more than a mailbox holds, leased by the teams that need it
//! BROADCAST_RINGS  broadcasts whose root goes on at once, leased by the teams that make them (see `broadcast_ring`)
//! SET_PLACES places of the active sets whose first PE this is (see `active_set`)
//! SLOT_LINES lines by which the members of a team on one node meet level by level, for all slots (see `lines`)
//! SCHEDULE_AREAS  what schedules need, for the first slot numbers (see `area`)
//! SMALL_GATHERS  where a leader collects its team's lines for the members of its node, for the slots of teams that span nodes
//! OUTGOING_BUFFERS  where the members of a node write what their leader puts, leased with TEAM_BUFFERS
//! SLOT_EAGER what members of a team on one node have ready for each other, for all slots (see `eager`)
//! ```
//! The file is sparse: what no team uses costs addresses, not memory. Other nodes reach what lies before SET_PLACES, which
//! is short, because there are networks that pin every page that others may reach.

pub(crate) mod area;
pub(crate) mod broadcast_ring;
mod demand;
pub(crate) mod eager;
pub(crate) mod leaders;
pub(crate) mod lines;
pub(crate) mod seat;
pub(crate) mod signals;
mod statement;
mod window_array;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use oxshmem_flight::calls::CallRing;
use oxshmem_flight::index::{Index, WindowLayout};
use oxshmem_flight::waits::Records;
use oxshmem_os::memory::show_in_core;

use crate::sync::{Apart, AtomicU32, AtomicU64, Cell};
use crate::wait::bell::Bell;

use area::{AREAS, Area};
use broadcast_ring::{BroadcastRing, RINGS};
pub(crate) use demand::{Demand, WantedMemory};
use eager::EagerMemory;
use leaders::{BUFFER_SETS, GATHER, Mailboxes, SMALL_GATHER, TeamBuffers};
use lines::TeamLines;
use window_array::{PageOf, WindowArray, window_at};

pub(crate) use statement::{CallDeclaration, CallStatement, SplitStatement};

/// How many synchronisation slots a PE has: a bound on the live teams that it can be a member of.
pub(crate) const SLOTS: usize = 4096;
/// Slots that teams over several nodes may have: all numbers below this one.
pub(crate) const SPANNING: usize = 2048;
/// How many meetings of PEs that are no team a job of several nodes may have at a time. The last so many of the slots that may span nodes
/// are theirs.
pub(crate) const REGISTRY: usize = 128;
/// Room for active sets: of a node of 4,096 PEs each keeps 31. `active_set::Key::keeper` says why these are enough.
pub(crate) const SETS_BYTES: usize = 3 << 30;
const CALL_WORDS_AT: usize = 12 << 10;
const SLOTS_AT: usize = CALL_WORDS_AT + size_of::<CallWords>();
/// A slot for each slot number below [`SLOTS`].
pub(crate) const TEAM_SLOTS: WindowArray<Slot> = WindowArray::new(SLOTS_AT, SLOTS);
/// Mailboxes for each slot number below [`SPANNING`].
pub(crate) const MAILBOXES: WindowArray<Mailboxes> = TEAM_SLOTS.then(SPANNING);
/// The sets of buffers that teams lease.
pub(crate) const TEAM_BUFFERS: WindowArray<TeamBuffers> = MAILBOXES.then(BUFFER_SETS as usize);
/// The rings that teams lease.
pub(crate) const BROADCAST_RINGS: WindowArray<BroadcastRing> = TEAM_BUFFERS.then(RINGS as usize);
/// The part that other nodes reach.
pub(crate) const REACHED: usize = BROADCAST_RINGS.end();
/// The active sets that begin with the PE.
pub(crate) const SET_PLACES: WindowArray<[u8; SETS_BYTES]> = BROADCAST_RINGS.then(1);
/// Lines for each slot number below [`SLOTS`].
pub(crate) const SLOT_LINES: WindowArray<PageOf<TeamLines>> = SET_PLACES.then(SLOTS);
/// An area for each slot number below [`AREAS`].
pub(crate) const SCHEDULE_AREAS: WindowArray<Area> = SLOT_LINES.then(AREAS as usize);
/// The gather buffers for even and odd exchanges without a lease, for each slot number below [`SPANNING`].
pub(crate) const SMALL_GATHERS: WindowArray<[UnsafeCell<[u8; SMALL_GATHER]>; 2]> = SCHEDULE_AREAS.then(SPANNING);
/// The outgoing buffers for even and odd exchanges, for each set of buffers.
pub(crate) const OUTGOING_BUFFERS: WindowArray<[UnsafeCell<[u8; GATHER]>; 2]> =
    SMALL_GATHERS.then(BUFFER_SETS as usize);
/// Eager memory for each slot number below [`SLOTS`].
pub(crate) const SLOT_EAGER: WindowArray<EagerMemory> = OUTGOING_BUFFERS.then(SLOTS);
const END: usize = SLOT_EAGER.end();
/// Control windows are this far apart.
pub(crate) const SHIFT: u32 = END.next_power_of_two().trailing_zeros();
const _: () = assert!(SHIFT <= 33, "addresses are cheap, but a node may have thousands of PEs");

/// The part of a window in a core file: the head and the first slots, which are in use anyway.
const IN_CORE: usize = 64 << 10;

/// Where control window 0 is. Read by threads that have seen [`OWN`], a team or the life, all of which publish it.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// Which window is the caller's; zero while there is none. Stored with release and loaded with acquire, so that a thread which
/// finds it finds the window mapped.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// How many bytes all of them have.
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Makes the control windows at `base`, `len` bytes in all, the current ones; `own` is the caller's.
pub(crate) fn open(base: usize, len: usize, own: u32) {
    BASE.store(base, Relaxed);
    LEN.store(len, Relaxed);
    OWN.store(base + ((own as usize) << SHIFT), Release);
    show_in_core(base + ((own as usize) << SHIFT), IN_CORE);
}

/// There are no current ones any more.
pub(crate) fn close() {
    OWN.store(0, Relaxed);
    LEN.store(0, Relaxed);
}

/// Leaves the windows to the parent of this process, the child of a fork: what the child still does there, by the handle of
/// a team say, it does in memory of its own. Only makes system calls.
pub(crate) fn leave_to_parent() {
    let (base, len) = (BASE.load(Relaxed), LEN.load(Relaxed));
    close();
    // SAFETY: `open` was given a mapping of this length, which stays until the last finalize; this process is no PE.
    if len > 0 && unsafe { oxshmem_os::memory::detach(base, len) }.is_err() {
        // It must not write any more to what its parent shares with other PEs.
        std::process::abort();
    }
}

/// Address of the caller's own control window.
pub(crate) fn own() -> usize {
    OWN.load(Relaxed)
}

pub(crate) use oxshmem_flight::State;

/// Slots that are leased by PEs that meet without being a team, or the arrivals at such a meeting.
#[repr(C)]
pub(crate) struct Registry {
    /// The owner of the entry; zero: none.
    pub(crate) names: [AtomicU64; REGISTRY],
    /// The number from which its present members count, and how many have left; or how many have come: see
    /// `active_set::temporary_meeting`.
    pub(crate) turns: [AtomicU64; REGISTRY],
}

/// The head of a control window.
#[repr(C, align(128))]
pub(crate) struct ControlBlock {
    /// Where readers from outside find the rest.
    index: Index,
    /// A [`State`]; written by the owner, and by any PE that finds that the owner's process is gone (see `wait::deaths`).
    state: core::sync::atomic::AtomicU32,
    _apart: [u32; 31],
    bell_word: AtomicU32,
    bell_armed: AtomicU32,
    _apart_too: [u32; 30],
    /// One when a PE of the node is about to say why the job ends; used of window 0 only.
    pub(crate) spoken: core::sync::atomic::AtomicU32,
    /// One while a PE looks for a place in this PE's active sets.
    pub(crate) sets_lock: AtomicU32,
    /// Counts the places that were made for active sets, so that the oldest can be found.
    pub(crate) sets_clock: AtomicU32,
    /// The process number that the owner has in its own namespace.
    pub(crate) process: core::sync::atomic::AtomicU32,
    _apart_again: [u32; 28],
    /// Which slot is leased by which meeting, in a job of several nodes; used of world PE 0 only (see
    /// `active_set::temporary_meeting`). And how many members have counted in at meetings for which this PE, their first member, waits
    /// for a slot.
    pub(crate) registries: [Registry; 2],
    /// The memory that the PE wants of its node.
    pub(crate) demand: Demand,
    /// The waits of the PE's threads.
    pub(crate) records: Records,
    /// One if something else than a PE may store to this PE's variables while it waits.
    pub(crate) others_may_store: core::sync::atomic::AtomicU32,
    _apart_at_last: u32,
    /// How far the waits of the node's PEs have been observed (see `deadlock`); used of window 0 only.
    pub(crate) observed: core::sync::atomic::AtomicU64,
}

/// The words that the PE's calls write besides the slots of its teams.
#[repr(C, align(128))]
pub(crate) struct CallWords {
    /// The last calls.
    pub(crate) calls: CallRing,
    /// The last statement about a collective call.
    pub(crate) statement: CallStatement,
}

/// The slots of the predefined teams begin in the page of what each call writes: see `oxshmem_flight::calls`.
#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<ControlBlock>() <= CALL_WORDS_AT && SLOTS_AT.is_multiple_of(align_of::<Slot>()));
    let page = CALL_WORDS_AT + oxshmem_flight::calls::OLDER_BYTES;
    assert!(page.is_multiple_of(4096) && SLOTS_AT + 3 * size_of::<Slot>() <= page + 4096);
};

impl ControlBlock {
    #[inline(always)]
    pub(crate) fn own() -> &'static Self {
        // SAFETY: `open` was given mapped windows; they are unmapped only by the last finalize, after which the
        // standard allows no call that gets here. All fields are atomics.
        unsafe { &*(OWN.load(Acquire) as *const Self) }
    }

    /// The caller's, unless the library is not initialised.
    #[inline(always)]
    pub(crate) fn if_open() -> Option<&'static Self> {
        // SAFETY: null, or as in `own`.
        unsafe { (OWN.load(Acquire) as *const Self).as_ref() }
    }

    /// The one of the node's PE in window `window`.
    pub(crate) fn of(window: u32) -> &'static Self {
        // SAFETY: `open` was given mapped windows, which are unmapped only by the last finalize; `window_at` finds one of
        // them. All fields are atomics.
        unsafe { &*(window_at(window) as *const Self) }
    }

    /// Its last calls and its last statement.
    #[inline(always)]
    pub(crate) fn call_words(&self) -> &CallWords {
        // SAFETY: a control block begins a window of the mapped control arena, because `own`, `if_open` and `of` are the only functions
        // that make references to one; the place is inside of it and aligned by construction. All fields are atomics.
        unsafe { &*((core::ptr::from_ref(self) as usize + CALL_WORDS_AT) as *const CallWords) }
    }

    /// Publishes for readers from outside that this is the window of world number `pe`.
    pub(crate) fn show(&self, pe: u32) {
        let place = |of: usize| (of - core::ptr::from_ref(self) as usize) as u32;
        self.index.publish(WindowLayout {
            pe,
            shift: SHIFT,
            state: place(&raw const self.state as usize),
            waits: place(&raw const self.records as usize),
            calls: place(&raw const self.call_words().calls as usize),
        });
    }

    /// The bell that ends this PE's sleeps.
    pub(crate) fn bell(&self) -> Bell<'_> {
        Bell { word: &self.bell_word, armed: &self.bell_armed }
    }

    /// The last state that the PE has published.
    pub(crate) fn state(&self) -> State {
        State::of(self.state.load(Acquire))
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u32, Release);
    }
}

/// How many words of payload an exchange carries.
pub(crate) const PAYLOAD_WORDS: usize = oxshmem_schedule::way::size_limits::PAYLOAD / 8;

/// One member's line of a slot: a sequence number and the payload that belongs to it.
///
/// The owner writes the payload, then `sequence` with release; all others read `sequence` with acquire, then the payload. Two lines take
/// turns, so the owner writes a line again only after every reader has left it: see `collectives/node_exchange.rs`.
#[repr(C, align(128))]
pub(crate) struct Line {
    /// Number of the synchronisation that the payload belongs to, with the signature of the owner's call.
    pub(crate) sequence: AtomicU64,
    /// The payload; accessed as plain memory under the protocol above.
    pub(crate) payload: Cell<[u64; PAYLOAD_WORDS]>,
}

/// The lines of one member in one slot.
#[repr(C)]
pub(crate) struct Slot {
    /// Even and odd synchronisations.
    pub(crate) lines: [Line; 2],
    /// Count of arrivals in the lower half, the sum of their signatures in the upper one; used of the team's first member
    /// only (of a node's, if the team spans nodes), zero between synchronisations.
    pub(crate) arrivals: Apart<AtomicU64>,
    /// Release of counted synchronisations, and announcements.
    pub(crate) words: Apart<Words>,
}

/// The words of a slot that are not lines.
#[repr(C)]
pub(crate) struct Words {
    /// Number of the last synchronisation that all members reached, with its signature, as all words here; used of the team's first member
    /// only.
    pub(crate) released: AtomicU64,
    /// The bell of the members that wait for `released`.
    pub(crate) bell_word: AtomicU32,
    pub(crate) bell_armed: AtomicU32,
    /// Number of the last announcement of this member (see `collectives/node_exchange.rs`).
    pub(crate) announced: AtomicU64,
    /// Number of the last announcement that this member has taken.
    pub(crate) taken: AtomicU64,
    /// The name of the array that this member has announced last. Written before `announced`, and again when all have taken that.
    pub(crate) source: AtomicU64,
    /// The split that took the slot. In a cache line of its own, so that writing it does not disturb waits for the words above.
    #[cfg(not(loom))]
    _apart: [u64; 3],
    pub(crate) split: SplitStatement,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 512);

impl Slot {
    /// As it was in the beginning. No other PE looks at it.
    pub(crate) fn clear(&self) {
        for line in &self.lines {
            line.sequence.store(0, Relaxed);
        }
        self.arrivals.0.store(0, Relaxed);
        let words = &self.words.0;
        for word in [&words.released, &words.announced, &words.taken] {
            word.store(0, Relaxed);
        }
    }
}

/// Where something of the caller's own control window is, in terms of every PE's window.
pub(crate) fn offset<T>(of: *const T) -> u64 {
    (of as usize - own()) as u64
}

/// The same number on all PEs of the node for what is at the caller's address `at` in the control arena.
pub(crate) fn name(at: usize) -> u64 {
    (at - BASE.load(Relaxed)) as u64
}

#[cfg(test)]
pub(crate) mod tests;
