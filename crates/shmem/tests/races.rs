//! Threads of one PE use the same words at once, also while the world begins, and find whole values.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::env;
use std::process::Command;
use std::thread;

use oxshmem::{World, symmetric, test};

/// How often each thread uses each word.
const TURNS: u32 = 500;

symmetric! {
    static BEGUN: u32 = 0;
    static BYTE: u8 = 0;
    static HALF: i16 = 0;
    static WORD: f32 = 0.0;
    static LONG: u64 = 0;
    static PAIR: [u16; 2] = [0; 2];
}

/// A value that shows when two of them are mixed: all of its bytes are the same.
fn even(turn: u32) -> u64 {
    u64::from_ne_bytes([turn as u8; 8])
}

/// Whether `value` is one of [`even`].
fn is_even(value: u64) -> bool {
    value == even(value as u32)
}

#[test]
fn fault_W8_threads_may_use_statics_while_the_world_begins() {
    // By the fast path, and by the path where every call is checked, which looks at the team of the world.
    for check in ["0", "2"] {
        let mut program = Command::new(env::current_exe().unwrap());
        program.args(["statics_while_the_world_begins", "--exact", "--ignored"]).env("SHMEM_CHECK", check);
        let output = program.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "SHMEM_CHECK={check}: {text}");
    }
}

#[test]
#[ignore = "is a program: fault_W8_threads_may_use_statics_while_the_world_begins runs it"]
fn statics_while_the_world_begins() {
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(use_statics)).collect();
    let world = World::init().unwrap();
    BEGUN.store(1);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop(world);
}

/// Nothing but the word `BEGUN` tells this thread that there is a world.
fn use_statics() {
    while BEGUN.load() == 0 {
        LONG.store(even((LONG.load() as u32).wrapping_add(1)));
        thread::yield_now();
    }
    for turn in 0..TURNS {
        BYTE.put(turn as u8, 0);
        HALF.put(turn as i16, 0);
        WORD.put(turn as f32, 0);
        LONG.put(even(turn), 0);
        PAIR[1].put(turn as u16, 0);
        assert!(u32::from(BYTE.get(0)) < 256 && WORD.get(0) < TURNS as f32);
        assert!((0..TURNS as i16).contains(&HALF.get(0)) && u32::from(PAIR[1].get(0)) < TURNS);
        assert!(is_even(LONG.get(0)) && is_even(LONG.load()));
    }
}

#[test]
fn fault_W8_threads_may_put_and_look_at_the_same_words() {
    test::processes(1, hammer);
    test::processes_on(2, 2, hammer);
}

/// Threads of each PE put words to all PEs while others get them and look at them.
fn hammer(world: &World) {
    let long = world.allocate(0_u64).unwrap();
    let words = world.allocate_slice(4, 0_u32).unwrap();
    let halves = world.allocate_slice(4, 0_u16).unwrap();
    let bytes = world.allocate_slice(4, 0_u8).unwrap();
    let (me, n) = (world.my_pe(), world.n_pes());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for turn in 0..TURNS {
                    for pe in 0..n {
                        long.put(even(turn), pe);
                        words[1].put(even(turn) as u32, pe);
                        halves[1].put(even(turn) as u16, pe);
                        bytes[1].put(turn as u8, pe);
                    }
                }
            });
            scope.spawn(|| {
                for turn in 0..TURNS {
                    assert!(is_even(long.load()) && is_even(long.get((me + 1) % n)));
                    let word = if turn % 2 == 0 { words[1].load() } else { words[1].get(me) };
                    assert_eq!(word, even(word) as u32);
                    let half = if turn % 2 == 0 { halves[1].load() } else { halves[1].get(me) };
                    assert_eq!(half, even(half.into()) as u16);
                    let _ = bytes[1].load() | bytes[1].get(me);
                    long.store(even(turn));
                }
            });
        }
    });
    world.barrier();
}
