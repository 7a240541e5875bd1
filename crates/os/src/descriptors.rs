//! Descriptors that travel between processes over Unix sockets.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit};

use crate::sockets::send_all;
use crate::uninterrupted;

/// The kernel takes 253 descriptors in one message.
const AT_A_TIME: usize = 250;

/// The most that a parcel may hold: enough for every node, too little for a stranger to exhaust us.
const MOST_BYTES: usize = 64 << 20;
const MOST_FDS: usize = 1 << 16;

/// Sends bytes and descriptors as one parcel for [`receive`]. A receiver that is gone is an error, not a signal.
pub fn send(stream: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    if bytes.len() > MOST_BYTES || fds.len() > MOST_FDS {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, too_long(bytes.len(), fds.len())));
    }
    send_all(stream, &(bytes.len() as u64).to_le_bytes())?;
    send_all(stream, &(fds.len() as u64).to_le_bytes())?;
    for batch in fds.chunks(AT_A_TIME) {
        // Descriptors come with a byte of their own, so that the receiver reads exactly to where they are.
        while !send_batch(stream, batch)? {}
    }
    send_all(stream, bytes)
}

fn too_long(bytes: usize, fds: usize) -> String {
    format!(
        "a parcel has {bytes} bytes and {fds} descriptors, and processes hand each other at most {MOST_BYTES} bytes and \
         {MOST_FDS} descriptors at a time"
    )
}

/// Receives what one [`send`] sent. The descriptors are closed on exec.
pub fn receive(stream: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let length = |most: usize| {
        let mut number = [0; 8];
        (&mut &*stream).read_exact(&mut number)?;
        usize::try_from(u64::from_le_bytes(number))
            .ok()
            .filter(|&n| n <= most)
            .ok_or(io::Error::from(io::ErrorKind::InvalidData))
    };
    let (len, count) = (length(MOST_BYTES)?, length(MOST_FDS)?);
    let mut fds = Vec::new();
    while fds.len() < count {
        let expected = AT_A_TIME.min(count - fds.len());
        let batch = receive_batch(stream)?;
        if batch.len() != expected {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} of {expected} descriptors arrived; is the limit of open files reached?", batch.len()),
            ));
        }
        fds.extend(batch);
    }
    // Grows with what arrives, not with what the sender announces.
    let mut bytes = Vec::new();
    stream.take(len as u64).read_to_end(&mut bytes)?;
    if bytes.len() < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok((bytes, fds)) }
}

/// The user the other end of the stream ran as when it connected.
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    peer(stream).map(|peer| peer.uid)
}

/// The number of the process at the other end of the stream, when it connected or began to listen. Nothing: it has none here, as one
/// of another container that shares the network.
pub fn peer_pid(stream: &UnixStream) -> io::Result<Option<u32>> {
    peer(stream).map(|peer| u32::try_from(peer.pid).ok().filter(|&pid| pid > 0))
}

/// The kernel's words about the other end. The number of a process that has none here is 0, which rustix's type cannot be: the whole
/// answer would be an error.
fn peer(stream: &UnixStream) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the kernel writes three numbers, for which there is room, and how many bytes they are.
    unsafe { syscall!(getsockopt(stream.as_raw_fd(), level, name, (&raw mut peer).cast(), &raw mut length)) }?;
    Ok(peer)
}

/// The user this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Listens under a name that is in no directory and vanishes with the socket.
pub fn listen(name: &[u8]) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Connects to the process that [`listen`]s under this name on this machine. It waits where the listener's queue is full, and a signal of
/// the program does not end the wait.
pub fn connect(name: &[u8]) -> io::Result<UnixStream> {
    let address = SocketAddr::from_abstract_name(name)?;
    uninterrupted(|| UnixStream::connect_addr(&address))
}

