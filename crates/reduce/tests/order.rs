//! Maximum and minimum of floating-point values give the same bits whatever the order and the grouping.

use oxshmem_reduce::{Complex, LongDouble, Max, Min, Operand, Operator, Prod, Quad, Sum};
use proptest::prelude::*;

fn laws<O: Operator, T: Operand<O>>(bits: fn(T) -> u128, a: T, b: T, c: T) {
    let op = |l: T, r: T| l.combine(r);
    let least = [bits(a), bits(b), bits(c)];
    assert_eq!(bits(op(a, a)), bits(a), "idempotent");
    assert_eq!(bits(op(a, b)), bits(op(b, a)), "commutative");
    assert_eq!(bits(op(op(a, b), c)), bits(op(a, op(b, c))), "associative");
    assert!(least.contains(&bits(op(op(a, b), c))), "the result is one of the operands, to the bit");
}

macro_rules! laws_of {
    ($t:ty, $bits:expr, $($value:ident),*) => {{
        laws::<Max, $t>($bits, $($value),*);
        laws::<Min, $t>($bits, $($value),*);
    }};
}

/// Bits of a binary format that are special as often as not.
fn bits(exponent: u32, width: u32) -> impl Strategy<Value = u128> {
    let fraction = width - 1 - exponent;
    let exponents = prop_oneof![Just(0), Just((1u128 << exponent) - 1), 0..1u128 << exponent];
    let fractions = prop_oneof![
        Just(0),
        Just(1),
        Just(1u128 << (fraction - 1)),
        Just(1u128 << (fraction - 1) | 5),
        0..1u128 << fraction
    ];
    (0..2u128, exponents, fractions).prop_map(move |(s, e, f)| s << (width - 1) | e << fraction | f)
}

fn config() -> ProptestConfig {
    if cfg!(miri) {
        ProptestConfig { cases: 5, failure_persistence: None, ..ProptestConfig::default() }
    } else {
        ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn red_4_laws_of_f32(a in bits(8, 32), b in bits(8, 32), c in bits(8, 32)) {
        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        laws_of!(f32, |value| value.to_bits().into(), a, b, c);
    }

    #[test]
    fn red_4_laws_of_f64(a in bits(11, 64), b in bits(11, 64), c in bits(11, 64)) {
        let [a, b, c] = [a, b, c].map(|bits| f64::from_bits(bits as u64));
        laws_of!(f64, |value| value.to_bits().into(), a, b, c);
    }

    #[test]
    fn red_4_laws_of_long_double(a in bits(15, 80), b in bits(15, 80), c in bits(15, 80)) {
        let [a, b, c] = [a, b, c].map(LongDouble::from_bits);
        laws_of!(LongDouble, LongDouble::to_bits, a, b, c);
    }

    #[test]
    fn red_4_laws_of_quad(a in bits(15, 128), b in bits(15, 128), c in bits(15, 128)) {
        let [a, b, c] = [a, b, c].map(Quad::from_bits);
        laws_of!(Quad, Quad::to_bits, a, b, c);
    }

    #[test]
    fn red_5_maximum_of_f64_as_ieee(a in bits(11, 64), b in bits(11, 64)) {
        let [a, b] = [a, b].map(|bits| f64::from_bits(bits as u64));
        let (max, min) = (Operand::<Max>::combine(a, b), Operand::<Min>::combine(a, b));
        if a.is_nan() || b.is_nan() {
            assert!(max.is_nan() && min.is_nan());
        } else {
            assert!(max >= a && max >= b && min <= a && min <= b);
            assert!(!max.total_cmp(&a).is_lt() && !max.total_cmp(&b).is_lt(), "-0 is less than +0");
            assert!(!min.total_cmp(&a).is_gt() && !min.total_cmp(&b).is_gt(), "-0 is less than +0");
        }
    }
}

/// `long double` and binary128 compare as the numbers they are.
#[test]
#[cfg_attr(miri, ignore = "conversions are C")]
fn red_5_extended_maximum_as_f64() {
    let values = [0.0, -0.0, 1.0, -1.0, 1e-310, -1e-310, f64::MAX, f64::MIN, f64::INFINITY, -f64::INFINITY, 0.5];
    for a in values {
        for b in values {
            let (max, min) = (Operand::<Max>::combine(a, b), Operand::<Min>::combine(a, b));
            let long = [a, b].map(LongDouble::from);
            assert_eq!(f64::from(Operand::<Max>::combine(long[0], long[1])).to_bits(), max.to_bits());
            assert_eq!(f64::from(Operand::<Min>::combine(long[0], long[1])).to_bits(), min.to_bits());
            let quad = [a, b].map(Quad::from);
            assert_eq!(f64::from(Operand::<Max>::combine(quad[0], quad[1])).to_bits(), max.to_bits());
            assert_eq!(f64::from(Operand::<Min>::combine(quad[0], quad[1])).to_bits(), min.to_bits());
        }
        let nan = f64::NAN;
        assert!(f64::from(Operand::<Max>::combine(LongDouble::from(a), LongDouble::from(nan))).is_nan());
        assert!(f64::from(Operand::<Min>::combine(LongDouble::from(-nan), LongDouble::from(a))).is_nan());
        assert!(f64::from(Operand::<Max>::combine(Quad::from(-nan), Quad::from(a))).is_nan());
        assert!(f64::from(Operand::<Min>::combine(Quad::from(a), Quad::from(nan))).is_nan());
    }
}

/// The sums have the precision of their types, not that of `double`.
#[test]
#[cfg_attr(miri, ignore = "arithmetic is C")]
fn extended_sums_and_products_keep_their_precision() {
    let long_bits = if cfg!(target_arch = "x86_64") { 63 } else { 112 };
    let long = |value: f64| LongDouble::from(value);
    let sum = Operand::<Sum>::combine(long(1.0), long(2f64.powi(-long_bits)));
    assert_eq!(sum.to_bits(), long(1.0).to_bits() + 1);
    let square = Operand::<Prod>::combine(sum, sum);
    assert_eq!(square.to_bits(), long(1.0).to_bits() + 2);

    let sum = Operand::<Sum>::combine(Quad::from(1.0), Quad::from(2f64.powi(-112)));
    assert_eq!(sum.to_bits(), Quad::from(1.0).to_bits() + 1);
    let square = Operand::<Prod>::combine(sum, sum);
    assert_eq!(square.to_bits(), Quad::from(1.0).to_bits() + 2);
}

/// The compiler's product over all combinations of special parts, with every sign.
#[test]
#[cfg_attr(miri, ignore = "the model is C")]
fn complex_product_as_annex_g() {
    unsafe extern "C" {
        safe fn __muldc3(a: f64, b: f64, c: f64, d: f64) -> Complex<f64>;
    }
    let parts = [0.0, -0.0, 1.0, -2.5, 1e300, -1e300, f64::INFINITY, -f64::INFINITY, f64::NAN, -f64::NAN];
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    for index in 0..10_000 {
        let [a, b, c, d] = [1, 10, 100, 1000].map(|place| parts[index / place % 10]);
        let ours = Operand::<Prod>::combine(Complex::new(a, b), Complex::new(c, d));
        let theirs = __muldc3(a, b, c, d);
        assert!(
            same(ours.re, theirs.re) && same(ours.im, theirs.im),
            "({a}, {b}) * ({c}, {d}): {ours:?}, the compiler has {theirs:?}"
        );
    }
}
