//! Time that never goes backwards, in nanoseconds since the machine started.

use rustix::time::ClockId;

/// The exact time: some 20 ns per call.
pub fn fine() -> u64 {
    read(ClockId::Monotonic)
}

/// A number that grows by one to four in each nanosecond, for guesses: a few instructions per call.
#[inline]
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture counts, and user programs may read the count.
    let cycles = unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    let cycles = fine();
    cycles
}

/// The time of the last clock tick, a few milliseconds old at most: some 5 ns per call. It runs on the same scale as
/// [`fine`].
pub fn coarse() -> u64 {
    read(ClockId::MonotonicCoarse)
}

/// The processor time that the calling thread has had, in nanoseconds. It stands still while another thread has the processor.
pub fn of_thread() -> u64 {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_clocks_advance_on_one_scale() {
        let (start, coarse) = (super::fine(), super::coarse());
        assert!(start.abs_diff(coarse) < 1_000_000_000);
        while super::coarse() == coarse {}
        assert!(super::fine() > start && super::coarse() > coarse);
    }

    #[test]
    fn the_time_of_a_thread_stands_still_while_it_sleeps() {
        let (start, worked) = (super::fine(), super::of_thread());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (passed, worked_meanwhile) = (super::fine() - start, super::of_thread() - worked);
        assert!(worked_meanwhile < passed, "{worked_meanwhile} ns of {passed} ns");
        let worked = super::of_thread();
        while super::of_thread() == worked {}
    }
}
