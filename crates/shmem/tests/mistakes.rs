//! Mistakes that the types cannot rule out: each ends the job with a sentence on all PEs, or is an error.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

mod again;

use std::panic::{AssertUnwindSafe, catch_unwind};

use again::{again, own_job, own_words};
use oxshmem::test::{processes, processes_on};
use oxshmem::{Atomic, ErrorKind, Lock, World};
use oxshmem_test_folder::TestFolder;

/// Runs `body` on some PEs, of one node and of two, and makes sure that the job ends with these words.
fn ends_with<F: Fn(&World) + Copy>(words: &str, pes: usize, body: F) {
    for nodes in 1..=pes.min(2) {
        let outcome = catch_unwind(AssertUnwindSafe(|| processes_on(nodes, pes, body)));
        if std::env::var_os("OXSHMEM_TEST_CALL").is_some() {
            // A PE in which the body has returned, or panicked: the parent looks at what it said.
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            continue;
        }
        let said = outcome.expect_err("the job was to fail");
        let said = said.downcast_ref::<String>().map_or("", String::as_str);
        assert!(said.contains(words), "expected `{words}` on {nodes} nodes in\n{said}");
    }
}

#[test]
fn a_pe_that_does_not_exist() {
    ends_with("Symmetric::put: PE 2 does not exist", 2, |world| world.allocate(0).unwrap().put(1, 2));
}

#[test]
fn a_pe_number_that_no_c_program_could_write() {
    ends_with("PE -1 does not exist", 2, |world| world.allocate(0).unwrap().put(1, (1_usize << 32) + 1));
}

#[test]
fn a_source_that_is_too_long() {
    ends_with("Symmetric::put_slice: 3 elements do not fit", 1, |world| {
        world.allocate_slice(2, 0).unwrap().put_slice(&[1, 2, 3], 0);
    });
}

#[test]
fn a_transfer_that_tries_is_refused_with_an_error() {
    processes(3, |world| {
        let numbers = world.allocate_slice(2, 7).unwrap();
        let pair = world.split_strided(0, 1, 2).unwrap();
        let context = pair.as_ref().map(|pair| pair.context());
        let mut three = [0; 3];
        let refused = [
            numbers[0].try_put(1, 3).err(),
            numbers[0].try_get((1 << 32) + 1).err(),
            numbers.try_put_slice(&[1, 2], 3).err(),
            numbers.try_put_slice(&[1, 2, 3], 0).err(),
            numbers.try_get_slice(&mut three, 0).err(),
            numbers.try_get_vec(3).err(),
        ];
        for error in refused.map(|error| error.expect("neither the PE nor the length exists")) {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("try_"), "{error}");
        }
        if let Some(context) = &context {
            let refused = numbers[0].try_put(1, context.pe(2)).expect_err("the team has two members");
            assert!(refused.to_string().contains("there are the PEs 0 to 1"), "{refused}");
            if world.my_pe() == 0 {
                numbers[0].try_put(7, context.pe(1)).unwrap();
                context.quiet();
            }
        }
        world.barrier();
        assert_eq!((numbers.try_get_vec(2).unwrap(), three), (vec![7; 2], [0; 3]));
        world.barrier();
    });
}

#[test]
fn a_transfer_that_tries_without_a_world_is_refused_with_an_error() {
    oxshmem::symmetric! { static TOTAL: u64 = 0; }
    if let Some(said) = own_words(1, &[]) {
        return assert!(!said.contains("shmem_team_n_pes"), "{said}");
    }
    let none = |refused: Option<oxshmem::Error>| {
        let refused = refused.expect("there is no world");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert!(refused.to_string().contains("there is no world, which the PEs belong to"), "{refused}");
    };
    none(TOTAL.try_put(1, 0).err());
    let world = World::init().unwrap();
    TOTAL.try_put(1, 0).unwrap();
    world.quiet();
    assert_eq!(TOTAL.load(), 1);
    drop(world);
    none(TOTAL.try_get(0).err());
}

#[test]
fn an_index_beyond_the_end() {
    ends_with("index 2 is out of range for a symmetric slice of length 2", 1, |world| {
        world.allocate_slice(2, 0).unwrap()[2].put(1, 0);
    });
}

