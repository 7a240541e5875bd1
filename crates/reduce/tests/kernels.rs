//! Every kernel of every operator and type against a model written one value at a time.
//!
//! Under Miri the arithmetic of `long double` and binary128, which is C, is left out.

use core::ffi::c_char;

use oxshmem_reduce::*;

#[path = "kernels/model.rs"]
mod model;
use model::Modelled;
use oxshmem_base::chance::Dice;

const SOURCES: &[usize] = if cfg!(miri) { &[1, 3, 9] } else { &[1, 2, 3, 7, 8, 9, 21] };

fn lengths() -> impl Iterator<Item = usize> {
    let large: &[usize] = if cfg!(miri) { &[] } else { &[127, 1000, 2048, 2049, 9001] };
    let step = if cfg!(miri) { 35 } else { 1 };
    (0..=70).step_by(step).chain(large.iter().copied())
}

/// Where the destinations of a call lie: how many are sources, and how many are arrays of their own.
const PLACES: [(usize, usize); 5] = [(0, 1), (1, 0), (0, 3), (1, 1), (2, 3)];

/// Operators whose kernels differ from that of another one, and of the same lanes, in a safe function of two values only: `Or` and `Xor`
/// from `And`, `Min` from `Max`. Miri, which takes seconds for each kernel, has nothing to find there.
const ALIKE: [Op; 3] = [Op::Or, Op::Xor, Op::Min];

fn check<O: Operator, T: Operand<O> + Modelled>() {
    let mut random = Dice::new(O::OP as u64 * 31 + T::KIND as u64);
    let kernel = Kernel::of::<O, T>();
    let mut turn = 0;
    for n in lengths().filter(|_| !cfg!(miri) || !ALIKE.contains(&O::OP)) {
        for &count in SOURCES {
            for variant in Variant::ALL {
                let Some(kernel) = kernel.compiled_for(variant) else {
                    continue;
                };
                let (in_place, apart) = PLACES[turn % PLACES.len()];
                let store = if turn % 3 == 0 { Store::Streaming } else { Store::Cached };
                let mut case = Case::<T>::new(&mut random, n, count, in_place.min(count), apart, turn);
                let expected = case.expected::<O>();
                let (to, from) = case.pointers();
                let to: Vec<*mut u8> = to.iter().map(|to| to.cast()).collect();
                let from: Vec<*const u8> = from.iter().map(|from| from.cast()).collect();
                // SAFETY: `Case` lays its arrays out as the kernel demands.
                unsafe { kernel.fold_to_many(&to, &from, n, store) };
                case.verify::<O>(&expected, &format!("{variant:?} {store:?} n={n} sources={count} turn={turn}"));
                turn += 1;
            }
        }
    }
    check_values::<O, T>(&mut random);
}

/// Two values in hand give what the model says.
fn check_values<O: Operator, T: Operand<O> + Modelled>(random: &mut Dice) {
    let pairs = if cfg!(miri) { 20 } else { 2000 };
    for _ in 0..pairs {
        let (left, right) = (T::sample(random), T::sample(random));
        let (found, expected) = (left.combine(right), T::model(O::OP, left, right));
        assert!(T::same(O::OP, found, expected), "{:?} {:?}: {left:?} {right:?}: {found:?}", O::OP, T::KIND);
    }
}

/// The arrays of one call, each with a margin before and behind that must stay as it was.
struct Case<T> {
    /// Sources, then destinations that are none.
    arrays: Vec<Vec<T>>,
    before: Vec<Vec<T>>,
    sources: usize,
    in_place: usize,
    start: usize,
    n: usize,
}

impl<T: Modelled> Case<T> {
    fn new(random: &mut Dice, n: usize, sources: usize, in_place: usize, apart: usize, turn: usize) -> Self {
        let start = 1 + turn % 5;
        let arrays: Vec<Vec<T>> =
            (0..sources + apart).map(|_| (0..start + n + 4).map(|_| T::sample(random)).collect()).collect();
        Case { before: arrays.clone(), arrays, sources, in_place, start, n }
    }

    fn pointers(&mut self) -> (Vec<*mut T>, Vec<*const T>) {
        let all: Vec<*mut T> = self.arrays.iter_mut().map(|array| array[self.start..].as_mut_ptr()).collect();
        // In place means the last sources: a kernel that wrote too early would read its own result there.
        let to = all[self.sources - self.in_place..].to_vec();
        let from = all[..self.sources].iter().map(|from| from.cast_const()).collect();
        (to, from)
    }

