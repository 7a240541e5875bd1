//! The objects: how they are opened, and what each of them is asked.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_libfabric_sys as fi;

use crate::data;

/// One endpoint. Its user lets one thread at a time be in it.
pub(crate) struct InstantEnd {
    pub(crate) socket: UnixDatagram,
    number: u64,
    pub(crate) peers: Vec<InstantName>,
    /// Buffers that wait for messages, each with its length and its context.
    pub(crate) receives: VecDeque<(*mut c_void, usize, *mut c_void)>,
    /// Contexts of what is over, each with whether the process's first thread has issued it.
    pub(crate) done: VecDeque<(*mut c_void, bool)>,
    keys: u64,
}

/// The name of an endpoint: its process, and its number there.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct InstantName {
    pub(crate) process: u64,
    pub(crate) number: u64,
}

/// An object: libfabric's structure, then the endpoint that it belongs to.
#[repr(C)]
struct InstantObject<T> {
    fid: T,
    end: *mut InstantEnd,
}

/// The endpoint of an object.
///
/// # Safety
/// `fid` is of this library's making, and its domain is open.
pub(crate) unsafe fn end_of<'e, T>(fid: *mut T) -> &'e mut InstantEnd {
    // SAFETY: the object is of this library's making and its domain open, by the caller's promise; one thread at a time uses it.
    unsafe { &mut *(*fid.cast::<InstantObject<T>>()).end }
}

fn object<T>(fid: T, end: *mut InstantEnd) -> *mut T {
    Box::leak(Box::new(InstantObject { fid, end })) as *mut InstantObject<T> as *mut T
}

fn leak<T>(table: T) -> *mut T {
    Box::leak(Box::new(table))
}

/// The part that all objects begin with.
fn base() -> fi::fid {
    // SAFETY: every member of a table is an optional function, for which zero is a value.
    unsafe {
        let mut ops: fi::fi_ops = zeroed();
        ops.close = Some(close);
        ops.bind = Some(bind);
        ops.control = Some(control);
        let mut fid: fi::fid = zeroed();
        fid.ops = leak(ops);
        fid
    }
}

/// An object stays until the process ends, which opens a handful of them.
unsafe extern "C" fn close(_: *mut fi::fid) -> c_int {
    0
}

unsafe extern "C" fn bind(_: *mut fi::fid, _: *mut fi::fid, _: u64) -> c_int {
    0
}

unsafe extern "C" fn control(fid: *mut fi::fid, command: c_int, argument: *mut c_void) -> c_int {
    if command == fi::FI_GETWAIT as c_int {
        // SAFETY: only queues are asked for their descriptor, and the argument is a variable for it.
        unsafe { *argument.cast::<c_int>() = end_of(fid.cast::<fi::fid_cq>()).socket.as_raw_fd() };
    }
    0
}

pub(crate) fn fabric() -> *mut fi::fid_fabric {
    // SAFETY: every member of a table is an optional function, for which zero is a value.
    let (mut ops, mut fid) = unsafe { (zeroed::<fi::fi_ops_fabric>(), zeroed::<fi::fid_fabric>()) };
    ops.domain = Some(domain);
    ops.trywait = Some(trywait);
    fid.fid = base();
    fid.ops = leak(ops);
    object(fid, ptr::null_mut())
}

unsafe extern "C" fn trywait(_: *mut fi::fid_fabric, fids: *mut *mut fi::fid, _count: c_int) -> c_int {
    // SAFETY: the user waits for one queue.
    let busy = unsafe { end_of((*fids).cast::<fi::fid_cq>()).has_news() };
    if busy { -fi::FI_EAGAIN } else { 0 }
}

unsafe extern "C" fn domain(
    _fabric: *mut fi::fid_fabric,
    _info: *mut fi::fi_info,
    domain: *mut *mut fi::fid_domain,
    _context: *mut c_void,
) -> c_int {
    static OPENED: AtomicU64 = AtomicU64::new(0);
    let number = OPENED.fetch_add(1, Ordering::Relaxed);
    let end = InstantEnd {
        socket: data::open(InstantName { process: std::process::id().into(), number }),
        number,
        peers: Vec::new(),
        receives: VecDeque::new(),
        done: VecDeque::with_capacity(2048),
        keys: 0,
    };
    // SAFETY: every member of a table is an optional function, for which zero is a value; the caller's variable.
    unsafe {
        let (mut ops, mut memory) = (zeroed::<fi::fi_ops_domain>(), zeroed::<fi::fi_ops_mr>());
        ops.av_open = Some(av_open);
        ops.cq_open = Some(cq_open);
        ops.endpoint = Some(endpoint);
        ops.query_atomic = Some(query_atomic);
        memory.regattr = Some(regattr);
        let mut fid: fi::fid_domain = zeroed();
        fid.fid = base();
        fid.ops = leak(ops);
        fid.mr = leak(memory);
        *domain = object(fid, leak(end));
    }
    0
}

