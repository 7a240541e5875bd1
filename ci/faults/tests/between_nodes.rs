//! Collectives between nodes: every way of every length gives the right bits.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::Path;
use std::time::Duration;

use oxshmem_faults::{Job, JobEnd, is_long, not_run, program, program_with};
use oxshmem_schedule::algorithm::names::{FAMILIES, serving};

/// Ends a job over a transport well. `None`: this machine does not have the transport.
fn ended(options: &str, transport: &str, program: &Path) -> Option<JobEnd> {
    let ended = Job::new(options).env("SHMEM_TRANSPORT", transport).run(program, [""; 0]);
    (!ended.lacks_transport(transport)).then(|| ended.expect(0))
}

/// Runs a program that says that all was right.
fn is_right(options: &str, transport: &str, program: &Path) {
    if let Some(ended) = ended(options, transport, program) {
        assert!(ended.stdout.contains("all right"), "{options}, {transport}: {ended}");
    }
}

#[test]
fn fault_C1_collectives_of_every_length_and_form_give_the_same_bits_between_nodes() {
    let eager = program_with("eager.c", &["-Wno-deprecated-declarations"]);
    for options in ["-n 2 --nodes 2", "-n 3 --nodes 3", "-n 4 --nodes 4", "-n 5 --nodes 2", "-n 6 --nodes 3"] {
        is_right(options, "tcp", &eager);
    }
}

#[test]
fn fault_C2_a_root_that_is_ahead_of_its_broadcasts_disturbs_nobody_over_any_network() {
    let eager = program_with("eager.c", &["-Wno-deprecated-declarations"]);
    for transport in ["ofi:tcp", "ucx:tcp"] {
        is_right("-n 3 --nodes 3", transport, &eager);
    }
}

/// A job of several nodes has threads that the program knows nothing of.
#[test]
fn a_signal_that_a_pe_keeps_back_is_not_taken_by_a_thread_of_the_network() {
    let own_signals = program("own_signals.c");
    for transport in ["tcp", "ofi:tcp", "ucx:tcp"] {
        is_right("-n 2 --nodes 2", transport, &own_signals);
    }
}

/// With more than two links a look at the network over TCP waits for the lock of a link, over libfabric always for that of the endpoint.
#[test]
fn a_handler_ends_a_pe_that_it_has_interrupted_in_the_network() {
    let exits = program("exits_in_handler.c");
    for transport in ["tcp", "ofi:tcp", "ucx:tcp"] {
        let job = Job::new("-n 4 --nodes 4").env("SHMEM_TRANSPORT", transport).limit(Duration::from_secs(60));
        let ended = job.run(&exits, [""; 0]);
        if !ended.lacks_transport(transport) {
            // Another PE that notices the closed connections first ends the job with status 1.
            assert!(matches!(ended.status, Some(1 | 7)), "{transport}: {ended}");
        }
    }
}

/// UCX spreads messages that are longer than a segment over as many lanes of an endpoint as its variable says. The other transports have no
/// such variable.
#[test]
fn a_put_is_there_with_its_signal_whatever_the_lanes_of_ucx() {
    let signalled = program("signalled.c");
    for transport in ["tcp", "ofi:tcp", "ucx:tcp", "ucx"] {
        let job = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", transport).env("UCX_MAX_EAGER_LANES", "2");
        let ended = job.run(&signalled, [""; 0]);
        if !ended.lacks_transport(transport) {
            assert!(ended.expect(0).stdout.contains("all right"), "{transport}");
        }
    }
}

/// A wait in a barrier asks no lane, so the error of one stayed there, and the job hung.
#[test]
fn a_job_whose_pes_cannot_reach_each_other_over_ucx_ends_and_says_so() {
    let (hello, transport) = (program("hello.c"), "ucx:self");
    let job = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", transport).limit(Duration::from_secs(60));
    let ended = job.run(&hello, [""; 0]);
    if !ended.lacks_transport(transport) {
        ended.expect(1).says(&["cannot be reached over UCX", "name transports that both nodes have"]);
    }
}