#[test]
fn a_symmetric_place_that_is_not() {
    ends_with("is not symmetric memory", 1, |_| {
        // SAFETY: nothing on any PE is there; the point is that the call notices.
        unsafe { oxshmem::Symmetric::in_static(0_u64) }.put(1, 0);
    });
}

#[test]
fn lengths_that_do_not_fit_together() {
    ends_with("the lengths of the slices do not fit together", 2, |world| {
        let (dest, source) = (world.allocate_slice(3, 0).unwrap(), world.allocate_slice(2, 0).unwrap());
        world.fcollect(&dest, &source);
    });
}

#[test]
fn a_destination_that_is_too_short_for_the_blocks_of_all_members() {
    ends_with("one has 4 elements, and 9 are needed", 3, |world| {
        let (dest, source) = (world.allocate_slice(4, 0).unwrap(), world.allocate_slice(9, 0).unwrap());
        world.collect(&dest, &source, 3);
    });
    ends_with("one has 4 elements, and 9 are needed", 3, |world| {
        let (dest, source) = (world.allocate_slice(4, 0).unwrap(), world.allocate_slice(9, 0).unwrap());
        let counts = world.allocate_slice(3, 3_usize).unwrap();
        world.alltoallv(&dest, &source, &counts);
    });
}

#[test]
fn slices_side_by_side_do_not_overlap() {
    ends_with("the lengths of the slices do not fit together", 2, |world| {
        let numbers = world.allocate_slice(30, 0_u64).unwrap();
        world.broadcast(&numbers[..2], &numbers[2..10], 0);
    });
}

#[test]
fn slices_that_overlap() {
    ends_with("dest and source overlap", 2, |world| {
        let numbers = world.allocate_slice(30, 0_u64).unwrap();
        world.sum(&numbers[..20], &numbers[10..]);
    });
}

#[test]
fn elements_that_are_collected_into_themselves() {
    ends_with("Team::collect: dest and source overlap", 2, |world| {
        let numbers = world.allocate_slice(30, 0_u64).unwrap();
        world.collect(&numbers, &numbers[20..], 2);
    });
}

#[test]
fn strided_elements_that_are_exchanged_with_themselves() {
    ends_with("Team::alltoall_strided: dest and source overlap", 2, |world| {
        let numbers = world.allocate_slice(30, 0_u64).unwrap();
        // The even places and the odd ones have nothing in common.
        world.alltoall_strided(&numbers[1..], 2, &numbers, 2, 7);
        world.alltoall_strided(&numbers[2..], 2, &numbers, 2, 7);
    });
}

#[test]
fn blocks_that_are_exchanged_with_themselves() {
    ends_with("Team::alltoallv: dest and source overlap", 2, |world| {
        let (numbers, counts) = (world.allocate_slice(30, 0_u64).unwrap(), world.allocate_slice(2, 3_usize).unwrap());
        world.alltoallv(&numbers[6..], &numbers, &counts);
        world.alltoallv(&numbers[5..], &numbers, &counts);
    });
}

#[test]
fn reductions_of_different_lengths() {
    ends_with("the PEs pass different lengths", 2, |world| {
        let numbers = world.allocate_slice(300, 0_u64).unwrap();
        let mine = &numbers[..100 + 100 * world.my_pe()];
        world.sum(mine, mine);
    });
}

#[test]
fn scans_into_different_places() {
    // At this length each member writes to the other one between nodes, too.
    const N: usize = 20_000;
    ends_with("the members of the team name different destinations", 2, |world| {
        let numbers = world.allocate_slice(2 * N, 0_u64).unwrap();
        let mine = &numbers[N * world.my_pe()..][..N];
        world.sum_inscan(mine, mine);
    });
}

#[test]
fn a_collect_that_meets_another_call() {
    ends_with("make different calls", 2, |world| {
        let numbers = world.allocate_slice(300, 0_u64).unwrap();
        let _ = match world.my_pe() {
            0 => world.collect(&numbers[100..], &numbers[..100], 10),
            _ => world.sum_of(1 << 40),
        };
    });
}

