//! Counts and strides that leave `size_t`, and arrays that are not there: a sentence, never a signal or a write elsewhere.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, JobEnd, by_turns, program, program_with};

/// A job of the smallest sizes, on one node and on two.
static SHAPES: [&str; 3] = ["-n 1", "-n 2", "-n 2 --nodes 2"];

/// The job has ended with a sentence about the call, and not otherwise.
#[track_caller]
fn names(ended: JobEnd, about: &str, words: &[&str]) {
    let said = ended.status == Some(1) && words.iter().all(|word| ended.stderr.contains(word));
    assert!(said && !ended.crashed() && ended.stdout.is_empty(), "{about}: {ended}");
}

#[test]
fn fault_S1_sizes_that_wrap_are_named_at_every_level() {
    let program = program("wrapping_sizes.c");
    for (i, (call, name)) in [
        ("reduce", "shmem_long_sum_reduce"),
        ("reduce_some", "shmem_long_sum_reduce"),
        ("reduce_nb", "shmemx_sum_reduce_nb"),
        ("scan", "shmem_long_sum_inscan"),
        ("alltoalls", "shmem_long_alltoalls"),
        ("iput", "shmem_long_iput"),
        ("iput_source", "shmem_long_iput"),
        ("iget", "shmem_long_iget"),
        ("ibget", "shmem_long_ibget"),
        ("wait_until_all", "shmem_wait_until_all"),
        ("test_some", "shmem_test_some"),
    ]
    .into_iter()
    .enumerate()
    {
        for (j, check) in ["0", "1", "2", "3"].into_iter().enumerate() {
            // Each call has every level and every shape, and all pairs of these come up.
            for shape in by_turns(&SHAPES, i + j) {
                let ended = Job::new(shape).env("SHMEM_CHECK", check).run(&program, [call]);
                let about = format!("{call}, {shape}, SHMEM_CHECK={check}");
                names(ended, &about, &[&format!("{name}: "), "reaches beyond the address space"]);
            }
        }
    }
}

#[test]
fn fault_S2_collectives_look_at_both_arrays_at_every_level() {
    let program = program("private_arrays.c");
    for (i, (call, name)) in [
        ("reduce", "shmem_long_sum_reduce"),
        ("to_all", "shmem_long_sum_to_all"),
        ("broadcast", "shmem_long_broadcast"),
        ("collect", "shmem_long_collect"),
        ("fcollect", "shmem_long_fcollect"),
        ("alltoall", "shmem_long_alltoall"),
        ("alltoalls", "shmem_long_alltoalls"),
        ("scan", "shmem_long_sum_exscan"),
    ]
    .into_iter()
    .enumerate()
    {
        // One element has a way of its own, four fit a payload, a hundred do not.
        for (arrays, counts) in
            [("malloc", ["1", "4", "100"]), ("dest", ["1", "4", "60"]), ("source", ["1", "4", "60"])]
        {
            for (j, count) in counts.into_iter().enumerate() {
                // All pairs of a shape and a level come up, if not for each count.
                let (shape, check) = (SHAPES[j], ["0", "1", "2"][(j + call.len()) % 3]);
                let ended = Job::new(shape).env("SHMEM_CHECK", check).run(&program, [call, arrays, count]);
                let about = format!("{call} {arrays} {count}, {shape}, SHMEM_CHECK={check}");
                names(ended, &about, &[&format!("{name}: "), "is not symmetric memory"]);
            }
        }
        // Shapes take turns.
        for shape in by_turns(&SHAPES, i) {
            // Static arrays of 256 longs.
            let ended = Job::new(shape).run(&program, [call, "static", "1000000"]);
            let about = format!("{call} static, {shape}");
            names(ended, &about, &[&format!("{name}: "), "is not symmetric memory as a whole"]);
            Job::new(shape).run(&program, [call, "static", "16"]).expect(0);
        }
    }
}

#[test]
fn fault_S2_an_alltoallv_names_its_own_arguments() {
    let program = program("private_arrays.c");
    for (arrays, name) in [("dest", "s_offsets"), ("source", "s_sizes")] {
        for (shape, check) in SHAPES.into_iter().zip(["0", "1", "2"]) {
            let ended = Job::new(shape).env("SHMEM_CHECK", check).run(&program, ["alltoallv", arrays, "1"]);
            let about = format!("alltoallv {arrays}, {shape}, SHMEM_CHECK={check}");
            names(ended, &about, &[&format!("shmemx_team_alltoallv: {name} ("), "is not symmetric memory"]);
        }
    }
}

/// The linker puts large constants between the variables and the large initialised ones.
#[test]
fn variables_in_segments_apart_have_a_remedy() {
    let options = ["-mcmodel=medium", "-mlarge-data-threshold=256", "-DCONSTANTS"];
    let (job, call) = (|| Job::new("-n 2"), ["broadcast", "static", "4"]);
    let names_remedy = ["static variables are not symmetric here", "-mcmodel=large in place of -mcmodel=medium"];
    names(job().run(&program_with("private_arrays.c", &options), call), "constants between", &names_remedy);
    job().run(&program_with("private_arrays.c", &options[..2]), call).expect(0);
}
