//! A PE's statements for messages about members that do not make the same call: about its last collective call with numbers, and about the
//! split that took a slot.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Words of the owner that belong together. The first one, the *head*, says of what they are; zero: of nothing.
///
/// The owner stores zero as the head, then the other words, then the head. So a reader that reads the same head twice has mostly read what
/// belongs together. Two threads of the owner may write at once, and then a head and words of different statements stay side by side: a
/// seal over all words detects that.
#[repr(C)]
pub(crate) struct Statement<const N: usize> {
    words: [Word; N],
    seal: Word,
}

impl<const N: usize> Statement<N> {
    /// Of nothing.
    pub(crate) const fn new() -> Self {
        Self { words: [const { Word::new(0) }; N], seal: Word::new(0) }
    }

    #[inline(always)]
    pub(crate) fn write(&self, words: [u64; N]) {
        self.words[0].store(0, Relaxed);
        self.words[1..].iter().zip(&words[1..]).for_each(|(place, &word)| place.store(word, Release));
        self.seal.store(seal(words), Release);
        self.words[0].store(words[0], Release);
    }

    /// Reads it; zeros while it changes, or if it mixes two statements.
    pub(crate) fn read(&self) -> [u64; N] {
        let words = self.words.each_ref().map(|word| word.load(Acquire));
        let is_whole = self.seal.load(Acquire) == seal(words) && self.words[0].load(Relaxed) == words[0];
        if is_whole { words } else { [0; N] }
    }
}

/// A word that depends on all words.
fn seal<const N: usize>(words: [u64; N]) -> u64 {
    words.iter().fold(0, |seal, word| seal.rotate_left(13) ^ word)
}

/// A PE's statement about its last collective call with numbers, which it writes as the call begins.
pub(crate) type CallStatement = Statement<4>;
/// A PE's statement about the split that took a slot, which it writes when it has the slot, whether it becomes a member or not: the
/// number of the split, the same one on all members of the parent, and its arguments.
pub(crate) type SplitStatement = Statement<3>;

/// The call that a statement declares.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct CallDeclaration {
    /// The signature, the root from bit 16 on, and from bit 48 on the team's slot and one; zero: nothing.
    head: u64,
    pub(crate) bytes: u64,
    /// How far the team was when the call began: its exchanges, and all other calls that had sent something.
    history: (u64, u64),
}

impl CallDeclaration {
    /// `slot` is the team's, if it has one.
    #[inline(always)]
    pub(crate) fn new(signature: u16, bytes: usize, root: u32, slot: Option<u32>, history: (u64, u64)) -> Self {
        let slot = slot.map_or(0, |slot| u64::from(slot) + 1);
        Self { head: u64::from(signature) | u64::from(root) << 16 | slot << 48, bytes: bytes as u64, history }
    }

    /// As it is stated.
    #[inline(always)]
    pub(crate) fn words(self) -> [u64; 4] {
        [self.head, self.bytes, self.history.0, self.history.1]
    }

    /// As it was stated.
    pub(crate) fn of(statement: &CallStatement) -> Self {
        let [head, bytes, exchanges, others] = statement.read();
        Self { head, bytes, history: (exchanges, others) }
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
        let turn = |declaration: Self| (declaration.head >> 48, declaration.history);
        self.head >> 48 != 0 && turn(self) == turn(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_read_and_compared_by_team_and_turn() {
        let say = |root, slot, counts| {
            let statement = CallStatement::new();
            statement.write(CallDeclaration::new(0x1234, 48, root, slot, counts).words());
            CallDeclaration::of(&statement)
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
        assert_eq!(CallDeclaration::of(&CallStatement::new()), CallDeclaration::default());
    }

    /// One thread has written all but its head when another one writes a statement of its own.
    #[test]
    fn a_statement_of_two_threads_says_nothing() {
        let (statement, other) = (CallStatement::new(), CallStatement::new());
        other.write(CallDeclaration::new(0x1234, 48, 1, Some(7), (3, 9)).words());
        statement.write(CallDeclaration::new(0x1234, 48, 1, Some(8), (3, 10)).words());
        statement.words[0].store(other.words[0].load(Relaxed), Release);
        assert_eq!(CallDeclaration::of(&statement), CallDeclaration::default());
    }
}
