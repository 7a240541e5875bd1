//! The meaning of every operator for every type.

use core::mem::MaybeUninit;
use core::ops::{Add, BitAnd, BitOr, BitXor, Mul};

use crate::complex;
use crate::element::sealed::Sealed;
use crate::element::{Complex, Element};
use crate::extended::{self, LongDouble, Quad};
use crate::float_order::Ranked;
use crate::subnormals;

/// The operators by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The greater.
    Max,
    /// The lesser.
    Min,
    /// Sum.
    Sum,
    /// Product.
    Prod,
}

/// An operator as a type, for callers that know it when they are compiled. Other crates cannot implement it.
pub trait Operator: Sealed + Copy + 'static {
    /// Its name.
    const OP: Op;
}

macro_rules! operators {
    ($($name:ident)*) => {$(
        #[doc = concat!("[`Op::", stringify!($name), "`] as a type.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Sealed for $name {}
        impl Operator for $name {
            const OP: Op = Op::$name;
        }
    )*};
}

operators! { And Or Xor Max Min Sum Prod }

/// A type that has the operator `O`. The crate's first page says which have, and what it means. Other crates cannot
/// implement it, because they have neither an element nor an operator of their own.
pub trait Operand<O: Operator>: Element {
    /// The type that the kernels compute with; an element consists of one or more. Different types that an operator treats
    /// alike share one kernel.
    type Lane: Combine<O>;

    /// `self op other`.
    fn combine(self, other: Self) -> Self;
}

/// The operator on a kernel's lanes.
pub trait Combine<O: Operator>: Copy + 'static {
    /// The form in which a result is kept until the last source is in.
    type Running: Copy;

    /// Starts a result.
    fn lift(self) -> Self::Running;
    /// Ends it.
    fn lower(running: Self::Running) -> Self;
    /// Takes one more operand in, on the right.
    fn combine(running: Self::Running, next: Self::Running) -> Self::Running;

    /// Whether [`Self::combine_pair`] is the best way for two sources and two destinations.
    const DIRECT: bool = true;

    /// `to[0][i] = to[1][i] = from[0][i] op from[1][i]`. All slices are equally long.
    #[inline(always)]
    fn combine_pair(to: [&mut [MaybeUninit<Self>]; 2], from: [&[Self]; 2]) {
        fold_pair(to, from, |a, b| Self::lower(Self::combine(a.lift(), b.lift())));
    }

    /// `running[i] = running[i] op rows[0][i] op … op rows[K - 1][i]` for the first `n` places; `running` does not
    /// take part if these are the `FIRST` rows.
    ///
    /// # Safety
    /// `running` is good for writing, and unless `FIRST` for reading, `n` values, `rows` for reading `n` lanes each,
    /// and `running` overlaps no row.
    #[inline(always)]
    unsafe fn combine_rows<const K: usize, const FIRST: bool>(
        running: *mut Self::Running,
        rows: [*const Self; K],
        n: usize,
    ) {
        for i in 0..n {
            // SAFETY: the caller promises `n` values at `running` and in each row, and `i` is less than `n`. Unless
            // `FIRST` the values at `running` are initialised.
            unsafe {
                let first = rows[0].add(i).read().lift();
                let mut result = if FIRST { first } else { Self::combine(running.add(i).read(), first) };
                for row in &rows[1..] {
                    result = Self::combine(result, row.add(i).read().lift());
                }
                running.add(i).write(result);
            }
        }
    }
}

/// The loop of [`Combine::combine_pair`] with an operator in hand.
#[inline(always)]
fn fold_pair<L: Copy>([x, y]: [&mut [MaybeUninit<L>]; 2], [a, b]: [&[L]; 2], combine: impl Fn(L, L) -> L) {
    for (((x, y), &a), &b) in x.iter_mut().zip(y).zip(a).zip(b) {
        let result = combine(a, b);
        x.write(result);
        y.write(result);
    }
}

/// A lane that is its own running form.
macro_rules! combine {
    ($op:ident, $lane:ty, $combine:expr) => {
        impl Combine<$op> for $lane {
            type Running = $lane;
            #[inline(always)]
            fn lift(self) -> $lane {
                self
            }
            #[inline(always)]
            fn lower(running: $lane) -> $lane {
                running
            }
            #[inline(always)]
            fn combine(running: $lane, next: $lane) -> $lane {
                $combine(running, next)
            }
        }
    };
}

/// Integers sum and multiply modulo their size: for the signed ones the unsigned lane does it.
macro_rules! combine_integers {
    ($($unsigned:ident $signed:ident)*) => {$(
        combine!(Max, $unsigned, Ord::max);
        combine!(Min, $unsigned, Ord::min);
        combine!(Max, $signed, Ord::max);
        combine!(Min, $signed, Ord::min);
        combine!(Sum, $unsigned, $unsigned::wrapping_add);
        combine!(Prod, $unsigned, $unsigned::wrapping_mul);
    )*};
}

