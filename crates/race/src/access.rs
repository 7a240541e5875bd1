//! One access to symmetric memory, as a shadow cell remembers it.

use crate::clock::{Column, StrandName};

/// The type of an atomic. The standard makes atomics atomic to each other if their types are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicType {
    /// Integers of so many bytes, signed or not.
    Integer(u8),
    /// Floating-point numbers of so many bytes.
    Floating(u8),
    /// Any type of so many bytes: atomics of the language do not tell it.
    Language(u8),
}

impl AtomicType {
    fn code(self) -> u64 {
        let (kind, bytes) = match self {
            AtomicType::Integer(bytes) => (0, bytes),
            AtomicType::Floating(bytes) => (1, bytes),
            AtomicType::Language(bytes) => (2, bytes),
        };
        kind * 5 + u64::from(bytes.max(1).ilog2().min(4))
    }

    fn of_code(code: u64) -> AtomicType {
        let bytes = 1 << (code % 5);
        match code / 5 {
            0 => AtomicType::Integer(bytes),
            1 => AtomicType::Floating(bytes),
            _ => AtomicType::Language(bytes),
        }
    }

    /// Whether nothing makes atomics of these types atomic to each other.
    pub fn differs(self, other: AtomicType) -> bool {
        use AtomicType::{Floating, Integer, Language};
        match (self, other) {
            (Integer(one), Integer(two)) | (Floating(one), Floating(two)) => one != two,
            (Integer(_), Floating(_)) | (Floating(_), Integer(_)) => true,
            (Language(one), Integer(two) | Floating(two) | Language(two))
            | (Integer(one) | Floating(one), Language(two)) => one != two,
        }
    }
}

/// The effect of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load or a get.
    Read,
    /// A store or a put.
    Write,
    /// A put that is too long for its words to be published one by one.
    LongWrite,
    /// An atomic that changes nothing.
    AtomicRead(AtomicType),
    /// An atomic or the update of a signal.
    Atomic(AtomicType),
}

impl AccessKind {
    /// The update of a signal.
    pub const SIGNAL: AccessKind = AccessKind::Atomic(AtomicType::Integer(8));

    #[inline]
    fn code(self) -> u64 {
        match self {
            AccessKind::Read => 0,
            AccessKind::Write => 1,
            AccessKind::LongWrite => 2,
            AccessKind::AtomicRead(of) => 3 | of.code() << 3,
            AccessKind::Atomic(of) => 4 | of.code() << 3,
        }
    }

    fn of_code(code: u64) -> AccessKind {
        match code & 7 {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            2 => AccessKind::LongWrite,
            3 => AccessKind::AtomicRead(AtomicType::of_code(code >> 3 & 15)),
            _ => AccessKind::Atomic(AtomicType::of_code(code >> 3 & 15)),
        }
    }

