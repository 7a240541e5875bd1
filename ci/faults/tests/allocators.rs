//! Programs with allocators of their own over the providers that hook allocation.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::PathBuf;

use oxshmem_faults::{Job, program};

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

#[test]
fn fault_R2_programs_with_other_allocators_run_over_every_network() {
    let allocators = program("allocators.c");
    for (library, package) in ALLOCATORS {
        let Some(path) = found(library) else {
            println!("not run: {library}: the package {package} is not installed");
            continue;
        };
        for (options, transport) in [
            ("-n 2", ""),
            ("-n 3 --nodes 3", "tcp"),
            ("-n 3 --nodes 3", "ucx:tcp"),
            ("-n 3 --nodes 3", "ucx"),
            ("-n 3 --nodes 3", "ofi:tcp"),
            ("-n 3 --nodes 3", "ofi:tcp;ofi_rxm"),
            ("-n 3 --nodes 3", "ofi:shm"),
        ] {
            let job = Job::new(options).env("SHMEM_TRANSPORT", transport);
            // Only the PEs get it: `oshrun` is not what is tested.
            let words = ["-c".into(), "LD_PRELOAD=\"$0\" exec \"$@\"".into(), path.clone(), allocators.clone()];
            let ended = job.run(std::path::Path::new("/bin/sh"), words);
            if ended.stderr.contains("cannot carry a job") {
                println!("not run: {library} over {transport}: {}", ended.stderr.lines().nth(1).unwrap_or_default());
                continue;
            }
            println!("{library} over {transport}");
            assert!(ended.expect(0).stdout.contains("all right"), "{library} over {transport}");
        }
    }
}
