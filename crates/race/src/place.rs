//! Places in symmetric memory, and their names.

/// The two parts of symmetric memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPart {
    /// The symmetric heap.
    Heap,
    /// Static variables.
    Statics,
}

/// A byte of symmetric memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymmetricPlace {
    /// Whose memory it is, by the number on the node.
    pub pe: usize,
    /// In which part.
    pub segment: MemoryPart,
    /// How far behind the beginning of that part.
    pub offset: usize,
}

/// The offset of a place in its name: below it are one bit for the part of memory, and the PE.
const OFFSET_SHIFT: u32 = 13;

impl SymmetricPlace {
    /// A number that names the eight bytes around it.
    pub(crate) fn word(self) -> u64 {
        SymmetricPlace { offset: self.offset & !7, ..self }.name()
    }

    /// A number that names it, and the place with that number.
    pub(crate) fn name(self) -> u64 {
        (self.offset as u64) << OFFSET_SHIFT | (self.pe as u64) << 1 | (self.segment == MemoryPart::Statics) as u64
    }

    pub(crate) fn named(name: u64) -> SymmetricPlace {
        let segment = if name & 1 == 0 { MemoryPart::Heap } else { MemoryPart::Statics };
        let pe = (name & ((1 << OFFSET_SHIFT) - 1)) >> 1;
        SymmetricPlace { pe: pe as usize, segment, offset: (name >> OFFSET_SHIFT) as usize }
    }
}
