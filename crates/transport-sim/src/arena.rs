//! The memory that the PEs of a job share: whose turn it is, the dice, the waits, and a mailbox for the memory of each PE.
//!
//! # Memory order
//!
//! Everything but the bells is written by the holder of [`SimArena::lock`] or of the turn, of which there is one each. The lock
//! is taken with acquire and released with release. The thread that gives the turn away stores `turn` with release and
//! the one that gets it loads it with acquire, so that the new holder sees all that the old one has done; everything
//! else is relaxed.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::{AddressRange, Pages, SharedMemory, futex};

use crate::mailbox::MemoryMailbox;

/// The most PEs of a job.
pub(crate) const MOST_PES: usize = 64;
/// The most threads of all PEs that call the library.
pub(crate) const MOST_ACTORS: usize = 1024;

/// Shared by all PEs.
#[repr(C)]
pub(crate) struct SimArena {
    lock: AtomicU32,
    /// The [`TurnHolder`] of the turn, encoded.
    turn: AtomicU32,
    /// PEs that have come to their first step; the first turn is given when all have.
    pub(crate) joined: AtomicU32,
    /// PEs that have closed their fabric.
    pub(crate) left: AtomicU32,
    /// Whether the thread that has the turn is inside the provider, where it may wait for the memory of another PE.
    pub(crate) inside: AtomicU32,
    /// How often the turn has been given. A holder that keeps it is known by an unchanged number.
    pub(crate) switches: AtomicU64,
    /// The number of the present step.
    pub(crate) step: AtomicU64,
    /// The state of the generator.
    pub(crate) chance: AtomicU64,
    /// A digest of all decisions: equal digests are equal runs.
    pub(crate) digest: AtomicU64,
    /// Counts for each node what may end a wait there: effects, and turns of its PEs that were more than a look.
    activity: [AtomicU64; MOST_PES],
    /// The step from which on the run is no function of the seed; 0: it still is.
    pub(crate) overrun: AtomicU64,
    /// The number of the last thread that has taken part, and one.
    actor_count: AtomicU32,
    pub(crate) actors: [Actor; MOST_ACTORS],
    pub(crate) networks: [NetworkSlot; MOST_PES],
}

/// A thread that calls the library. The first one of PE `n` is number `n`.
#[repr(C)]
pub(crate) struct Actor {
    /// An [`ActorState`].
    state: AtomicU32,
    pub(crate) pe: AtomicU32,
    pub(crate) process: AtomicU32,
    pub(crate) thread: AtomicU32,
    /// Rung when it gets the turn.
    pub(crate) bell: AtomicU32,
    /// One more than the activity at its last look, if that was in vain; 0: it has not looked in vain.
    pub(crate) vain: AtomicU64,
    /// The step of that look.
    pub(crate) looked: AtomicU64,
    /// Its rank under [`crate::options::Strategy::Priority`].
    pub(crate) priority: AtomicU64,
    /// The step at which it was last chosen, or had nothing to do.
    pub(crate) chosen: AtomicU64,
}

/// Whether a thread takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum ActorState {
    /// The slot is free.
    Absent = 0,
    /// It has the turn, or waits for it.
    Present = 1,
    /// It has kept the turn for too long, and others have gone on.
    Away = 2,
}

/// The network of one PE: its operations, and the thread that reaches its memory.
#[repr(C)]
pub(crate) struct NetworkSlot {
    /// The process, 0 before it has joined.
    pub(crate) process: AtomicU32,
    pub(crate) node: AtomicU32,
    /// Whether it has [died](DIED) or [left](LEFT); 0: neither.
    pub(crate) over: AtomicU32,
    /// Rung when it gets the turn or a question.
    pub(crate) bell: AtomicU32,
    /// Operations under way that may go on at any time.
    pub(crate) pending: AtomicU32,
    /// Operations under way of the starved pair.
    pub(crate) held: AtomicU32,
    pub(crate) priority: AtomicU64,
    /// As for a thread.
    pub(crate) chosen: AtomicU64,
    pub(crate) mailbox: MemoryMailbox,
}

/// The PE has ended without closing its fabric.
pub(crate) const DIED: u32 = 1;
/// The PE has closed its fabric.
pub(crate) const LEFT: u32 = 2;

/// The one that may run, or is to run next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnHolder {
    Nobody,
    /// A thread of a program.
    Actor(u32),
    /// The network of a PE.
    Network(u32),
}

const NETWORK: u32 = 1 << 31;

impl TurnHolder {
    fn encode(self) -> u32 {
        match self {
            Self::Nobody => 0,
            Self::Actor(actor) => actor + 1,
            Self::Network(pe) => NETWORK | pe,
        }
    }

    fn decode(word: u32) -> Self {
        match word {
            0 => Self::Nobody,
            _ if word & NETWORK != 0 => Self::Network(word & !NETWORK),
            _ => Self::Actor(word - 1),
        }
    }
}

