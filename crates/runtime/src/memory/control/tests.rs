//! The parts of a control window, and the states of its block.

use super::*;
use oxshmem_os::memory::{AddressRange, Pages, SharedMemory, page_size};
use std::sync::OnceLock;

/// Control windows for tests whose threads stand for PEs.
pub(crate) fn windows() {
    const WINDOWS: usize = 23;
    static OPEN: OnceLock<AddressRange> = OnceLock::new();
    OPEN.get_or_init(|| {
        let file = SharedMemory::create(c"oxshmem test", (WINDOWS as u64) << SHIFT, Pages::Small).expect("memory");
        let mut range = AddressRange::reserve(WINDOWS << SHIFT, page_size()).expect("addresses");
        range.map(0, &file, 0, WINDOWS << SHIFT).expect("a mapping");
        open(range.base() as usize, range.len(), 0);
        range
    });
}

#[test]
fn a_state_that_nobody_writes_counts_as_gone() {
    windows();
    let block = ControlBlock::of(19);
    for state in [State::Running, State::Finalized, State::Gone, State::Starting] {
        block.set_state(state);
        assert_eq!(block.state(), state);
    }
    block.state.store(77, Relaxed);
    assert_eq!(block.state(), State::Gone);
}

#[test]
fn the_parts_of_a_window_follow_each_other() {
    use core::ptr::from_ref;
    windows();
    let window = from_ref(ControlBlock::of(3)) as usize;
    assert_eq!(TEAM_SLOTS.address(3, 0) - window, SLOTS_AT);
    fn end<T>(last: &T) -> usize {
        from_ref(last).wrapping_add(1) as usize
    }
    assert!(end(TEAM_SLOTS.get(3, SLOTS as u32 - 1)) <= MAILBOXES.address(3, 0));
    assert_eq!(end(MAILBOXES.get(3, SPANNING as u32 - 1)), TEAM_BUFFERS.address(3, 0));
    assert_eq!(end(TEAM_BUFFERS.get(3, BUFFER_SETS - 1)), BROADCAST_RINGS.address(3, 0));
    assert_eq!(end(BROADCAST_RINGS.get(3, RINGS - 1)), SET_PLACES.address(3, 0));
    assert!(SET_PLACES.address(3, 0) + SETS_BYTES <= SLOT_LINES.address(3, 0));
    assert!(end(SLOT_LINES.get(3, SLOTS as u32 - 1)) <= SCHEDULE_AREAS.address(3, 0));
    assert_eq!(end(SCHEDULE_AREAS.get(3, AREAS - 1)), SMALL_GATHERS.address(3, 0));
    assert_eq!(end(SMALL_GATHERS.get(3, SPANNING as u32 - 1)), OUTGOING_BUFFERS.address(3, 0));
    assert_eq!(end(OUTGOING_BUFFERS.get(3, BUFFER_SETS - 1)), SLOT_EAGER.address(3, 0));
    assert!(end(SLOT_EAGER.get(3, SLOTS as u32 - 1)) <= from_ref(ControlBlock::of(4)) as usize);
}
