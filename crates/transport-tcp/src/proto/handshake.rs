//! The handshake: both sides prove that they know the job's secret over nonces of both, and say where they resume.
//!
//! ```text
//! hello      initiator: job, from, to, rail, nonce, proof       who has no secret gets no answer at all
//! challenge  acceptor:  nonce, proof over both (or a refusal of the same form: only one side encrypts)
//! proof      initiator: how many connections there were, frames executed, proof over all
//! welcome    acceptor:  verdict, the same two numbers, proof over all
//! ```
//!
//! Every message has one length, so that nothing is read that is not part of it. Nonces are fresh on both sides: what was
//! recorded proves nothing the next time.

use super::codec::Garbage;
use super::seal::{Opener, PROOF, Sealer, check, keys, prove};

const MAGIC: [u8; 4] = *b"oxs1";
const HELLO: usize = 4 + 4 + 4 + 4 + 16 + 32 + PROOF;
const CHALLENGE: usize = 32 + PROOF;
const CLAIM: usize = 16 + PROOF;
const WELCOME: usize = 24 + PROOF;
/// Longest message of the handshake: what an unproven peer may make us keep.
pub const LONGEST: usize = HELLO;

/// The credentials that both sides must share.
#[derive(Clone)]
pub struct Credentials {
    /// The job.
    pub job: [u8; 16],
    /// A secret of its PEs.
    pub secret: [u8; 32],
    /// Whether frames are sealed.
    pub encrypt: bool,
}

/// Which connection of the job it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Route {
    /// PE that connects.
    pub from: u32,
    /// PE that accepts.
    pub to: u32,
    /// Which of the parallel connections.
    pub rail: u16,
}

/// Where one side stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Connections that there have been on this route.
    pub established: u64,
    /// Number of the last frame of the other side that has been executed.
    pub executed: u64,
}

impl Standing {
    fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.established.to_le_bytes());
        bytes[8..].copy_from_slice(&self.executed.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Self {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Self { established: number(0), executed: number(8) }
    }
}

/// The acceptor's decision about an initiator that has proven itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Verdict {
    /// Frames may follow.
    Accepted = 1,
    /// The acceptor's own attempt in the other direction has precedence.
    Wait = 2,
    /// There has been a newer connection.
    Stale = 3,
}

/// The meaning of the bytes of one step.
#[derive(Debug)]
pub enum HandshakeStep {
    /// Read on.
    More,
    /// Send these bytes, then read on.
    Say(Vec<u8>),
    /// Initiator: the acceptor has proven itself; go on with [`Initiator::claim`].
    Challenged,
    /// Acceptor: the initiator has proven itself; go on with [`Acceptor::welcome`].
    Proven(Route, Standing),
    /// Initiator: this is what the acceptor decided.
    Decided(Verdict, Standing),
    /// Acceptor: the initiator belongs to the job, but only one side encrypts. It is told by these bytes.
    Refused(Vec<u8>, Route),
    /// Initiator: the acceptor belongs to the job, but only one side encrypts.
    Differs,
}

/// Bytes of the step in hand, and everything said before.
struct Script {
    credentials: Credentials,
    said: Vec<u8>,
    heard: Vec<u8>,
    awaited: usize,
}

impl Script {
    fn new(credentials: &Credentials, awaited: usize) -> Self {
        Self { credentials: credentials.clone(), said: Vec::new(), heard: Vec::new(), awaited }
    }

    /// Appends the proof to a message and counts it as said.
    fn say(&mut self, label: &str, mut message: Vec<u8>) -> Vec<u8> {
        message.extend_from_slice(&prove(&self.credentials.secret, label, &[&self.said, &message]));
        self.said.extend_from_slice(&message);
        message
    }

    /// Takes in what was received; the message without its proof when it is complete and proven.
    fn hear(&mut self, bytes: &[u8], label: &str) -> Result<Option<Vec<u8>>, Garbage> {
        self.hear_either(bytes, &[label]).map(|heard| heard.map(|(_, message)| message))
    }

    /// [`Script::hear`] of one of several messages of the same length. Also says which it was.
    fn hear_either(&mut self, bytes: &[u8], labels: &[&str]) -> Result<Option<(usize, Vec<u8>)>, Garbage> {
        self.heard.extend_from_slice(bytes);
        if self.heard.len() < self.awaited {
            return Ok(None);
        }
        let (message, proof) = self.heard.split_at(self.awaited - PROOF);
        let proves = |label: &&str| check(&self.credentials.secret, label, &[&self.said, message], proof).is_ok();
        let label = labels.iter().position(proves).ok_or(Garbage("the peer does not know the job's secret"))?;
        let message = message.to_vec();
        self.said.append(&mut self.heard);
        Ok(Some((label, message)))
    }

    fn room(&self) -> usize {
        self.awaited.saturating_sub(self.heard.len())
    }

