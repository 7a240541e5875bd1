//! What goes to and comes from one PE over one rail. The session outlives its connection, which is made when first needed
//! (see `connect`), replaced when cut, and given up when the PE stays silent.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::net::TcpStream;
use oxshmem_base::Error;
use oxshmem_transport::{Account, Busy, OperationLock};
use parking_lot::MutexGuard;

use crate::connect::{Attempt, remember};
use crate::net::Net;
use crate::proto::patience::{Advice, Look, Patience};
use crate::proto::seal::{Opener, Sealer};
use crate::proto::session::Ticket;
use crate::proto::{Endpoint, Session};
use crate::region::Served;
use crate::{socket, unreachable};

/// Bytes read from one connection before others have their turn.
const TURN: usize = 1 << 20;
/// Executed frames that may go without acknowledgement while a caller polls, who may have something to send with it.
const UNTOLD: u64 = 8;
/// The same for frames whose acknowledgement nobody waits for. The peer keeps them as long.
const LEFT: u64 = 32;

/// One rail to one PE.
pub(crate) struct Link {
    pub(crate) pe: u32,
    pub(crate) rail: u16,
    pub(crate) token: usize,
    /// Something is to be sent that waits for company.
    due: AtomicBool,
    state: OperationLock<State>,
}

/// What changes of it.
pub(crate) struct State {
    pub(crate) session: Session,
    /// Operations of lanes in the order of their tickets.
    under_way: VecDeque<UnderWay>,
    pub(crate) wire: Wire,
    pub(crate) established: u64,
    pub(crate) patience: Patience,
    pub(crate) heard: bool,
    /// Rounds through all addresses since there was a connection.
    pub(crate) rounds: u32,
    /// All addresses refused the last attempt.
    pub(crate) refused: bool,
    /// The connection has broken while nobody owed anything: it is made again, so that a dead peer is noticed.
    pub(crate) lapsed: bool,
    /// The socket took no more.
    pub(crate) blocked: bool,
    /// What became of the last connection and of the attempts since.
    pub(crate) history: Vec<String>,
    /// Of the last connection; before the first one, where it was tried first.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) error: Option<Error>,
}

/// Operations of one lane that are complete when a ticket is reached.
struct UnderWay {
    ticket: Ticket,
    account: Arc<Account>,
    count: u64,
}

pub(crate) enum Wire {
    Down,
    Connecting(Box<Attempt>),
    Up(Box<Connection>),
    /// The peer has left the job.
    Left,
}

