//! Single elements, which threads and PEs may store while others look at them.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed};
use core::{mem, ptr};

/// Evaluates `$access` with the atomic and the integer of `T`'s size if a `T` is a word (1, 2, 4 or 8 bytes, and aligned
/// to them), otherwise `$other`. The compiler decides.
macro_rules! if_word {
    ($t:ty, |$atomic:ident, $int:ident| $access:expr, $other:expr) => {{
        macro_rules! access {
            ($width:ty, $bits:ty) => {{
                type $atomic = $width;
                type $int = $bits;
                $access
            }};
        }
        match size_of::<$t>() {
            n if align_of::<$t>() < n => $other,
            1 => access!(AtomicU8, u8),
            2 => access!(AtomicU16, u16),
            4 => access!(AtomicU32, u32),
            8 => access!(AtomicU64, u64),
            _ => $other,
        }
    }};
}

/// Stores one element. Of a word it is one relaxed atomic store, which is the processor's plain one; any thread may load the word at the
/// same time. Other elements are copied.
///
/// # Safety
/// `to` is valid for a `T`, and aligned if a `T` is a word. If it is none, no other access to the memory happens meanwhile.
#[inline(always)]
pub(crate) unsafe fn store<T: Copy>(to: *mut T, value: T) {
    if_word!(
        T,
        // SAFETY: the caller's pointer is valid and aligned; the integer has the size of a `T`.
        |Atomic, Int| unsafe { Atomic::from_ptr(to.cast()).store(mem::transmute_copy::<T, Int>(&value), Relaxed) },
        // SAFETY: the caller's pointer is valid, and the memory is the caller's alone.
        unsafe { to.write_unaligned(value) }
    );
}

/// Loads one element: see [`store`]. The program has the value when the load returns, so its later loads and stores are ordered after
/// this one.
///
/// # Safety
/// As for [`store`]; every pattern of bits is a `T`.
#[inline(always)]
pub(crate) unsafe fn load<T: Copy>(from: *const T) -> T {
    if_word!(
        T,
        // SAFETY: the caller's pointer is valid and aligned; an atomic load writes nothing, so it may lose its `const`.
        |Atomic, Int| unsafe { mem::transmute_copy::<Int, T>(&Atomic::from_ptr(from.cast_mut().cast()).load(Acquire)) },
        {
            // SAFETY: the caller's pointer is valid, and no other access uses the memory.
            let value = unsafe { from.read_unaligned() };
            end_loads();
            value
        }
    )
}

/// Copies like `memmove`, with the sizes of single elements done by one load and one store, so that an aligned
/// element arrives in one piece (RMA-4). On x86-64 `memmove` moves two bytes so; elsewhere it may move them one by one, as glibc's
/// for aarch64 does.
///
/// # Safety
/// `from` is valid for reading `n` bytes and `to` for writing them.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    // SAFETY: the caller promises `n` bytes on both sides, and each arm moves exactly `n`.
    unsafe {
        match n {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            16 => to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()),
            #[cfg(not(target_arch = "x86_64"))]
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            _ => ptr::copy(from, to, n),
        }
    }
}

/// Orders later accesses after the loads of a copy, as [`load`] does with its own. On x86-64 nothing passes a load; elsewhere a processor
/// may load the next array, or store an answer to the owner, before the copy has all its bytes.
#[inline(always)]
pub(crate) fn end_loads() {
    #[cfg(not(target_arch = "x86_64"))]
    core::sync::atomic::fence(Acquire);
}

#[cfg(test)]
mod tests {
    use core::fmt::Debug;
    use core::sync::atomic::{Ordering::Release, fence};
    use std::sync::atomic::AtomicU64 as Cell;
    use std::thread;

    use super::*;

    /// Two threads store and load the same element; both values are whole.
    fn hammer<T: Copy + PartialEq + Debug + Send>(values: [T; 2]) {
        let place = [const { Cell::new(0) }; 2];
        let at = || place.as_ptr().cast_mut().cast::<T>();
        // SAFETY: 16 bytes that are aligned to 8 hold any `T` of the test, and cells may be changed.
        unsafe { store(at(), values[0]) };
        thread::scope(|scope| {
            for value in values {
                scope.spawn(move || {
                    for _ in 0..50 {
                        // SAFETY: 16 aligned bytes hold any `T` of the test, each of which is a word.
                        let seen = unsafe {
                            store(at(), value);
                            load(at())
                        };
                        assert!(values.contains(&seen), "{seen:?}");
                    }
                });
            }
        });
    }

    #[test]
    fn fault_W8_words_may_be_stored_and_loaded_at_once() {
        hammer([1_u8, 0xfe]);
        hammer([-1_i16, 0x1234]);
        hammer([1.5_f32, -2.5]);
        hammer([u64::MAX, 1]);
        hammer([[0x0102_0304_u32; 1], [7; 1]]);
    }

    /// Miri finds the accesses that no order keeps apart, on whatever processor.
    #[test]
    fn who_loads_a_flag_has_the_data_before_it() {
        let (data, flag) = (Cell::new(0), Cell::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: the other thread reads the number when it has seen the flag.
                unsafe { data.as_ptr().write(7) };
                fence(Release);
                // SAFETY: an aligned word.
                unsafe { store(flag.as_ptr(), 1) };
            });
            // SAFETY: an aligned word.
            while unsafe { load(flag.as_ptr()) } == 0 {
                thread::yield_now();
            }
            // SAFETY: the other thread has written the number before the flag, and does not use it any more.
            assert_eq!(unsafe { data.as_ptr().read() }, 7);
        });
    }

    #[test]
    fn elements_that_are_no_words_are_copied() {
        let mut bytes = [0_u8; 40];
        // SAFETY: the array has room for each of them at offset 1, and no other code has it.
        unsafe {
            let at = bytes.as_mut_ptr().add(1);
            store(at.cast(), [1_u8, 2, 3, 4, 5, 6, 7, 8]);
            store(at.add(8).cast(), [9_u16.to_le_bytes(); 2]);
            store(at.add(12).cast(), u128::MAX);
            assert_eq!(load(at.cast::<[u8; 8]>()), [1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(load(at.add(8).cast::<[u8; 4]>()), [9, 0, 9, 0]);
            assert_eq!(load(at.add(12).cast::<u128>()), u128::MAX);
        }
        assert_eq!((bytes[0], bytes[29]), (0, 0));
    }

    #[test]
    fn a_copy_of_any_length_may_overlap() {
        for n in 0..40 {
            for (from, to) in [(0, 1), (1, 0), (3, 50)] {
                let mut bytes: [u8; 96] = core::array::from_fn(|i| i as u8);
                let mut wanted = bytes;
                wanted.copy_within(from..from + n, to);
                let at = bytes.as_mut_ptr();
                // SAFETY: both sides end inside the array, which no other code has.
                unsafe { copy(at.add(from), at.add(to), n) };
                assert_eq!(bytes, wanted, "{n} bytes from {from} to {to}");
            }
        }
    }
}
