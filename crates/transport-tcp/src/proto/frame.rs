//! Frames as they are filled, kept and sent.

use std::mem;

use super::codec::{BATCH, FRAME, MESSAGE, Message, SMALL, Urgency};
use super::seal::SEAL;

/// Memory that the protocol only passes on: an address as a number, and a length. The protocol never reads or writes there; the host
/// that does so answers for it.
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
    /// It carries requests, and nothing that completes when it is acknowledged.
    pub(super) requests: bool,
}

impl Frame {
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.place.map_or(0, |place| place.n)
    }

    /// A copy of its bytes, with room for those of its place and for a seal. Without that room each of the two would move the copy, and the
    /// seal to memory of twice its length.
    pub(super) fn bytes_to_seal(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() + SEAL);
        bytes.extend_from_slice(&self.bytes);
        bytes
    }

    /// The pieces behind its first `sent` bytes.
    pub(super) fn rest(&self, sent: usize) -> impl Iterator<Item = OutputPiece<'_>> {
        let bytes = self.bytes.get(sent..).filter(|bytes| !bytes.is_empty()).map(OutputPiece::Bytes);
        let into = sent.saturating_sub(self.bytes.len());
        let behind = |MemoryRange { at, n }| MemoryRange { at: at + into, n: n - into };
        bytes.into_iter().chain(self.place.map(behind).map(OutputPiece::MemoryRange))
    }
}

/// The batch that is being filled, with room for its header.
pub(super) struct OpenBatch {
    pub(super) bytes: Vec<u8>,
    /// The greatest urgency of its messages that are no requests.
    urgency: Urgency,
    /// It carries requests; it carries others, which complete when it is acknowledged.
    requests: bool,
    others: bool,
}

impl Default for OpenBatch {
    fn default() -> Self {
        Self::within(Vec::new())
    }
}

impl OpenBatch {
    /// An empty one in this buffer.
    pub(super) fn within(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(FRAME, 0);
        Self { bytes, urgency: Urgency::Later, requests: false, others: false }
    }

    /// Whether the longest message fits into it.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() + 2 * MESSAGE + SMALL <= FRAME + BATCH
    }

    /// Appends a message that is no request.
    pub(super) fn add(&mut self, message: &Message<'_>, urgency: Urgency) {
        self.urgency = self.urgency.max(urgency);
        self.others = true;
        message.encode(&mut self.bytes);
    }

    pub(super) fn add_request(&mut self, message: &Message<'_>) {
        self.requests = true;
        message.encode(&mut self.bytes);
    }

    /// Closes it, as a frame whose header is to be written. The next one is filled in `fresh`.
    pub(super) fn close(&mut self, fresh: Vec<u8>) -> Frame {
        let Self { bytes, urgency, requests, others } = mem::replace(self, Self::within(fresh));
        // Nobody asks behind a request, whose long answer would not acknowledge what shares its frame.
        let urgency = if requests && others { urgency.max(Urgency::Soon) } else { urgency };
        Frame { bytes, place: None, urgency, requests: requests && !others }
    }
}
