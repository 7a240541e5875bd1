//! Operations on a remote PE, and places in its memory.

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

impl TryFrom<u8> for Region {
    type Error = u8;

    /// The region of a number from a message.
    fn try_from(number: u8) -> Result<Self, u8> {
        Self::ALL.into_iter().find(|region| *region as u8 == number).ok_or(number)
    }
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

impl Remote {
    /// The place as the PE itself sees it.
    pub const fn position(self) -> Position {
        Position { region: self.region, offset: self.offset }
    }
}

/// A place in the memory of the PE that is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
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

impl Width {
    /// All widths.
    pub const ALL: [Self; 3] = [Self::Two, Self::Four, Self::Eight];

    /// Bytes.
    pub const fn bytes(self) -> usize {
        self as usize
    }
}

impl TryFrom<u8> for Width {
    type Error = u8;

    /// The width of that many bytes.
    fn try_from(bytes: u8) -> Result<Self, u8> {
        Self::ALL.into_iter().find(|width| *width as u8 == bytes).ok_or(bytes)
    }
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
        /// The expected value.
        cond: u64,
        /// The value that replaces it.
        value: u64,
    },
}

impl Amo {
    /// The new value of an object of so many bytes that holds `old`. What stands above these bytes in an operand does not count: a
    /// negative number fills them.
    pub const fn apply(self, old: u64, bytes: usize) -> u64 {
        let object = u64::MAX >> (64 - 8 * bytes);
        let new = match self {
            Self::Fetch => old,
            Self::Swap(value) => value,
            Self::Add(value) => old.wrapping_add(value),
            Self::And(value) => old & value,
            Self::Or(value) => old | value,
            Self::Xor(value) => old ^ value,
            Self::CompareSwap { cond, value } if old == cond & object => value,
            Self::CompareSwap { .. } => old,
        };
        new & object
    }

    /// Number of the kind in messages, first and second operand.
    pub const fn to_parts(self) -> (u8, u64, u64) {
        match self {
            Self::Fetch => (0, 0, 0),
            Self::Swap(value) => (1, value, 0),
            Self::Add(value) => (2, value, 0),
            Self::And(value) => (3, value, 0),
            Self::Or(value) => (4, value, 0),
            Self::Xor(value) => (5, value, 0),
            Self::CompareSwap { cond, value } => (6, value, cond),
        }
    }

    /// The inverse of [`Amo::to_parts`]; `None` if there is no such kind.
    pub const fn from_parts(kind: u8, value: u64, cond: u64) -> Option<Self> {
        Some(match kind {
            0 => Self::Fetch,
            1 => Self::Swap(value),
            2 => Self::Add(value),
            3 => Self::And(value),
            4 => Self::Or(value),
            5 => Self::Xor(value),
            6 => Self::CompareSwap { cond, value },
            _ => return None,
        })
    }
}

/// The change of a signal when the data of its put is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalUpdate {
    /// It becomes this number.
    Set(u64),
    /// This number is added to it.
    Add(u64),
}

impl SignalUpdate {
    /// The update as an atomic.
    pub const fn amo(self) -> Amo {
        match self {
            Self::Set(value) => Amo::Swap(value),
            Self::Add(value) => Amo::Add(value),
        }
    }
}

impl TryFrom<Amo> for SignalUpdate {
    type Error = Amo;

    /// The inverse of [`SignalUpdate::amo`].
    fn try_from(amo: Amo) -> Result<Self, Amo> {
        match amo {
            Amo::Swap(value) => Ok(Self::Set(value)),
            Amo::Add(value) => Ok(Self::Add(value)),
            other => Err(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Amo;

    #[test]
    fn what_a_negative_operand_has_above_the_object_does_not_count() {
        for bytes in [1, 2, 4, 8] {
            let object = u64::MAX >> (64 - 8 * bytes);
            let minus = |n: i64| n.wrapping_neg() as u64;
            let swap = Amo::CompareSwap { cond: minus(1), value: minus(2) };
            assert_eq!(swap.apply(object, bytes), object - 1, "{bytes} bytes");
            assert_eq!(swap.apply(object - 1, bytes), object - 1, "{bytes} bytes: the condition is not there");
            assert_eq!(swap.apply(0, bytes), 0, "{bytes} bytes: nor here");
            assert_eq!(Amo::Add(minus(3)).apply(2, bytes), object, "{bytes} bytes");
            assert_eq!(Amo::Swap(minus(1)).apply(0, bytes), object, "{bytes} bytes");
        }
    }
}