    fn only_reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::AtomicRead(_))
    }

    /// The type of an atomic.
    pub fn atomic(self) -> Option<AtomicType> {
        match self {
            AccessKind::AtomicRead(of) | AccessKind::Atomic(of) => Some(of),
            _ => None,
        }
    }

    /// Whether both are atomics, but not atomic to each other.
    pub fn differs(self, other: AccessKind) -> bool {
        self.atomic().zip(other.atomic()).is_some_and(|(one, two)| one.differs(two))
    }

    /// Whether two accesses of these kinds need an order.
    pub(crate) fn clashes(self, other: AccessKind) -> bool {
        let are_atomic = self.atomic().is_some() && other.atomic().is_some();
        !(self.only_reads() && other.only_reads()) && (!are_atomic || self.differs(other))
    }

    /// Whether everything that clashes with `other` also clashes with this kind.
    pub(crate) fn covers(self, other: AccessKind) -> bool {
        self == other
            || match (self, other) {
                (AccessKind::Write | AccessKind::LongWrite, _) => true,
                (AccessKind::Atomic(one), AccessKind::AtomicRead(two)) => one == two,
                (AccessKind::Read, AccessKind::AtomicRead(_)) => true,
                _ => false,
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
    /// The strand that makes it.
    pub by: StrandName,
    /// Its time, in the given column of that strand.
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

/// Where the parts of a key begin, from the lowest bit on: the bytes that are touched, kind, column, PE, strand, time. The shim
/// (`crates/race-c/shim/instrumentation.c`) makes keys, too.
const KIND_SHIFT: u32 = 8;
const COLUMN_SHIFT: u32 = 15;
const PE_SHIFT: u32 = 18;
const STRAND_SHIFT: u32 = 26;
const TIME_SHIFT: u32 = 32;

const PC_BITS: u32 = 40;
/// Behind the 16 bits of the call. The two highest bits are flags of the cell.
const TAG_SHIFT: u32 = PC_BITS + 16;
/// How many PEs and strands a cell can tell apart.
pub const MOST_PES: usize = 1 << 8;
/// See [`MOST_PES`].
pub const MOST_STRANDS: usize = 1 << 6;

const TAG_BITS: u32 = 6;

/// Bits that tell most strands apart.
#[inline]
fn tag(by: StrandName) -> u64 {
    (by.pe ^ by.strand << 3) as u64 & ((1 << TAG_BITS) - 1)
}

impl Access {
    /// Whether it is a write that publishes nothing at its word: a strand that awaits the value learns from the cell alone.
    pub(crate) fn publishes_nothing(&self) -> bool {
        self.kind == AccessKind::LongWrite || (self.kind, self.column) == (AccessKind::Write, Column::Program)
    }

    /// Whether two keys are of the same strand and column.
    #[inline]
    pub(crate) fn are_alike(one: u64, other: u64) -> bool {
        (one as u32) >> COLUMN_SHIFT == (other as u32) >> COLUMN_SHIFT
    }

    /// Whether the first key is that of data whose signal the strand of the second one has heard, which is of its program.
    #[inline]
    pub(crate) fn has_come(one: u64, other: u64) -> bool {
        (one as u32) >> COLUMN_SHIFT == (other as u32) >> COLUMN_SHIFT | Column::Heard.code() as u32
    }

    /// The part that decides about order, never 0.
    #[inline]
    pub(crate) fn key(&self) -> u64 {
        u64::from(self.time) << TIME_SHIFT
            | ((self.by.strand % MOST_STRANDS) as u64) << STRAND_SHIFT
            | ((self.by.pe % MOST_PES) as u64) << PE_SHIFT
            | self.column.code() << COLUMN_SHIFT
            | self.kind.code() << KIND_SHIFT
            | u64::from(self.mask)
    }

    /// The part that reports name, with a few bits of the strand's name.
    #[inline]
    pub(crate) fn place(&self) -> u64 {
        self.site.pc & ((1 << PC_BITS) - 1) | u64::from(self.site.call) << PC_BITS | tag(self.by) << TAG_SHIFT
    }

    /// The access with these parts. `None`: two strands have written the parts at the same moment, and they do not belong together.
    #[inline]
    pub(crate) fn of(key: u64, place: u64) -> Option<Access> {
        let part = |from: u32, end: u32| key >> from & ((1 << (end - from)) - 1);
        let by =
            StrandName { pe: part(PE_SHIFT, STRAND_SHIFT) as usize, strand: part(STRAND_SHIFT, TIME_SHIFT) as usize };
        (place >> TAG_SHIFT == tag(by)).then(|| Access {
            by,
            time: (key >> TIME_SHIFT) as u32,
            column: Column::of_code(part(COLUMN_SHIFT, PE_SHIFT)),
            kind: AccessKind::of_code(part(KIND_SHIFT, COLUMN_SHIFT)),
            mask: key as u8,
            site: Site { pc: place & ((1 << PC_BITS) - 1), call: (place >> PC_BITS) as u16 },
        })
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
