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
    fn ticks_pass() {
        let (ticks, time) = (now(), nanoseconds());
        while nanoseconds() < time + 1_000_000 {}
        assert!(now() > ticks + cost());
    }
}
