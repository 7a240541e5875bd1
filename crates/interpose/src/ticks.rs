//! The clock of records: the processor's counter where it runs evenly, which costs a few nanoseconds, and the system's otherwise.

use std::sync::OnceLock;

/// Whether the processor's counter can be used.
static COUNTER: OnceLock<bool> = OnceLock::new();

/// The time in ticks.
#[inline]
pub(crate) fn now() -> u64 {
    if *COUNTER.get_or_init(is_even) { counter() } else { nanoseconds() }
}

/// The time of the system in nanoseconds.
pub(crate) fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How often both clocks are read for one moment.
const TRIES: usize = 4;

/// One moment by both clocks, in ticks and in nanoseconds.
///
/// A thread may lose its processor for milliseconds between two readings. All times of a ledger would be wrong by that, because they
/// count from such a moment.
pub(crate) fn both() -> (u64, u64) {
    closest((0..TRIES).map(|_| (now(), nanoseconds(), now())))
}

/// The reading of nanoseconds that has the fewest ticks around it, with the middle of these.
fn closest(tries: impl Iterator<Item = (u64, u64, u64)>) -> (u64, u64) {
    let widths = tries.map(|(before, time, after)| (after.saturating_sub(before), before, time));
    let (width, before, time) = widths.min().unwrap_or_default();
    (before + width / 2, time)
}

/// The least number of ticks between two readings: what a measurement itself adds.
pub(crate) fn cost() -> u64 {
    (0..64).map(|_| now().abs_diff(now())).min().unwrap_or(0)
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every processor of 64 bits has the counter, and Linux lets programs read it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn is_even() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split_whitespace().any(|word| word == *flag))
}

#[cfg(target_arch = "aarch64")]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the instruction reads a register that Linux lets programs read, and changes nothing.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(target_arch = "aarch64")]
fn is_even() -> bool {
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    nanoseconds()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn is_even() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_lost_its_processor_between_two_readings_tries_again() {
        let tries =
            [(1000, 9_000_000, 9_001_000), (9_002_000, 9_002_010, 9_002_040), (9_003_000, 9_003_020, 9_003_500)];
        assert_eq!(closest(tries.into_iter()), (9_002_020, 9_002_010));
        let (before, (ticks, time)) = (now(), both());
        assert!(before <= ticks && ticks <= now() && time <= nanoseconds());
    }

    #[test]
    fn ticks_pass() {
        let (ticks, time) = (now(), nanoseconds());
        while nanoseconds() < time + 1_000_000 {}
        assert!(now() > ticks + cost());
    }
}
