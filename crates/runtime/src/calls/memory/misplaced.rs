//! Addresses at which no block begins that could be freed or resized, in words.

use core::ffi::c_void;

use oxshmem_base::{Error, size};
use oxshmem_heap::MIN_ALIGN;

use crate::diagnosis::errors;
use crate::memory::direct::FAST;
use crate::start::job;
use crate::start::state::LibraryState;

/// Ends the job: no block begins at the address that the program has passed to `call`.
#[cold]
pub(super) fn no_block(life: &LibraryState, call: &'static str, ptr: *mut c_void) -> ! {
    let (start, _) = FAST.heap.own();
    let offset = (ptr as usize).wrapping_sub(start) as u64;
    let (capacity, high_water, around, freed) = {
        let heap = life.heap.lock();
        (heap.capacity(), heap.high_water(), heap.sized_block_around(offset), heap.freed_block(offset))
    };
    if let Some((begin, bytes)) = around {
        let (inside, bytes) = (size::counted(offset - begin), size::counted(bytes));
        errors::fail(
            &Error::new(format!("{call}: {ptr:p} lies {inside} behind the beginning of a block of {bytes}"))
                .because(format!("the allocation returned {:#x}", start + begin as usize))
                .fix("pass the address that the allocation returned"),
        );
    }
    if offset < high_water && freed.is_none() && !offset.is_multiple_of(MIN_ALIGN) {
        errors::fail(
            &Error::new(format!("{call}: no block begins at {ptr:p}"))
                .because(format!("blocks begin at multiples of {MIN_ALIGN} bytes, and no block is allocated there"))
                .fix("pass the address that the allocation returned"),
        );
    }
    if offset < high_water {
        let fix = match freed {
            Some(_) => "free each block once",
            None => "free each block once; SHMEM_CHECK=3 names the call that has freed it",
        };
        errors::fail(
            &Error::new(format!("{call}: the block at {ptr:p} was freed before"))
                .because(
                    freed.map_or_else(
                        || "no block is allocated there any more".into(),
                        |block| format!("it is {block}"),
                    ),
                )
                .fix(fix),
        );
    }
    if offset < capacity {
        errors::fail(
            &Error::new(format!("{call}: no block begins at {ptr:p}"))
                .because("it lies behind all blocks that the symmetric heap has ever had")
                .fix("pass the address that the symmetric allocation returned"),
        );
    }
    let whose = if FAST.statics.holds(ptr as usize, 1) {
        "it is a static variable of the program"
    } else if offset >= life.windows.heap_window() as u64
        && FAST.heap.is_in_some_window(ptr as usize, job::pes_on_node())
    {
        "it is in the heap of another PE, as shmem_ptr returns it"
    } else {
        "it is memory of malloc, of the stack or of a library"
    };
    errors::fail(
        &Error::new(format!("{call}: {ptr:p} is not in the symmetric heap")).because(whose).fix(
            "pass the address that the symmetric allocation returned on this PE; release memory of malloc with free",
        ),
    )
}
