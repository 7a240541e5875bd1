//! `oshcc --race`: the kinds of reports, and what a user can make of them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use oxshmem_faults::{FOUND, Job, TestFolder, browser, has_program, prefix, program, program_with, tool};

static LEVELS: LazyLock<PathBuf> = LazyLock::new(|| program_with("race/levels.c", &["--race", "-pthread"]));

#[test]
fn a_thread_that_its_level_does_not_allow_to_call_is_named() {
    for (level, name) in [("0", "SHMEM_THREAD_SINGLE"), ("1", "SHMEM_THREAD_FUNNELED")] {
        let ended = Job::new("-n 2").run(&LEVELS, [level]).expect(0);
        let ended = ended.says(&[name, "shmem_long_p by thread 1 of PE", "at levels.c:"]);
        assert!(!ended.stderr.contains("race"), "{ended}");
    }
    let ended = Job::new("-n 2").run(&LEVELS, ["2", "wrong"]).expect(0);
    ended.says(&["SHMEM_THREAD_SERIALIZED", "nothing orders shmem_long_p by thread", "at levels.c:"]);
    for arguments in [&["2"][..], &["3"], &["3", "wrong"]] {
        let ended = Job::new("-n 2").run(&LEVELS, arguments).expect(0);
        assert!(ended.stderr.is_empty(), "{arguments:?}: {ended}");
    }
}

#[test]
fn a_program_that_defines_init_itself_is_told_that_no_races_are_looked_for() {
    let ended = Job::new("-n 2").run(&program_with("own_init.c", &["--race"]), [""; 0]).expect(0);
    let ended = ended.says(&["races are not looked for in this job", "such as pshmem_init"]);
    assert_eq!(ended.stderr.matches("races are not looked for").count(), 1, "{ended}");
}

#[test]
fn a_handle_that_stands_for_nothing_is_refused_in_the_call_of_the_program() {
    let program = program_with("dead_handles.c", &["--race"]);
    for (call, wrong) in [
        ("shmem_team_destroy", "destroyed"),
        ("shmem_team_sync", "destroyed"),
        ("shmem_long_sum_reduce", "garbage"),
        ("shmem_long_broadcast", "destroyed"),
        ("shmem_ctx_long_p", "destroyed"),
        ("shmem_ctx_long_put_signal", "teamless"),
        ("shmem_ctx_long_atomic_fetch", "garbage"),
    ] {
        let ended = Job::new("-n 2").env("SHMEM_CHECK", "2").run(&program, [call, wrong]).expect(1);
        let ended = ended.says(&[&format!("{call}: ")]);
        let others = ["shmem_team_n_pes", "shmem_team_my_pe", "shmem_ctx_get_team"];
        assert!(!others.iter().any(|other| ended.stderr.contains(other)), "{call}: {ended}");
    }
}

#[test]
fn a_collective_before_init_is_refused_in_the_call_of_the_program() {
    let program = program_with("newcomer.c", &["--race"]);
    for (name, call) in [
        ("early fcollect", "shmem_int_fcollect"),
        ("early broadcast", "shmem_int_broadcast"),
        ("early broadcast32", "shmem_broadcast32"),
    ] {
        let ended = Job::new("-n 1").run(&program, [name]).expect(1);
        let ended = ended.says(&[&format!("{call}: the library is not initialised")]);
        assert_eq!(ended.stderr.matches("the library is not initialised").count(), 1, "{ended}");
    }
}

#[test]
fn what_only_the_standard_forbids_has_a_rank_of_its_own() {
    let ended = Job::new("-n 2").run(&LEVELS, ["letter"]).expect(0);
    let ended =
        ended.says(&["only by the letter: `source` of PE 0", "a store by PE 0", "shmem_long_put_signal_nbi by PE 0"]);
    assert!(!ended.stderr.contains("race"), "{ended}");
    Job::new("-n 2").run(&LEVELS, ["letter", "wrong"]).expect(FOUND).says(&["data race on `source` of PE 0"]);
    let folder = TestFolder::new("race-letter");
    let (json, html) = (folder.join("reports.json"), folder.join("races.html"));
    Job::new("-n 2").env("SHMEM_RACE_JSON", &json).run(&LEVELS, ["letter"]).expect(0);
    let words = [json.as_path(), Path::new("--html"), html.as_path()];
    let told = Job::by(tool("oxshmem")).run(Path::new("races"), words).expect(0);
    let text = "No races were found.\n\n1 report changes no status:\n\nonly by the letter: `source`";
    assert!(told.stdout.starts_with(text), "{told}");
}

