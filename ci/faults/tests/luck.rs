//! Programs that rest on an order which the standard does not promise, and programs that do not, over the simulated network.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Output;

use oxshmem_faults::{has_program, is_long, line_of, not_run, program, programs_of, source, text_of, tool};

/// Seeds in which a wrong program is found, and in which a right one is never accused: each strategy has two of them and chance four, or
/// three and twelve where there is time.
const SEEDS_OF_WRONG: &str = "100";
const SEEDS_OF_RIGHT: &str = "12";
const MORE_SEEDS_OF_RIGHT: &str = "24";
/// A right program that asks its own memory again and again: each question is a step of the network. It took as long as all others.
const SLOW: &str = "luck/right_polls_with_fetch.c";
const SEEDS_OF_SLOW: &str = "8";

fn sim(arguments: &[&str], command: &[PathBuf]) -> Output {
    tool("oxshmem").arg("sim").args(arguments).args(command).output().expect("the tool starts")
}

#[test]
fn every_wrong_program_is_found() {
    let names = programs_of("luck", "wrong_", ".c");
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let output = sim(&["-n", "3", "--seeds", SEEDS_OF_WRONG, "--no-story"], &[program(&name)]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", text_of(&output));
    }
}

#[test]
fn no_right_program_is_accused() {
    let names = programs_of("luck", "right_", ".c");
    assert!(names.len() >= 30, "{names:?}");
    for name in names {
        let seeds = match (is_long(), name == SLOW) {
            (true, _) => MORE_SEEDS_OF_RIGHT,
            (false, true) => SEEDS_OF_SLOW,
            (false, false) => SEEDS_OF_RIGHT,
        };
        let output = sim(&["-n", "4", "--seeds", seeds], &[program(&name)]);
        assert!(output.status.success(), "{name}: {}", text_of(&output));
    }
}

/// A slip of the pen before the program is no program that fails with every seed.
#[test]
fn an_option_that_is_none_is_named() {
    for words in [&["--sedes", "3"][..], &["--", "-n", "2"]] {
        let output = sim(words, &[PathBuf::from("./program")]);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text_of(&output));
        assert!(text_of(&output).contains("is no option of oxshmem sim, and no program"), "{}", text_of(&output));
    }
}

/// A ring of more nodes than elements has empty blocks, whose signals must not overtake those before.
#[test]
fn a_ring_with_empty_blocks_keeps_its_order() {
    let right = program("luck/right_more_nodes_than_elements.c");
    let mut ring = tool("oxshmem");
    ring.env("SHMEM_REDUCE_ALGORITHM", "ring").args(["sim", "-n", "6", "--seeds", "50", "--no-story"]).arg(right);
    let output = ring.output().expect("the tool starts");
    assert!(output.status.success(), "{}", text_of(&output));
}

/// A job for each of so many would take all threads of the machine.
#[test]
fn there_are_no_more_jobs_at_a_time_than_seeds() {
    let right = program("luck/right_collectives_in_a_row.c");
    let output = sim(&["-n", "2", "--seeds", "2", "--jobs", "4000000000"], &[right]);
    assert!(output.status.success(), "{}", text_of(&output));
}

/// A failing seed fails again, and a run with the same seed takes the same decisions.
#[test]
fn a_seed_decides_everything() {
    let right = program("luck/right_collectives_in_a_row.c");
    let wrong = program("luck/wrong_flag_without_fence.c");
    let digest = |seed: &str| {
        let run =
            || text_of(&sim(&["-n", "3", "--first", seed, "--seeds", "1", "--digests"], std::slice::from_ref(&right)));
        // On a busy machine the others may go on without a PE that sleeps: the tool says so.
        let text = (0..20)
            .map(|_| run())
            .find(|text| !text.contains("such a run may not repeat"))
            .expect("a run that repeats");
        text.lines().find(|line| line.starts_with("seed ")).expect("a digest").to_owned()
    };
    for seed in ["0", "1", "2", "3", "4"] {
        let first = digest(seed);
        for _ in 0..4 {
            assert_eq!(digest(seed), first);
        }
    }
    let failing = |seed: u64| {
        let output =
            sim(&["-n", "3", "--first", &seed.to_string(), "--seeds", "1", "--no-story"], std::slice::from_ref(&wrong));
        output.status.code() == Some(1)
    };
    let seed = (0..100).find(|&seed| failing(seed)).expect("a failing seed");
    for turn in 0..20 {
        assert!(failing(seed), "seed {seed} did not fail again in turn {turn}");
    }
}

