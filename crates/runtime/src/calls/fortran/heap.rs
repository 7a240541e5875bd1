//! Fortran's calls of the symmetric heap, which count words of 32 bits and tell errors by numbers.

use core::ffi::{c_int, c_void};

use oxshmem_base::Error;

use crate::calls::memory;
use crate::diagnosis::errors;
use crate::memory::direct::FAST;

/// The reason why a heap call fails, by its number in Fortran.
#[derive(Clone, Copy)]
enum Obstacle {
    Length = -1,
    Memory = -2,
    Outside = -3,
    Free = -4,
    Inside = -5,
}

impl Obstacle {
    fn explain(self) -> (&'static str, &'static str) {
        match self {
            Self::Length => ("the length is not positive", "pass the number of 32-bit words"),
            Self::Memory => {
                ("some PE has no room for the block", "set SHMEM_SYMMETRIC_SIZE to what each PE needs, or use less")
            }
            Self::Outside => ("the address is not in the symmetric heap", "pass what SHPALLOC has returned"),
            Self::Free => ("the block is free already", "give each block back once"),
            Self::Inside => ("the address is inside a block", "pass the block's start, as SHPALLOC has returned it"),
        }
    }
}

/// Tells the program how a call went, or ends the job if that is what the program wants of a failure.
///
/// # Safety
/// `status` is writable.
unsafe fn end(call: &'static str, result: Result<c_int, Obstacle>, status: *mut c_int, abort: c_int) {
    let number = result.unwrap_or_else(|obstacle| {
        if abort != 0 {
            let (why, fix) = obstacle.explain();
            let error = Error::new(format!("{call}: error {}", obstacle as c_int));
            errors::fail(&error.because(format!("{why}, and the call asks to abort on errors")).fix(fix));
        }
        obstacle as c_int
    });
    // SAFETY: the status is writable by the caller's promise.
    unsafe { status.write(number) }
}

/// The number of bytes of so many words.
fn bytes(words: c_int) -> Result<usize, Obstacle> {
    usize::try_from(words).ok().filter(|&words| words > 0).map(|words| 4 * words).ok_or(Obstacle::Length)
}

/// Whether a block begins at `address`.
fn block(call: &'static str, address: *mut c_void) -> Result<(), Obstacle> {
    let begin = memory::block_around(call, address);
    if !FAST.heap.holds(address as usize, 1) {
        return Err(Obstacle::Outside);
    }
    match begin {
        None => Err(Obstacle::Free),
        Some(begin) if begin != address => Err(Obstacle::Inside),
        Some(_) => Ok(()),
    }
}

/// Allocates a block of `length` words and puts its address into a Cray pointer.
///
/// # Safety
/// `addr` and `errcode` are writable, and `addr` readable where it is an argument. The functions below ask the same.
pub unsafe fn shpalloc(addr: *mut *mut c_void, length: c_int, errcode: *mut c_int, abort: c_int) {
    const CALL: &str = "SHPALLOC";
    let made = bytes(length).and_then(|bytes| {
        let made = memory::allocate(CALL, bytes, 1, |_| {});
        if made.is_null() { Err(Obstacle::Memory) } else { Ok(made) }
    });
    // SAFETY: the caller promises that the arguments are writable, and that `addr` is readable.
    unsafe {
        if let Ok(made) = made {
            addr.write(made);
        }
        end(CALL, made.map(|_| 0), errcode, abort);
    }
}

/// Gives a block back.
///
/// # Safety
/// See [`shpalloc`].
pub unsafe fn shpdeallc(addr: *mut *mut c_void, errcode: *mut c_int, abort: c_int) {
    const CALL: &str = "SHPDEALLC";
    // SAFETY: the caller promises that the arguments are writable, and that `addr` is readable.
    unsafe {
        let there = block(CALL, *addr);
        if there.is_ok() {
            memory::free(CALL, *addr);
        }
        end(CALL, there.map(|()| 0), errcode, abort);
    }
}

/// Changes a block's length; the status is 1 if that has moved it.
///
/// # Safety
/// See [`shpalloc`].
pub unsafe fn shpclmove(addr: *mut *mut c_void, length: c_int, status: *mut c_int, abort: c_int) {
    const CALL: &str = "SHPCLMOVE";
    // SAFETY: the caller promises that the arguments are writable, and that `addr` is readable.
    unsafe {
        let old = *addr;
        let resized = bytes(length).and_then(|bytes| {
            block(CALL, old)?;
            let new = memory::realloc(CALL, old, bytes);
            if new.is_null() { Err(Obstacle::Memory) } else { Ok(new) }
        });
        if let Ok(new) = resized {
            addr.write(new);
        }
        end(CALL, resized.map(|new| (new != old).into()), status, abort);
    }
}
