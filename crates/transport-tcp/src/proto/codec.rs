//! Frames and messages as bytes. All numbers are little-endian; every length is capped before it is used.

use std::fmt;

use oxshmem_transport::{Amo, OutOfRange, Region, Width};

pub use crate::limits::{BATCH, BULK, SMALL};

/// Bytes of a frame's header.
pub const FRAME: usize = 24;
/// Bytes of a message's header.
pub const MESSAGE: usize = 16;

const MAGIC: [u8; 2] = *b"ox";
const VERSION: u8 = 1;
/// In the byte of a frame's kind: its acknowledgement may come later, or is to come at once.
const LATER: u8 = 0x80;
const NOW: u8 = 0x40;

/// Bytes that are no frame or no message. The connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Garbage(pub &'static str);

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer sent garbage: {}", self.0)
    }
}

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// Small messages.
    Batch = 1,
    /// One message with long data.
    Bulk = 2,
    /// Only its acknowledgement matters.
    Ack = 3,
    /// The peer leaves the job.
    Bye = 4,
    /// The peer wants to know how far we are.
    Ask = 5,
}

/// When the peer is to acknowledge a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Urgency {
    /// With what it says next, or when it is asked.
    Later,
    /// As soon as it has nothing else to execute: a caller may wait for its completion.
    Soon,
    /// At once, before it does anything else: a caller waits for its completion.
    Now,
}

/// The header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Its kind.
    pub kind: FrameKind,
    /// When it is to be acknowledged.
    pub urgency: Urgency,
    /// Bytes of the body that follow.
    pub length: usize,
    /// Its number, from 1; 0 for frames without.
    pub number: u64,
    /// All frames of the receiver up to this number have been executed.
    pub ack: u64,
}

impl Header {
    /// As bytes.
    pub fn encode(&self) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2] = VERSION;
        let flag = match self.urgency {
            Urgency::Later => LATER,
            Urgency::Soon => 0,
            Urgency::Now => NOW,
        };
        bytes[3] = self.kind as u8 | flag;
        bytes[4..8].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..].copy_from_slice(&self.ack.to_le_bytes());
        bytes
    }

    /// From the first bytes of `bytes`. `extra` is what a seal adds to each body.
    pub fn decode(bytes: &[u8; FRAME], extra: usize) -> Result<Self, Garbage> {
        if bytes[..2] != MAGIC || bytes[2] != VERSION {
            return Err(Garbage("no frame begins like this"));
        }
        let (urgency, kind) = match bytes[3] {
            byte if byte & LATER != 0 => (Urgency::Later, byte & !LATER),
            byte if byte & NOW != 0 => (Urgency::Now, byte & !NOW),
            byte => (Urgency::Soon, byte),
        };
        let (kind, shortest, longest) = match kind {
            1 => (FrameKind::Batch, MESSAGE, BATCH),
            2 => (FrameKind::Bulk, MESSAGE, MESSAGE + BULK),
            3 => (FrameKind::Ack, 0, 0),
            4 => (FrameKind::Bye, 0, 0),
            5 => (FrameKind::Ask, 0, 0),
            _ => return Err(Garbage("an unknown kind of frame")),
        };
        let length = u32::from_le_bytes(array(&bytes[4..8])) as usize;
        if length < shortest + extra || length > longest + extra {
            return Err(Garbage("a frame of impossible length"));
        }
        Ok(Self { kind, urgency, length, number: number(&bytes[8..16]), ack: number(&bytes[16..24]) })
    }
}

/// A message between two PEs.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the operations")]
pub enum Message<'d> {
    /// Store the data.
    Put { lane: u16, region: Region, offset: u64, data: &'d [u8] },
    /// Send `n` bytes back.
    Get { lane: u16, region: Region, offset: u64, n: usize },
    /// Update an object and, if `fetch`, send the old value back.
    Amo { lane: u16, region: Region, offset: u64, width: Width, amo: Amo, fetch: bool },
    /// The answer to the oldest get or fetching atomic that has none yet.
    Reply { data: &'d [u8] },
    /// An operation of `lane` was out of range; if `fetch`, this is the answer to the oldest one that waits for one.
    Refused { lane: u16, fetch: bool, wrong: OutOfRange },
}

const PUT: u8 = 1;
const GET: u8 = 2;
const AMO: u8 = 3;
const REPLY: u8 = 4;
const REFUSED: u8 = 5;
const REFUSED_FETCH: u8 = 6;

/// The header of a message whose data is elsewhere.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Envelope {
    code: u8,
    region: u8,
    lane: u16,
    n: u32,
    offset: u64,
}

impl Envelope {
    /// Of a put of `n` bytes.
    pub fn put(lane: u16, region: Region, offset: u64, n: usize) -> Self {
        Self { code: PUT, region: region as u8, lane, n: n as u32, offset }
    }

