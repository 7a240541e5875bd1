//! Complex arithmetic as Annex G of the C standard has it.

use core::ops::{Add, Mul, Sub};

use crate::Complex;

/// The real type of the two parts of a complex number.
pub(crate) trait Real: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    const INFINITY: Self;
    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
    /// `magnitude` with the sign of `self`.
    fn signed(self, magnitude: u8) -> Self;
}

macro_rules! parts {
    ($($t:ident)*) => {$(
        impl Real for $t {
            const INFINITY: $t = $t::INFINITY;
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
            fn signed(self, magnitude: u8) -> $t {
                $t::from(magnitude).copysign(self)
            }
        }
    )*};
}

parts! { f32 f64 }

#[inline(always)]
pub(crate) fn sum<T: Real>(left: Complex<T>, right: Complex<T>) -> Complex<T> {
    Complex::new(left.re + right.re, left.im + right.im)
}

/// The product; infinite if a factor is infinite and the other is not zero, even where the textbook formula yields NaN.
#[inline(always)]
pub(crate) fn product<T: Real>(left: Complex<T>, right: Complex<T>) -> Complex<T> {
    let product = textbook(left, right);
    if lost(product) { recovered(left, right, product) } else { product }
}

/// `running[i] = running[i] * next[i]`. The row is searched for lost products first: that is vector code, and hardly a
/// row has any.
///
/// # Safety
/// `running` is good for reading and writing `n` numbers and `next` for reading them; they do not overlap.
#[inline(always)]
pub(crate) unsafe fn product_row<T: Real>(running: *mut Complex<T>, next: *const Complex<T>, n: usize) {
    // SAFETY: the caller promises `n` numbers at both pointers, which do not overlap, and that nobody else uses `running`
    // meanwhile.
    let (running, next) =
        unsafe { (core::slice::from_raw_parts_mut(running, n), core::slice::from_raw_parts(next, n)) };
    let any_lost = running.iter().zip(next).fold(false, |any, (&left, &right)| any | lost(textbook(left, right)));
    for (running, &next) in running.iter_mut().zip(next) {
        *running = if any_lost { product(*running, next) } else { textbook(*running, next) };
    }
}

#[inline(always)]
fn textbook<T: Real>(left: Complex<T>, right: Complex<T>) -> Complex<T> {
    Complex::new(left.re * right.re - left.im * right.im, left.re * right.im + left.im * right.re)
}

/// Whether both parts are NaN: then the product may be an infinity.
#[inline(always)]
fn lost<T: Real>(product: Complex<T>) -> bool {
    product.re.is_nan() & product.im.is_nan()
}

#[cold]
#[inline(never)]
fn recovered<T: Real>(mut left: Complex<T>, mut right: Complex<T>, product: Complex<T>) -> Complex<T> {
    let infinite = |z: Complex<T>| z.re.is_infinite() | z.im.is_infinite();
    let (left_infinite, right_infinite) = (infinite(left), infinite(right));
    // An infinite factor becomes the direction it points in; NaN beside an infinity counts as a zero.
    if left_infinite {
        left = direction(left);
        right = without_nan(right);
    }
    if right_infinite {
        right = direction(right);
        left = without_nan(left);
    }
    if !left_infinite && !right_infinite {
        // Finite factors whose partial products overflow.
        let overflow = [left.re * right.re, left.im * right.im, left.re * right.im, left.im * right.re];
        if !overflow.into_iter().any(T::is_infinite) {
            return product;
        }
        left = without_nan(left);
        right = without_nan(right);
    }
    let Complex { re, im } = textbook(left, right);
    Complex::new(T::INFINITY * re, T::INFINITY * im)
}

fn direction<T: Real>(z: Complex<T>) -> Complex<T> {
    let axis = |part: T| part.signed(u8::from(part.is_infinite()));
    Complex::new(axis(z.re), axis(z.im))
}

fn without_nan<T: Real>(z: Complex<T>) -> Complex<T> {
    let part = |part: T| if part.is_nan() { part.signed(0) } else { part };
    Complex::new(part(z.re), part(z.im))
}
