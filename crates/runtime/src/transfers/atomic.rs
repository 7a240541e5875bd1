//! The types that the atomic calls know, and the processor's atomics on them.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use oxshmem_transport::Amo;

/// A type that the atomic calls know: what they do to one object of it.
///
/// # Safety
/// Implementations touch nothing but the object, and only with one atomic access.
pub unsafe trait AmoType: Copy {
    /// The object's bits, in the low bytes.
    fn bits(self) -> u64;
    /// The value with these bits in the low bytes.
    fn of_bits(bits: u64) -> Self;
    /// Reads.
    ///
    /// # Safety
    /// `at` is valid and aligned.
    unsafe fn load(at: *mut Self) -> Self;
    /// Writes.
    ///
    /// # Safety
    /// As `load`.
    unsafe fn store(at: *mut Self, value: Self);
    /// Replaces and returns the old value.
    ///
    /// # Safety
    /// As `load`.
    unsafe fn swap(at: *mut Self, value: Self) -> Self;
}

/// An [`AmoType`] that can be compared and counted with.
///
/// # Safety
/// As for [`AmoType`].
pub unsafe trait AmoInteger: AmoType {
    /// The number one.
    const ONE: Self;
    /// Adds, wrapping; returns the old value.
    ///
    /// # Safety
    /// As [`AmoType::load`].
    unsafe fn fetch_add(at: *mut Self, value: Self) -> Self;
    /// Stores `value` if the old value is `cond`; returns the old value.
    ///
    /// # Safety
    /// As [`AmoType::load`].
    unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self;
    /// Bitwise and; returns the old value.
    ///
    /// # Safety
    /// As [`AmoType::load`].
    unsafe fn fetch_and(at: *mut Self, value: Self) -> Self;
    /// Bitwise or; returns the old value.
    ///
    /// # Safety
    /// As [`AmoType::load`].
    unsafe fn fetch_or(at: *mut Self, value: Self) -> Self;
    /// Bitwise exclusive or; returns the old value.
    ///
    /// # Safety
    /// As [`AmoType::load`].
    unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self;
}

macro_rules! atomic_integer {
    ($($int:ty => $atomic:ident),*) => {$(
        // SAFETY: each method is one access of the standard library's atomic on the object that the caller vouches for.
        unsafe impl AmoType for $int {
            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: valid and aligned by the caller's promise.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.load(Acquire)
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: the caller promises that the object is valid and aligned.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.store(value, Release)
            }
            #[inline(always)]
            unsafe fn swap(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller promises that the object is valid and aligned.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.swap(value, AcqRel)
            }
        }
        // SAFETY: each method is one access of the standard library's atomic on the object that the caller vouches for.
        unsafe impl AmoInteger for $int {
            const ONE: Self = 1;
            #[inline(always)]
            unsafe fn fetch_add(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller promises that the object is valid and aligned.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_add(value, AcqRel)
            }
            #[inline(always)]
            unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self {
                // SAFETY: the caller promises that the object is valid and aligned.
                let object = unsafe { core::sync::atomic::$atomic::from_ptr(at) };
                object.compare_exchange(cond, value, AcqRel, Acquire).unwrap_or_else(|there| there)
            }
            #[inline(always)]
            unsafe fn fetch_and(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller promises that the object is valid and aligned.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_and(value, AcqRel)
            }
            #[inline(always)]
            unsafe fn fetch_or(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller promises that the object is valid and aligned.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_or(value, AcqRel)
            }
            #[inline(always)]
            unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller promises that the object is valid and aligned.
                unsafe { core::sync::atomic::$atomic::from_ptr(at) }.fetch_xor(value, AcqRel)
            }
        }
    )*};
}

atomic_integer!(
    i8 => AtomicI8, u8 => AtomicU8, i16 => AtomicI16, u16 => AtomicU16, i32 => AtomicI32, u32 => AtomicU32,
    i64 => AtomicI64, u64 => AtomicU64, isize => AtomicIsize, usize => AtomicUsize
);

macro_rules! atomic_float {
    ($($float:ty => $bits:ty),*) => {$(
        // SAFETY: the integer of the same size does the access; bits are moved unchanged (AMO-6).
        unsafe impl AmoType for $float {
            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: same size and alignment as the integer.
                <$float>::from_bits(unsafe { <$bits>::load(at.cast()) })
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: the caller promises a valid, aligned object; the integer has the same size and alignment.
                unsafe { <$bits>::store(at.cast(), value.to_bits()) }
            }
            #[inline(always)]
            unsafe fn swap(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller promises a valid, aligned object; the integer has the same size and alignment.
                <$float>::from_bits(unsafe { <$bits>::swap(at.cast(), value.to_bits()) })
            }
        }
    )*};
}

atomic_float!(f32 => u32, f64 => u64);

/// An atomic of this processor on a mapped object of `bytes` bytes.
///
/// # Safety
/// The object is mapped and aligned.
#[inline(always)]
pub(crate) unsafe fn execute(at: usize, bytes: usize, amo: Amo) -> u64 {
    // SAFETY: the caller promises that the object is mapped and aligned.
    unsafe {
        match bytes {
            1 => of_width(at as *mut u8, amo),
            2 => of_width(at as *mut u16, amo),
            4 => of_width(at as *mut u32, amo),
            _ => of_width(at as *mut u64, amo),
        }
    }
}

/// [`execute`] on an object of this width.
///
/// # Safety
/// The object is mapped and aligned.
#[inline(always)]
unsafe fn of_width<T: AmoInteger>(at: *mut T, amo: Amo) -> u64 {
    // SAFETY: the caller promises a mapped, aligned object.
    let old = unsafe {
        match amo {
            Amo::Fetch => T::load(at),
            Amo::Swap(value) => T::swap(at, T::of_bits(value)),
            Amo::Add(value) => T::fetch_add(at, T::of_bits(value)),
            Amo::And(value) => T::fetch_and(at, T::of_bits(value)),
            Amo::Or(value) => T::fetch_or(at, T::of_bits(value)),
            Amo::Xor(value) => T::fetch_xor(at, T::of_bits(value)),
            Amo::CompareSwap { cond, value } => T::compare_swap(at, T::of_bits(cond), T::of_bits(value)),
        }
    };
    old.bits()
}
