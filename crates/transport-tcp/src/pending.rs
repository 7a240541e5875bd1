//! Connections whose other side has not proven that it belongs to the job. Few may wait, not for long, and none of them
//! can make this PE keep more than one message of the handshake.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use parking_lot::Mutex;

use crate::local::LocalPe;
use crate::proto::handshake::{Acceptor, HandshakeStep, LONGEST, Route, Standing};
use crate::watch::FIRST_PENDING;

/// So many may wait; a further one displaces the oldest.
const MOST: usize = 128;
/// So long may one wait.
const STAY: Duration = Duration::from_secs(2);

/// Why a PE of the job was sent away.
const DIFFERS: &str = "only one side has SHMEM_TCP_ENCRYPT set";

/// The listener and its pending connections.
pub(crate) struct PendingConnections {
    listener: TcpListener,
    /// By token: the oldest first.
    waiting: Mutex<Newcomers>,
    /// Strangers that were sent away, and why the last one was.
    rejected: AtomicU64,
    reason: Mutex<String>,
}

#[derive(Default)]
struct Newcomers {
    here: BTreeMap<usize, Unproven>,
    count: usize,
}

/// The end of a handshake with a PE of the job.
pub(crate) enum Arrival {
    /// It has proven itself, and may become a link.
    Proven(Box<Proven>),
    /// Only one side encrypts. It has been told.
    Differs(Route),
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
    since: Instant,
}

impl PendingConnections {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, waiting: Mutex::default(), rejected: AtomicU64::new(0), reason: Mutex::default() }
    }

    pub(crate) fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Accepts all new connections.
    pub(crate) fn accept_all(&self, local: &LocalPe) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // No descriptors, or gone again: whoever it was tries again.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(e) => return self.reject(&e.to_string()),
            };
            let Ok(nonce) = local.nonce() else { return };
            let acceptor = Acceptor::new(&local.credentials, local.me, nonce);
            let mut waiting = self.waiting();
            let token = FIRST_PENDING + waiting.count;
            waiting.count += 1;
            if stream.set_nodelay(true).and_then(|()| local.watched.add(stream.as_raw_fd(), token)).is_ok() {
                waiting.here.insert(token, Unproven { stream, acceptor, since: Instant::now() });
            }
            if waiting.here.len() > MOST {
                waiting.here.pop_first();
                self.reject("too many new connections at once");
            }
        }
    }

    /// Reads the handshake of a connection, until it has arrived or is sent away.
    pub(crate) fn hear(&self, token: usize) -> Option<Arrival> {
        let mut waiting = self.waiting();
        match waiting.here.get_mut(&token)?.hear() {
            Ok(HandshakeStep::Proven(route, standing)) => {
                let Unproven { stream, acceptor, .. } = waiting.here.remove(&token)?;
                Some(Arrival::Proven(Box::new(Proven { stream, acceptor, route, standing })))
            }
            Ok(HandshakeStep::Refused(_, route)) => {
                waiting.here.remove(&token);
                self.reject(DIFFERS);
                Some(Arrival::Differs(route))
            }
            Ok(_) => None,
            Err(e) => {
                waiting.here.remove(&token);
                self.reject(&e.to_string());
                None
            }
        }
    }

    /// Sends away connections that have been here too long. Returns whether one is left.
    pub(crate) fn look(&self, local: &LocalPe) -> bool {
        // A connection that could not be accepted for lack of descriptors makes no second event.
        self.accept_all(local);
        let mut waiting = self.waiting();
        while waiting.here.first_key_value().is_some_and(|(_, connection)| connection.since.elapsed() > STAY) {
            waiting.here.pop_first();
            self.reject("it said nothing useful in time");
        }
        !waiting.here.is_empty()
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

    fn waiting(&self) -> parking_lot::MutexGuard<'_, Newcomers> {
        self.waiting.lock()
    }
}

impl Unproven {
    fn hear(&mut self) -> io::Result<HandshakeStep> {
        loop {
            let mut bytes = [0; LONGEST];
            let n = match self.stream.read(&mut bytes[..self.acceptor.room()]) {
                Ok(0) => return Err(io::Error::other("it hung up")),
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