/// Likewise. Our TCP makes new connections, and libfabric may. Where an operation is under way, UCX ends the process itself.
#[test]
fn a_job_whose_connections_break_goes_on_or_ends() {
    let cut = program("cut_connections.c");
    for (transport, statuses) in [("tcp", &[0][..]), ("ofi:tcp", &[0, 1]), ("ucx:tcp", &[1, 134])] {
        let job = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", transport).limit(Duration::from_secs(60));
        let ended = job.run(&cut, [""; 0]);
        if ended.lacks_transport(transport) {
            continue;
        }
        assert!(ended.stdout.contains("connections cut: some"), "{transport}: {ended}");
        assert!(ended.status.is_some_and(|status| statuses.contains(&status)), "{transport}: {ended}");
        assert!(ended.status != Some(1) || ended.stderr.contains("oxshmem: PE "), "{transport}: {ended}");
    }
}

/// The parent of a leader must not write a room that the leader has not sent on. With small buffers a leader's puts stay queued.
#[test]
fn fault_B1_broadcasts_down_deep_trees_keep_their_bytes_with_small_buffers() {
    let broadcasts = program_with("broadcasts.c", &["-Wno-deprecated-declarations"]);
    // The deeper the tree, the more leaders are behind the root.
    for (options, form, calls) in [("-n 8 --nodes 8", "stay", "12800"), ("-n 4 --nodes 4", "turns", "6400")] {
        let Some(job) = Job::with_small_buffers(options) else { return };
        let ended = job.env("SHMEM_TRANSPORT", "tcp").run(&broadcasts, [form, "4"]);
        assert!(ended.expect(0).stdout.contains(&format!("0 of {calls} broadcasts were wrong")), "{options} {form}");
    }
}

/// Sets keep their places until their work array is freed, and a program may have one for each call.
#[test]
fn active_sets_leave_places_to_teams() {
    let many_sets = program_with("many_sets.c", &["-Wno-deprecated-declarations"]);
    Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", "tcp").run(&many_sets, [""; 0]).expect(0);
}

#[test]
fn strided_blocks_that_travel_together_arrive_at_their_places() {
    let far_strides = program("far_strides.c");
    for transport in ["tcp", "ucx:tcp", "ofi:tcp"] {
        is_right("-n 2 --nodes 2", transport, &far_strides);
    }
}

#[test]
fn active_sets_whose_arrays_are_freed_leave_all_places_to_teams() {
    let freed_sets = program_with("freed_sets.c", &["-Wno-deprecated-declarations"]);
    let teams = |phases: &str| {
        let job = Job::new("-n 4 --nodes 2").env("SHMEM_TRANSPORT", "tcp");
        job.run(&freed_sets, [phases, "5000"]).expect(0).stdout
    };
    assert_eq!(teams("40"), teams("0"));
}

#[test]
fn lines_that_a_gather_buffer_has_no_room_for_go_in_batches() {
    let lines = program("lines.c");
    for options in ["-n 4 --nodes 2", "-n 96 --nodes 3"] {
        is_right(options, "tcp", &lines);
    }
}

/// A short block is no message in a mailbox where 31 bits do not hold its place.
#[test]
fn a_short_block_behind_three_gib_of_others_comes_to_its_place() {
    if !is_long() {
        return not_run("it takes 12 GiB of memory (CHECK_LONG=1 runs it)");
    }
    let far = program("far_block.c");
    let job = Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", "tcp").env("SHMEM_SYMMETRIC_SIZE", "7G");
    let ended = job.run(&far, [""; 0]);
    if ended.stdout.contains("not run: ") {
        println!("{}", ended.stdout);
        return;
    }
    assert!(ended.expect(0).stdout.contains("all right"));
}

/// Where hosts get the PEs in turn, those of a host have no numbers in a row.
#[test]
fn sets_of_pes_meet_however_hosts_get_the_pes() {
    let dealt = program_with("dealt.c", &["-Wno-deprecated-declarations"]);
    for map in ["block", "cyclic"] {
        let job = Job::new(&format!("-H n1,n2 -n 8 --map {map}")).env("SHMEM_TRANSPORT", "tcp");
        let ended = job.run(&dealt, [""; 0]).expect(0);
        assert_eq!(ended.stdout.matches("all met").count(), 8, "{map}: {ended}");
    }
}

