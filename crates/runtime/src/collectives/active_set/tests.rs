use super::*;
use crate::memory::control;

#[test]
fn parts_of_a_team_meet_apart_from_each_other_and_from_those_of_other_teams() {
    let mut keys = HashMap::new();
    for parent in [0, 1, 4095] {
        for (start, stride, size) in [(0, 1, 3), (2, 1, 3), (0, 2, 3), (0, 1, 2), (40000, 1, 3), (65536, 1, 3)] {
            let members = Members::Triplet { start: 0, stride: stride as i32 };
            let key = Key::of_part(parent, &Triplet { start, stride, size }, &members);
            let other = keys.insert(key, (parent, start, stride, size));
            assert_eq!(other, None, "meets the part {:?}", (parent, start, stride, size));
        }
    }
}

/// With a work array for each set, and with one for all. Posted broadcasts keep half of the places.
#[test]
fn sets_that_begin_with_the_same_pe_and_may_all_meet_at_once_find_places() {
    let most = |pes: u32, sets: &[(u32, u32)], apart: u64| {
        let count = count_of(pes as usize) as u32;
        let mut kept: HashMap<u32, usize> = HashMap::new();
        for (i, &(stride, size)) in (0..).zip(sets) {
            let key = Key { start: 0, stride, size, array: 4096 + i * apart };
            *kept.entry(key.keeper(pes, count, |member| member * stride)).or_default() += 1;
        }
        kept.into_values().max().unwrap_or_default()
    };
    let left = |pes: usize| count_of(pes) / 2;
    let tree: Vec<_> = (0..10).map(|level| (1 << level, 1024 >> level)).collect();
    for apart in [0, 64] {
        assert!(most(1024, &tree, apart) <= left(1024), "{}", most(1024, &tree, apart));
        for pes in [128, 256, 1024, 4096] {
            let prefixes: Vec<_> = (1..=pes).map(|size| (1, size)).collect();
            // Parts of a team may have any step.
            let pairs: Vec<_> = (1..pes).map(|stride| (stride, 2)).collect();
            for sets in [prefixes, pairs] {
                let found = most(pes, &sets, apart);
                assert!(found <= left(pes as usize), "{found} of {pes}");
            }
        }
    }
}

#[test]
fn a_parent_whose_number_had_another_owner_has_parts_of_its_own() {
    let part = Triplet { start: 0, stride: 1, size: 3 };
    let keys: Vec<Key> = [
        Members::Triplet { start: 0, stride: 1 },
        Members::Triplet { start: 0, stride: 2 },
        Members::Triplet { start: 1, stride: 1 },
        Members::List(Box::new([0, 1, 3])),
        Members::List(Box::new([0, 3, 4])),
    ]
    .iter()
    .map(|members| Key::of_part(7, &part, members))
    .collect();
    for (i, key) in keys.iter().enumerate() {
        assert!(!keys[..i].contains(key), "{i}");
    }
}

/// The `count` places that a PE keeps on a node of two, as the PE in a window sees them.
fn places(count: u32) -> impl Fn(u32) -> Places {
    use std::alloc::{Layout, alloc_zeroed};

    let each = size_of::<SetPlace>() + 2 * size_of::<Seat>();
    let layout = Layout::from_size_align(each * count as usize, align_of::<SetPlace>()).expect("a layout");
    // SAFETY: the layout has bytes; it stays for ever, as the places of a node do while a test runs.
    let base = unsafe { alloc_zeroed(layout) } as usize;
    let word = || &*Box::leak(Box::new(crate::sync::AtomicU32::new(0)));
    let (lock, clock) = (word(), word());
    move |me| Places { lock, clock, base, each, pes: 2, count, me, alone: true }
}

fn pair(array: u64) -> Key {
    Key { start: 0, stride: 1, size: 2, array }
}

#[test]
fn a_new_set_gets_the_oldest_place_in_which_nobody_is() {
    control::tests::windows();
    let places = places(4)(0);
    let mark = |index: u32| places.mark(index, 1);
    let found = |array| {
        let index = places.search(&pair(array)).expect("a free place");
        places.door(index).leave();
        index
    };
    let first = [1, 2, 3, 4].map(found);
    assert_eq!(first, [0, 1, 2, 3], "places that no set has had");
    assert_eq!(found(2), 1);
    mark(0).store(1, Relaxed);
    mark(2).store(1, Relaxed);
    assert_eq!([5, 6, 7].map(found), [1, 3, 1], "PE 1 is in the oldest place and in the third");
    mark(0).store(0, Relaxed);
    assert_eq!([8, 9].map(found), [0, 3]);
}

/// A program with hundreds of pairs takes places over in each call.
#[test]
fn a_search_looks_at_no_place_of_another_pair() {
    control::tests::windows();
    let places = places(4)(0);
    let enter = |array| {
        let index = places.search(&pair(array)).expect("a free place");
        places.door(index).leave();
        index
    };
    assert_eq!([1, 2, 3].map(enter), [0, 1, 2]);
    // The head of a place that the index has for another pair.
    places.place(1).belong_to(&pair(4));
    assert!(places.place(1).is_of(&pair(4)));
    assert_eq!([4, 4, 3].map(enter), [3, 3, 2]);
}

/// Two PEs of a node that keeps one place.
#[test]
fn a_place_stays_with_its_set_until_all_have_taken_a_posted_broadcast() {
    use crate::collectives::call::Call;
    use crate::collectives::node_eager;

    control::tests::windows();
    let (places, each) = (places(1), size_of::<SetPlace>());
    let enter = |me, key: &Key| {
        let index = places(me).search(key)?;
        Some(places(me).known(index, SetName::default(), Members::Triplet { start: 0, stride: 1 }, 2, me))
    };

    let root = enter(0, &pair(64)).expect("a free place");
    assert!(root.team.posts);
    // SAFETY: eight bytes fit an entry.
    unsafe { node_eager::post(Call::new(&root.team, "test"), (&raw const each).cast(), 8) };
    root.leave();
    assert!(enter(1, &pair(128)).is_none(), "another set got the place of a broadcast that nobody has taken");
    let member = enter(1, &pair(64)).expect("the place of the set");
    let mut taken = 0_usize;
    // SAFETY: eight bytes fit an entry and the number.
    unsafe { node_eager::take(Call::new(&member.team, "test"), 0, (&raw mut taken).cast(), 8) };
    assert_eq!(taken, each);
    member.leave();
    let next = enter(1, &pair(128)).expect("the place is free");
    let stamps = next.team.eager(0).ring.iter().map(|entry| entry.stamp.load(Relaxed));
    assert!(stamps.sum::<u64>() == 0, "a stamp of the earlier set is left");
}
