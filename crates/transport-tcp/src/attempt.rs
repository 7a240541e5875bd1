//! An attempt at a connection: it tries one address after the other, and makes the handshake with the one that answers.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::addresses::Candidate;
use crate::local::LocalPe;
use crate::permits::Permit;
use crate::proto::Garbage;
use crate::proto::handshake::{HandshakeStep, Initiator, LONGEST, Route, Standing, Verdict};
use crate::proto::seal::{Opener, Sealer};

/// An attempt at one address, with those that come after it.
pub(crate) struct Attempt {
    stream: TcpStream,
    pub(crate) address: Candidate,
    pub(crate) untried: Untried,
    since: Instant,
    /// Something has been said, so there is a connection.
    connected: bool,
    /// The claim has been said: the acceptor may already have decided for this connection.
    pub(crate) claimed: bool,
    initiator: Initiator,
    /// The bytes to be said next.
    out: Vec<u8>,
}

/// The addresses that an attempt has left to try.
pub(crate) struct Untried {
    pub(crate) addresses: VecDeque<Candidate>,
    /// The attempt goes on to the next address when one has not answered for this time.
    pub(crate) answer: Duration,
    /// There was one address: the attempt waits for a peer that takes connections and does not answer yet, because a
    /// second connection would only queue behind the first one.
    pub(crate) only: bool,
    /// All addresses before have refused.
    pub(crate) refusals: bool,
    /// Held while there is an attempt.
    pub(crate) _permit: Permit,
}

/// How far an attempt is.
pub(crate) enum Answer {
    /// Nothing has been decided yet. `heard`: the acceptor belongs to the job and has answered just now.
    Open { heard: bool },
    /// The acceptor belongs to the job and has decided.
    Decided(Verdict, Standing),
    /// The acceptor belongs to the job, but only one side encrypts.
    Differs,
    /// This address leads nowhere; the others are left (`untried`).
    Failed(Failure),
}

/// The fate of an address.
pub(crate) struct Failure {
    pub(crate) address: String,
    pub(crate) why: String,
}

/// No address is left to be tried.
pub(crate) struct NoAddress {
    pub(crate) all_refused: bool,
}

impl Attempt {
    /// Connects to the first address that can be connected to at all. Addresses that fail at once go to `failed`, with the
    /// reason.
    pub(crate) fn start(
        local: &LocalPe,
        route: Route,
        token: usize,
        mut untried: Untried,
        mut failed: impl FnMut(&str, &str),
    ) -> Result<Self, NoAddress> {
        while let Some(address) = untried.addresses.pop_front() {
            let started = TcpStream::connect(address.at).and_then(|stream| {
                // No message of the handshake is to wait for others.
                stream.set_nodelay(true)?;
                let nonce = local.nonce().map_err(|_| io::Error::other("there are no random numbers"))?;
                let (initiator, mut out) = Initiator::new(&local.credentials, route, nonce);
                // On one host there is a connection already, and the peer hears hello when it accepts. Where no process
                // listens, this call gets the refusal, and no later one does.
                let said = match (&stream).write(&out) {
                    Err(e) if is_not_yet(&e) => 0,
                    said => said?,
                };
                drop(out.drain(..said));
                local.watched.add(stream.as_raw_fd(), token)?;
                Ok((stream, initiator, out, said > 0))
            });
            match started {
                Ok((stream, initiator, out, connected)) => {
                    let (since, claimed) = (Instant::now(), false);
                    return Ok(Self { stream, address, untried, since, connected, claimed, initiator, out });
                }
                Err(e) => {
                    untried.refusals &= e.kind() == io::ErrorKind::ConnectionRefused;
                    failed(&address.to_string(), &e.to_string());
                }
            }
        }
        Err(NoAddress { all_refused: untried.refusals })
    }

    pub(crate) fn socket(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Whether something is to be said, or there is no connection yet.
    pub(crate) fn is_speaking(&self) -> bool {
        !self.out.is_empty()
    }

    /// Whether the only address has taken the connection.
    pub(crate) fn has_asked(&self) -> bool {
        self.untried.only && self.connected
    }

    /// The outcome of an address from which nothing is heard.
    pub(crate) fn silence(&self) -> &'static str {
        if self.connected { "it takes the connection and does not answer" } else { "no answer" }
    }

    /// The stream after an accepted handshake, where it leads, and its seals.
    pub(crate) fn into_parts(self) -> (TcpStream, Candidate, Option<(Sealer, Opener)>) {
        let seals = self.initiator.seals();
        (self.stream, self.address, seals)
    }

    /// Moves the handshake on. `standing` is where this side is.
    pub(crate) fn advance(&mut self, standing: Standing) -> Answer {
        let why = match self.converse(standing) {
            Ok(Answer::Open { heard: false }) if !self.has_asked() && self.since.elapsed() >= self.untried.answer => {
                io::Error::new(io::ErrorKind::TimedOut, self.silence())
            }
            Ok(answer) => return answer,
            Err(e) => e,
        };
        self.untried.refusals &= why.kind() == io::ErrorKind::ConnectionRefused;
        Answer::Failed(Failure { address: self.address.to_string(), why: why.to_string() })
    }

    /// Connects, says what is to be said and hears what comes.
    fn converse(&mut self, standing: Standing) -> io::Result<Answer> {
        if let Some(e) = self.stream.take_error()? {
            return Err(e);
        }
        let mut heard = false;
        loop {
            while !self.out.is_empty() {
                match self.stream.write(&self.out) {
                    Ok(n) => drop(self.out.drain(..n)),
                    Err(e) if is_not_yet(&e) => return Ok(Answer::Open { heard }),
                    Err(e) => return Err(e),
                }
                self.connected = true;
            }
            let mut bytes = [0; LONGEST];
            let n = match self.stream.read(&mut bytes[..self.initiator.room()]) {
                Ok(0) => return Err(io::Error::other("it hangs up during the handshake")),
                Ok(n) => n,
                Err(e) if is_not_yet(&e) => return Ok(Answer::Open { heard }),
                Err(e) => return Err(e),
            };
            let garbage = |garbage: Garbage| io::Error::new(io::ErrorKind::InvalidData, garbage.to_string());
            match self.initiator.hear(&bytes[..n]).map_err(garbage)? {
                HandshakeStep::More => {}
                HandshakeStep::Challenged => {
                    self.out = self.initiator.claim(standing);
                    (heard, self.claimed) = (true, true);
                }
                HandshakeStep::Decided(verdict, standing) => return Ok(Answer::Decided(verdict, standing)),
                HandshakeStep::Differs => return Ok(Answer::Differs),
                HandshakeStep::Say(_) | HandshakeStep::Proven(..) | HandshakeStep::Refused(..) => {
                    unreachable!("steps of the acceptor")
                }
            }
        }
    }
}

/// A socket that is still connecting says so in several ways.
fn is_not_yet(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected | io::ErrorKind::Interrupted)
}
