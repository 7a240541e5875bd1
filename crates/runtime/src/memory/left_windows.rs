//! Windows that a life has left to threads that may still be in a call on a static variable. They stay mapped, and the next life has them.
//!
//! The program of a Rust world may have such threads, and safe code cannot tell when their calls are over. So these addresses are never
//! unmapped. The next life maps its own files there, which the kernel does in one step: a late thread finds one file or the other. What it
//! finds are the same objects at the same places. The windows of static variables show the same variables of the same PEs in all
//! lives. Control windows have the layout of the program, and calls on static variables use atomics alone there: the records of their
//! thread's waits and calls, bells, and the states of PEs.

use oxshmem_os::memory::AddressRange;
use parking_lot::Mutex;

/// A place for windows between two lives.
pub(crate) type LeftWindows = Mutex<Option<AddressRange>>;

/// The control windows of the node.
pub(crate) static CONTROL: LeftWindows = Mutex::new(None);
/// The static variables of the node's PEs.
pub(crate) static STATICS: LeftWindows = Mutex::new(None);

/// Leaves windows to the next life that needs as many. Others of an earlier life stay mapped until the process ends.
pub(crate) fn leave(place: &LeftWindows, windows: Option<AddressRange>) {
    if let Some(windows) = windows {
        let other = place.lock().replace(windows);
        core::mem::forget(other);
    }
}

/// The windows that the last life has left, if they have so many bytes.
pub(crate) fn take(place: &LeftWindows, bytes: usize) -> Option<AddressRange> {
    place.lock().take_if(|windows| windows.len() == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_os::memory::page_size;

    #[test]
    fn windows_of_the_same_size_have_the_same_place_in_the_next_life() {
        let place = Mutex::new(None);
        let (len, align) = (4 * page_size(), page_size());
        let windows = AddressRange::reserve(len, align).expect("addresses");
        let base = windows.base();
        leave(&place, Some(windows));
        assert!(take(&place, 2 * len).is_none(), "another node");
        leave(&place, None);
        assert_eq!(take(&place, len).map(|windows| windows.base()), Some(base));
        assert!(take(&place, len).is_none(), "nobody else has them");
    }
}
