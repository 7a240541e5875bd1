//! Mistakes that worlds of threads find in programs, each found again with the same seed. Miri runs tests that need few.

mod again;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use again::again;
use oxshmem::Comparison::{AtLeast, Is};
use oxshmem::test::{self, Threads};
use oxshmem::{Atomic, Lock, Signal, Update, World, symmetric};

symmetric! {
    static TABLE: [u64; 3] = [1, 2, 3];
    static NEXT: Atomic<u32> = Atomic::new(7);
}

/// Seeds enough that what can go wrong does. (Miri, for whom a run takes a second, looks at what every run does.)
const SEEDS: u64 = if cfg!(miri) { 2 } else { 60 };

/// Worlds with little memory, which Miri has to write.
fn threads(pes: usize) -> Threads {
    test::threads(pes).memory(1 << 14)
}

/// The message of the first seed with which a program fails.
fn first_failure(world: Threads, body: impl Fn(&World) + Sync) -> Option<String> {
    let run = |seed| catch_unwind(AssertUnwindSafe(|| world.seed(seed).run(&body))).err();
    let panic = (0..SEEDS).find_map(run)?;
    Some(panic.downcast_ref::<String>().expect("worlds fail with a sentence").clone())
}

fn hand_over(world: &World, order: impl Fn()) {
    let (data, flag) = (world.allocate(0_u64).unwrap(), world.allocate(Atomic::new(0_u64)).unwrap());
    if world.my_pe() == 0 {
        data.put(5, 1);
        order();
        flag.set(1, 1);
    } else {
        flag.wait_until(Is(1));
        assert_eq!(data.load(), 5, "the data is late");
    }
}

#[test]
fn a_missing_fence_is_found() {
    let failure = first_failure(threads(2).delayed(), |world| hand_over(world, || ()));
    let failure = failure.expect("nothing keeps the flag behind the data");
    assert!(failure.contains("PE 1 of 2: ") && failure.contains("the data is late"), "{failure}");
    assert!(failure.contains("(seed "), "{failure}");
    threads(2).delayed().seeds(0..SEEDS, |world| hand_over(world, || world.fence()));
    threads(2).delayed().seeds(0..SEEDS, |world| hand_over(world, || world.quiet()));
}

#[test]
fn a_race_between_pes_is_found() {
    let count = |world: &World, atomically: bool| {
        let (plain, atomic) = (world.allocate(0_u64).unwrap(), world.allocate(Atomic::new(0_u64)).unwrap());
        for _ in 0..3 {
            if atomically {
                atomic.inc(0);
            } else {
                plain.put(plain.get(0) + 1, 0);
                world.quiet();
            }
        }
        world.barrier();
        let counted = if atomically { atomic.fetch(0) } else { plain.get(0) };
        world.barrier();
        assert_eq!(counted, 3 * world.n_pes() as u64, "updates are lost");
    };
    let failure = first_failure(threads(2), |world| count(world, false)).expect("the updates are not atomic");
    assert!(failure.contains("updates are lost"), "{failure}");
    threads(2).delayed().seeds(0..SEEDS, |world| count(world, true));
}

#[test]
fn a_put_that_nobody_waits_for_may_be_late_and_torn() {
    let failure = first_failure(threads(2).delayed(), |world| {
        let numbers = world.allocate_slice(8, 0_u64).unwrap();
        for round in 1..=8 {
            numbers.put_slice(&[round; 8], 1 - world.my_pe());
            world.sync();
            let seen = numbers.to_vec();
            world.barrier();
            assert!(seen == [round; 8] || seen == [round - 1; 8], "in part: {seen:?}");
            assert_eq!(numbers.to_vec(), [round; 8]);
            world.barrier();
        }
    });
    assert!(failure.expect("a sync orders nothing").contains("in part"));
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = |seed| {
        let order = Mutex::new(Vec::new());
        threads(4).seed(seed).delayed().run(|world| {
            let turns = world.allocate(Atomic::new(0_u32)).unwrap();
            for _ in 0..5 {
                let turn = turns.fetch_inc(0);
                order.lock().unwrap().push((world.my_pe(), turn));
            }
            world.barrier();
        });
        order.into_inner().unwrap()
    };
    let orders: Vec<_> = (0..6).map(order).collect();
    assert_eq!(orders, (0..6).map(order).collect::<Vec<_>>());
    assert!(orders.iter().any(|order| *order != orders[0]), "seeds make a difference");
}

