//! An attempt at a connection: it tries one address after the other, and holds the handshake with whoever answers.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::addresses::Candidate;
use crate::local::LocalPe;
use crate::proto::Garbage;
use crate::proto::handshake::{HandshakeStep, Initiator, LONGEST, Route, Standing, Verdict};
use crate::proto::seal::{Opener, Sealer};

/// An attempt at one address, with those that come after it.
pub(crate) struct Attempt {
    stream: TcpStream,
    address: Candidate,
    rest: VecDeque<Candidate>,
    since: Instant,
    /// An address that does not answer for so long is left for the next one.
    answer: Duration,
    initiator: Initiator,
    /// The bytes to be said next.
    out: Vec<u8>,
    /// All addresses before this one have refused.
    refusals: bool,
}

/// The addresses that an attempt has left to try.
pub(crate) struct Untried {
    pub(crate) addresses: VecDeque<Candidate>,
    /// How long each may take to answer.
    pub(crate) answer: Duration,
    /// All addresses before them have refused.
    pub(crate) refusals: bool,
}

/// How far an attempt is.
pub(crate) enum Answer {
    /// Nothing has been decided yet.
    Open,
    /// The acceptor belongs to the job and has decided.
    Decided(Verdict, Standing),
    /// The acceptor belongs to the job, but only one side encrypts.
    Differs,
    /// This address leads nowhere; the others are left.
    Failed(String, Untried),
}

impl Attempt {
    /// Connects to the first address that can be connected to at all. Addresses that fail at once go to `failed`, with the
    /// reason. The error says whether all have refused.
    pub(crate) fn start(
        local: &LocalPe,
        route: Route,
        token: usize,
        untried: Untried,
        mut failed: impl FnMut(String),
    ) -> Result<Self, bool> {
        let Untried { addresses: mut rest, answer, mut refusals } = untried;
        while let Some(address) = rest.pop_front() {
            let started = TcpStream::connect(address.at).and_then(|stream| {
                let nonce = local.nonce().map_err(|_| io::Error::other("there are no random numbers"))?;
                local.watched.add(stream.as_raw_fd(), token)?;
                Ok((stream, nonce))
            });
            match started {
                Ok((stream, nonce)) => {
                    let (initiator, out) = Initiator::new(&local.credentials, route, nonce);
                    return Ok(Self { stream, address, rest, since: Instant::now(), answer, initiator, out, refusals });
                }
                Err(e) => {
                    refusals &= e.kind() == io::ErrorKind::ConnectionRefused;
                    failed(format!("{address}: {e}"));
                }
            }
        }
        Err(refusals)
    }

    pub(crate) fn socket(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    pub(crate) fn address(&self) -> &Candidate {
        &self.address
    }

    /// Whether something is to be said, or there is no connection yet.
    pub(crate) fn is_speaking(&self) -> bool {
        !self.out.is_empty()
    }

    /// The stream after an accepted handshake, where it leads, and its seals.
    pub(crate) fn into_parts(self) -> (TcpStream, Candidate, Option<(Sealer, Opener)>) {
        let seals = self.initiator.seals();
        (self.stream, self.address, seals)
    }

    /// Moves the handshake on. `standing` is where this side is.
    pub(crate) fn advance(&mut self, standing: Standing) -> Answer {
        let why = match self.converse(standing) {
            Ok(Answer::Open) if self.since.elapsed() >= self.answer => {
                io::Error::new(io::ErrorKind::TimedOut, "no answer")
            }
            Ok(answer) => return answer,
            Err(e) => e,
        };
        let refusals = self.refusals && why.kind() == io::ErrorKind::ConnectionRefused;
        let untried = Untried { addresses: std::mem::take(&mut self.rest), answer: self.answer, refusals };
        Answer::Failed(format!("{}: {why}", self.address), untried)
    }

    /// Connects, says what is to be said and hears what comes.
    fn converse(&mut self, standing: Standing) -> io::Result<Answer> {
        if let Some(e) = self.stream.take_error()? {
            return Err(e);
        }
        loop {
            while !self.out.is_empty() {
                match self.stream.write(&self.out) {
                    Ok(n) => drop(self.out.drain(..n)),
                    Err(e) if is_not_yet(&e) => return Ok(Answer::Open),
                    Err(e) => return Err(e),
                }
                // No message of the handshake is to be held back.
                self.stream.set_nodelay(true)?;
            }
            let mut bytes = [0; LONGEST];
            let n = match self.stream.read(&mut bytes[..self.initiator.room()]) {
                Ok(0) => return Err(io::Error::other("it hangs up during the handshake")),
                Ok(n) => n,
                Err(e) if is_not_yet(&e) => return Ok(Answer::Open),
                Err(e) => return Err(e),
            };
            let garbage = |garbage: Garbage| io::Error::new(io::ErrorKind::InvalidData, garbage.to_string());
            match self.initiator.hear(&bytes[..n]).map_err(garbage)? {
                HandshakeStep::More => {}
                HandshakeStep::Challenged => self.out = self.initiator.claim(standing),
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
