//! Active messages: functions that run on other PEs.

#![cfg(feature = "serde")]

mod worlds;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use oxshmem::ErrorKind;
use oxshmem::test::{processes, processes_on, threads};
use worlds::everywhere;

#[test]
fn handlers_change_what_they_capture_where_it_is() {
    everywhere(3, |world| {
        let counts = RefCell::new(HashMap::<String, u64>::new());
        let active = world.active_messages(64).unwrap();
        let count = active.register(|_, word: String| {
            let mut counts = counts.borrow_mut();
            let seen = counts.entry(word).or_default();
            *seen += 1;
            *seen
        });
        let n = world.n_pes();
        // Every PE counts every word at its owner; nobody takes the answers of the first round.
        (0..30).for_each(|word| drop(active.call(count, &format!("word {word}"), word % n)));
        let last = active.call(count, &"last".to_owned(), 0).wait().unwrap();
        assert!((1..=n as u64).contains(&last), "{last}");
        active.finish();
        let counts = counts.borrow();
        let mine = (0..30).filter(|word| word % n == world.my_pe());
        assert!(mine.clone().all(|word| counts[&format!("word {word}")] == n as u64), "{counts:?}");
        assert_eq!(counts.len(), mine.count() + usize::from(world.my_pe() == 0));
        world.barrier();
    });
}

#[test]
fn a_handler_of_other_active_messages_is_refused() {
    let mixed = || {
        processes(1, |world| {
            let (active, other) = (world.active_messages(64).unwrap(), world.active_messages(64).unwrap());
            let _double = active.register(|_, number: u64| 2 * number);
            let add = other.register(|_, number: u64| number + 1);
            drop(active.call(add, &1, 0));
        })
    };
    let outcome = catch_unwind(mixed);
    if std::env::var_os("OXSHMEM_TEST_CALL").is_some() {
        return outcome.unwrap_or_else(|panic| resume_unwind(panic));
    }
    let said = outcome.expect_err("the job was to fail");
    let said = said.downcast_ref::<String>().map_or("", String::as_str);
    assert!(said.contains("the handler is not one of these active messages"), "{said}");
}

#[test]
fn long_requests_and_answers_cross_in_pieces() {
    everywhere(2, |world| {
        let active = world.active_messages(50).unwrap();
        let reverse = active.register(|from, mut numbers: Vec<u32>| {
            numbers.reverse();
            (from, numbers)
        });
        let other = 1 - world.my_pe();
        // Both at once: who waits serves.
        let numbers: Vec<u32> = (0..2000).collect();
        let answers = [active.call(reverse, &numbers, other), active.call(reverse, &vec![7], other)];
        let [long, short] = answers.map(|answer| answer.wait().unwrap());
        assert_eq!(long, (world.my_pe(), (0..2000).rev().collect()));
        assert_eq!(short, (world.my_pe(), vec![7]));
        active.finish();
        world.barrier();
    });
}

#[test]
fn requests_to_one_pe_run_in_order() {
    everywhere(2, |world| {
        let (next, wrong) = (Cell::new([0_u32; 2]), Cell::new(0));
        let active = world.active_messages(64).unwrap();
        let number = active.register(|from: usize, number: u32| {
            let mut all = next.get();
            wrong.set(wrong.get() + u32::from(all[from] != number));
            all[from] += 1;
            next.set(all);
        });
        (0..50).for_each(|i| drop(active.call(number, &i, 1 - world.my_pe())));
        active.finish();
        assert_eq!((next.get()[1 - world.my_pe()], wrong.get()), (50, 0));
        // And once more. A PE that is still in `finish` would serve a call of one that has left it.
        world.barrier();
        active.call(number, &50, 1 - world.my_pe()).wait().unwrap();
        active.finish();
        world.barrier();
    });
}

#[test]
fn a_request_that_fails_with_its_answer_dropped_ends_the_job() {
    let lost = |world: &oxshmem::World| {
        let active = world.active_messages(64).unwrap();
        let known = active.register(|_, ()| ());
        drop(active.call(known, &(), 0));
        if world.my_pe() == 0 {
            let unknown = active.register(|_, ()| ());
            drop(active.call(unknown, &(), 1));
        }
        active.finish();
        world.barrier();
    };
    let outcome = catch_unwind(|| processes(2, lost));
    if std::env::var_os("OXSHMEM_TEST_CALL").is_some() {
        return outcome.unwrap_or_else(|panic| resume_unwind(panic));
    }
    let said = outcome.expect_err("PE 1 has no such handler");
    let said = said.downcast_ref::<String>().map_or("", String::as_str);
    assert!(said.contains("PE 1 cannot run handler 1: it has 1 handlers"), "{said}");
}

#[test]
fn requests_wait_for_a_handler_that_waits_for_an_answer_itself() {
    everywhere(3, |world| {
        let (me, n, total) = (world.my_pe(), world.n_pes(), Cell::new(0));
        let sum = &total;
        let active = world.active_messages(64).unwrap();
        let double = active.register(|_, number: u64| 2 * number);
        let add = active.register_with(move |active, _, number: u64| {
            // Meanwhile other requests for this handler come.
            let doubled = active.call(double, &number, (me + 1) % n).wait().unwrap();
            sum.set(sum.get() + doubled);
        });
        // Nobody takes the answers, so an error would be lost.
        (0..10).for_each(|number| drop(active.call(add, &number, 1)));
        active.finish();
        assert_eq!(total.get(), if me == 1 { 90 * n as u64 } else { 0 });
        world.barrier();
    });
}

