//! Behaviours of the safe calls on several PEs.

mod again;
mod worlds;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use again::own_words;
use oxshmem::Comparison::{AtLeast, Is, Not};
use oxshmem::{Atomic, Complex, ErrorKind, Lock, Signal, Symmetric, Update, World, plain, symmetric};
use worlds::{everywhere, processes};

/// A value of [`symmetric!`] may name whatever the program names.
const FIRST: u64 = 7;

symmetric! {
    static NUMBER: u64 = FIRST;
    static TABLE: [i32; 6] = [0; 6];
    static TURNS: Atomic<u32> = Atomic::new(0);
    static NOTHING: [[u8; 0]; 5] = [[]; 5];
    static DOOR: Lock = Lock::new();
}

plain! {
    /// Larger than a word and not a power of two.
    #[derive(Debug, PartialEq)]
    struct Particle {
        place: [f64; 3],
        charge: i32,
        kind: u32,
        weight: f64,
    }
}

/// The neighbour to the right.
fn right(world: &World) -> usize {
    (world.my_pe() + 1) % world.n_pes()
}

fn left(world: &World) -> usize {
    (world.my_pe() + world.n_pes() - 1) % world.n_pes()
}

/// Blocks of no bytes to another node were divided by their length.
#[test]
fn values_without_bytes_are_moved_with_strides() {
    oxshmem::test::processes_on(2, 2, |world| {
        let (nothing, mut own): (&Symmetric<[[u8; 0]]>, _) = (&NOTHING, [[]; 5]);
        nothing.put_strided(1, &own, 2, right(world));
        nothing.put_blocks(2, 2, &own, 3, right(world));
        nothing.get_strided(1, &mut own, 2, right(world));
        nothing.get_blocks(2, 2, &mut own, 3, right(world));
    });
}

#[test]
fn statics_are_symmetric() {
    everywhere(3, |world| {
        assert_eq!(NUMBER.get(right(world)), 7);
        world.barrier();
        NUMBER.put(world.my_pe() as u64, right(world));
        TABLE[2..4].put_slice(&[world.my_pe() as i32; 2], right(world));
        world.barrier();
        let from = left(world);
        assert_eq!(NUMBER.load(), from as u64);
        assert_eq!(TABLE.to_vec(), [0, 0, from as i32, from as i32, 0, 0]);
    });
}

#[test]
fn structs_and_odd_sizes_travel_whole() {
    everywhere(2, |world| {
        let sample = |pe: usize| Particle { place: [pe as f64; 3], charge: -1, kind: pe as u32, weight: 0.5 };
        let particles = world.allocate_slice(3, sample(9)).unwrap();
        particles[1].put(sample(world.my_pe()), right(world));
        world.barrier();
        assert_eq!(particles.to_vec(), [sample(9), sample(left(world)), sample(9)]);
        assert_eq!(particles[1].get(right(world)), sample(world.my_pe()));
        let bytes = world.allocate_slice(7, 0_u8).unwrap();
        bytes[1..].put_slice(&[1, 2, 3, 4, 5], right(world));
        world.barrier();
        assert_eq!(bytes.to_vec(), [0, 1, 2, 3, 4, 5, 0]);
        assert_eq!(bytes[2..].get_vec(right(world)), [2, 3, 4, 5, 0]);
    });
}

#[test]
fn a_dropped_block_is_used_again() {
    everywhere(2, |world| {
        let first = world.allocate_slice(1000, 1_u64).unwrap();
        let place = first.as_ptr();
        drop(first);
        let second = world.allocate_slice(1000, 2_u64).unwrap();
        assert_eq!(second.as_ptr(), place);
        assert_eq!(second[999].get(right(world)), 2);
        assert!(world.allocate_slice(0, 1_u64).unwrap().is_empty());
    });
}

