//! Maximum and minimum where the processor takes subnormal numbers for zeros, as it does in programs with `-ffast-math`.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use core::arch::asm;

use oxshmem_reduce::{Kernel, Max, Min, Operand, Operator, Store, Variant};

/// Elements of an array.
const N: usize = 300;

/// Does something on such a processor.
fn with_subnormals_as_zeros(act: impl FnOnce()) {
    const ALL_ARE_ZEROS: u32 = 1 << 6 | 1 << 15;
    let mut before = 0_u32;
    // SAFETY: the instruction writes a word of 32 bits to the variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack, preserves_flags)) };
    let after = before | ALL_ARE_ZEROS;
    // SAFETY: the instruction reads what the register has had before, with two bits set that every processor has.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const after, options(nostack, preserves_flags)) };
    act();
    // SAFETY: the instruction reads what the register has had before.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const before, options(nostack, preserves_flags)) };
}

/// All results of arrays of `a` and of `b`, by each kernel of the operator and in one destination and in two.
fn folded<O: Operator, T: Operand<O>>(a: T, b: T) -> Vec<T> {
    let (left, right) = (vec![a; N], vec![b; N]);
    let from = [left.as_ptr().cast::<u8>(), right.as_ptr().cast::<u8>()];
    let mut results = Vec::new();
    for kernel in Variant::ALL.into_iter().filter_map(|variant| Kernel::of::<O, T>().compiled_for(variant)) {
        let mut to = [vec![a; N], vec![a; N], vec![a; N]];
        let [one, two, three] = to.each_mut().map(|to| to.as_mut_ptr().cast::<u8>());
        // SAFETY: all arrays have `N` elements, and lie apart.
        with_subnormals_as_zeros(|| unsafe {
            kernel.fold(one, &from, N, Store::Cached);
            kernel.fold_to_many(&[two, three], &from, N, Store::Cached);
        });
        results.extend(to.into_iter().flatten());
    }
    results
}

macro_rules! tests {
    ($($name:ident $t:ident $sign:expr;)*) => {$(
        #[test]
        fn $name() {
            let normal = $t::MIN_POSITIVE.to_bits();
            let bits = [0, 1, 2, 12, normal - 1, normal, $sign, $sign | 1, $sign | 2, $sign | normal];
            let values = bits.map($t::from_bits);
            for (a, b) in values.into_iter().flat_map(|a| values.map(|b| (a, b))) {
                let (least, most) = if a.total_cmp(&b).is_lt() { (a, b) } else { (b, a) };
                let are = |results: Vec<$t>, wanted: $t| results.iter().all(|one| one.to_bits() == wanted.to_bits());
                assert!(are(folded::<Max, $t>(a, b), most), "the maximum of {a:e} and {b:e}");
                assert!(are(folded::<Min, $t>(a, b), least), "the minimum of {a:e} and {b:e}");
            }
        }
    )*};
}

tests! {
    red_5_subnormal_f32_keep_their_order f32 1 << 31;
    red_5_subnormal_f64_keep_their_order f64 1 << 63;
}
