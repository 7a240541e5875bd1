//! Sending from and receiving to memory that peers write at the same time: raw addresses, never slices.
//!
//! Long transfers go between the socket and where they belong, with no copy of ours. The kernel's own copy stays: over
//! loopback and over a veth `MSG_ZEROCOPY` makes it as well, and says so with every notice, so that a mebibyte took half
//! as long again there (185 us instead of 124, and 206 instead of 142). What it is worth on a card has not been measured.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use crate::proto::{MemoryRange, OutputPiece};

/// Pieces sent with one call.
const PIECES: usize = 64;
const FLAGS: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

/// Sends as much of the pieces as the socket takes. A closed peer is an error, never a signal.
pub(crate) fn send<'p>(socket: BorrowedFd<'_>, pieces: impl Iterator<Item = OutputPiece<'p>>) -> io::Result<usize> {
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
        // SAFETY: the piece is a slice of the caller or memory that lanes and the fabric keep valid until completion; the kernel
        // only reads it.
        return retry(|| unsafe { libc::send(socket.as_raw_fd(), only.iov_base, only.iov_len, FLAGS) });
    }
    message(&mut vectors[..count], |header| {
        // SAFETY: `header` and its vectors are alive; byte pieces are slices of the caller, places are memory that peers
        // of the fabric keep mapped and lanes keep valid until completion. The kernel only reads them.
        unsafe { libc::sendmsg(socket.as_raw_fd(), header, FLAGS) }
    })
}

/// Receives to the place, then to the bytes. 0 means that the peer has closed.
pub(crate) fn receive(socket: BorrowedFd<'_>, place: Option<MemoryRange>, bytes: &mut [u8]) -> io::Result<usize> {
    let rest = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let Some(place) = place else {
        // SAFETY: the slice is borrowed mutably.
        return retry(|| unsafe { libc::recv(socket.as_raw_fd(), rest.iov_base, rest.iov_len, libc::MSG_DONTWAIT) });
    };
    message(&mut [vector_of(place), rest], |header| {
        // SAFETY: `header` and its vectors are alive. The kernel writes the place, which was bounded by a registered region or is
        // the destination of a get that is not complete, and the slice, which is borrowed mutably.
        unsafe { libc::recvmsg(socket.as_raw_fd(), header, libc::MSG_DONTWAIT) }
    })
}

/// Has the kernel ask a peer of which nothing is heard whether it is still there; a dead one is noticed after `limit`.
pub(crate) fn probe_when_idle(socket: BorrowedFd<'_>, limit: Duration) -> io::Result<()> {
    let third = limit.as_secs().div_ceil(3).clamp(1, 10_000) as libc::c_int;
    let options = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, third),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, third),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 2),
    ];
    for (level, option, value) in options {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value lives during the call and has the length that is told.
        let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
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
