//! The processors this process may run on.

use crate::cgroup;
use std::io;

/// Processors are counted in whole words of the mask.
const BITS: usize = usize::BITS as usize;

/// The numbers of the processors the calling thread is allowed on, ascending.
pub fn allowed() -> Vec<usize> {
    // The kernel refuses a mask that is too short for the machine, so it grows until it fits.
    for words in [1 << 4, 1 << 7, 1 << 10, 1 << 14] {
        let mut mask = vec![0usize; words];
        // SAFETY: the kernel writes at most the size given, and the mask is that large.
        let result = unsafe { syscall!(sched_getaffinity(0, words * size_of::<usize>(), mask.as_mut_ptr().cast())) };
        if result.is_ok() {
            return (0..words * BITS).filter(|&cpu| mask[cpu / BITS] >> (cpu % BITS) & 1 == 1).collect();
        }
    }
    // Where the question itself is forbidden, all processors that are switched on are a fair answer.
    (0..online()).collect()
}

/// How many processors of the machine are switched on, wherever this process may run.
pub fn online() -> usize {
    // SAFETY: only returns a number.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as usize
}

/// How many processors' worth of time this process gets: the allowed ones, or a control group's quota if that is less.
/// Broken processors do not count, because a PE that spins uses a whole one.
pub fn usable() -> usize {
    allowed().len().min(quota().unwrap_or(usize::MAX)).max(1)
}

/// How many whole processors' worth of time the control groups of this process grant, if they limit it. All processes of a group share it.
pub fn quota() -> Option<usize> {
    cgroup::Hierarchies::of_this_process().processor_quota()
}

/// Keeps the calling thread on one processor.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    bind_to(&[cpu as u32])
}

/// Keeps the calling thread, and those it starts later, on these processors. Those that do not exist do not count.
pub fn bind_to(cpus: &[u32]) -> io::Result<()> {
    let most = cpus.iter().max().map_or(0, |&cpu| cpu as usize);
    let mut mask = vec![0usize; most / BITS + 1];
    for &cpu in cpus {
        mask[cpu as usize / BITS] |= 1 << (cpu as usize % BITS);
    }
    // SAFETY: the kernel reads as many bytes as the mask has.
    unsafe { syscall!(sched_setaffinity(0, size_of_val(&*mask), mask.as_ptr().cast())) }.map(drop)
}

/// The processor the calling thread runs on at this moment.
pub fn current() -> usize {
    // SAFETY: takes no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_allowed_nowhere_else() {
        let all = allowed();
        assert!(all.is_sorted() && all.contains(&current()) && (1..=all.len()).contains(&usable()));
        for cpu in all {
            let there = std::thread::spawn(move || {
                pin_to(cpu).expect("an allowed processor");
                (allowed(), current(), usable())
            });
            assert_eq!(there.join().expect("no panic"), (vec![cpu], cpu, 1));
        }
        assert!(pin_to(1 << 16).is_err() && bind_to(&[]).is_err());
    }

    #[test]
    fn a_thread_may_be_bound_to_several_processors() {
        let all: Vec<u32> = allowed().into_iter().map(|cpu| cpu as u32).collect();
        let there = std::thread::spawn(move || {
            bind_to(&all).expect("allowed processors");
            (allowed(), all)
        });
        let (allowed, all) = there.join().expect("no panic");
        assert!(allowed.into_iter().eq(all.into_iter().map(|cpu| cpu as usize)));
    }
}
