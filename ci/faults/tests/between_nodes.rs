//! Collectives between nodes: every way of every length gives the right bits.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, program_with};

#[test]
fn fault_C1_collectives_of_every_length_and_form_give_the_same_bits_between_nodes() {
    let eager = program_with("eager.c", &["-Wno-deprecated-declarations"]);
    for options in ["-n 2 --nodes 2", "-n 3 --nodes 3", "-n 4 --nodes 4", "-n 5 --nodes 2"] {
        let ended = Job::new(options).env("SHMEM_TRANSPORT", "tcp").run(&eager, [""; 0]);
        assert!(ended.expect(0).stdout.contains("all right"), "{options}");
    }
}

#[test]
fn fault_C2_a_root_that_is_ahead_of_its_broadcasts_disturbs_nobody_over_any_network() {
    let eager = program_with("eager.c", &["-Wno-deprecated-declarations"]);
    for transport in ["ofi:tcp", "ucx:tcp"] {
        let ended = Job::new("-n 3 --nodes 3").env("SHMEM_TRANSPORT", transport).run(&eager, [""; 0]);
        if ended.stderr.contains("SHMEM_TRANSPORT") {
            println!("not run: {transport}: {ended}");
            continue;
        }
        assert!(ended.expect(0).stdout.contains("all right"), "{transport}");
    }
}