#[test]
fn fault_W1_values_that_meet_a_reduction() {
    ends_with("make different calls", 2, |world| {
        let numbers = world.allocate_slice(2, 0_u64).unwrap();
        match world.my_pe() {
            0 => drop(world.values([0_u64; 6])),
            _ => world.max(&numbers[..1], &numbers[1..]),
        }
    });
}

#[test]
fn values_of_different_types() {
    ends_with("the PEs pass values of different sizes", 2, |world| match world.my_pe() {
        0 => drop(world.values([7_u64; 3])),
        _ => drop(world.values(7_u64)),
    });
}

/// Both take one word of the exchange.
#[test]
fn values_of_different_small_types() {
    ends_with("the PEs pass values of different sizes", 2, |world| match world.my_pe() {
        0 => drop(world.values(7_u32)),
        _ => drop(world.values(7_u8)),
    });
}

#[test]
fn different_memory_in_an_epoch() {
    ends_with("passes other memory than this PE", 2, |world| {
        let (mut one, mut other) = (world.allocate_slice(2, 0).unwrap(), world.allocate_slice(2, 0).unwrap());
        world.exclusive(if world.my_pe() == 0 { &mut one } else { &mut other }, |mine| mine.fill(1));
    });
}

#[test]
fn a_barrier_in_an_epoch() {
    ends_with("World::barrier: this PE is in an exclusive epoch", 2, |world| {
        let mut numbers = world.allocate_slice(2, 0).unwrap();
        world.exclusive(&mut numbers, |_| world.barrier());
    });
}

#[test]
fn a_panic_in_an_epoch() {
    ends_with("a panic inside an exclusive epoch", 2, |world| {
        let mut numbers = world.allocate_slice(2, 0).unwrap();
        world.exclusive(&mut numbers, |_| assert_ne!(world.my_pe(), 1));
    });
}

#[test]
fn allocations_that_differ() {
    ends_with("made other heap calls than this PE", 2, |world| {
        let _ = world.allocate_slice(100 + 100 * world.my_pe(), 0_u64);
    });
}

#[test]
fn allocations_of_different_types_of_one_size() {
    ends_with("or the last ones are of other types", 2, |world| {
        if world.my_pe() == 0 {
            let _ = world.allocate(Atomic::<u64>::new(0));
        } else {
            let _ = world.allocate(0_u64);
        }
    });
}

#[test]
fn boxes_that_are_dropped_in_another_order() {
    ends_with("dropped another SymmetricBox, or in another order", 2, |world| {
        let (one, other) = (world.allocate(1).unwrap(), world.allocate(2).unwrap());
        let (first, second) = if world.my_pe() == 0 { (one, other) } else { (other, one) };
        drop(first);
        drop(second);
    });
}

#[test]
fn a_lock_that_was_overwritten() {
    ends_with("is overwritten", 2, |world| {
        let locks = world.allocate_slice(4, Lock::new()).unwrap();
        // SAFETY: the memory is symmetric; the point is that what lies there does no harm.
        unsafe { locks.as_ptr().cast::<u8>().write_bytes(0x55, 32) };
        world.barrier();
        let _held = locks[0].lock(world);
    });
}

