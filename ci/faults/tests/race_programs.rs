//! `oshcc --race`: programs that were not written for it, which it must not accuse without a reason.
//!
//! The examples of the book run on one node; with `CHECK_LONG=1` on two as well, with those in Fortran, and with all programs that the
//! simulated network must never accuse.

use std::path::{Path, PathBuf};

use oxshmem_faults::{Complaint, FOUND, Job, expect_no_complaints, is_long, not_run, source, tool};

/// Programs whose reports are right: each has an access that the standard promises nothing of, and survives it.
const EXPLAINED: &[(&str, &str)] = &[
    // A put and an atomic fetch of the same word: a put is not atomic to the fetch.
    ("right_polls_with_fetch.c", "shmem_long_atomic_fetch by PE"),
    // A get beside another PE's put of the same word: any of both values is right for this program, but the accesses race.
    ("right_destination_ready.c", "shmem_long_g by PE"),
];

/// The files of a folder with this ending, and with this beginning.
fn files(folder: &Path, beginning: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of programs");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    files.retain(|path| name(path).starts_with(beginning) && name(path).ends_with(ending));
    files.sort();
    files
}

/// Complaints about the detector's word on a program.
fn complaint(wrapper: &str, file: &Path) -> Vec<Complaint> {
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    let program = std::env::temp_dir().join(format!("oxshmem-race-{}-{}", std::process::id(), name.replace('.', "-")));
    let mut compile = tool(wrapper);
    compile.args(["--race", "-g", "-O1", "-pthread"]).arg(file).arg("-o").arg(&program).arg("-lm");
    let made = compile.output().expect("the wrapper starts");
    assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
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
    std::fs::remove_file(program).expect("our file");
    complaints
}

fn none_is_accused(wrapper: &str, files: &[PathBuf], least: usize) {
    assert!(files.len() >= least, "{files:?}");
    let complaints: Vec<Complaint> = files.iter().flat_map(|file| complaint(wrapper, file)).collect();
    expect_no_complaints(&complaints);
}

#[test]
fn examples_in_c() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    none_is_accused("oshcc", &files(&folder, "", ".c"), 13);
}

#[test]
fn examples_in_fortran() {
    if !is_long() {
        return not_run("CHECK_LONG=1 runs it");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fortran");
    none_is_accused("oshfort", &files(&folder, "", ".f90"), 8);
}

#[test]
fn right_programs_of_the_simulated_network() {
    if !is_long() {
        return not_run("CHECK_LONG=1 runs it");
    }
    none_is_accused("oshcc", &files(&source("luck"), "right_", ".c"), 30);
}