/// Connects as [`connect`] does, or fails at once where the listener's queue is full: one that never accepts would otherwise
/// stop the caller for ever.
pub fn connect_at_once(name: &[u8]) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The number of files this process may open.
pub fn limit() -> u64 {
    rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the number of files this process may open to the most the system lets it. Returns that number.
pub fn raise_limit() -> io::Result<u64> {
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(maximum.unwrap_or(u64::MAX))
}

/// Raises the number of files this process may open where so many do not fit, and nowhere else: programs may count on descriptors being
/// small numbers.
pub fn make_room(files: u64) -> io::Result<()> {
    if limit() < files { raise_limit().map(drop) } else { Ok(()) }
}

/// Opens /dev/null in the place of each standard stream that is closed, so that no file or socket of the library gets its number: what
/// the program writes to the stream would go there, into memory that PEs share. Reads and writes fail as those of a closed stream do.
/// Only makes system calls.
pub fn occupy_standard_streams() {
    for (number, access) in [(0, OFlags::WRONLY), (1, OFlags::RDONLY), (2, OFlags::RDONLY)] {
        // SAFETY: the call takes no pointers.
        if unsafe { syscall!(fcntl(number, libc::F_GETFD)) }.is_ok() {
            continue;
        }
        // The lowest free number is that of the stream, unless another thread has taken it meanwhile. Without the device the stream
        // stays closed.
        if let Ok(file) = rustix::fs::open(c"/dev/null", access, Mode::empty())
            && file.as_raw_fd() == number
        {
            std::mem::forget(file);
        }
    }
}

/// Room for the descriptors of one message, aligned as the kernel wants it.
const CONTROL: usize = 16 + AT_A_TIME * size_of::<i32>() / size_of::<usize>();

/// Sends one byte and the descriptors that come with it. Returns whether the byte went.
fn send_batch(stream: &UnixStream, fds: &[BorrowedFd<'_>]) -> io::Result<bool> {
    let mut control = [0usize; CONTROL];
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut message = message(&mut part);
    let size = size_of_val(fds) as u32;
    // SAFETY: the control buffer has room for the header and AT_A_TIME descriptors, and `fds` holds no more than that
    // (`send` cuts batches). `BorrowedFd` has the layout of the C int it wraps.
    unsafe {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header).copy_from_nonoverlapping(fds.as_ptr().cast(), size as usize);
    }
    // SAFETY: the message points at `part`, `byte` and `control`, which live until the call returns.
    let sent = uninterrupted(|| unsafe { syscall!(sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL)) })?;
    Ok(sent > 0)
}

/// Receives one byte and the descriptors that come with it.
fn receive_batch(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut control = [0usize; CONTROL];
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut message = message(&mut part);
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the message points at `part`, `byte` and `control`, which live until the call returns, with their sizes.
    let received = uninterrupted(|| unsafe { syscall!(recvmsg(stream.as_raw_fd(), &mut message, flags)) })?;
    if received == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut fds = Vec::new();
    // SAFETY: the kernel filled the control buffer and these macros walk inside it; every descriptor in it is new and
    // belongs to nobody else.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&message);
        while !header.is_null() {
            if ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let size = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(header).cast::<i32>();
                fds.extend((0..size / size_of::<i32>()).map(|i| OwnedFd::from_raw_fd(first.add(i).read_unaligned())));
            }
            header = libc::CMSG_NXTHDR(&message, header);
        }
    }
    Ok(fds)
}