impl Actor {
    pub(crate) fn state(&self) -> ActorState {
        match self.state.load(Relaxed) {
            1 => ActorState::Present,
            2 => ActorState::Away,
            _ => ActorState::Absent,
        }
    }

    pub(crate) fn set_state(&self, state: ActorState) {
        self.state.store(state as u32, Relaxed);
    }
}

impl SimArena {
    pub(crate) fn turn(&self) -> TurnHolder {
        TurnHolder::decode(self.turn.load(Acquire))
    }

    /// Gives the turn to `next`. The caller has the turn, or the lock while no thread has the turn.
    pub(crate) fn give(&self, next: TurnHolder) {
        self.switches.fetch_add(1, Relaxed);
        self.turn.store(next.encode(), Release);
        match next {
            TurnHolder::Nobody => {}
            TurnHolder::Actor(actor) => ring(&self.actors[actor as usize].bell),
            TurnHolder::Network(pe) => ring(&self.networks[pe as usize].bell),
        }
    }

    /// The slots of threads that have been in use.
    pub(crate) fn used(&self) -> &[Actor] {
        &self.actors[..self.actor_count.load(Relaxed) as usize]
    }

    /// Thread `number` takes part. The caller has the lock.
    pub(crate) fn count_actor(&self, number: u32) {
        self.actor_count.fetch_max(number + 1, Relaxed);
    }

    /// See [`SimArena::activity`]: that of the node of a PE.
    pub(crate) fn activity(&self, pe: u32) -> &AtomicU64 {
        let node = self.networks[pe as usize].node.load(Relaxed) as usize;
        &self.activity[node.min(MOST_PES - 1)]
    }

    /// Takes the lock, for bounded work without a step.
    pub(crate) fn lock(&self) -> ArenaLock<'_> {
        const FREE: u32 = 0;
        const HELD: u32 = 1;
        const AWAITED: u32 = 2;
        if self.lock.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            while self.lock.swap(AWAITED, Acquire) != FREE {
                futex::wait(&self.lock, AWAITED, Some(Duration::from_millis(100)));
            }
        }
        ArenaLock(self)
    }
}

/// The lock, until it is dropped.
pub(crate) struct ArenaLock<'a>(&'a SimArena);

impl Drop for ArenaLock<'_> {
    fn drop(&mut self) {
        if self.0.lock.swap(0, Release) > 1 {
            futex::wake(&self.0.lock, 1);
        }
    }
}

/// Wakes the threads that sleep on the bell, or are about to.
pub(crate) fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Release);
    futex::wake(bell, u32::MAX);
}

/// The arena as one PE has mapped it.
pub(crate) struct ArenaMap {
    range: AddressRange,
    memory: SharedMemory,
}

impl ArenaMap {
    pub(crate) fn create() -> Result<Self, Error> {
        let memory = SharedMemory::create(c"oxshmem sim", size_of::<SimArena>() as u64, Pages::Small);
        memory.and_then(Self::map).map_err(|error| failed("cannot be made").because(error))
    }

    /// The arena that another process of this machine has made, by what [`ArenaMap::descriptor`] says there.
    pub(crate) fn attach(process: u32, descriptor: i32) -> Result<Self, Error> {
        let path = format!("/proc/{process}/fd/{descriptor}");
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let memory = file.and_then(|file| SharedMemory::from_fd(file.into()));
        memory.and_then(Self::map).map_err(|error| {
            failed("cannot be reached")
                .because(format!("{path}: {error}"))
                .fix("start all PEs on one machine by one user, without namespaces between them")
        })
    }

    fn map(memory: SharedMemory) -> io::Result<Self> {
        let len = size_of::<SimArena>();
        if (memory.len() as usize) < len {
            return Err(io::Error::other(format!("it has {} bytes, not {len}", memory.len())));
        }
        let mut range = AddressRange::reserve(len, align_of::<SimArena>())?;
        range.map(0, &memory, 0, len)?;
        Ok(Self { range, memory })
    }

    /// The descriptor by which others of this machine open the same memory.
    pub(crate) fn descriptor(&self) -> i32 {
        self.memory.fd().as_raw_fd()
    }
}

impl std::ops::Deref for ArenaMap {
    type Target = SimArena;

    fn deref(&self) -> &SimArena {
        // SAFETY: `map` has put a file of at least `size_of::<SimArena>()` bytes there, aligned to pages, and nothing unmaps it
        // before `range` is dropped. All fields are atomics, for which any bytes are a value, and other processes use them as
        // atomics only.
        unsafe { &*self.range.base().cast::<SimArena>() }
    }
}

fn failed(what: &str) -> Error {
    Error::new(format!("sim: the memory that the PEs share {what}"))
}
