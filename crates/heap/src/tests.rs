use super::*;
use proptest::prelude::*;

const CAPACITY: u64 = 64 << 20;

#[derive(Clone, Debug)]
enum Call {
    Allocate {
        size: u64,
        align: u64,
    },
    /// Which of the live blocks.
    Free(usize),
    Resize(usize, u64),
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..300u64, 4 => 1..200_000u64, 2 => 1..CAPACITY, 1 => (u64::MAX - 100)..=u64::MAX]
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        4 => (sizes(), prop_oneof![6 => 0..13u32, 1 => 0..64u32])
            .prop_map(|(size, shift)| Call::Allocate { size, align: 1 << shift }),
        3 => any::<usize>().prop_map(Call::Free),
        2 => (any::<usize>(), sizes()).prop_map(|(which, size)| Call::Resize(which, size)),
    ];
    prop::collection::vec(call, 1..if cfg!(miri) { 12 } else { 120 })
}

/// A heap beside a record of what it must hold.
struct Checked {
    heap: Heap,
    live: Vec<Block>,
}

impl Checked {
    fn run(calls: &[Call]) -> Self {
        let mut checked = Checked { heap: Heap::new(CAPACITY), live: Vec::new() };
        for call in calls {
            checked.call(call);
            checked.check();
        }
        checked
    }

    fn call(&mut self, call: &Call) {
        match *call {
            Call::Allocate { size, align } => match self.heap.allocate(size, align) {
                Ok(offset) => {
                    assert_eq!(offset % align.max(MIN_ALIGN), 0);
                    self.live.push(Block { offset, size });
                }
                Err(exhausted) => {
                    let needed = extent(size).unwrap_or(u64::MAX).saturating_add(align.saturating_sub(MIN_ALIGN));
                    assert!(needed > exhausted.largest_free, "{needed} bytes fit: {exhausted:?}");
                }
            },
            Call::Free(which) if !self.live.is_empty() => {
                let block = self.live.swap_remove(which % self.live.len());
                assert_eq!(self.heap.free(block.offset), Ok(block.size));
            }
            Call::Resize(which, new_size) if !self.live.is_empty() => {
                let which = which % self.live.len();
                let old = self.live[which];
                match self.heap.resize(old.offset, new_size) {
                    Ok(Resized::InPlace) => self.live[which].size = new_size,
                    Ok(Resized::Moved { to, copy }) => {
                        assert!(to != old.offset && copy == old.size.min(new_size));
                        self.live[which] = Block { offset: to, size: new_size };
                    }
                    Err(Refused::Exhausted(exhausted)) => {
                        assert!(extent(new_size).is_none_or(|extent| extent > exhausted.largest_free));
                    }
                    Err(Refused::NotABlock(_)) => panic!("it is a block"),
                }
            }
            Call::Free(_) | Call::Resize(..) => {}
        }
    }

