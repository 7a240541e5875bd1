//! The lock calls: where the words of [`crate::lock`] are in memory.

use core::ffi::{c_int, c_long};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicU16, AtomicU32};

use crate::calls::order;
use crate::control::ControlBlock;
use crate::diagnose;
use crate::fast::{FAST, World};
use crate::life;
use crate::lock::{self, Words};
use crate::wait::{self, Needs, Reason};

/// A half of a lock variable: 32 bits of a C `long`, 16 bits of a Fortran default INTEGER.
pub trait Half {
    /// Bytes from the variable's start to the tail; the place is at its start.
    const TAIL: usize;
    /// How many PEs it can tell apart: their numbers are stored plus one, beside the turn bit.
    const MOST_PES: u32;
    /// See [`Words::exchange_tail_if`]. # Safety: `at` is a half of a lock variable. So below.
    unsafe fn exchange_if(at: usize, from: u32, to: u32) -> u32;
    /// Replaces.
    unsafe fn swap(at: usize, to: u32) -> u32;
    /// Reads.
    unsafe fn load(at: usize) -> u32;
    /// Writes zero.
    unsafe fn clear(at: usize);
    /// Takes bits out.
    unsafe fn and_not(at: usize, bits: u32);
    /// Adds bits.
    unsafe fn or(at: usize, bits: u32);
}

macro_rules! half {
    ($int:ty, $atomic:ty) => {
        impl Half for $int {
            const TAIL: usize = size_of::<$int>();
            const MOST_PES: u32 = (<$int>::MAX >> 1) as u32;
            #[inline(always)]
            unsafe fn exchange_if(at: usize, from: u32, to: u32) -> u32 {
                // SAFETY: a mapped, aligned half by the caller's promise. So below.
                let half = unsafe { <$atomic>::from_ptr(at as *mut $int) };
                half.compare_exchange(from as $int, to as $int, AcqRel, Acquire).unwrap_or_else(|there| there).into()
            }
            #[inline(always)]
            unsafe fn swap(at: usize, to: u32) -> u32 {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(at as *mut $int) }.swap(to as $int, AcqRel).into()
            }
            #[inline(always)]
            unsafe fn load(at: usize) -> u32 {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(at as *mut $int) }.load(Acquire).into()
            }
            #[inline(always)]
            unsafe fn clear(at: usize) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(at as *mut $int) }.store(0, Release)
            }
            #[inline(always)]
            unsafe fn and_not(at: usize, bits: u32) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(at as *mut $int) }.fetch_and(!(bits as $int), AcqRel);
            }
            #[inline(always)]
            unsafe fn or(at: usize, bits: u32) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(at as *mut $int) }.fetch_or(bits as $int, AcqRel);
            }
        }
    };
}

half!(u32, AtomicU32);
half!(u16, AtomicU16);

/// One lock variable of the node.
struct Variable<H> {
    call: &'static str,
    own: usize,
    home: usize,
    half: PhantomData<H>,
}

impl<H: Half> Variable<H> {
    fn new(call: &'static str, address: usize) -> Self {
        if !life::is_open() {
            diagnose::not_initialised(call);
        }
        let pes = life::identity().map_or(1, |(_, pes)| pes);
        if pes > H::MOST_PES {
            too_many(call, pes, H::MOST_PES);
        }
        let bytes = 2 * size_of::<H>();
        let extent = if FAST.heap.holds(address, bytes) {
            &FAST.heap
        } else if FAST.statics.holds(address, bytes) {
            &FAST.statics
        } else {
            diagnose::not_symmetric(call, address, bytes)
        };
        let home = ((address - extent.own().0) / bytes) as u32 % life::pes_on_node();
        Self { call, own: address, home: extent.in_window(address, home), half: PhantomData }
    }

    fn copy_of(&self, owner: u32) -> usize {
        let extent = if FAST.heap.holds(self.own, 1) { &FAST.heap } else { &FAST.statics };
        extent.in_window(self.own, self.window(owner))
    }

    /// The window of PE `owner` (plus one). The number was read from memory that others can write, and leads to more.
    fn window(&self, owner: u32) -> u32 {
        let window = owner.wrapping_sub(1).wrapping_sub(life::first_of_node());
        if window >= life::pes_on_node() {
            self.overwritten(owner);
        }
        window
    }

