//! `long double` and binary128: representation here, arithmetic in `extended.c`.

/// C `long double`: x87 extended (80 bits and 6 bytes of padding) on x86-64, IEEE binary128 elsewhere.
///
/// The padding of a value read from memory may be anything: it never takes part in a comparison, and every kernel
/// writes it as zero.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct LongDouble(u128);

/// IEEE binary128: Fortran `REAL*16`, C `__float128`.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Quad(u128);

/// How many bits of a `long double` carry its value.
#[cfg(target_arch = "x86_64")]
pub(crate) const LONG_DOUBLE_BITS: u32 = 80;
/// How many bits of a `long double` carry its value.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const LONG_DOUBLE_BITS: u32 = 128;

impl LongDouble {
    /// The value in this representation; bits of the padding are dropped.
    pub const fn from_bits(bits: u128) -> Self {
        LongDouble(bits & (u128::MAX >> (128 - LONG_DOUBLE_BITS)))
    }

    /// The representation, its padding zero.
    pub const fn to_bits(self) -> u128 {
        Self::from_bits(self.0).0
    }
}

impl Quad {
    /// The value in this representation.
    pub const fn from_bits(bits: u128) -> Self {
        Quad(bits)
    }

    /// The representation.
    pub const fn to_bits(self) -> u128 {
        self.0
    }
}

unsafe extern "C" {
    pub(crate) fn oxshmem_long_double_sum(running: *mut LongDouble, next: *const LongDouble, n: usize);
    pub(crate) fn oxshmem_long_double_prod(running: *mut LongDouble, next: *const LongDouble, n: usize);
    pub(crate) fn oxshmem_quad_sum(running: *mut Quad, next: *const Quad, n: usize);
    pub(crate) fn oxshmem_quad_prod(running: *mut Quad, next: *const Quad, n: usize);
    fn oxshmem_long_double_from_f64(to: *mut LongDouble, from: f64);
    fn oxshmem_long_double_to_f64(from: *const LongDouble) -> f64;
    fn oxshmem_quad_from_f64(to: *mut Quad, from: f64);
    fn oxshmem_quad_to_f64(from: *const Quad) -> f64;
}

macro_rules! conversions {
    ($t:ident, $from:ident, $to:ident) => {
        impl From<f64> for $t {
            /// Exact.
            fn from(value: f64) -> Self {
                let mut to = $t(0);
                // SAFETY: `to` is a value of ours, of the size and alignment the C type has.
                unsafe { $from(&mut to, value) };
                to
            }
        }

        impl From<$t> for f64 {
            /// Rounded to nearest.
            fn from(value: $t) -> Self {
                // SAFETY: `value` is initialised and of the size and alignment the C type has.
                unsafe { $to(&value) }
            }
        }

        impl core::fmt::Debug for $t {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($t), "({:#x})"), self.to_bits())
            }
        }
    };
}

conversions!(LongDouble, oxshmem_long_double_from_f64, oxshmem_long_double_to_f64);
conversions!(Quad, oxshmem_quad_from_f64, oxshmem_quad_to_f64);