/// The transports of a job of this number in a list: all carry the first two, and each other one goes by TCP; all by all with
/// `CHECK_LONG=1`.
fn transports(number: usize) -> &'static [&'static str] {
    if is_long() || number < 2 { &["tcp", "ofi:tcp", "ucx:tcp"] } else { &["tcp"] }
}

/// No PE of another node is taken for one of this node, and no PE for another one.
#[test]
fn words_come_to_their_pes_however_hosts_get_the_pes() {
    let words = program("dealt_words.c");
    let jobs = [
        (8, "-H n1,n2 -n 8 --map cyclic"),
        (6, "-H n1:2,n2:4 -n 6 --map cyclic"),
        (8, "-H n1,n2 -n 8 --map block"),
        (7, "-H n1,n2,n3 -n 7 --map cyclic"),
    ];
    for (number, (pes, options)) in jobs.into_iter().enumerate() {
        let by = [("tcp", "auto", "1"), ("tcp", "auto", "2"), ("ofi:tcp", "network", "1"), ("ucx:tcp", "network", "1")];
        for (transport, atomics, check) in by.into_iter().filter(|by| transports(number).contains(&by.0)) {
            let job = Job::new(options).env("SHMEM_TRANSPORT", transport).env("SHMEM_AMO", atomics);
            let ended = job.env("SHMEM_CHECK", check).run(&words, [""; 0]);
            if ended.lacks_transport(transport) {
                continue;
            }
            let ended = ended.expect(0);
            let lines = ended.stdout.matches("all right").count();
            assert_eq!(lines, 2 * pes, "{options}, {transport}, SHMEM_CHECK={check}: {ended}");
        }
    }
}

/// Runs each form of a program in which a PE is stopped, over each of these transports that is here.
#[track_caller]
fn goes_on_beside_a_stopped_pe(program: &Path, options: &str, transports: &[&str], forms: &[&str]) {
    for transport in transports {
        for &form in forms {
            let ended = Job::new(options).env("SHMEM_TRANSPORT", transport).run(program, [form]);
            if !ended.lacks_transport(transport) {
                assert_eq!(ended.expect(0).stdout, "all right\n", "{transport}, {form}");
            }
        }
    }
}

/// The greeting of a PE that is stopped waited in front of the answers to all others; puts to such a PE had all slots.
#[test]
fn a_pe_that_puts_to_a_stopped_one_serves_the_others() {
    let transports = ["tcp", "ofi:tcp;ofi_rxm", "ofi:shm", "ucx:tcp"];
    goes_on_beside_a_stopped_pe(&program("stopped_peer.c"), "-n 8 --nodes 8", &transports, &["first", "much"]);
}

/// The operations of one thread had all slots, and another thread had none for another PE. libfabric's shm (1.17) is left out: an endpoint of
/// its takes the responses of all PEs in the order of its operations, so those behind an operation on a stopped PE wait for it.
#[test]
fn a_thread_that_puts_to_a_stopped_pe_does_not_hold_up_others() {
    let beside = program_with("stopped_beside.c", &["-pthread"]);
    goes_on_beside_a_stopped_pe(&beside, "-n 4 --nodes 4", &["tcp", "ofi:tcp;ofi_rxm", "ucx:tcp"], &["puts", "gets"]);
}

/// The thread that waited for one number held back all others, and they waited for its number, too.
#[test]
fn a_thread_that_fetches_from_a_stopped_pe_holds_up_only_those_that_need_that_pe() {
    let beside = program_with("stopped_beside.c", &["-pthread"]);
    goes_on_beside_a_stopped_pe(&beside, "-n 4 --nodes 4", &["tcp"], &["one_get", "one_fetch"]);
}

/// A strided get waited for all that the context had under way, as it does over libfabric.
#[test]
fn a_strided_get_does_not_wait_for_a_put_to_a_stopped_pe() {
    let beside = program_with("stopped_beside.c", &["-pthread"]);
    goes_on_beside_a_stopped_pe(&beside, "-n 4 --nodes 4", &["tcp", "ucx:tcp"], &["strided"]);
}

