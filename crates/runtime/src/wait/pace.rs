//! How waits behave on this node: how long they look before they yield. Decided at init, and by how waits have gone.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use std::time::Instant;

use crate::wait::limits::{
    COSTLY_LOOKS_PER_CLOCK, CROWDED_COSTLY_LOOKS, EAGER, FEW_LOOKS, IMPATIENT_LOOKS_PER_CLOCK, LONGEST_PAUSE,
    LOOKS_PER_CLOCK, LOOKS_WITHOUT_PAUSE, MOST_PATIENCE, MOST_SHARING,
};
use crate::wait::yields::Yields;
use oxshmem_os::process;

/// The words that waits read, in one cache line: a PE that shares its processor finds each line cold after a switch.
#[repr(align(64))]
struct WaitState {
    /// The bits of the [`EagerLooks`].
    eager_looks: AtomicU32,
    /// The bits of the [`Pace`]. Nothing is published with it (relaxed), and an update that two threads make at once may be
    /// lost: the next wait makes another.
    pace: AtomicU32,
    /// Whether the node's PEs outnumber its processors.
    crowded: AtomicU32,
    /// Looks of a spin between two readings of the clock.
    looks_per_clock: AtomicU32,
    /// The bits of the [`EagerLooks`] of waits that have more than the least patience.
    patient_looks: AtomicU32,
    yields: Yields,
}

static STATE: WaitState = WaitState {
    eager_looks: AtomicU32::new(64),
    pace: AtomicU32::new(Pace::STEADY.to_bits()),
    crowded: AtomicU32::new(0),
    looks_per_clock: AtomicU32::new(LOOKS_PER_CLOCK),
    patient_looks: AtomicU32::new(64),
    yields: Yields::new(),
};

/// When waits yield.
pub(crate) fn yields() -> &'static Yields {
    &STATE.yields
}

/// How waits behave on this node, decided once at init.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// A processor for every PE: spin long.
    Dedicated,
    /// More PEs than processors: yield at once.
    Crowded,
}

/// Sets the mode of all waits.
pub(crate) fn set_mode(mode: Mode) {
    let (looks, crowded) = match mode {
        Mode::Dedicated => (EagerLooks::dedicated(pause()), 0),
        Mode::Crowded => (EagerLooks::few(), 1),
    };
    STATE.pace.store(Pace::STEADY.to_bits(), Relaxed);
    STATE.crowded.store(crowded, Relaxed);
    set_looks(looks, LOOKS_PER_CLOCK);
}

fn set_looks(eager: EagerLooks, per_clock: u32) {
    STATE.eager_looks.store(eager.0, Relaxed);
    STATE.patient_looks.store(eager.0, Relaxed);
    STATE.looks_per_clock.store(per_clock, Relaxed);
}

/// Tells all waits that they have a network to move on. Then they look at it instead of looking without pause. If each look is `costly`,
/// as much as many readings of the clock, a spin reads it at each one: two PEs that have come to share a processor let each other work
/// after the least patience, and not after 32 calls of the kernel.
pub(crate) fn expect_network(costly: bool) {
    let eager = if costly && crowded() { EagerLooks(CROWDED_COSTLY_LOOKS) } else { EagerLooks::few() };
    set_looks(eager, if costly { COSTLY_LOOKS_PER_CLOCK } else { LOOKS_PER_CLOCK });
}

/// Looks of a spin between two readings of the clock.
pub(crate) fn looks_per_clock() -> u32 {
    STATE.looks_per_clock.load(Relaxed)
}

/// Whether each look costs as much as many readings of the clock.
pub(crate) fn has_costly_looks() -> bool {
    looks_per_clock() == COSTLY_LOOKS_PER_CLOCK
}

/// Tells waits how many PEs share how many processors. Unless they are many, waits leave processors to other processes early.
pub(crate) fn share_processors(pes: usize, processors: usize) {
    let many = pes > MOST_SHARING * processors;
    STATE.yields.always(many);
    if !many {
        // A sandbox may forbid it. Then waits beside other processes take longer.
        let _ = process::prefer_short_slices();
    }
}

/// The looks that a wait begins with, before anything else: their number, and [`PAUSED`](Self::PAUSED).
///
/// A processor that looks without pause has several loads of the word under way. When the word changes, those that have
/// run ahead are taken back, and the one that writes it meets their requests. With a pause between
/// that does not happen. Where a pause takes longer than that saves, the looks go without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EagerLooks(u32);

impl EagerLooks {
    /// A pause follows each look.
    const PAUSED: u32 = 1 << 31;

    /// Those of a PE that has a processor, if a pause takes so long.
    fn dedicated(pause: Duration) -> Self {
        if pause > LONGEST_PAUSE {
            return Self(LOOKS_WITHOUT_PAUSE);
        }
        Self((EAGER.as_nanos() / pause.as_nanos().max(2)) as u32 | Self::PAUSED)
    }

    /// Those of a PE that moves a network on, or whose processor others want.
    const fn few() -> Self {
        Self(FEW_LOOKS)
    }

    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        self.0 & !Self::PAUSED
    }

    /// Pauses for the other thread of the core, if that is worth it.
    #[inline(always)]
    pub(crate) fn pause(self) {
        if self.0 & Self::PAUSED != 0 {
            core::hint::spin_loop();
        }
    }
}

