//! The name of an operation by what completes it.

/// When an operation is complete: the frame that carries it is acknowledged, and this many answers have come.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ticket {
    /// Number of the frame; 0 for a request, whose answer is enough.
    pub frame: u64,
    /// Count of answers.
    pub fetch: u64,
}

impl Ticket {
    /// Whether what has this ticket is complete when the peer is so far.
    pub fn is_complete(self, reached: Self) -> bool {
        self.frame <= reached.frame && self.fetch <= reached.fetch
    }
}
