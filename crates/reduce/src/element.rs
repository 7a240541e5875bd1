//! The types that can be reduced, and the ones Rust has no name for.

use core::mem::size_of;

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

    /// The same value with whatever carries none of it zeroed: the padding of an x87 `long double`.
    #[inline(always)]
    fn without_padding(self) -> Self {
        self
    }
}

/// The types by name. Types with the same representation share a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// C `float`.
    F32,
    /// C `double`.
    F64,
    /// C `long double`, see [`LongDouble`].
    LongDouble,
    /// IEEE binary128, see [`Quad`].
    Quad,
    /// C `float _Complex`.
    ComplexF32,
    /// C `double _Complex`.
    ComplexF64,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 14] = [
        Kind::I8,
        Kind::I16,
        Kind::I32,
        Kind::I64,
        Kind::U8,
        Kind::U16,
        Kind::U32,
        Kind::U64,
        Kind::F32,
        Kind::F64,
        Kind::LongDouble,
        Kind::Quad,
        Kind::ComplexF32,
        Kind::ComplexF64,
    ];

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::I8 => "int8",
            Kind::I16 => "int16",
            Kind::I32 => "int32",
            Kind::I64 => "int64",
            Kind::U8 => "uint8",
            Kind::U16 => "uint16",
            Kind::U32 => "uint32",
            Kind::U64 => "uint64",
            Kind::F32 => "float",
            Kind::F64 => "double",
            Kind::LongDouble => "long double",
            Kind::Quad => "binary128",
            Kind::ComplexF32 => "float complex",
            Kind::ComplexF64 => "double complex",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 | Kind::ComplexF32 => 8,
            Kind::LongDouble | Kind::Quad | Kind::ComplexF64 => 16,
        }
    }
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
        const _: () = assert!(size_of::<$t>() == Kind::$kind.size());
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
