//! The calls of libfabric for messages, puts, gets and atomics.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use crate::broken;
use crate::end::{Effect, Operation, mark};
use crate::objects::end_of;

/// The calls of an endpoint for messages.
pub(super) fn messages() -> fi::fi_ops_msg {
    // SAFETY: zero is a value of every member of a table.
    let mut ops: fi::fi_ops_msg = unsafe { zeroed() };
    ops.send = Some(send);
    ops.recv = Some(receive);
    ops
}

/// Those for puts and gets.
pub(super) fn puts_and_gets() -> fi::fi_ops_rma {
    // SAFETY: zero is a value of every member of a table.
    let mut ops: fi::fi_ops_rma = unsafe { zeroed() };
    ops.write = Some(write);
    ops.inject = Some(inject);
    ops.writemsg = Some(writemsg);
    ops.read = Some(read);
    ops
}

/// Those for atomics.
pub(super) fn atomics() -> fi::fi_ops_atomic {
    // SAFETY: zero is a value of every member of a table.
    let mut ops: fi::fi_ops_atomic = unsafe { zeroed() };
    ops.writemsg = Some(update);
    ops.readwritemsg = Some(fetch);
    ops.compwritemsg = Some(compare);
    ops
}

pub(super) unsafe extern "C" fn query(
    domain: *mut fi::fid_domain,
    datatype: fi::fi_datatype,
    op: fi::fi_op,
    attr: *mut fi::fi_atomic_attr,
    _flags: u64,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        if end_of(domain).nature.lacks.contains(&op) {
            return -fi::FI_EOPNOTSUPP;
        }
        *attr = fi::fi_atomic_attr { count: 1, size: if datatype == fi::FI_UINT32 { 4 } else { 8 } };
    }
    0
}

unsafe extern "C" fn send(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    desc: *mut c_void,
    to: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    let (end, bytes) = unsafe { (end_of(ep), std::slice::from_raw_parts(buffer.cast::<u8>(), n)) };
    end.demand_registered(buffer.expose_provenance(), n, desc);
    let what = Effect::Message(bytes.to_vec());
    end.issue(Operation { to: to as usize, context: context.expose_provenance(), what }, n)
}

unsafe extern "C" fn receive(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    desc: *mut c_void,
    _from: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    let (at, context) = (buffer.expose_provenance(), context.expose_provenance());
    mark(context);
    // SAFETY: an endpoint of this library.
    let end = unsafe { end_of(ep) };
    end.demand_registered(at, n, desc);
    end.receives.push_back((at, n, context));
    0
}

unsafe extern "C" fn write(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    desc: *mut c_void,
    to: fi::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library.
    let end = unsafe { end_of(ep) };
    let at = buffer.expose_provenance();
    end.demand_registered(at, n, desc);
    let what = Effect::Put { bytes: Err((at, n)), address, key };
    end.issue(Operation { to: to as usize, context: context.expose_provenance(), what }, n)
}

unsafe extern "C" fn inject(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    to: fi::fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    let (end, bytes) = unsafe { (end_of(ep), std::slice::from_raw_parts(buffer.cast::<u8>(), n)) };
    if n > end.nature.inject {
        broken(&format!("{n} bytes are injected where {} fit", end.nature.inject));
    }
    if n > end.nature.injects {
        return -(fi::FI_EINVAL as isize);
    }
    end.issue(
        Operation { to: to as usize, context: 0, what: Effect::Put { bytes: Ok(bytes.to_vec()), address, key } },
        n,
    )
}

unsafe extern "C" fn writemsg(ep: *mut fi::fid_ep, message: *const fi::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: an endpoint of this library; the message and what it points to live during the call.
    let (end, message, iov, remote) = unsafe { (end_of(ep), &*message, &*(*message).msg_iov, &*(*message).rma_iov) };
    let (at, n) = (iov.iov_base.expose_provenance(), iov.iov_len);
    let injected = flags & fi::FI_INJECT != 0;
    let known = fi::FI_COMPLETION | fi::FI_INJECT | fi::FI_DELIVERY_COMPLETE | fi::FI_TRANSMIT_COMPLETE;
    if flags & !known != 0 || flags & fi::FI_COMPLETION == 0 || injected && n > end.nature.inject {
        broken(&format!("a put of {n} bytes with flags {flags:#x}"));
    }
    if injected && n > end.nature.injects {
        return -(fi::FI_EINVAL as isize);
    }
    if flags & fi::FI_DELIVERY_COMPLETE != 0 && !end.nature.delivers {
        broken("a completion is asked for that the provider has not got");
    }
    // SAFETY: a descriptor for the only piece, or none.
    let desc = if message.desc.is_null() { ptr::null_mut() } else { unsafe { *message.desc } };
    let bytes = if injected {
        // SAFETY: the caller's bytes live during the call.
        Ok(unsafe { std::slice::from_raw_parts(iov.iov_base.cast::<u8>(), n) }.to_vec())
    } else {
        end.demand_registered(at, n, desc);
        Err((at, n))
    };
    let what = Effect::Put { bytes, address: remote.addr, key: remote.key };
    end.issue(Operation { to: message.addr as usize, context: message.context.expose_provenance(), what }, n)
}

unsafe extern "C" fn read(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    desc: *mut c_void,
    from: fi::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library.
    let end = unsafe { end_of(ep) };
    let at = buffer.expose_provenance();
    end.demand_registered(at, n, desc);
    let what = Effect::Get { at, n, address, key };
    end.issue(Operation { to: from as usize, context: context.expose_provenance(), what }, n)
}

unsafe extern "C" fn update(ep: *mut fi::fid_ep, message: *const fi::fi_msg_atomic, _flags: u64) -> isize {
    // SAFETY: the arguments of libfabric's call.
    unsafe { atomic(ep, message, 0, 0) }
}

unsafe extern "C" fn fetch(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    result: *mut fi::fi_ioc,
    _desc: *mut *mut c_void,
    _count: usize,
    _flags: u64,
) -> isize {
    // SAFETY: the arguments of libfabric's call.
    unsafe { atomic(ep, message, 0, (*result).addr.expose_provenance()) }
}

unsafe extern "C" fn compare(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    compare: *const fi::fi_ioc,
    _compare_desc: *mut *mut c_void,
    _compare_count: usize,
    result: *mut fi::fi_ioc,
    _desc: *mut *mut c_void,
    _count: usize,
    _flags: u64,
) -> isize {
    // SAFETY: the arguments of libfabric's call.
    unsafe { atomic(ep, message, (*compare).addr.expose_provenance(), (*result).addr.expose_provenance()) }
}

/// # Safety
/// An endpoint of this library; the message and what it points to live during the call; the other objects until completion.
unsafe fn atomic(ep: *mut fi::fid_ep, message: *const fi::fi_msg_atomic, compare: usize, result: usize) -> isize {
    // SAFETY: an endpoint of this library; the message and what it points to live during the call.
    let (end, message, from, target) = unsafe { (end_of(ep), &*message, &*(*message).msg_iov, &*(*message).rma_iov) };
    let bytes = if message.datatype == fi::FI_UINT32 { 4 } else { 8 };
    let operand = from.addr.expose_provenance();
    // SAFETY: a descriptor for the only object, or none.
    let desc = if message.desc.is_null() { ptr::null_mut() } else { unsafe { *message.desc } };
    end.demand_registered(operand, bytes, desc);
    let (op, address, key) = (message.op, target.addr, target.key);
    let what = Effect::Atomic { op, bytes, operand, compare, result, address, key };
    end.issue(Operation { to: message.addr as usize, context: message.context.expose_provenance(), what }, bytes)
}
