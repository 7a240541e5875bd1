//! Local sockets with names that no file has: datagrams between endpoints.

use std::ffi::c_int;
use std::mem::zeroed;

/// The purpose of an endpoint's socket.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Messages of peers.
    Messages,
    /// Commands for the card.
    Commands,
    /// Answers of peers' cards.
    Answers,
}

/// The name of an endpoint: its process, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct EndName {
    pub(crate) process: u64,
    pub(crate) number: u64,
}

/// How a datagram went.
#[derive(PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    /// There is no room now.
    Later,
    /// Nobody has the name any more.
    Gone,
}

fn address(name: EndName, purpose: Purpose) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: zero is a value of every member.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let text = format!("\0oxshmem-persona-{}-{}-{}", purpose as u8, name.process, name.number);
    for (place, byte) in address.sun_path.iter_mut().zip(text.bytes()) {
        *place = byte as libc::c_char;
    }
    (address, (size_of::<libc::sa_family_t>() + text.len()) as libc::socklen_t)
}

/// A socket of an endpoint.
pub(crate) struct EndSocket(c_int);

impl EndSocket {
    pub(crate) fn open(name: EndName, purpose: Purpose) -> Self {
        let (address, length) = address(name, purpose);
        // SAFETY: system calls with numbers, and an address that lives during the call.
        unsafe {
            let socket = libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
            assert_eq!(libc::bind(socket, (&raw const address).cast(), length), 0, "the endpoint's name is taken");
            Self(socket)
        }
    }

    pub(crate) fn send(&self, to: EndName, purpose: Purpose, bytes: &[u8]) -> Sent {
        let (address, length) = address(to, purpose);
        // SAFETY: the bytes and the address live during the call.
        let sent = unsafe {
            libc::sendto(
                self.0,
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
                (&raw const address).cast(),
                length,
            )
        };
        match std::io::Error::last_os_error().raw_os_error() {
            _ if sent >= 0 => Sent::Yes,
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Sent::Later,
            _ => Sent::Gone,
        }
    }

    /// The next datagram, in front of `room`.
    pub(crate) fn receive<'r>(&self, room: &'r mut [u8]) -> Option<&'r [u8]> {
        // SAFETY: the room is as long as it says.
        let came = unsafe { libc::recv(self.0, room.as_mut_ptr().cast(), room.len(), libc::MSG_TRUNC) };
        if came > room.len() as isize {
            crate::broken(&format!("{came} bytes were sent where {} are awaited", room.len()));
        }
        (came >= 0).then(|| &room[..came as usize])
    }

    /// Sleeps until a datagram is there, or for so many milliseconds; a negative number is for ever.
    pub(crate) fn sleep(&self, milliseconds: c_int) {
        let mut poll = libc::pollfd { fd: self.0, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives during the call.
        unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
    }
}

impl Drop for EndSocket {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.0) };
    }
}
