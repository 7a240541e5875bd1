//! Programs that break the standard's rules: they end with a sentence or wait, and write nowhere.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use oxshmem_faults::{Job, by_turns, in_parallel, is_long, not_run, program, program_with};

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
                let ended = job(&[call, distance]).expect(1).says(&[name, "is not symmetric memory"]);
                assert!(!ended.crashed(), "{ended}");
            }
        }
    }
}

#[test]
fn a_variable_of_a_shared_library_is_named_with_its_library() {
    let library = program_with("library_variable.c", &["-DIN_LIBRARY", "-shared", "-fPIC"]);
    let program = program_with("library_variable.c", &[library.to_str().expect("a path of letters")]);
    let file = library.file_name().expect("it is a file").to_string_lossy();
    let ended = Job::new("-n 2").run(&program, [""; 0]).expect(1);
    ended.says(&[
        "shmem_long_g",
        "is not symmetric memory",
        &format!("in the library {file}"),
        "link that library statically",
    ]);
}

/// The program whose members make different calls, compiled once.
static MISMATCH: LazyLock<PathBuf> = LazyLock::new(|| program_with("mismatch.c", &["-pthread"]));

/// The names of all calls that it knows.
fn calls() -> Vec<String> {
    let list = std::process::Command::new(&*MISMATCH).arg("list").output().expect("the program starts");
    String::from_utf8(list.stdout).expect("names").lines().map(str::to_owned).collect()
}

/// Barriers and syncs of the world may meet each other. A split that finds a slot for its team sends nothing. A calloc is a
/// malloc of the same size after which the PE clears its own block. Where no member reads the source of another one each has that which
/// it names itself.
fn may_meet(one: &str, other: &str) -> bool {
    let alike = |names: &[&str]| names.contains(&one) && names.contains(&other);
    one == other
        || alike(&["barrier_all", "sync_all"])
        || alike(&["split", "nothing"])
        || alike(&["malloc", "calloc"])
        || alike(&["broadcast_long", "broadcast_elsewhere"])
        || alike(&["alltoall_long", "alltoall_elsewhere"])
        || alike(&["fcollect_long", "fcollect_elsewhere"])
        || alike(&["max_long", "max_in_place"])
        || alike(&["max_some", "max_of_others"])
}

/// Runs a pair: it ends with a sentence, or waits until it is ended.
fn try_pair(job: Job, options: &str, check: &str, one: &str, other: &str) {
    let job = job.env("SHMEM_CHECK", check).start(&MISMATCH, [one, other]);
    let ended = job.wait_by_the_clock(Duration::from_secs(2));
    let about = format!("oshrun {options}, SHMEM_CHECK={check}: {one} against {other}: {ended}");
    assert!(!ended.crashed() && !ended.stderr.contains("panicked"), "{about}");
    match ended.status {
        None => {}
        Some(0) => assert!(may_meet(one, other), "nobody noticed: {about}"),
        Some(status) => assert!(status != 9 && status < 128 && ended.stderr.contains("oxshmem: PE"), "{about}"),
    }
}

/// Pairs that cover every call, with partners of every kind: those that move nothing, little, much, and the heap's.
fn some_pairs() -> Vec<(String, String)> {
    const PARTNERS: [&str; 6] = ["barrier_all", "max_six", "max_long", "malloc", "broadcast_long", "collect"];
    let partner = |i: usize| PARTNERS[i % PARTNERS.len()].to_owned();
    calls().into_iter().enumerate().map(|(i, call)| (call, partner(i))).filter(|(a, b)| a != b).collect()
}

#[test]
fn fault_W1_members_in_different_calls_end_with_a_sentence_or_wait() {
    for (i, (one, other)) in some_pairs().iter().enumerate() {
        let options = ["-n 2", "-n 2 --nodes 2", "-n 4 --nodes 2"][i % 3];
        try_pair(Job::new(options), options, ["0", "1", "2", "3"][i / 3 % 4], one, other);
    }
}

#[test]
fn fault_W1_members_that_meet_level_by_level_end_with_a_sentence_or_wait() {
    for (i, (one, other)) in some_pairs().iter().enumerate() {
        let job = Job::new("-n 6").env("SHMEM_NODE_LEVELS", "2,4");
        try_pair(job, "-n 6 with levels", ["0", "1", "2", "3"][i % 4], one, other);
    }
}