/// How long a pause takes on this processor.
fn pause() -> Duration {
    const PAUSES: u32 = 64;
    let batch = || {
        let start = Instant::now();
        (0..PAUSES).for_each(|_| core::hint::spin_loop());
        start.elapsed() / PAUSES
    };
    (0..5).map(|_| batch()).min().unwrap_or_default()
}

/// Whether PEs outnumber processors on this node.
#[inline(always)]
#[cfg(not(loom))]
pub(crate) fn crowded() -> bool {
    STATE.crowded.load(Relaxed) != 0
}

#[cfg(loom)]
pub(crate) use crate::sync::crowded;

/// The looks that a wait begins with.
#[inline(always)]
pub(crate) fn eager_looks() -> EagerLooks {
    EagerLooks(STATE.eager_looks.load(Relaxed))
}

/// Lets every wait that begins meanwhile look once before it goes on to the next rung.
pub(crate) fn glance(act: impl FnOnce()) {
    let looks = STATE.eager_looks.swap(1, Relaxed);
    act();
    // Another thread may have changed them meanwhile (`hurry`).
    let _ = STATE.eager_looks.compare_exchange(1, looks, Relaxed, Relaxed);
}

/// For how many microseconds a wait looks with pause.
pub(crate) fn patience() -> u32 {
    Pace::of_bits(STATE.pace.load(Relaxed)).patience.into()
}

/// A wait has ended within the patience.
pub(crate) fn note_caught() {
    note(Pace::caught);
}

/// A wait has outlived the patience, and has lasted so long: at least, because that long it looked in vain, and at most,
/// because then it was over.
pub(crate) fn note_outlived(at_least: Duration, at_most: Duration) {
    note(|pace| pace.outlived(at_least, at_most));
}

fn note(change: impl FnOnce(Pace) -> Pace) {
    let old = STATE.pace.load(Relaxed);
    let new = change(Pace::of_bits(old)).to_bits();
    // Usually nothing changes, and the cache line stays clean.
    if new != old {
        STATE.pace.store(new, Relaxed);
        let [was_least, is_least] = [old, new].map(|bits| Pace::of_bits(bits).patience == Pace::LEAST);
        if was_least != is_least {
            hurry(is_least);
        }
    }
}

/// Waits that have the least patience begin with few looks, and read the clock often: the other one probably waits for this processor. Looks
/// without the clock took longer than that patience.
fn hurry(is_least: bool) {
    let patient = EagerLooks(STATE.patient_looks.load(Relaxed));
    let eager = if is_least && patient.count() > FEW_LOOKS { EagerLooks::few() } else { patient };
    STATE.eager_looks.store(eager.0, Relaxed);
    if !has_costly_looks() {
        let per_clock = if is_least { IMPATIENT_LOOKS_PER_CLOCK } else { LOOKS_PER_CLOCK };
        STATE.looks_per_clock.store(per_clock, Relaxed);
    }
}

/// How long a wait looks with pause before it gives way, judged by how long recent waits have lasted.
///
/// A wait that outlasts the most patience there is halves it: something else has the other's processor, or the other
/// computes, and spinning only takes ours away. A wait that outlives the patience but is shorter than the most has been
/// *missed*: either the patience has become too short, or the other had to wait for our processor, and then the wait is as
/// long as we spin and a bit. A *probe* tells the two apart: the next wait spins for twice as long as the missed one has
/// lasted. A probe that catches its wait restores the patience. After each probe that does not, twice as many waits must be
/// missed before the next, so that PEs which share a processor spin little for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pace {
    /// Microseconds.
    patience: u8,
    /// Waits that have been missed since the last probe.
    missed: u8,
    /// Probes in a row that have caught nothing, as far as that matters.
    failed: u8,
    /// The patience is a probe's.
    probing: bool,
}

impl Pace {
    const LEAST: u8 = 1;
    /// After this many probes that fail in a row probes get no rarer.
    const RAREST: u8 = 4;
    const STEADY: Self = Self { patience: MOST_PATIENCE, missed: 0, failed: 0, probing: false };

    const fn to_bits(self) -> u32 {
        u32::from_le_bytes([self.patience, self.missed, self.failed, self.probing as u8])
    }

    const fn of_bits(bits: u32) -> Self {
        let [patience, missed, failed, probing] = bits.to_le_bytes();
        Self { patience, missed, failed, probing: probing != 0 }
    }

    fn caught(self) -> Self {
        Self { patience: self.patience.saturating_mul(2).min(MOST_PATIENCE), ..Self::STEADY }
    }

