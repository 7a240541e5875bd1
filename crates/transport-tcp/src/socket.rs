//! Sending from and receiving to memory that peers write at the same time: raw addresses, never slices.
//!
//! Long transfers go between the socket and where they belong, with no copy of ours. The kernel's own copy stays: over
//! loopback and over a veth `MSG_ZEROCOPY` makes it as well, and says so with every notice, so that a mebibyte took half
//! as long again there (185 us instead of 124, and 206 instead of 142). References to the pages (`vmsplice`, `splice`) do save the copy. But
//! then the receiver fetches each line from the cache of the processor that has written it: over loopback a mebibyte that had just been
//! written took 130 us instead of 97, and one that had not changed since the last time 87 instead of 101. What either is worth on a card has
//! not been measured.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::{io, ptr};

use crate::limits::PIECES;
use crate::proto::{MemoryRange, OutputPiece, Probes};

const FLAGS: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

/// Sends as much of the pieces as the socket takes. A closed peer is an error, never a signal.
///
/// # Safety
/// Ranges of memory among the pieces are readable during the call.
pub(crate) unsafe fn send<'p>(
    socket: BorrowedFd<'_>,
    pieces: impl Iterator<Item = OutputPiece<'p>>,
) -> io::Result<usize> {
    let nothing = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
    let mut vectors = [nothing; PIECES];
    let mut count = 0;
    for (vector, piece) in vectors.iter_mut().zip(pieces) {
        *vector = match piece {
            OutputPiece::Bytes(bytes) => {
                libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
            }
            OutputPiece::MemoryRange(place) => vector_of(place),
        };
        count += 1;
    }
    if let [only] = vectors[..count] {
        // The plain call is the faster one, and most sends are of one piece.
        // SAFETY: the piece is a slice of the caller, or memory that is readable during the call, as this function demands; the
        // kernel only reads it.
        return retry(|| unsafe { libc::send(socket.as_raw_fd(), only.iov_base, only.iov_len, FLAGS) });
    }
    message(&mut vectors[..count], |header| {
        // SAFETY: `header` and its vectors are alive; byte pieces are slices of the caller, ranges of memory are readable during
        // the call, as this function demands. The kernel only reads them.
        unsafe { libc::sendmsg(socket.as_raw_fd(), header, FLAGS) }
    })
}

/// Receives to the place, then to the bytes. 0 means that the peer has closed.
///
/// # Safety
/// `place` is writable during the call.
pub(crate) unsafe fn receive(
    socket: BorrowedFd<'_>,
    place: Option<MemoryRange>,
    bytes: &mut [u8],
) -> io::Result<usize> {
    let rest = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let Some(place) = place else {
        // SAFETY: the slice is borrowed mutably.
        return retry(|| unsafe { libc::recv(socket.as_raw_fd(), rest.iov_base, rest.iov_len, libc::MSG_DONTWAIT) });
    };
    message(&mut [vector_of(place), rest], |header| {
        // SAFETY: `header` and its vectors are alive. The kernel writes the place, which is writable as this function demands, and
        // the slice, which is borrowed mutably.
        unsafe { libc::recvmsg(socket.as_raw_fd(), header, libc::MSG_DONTWAIT) }
    })
}

/// Has the kernel ask a peer of which nothing is heard whether it is still there.
pub(crate) fn probe_when_idle(socket: BorrowedFd<'_>, Probes { idle, interval, count }: Probes) -> io::Result<()> {
    let options = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, idle),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, interval),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, count),
    ];
    options.into_iter().try_for_each(|(level, option, value)| {
        let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
        set(socket, level, option, &value.to_ne_bytes())
    })
}

fn set(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value lives during the call and has the length that is told.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn vector_of(place: MemoryRange) -> libc::iovec {
    libc::iovec { iov_base: ptr::with_exposed_provenance_mut(place.at), iov_len: place.n }
}

/// Calls the kernel with a message of these vectors.
fn message(vectors: &mut [libc::iovec], call: impl Fn(*mut libc::msghdr) -> isize) -> io::Result<usize> {
    // SAFETY: a message header of zeros is valid: no name, no control data, no vectors.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = vectors.as_mut_ptr();
    header.msg_iovlen = vectors.len() as _;
    retry(|| call(&mut header))
}

/// Makes a call of the kernel again when a signal came in between.
fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(n) = usize::try_from(call()) {
            return Ok(n);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