#[test]
fn fault_W1_what_crashed_is_named_on_both_sides() {
    for (i, (one, other, words)) in [
        ("free", "barrier_all", ["an allocation or free of symmetric memory", "a barrier or sync"]),
        ("barrier_issued", "barrier_all", ["a barrier or sync that returns at once", "a barrier or sync"]),
        ("barrier_issued", "sync_all", ["a barrier or sync that returns at once", "a barrier or sync"]),
        ("max_six", "barrier_all", ["shmem_max_reduce (48 bytes)", "a barrier or sync"]),
        ("max_long", "barrier_all", ["shmem_max_reduce (160000 bytes)", "a barrier or sync"]),
        ("max_long", "fcollect", ["shmem_max_reduce (160000 bytes)", "shmem_fcollect (8 bytes)"]),
        ("fcollect", "broadcast", ["shmem_fcollect (8 bytes)", "shmem_broadcast (48 bytes, root 0)"]),
        ("broadcast", "broadcast_root_1", ["root 0", "root 1"]),
        ("alltoall_twice", "alltoall_barrier", ["shmem_alltoall (160 bytes)", "a barrier or sync"]),
        ("alltoalls", "alltoalls_swapped", ["(80 bytes, dst 2, sst 3)", "(80 bytes, dst 3, sst 2)"]),
        ("split_many", "split_color", ["a split of a team", "a split of a team by colour"]),
    ]
    .into_iter()
    .enumerate()
    {
        for (j, options) in ["-n 2", "-n 2 --nodes 2", "-n 4 --nodes 2"].into_iter().enumerate() {
            // Each pair has both levels, and each shape has both.
            for check in by_turns(&["0", "3"], i + j) {
                let job = Job::new(options).env("SHMEM_CHECK", check);
                job.run(&MISMATCH, [one, other]).expect(1).says(&["the PEs make different calls"]).says(&words);
            }
        }
    }
}

#[test]
fn fault_W1_lengths_that_differ_are_named_as_such() {
    const SHAPES: [&str; 3] = ["-n 2", "-n 2 --nodes 2", "-n 4 --nodes 2"];
    for (one, other, words, shapes) in [
        ("max_six", "max", [" reduces ", " 48 bytes", " 8 bytes", "pass the same nreduce on all PEs"], &SHAPES[..]),
        ("broadcast", "broadcast_one", [" broadcasts ", " 48 bytes", " 8 bytes", "the same nelems"], &SHAPES[..]),
        ("max_long", "max_less", [" reduces ", " 160000 bytes", " 80000 bytes", "the same nreduce"], &SHAPES[..1]),
        ("fcollect", "fcollect_two", [" passes ", " 8 bytes", " 16 bytes", "or call shmem_long_collect"], &SHAPES[..1]),
    ] {
        for options in shapes {
            let job = Job::new(options).env("SHMEM_CHECK", "1");
            job.run(&MISMATCH, [one, other]).expect(1).says(&["the PEs pass different lengths"]).says(&words);
        }
    }
}

/// The signals of this schedule have no signature, and the members meet nowhere before they exchange.
#[test]
fn fault_W1_lengths_that_differ_in_a_ring_between_nodes_are_named_as_such() {
    for (options, long, less) in
        [("-n 2 --nodes 2", " 80000 bytes", " 40000 bytes"), ("-n 4 --nodes 4", " 40000 bytes", " 20000 bytes")]
    {
        let job = Job::new(options).env("SHMEM_FCOLLECT_ALGORITHM", "ring");
        let ended = job.run(&MISMATCH, ["fcollect_twice", "fcollect_less"]).expect(1);
        ended.says(&["shmem_long_fcollect: the PEs pass different lengths", long, less]);
    }
}

/// Each member reads the arrays of the others by its own name for them.
#[test]
fn sources_that_differ_are_named_where_members_read_them_from_each_other() {
    for (options, one, other) in [
        ("-n 2", "broadcast_long", "broadcast_elsewhere"),
        ("-n 2", "alltoall_long", "alltoall_elsewhere"),
        ("-n 2", "fcollect_long", "fcollect_elsewhere"),
        ("-n 2", "max_long", "max_in_place"),
        ("-n 4 --nodes 2", "max_long", "max_in_place"),
        ("-n 4 --nodes 2", "max_some", "max_of_others"),
    ] {
        let ended = Job::new(options).run(&MISMATCH, [one, other]).expect(1);
        ended.says(&["name different arrays as source", "the same symmetric object as source"]);
    }
}

