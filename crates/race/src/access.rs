//! One access to symmetric memory, as a shadow cell remembers it.

use crate::clock::Column;

/// The effect of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load or a get.
    Read,
    /// A store or a put.
    Write,
    /// A put of so many bytes that its words have not been published one by one.
    LongWrite,
    /// An atomic that changes nothing.
    AtomicRead,
    /// An atomic or the update of a signal.
    Atomic,
}

impl AccessKind {
    const ALL: [AccessKind; 5] =
        [AccessKind::Read, AccessKind::Write, AccessKind::LongWrite, AccessKind::AtomicRead, AccessKind::Atomic];

    fn only_reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::AtomicRead)
    }

    fn is_atomic(self) -> bool {
        matches!(self, AccessKind::AtomicRead | AccessKind::Atomic)
    }

    /// Whether two accesses of these kinds need an order.
    pub(crate) fn clashes(self, other: AccessKind) -> bool {
        !(self.only_reads() && other.only_reads() || self.is_atomic() && other.is_atomic())
    }

    /// Whether everything that clashes with `other` also clashes with this kind.
    pub(crate) fn covers(self, other: AccessKind) -> bool {
        self == other
            || match self {
                AccessKind::Write | AccessKind::LongWrite => true,
                AccessKind::Atomic => other == AccessKind::AtomicRead,
                AccessKind::Read => other == AccessKind::AtomicRead,
                AccessKind::AtomicRead => false,
            }
    }
}

/// Where in the program an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The return address of the call, as an offset in the executable; 0 if it is elsewhere.
    pub pc: u64,
    /// Which routine it calls: its number in the list of routines, or one of two numbers for plain loads and stores.
    pub call: u16,
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The PE that makes it, by its number on the node.
    pub pe: usize,
    /// Its time, in the given column of that PE.
    pub time: u32,
    /// See [`Column`].
    pub column: Column,
    /// See [`AccessKind`].
    pub kind: AccessKind,
    /// The bytes of the cell that it touches.
    pub mask: u8,
    /// Where it is.
    pub site: Site,
}

const PC_BITS: u32 = 40;

impl Access {
    /// The part that decides about order, never 0.
    pub(crate) fn key(&self) -> u64 {
        let kind = AccessKind::ALL.iter().position(|&kind| kind == self.kind).expect("all are listed") as u64;
        u64::from(self.time) << 32
            | (self.pe as u64 & 0xfff) << 20
            | self.column.code() << 16
            | kind << 8
            | u64::from(self.mask)
    }

    /// The part that reports name.
    pub(crate) fn place(&self) -> u64 {
        self.site.pc & ((1 << PC_BITS) - 1) | u64::from(self.site.call) << PC_BITS
    }

    /// The access with these parts.
    pub(crate) fn of(key: u64, place: u64) -> Access {
        Access {
            pe: (key >> 20 & 0xfff) as usize,
            time: (key >> 32) as u32,
            column: Column::of_code(key >> 16 & 0xf),
            kind: AccessKind::ALL[(key >> 8 & 0xff) as usize % AccessKind::ALL.len()],
            mask: key as u8,
            site: Site { pc: place & ((1 << PC_BITS) - 1), call: (place >> PC_BITS) as u16 },
        }
    }
}

/// Two accesses without an order, one of which writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The access that was noticed first.
    pub earlier: Access,
    /// The other one.
    pub later: Access,
    /// Which bytes of its cell both touch.
    pub mask: u8,
}
