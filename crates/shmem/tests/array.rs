//! Arrays whose elements are spread over all PEs.

mod again;
mod worlds;

use again::again;
use oxshmem::World;
use worlds::everywhere;

#[test]
fn every_length_is_spread_without_a_gap() {
    everywhere(3, |world| {
        for len in 0..10 {
            let mut array = world.array(len, 7_u64).unwrap();
            let blocks: Vec<usize> = (0..3).flat_map(|pe| array.block_of(pe)).collect();
            assert_eq!(blocks, (0..len).collect::<Vec<_>>());
            assert_eq!(
                array.iter_block().map(|(i, _)| i).collect::<Vec<_>>(),
                array.block_of(world.my_pe()).collect::<Vec<_>>()
            );
            array.update(|i, old| old * 10 + i as u64);
            assert_eq!(array.get_range(0..len), (0..len).map(|i| 70 + i as u64).collect::<Vec<_>>());
            assert_eq!(array.max(), (0..len).map(|i| 70 + i as u64).max());
            assert_eq!(array.min(), (len > 0).then_some(70));
            assert_eq!(array.sum(), (0..len).map(|i| 70 + i as u64).sum::<u64>());
            // Each PE has stored its own elements when it calls, and knows nothing of the others.
            array.block().fill(5);
            assert_eq!(array.max(), (len > 0).then_some(5));
            // Nobody frees what others still read.
            world.barrier();
        }
    });
}

#[test]
fn elements_and_ranges_are_reached_wherever_they_are() {
    everywhere(3, |world| {
        let array = world.array(100, 0_u32).unwrap();
        // Each PE every third element, most of which others have.
        (0..100).filter(|i| i % 3 == world.my_pe()).for_each(|i| array.put(i, i as u32));
        world.barrier();
        assert!((0..100).all(|i| array.get(i) == i as u32));
        assert_eq!(array.get_range(20..90), (20..90).collect::<Vec<_>>());
        world.barrier();
        if world.my_pe() == 2 {
            array.put_range(30, &[5; 40]);
        }
        world.barrier();
        assert_eq!(array.get_range(29..71), [&[29][..], &[5; 40], &[70]].concat());
        array.fill(1);
        assert_eq!(array.sum(), 100);
    });
}

#[test]
fn a_sum_wraps_within_a_block_as_it_does_between_blocks() {
    everywhere(3, |world| {
        // 700 in each block.
        let array = world.array(300, 7_u8).unwrap();
        assert_eq!(array.sum(), 52);
        assert_eq!(world.sum_of(array.iter_block().fold(0_u8, |sum, (_, value)| sum.wrapping_add(value))), 52);
        // A member without elements adds nothing.
        assert_eq!(world.array(1, 2.5).unwrap().sum(), 2.5);
        world.barrier();
    });
}

#[test]
fn long_parts_of_ranges_travel_together() {
    everywhere(3, |world| {
        // Each block is longer than what any network copies.
        let array = world.array(30_000, 0_u64).unwrap();
        let me = world.my_pe();
        for writer in 0..3 {
            let written = |i: usize| (i << 2 | writer) as u64;
            if me == writer {
                let mut values: Vec<_> = (5..29_990).map(written).collect();
                array.put_range(5, &values);
                // They are free at once.
                values.fill(u64::MAX);
            }
            world.barrier();
            // From the own block on, and of all.
            let own = array.block_of(me).start + 7;
            for (begin, end) in [(own, 29_990), (5, 29_990), (9_999, 10_001), (20_000, 20_000)] {
                assert!(
                    array.get_range(begin..end) == (begin..end).map(written).collect::<Vec<_>>(),
                    "{begin} to {end}"
                );
            }
            assert_eq!((array.get(4), array.get(29_990)), (0, 0));
            world.barrier();
        }
    });
}

#[test]
fn each_team_has_an_array_of_its_own() {
    everywhere(5, |world| {
        // Of three and of two members, against the order of the world, and of different lengths.
        let colour = world.my_pe() % 2;
        let team = world.split_color(Some(colour as u32), 10 - world.my_pe() as u32).expect("everybody has a colour");
        let len = 7 + 30 * colour;
        let mut array = world.array_over(&team, len, 0_u64).unwrap();
        let blocks: Vec<usize> = (0..team.n_pes()).flat_map(|member| array.block_of(member)).collect();
        assert_eq!(blocks, (0..len).collect::<Vec<_>>());
        // The last member puts everywhere.
        if team.my_pe() + 1 == team.n_pes() {
            (0..len).for_each(|i| array.put(i, i as u64));
        }
        world.barrier();
        assert_eq!(array.get_range(0..len), (0..len as u64).collect::<Vec<_>>());
        assert_eq!((array.sum(), array.max()), ((0..len as u64).sum(), Some(len as u64 - 1)));
        let (pe, place) = array.place(len - 1);
        let last = team.translate(array_owner(team.n_pes(), len), world);
        assert_eq!((Some(pe), place.get(pe)), (last, len as u64 - 1));
        world.barrier();
        array.fill(2);
        assert_eq!(array.sum(), 2 * len as u64);
        array.update(|i, value| value + i as u64);
        assert_eq!(array.get(len - 1), len as u64 + 1);
        world.barrier();
    });
}

/// The member that has the last element.
fn array_owner(members: usize, len: usize) -> usize {
    (len - 1) / len.div_ceil(members)
}

#[test]
fn indices_that_come_from_elsewhere_are_errors() {
    everywhere(2, |world| {
        let array = world.array(5, 1).unwrap();
        for refused in [
            array.try_get(5).err(),
            array.try_get(usize::MAX).err(),
            array.try_put(5, 2).err(),
            array.try_get_range(3..6).err(),
            array.try_put_range(usize::MAX, &[2]).err(),
            array.try_put_range(4, &[2, 2]).err(),
        ] {
            let refused = refused.expect("there are five elements");
            assert_eq!(refused.kind(), oxshmem::ErrorKind::InvalidArgument);
            assert!(refused.to_string().contains("the array has 5 elements"), "{refused}");
        }
        assert!(array.try_get(5).unwrap_err().to_string().contains("Array: element 5 is not inside"));
        array.try_put_range(5, &[]).unwrap();
        assert_eq!(array.try_get_range(0..5).unwrap(), [1; 5]);
        world.barrier();
    });
}

#[test]
fn an_index_beyond_the_end_is_named() {
    // One PE, so that the message is that of this process.
    let ended = &again(1, "reads_beyond_the_end", &[])[0];
    assert!(!ended.status.success());
    assert!(ended.err.contains("the range 8..12 is not inside") && ended.err.contains("array.rs:"), "{}", ended.err);
    assert!(ended.err.contains("the array has 10 elements"), "{}", ended.err);
}

#[test]
#[ignore = "ends its process: an_index_beyond_the_end_is_named runs it"]
fn reads_beyond_the_end() {
    let world = World::init().unwrap();
    let _ = world.array(10, 0_u8).unwrap().get_range(8..12);
}

#[test]
#[cfg(feature = "rayon")]
fn rayon_works_on_the_blocks() {
    use oxshmem::test::processes;
    use rayon::prelude::*;
    processes(2, |world| {
        let mut array = world.array(10_001, 1_u64).unwrap();
        array.par_update(|i, old| old + i as u64);
        let mine: u64 = array.par_iter_block().map(|(i, value)| value * u64::from(i % 2 == 0)).sum();
        assert_eq!(world.sum_of(mine), (0..10_001).step_by(2).map(|i| i + 1).sum::<u64>());
    });
}
