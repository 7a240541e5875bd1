//! Data and messages: each operation is over when its call returns.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;

use oxshmem_libfabric_sys as fi;

use crate::objects::{InstantEnd, InstantName, end_of};

/// The address of an endpoint's socket: a name that no file has.
fn address(name: InstantName) -> SocketAddr {
    let text = format!("oxshmem-instant-{}-{}", name.process, name.number);
    SocketAddr::from_abstract_name(text).expect("the name is short")
}

/// The socket of a new endpoint. Peers may reach the memory of this process from now on.
pub(crate) fn open(name: InstantName) -> UnixDatagram {
    // SAFETY: a system call with numbers.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let socket = UnixDatagram::bind_addr(&address(name)).expect("the endpoint's name is free");
    socket.set_nonblocking(true).expect("sockets can do that");
    socket
}

/// Whether the calling thread is the process's first one.
fn is_first_thread() -> bool {
    // SAFETY: neither call has arguments.
    unsafe { libc::gettid() == libc::getpid() }
}

impl InstantEnd {
    /// An operation is over. What the first thread has issued, no other thread is told: so the count of that thread's instructions does
    /// not depend on who looks first.
    fn complete(&mut self, context: *mut c_void) {
        self.done.push_back((context, is_first_thread()));
    }

    /// Whether the calling thread would be told of something that is over.
    pub(crate) fn has_news(&self) -> bool {
        let mine = is_first_thread();
        self.done.iter().any(|&(_, theirs)| mine || !theirs)
    }
}

type Copy = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// Copies between this process and a peer. Returns libfabric's code.
///
/// # Safety
/// `local` has `n` bytes, which the copy may read or write.
unsafe fn reach(copy: Copy, end: &InstantEnd, peer: fi::fi_addr_t, local: *const c_void, n: usize, at: u64) -> isize {
    let local = libc::iovec { iov_base: local.cast_mut(), iov_len: n };
    let remote = libc::iovec { iov_base: at as *mut c_void, iov_len: n };
    // SAFETY: the local bytes are the caller's promise; the kernel checks the remote ones.
    let copied =
        unsafe { copy(end.peers[peer as usize].process as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
    if copied == n as isize { 0 } else { -(fi::FI_EINVAL as isize) }
}

pub(crate) unsafe extern "C" fn send(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    _desc: *mut c_void,
    to: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    unsafe {
        let end = end_of(ep);
        let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), n);
        if end.socket.send_to_addr(bytes, &address(end.peers[to as usize])).is_err() {
            return -(fi::FI_EAGAIN as isize);
        }
        end.complete(context);
    }
    0
}

pub(crate) unsafe extern "C" fn receive(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    _desc: *mut c_void,
    _from: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library.
    unsafe { end_of(ep) }.receives.push_back((buffer, n, context));
    0
}

pub(crate) unsafe extern "C" fn cq_read(cq: *mut fi::fid_cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: a queue of this library.
    let end = unsafe { end_of(cq) };
    let mut read = 0;
    let mut put = |context: *mut c_void, len: usize| {
        let entry = fi::fi_cq_msg_entry { op_context: context, flags: 0, len };
        // SAFETY: the caller has room for `count` entries of this form, of which `read` are written.
        unsafe { entries.cast::<fi::fi_cq_msg_entry>().add(read).write(entry) };
        read += 1;
    };
    let (mine, over) = (is_first_thread(), end.done.len());
    let mut room = count;
    end.done.retain(|&(context, theirs)| {
        let given = room > 0 && (mine || !theirs);
        if given {
            room -= 1;
            put(context, 0);
        }
        !given
    });
    if end.done.len() == over
        && let Some(&(buffer, n, context)) = end.receives.front()
    {
        // SAFETY: the buffer has `n` bytes, as its user has promised.
        let came = unsafe { libc::recv(end.socket.as_raw_fd(), buffer, n, 0) };
        if came >= 0 {
            end.receives.pop_front();
            put(context, came as usize);
        }
    }
    if read == 0 { -(fi::FI_EAGAIN as isize) } else { read as isize }
}

pub(crate) unsafe extern "C" fn write(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    _desc: *mut c_void,
    to: fi::fi_addr_t,
    at: u64,
    _key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    unsafe {
        end_of(ep).complete(context);
        reach(libc::process_vm_writev, end_of(ep), to, buffer, n, at)
    }
}