    fn expected<O: Operator>(&self) -> Vec<T> {
        let at = |source: usize, i: usize| self.before[source][self.start + i];
        (0..self.n).map(|i| (1..self.sources).fold(at(0, i), |result, k| T::model(O::OP, result, at(k, i)))).collect()
    }

    fn verify<O: Operator>(&self, expected: &[T], what: &str) {
        for (which, (now, before)) in self.arrays.iter().zip(&self.before).enumerate() {
            let written = which >= self.sources - self.in_place;
            for (i, (&now, &before)) in now.iter().zip(before).enumerate() {
                let inside = written && (self.start..self.start + self.n).contains(&i);
                let good =
                    if inside { T::same(O::OP, now, expected[i - self.start]) } else { now.raw() == before.raw() };
                assert!(
                    good,
                    "{:?} {:?} {what}: array {which} at {i} (start {}): {now:?}, before {before:?}, inside {inside}",
                    O::OP,
                    T::KIND,
                    self.start
                );
            }
        }
    }
}

macro_rules! pairs {
    ($($name:ident $t:ty: $($op:ident)*;)*) => {$(
        #[test]
        fn $name() {
            $(check::<$op, $t>();)*
        }
    )*};
}

pairs! {
    red_2_char c_char: And Or Xor Max Min Sum Prod;
    red_2_i8 i8: And Or Xor Max Min Sum Prod;
    red_2_i16 i16: And Or Xor Max Min Sum Prod;
    red_2_i32 i32: And Or Xor Max Min Sum Prod;
    red_2_i64 i64: And Or Xor Max Min Sum Prod;
    red_2_isize isize: And Or Xor Max Min Sum Prod;
    red_2_u8 u8: And Or Xor Max Min Sum Prod;
    red_2_u16 u16: And Or Xor Max Min Sum Prod;
    red_2_u32 u32: And Or Xor Max Min Sum Prod;
    red_2_u64 u64: And Or Xor Max Min Sum Prod;
    red_2_usize usize: And Or Xor Max Min Sum Prod;
    red_2_f32 f32: Max Min Sum Prod;
    red_2_f64 f64: Max Min Sum Prod;
    red_2_complex_f32 Complex<f32>: Sum Prod;
    red_2_complex_f64 Complex<f64>: Sum Prod;
}

#[cfg(not(miri))]
pairs! {
    red_2_long_double LongDouble: Max Min Sum Prod;
    red_2_quad Quad: Max Min Sum Prod;
}

#[test]
fn without_sources_nothing_is_written() {
    let mut to = [7u32; 40];
    // SAFETY: `to` is 40 elements.
    unsafe { Kernel::of::<Sum, u32>().fold(to.as_mut_ptr().cast(), &[], 40, Store::Cached) };
    assert_eq!(to, [7; 40]);
}

#[test]
fn copies_of_any_length_and_alignment() {
    let from: Vec<u8> = (0..10_000u32).map(|i| (i * 7 % 251) as u8).collect();
    let copy = Kernel::of::<Or, u8>();
    for n in [0, 1, 63, 64, 65, 2048, 4099] {
        for (a, b) in [(0, 0), (1, 0), (0, 3), (16, 64), (5, 21)] {
            let mut to = vec![255; 6000];
            // SAFETY: both arrays reach further, and they are different.
            unsafe { copy.fold(to[a..].as_mut_ptr(), &[from[b..].as_ptr()], n, Store::Streaming) };
            assert_eq!(to[a..a + n], from[b..b + n], "n={n} to +{a} from +{b}");
            assert!(to[..a].iter().chain(&to[a + n..]).all(|&byte| byte == 255), "n={n} to +{a}");
        }
    }
}

#[test]
fn selection_is_the_widest_available() {
    let best = Variant::ALL.into_iter().rfind(|variant| variant.is_available()).expect("Baseline always is");
    assert_eq!(select(), best);
    for variant in Variant::ALL {
        println!(
            "{variant:?}: {}",
            if variant.is_available() { "tested" } else { "NOT TESTED: not on this processor" }
        );
    }
}
