//! Random sizes, strides and counts around the powers of two where they wrap, for every routine that has one.
//!
//! The routines come from the table of all routines, and one with a parameter that the test does not know ends it. A job makes some
//! calls whose results it compares, and then one that its arrays do not hold: that one is refused with a sentence that names it,
//! or with NULL, at every level of checking, on 1 to 3 PEs of one node or two. No job ends by a signal.
//!
//! `OXSHMEM_SIZES_SEED` repeats a run, and `OXSHMEM_SIZES_JOBS` says how many jobs there are: by default one for each family of
//! routines. With `CHECK_LONG=1` each routine has a job of its own, at every level of checking.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

mod calls;
mod cases;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use calls::Routine;
use cases::{Case, SizeDice};
use oxshmem_faults::{Job, TestFolder, in_parallel, is_long, program_with};

/// Calls of a job that are compared, before the one that is refused.
const RIGHT_CALLS: usize = 12;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// The program with a call of every routine, and the sizes of their elements.
fn compiled(routines: &mut [Routine]) -> PathBuf {
    let folder = TestFolder::new("random-sizes");
    folder.write("random_sizes_calls.h", calls::header(routines));
    let program = program_with("random_sizes.c", &["-w", "-O0", "-I", folder.to_str().expect("a path in UTF-8")]);
    let list = std::process::Command::new(&program).arg("list").output().expect("the program starts");
    let list = String::from_utf8(list.stdout).expect("numbers");
    assert_eq!(list.lines().count(), routines.len());
    for (routine, size) in routines.iter_mut().zip(list.lines()) {
        routine.element = size.parse().expect("a size");
    }
    program
}

const LEVELS: usize = 4;

/// The routine whose call a job refuses: each family has its turn, with another form every time; or each routine.
fn turn(routines: &[Routine], job: usize, every: bool, dice: &mut SizeDice) -> usize {
    if every {
        return job / LEVELS % routines.len();
    }
    let families = routines.last().expect("there are routines").family + 1;
    let forms: Vec<usize> = (0..routines.len()).filter(|&i| routines[i].family == job % families).collect();
    forms[dice.below(forms.len())]
}

/// One job; what is wrong with it.
fn attempt(program: &Path, routines: &[Routine], job: usize, every: bool, seed: u64) -> Option<String> {
    let mut dice = SizeDice::new(seed.wrapping_add(job as u64));
    let pes = 1 + dice.below(3);
    let shape = format!("-n {pes}{}", if pes > 1 && dice.below(3) == 0 { " --nodes 2" } else { "" });
    let check = if every { job % LEVELS } else { dice.below(LEVELS) }.to_string();
    let mut words: Vec<String> = Vec::new();
    for _ in 0..RIGHT_CALLS {
        let routine = dice.below(routines.len());
        words.push(Case::right(&routines[routine], pes, &mut dice).word(routine));
    }
    let last = turn(routines, job, every, &mut dice);
    let routine = &routines[last];
    let case = Case::refused(routine, pes, &mut dice);
    words.push(case.word(last));
    let ended = Job::new(&shape).env("SHMEM_CHECK", &check).env("SHMEM_SYMMETRIC_SIZE", "4M").run(program, &words);
    let says = |name: &str| ended.stderr.contains(&format!(": {name}: "));
    let right = if case.is_right || routine.allocates() {
        ended.status == Some(0)
    } else {
        ended.status == Some(1)
            && ended.stderr.contains("oxshmem: PE")
            && (says(&routine.name) || says(&routine.generic))
    };
    (!right || ended.crashed()).then(|| {
        format!(
            "{}: SHMEM_CHECK={check} SHMEM_SYMMETRIC_SIZE=4M oshrun {shape} PROGRAM {}\n{ended}",
            routine.name,
            words.join(" ")
        )
    })
}

#[test]
fn fault_S1_random_sizes_of_every_routine_are_right_or_refused() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_nanos() as u64;
    let seed = number("OXSHMEM_SIZES_SEED").unwrap_or(now);
    let mut routines = calls::routines();
    let program = compiled(&mut routines);
    let families = routines.last().expect("there are routines").family + 1;
    let every = is_long();
    let usual = if every { LEVELS * routines.len() } else { families };
    let jobs = number("OXSHMEM_SIZES_JOBS").map_or(usual, |jobs| jobs as usize);
    println!("OXSHMEM_SIZES_SEED={seed}: {jobs} jobs, {} routines of {families} families", routines.len());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let numbers: Vec<usize> = (0..jobs).collect();
    let wrong = in_parallel(threads, &numbers, |&job| {
        let why = attempt(&program, &routines, job, every, seed)?;
        println!("job {job}: {why}");
        Some(job)
    });
    let wrong: Vec<usize> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "OXSHMEM_SIZES_SEED={seed}: of {jobs} jobs these are wrong: {wrong:?}");
}