combine!(And, u8, BitAnd::bitand);
combine!(Or, u8, BitOr::bitor);
combine!(Xor, u8, BitXor::bitxor);
combine_integers! { u8 i8 u16 i16 u32 i32 u64 i64 }
combine!(Sum, f32, Add::add);
combine!(Sum, f64, Add::add);
combine!(Prod, f32, Mul::mul);
combine!(Prod, f64, Mul::mul);

/// Maximum and minimum of floating-point lanes run on their ranks.
macro_rules! combine_by_rank {
    ($($lane:ty)*) => {$(
        combine_by_rank!(@one Max, $lane, rank_for_max, from_rank_for_max, Ord::max);
        combine_by_rank!(@one Min, $lane, rank_for_min, from_rank_for_min, Ord::min);
    )*};
    (@one $op:ident, $lane:ty, $rank:ident, $from_rank:ident, $combine:expr) => {
        impl Combine<$op> for $lane {
            type Running = <$lane as Ranked>::Rank;
            #[inline(always)]
            fn lift(self) -> Self::Running {
                self.$rank()
            }
            #[inline(always)]
            fn lower(running: Self::Running) -> $lane {
                <$lane>::$from_rank(running)
            }
            #[inline(always)]
            fn combine(running: Self::Running, next: Self::Running) -> Self::Running {
                $combine(running, next)
            }
        }
    };
}

combine_by_rank! { LongDouble Quad }

/// Maximum and minimum of `float` and `double`: the processor's, made to tell the zeros apart, where no operand is NaN or
/// a subnormal number that the processor takes for zero; by rank otherwise. Rows are short enough to stay in the first
/// cache between the look for such operands and the fold.
macro_rules! combine_floats {
    ($($lane:ty)*) => {$(
        // Of two zeros the two selections return one each: their common bits are +0 if either is, all bits -0.
        combine_floats!(@one Max, $lane, rank_for_max, >, BitAnd::bitand);
        combine_floats!(@one Min, $lane, rank_for_min, <, BitOr::bitor);
    )*};
    (@numbers $lane:ty, $better:tt, $zero:expr) => {
        |a: $lane, b: $lane| {
            let one = if a $better b { a } else { b };
            let other = if b $better a { b } else { a };
            <$lane>::from_bits($zero(one.to_bits(), other.to_bits()))
        }
    };
    // Without its sign it lies between zero and the least normal number.
    (@subnormal $lane:ty, $value:ident) => {
        ($value.to_bits() << 1).wrapping_sub(1) < (<$lane>::MIN_POSITIVE.to_bits() << 1) - 1
    };
    (@one $op:ident, $lane:ty, $rank:ident, $better:tt, $zero:expr) => {
        impl Combine<$op> for $lane {
            type Running = $lane;
            #[inline(always)]
            fn lift(self) -> $lane {
                self
            }
            #[inline(always)]
            fn lower(running: $lane) -> $lane {
                running
            }
            #[inline(always)]
            fn combine(running: $lane, next: $lane) -> $lane {
                if next.$rank() $better running.$rank() { next } else { running }
            }
            #[inline(always)]
            unsafe fn combine_rows<const K: usize, const FIRST: bool>(
                running: *mut $lane,
                rows: [*const $lane; K],
                n: usize,
            ) {
                // SAFETY: the caller promises `n` values in each row, and at `running` too, which is initialised unless
                // `FIRST`.
                unsafe {
                    let running_nan = !FIRST && has(running, n, <$lane>::is_nan);
                    let any_nan = running_nan || rows.iter().any(|row| has(*row, n, <$lane>::is_nan));
                    let running_zeros = || !FIRST && has(running, n, |value| combine_floats!(@subnormal $lane, value));
                    let zeros = |row: &*const $lane| has(*row, n, |value| combine_floats!(@subnormal $lane, value));
                    if any_nan || subnormals::are_zeros() && (running_zeros() || rows.iter().any(zeros)) {
                        return fold_rows::<K, FIRST, $lane>(running, rows, n, <$lane as Combine<$op>>::combine);
                    }
                    fold_rows::<K, FIRST, $lane>(running, rows, n, combine_floats!(@numbers $lane, $better, $zero));
                }
            }
            #[inline(always)]
            fn combine_pair(to: [&mut [MaybeUninit<$lane>]; 2], from: [&[$lane]; 2]) {
                let any_nan = from.iter().any(|row| row.iter().fold(false, |found, value| found | value.is_nan()));
                let zeros = |row: &&[$lane]| {
                    row.iter().fold(false, |found, &value| found | combine_floats!(@subnormal $lane, value))
                };
                if any_nan || subnormals::are_zeros() && from.iter().any(zeros) {
                    fold_pair(to, from, <$lane as Combine<$op>>::combine);
                } else {
                    fold_pair(to, from, combine_floats!(@numbers $lane, $better, $zero));
                }
            }
        }
    };
}

