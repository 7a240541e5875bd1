//! Slow paths. Benchmarks show their speed (`cargo run --release -p oxshmem-benches`); these tests show the mechanisms.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::Path;

use oxshmem_faults::{Job, not_run, program};

/// Whether the kernel shows a card for which fabric libraries have to be asked.
fn has_card() -> bool {
    let has_entry =
        |class: &str| Path::new("/sys/class").join(class).read_dir().is_ok_and(|mut all| all.next().is_some());
    ["infiniband", "cxi", "hfi1"].into_iter().any(has_entry)
}

#[test]
fn fault_P2_no_fabric_library_is_opened_where_no_card_is() {
    if has_card() {
        return not_run("this machine has a card");
    }
    let libraries = program("libraries.c");
    let none = [""; 0];
    let ended = Job::new("-n 2 --nodes 2").env("SHMEM_INFO", "1").run(&libraries, none).expect(0);
    assert_eq!(ended.stdout.matches("libfabric closed, UCX closed").count(), 2, "{ended}");
    assert!(ended.stdout.contains("no card of a kind that libfabric drives"), "{ended}");
    // A library that is named is opened.
    for (name, word) in [("ofi", "libfabric open"), ("ucx", "UCX open")] {
        let ended = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", name).run(&libraries, none);
        if ended.lacks_transport(name) {
            continue;
        }
        let ended = ended.expect(0);
        assert_eq!(ended.stdout.matches(word).count(), 2, "{ended}");
    }
}

#[test]
fn fault_P5_idle_quiets_and_fences_hide_nothing_that_is_outstanding() {
    let order = program("idle_order.c");
    for options in ["-n 2 --nodes 2", "-n 4 --nodes 2"] {
        let ended = Job::new(options).run(&order, [""; 0]).expect(0);
        assert!(ended.stdout.contains(": 0 wrong"), "{ended}");
    }
}
