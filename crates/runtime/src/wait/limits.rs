//! How long and how often a wait does each thing, and on which machine each number was measured.
//!
//! `docs/src/internals/thresholds.md` describes the machines and how to measure again.

use core::time::Duration;

/// Looks at the beginning of a wait of a PE that has a processor, where a pause costs more than it saves. Chosen.
pub(crate) const LOOKS_WITHOUT_PAUSE: u32 = 4000;
/// Looks at the beginning of a wait of a PE that moves a network on, or whose processor others want. Chosen.
pub(crate) const FEW_LOOKS: u32 = 16;
/// The same where PEs share processors and each look is a call of the kernel. Four PEs on four nodes over TCP, two processors: gets and
/// fetching atomics of all at once took 21 to 27 us each instead of 26 to 37. Two PEs with a processor each took 3 percent longer, and have
/// the looks above.
pub(crate) const CROWDED_COSTLY_LOOKS: u32 = 2;
/// The longest pause of the processor that is worth it between looks. EPYC, two distant cores: a barrier takes 186 ns with pauses
/// and 235 without; two PEs exchange lines in 34 ns instead of 60.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_nanos(30);
/// For how long a wait looks with such pauses. EPYC, as before.
pub(crate) const EAGER: Duration = Duration::from_nanos(1500);

/// The most patience, in microseconds. A sleep of 20 us takes up to 100 with what the kernel adds to it (two processors). A PE must
/// see through such a sleep of a peer and some work behind it: otherwise two PEs that sleep alternately would give each other cause
/// to sleep for ever.
pub(crate) const MOST_PATIENCE: u8 = 160;

/// Looks of a wait that spins between two readings of the clock. Chosen.
pub(crate) const LOOKS_PER_CLOCK: u32 = 32;
/// The same for waits that have lost their patience.
pub(crate) const IMPATIENT_LOOKS_PER_CLOCK: u32 = 2;
/// The same where each look is a call of the kernel. With four, and no pause between looks, two PEs over TCP polled each other's connections
/// more often: maxima and sums of 4 to 8 KiB took 3 to 7 percent longer (two processors, 28 jobs each in turns).
pub(crate) const COSTLY_LOOKS_PER_CLOCK: u32 = 1;
const _: () = assert!(
    COSTLY_LOOKS_PER_CLOCK != LOOKS_PER_CLOCK && COSTLY_LOOKS_PER_CLOCK != IMPATIENT_LOOKS_PER_CLOCK,
    "a wait knows costly looks by this number"
);
/// Yields of a wait that a bell ends, or whose PE has a processor, before it sleeps. Chosen.
pub(crate) const FEW_YIELDS: u32 = 8;
/// Yields of other waits, which nothing wakes from a sleep, and of a wait that has a processor and whose looks are calls of the kernel.
/// Chosen: the yields of the last one and its looks between them take as long as a message to another host and its answer.
pub(crate) const MANY_YIELDS: u32 = 64;

/// The most PEs on a processor that ask for short slices and do without yields beside other processes. With more of them a yield takes
/// as long without another process, PEs that wake from short sleeps would go ahead of those that work, and those with short slices ahead
/// of their launcher: 256 PEs on two processors took three times as long. Chosen.
pub(crate) const MOST_SHARING: usize = 16;

/// A sleep while calls are suspended, and the shortest one of a wait that has nothing to sleep on.
pub(crate) const SHORT_SLEEP: Duration = Duration::from_micros(20);
/// The longest sleep without a bell: the longest delay of a change for which no bell rings.
pub(crate) const LONG_SLEEP: Duration = Duration::from_millis(1);
/// The longest sleep on a bell. A bound: the launcher and departed PEs ring no bell.
pub(crate) const BELL_SLEEP: Duration = Duration::from_millis(10);
/// A wait without a bell sleeps for this fraction of the time for which it has looked in vain: one part in so many.
pub(crate) const SLEEP_SHARE: u32 = 16;
/// How often a wait asks whether it can ever end.
pub(crate) const CHECK_EVERY: Duration = Duration::from_millis(20);
