//! Which of the processor's vector registers the kernels use. Picked once; the results are the same bits.

use core::sync::atomic::{AtomicU8, Ordering};

/// One compilation of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The instructions that every processor of the architecture has: SSE2, or NEON.
    Baseline,
    /// 32-byte vectors.
    Avx2,
    /// 64-byte vectors.
    Avx512,
}

/// The variant in use, or `UNKNOWN`. Threads that ask first all write the same value; it publishes nothing else, so
/// relaxed order is enough.
static SELECTED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = u8::MAX;

/// Picks the variant for this processor and returns it. Every kernel does so when it is first needed; a library calls
/// it at initialisation, so that no later kernel has to.
#[inline]
pub fn select() -> Variant {
    match SELECTED.load(Ordering::Relaxed) {
        0 => Variant::Baseline,
        1 => Variant::Avx2,
        2 => Variant::Avx512,
        _ => select_first(),
    }
}

#[cold]
fn select_first() -> Variant {
    let best = Variant::ALL.into_iter().rfind(|variant| variant.is_available()).unwrap_or(Variant::Baseline);
    SELECTED.store(best as u8, Ordering::Relaxed);
    best
}

impl Variant {
    /// Every variant, the widest last.
    pub const ALL: [Variant; 3] = [Variant::Baseline, Variant::Avx2, Variant::Avx512];

    /// Can this processor run it?
    pub fn is_available(self) -> bool {
        match self {
            Variant::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}
