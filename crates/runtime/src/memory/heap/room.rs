//! How large a heap may become.

/// The limits of one heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapSize {
    /// The bytes that the program may have in all.
    pub(crate) cap: u64,
    /// The addresses that there are.
    pub(crate) window: u64,
}

impl HeapSize {
    /// The bytes that the blocks take where they are guarded, and the program has all that it may have: a block of the least size has two redzones of
    /// the same size, and one with an alignment as much before it.
    pub(crate) fn guarded(self) -> u64 {
        self.cap.saturating_mul(4).min(self.window)
    }
}
