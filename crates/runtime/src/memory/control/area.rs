//! The memory that the schedules of a team need in the control window of each member.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxshmem_schedule::step::{SIGNAL_SETS, Traffic, Turn};
use oxshmem_schedule::way::size_limits::{AREA_SCRATCH, AREA_SIGNAL_SET_WORDS, AREA_WORDS};

use crate::sync::Apart;

/// Slots below this number have an area: as many as fit into 4 GiB of addresses.
pub(crate) const AREAS: u32 = 448;

/// Words, counters and scratch of one member in one slot. All numbers only grow, across teams too.
#[repr(C, align(4096))]
pub(crate) struct Area {
    /// Signals of synchronising calls, by parity. Set with release by the member that the schedule names, read with acquire by the
    /// owner: they publish what was put before them.
    words: [[AtomicU64; AREA_WORDS]; 2],
    /// Signals of one-way calls, by signal set; likewise.
    signal_sets: [[AtomicU64; AREA_SIGNAL_SET_WORDS]; SIGNAL_SETS as usize],
    /// Arrivals, by parity: added to with release, read with acquire by the owner. The additions are one release
    /// sequence, so the owner that sees the last one sees what was put before each.
    counters: [Apart<AtomicU64>; 2],
    /// How much of the counters earlier calls account for. The owner's alone.
    counted: Apart<[AtomicU64; 2]>,
    /// Scratch, by parity; accessed as plain memory under the schedules' protocol.
    scratch: [ScratchBuffer; 2],
}

#[repr(C, align(4096))]
struct ScratchBuffer(UnsafeCell<[u8; AREA_SCRATCH]>);

// SAFETY: scratch are reached through raw pointers only, and schedules are proven free of races.
unsafe impl Sync for Area {}

/// The part of an area that one call uses.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    traffic: Traffic,
    parity: usize,
}

impl Part {
    pub(crate) fn of(traffic: Traffic, turn: Turn) -> Self {
        Self { traffic, parity: turn.parity() }
    }
}

impl Area {
    /// Word number `word` of the call.
    #[inline]
    pub(crate) fn word(&self, part: Part, word: u32) -> &AtomicU64 {
        match part.traffic {
            Traffic::Synchronising => &self.words[part.parity][word as usize],
            Traffic::OneWay { signal_set } => &self.signal_sets[signal_set as usize][word as usize],
        }
    }

    /// The counter of the call.
    #[inline]
    pub(crate) fn counter(&self, part: Part) -> &AtomicU64 {
        &self.counters[part.parity].0
    }

    /// The value of the counter before the call.
    pub(crate) fn counted(&self, part: Part) -> u64 {
        self.counted.0[part.parity].load(Relaxed)
    }

    /// Accounts for the arrivals of a call that is over.
    pub(crate) fn account(&self, part: Part, arrivals: u64) {
        self.counted.0[part.parity].store(self.counted(part) + arrivals, Relaxed);
    }

    /// Where the scratch of the call starts.
    #[inline]
    pub(crate) fn scratch(&self, part: Part) -> *mut u8 {
        self.scratch[part.parity].0.get().cast()
    }
}
