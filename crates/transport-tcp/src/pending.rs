//! Connections whose other side has not proven that it belongs to the job: sockets and handshakes. Which of them stay is decided by
//! `proto::admission`. None of them can make this PE keep more than one message of the handshake.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use parking_lot::Mutex;

use crate::local::LocalPe;
use crate::proto::admission::Admission;
use crate::proto::handshake::{Acceptor, HandshakeStep, LONGEST, Route, Standing};
use crate::watch::FIRST_PENDING;

/// Connections that are accepted in one turn. The others wait in the kernel's backlog for the next one.
const AT_A_TIME: usize = 64;

/// Why a PE of the job was sent away.
const DIFFERS: &str = "only one side has SHMEM_TCP_ENCRYPT set";

/// The listener and its pending connections.
pub(crate) struct PendingConnections {
    /// None: the fabric is closed.
    listener: Mutex<Option<TcpListener>>,
    /// The addresses at which others are heard; none: all.
    named: Vec<IpAddr>,
    waiting: Mutex<Newcomers>,
    start: Instant,
    /// Strangers that were sent away, and why the last one was.
    rejected: AtomicU64,
    reason: Mutex<String>,
}

struct Newcomers {
    /// By token.
    here: BTreeMap<usize, Unproven>,
    admission: Admission,
    count: usize,
}

/// The end of a handshake with a PE of the job.
pub(crate) enum Arrival {
    /// It has proven itself, and may become a link.
    Proven(Box<Proven>),
    /// Only one side encrypts. It has been told.
    Differs(Route),
    /// The other side has closed the connection behind its hello, for this reason.
    Closed(Route, String),
}

/// A connection whose other side has proven itself.
pub(crate) struct Proven {
    pub(crate) stream: TcpStream,
    pub(crate) acceptor: Acceptor,
    pub(crate) route: Route,
    pub(crate) standing: Standing,
}

struct Unproven {
    stream: TcpStream,
    acceptor: Acceptor,
}

/// Whether an error of `accept` is one of the new connection, which is gone, and not one of this PE.
fn is_of_connection(error: &io::Error) -> bool {
    use libc::{
        ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENONET, ENOPROTOOPT, EOPNOTSUPP, EPERM, EPROTO,
    };
    const OF_CONNECTIONS: [i32; 10] =
        [ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENONET, ENOPROTOOPT, EOPNOTSUPP, EPERM, EPROTO];
    error.raw_os_error().is_some_and(|number| OF_CONNECTIONS.contains(&number))
}

impl PendingConnections {
    /// A handshake may take `patience` behind its hello. `named`: the addresses that the user wants, where the listener has more.
    pub(crate) fn new(listener: TcpListener, named: Vec<IpAddr>, patience: Duration) -> Self {
        let newcomers = Newcomers { here: BTreeMap::new(), admission: Admission::new(patience), count: 0 };
        Self {
            listener: Mutex::new(Some(listener)),
            named,
            waiting: Mutex::new(newcomers),
            start: Instant::now(),
            rejected: AtomicU64::new(0),
            reason: Mutex::default(),
        }
    }

