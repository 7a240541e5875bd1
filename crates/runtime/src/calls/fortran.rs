//! Calls that only Fortran's interface has: its team handles and locks, names padded with blanks, and heap calls of its own.

use core::ffi::{c_char, c_int, c_void};

use oxshmem_base::Error;

use super::amo::AmoType;
use super::init::lifetime;
use super::{active_set, lock, memory, order, p2p, team_extension};
use crate::collectives::signature::CallKind;
use crate::diagnosis::errors;
use crate::start::state::{self, OtherCalls};
use crate::teams::team::TeamHandle;
use crate::transfers::direct::FAST;

/// A count of elements, which Fortran passes as an INTEGER.
#[inline(always)]
pub fn count(call: &'static str, nelems: c_int) -> usize {
    match usize::try_from(nelems) {
        Ok(count) => count,
        Err(_) => errors::bad_argument(call, "nelems", nelems.into(), "0 and more"),
    }
}

/// The team of an 8-byte handle. Predefined teams have the small numbers of shmemx.fh, because a PARAMETER cannot hold
/// an address; a team that a split has made is its `Team`.
///
/// # Safety
/// `handle` is readable.
pub unsafe fn team(handle: *const i64) -> TeamHandle {
    const _: () = assert!(size_of::<TeamHandle>() == size_of::<i64>());
    // SAFETY: the caller promises that `handle` is readable. A split has written every handle that is not predefined,
    // unless it is zero, which stands for no team.
    unsafe {
        match handle.read() {
            1 => TeamHandle::world(),
            2 => TeamHandle::shared(),
            3 => TeamHandle::node(),
            _ => handle.cast::<TeamHandle>().read(),
        }
    }
}

/// Ends a team and the caller's handle of it.
///
/// # Safety
/// `handle` is readable, and writable unless it is one of the constants, with which the call does not return.
pub unsafe fn team_destroy(name: &'static str, handle: *mut i64) {
    // SAFETY: the caller promises that `handle` is readable, and writable where the call returns.
    unsafe {
        let mut team = team(handle);
        team_extension::destroy(name, &raw mut team);
        handle.cast::<TeamHandle>().write(team);
    }
}

/// The vendor string in a CHARACTER variable: cut, or padded with blanks.
///
/// # Safety
/// `name` has room for `room` characters.
pub unsafe fn info_get_name(name: *mut c_char, room: usize) {
    let length = crate::VENDOR.len().min(room);
    // SAFETY: both parts end within the promised room.
    unsafe {
        name.copy_from_nonoverlapping(crate::VENDOR.as_ptr().cast(), length);
        name.add(length).write_bytes(b' ', room - length);
    }
}

/// `init::finalize`. This function and those below it are C's with names that a program in Fortran knows.
///
/// # Safety
/// As for C's, here and below.
pub unsafe fn finalize() {
    lifetime::finalize("SHMEM_FINALIZE", OtherCalls::Done);
}

/// `order::barrier_all`.
#[inline(always)]
pub unsafe fn barrier_all() {
    order::barrier_all_named("SHMEM_BARRIER_ALL", CallKind::Barrier);
}

/// `p2p::wait`.
#[inline(always)]
pub unsafe fn wait<T: AmoType + PartialOrd>(call: &'static str, ivar: *mut T, value: T) {
    const NE: c_int = 2;
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { p2p::until(call, ivar, NE, value) };
}

/// `p2p::wait_until`.
#[inline(always)]
pub unsafe fn wait_until<T: AmoType + PartialOrd>(call: &'static str, ivar: *mut T, cmp: c_int, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object, which others change atomically.
    unsafe { p2p::until(call, ivar, cmp, value) };
}

/// Takes a lock that is one default INTEGER.
///
/// # Safety
/// As the standard asks of a lock variable. The functions below ask the same.
pub unsafe fn set_lock(variable: *mut i32) {
    lock::set_any::<u16>("SHMEM_SET_LOCK", variable as usize);
}

/// Releases a lock that is one default INTEGER.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn clear_lock(variable: *mut i32) {
    lock::clear_any::<u16>("SHMEM_CLEAR_LOCK", variable as usize);
}

/// Takes a lock that is one default INTEGER if it is free; 1 if it is not.
///
/// # Safety
/// See [`set_lock`].
pub unsafe fn test_lock(variable: *mut i32) -> c_int {
    lock::test_any::<u16>("SHMEM_TEST_LOCK", variable as usize)
}

/// Exclusive or of complex numbers, which has a meaning for their bits only: they are words here.
///
/// # Safety
/// As for `active_set::xor_to_all`, of as many words as the complex numbers have.
pub unsafe fn complex_xor_to_all<C>(
    name: &'static str,
    dest: *mut C,
    source: *const C,
    nreduce: c_int,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    work: *mut C,
    sync: *mut core::ffi::c_long,
) {
    let each = (size_of::<C>() / size_of::<u32>()) as c_int;
    let Some(words) = nreduce.checked_mul(each).filter(|&words| words >= 0) else {
        errors::bad_argument(name, "nreduce", nreduce.into(), &format!("0 to {}", c_int::MAX / each))
    };
    // SAFETY: the caller promises symmetric arrays of `nreduce` complex numbers, which are `words` words.
    unsafe {
        active_set::xor_to_all::<u32>(
            name,
            dest.cast(),
            source.cast(),
            words,
            start,
            log_stride,
            size,
            work.cast(),
            sync,
        )
    }
}

