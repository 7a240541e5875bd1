//! Programs with allocators of their own over the providers that hook allocation.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_faults::{Job, not_run, prefix, program, source};

/// The library of an allocator, and its package.
const ALLOCATORS: [(&str, &str); 3] = [
    ("libjemalloc.so.2", "libjemalloc2"),
    ("libmimalloc.so.2", "libmimalloc2.0"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
];

/// Where the loader finds a library.
fn found(library: &str) -> Option<PathBuf> {
    let machine = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    [machine.as_str(), "/usr/lib64", "/usr/lib", "/usr/local/lib"]
        .iter()
        .map(|folder| PathBuf::from(folder).join(library))
        .find(|path| path.exists())
}

/// Jobs over each provider that hooks allocation, over TCP and on one node.
const JOBS: [(&str, &str); 7] = [
    ("-n 2", ""),
    ("-n 3 --nodes 3", "tcp"),
    ("-n 3 --nodes 3", "ucx:tcp"),
    ("-n 3 --nodes 3", "ucx"),
    ("-n 3 --nodes 3", "ofi:tcp"),
    ("-n 3 --nodes 3", "ofi:tcp;ofi_rxm"),
    ("-n 3 --nodes 3", "ofi:shm"),
];

/// Runs a job, unless this machine does not have the transport.
fn run_over(allocator: &str, (options, transport): (&str, &str), program: &Path, words: &[PathBuf]) {
    let ended = Job::new(options).env("SHMEM_TRANSPORT", transport).run(program, words);
    if ended.lacks_transport(&format!("{allocator} over {transport}")) {
        return;
    }
    println!("{allocator} over {transport}");
    assert!(ended.expect(0).stdout.contains("all right"), "{allocator} over {transport}");
}

#[test]
fn fault_R2_programs_with_other_allocators_run_over_every_network() {
    let allocators = program("allocators.c");
    for (library, package) in ALLOCATORS {
        let Some(path) = found(library) else {
            not_run(format_args!("{library}: the package {package} is not installed"));
            continue;
        };
        // Only the PEs get it: `oshrun` is not what is tested.
        let words = ["-c".into(), "LD_PRELOAD=\"$0\" exec \"$@\"".into(), path, allocators.clone()];
        JOBS.into_iter().for_each(|job| run_over(library, job, Path::new("/bin/sh"), &words));
    }
}

#[test]
fn fault_R2_a_rust_program_with_a_global_allocator_runs_over_every_network() {
    let (library, package) = ALLOCATORS[1];
    let Some(path) = found(library) else {
        return not_run(format_args!("{library}: the package {package} is not installed"));
    };
    let source = source("allocator.rs");
    let executable = program("hello.c").with_extension("allocator");
    let lib = prefix().join("lib");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2021", "-O", "-loxshmem"]).arg(&source).arg("-o").arg(&executable);
    rustc.arg("-L").arg(&lib).arg(format!("-Clink-arg=-Wl,-rpath,{}", lib.display()));
    let compiled = rustc.arg(format!("-Clink-arg={}", path.display())).output();
    let Ok(compiled) = compiled else { return not_run("there is no rustc in PATH") };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    JOBS.into_iter().for_each(|job| run_over("a global allocator", job, &executable, &[]));
}