#[test]
fn reports_are_written_as_json_left_out_and_counted_as_the_user_asks() {
    let folder = TestFolder::new("race-reports");
    let json = folder.join("reports.json");
    let job = || Job::new("-n 2").env("SHMEM_RACE_STATUS", "7");
    job().env("SHMEM_RACE_JSON", &json).run(&LEVELS, ["letter", "wrong"]).expect(7);
    let text = std::fs::read_to_string(&json).expect("reports");
    let report: serde_json::Value = serde_json::from_str(text.lines().next().expect("one")).expect("a line of JSON");
    assert_eq!((&report["kind"], &report["pe"], &report["pes"]), (&"race".into(), &0.into(), &2.into()));
    assert_eq!(report["accesses"][1]["call"], "a store");
    assert!(report["accesses"][0]["place"].as_str().expect("a place").starts_with("levels.c:"), "{report}");
    let ignore = folder.write("ignore", "# the source of this program\nrace on `source`\n");
    let ended = job().env("SHMEM_RACE_IGNORE", ignore).run(&LEVELS, ["letter", "wrong"]).expect(0);
    assert!(ended.stderr.is_empty(), "{ended}");
    // A full disk takes the lines away, and not the status.
    let words = ["-c", "exec \"$0\" letter wrong 2>/dev/full"].map(OsStr::new).into_iter().chain([LEVELS.as_os_str()]);
    Job::new("-n 2").env("SHMEM_RACE_STATUS", "many").run(Path::new("sh"), words).expect(FOUND);
    // An empty value is none.
    let ended = Job::new("-n 2").env("SHMEM_RACE_STATUS", "").run(&LEVELS, ["letter", "wrong"]).expect(FOUND);
    assert!(!ended.stderr.contains("SHMEM_RACE_STATUS"), "{ended}");
}

#[test]
fn the_status_of_a_race_takes_nothing_from_the_end_of_the_program_and_is_not_that_of_its_children() {
    let program = program_with("race/ends.c", &["--race"]);
    for arguments in [&[][..], &["exit", "0"]] {
        let ended = Job::new("-n 2").run(&program, arguments).expect(FOUND);
        for pe in 0..2 {
            let words = format!("the last words of PE {pe}\n");
            assert_eq!(ended.stdout.matches(&words).count(), 1, "{arguments:?}: {ended}");
        }
        assert!(!ended.stdout.contains("the child of PE"), "{arguments:?}: {ended}");
    }
    for way in ["quick_exit", "_exit", "_Exit"] {
        // The launcher takes this status for a failure, and may stop the other PE before its last words. That of the race has said them.
        let ended = Job::new("-n 2").run(&program, [way, "0"]).expect(FOUND);
        let said = ended.stdout.matches("the last words of PE").count();
        assert!((1..=2).contains(&said) && !ended.stdout.contains("the child of PE"), "{way}: {ended}");
    }
    for way in ["exit", "quick_exit", "_exit", "_Exit"] {
        Job::new("-n 2").run(&program, [way, "3"]).expect(3);
    }
}

#[test]
fn a_call_that_the_library_refuses_accesses_nothing_however_long_its_arrays_are() {
    let program = program_with("race/refused.c", &["--race"]);
    for (call, name) in [
        ("iput", "shmem_long_iput"),
        ("ibget", "shmem_long_ibget"),
        ("put", "shmem_long_put"),
        ("reduce", "shmem_long_sum_reduce"),
        ("reduce_block", "shmem_long_sum_reduce"),
        ("alltoalls", "shmem_long_alltoalls"),
    ] {
        let ended = Job::new("-n 2").run(&program, [call]).expect(1).says(&[name, "is not symmetric memory"]);
        assert!(!ended.stderr.contains("race on"), "{call}: {ended}");
    }
}

