//! Memory: what a job may take, what happens when there is none, and what a transfer may touch.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, program};

#[test]
fn fault_M4_a_negative_stride_stays_inside_the_target() {
    let stride = program("negative_stride.c");
    for options in ["-n 3", "-n 3 --nodes 3"] {
        for call in ["put", "get"] {
            let ended = Job::new(options).run(&stride, ["inside", call]).expect(0);
            assert!(
                !ended.stdout.contains("element") && !ended.stdout.contains("fetched"),
                "{options} {call}: {ended}"
            );
            assert_eq!(ended.stdout.matches("is done").count(), 3, "{ended}");
        }
    }
    for call in ["iput", "iget"] {
        let ended = Job::new("-n 3").run(&stride, ["outside", &call[1..]]);
        assert!(!ended.stdout.contains("element"), "another PE's heap was written: {ended}");
        assert!(ended.status != Some(0) && !ended.crashed(), "{ended}");
        ended.says(&["shmem_long_", call, "no symmetric object"]);
    }
}
