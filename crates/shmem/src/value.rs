//! Collectives over values of the caller: they travel with the exchange that every collective makes anyway.

use core::mem::MaybeUninit;

use oxshmem_reduce::{Operand, Operator};

use crate::backend::binding;
use crate::epoch::ExchangeKind;
use crate::{Plain, Team};

impl Team<'_> {
    /// The values of all members, in the order of the team.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.values(world.my_pe() as u64).len(), world.n_pes());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn values<T: Plain>(&self, value: T) -> Vec<T> {
        let mut all = Vec::with_capacity(self.n_pes());
        self.exchange("Team::values", value, |theirs| all.push(theirs));
        all
    }

    /// The value of member `root`, or `None` if there is no such member.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.value_of(7, 0), Some(7));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn value_of<T: Plain>(&self, value: T, root: usize) -> Option<T> {
        let (mut member, mut found) = (0, None);
        self.exchange("Team::value_of", value, |theirs| {
            if member == root {
                found = Some(theirs);
            }
            member += 1;
        });
        found
    }

    /// The values of all members combined, in the order of the team.
    #[inline]
    #[track_caller]
    pub(crate) fn combined<O: Operator, T: Plain + Operand<O>>(&self, call: &'static str, value: T) -> T {
        let mut all: Option<T> = None;
        self.exchange(call, value, |theirs| {
            all = Some(all.map_or(theirs, |all| <T as Operand<O>>::combine(all, theirs)));
        });
        all.unwrap_or(value)
    }

    #[inline]
    #[track_caller]
    fn exchange<T: Plain>(&self, call: &'static str, value: T, mut visit: impl FnMut(T)) {
        const { assert!(size_of::<T>() <= 8 * binding::WORDS, "a value has at most 48 bytes; use a symmetric slice") };
        let mut words = [0_u64; binding::WORDS];
        // SAFETY: the words have room for the value.
        unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
        let used = size_of::<T>().div_ceil(8);
        let visit = |_, theirs: &[u64]| {
            let mut value = MaybeUninit::<T>::uninit();
            // SAFETY: the words are as many as hold a value, and whatever they are makes one.
            visit(unsafe {
                value.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(theirs.as_ptr().cast(), size_of::<T>());
                value.assume_init()
            });
        };
        // SAFETY: the team lives, and one thread has it.
        unsafe {
            binding::exchange(
                self.enter(call),
                call,
                ExchangeKind::Values as u8,
                size_of::<T>(),
                &words[..used],
                visit,
            );
        }
    }
}