/// A connection over which frames flow.
pub(crate) struct Connection {
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
            under_way: VecDeque::new(),
            wire: Wire::Down,
            established: 0,
            patience: Patience::new(limit),
            heard: false,
            rounds: 0,
            refused: false,
            lapsed: false,
            blocked: false,
            history: Vec::new(),
            address: None,
            error: None,
        };
        Self { pe, rail, token, due: AtomicBool::new(false), state: OperationLock::new(state) }
    }

    /// Issues operations of a lane, which `push` puts into the session; the last one's ticket is returned.
    pub(crate) fn issue(
        &self,
        net: &Net,
        account: &Arc<Account>,
        count: u64,
        push: impl FnOnce(&mut Session) -> Ticket,
    ) -> Result<(), Busy> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            account.fail(error.clone());
            return Ok(());
        }
        if state.session.is_full() {
            self.ask_locked(&mut state);
            return Err(Busy);
        }
        let alone = state.session.is_idle();
        account.issue(count);
        let ticket = push(&mut state.session);
        state.note(ticket, account, count);
        if matches!(state.wire, Wire::Down | Wire::Left) {
            self.raise(net, &mut state);
        }
        // The first message goes at once, and so does what follows data that goes now; those that come while it is under way
        // share the next frame.
        if alone || (state.session.has_output() && !state.blocked) {
            state.session.seal();
        }
        if state.session.has_output() && !state.blocked {
            self.flush(&mut state);
        }
        let left = state.session.is_collecting() || state.session.has_output();
        // In turn: a thread that issues without pause would take the lock again before those who wait for it are there.
        MutexGuard::unlock_fair(state);
        if left {
            self.remind(net);
        }
        Ok(())
    }

    pub(crate) fn remind(&self, net: &Net) {
        self.due.store(true, Ordering::SeqCst);
        net.remind();
    }

    /// Asks the peer how far it is, for a lane that waits for completions.
    pub(crate) fn ask(&self) {
        self.ask_locked(&mut self.lock());
    }

    fn ask_locked(&self, state: &mut State) {
        self.flush_all(state);
        state.session.ask();
        self.flush(state);
    }

    /// Whether something waits for company; it does not after this call.
    pub(crate) fn take_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) && self.due.swap(false, Ordering::SeqCst)
    }

    /// Moves the connection on if nobody else is at it.
    pub(crate) fn try_serve(&self, net: &Net, manner: Manner) -> usize {
        self.state.try_lock().map_or(0, |mut state| self.serve_locked(net, &mut state, manner).0)
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
        // What waits goes out before we look at what has come: the peer may be waiting for it just as we are for this.
        state.blocked = false;
        self.flush_all(state);
        let (executed, more) = self.receive(net, state);
        if executed > 0 && !state.blocked {
            self.flush_all(state);
        }
        // In the middle of a long frame its end is sure to come, and can be acknowledged with what is before it.
        let in_the_middle = matches!(&state.wire, Wire::Up(connection) if connection.endpoint.is_in_the_middle());
        let session = &mut state.session;
        let is_last = (executed == 0 || manner == Manner::Alone) && !in_the_middle;
        let most = if session.wants_ack() { UNTOLD } else { LEFT };
        if is_last && session.wants_ack() || session.is_asked() || session.untold() >= most {
            session.acknowledge();
            self.flush(state);
        }
        // Behind output that the socket does not take, the next writable event sees to it.
        if state.session.wants_ack() && !state.session.has_output() && !in_the_middle {
            self.remind(net);
        }
        (executed, more)
    }

    /// Reads and executes what has come.
    fn receive(&self, net: &Net, state: &mut State) -> (usize, bool) {
        let Wire::Up(connection) = &mut state.wire else { return (0, false) };
        let mut served = Served { memory: &net.memory, lanes: &net.lanes, pe: self.pe };
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
        retire(&mut state.under_way, &state.session);
        if connection.endpoint.has_left() {
            state.session.acknowledge();
            state.session.leave();
            self.flush(state);
            state.wire = Wire::Left;
            if state.session.is_waiting() {
                self.fail(net, state, "it has ended while something was under way");
            }
        } else if let Some(why) = ended {
            self.cut(state, &why);
        }
        (executed, read >= TURN)
    }

    /// Sends what the socket takes, also of what waits for company.
    fn flush_all(&self, state: &mut State) {
        state.session.seal();
        self.flush(state);
    }

    /// Sends what the socket takes.
    pub(crate) fn flush(&self, state: &mut State) {
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
    pub(crate) fn cut(&self, state: &mut State, why: &str) {
        let address = match &state.wire {
            Wire::Connecting(attempt) => format!("{}: ", attempt.address),
            _ => state.address.map_or_else(String::new, |address| format!("{address}: ")),
        };
        tracing::debug!(pe = self.pe, rail = self.rail, "cut: {address}{why}");
        state.wire = Wire::Down;
        state.blocked = false;
        state.lapsed = true;
        if state.established > 0 {
            state.history.clear();
        }
        remember(&mut state.history, format!("{address}{why}"));
    }

    /// The peer is lost: what is under way will never complete, and no buffer of it is touched again.
    pub(crate) fn fail(&self, net: &Net, state: &mut State, why: &str) {
        if state.established == 0 {
            let error = unreachable::explain(net, self.pe, why, &state.history);
            return self.fail_with(net, state, error);
        }
        let address = state.address.map_or_else(|| "no address".into(), |address| address.to_string());
        let error = Error::new(format!("PE {} at {address} is lost", self.pe))
            .because(format!("{why}; {}", state.history.join("; ")))
            .fix("look at that PE's output and host; SHMEM_TCP_INTERFACE chooses the network, SHMEM_PEER_TIMEOUT the patience");
        self.fail_with(net, state, error);
    }

    pub(crate) fn fail_with(&self, net: &Net, state: &mut State, error: Error) {
        tracing::error!(%error);
        state.session = Session::default();
        state.wire = Wire::Down;
        // Only the first one is told to those who wait for something else.
        let _ = net.lost.set(error.clone());
        for UnderWay { account, count, .. } in state.under_way.drain(..) {
            account.fail(error.clone());
            account.complete(count);
        }
        state.error = Some(error);
    }

    /// Has callers told of the socket, if there is one.
    pub(crate) fn enlist(&self, net: &Net) -> io::Result<()> {
        match &self.lock().wire {
            Wire::Up(connection) => net.enlist(connection.stream.as_raw_fd(), self.token),
            Wire::Connecting(attempt) => net.enlist(attempt.stream.as_raw_fd(), self.token),
            Wire::Down | Wire::Left => Ok(()),
        }
    }

    /// The socket, and whether to look for room to send as well. `None` while somebody else is at it.
    pub(crate) fn watch(&self) -> Option<(RawFd, bool)> {
        let state = self.state.try_lock()?;
        match &state.wire {
            Wire::Up(connection) => Some((connection.stream.as_raw_fd(), state.blocked)),
            Wire::Connecting(attempt) => Some((attempt.stream.as_raw_fd(), attempt.is_speaking())),
            Wire::Down | Wire::Left => None,
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
        // The peer owes nothing that it has not been asked for.
        self.ask_locked(state);
        let look = Look {
            waiting: state.session.is_waiting() || state.lapsed,
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
                self.fail(net, state, &format!("nothing has been heard of it for {silence:.1} s"));
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Operations of a lane that were issued last. Those that share a frame share a line.
    fn note(&mut self, ticket: Ticket, account: &Arc<Account>, count: u64) {
        match self.under_way.back_mut() {
            Some(last) if last.ticket == ticket && Arc::ptr_eq(&last.account, account) => last.count += count,
            _ => self.under_way.push_back(UnderWay { ticket, account: account.clone(), count }),
        }
    }

    /// Tells lanes what the peer has executed and answered.
    pub(crate) fn publish(&mut self) {
        retire(&mut self.under_way, &self.session);
    }
}

/// Completes the operations that the session has reached.
fn retire(under_way: &mut VecDeque<UnderWay>, session: &Session) {
    let reached = session.reached();
    let is_complete = |ticket: Ticket| ticket.frame <= reached.frame && ticket.fetch <= reached.fetch;
    while under_way.front().is_some_and(|first| is_complete(first.ticket)) {
        if let Some(UnderWay { account, count, .. }) = under_way.pop_front() {
            account.complete(count);
        }
    }
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, sealer: Option<Sealer>, opener: Option<Opener>) -> Self {
        let seal = sealer.map(|sealer| Sealing { sealer, staged: Vec::new(), sent: 0 });
        Self { stream, endpoint: Endpoint::new(opener), seal }
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
