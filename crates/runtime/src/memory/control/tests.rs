//! The parts of a control window, and the states of its block.

use super::*;
use oxshmem_os::memory::{AddressRange, Pages, SharedMemory, page_size};
use std::sync::OnceLock;

/// Control windows for tests whose threads stand for PEs.
pub(crate) fn windows() {
    const WINDOWS: usize = 20;
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
    assert_eq!(from_ref(slot(3, 0)) as usize - window, SLOTS_AT);
    let slots_end = from_ref(slot(3, SLOTS as u32 - 1)).wrapping_add(1) as usize;
    assert!(slots_end <= from_ref(mailboxes(3, 0)) as usize);
    assert_eq!(from_ref(mailboxes(3, SPANNING as u32 - 1)).wrapping_add(1) as usize, from_ref(buffers(3, 0)) as usize);
    assert_eq!(from_ref(buffers(3, BUFFER_SETS - 1)).wrapping_add(1) as usize, from_ref(broadcast_ring(3, 0)) as usize);
    assert_eq!(from_ref(broadcast_ring(3, RINGS - 1)).wrapping_add(1) as usize, sets(3));
    assert!(sets(3) + SETS_BYTES <= from_ref(area(3, 0)) as usize);
    assert_eq!(from_ref(area(3, AREAS - 1)).wrapping_add(1) as usize, small_gather(3, 0, 0) as usize);
    let gathers_end = small_gather(3, SPANNING as u32 - 1, 1).wrapping_add(SMALL_GATHER);
    assert_eq!(gathers_end, outgoing(3, 0, 0));
    let outgoing_end = outgoing(3, BUFFER_SETS - 1, 1).wrapping_add(GATHER) as usize;
    assert_eq!(outgoing_end, from_ref(eager(3, 0)) as usize);
    let eager_end = from_ref(eager(3, SLOTS as u32 - 1)).wrapping_add(1) as usize;
    assert!(eager_end <= from_ref(ControlBlock::of(4)) as usize);
}