#[test]
fn a_deadlock_says_who_waits_where() {
    let wait = |world: &World| {
        let flag = world.allocate(Atomic::new(0_u64)).unwrap();
        if world.my_pe() == 1 {
            flag.wait_until(Is(1));
        }
        world.barrier();
    };
    let worlds = [threads(2).seed(4).delayed(), threads(2), threads(2).seed(3)];
    for world in worlds.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
        let panic = catch_unwind(|| world.run(wait)).expect_err("PE 1 waits for ever");
        let words = panic.downcast_ref::<String>().unwrap();
        assert!(words.contains("deadlock: PE 0 waits in shmem_barrier_all, PE 1 waits in shmem_wait_until"), "{words}");
    }
}

#[test]
fn a_pe_that_asks_for_a_lock_that_it_holds_is_a_deadlock() {
    let panic = catch_unwind(|| {
        threads(1).run(|world| {
            let lock = world.allocate(Lock::new()).unwrap();
            let held = lock.lock(world);
            assert!(lock.try_lock(world).is_none());
            drop(held);
            let _held = lock.lock(world);
            let _again = lock.lock(world);
            unreachable!("nobody gives the lock back");
        });
    });
    let panic = panic.expect_err("the PE waits for itself");
    let words = panic.downcast_ref::<String>().unwrap();
    assert!(words.contains("deadlock: PE 0 waits in shmem_set_lock"), "{words}");
}

#[test]
fn different_collectives_are_named() {
    let panic = catch_unwind(|| {
        threads(2).run(|world| if world.my_pe() == 0 { world.barrier() } else { _ = world.sum_of(1) });
    });
    let panic = panic.expect_err("the calls differ");
    let words = panic.downcast_ref::<String>().unwrap();
    assert!(words.contains("the members of the team make different calls"), "{words}");
}

#[test]
fn values_of_different_sizes_are_named() {
    let panic = catch_unwind(|| {
        threads(2).run(|world| if world.my_pe() == 0 { drop(world.values(1_u8)) } else { drop(world.values(1_u32)) });
    });
    let panic = panic.expect_err("the values differ");
    let words = panic.downcast_ref::<String>().unwrap();
    assert!(words.contains("the members of the team pass values of different sizes"), "{words}");
}

#[test]
fn one_failure_ends_all() {
    let panic = catch_unwind(|| {
        threads(3).run(|world| {
            let _numbers = world.allocate_slice(3, 1).unwrap();
            let _team = world.split_strided(0, 1, 3).unwrap();
            assert!(world.my_pe() != 2, "enough");
            world.barrier();
        });
    });
    let panic = panic.expect_err("PE 2 fails");
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "PE 2 of 3: enough");
}

#[test]
fn every_pe_has_its_statics() {
    for _ in 0..2 {
        threads(3).delayed().seeds(0..SEEDS.div_ceil(20), |world| {
            let (me, n) = (world.my_pe(), world.n_pes());
            assert_eq!((TABLE.to_vec(), NEXT.load()), (vec![1, 2, 3], 7));
            world.barrier();
            TABLE[1..].put_slice(&[me as u64; 2], (me + 1) % n);
            NEXT.add(me as u32, (me + 1) % n);
            world.barrier();
            let left = (me + n - 1) % n;
            assert_eq!(TABLE.to_vec(), [1, left as u64, left as u64]);
            assert_eq!(NEXT.load(), 7 + left as u32);
        });
    }
}