pub(crate) unsafe extern "C" fn inject(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    to: fi::fi_addr_t,
    at: u64,
    _key: u64,
) -> isize {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    unsafe { reach(libc::process_vm_writev, end_of(ep), to, buffer, n, at) }
}

pub(crate) unsafe extern "C" fn writemsg(ep: *mut fi::fid_ep, message: *const fi::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: an endpoint of this library; the message and what it points to live during the call.
    unsafe {
        let (message, end) = (&*message, end_of(ep));
        if flags & fi::FI_COMPLETION != 0 {
            end.complete(message.context);
        }
        let (local, remote) = (&*message.msg_iov, &*message.rma_iov);
        reach(libc::process_vm_writev, end, message.addr, local.iov_base, local.iov_len, remote.addr)
    }
}

pub(crate) unsafe extern "C" fn read(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    _desc: *mut c_void,
    from: fi::fi_addr_t,
    at: u64,
    _key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of this library; the caller's buffer has `n` bytes.
    unsafe {
        end_of(ep).complete(context);
        reach(libc::process_vm_readv, end_of(ep), from, buffer, n, at)
    }
}

pub(crate) unsafe extern "C" fn update(ep: *mut fi::fid_ep, message: *const fi::fi_msg_atomic, flags: u64) -> isize {
    // SAFETY: the arguments of libfabric's call.
    unsafe { atomic(ep, message, flags, 0, None) }
}

pub(crate) unsafe extern "C" fn fetch(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    result: *mut fi::fi_ioc,
    _desc: *mut *mut c_void,
    _count: usize,
    flags: u64,
) -> isize {
    // SAFETY: the arguments of libfabric's call; the result has room for the object.
    unsafe { atomic(ep, message, flags, 0, Some((*result).addr)) }
}

pub(crate) unsafe extern "C" fn compare(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    compare: *const fi::fi_ioc,
    _compare_desc: *mut *mut c_void,
    _compare_count: usize,
    result: *mut fi::fi_ioc,
    _desc: *mut *mut c_void,
    _count: usize,
    flags: u64,
) -> isize {
    // SAFETY: the arguments of libfabric's call; the object to compare with has at least four bytes, the result has room.
    unsafe {
        let four = (*message).datatype == fi::FI_UINT32;
        let with = if four { u64::from(*(*compare).addr.cast::<u32>()) } else { *(*compare).addr.cast::<u64>() };
        atomic(ep, message, flags, with, Some((*result).addr))
    }
}

/// # Safety
/// An endpoint of this library; the message and what it points to live during the call, and `old` has room for the object.
unsafe fn atomic(
    ep: *mut fi::fid_ep,
    message: *const fi::fi_msg_atomic,
    flags: u64,
    cond: u64,
    old: Option<*mut c_void>,
) -> isize {
    static TURN: OnceLock<File> = OnceLock::new();
    let turn = TURN.get_or_init(|| File::open("/proc/self/exe").expect("the program's file")).as_raw_fd();
    // SAFETY: as this function demands; the lock is held from the read to the write.
    unsafe {
        let (message, end) = (&*message, end_of(ep));
        let n = if message.datatype == fi::FI_UINT32 { 4 } else { 8 };
        let (mut there, mut operand) = (0_u64, 0_u64);
        (*message.msg_iov).addr.cast::<u8>().copy_to_nonoverlapping((&raw mut operand).cast(), n);
        let at = (*message.rma_iov).addr;
        libc::flock(turn, libc::LOCK_EX);
        let mut code = reach(libc::process_vm_readv, end, message.addr, (&raw mut there).cast(), n, at);
        let new = match message.op {
            fi::FI_ATOMIC_READ => there,
            fi::FI_ATOMIC_WRITE => operand,
            fi::FI_SUM => there.wrapping_add(operand),
            fi::FI_BAND => there & operand,
            fi::FI_BOR => there | operand,
            fi::FI_BXOR => there ^ operand,
            _ if there == cond => operand,
            _ => there,
        };
        if code == 0 {
            code = reach(libc::process_vm_writev, end, message.addr, (&raw const new).cast(), n, at);
        }
        libc::flock(turn, libc::LOCK_UN);
        if let Some(old) = old {
            (&raw const there).cast::<u8>().copy_to_nonoverlapping(old.cast(), n);
        }
        if flags & fi::FI_COMPLETION != 0 {
            end.complete(message.context);
        }
        code
    }
}
