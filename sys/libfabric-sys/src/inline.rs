//! Inline functions of the C headers: calls through the tables in the objects.
//!
//! Names and arguments are the headers'. A table that lacks a function answers `-FI_ENOSYS`, as libfabric's own empty
//! entries do.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::*;

macro_rules! forward {
    ($($(#[$about:meta])* $name:ident($object:ident: $Object:ty => $($table:ident).+)($($argument:ident: $Argument:ty),*)
        -> $Result:ty;)*) => { $(
        $(#[$about])*
        ///
        /// # Safety
        /// As libfabric's manual says: the objects are open and of one domain, buffers live until completion.
        #[inline]
        pub unsafe fn $name($object: *mut $Object, $($argument: $Argument),*) -> $Result {
            // SAFETY: the caller has an open object, whose table libfabric has filled; the rest is the caller's promise.
            unsafe {
                match forward!(@table $object $($table).+) {
                    Some(function) => function($object, $($argument),*),
                    None => -(FI_ENOSYS as $Result),
                }
            }
        }
    )* };
    (@table $object:ident $table:ident . $function:ident) => { (*(*$object).$table).$function };
}

forward! {
    /// Opens a domain.
    fi_domain(fabric: fid_fabric => ops.domain)(info: *mut fi_info, domain: *mut *mut fid_domain, context: *mut c_void) -> c_int;
    /// Asks whether the objects may be waited for.
    fi_trywait(fabric: fid_fabric => ops.trywait)(fids: *mut *mut fid, count: c_int) -> c_int;
    /// Opens an endpoint.
    fi_endpoint(domain: fid_domain => ops.endpoint)(info: *mut fi_info, ep: *mut *mut fid_ep, context: *mut c_void) -> c_int;
    /// Opens an address vector.
    fi_av_open(domain: fid_domain => ops.av_open)(attr: *mut fi_av_attr, av: *mut *mut fid_av, context: *mut c_void) -> c_int;
    /// Opens a completion queue.
    fi_cq_open(domain: fid_domain => ops.cq_open)(attr: *mut fi_cq_attr, cq: *mut *mut fid_cq, context: *mut c_void) -> c_int;
    /// Opens a counter.
    fi_cntr_open(domain: fid_domain => ops.cntr_open)(attr: *mut fi_cntr_attr, cntr: *mut *mut fid_cntr, context: *mut c_void) -> c_int;
    /// Asks what atomics there are.
    fi_query_atomic(domain: fid_domain => ops.query_atomic)(datatype: fi_datatype, op: fi_op, attr: *mut fi_atomic_attr, flags: u64) -> c_int;
    /// Adds addresses.
    fi_av_insert(av: fid_av => ops.insert)(addr: *const c_void, count: usize, fi_addr: *mut fi_addr_t, flags: u64, context: *mut c_void) -> c_int;
    /// Reads completions.
    fi_cq_read(cq: fid_cq => ops.read)(buf: *mut c_void, count: usize) -> isize;
    /// Reads completions, waits for one.
    fi_cq_sread(cq: fid_cq => ops.sread)(buf: *mut c_void, count: usize, cond: *const c_void, timeout: c_int) -> isize;
    /// Wakes a thread that waits in `fi_cq_sread`.
    fi_cq_signal(cq: fid_cq => ops.signal)() -> c_int;
    /// Reads an error.
    fi_cq_readerr(cq: fid_cq => ops.readerr)(buf: *mut fi_cq_err_entry, flags: u64) -> isize;
    /// Sends.
    fi_send(ep: fid_ep => msg.send)(buf: *const c_void, len: usize, desc: *mut c_void, dest_addr: fi_addr_t, context: *mut c_void) -> isize;
    /// Sends without a completion; the buffer is free on return.
    fi_inject(ep: fid_ep => msg.inject)(buf: *const c_void, len: usize, dest_addr: fi_addr_t) -> isize;
    /// Posts a buffer for what comes.
    fi_recv(ep: fid_ep => msg.recv)(buf: *mut c_void, len: usize, desc: *mut c_void, src_addr: fi_addr_t, context: *mut c_void) -> isize;
    /// Writes to a peer's memory.
    fi_write(ep: fid_ep => rma.write)(buf: *const c_void, len: usize, desc: *mut c_void, dest_addr: fi_addr_t, addr: u64, key: u64, context: *mut c_void) -> isize;
    /// Writes, with flags.
    fi_writemsg(ep: fid_ep => rma.writemsg)(msg: *const fi_msg_rma, flags: u64) -> isize;
    /// Writes without a completion; the buffer is free on return.
    fi_inject_write(ep: fid_ep => rma.inject)(buf: *const c_void, len: usize, dest_addr: fi_addr_t, addr: u64, key: u64) -> isize;
    /// Reads from a peer's memory.
    fi_read(ep: fid_ep => rma.read)(buf: *mut c_void, len: usize, desc: *mut c_void, src_addr: fi_addr_t, addr: u64, key: u64, context: *mut c_void) -> isize;
    /// Updates a peer's memory, with flags.
    fi_atomicmsg(ep: fid_ep => atomic.writemsg)(msg: *const fi_msg_atomic, flags: u64) -> isize;
    /// Updates and fetches, with flags.
    fi_fetch_atomicmsg(ep: fid_ep => atomic.readwritemsg)(msg: *const fi_msg_atomic, result: *mut fi_ioc, desc: *mut *mut c_void, count: usize, flags: u64) -> isize;
    /// Compares, updates and fetches, with flags.
    fi_compare_atomicmsg(ep: fid_ep => atomic.compwritemsg)(msg: *const fi_msg_atomic, compare: *const fi_ioc, compare_desc: *mut *mut c_void, compare_count: usize, result: *mut fi_ioc, result_desc: *mut *mut c_void, result_count: usize, flags: u64) -> isize;
}

/// Registers memory.
///
/// # Safety
/// As libfabric's manual says: the domain is open and the memory stays mapped while it is registered.
pub unsafe fn fi_mr_regattr(
    domain: *mut fid_domain,
    attr: *const fi_mr_attr,
    flags: u64,
    mr: *mut *mut fid_mr,
) -> c_int {
    // SAFETY: the caller has an open domain, whose table libfabric has filled.
    unsafe {
        match (*(*domain).mr).regattr {
            Some(regattr) => regattr(&raw mut (*domain).fid, attr, flags, mr),
            None => -FI_ENOSYS,
        }
    }
}

/// The descriptor of the local memory, for operations.
///
/// # Safety
/// `mr` is open.
#[inline]
pub unsafe fn fi_mr_desc(mr: *mut fid_mr) -> *mut c_void {
    // SAFETY: `mr` is open, so libfabric has filled its members.
    unsafe { (*mr).mem_desc }
}

/// The key by which peers reach the memory.
///
/// # Safety
/// `mr` is open.
pub unsafe fn fi_mr_key(mr: *mut fid_mr) -> u64 {
    // SAFETY: `mr` is open, so libfabric has filled its members.
    unsafe { (*mr).key }
}

/// Binds one object to another.
///
/// # Safety
/// Both are open and of one domain.
pub unsafe fn fi_bind(object: *mut fid, to: *mut fid, flags: u64) -> c_int {
    // SAFETY: `object` is open, so libfabric has filled its table; both are of one domain.
    unsafe {
        match (*(*object).ops).bind {
            Some(bind) => bind(object, to, flags),
            None => -FI_ENOSYS,
        }
    }
}

/// Enables an endpoint or memory.
///
/// # Safety
/// The object is open and bound to what it needs.
pub unsafe fn fi_enable(object: *mut fid) -> c_int {
    // SAFETY: `object` is open; this command takes no argument.
    unsafe { fi_control(object, FI_ENABLE as c_int, ptr::null_mut()) }
}

/// Asks an object for something, or tells it.
///
/// # Safety
/// The object is open and `argument` is what the command takes.
pub unsafe fn fi_control(object: *mut fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: `object` is open, so libfabric has filled its table; `argument` is of the kind that the command takes.
    unsafe {
        match (*(*object).ops).control {
            Some(control) => control(object, command, argument),
            None => -FI_ENOSYS,
        }
    }
}

/// The address of an endpoint.
///
/// # Safety
/// The endpoint is enabled; `addr` is writable for `*addrlen` bytes.
pub unsafe fn fi_getname(ep: *mut fid_ep, addr: *mut c_void, addrlen: *mut usize) -> c_int {
    // SAFETY: the endpoint is open, so libfabric has filled its table; `addr` is writable for `*addrlen` bytes.
    unsafe {
        match (*(*ep).cm).getname {
            Some(getname) => getname(&raw mut (*ep).fid, addr, addrlen),
            None => -FI_ENOSYS,
        }
    }
}

/// The text for an error of a completion queue.
///
/// # Safety
/// The queue is open, `data` is the error's.
pub unsafe fn fi_cq_strerror(cq: *mut fid_cq, error: c_int, data: *const c_void) -> *const c_char {
    // SAFETY: the queue is open, so libfabric has filled its table; without a buffer the text belongs to the provider.
    unsafe {
        match (*(*cq).ops).strerror {
            Some(strerror) => strerror(cq, error, data, ptr::null_mut(), 0),
            None => ptr::null(),
        }
    }
}

/// Closes an object.
///
/// # Safety
/// It is open, and nothing that is open depends on it.
pub unsafe fn fi_close(object: *mut fid) -> c_int {
    // SAFETY: `object` is open, so libfabric has filled its table, and nothing depends on it any more.
    unsafe {
        match (*(*object).ops).close {
            Some(close) => close(object),
            None => -FI_ENOSYS,
        }
    }
}

/// Reads a counter, and moves on what it counts. A table without the function has counted nothing.
///
/// # Safety
/// As libfabric's manual says: the counter is open.
#[inline]
pub unsafe fn fi_cntr_read(cntr: *mut fid_cntr) -> u64 {
    // SAFETY: the caller has an open counter, whose table libfabric has filled.
    unsafe { (*(*cntr).ops).read.map_or(0, |read| read(cntr)) }
}
