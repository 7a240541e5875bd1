//! Programs that break the standard's rules: they end with a sentence or wait, and write nowhere.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, program};

#[test]
fn fault_M4_a_negative_stride_stays_inside_of_symmetric_memory() {
    let strides = program("strides.c");
    for nodes in ["", "--nodes 2"] {
        let job = |arguments: &[&str]| Job::new(&format!("-n 4 {nodes}")).run(&strides, arguments);
        assert!(job(&["inside"]).expect(0).stdout.contains("reversed"));
        for (call, name) in [
            ("iput", "shmem_long_iput"),
            ("iget", "shmem_long_iget"),
            ("ibput", "shmem_long_ibput"),
            ("ibget", "shmem_long_ibget"),
            ("ctx_iput", "shmem_ctx_iput64"),
            ("ctx_iget", "shmem_ctx_iget64"),
        ] {
            // Some below the caller's block, and where the heaps of other PEs may lie.
            for distance in ["10", "30"] {
                let ended = job(&[call, distance]).expect(1).says(&[name, "no symmetric object of"]);
                assert!(!ended.crashed(), "{ended}");
            }
        }
    }
}