    fn check(&self) {
        let mut blocks = self.live.clone();
        blocks.sort_by_key(|block| block.offset);
        let end_of = |block: &Block| block.offset + extent(block.size).expect("it was given");
        assert!(blocks.windows(2).all(|pair| end_of(&pair[0]) <= pair[1].offset), "blocks overlap: {blocks:?}");
        assert!(blocks.last().is_none_or(|block| end_of(block) <= self.heap.high_water()));
        assert!(self.heap.high_water() <= CAPACITY);
        assert_eq!(self.heap.in_use, blocks.iter().map(|block| end_of(block) - block.offset).sum::<u64>());
        for block in blocks {
            for offset in [block.offset, block.offset + block.size / 2, block.end().saturating_sub(1).max(block.offset)]
            {
                let inside = offset >= block.offset && offset < block.end();
                assert_eq!(self.heap.block_at(offset), inside.then_some(block));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 200 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_never_overlap_and_room_is_never_overlooked(calls in calls()) {
        Checked::run(&calls);
    }

    #[test]
    fn the_same_calls_give_the_same_heap(calls in calls()) {
        let (here, there) = (Checked::run(&calls), Checked::run(&calls));
        prop_assert_eq!(here.live, there.live);
        prop_assert_eq!(here.heap.fingerprint(), there.heap.fingerprint());
        prop_assert_eq!(here.heap.high_water(), there.heap.high_water());
    }

    #[test]
    fn freeing_everything_leaves_one_piece(calls in calls()) {
        let Checked { mut heap, live } = Checked::run(&calls);
        for block in live {
            heap.free(block.offset).expect("a block");
        }
        prop_assert_eq!(heap.in_use, 0);
        prop_assert_eq!(heap.allocate(CAPACITY, 1), Ok(0));
    }

    #[test]
    fn a_resized_block_keeps_its_contents(calls in calls()) {
        // Every byte of the model holds the number of the block it was written by.
        let mut heap = Heap::new(4096);
        let mut memory = vec![0u8; 4096];
        let mut live: Vec<(Block, u8)> = Vec::new();
        let range = |block: Block| block.offset as usize..block.end() as usize;
        for (number, call) in (0u8..).zip(calls) {
            match call {
                Call::Allocate { size, .. } => if let Ok(offset) = heap.allocate(size % 1000, 1) {
                    let block = Block { offset, size: size % 1000 };
                    memory[range(block)].fill(number);
                    live.push((block, number));
                },
                Call::Free(which) if !live.is_empty() => {
                    let (block, _) = live.swap_remove(which % live.len());
                    heap.free(block.offset).expect("a block");
                    memory[range(block)].fill(0xff);
                }
                Call::Resize(which, size) if !live.is_empty() => {
                    let which = which % live.len();
                    let (block, owner) = live[which];
                    let to = match heap.resize(block.offset, size % 3000) {
                        Ok(Resized::InPlace) => block.offset,
                        Ok(Resized::Moved { to, copy }) => {
                            memory.copy_within(range(Block { size: copy, ..block }), to as usize);
                            to
                        }
                        Err(_) => continue,
                    };
                    let resized = Block { offset: to, size: size % 3000 };
                    let kept = range(Block { offset: to, size: block.size.min(resized.size) });
                    prop_assert!(memory[kept].iter().all(|&byte| byte == owner));
                    memory[range(resized)].fill(owner);
                    live[which].0 = resized;
                }
                Call::Free(_) | Call::Resize(..) => {}
            }
            for &(block, owner) in &live {
                prop_assert!(memory[range(block)].iter().all(|&byte| byte == owner), "a block was overwritten");
            }
        }
    }

    #[test]
    fn a_resize_that_is_undone_leaves_all_but_the_sequence_as_it_was(
        calls in calls(), which in any::<usize>(), size in sizes()
    ) {
        let Checked { mut heap, live } = Checked::run(&calls);
        if let Some(&block) = live.get(which % live.len().max(1)) {
            let mut before = heap.clone();
            if let Ok(resized) = heap.resize(block.offset, size) {
                let now_at = match resized {
                    Resized::InPlace => block.offset,
                    Resized::Moved { to, .. } => to,
                };
                heap.undo_resize(now_at, block, before.high_water());
            }
            prop_assert_ne!(before.fingerprint(), heap.fingerprint());
            before.fingerprint = heap.fingerprint();
            prop_assert_eq!(format!("{before:?}"), format!("{heap:?}"));
        }
    }

    #[test]
    fn a_different_call_gives_a_different_sequence(calls in calls(), at in any::<usize>()) {
        let mut other = calls.clone();
        other.insert(at % (calls.len() + 1), Call::Allocate { size: 1, align: 16 });
        prop_assert_ne!(Checked::run(&calls).heap.fingerprint(), Checked::run(&other).heap.fingerprint());
    }
}

#[test]
fn every_power_of_two_is_an_alignment_and_nothing_else() {
    let mut heap = Heap::new(1 << 40);
    for align in (0..39).map(|shift| 1u64 << shift) {
        let offset = heap.allocate(1, align).expect("there is room");
        assert_eq!(offset % align, 0);
    }
    for align in (41..64).map(|shift| 1u64 << shift) {
        // Only offset 0 has that alignment, and it is taken.
        assert!(heap.allocate(1, align).is_err());
    }
    assert!(heap.allocate(1, 96).is_err());
    assert!(heap.allocate(u64::MAX, u64::MAX).is_err());
    assert!(heap.allocate(1, 0).is_ok());
}

#[test]
fn low_places_and_good_fits_come_first() {
    let mut heap = Heap::new(CAPACITY);
    let [a, b, c, d] = [64, 32, 64, 32].map(|size| heap.allocate(size, 1).expect("room"));
    assert_eq!([a, b, c, d], [0, 64, 128, 192]);
    heap.free(a).expect("a block");
    heap.free(c).expect("a block");
    assert_eq!(heap.allocate(64, 1), Ok(a), "of equal parts the lowest");
    heap.free(b).expect("a block");
    assert_eq!(heap.allocate(100, 1), Ok(b), "the part b and c joined to, not the untouched rest");
    assert_eq!(heap.high_water(), 256);
}

#[test]
fn small_blocks_leave_no_parts_between_them() {
    let mut heap = Heap::new(1 << 20);
    for size in 1..=100 {
        heap.allocate(size, MIN_ALIGN).expect("room");
    }
    assert_eq!(heap.in_use + heap.largest_free(), heap.capacity());
    let rest = heap.largest_free();
    assert!(heap.allocate(rest, MIN_ALIGN).is_ok(), "what is said to be free is to be had");
}

#[test]
fn an_aligned_block_passes_over_gaps_that_lie_badly_and_finds_the_last_room() {
    let pages = 24;
    let mut heap = Heap::new((pages + 2) * PAGE);
    for _ in 0..pages * PAGE / MIN_ALIGN {
        heap.allocate(1, 1).expect("room");
    }
    // Gaps of one block; only the last one begins at a page.
    for gap in (1..pages - 1).map(|page| page * PAGE + MIN_ALIGN).chain([(pages - 1) * PAGE]) {
        heap.free(gap).expect("a block");
    }
    assert_eq!(heap.allocate(1, PAGE), Ok(pages * PAGE), "in the part that is long enough wherever it lies");
    assert_eq!(heap.allocate(1, PAGE), Ok((pages + 1) * PAGE));
    assert_eq!(heap.allocate(1, PAGE), Ok((pages - 1) * PAGE), "in the only gap that is left for it");
    assert!(heap.allocate(1, PAGE).is_err());
    assert_eq!(heap.allocate(1, 1), Ok(PAGE + MIN_ALIGN), "the gaps are there for others");
}

#[test]
fn big_blocks_begin_at_a_page_unless_that_costs_them_their_place() {
    let mut heap = Heap::new(8 << 20);
    heap.allocate(1, 1).expect("room");
    assert_eq!(heap.allocate(4 << 20, 1), Ok(4096));
    let mut heap = Heap::new(4 << 20);
    heap.allocate(64, 1).expect("room");
    assert_eq!(heap.allocate((4 << 20) - 64, 1), Ok(64));
}

#[test]
fn a_block_grows_into_what_is_free_behind_it_and_shrinks_in_place() {
    let mut heap = Heap::new(CAPACITY);
    let a = heap.allocate(16, 1).expect("room");
    assert_eq!(heap.resize(a, 1000), Ok(Resized::InPlace));
    let b = heap.allocate(16, 1).expect("room");
    assert_eq!(heap.resize(a, 2000), Ok(Resized::Moved { to: b + 64, copy: 1000 }));
    assert_eq!(heap.resize(b + 64, 7), Ok(Resized::InPlace));
    assert_eq!(heap.block_at(b + 64 + 6), Some(Block { offset: b + 64, size: 7 }));
    assert_eq!(heap.block_at(b + 64 + 7), None);
}

#[test]
fn a_block_may_slide_down_when_that_is_the_only_room() {
    let mut heap = Heap::new(1024);
    let a = heap.allocate(256, 1).expect("room");
    let b = heap.allocate(512, 1).expect("room");
    heap.allocate(256, 1).expect("room");
    heap.free(a).expect("a block");
    assert_eq!(heap.resize(b, 700), Ok(Resized::Moved { to: 0, copy: 512 }));
    let before = heap.clone();
    assert!(matches!(heap.resize(0, 769), Err(Refused::Exhausted(Exhausted { in_use: 960, capacity: 1024, .. }))));
    assert_eq!((heap.block_at(0), heap.in_use), (before.block_at(0), before.in_use));
}

#[test]
fn what_is_no_block_is_refused_with_a_reason() {
    let mut heap = Heap::new(CAPACITY);
    let a = heap.allocate(100, 1).expect("room");
    let inside = NotABlock { offset: a + 4, inside: Some(Block { offset: a, size: 100 }) };
    assert_eq!(heap.free(a + 4), Err(inside));
    assert_eq!(inside.to_string(), "it lies 4 bytes inside a block of 100 bytes");
    assert_eq!(heap.resize(a + 4, 1), Err(Refused::NotABlock(inside)));
    assert_eq!(heap.free(a), Ok(100));
    assert_eq!(heap.free(a), Err(NotABlock { offset: a, inside: None }));
    assert_eq!(heap.free(u64::MAX), Err(NotABlock { offset: u64::MAX, inside: None }));
}

#[test]
fn a_heap_without_room_says_how_much_there_is() {
    for capacity in [0, 15] {
        let exhausted = Heap::new(capacity).allocate(1, 1).expect_err("no room");
        assert_eq!(exhausted, Exhausted { largest_free: 0, in_use: 0, capacity: 0 });
    }
    let mut heap = Heap::new(1 << 20);
    heap.allocate(1 << 19, 1).expect("room");
    let half = Exhausted { largest_free: 1 << 19, in_use: 1 << 19, capacity: 1 << 20 };
    assert_eq!(heap.allocate(1 << 20, 1), Err(half));
    // The block itself is in use, and no part of what is free.
    assert_eq!(heap.resize(0, 1 << 21), Err(Refused::Exhausted(half)));
    assert!(Heap::new(u64::MAX).allocate(u64::MAX - 100, 1 << 63).is_ok());
}

#[test]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
fn fault_M3_calls_that_are_taken_back_look_like_calls_that_were_refused() {
    let heap = |capacity| {
        let mut heap = Heap::new(capacity);
        heap.allocate(100, 1).expect("room");
        heap
    };
    // Another capacity stands for another reason to refuse.
    let (mut served, mut refused) = (heap(CAPACITY), heap(200));
    let before = served.high_water();
    let block = served.allocate(1 << 20, 1).expect("room");
    served.withdraw(block, before);
    refused.allocate(1 << 20, 1).expect_err("no room");
    assert_eq!((served.fingerprint(), served.high_water()), (refused.fingerprint(), refused.high_water()));

    assert_eq!(served.resize(0, 1 << 20), Ok(Resized::InPlace));
    served.undo_resize(0, Block { offset: 0, size: 100 }, before);
    refused.resize(0, 1 << 20).expect_err("no room");
    assert_eq!((served.fingerprint(), served.high_water()), (refused.fingerprint(), refused.high_water()));
    assert_eq!(served.allocate(64, 1), refused.allocate(64, 1));
}

#[test]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
fn fault_S3_a_retired_block_is_in_the_fingerprint_at_once_and_in_use_until_it_is_reused() {
    let (mut retiring, mut freeing) = (Heap::new(CAPACITY), Heap::new(CAPACITY));
    let blocks = [&mut retiring, &mut freeing].map(|heap| {
        let blocks = [heap.allocate(64, 1).unwrap(), heap.allocate(64, 1).unwrap()];
        assert_eq!(blocks[0], 0);
        blocks
    });
    assert_eq!(blocks[0], blocks[1]);
    retiring.retire(0).unwrap();
    freeing.free(0).unwrap();
    assert_eq!(retiring.fingerprint(), freeing.fingerprint());
    let fingerprint = retiring.fingerprint();
    assert_eq!(retiring.clone().allocate(64, 1), Ok(128));
    retiring.reuse(0).unwrap();
    assert_eq!(retiring.fingerprint(), fingerprint);
    assert_eq!(retiring.allocate(64, 1), Ok(0));
    assert!(retiring.retire(8).is_err() && retiring.reuse(8).is_err());
}
