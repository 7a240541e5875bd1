//! Whether the processor takes subnormal operands for zeros.
//!
//! Programs ask for that with `-ffast-math` and its like, and then it holds for all code of their threads. No comparison
//! tells one subnormal number from another there.

/// Whether comparisons of the calling thread take subnormal numbers for zeros.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn are_zeros() -> bool {
    const DENORMALS_ARE_ZEROS: u32 = 1 << 6;
    let mut control = 0_u32;
    // SAFETY: the instruction, which every x86-64 processor has, writes a word of 32 bits to the variable.
    unsafe { core::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control & DENORMALS_ARE_ZEROS != 0
}

/// Whether comparisons of the calling thread take subnormal numbers for zeros.
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
pub(crate) fn are_zeros() -> bool {
    const FLUSH_TO_ZERO: u64 = 1 << 24;
    const FLUSH_INPUTS_TO_ZERO: u64 = 1;
    let control: u64;
    // SAFETY: the instruction reads a register that every program may read.
    unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    control & (FLUSH_TO_ZERO | FLUSH_INPUTS_TO_ZERO) != 0
}

/// Miri's comparisons never do, and other processors are not known.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn are_zeros() -> bool {
    false
}
