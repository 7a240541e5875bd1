//! Frames as they are kept and sent.

use super::codec::Urgency;

/// Memory that the protocol only passes on: an address as a number, and a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "described as a whole")]
pub struct MemoryRange {
    pub at: usize,
    pub n: usize,
}

/// A part of what is to be sent next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OutputPiece<'s> {
    /// These bytes.
    Bytes(&'s [u8]),
    /// The bytes at this place.
    MemoryRange(MemoryRange),
}

/// A frame that the peer has not acknowledged: bytes, and memory that follows them.
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) place: Option<MemoryRange>,
    pub(super) urgency: Urgency,
}

impl Frame {
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.place.map_or(0, |place| place.n)
    }
}