unsafe extern "C" fn query_atomic(
    _domain: *mut fi::fid_domain,
    datatype: fi::fi_datatype,
    _op: fi::fi_op,
    attr: *mut fi::fi_atomic_attr,
    _flags: u64,
) -> c_int {
    let size = if datatype == fi::FI_UINT32 { 4 } else { 8 };
    // SAFETY: the caller's variable.
    unsafe { *attr = fi::fi_atomic_attr { count: 1, size } };
    0
}

unsafe extern "C" fn av_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_av_attr,
    av: *mut *mut fi::fid_av,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let (mut ops, mut fid) = (zeroed::<fi::fi_ops_av>(), zeroed::<fi::fid_av>());
        ops.insert = Some(insert);
        fid.fid = base();
        fid.ops = leak(ops);
        *av = object(fid, end_of(domain));
    }
    0
}

unsafe extern "C" fn insert(
    av: *mut fi::fid_av,
    name: *const c_void,
    _count: usize,
    address: *mut fi::fi_addr_t,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: an address vector of this library and a name of its kind; the caller's variable.
    unsafe {
        let end = end_of(av);
        *address = end.peers.len() as u64;
        end.peers.push(name.cast::<InstantName>().read_unaligned());
    }
    1
}

unsafe extern "C" fn cq_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_cq_attr,
    cq: *mut *mut fi::fid_cq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let (mut ops, mut fid) = (zeroed::<fi::fi_ops_cq>(), zeroed::<fi::fid_cq>());
        ops.read = Some(data::cq_read);
        fid.fid = base();
        fid.ops = leak(ops);
        *cq = object(fid, end_of(domain));
    }
    0
}

unsafe extern "C" fn endpoint(
    domain: *mut fi::fid_domain,
    _info: *mut fi::fi_info,
    ep: *mut *mut fi::fid_ep,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let (mut cm, mut msg, mut rma) =
            (zeroed::<fi::fi_ops_cm>(), zeroed::<fi::fi_ops_msg>(), zeroed::<fi::fi_ops_rma>());
        cm.getname = Some(getname);
        msg.send = Some(data::send);
        msg.recv = Some(data::receive);
        rma.write = Some(data::write);
        rma.inject = Some(data::inject);
        rma.writemsg = Some(data::writemsg);
        rma.read = Some(data::read);
        let mut atomic: fi::fi_ops_atomic = zeroed();
        atomic.writemsg = Some(data::update);
        atomic.readwritemsg = Some(data::fetch);
        atomic.compwritemsg = Some(data::compare);
        let mut fid: fi::fid_ep = zeroed();
        fid.fid = base();
        fid.cm = leak(cm);
        fid.msg = leak(msg);
        fid.rma = leak(rma);
        fid.atomic = leak(atomic);
        *ep = object(fid, end_of(domain));
    }
    0
}

unsafe extern "C" fn getname(ep: *mut fi::fid, name: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: an endpoint of this library; the buffer is as long as it says.
    unsafe {
        if std::mem::replace(&mut *length, size_of::<InstantName>()) < size_of::<InstantName>() {
            return -(fi::FI_ETOOSMALL as c_int);
        }
        let number = end_of(ep.cast::<fi::fid_ep>()).number;
        name.cast::<InstantName>().write_unaligned(InstantName { process: std::process::id().into(), number });
    }
    0
}

unsafe extern "C" fn regattr(
    domain: *mut fi::fid,
    _attr: *const fi::fi_mr_attr,
    _flags: u64,
    mr: *mut *mut fi::fid_mr,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let end = end_of(domain.cast::<fi::fid_domain>());
        end.keys += 1;
        let mut fid: fi::fid_mr = zeroed();
        fid.fid = base();
        fid.key = end.keys;
        *mr = object(fid, end);
    }
    0
}