#[test]
fn what_can_fail_is_an_error() {
    processes(2, |world| {
        assert!(World::init().unwrap_err().to_string().contains("has a world already"));
        assert_eq!(World::init().unwrap_err().kind(), ErrorKind::AlreadyInitialized);
        let refused = world.split_strided(1, 1, 2).unwrap_err();
        assert!(refused.to_string().contains("start 1, stride 1 and size 2"), "{refused}");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        for (start, stride, size) in [(0, 0, 2), (0, 1, 3), (1, isize::MIN, 2), (0, -1, usize::MAX)] {
            let refused = world.split_strided(start, stride, size).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        }
        assert_eq!(world.split_2d(0).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(world.split_2d(usize::MAX).unwrap().x.n_pes(), 2);
        assert!(world.split_grid(&[2, 2]).unwrap_err().to_string().contains("extents [2, 2]"));
        // And everything goes on.
        let counter = world.allocate(Atomic::new(0)).unwrap();
        counter.inc(0);
        world.barrier();
        assert_eq!(counter.fetch(0), 2);
    });
}

#[test]
fn a_failed_allocation_is_an_error_with_numbers_and_prints_nothing() {
    if let Some(said) = own_words(2, &[("SHMEM_SYMMETRIC_SIZE", "1M")]) {
        return assert!(!said.contains("oxshmem"), "{said}");
    }
    let world = World::init().unwrap();
    let half = world.allocate_slice(1 << 19, 0_u8).unwrap();
    let refused = world.allocate_slice(1 << 21, 0_u8).expect_err("half of the heap is taken");
    let ErrorKind::OutOfMemory { asked, largest_free, heap, .. } = refused.kind() else { panic!("{refused}") };
    // The heap has some pages more than the user asks for.
    assert!(asked == 1 << 21 && (1 << 20..1 << 21).contains(&heap), "{refused}");
    assert!(largest_free > 0 && largest_free + (1 << 19) <= heap, "{largest_free} of {heap}");
    assert!(refused.to_string().contains("SHMEM_SYMMETRIC_SIZE"), "{refused}");
    drop(half);
    assert!(world.allocate_slice(largest_free as usize, 0_u8).is_ok());
}

#[test]
fn a_context_too_many_is_an_error() {
    if own_words(1, &[("SHMEM_MAX_CTX", "2")]).is_some() {
        return;
    }
    let world = World::init().unwrap();
    let contexts: Vec<_> = std::iter::from_fn(|| world.try_context().ok()).take(9).collect();
    assert!(contexts.len() < 9);
    let refused = world.try_context().expect_err("there are as many as there may be");
    assert_eq!(refused.kind(), ErrorKind::LimitReached);
    drop(contexts);
    world.context().quiet();
}

#[test]
fn a_mistake_names_the_place_of_the_call() {
    let line = line!() + 3;
    let place: &'static str = format!("mistakes.rs:{line}:").leak();
    ends_with(place, 1, |world| {
        world.allocate_slice(2, 0).unwrap().put_slice(&[1, 2, 3], 0);
    });
}

#[test]
fn a_panic_goes_on_where_standard_error_takes_nothing() {
    const NAME: &str = "a_panic_goes_on_where_standard_error_takes_nothing";
    if std::env::var_os("OXSHMEM_TEST_CALL").is_some() {
        let world = World::init().unwrap();
        let _team = world.split_strided(0, 1, 1).unwrap();
        let _memory = world.allocate(0).unwrap();
        panic!("both are leaked, and this PE cannot say so");
    }
    let job = oxshmem::test::launch(1, |_| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 2>/dev/full"]).arg(std::env::current_exe()?);
        command.args([NAME, "--exact", "--nocapture"]).env("OXSHMEM_TEST_CALL", "0");
        Ok(command)
    });
    for pe in job.unwrap() {
        // The status of the harness; a panic in a drop would abort the process.
        assert_eq!(pe.status.code(), Some(101), "{}{}", pe.out, pe.err);
    }
}

#[test]
fn a_world_behind_a_caught_panic_says_why_there_is_none() {
    let Some(job) = own_job(1, &[]) else {
        let outcome = catch_unwind(|| {
            let _world = World::init().unwrap();
            panic!("it drops the world");
        });
        assert!(outcome.is_err());
        return eprintln!("{}", World::init().unwrap_err());
    };
    assert!(job[0].err.contains("World::init: the last world of this process ended in a panic"), "{}", job[0].err);
}

#[test]
fn schedules_for_different_lengths() {
    let Some(job) = own_job(2, &[("SHMEM_REDUCE_ALGORITHM", "ring")]) else {
        let world = World::init().unwrap();
        let numbers = world.allocate_slice(300, 0_u64).unwrap();
        let mine = &numbers[..100 + 100 * world.my_pe()];
        return world.sum(mine, mine);
    };
    let said: String = job.into_iter().map(|pe| pe.err).collect();
    assert!(said.contains("the members of the team name different destinations"), "{said}");
}

