//! Operations on sockets that the standard library lacks: adopting an inherited one, waiting on it with a limit, noticing that the
//! other side is gone, and listening for both versions of IP.

use std::fs::File;
use std::io;
use std::net::{Ipv6Addr, SocketAddrV6, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

use crate::FileIdentity;

/// A duplicate of a socket that this process inherited under a number it was told, closed on exec. What else has that
/// number is left alone.
pub fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl reads no memory of ours; a number that is no descriptor is an error (EBADF).
    let copy = unsafe { syscall!(fcntl(number, libc::F_DUPFD_CLOEXEC, 3)) }?;
    // SAFETY: the kernel just made this descriptor for us and nobody else knows its number.
    let copy = File::from(unsafe { OwnedFd::from_raw_fd(copy) });
    if copy.metadata()?.file_type().is_socket() { Ok(copy.into()) } else { Err(io::Error::other("it is not a socket")) }
}

/// Whether the programs that this process starts get a socket that it has inherited under this number. Where another file has the number
/// now, it is left alone.
pub fn hand_on(number: i32, identity: FileIdentity, to_programs: bool) {
    if inherited(number).is_ok_and(|copy| identity.is_that_of(&copy)) {
        let flags = if to_programs { 0 } else { libc::FD_CLOEXEC };
        // SAFETY: fcntl reads no memory of ours; a number that is no descriptor any more is an error (EBADF).
        let _ = unsafe { syscall!(fcntl(number, libc::F_SETFD, flags)) };
    }
}

/// Lets a descriptor live on in the program that this process becomes by exec. Only makes a system call, so it may run
/// between fork and exec.
pub fn keep_on_exec(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(socket, FdFlags::empty())?)
}

/// Reads what is there now from a socket that does not block, whatever a runtime believes about it.
pub fn read_now(socket: &impl AsFd, bytes: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(socket, bytes)?)
}

/// Sends all bytes on a socket that blocks. Where the other side is gone this is an error. A `write` would end a program in C then, whose
/// process does not ignore SIGPIPE as those of Rust do.
pub fn send_all(socket: &impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until there is something to read, a connection to accept or an end to notice; `false`: the time is over.
pub fn wait_readable(socket: &impl AsFd, limit: Duration) -> io::Result<bool> {
    poll(&mut [PollFd::new(socket, PollFlags::IN)], limit)
}

/// A descriptor to wait for until it has something to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollEntry {
    /// Its number.
    pub descriptor: RawFd,
    /// Room to write ends the wait as well.
    pub writes: bool,
}

impl PollEntry {
    /// Waits for something to read only.
    pub fn to_read(descriptor: RawFd) -> Self {
        Self { descriptor, writes: false }
    }
}

/// Waits until one of several descriptors is ready. Says of each whether it is; a signal or the end of the time leaves none
/// ready. The time is not rounded to milliseconds. A number that has just been closed, or opened again as another descriptor,
/// makes the wait end early at worst.
pub fn wait_any(awaited: &[PollEntry], limit: Duration) -> io::Result<Vec<bool>> {
    let entry = |&PollEntry { descriptor, writes }: &PollEntry| {
        let events = if writes { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        libc::pollfd { fd: descriptor, events, revents: 0 }
    };
    let mut entries: Vec<libc::pollfd> = awaited.iter().map(entry).collect();
    let seconds = libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX);
    let limit = libc::timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
    let count = entries.len() as libc::nfds_t;
    // SAFETY: the entries are `count` initialised ones and live until the call returns, as the limit does; the null pointer
    // leaves the mask of signals alone. The kernel checks the numbers.
    match unsafe { syscall!(ppoll(entries.as_mut_ptr(), count, &limit, std::ptr::null())) } {
        Ok(_) => Ok(entries.iter().map(|entry| entry.revents != 0).collect()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(vec![false; entries.len()]),
        Err(error) => Err(error),
    }
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

/// Listens at this port (0: any) of all addresses, those of IPv4 too. The standard library leaves the latter to the system
/// (`net.ipv6.bindv6only`), and the choice has to be made before the socket has its port. The listener does not block.
pub fn listen_everywhere(port: u16) -> io::Result<TcpListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::INET6, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_ipv6_v6only(&socket, false)?;
    rustix::net::bind(&socket, &SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0))?;
    // The number that the standard library lets wait.
    rustix::net::listen(&socket, 128)?;
    Ok(socket.into())
}

/// Lets this many connections wait until the listener accepts them, as far as the system allows (`net.core.somaxconn`).
pub fn let_wait(listener: BorrowedFd<'_>, connections: u32) -> io::Result<()> {
    Ok(rustix::net::listen(listener, i32::try_from(connections).unwrap_or(i32::MAX))?)
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
    fn a_wait_for_several_says_which_is_ready_and_for_what() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let (idle, _other) = UnixStream::pair().unwrap();
        let reads = |socket: &UnixStream| PollEntry::to_read(socket.as_raw_fd());
        let moment = Duration::from_millis(1);
        assert_eq!(wait_any(&[reads(&there), reads(&idle)], moment).unwrap(), [false, false]);
        let writes = PollEntry { writes: true, ..reads(&idle) };
        assert_eq!(wait_any(&[reads(&there), writes], Duration::from_secs(10)).unwrap(), [false, true]);
        here.write_all(b"x").unwrap();
        assert_eq!(wait_any(&[reads(&there), reads(&idle)], Duration::from_secs(10)).unwrap(), [true, false]);
    }

    /// A listener without this choice would follow the system's setting.
    #[test]
    fn a_listener_hears_both_versions_of_ip() {
        let listener = match listen_everywhere(0) {
            Ok(listener) => listener,
            Err(why) => return oxshmem_test_folder::not_run(why),
        };
        assert!(!sockopt::ipv6_v6only(&listener).unwrap());
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let _caller = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert!(wait_readable(&listener, Duration::from_secs(10)).unwrap());
        listener.accept().unwrap();
        assert_eq!(listen_everywhere(port).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn waiting_ends_by_time_by_bytes_and_by_hang_up() {
        let (mut here, there) = UnixStream::pair().unwrap();
        assert!(!wait_readable(&there, Duration::from_millis(1)).unwrap());
        assert!(!hung_up(&there));
        here.write_all(b"x").unwrap();
        assert!(wait_readable(&there, Duration::from_secs(10)).unwrap());
        assert!(!hung_up(&there));
        send_all(&there, b"yz").unwrap();
        let mut answer = [0; 2];
        here.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"yz");
        drop(here);
        assert!(hung_up(&there));
        assert_eq!(send_all(&there, b"!").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
