//! Programs whose language collects memory. Such programs do not free blocks, and their arrays may outlive the library.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static COLLECTED: AtomicBool = AtomicBool::new(false);

/// The language of this program collects memory: blocks that are left at the end are no leaks, and the heap stays readable until the
/// process ends.
pub fn heap_is_collected() {
    COLLECTED.store(true, Relaxed);
}

pub(crate) fn is_collected() -> bool {
    COLLECTED.load(Relaxed)
}

/// Whether the next allocation is a trial. The thread of the PE's heap calls writes and reads it.
static TRIAL: AtomicBool = AtomicBool::new(false);

/// The next call of C's interface that allocates is a trial: where it is refused, the language frees what the program has dropped, and
/// allocates again. So its refusal is no failure of the program, and nothing is printed.
pub fn try_next_allocation() {
    TRIAL.store(true, Relaxed);
}

/// Whether this allocation is a trial; the one after it is none.
pub(crate) fn takes_trial() -> bool {
    TRIAL.swap(false, Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allocation_is_a_trial() {
        try_next_allocation();
        assert_eq!([takes_trial(), takes_trial()], [true, false]);
    }
}