#[test]
fn a_world_can_end_and_begin_again() {
    if own_words(3, &[]).is_some() {
        return;
    }
    for round in 0..3 {
        let world = World::init().unwrap();
        let number = world.allocate(round).unwrap();
        assert_eq!(number.get(right(&world)), round);
        TURNS.inc(0);
        world.barrier();
        assert_eq!(TURNS.fetch(0), (round + 1) * world.n_pes() as u32);
    }
    assert!(!oxshmem::is_initialized());
    // A descriptor would keep the memory of an old heap.
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let files: Vec<_> = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    assert!(!files.iter().any(|file| file.to_string_lossy().contains("oxshmem heap")), "{files:?}");
}

#[test]
fn atomics_lose_nothing() {
    processes(4, |world| {
        const TIMES: u64 = 5000;
        let sum = world.allocate(Atomic::new(0_u64)).unwrap();
        let by_swap = world.allocate(Atomic::new(0_i64)).unwrap();
        let bits = world.allocate(Atomic::new(0_u32)).unwrap();
        for i in 0..TIMES {
            sum.add(i, 0);
            let mut seen = by_swap.fetch(1);
            loop {
                let there = by_swap.compare_swap(seen, seen + 1, 1);
                if there == seen {
                    break;
                }
                seen = there;
            }
        }
        bits.or(1 << world.my_pe(), 2);
        bits.xor(1 << (8 + world.my_pe()), 2);
        world.barrier();
        assert_eq!(sum.fetch(0), 4 * TIMES * (TIMES - 1) / 2);
        assert_eq!(by_swap.fetch(1), 4 * TIMES as i64);
        assert_eq!(bits.fetch(2), 0xf0f);
        world.barrier();
        bits.and(!(1 << world.my_pe()), 2);
        world.barrier();
        assert_eq!(bits.fetch(2), 0xf00);
    });
}

#[test]
fn threads_share_places_and_have_contexts() {
    processes(2, |world| {
        let counter = world.allocate(Atomic::new(0_u64)).unwrap();
        let slots = world.allocate_slice(4, 0_u64).unwrap();
        let contexts: Vec<_> = (0..4).map(|_| world.context()).collect();
        thread::scope(|threads| {
            for (i, context) in contexts.into_iter().enumerate() {
                let (counter, slots, to) = (&*counter, &*slots, right(world));
                threads.spawn(move || {
                    for _ in 0..1000 {
                        counter.inc(context.pe(0));
                    }
                    slots[i].put(i as u64 + 1, context.pe(to));
                    context.quiet();
                });
            }
        });
        world.barrier();
        assert_eq!(counter.fetch(0), 8000);
        assert_eq!(slots.to_vec(), [1, 2, 3, 4]);
    });
}

#[test]
fn locks_exclude() {
    processes(4, |world| {
        let guarded = world.allocate(0_u64).unwrap();
        for turn in 0..200 {
            let _held = if turn % 2 == 0 { Some(DOOR.lock(world)) } else { DOOR.try_lock(world) };
            if _held.is_some() {
                let before = guarded.get(0);
                TURNS.inc(0);
                guarded.put(before + 1, 0);
            }
        }
        world.barrier();
        assert_eq!(guarded.get(0), u64::from(TURNS.fetch(0)));
        assert!(guarded.get(0) >= 400);
    });
}

#[test]
fn signals_come_after_their_data() {
    processes(3, |world| {
        let data = world.allocate_slice(100, 0_u64).unwrap();
        let (come, gone) = (world.allocate(Signal::new(0)).unwrap(), world.allocate(Signal::new(0)).unwrap());
        for round in 1..=50 {
            data.put_signal(&[round; 100], &come, Update::Set(round), right(world));
            assert_eq!(come.wait_until(AtLeast(round)), round);
            assert_eq!(data.to_vec(), [round; 100]);
            gone.update(Update::Add(1), left(world));
            gone.wait_until(Is(round));
        }
    });
}

