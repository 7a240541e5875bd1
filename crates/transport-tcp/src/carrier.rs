//! The carrier of a link: no connection, an attempt at one, or a connection. The carrier makes connections and loses them; the
//! link above it has the session that outlives them, and hears from the carrier what has become of each attempt.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use mio::net::TcpStream;
use oxshmem_base::Error;
use oxshmem_os::sockets::PollEntry;

use crate::attempt::{Answer, Attempt, Untried};
use crate::connection::{Connection, Received};
use crate::local::LocalPe;
use crate::proto::handshake::{Acceptor, Route, Standing, Verdict};
use crate::proto::{Host, Session};
use crate::unreachable;

/// So long may the first round through all addresses take; each further round takes twice as long, up to the longest.
const ROUNDS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));

/// The connection of one link, and what became of those before it.
pub(crate) struct Carrier {
    /// From this PE to the other, and over which rail.
    pub(crate) route: Route,
    token: usize,
    state: CarrierState,
    established: u64,
    /// Rounds through all addresses since there was a connection.
    rounds: u32,
    /// All addresses refused the last attempt.
    refused: bool,
    /// The connection has broken while nobody owed anything: it is made again, so that a dead peer is noticed.
    lapsed: bool,
    /// The socket took no more.
    blocked: bool,
    /// How the last connection ended, and the attempts since.
    history: Vec<String>,
    /// Of the last connection; before the first one, where it was tried first.
    address: Option<SocketAddr>,
}

enum CarrierState {
    Down,
    Connecting(Box<Attempt>),
    Up(Box<Connection>),
    /// The peer has left the job.
    Left,
}

/// A connection that both sides have agreed on, and the last frame of ours that the peer has executed.
pub(crate) type Agreement = (Box<Connection>, u64);

impl Carrier {
    pub(crate) fn new(route: Route, token: usize) -> Self {
        Self {
            route,
            token,
            state: CarrierState::Down,
            established: 0,
            rounds: 0,
            refused: false,
            lapsed: false,
            blocked: false,
            history: Vec::new(),
            address: None,
        }
    }