    fn seals(&self, initiator: bool) -> Option<(Sealer, Opener)> {
        if !self.credentials.encrypt {
            return None;
        }
        let [out, back] = [b"oxshmem frames out".as_slice(), b"oxshmem frames back"]
            .map(|label| keys(&self.credentials.secret, &self.said[..HELLO + CHALLENGE], label));
        Some(if initiator { (Sealer::new(out), Opener::new(back)) } else { (Sealer::new(back), Opener::new(out)) })
    }
}

/// The side that connects.
pub struct Initiator {
    script: Script,
    claimed: bool,
}

impl Initiator {
    /// Begins; the bytes are to be sent first. `nonce` must never have been used.
    pub fn new(credentials: &Credentials, route: Route, nonce: [u8; 32]) -> (Self, Vec<u8>) {
        let mut script = Script::new(credentials, CHALLENGE);
        let mut hello = MAGIC.to_vec();
        hello.extend_from_slice(&route.rail.to_le_bytes());
        hello.extend_from_slice(&u16::from(credentials.encrypt).to_le_bytes());
        hello.extend_from_slice(&route.from.to_le_bytes());
        hello.extend_from_slice(&route.to.to_le_bytes());
        hello.extend_from_slice(&credentials.job);
        hello.extend_from_slice(&nonce);
        let hello = script.say("hello", hello);
        (Self { script, claimed: false }, hello)
    }

    /// How many bytes may be read.
    pub fn room(&self) -> usize {
        self.script.room()
    }

    /// Takes in bytes.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<HandshakeStep, Garbage> {
        if !self.claimed {
            return Ok(match self.script.hear_either(bytes, &["challenge", "refusal"])? {
                None => HandshakeStep::More,
                Some((0, _)) => HandshakeStep::Challenged,
                Some(_) => HandshakeStep::Differs,
            });
        }
        let Some(welcome) = self.script.hear(bytes, "welcome")? else { return Ok(HandshakeStep::More) };
        let verdict = match welcome[0] {
            1 => Verdict::Accepted,
            2 => Verdict::Wait,
            3 => Verdict::Stale,
            _ => return Err(Garbage("an unknown verdict")),
        };
        Ok(HandshakeStep::Decided(verdict, Standing::decode(&welcome[8..])))
    }

    /// Says where this side stands; from now on it must not execute frames of an older connection.
    pub fn claim(&mut self, standing: Standing) -> Vec<u8> {
        self.claimed = true;
        self.script.awaited = WELCOME;
        self.script.say("claim", standing.encode().to_vec())
    }

    /// The seals of the frames, if they are sealed.
    pub fn seals(&self) -> Option<(Sealer, Opener)> {
        self.script.seals(true)
    }
}

/// The side that accepts.
pub struct Acceptor {
    script: Script,
    me: u32,
    nonce: [u8; 32],
    route: Option<Route>,
}

impl Acceptor {
    /// Begins to listen. `nonce` must never have been used.
    pub fn new(credentials: &Credentials, me: u32, nonce: [u8; 32]) -> Self {
        Self { script: Script::new(credentials, HELLO), me, nonce, route: None }
    }

    /// How many bytes may be read.
    pub fn room(&self) -> usize {
        self.script.room()
    }

    /// The route that a proven hello has named.
    pub fn route(&self) -> Option<Route> {
        self.route
    }

    /// Takes in bytes.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<HandshakeStep, Garbage> {
        if let Some(route) = self.route {
            let claim = self.script.hear(bytes, "claim")?;
            return Ok(
                claim.map_or(HandshakeStep::More, |claim| HandshakeStep::Proven(route, Standing::decode(&claim)))
            );
        }
        let Some(hello) = self.script.hear(bytes, "hello")? else { return Ok(HandshakeStep::More) };
        let number = |at: usize| u32::from_le_bytes(hello[at..at + 4].try_into().expect("four bytes"));
        let half = |at: usize| u16::from_le_bytes(hello[at..at + 2].try_into().expect("two bytes"));
        let route = Route { from: number(8), to: number(12), rail: half(4) };
        if hello[..4] != MAGIC || hello[16..32] != self.script.credentials.job || route.to != self.me {
            return Err(Garbage("a hello that is not for this PE"));
        }
        if half(6) != u16::from(self.script.credentials.encrypt) {
            let refusal = self.nonce.to_vec();
            return Ok(HandshakeStep::Refused(self.script.say("refusal", refusal), route));
        }
        self.route = Some(route);
        self.script.awaited = CLAIM;
        let challenge = self.nonce.to_vec();
        Ok(HandshakeStep::Say(self.script.say("challenge", challenge)))
    }

    /// Says what was decided.
    pub fn welcome(&mut self, verdict: Verdict, standing: Standing) -> Vec<u8> {
        let mut welcome = vec![verdict as u8, 0, 0, 0, 0, 0, 0, 0];
        welcome.extend_from_slice(&standing.encode());
        self.script.say("welcome", welcome)
    }

    /// The seals of the frames, if they are sealed.
    pub fn seals(&self) -> Option<(Sealer, Opener)> {
        self.script.seals(false)
    }
}
