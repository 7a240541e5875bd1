//! The connection to one PE over one rail: made when first needed, replaced when cut, given up when it stays silent.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use oxshmem_base::Error;

use crate::open::Net;
use crate::proto::handshake::{Acceptor, Initiator, LONGEST, Route, Standing, Step, Verdict};
use crate::proto::patience::{Advice, Look, Patience};
use crate::proto::seal::Sealer;
use crate::proto::session::Ticket;
use crate::proto::{Endpoint, Garbage, Session};
use crate::region::Served;
use crate::socket;

/// Bytes read from one connection before others have their turn.
const TURN: usize = 1 << 20;
/// Executed frames that may go without acknowledgement while a caller polls, who may have something to send with it.
const UNTOLD: u64 = 8;
/// An address that does not answer for so long is left for the next one.
const ANSWER: Duration = Duration::from_secs(1);

/// One rail to one PE.
pub(crate) struct Link {
    pub(crate) pe: u32,
    rail: u16,
    pub(crate) token: usize,
    /// [`Session::reached`], for lanes. Stored with Release by whoever has executed the peer's answers, loaded with
    /// Acquire: who sees an operation complete sees what it fetched.
    frame: AtomicU64,
    fetch: AtomicU64,
    /// Set once, after the error is in the state.
    failed: AtomicBool,
    /// Something is to be sent that waits for company.
    due: AtomicBool,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) session: Session,
    wire: Wire,
    established: u64,
    patience: Patience,
    heard: bool,
    /// All addresses refused the last attempt.
    refused: bool,
    /// The socket took no more.
    blocked: bool,
    /// What became of the last connection and of the attempts since.
    history: Vec<String>,
    /// Of the last connection; before the first one, where it was tried first.
    address: Option<SocketAddr>,
    error: Option<Error>,
}

enum Wire {
    Down,
    Connecting(Box<Attempt>),
    Up(Box<Connection>),
    /// The peer has left the job.
    Left,
}

struct Attempt {
    stream: TcpStream,
    address: SocketAddr,
    rest: VecDeque<SocketAddr>,
    since: Instant,
    initiator: Initiator,
    /// What is to be said next.
    out: Vec<u8>,
    refusals: bool,
}

struct Connection {
    stream: TcpStream,
    endpoint: Endpoint,
    seal: Option<Sealing>,
}

/// Sealed frames on their way to the socket.
struct Sealing {
    sealer: Sealer,
    staged: Vec<u8>,
    sent: usize,
}

/// Whether somebody who serves may soon have something to say to the peer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manner {
    /// A caller: acknowledgements can wait for what it will send.
    Caller,
    /// The progress thread: nothing else will be sent.
    Alone,
}

impl Link {
    pub(crate) fn new(pe: u32, rail: u16, token: usize, limit: Duration) -> Self {
        let state = State {
            session: Session::default(),
            wire: Wire::Down,
            established: 0,
            patience: Patience::new(limit),
            heard: false,
            refused: false,
            blocked: false,
            history: Vec::new(),
            address: None,
            error: None,
        };
        let (frame, fetch) = (AtomicU64::new(0), AtomicU64::new(0));
        let (failed, due) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { pe, rail, token, frame, fetch, failed, due, state: Mutex::new(state) }
    }

