//! One limit of memory, of the machine or of a control group.

/// One limit of memory as it stood at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Equal in all processes of a machine that share this limit, and different for different limits.
    pub identity: u64,
    /// All that the limit allows, in bytes.
    pub whole: u64,
    /// The part that can still be had. Memory that the kernel can drop, such as cached files, counts as free.
    pub free: u64,
    /// The part that must stay free: the kernel's own memory grows with every process, and programs use `malloc` as well.
    pub reserve: u64,
    /// The file that says so.
    pub limited_by: String,
}

impl Limit {
    /// A limit with the usual reserve: a thirty-second of it, but neither next to nothing nor more than a gigabyte.
    pub(crate) fn new(identity: u64, whole: u64, free: u64, limited_by: String) -> Limit {
        Limit { identity, whole, free, reserve: (whole / 32).clamp(8 << 20, 1 << 30), limited_by }
    }

    /// The bytes that can be promised.
    pub fn spare(&self) -> u64 {
        self.free.saturating_sub(self.reserve)
    }

    /// The bytes that could be promised if nothing were in use.
    pub fn most(&self) -> u64 {
        self.whole.saturating_sub(self.reserve)
    }
}
