//! An endpoint: each operation is over when the call returns that issues it.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;

use oxshmem_libfabric_sys as fi;
use parking_lot::Mutex;

use crate::datagram::{DatagramKind, EndName, Sent};
use crate::nature::Nature;
use crate::operation::{MockEffect, MockOperation, Registered, behind};
use crate::wire::{EndSocket, deliver, fetch};

/// The registrations of an endpoint. Peers reach all memory of the process.
#[derive(Default)]
pub(crate) struct MockCard {
    pub(crate) memory: Mutex<HashMap<u64, Registered>>,
}

impl MockCard {
    pub(crate) fn close(&self) {}
}

/// One endpoint. Its user lets one thread at a time be in it.
pub(crate) struct MockEnd {
    pub(crate) nature: &'static Nature,
    pub(crate) name: EndName,
    pub(crate) card: MockCard,
    pub(crate) messages: EndSocket,
    pub(crate) peers: Vec<EndName>,
    /// Buffers that wait for messages: place, length, context.
    pub(crate) receives: VecDeque<(usize, usize, usize)>,
    /// Contexts of what is over, each with whether the process's first thread has issued it.
    pub(crate) done: VecDeque<(usize, bool)>,
    pub(crate) open: bool,
    pub(crate) enabled: bool,
    pub(crate) domain: usize,
    pub(crate) keys: u64,
}

/// Whether the calling thread is the process's first one.
pub(crate) fn is_first_thread() -> bool {
    // SAFETY: neither call has arguments.
    unsafe { libc::gettid() == libc::getpid() }
}

impl MockEnd {
    pub(crate) fn new(nature: &'static Nature, name: EndName) -> Self {
        Self {
            nature,
            name,
            card: MockCard::default(),
            messages: EndSocket::open(name, DatagramKind::Message),
            peers: Vec::new(),
            receives: VecDeque::new(),
            done: VecDeque::with_capacity(2048),
            open: true,
            enabled: false,
            domain: 0,
            keys: 0,
        }
    }

    /// Any local bytes will do.
    pub(crate) fn demand_registered(&self, _at: usize, _n: usize, _desc: *mut c_void) {}

    /// No flood of messages stops it.
    pub(crate) fn takes_room(&mut self) -> bool {
        true
    }

    /// Does an operation on `n` bytes; returns libfabric's code.
    pub(crate) fn issue(&mut self, operation: MockOperation, n: usize) -> isize {
        let MockOperation { to, context, what } = operation;
        let peer = self.peers[to];
        // SAFETY: local bytes stay until completion, which is not before this call returns; the kernel checks those of the peer.
        let done = unsafe {
            match what {
                MockEffect::Put { bytes, address, .. } => {
                    let at = bytes.as_ref().map_or_else(|(at, _)| *at, |copy| copy.as_ptr().expose_provenance());
                    deliver(peer, at, address as usize, n)
                }
                MockEffect::Get { at, address, .. } => fetch(peer, address as usize, at, n),
                MockEffect::Message(bytes) => match self.messages.send(peer, DatagramKind::Message, &bytes) {
                    Sent::Yes => Ok(()),
                    Sent::Later | Sent::Gone => return -(fi::FI_EAGAIN as isize),
                },
                MockEffect::Atomic { op, operand, compare, result, address, .. } => {
                    let (operand, compare) = (word(operand, n), word(compare, n));
                    update(peer, address as usize, n, result, |old| behind(op, old, operand, compare))
                }
            }
        };
        if done.is_err() {
            return -(fi::FI_EINVAL as isize);
        }
        // No other thread is told of operations of the first one: so the count of that thread's instructions does not
        // depend on which thread looks first. An injected put has no completion.
        if context != 0 {
            self.done.push_back((context, is_first_thread()));
        }
        0
    }

    /// The same, for an operation that may have no completion.
    pub(crate) fn accept(&mut self, operation: MockOperation, n: usize) -> isize {
        self.issue(operation, n)
    }

    /// Whether the calling thread would be told of something that is over.
    pub(crate) fn has_news(&self) -> bool {
        let mine = is_first_thread();
        self.done.iter().any(|&(_, theirs)| mine || !theirs)
    }
}

/// Updates a peer's object of `n` bytes under the lock of a file. The old value goes to `result`, unless that is 0.
///
/// # Safety
/// `result` is 0 or has `n` bytes.
unsafe fn update(
    peer: EndName,
    at: usize,
    n: usize,
    result: usize,
    change: impl FnOnce(u64) -> u64,
) -> Result<(), c_int> {
    static TURN: OnceLock<File> = OnceLock::new();
    let turn = TURN.get_or_init(|| File::open("/proc/self/exe").expect("the program's file")).as_raw_fd();
    let mut old = 0_u64;
    // SAFETY: numbers of this frame, of which at most eight bytes are used; the result is the caller's promise.
    unsafe {
        libc::flock(turn, libc::LOCK_EX);
        let came = fetch(peer, at, (&raw mut old).expose_provenance(), n);
        let new = change(old);
        let done = came.and_then(|()| deliver(peer, (&raw const new).expose_provenance(), at, n));
        libc::flock(turn, libc::LOCK_UN);
        if result != 0 {
            (&raw const old).cast::<u8>().copy_to_nonoverlapping(ptr::with_exposed_provenance_mut(result), n);
        }
        done
    }
}

/// # Safety
/// `at` is 0 or has `n` bytes, at most eight.
unsafe fn word(at: usize, n: usize) -> u64 {
    let mut word = 0_u64;
    if at != 0 {
        // SAFETY: the object has as many bytes, by the caller's promise.
        unsafe { ptr::with_exposed_provenance::<u8>(at).copy_to_nonoverlapping((&raw mut word).cast(), n) };
    }
    word
}
