//! `oshcc --race`: programs that were not written for it, which it must not accuse without a reason.
//!
//! The examples of the book run on one node; with `CHECK_LONG=1` on two as well, with those in Fortran, and with all programs that the
//! simulated network must never accuse.

use oxshmem_faults::{
    Complaint, FOUND, Job, compile, expect_no_complaints, is_long, not_run, program_by, program_with, programs_of,
};

/// Programs whose reports are right: each has an access that the standard promises nothing of, and survives it.
const EXPLAINED: &[(&str, &str)] = &[
    // A put and an atomic fetch of the same word: a put is not atomic to the fetch.
    ("luck/right_polls_with_fetch.c", "shmem_long_atomic_fetch by PE"),
    // A get beside another PE's put of the same word: any of both values is right for this program, but the accesses race.
    ("luck/right_destination_ready.c", "shmem_long_g by PE"),
];

/// Complaints about the detector's word on a program.
fn complaint(name: &str) -> Vec<Complaint> {
    let program = program_with(name, &["--race", "-pthread", "-lm"]);
    let mut complaints = Vec::new();
    let nodes = ["-n 4", "-n 4 --nodes 2"];
    for options in &nodes[..if is_long() { 2 } else { 1 }] {
        let ended = Job::new(options).run(&program, [""; 0]);
        let is_right = match EXPLAINED.iter().find(|(of, _)| *of == name) {
            // Whether it is seen is the order's business.
            Some((_, why)) => {
                let races = ended.stderr.matches("data race on").count();
                ended.status == Some(0)
                    || (ended.status == Some(FOUND) && races > 0 && races == ended.stderr.matches(why).count())
            }
            None => {
                ended.status == Some(0)
                    && !ended.stderr.contains("race on")
                    && !ended.stderr.contains("only by the letter")
            }
        };
        if !is_right {
            complaints.push(Complaint::new(format!("{name} with {options} is accused, or fails"), ended));
        }
    }
    complaints
}

fn none_is_accused(names: &[String], least: usize) {
    assert!(names.len() >= least, "{names:?}");
    let complaints: Vec<Complaint> = names.iter().flat_map(|name| complaint(name)).collect();
    expect_no_complaints(&complaints);
}

#[test]
fn examples_in_c() {
    none_is_accused(&programs_of("../../../examples/c", "", ".c"), 13);
}

#[test]
fn examples_in_fortran() {
    if !is_long() {
        return not_run("CHECK_LONG=1 runs it");
    }
    none_is_accused(&programs_of("../../../examples/fortran", "", ".f90"), 8);
}

#[test]
fn right_programs_of_the_simulated_network() {
    if !is_long() {
        return not_run("CHECK_LONG=1 runs it");
    }
    none_is_accused(&programs_of("luck", "right_", ".c"), 30);
}

/// The GNU compilers warn that their own library knows nothing of fences.
#[test]
fn fences_of_threads_compile_without_a_word() {
    const FILE: &str = "race/pthreads.c";
    let options = ["--race", "-pthread", "-O2", "-Werror", "-Wtsan"];
    for of_user in [&options[..3], &options[..4], &options] {
        let (_, output) = compile(FILE, of_user);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{of_user:?}: {said}");
    }
    if program_by(Some("clang"), FILE, &options[..4]).is_none() {
        not_run("clang is not on this machine");
    }
}

#[test]
fn children_that_pes_fork_are_left_alone() {
    none_is_accused(&["race/forks.c".to_owned()], 1);
}
