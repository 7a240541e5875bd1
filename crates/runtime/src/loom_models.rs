//! The protocols between PEs under the model checker: threads stand for PEs, and every order in which their steps and
//! their memory may be seen is tried, up to a bound of preemptions. Run by `cargo xtask test loom`.
//!
//! Every model that must hold has variants with one error each, which must fail.

mod active_set;
mod bell;
mod eager;
mod levels;
mod lock;
mod operations;
mod slot;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::memory::control::{Line, Slot, SplitStatement, Words};
use crate::sync::{Apart, AtomicU32, AtomicU64, Cell, Mistake, crowd, pretend};
use crate::teams::members::Members;
use crate::teams::team::TeamState;
use crate::wait::{Needs, Reason};

/// Three PEs that poll have too many ways to try all; this many are tried, always the same ones.
const MOST_WAYS: usize = 30_000;

/// The ways of such models that hold, unless `CHECK_LONG=1` asks for all. Models that must fail have all: they end with the first way
/// in which they do.
const BRIEF_WAYS: usize = 10_000;

/// The settings of a model's run.
#[derive(Clone, Copy)]
struct Setting {
    crowded: bool,
    mistake: Option<Mistake>,
    /// How many times the checker takes the processor from a PE that could go on.
    preemptions: usize,
    /// The most ways that are tried.
    ways: usize,
}

/// A processor for each PE; PEs that share processors.
const DEDICATED: Setting = Setting { crowded: false, mistake: None, preemptions: 3, ways: MOST_WAYS };
const CROWDED: Setting = Setting { crowded: true, mistake: None, preemptions: 3, ways: MOST_WAYS };

impl Setting {
    fn with(self, mistake: Mistake) -> Self {
        Self { mistake: Some(mistake), ..self }
    }

    /// For models with many steps.
    fn with_preemptions(self, preemptions: usize) -> Self {
        Self { preemptions, ..self }
    }

    /// For models in which PEs that poll can give way to each other for ever: the ways before those are tried.
    fn with_ways(self, ways: usize) -> Self {
        Self { ways, ..self }
    }

    /// For models of three PEs that hold.
    fn briefly(self) -> Self {
        let most = if std::env::var_os("CHECK_LONG").is_some() { MOST_WAYS } else { BRIEF_WAYS };
        self.with_ways(self.ways.min(most))
    }

    /// Runs `pe` for PEs 0 to `PES` - 1 on a fresh `board` in every way, and `after` when all are through.
    fn explore<const PES: u32, B: 'static>(
        self,
        board: fn() -> B,
        pe: impl Fn(&B, u32) + Copy + Send + Sync + 'static,
        after: fn(&B),
    ) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(self.preemptions);
        builder.max_branches = 20_000;
        builder.max_permutations = Some(self.ways);
        crowd(self.crowded);
        pretend(self.mistake);
        builder.check(move || {
            let shared = Arc::new(Shared(board()));
            let others: Vec<_> = (1..PES)
                .map(|my| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || pe(&shared.0, my))
                })
                .collect();
            pe(&shared.0, 0);
            others.into_iter().for_each(|other| other.join().expect("the checker ends models that panic"));
            after(&shared.0);
        });
    }
}

/// Memory that all PEs map.
struct Shared<B>(B);

// SAFETY: the checker interleaves its threads on one thread, and finds races in cells itself.
unsafe impl<B> Sync for Shared<B> {}
// SAFETY: the checker interleaves its threads on one thread, so nothing leaves that thread.
unsafe impl<B> Send for Shared<B> {}

/// A slot that no team has used.
fn blank() -> Slot {
    let line = || Line { sequence: AtomicU64::new(0), payload: Cell::new([0; 7]) };
    Slot {
        lines: [line(), line()],
        arrivals: Apart(AtomicU64::new(0)),
        words: Apart(Words {
            released: AtomicU64::new(0),
            bell_word: AtomicU32::new(0),
            bell_armed: AtomicU32::new(0),
            announced: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            source: AtomicU64::new(0),
            split: SplitStatement::new(),
        }),
    }
}

/// The team of the PEs `start + i * stride`, whose slot of PE 0 is the first of `slots`.
fn team(slots: &[Slot], start: u32, stride: i32, size: u32, my: u32, base: u64) -> TeamState {
    let places = &raw const slots[start as usize];
    let step = stride as isize * size_of::<Slot>() as isize;
    TeamState::at(Members::Triplet { start, stride }, size, my, places as usize, step, base)
}

/// Why models wait.
const REASON: Reason<'_> = Reason { call: "model", address: 0, needs: Needs::Anyone };

/// Nothing to look at when all PEs are through.
fn nothing<B>(_: &B) {}

/// The value of a word that no thread changes any more.
fn settled(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst)
}
