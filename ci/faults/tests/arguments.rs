//! Arguments and threads that cannot be right: a sentence, and NULL from allocations on all PEs.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, by_turns, program, program_with};

#[test]
fn fault_W6_sizes_that_cannot_be_are_named_and_null_everywhere() {
    let program = program("sizes.c");
    for options in ["-n 2", "-n 4 --nodes 2"] {
        let pes = if options.contains('4') { 4 } else { 2 };
        for (call, words) in [
            ("malloc", ["shmem_malloc: the size is 18446744073709551608 bytes", "as a signed number it is -8"]),
            ("calloc", ["shmem_calloc: 1099511627776 elements of 1099511627776 bytes", "overflows"]),
            ("align", ["shmem_align: the size is", "as a signed number it is -8"]),
            ("realloc", ["shmem_realloc: the size is", "as a signed number it is -8"]),
            ("alignment", ["no block can begin at a multiple of 9223372036854775808", "alignments up to that size"]),
        ] {
            let ended = Job::new(options).run(&program, [call]).expect(0).says(&words);
            assert_eq!(ended.stdout.matches("null").count(), pes, "{ended}");
        }
        let full = Job::new(options).env("SHMEM_SYMMETRIC_SIZE", "1M").run(&program, ["alignment_full"]).expect(0);
        let full = full.says(&["no room for 8 B at a multiple of 1 MiB in the symmetric heap", "largest free block"]);
        assert_eq!(full.stdout.matches("null").count(), pes, "{full}");
        Job::new(options).run(&program, ["alignment_24"]).expect(1).says(&["alignment is 24", "powers of two"]);
    }
}

#[test]
fn fault_W6_two_threads_that_wait_below_multiple_are_named() {
    let program = program_with("two_threads.c", &["-pthread"]);
    for (level, name) in ["SHMEM_THREAD_SINGLE", "SHMEM_THREAD_FUNNELED", "SHMEM_THREAD_SERIALIZED"].iter().enumerate()
    {
        for (options, check) in [("-n 2", "2"), ("-n 2 --nodes 2", "3")] {
            let job = Job::new(options).env("SHMEM_CHECK", check).env("SHMEM_DEADLOCK", "off");
            job.run(&program, [level.to_string()]).expect(1).says(&[
                "two threads of this PE are in the library at once",
                "shmem_barrier_all",
                "shmem_wait_until",
                name,
            ]);
        }
    }
}

#[test]
fn a_destination_that_is_not_symmetric_is_not_called_a_different_one() {
    let program = program("stack_dest.c");
    for options in ["-n 2", "-n 4", "-n 4 --nodes 2"] {
        Job::new(options).run(&program, [""; 0]).expect(1).says(&[
            "shmem_int_max_reduce: dest (4000 bytes at 0x",
            "is not symmetric memory",
            "not the stack and not malloc",
        ]);
    }
}

#[test]
fn mistakes_of_a_first_hour_are_named_by_the_argument() {
    let program = program("student.c");
    for (i, (name, check, words)) in [
        ("wait", "1", &["shmem_signal_wait_until: sig_addr (8 bytes at 0x", "is not symmetric memory"][..]),
        ("put", "2", &["shmem_int_put: source is NULL"]),
        ("put signal", "2", &["shmem_int_put_signal: source is NULL"]),
        ("fetch", "2", &["shmem_int_atomic_fetch_nbi: fetch is NULL"]),
        ("values", "2", &["shmem_wait_until_all_vector: cmp_values is NULL"]),
        ("indices", "2", &["shmem_test_some: indices is NULL"]),
        ("split", "0", &["shmem_team_split_2d: yaxis_team is NULL"]),
        ("split of Cray", "0", &["shmemx_team_split_strided: newteam is NULL"]),
        ("config", "2", &["shmem_team_split_strided: config is NULL", "SHMEM_TEAM_NUM_CONTEXTS", "or 0 as its mask"]),
        ("config of a grid", "3", &["shmem_team_split_2d: yaxis_config is NULL"]),
        ("got config", "0", &["shmem_team_get_config: config is NULL"]),
        ("set", "1", &["is not in the active set, which has the PEs 0 and 2", "let the members alone make the call"]),
        ("sync", "1", &["shmem_int_max_to_all: pSync is NULL"]),
        ("lock", "1", &["shmem_set_lock: lock is NULL"]),
        ("long", "1", &["dest (1073741824 bytes at 0x", "is not symmetric memory as a whole", "against the size"]),
        ("signal", "1", &["shmem_putmem_signal: sig_addr (8 bytes at 0x", "is not symmetric memory"]),
        ("signalled", "2", &["shmem_int_put_signal: dest (4 bytes at 0x", "is not symmetric memory"]),
        ("atomic", "1", &["shmem_int_atomic_inc: dest (4 bytes at 0x", "is not symmetric memory"]),
        ("get", "2", &["shmem_int_g: source (4 bytes at 0x", "is not symmetric memory"]),
        ("constant", "1", &["shmem_int_g: source (4 bytes at 0x", "it is a constant of the program"]),
        ("color", "0", &["shmemx_team_split: color is -32766", "SHMEM_COLOR_UNDEFINED (-1) on a PE"]),
        ("member", "1", &["shmem_int_put: dest is 0xc, 12 bytes after NULL", "check the result of shmem_malloc"]),
        ("minus", "1", &["shmem_int_put: nelems is 18446744073709551611", "as a signed number it is -5"]),
        ("minus blocks", "2", &["shmem_int_iput: nelems is 18446744073709551611", "as a signed number it is -5"]),
        ("minus operands", "1", &["shmem_int_sum_reduce: nreduce is 18446744073709551615", "as a signed number"]),
        ("null", "1", &["PE 0 of 4: shmem_malloc: no room for"]),
        ("held", "1", &["clear the lock before a call in which others must take part"]),
        (
            "nested",
            "1",
            &["shmem_finalize: the PEs make different calls", "shmem_init_thread equally often on all PEs"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        // The place of the PEs makes no difference to an argument: they are on one node and on two by turns.
        for options in by_turns(&["-n 4", "-n 4 --nodes 2"], i) {
            let job = Job::new(options).env("SHMEM_CHECK", check).env("SHMEM_DEADLOCK", "abort");
            let ended = job.run(&program, [name]);
            assert_ne!(ended.status, Some(0), "{name}: {ended}");
            ended.says(words);
        }
    }
}

/// The static variables of a node are symmetric if all of its PEs share theirs.
#[test]
fn a_static_variable_of_a_node_that_does_not_share_them_is_named_as_one() {
    let ended = Job::new("-n 2").run_where(1, "SHMEM_STATICS=0", &program("student.c"), &["static"]).expect(1);
    ended.says(&[
        "PE 0 of 2: shmem_int_p: dest (4 bytes at 0x",
        "it is a static variable, and another PE of this node does not share its static variables",
        "one value of SHMEM_STATICS on all PEs",
    ]);
}