    /// Of a reply of `n` bytes.
    pub fn reply(n: usize) -> Self {
        Self { code: REPLY, region: 0, lane: 0, n: n as u32, offset: 0 }
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[0] = self.code;
        bytes[1] = self.region;
        bytes[2..4].copy_from_slice(&self.lane.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.n.to_le_bytes());
        bytes[8..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    /// From the first bytes of `bytes`.
    pub fn decode(bytes: &[u8; MESSAGE]) -> Self {
        Self {
            code: bytes[0],
            region: bytes[1],
            lane: u16::from_le_bytes(array(&bytes[2..4])),
            n: u32::from_le_bytes(array(&bytes[4..8])),
            offset: number(&bytes[8..16]),
        }
    }

    /// Checks the header of a bulk frame: what it is for, and how many bytes follow.
    pub fn bulk(self, length: usize) -> Result<(BulkUse, usize), Garbage> {
        let n = self.n as usize;
        if n == 0 || n + MESSAGE != length {
            return Err(Garbage("a bulk frame whose lengths differ"));
        }
        match self.code {
            PUT => Ok((BulkUse::Put { lane: self.lane, region: self.region()?, offset: self.offset }, n)),
            REPLY => Ok((BulkUse::Reply, n)),
            _ => Err(Garbage("a bulk frame with neither put nor reply")),
        }
    }

    fn region(self) -> Result<Region, Garbage> {
        Region::try_from(self.region).map_err(|_| Garbage("an unknown region"))
    }
}

/// The use of a bulk frame.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the message")]
pub enum BulkUse {
    Put { lane: u16, region: Region, offset: u64 },
    Reply,
}

impl Message<'_> {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (envelope, data): (Envelope, &[u8]) = match *self {
            Self::Put { lane, region, offset, data } => (Envelope::put(lane, region, offset, data.len()), data),
            Self::Get { lane, region, offset, n } => {
                (Envelope { code: GET, region: region as u8, lane, n: n as u32, offset }, &[])
            }
            Self::Amo { lane, region, offset, width, amo, fetch } => {
                let (kind, value, cond) = amo.to_parts();
                let n = u32::from_le_bytes([kind, width as u8, u8::from(fetch), 0]);
                out.extend_from_slice(&Envelope { code: AMO, region: region as u8, lane, n, offset }.encode());
                out.extend_from_slice(&value.to_le_bytes());
                out.extend_from_slice(&cond.to_le_bytes());
                return;
            }
            Self::Reply { data } => (Envelope::reply(data.len()), data),
            Self::Refused { lane, fetch, wrong } => {
                let code = if fetch { REFUSED_FETCH } else { REFUSED };
                let (region, n) = (wrong.region as u8, u32::try_from(wrong.bytes).unwrap_or(u32::MAX));
                out.extend_from_slice(&Envelope { code, region, lane, n, offset: wrong.offset }.encode());
                out.extend_from_slice(&(wrong.registered as u64).to_le_bytes());
                return;
            }
        };
        out.extend_from_slice(&envelope.encode());
        out.extend_from_slice(data);
    }
}

/// The messages of a batch.
pub struct BatchMessages<'d>(pub &'d [u8]);

impl<'d> BatchMessages<'d> {
    fn take(&mut self, n: usize) -> Result<&'d [u8], Garbage> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Garbage("a message longer than its frame"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn message(&mut self) -> Result<Message<'d>, Garbage> {
        let envelope = Envelope::decode(&array(self.take(MESSAGE)?));
        let Envelope { code, lane, n, offset, .. } = envelope;
        Ok(match code {
            PUT => Message::Put { lane, region: envelope.region()?, offset, data: self.take(n as usize)? },
            GET if n as usize <= BULK => Message::Get { lane, region: envelope.region()?, offset, n: n as usize },
            AMO => {
                let [kind, width, fetch, _] = n.to_le_bytes();
                let (value, cond) = (number(self.take(8)?), number(self.take(8)?));
                let amo = Amo::from_parts(kind, value, cond).ok_or(Garbage("an unknown atomic"))?;
                let width = Width::try_from(width).map_err(|_| Garbage("an atomic of impossible width"))?;
                Message::Amo { lane, region: envelope.region()?, offset, width, amo, fetch: fetch != 0 }
            }
            REPLY => Message::Reply { data: self.take(n as usize)? },
            REFUSED | REFUSED_FETCH => {
                let registered = usize::try_from(number(self.take(8)?)).map_err(|_| Garbage("an impossible length"))?;
                let wrong = OutOfRange { region: envelope.region()?, offset, bytes: n as usize, registered };
                Message::Refused { lane, fetch: code == REFUSED_FETCH, wrong }
            }
            _ => return Err(Garbage("an unknown message")),
        })
    }
}

impl<'d> Iterator for BatchMessages<'d> {
    type Item = Result<Message<'d>, Garbage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let message = self.message();
        if message.is_err() {
            self.0 = &[];
        }
        Some(message)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the caller cuts the right length")
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(array(bytes))
}
