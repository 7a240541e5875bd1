//! TCP without pauses to peers on this host.
//!
//! Some hosts control congestion by pacing (BBR), and the timer of each pause costs more than the message behind it: a put of 1 MiB over
//! loopback took 137 us with BBR and 84 with Reno, which does not pace. Two PEs that send to each other by BBR get out of step besides,
//! and then one sends at a third of the speed. Connections that leave the host keep what its administrator has chosen.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

/// Has the kernel send without pauses on this socket. A number that is no TCP socket is an error.
pub fn send_unpaced(socket: RawFd) -> io::Result<()> {
    // Every Linux has it, and lets every user choose it.
    let name = b"reno";
    let length = name.len() as libc::socklen_t;
    // SAFETY: the name lives during the call and has the length that is told. The kernel checks the number.
    unsafe { syscall!(setsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length)) }?;
    Ok(())
}

/// [`send_unpaced`] on those connections of this process that stay on this host and are `wanted`, by their own address and the peer's. It is
/// for connections that a library has made, which does not say under which numbers. A number that another thread closes and opens again
/// meanwhile may stand for another socket: if that is one of TCP, it is not paced either.
pub fn send_unpaced_where(wanted: impl Fn(SocketAddr, SocketAddr) -> bool) {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    for number in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        // Most descriptors are no sockets, and one call of the kernel tells that.
        let ends = own_address(number).and_then(|own| Some((own, peer_address(number)?)));
        if ends.is_some_and(|(own, peer)| own.ip() == peer.ip() && wanted(own, peer)) {
            // One that stays paced is slower, and no more than that.
            let _ = send_unpaced(number);
        }
    }
}

fn own_address(socket: RawFd) -> Option<SocketAddr> {
    // SAFETY: `address_by` gives a place for an address, and for its length, which live during the call.
    address_by(|place, length| unsafe { syscall!(getsockname(socket, place, length)) })
}

fn peer_address(socket: RawFd) -> Option<SocketAddr> {
    // SAFETY: `address_by` gives a place for an address, and for its length, which live during the call.
    address_by(|place, length| unsafe { syscall!(getpeername(socket, place, length)) })
}

/// The address that a call of the kernel writes.
fn address_by(
    call: impl FnOnce(*mut libc::sockaddr, *mut libc::socklen_t) -> io::Result<libc::c_int>,
) -> Option<SocketAddr> {
    let mut bytes = [0_u8; size_of::<libc::sockaddr_storage>()];
    let mut length = bytes.len() as libc::socklen_t;
    call(bytes.as_mut_ptr().cast(), &raw mut length).ok()?;
    socket_address(bytes.get(..length as usize)?)
}

/// The IP address and the port of the kernel's form of an address (`sockaddr`).
pub fn socket_address(bytes: &[u8]) -> Option<SocketAddr> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let ip = match libc::c_int::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => Ipv4Addr::from(*rest.first_chunk::<4>()?).into(),
        // The flow lies before it.
        libc::AF_INET6 => Ipv6Addr::from(*rest.get(4..)?.first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    fn congestion_control(socket: &TcpStream) -> String {
        let (mut name, mut length) = ([0_u8; 16], 16);
        // SAFETY: the name has as many bytes as the length says.
        unsafe {
            let (socket, name) = (socket.as_raw_fd(), name.as_mut_ptr().cast());
            syscall!(getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, &raw mut length))
        }
        .expect("it is a TCP socket");
        String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned()
    }

    /// Chooses another control of congestion, if the host has one, because its own choice may be Reno. Returns the one that it is.
    fn with_another_control(socket: &TcpStream) -> String {
        let name = b"cubic";
        let length = name.len() as libc::socklen_t;
        // SAFETY: the name lives during the call.
        let _ = unsafe {
            let socket = socket.as_raw_fd();
            syscall!(setsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length))
        };
        congestion_control(socket)
    }

    #[test]
    fn only_connections_that_are_wanted_change() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("bound");
        let pair = || {
            let made = TcpStream::connect(address).expect("it listens");
            (made, listener.accept().expect("one has come").0)
        };
        let (wanted, accepted) = pair();
        let (other, _kept) = pair();
        let before = [&accepted, &other].map(with_another_control);
        let own = wanted.local_addr().expect("connected");
        send_unpaced_where(|mine, theirs| mine == own && theirs == address);
        assert_eq!(congestion_control(&wanted), "reno");
        assert_eq!([&accepted, &other].map(congestion_control), before);
        send_unpaced_where(|mine, theirs| mine == address && theirs == own);
        assert_eq!(congestion_control(&accepted), "reno");
        assert_eq!(congestion_control(&other), before[1]);
    }

    #[test]
    fn addresses_are_read_from_the_kernels_form() {
        let four = [2, 0, 0x11, 0x5c, 127, 0, 0, 1, 9, 9];
        assert_eq!(socket_address(&four), "127.0.0.1:4444".parse().ok());
        let mut six = [0; 28];
        six[..4].copy_from_slice(&[10, 0, 0, 80]);
        six[23] = 1;
        assert_eq!(socket_address(&six), "[::1]:80".parse().ok());
        assert_eq!([&four[..7], &six[..23], b"\x01\0/run/x", b""].map(socket_address), [None; 4]);
    }
}
