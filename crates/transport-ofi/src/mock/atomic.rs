//! The calls of libfabric for atomics: which there are, and what they demand.

use std::ffi::{c_int, c_void};

use oxshmem_libfabric_sys as fi;

use super::broken;
use super::objects::end_of;
use super::operation::{MockEffect, MockOperation};

/// The form of a call that brings nothing back, in the words of query flags.
const WRITE: u64 = 0;

fn has(op: fi::fi_op, form: u64) -> bool {
    match op {
        fi::FI_ATOMIC_READ => form == fi::FI_FETCH_ATOMIC,
        fi::FI_ATOMIC_WRITE | fi::FI_SUM | fi::FI_BAND | fi::FI_BOR | fi::FI_BXOR => {
            form == WRITE || form == fi::FI_FETCH_ATOMIC
        }
        fi::FI_CSWAP => form == fi::FI_COMPARE_ATOMIC,
        _ => false,
    }
}

fn size(datatype: fi::fi_datatype) -> Option<usize> {
    match datatype {
        fi::FI_UINT32 => Some(4),
        fi::FI_UINT64 => Some(8),
        _ => None,
    }
}

pub(super) unsafe extern "C" fn query(
    domain: *mut fi::fid_domain,
    datatype: fi::fi_datatype,
    op: fi::fi_op,
    attr: *mut fi::fi_atomic_attr,
    flags: u64,
) -> c_int {
    // SAFETY: a domain of this library.
    let lacks = unsafe { end_of(domain) }.nature.lacks;
    match size(datatype).filter(|_| has(op, flags) && !lacks.contains(&op)) {
        Some(size) => {
            // SAFETY: `attr` is the caller's variable.
            unsafe { *attr = fi::fi_atomic_attr { count: 1, size } };
            0
        }
        None => -fi::FI_EOPNOTSUPP,
    }
}

/// The atomics of an endpoint.
pub(super) fn table() -> fi::fi_ops_atomic {
    // SAFETY: every member of the table is an optional function, for which zero is a value.
    let none: fi::fi_ops_atomic = unsafe { std::mem::zeroed() };
    fi::fi_ops_atomic { writemsg: Some(update), readwritemsg: Some(fetch), compwritemsg: Some(compare), ..none }
}

unsafe extern "C" fn update(ep: *mut fi::fid_ep, message: *const fi::fi_msg_atomic, flags: u64) -> isize {
    // SAFETY: the arguments of libfabric's call live during the call, as `issue` asks.
    unsafe { issue(ep, message, WRITE, &[None, None], flags) }
}

unsafe extern "C" fn fetch(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    result: *mut fi::fi_ioc,
    desc: *mut *mut c_void,
    count: usize,
    flags: u64,
) -> isize {
    // SAFETY: the arguments of libfabric's call live during the call, as `issue` asks.
    unsafe { issue(ep, message, fi::FI_FETCH_ATOMIC, &[None, Some((result, desc, count))], flags) }
}

unsafe extern "C" fn compare(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    compare: *const fi::fi_ioc,
    compare_desc: *mut *mut c_void,
    compare_count: usize,
    result: *mut fi::fi_ioc,
    desc: *mut *mut c_void,
    count: usize,
    flags: u64,
) -> isize {
    let local = [Some((compare.cast_mut(), compare_desc, compare_count)), Some((result, desc, count))];
    // SAFETY: the arguments of libfabric's call live during the call, as `issue` asks.
    unsafe { issue(ep, message, fi::FI_COMPARE_ATOMIC, &local, flags) }
}

/// A local buffer: where, its descriptor, how many there are.
type Local = (*mut fi::fi_ioc, *mut *mut c_void, usize);

/// # Safety
/// An endpoint of this library; the message and what it points to live during the call, and local objects until completion. `local` is
/// what is compared with and where the result goes.
unsafe fn issue(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    form: u64,
    local: &[Option<Local>; 2],
    flags: u64,
) -> isize {
    // SAFETY: the endpoint is this library's, and the message and what it points to live, by the caller's promise.
    unsafe {
        let (end, message) = (end_of(ep), &*message);
        let (from, target) = (&*message.msg_iov, &*message.rma_iov);
        let Some(bytes) = size(message.datatype) else { return -(fi::FI_EOPNOTSUPP as isize) };
        let one = message.iov_count == 1 && message.rma_iov_count == 1 && from.count == 1 && target.count == 1;
        let others = local.iter().flatten().all(|&(at, _, count)| count == 1 && (*at).count == 1);
        let known = fi::FI_COMPLETION | fi::FI_DELIVERY_COMPLETE;
        if !one || !others || flags & !known != 0 || flags & fi::FI_COMPLETION == 0 {
            broken(&format!("an atomic with flags {flags:#x}, or on more than one object"));
        }
        if !has(message.op, form) {
            broken(&format!("operation {} is not of the form {form:#x}", message.op));
        }
        if flags & fi::FI_DELIVERY_COMPLETE != 0 && !end.nature.delivers {
            broken("a completion is asked for that the provider has not got");
        }
        let [compare, result] = local.map(|local| local.map(|(at, desc, _)| ((*at).addr, desc)));
        for (at, desc) in [Some((from.addr, message.desc)), compare, result].into_iter().flatten() {
            if !at.addr().is_multiple_of(bytes) {
                broken("a local object is not aligned");
            }
            end.demand_registered(at.expose_provenance(), bytes, *desc);
        }
        let [compare, result] = [compare, result].map(|place| place.map_or(0, |(at, _)| at.expose_provenance()));
        let (op, operand) = (message.op, from.addr.expose_provenance());
        let what = MockEffect::Atomic { op, bytes, operand, compare, result, address: target.addr, key: target.key };
        let context = message.context.expose_provenance();
        end.issue(MockOperation { to: message.addr as usize, context, what }, bytes)
    }
}
