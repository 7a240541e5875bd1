//! Programs that find their own data races: wrong ones and their right twins, which differ in what orders PEs.
#![cfg(feature = "race")]

use std::process::Command;

use oxshmem::Comparison::{AtLeast, Is};
use oxshmem::test::{Ended, launch_on};
use oxshmem::{Atomic, Lock, Signal, Update, World, symmetric};

symmetric! {
    static DATA: [u64; 4] = [0; 4];
    static CELL: u64 = 0;
    static COUNT: Atomic<u64> = Atomic::new(0);
    static FLAG: Atomic<u64> = Atomic::new(0);
    static COME: Signal = Signal::new(0);
    static LOCK: Lock = Lock::new();
}

/// The status of a PE that has reported a race and would have ended with 0.
const FOUND: i32 = 66;
/// The case that a process is a PE of.
const CASE: &str = "RACE_DETECTOR_CASE";

/// Runs a case as a job of so many PEs on so many nodes.
fn run(nodes: usize, pes: usize, case: &str) -> Vec<Ended> {
    let job = launch_on(nodes, pes, |_| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["a_pe", "--exact", "--nocapture", "--test-threads=1", "--include-ignored"]).env(CASE, case);
        Ok(command)
    });
    job.expect("this test starts itself")
}

#[test]
#[ignore = "the other tests start it, once for every PE"]
fn a_pe() {
    let Ok(case) = std::env::var(CASE) else { return };
    let world = World::init().expect("a launcher has started it");
    let (name, twin) = case.split_once(' ').unwrap_or((case.as_str(), ""));
    play(&world, name, twin == "right");
}

/// A case. The right twin does all that it has to.
fn play(world: &World, name: &str, right: bool) {
    let first = world.my_pe() == 0;
    match name {
        "flag" if first => {
            DATA.put_slice(&[1, 2, 3, 4], 1);
            if right {
                world.fence();
            }
            FLAG.set(1, 1);
        }
        "flag" => {
            FLAG.wait_until(Is(1));
            assert!(DATA[2].load() <= 3);
        }
        "tests" if first => play(world, "flag", right),
        "tests" => {
            // The last test finds nothing: the flag is not down any more.
            while FLAG.as_slice().test_any(Is(0_u64)).is_some() {}
            assert!(DATA[2].load() <= 3);
        }
        "barrier" => {
            if first {
                CELL.store(7);
            }
            if right {
                world.barrier();
            }
            if !first {
                assert!(CELL.get(0) <= 7);
            }
        }
        "variable" if right => COUNT.add(1, 0),
        "variable" => CELL.put(world.my_pe() as u64, 0),
        "allocated" => {
            let block = world.allocate_slice(8, 0_u32).expect("room");
            if first {
                block.fill(5);
            }
            if right {
                assert_eq!(world.sum_of(1), 2);
            }
            if !first {
                assert!(block.get_vec(0)[3] <= 5);
            }
            // Dropping the block is collective.
        }
        "started" => {
            if first {
                CELL.store(7);
            }
            let sync = world.start_sync();
            if right {
                sync.wait();
                assert!(first || CELL.get(0) == 7);
            } else {
                assert!(first || CELL.get(0) <= 7);
                sync.wait();
            }
        }
        "signal" if first && right => DATA.put_signal(&[1, 2, 3, 4], &COME, Update::Set(1), 1),
        "signal" if first => {
            DATA.put_slice(&[1, 2, 3, 4], 1);
            COME.update(Update::Set(1), 1);
        }
        "signal" => {
            COME.wait_until(AtLeast(1));
            assert!(DATA[3].load() <= 4);
        }
        "lock" => {
            let held = right.then(|| LOCK.lock(world));
            CELL.put(CELL.get(0) + 1, 0);
            drop(held);
        }
        // Threads of one PE order each other by what the detector does not see.
        "threads" => {
            // One element takes no step, so that any stride will do.
            assert_eq!(CELL.as_slice().put_strided(isize::MAX as usize, &[0], 1, world.my_pe()), 1);
            world.quiet();
            let own = std::sync::Mutex::new(());
            std::thread::scope(|threads| {
                for _ in 0..2 {
                    threads.spawn(|| {
                        let _held = own.lock().expect("nobody panics");
                        CELL.store(CELL.load() + 1);
                    });
                }
            });
        }
        _ => panic!("no case has the name {name}"),
    }
}

/// The job reports races, all of which have these words.
fn is_found(nodes: usize, case: &str, words: &[&str]) {
    let job = run(nodes, 2, case);
    let said: String = job.iter().map(|pe| pe.err.as_str()).collect();
    assert!(job.iter().any(|pe| pe.status.code() == Some(FOUND)), "{case} on {nodes} nodes: {job:?}");
    assert!(said.contains("data race on "), "{case} on {nodes} nodes: {said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{case} on {nodes} nodes, {word}: {said}"));
}

/// The job reports nothing.
fn is_right(nodes: usize, case: &str) {
    let job = run(nodes, 2, case);
    for pe in &job {
        assert!(pe.status.success() && !pe.err.contains("race"), "{case} on {nodes} nodes: {job:?}");
    }
}

#[test]
fn wrong_programs_are_accused_with_their_lines() {
    for nodes in [1, 2] {
        is_found(
            nodes,
            "flag",
            &[
                "race_detector::DATA",
                "Symmetric::put_slice by PE 0 at race_detector.rs:",
                "a load by PE 1",
                "World::quiet",
            ],
        );
        is_found(nodes, "tests", &["race_detector::DATA", "Symmetric::put_slice by PE 0"]);
        is_found(nodes, "barrier", &["race_detector::CELL", "a store by PE 0", "Symmetric::get by PE 1"]);
        let remedy = "make it an Atomic, and use its add or, if it is no integer, Team::sum_of";
        is_found(nodes, "variable", &["race_detector::CELL", "Symmetric::put by PE 0", remedy]);
        is_found(nodes, "allocated", &["of the block of 32 bytes of PE 0, allocated at race_detector.rs:", "get_vec"]);
        is_found(nodes, "started", &["race_detector::CELL", "Symmetric::get by PE 1"]);
        is_found(nodes, "signal", &["race_detector::DATA", "Symmetric::put_slice by PE 0"]);
        is_found(nodes, "lock", &["race_detector::CELL"]);
    }
}

#[test]
fn right_programs_are_not_accused() {
    for nodes in [1, 2] {
        for case in ["flag", "tests", "barrier", "variable", "allocated", "started", "signal", "lock", "threads"] {
            is_right(nodes, &format!("{case} right"));
        }
    }
}

#[test]
fn a_program_of_one_pe_ends_well() {
    let job = run(1, 1, "threads right");
    assert!(job[0].status.success(), "{job:?}");
}