    fn outlived(self, at_least: Duration, at_most: Duration) -> Self {
        let most = Duration::from_micros(MOST_PATIENCE.into());
        if self.probing {
            let failed = (self.failed + 1).min(Self::RAREST);
            return Self { patience: Self::LEAST, missed: 0, failed, probing: false };
        }
        let patience = (self.patience / 2).max(Self::LEAST);
        if at_least > most {
            return Self { patience, ..self };
        }
        let missed = self.missed + 1;
        if missed < 1 << self.failed {
            return Self { patience, missed, ..self };
        }
        let twice = u8::try_from(at_most.as_micros() * 2).unwrap_or(MOST_PATIENCE);
        Self { patience: twice.clamp(Self::LEAST, MOST_PATIENCE), missed: 0, failed: self.failed, probing: true }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A PE that waits: it spins for its patience, yields for some microseconds, then sleeps.
    struct Waiter(Pace);

    /// Microseconds that it yields before its first sleep, and that a sleep takes.
    const YIELDS: u32 = 4;
    const SLEEP: u32 = 95;

    impl Waiter {
        /// Waits for what comes so many microseconds after the wait has begun, and returns when it is seen.
        fn wait(&mut self, comes_after: u32) -> u32 {
            let patience = u32::from(self.0.patience);
            if comes_after <= patience {
                self.0 = self.0.caught();
                return comes_after;
            }
            // An event that comes while it yields is seen at once.
            let (mut looked, mut now) = (patience, comes_after);
            if comes_after > patience + YIELDS {
                now = patience + YIELDS;
                while now < comes_after {
                    (looked, now) = (now, now + SLEEP);
                }
            }
            self.end(looked, now);
            now
        }

        /// Waits for a PE that shares its processor, so that it can act when this one gives way and not before. Returns how
        /// long it spins.
        fn wait_for_its_own_processor(&mut self) -> u32 {
            let patience = u32::from(self.0.patience);
            self.end(patience, patience + YIELDS);
            patience
        }

        fn end(&mut self, at_least: u32, at_most: u32) {
            let [at_least, at_most] = [at_least, at_most].map(|time| Duration::from_micros(time.into()));
            self.0 = self.0.outlived(at_least, at_most);
        }
    }

    #[test]
    fn fault_P1_short_waits_have_their_patience_back_after_a_storm_of_long_ones() {
        for length in [200, 300, 10_000] {
            for short in 6..=100 {
                let mut waiter = Waiter(Pace::STEADY);
                (0..1000).for_each(|_| assert!(waiter.wait(length) >= length));
                assert!(waiter.0.patience < 8, "waits of {length} us are spun through: {:?}", waiter.0);
                let waits = (1..100).find(|_| waiter.wait(short) == short);
                assert!(waits.is_some_and(|waits| waits <= 17), "{waits:?} of {short} us after {length} us");
            }
        }
    }

    /// Two PEs that have both lost their patience: each answer waits until the other PE's sleep ends.
    #[test]
    fn fault_P1_pes_that_sleep_in_turns_find_out_of_it() {
        for work in 1..=60 {
            for rarely in 0..=Pace::RAREST {
                let impatient = Pace { patience: 1, missed: 0, failed: rarely, probing: false };
                let mut pes = [Waiter(impatient), Waiter(impatient)];
                // When each has begun to wait. The second has been told already.
                let (mut begun, mut told) = ([0, 40], 60);
                let turns = (0..400).take_while(|turn| {
                    let me = turn % 2;
                    let seen = begun[me] + pes[me].wait(told - begun[me]);
                    told = seen + work;
                    begun[me] = told;
                    pes.iter().any(|pe| pe.0 != Pace::STEADY)
                });
                let turns = turns.count();
                assert!(turns < 100, "after {turns} turns of {work} us: {:?} {:?}", pes[0].0, pes[1].0);
            }
        }
    }

    #[test]
    fn fault_P1_one_long_wait_among_short_ones_costs_them_nothing_for_long() {
        let mut waiter = Waiter(Pace::STEADY);
        for round in 0..1000 {
            waiter.wait(3000);
            let missed = (0..20).filter(|_| waiter.wait(90) != 90).count();
            assert!(missed <= 1, "{missed} of 20 waits in round {round}");
        }
    }

    #[test]
    fn fault_P1_pes_that_share_a_processor_spin_little() {
        let mut waiter = Waiter(Pace::STEADY);
        let begun: u32 = (0..20).map(|_| waiter.wait_for_its_own_processor()).sum();
        assert!(begun <= 500, "{begun} us in the first 20 waits");
        let spun: u32 = (0..1000).map(|_| waiter.wait_for_its_own_processor()).sum();
        assert!(spun <= 2500, "{spun} us in 1000 waits");
    }

    #[test]
    fn looks_are_paused_where_a_pause_is_short() {
        let looks = |nanoseconds| EagerLooks::dedicated(Duration::from_nanos(nanoseconds));
        assert_eq!(looks(45), EagerLooks(4000));
        for nanoseconds in [0, 1, 4, 15, 30] {
            let looks = looks(nanoseconds);
            assert!(looks.0 & EagerLooks::PAUSED != 0 && (50..=750).contains(&looks.count()), "{looks:?}");
        }
    }

    #[test]
    fn the_pace_survives_its_bits() {
        let pace = Pace { patience: 7, missed: 3, failed: 2, probing: true };
        assert_eq!(Pace::of_bits(pace.to_bits()), pace);
    }
}