/// Whether such a value is among `n`. Looks at all of them, so that the loop has no way out and vectorises.
///
/// # Safety
/// `row` is good for reading `n` values.
#[inline(always)]
unsafe fn has<L: Copy>(row: *const L, n: usize, is_such: fn(L) -> bool) -> bool {
    // SAFETY: the caller promises `n` values at `row`, and `i` is less than `n`.
    (0..n).fold(false, |found, i| found | is_such(unsafe { row.add(i).read() }))
}

/// The loop of [`Combine::combine_rows`] for lanes that are their own running form.
///
/// # Safety
/// As `combine_rows`.
#[inline(always)]
unsafe fn fold_rows<const K: usize, const FIRST: bool, L: Copy>(
    running: *mut L,
    rows: [*const L; K],
    n: usize,
    combine: impl Fn(L, L) -> L,
) {
    for i in 0..n {
        // SAFETY: the caller promises `n` values at `running` and in each row, and `i` is less than `n`. Unless `FIRST`
        // the values at `running` are initialised.
        unsafe {
            let first = rows[0].add(i).read();
            let mut result = if FIRST { first } else { combine(running.add(i).read(), first) };
            for row in &rows[1..] {
                result = combine(result, row.add(i).read());
            }
            running.add(i).write(result);
        }
    }
}

combine_floats! { f32 f64 }

/// Lanes that take in one row at a time: with a loop in C, or with exceptions that are looked for first.
macro_rules! combine_by_row {
    ($op:ident, $lane:ty, $row:expr, $lower:expr) => {
        impl Combine<$op> for $lane {
            type Running = $lane;
            const DIRECT: bool = false;
            #[inline(always)]
            fn lift(self) -> $lane {
                self
            }
            #[inline(always)]
            fn lower(running: $lane) -> $lane {
                $lower(running)
            }
            #[inline(always)]
            fn combine(mut running: $lane, next: $lane) -> $lane {
                // SAFETY: both point at one value.
                unsafe { $row(&mut running, &next, 1) };
                running
            }
            #[inline(always)]
            unsafe fn combine_rows<const K: usize, const FIRST: bool>(
                running: *mut $lane,
                rows: [*const $lane; K],
                n: usize,
            ) {
                // SAFETY: the caller promises `n` values at `running` and in each row, which do not overlap. The copy
                // initialises `running` if these are the `FIRST` rows.
                unsafe {
                    if FIRST {
                        running.copy_from_nonoverlapping(rows[0], n);
                    }
                    for row in &rows[usize::from(FIRST)..] {
                        $row(running, *row, n);
                    }
                }
            }
        }
    };
}

combine_by_row!(Prod, Complex<f32>, complex::product_row, Element::without_padding);
combine_by_row!(Prod, Complex<f64>, complex::product_row, Element::without_padding);
combine_by_row!(Sum, LongDouble, extended::oxshmem_long_double_sum, Element::without_padding);
combine_by_row!(Prod, LongDouble, extended::oxshmem_long_double_prod, Element::without_padding);
combine_by_row!(Sum, Quad, extended::oxshmem_quad_sum, Element::without_padding);
combine_by_row!(Prod, Quad, extended::oxshmem_quad_prod, Element::without_padding);

macro_rules! operand {
    ($op:ident, $t:ty, $lane:ty, $combine:expr) => {
        impl Operand<$op> for $t {
            type Lane = $lane;
            #[inline(always)]
            fn combine(self, other: $t) -> $t {
                $combine(self, other)
            }
        }
    };
}

macro_rules! integer_operands {
    ($($t:ident: $unsigned:ident $same:ident)*) => {$(
        operand!(And, $t, u8, $t::bitand);
        operand!(Or, $t, u8, $t::bitor);
        operand!(Xor, $t, u8, $t::bitxor);
        operand!(Max, $t, $same, Ord::max);
        operand!(Min, $t, $same, Ord::min);
        operand!(Sum, $t, $unsigned, $t::wrapping_add);
        operand!(Prod, $t, $unsigned, $t::wrapping_mul);
    )*};
}

integer_operands! {
    i8: u8 i8 i16: u16 i16 i32: u32 i32 i64: u64 i64 u8: u8 u8 u16: u16 u16 u32: u32 u32 u64: u64 u64
}
#[cfg(target_pointer_width = "64")]
integer_operands! { isize: u64 i64 usize: u64 u64 }

macro_rules! float_operands {
    ($($t:ty)*) => {$(
        float_operands!(@each $t: Max Min Sum Prod);
    )*};
    (@each $t:ty: $($op:ident)*) => {$(
        operand!($op, $t, $t, in_one_lane::<$op, $t>);
    )*};
}

float_operands! { f32 f64 LongDouble Quad }

operand!(Sum, Complex<f32>, f32, complex::sum);
operand!(Sum, Complex<f64>, f64, complex::sum);
operand!(Prod, Complex<f32>, Complex<f32>, complex::product);
operand!(Prod, Complex<f64>, Complex<f64>, complex::product);

#[inline(always)]
fn in_one_lane<O: Operator, L: Combine<O>>(left: L, right: L) -> L {
    L::lower(L::combine(left.lift(), right.lift()))
}