/// PE 0 has posted a broadcast that PE 1 has not made, and a team ends, or the job.
#[test]
fn a_broadcast_that_a_member_has_missed_is_not_told_as_a_split() {
    let program = program("posted.c");
    for (what, headline) in [("finalize", "shmem_finalize: the PEs"), ("destroy", "shmem_team_destroy: the PEs")] {
        let ended = Job::new("-n 2").run(&program, [what]).expect(1).says(&[headline, "make different calls"]);
        ended.says(&["have not made the same broadcasts before this call"]);
    }
}

/// The set does not meet again.
#[test]
fn a_broadcast_of_an_active_set_that_a_member_has_missed_is_told_at_the_end() {
    let ended = Job::new("-n 2").run(&program("posted.c"), ["set"]).expect(1);
    ended.says(&[
        "shmem_finalize: PE 1 has not made a broadcast that PE 0 has made",
        "PE_start 0, logPE_stride 0 and PE_size 2",
    ]);
}

/// The team is not destroyed, and does not meet again either.
#[test]
fn a_broadcast_of_a_team_that_a_member_has_missed_ends_the_job_in_finalize() {
    for (what, team) in [("shared", "one of SHMEM_TEAM_SHARED"), ("left", "one of a team of 2 PEs")] {
        let ended = Job::new("-n 2").run(&program("posted.c"), [what]).expect(1);
        ended.says(&["shmem_finalize: PE 1 has not made a broadcast that PE 0 has made", team]);
    }
}

/// Between nodes the root goes on when the team or set has its ring. PE 1 leads its node, or another PE does, which has made the broadcast.
#[test]
fn a_later_broadcast_that_a_member_has_missed_ends_the_job_in_finalize() {
    for (options, pes) in [("-n 2", 2), ("-n 2 --nodes 2", 2), ("-n 4 --nodes 2", 4)] {
        for (what, team) in [("left_again", "one of a team of"), ("set_again", "logPE_stride 0 and PE_size")] {
            let ended = Job::new(options).run(&program("posted.c"), [what]).expect(1);
            let team = format!("{team} {pes}");
            ended.says(&["shmem_finalize: PE 1 has not made a broadcast that ", " made", &team]);
        }
    }
}

#[test]
fn two_roots_of_one_broadcast_are_named_in_finalize() {
    for (what, team) in [("roots", "one of SHMEM_TEAM_SHARED"), ("set_roots", "logPE_stride 0 and PE_size 2")] {
        let ended = Job::new("-n 2").run(&program("posted.c"), [what]).expect(1);
        ended.says(&[
            "shmem_finalize: PE 0 and PE 1 have each made one broadcast as its root",
            team,
            "the same PE_root",
        ]);
    }
}

/// Two nodes have a root each, which goes on. The broadcast of the other one comes in its own, or later.
#[test]
fn two_roots_of_one_broadcast_between_nodes_end_the_job() {
    let ended = Job::new("-n 2 --nodes 2").run(&program("posted.c"), ["left_roots"]).expect(1).says(&["different"]);
    assert!(
        ended.stderr.contains("shmem_long_broadcast: the PEs make different calls")
            || ended.stderr.contains("and PEs of other nodes have made different broadcasts"),
        "{ended}"
    );
}

/// PE 1 has made no collective with data.
#[test]
fn a_broadcast_that_a_member_has_missed_is_told_at_the_next_barrier() {
    let ended = Job::new("-n 2").run(&program("posted.c"), ["barrier"]).expect(1);
    assert!(!ended.stderr.contains("was a barrier or sync"), "{ended}");
    ended.says(&[
        "shmem_barrier_all: the PEs make different calls",
        "have not made the same broadcasts before this call",
    ]);
}

/// Between nodes its root goes on at once, too, when the team has its ring.
#[test]
fn a_broadcast_that_a_node_has_missed_ends_the_job_at_the_next_barrier() {
    for options in ["-n 2", "-n 2 --nodes 2"] {
        let ended = Job::new(options).run(&program("posted.c"), ["again"]).expect(1);
        ended.says(&[
            "shmem_barrier_all: the PEs make different calls",
            "have not made the same broadcasts before this call",
        ]);
    }
}

/// PE 0 leads the node of PE 1, which has gone to a barrier. The numbers of their meetings are both even or odd, or not, with one barrier more.
#[test]
fn a_member_in_a_barrier_is_named_where_the_node_meets_in_a_broadcast() {
    for what in ["half", "half_later"] {
        let ended = Job::new("-n 4 --nodes 2").run(&program("posted.c"), [what]).expect(1);
        ended.says(&[
            "shmem_long_broadcast: the PEs make different calls",
            "PE 1 is in a barrier or sync",
            "this PE (0)",
        ]);
    }
}