/// Whether the elements of an array follow each other in memory. The compiler's own answer may be no for a section that has a
/// dimension of one element, such as u(2:5, 3:3), or no element at all.
///
/// # Safety
/// `descriptor` has three words before the dimensions and three for each of them.
pub unsafe fn lie_together(descriptor: *const isize, dimensions: usize) -> bool {
    // SAFETY: the caller promises so many words.
    let words = unsafe { core::slice::from_raw_parts(descriptor, 3 + 3 * dimensions) };
    let (head, bounds) = words.split_at(3);
    // gfortran and flang pass the address, the length of an element, a version with the rank behind it, and for each dimension its
    // lower bound, its extent and the distance of its elements in bytes. Another layout has the rank elsewhere.
    let rank = head[2].to_ne_bytes()[4];
    usize::from(rank) == dimensions && follow_each_other(head[1], bounds)
}

/// [`lie_together`] of elements of so many bytes. The distance of a dimension of one element does not matter.
fn follow_each_other(element: isize, dimensions: &[isize]) -> bool {
    if dimensions.chunks_exact(3).any(|words| words[1] <= 0) {
        return true;
    }
    let mut expected = element;
    dimensions.chunks_exact(3).filter(|words| words[1] != 1).all(|words| {
        let follows = words[2] == expected;
        expected = expected.wrapping_mul(words[1]);
        follows
    })
}

/// Ends the job: a section whose elements lie apart was passed to a routine of the module `shmem_f08`.
#[cold]
pub fn lies_apart(routine: &str, argument: &str) -> ! {
    errors::fail(
        &Error::new(format!("{routine}: the elements of {argument} lie apart"))
            .because(
                "the call takes elements that follow each other in memory; those of a section such as u(1, :) do not",
            )
            .fix(instead_of_section(routine, argument)),
    )
}

/// At `SHMEM_CHECK=2`: ends the job. A routine of the module `shmem_f08` has got no number of elements, which the array `deciding`
/// decides then, and its other array is shorter.
#[cold]
pub fn too_short(routine: &str, [argument, deciding, count]: [&str; 3], has: usize, needs: usize) {
    if !state::is_checked() {
        return;
    }
    let fix = if routine.contains("_fcollect") {
        format!("make {argument} as long as the arrays of all members together")
    } else {
        format!("pass a section of {deciding} that is as long as {argument}, or {count}={has}")
    };
    errors::fail(
        &Error::new(format!("{routine}: {argument} has {has} of the {needs} elements that the call moves"))
            .because(format!("without {count} all elements of {deciding} count"))
            .fix(fix),
    );
}

/// The way to pass such a section.
fn instead_of_section(routine: &str, argument: &str) -> String {
    let strided = ["iput", "iget", "ibput", "ibget", "alltoalls"].iter().any(|name| routine.contains(name));
    let is_collective = ["reduce", "scan", "broadcast", "collect"].iter().any(|name| routine.contains(name));
    let fix = match routine {
        _ if strided => "pass its first element: the distances are arguments of the call",
        "shmem_put" | "shmem_put_nbi" => "use shmem_iput",
        "shmem_get" | "shmem_get_nbi" => "use shmem_iget",
        "shmem_alltoall" => "use shmem_alltoalls",
        _ if is_collective => "pass a symmetric array whose elements lie together, and copy between it and the section",
        _ => "pass elements that follow each other",
    };
    // The source of a collective is symmetric, and that of a nonblocking put is read after the call: a copy does not serve there.
    let copied = argument == "source" && routine.starts_with("shmem_put") && !routine.ends_with("_nbi");
    let copy = if copied { ", or put parentheses around it, which makes a copy" } else { "" };
    format!("{fix}{copy}")
}

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
            memory::free_named(CALL, *addr);
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
            let new = memory::realloc_named(CALL, old, bytes);
            if new.is_null() { Err(Obstacle::Memory) } else { Ok(new) }
        });
        if let Ok(new) = resized {
            addr.write(new);
        }
        end(CALL, resized.map(|new| (new != old).into()), status, abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_of_one_element_keeps_no_elements_apart() {
        // Lower bound, extent and distance in bytes of each dimension of real(8) arrays.
        for together in
            [&[][..], &[1, 4, 8], &[1, 4, 8, 1, 1, 80], &[1, 1, 80, 1, 1, 8], &[1, 4, 8, 1, 3, 32], &[1, 0, 80]]
        {
            assert!(follow_each_other(8, together), "{together:?}");
        }
        for apart in [&[1, 4, 80][..], &[1, 4, -8], &[1, 1, 8, 1, 4, 80], &[1, 4, 8, 1, 2, 80], &[1, 2, -8, 1, 2, 32]] {
            assert!(!follow_each_other(8, apart), "{apart:?}");
        }
    }

    #[test]
    fn a_section_is_passed_by_a_strided_routine_or_as_a_copy() {
        for (routine, argument, fix) in [
            ("shmem_put", "dest", "use shmem_iput"),
            ("shmem_put", "source", "use shmem_iput, or put parentheses around it, which makes a copy"),
            ("shmem_put_nbi", "source", "use shmem_iput"),
            ("shmem_get", "source", "use shmem_iget"),
            ("shmem_iput", "dest", "pass its first element: the distances are arguments of the call"),
            (
                "shmem_sum_reduce",
                "source",
                "pass a symmetric array whose elements lie together, and copy between it and the section",
            ),
        ] {
            assert_eq!(instead_of_section(routine, argument), fix, "{routine} {argument}");
        }
    }
}