    /// Whether the operation is complete.
    pub(crate) fn has_reached(&self, ticket: Ticket) -> bool {
        self.frame.load(Ordering::Acquire) >= ticket.frame && self.fetch.load(Ordering::Acquire) >= ticket.fetch
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(crate) fn error(&self) -> Option<Error> {
        self.lock().error.clone()
    }

    /// Issues an operation, which `push` puts into the session; waits while too much is under way. `None`: the PE is lost.
    pub(crate) fn issue(&self, net: &Net, push: impl FnOnce(&mut Session) -> Ticket) -> Option<Ticket> {
        let mut state = self.lock();
        while state.session.is_full() {
            self.flush(&mut state);
            drop(state);
            if net.progress() == 0 {
                std::thread::yield_now();
            }
            state = self.lock();
        }
        if state.error.is_some() {
            return None;
        }
        let alone = state.session.is_idle();
        let ticket = push(&mut state.session);
        if matches!(state.wire, Wire::Down | Wire::Left) {
            self.raise(net, &mut state);
        }
        // The first message goes at once; those that come while it is under way share the next frame.
        if alone {
            state.session.seal();
        }
        if state.session.has_output() && !state.blocked {
            self.flush(&mut state);
        }
        let left = state.session.is_collecting() || state.session.has_output();
        drop(state);
        if left {
            self.remind(net);
        }
        Some(ticket)
    }

    fn remind(&self, net: &Net) {
        self.due.store(true, Ordering::SeqCst);
        net.remind();
    }

    /// Whether something waits for company; it does not after this call.
    pub(crate) fn take_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) && self.due.swap(false, Ordering::SeqCst)
    }

    /// Moves the connection on if nobody else is at it.
    pub(crate) fn try_serve(&self, net: &Net, manner: Manner) -> usize {
        match self.state.try_lock() {
            Ok(mut state) => self.serve_locked(net, &mut state, manner).0,
            Err(TryLockError::Poisoned(poisoned)) => self.serve_locked(net, &mut poisoned.into_inner(), manner).0,
            Err(TryLockError::WouldBlock) => 0,
        }
    }

    /// Moves the connection on. Returns how much was executed and whether there is more to read at once.
    pub(crate) fn serve(&self, net: &Net, manner: Manner) -> (usize, bool) {
        self.serve_locked(net, &mut self.lock(), manner)
    }

    fn serve_locked(&self, net: &Net, state: &mut State, manner: Manner) -> (usize, bool) {
        if let Wire::Connecting(_) = state.wire {
            self.advance(net, state);
        }
        let Wire::Up(_) = state.wire else { return (0, false) };
        let (executed, more) = self.receive(net, state);
        state.session.seal();
        state.blocked = false;
        self.flush(state);
        let session = &mut state.session;
        if executed == 0 || manner == Manner::Alone || session.untold() >= UNTOLD {
            session.acknowledge();
            self.flush(state);
        }
        // Behind output that the socket does not take, the next writable event sees to it.
        if state.session.untold() > 0 && !state.session.has_output() {
            self.remind(net);
        }
        (executed, more)
    }

    /// Reads and executes what has come.
    fn receive(&self, net: &Net, state: &mut State) -> (usize, bool) {
        let Wire::Up(connection) = &mut state.wire else { return (0, false) };
        let mut served = Served { memory: &net.memory, refusals: &net.refusals, pe: self.pe };
        let (mut executed, mut read) = (0, 0);
        let ended = loop {
            let (place, bytes) = connection.endpoint.space();
            let room = place.map_or(0, |place| place.n) + bytes.len();
            match socket::receive(connection.stream.as_fd(), place, bytes) {
                Ok(0) => break Some("the peer has closed the connection".to_owned()),
                Ok(n) => {
                    state.heard = true;
                    match connection.endpoint.received(n, &mut state.session, &mut served) {
                        Ok(count) => executed += count,
                        Err(garbage) => break Some(garbage.to_string()),
                    }
                    read += n;
                    // A short read has emptied the socket: the next bytes are a new event.
                    if n < room || read >= TURN {
                        break None;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break None,
                Err(e) => break Some(e.to_string()),
            }
        };
        self.publish(&state.session);
        if connection.endpoint.has_left() {
            state.session.acknowledge();
            state.session.leave();
            self.flush(state);
            state.wire = Wire::Left;
            if state.session.is_waiting() {
                self.fail(state, "it has ended while something was under way");
            }
        } else if let Some(why) = ended {
            self.cut(state, &why);
        }
        (executed, read >= TURN)
    }

    fn publish(&self, session: &Session) {
        let Ticket { frame, fetch } = session.reached();
        self.frame.store(frame, Ordering::Release);
        self.fetch.store(fetch, Ordering::Release);
    }

    /// Sends what the socket takes.
    fn flush(&self, state: &mut State) {
        let Wire::Up(connection) = &mut state.wire else { return };
        let result = match &mut connection.seal {
            None => flush_plain(&connection.stream, &mut state.session),
            Some(seal) => seal.flush(&connection.stream, &mut state.session),
        };
        match result {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => state.blocked = true,
            Err(e) => self.cut(state, &e.to_string()),
        }
    }

    /// The connection is no more; the session goes on over the next one.
    fn cut(&self, state: &mut State, why: &str) {
        let address = state.address.map_or_else(String::new, |address| format!("{address}: "));
        tracing::debug!(pe = self.pe, rail = self.rail, "cut: {address}{why}");
        state.wire = Wire::Down;
        state.blocked = false;
        state.history = vec![format!("{address}{why}")];
    }

    /// The peer is lost: what is under way will never complete, and no buffer of it is touched again.
    fn fail(&self, state: &mut State, why: &str) {
        let address = state.address.map_or_else(|| "no address".into(), |address| address.to_string());
        let error = Error::new(format!("PE {} at {address} is lost", self.pe))
            .because(format!("{why}; {}", state.history.join("; ")))
            .fix("look at that PE's output and host; SHMEM_TCP_INTERFACE chooses the network, SHMEM_TCP_TIMEOUT the patience");
        tracing::error!(%error);
        state.session = Session::default();
        state.wire = Wire::Down;
        state.error = Some(error);
        self.failed.store(true, Ordering::Release);
    }

    /// Makes a connection, now that it is needed.
    fn raise(&self, net: &Net, state: &mut State) {
        if let Wire::Left = state.wire {
            return self.fail(state, "it has ended");
        }
        match net.addresses(self.pe) {
            Ok(mut addresses) => {
                // What worked before is tried first.
                addresses.sort_by_key(|address| state.address.is_some_and(|known| known.ip() != address.ip()));
                state.address = state.address.or(addresses.first().copied());
                self.attempt(net, state, addresses.into(), true);
            }
            Err(error) => {
                state.error = Some(error);
                self.failed.store(true, Ordering::Release);
            }
        }
    }

    /// Connects to the first of `rest` that can be connected to at all.
    fn attempt(&self, net: &Net, state: &mut State, mut rest: VecDeque<SocketAddr>, refusals: bool) {
        state.wire = Wire::Down;
        let mut all_refused = refusals;
        while let Some(address) = rest.pop_front() {
            let started = TcpStream::connect(address).and_then(|stream| {
                let nonce = net.nonce().map_err(|_| io::Error::other("there are no random numbers"))?;
                net.enlist(stream.as_raw_fd(), self.token)?;
                Ok((stream, nonce))
            });
            match started {
                Ok((stream, nonce)) => {
                    let route = Route { from: net.me, to: self.pe, rail: self.rail };
                    let (initiator, out) = Initiator::new(&net.credentials, route, nonce);
                    let since = Instant::now();
                    let refusals = all_refused;
                    let attempt = Attempt { stream, address, rest, since, initiator, out, refusals };
                    state.wire = Wire::Connecting(Box::new(attempt));
                    return;
                }
                Err(e) => {
                    all_refused &= e.kind() == io::ErrorKind::ConnectionRefused;
                    remember(&mut state.history, format!("{address}: {e}"));
                }
            }
        }
        state.refused = all_refused;
    }

    /// Moves the attempt on.
    fn advance(&self, net: &Net, state: &mut State) {
        let Wire::Connecting(attempt) = &mut state.wire else { return };
        let standing = Standing { established: state.established, executed: state.session.executed() };
        let why = match attempt.advance(standing) {
            Ok(None) if attempt.since.elapsed() < ANSWER => return,
            Ok(None) => io::Error::from(io::ErrorKind::TimedOut),
            Ok(Some((verdict, standing))) => return self.decided(net, state, verdict, standing),
            Err(e) => e,
        };
        remember(&mut state.history, format!("{}: {why}", attempt.address));
        let refusals = attempt.refusals && why.kind() == io::ErrorKind::ConnectionRefused;
        let rest = std::mem::take(&mut attempt.rest);
        self.attempt(net, state, rest, refusals);
    }

    fn decided(&self, net: &Net, state: &mut State, verdict: Verdict, peer: Standing) {
        let Wire::Connecting(attempt) = std::mem::replace(&mut state.wire, Wire::Down) else { return };
        match verdict {
            Verdict::Accepted => {
                state.address = Some(attempt.address);
                self.establish(net, state, attempt.stream, attempt.initiator.seals(), peer);
            }
            Verdict::Wait => remember(&mut state.history, format!("{}: its own attempt goes first", attempt.address)),
            Verdict::Stale => state.established = state.established.max(peer.established),
        }
    }

    /// An initiator has proven itself: its connection is taken or refused.
    pub(crate) fn adopt(&self, net: &Net, mut stream: TcpStream, mut acceptor: Acceptor, from: u32, peer: Standing) {
        let mut state = self.lock();
        let state = &mut *state;
        if state.error.is_some() || matches!(state.wire, Wire::Left) {
            return;
        }
        // When both connect at once, the attempt of the lower number is kept.
        let mine_goes_first = matches!(state.wire, Wire::Connecting(_)) && net.me < from;
        let mut standing = Standing { established: state.established, executed: state.session.executed() };
        let verdict = if mine_goes_first {
            Verdict::Wait
        } else if peer.established < state.established {
            Verdict::Stale
        } else {
            state.wire = Wire::Down;
            standing.established = peer.established + 1;
            Verdict::Accepted
        };
        // So few bytes always fit into the buffer of a new socket.
        let said = stream.write_all(&acceptor.welcome(verdict, standing));
        if verdict == Verdict::Accepted && said.is_ok() {
            state.address = stream.peer_addr().ok();
            let peer = Standing { established: standing.established, executed: peer.executed };
            match net.enlist(stream.as_raw_fd(), self.token) {
                Ok(()) => self.establish(net, state, stream, acceptor.seals(), peer),
                Err(e) => self.cut(state, &e.to_string()),
            }
        }
    }

    /// Both sides have agreed: frames flow.
    fn establish(
        &self,
        net: &Net,
        state: &mut State,
        stream: TcpStream,
        seals: Option<(Sealer, crate::proto::seal::Opener)>,
        peer: Standing,
    ) {
        state.established = peer.established;
        if let Err(garbage) = state.session.resume(peer.executed) {
            return self.fail(state, &garbage.to_string());
        }
        self.publish(&state.session);
        let (sealer, opener) = seals.unzip();
        let seal = sealer.map(|sealer| Sealing { sealer, staged: Vec::new(), sent: 0 });
        state.wire = Wire::Up(Box::new(Connection { stream, endpoint: Endpoint::new(opener), seal }));
        (state.heard, state.refused, state.blocked) = (true, false, false);
        state.history.clear();
        tracing::debug!(pe = self.pe, rail = self.rail, address = ?state.address, times = peer.established, "connected");
        state.session.seal();
        self.flush(state);
        // What came right behind the welcome makes no further event.
        self.remind(net);
    }

    /// Has callers told of the socket, if there is one.
    pub(crate) fn enlist(&self, net: &Net) -> io::Result<()> {
        match &self.lock().wire {
            Wire::Up(connection) => net.enlist(connection.stream.as_raw_fd(), self.token),
            Wire::Connecting(attempt) => net.enlist(attempt.stream.as_raw_fd(), self.token),
            Wire::Down | Wire::Left => Ok(()),
        }
    }

    /// Looks at the clock.
    pub(crate) fn look(&self, net: &Net) -> bool {
        let mut state = self.lock();
        let state = &mut *state;
        if state.error.is_some() {
            return false;
        }
        let (mut heard, now) = (std::mem::take(&mut state.heard), net.start.elapsed());
        if let Wire::Connecting(_) = state.wire {
            self.advance(net, state);
            heard |= std::mem::take(&mut state.heard);
        }
        let look = Look {
            waiting: state.session.is_waiting(),
            heard,
            connected: !matches!(state.wire, Wire::Down),
            refused: state.refused,
        };
        match state.patience.look(now, look) {
            Advice::Wait => {}
            Advice::Connect => self.raise(net, state),
            Advice::Reconnect => {
                self.cut(state, "no answer");
                self.raise(net, state);
            }
            Advice::GiveUp => {
                let silence = state.patience.silence(now).as_secs_f64();
                self.fail(state, &format!("nothing has been heard of it for {silence:.1} s"));
            }
        }
        look.waiting
    }

    /// Says good-bye behind everything else.
    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        state.session.acknowledge();
        state.session.leave();
        self.flush(&mut state);
    }

    /// Whether nothing is left to be sent and the peer has no more to say.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(self.lock().wire, Wire::Up(_))
    }

    /// Drops the connection.
    pub(crate) fn hang_up(&self) {
        self.lock().wire = Wire::Left;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// Connects, says what is to be said and hears what comes.
    fn advance(&mut self, standing: Standing) -> io::Result<Option<(Verdict, Standing)>> {
        if let Some(e) = self.stream.take_error()? {
            return Err(e);
        }
        loop {
            while !self.out.is_empty() {
                match self.stream.write(&self.out) {
                    Ok(n) => drop(self.out.drain(..n)),
                    Err(e) if is_not_yet(&e) => return Ok(None),
                    Err(e) => return Err(e),
                }
                // No message of the handshake is to wait for company.
                self.stream.set_nodelay(true)?;
            }
            let mut bytes = [0; LONGEST];
            let n = match self.stream.read(&mut bytes[..self.initiator.room()]) {
                Ok(0) => return Err(io::Error::other("it hangs up during the handshake")),
                Ok(n) => n,
                Err(e) if is_not_yet(&e) => return Ok(None),
                Err(e) => return Err(e),
            };
            let garbage = |garbage: Garbage| io::Error::new(io::ErrorKind::InvalidData, garbage.to_string());
            match self.initiator.hear(&bytes[..n]).map_err(garbage)? {
                Step::More => {}
                Step::Challenged => self.out = self.initiator.claim(standing),
                Step::Decided(verdict, standing) => return Ok(Some((verdict, standing))),
                Step::Say(_) | Step::Proven(..) => unreachable!("steps of the acceptor"),
            }
        }
    }
}

impl Sealing {
    fn flush(&mut self, mut stream: &TcpStream, session: &mut Session) -> io::Result<()> {
        loop {
            while self.sent < self.staged.len() {
                self.sent += stream.write(&self.staged[self.sent..])?;
            }
            self.staged.clear();
            self.sent = 0;
            let Some((mut frame, place)) = session.whole_frame() else { return Ok(()) };
            if let Some(place) = place {
                crate::region::append(&mut frame, place);
            }
            self.sealer.seal(&mut frame).map_err(|garbage| io::Error::other(garbage.0))?;
            self.staged = frame;
        }
    }
}

fn flush_plain(stream: &TcpStream, session: &mut Session) -> io::Result<()> {
    while session.has_output() {
        let sent = socket::send(stream.as_fd(), session.pieces())?;
        session.sent(sent);
    }
    Ok(())
}

/// A socket that is still connecting says so in several ways.
fn is_not_yet(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected | io::ErrorKind::Interrupted)
}

/// The latest attempts are enough for a message.
fn remember(history: &mut Vec<String>, what: String) {
    if !history.contains(&what) {
        history.push(what);
    }
    if history.len() > 8 {
        history.remove(0);
    }
}
