//! The carrier of a link: no connection, an attempt at one, or a connection. The carrier makes connections and loses them; the
//! link above it has the session that outlives them, and hears from the carrier what has become of each attempt.

mod crossing;

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::sockets::PollEntry;

use crate::attempt::{Answer, Attempt, Failure, NoAddress, Untried};
use crate::connection::{Connection, Received};
use crate::local::LocalPe;
use crate::permits::{Permit, PermitAnswer};
use crate::proto::handshake::{Route, Standing, Verdict};
use crate::proto::{Host, Session};
use crate::unreachable::{self, AddressOutcome, because};
use crate::watch::CLOSED_BY_PROGRAM;

/// The longest time of the first round through all addresses; each further round takes twice as long, up to the longest.
const ROUNDS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));

/// The connection of one link, and what became of those before it.
#[derive(Default)]
pub(crate) struct Carrier {
    /// From this PE to the other, and over which rail.
    pub(crate) route: Route,
    token: usize,
    state: CarrierState,
    established: u64,
    /// Rounds through all addresses since there was a connection.
    rounds: u32,
    /// All addresses refused the last attempt.
    pub(crate) refused: bool,
    /// The connection has broken while neither side owed anything: it is made again, so that a dead peer is noticed.
    pub(crate) lapsed: bool,
    /// The socket took no more when something was sent last.
    pub(crate) blocked: bool,
    /// The kernel could not reach memory of an operation, which no other connection can change.
    faulted: bool,
    garbage: RepeatedGarbage,
    /// How the last connection ended, and the attempts since.
    history: Vec<AddressOutcome>,
    /// Of the last connection; before the first one, where it was tried first.
    address: Option<SocketAddr>,
}

/// Garbage that the peer has sent in the place of its next frame, over one connection after the other.
#[derive(Default)]
struct RepeatedGarbage {
    /// The frames that were executed before.
    executed: u64,
    connections: u32,
    why: String,
}

/// Connections that end at the same frame before the peer is given up. What a cable does to a frame it does not do to the same one again.
/// Chosen.
const MOST_GARBAGE: u32 = 8;

#[derive(Default)]
enum CarrierState {
    #[default]
    Down,
    /// An attempt waits for its turn.
    Queued,
    Connecting(Box<Attempt>),
    Up(Box<Connection>),
    /// The peer has left the job.
    Left,
}

/// A connection that both sides have agreed on, and the last frame of ours that the peer has executed.
pub(crate) type Agreement = (Box<Connection>, u64);

pub(crate) enum AttemptState {
    /// Nothing new.
    None,
    /// The peer has answered.
    Heard,
    /// The peer has answered that it does not want this connection now.
    PutOff,
    Agreed(Agreement),
}

impl Carrier {
    pub(crate) fn new(route: Route, token: usize) -> Self {
        Self { route, token, ..Self::default() }
    }

