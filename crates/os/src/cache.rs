//! Hints to the caches of the processor.

/// Bytes of a cache line, for loops over lines. With longer lines such a loop hints at each more than once.
pub const LINE: usize = 64;

/// The calling processor will write to the cache line at `address`, so it may fetch the line and invalidate all other copies now.
///
/// This is a hint. It changes no value and orders nothing.
#[inline(always)]
pub fn will_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing that the program sees, writes nothing, and cannot fault at any address. Processors
    // that lack it take it for no operation.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch reads nothing that the program sees, writes nothing, and cannot fault at any address.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}
