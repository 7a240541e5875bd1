//! Stumbles of new users, each with the words that they read now.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_faults::{
    Job, JobEnd, TestFolder, has_fortran_modules, has_program, line_of, prefix, program, program_with, source,
};
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::totals;

/// Runs one of the mistakes.
fn mistake(options: &str, name: &str) -> JobEnd {
    Job::new(options).run(&program("first_hours.c"), [name])
}

/// Runs a tool with these arguments.
fn tool(name: &str, arguments: &[&str]) -> JobEnd {
    Job::of(name).run(Path::new(arguments[0]), &arguments[1..])
}

#[test]
fn hours_1_memory_that_was_not_had_is_named() {
    mistake("-n 1", "no room").expect(139).says(&[
        "no room for 32 TiB",
        "called from: ",
        "compare what shmem_malloc returns with NULL",
    ]);
    let null = mistake("-n 2", "null").expect(1).says(&["is NULL", "compare what shmem_malloc returns with NULL"]);
    assert!(!null.stderr.contains("0x0"), "{null}");
}

#[test]
fn hours_2_a_length_of_minus_one_is_named_as_such() {
    let words = ["shmem_putmem: nelems is 18446744073709551615", "as a signed number it is -1", "it is negative"];
    mistake("-n 1", "negative").expect(1).says(&words);
}

#[test]
fn hours_3_a_backtrace_begins_with_the_program() {
    let job = Job::new("-n 1").env("SHMEM_BACKTRACE", "1");
    let ended = job.run(&program("first_hours.c"), ["null"]).expect(1).says(&["called from: main", "first_hours.c:"]);
    assert!(!ended.stderr.contains("<unknown>"), "{ended}");
}

#[test]
fn hours_3_errors_and_backtraces_name_functions_of_cpp_as_their_source_does() {
    let name = "called from: void heat::send<double>(double*, double, int)";
    for backtrace in ["0", "1"] {
        let job = Job::new("-n 1").env("SHMEM_BACKTRACE", backtrace);
        job.run(&program("templates.cc"), [""; 0]).expect(1).says(&[name]);
    }
}

#[test]
fn hours_4_a_pe_that_holds_a_lock_and_wants_it_again_is_told_so() {
    let job = Job::new("-n 1").env("SHMEM_DEADLOCK", "abort");
    let ended = job.run(&program("first_hours.c"), ["lock twice"]).expect(1);
    ended.says(&["PE 0 waits in shmem_set_lock", "for itself: it holds this lock already"]);
}

#[test]
fn hours_5_mistakes_on_the_command_line_have_a_fix_and_no_tip_that_leads_astray() {
    for (arguments, status, words) in [
        (&["-n", "abc", "true"][..], 2, "abc is no number"),
        (&["-n", "-1", "true"], 2, "a job has 1 to "),
        (&["--check", "3", "true"], 2, "SHMEM_CHECK=3 oshrun"),
        (&["--race", "true"], 2, "compile with oshcc --race"),
        (&["--timeout", "1m", "true"], 2, "1m is no number of seconds"),
        (&["--nosuch", "true"], 2, "unexpected argument '--nosuch'"),
        (
            &["--trace", "-n", "2", "true"],
            2,
            "to fix:  let the value follow the option, as in `oshrun --trace <FILE> ...`",
        ),
        (&["--trace", "./life"], 2, "let the program follow the value: `oshrun --trace=FILE ./life`"),
        (&["-np4", "true"], 2, "to fix:  write -np 4"),
        (&["4", "true"], 127, "to fix:  did you mean -n 4?"),
        (&["--hostfile", "nosuch", "true"], 2, "to fix:  name a file with one host on a line"),
    ] {
        let ended = tool("oshrun", arguments).expect(status).says(&[words]);
        assert!(!ended.stderr.contains("tip: to pass"), "{ended}");
    }
    let asked = tool("oshcc", &["-showme:complie"]).expect(1);
    assert!(asked.says(&["did you mean -showme:compile?"]).stdout.is_empty());
    let help = tool("oxshmem", &["--help"]).expect(0);
    assert!(["oshrun", "oshcc", "oshfort", "osh_info", "cargo oxrun"].iter().all(|name| help.stdout.contains(name)));
    tool("oxshmem", &["doctor", "-H"]).expect(2).says(&["as in `oxshmem doctor --host <HOSTS> ...`"]);
    tool("oxshmem", &["bench", "--from", "a.json", "--only", "put"]).expect(2).says(&["cannot be used with"]);
    tool("oxshmem", &["tune"]).expect(2).says(&["AT LEAST TWO NODES"]);
    let one = tool("oxshmem", &["tune", "--output", "/dev/null", "--", "-n", "1"]).expect(2);
    let one = one.says(&["one PE on each of at least two", "starts 1 PE", "--nodes 2"]);
    assert!(!one.stderr.contains("round 1"), "{one}");
}