/// The root has posted another length, and waits in its next collective when PE 1 comes; or it has not gone so far.
#[test]
fn a_broadcast_of_another_length_is_told_when_its_root_has_gone_on() {
    let ended = Job::new("-n 2").run(&program("posted.c"), ["length"]).expect(1);
    assert!(!ended.stderr.contains("before this call"), "{ended}");
    ended.says(&["shmem_long_broadcast: the PEs ", "PE 0 ", "broadcast", "this PE (1)"]);
}

/// PE 0 waits in the second of its broadcasts, the long one, for which PE 1 has come without the first.
#[test]
fn a_member_without_a_posted_broadcast_uses_nothing_of_the_next_one() {
    let ended = Job::new("-n 2").run(&program("posted.c"), ["order"]).expect(1);
    ended.says(&["shmem_long_broadcast: the PEs ", "PE 0 ", "broadcast", "this PE (1)"]);
}

#[test]
fn collects_into_different_places_are_named_as_such() {
    for options in ["-n 2", "-n 2 --nodes 2"] {
        let ended = Job::new(options).run(&MISMATCH, ["collect", "collect_elsewhere"]).expect(1);
        ended.says(&[
            "name different destinations",
            "names another place than this PE",
            "the same symmetric object as dest",
        ]);
    }
}

#[test]
fn fault_W2_levels_that_differ_confuse_nobody() {
    let mut job = Job::new("-n 2");
    let script = format!("SHMEM_CHECK=$((PMI_RANK * 2)) exec {} max_six max_six", MISMATCH.display());
    job.command().args(["/bin/sh", "-c"]);
    job.run(Path::new(&script), [""; 0]).expect(0);
}

/// Pairs of calls over the transports that are here, several at once because most wait. One call with every other one over
/// libfabric and UCX, by turns as the first and as the second of the two, with `CHECK_LONG=1` as both. `OXSHMEM_PAIRS=tcp` (`node`,
/// `ofi:tcp`, `ucx:tcp`, `all`) tries every pair, which takes minutes, and `OXSHMEM_PAIRS_WITH=max_six` those with that call.
#[test]
fn fault_W1_all_pairs() {
    let (wanted, mut with) = (std::env::var("OXSHMEM_PAIRS").ok(), std::env::var("OXSHMEM_PAIRS_WITH").ok());
    let in_both_orders = wanted.is_some() || is_long();
    if wanted.is_none() {
        not_run("all pairs take minutes (OXSHMEM_PAIRS=all runs them)");
        with = with.or_else(|| Some("max_six".into()));
    }
    for transport in ["node", "tcp", "ofi:tcp", "ucx:tcp"] {
        let is_wanted = match wanted.as_deref() {
            None => transport.contains(':'),
            Some(wanted) => wanted == "all" || wanted == transport,
        };
        if !is_wanted {
            continue;
        }
        let tried =
            Job::new("-n 2 --nodes 2").env("SHMEM_TRANSPORT", if transport == "node" { "auto" } else { transport });
        if tried.run(&program("hello.c"), [""; 0]).lacks_transport(transport) {
            continue;
        }
        let options = match transport {
            "node" => "-n 2".into(),
            _ => format!("-n 4 --nodes 2 -x SHMEM_TRANSPORT={transport}"),
        };
        let all = calls();
        let is_chosen = |i: usize, j: usize| {
            let is_turn = |partner: usize, turn: usize| in_both_orders || partner % 2 == turn;
            let is_wanted = |with: &String| *with == all[i] && is_turn(j, 0) || *with == all[j] && is_turn(i, 1);
            i != j && with.as_ref().is_none_or(is_wanted)
        };
        let numbers = || 0..all.len();
        let pairs: Vec<(usize, usize)> =
            numbers().flat_map(|i| numbers().map(move |j| (i, j))).filter(|&(i, j)| is_chosen(i, j)).collect();
        let run = |&(i, j): &(usize, usize)| {
            try_pair(Job::new(&options), &options, ["0", "1", "2", "3"][(i + j) / 2 % 4], &all[i], &all[j]);
        };
        // The panic has printed what is wrong.
        let failed = in_parallel(4, &pairs, |pair| catch_unwind(AssertUnwindSafe(|| run(pair))).is_err());
        let failed = failed.into_iter().filter(|failed| *failed).count();
        assert_eq!(failed, 0, "so many of {} failed, see above", pairs.len());
        println!("{} pairs: {transport}", pairs.len());
    }
}