    #[cold]
    fn overwritten(&self, owner: u32) -> ! {
        diagnose::fail(
            &oxshmem_base::Error::new(format!("{}: the lock at {:#x} is overwritten", self.call, self.own))
                .because(format!("it names PE {} as the next owner, which does not exist", i64::from(owner) - 1))
                .fix("look for a transfer that ends beyond its object, and set locks to zero before their first use"),
        )
    }
}

impl<H: Half> Words for Variable<H> {
    fn exchange_tail_if(&self, from: u32, to: u32) -> u32 {
        // SAFETY: `new` found the variable in mapped symmetric memory; halves lie inside it. So below.
        unsafe { H::exchange_if(self.home + H::TAIL, from, to) }
    }

    fn swap_tail(&self, to: u32) -> u32 {
        // SAFETY: as above.
        unsafe { H::swap(self.home + H::TAIL, to) }
    }

    fn place(&self) -> u32 {
        // SAFETY: as above.
        unsafe { H::load(self.own) }
    }

    fn take_turn(&self) {
        // SAFETY: as above.
        unsafe { H::and_not(self.own, lock::TURN) }
    }

    fn clear_place(&self) {
        // SAFETY: as above.
        unsafe { H::clear(self.own) }
    }

    fn add_to_place(&self, owner: u32, bits: u32) {
        // SAFETY: as above; `owner` is a PE of the node.
        unsafe { H::or(self.copy_of(owner), bits) }
        ControlBlock::of(self.window(owner)).bell().ring();
    }

    fn wait(&self, owner: u32, ready: &mut dyn FnMut() -> bool) {
        let needs = Needs::One(life::first_of_node() + self.window(owner));
        let reason = Reason { call: self.call, address: self.own, needs };
        wait::until(reason, Some(ControlBlock::own().bell()), || ready().then_some(()));
    }
}

#[cold]
fn too_many(call: &str, pes: u32, most: u32) -> ! {
    diagnose::fail(
        &oxshmem_base::Error::new(format!("{call}: a lock of this width cannot serve the {pes} PEs of the job"))
            .because(format!("its halves hold PE numbers up to {}", most - 1))
            .fix("use the call for a wider lock variable, or fewer PEs"),
    )
}

fn me() -> u32 {
    life::identity().map_or(1, |(pe, _)| pe + 1)
}

/// Takes a lock of any width.
pub fn set_any<H: Half>(call: &'static str, address: usize) {
    lock::set(&Variable::<H>::new(call, address), me());
}

/// Takes a lock of any width if it is free; 1 if it is not.
pub fn test_any<H: Half>(call: &'static str, address: usize) -> c_int {
    let taken = lock::test(&Variable::<H>::new(call, address), me());
    if !taken && wait::crowded() {
        std::thread::yield_now();
    }
    (!taken).into()
}

/// Hands on a lock of any width. What was written before is complete for the next holder (LCK-4): the hand-over is a
/// read-modify-write that releases it.
pub fn clear_any<H: Half>(call: &'static str, address: usize) {
    // SAFETY: no obligations.
    unsafe { order::fence(World(call)) };
    if !lock::clear(&Variable::<H>::new(call, address), me()) {
        diagnose::fail(
            &oxshmem_base::Error::new(format!("{call}: this PE does not hold the lock at {address:#x}"))
                .because("nobody holds it")
                .fix("clear a lock only after shmem_set_lock, or shmem_test_lock that returned 0"),
        );
    }
}

/// `shmem_set_lock`.
///
/// # Safety
/// As the standard asks of a lock variable. So below.
pub unsafe fn set_lock(lock: *mut c_long) {
    set_any::<u32>("shmem_set_lock", lock as usize);
}

/// `shmem_clear_lock`.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn clear_lock(lock: *mut c_long) {
    clear_any::<u32>("shmem_clear_lock", lock as usize);
}

/// `shmem_test_lock`.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn test_lock(lock: *mut c_long) -> c_int {
    test_any::<u32>("shmem_test_lock", lock as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pe_that_a_half_can_name_still_fits_beside_the_turn() {
        fn place_of_last<H: Half>() -> (u64, u64) {
            let last = u64::from(H::MOST_PES);
            (last << 1 | u64::from(lock::TURN), 1 << (8 * size_of::<H>()))
        }
        for (place, values) in [place_of_last::<u16>(), place_of_last::<u32>()] {
            assert!(place < values && place + 2 >= values, "{place} of {values}");
        }
        assert_eq!(u16::MOST_PES, 32767);
    }
}