    /// Whether there is neither a connection nor an attempt at one.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, CarrierState::Down | CarrierState::Left)
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, CarrierState::Down)
    }

    /// Whether an attempt waits for its turn.
    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.state, CarrierState::Queued)
    }

    /// Whether an attempt waits for a listener from which it has not heard, and there is no other address to try.
    pub(crate) fn has_asked(&self) -> bool {
        matches!(&self.state, CarrierState::Connecting(attempt) if attempt.has_asked())
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

    /// Whether a long frame has begun to come and has not ended.
    pub(crate) fn is_in_the_middle(&self) -> bool {
        matches!(&self.state, CarrierState::Up(connection) if connection.receiver.is_in_the_middle())
    }

    /// Whether a frame of whatever length has begun to come and has not ended.
    pub(crate) fn holds_a_part(&self) -> bool {
        matches!(&self.state, CarrierState::Up(connection) if connection.receiver.holds_a_part())
    }

    /// The socket, and what to wait for there.
    pub(crate) fn socket(&self) -> Option<PollEntry> {
        let (descriptor, writes) = match &self.state {
            CarrierState::Up(connection) => (connection.socket(), self.blocked),
            CarrierState::Connecting(attempt) => (attempt.socket(), attempt.is_speaking()),
            CarrierState::Down | CarrierState::Queued | CarrierState::Left => return None,
        };
        Some(PollEntry { descriptor, writes })
    }

    /// Has callers told of the socket, if there is one.
    pub(crate) fn watch(&self, local: &LocalPe) -> io::Result<()> {
        self.socket().map_or(Ok(()), |socket| local.watched.add(socket.descriptor, self.token))
    }

    /// Begins to make a connection, now that it is needed, or as soon as it may.
    pub(crate) fn raise(&mut self, local: &LocalPe) -> Result<(), Error> {
        if self.has_left() {
            return Err(self.lost(local, "it has ended"));
        }
        match local.permits.begin(self.token) {
            PermitAnswer::Granted(permit) => self.connect(local, permit),
            PermitAnswer::Queued { alone } => {
                self.state = CarrierState::Queued;
                if alone {
                    local.due.wake();
                }
                Ok(())
            }
        }
    }

    /// Begins to make a connection.
    pub(crate) fn connect(&mut self, local: &LocalPe, permit: Permit) -> Result<(), Error> {
        self.state = CarrierState::Down;
        let mut addresses = local.addresses.candidates(self.route.to, self.route.rail)?;
        // The address that worked before is tried first.
        addresses.sort_by_key(|address| self.address.is_some_and(|known| known.ip() != address.at.ip()));
        self.address = self.address.or(addresses.first().map(|address| address.at));
        let round = ROUNDS.0.saturating_mul(1 << self.rounds.min(8)).min(ROUNDS.1);
        self.rounds += 1;
        let answer = round / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let only = addresses.len() == 1;
        let addresses = addresses.into();
        self.attempt(local, Untried { addresses, answer, only, refusals: true, _permit: permit });
        Ok(())
    }

    fn attempt(&mut self, local: &LocalPe, untried: Untried) {
        let history = &mut self.history;
        match Attempt::start(local, self.route, self.token, untried, |address, why| remember(history, address, why)) {
            Ok(attempt) => self.state = CarrierState::Connecting(Box::new(attempt)),
            Err(NoAddress { all_refused }) => (self.state, self.refused) = (CarrierState::Down, all_refused),
        }
    }

    fn standing(&self, executed: u64) -> Standing {
        Standing { established: self.established, executed }
    }

    /// Moves the attempt on, if there is one. `executed`: the last frame of the peer that this side has executed.
    pub(crate) fn advance(&mut self, local: &LocalPe, executed: u64) -> Result<AttemptState, Error> {
        let standing = self.standing(executed);
        let CarrierState::Connecting(attempt) = &mut self.state else { return Ok(AttemptState::None) };
        match attempt.advance(standing) {
            Answer::Open { heard: false } => Ok(AttemptState::None),
            Answer::Open { heard: true } => Ok(AttemptState::Heard),
            Answer::Differs => Err(unreachable::differs(local, self.route.to)),
            Answer::Decided(verdict, peer) => Ok(self.decided(local, verdict, peer)),
            Answer::Failed(Failure { address, why }) => {
                remember(&mut self.history, &address, &why);
                if let CarrierState::Connecting(attempt) = mem::take(&mut self.state) {
                    self.attempt(local, attempt.untried);
                }
                Ok(AttemptState::None)
            }
        }
    }

    fn decided(&mut self, local: &LocalPe, verdict: Verdict, peer: Standing) -> AttemptState {
        let CarrierState::Connecting(attempt) = mem::take(&mut self.state) else {
            return AttemptState::None;
        };
        match verdict {
            Verdict::Accepted => {
                let (stream, address, seals) = attempt.into_parts();
                (self.address, self.established) = (Some(address.at), peer.established);
                let connection = Connection::new(stream, seals, local.probes(self.token));
                return AttemptState::Agreed((Box::new(connection), peer.executed));
            }
            Verdict::Wait => {
                remember(&mut self.history, &attempt.address.to_string(), "its own attempt goes first");
            }
            Verdict::Stale => self.established = self.established.max(peer.established),
        }
        AttemptState::PutOff
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
            Err(e) => self.broke(&e),
        }
    }

    /// Whether the peer has closed the connection, behind what it has said.
    pub(crate) fn note_end(&mut self, ends: bool) {
        if let CarrierState::Up(connection) = &mut self.state {
            connection.ends |= ends;
        }
    }

    /// Reads and executes what has come.
    pub(crate) fn receive(&mut self, session: &mut Session, host: &mut impl Host) -> Received {
        let CarrierState::Up(connection) = &mut self.state else { return Received::default() };
        let received = connection.receive(session, host);
        if let Some(error) = received.ended.as_ref().filter(|error| error.kind() == io::ErrorKind::InvalidData) {
            self.garbage.note(session.executed(), error);
        }
        received
    }

    /// Why no other connection to a peer of which so many frames have been executed can help, if none can.
    pub(crate) fn hopeless(&self, executed: u64) -> Option<Error> {
        let (pe, garbage) = (self.route.to, &self.garbage);
        if self.faulted {
            return Some(unreachable::faulted(pe));
        }
        let is_stuck = garbage.connections >= MOST_GARBAGE && garbage.executed == executed;
        is_stuck.then(|| unreachable::garbled(pe, executed, garbage.connections, &garbage.why))
    }

    /// The connection has ended with this error.
    pub(crate) fn broke(&mut self, error: &io::Error) {
        self.faulted |= error.raw_os_error() == Some(libc::EFAULT);
        self.cut(&error.to_string());
    }

    /// Nothing is heard over the connection, or of the attempt.
    pub(crate) fn cut_silent(&mut self) {
        let why = match &self.state {
            CarrierState::Connecting(attempt) => attempt.silence(),
            _ => "no answer",
        };
        self.cut(why);
    }

    /// The connection has ended; the session goes on over the next one.
    fn cut(&mut self, why: &str) {
        let address = match &self.state {
            CarrierState::Connecting(attempt) => attempt.address.to_string(),
            _ => self.address.map_or_else(String::new, |address| address.to_string()),
        };
        tracing::debug!(route = ?self.route, "cut: {address}: {why}");
        self.state = CarrierState::Down;
        self.blocked = false;
        self.lapsed = true;
        if self.established > 0 {
            self.history.clear();
        }
        remember(&mut self.history, &address, why);
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
        // EBADF and ENOTSOCK: the fault is here, and not the peer's.
        let is_closed_here = |outcome: &AddressOutcome| OF_CLOSED.iter().any(|error| outcome.why.contains(error));
        let fix = if self.history.iter().any(is_closed_here) {
            CLOSED_BY_PROGRAM
        } else {
            "look at that PE's output and host; SHMEM_TCP_INTERFACE chooses the network, SHMEM_PEER_TIMEOUT the patience"
        };
        Error::new(format!("PE {pe} at {address} is lost")).because(because(why, &self.history)).fix(fix)
    }
}

/// The ends of errors about a descriptor that is closed, or is another file now.
const OF_CLOSED: [&str; 2] = ["(os error 9)", "(os error 88)"];

impl RepeatedGarbage {
    /// A connection has ended with garbage behind so many frames.
    fn note(&mut self, executed: u64, error: &io::Error) {
        let before = if self.executed == executed { self.connections } else { 0 };
        *self = Self { executed, connections: before.saturating_add(1), why: error.to_string() };
    }
}

/// The last outcome of each address is enough for a message.
fn remember(history: &mut Vec<AddressOutcome>, address: &str, why: &str) {
    history.retain(|outcome| outcome.address != address);
    history.push(AddressOutcome { address: address.to_owned(), why: why.to_owned() });
    if history.len() > 8 {
        history.remove(0);
    }
}
