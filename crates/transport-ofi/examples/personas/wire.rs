//! The wire between endpoints of several processes: local sockets with names that no file has, and copies by the kernel. A card is a
//! thread.

use std::ffi::c_int;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::datagram::{DatagramKind, EndName, Sent};

/// The name of the next endpoint of this process, whose memory peers may reach from now on.
pub(crate) fn next_name() -> EndName {
    static OPENED: AtomicU64 = AtomicU64::new(0);
    // SAFETY: a system call with numbers.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    EndName { process: std::process::id().into(), number: OPENED.fetch_add(1, Ordering::Relaxed) }
}

/// Has the card of an endpoint do its `work` again and again until that says that it has closed.
pub(crate) fn employ(_: EndName, work: impl Fn() -> bool + Send + Sync + 'static) {
    std::thread::spawn(move || while work() {});
}

/// Copies `n` bytes from the endpoint that asks.
///
/// # Safety
/// `to` is inside registered memory.
pub(crate) unsafe fn fetch(asking: EndName, from: usize, to: usize, n: usize) -> Result<(), c_int> {
    // SAFETY: the local bytes are inside registered memory, by the caller's promise.
    unsafe { reach::<false>(asking, to, from, n) }
}

/// Copies `n` bytes to the endpoint that asks.
///
/// # Safety
/// `from` is inside registered memory.
pub(crate) unsafe fn deliver(asking: EndName, from: usize, to: usize, n: usize) -> Result<(), c_int> {
    // SAFETY: the local bytes are inside registered memory, by the caller's promise.
    unsafe { reach::<true>(asking, from, to, n) }
}

/// # Safety
/// `here` has `n` bytes, which the copy may read or write.
unsafe fn reach<const WRITES: bool>(asking: EndName, here: usize, there: usize, n: usize) -> Result<(), c_int> {
    let copy = if WRITES { libc::process_vm_writev } else { libc::process_vm_readv };
    let mut done = 0;
    while done < n {
        let part = |at: usize| libc::iovec { iov_base: ptr::with_exposed_provenance_mut(at + done), iov_len: n - done };
        let (local, remote) = (part(here), part(there));
        // SAFETY: the local bytes are the caller's promise; the kernel checks the remote ones.
        let copied = unsafe { copy(asking.process as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
        if copied <= 0 {
            return Err(libc::EIO);
        }
        done += copied as usize;
    }
    Ok(())
}

fn address(name: EndName, kind: DatagramKind) -> SocketAddr {
    let text = format!("oxshmem-persona-{}-{}-{}", kind as u8, name.process, name.number);
    SocketAddr::from_abstract_name(text).expect("the name is short")
}

/// A socket of an endpoint.
pub(crate) struct EndSocket(pub(crate) UnixDatagram);

impl EndSocket {
    pub(crate) fn open(name: EndName, kind: DatagramKind) -> Self {
        let socket = UnixDatagram::bind_addr(&address(name, kind)).expect("the endpoint's name is free");
        socket.set_nonblocking(true).expect("sockets can do that");
        Self(socket)
    }

    pub(crate) fn send(&self, to: EndName, kind: DatagramKind, bytes: &[u8]) -> Sent {
        match self.0.send_to_addr(bytes, &address(to, kind)).map_err(|error| error.raw_os_error()) {
            Ok(_) => Sent::Yes,
            Err(Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) => Sent::Later,
            Err(_) => Sent::Gone,
        }
    }

    /// The next datagram, in front of `room`.
    pub(crate) fn receive<'r>(&self, room: &'r mut [u8]) -> Option<&'r [u8]> {
        // SAFETY: the room is as long as it says.
        let came = unsafe { libc::recv(self.0.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_TRUNC) };
        if came > room.len() as isize {
            crate::broken(&format!("{came} bytes were sent where {} are awaited", room.len()));
        }
        (came >= 0).then(|| &room[..came as usize])
    }

    /// Sleeps until a datagram is there, or for this many milliseconds; a negative number is for ever.
    pub(crate) fn sleep(&self, milliseconds: c_int) {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives during the call.
        unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
    }
}
