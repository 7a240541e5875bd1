//! The socket at which this PE accepts connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use mio::net::TcpListener;
use oxshmem_base::Error;
use oxshmem_os::sockets;
use oxshmem_transport::Participant;

use crate::address::PeAddress;
use crate::interfaces;

/// Connections of strangers that may wait in the kernel beside one of each PE.
const BACKLOG: u32 = 1024;

/// One listener for all addresses of this PE.
pub(crate) struct PeListener {
    pub(crate) listener: TcpListener,
    /// The addresses at which others are heard; none: all.
    pub(crate) named: Vec<IpAddr>,
    /// Where peers find it.
    pub(crate) own: PeAddress,
}

impl PeListener {
    /// Listens where peers can reach this PE. `one_host`: all PEs are on this host.
    pub(crate) fn open(participant: &Participant<'_>, rails: u16, one_host: bool) -> Result<Self, Error> {
        let Participant { pes, settings, reached, .. } = *participant;
        let interface = settings.tcp_interface.as_deref();
        let loopback = one_host && interface.is_none();
        let addresses = interfaces::published(interface, reached, loopback)?;
        let only = ((interface.is_some() || loopback) && addresses.len() == 1).then(|| addresses[0].ip);
        let listener = listen(only, settings.tcp_ports)?;
        // Where the user wants some of the addresses, the listener does not hear what comes to others.
        let several = interface.is_some() && only.is_none();
        let named = if several { addresses.iter().map(|address| address.ip).collect() } else { Vec::new() };
        // The kernel drops what comes beyond 128, which is what std and mio ask for, and a dropped connection is tried again
        // after a second, then three, then seven. All PEs may come at once, and strangers.
        sockets::let_wait(listener.as_fd(), pes.saturating_mul(rails.into()).saturating_add(BACKLOG))
            .map_err(|e| Error::new("TCP: connections cannot wait for the listener").because(e))?;
        let at = listener.local_addr().map_err(|e| Error::new("TCP: the listener has no address").because(e))?;
        let own = PeAddress { port: at.port(), name: interfaces::name(), host: interfaces::host(), addresses };
        Ok(Self { listener, named, own })
    }
}

/// The first port of the range that is free, or any.
fn listen(only: Option<IpAddr>, ports: Option<(u16, u16)>) -> Result<TcpListener, Error> {
    let (first, last) = ports.unwrap_or((0, 0));
    let mut refused = None;
    for port in first..=last {
        match listen_at(only, port) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = Some(error),
            Err(error) => return Err(Error::new(format!("TCP: no port to listen on ({port})")).because(error)),
        }
    }
    Err(none_free(ports, refused.as_ref()))
}

/// The error where all ports are in use; `last`: what the system says of the last one.
fn none_free(ports: Option<(u16, u16)>, last: Option<&io::Error>) -> Error {
    let why = last.map_or_else(String::new, |error| format!("; the last: {error}"));
    let host = interfaces::name();
    let Some((first, last)) = ports else {
        return Error::new(format!("TCP: no port is free on {host}"))
            .because(format!(
                "all that the system gives a process by itself (sysctl net.ipv4.ip_local_port_range) are in use{why}"
            ))
            .fix("name ports beyond these: SHMEM_TCP_PORTS=20000-20999; the firewall has to let them through");
    };
    let all = if first == last { "it is".into() } else { format!("all {} are", last - first + 1) };
    Error::new(format!("TCP: none of the ports SHMEM_TCP_PORTS={first}-{last} is free on {host}"))
        .because(format!("each PE of a host needs one, and {all} in use{why}"))
        .fix("name more ports; the firewall has to let them through")
}

/// Every address of the host, unless only one is wanted.
fn listen_at(only: Option<IpAddr>, port: u16) -> io::Result<TcpListener> {
    if let Some(ip) = only {
        return TcpListener::bind(SocketAddr::new(ip, port));
    }
    sockets::listen_everywhere(port).map(TcpListener::from_std).or_else(|error| match error.kind() {
        // Without this it would listen beside a process that has the port for IPv6 only.
        io::ErrorKind::AddrInUse => Err(error),
        _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_the_user_has_not_named_are_not_said_to_be_his() {
        let error = io::Error::from(io::ErrorKind::AddrInUse);
        let any = none_free(None, Some(&error)).to_string();
        assert!(any.contains("ip_local_port_range") && !any.contains("=0-0"), "{any}");
        let named = none_free(Some((7, 9)), Some(&error)).to_string();
        assert!(named.contains("SHMEM_TCP_PORTS=7-9 is free") && named.contains("all 3 are in use"), "{named}");
    }
}