#[test]
fn waits_for_sets_find_what_came() {
    everywhere(4, |world| {
        let flags = world.allocate_slice(4, Atomic::new(0_u32)).unwrap();
        if world.my_pe() != 0 {
            thread::sleep(Duration::from_millis(5 * world.my_pe() as u64));
            flags[world.my_pe()].set(1, 0);
        } else {
            let first = flags[1..].wait_until_any(Is(1)).unwrap();
            assert!(flags[1 + first].test(Is(1)));
            flags[1..].wait_until_all(Not(0));
            assert_eq!(flags.test_some(Is(1)), [1, 2, 3]);
            assert_eq!(flags.wait_until_some(Is(1)), [1, 2, 3]);
            assert!(!flags.test_all(Is(1)) && flags[1..].test_all(Is(1)));
            assert_eq!(flags[..1].test_any(Is(1)), None);
            assert_eq!(flags[..0].wait_until_any(Is(1)), None);
        }
    });
}

#[test]
fn collectives_over_slices() {
    for pes in [1, 2, 3, 5] {
        everywhere(pes, |world| {
            let (me, n) = (world.my_pe(), world.n_pes());
            // One length that travels with the exchange, one that does not.
            for len in [5, 3000] {
                let source = world.allocate_slice(len, me as u64 + 1).unwrap();
                let dest = world.allocate_slice(len, 0_u64).unwrap();
                let wide = world.allocate_slice(len * n, 0_u64).unwrap();
                let whole = |expected: u64| assert_eq!(dest.to_vec(), vec![expected; len]);

                world.broadcast(&dest, &source, n - 1);
                whole(n as u64);
                world.sum(&dest, &source);
                whole((n * (n + 1) / 2) as u64);
                world.prod(&dest, &source);
                whole((1..=n as u64).product());
                world.min(&dest, &source);
                whole(1);
                world.max(&dest, &source);
                whole(n as u64);
                world.or(&dest, &source);
                whole((1..=n as u64).fold(0, |all, one| all | one));
                world.sum_inscan(&dest, &source);
                whole(((me + 1) * (me + 2) / 2) as u64);
                world.sum_exscan(&dest, &source);
                whole((me * (me + 1) / 2) as u64);
                dest.store_all(source.to_vec());
                world.max(&dest, &dest);
                whole(n as u64);

                world.fcollect(&wide, &source);
                assert_eq!(wide.to_vec(), (0..n * len).map(|i| (i / len) as u64 + 1).collect::<Vec<_>>());
                let total = world.collect(&wide, &source, me + 1);
                assert_eq!(total, n * (n + 1) / 2);
                let expected: Vec<u64> = (1..=n as u64).flat_map(|pe| vec![pe; pe as usize]).collect();
                assert_eq!(wide[..total].to_vec(), expected);
                let blocks = world.allocate_slice(len * n, 0_u64).unwrap();
                blocks.store_all((0..len * n).map(|i| (me * n + i / len) as u64));
                world.alltoall(&wide, &blocks);
                assert_eq!(wide.to_vec(), (0..n * len).map(|i| (i / len * n + me) as u64).collect::<Vec<_>>());
            }
        });
    }
}

#[test]
fn blocks_of_varying_sizes_go_to_their_members() {
    for pes in [1, 2, 3, 5] {
        everywhere(pes, |world| {
            let (me, n) = (world.my_pe(), world.n_pes());
            let size = |from: usize, to: usize| (from + 2 * to) % 4;
            let counts = world.allocate_slice(n, 0_usize).unwrap();
            counts.store_all((0..n).map(|to| size(me, to)));
            let source = world.allocate_slice(3 * n, 0_u32).unwrap();
            source.store_all((0..n).flat_map(|to| vec![(10 * me + to) as u32; size(me, to)]));
            let dest = world.allocate_slice(3 * n, 0_u32).unwrap();
            let come = world.alltoallv(&dest, &source, &counts);
            assert_eq!(come, (0..n).map(|from| size(from, me)).collect::<Vec<_>>());
            let expected: Vec<u32> = (0..n).flat_map(|from| vec![(10 * from + me) as u32; size(from, me)]).collect();
            assert_eq!(dest[..expected.len()].to_vec(), expected);
        });
    }
}

