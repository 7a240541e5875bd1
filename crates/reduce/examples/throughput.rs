//! Gigabytes per second read by the kernels, beside `memcpy` and a streaming copy, on one core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use oxshmem_reduce::{Kernel, Max, Or, Store, Sum, Variant, select};

const SIZES: [(usize, &str); 3] = [(4 << 10, "4 KiB"), (256 << 10, "256 KiB"), (32 << 20, "32 MiB")];
const MOST: usize = 8;

fn main() {
    println!("selected: {:?}; GB/s of sources read, best of many\n", select());
    println!("{:34}{:>10}{:>10}{:>10}", "", SIZES[0].1, SIZES[1].1, SIZES[2].1);
    // All begin at the same place of a page, as the windows of PEs do.
    let arrays: Vec<Vec<u64>> = (0..=MOST).map(|i| values(i, (32 << 20) / 8)).collect();
    let to = arrays[0].as_ptr() as *mut u8;
    let from: Vec<*const u8> = arrays[1..].iter().map(|array| array.as_ptr().cast()).collect();

    row("memcpy", 1, |bytes| {
        // SAFETY: different arrays of 32 MiB.
        unsafe { to.copy_from_nonoverlapping(from[0], bytes) };
    });
    let copy = Kernel::of::<Or, u8>();
    // SAFETY: `to` and `from[0]` are different arrays of 32 MiB, and no row asks for more bytes.
    row("streaming copy", 1, |bytes| unsafe { copy.fold(to, &from[..1], bytes, Store::Streaming) });
    let measured = [
        ("max int64", Kernel::of::<Max, i64>(), 8),
        ("max double", Kernel::of::<Max, f64>(), 8),
        ("sum double", Kernel::of::<Sum, f64>(), 8),
        ("sum int8", Kernel::of::<Sum, i8>(), 1),
    ];
    for (what, kernel, size) in measured {
        for variant in Variant::ALL {
            let Some(kernel) = kernel.compiled_for(variant) else {
                continue;
            };
            for (sources, store) in [(2, Store::Cached), (2, Store::Streaming), (MOST, Store::Cached)] {
                let name = format!("{what} {variant:?} x{sources} {store:?}");
                row(&name, sources, |bytes| {
                    // SAFETY: `to` and the sources are different arrays of 32 MiB, aligned for every element, and no row
                    // asks for more bytes.
                    unsafe { kernel.fold(to, &from[..sources], bytes / size, store) };
                });
            }
        }
    }
}

fn values(seed: usize, n: usize) -> Vec<u64> {
    (0..n as u64).map(|i| ((i * 7 + seed as u64) as f64).to_bits()).collect()
}

fn row(name: &str, sources: usize, mut work: impl FnMut(usize)) {
    print!("{name:34}");
    for (bytes, _) in SIZES {
        let times = (64 << 20) / bytes;
        let best = (0..8).map(|_| time(times, || work(black_box(bytes)))).min().unwrap_or(Duration::MAX);
        print!("{:>10.1}", (sources * bytes * times) as f64 / best.as_secs_f64() / 1e9);
    }
    println!();
}

fn time(times: usize, mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        work();
    }
    start.elapsed()
}
