//! A PE's statement about the split that took a slot, for the message about members that split with different arguments.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The owner of the window writes it when it has the slot, whether it becomes a member or not. The numbers come after a name of zero
/// and before the new name. A reader that reads the same name twice has read what belongs together.
#[derive(Default)]
#[repr(C)]
pub(crate) struct SplitStatement {
    /// Which split it is, by the same number on all members of the parent; zero: none.
    name: Word,
    arguments: [Word; 2],
}

impl SplitStatement {
    pub(crate) fn write(&self, name: u64, arguments: [u64; 2]) {
        self.name.store(0, Relaxed);
        self.arguments.iter().zip(arguments).for_each(|(word, argument)| word.store(argument, Release));
        self.name.store(name, Release);
    }

    /// The arguments of the split with this name, if it is the one that the owner has stated.
    pub(crate) fn read(&self, name: u64) -> Option<[u64; 2]> {
        let is_it = self.name.load(Acquire) == name;
        let arguments = self.arguments.each_ref().map(|word| word.load(Acquire));
        (is_it && self.name.load(Relaxed) == name).then_some(arguments)
    }
}