fn message(part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: all zeros is a value of this plain C struct: no address, no control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pages, SharedMemory};
    use oxshmem_test_folder::{again, is_again, not_run};
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    #[test]
    fn parcels_of_every_size_arrive_whole() {
        raise_limit().expect("always allowed");
        let memory = SharedMemory::create(c"parcel", 12345, Pages::Small).expect("memory");
        let (here, there) = UnixStream::pair().expect("a pair");
        for (len, count) in [(0, 0), (5, 1), (0, 250), (1, 251), (1 << 20, 600)] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let (got, fds) = std::thread::scope(|scope| {
                scope.spawn(|| send(&here, &bytes, &vec![memory.fd(); count]).expect("sent"));
                receive(&there).expect("received")
            });
            assert!(got == bytes && fds.len() == count);
            for fd in fds {
                // SAFETY: takes no pointers.
                let flags = unsafe { syscall!(fcntl(fd.as_raw_fd(), libc::F_GETFD)) }.expect("open");
                assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
                assert_eq!(SharedMemory::from_fd(fd).expect("memory").len(), 12345);
            }
        }
    }

    #[test]
    fn a_parcel_beyond_the_limit_is_refused_with_its_length() {
        let (stream, _other) = UnixStream::pair().expect("a pair of sockets");
        let error = send(&stream, &vec![0; MOST_BYTES + 1], &[]).expect_err("it is too long").to_string();
        assert!(error.contains("67108865 bytes and 0 descriptors") && error.contains("at most 67108864"), "{error}");
    }

    #[test]
    fn the_limit_is_raised_where_files_do_not_fit() {
        const RAISED: i32 = 7;
        if is_again() {
            let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
            let low = Rlimit { current: Some(64), maximum };
            rustix::process::setrlimit(Resource::Nofile, low).expect("a limit may be lowered");
            make_room(64).expect("so many fit");
            let stays = limit() == 64;
            make_room(65).expect("always allowed");
            std::process::exit(if stays && limit() == maximum.unwrap_or(u64::MAX) { RAISED } else { 1 });
        }
        assert_eq!(again(&[]).status().expect("it starts").code(), Some(RAISED));
    }

    #[test]
    fn a_closed_standard_stream_gives_its_number_to_no_memory() {
        const HELD: i32 = 7;
        if is_again() {
            for stream in [0, 2] {
                // SAFETY: the calls take no pointers, and nothing else in this process uses these streams.
                unsafe { syscall!(close(stream)) }.expect("it was open");
            }
            occupy_standard_streams();
            let memory = SharedMemory::create(c"streams", 12345, Pages::Small).expect("memory");
            let mut byte = 0_u8;
            // SAFETY: the kernel reads or writes the one byte, which is ours.
            let fails = unsafe {
                syscall!(read(0, (&raw mut byte).cast(), 1)).is_err()
                    && syscall!(write(2, (&raw const byte).cast(), 1)).is_err()
            };
            std::process::exit(if fails && memory.fd().as_raw_fd() > 2 { HELD } else { 1 });
        }
        assert_eq!(again(&[]).status().expect("it starts").code(), Some(HELD));
    }

    /// As PEs of which each is in a container of its own, with the host's network.
    #[test]
    fn the_user_of_a_process_without_a_number_here_is_known() {
        const NAME: &str = "OXSHMEM_UNSEEN_PEER";
        if let Some(name) = std::env::var_os(NAME) {
            let stream = connect(name.as_encoded_bytes()).expect("the test listens");
            assert_eq!(peer_uid(&stream).expect("a socket"), own_uid());
            assert_eq!(peer_pid(&stream).expect("a socket"), None);
            return;
        }
        let elsewhere = ["unshare", "--pid", "--fork", "--kill-child"];
        let probe = std::process::Command::new(elsewhere[0]).args(&elsewhere[1..]).arg("true").output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            return not_run("unshare cannot make process numbers of their own here");
        }
        let name = format!("oxshmem-unseen-peer-{}", std::process::id());
        let listener = listen(name.as_bytes()).expect("a fresh name");
        let mut child = again(&elsewhere).env(NAME, &name).spawn().expect("it starts");
        assert!(crate::sockets::wait_readable(&listener, Duration::from_secs(60)).expect("a socket"), "nobody came");
        let (there, _) = listener.accept().expect("connected");
        assert_eq!(peer_uid(&there).expect("a socket"), own_uid());
        assert!(peer_pid(&there).expect("a socket").is_some(), "from outside it is seen");
        assert!(child.wait().expect("it ends").success());
    }

    #[test]
    fn a_receiver_that_is_gone_is_an_error_and_no_signal() {
        let (here, there) = UnixStream::pair().expect("a pair");
        drop(there);
        assert_eq!(send(&here, b"x", &[]).expect_err("nobody listens").kind(), io::ErrorKind::BrokenPipe);
    }

    /// The queue of a node's leader is full while its PEs come all at once, and the program may have a timer.
    #[test]
    fn a_signal_does_not_end_a_wait_for_a_place_in_the_queue() {
        static SEEN: AtomicU32 = AtomicU32::new(0);
        extern "C" fn seen(_signal: libc::c_int) {
            SEEN.fetch_add(1, Relaxed);
        }
        // SAFETY: all zeros is a value of this plain C struct: no flags, so that no call of the kernel goes on by itself.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = seen as extern "C" fn(libc::c_int) as usize;
        // SAFETY: the handler is a function of this program that only adds to an atomic.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) }, 0);
        let name = format!("oxshmem-queue-{}", std::process::id());
        let listener = listen(name.as_bytes()).expect("a fresh name");
        crate::sockets::let_wait(listener.as_fd(), 0).expect("the queue is shorter now");
        let _first = connect(name.as_bytes()).expect("there is room for one");
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(move || {
                // SAFETY: the call takes no arguments.
                tell.send(unsafe { libc::pthread_self() }).expect("the test waits for it");
                connect(name.as_bytes())
            });
            let thread = told.recv().expect("it says so first");
            while !second.is_finished() && SEEN.load(Relaxed) < 20 {
                // SAFETY: the thread has not been joined. One that has ended takes no signal.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
                std::thread::sleep(Duration::from_millis(1));
            }
            listener.accept().expect("the first has come");
            second.join().expect("no panic").expect("connected");
        });
    }

    #[test]
    fn broken_parcels_are_errors() {
        for bytes in [
            &[][..],
            &[0xff; 16],
            &[3; 7],
            &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 7],
            &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ] {
            let (mut here, there) = UnixStream::pair().expect("a pair");
            here.write_all(bytes).expect("room for a few bytes");
            drop(here);
            assert!(receive(&there).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_name_connects_and_the_peer_is_known() {
        let name = format!("oxshmem-test-{}", std::process::id());
        let listener = listen(name.as_bytes()).expect("a fresh name");
        assert!(listen(name.as_bytes()).is_err());
        let here = connect(name.as_bytes()).expect("listening");
        let (there, _) = listener.accept().expect("connected");
        assert_eq!(peer_uid(&there).expect("a socket"), own_uid());
        assert_eq!(peer_pid(&there).expect("a socket"), Some(std::process::id()));
        send(&here, b"hello", &[listener.as_fd()]).expect("sent");
        assert_eq!(receive(&there).expect("received").0, b"hello");
        drop((listener, there));
        // The descriptor that travelled was closed with the parcel. A child that another test starts has a copy until it executes.
        let begun = Instant::now();
        while let Err(error) = listen(name.as_bytes()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the name stays in use: {error}");
        }
    }
}
