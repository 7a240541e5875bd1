//! The first mistakes of somebody who has just begun: each gets a sentence that helps.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use oxshmem_faults::{Job, TestFolder, program, source};

static NEWCOMER: LazyLock<PathBuf> = LazyLock::new(|| program("newcomer.c"));

#[test]
fn fault_N1_arguments_of_a_set_that_do_not_fit_together_are_named_together() {
    let misfit = "shmem_int_max_to_all: PE_start, logPE_stride and PE_size do not fit together";
    for (mistake, why) in [
        (
            "stride",
            "with PE_start 0, logPE_stride 3 (steps of 8 PEs) and PE_size 4 the last member would be PE 24, and the PEs are 0 to 3",
        ),
        ("start", "with PE_start 1, logPE_stride 0 (steps of 1 PE) and PE_size 4 the last member would be PE 4,"),
    ] {
        Job::new("-n 4").run(&NEWCOMER, [mistake]).expect(1).says(&[misfit, why]);
    }
    let words = ["PE_start is 4", "the values that PE_start may have are 0 to 3"];
    Job::new("-n 4").run(&NEWCOMER, ["no start"]).expect(1).says(&words);
    let words = ["PE_start is 4", "correct the argument; the job has one PE, and `oshrun -n 4 …` starts more"];
    Job::new("-n 1").run(&NEWCOMER, ["no start"]).expect(1).says(&words);
    let words = [
        "shmemx_team_split_strided: PE_start, PE_stride and PE_size do not fit together",
        "with PE_start 0, PE_stride 2 and PE_size 4 the last member would be PE 6, and the PEs are 0 to 3",
    ];
    Job::new("-n 4").run(&NEWCOMER, ["triplet"]).expect(1).says(&words);
}

#[test]
fn fault_N2_collectives_have_the_names_that_the_program_calls_them_by() {
    Job::new("-n 2").run(&NEWCOMER, ["null"]).expect(1).says(&["shmem_long_broadcast: dest is NULL"]);
    let words = ["SHMEM_INT4_MAX_TO_ALL: PE_start, logPE_stride and PE_size do not fit together"];
    let fortran = program("newcomer.f90");
    Job::new("-n 2").run(&fortran, [""; 0]).expect(1).says(&words);
    Job::new("-n 1").run(&fortran, ["colour"]).expect(1).says(&["SHMEMX_TEAM_SPLIT: color is -7"]);
}

#[test]
fn fault_N2_calls_of_fortran_have_its_own_remedies() {
    let program = program("newcomer.f90");
    let job = |mistake: &str| Job::new("-n 1").env("SHMEM_CHECK", "2").run(&program, [mistake]).expect(1);
    let words = [
        "SHMEM_PUT8: dest (32 bytes at 0x",
        "An ALLOCATABLE array is private even with SAVE",
        "memory of SHPALLOC",
        "If an argument is missing",
    ];
    let ended = job("allocatable").says(&words);
    assert!(!ended.stderr.contains("shmem_malloc"), "{ended}");
    let words = ["SHMEM_INT8_WAIT_UNTIL: ivar (8 bytes at ", "is not symmetric memory", "memory of SHPALLOC"];
    job("private wait").says(&words);
    let count = "to fix:  count the arguments of the call";
    let ended = job("null").says(&["SHMEM_INT4_MIN_TO_ALL: pSync is NULL", count]);
    assert!(!ended.stderr.contains("shmem_malloc"), "{ended}");
    let ended = Job::new("-n 2").run(&program, ["crash"]).expect(139).says(&[count]);
    assert!(!ended.stderr.contains("shmem_malloc"), "{ended}");
    let short = Job::new("-n 1").env("SHMEM_CHECK", "3").run(&program, ["short block"]).expect(1);
    short.says(&["SHPDEALLC: ", "behind the block of 16 bytes", "SHPALLOC counts words of 32 bits, two for each"]);
    job("long elements").says(&[
        "SHMEM_PUT64",
        "the variable `",
        "the name of the routine says how long an element is",
    ]);
}