#[test]
fn another_program_is_refused() {
    // The two PEs run copies of this test's executable that differ in one byte at the end. With static variables shared
    // the runtime would notice already that these may not correspond.
    if std::env::var_os("OXSHMEM_TEST_CALL").is_some() {
        let error = World::init().expect_err("the executables differ");
        assert!(error.to_string().contains("do not run the same executable"), "{error}");
        assert!(!oxshmem::is_initialized());
        return;
    }
    let this = std::env::current_exe().unwrap();
    let folder = TestFolder::new("other");
    let mut bytes = std::fs::read(&this).unwrap();
    // A constant is changed: only what is loaded makes another program.
    let mark = std::hint::black_box(b"one letter of this sentence is different in the other program").as_slice();
    let at = bytes.windows(mark.len()).position(|window| window == mark).expect("constants are in the executable");
    bytes[at] = b'O';
    let other = folder.write_executable("program", bytes);
    let job = oxshmem::test::launch(2, |pe| {
        let mut command = std::process::Command::new(if pe == 0 { &this } else { &other });
        command.args(["another_program_is_refused", "--exact", "--nocapture"]);
        command.env("OXSHMEM_TEST_CALL", "0").env("SHMEM_STATICS", "0");
        Ok(command)
    });
    for pe in job.unwrap() {
        assert!(pe.status.success() && pe.out.contains("1 passed"), "{}{}", pe.out, pe.err);
    }
}

#[test]
fn empty_boxes_do_not_make_different_memory_look_the_same() {
    ends_with("passes other memory than this PE", 2, |world| {
        // Only PE 0 makes an empty box, which is no collective call; so its second box is not PE 1's second one.
        let _empty = (world.my_pe() == 0).then(|| world.allocate_slice(0, 0).unwrap());
        let (mut one, mut other) = (world.allocate_slice(2, 0).unwrap(), world.allocate_slice(2, 0).unwrap());
        world.exclusive(if world.my_pe() == 0 { &mut one } else { &mut other }, |mine| mine.fill(1));
    });
}

#[test]
fn an_epoch_of_empty_boxes() {
    processes(2, |world| {
        let mut empty = world.allocate_slice(0, 0_u64).unwrap();
        let _another = (world.my_pe() == 0).then(|| world.allocate_slice(0, 0).unwrap());
        world.exclusive(&mut empty, |mine| assert!(mine.is_empty()));
    });
}

oxshmem::symmetric! {
    static NOBODY_SETS: Atomic<u32> = Atomic::new(0);
    static SET_LATE: Atomic<u32> = Atomic::new(0);
}

/// The status and output of one PE of [`again`], and whether it ended well.
fn alone(test: &str) -> (String, bool) {
    let ended = &again(1, test, &[])[0];
    (format!("{}{}{}", ended.status, ended.out, ended.err), ended.status.success())
}

#[test]
fn a_wait_for_a_static_without_a_world() {
    for test in ["waits_before_the_world", "waits_after_the_world"] {
        let (said, well) = alone(test);
        assert!(!well && said.contains("shmem_wait_until: the library is not initialised"), "{said}");
    }
}

#[test]
#[ignore = "ends its process: a_wait_for_a_static_without_a_world runs it"]
fn waits_before_the_world() {
    NOBODY_SETS.wait_until(oxshmem::Comparison::Is(1));
}

#[test]
#[ignore = "ends its process: a_wait_for_a_static_without_a_world runs it"]
fn waits_after_the_world() {
    drop(World::init().unwrap());
    NOBODY_SETS.wait_until(oxshmem::Comparison::Is(1));
}

#[test]
fn a_thread_that_waits_while_the_world_ends() {
    // It finds what it waits for, or is told that there is no world any more; there is no third way.
    let (said, well) = alone("waits_beside_the_world");
    assert!(well || said.contains("the library is not initialised"), "{said}");
}

#[test]
#[ignore = "may end its process: a_thread_that_waits_while_the_world_ends runs it"]
fn waits_beside_the_world() {
    let world = World::init().unwrap();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| SET_LATE.wait_until(oxshmem::Comparison::Is(1)));
        // Long enough for it to sleep, mostly; whether it does decides nothing.
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(world);
        SET_LATE.store(1);
        waiter.join().unwrap();
    });
}