    /// Whether there is neither a connection nor an attempt at one.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, CarrierState::Down | CarrierState::Left)
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, CarrierState::Down)
    }

    pub(crate) fn is_connecting(&self) -> bool {
        matches!(self.state, CarrierState::Connecting(_))
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state, CarrierState::Up(_))
    }

    pub(crate) fn has_left(&self) -> bool {
        matches!(self.state, CarrierState::Left)
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    pub(crate) fn has_lapsed(&self) -> bool {
        self.lapsed
    }

    /// Whether the socket took no more when something was sent last.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// The socket is to be tried again.
    pub(crate) fn unblock(&mut self) {
        self.blocked = false;
    }

    /// Whether a long frame has begun to come and has not ended.
    pub(crate) fn is_in_the_middle(&self) -> bool {
        matches!(&self.state, CarrierState::Up(connection) if connection.is_in_the_middle())
    }

    /// The socket, and what to wait for there.
    pub(crate) fn socket(&self) -> Option<PollEntry> {
        let (descriptor, writes) = match &self.state {
            CarrierState::Up(connection) => (connection.socket(), self.blocked),
            CarrierState::Connecting(attempt) => (attempt.socket(), attempt.is_speaking()),
            CarrierState::Down | CarrierState::Left => return None,
        };
        Some(PollEntry { descriptor, writes })
    }

    /// Has callers told of the socket, if there is one.
    pub(crate) fn watch(&self, local: &LocalPe) -> io::Result<()> {
        self.socket().map_or(Ok(()), |socket| local.watched.add(socket.descriptor, self.token))
    }

    /// Begins to make a connection, now that it is needed.
    pub(crate) fn raise(&mut self, local: &LocalPe) -> Result<(), Error> {
        if self.has_left() {
            return Err(self.lost(local, "it has ended"));
        }
        let mut addresses = local.addresses.candidates(self.route.to, self.route.rail)?;
        // The address that worked before is tried first.
        addresses.sort_by_key(|address| self.address.is_some_and(|known| known.ip() != address.at.ip()));
        self.address = self.address.or(addresses.first().map(|address| address.at));
        let round = ROUNDS.0.saturating_mul(1 << self.rounds.min(8)).min(ROUNDS.1);
        self.rounds += 1;
        let answer = round / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        self.attempt(local, Untried { addresses: addresses.into(), answer, refusals: true });
        Ok(())
    }

    fn attempt(&mut self, local: &LocalPe, untried: Untried) {
        let history = &mut self.history;
        match Attempt::start(local, self.route, self.token, untried, |why| remember(history, why)) {
            Ok(attempt) => self.state = CarrierState::Connecting(Box::new(attempt)),
            Err(refused) => (self.state, self.refused) = (CarrierState::Down, refused),
        }
    }

    fn standing(&self, executed: u64) -> Standing {
        Standing { established: self.established, executed }
    }

    /// Moves the attempt on, if there is one. `executed`: the last frame of the peer that this side has executed.
    pub(crate) fn advance(&mut self, local: &LocalPe, executed: u64) -> Result<Option<Agreement>, Error> {
        let standing = self.standing(executed);
        let CarrierState::Connecting(attempt) = &mut self.state else { return Ok(None) };
        match attempt.advance(standing) {
            Answer::Open => Ok(None),
            Answer::Differs => Err(unreachable::differs(local, self.route.to)),
            Answer::Decided(verdict, peer) => Ok(self.decided(local, verdict, peer)),
            Answer::Failed(why, untried) => {
                remember(&mut self.history, why);
                self.attempt(local, untried);
                Ok(None)
            }
        }
    }

    fn decided(&mut self, local: &LocalPe, verdict: Verdict, peer: Standing) -> Option<Agreement> {
        let CarrierState::Connecting(attempt) = std::mem::replace(&mut self.state, CarrierState::Down) else {
            return None;
        };
        match verdict {
            Verdict::Accepted => {
                let (stream, address, seals) = attempt.into_parts();
                (self.address, self.established) = (Some(address.at), peer.established);
                return Some((Box::new(Connection::new(stream, seals, local.give_up)), peer.executed));
            }
            Verdict::Wait => {
                remember(&mut self.history, format!("{}: its own attempt goes first", attempt.address()));
            }
            Verdict::Stale => self.established = self.established.max(peer.established),
        }
        None
    }

    /// An initiator has proven itself: its connection is taken or refused. When both sides try at once, the attempt of the
    /// lower PE number is kept.
    pub(crate) fn adopt(
        &mut self,
        local: &LocalPe,
        mut stream: TcpStream,
        mut acceptor: Acceptor,
        peer: Standing,
        executed: u64,
    ) -> Option<Agreement> {
        let mine_goes_first = self.is_connecting() && self.route.from < self.route.to;
        let mut standing = self.standing(executed);
        let verdict = if mine_goes_first {
            Verdict::Wait
        } else if peer.established < self.established {
            Verdict::Stale
        } else {
            self.state = CarrierState::Down;
            standing.established = peer.established + 1;
            Verdict::Accepted
        };
        // So few bytes always fit into the buffer of a new socket.
        let said = stream.write_all(&acceptor.welcome(verdict, standing));
        if verdict != Verdict::Accepted || said.is_err() {
            return None;
        }
        self.address =
            stream.peer_addr().ok().map(|address| SocketAddr::new(address.ip().to_canonical(), address.port()));
        if let Err(e) = local.watched.add(stream.as_raw_fd(), self.token) {
            self.cut(&e.to_string());
            return None;
        }
        self.established = standing.established;
        Some((Box::new(Connection::new(stream, acceptor.seals(), local.give_up)), peer.executed))
    }

    /// The session goes on over this connection.
    pub(crate) fn carry(&mut self, connection: Box<Connection>) {
        tracing::debug!(route = ?self.route, address = ?self.address, times = self.established, "connected");
        self.state = CarrierState::Up(connection);
        (self.rounds, self.refused, self.blocked, self.lapsed) = (0, false, false, false);
        self.history.clear();
    }

    /// Sends what the socket takes.
    pub(crate) fn flush(&mut self, session: &mut Session) {
        let CarrierState::Up(connection) = &mut self.state else { return };
        match connection.flush(session) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.blocked = true,
            Err(e) => self.cut(&e.to_string()),
        }
    }

    /// Reads and executes what has come.
    pub(crate) fn receive(&mut self, session: &mut Session, host: &mut impl Host) -> Received {
        match &mut self.state {
            CarrierState::Up(connection) => connection.receive(session, host),
            _ => Received::default(),
        }
    }

    /// The connection is no more; the session goes on over the next one.
    pub(crate) fn cut(&mut self, why: &str) {
        let address = match &self.state {
            CarrierState::Connecting(attempt) => format!("{}: ", attempt.address()),
            _ => self.address.map_or_else(String::new, |address| format!("{address}: ")),
        };
        tracing::debug!(route = ?self.route, "cut: {address}{why}");
        self.state = CarrierState::Down;
        self.blocked = false;
        self.lapsed = true;
        if self.established > 0 {
            self.history.clear();
        }
        remember(&mut self.history, format!("{address}{why}"));
    }

    /// The session is lost, and its connection with it.
    pub(crate) fn give_up(&mut self) {
        self.state = CarrierState::Down;
    }

    /// Drops the connection for good.
    pub(crate) fn hang_up(&mut self) {
        self.state = CarrierState::Left;
    }

    /// The error for a peer that is lost, for the reason `why`.
    pub(crate) fn lost(&self, local: &LocalPe, why: &str) -> Error {
        let pe = self.route.to;
        if self.established == 0 {
            return unreachable::explain(local, pe, why, &self.history);
        }
        let address = self.address.map_or_else(|| "no address".into(), |address| address.to_string());
        Error::new(format!("PE {pe} at {address} is lost"))
            .because(format!("{why}; {}", self.history.join("; ")))
            .fix("look at that PE's output and host; SHMEM_TCP_INTERFACE chooses the network, SHMEM_PEER_TIMEOUT the patience")
    }
}

/// The latest attempts are enough for a message.
fn remember(history: &mut Vec<String>, why: String) {
    if !history.contains(&why) {
        history.push(why);
    }
    if history.len() > 8 {
        history.remove(0);
    }
}
