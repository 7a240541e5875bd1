//! The message about an address at which no symmetric object lies.

use oxshmem_base::{Error, size};
use oxshmem_os::library;

use super::{fail, longer_than_memory};
use crate::diagnosis::remedy;
use crate::memory::direct::FAST;
use crate::start::{job, state};

/// Addresses below are those of members and elements of an object at NULL: the system maps nothing there.
const LOWEST: usize = 4096;

/// An address at which no symmetric object of `bytes` bytes lies; `argument` is the name of the argument, or empty where the name of
/// the call tells it.
#[cold]
pub(crate) fn not_symmetric(call: &str, argument: &str, address: usize, bytes: usize) -> ! {
    let argument = if argument.is_empty() { only_array(call) } else { argument };
    if bytes > isize::MAX as usize {
        longer_than_memory(call, argument, address, bytes);
    }
    if address == 0 {
        let [because, fix] = remedy::null(call);
        fail(&Error::new(format!("{call}: {argument} is NULL")).because(because).fix(fix));
    }
    if address < LOWEST {
        let distance = size::counted(address as u64);
        fail(
            &Error::new(format!("{call}: {argument} is {address:#x}, {distance} after NULL"))
                .because("an allocation returned NULL: there was no room, or 0 bytes were asked for")
                .fix("check the result of shmem_malloc"),
        );
    }
    let (heap, heap_len) = FAST.heap.own();
    let (statics, statics_len) = FAST.statics.own();
    let left = |start: usize, len: usize| len.checked_sub(address.wrapping_sub(start)).filter(|&left| left > 0);
    let ends = match (left(heap, heap_len), left(statics, statics_len)) {
        (Some(left), _) => Some(("the symmetric heap in use ends", left)),
        (_, Some(left)) => Some(("the static variables end", left)),
        (None, None) => None,
    };
    let what = format!("{call}: {argument} ({} at {address:#x}) is not symmetric memory", size::counted(bytes as u64));
    if let Some((end, left)) = ends {
        fail(
            &Error::new(format!("{what} as a whole"))
                .because(format!("{end} {} after that address", size::counted(left as u64)))
                .fix("check the length, the stride and the offset of the transfer against the size of the object"),
        );
    }
    let error = Error::new(what);
    let error = if state::in_heap_reservation(address) {
        error.because(format!("it lies beyond the {heap_len} bytes of the symmetric heap that are allocated"))
    } else if is_of_another_pe(address) {
        error.because("it is memory of another PE, as shmem_ptr returns it")
    } else if let (0, Err(reason)) = (statics_len, oxshmem_os::statics::region()) {
        let error = error
            .because(format!("it is not in the symmetric heap, and static variables are not symmetric here: {reason}"));
        if reason == oxshmem_os::statics::SEGMENTS_APART {
            fail(&error.fix("compile and link with -mcmodel=large in place of -mcmodel=medium, or use shmem_malloc"));
        }
        error
    } else if is_constant(address) {
        error.because("it is a constant of the program, and only static variables that are not const are symmetric")
    } else if statics_len == 0 && is_shared_in_vain(address) {
        let error =
            error.because("it is a static variable, and another PE of this node does not share its static variables");
        fail(&error.fix(remedy::unshared(call)))
    } else if let Some(library) = library_of(address) {
        let error = error.because(format!(
            "it lies in the library {library}, and of static variables only those of the program itself are symmetric"
        ));
        fail(&error.fix(remedy::of_library(call)))
    } else {
        error.because("it is neither in the symmetric heap nor a static variable of the program")
    };
    fail(&error.fix(remedy::private(call)));
}

/// Whether an address leads to what another PE of the node shares, as `shmem_ptr` returns it.
fn is_of_another_pe(address: usize) -> bool {
    let pes = job::pes_on_node();
    state::current().is_some_and(|life| {
        let is_own = address.wrapping_sub(FAST.heap.own().0) < life.windows.heap_window();
        !is_own && FAST.heap.is_in_some_window(address, pes) || FAST.statics.is_in_some_window(address, pes)
    })
}

/// Whether an address lies before the static variables in the executable, where its constants and its code are.
fn is_constant(address: usize) -> bool {
    oxshmem_os::statics::executable().is_some_and(|own| (own.bias..own.statics.0).contains(&address))
}

/// The shared library that has its variables or constants at an address.
fn library_of(address: usize) -> Option<String> {
    let base = library::base_at(address)?;
    library::name_at(address).filter(|_| Some(base) != library::executable_base())
}

/// Whether an address lies in static variables that this PE shares. They are symmetric if all PEs of the node share theirs.
fn is_shared_in_vain(address: usize) -> bool {
    oxshmem_os::statics::region().is_ok_and(|own| address.wrapping_sub(own.start) < own.len)
}

/// The argument that an atomic names, or a signal that is updated, by the name of the call. Other calls name theirs.
fn only_array(call: &str) -> &'static str {
    let call = call.to_ascii_lowercase();
    let call = call.strip_suffix("_nbi").unwrap_or(&call);
    let ends_with = |ends: &[&str]| ends.iter().any(|end| call.ends_with(end));
    if call.contains("signal") {
        "sig_addr"
    } else if ends_with(&["_fetch"]) {
        "source"
    } else if call.contains("_atomic_") || ends_with(&["_add", "_inc", "_fadd", "_finc", "swap", "_set"]) {
        "dest"
    } else {
        "the array"
    }
}

#[cfg(test)]
mod tests {
    use super::only_array;

    #[test]
    fn atomics_name_the_argument_of_the_other_pe() {
        for (call, argument) in [
            ("shmem_int_atomic_add", "dest"),
            ("shmem_ctx_long_atomic_fetch", "source"),
            ("shmem_long_atomic_fetch_nbi", "source"),
            ("shmem_long_atomic_fetch_add_nbi", "dest"),
            ("SHMEM_INT4_FINC", "dest"),
            ("shmem_int_cswap", "dest"),
            ("shmem_putmem_signal", "sig_addr"),
            ("shmem_int_sum_reduce", "the array"),
        ] {
            assert_eq!(only_array(call), argument, "{call}");
        }
    }
}