#[test]
fn all_kinds_of_calls() {
    threads(4).delayed().seeds(0..SEEDS.div_ceil(4), |world| {
        let (me, n) = (world.my_pe(), world.n_pes());
        let inbox = world.allocate_slice(4, 0_u64).unwrap();
        let come = world.allocate(Signal::new(0)).unwrap();
        inbox.put_signal(&[me as u64; 4], &come, Update::Add(1), (me + 1) % n);
        come.wait_until(AtLeast(1));
        assert_eq!(inbox.to_vec(), [((me + n - 1) % n) as u64; 4]);
        world.barrier();

        let lock = world.allocate(Lock::new()).unwrap();
        let sum = world.allocate(0_u64).unwrap();
        {
            let _held = lock.lock(world);
            sum.put(sum.get(0) + 1, 0);
        }
        world.barrier();
        assert_eq!(sum.get(0), 4);

        let grid = world.split_2d(2).unwrap();
        assert_eq!((grid.x.values(me), grid.y.values(me)), (vec![me & 2, me | 1], vec![me & 1, me & 1 | 2]));
        let context = grid.y.context();
        inbox[0].put(100, context.pe(1 - grid.y.my_pe()));
        context.quiet();
        world.barrier();
        assert_eq!(inbox[0].load(), 100);

        let mut own = world.allocate_slice(n, me as u64).unwrap();
        let (dest, wide) = (world.allocate_slice(n, 0_u64).unwrap(), world.allocate_slice(n * n, 0).unwrap());
        world.max(&dest, &own);
        world.fcollect(&wide, &own);
        assert_eq!((dest.to_vec(), wide[n * n - 1].load()), (vec![3; 4], 3));
        world.alltoall(&dest, &own);
        assert_eq!(dest.to_vec(), [0, 1, 2, 3]);
        world.exclusive(&mut own, |own| own.fill(1));
        world.sum_inscan(&dest, &own);
        assert_eq!(dest.to_vec(), [me as u64 + 1; 4]);

        let (out, mut back) = ([7_u64; 2], [0_u64; 2]);
        world.scope(|scope| {
            scope.put(&own, &out, (me + 1) % n);
            scope.quiet();
            scope.get(&own, &mut back, (me + 1) % n);
        });
        assert_eq!(back, [7, 7]);
        world.barrier();
        assert_eq!(own.put_owned(vec![8_u64; 2], (me + 1) % n).wait(), [8, 8]);
    });
}

#[test]
fn futures_let_the_others_go_on() {
    threads(2).delayed().seeds(0..SEEDS.div_ceil(8), |world| {
        let (flag, answer) = (world.allocate(Atomic::new(0_u64)).unwrap(), world.allocate(Atomic::new(0_u64)).unwrap());
        if world.my_pe() == 0 {
            flag.set(1, 1);
            assert_eq!(block_on(answer.until(Is(2))), 2);
        } else {
            block_on(flag.until(Is(1)));
            answer.set(2, 0);
        }
        world.barrier();
    });
    let panic = catch_unwind(|| {
        threads(2).run(|world| {
            let flag = world.allocate(Atomic::new(0_u64)).unwrap();
            block_on(flag.until(Is(1)));
        });
    });
    assert!(panic.expect_err("nobody sets it").downcast_ref::<String>().unwrap().contains("PE 0 waits in a task"));
}

/// The output of a test that ends its process, from a process of its own.
fn words_of_ended(test: &str) -> String {
    let ended = &again(1, test, &[])[0];
    let said = format!("{}{}", ended.out, ended.err);
    assert!(!ended.status.success(), "{said}");
    said
}

#[test]
fn threads_of_a_pe_are_no_pes() {
    let said = words_of_ended("a_thread_of_a_pe");
    assert!(said.contains("Symmetric::put: the library is not initialised"), "{said}");
}

#[test]
#[ignore = "ends its process: threads_of_a_pe_are_no_pes runs it"]
fn a_thread_of_a_pe() {
    threads(2).run(|world| {
        let (number, context) = (world.allocate(0).unwrap(), world.context());
        let number = &*number;
        std::thread::scope(|threads| _ = threads.spawn(move || number.put(1, context.pe(0))));
    });
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

#[test]
fn members_that_bring_more_than_others_write_no_further() {
    threads(2).run(|world| {
        let n = 1 + 8 * world.my_pe();
        let whole = world.allocate_slice(64, 7_u64).unwrap();
        let source = world.allocate_slice(16, 1_u64).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| world.alltoall(&whole, &whole))).is_err(), "they overlap");
        if world.my_pe() == 0 {
            // PE 1 brings nine elements where this one has room for one from each.
            world.fcollect(&whole[..2], &source[..1]);
            assert_eq!(whole.to_vec()[2..], [7; 62]);
        } else {
            let outcome = catch_unwind(AssertUnwindSafe(|| world.fcollect(&whole[..2 * n], &source[..n])));
            assert!(outcome.is_err(), "PE 0 has brought one element only");
        }
    });
}

