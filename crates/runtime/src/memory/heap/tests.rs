use super::growth::AHEAD;
use super::*;

const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// A heap without memory, of which `committed` bytes count as backed.
fn heap_of(capacity: u64, committed: u64) -> SymmetricHeap {
    let blocks = Heap::new(capacity);
    let size = HeapSize { cap: capacity, window: 8 * capacity };
    SymmetricHeap {
        blocks,
        size,
        file: None,
        at: 0,
        committed,
        page: PAGE,
        bound: HeapBound::User,
        open: None,
        guard: None,
    }
}

/// How many bytes are missing after a block of `bytes` bytes was placed, if each PE could have `share` bytes; and where the network
/// registers each growth.
fn both_missing(committed: u64, bytes: u64, share: u64) -> [u64; 2] {
    let mut heap = heap_of(100 * MIB, committed);
    heap.place("test", bytes, MIN_ALIGN).expect("room");
    [false, true].map(|registers| {
        heap.missing_where(registers, false, |page| {
            assert_eq!(page, PAGE);
            share
        })
    })
}

/// How many bytes are missing if `ahead` bytes may be backed beyond the needs.
fn missing(committed: u64, bytes: u64, ahead: u64) -> u64 {
    both_missing(committed, bytes, ahead * AHEAD.1)[0]
}

#[test]
fn a_heap_grows_by_an_eighth_if_memory_allows() {
    assert_eq!(missing(80 * MIB, 80 * MIB, MIB), 0);
    assert_eq!(missing(80 * MIB, 80 * MIB + 1, 64 * MIB), 10 * MIB, "an eighth");
    assert_eq!(missing(80 * MIB, 80 * MIB + 1, 3 * MIB), 3 * MIB, "what may be backed ahead");
    assert_eq!(missing(80 * MIB, 80 * MIB + 1, 0), MIB, "no more than must be");
    assert_eq!(missing(80 * MIB, 95 * MIB + 1, 64 * MIB), 16 * MIB, "more than an eighth is needed");
    assert_eq!(missing(96 * MIB, 96 * MIB + 1, 64 * MIB), 4 * MIB, "as much as there is");
    assert_eq!(missing(8 * MIB, 8 * MIB + 1, 64 * MIB), MIB, "an eighth is one step");
    assert_eq!(missing(0, 50 * MIB + 1, 64 * MIB), 51 * MIB, "the first blocks bring what they need");
}

#[test]
fn a_registered_heap_grows_by_an_eighth_if_half_of_the_share_suffices() {
    assert_eq!(both_missing(0, 40 * MIB, 90 * MIB), [40 * MIB, 45 * MIB]);
    // With an eighth more on all PEs there would be no room for what they need.
    assert_eq!(both_missing(0, 40 * MIB, 89 * MIB), [40 * MIB; 2]);
    assert_eq!(both_missing(0, 40 * MIB, 41 * MIB), [40 * MIB; 2]);
    assert_eq!(both_missing(0, 96 * MIB, 1024 * MIB), [96 * MIB, 100 * MIB], "as much as there is");
}

#[test]
fn a_new_block_has_been_used_up_to_the_former_high_water_mark() {
    let mut heap = heap_of(MIB, 0);
    let place = |heap: &mut SymmetricHeap, bytes| heap.place("test", bytes, MIN_ALIGN).expect("room");
    let first = place(&mut heap, 1000);
    assert_eq!(heap.used_part(1000), 0, "no block was there before");
    heap.settle();
    assert_eq!(heap.used_part(1000), 1000, "the block is the program's");
    assert!(heap.free(first));
    assert_eq!(place(&mut heap, 2000), first);
    assert_eq!(heap.used_part(2000), 1024);
    heap.take_back();
    assert_eq!(place(&mut heap, 2000), first);
    assert_eq!(heap.used_part(2000), 1024, "a block that was taken back used nothing");
    assert_eq!(heap.used_part(500), 500);
    heap.guard(u64::MAX);
    assert_eq!(heap.used_part(2000), 2000, "guards lie between blocks");
}

#[test]
fn guards_take_nothing_from_what_the_program_may_have() {
    for (bytes, align) in [(64, MIN_ALIGN), (1, MIN_ALIGN), (4096, 4096), (64, 1 << 16)] {
        let fill = |heap: &mut SymmetricHeap| {
            (0..).take_while(|_| heap.place("test", bytes, align).map(|_| heap.settle()).is_ok()).count()
        };
        let (mut plain, mut guarded) = (heap_of(MIB, 0), heap_of(MIB, 0));
        guarded.guard(u64::MAX);
        let (plain, guarded) = (fill(&mut plain), fill(&mut guarded));
        assert!(
            guarded >= plain,
            "{bytes} bytes at multiples of {align}: {guarded} blocks with guards, {plain} without"
        );
        assert!(guarded as u64 * bytes <= MIB);
    }
}
