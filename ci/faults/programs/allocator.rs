//! A Rust program whose global allocator is mimalloc: private memory of all sizes is allocated and freed while PEs put and get.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};

extern "C" {
    fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut u8;
    fn mi_free(block: *mut u8);
    fn shmem_init();
    fn shmem_my_pe() -> c_int;
    fn shmem_n_pes() -> c_int;
    fn shmem_malloc(size: usize) -> *mut c_void;
    fn shmem_free(block: *mut c_void);
    fn shmem_putmem(dest: *mut c_void, source: *const c_void, bytes: usize, pe: c_int);
    fn shmem_getmem(dest: *mut c_void, source: *const c_void, bytes: usize, pe: c_int);
    fn shmem_quiet();
    fn shmem_barrier_all();
    fn shmem_finalize();
}

struct Mimalloc;

// SAFETY: mimalloc returns blocks of the size and the alignment that it is asked for, or null.
unsafe impl GlobalAlloc for Mimalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout has a power of two as its alignment.
        unsafe { mi_malloc_aligned(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block came from `alloc`, by the caller's promise.
        unsafe { mi_free(block) }
    }
}

#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

fn main() {
    const MOST: usize = 4 << 20;
    // SAFETY: all PEs make the same calls in the same order; transfers stay inside of blocks that are there until they are complete.
    unsafe {
        shmem_init();
        let (me, pes) = (shmem_my_pe(), shmem_n_pes());
        let shared = shmem_malloc(MOST);
        assert!(!shared.is_null(), "there is room");
        for round in 0..60 {
            let bytes = 64 << (round % 17);
            let source = vec![(round + me) as u8; bytes];
            shmem_putmem(shared, source.as_ptr().cast(), bytes, (me + 1) % pes);
            shmem_quiet();
            drop(source);
            let other = vec![0xffu8; bytes + 4096];
            let mut back = vec![0u8; bytes];
            shmem_getmem(back.as_mut_ptr().cast(), shared, bytes, (me + 1) % pes);
            assert!(back.iter().all(|&byte| byte == (round + me) as u8), "PE {me} round {round}");
            assert!(other.iter().all(|&byte| byte == 0xff), "PE {me} round {round}");
            shmem_barrier_all();
        }
        if me == 0 {
            println!("all right");
        }
        shmem_free(shared);
        shmem_finalize();
    }
}
