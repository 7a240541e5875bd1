//! Operations on Unix sockets that the standard library lacks: adopting an inherited one, waiting on it with a limit, and
//! noticing that the other side is gone.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

/// A duplicate of a socket that this process inherited under a number it was told, closed on exec. What else has that
/// number is left alone.
pub fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl reads no memory of ours; a number that is no descriptor is an error (EBADF).
    let copy = unsafe { syscall!(fcntl(number, libc::F_DUPFD_CLOEXEC, 3)) }?;
    // SAFETY: the kernel just made this descriptor for us and nobody else knows its number.
    let copy = File::from(unsafe { OwnedFd::from_raw_fd(copy) });
    match copy.metadata()?.file_type().is_socket() {
        true => Ok(copy.into()),
        false => Err(io::Error::other("it is not a socket")),
    }
}

/// Lets a descriptor live on in the program that this process becomes by exec. Only makes a system call, so it may run
/// between fork and exec.
pub fn keep_on_exec(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: sets a flag of a descriptor that the borrow keeps open.
    unsafe { syscall!(fcntl(socket.as_raw_fd(), libc::F_SETFD, 0)) }.map(drop)
}

/// Waits until there is something to read, a connection to accept or an end to notice; `false`: the time is over.
pub fn wait_readable(socket: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
    Ok(poll(socket.as_fd(), libc::POLLIN, limit)? != 0)
}

/// Waits until one of several has something to read; `false`: the time is over. The time is not rounded to milliseconds.
pub fn wait_any_readable<'s>(sockets: impl Iterator<Item = BorrowedFd<'s>>, limit: Duration) -> io::Result<bool> {
    let seconds = libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX);
    let limit = libc::timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
    let entry = |socket: BorrowedFd<'_>| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = sockets.map(entry).collect();
    // SAFETY: the entries and the limit live until the call returns; no mask of signals is given.
    match unsafe { syscall!(ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, &limit, std::ptr::null())) } {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        result => result.map(|ready| ready > 0),
    }
}

/// Whether the other side has closed its end.
pub fn hung_up(socket: &impl AsFd) -> bool {
    poll(socket.as_fd(), libc::POLLRDHUP, 0).is_ok_and(|events| events != 0)
}

fn poll(socket: BorrowedFd<'_>, events: libc::c_short, limit: libc::c_int) -> io::Result<libc::c_short> {
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    // SAFETY: the array has one entry, which lives until the call returns.
    match unsafe { syscall!(poll(&mut entry, 1, limit)) } {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        result => result.map(|_| entry.revents),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_inherited_socket_is_the_same_socket() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let mut adopted = UnixStream::from(inherited(there.as_raw_fd()).unwrap());
        here.write_all(b"word").unwrap();
        let mut word = [0; 4];
        adopted.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"word");
        assert_eq!(inherited(-1).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn waiting_ends_by_time_by_bytes_and_by_hang_up() {
        let (mut here, there) = UnixStream::pair().unwrap();
        assert!(!wait_readable(&there, Duration::from_millis(1)).unwrap());
        assert!(!hung_up(&there));
        here.write_all(b"x").unwrap();
        assert!(wait_readable(&there, Duration::from_secs(10)).unwrap());
        assert!(!hung_up(&there));
        drop(here);
        assert!(hung_up(&there));
    }
}
