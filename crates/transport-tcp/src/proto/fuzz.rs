//! Entry points for fuzzers: whatever the bytes are, the protocol neither panics nor touches memory outside its bounds.
//! `ci/fuzz` has the fuzzers; the committed inputs are run through the same functions by the tests.

pub(crate) mod connection;
mod handshake;

pub use connection::connection;
pub use handshake::handshake;

use oxshmem_transport::{Amo, OutOfRange, Region, Width};

use super::codec::{BULK, Garbage, Message};
use super::frame::MemoryRange;
use super::handshake::{Acceptor, Credentials, HandshakeStep};
use super::session::Session;
use super::{FrameReceiver, Host};

/// A host whose memory is one vector: the first part is every region, the rest belongs to the PE alone. Places are
/// indices.
pub struct Sandbox {
    /// All of it.
    pub memory: Vec<u8>,
    /// How much of it peers reach.
    pub shared: usize,
    /// Lanes whose operations were refused.
    pub refused: Vec<u16>,
}

impl Sandbox {
    /// Memory of zeros.
    pub fn new(shared: usize, private: usize) -> Self {
        Self { memory: vec![0; shared + private], shared, refused: Vec::new() }
    }

    fn range(&self, region: Region, offset: u64, bytes: usize) -> Result<std::ops::Range<usize>, OutOfRange> {
        let wrong = OutOfRange { region, offset, bytes, registered: self.shared };
        let start = usize::try_from(offset).map_err(|_| wrong)?;
        let end = start.checked_add(bytes).filter(|&end| end <= self.shared).ok_or(wrong)?;
        Ok(start..end)
    }

    /// The bytes of a range.
    pub fn at(&self, place: MemoryRange) -> &[u8] {
        &self.memory[place.at..place.at + place.n]
    }
}

impl Host for Sandbox {
    fn put(&mut self, region: Region, offset: u64, data: &[u8]) -> Result<(), OutOfRange> {
        let range = self.range(region, offset, data.len())?;
        self.memory[range].copy_from_slice(data);
        Ok(())
    }

    fn get(&mut self, region: Region, offset: u64, n: usize, into: &mut Vec<u8>) -> Result<(), OutOfRange> {
        into.extend_from_slice(&self.memory[self.range(region, offset, n)?]);
        Ok(())
    }

    fn place(&mut self, region: Region, offset: u64, n: usize) -> Result<usize, OutOfRange> {
        Ok(self.range(region, offset, n)?.start)
    }

    fn amo(&mut self, region: Region, offset: u64, width: Width, amo: Amo) -> Result<u64, OutOfRange> {
        let range = self.range(region, offset, width.bytes())?;
        let mut word = [0; 8];
        word[..width.bytes()].copy_from_slice(&self.memory[range.clone()]);
        let old = u64::from_le_bytes(word);
        self.memory[range].copy_from_slice(&amo.apply(old, width.bytes()).to_le_bytes()[..width.bytes()]);
        Ok(old)
    }

    fn fill(&mut self, at: usize, data: &[u8]) {
        self.memory[at..at + data.len()].copy_from_slice(data);
    }

    fn refused(&mut self, lane: u16, _wrong: OutOfRange) {
        self.refused.push(lane);
    }
}

/// Frames that come in pieces of `step` bytes at an end that waits for three answers. Returns how many were executed.
pub fn frames(bytes: &[u8], step: usize) -> Result<usize, Garbage> {
    let (shared, private) = (1 << 20, BULK + 64);
    let (mut session, mut host, mut receiver) =
        (Session::default(), Sandbox::new(shared, private), FrameReceiver::new(None));
    for (at, n) in [(shared, 8), (shared + 8, 56), (shared + 64, BULK)] {
        let get = Message::Get { lane: 1, region: Region::Heap, offset: 0, n };
        session.push_fetch(&get, MemoryRange { at, n });
    }
    session.close_batch();
    let all =
        session.pieces().map(|piece| if let super::OutputPiece::Bytes(bytes) = piece { bytes.len() } else { 0 }).sum();
    session.sent(all);
    receive(bytes, step, &mut receiver, &mut session, &mut host)
}

/// Hands bytes to a receiver as a socket would.
pub fn receive(
    mut bytes: &[u8],
    step: usize,
    receiver: &mut FrameReceiver,
    session: &mut Session,
    host: &mut Sandbox,
) -> Result<usize, Garbage> {
    let mut executed = 0;
    while !bytes.is_empty() {
        let (place, buffer) = receiver.space();
        let room = place.map_or(0, |place| place.n) + buffer.len();
        let (now, rest) = bytes.split_at(bytes.len().min(room).min(step.max(1)));
        let (direct, buffered) = now.split_at(now.len().min(place.map_or(0, |place| place.n)));
        buffer[..buffered.len()].copy_from_slice(buffered);
        if let Some(place) = place {
            host.fill(place.at, direct);
        }
        executed += receiver.received(now.len(), session, host)?;
        bytes = rest;
    }
    Ok(executed)
}

/// The bytes of a stranger that connects to PE 1. Returns whether it was let in.
pub fn stranger(mut bytes: &[u8]) -> Result<bool, Garbage> {
    let credentials = Credentials { job: *b"the fuzzer's job", secret: [1; 32], encrypt: false };
    let mut acceptor = Acceptor::new(&credentials, 1, [2; 32]);
    while !bytes.is_empty() {
        let (now, rest) = bytes.split_at(bytes.len().min(acceptor.room()));
        if let HandshakeStep::Proven(..) = acceptor.hear(now)? {
            return Ok(true);
        }
        bytes = rest;
    }
    Ok(false)
}
