//! The calls of libfabric for messages, puts and gets.

use std::ffi::c_void;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use crate::mock::objects::end_of;
use crate::mock::world::{MockEffect, MockOperation, mark_context, with};

pub(super) unsafe extern "C" fn send(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    desc: *mut c_void,
    to: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock; the caller's buffer.
    let (end, bytes) = unsafe { (end_of(ep), std::slice::from_raw_parts(buffer.cast::<u8>(), n).to_vec()) };
    let pending =
        MockOperation { to: to as usize, context: context.expose_provenance(), what: MockEffect::Message(bytes) };
    with(|world| world.issue(end, (buffer.expose_provenance(), n), desc, pending))
}

pub(super) unsafe extern "C" fn receive(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    _desc: *mut c_void,
    _from: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(ep) };
    let context = context.expose_provenance();
    mark_context(context);
    with(|world| world.ends[end].receives.push_back((buffer.expose_provenance(), n, context)));
    0
}

pub(super) unsafe extern "C" fn write(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    desc: *mut c_void,
    to: fi::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(ep) };
    let local = (buffer.expose_provenance(), n);
    let what = MockEffect::Put { bytes: Err(local), address, key };
    let pending = MockOperation { to: to as usize, context: context.expose_provenance(), what };
    with(|world| world.issue(end, local, desc, pending))
}

pub(super) unsafe extern "C" fn inject(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    to: fi::fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    // SAFETY: an endpoint of the mock; the caller's buffer.
    let (end, bytes) = unsafe { (end_of(ep), std::slice::from_raw_parts(buffer.cast::<u8>(), n).to_vec()) };
    with(|world| {
        let nature = world.ends[end].nature;
        if n > nature.inject {
            world.wrong(format!("{n} bytes are injected where {} fit", nature.inject));
        }
        if n > nature.injects {
            return -(fi::FI_EINVAL as isize);
        }
        if world.ends[end].pending.len() >= nature.queue || world.connects(end, to as usize) {
            return -(fi::FI_EAGAIN as isize);
        }
        let what = MockEffect::Put { bytes: Ok(bytes), address, key };
        world.ends[end].pending.push_back(MockOperation { to: to as usize, context: 0, what });
        0
    })
}

pub(super) unsafe extern "C" fn writemsg(ep: *mut fi::fid_ep, message: *const fi::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: an endpoint of the mock; the message and what it points to live during the call.
    unsafe {
        let (end, message) = (end_of(ep), &*message);
        let (iov, remote) = (&*message.msg_iov, &*message.rma_iov);
        let local = (iov.iov_base.expose_provenance(), iov.iov_len);
        let known = fi::FI_COMPLETION | fi::FI_INJECT | fi::FI_DELIVERY_COMPLETE | fi::FI_TRANSMIT_COMPLETE;
        with(|world| {
            let nature = world.ends[end].nature;
            let injected = flags & fi::FI_INJECT != 0;
            if flags & !known != 0 || flags & fi::FI_COMPLETION == 0 || iov.iov_len != remote.len {
                world.wrong(format!("a put with flags {flags:#x}"));
            }
            if injected && iov.iov_len > nature.inject {
                world.wrong(format!("{} bytes are injected where {} fit", iov.iov_len, nature.inject));
            }
            if injected && iov.iov_len > nature.injects {
                return -(fi::FI_EINVAL as isize);
            }
            if flags & fi::FI_DELIVERY_COMPLETE != 0 && !nature.delivers {
                world.wrong("a completion is asked for that the provider has not got".into());
                return -(fi::FI_EINVAL as isize);
            }
            // Injected bytes are the network's on return; the others are read when the put takes effect.
            let bytes = match injected {
                true => Ok(std::slice::from_raw_parts(iov.iov_base.cast::<u8>(), iov.iov_len).to_vec()),
                false => Err(local),
            };
            let what = MockEffect::Put { bytes, address: remote.addr, key: remote.key };
            let pending =
                MockOperation { to: message.addr as usize, context: message.context.expose_provenance(), what };
            let desc = if message.desc.is_null() { ptr::null_mut() } else { *message.desc };
            world.issue(end, local, desc, pending)
        })
    }
}

pub(super) unsafe extern "C" fn read(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    desc: *mut c_void,
    from: fi::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(ep) };
    let local = (buffer.expose_provenance(), n);
    let what = MockEffect::Get { at: local.0, n, address, key };
    let pending = MockOperation { to: from as usize, context: context.expose_provenance(), what };
    with(|world| world.issue(end, local, desc, pending))
}
