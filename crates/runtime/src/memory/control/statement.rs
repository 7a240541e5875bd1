//! A PE's statement about its last collective call with numbers: for the message about members that make different calls,
//! and for those that wait for a member that will never come.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The owner writes it as the call begins. The numbers come after a head of zero and before the new head, so a reader that reads
/// the same head twice has mostly read what belongs together. Two threads of the owner may write at once, and then a head and numbers of
/// different calls stay side by side: a seal over all words detects that.
#[repr(C)]
pub(crate) struct Statement {
    /// The signature, the root from bit 16 on, and from bit 48 on the team's slot and one; zero: nothing.
    head: Word,
    bytes: Word,
    /// How far the team was when the call began: its exchanges, and all other calls that had sent something.
    exchanges: Word,
    others: Word,
    seal: Word,
}

/// A statement as it was read.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct CallDeclaration {
    head: u64,
    pub(crate) bytes: u64,
    exchanges: u64,
    others: u64,
}

impl Statement {
    /// Writes it. `slot` is the team's, if it has one.
    #[inline(always)]
    pub(crate) fn write(&self, signature: u16, bytes: usize, root: u32, slot: Option<u32>, history: (u64, u64)) {
        let slot = slot.map_or(0, |slot| u64::from(slot) + 1);
        let head = u64::from(signature) | u64::from(root) << 16 | slot << 48;
        let declaration = CallDeclaration { head, bytes: bytes as u64, exchanges: history.0, others: history.1 };
        self.head.store(0, Relaxed);
        self.bytes.store(declaration.bytes, Release);
        self.exchanges.store(declaration.exchanges, Release);
        self.others.store(declaration.others, Release);
        self.seal.store(declaration.seal(), Release);
        self.head.store(head, Release);
    }

    /// Reads it; an empty declaration while it changes, or if it mixes two calls.
    pub(crate) fn read(&self) -> CallDeclaration {
        let head = self.head.load(Acquire);
        let declaration = CallDeclaration {
            head,
            bytes: self.bytes.load(Acquire),
            exchanges: self.exchanges.load(Acquire),
            others: self.others.load(Acquire),
        };
        let is_whole = self.seal.load(Acquire) == declaration.seal();
        if is_whole && self.head.load(Relaxed) == head { declaration } else { CallDeclaration::default() }
    }
}

impl CallDeclaration {
    /// How many bytes a statement has.
    pub(crate) const BYTES: usize = size_of::<Statement>();

    /// From the words of a statement that was fetched.
    pub(crate) fn from_words([head, bytes, exchanges, others, seal]: [u64; Self::BYTES / 8]) -> Self {
        let declaration = Self { head, bytes, exchanges, others };
        if seal == declaration.seal() { declaration } else { Self::default() }
    }

    /// A word that depends on all others.
    fn seal(self) -> u64 {
        self.head ^ self.bytes.rotate_left(13) ^ self.exchanges.rotate_left(29) ^ self.others.rotate_left(47)
    }

    pub(crate) fn signature(self) -> u16 {
        self.head as u16
    }

    pub(crate) fn root(self) -> u32 {
        (self.head >> 16) as u32
    }

    /// Whether it declares a call with this signature of the team that has this slot. A PE has one declaration: it may be that of
    /// another team, in whose collective another thread is, or a call that goes on after one that has been suspended.
    pub(crate) fn is_of(self, signature: u16, slot: Option<u32>) -> bool {
        self.signature() == signature && slot.is_some_and(|slot| self.head >> 48 == u64::from(slot) + 1)
    }

    /// Whether both declare calls that are the next ones of one team with the same history. Both are of teams with one slot, and that is
    /// one team if each of the two PEs is a member of it.
    pub(crate) fn is_of_the_same_turn(self, other: Self) -> bool {
        let turn = |declaration: Self| (declaration.head >> 48, declaration.exchanges, declaration.others);
        self.head >> 48 != 0 && turn(self) == turn(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        let [head, bytes, exchanges, others, seal] = [0; 5].map(Word::new);
        Statement { head, bytes, exchanges, others, seal }
    }

    #[test]
    fn a_declaration_is_read_and_compared_by_team_and_turn() {
        let say = |root, slot, counts| {
            let statement = statement();
            statement.write(0x1234, 48, root, slot, counts);
            statement.read()
        };
        let declaration = say(u32::MAX, Some(4095), (7, 9));
        assert_eq!((declaration.signature(), declaration.bytes, declaration.root()), (0x1234, 48, u32::MAX));
        assert!(declaration.is_of(0x1234, Some(4095)));
        assert!(!declaration.is_of(0x1235, Some(4095)) && !declaration.is_of(0x1234, Some(4094)));
        assert!(!declaration.is_of(0x1234, None) && !say(0, None, (0, 0)).is_of(0x1234, None));
        assert!(declaration.is_of_the_same_turn(say(0, Some(4095), (7, 9))));
        assert!(!declaration.is_of_the_same_turn(say(0, Some(4094), (7, 9))));
        assert!(!declaration.is_of_the_same_turn(say(0, Some(4095), (8, 9))));
        assert!(!say(0, None, (0, 0)).is_of_the_same_turn(say(0, None, (0, 0))));
        assert_eq!(statement().read(), CallDeclaration::default());
    }

    /// One thread has written all but its head when another one writes a statement of its own.
    #[test]
    fn a_statement_of_two_threads_says_nothing() {
        let (statement, other) = (statement(), statement());
        other.write(0x1234, 48, 1, Some(7), (3, 9));
        statement.write(0x1234, 48, 1, Some(8), (3, 10));
        statement.head.store(other.head.load(Relaxed), Release);
        assert_eq!(statement.read(), CallDeclaration::default());
    }
}