/// A PE that finalizes at the end of its process keeps its turn until then, however long the process takes for its end.
#[test]
fn a_seed_decides_the_end_of_a_process() {
    let program = program("luck/right_finalized_at_exit.c");
    // A PE that the system lets wait for longer than a turn is passed over, and such a run is no function of its seed.
    let digests = || {
        let output = sim(&["-n", "3", "--seeds", "10", "--digests"], std::slice::from_ref(&program));
        // Several seeds run at a time, and come in any order.
        let text = text_of(&output);
        let found: BTreeSet<_> = text.lines().filter(|line| line.starts_with("seed ")).map(str::to_owned).collect();
        assert_eq!(found.len(), 10, "{text}");
        (!text.contains("for long without a call")).then_some(found)
    };
    let runs: Vec<_> = (0..20).filter_map(|_| digests()).take(4).collect();
    if runs.len() < 2 {
        not_run("on a machine as busy as this one PEs are passed over");
    }
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
}

/// The first nonblocking put that was under way when the outcome turned, and the whole report.
fn put_under_way(name: &str) -> (String, String) {
    let text = text_of(&sim(&["-n", "2", "--seeds", "100"], &[program(&format!("luck/{name}"))]));
    let operation = text.lines().find(|line| line.contains("of PE ") && line.contains("put_nbi #"));
    let operation = operation.unwrap_or_else(|| panic!("no operation in: {text}")).to_owned();
    (operation, text)
}

/// The first line of a program with these words, as the story names it.
fn line(name: &str, words: &str) -> String {
    format!("{name}:{}", line_of(&format!("luck/{name}"), words))
}

/// The story names the operation, the peer and the line.
#[test]
fn the_story_names_what_was_under_way() {
    let name = "wrong_source_reused.c";
    let (operation, text) = put_under_way(name);
    let is_named = operation.contains(" `dest` at Statics+0x") && operation.contains(&line(name, "put_nbi"));
    assert!(is_named, "{operation}");
    assert!(text.contains("The outcome turns at step ") && text.contains("Repeat it with: oshrun --sim="), "{text}");
}

/// It names bytes of the heap by their block, and where that was allocated.
#[test]
fn the_story_names_the_block_of_the_heap() {
    let name = "wrong_block_reused.c";
    let (operation, text) = put_under_way(name);
    let block = format!(" of the block of 256 bytes allocated at {}, at Heap+0x", line(name, "/* the block */"));
    // A call may issue its bytes in two operations, so the first byte is not always that of the call.
    let is_named = operation.contains(&block) && operation.contains(&format!("({})", line(name, "put_nbi")));
    assert!(is_named, "{operation}\n{text}");
}

#[test]
fn wrong_programs_of_fortran_are_found() {
    if !has_program("gfortran") {
        return;
    }
    for name in ["wrong_flag_without_fence.f90", "wrong_two_puts_to_one_place.f90"] {
        let wrong = program(&format!("luck/{name}"));
        let output = sim(&["-n", "2", "--seeds", SEEDS_OF_WRONG, "--no-story"], &[wrong]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", text_of(&output));
    }
}

#[test]
fn wrong_programs_of_python_are_found() {
    let python = PathBuf::from("/usr/bin/python3");
    let library = oxshmem_faults::prefix().join("lib/liboxshmem.so");
    let programs =
        [("wrong_source_reused.py", 1), ("wrong_sync_without_quiet.py", 1), ("right_source_reused_after_quiet.py", 0)];
    for (name, status) in programs {
        let command = [python.clone(), source(&format!("luck/{name}")), library.clone()];
        let output = sim(&["-n", "2", "--seeds", "60", "--no-story"], &command);
        assert_eq!(output.status.code(), Some(status), "{name}: {}", text_of(&output));
    }
}

/// A PE that is killed ends the job: nobody waits for ever, and the right program's values are not what ends it.
#[test]
fn a_death_ends_the_job() {
    let right = program("luck/right_stencil.c");
    let output =
        sim(&["-n", "3", "--seeds", "12", "--death", "--keep-going", "--no-story", "--timeout", "60"], &[right]);
    let text = text_of(&output);
    assert!(!text.contains("the job hangs") && !text.contains("halo["), "{text}");
    // The PEs of some jobs are through before the step of the death comes.
    assert!(text.contains("12 seeds in ") && text.contains("oxshmem: seed "), "nobody has died: {text}");
}

/// A job fails because one of its PEs was killed, and not because of an order on which the program rests.
#[test]
fn a_death_is_not_explained_by_the_network() {
    let right = program("luck/right_stencil.c");
    let text = text_of(&sim(&["-n", "3", "--seeds", "12", "--death", "--timeout", "60"], &[right]));
    assert!(text.contains("With --death a PE is killed") && !text.contains("It fails as well"), "{text}");
}
