//! What can be asked of a remote PE, and where.

/// The symmetric parts of a PE's memory. Each is registered once and may grow at its end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Region {
    /// The symmetric heap.
    Heap = 0,
    /// The executable's static variables.
    Statics = 1,
    /// The runtime's own: synchronisation slots and the like.
    Control = 2,
}

impl Region {
    /// All regions.
    pub const ALL: [Self; 3] = [Self::Heap, Self::Statics, Self::Control];
}

/// A place in the memory of a PE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Remote {
    /// World number.
    pub pe: u32,
    /// Which part of its memory.
    pub region: Region,
    /// Bytes from the part's start.
    pub offset: u64,
}

/// Bytes of an atomic's object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Width {
    /// 2 bytes.
    Two = 2,
    /// 4 bytes.
    Four = 4,
    /// 8 bytes.
    Eight = 8,
}

/// An atomic update of one object, of 2, 4 or 8 bytes; operands in the low bytes. Sums wrap in the object's width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amo {
    /// Reads.
    Fetch,
    /// Writes, or replaces if the old value is asked for.
    Swap(u64),
    /// Adds.
    Add(u64),
    /// Bitwise and.
    And(u64),
    /// Bitwise or.
    Or(u64),
    /// Bitwise exclusive or.
    Xor(u64),
    /// Stores `value` if `cond` is there.
    CompareSwap {
        /// What must be there.
        cond: u64,
        /// What is stored then.
        value: u64,
    },
}

/// What becomes of a signal when the data of its put is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalUpdate {
    /// It becomes this number.
    Set(u64),
    /// This number is added to it.
    Add(u64),
}
