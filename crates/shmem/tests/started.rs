//! Collectives that have been started and go on while the program does.

mod worlds;

use std::future::Future;
use std::pin::pin;
use std::task::{Context as Task, Poll, Waker};

use oxshmem::Comparison::AtLeast;
use oxshmem::{Atomic, World, test};
use worlds::processes;

fn all_kinds(world: &World) {
    let (me, n) = (world.my_pe(), world.n_pes());
    let source = world.allocate_slice(100 * n, 0_u64).unwrap();
    let mine = source.store_all((0..).map(|i| (1000 * me + i) as u64));
    assert_eq!(mine, 100 * n);
    let room = || world.allocate_slice(100 * n, 0_u64).unwrap();
    let dests = [room(), room(), room(), room(), room(), room()];
    let broadcast = world.start_broadcast(&dests[0], &source, n - 1);
    let gathered = world.start_fcollect(&dests[1], &source[..100]);
    let collected = world.start_collect(&dests[2], &source, 10 * me);
    let exchanged = world.start_alltoall(&dests[3], &source);
    let sum = world.start_sum(&dests[4], &source);
    let max = world.start_max_of(me);
    let met = world.start_sync();
    let xor = world.start_xor(&dests[5], &source);
    // In another order than they were issued in.
    xor.wait();
    assert_eq!(max.wait(), n - 1);
    assert_eq!(collected.wait(), (0..n).map(|pe| 10 * pe).sum::<usize>());
    drop((broadcast, gathered));
    exchanged.wait();
    sum.wait();
    met.wait();
    let of = |pe: usize, i: usize| (1000 * pe + i) as u64;
    assert!((0..100 * n).all(|i| dests[0][i].load() == of(n - 1, i)));
    assert!((0..100 * n).all(|i| dests[1][i].load() == of(i / 100, i % 100)));
    let expected: Vec<u64> = (0..n).flat_map(|pe| (0..10 * pe).map(move |i| of(pe, i))).collect();
    assert_eq!(dests[2].to_vec()[..expected.len()], expected);
    assert!((0..100 * n).all(|i| dests[3][i].load() == of(i / 100, 100 * me + i % 100)));
    assert!((0..100 * n).all(|i| dests[4][i].load() == (0..n).map(|pe| of(pe, i)).sum::<u64>()));
    assert!((0..100 * n).all(|i| dests[5][i].load() == (0..n).fold(0, |all, pe| all ^ of(pe, i))));
    // Nobody frees what others still read.
    world.barrier();
}

#[test]
fn every_kind_gives_what_the_call_that_waits_gives() {
    processes(4, all_kinds);
    if std::env::var_os("OXSHMEM_TEST_CALL").is_none() {
        test::threads(3).delayed().seeds(0..3, all_kinds);
    }
}

#[test]
fn a_started_collective_does_not_wait_for_a_late_member() {
    processes(3, |world| {
        let started = world.allocate(Atomic::new(0_u32)).unwrap();
        if world.my_pe() == 0 {
            // Nobody else could get so far in a call that waits.
            started.wait_until(AtLeast(2));
            assert_eq!(world.start_sum_of(1).wait(), 3);
        } else {
            let mut sum = pin!(world.start_sum_of(1));
            let polled = sum.as_mut().poll(&mut Task::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Pending);
            started.inc(0);
            world.quiet();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            assert_eq!(runtime.block_on(sum), 3);
        }
        world.barrier();
    });
}

#[test]
fn tasks_of_tokio_await_collectives_of_two_teams() {
    processes(4, |world| {
        let half = world.split_color(Some(world.my_pe() as u32 % 2), 0).expect("everybody has a colour");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (all, mine) = runtime.block_on(async {
            // Issued in one order and awaited in two.
            let (all, mine) = (world.start_sum_of(world.my_pe()), half.start_sum_of(1_u32));
            if world.my_pe() < 2 { tokio::join!(all, mine) } else { (tokio::join!(mine, all).1, 2) }
        });
        assert_eq!((all, mine), (6, 2));
    });
}

#[test]
fn calls_that_wait_come_behind_those_that_were_started() {
    processes(2, |world| {
        let numbers = world.allocate_slice(1000, world.my_pe() as u64 + 1).unwrap();
        let sum = world.start_sum(&numbers, &numbers);
        // Values travel by exchanges of which the members count the same number.
        assert_eq!(world.values(world.my_pe()), [0, 1]);
        assert_eq!(numbers.to_vec(), vec![3; 1000]);
        sum.wait();
    });
}

#[test]
fn a_forgotten_collective_is_over_before_its_memory_ends() {
    processes(2, |world| {
        for _ in 0..20 {
            let mut numbers = world.allocate_slice(1 << 12, 1_u64).unwrap();
            std::mem::forget(world.start_sum(&numbers, &numbers));
            world.exclusive(&mut numbers, |mine| assert!(mine.iter().all(|&number| number == 2)));
            std::mem::forget(world.start_sum(&numbers, &numbers));
            // The memory is given back, and the next block may lie there.
            drop(numbers);
        }
        let pair = world.split_strided(0, 1, 2).unwrap().expect("both are in it");
        std::mem::forget(pair.start_sync());
        drop(pair);
    });
}

#[test]
fn the_end_of_a_team_waits_for_no_collective_of_another_team() {
    processes(3, |world| {
        let go = world.allocate(Atomic::new(0_u32)).unwrap();
        let (first, second) = (world.split_strided(0, 1, 2).unwrap(), world.split_strided(0, 2, 2).unwrap());
        if world.my_pe() == 2 {
            // The first team has ended.
            go.wait_until(AtLeast(1));
        }
        let met = second.as_ref().map(|second| second.start_sync());
        drop(first);
        if world.my_pe() == 1 {
            go.inc(2);
            world.quiet();
        }
        drop(met);
        world.barrier();
    });
}
