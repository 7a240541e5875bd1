//! The calls of libfabric for messages, puts and gets.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use super::broken;
use super::objects::end_of;
use super::operation::{MockEffect, MockOperation, mark};

/// Memory that may only be read.
pub(super) static CONSTANTS: [u8; 100_000] = [7; 100_000];

/// The calls of an endpoint for messages.
pub(super) fn messages() -> fi::fi_ops_msg {
    // SAFETY: zero is a value of every member of a table.
    let none: fi::fi_ops_msg = unsafe { zeroed() };
    fi::fi_ops_msg { send: Some(send), recv: Some(receive), ..none }
}

/// Those for puts and gets.
pub(super) fn puts_and_gets() -> fi::fi_ops_rma {
    // SAFETY: zero is a value of every member of a table.
    let none: fi::fi_ops_rma = unsafe { zeroed() };
    fi::fi_ops_rma { write: Some(write), inject: Some(inject), writemsg: Some(writemsg), read: Some(read), ..none }
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
    let what = MockEffect::Message(bytes.to_vec());
    end.issue(MockOperation { to: to as usize, context: context.expose_provenance(), what }, n)
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
    // SAFETY: an endpoint of this library.
    let end = unsafe { end_of(ep) };
    end.demand_registered(at, n, desc);
    if !end.takes_room() {
        return -(fi::FI_EAGAIN as isize);
    }
    mark(context);
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
    let what = MockEffect::Put { bytes: Err((at, n)), address, key, delivered: false };
    end.issue(MockOperation { to: to as usize, context: context.expose_provenance(), what }, n)
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
    let what = MockEffect::Put { bytes: Ok(bytes.to_vec()), address, key, delivered: false };
    end.accept(MockOperation { to: to as usize, context: 0, what }, n)
}

unsafe extern "C" fn writemsg(ep: *mut fi::fid_ep, message: *const fi::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: an endpoint of this library; the message and what it points to live during the call.
    let (end, message, iov, remote) = unsafe { (end_of(ep), &*message, &*(*message).msg_iov, &*(*message).rma_iov) };
    let (at, n) = (iov.iov_base.expose_provenance(), iov.iov_len);
    let injected = flags & fi::FI_INJECT != 0;
    let known = fi::FI_COMPLETION | fi::FI_INJECT | fi::FI_DELIVERY_COMPLETE | fi::FI_TRANSMIT_COMPLETE;
    let is_wrong = flags & !known != 0 || flags & fi::FI_COMPLETION == 0 || n != remote.len;
    if is_wrong || injected && n > end.nature.inject {
        broken(&format!("a put of {n} bytes with flags {flags:#x}"));
    }
    if injected && n > end.nature.injects {
        return -(fi::FI_EINVAL as isize);
    }
    let from = iov.iov_base.cast_const().cast::<u8>();
    if !injected && end.nature.maps_for_writing && CONSTANTS.as_ptr_range().contains(&from) {
        return -(libc::EFAULT as isize);
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
    let delivered = flags & fi::FI_DELIVERY_COMPLETE != 0;
    let what = MockEffect::Put { bytes, address: remote.addr, key: remote.key, delivered };
    end.issue(MockOperation { to: message.addr as usize, context: message.context.expose_provenance(), what }, n)
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
    let what = MockEffect::Get { at, n, address, key };
    end.issue(MockOperation { to: from as usize, context: context.expose_provenance(), what }, n)
}
