//! How a link comes by its connection: it tries the addresses of its PE in order, or takes the connection of a PE that
//! has proven itself. When both try at once, the attempt of the lower PE number is kept.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::link::{Connection, Link, State, Wire};
use crate::net::{Candidate, Net};
use crate::proto::Garbage;
use crate::proto::handshake::{Acceptor, Initiator, LONGEST, Route, Standing, Step, Verdict};
use crate::proto::seal::{Opener, Sealer};
use crate::{socket, unreachable};

/// So long may the first round through all addresses take; each further round takes twice as long, up to the longest.
const ROUNDS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));

/// An attempt at one address after the other.
pub(crate) struct Attempt {
    pub(crate) stream: TcpStream,
    pub(crate) address: Candidate,
    rest: VecDeque<Candidate>,
    since: Instant,
    /// An address that does not answer for so long is left for the next one.
    answer: Duration,
    initiator: Initiator,
    /// What is to be said next.
    out: Vec<u8>,
    refusals: bool,
}

impl Link {
    /// Makes a connection, now that it is needed.
    pub(crate) fn raise(&self, net: &Net, state: &mut State) {
        if let Wire::Left = state.wire {
            return self.fail(net, state, "it has ended");
        }
        match net.addresses(self.pe, self.rail) {
            Ok(mut addresses) => {
                // What worked before is tried first.
                addresses.sort_by_key(|address| state.address.is_some_and(|known| known.ip() != address.at.ip()));
                state.address = state.address.or(addresses.first().map(|address| address.at));
                let round = ROUNDS.0.saturating_mul(1 << state.rounds.min(8)).min(ROUNDS.1);
                state.rounds += 1;
                let answer = round / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
                self.attempt(net, state, addresses.into(), answer, true);
            }
            Err(error) => self.fail_with(net, state, error),
        }
    }

    /// Connects to the first of `rest` that can be connected to at all.
    fn attempt(&self, net: &Net, state: &mut State, mut rest: VecDeque<Candidate>, answer: Duration, refusals: bool) {
        state.wire = Wire::Down;
        let mut all_refused = refusals;
        while let Some(address) = rest.pop_front() {
            let started = TcpStream::connect(address.at).and_then(|stream| {
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
                    let attempt = Attempt { stream, address, rest, since, answer, initiator, out, refusals };
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

    /// The peer belongs to the job, but only one of both PEs encrypts: no connection can ever come about.
    pub(crate) fn refuse(&self, net: &Net) {
        self.differ(net, &mut self.lock());
    }

    fn differ(&self, net: &Net, state: &mut State) {
        if state.error.is_none() {
            self.fail_with(net, state, unreachable::differs(net, self.pe));
        }
    }

    /// Moves the attempt on.
    pub(crate) fn advance(&self, net: &Net, state: &mut State) {
        let Wire::Connecting(attempt) = &mut state.wire else { return };
        let standing = Standing { established: state.established, executed: state.session.executed() };
        let why = match attempt.advance(standing) {
            Ok(None) if attempt.since.elapsed() < attempt.answer => return,
            Ok(None) => io::Error::new(io::ErrorKind::TimedOut, "no answer"),
            Ok(Some(Answer::Decided(verdict, standing))) => return self.decided(net, state, verdict, standing),
            Ok(Some(Answer::Differs)) => return self.differ(net, state),
            Err(e) => e,
        };
        remember(&mut state.history, format!("{}: {why}", attempt.address));
        let refusals = attempt.refusals && why.kind() == io::ErrorKind::ConnectionRefused;
        let (rest, answer) = (std::mem::take(&mut attempt.rest), attempt.answer);
        self.attempt(net, state, rest, answer, refusals);
    }

    fn decided(&self, net: &Net, state: &mut State, verdict: Verdict, peer: Standing) {
        let Wire::Connecting(attempt) = std::mem::replace(&mut state.wire, Wire::Down) else { return };
        match verdict {
            Verdict::Accepted => {
                state.address = Some(attempt.address.at);
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
            state.address =
                stream.peer_addr().ok().map(|address| SocketAddr::new(address.ip().to_canonical(), address.port()));
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
        seals: Option<(Sealer, Opener)>,
        peer: Standing,
    ) {
        (state.established, state.rounds) = (peer.established, 0);
        if let Err(garbage) = state.session.resume(peer.executed) {
            return self.fail(net, state, &garbage.to_string());
        }
        state.publish();
        let (sealer, opener) = seals.unzip();
        if let Err(e) = socket::probe_when_idle(stream.as_fd(), net.give_up) {
            tracing::debug!("a connection without probes: {e}");
        }
        state.wire = Wire::Up(Box::new(Connection::new(stream, sealer, opener)));
        (state.heard, state.refused, state.blocked, state.lapsed) = (true, false, false, false);
        state.history.clear();
        tracing::debug!(pe = self.pe, rail = self.rail, address = ?state.address, times = peer.established, "connected");
        state.session.seal();
        self.flush(state);
        // What came right behind the welcome makes no further event.
        self.remind(net);
    }
}

/// What an acceptor that belongs to the job answers.
enum Answer {
    Decided(Verdict, Standing),
    /// Only one side encrypts.
    Differs,
}

impl Attempt {
    /// Whether something is to be said, or there is no connection yet.
    pub(crate) fn is_speaking(&self) -> bool {
        !self.out.is_empty()
    }

    /// Connects, says what is to be said and hears what comes.
    fn advance(&mut self, standing: Standing) -> io::Result<Option<Answer>> {
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
                Step::Decided(verdict, standing) => return Ok(Some(Answer::Decided(verdict, standing))),
                Step::Differs => return Ok(Some(Answer::Differs)),
                Step::Say(_) | Step::Proven(..) | Step::Refused(..) => unreachable!("steps of the acceptor"),
            }
        }
    }
}

/// A socket that is still connecting says so in several ways.
fn is_not_yet(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected | io::ErrorKind::Interrupted)
}

/// The latest attempts are enough for a message.
pub(crate) fn remember(history: &mut Vec<String>, what: String) {
    if !history.contains(&what) {
        history.push(what);
    }
    if history.len() > 8 {
        history.remove(0);
    }
}
