//! The operators once more, as plainly as they can be said, and values to try them on.

use core::fmt::Debug;

use oxshmem_base::chance::Dice;
use oxshmem_reduce::{Complex, Element, LongDouble, Op, Quad};

pub(crate) trait Modelled: Element + Debug {
    fn sample(random: &mut Dice) -> Self;
    fn model(op: Op, left: Self, right: Self) -> Self;
    /// All bytes, padding too.
    fn raw(self) -> u128;

    /// Whether this result is the expected one, to the bit; a sum or a product that is NaN may be any NaN.
    fn same(op: Op, result: Self, expected: Self) -> bool {
        let _ = op;
        result.raw() == expected.raw()
    }
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Modelled for $t {
            fn sample(random: &mut Dice) -> $t {
                random.next() as $t
            }
            fn model(op: Op, left: $t, right: $t) -> $t {
                let (l, r) = (left as i128, right as i128);
                (match op {
                    Op::And => l & r,
                    Op::Or => l | r,
                    Op::Xor => l ^ r,
                    Op::Max => if l > r { l } else { r },
                    Op::Min => if l < r { l } else { r },
                    Op::Sum => l + r,
                    Op::Prod => l.wrapping_mul(r),
                }) as $t
            }
            fn raw(self) -> u128 {
                self as u128
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

macro_rules! floats {
    ($($t:ident $bits:ident)*) => {$(
        impl Modelled for $t {
            fn sample(random: &mut Dice) -> $t {
                let small = (random.next() % 2001) as $t / 8.0 - 125.0;
                let nan = $t::from_bits($t::NAN.to_bits() | (random.next() % 100) as $bits);
                match random.next() % 64 {
                    0 => 0.0,
                    1 => -0.0,
                    2 => $t::INFINITY,
                    3 => -$t::INFINITY,
                    4 => nan,
                    5 => -nan,
                    6 => $t::from_bits(random.next() as $bits),
                    7 => $t::from_bits(1 + (random.next() % 9) as $bits),
                    8 => $t::MAX,
                    _ => small,
                }
            }
            fn model(op: Op, left: $t, right: $t) -> $t {
                // Equal numbers of different sign are the two zeros.
                match op {
                    Op::Max => match (left.is_nan(), right.is_nan()) {
                        (true, true) if left.is_sign_negative() != right.is_sign_negative() => {
                            if left.is_sign_negative() { left } else { right }
                        }
                        (true, true) => if left.total_cmp(&right).is_gt() { left } else { right },
                        (true, false) => left,
                        (false, true) => right,
                        _ if left > right || (left == right && right.is_sign_negative()) => left,
                        _ => right,
                    },
                    Op::Min => match (left.is_nan(), right.is_nan()) {
                        (true, true) if left.is_sign_negative() != right.is_sign_negative() => {
                            if left.is_sign_positive() { left } else { right }
                        }
                        (true, true) => if left.total_cmp(&right).is_lt() { left } else { right },
                        (true, false) => left,
                        (false, true) => right,
                        _ if left < right || (left == right && left.is_sign_negative()) => left,
                        _ => right,
                    },
                    Op::Sum => left + right,
                    Op::Prod => left * right,
                    _ => unreachable!("floats have no {op:?}"),
                }
            }
            fn raw(self) -> u128 {
                self.to_bits().into()
            }
            fn same(op: Op, result: $t, expected: $t) -> bool {
                let any_nan = matches!(op, Op::Sum | Op::Prod) && result.is_nan() && expected.is_nan();
                any_nan || result.raw() == expected.raw()
            }
        }
    )*};
}

floats! { f32 u32 f64 u64 }

macro_rules! complexes {
    ($($t:ident $product:ident)*) => {$(
        impl Modelled for Complex<$t> {
            fn sample(random: &mut Dice) -> Self {
                Complex::new($t::sample(random), $t::sample(random))
            }
            fn model(op: Op, left: Self, right: Self) -> Self {
                match op {
                    Op::Sum => Complex::new(left.re + right.re, left.im + right.im),
                    Op::Prod => $product(left, right),
                    _ => unreachable!("complex numbers have no {op:?}"),
                }
            }
            fn raw(self) -> u128 {
                self.re.raw() << 64 | self.im.raw()
            }
            fn same(op: Op, result: Self, expected: Self) -> bool {
                $t::same(op, result.re, expected.re) && $t::same(op, result.im, expected.im)
            }
        }
    )*};
}

complexes! { f32 product_f32 f64 product_f64 }

/// The C compiler's own complex product.
#[cfg(not(miri))]
mod compiler {
    use oxshmem_reduce::Complex;
    unsafe extern "C" {
        pub(super) safe fn __mulsc3(a: f32, b: f32, c: f32, d: f32) -> Complex<f32>;
        pub(super) safe fn __muldc3(a: f64, b: f64, c: f64, d: f64) -> Complex<f64>;
    }
}

#[cfg(not(miri))]
fn product_f32(left: Complex<f32>, right: Complex<f32>) -> Complex<f32> {
    compiler::__mulsc3(left.re, left.im, right.re, right.im)
}

#[cfg(not(miri))]
fn product_f64(left: Complex<f64>, right: Complex<f64>) -> Complex<f64> {
    compiler::__muldc3(left.re, left.im, right.re, right.im)
}

/// Miri cannot call C: there only the kernels' memory accesses are looked at, not the product's exceptions.
#[cfg(miri)]
use {product_alone as product_f32, product_alone as product_f64};

#[cfg(miri)]
fn product_alone<T>(left: Complex<T>, right: Complex<T>) -> Complex<T>
where
    Complex<T>: oxshmem_reduce::Operand<oxshmem_reduce::Prod>,
{
    oxshmem_reduce::Operand::<oxshmem_reduce::Prod>::combine(left, right)
}

/// The extended types on numbers that `double` holds exactly, so that `double` is the model: maxima and minima of any
/// of them, sums of small integers, products of powers of two.
macro_rules! extended {
    ($($t:ident $padding:expr;)*) => {$(
        impl Modelled for $t {
            fn sample(random: &mut Dice) -> $t {
                let power = (random.next() % 17) as i32 - 8;
                let value = match random.next() % 16 {
                    0 => -0.0,
                    1 => f64::INFINITY,
                    2 => -f64::INFINITY,
                    _ => 2f64.powi(power).copysign(random.next() as i64 as f64),
                };
                let bits = $t::from(value).to_bits() | $padding(random);
                // SAFETY: 16 bytes each, and every bit pattern is a value.
                unsafe { core::mem::transmute::<u128, $t>(bits) }
            }
            fn model(op: Op, left: $t, right: $t) -> $t {
                $t::from(f64::model(op, left.into(), right.into()))
            }
            fn raw(self) -> u128 {
                // SAFETY: 16 bytes each, all initialised: `sample` and the kernels write the padding too.
                unsafe { core::mem::transmute::<$t, u128>(self) }
            }
            fn same(op: Op, result: $t, expected: $t) -> bool {
                let nan = |value: $t| f64::from(value).is_nan();
                let padding_is_zero = result.raw() == result.to_bits();
                let any_nan = matches!(op, Op::Sum | Op::Prod) && nan(result) && nan(expected);
                padding_is_zero && (any_nan || result.to_bits() == expected.to_bits())
            }
        }
    )*};
}

extended! { LongDouble garbage; Quad |_: &mut Dice| 0; }

/// A value that C may leave in the padding.
fn garbage(random: &mut Dice) -> u128 {
    if cfg!(target_arch = "x86_64") { u128::from(random.next()) << 80 } else { 0 }
}