#[test]
fn fault_N3_a_pe_number_before_init_is_noted_once() {
    let ended = Job::new("-n 1").run(&NEWCOMER, ["early"]).expect(0);
    assert!(ended.stdout.contains("PE -1 of -1"), "{ended}");
    assert_eq!(ended.stderr.matches("the library is not initialised, so the result is -1").count(), 1, "{ended}");
    ended.says(&["called from: main at newcomer.c:"]);
    let of_team = Job::new("-n 1").run(&NEWCOMER, ["early team"]).expect(0);
    assert!(of_team.stdout.contains("PE -1 of -1, -1"), "{of_team}");
    let said = "shmem_team_my_pe: the library is not initialised, so the result is -1";
    assert_eq!((of_team.stderr.matches(said).count(), of_team.stderr.matches("is -1").count()), (1, 1), "{of_team}");
}

#[test]
fn fault_N4_a_crash_names_the_check_that_may_find_its_reason() {
    let hint = "SHMEM_CHECK=3 names destroyed teams";
    let ended = Job::new("-n 2").run(&NEWCOMER, ["crash"]).expect(139).says(&["was killed by SIGSEGV", hint]);
    assert_eq!(ended.stderr.matches(hint).count(), 1, "{ended}");
    let default = Job::new("-n 2").env("SHMEM_CHECK", "1").run(&NEWCOMER, ["crash"]);
    default.expect(139).says(&[hint]);
    let checked = Job::new("-n 2").env("SHMEM_CHECK", "3").run(&NEWCOMER, ["crash"]).expect(139);
    assert!(
        !checked.stderr.contains(hint) && checked.stderr.contains("let a debugger show where: oshrun"),
        "{checked}"
    );
}

#[test]
fn fault_N4_a_crash_behind_finalize_speaks_of_threads() {
    for options in ["-n 2", "-n 2 --nodes 2"] {
        let words = ["was in shmem_finalize or behind it", "perhaps a thread still called the library"];
        let ended = Job::new(options).run(&NEWCOMER, ["crash behind"]).expect(139).says(&words);
        assert!(!ended.stderr.contains("shmem_malloc"), "{ended}");
    }
}

#[test]
fn fault_N5_options_behind_the_program_are_noted() {
    let words = ["note: one PE runs, and -n 4 goes to ", "options of oshrun stand before the program, `oshrun -n 4 "];
    Job::new("").run(&NEWCOMER, ["-n", "4"]).expect(0).says(&words);
    let meant = Job::new("-n 1").run(&NEWCOMER, ["-n", "4"]).expect(0);
    assert!(!meant.stderr.contains("note:"), "{meant}");
}

#[test]
fn fault_N6_a_source_file_is_no_program() {
    Job::new("-n 2")
        .run(&source("newcomer.f90"), [""; 0])
        .expect(126)
        .says(&["compile it, `oshfort ", "no execute permission"]);
    Job::new("-n 2").run(&source("newcomer.c"), [""; 0]).expect(126).says(&["compile it, `oshcc "]);
}

#[test]
fn fault_N7_options_of_other_launchers_are_translated() {
    Job::new("-c 2").run(&NEWCOMER, [""; 0]).expect(2).says(&["say the number of PEs with -n N"]);
    Job::new("-n 2 --mca btl tcp")
        .run(&NEWCOMER, [""; 0])
        .expect(2)
        .says(&["--mca is an option of another launcher", "SHMEM_TRANSPORT"]);
}

#[test]
fn fault_N8_a_program_of_another_library_is_named() {
    let folder = TestFolder::new("other-library");
    let build = |arguments: &[&str]| {
        let built = Command::new("cc").current_dir(&*folder).args(arguments).status().expect("a compiler");
        assert!(built.success(), "{arguments:?}");
    };
    folder.write("other.c", "int shmem_my_pe(void) { return 0; }\n");
    folder.write("main.c", "int shmem_my_pe(void);\nint main(void) { return shmem_my_pe(); }\n");
    build(&["-shared", "-fPIC", "-Wl,-soname,liboshmem.so.40", "other.c", "-o", "liboshmem.so.40"]);
    build(&["main.c", "-o", "main", "-L.", "-l:liboshmem.so.40", "-Wl,-rpath,$ORIGIN"]);
    let words = ["main is linked with liboshmem.so.40, another OpenSHMEM library", "oshcc"];
    let ended = Job::new("-n 2").run(&folder.join("main"), [""; 0]).expect(0).says(&words);
    assert_eq!(ended.stderr.matches("liboshmem.so.40").count(), 1, "{ended}");
    let ours = Job::new("-n 1").run(&NEWCOMER, ["early"]).expect(0);
    assert!(!ours.stderr.contains("is linked with"), "{ours}");
}
