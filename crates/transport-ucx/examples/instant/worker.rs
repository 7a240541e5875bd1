//! Workers and endpoints: a worker is a socket, an endpoint the name of another one.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_ucx_sys as ucx;

/// One worker. Its user lets one thread at a time be in it.
pub(crate) struct InstantWorker {
    socket: UnixDatagram,
    pub(crate) name: InstantName,
    /// The receivers of messages by their kinds, each with its argument.
    pub(crate) handlers: HashMap<u32, (ucx::ucp_am_recv_callback_t, *mut c_void)>,
    endpoints: HashMap<InstantName, Box<InstantEndpoint>>,
    /// Messages for which their receivers had no room.
    pub(crate) unsent: VecDeque<(InstantName, Vec<u8>)>,
}

/// The name of a worker: its process, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct InstantName {
    pub(crate) process: u64,
    pub(crate) number: u64,
}

/// Another worker, as one reaches it.
pub(crate) struct InstantEndpoint {
    pub(crate) worker: *mut InstantWorker,
    pub(crate) peer: InstantName,
}

/// The address of a worker's socket: a name that no file has.
fn address(name: InstantName) -> SocketAddr {
    let text = format!("oxshmem-instant-ucx-{}-{}", name.process, name.number);
    SocketAddr::from_abstract_name(text).expect("the name is short")
}

impl InstantWorker {
    /// A new worker. Peers may reach the memory of this process from now on.
    pub(crate) fn open() -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let name = InstantName { process: std::process::id().into(), number };
        // SAFETY: a system call with numbers.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
        let socket = UnixDatagram::bind_addr(&address(name)).expect("the worker's name is free");
        socket.set_nonblocking(true).expect("sockets can do that");
        Self { socket, name, handlers: HashMap::new(), endpoints: HashMap::new(), unsent: VecDeque::new() }
    }

    pub(crate) fn socket(&self) -> c_int {
        self.socket.as_raw_fd()
    }

    /// A worker's endpoint to a peer, which stays where it is.
    ///
    /// # Safety
    /// The worker is of this library's making, and the calling thread alone is in it.
    pub(crate) unsafe fn endpoint(worker: *mut Self, peer: InstantName) -> *mut InstantEndpoint {
        // SAFETY: the calling thread alone is in the worker, by the caller's promise.
        let endpoints = unsafe { &mut (*worker).endpoints };
        &raw mut **endpoints.entry(peer).or_insert_with(|| Box::new(InstantEndpoint { worker, peer }))
    }

    /// Sends a datagram. Returns whether it has gone, or the receiver does not exist any more.
    pub(crate) fn send(&self, to: InstantName, bytes: &[u8]) -> bool {
        let sent = self.socket.send_to_addr(bytes, &address(to));
        sent.map_or_else(|error| error.kind() != std::io::ErrorKind::WouldBlock, |_| true)
    }

    /// Sends what has waited. Returns how much went.
    pub(crate) fn send_waiting(&mut self) -> usize {
        let mut sent = 0;
        while let Some((to, bytes)) = self.unsent.pop_front() {
            if !self.send(to, &bytes) {
                self.unsent.push_front((to, bytes));
                break;
            }
            sent += 1;
        }
        sent
    }

    /// The next datagram, if one has come. Its length is asked for first, so that no buffer has to be cleared: a
    /// program that is stepped through would step through each byte of it.
    pub(crate) fn receive(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::<u8>::new();
        // SAFETY: a look at a message copies nothing; then the buffer is as long as the message.
        unsafe {
            let length = libc::recv(self.socket(), ptr::null_mut(), 0, libc::MSG_PEEK | libc::MSG_TRUNC);
            bytes.reserve_exact(usize::try_from(length).ok()?);
            let came = libc::recv(self.socket(), bytes.as_mut_ptr().cast(), bytes.capacity(), 0);
            bytes.set_len(usize::try_from(came).ok()?);
        }
        Some(bytes)
    }

    /// Whether a datagram has come.
    pub(crate) fn has_news(&self) -> bool {
        let mut looked_at = libc::pollfd { fd: self.socket(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives during the call.
        unsafe { libc::poll(&raw mut looked_at, 1, 0) > 0 }
    }
}