#[test]
fn hours_6_a_busy_machine_is_told_of_in_a_measurement() {
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
    let words = ["bench", "-np", "2", "--rounds", "2", "--sizes", "8", "--only", "atomic"];
    let ended = tool("oxshmem", &words);
    // It is ours.
    let _ = busy.kill();
    let _ = busy.wait();
    let ended = ended.expect(0);
    let line = ended.stdout.lines().find_map(|line| line.strip_prefix("processors' time that other programs took: "));
    let share: f64 = line.and_then(|line| line.strip_suffix(" %")?.parse().ok()).unwrap_or_else(|| panic!("{ended}"));
    assert!(share > 0.0 && share <= 100.0, "{ended}");
    assert!(ended.stdout.contains("2 rounds, "), "{ended}");
}

#[test]
fn hours_7_the_doctor_names_other_tools_and_missing_modules() {
    let folder = TestFolder::new("hours-7");
    for name in ["oshcc", "gfortran"] {
        folder.write(name, "#!/bin/sh\n");
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let ended = Job::of("oxshmem").env("PATH", path).run(Path::new("doctor"), [""; 0]);
    let other = folder.join("oshcc").display().to_string();
    let tools = ended.stdout.lines().find(|line| line.contains("tools: a shell finds ")).unwrap_or_default();
    assert!(tools.contains(&other) && ended.stdout.contains(" load: "), "{ended}");
    let compiled = prefix().join("include/shmem.mod").exists();
    assert_eq!(ended.stdout.contains("Fortran: the modules in "), !compiled, "{ended}");
}

#[test]
fn hours_8_a_transfer_past_a_static_array_is_named_with_the_array() {
    let job = |words: &[&str]| Job::new("-n 2").env("SHMEM_CHECK", "2").run(&program("first_hours.c"), words);
    job(&["past static"]).expect(0);
    let ended = job(&["past static", "far"]).expect(1);
    ended.says(&[
        "shmem_long_put: 72 bytes at 0x",
        "the variable `numbers` has 64 bytes and the transfer ends at its byte 72",
    ]);
}

#[test]
fn hours_8_a_transfer_that_begins_behind_a_static_array_is_named_with_the_array() {
    let compiled = program("gaps.c");
    let job = |shape: &str, word: &str| Job::new(shape).env("SHMEM_CHECK", "2").run(&compiled, [word]);
    job("-n 2", "").expect(0);
    job("-n 2", "behind").expect(1).says(&[
        "shmem_int_p: 4 bytes at 0x",
        "are not inside one variable",
        "the transfer begins in no variable: `few` (40 bytes) ends there",
    ]);
    job("-n 2", "collect").expect(0);
    for shape in ["-n 4", "-n 4 --nodes 2"] {
        job(shape, "collect").expect(1).says(&[
            "shmem_int_collect: 96 bytes at 0x",
            "the variable `even` has 64 bytes and the transfer ends at its byte 96",
        ]);
    }
    // Without the names of static variables nobody knows where one begins.
    let stripped = program_with("gaps.c", &["-Wl,-x"]);
    Job::new("-n 2").env("SHMEM_CHECK", "2").run(&stripped, ["behind"]).expect(0);
}

#[test]
fn hours_9_an_error_names_the_function_and_the_line() {
    let compiled = program("named_lines.c");
    let job = |word: &str| Job::new("-n 2").env("SHMEM_CHECK", "2").run(&compiled, [word]);
    job("").expect(0);
    for word in [
        "early",
        "no PE",
        "private",
        "past",
        "misaligned",
        "sizes",
        "team",
        "cmp",
        "unlocked",
        "root",
        "roots",
        "alignment",
        "freed",
        "late",
    ] {
        let line = line_of("named_lines.c", &format!("/* {word} */"));
        let ended = job(word).expect(1).says(&[&format!("\n  called from: main at named_lines.c:{line}\n")]);
        assert!(!ended.stderr.contains("<unknown>"), "{ended}");
    }
    job("sizes").expect(1).says(&["one is of ", "8 B", "800 B", "they must be the same, in the same order"]);
}

#[test]
fn hours_10_without_debug_information_an_error_names_the_function() {
    let compiled = program_with("named_lines.c", &["-g0"]);
    let ended = Job::new("-n 1").run(&compiled, ["no PE"]).expect(1);
    let words = ["; the job has one PE, and `oshrun -n 4 …` starts more\n", "\n  called from: main\n"];
    assert!(ended.says(&words).stderr.lines().count() <= 5);
}

#[test]
fn hours_11_an_error_in_fortran_names_the_line_of_the_program() {
    if !has_fortran_modules() {
        return;
    }
    let compiled = program("named_lines.f90");
    for (word, told) in [
        ("no PE", "PE 7 does not exist"),
        ("allocatable", "an ALLOCATABLE array is private even with SAVE. If the elements of a section"),
        ("unlocked", "shmem_clear_lock"),
        ("past", "shmem_int64_put"),
        ("sizes", "shmem_malloc"),
        ("apart", "shmem_put: the elements of dest lie apart"),
        ("apart source", "parentheses around it"),
        ("root", "shmem_int64_broadcast"),
        ("number", "shmem_put: nobody knows how many elements source has"),
        ("exchange", "shmem_alltoall: nobody knows how many elements source has"),
    ] {
        let line = line_of("named_lines.f90", &format!("! {word}"));
        let ended = Job::new("-n 2").run(&compiled, [word]).expect(1).says(&[told, "\n  called from: "]);
        assert!(ended.stderr.contains(&format!(" at named_lines.f90:{line}\n")), "{word}: {ended}");
    }
    // A shorter section may be the beginning of what the call accesses: only checks at this level compare.
    let short = |level| Job::new("-n 2").env("SHMEM_CHECK", level).run(&compiled, ["short"]);
    let told = "shmem_put: dest has 3 of the 6 elements that the call moves";
    let line = line_of("named_lines.f90", "! short");
    short("2").expect(1).says(&[told, "or nelems=3", &format!(" at named_lines.f90:{line}\n")]);
    short("1").expect(0);
    // The strings of the source are twice as long.
    let strings = Job::new("-n 2").env("SHMEM_CHECK", "2").run(&compiled, ["strings"]);
    let told = "shmem_put: dest has 1 of the 2 elements that the call moves";
    let line = line_of("named_lines.f90", "! strings");
    strings.expect(1).says(&[told, "or nelems=1", &format!(" at named_lines.f90:{line}\n")]);
    // Three elements are no equal parts for two PEs.
    let parts = |level| Job::new("-n 2").env("SHMEM_CHECK", level).run(&compiled, ["parts"]);
    let told = "shmem_alltoall: source has 3 elements, and 1 of them are sent to nobody";
    let line = line_of("named_lines.f90", "! parts");
    parts("2").expect(1).says(&[told, "or nelems=1", &format!(" at named_lines.f90:{line}\n")]);
    parts("1").expect(0);
}

#[test]
fn fault_T7_fortran_modules_that_nobody_has_compiled_are_named_and_made() {
    let folder = TestFolder::new("T7");
    // A copy of the installation, as it was before there was a compiler.
    let copied = Command::new("cp").arg("-r").arg(prefix().join(".")).arg(&*folder).status().expect("cp starts");
    assert!(copied.success());
    for name in ["include/shmem.mod", "include/shmemx.mod", "include/shmem_f08.mod", "lib/liboxshmem_f08.a"] {
        // An installation without gfortran has none.
        let _ = fs::remove_file(folder.join(name));
    }
    let oshfort = |words: &[&str]| {
        let mut command = Command::new(folder.join("bin/oshfort"));
        let program = source("fortran_module.f90");
        command.args(words).arg("-o").arg(folder.join("program")).arg(program).current_dir(&*folder);
        command.output().expect("the wrapper starts")
    };
    let said = String::from_utf8_lossy(&oshfort(&[]).stderr).into_owned();
    assert!(said.contains("note: the Fortran modules in ") && said.contains("oshfort --make-modules"), "{said}");
    if has_program("gfortran") {
        let made = Command::new(folder.join("bin/oshfort")).arg("--make-modules").output().expect("the wrapper starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        assert!(!folder.join("lib/shmem_f08.o").exists() && folder.join("lib/liboxshmem_f08.a").exists());
        let compiled = oshfort(&[]);
        let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
        assert!(compiled.status.success() && !said.contains("note:"), "{said}");
        // The linker refuses an object that would have to be changed where it is loaded.
        let mut link = Command::new("gfortran");
        link.args(["-shared", "-o", "module.so", "-Wl,-z,text", "-Wl,--whole-archive", "lib/liboxshmem_f08.a"]);
        link.args(["-Wl,--no-whole-archive", "-Llib", "-loxshmem"]).current_dir(&*folder);
        let linked = link.output().expect("gfortran starts");
        assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    }
}

#[test]
fn fault_T8_the_bytes_of_calloc_are_the_product() {
    let folder = TestFolder::new("T8");
    mistake(&format!("-n 2 --profile={}", folder.display()), "calloc").expect(0);
    let job = RecordedJob::read(&folder).expect("records can be read").expect("there are records");
    let totals = totals::add_up(&job);
    let calls = totals.routines.iter().find(|((name, _), _)| name == "shmem_calloc").map(|(_, total)| total);
    assert_eq!(calls.map(|total| (total.calls, total.bytes)), Some((2, 2 * 800)));
}
