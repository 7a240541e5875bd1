//! The index at the head of a control window: where a reader from outside finds the rest.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The first word of a window whose index is written. The last digits are the version of all layouts of this crate.
const MARK: u64 = u64::from_le_bytes(*b"oxflt005");

/// The bytes of the first word that all versions have.
const NAME: u64 = (1 << 40) - 1;

/// The name of the memory file with the control windows, which every PE of a node has mapped.
pub const FILE: &CStr = c"oxshmem control";

/// The head of a control window. The owner writes it once, the mark last and with release.
#[repr(C, align(128))]
pub struct Index {
    mark: AtomicU64,
    pe: AtomicU32,
    shift: AtomicU32,
    state: AtomicU32,
    waits: AtomicU32,
    calls: AtomicU32,
}

/// Bytes of an index.
pub const BYTES: usize = size_of::<Index>();

/// The content of an index. Places are counted from the beginning of the window, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowLayout {
    /// World number of the owner.
    pub pe: u32,
    /// Windows are this power of two apart.
    pub shift: u32,
    /// Where the number of the owner's [`crate::State`] is.
    pub state: u32,
    /// Where its [`crate::waits::Records`] are.
    pub waits: u32,
    /// Where its first [`crate::calls::CallRing`] is.
    pub calls: u32,
}

impl Index {
    /// Tells readers where to look.
    pub fn publish(&self, layout: WindowLayout) {
        let WindowLayout { pe, shift, state, waits, calls } = layout;
        self.pe.store(pe, Relaxed);
        self.shift.store(shift, Relaxed);
        self.state.store(state, Relaxed);
        self.waits.store(waits, Relaxed);
        self.calls.store(calls, Relaxed);
        self.mark.store(MARK, Release);
    }

    /// The index as a reader copies it.
    pub fn words(&self) -> [u64; 4] {
        let pair =
            |low: &AtomicU32, high: &AtomicU32| u64::from(low.load(Relaxed)) | u64::from(high.load(Relaxed)) << 32;
        let mark = self.mark.load(Acquire);
        [mark, pair(&self.pe, &self.shift), pair(&self.state, &self.waits), u64::from(self.calls.load(Relaxed))]
    }
}

impl WindowLayout {
    /// The layout in the first words of a window, if the owner has written one that this build knows.
    pub fn of_words(words: &[u64]) -> Option<Self> {
        let &[mark, first, second, third, ..] = words else { return None };
        let layout = Self {
            pe: first as u32,
            shift: (first >> 32) as u32,
            state: second as u32,
            waits: (second >> 32) as u32,
            calls: third as u32,
        };
        (mark == MARK && layout.shift < 48).then_some(layout)
    }

    /// Whether these are the first words of a window whose owner has another version of the library than the reader.
    pub fn is_of_another_version(words: &[u64]) -> bool {
        words.first().is_some_and(|&mark| mark != MARK && mark & NAME == MARK & NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_comes_back_from_its_index_and_nothing_from_another() {
        let index = Index {
            mark: AtomicU64::new(0),
            pe: AtomicU32::new(0),
            shift: AtomicU32::new(0),
            state: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            calls: AtomicU32::new(0),
        };
        assert_eq!(WindowLayout::of_words(&index.words()), None);
        let layout = WindowLayout { pe: 70_000, shift: 33, state: 128, waits: 4096, calls: 8192 };
        index.publish(layout);
        assert_eq!(WindowLayout::of_words(&index.words()), Some(layout));
        assert_eq!(WindowLayout::of_words(&[MARK]), None);
        let mark = |name: &[u8; 8]| [u64::from_le_bytes(*name), 0, 0, 0];
        assert!(WindowLayout::is_of_another_version(&mark(b"oxflt004")));
        assert!(
            ![index.words(), mark(b"oxledg02"), [0; 4]].iter().any(|words| WindowLayout::is_of_another_version(words))
        );
    }
}