/// UCX 1.13 calls an atomic without a reply over before it has room for it, and no flush waits for it.
#[test]
fn updates_are_done_after_a_quiet_also_where_ucx_has_no_room_for_them() {
    let updates = program("own_updates.c");
    let memory = [("UCX_TLS", "posix,self"), ("UCX_POSIX_FIFO_SIZE", "4")];
    let ways = [("ucx", "network", &memory[..]), ("ucx", "processor", &memory), ("ucx:tcp", "network", &[])];
    for (transport, atomics, variables) in ways {
        let job = Job::new("-n 3 --nodes 3").env("SHMEM_TRANSPORT", transport).env("SHMEM_AMO", atomics);
        let job = variables.iter().fold(job, |job, (name, value)| job.env(name, value));
        let ended = job.run(&updates, ["3000"]);
        if !ended.lacks_transport(transport) {
            assert_eq!(ended.expect(0).stdout, "all right\n", "{transport}, {atomics}");
        }
    }
}

/// Nodes have unequal numbers of PEs, and those of a node no numbers in a row. The prefix sums of doubles show that operands are
/// folded in the order of the team, whichever node brings them.
#[test]
fn blocks_come_to_their_pes_however_hosts_get_the_pes() {
    let blocks = program("dealt_blocks.c");
    let jobs = [
        (7, "-H n1,n2,n3 -n 7 --map cyclic"),
        (6, "-H n1:2,n2:4 -n 6 --map cyclic"),
        (8, "-H n1,n2 -n 8 --map cyclic"),
        (5, "-H n1,n2 -n 5 --map block"),
        (7, "-H n1:1,n2:6 -n 7 --map block"),
    ];
    for (number, (pes, options)) in jobs.into_iter().enumerate() {
        for transport in transports(number) {
            let Some(ended) = ended(options, transport, &blocks) else { continue };
            assert_eq!(ended.stdout.matches("all right").count(), pes, "{options}, {transport}: {ended}");
        }
    }
}

/// Reductions in this order have the bits of no other one, so equal sums show equal orders.
#[test]
fn fault_C1_sums_of_doubles_have_the_same_bits_on_any_number_of_nodes_and_under_any_schedule() {
    let bits = program("bits.c");
    let sum = |pes: u32, nodes: u32, schedule: &str| {
        let job = Job::new(&format!("-n {pes} --nodes {nodes}")).env("SHMEM_TRANSPORT", "tcp");
        let ended = job.env("SHMEM_REDUCE_ALGORITHM", schedule).run(&bits, [""; 0]);
        let sum = ended.expect(0).stdout.clone();
        assert_eq!(sum.lines().count(), 3 * 10_001, "{pes} PEs on {nodes} nodes, {schedule}");
        sum
    };
    // With five a prefix sum by rounds associates otherwise.
    let one = sum(5, 1, "auto");
    for (nodes, schedule) in
        [1, 2, 3, 4].into_iter().flat_map(|nodes| schedules().into_iter().map(move |schedule| (nodes, schedule)))
    {
        assert!(sum(5, nodes, schedule) == one, "other bits on {nodes} nodes, {schedule}");
    }
    assert!(sum(3, 1, "auto") != one, "the sum of other operands");
}

/// The PEs meet by the standard schedules as long as they do not know that they have the same ones.
#[test]
fn algorithms_that_differ_are_told_whatever_they_are() {
    let program = program("hello.c");
    for setting in ["BARRIER_ALGORITHM=central", "REDUCE_ALGORITHM=butterfly-2", "FCOLLECT_ALGORITHM=ring"] {
        for options in ["-n 3", "-n 4 --nodes 2"] {
            let ended = Job::new(options).run_where(2, &format!("SHMEM_{setting}"), &program, &[]).expect(1);
            ended.says(&["the PEs choose their collectives' algorithms differently", "SHMEM_*_ALGORITHM"]);
        }
    }
}

fn schedules() -> Vec<&'static str> {
    let (_, collectives) =
        FAMILIES.into_iter().find(|(family, _)| *family == "REDUCE").expect("reductions have a setting");
    ["auto", "node"].into_iter().chain(serving(collectives)).collect()
}