#[test]
fn collectives_over_values() {
    everywhere(5, |world| {
        let me = world.my_pe();
        assert_eq!(world.values([me as u32; 3]), (0..5).map(|pe| [pe; 3]).collect::<Vec<_>>());
        assert_eq!((world.sum_of(me), world.max_of(-(me as f64)), world.min_of(me as i8)), (10, 0.0, 0));
        assert_eq!((world.and_of(6_u16 | 1 << (8 + me)), world.or_of(1_u64 << me), world.xor_of(3_u8)), (6, 31, 3));
        assert_eq!(world.prod_of(Complex::new(0.0_f64, 1.0)), Complex::new(0.0, 1.0));
        assert_eq!((world.value_of(me, 3), world.value_of(me, 5)), (Some(3), None));
        let backwards = world.split_strided(4, -1, 5).unwrap().unwrap();
        assert_eq!(backwards.values(me), [4, 3, 2, 1, 0]);
        assert_eq!(backwards.translate(0, world), Some(4));
        let middle = world.split_strided(1, 2, 2).unwrap();
        assert_eq!(middle.as_ref().map(|team| team.sum_of(me)), [1, 3].contains(&me).then_some(4));
    });
}

#[test]
fn a_cube_has_axes() {
    everywhere(8, |world| {
        let me = world.my_pe();
        let axes = world.split_grid(&[2, 2, 2]).unwrap();
        assert_eq!(axes[0].values(me), [me & !1, me | 1]);
        assert_eq!(axes[1].values(me), [me & !2, me | 2]);
        assert_eq!(axes[2].values(me), [me & !4, me | 4]);
    });
}

/// PE 0 is in one team more than the others. So the column of the PEs 0 and 2 cannot be split, and that of the PEs 1 and 3 can.
#[test]
fn a_grid_that_cannot_be_made_is_an_error_on_all_pes() {
    if own_words(4, &[("SHMEM_TEAMS_MAX", "5")]).is_some() {
        return;
    }
    let world = World::init().unwrap();
    let first = world.split_strided(0, 1, 1).unwrap();
    assert_eq!(first.is_some(), world.my_pe() == 0);
    let refused = world.split_grid(&[2, 2]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LimitReached, "{refused}");
    drop(first);
    let axes = world.split_grid(&[2, 2]).unwrap();
    assert_eq!(axes[0].values(world.my_pe()), [world.my_pe() & !1, world.my_pe() | 1]);
}

#[test]
fn epochs_give_memory_to_each_alone() {
    processes(3, |world| {
        let mut numbers = world.allocate_slice(1000, 0_u64).unwrap();
        for round in 0..100 {
            numbers[world.my_pe()].put(round, right(world));
            let sum = world.exclusive(&mut numbers, |mine| {
                mine.iter_mut().for_each(|number| *number += 1);
                mine.iter().sum::<u64>()
            });
            assert_eq!(numbers[left(world)].load(), round + 1);
            assert_eq!(sum, numbers.to_vec().iter().sum::<u64>());
            world.barrier();
        }
    });
}

#[test]
fn transfers_in_scopes_and_with_owned_buffers() {
    everywhere(3, |world| {
        let numbers = world.allocate_slice(100, world.my_pe()).unwrap();
        let mut rights = vec![0; 100];
        let team = world.split_strided(2, -1, 3).unwrap().unwrap();
        let context = team.context();
        // Contexts that nobody drops end with their team and disturb no memory that changes hands.
        std::mem::forget(world.split_strided(0, 1, 3).unwrap().unwrap().context());
        drop(world.allocate_slice(10, 0).unwrap());
        context.scope(|scope| {
            scope.get(&numbers, &mut rights[..50], 2 - right(world));
            scope.quiet();
        });
        world.scope(|scope| scope.get(&numbers[50..], &mut rights[50..], right(world)));
        assert_eq!(rights, [right(world); 100]);
        world.barrier();
        let back = numbers.put_owned(vec![7; 10], context.pe(2 - right(world))).wait();
        drop(numbers[10..].put_owned(vec![8; 10], right(world)));
        std::mem::forget(numbers[20..].put_owned(vec![9; 10], right(world)));
        world.barrier();
        assert_eq!(back, [7; 10]);
        assert_eq!(numbers[..30].to_vec(), [vec![7; 10], vec![8; 10], vec![9; 10]].concat());
        assert_eq!(block_on(numbers.get_owned(vec![0; 2], right(world))).0, [7, 7]);
        let mut taken = numbers.get_owned(vec![0; 2], right(world));
        assert_eq!(block_on(&mut taken).0, [7, 7]);
        let again = catch_unwind(AssertUnwindSafe(|| block_on(&mut taken)));
        assert!(again.is_err(), "a future that has ended is not pending for ever");
    });
}

