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