#[test]
fn an_epoch_is_over_for_all_before_a_panic_goes_on() {
    let inside = Mutex::new(0);
    threads(3).run(|world| {
        let mut numbers = world.allocate_slice(2, 0).unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            world.exclusive(&mut numbers, |_| {
                *inside.lock().unwrap() += 1;
                for _ in 0..3 {
                    world.quiet(); // Somebody else goes on.
                }
                let alone = world.my_pe() == 0;
                *inside.lock().unwrap() -= 1;
                assert!(!alone, "PE 0 leaves early");
            });
        }));
        // If PE 0 could catch its panic while others are inside, it could put into what they have alone.
        assert_eq!((outcome.is_err(), *inside.lock().unwrap()), (world.my_pe() == 0, 0));
        numbers[0].put(1, 0);
        world.barrier();
    });
}

#[test]
fn who_catches_the_end_of_a_world_goes_nowhere() {
    let panic = catch_unwind(|| {
        threads(2).seed(1).run(|world| {
            let number = world.allocate(0).unwrap();
            assert!(world.my_pe() != 1, "enough");
            assert!(catch_unwind(AssertUnwindSafe(|| world.barrier())).is_err());
            number.put(1, 0);
            unreachable!("the world has failed");
        });
    });
    assert_eq!(panic.expect_err("PE 1 fails").downcast_ref::<String>().unwrap(), "PE 1 of 2: enough (seed 1)");
}

/// A buffer that says at its end what it holds, if a transfer has used it.
struct LentBuffer<'a>([u64; 32], Option<&'a Mutex<Vec<[u64; 32]>>>);

impl Drop for LentBuffer<'_> {
    fn drop(&mut self) {
        self.1.iter().for_each(|ends| ends.lock().unwrap().push(self.0));
    }
}

#[test]
fn no_transfer_outlives_its_buffer_in_a_world_that_fails() {
    let ends = Mutex::new(Vec::new());
    for seed in 0..SEEDS {
        let run = || {
            threads(2).delayed().seed(seed).run(|world| {
                let numbers = world.allocate_slice(32, 7_u64).unwrap();
                assert!(world.my_pe() != 1, "enough");
                let mut buffer = LentBuffer([0; 32], None);
                world.scope(|scope| {
                    scope.get(&numbers, &mut buffer.0, 1);
                    buffer.1 = Some(&ends);
                });
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "PE 1 fails");
    }
    let ends = ends.into_inner().unwrap();
    assert!(cfg!(miri) || !ends.is_empty(), "no seed lets PE 0 begin before PE 1 fails");
    assert!(ends.iter().all(|end| *end == [7; 32]), "under way at the buffer's end: {ends:?}");
}

#[test]
fn a_transfer_is_completed_by_its_pe() {
    let said = words_of_ended("a_transfer_that_leaves_its_thread");
    assert!(said.contains("completed by a thread that is not the PE"), "{said}");
}

#[test]
#[ignore = "ends its process: a_transfer_is_completed_by_its_pe runs it"]
fn a_transfer_that_leaves_its_thread() {
    threads(2).delayed().run(|world| {
        let numbers = world.allocate_slice(8, 0_u64).unwrap();
        let transfer = numbers.put_owned(vec![1; 8], 1 - world.my_pe());
        std::thread::scope(|threads| _ = threads.spawn(move || transfer.wait()));
    });
}

#[test]
fn a_context_that_leaves_its_pe_is_none_of_the_process() {
    // The library checks handles: it would refuse this one.
    let ended = &again(1, "contexts_that_leave_their_pes", &[("SHMEM_CHECK", "2")])[0];
    assert!(ended.status.success(), "{}{}", ended.out, ended.err);
}

#[test]
#[ignore = "begins the library: a_context_that_leaves_its_pe_is_none_of_the_process runs it"]
fn contexts_that_leave_their_pes() {
    let process = World::init().unwrap();
    for _ in 0..2 {
        threads(2).run(|world| {
            let context = world.context();
            std::thread::scope(|threads| _ = threads.spawn(move || drop(context)));
            world.barrier();
        });
    }
    assert_eq!(process.sum_of(1), 1);
}

#[test]
fn a_forgotten_task_outlives_its_world() {
    // A thread that is no PE leaves a watch of a variable, and its future is forgotten: the watch ends with the memory.
    threads(1).run(|world| {
        let number = &world.allocate(Atomic::new(0_u64)).unwrap();
        std::thread::scope(|threads| {
            let look = move || {
                let mut until = Box::pin(number.until(Is(1)));
                assert!(until.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                std::mem::forget(until);
            };
            threads.spawn(look).join().unwrap();
        });
        world.allocate(Atomic::new(0_u64)).unwrap().leak();
    });
}
