//! The types that can be reduced, and the ones Rust has no name for.

use crate::extended::{LongDouble, Quad};

/// A seal that keeps [`Element`] and [`Operator`](crate::Operator) to the types of this crate: the kernels read and write
/// raw memory by the size and lanes that these traits name.
pub(crate) mod sealed {
    /// Implemented beside each type of this crate's traits, and nowhere else.
    pub trait Sealed {}
}

/// A type that reductions accept. All zero bits are its zero. Other crates cannot implement it.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The name of the type for callers that learn it at run time.
    const KIND: Kind;

    /// The same value, its bits that carry nothing zeroed: the padding of an x87 `long double`.
    #[inline(always)]
    fn without_padding(self) -> Self {
        self
    }
}

macro_rules! kinds {
    ($($kind:ident $name:literal $what:literal;)*) => {
        /// The types by name. Types with the same representation share a kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {$(
            #[doc = $what]
            $kind,
        )*}

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// Its name in messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    I8 "int8" "Signed, 8 bits.";
    I16 "int16" "Signed, 16 bits.";
    I32 "int32" "Signed, 32 bits.";
    I64 "int64" "Signed, 64 bits.";
    U8 "uint8" "Unsigned, 8 bits.";
    U16 "uint16" "Unsigned, 16 bits.";
    U32 "uint32" "Unsigned, 32 bits.";
    U64 "uint64" "Unsigned, 64 bits.";
    F32 "float" "C `float`.";
    F64 "double" "C `double`.";
    LongDouble "long double" "C `long double`, see [`LongDouble`](crate::LongDouble).";
    Quad "binary128" "IEEE binary128, see [`Quad`](crate::Quad).";
    ComplexF32 "float complex" "C `float _Complex`.";
    ComplexF64 "double complex" "C `double _Complex`.";
}

/// A complex number, laid out as in C and Fortran.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// The number `re + im·i`.
    pub const fn new(re: T, im: T) -> Self {
        Complex { re, im }
    }
}

macro_rules! elements {
    ($($t:ty: $kind:ident)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const KIND: Kind = Kind::$kind;
        }
    )*};
}

elements! {
    i8: I8 i16: I16 i32: I32 i64: I64 isize: I64 u8: U8 u16: U16 u32: U32 u64: U64 usize: U64 f32: F32 f64: F64
    Quad: Quad Complex<f32>: ComplexF32 Complex<f64>: ComplexF64
}

impl sealed::Sealed for LongDouble {}
impl Element for LongDouble {
    const KIND: Kind = Kind::LongDouble;

    #[inline(always)]
    fn without_padding(self) -> Self {
        LongDouble::from_bits(self.to_bits())
    }
}
