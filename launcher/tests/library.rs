//! Jobs whose launcher brings a library: functions of PMI over a wire that only the library knows.

mod launch;

use std::path::Path;
use std::process::Command;

use launch::{probe, run_script};
use oxshmem_test_folder::TestFolder;

/// Builds a launcher's library, called `name`, in `folder`.
fn build(folder: &Path, name: &str, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/pmi.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror"]).args(options).arg(source).arg("-o").arg(folder.join(name));
    assert!(compiler.status().expect("a C compiler").success());
}

/// The environment that PALS leaves, and a wire that is not PMI's; the library in `folder` knows it.
fn hidden(folder: &Path, action: &str) -> String {
    format!(
        "export LD_LIBRARY_PATH={} PRIVATE_FD=$PMI_FD PRIVATE_SIZE=$PMI_SIZE PALS_RANKID=$PMI_RANK
         unset PMI_FD PMI_RANK PMI_SIZE
         exec {} {action}",
        folder.display(),
        probe()
    )
}

#[test]
fn pes_meet_through_either_library() {
    for (name, options) in [("libpmi2.so.0", &[][..]), ("libpmi.so.0", &["-DONE"])] {
        let folder = TestFolder::new("library");
        build(&folder, name, options);
        if name == "libpmi.so.0" {
            // A library that is there and does not answer: the other one is asked.
            build(&folder, "libpmi2.so.0", &["-DPMI2_Init=PMI2_Init_of_nobody"]);
        }
        for (nodes, pes) in [(1, 1), (1, 3), (2, 4)] {
            let ended = run_script(&format!("-n {pes} --nodes {nodes}"), &hidden(&folder, "exchange 2")).well();
            assert_eq!(ended.sorted(), (0..pes).map(|pe| format!("PE {pe} exchanged")).collect::<Vec<_>>(), "{name}");
            let ended = run_script(&format!("-n {pes} --nodes {nodes}"), &hidden(&folder, "hello"));
            assert!(ended.sorted()[0].starts_with(&format!("PE 0 of {pes}, node 0 of {nodes}")), "{}", ended.stdout);
        }
        let status = if name == "libpmi.so.0" { 42 } else { 1 };
        // Only PMI-1 tells a status.
        run_script("-n 2", &hidden(&folder, "abort 42")).expect(status);
    }
}

#[test]
fn problem_1_a_task_that_is_not_alone_never_runs_alone() {
    let folder = TestFolder::new("library");
    build(&folder, "libpmi2.so.0", &["-DPMI2_Init=PMI2_Init_of_nobody"]);
    build(&folder, "libpmi.so.0", &["-DONE", "-DPMI_Init=PMI_Init_of_nobody"]);
    let ended = run_script("-n 1", &hidden(&folder, "hello"));
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(99), ""), "{}", ended.stderr);
    ended.says(&[
        "one of several tasks by PALS",
        "libpmi2.so.0: has no function PMI2_Init",
        "libpmi.so.0: ",
        "cray-pmi",
    ]);
}
