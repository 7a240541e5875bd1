//! The price of every safe call beside the C call that does the same, in one run: needs the feature `c`, the release
//! profile, and two PEs.
//!
//! Both sides of a row run in turn, often, and the best round of each counts: what is left is the call itself. The
//! benches of the whole library run this too (`cargo run --release -p oxshmem-benches -- --only Rust`).

use std::ffi::{c_int, c_void};
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use oxshmem::{Atomic, Symmetric, World};

mod c {
    use super::{c_int, c_void};
    unsafe extern "C" {
        pub(crate) static oxshmem_team_world: [u8; 0];
        pub(crate) fn shmem_uint64_p(dest: *mut u64, value: u64, pe: c_int);
        pub(crate) fn shmem_uint64_g(source: *const u64, pe: c_int) -> u64;
        pub(crate) fn shmem_putmem(dest: *mut c_void, source: *const c_void, bytes: usize, pe: c_int);
        pub(crate) fn shmem_getmem(dest: *mut c_void, source: *const c_void, bytes: usize, pe: c_int);
        pub(crate) fn shmem_uint64_atomic_fetch_add(dest: *mut u64, value: u64, pe: c_int) -> u64;
        pub(crate) fn shmem_uint64_atomic_compare_swap(dest: *mut u64, cond: u64, value: u64, pe: c_int) -> u64;
        pub(crate) fn shmem_barrier_all();
        pub(crate) fn shmem_quiet();
        pub(crate) fn shmem_uint64_max_reduce(
            team: *const c_void,
            dest: *mut u64,
            source: *const u64,
            n: usize,
        ) -> c_int;
    }
}

/// How often both sides of a row take turns, and whether the benches' driver reads what is printed.
fn turns() -> (usize, bool) {
    let asked = std::env::args().nth(1).and_then(|turns| turns.parse().ok());
    (asked.unwrap_or(60), asked.is_some())
}

/// Measures one row: `calls` calls of each side, in turns.
fn row(world: &World, what: &str, calls: u32, mut c: impl FnMut(), mut rust: impl FnMut()) {
    let (turns, for_driver) = turns();
    let round = |call: &mut dyn FnMut()| {
        world.barrier();
        let begin = Instant::now();
        call();
        begin.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..turns {
        samples[0].push(round(&mut || (0..calls).for_each(|_| c())));
        samples[1].push(round(&mut || (0..calls).for_each(|_| rust())));
    }
    let [c, rust] = samples.each_ref().map(|samples| samples.iter().copied().fold(f64::MAX, f64::min));
    if for_driver {
        for (side, values) in [("limit", &samples[0]), ("ours", &samples[1])] {
            println!("{{\"row\":\"{what}\",\"side\":\"{side}\",\"values\":{values:?}}}");
        }
    } else if world.my_pe() == 0 {
        println!("{what:<28}{c:>12.1}{rust:>12.1}{:>10.2}", rust / c);
    }
}

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    if world.my_pe() == 0 && !turns().1 {
        println!("{:<28}{:>12}{:>12}{:>10}", "nanoseconds", "C", "Rust", "ratio");
    }
    let to = (world.my_pe() + 1) % world.n_pes();
    scalars(&world, to)?;
    transfers(&world, to)?;
    collectives(&world)
}

fn scalars(world: &World, to: usize) -> Result<(), oxshmem::Error> {
    let pe = to as c_int;
    let number = world.allocate(0_u64)?;
    let counter = world.allocate(Atomic::new(0_u64))?;
    let (n, a): (*mut u64, *mut u64) = (number.as_ptr(), counter.as_ptr().cast());
    // SAFETY: for all calls of C: what they work on is symmetric, and the buffers have the bytes.
    let p = || unsafe { c::shmem_uint64_p(black_box(n), 1, pe) };
    row(world, "Rust put of a word", 20_000, p, || black_box(&number).put(1, to));
    // SAFETY: `n` is this PE's address of a symmetric word, and `pe` exists.
    let g = || _ = black_box(unsafe { c::shmem_uint64_g(black_box(n), pe) });
    row(world, "Rust get of a word", 20_000, g, || _ = black_box(black_box(&number).get(to)));
    // SAFETY: `a` is this PE's address of a symmetric word that only atomics touch, and `pe` exists.
    let fetch_add = || _ = black_box(unsafe { c::shmem_uint64_atomic_fetch_add(black_box(a), 1, pe) });
    row(world, "Rust fetch_add", 20_000, fetch_add, || _ = black_box(black_box(&counter).fetch_add(1, to)));
    // SAFETY: `a` is this PE's address of a symmetric word that only atomics touch, and `pe` exists.
    let swap = || _ = black_box(unsafe { c::shmem_uint64_atomic_compare_swap(black_box(a), 1, 2, pe) });
    row(world, "Rust compare_swap", 20_000, swap, || _ = black_box(black_box(&counter).compare_swap(1, 2, to)));
    // SAFETY: the world is initialised.
    row(world, "Rust quiet", 20_000, || unsafe { c::shmem_quiet() }, || world.quiet());
    Ok(())
}