#[test]
fn a_handler_that_waits_for_itself_gets_an_error() {
    everywhere(2, |world| {
        let (me, own) = (world.my_pe(), Cell::new(None));
        let active = world.active_messages(64).unwrap();
        let nested = active.register_with(|active, _, depth: u32| match (depth, own.get()) {
            (1.., Some(itself)) => active.call(itself, &(depth - 1), me).wait().err().map(|error| error.to_string()),
            _ => None,
        });
        own.set(Some(nested));
        let said: Option<String> = active.call(nested, &1, me).wait().unwrap();
        assert!(said.is_some_and(|said| said.contains("waits for this call itself")));
        active.finish();
        world.barrier();
    });
}

#[test]
fn a_handler_that_panics_is_an_error_of_the_caller() {
    everywhere(2, |world| {
        let active = world.active_messages(64).unwrap();
        let halve = active.register(|_, number: u32| {
            assert!(number.is_multiple_of(2), "{number} is odd");
            number / 2
        });
        if world.my_pe() == 0 {
            let refused = active.call(halve, &7, 1).wait().unwrap_err();
            assert!(refused.to_string().contains("handler 0 of PE 1 has panicked: 7 is odd"), "{refused}");
        } else {
            // As the executor of a task does.
            let serves = || {
                for _ in 0_u64.. {
                    active.progress();
                }
            };
            assert!(catch_unwind(AssertUnwindSafe(serves)).is_err());
        }
        assert_eq!(active.call(halve, &8, 1 - world.my_pe()).wait(), Ok(4));
        active.finish();
        world.barrier();
    });
}

#[test]
fn a_panic_of_a_handler_goes_on_when_all_have_finished() {
    everywhere(3, |world| {
        let me = world.my_pe();
        let active = world.active_messages(64).unwrap();
        let halve = active.register(|_, number: u32| {
            assert!(number.is_multiple_of(2), "{number} is odd");
            number / 2
        });
        // PE 0 serves it in `finish`.
        assert!(me != 1 || active.call(halve, &7, 0).wait().is_err());
        let finished = catch_unwind(AssertUnwindSafe(|| active.finish()));
        assert_eq!(finished.is_err(), me == 0);
        assert!(me != 2 || active.call(halve, &8, 1).wait() == Ok(4));
        active.finish();
        world.barrier();
    });
}

#[test]
fn a_task_awaits_an_answer_and_serves_meanwhile() {
    processes(2, |world| {
        let active = world.active_messages(64).unwrap();
        let double = active.register(|_, number: u64| 2 * number);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answers = runtime.block_on(async {
            let other = 1 - world.my_pe();
            let (one, two) = tokio::join!(active.call(double, &1, other), active.call(double, &2, other));
            (one.unwrap(), two.unwrap())
        });
        assert_eq!(answers, (2, 4));
        active.finish();
        world.barrier();
    });
}

#[test]
fn a_handler_that_is_not_there_is_an_error_of_the_caller() {
    processes(2, |world| {
        let active = world.active_messages(64).unwrap();
        let _number = active.register(|_, number: u64| number);
        let word = (world.my_pe() == 0).then(|| active.register(|_, word: String| word));
        if let Some(word) = word {
            let refused = active.call(word, &"x".to_owned(), 1).wait().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
            assert!(refused.to_string().contains("PE 1 cannot run handler 1"), "{refused}");
        }
        active.finish();
        world.barrier();
    });
}

/// In each round every PE calls a handler that calls a handler that calls a third, each on another PE; nobody takes an answer. `finish`
/// returns behind the last of them. Calls of the next round may have come already, so each round counts its own.
fn chains(world: &oxshmem::World, rounds: usize) {
    let ends = RefCell::new(vec![0_u32; rounds]);
    let active = world.active_messages(64).unwrap();
    let (me, n) = (world.my_pe(), world.n_pes());
    let next = (me + 1) % n;
    let leaf = active.register(|_, round: usize| ends.borrow_mut()[round] += 1);
    let relay = active.register_with(move |active, _, round: usize| drop(active.call(leaf, &round, next)));
    let chain = active.register_with(move |active, _, round: usize| drop(active.call(relay, &round, next)));
    let mut late = Vec::new();
    for round in 0..rounds {
        drop(active.call(chain, &round, (me + round) % n));
        active.finish();
        // Each PE is the end of one chain a round.
        if ends.borrow()[round] != 1 {
            late.push(round);
        }
    }
    assert!(late.is_empty(), "of {rounds} rounds these were late on PE {me}: {late:?}");
    world.barrier();
    assert!(ends.borrow().iter().all(|&count| count == 1), "a call has run twice");
}

#[test]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
fn fault_A1_finish_comes_behind_all_calls_of_handlers() {
    let rounds = if std::env::var_os("CHECK_LONG").is_some() { 10_000 } else { 300 };
    [2, 4, 8].iter().for_each(|&pes| processes(pes, |world| chains(world, rounds)));
    processes_on(3, 6, |world| chains(world, rounds));
    if std::env::var_os("OXSHMEM_TEST_CALL").is_none() {
        threads(3).delayed().seeds(0..3, |world| chains(world, 20));
    }
}

#[test]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
fn fault_A1_a_chain_has_any_depth_and_handlers_reach_themselves() {
    everywhere(3, |world| {
        let (own, ends) = (Cell::new(None), Cell::new(0));
        let next = (world.my_pe() + 1) % world.n_pes();
        let active = world.active_messages(64).unwrap();
        let countdown = active.register_with(|active, _, left: u32| match (left, own.get()) {
            (1.., Some(itself)) => drop(active.call(itself, &(left - 1), next)),
            _ => ends.set(ends.get() + 1),
        });
        own.set(Some(countdown));
        drop(active.call(countdown, &300, next));
        active.finish();
        assert_eq!(ends.get(), 1);
        world.barrier();
    });
}
