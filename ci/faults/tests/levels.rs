//! Collectives through the levels of large nodes, which groups of PEs stand for here.

use oxshmem_faults::{Job, JobEnd, is_long, program};

fn is_right(ended: &JobEnd) {
    assert!(ended.stdout.contains("every result is right"), "{ended}");
}

/// Even and uneven levels, with more PEs than any machine has processors on which this runs.
#[test]
fn results_are_right_through_the_levels_of_large_nodes() {
    let program = program("node_levels.c");
    let jobs = [
        (2, "2", "20000"),
        (7, "2,4", "20000"),
        (8, "2,4", "20000"),
        (16, "4,8", "9000"),
        (24, "4,16,24", "9000"),
        (64, "4,16,64", "9000"),
        (128, "4,16,64", "9000"),
        (256, "8,32,128", "9000"),
    ];
    // The largest takes as long as all others (with `CHECK_LONG=1`).
    let run = if is_long() { &jobs[..] } else { &jobs[..7] };
    for &(pes, levels, elements) in run {
        let rounds = if pes > 20 { "2" } else { "20" };
        let job = Job::new(&format!("-n {pes}"));
        let job = job.env("SHMEM_NODE_LEVELS", levels).env("SHMEM_SYMMETRIC_SIZE", "2M");
        is_right(&job.run(&program, [elements, rounds]).expect(0));
    }
}

/// The same program without levels, so that a wrong expectation would be noticed.
#[test]
fn results_are_right_without_levels() {
    let program = program("node_levels.c");
    for options in ["-n 3", "-n 4 --nodes 2"] {
        let job = Job::new(options).env("SHMEM_NODE_LEVELS", "off");
        is_right(&job.run(&program, ["20000", "20"]).expect(0));
    }
}

/// PEs with other levels would wait for each other in other lines.
#[test]
fn the_first_pe_of_a_node_decides_on_its_levels() {
    let program = program("node_levels.c");
    for (first, others) in [("2,4", "off"), ("off", "2,4"), ("2,4", "4")] {
        let job = Job::new("-n 8").env("SHMEM_NODE_LEVELS", others);
        is_right(&job.run_where(0, &format!("SHMEM_NODE_LEVELS={first}"), &program, &["9000", "2"]).expect(0));
    }
}

#[test]
fn levels_that_make_no_sense_are_refused() {
    let program = program("hello.c");
    for levels in ["4,2", "1", "four", "2,4,8,16"] {
        let job = Job::new("-n 1").env("SHMEM_NODE_LEVELS", levels);
        job.run(&program, [""; 0]).expect(1).says(&["SHMEM_NODE_LEVELS", "that grow", "4,16,64"]);
    }
}