fn transfers(world: &World, to: usize) -> Result<(), oxshmem::Error> {
    let pe = to as c_int;
    for bytes in [8, 64, 512, 4096, 32_768, 262_144, 1 << 20] {
        let calls = (4_000_000 / bytes).clamp(10, 10_000) as u32;
        let memory = world.allocate_slice(bytes, 0_u8)?;
        let mut own = vec![1_u8; bytes];
        let (there, here) = (memory.as_ptr().cast::<c_void>(), own.as_mut_ptr().cast::<c_void>());
        // SAFETY: `there` is a symmetric object and `here` a buffer, both of `bytes` bytes, and `pe` exists.
        let put = || unsafe { c::shmem_putmem(black_box(there), here, bytes, pe) };
        // SAFETY: the buffer has the bytes, and nobody writes it meanwhile.
        let source = || unsafe { std::slice::from_raw_parts(here.cast::<u8>(), bytes) };
        row(world, &format!("Rust put {bytes} B"), calls, put, || black_box(&memory).put_slice(source(), to));
        // SAFETY: `there` is a symmetric object and `here` a buffer, both of `bytes` bytes; nobody else uses the buffer
        // during the call.
        let get = || unsafe { c::shmem_getmem(here, black_box(there), bytes, pe) };
        // SAFETY: nobody else uses the buffer while this runs, and it has the bytes.
        let into = || unsafe { std::slice::from_raw_parts_mut(here.cast::<u8>(), bytes) };
        row(world, &format!("Rust get {bytes} B"), calls, get, || black_box(&memory).get_slice(into(), to));
    }
    let memory = world.allocate_slice(8, 0_u64)?;
    let mut buffer = Some(vec![0_u64; 8]);
    let blocking = || black_box(&memory).put_slice(&[0; 8], to);
    let future = || buffer = buffer.take().map(|buffer| ready(memory.put_owned(buffer, to)));
    row(world, "Rust put 64 B as a future", 10_000, blocking, future);
    Ok(())
}

/// Polls a future that is ready at once.
fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

fn collectives(world: &World) -> Result<(), oxshmem::Error> {
    // SAFETY: the world is initialised, and all PEs make the same calls.
    row(world, "Rust barrier", 500, || unsafe { c::shmem_barrier_all() }, || world.barrier());
    for len in [1, 8, 128, 1024, 16_384] {
        let (dest, source) = (world.allocate_slice(len, 0_u64)?, world.allocate_slice(len, 1_u64)?);
        let calls = (400_000 / len).clamp(20, 500) as u32;
        let c = || max_in_c(&dest, &source);
        row(world, &format!("Rust max of {len}"), calls, c, || world.max(&dest, &source));
    }
    let one = world.allocate(1_u64)?;
    let c = || max_in_c(one.as_slice(), one.as_slice());
    row(world, "Rust max_of a value", 500, c, || _ = black_box(world.max_of(black_box(1_u64))));
    Ok(())
}

fn max_in_c(dest: &Symmetric<[u64]>, source: &Symmetric<[u64]>) {
    let team = (&raw const c::oxshmem_team_world).cast();
    // SAFETY: both are symmetric and as long; all PEs call.
    unsafe { c::shmem_uint64_max_reduce(team, dest.as_ptr(), source.as_ptr(), source.len()) };
}