#[test]
fn a_copy_that_the_compiler_would_check_is_seen() {
    let checked = ["--race", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"];
    let ended = Job::new("-n 2").run(&program_with("race/copies.c", &checked), [""; 0]).expect(FOUND);
    ended.says(&["data race on `row` of PE 1", "shmem_long_p by PE 0 at copies.c:", "a store by PE 1 at copies.c:"]);
}

#[test]
fn the_remedy_of_a_put_after_a_read_names_both_orders() {
    let program = program_with("race/late_put.c", &["--race"]);
    let folder = TestFolder::new("race-late-put");
    let file = folder.join("file");
    let job = |more: &[&str]| {
        let arguments = [file.to_str().expect("a path of letters")].into_iter().chain(more.iter().copied());
        let ended = Job::new("-n 2").run(&program, arguments).expect(FOUND);
        std::fs::remove_file(&file).expect("the file of the job");
        ended.says(&["data race on `data` of PE 1 (8 bytes)", "to fix:  decide which access comes first"])
    };
    let ended = job(&[]).says(&["needs the new value, complete the put", "needs the old value, let the writer wait"]);
    assert!(!ended.stderr.contains("shmem_atomic_add"), "{ended}");
    let remedy = "if several PEs update one variable, use shmem_atomic_add or, if it is no integer, shmem_sum_reduce";
    job(&["update"]).says(&[remedy]);
}

#[test]
fn a_pe_that_has_reported_a_race_ends_the_job_with_its_status() {
    let program = program_with("race/late_put.c", &["--race"]);
    let folder = TestFolder::new("race-exit");
    for (given, ends) in [("0", FOUND), ("3", 3)] {
        let file = folder.join(given);
        let arguments = [file.to_str().expect("a path of text"), "exit", given];
        Job::new("-n 2").run(&program, arguments).expect(ends).says(&["data race on `data` of PE 1 (8 bytes)"]);
    }
}

/// By the type of the variable: that of a block of the heap is not known.
#[test]
fn elements_of_arrays_have_the_names_of_the_program() {
    let in_c = [
        "`grid` of PE 0 (bytes 24 to 27, grid[1][2])",
        "`cells` of PE 0 (bytes 56 to 63, cells[3])",
        "race on bytes 16 to 23 of the block of 64 bytes of PE 0, allocated at elements.c:",
    ];
    let in_fortran = ["`grid` of PE 0 (bytes 80 to 87, grid(2,3))"];
    for (file, words) in [("elements.c", &in_c[..]), ("elements.f90", &in_fortran[..])] {
        if file.ends_with(".f90") && !has_program("gfortran") {
            continue;
        }
        let program = program_with(&format!("race/{file}"), &["--race"]);
        Job::new("-n 2").run(&program, [""; 0]).expect(FOUND).says(words);
    }
}

#[test]
fn names_that_are_codes_of_types_stay_as_they_are() {
    let ended = Job::new("-n 2").run(&program_with("race/letters.c", &["--race"]), [""; 0]).expect(FOUND);
    ended.says(&[
        "`x` of PE 1",
        "`i` of PE 1",
        "`d` of PE 1 (bytes 8 to 15, d[1])",
        "`n` of PE 1",
        "`Pc` of PE 1",
        "`f` of PE 1",
    ]);
}

#[test]
fn a_page_shows_each_race_once_with_the_lines_of_both_accesses() {
    let folder = TestFolder::new("race-page");
    let (json, html) = (folder.join("reports.json"), folder.join("races.html"));
    let races = |file: &Path| Job::by(tool("oxshmem")).run(Path::new("races"), [file, Path::new("--html"), &html]);
    for _ in 0..2 {
        Job::new("-n 2").env("SHMEM_RACE_JSON", &json).run(&LEVELS, ["letter", "wrong"]).expect(FOUND);
    }
    let ended = races(&json).expect(1);
    assert!(ended.stdout.starts_with("1 race was found:\n\ndata race on `source` of PE 0"), "{ended}");
    let page = std::fs::read_to_string(&html).expect("a page");
    for part in [
        "<td>data race</td>",
        "<b>To fix:</b> call shmem_quiet",
        "<mark>",
        "shmem_long_put_signal_nbi(",
        "a store by PE 0 at levels.c:",
    ] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    if has_program(browser::BROWSER) {
        browser::shows(&html, &["<h1>Data races between PEs</h1>", "<mark>"]);
    }
    folder.write(&json, "no report\n");
    races(&json).expect(2).says(&["has no reports of races", "line 1 is not a report", "SHMEM_RACE_JSON"]);
    races(&folder.join("nosuch")).expect(2).says(&["nosuch has no reports of races", "No such file"]);
}

/// Each PE looks up the calls of others in its own program.
#[test]
fn races_of_several_programs_are_not_looked_for() {
    let [one, other] = ["-O1", "-O2"].map(|how| program_with("calloc.c", &["--race", how]));
    let words = [OsStr::new(":"), OsStr::new("-n"), OsStr::new("1"), other.as_os_str()];
    let ended = Job::new("-n 1").env("SHMEM_STATICS", "0").run(&one, words).expect(0);
    ended.says(&["races are not looked for in this job", "PE 1 runs another program than PE 0"]);
}

/// Nodes of one machine share the detector's memory, though the library's transfers between them take the network.
#[test]
fn races_between_nodes_are_found_as_on_one_node() {
    let program = program_with("races.c", &["--race"]);
    for options in ["-n 2", "-n 2 --nodes 2", "-n 2 --nodes 2 --sim=5"] {
        let case = |way: &str| Job::new(options).run(&program, ["strided_put", way]);
        let words = ["data race on `table` of PE 1 (bytes 32 to 39, table[4])", "shmem_long_iput by PE 0"];
        case("wrong").expect(FOUND).says(&words);
        let ended = case("right").expect(0);
        assert!(ended.stderr.is_empty(), "{options}: {ended}");
    }
}

#[test]
fn archives_and_objects_that_are_not_instrumented_are_named_when_the_program_is_linked() {
    let folder = TestFolder::new("race-archive");
    folder.write("part.c", "long part; long add(long more) { return part += more; }\n");
    let main =
        "#include <shmem.h>\nlong add(long);\nint main(void) { shmem_init(); add(1); shmem_finalize(); return 0; }\n";
    folder.write("main.c", main);
    let run = |command: &mut std::process::Command| {
        let output = command.current_dir(&*folder).output().expect("the tool starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (option, is_named) in [(&[][..], true), (&["--race"], false)] {
        run(tool("oshcc").args(option).args(["-c", "part.c"]));
        run(std::process::Command::new("ar").args(["rcs", "libpart.a", "part.o"]));
        let said = run(tool("oshcc").args(["--race", "main.c", "-L.", "-lpart", "-o", "program"]));
        assert_eq!(said.contains("./libpart.a are not looked for"), is_named, "{said}");
        let said = run(tool("oshcc").args(["--race", "main.c", "part.o", "-o", "program"]));
        assert_eq!(said.contains("races in part.o are not looked for"), is_named, "{said}");
    }
}

/// The detector is a library of its own: what is installed for programs without `--race` has no part of it.
#[test]
fn the_library_and_programs_without_the_option_have_no_part_of_the_detector() {
    let has = |file: &Path, word: &str| {
        let bytes = std::fs::read(file).expect("an installed file");
        bytes.windows(word.len()).any(|part| part == word.as_bytes())
    };
    let installed = |name: &str| prefix().join("lib").join(name);
    for word in ["race_transfer", "race_plain", "data race on"] {
        assert!(has(&installed("liboxshmem-race.so.1"), word), "{word}");
        assert!(!has(&installed("liboxshmem.so.1"), word), "{word}");
    }
    assert!(has(&program_with("race/ends.c", &["--race"]), "liboxshmem-race.so.1"));
    assert!(!has(&program("race/ends.c"), "liboxshmem-race"));
}