#[test]
fn old_values_are_there_when_a_scope_is_left() {
    everywhere(3, |world| {
        let counts = world.allocate_slice(32, Atomic::new(0_u64)).unwrap();
        let (context, mut old) = (world.context(), [9; 32]);
        context.scope(|scope| {
            for (i, old) in old.iter_mut().enumerate() {
                scope.fetch_add(&counts[i], i as u64 + 1, old, right(world));
            }
        });
        assert_eq!(old, [0; 32]);
        let left = catch_unwind(AssertUnwindSafe(|| {
            world.scope(|scope| {
                for (i, old) in old.iter_mut().enumerate() {
                    scope.fetch_inc(&counts[i], old, right(world));
                }
                assert_eq!(world.n_pes(), 0, "a panic leaves the scope");
            });
        }));
        assert!(left.is_err());
        assert!((1..).zip(old).all(|(expected, old)| old == expected), "{old:?}");
        world.barrier();
    });
}

#[test]
fn futures_sleep_until_they_are_woken() {
    processes(2, |world| {
        let (flag, signal) = (world.allocate(Atomic::new(0_u64)).unwrap(), world.allocate(Signal::new(0)).unwrap());
        if world.my_pe() == 1 {
            thread::sleep(Duration::from_millis(100));
            flag.set(5, 0);
            signal.update(Update::Add(3), 0);
        } else {
            // A future that is given up, or forgotten, disturbs nobody.
            let mut given_up = Box::pin(flag.until(Is(9)));
            assert!(given_up.as_mut().poll(&mut Task::from_waker(Waker::noop())).is_pending());
            drop(given_up);
            let mut forgotten = Box::pin(flag.until(Is(8)));
            assert!(forgotten.as_mut().poll(&mut Task::from_waker(Waker::noop())).is_pending());
            std::mem::forget(forgotten);
            let both = async { (flag.until(AtLeast(5)).await, signal.until(Not(0)).await) };
            let (seen, polls) = block_on(both);
            assert_eq!(seen, (5, 3));
            assert!(polls <= 3, "once, and once more for each wait, not {polls} times");
        }
        world.barrier();
    });
}

/// The smallest executor: parks its thread until it is woken. Also says how often it has polled.
fn block_on<F: Future>(future: F) -> (F::Output, usize) {
    struct Unpark(Thread, AtomicUsize);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1, SeqCst);
            self.0.unpark();
        }
    }
    let task = Arc::new(Unpark(thread::current(), AtomicUsize::new(1)));
    let waker = Waker::from(task.clone());
    let mut future = pin!(future);
    let mut polls = 0;
    loop {
        if task.1.swap(0, SeqCst) > 0 {
            polls += 1;
            if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
                return (output, polls);
            }
        }
        thread::park();
    }
}

/// The same collectives by schedules, where the user has chosen one.
#[test]
fn collectives_by_schedules() {
    if own_words(4, &[("SHMEM_REDUCE_ALGORITHM", "ring")]).is_some() {
        return;
    }
    let world = World::init().unwrap();
    let (source, dest) = (world.allocate_slice(3000, 1_u64).unwrap(), world.allocate_slice(3000, 0).unwrap());
    world.sum(&dest, &source);
    assert_eq!(dest.to_vec(), [4; 3000]);
    world.max(&dest[..2], &source[..2]);
    assert_eq!(dest[..3].to_vec(), [1, 1, 4]);
}
