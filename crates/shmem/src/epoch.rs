//! Exclusive epochs: the times when memory that all PEs share belongs to each PE alone.

use core::sync::atomic::Ordering::Relaxed;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::backend::{self, own};
use crate::{Error, Plain, SymmetricBox, World, context, mistake};

/// The subject of an exchange that the library makes for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum ExchangeKind {
    /// Comparing executables.
    Program = 1,
    /// The beginning of an epoch.
    Open,
    /// Its end.
    Close,
    /// A collective over values.
    Values,
    /// The sizes of a collect's blocks.
    Sizes,
}

impl World {
    /// Runs `body` on this PE's copy as an ordinary slice, while no PE can reach any other's. All PEs call it, with
    /// the same memory.
    ///
    /// All PEs lend the box exclusively until the last one has left `body`, so no PE can put, get or look. Collective
    /// calls inside would let others leave early, and end the job, as does a panic.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let mut numbers = world.allocate_slice(4, 0)?;
    /// numbers.store_all([3, 1, 2, 0]);
    /// world.exclusive(&mut numbers, |mine| mine.sort_unstable());
    /// assert_eq!(numbers.to_vec(), [0, 1, 2, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive<T: Plain, R>(&self, memory: &mut SymmetricBox<'_, [T]>, body: impl FnOnce(&mut [T]) -> R) -> R {
        const CALL: &str = "World::exclusive";
        refuse(CALL);
        let _span = tracing::debug_span!("exclusive").entered();
        // No put of this PE is still on its way to any copy, whatever context it was issued on.
        context::quiet_all(CALL);
        self.meet(CALL, ExchangeKind::Open, memory.serial);
        own(|own| own.exclusive.store(true, Relaxed));
        // SAFETY: the memory is valid for its length. It is not shared: this PE's box is lent to this call, and all
        // others' to theirs, which they do not leave before this one (`meet` made sure that all are in the same).
        let mine = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), memory.len()) };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(mine)));
        if outcome.is_err() && !backend::in_threads() {
            panicked(CALL);
        }
        own(|own| own.exclusive.store(false, Relaxed));
        self.meet(CALL, ExchangeKind::Close, memory.serial);
        // In a world of threads a panic is a failure of all, once no PE has memory alone any more.
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    #[track_caller]
    fn meet(&self, call: &'static str, kind: ExchangeKind, serial: u64) {
        let mut other = None;
        self.agree(call, kind, &[serial], |pe, words| {
            if words[0] != serial {
                other = other.or(Some(pe));
            }
        });
        if let Some(pe) = other {
            other_memory(call, pe);
        }
    }
}

/// Ends the job if this PE is in an exclusive epoch.
#[inline(always)]
#[track_caller]
pub(crate) fn refuse(call: &str) {
    if own(|own| own.exclusive.load(Relaxed)) {
        collective_inside(call);
    }
}

#[cold]
#[track_caller]
fn collective_inside(call: &str) -> ! {
    mistake(
        &Error::new(format!("{call}: this PE is in an exclusive epoch"))
            .because("a collective call inside would let other PEs go on while this one still has the memory alone")
            .fix("make the call before World::exclusive, or after it"),
    )
}

#[cold]
#[track_caller]
fn other_memory(call: &str, pe: u32) -> ! {
    mistake(
        &Error::new(format!("{call}: PE {pe} passes other memory than this PE"))
            .because("an epoch is exclusive because all PEs lend the same memory")
            .fix("let all PEs make the same collective calls in the same order"),
    )
}

#[cold]
#[track_caller]
fn panicked(call: &str) -> ! {
    mistake(
        &Error::new(format!("{call}: a panic inside an exclusive epoch"))
            .because("the other PEs wait for this one to leave it")
            .fix("return a Result from the epoch instead"),
    )
}
