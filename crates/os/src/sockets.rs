//! Operations on Unix sockets that the standard library lacks: adopting an inherited one, waiting on it with a limit, and
//! noticing that the other side is gone.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, FdFlags};

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
    Ok(rustix::io::fcntl_setfd(socket, FdFlags::empty())?)
}

/// Waits until there is something to read, a connection to accept or an end to notice; `false`: the time is over.
pub fn wait_readable(socket: &impl AsFd, limit: Duration) -> io::Result<bool> {
    wait_any_readable([socket.as_fd()].into_iter(), limit)
}

/// Waits until one of several has something to read; `false`: the time is over. The time is not rounded to milliseconds.
pub fn wait_any_readable<'s>(sockets: impl Iterator<Item = BorrowedFd<'s>>, limit: Duration) -> io::Result<bool> {
    let mut entries: Vec<PollFd<'s>> = sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)).collect();
    poll(&mut entries, limit)
}

/// Whether the other side has closed its end.
pub fn hung_up(socket: &impl AsFd) -> bool {
    poll(&mut [PollFd::new(socket, PollFlags::RDHUP)], Duration::ZERO).unwrap_or(false)
}

/// Whether one of the entries is ready in time. A signal ends the wait early.
fn poll(entries: &mut [PollFd<'_>], limit: Duration) -> io::Result<bool> {
    // Without a limit that the system can express the wait has none.
    let limit = Timespec::try_from(limit).ok();
    match rustix::event::poll(entries, limit.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
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