    /// The listener's socket; `None`: it is closed.
    pub(crate) fn socket(&self) -> Option<RawFd> {
        self.listener.lock().as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Nobody is heard any more, and another life may listen at the port.
    pub(crate) fn close(&self) {
        *self.listener.lock() = None;
        self.waiting.lock().here.clear();
    }

    /// Accepts new connections, and hears what they have said already. Handshakes that have ended go to `settle`. Returns whether
    /// there may be more to accept at once.
    pub(crate) fn accept_some(&self, local: &LocalPe, mut settle: impl FnMut(Arrival)) -> bool {
        for _ in 0..AT_A_TIME {
            let Some(accepted) = self.listener.lock().as_ref().map(TcpListener::accept) else { return false };
            let stream = match accepted {
                Ok((stream, _)) if stream.local_addr().is_ok_and(|at| is_heard(&self.named, at)) => stream,
                Ok(_) => {
                    self.reject("it came to an address that SHMEM_TCP_INTERFACE does not name");
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                Err(e) if is_of_connection(&e) => continue,
                Err(e) => {
                    // Without descriptors the connection stays in the backlog, and the next look at the clock tries again. A
                    // stranger's descriptor may be all that is missing.
                    tracing::debug!("no connection can be accepted: {e}");
                    return self.displace("its descriptor was needed");
                }
            };
            let Ok(nonce) = local.nonce() else { return false };
            let acceptor = Acceptor::new(&local.credentials, local.me, nonce);
            let token = self.enter(Unproven { stream, acceptor });
            // Most have said hello by now.
            if let Some(arrival) = self.hear(token) {
                settle(arrival);
            }
            let mut waiting = self.waiting.lock();
            let Some(Unproven { stream, .. }) = waiting.here.get(&token) else { continue };
            // A connection that comes before this makes an event too.
            if let Err(e) = local.watched.add(stream.as_raw_fd(), token) {
                waiting.end(token);
                self.reject(&e.to_string());
            }
        }
        true
    }

    /// A connection has been accepted. Returns its token.
    fn enter(&self, connection: Unproven) -> usize {
        let mut waiting = self.waiting.lock();
        let token = FIRST_PENDING + waiting.count;
        waiting.count += 1;
        waiting.here.insert(token, connection);
        if let Some(displaced) = waiting.admission.accept(token, self.start.elapsed()) {
            waiting.here.remove(&displaced);
            self.reject("too many new connections at once");
        }
        token
    }

    /// Sends the oldest silent connection away. Returns whether there was one.
    fn displace(&self, why: &str) -> bool {
        let mut waiting = self.waiting.lock();
        let displaced = waiting.admission.displace();
        if let Some(token) = displaced {
            waiting.here.remove(&token);
            self.reject(why);
        }
        displaced.is_some()
    }

    /// Reads the handshake of a connection, until it has arrived or is sent away.
    pub(crate) fn hear(&self, token: usize) -> Option<Arrival> {
        let mut waiting = self.waiting.lock();
        let connection = waiting.here.get_mut(&token)?;
        let step = connection.hear();
        let route = connection.acceptor.route();
        match step {
            Ok(HandshakeStep::Proven(route, standing)) => {
                let Unproven { stream, acceptor } = waiting.end(token)?;
                return Some(Arrival::Proven(Box::new(Proven { stream, acceptor, route, standing })));
            }
            Ok(HandshakeStep::Refused(_, route)) => {
                waiting.end(token);
                self.reject(DIFFERS);
                return Some(Arrival::Differs(route));
            }
            Ok(_) => {
                if route.is_some_and(|route| !waiting.admission.greet(token, route)) {
                    waiting.end(token);
                    self.reject("it repeats the hello of a PE");
                }
            }
            Err(e) => {
                waiting.end(token);
                if let Some(route) = route.filter(|_| is_closed(&e)) {
                    return Some(Arrival::Closed(route, e.to_string()));
                }
                self.reject(&e.to_string());
            }
        }
        None
    }

    /// Sends away connections that have been here too long. Returns whether one is left.
    pub(crate) fn look(&self, local: &LocalPe, settle: impl FnMut(Arrival)) -> bool {
        // A connection that could not be accepted for lack of descriptors makes no second event.
        let more = self.accept_some(local, settle);
        let mut waiting = self.waiting.lock();
        for token in waiting.admission.expire(self.start.elapsed()) {
            waiting.here.remove(&token);
            self.reject("it said nothing useful in time");
        }
        more || !waiting.admission.is_empty()
    }

    /// How many were sent away, and why the last one was.
    pub(crate) fn rejected(&self) -> (u64, String) {
        let reason = self.reason.lock().clone();
        (self.rejected.load(Ordering::Relaxed), reason)
    }

    /// Counts a stranger that is sent away.
    pub(crate) fn reject(&self, why: &str) {
        tracing::debug!("a stranger was sent away: {why}");
        self.rejected.fetch_add(1, Ordering::Relaxed);
        why.clone_into(&mut self.reason.lock());
    }
}

/// Whether a connection is heard that has come to this address. No connection comes from another host by loopback,
/// which PEs of one host try first.
fn is_heard(named: &[IpAddr], at: SocketAddr) -> bool {
    let ip = at.ip().to_canonical();
    named.is_empty() || ip.is_loopback() || named.contains(&ip)
}

/// Whether the other side has closed the connection.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), ConnectionReset | UnexpectedEof | BrokenPipe)
}

impl Newcomers {
    /// A connection has arrived or is sent away.
    fn end(&mut self, token: usize) -> Option<Unproven> {
        self.admission.end(token);
        self.here.remove(&token)
    }
}

impl Unproven {
    fn hear(&mut self) -> io::Result<HandshakeStep> {
        loop {
            let mut bytes = [0; LONGEST];
            let n = match self.stream.read(&mut bytes[..self.acceptor.room()]) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up")),
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(HandshakeStep::More),
                Err(e) => return Err(e),
            };
            let step = self.acceptor.hear(&bytes[..n]);
            match step.map_err(|garbage| io::Error::new(io::ErrorKind::InvalidData, garbage.0))? {
                HandshakeStep::More => {}
                HandshakeStep::Say(challenge) => self.stream.write_all(&challenge)?,
                HandshakeStep::Refused(refusal, route) => {
                    // A peer that is gone already needs no reason.
                    let _ = self.stream.write_all(&refusal);
                    return Ok(HandshakeStep::Refused(refusal, route));
                }
                step => return Ok(step),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_fabric_leaves_its_port() {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port is free");
        let at = listener.local_addr().expect("it is bound");
        let pending = PendingConnections::new(listener, Vec::new(), Duration::from_secs(1));
        assert!(pending.socket().is_some() && std::net::TcpListener::bind(at).is_err());
        pending.close();
        assert!(pending.socket().is_none() && std::net::TcpListener::bind(at).is_ok());
    }

    #[test]
    fn errors_of_new_connections_are_no_errors_of_this_pe() {
        let of_connection = |number| is_of_connection(&io::Error::from_raw_os_error(number));
        assert!([libc::ECONNABORTED, libc::EPROTO, libc::EPERM].into_iter().all(of_connection));
        assert!(![libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EINVAL].into_iter().any(of_connection));
    }

    #[test]
    fn connections_are_heard_at_the_addresses_that_the_user_names() {
        let named: Vec<IpAddr> = ["10.0.0.5", "2001:db8::5"].map(|ip| ip.parse().expect("an address")).to_vec();
        let heard = |named: &[IpAddr], at: &str| is_heard(named, at.parse().expect("an address and a port"));
        for at in ["10.0.0.5:7", "[::ffff:10.0.0.5]:7", "[2001:db8::5]:7", "127.0.0.1:7", "[::1]:7"] {
            assert!(heard(&named, at), "{at}");
        }
        for at in ["192.0.2.1:7", "[::ffff:192.0.2.1]:7", "[2001:db8::6]:7"] {
            assert!(!heard(&named, at) && heard(&[], at), "{at}");
        }
    }
}
