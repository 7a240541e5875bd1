//! `oshrun --profile` and `--trace`: counts, cells, timelines and what a killed job leaves.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use oxshmem_faults::{
    Job, JobEnd, TestFolder, browser, has_fortran_modules, has_program, line_of, program, program_with, tool,
};
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::ledger::{CallLedger, PeerTraffic};
use oxshmem_profile::totals::{self, Totals};
use serde_json::Value;

/// Runs a program with a profile, and returns the figures.
fn profile(options: &str, program: &Path, folder: &Path) -> (JobEnd, Totals) {
    let job = Job::new(&format!("{options} --profile={}", folder.display()));
    let ended = job.run(program, [""; 0]).expect(0);
    (ended, figures(folder))
}

fn records(folder: &Path) -> RecordedJob {
    RecordedJob::read(folder).expect("records can be read").expect("there are records")
}

fn figures(folder: &Path) -> Totals {
    totals::add_up(&records(folder))
}

/// A file of a folder as text.
#[track_caller]
fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&text(folder, name)).expect("the timeline is JSON")
}

/// The calls and bytes of a routine.
fn counts(totals: &Totals, routine: &str) -> (u64, u64) {
    let found = totals.routines.iter().filter(|((name, _), _)| name == routine);
    found.fold((0, 0), |sum, (_, total)| (sum.0 + total.calls, sum.1 + total.bytes))
}

#[test]
fn profile_1_calls_bytes_and_pairs_are_exact_on_a_node_and_between_nodes() {
    let (program, folder) = (program("recorded.c"), TestFolder::new("profile-1"));
    for options in ["-n 4", "-n 4 --nodes 2", "-H n1,n2 -N 2"] {
        let (ended, totals) = profile(options, &program, &folder);
        for (routine, calls, bytes) in [
            ("shmem_long_p", 41, 328),
            ("shmem_putmem", 12, 12_000),
            ("shmem_getmem", 8, 4_000),
            ("shmem_long_atomic_inc", 20, 160),
            ("shmem_barrier_all", 16, 0),
            ("shmem_double_sum_reduce", 4, 4 * 48),
            ("shmem_ctx_putmem", 4, 400),
            ("shmem_long_wait_until", 1, 0),
            ("shmem_init", 4, 0),
            ("shmem_finalize", 4, 0),
            ("shmem_my_pe", 4, 0),
        ] {
            assert_eq!(counts(&totals, routine), (calls, bytes), "{options}: {routine}: {ended}");
        }
        let cell = |from, to| totals.pairs.get(&(from, to)).copied().unwrap_or_default();
        let told = |ways: [PeerTraffic; 3]| ways.map(|way| (way.calls, way.bytes));
        // The team of the even PEs is 0 and 2: its context counts PEs anew.
        assert_eq!(told(cell(2, 3)), [(13, 3080), (0, 0), (0, 0)], "{options}");
        assert_eq!(told(cell(2, 1)), [(0, 0), (2, 1000), (0, 0)], "{options}");
        assert_eq!(told(cell(2, 0)), [(1, 100), (0, 0), (5, 40)], "{options}");
        assert_eq!(told(cell(0, 1)), [(14, 3088), (0, 0), (0, 0)], "{options}");
        assert_eq!(told(cell(1, 0)), [(0, 0), (2, 1000), (5, 40)], "{options}");
        assert!(totals.blame.pairs[&(1, 0)] > 0.0, "{options}: {:?}", totals.blame.pairs);
        let sizes: Vec<u32> = totals.teams.keys().map(|team| team.size).collect();
        assert_eq!(sizes, [4, 2, 2], "{options}: {:?}", totals.teams);
        ended.says(&["profile of 4 PEs", "who waited for whom", "report: "]);
        let page = text(&folder, "profile.html");
        for part in ["shmem_putmem", "recorded.c:20", "PE 1 to PE 0", "team of PEs 1 to 3 by 2"] {
            assert!(page.contains(part), "{options}: {part} is missing in {page}");
        }
        assert_eq!(records(&folder).nodes().len(), if options == "-n 4" { 1 } else { 2 });
    }
    let again = Job::of("oxshmem").run(Path::new("profile"), [&*folder]).expect(0);
    assert!(again.stdout.contains("profile of 4 PEs on 2 nodes"), "{again}");
}

#[test]
fn profile_2_programs_in_other_languages_are_recorded_as_they_are() {
    let folder = TestFolder::new("profile-2");
    for options in [&["-O0"][..], &[]] {
        let (_, cpp) = profile("-n 2", &program_with("recorded.cc", options), &folder);
        assert_eq!(counts(&cpp, "shmem_long_put"), (14, 14 * 32));
        assert_eq!(counts(&cpp, "shmem_long_atomic_add"), (2, 16));
        let page = text(&folder, "profile.html");
        let lines = ["recorded.cc:11", "recorded.cc:15"];
        assert!(lines.iter().all(|line| page.contains(line)), "the lines of the program: {page}");
        assert!(!page.contains("shmem.h:") && !page.contains("shmemx.h:"), "lines of the headers: {page}");
    }
    if !has_program("gfortran") {
        return;
    }
    let (_, fortran) = profile("-n 3", &program("recorded.f90"), &folder);
    assert_eq!(counts(&fortran, "SHMEM_PUT8"), (18, 18 * 32));
    assert_eq!(counts(&fortran, "SHMEM_GET8"), (3, 72));
    assert_eq!(counts(&fortran, "SHMEMX_TEAM_SPLIT"), (9, 0), "of every predefined team");
    assert_eq!(fortran.pairs[&(2, 0)][0].bytes, 6 * 32);
    if has_fortran_modules() {
        let (_, module) = profile("-n 2", &program("module_places.f90"), &folder);
        assert_eq!(counts(&module, "shmem_double_max_reduce"), (2, 16));
        let page = text(&folder, "profile.html");
        for comment in ["! allocated", "! reduced", "! synchronised"] {
            let line = line_of("module_places.f90", comment);
            assert!(page.contains(&format!("module_places.f90:{line}")), "{comment} is missing in {page}");
        }
        assert!(!page.contains("shmem_f08_MOD"), "{page}");
    }
}

/// The calls of a timeline by track: name, begin, end.
fn tracks(trace: &Value) -> BTreeMap<u64, Vec<(String, f64, f64)>> {
    let mut tracks: BTreeMap<u64, Vec<(String, f64, f64)>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().expect("a list of events").iter().filter(|event| event["ph"] == "X") {
        let number = |field: &str| event[field].as_f64().expect("a number");
        let call = (event["name"].as_str().expect("a name").to_owned(), number("ts"), number("ts") + number("dur"));
        tracks.entry(event["tid"].as_u64().expect("a track")).or_default().push(call);
    }
    tracks
}

#[test]
fn profile_3_a_timeline_is_json_and_calls_of_a_track_follow_each_other() {
    let (program, folder) = (program("recorded.c"), TestFolder::new("profile-3"));
    let file = folder.join("trace.json");
    let read = || json(&folder, "trace.json");
    for options in ["-n 4", "-n 4 --nodes 2"] {
        let job = Job::new(&format!("{options} --trace={}", file.display()));
        let ended = job.run(&program, [""; 0]).expect(0);
        let trace = read();
        let tracks = tracks(&trace);
        assert_eq!(tracks.keys().copied().collect::<Vec<_>>(), [0, 1000, 2000, 3000], "{ended}");
        for (track, calls) in &tracks {
            assert!(calls.windows(2).all(|pair| pair[0].2 <= pair[1].1 + 1e-3), "{track}: {calls:?}");
            let names: Vec<&str> = calls.iter().map(|call| call.0.as_str()).collect();
            assert_eq!((names[0], *names.last().unwrap()), ("shmem_init", "shmem_finalize"), "{options}");
            assert_eq!(names.iter().filter(|name| **name == "shmem_long_p").count(), 10 + usize::from(*track == 0));
        }
        assert_eq!(trace["otherData"]["dropped"], 0);
        assert!(!file.with_extension("json.records").exists(), "records of a timeline are removed");
    }
    let words = format!("-n 2 --trace={} --trace-events=16", file.display());
    Job::new(&words).run(&program, [""; 0]).expect(0).says(&["are dropped"]);
    assert!(read()["otherData"]["dropped"].as_u64().is_some_and(|dropped| dropped > 16));
    assert!(tracks(&read()).values().all(|calls| calls.len() == 16));
    let told = Job::of("oxshmem").run(Path::new("trace"), [&file]).expect(0);
    assert!(told.stdout.contains("32 calls over") && told.stdout.contains("longest calls"), "{told}");
}

#[test]
fn profile_4_a_killed_job_leaves_what_was_recorded() {
    let (program, folder) = (program("recorded.c"), TestFolder::new("profile-4"));
    let job = Job::new(&format!("-n 2 --profile={}", folder.display()));
    let ended = job.run(&program, ["die"]).expect(137).says(&["did not finalize"]);
    let totals = figures(&folder);
    let of_one: BTreeMap<&str, u64> = records(&folder)
        .ledgers
        .iter()
        .filter(|ledger| ledger.pe == 1)
        .flat_map(|ledger| ledger.sites.values().cloned().collect::<Vec<_>>())
        .map(|site| (if site.routine == "shmem_long_p" { "p" } else { "other" }, site.calls))
        .collect();
    assert_eq!(of_one["p"], 10, "{ended}");
    assert_eq!(totals.pairs[&(1, 0)][0].bytes, 10 * 8 + 3 * 1000, "{ended}");
    let page = text(&folder, "profile.html");
    assert!(page.contains("did not finalize") && page.trim_end().ends_with("</html>"));
}

#[test]
fn profile_8_the_call_in_which_a_pe_was_ended_is_named() {
    let folder = TestFolder::new("profile-8");
    let job = Job::new(&format!("-n 2 --profile={}", folder.display()));
    let ended = job.run(&program("ended_in_call.c"), [""; 0]).expect(137);
    ended.says(&["verdict: PE 0 was ended in shmem_long_wait_until (ended_in_call.c:13): the time of a call"]);
}

#[test]
fn profile_5_a_program_without_the_shared_library_is_told_of() {
    let folder = TestFolder::new("profile-5");
    let job = Job::new(&format!("-n 2 --profile={}", folder.display()));
    job.run(Path::new("/bin/true"), [""; 0]).expect(0).says(&["has no record of a PE", "Rust API"]);
}

#[test]
fn trace_3_a_browser_shows_the_summary_of_a_timeline() {
    let folder = TestFolder::new("trace-3");
    let [timeline, page] = ["trace.json", "trace.html"].map(|name| folder.join(name));
    Job::new(&format!("-n 4 --trace={}", timeline.display())).run(&program("recorded.c"), [""; 0]).expect(0);
    let summary =
        tool("oxshmem").arg("trace").arg(&timeline).arg("--html").arg(&page).output().expect("oxshmem starts");
    let said = String::from_utf8_lossy(&summary.stdout);
    assert!(said.starts_with("timeline of 4 PEs: ") && said.contains("longest calls"), "{said}");
    let shown = text(&folder, "trace.html");
    assert!(shown.contains("recorded.c:") && !shown.contains("http"), "{shown}");
    // Each barrier says who came last, and an arrow leads from PE 0's p to the wait of PE 1.
    let trace = json(&folder, "trace.json");
    let events = trace["traceEvents"].as_array().unwrap();
    let barriers: Vec<&Value> = events.iter().filter(|event| event["name"] == "shmem_barrier_all").collect();
    assert_eq!(barriers.len(), 16);
    for barrier in barriers {
        let (last, waited) = (barrier["args"]["last"].as_u64(), barrier["args"]["waited"].as_f64());
        assert_eq!(waited == Some(0.0), last.map(|pe| pe * 1000) == barrier["tid"].as_u64(), "{barrier}");
    }
    let ends = ["s", "f"].map(|end| events.iter().find(|event| event["ph"] == end).map(|event| event["tid"].as_u64()));
    assert_eq!(ends, [Some(Some(0)), Some(Some(1000))]);
    if has_program(browser::BROWSER) {
        let drawn = ["4 rows, ", ", 1 arrows", "data-arrows=\"1\"", "<li><span"];
        browser::shows(&page, &[&drawn[..], &["data-curve=\"shmem_init\"", "<td>shmem_barrier_all</td>"]].concat());
    }
}

#[test]
fn trace_5_a_timeline_of_thousands_of_pes_is_no_higher_than_browsers_draw() {
    if !has_program(browser::BROWSER) {
        return;
    }
    let folder = TestFolder::new("trace-5");
    let page = folder.join("trace.html");
    let (name, cat) = ("shmem_barrier_all", "collective");
    let call =
        |pe: u32| serde_json::json!({"ph": "X", "tid": 1000 * pe, "ts": pe, "dur": 4096, "name": name, "cat": cat});
    let calls: Vec<Value> = (0..4096).map(call).collect();
    let data = serde_json::json!({"pes": 4096, "events": 4096, "dropped": 0});
    let timeline = folder.write("trace.json", serde_json::json!({"traceEvents": calls, "otherData": data}).to_string());
    Job::of("oxshmem").run(Path::new("trace"), [&timeline, Path::new("--html"), &page]).expect(0);
    browser::shows(&page, &["4096 rows, 4096 calls", " height=\"28700\""]);
}

#[test]
fn trace_4_an_archive_of_the_open_trace_format_is_read_by_the_format_s_own_tool() {
    if !has_program("otf2-print") {
        return;
    }
    let (program, folder) = (program("recorded.c"), TestFolder::new("trace-4"));
    let (file, archive) = (folder.join("trace.json"), folder.join("archive"));
    Job::new(&format!("-n 4 --trace={}", file.display())).run(&program, [""; 0]).expect(0);
    Job::of("oxshmem").run(Path::new("trace"), [&file, Path::new("--otf2"), &archive]).expect(0);
    let read = |options: &[&str]| {
        let mut tool = Command::new("otf2-print");
        let output = tool.args(options).arg(archive.join("traces.otf2")).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    };
    let events = read(&[]);
    let count = |kind: &str| events.lines().filter(|line| line.split_whitespace().next() == Some(kind)).count();
    let calls: usize = tracks(&json(&folder, "trace.json")).values().map(Vec::len).sum();
    assert_eq!((count("ENTER"), count("LEAVE")), (calls, calls), "{events}");
    // Those of `shmem_long_p`, `shmem_putmem` and `shmem_ctx_putmem`; `shmem_getmem`; `shmem_long_atomic_inc`.
    assert_eq!((count("RMA_PUT"), count("RMA_GET"), count("RMA_ATOMIC")), (41 + 12 + 4, 8, 20), "{events}");
    assert!(events.lines().any(|line| line.contains("RMA_PUT") && line.contains("Bytes: 1000")), "{events}");
    let definitions = read(&["-G"]);
    for part in ["Name: \"shmem_putmem\"", "Role: RMA, Paradigm: SHMEM", "File: \"recorded.c\"", "Begin: 20, End: 20"] {
        assert!(definitions.contains(part), "{part}: {definitions}");
    }
}

#[test]
fn profile_7_a_verdict_in_words_comes_first() {
    let folder = TestFolder::new("profile-7");
    let (ended, _) = profile("-n 4", &program("late.c"), &folder);
    let mut lines = ended.stderr.lines().skip_while(|line| !line.starts_with("profile of "));
    let verdict = lines.nth(1).unwrap_or_default();
    assert!(
        verdict.starts_with("verdict: PE 2 came last in ") && verdict.contains(" and kept others waiting "),
        "{ended}"
    );
    assert!(verdict.ends_with("; it was between two calls at late.c:17"), "{ended}");
    assert!(ended.stderr.contains("the work is not evenly divided: PE 2 is outside of the library for "), "{ended}");
    let page = text(&folder, "profile.html");
    assert!(page.contains("<h2>Verdict</h2>\n<p>PE 2 came last in "), "{page}");
    // The same in files that other programs read.
    let tables = folder.join("tables");
    let written = Job::of("oxshmem").run(Path::new("profile"), [&*folder, Path::new("--csv"), &tables]).expect(0);
    println!("{written}");
    let table = |name: &str| text(&tables, name);
    let routines = table("routines.csv");
    assert!(routines.starts_with("routine,kind,calls,bytes,time,waiting,longest,imbalance\n"), "{routines}");
    assert!(routines.contains("\nshmem_barrier_all,collective,52,0,"), "{routines}");
    assert!(table("places.csv").contains("\nlate.c:17,shmem_barrier_all,48,0,"));
    let waits = table("waits.csv");
    let longest = waits.lines().skip(1).max_by_key(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(longest.and_then(|line| line.split(',').nth(1)), Some("2"), "{waits}");
    assert!(table("pes.csv").starts_with("pe,span,waited,other,"), "{}", table("pes.csv"));
    assert_eq!(table("pes.csv").lines().count(), 5);
    assert!(table("teams.csv").contains("\n0,1,4,"), "{}", table("teams.csv"));
    // The header, and the updates of three PEs.
    assert_eq!(table("pairs.csv").lines().count(), 4);
}

#[test]
fn profile_7_a_job_that_cannot_start_leaves_the_records_of_the_one_before() {
    let folder = TestFolder::new("profile-7-again");
    profile("-n 2", &program("recorded.c"), &folder);
    let words = format!("-n 2 --profile={}", folder.display());
    Job::new(&words).run(Path::new("/no/such/program"), [""; 0]).expect(127);
    assert!(RecordedJob::read(&folder).expect("records can be read").is_some());
    assert!(folder.join("profile.html").is_file());
    // One that is cut off is named, and is no profile.
    let record = folder.join("pe.1.0.ledger");
    let bytes = std::fs::read(&record).expect("it is there");
    folder.write(&record, &bytes[..300]);
    let refused = Job::of("oxshmem").run(Path::new("profile"), [&*folder]).expect(2);
    assert!(refused.stderr.contains("pe.1.0.ledger is cut off"), "{refused}");
}

#[test]
fn profile_9_a_thread_that_comes_behind_the_end_has_no_record() {
    let (program, folder) = (program_with("after_the_end.c", &["-pthread"]), TestFolder::new("profile-9"));
    let (ended, totals) = profile("-n 2", &program, &folder);
    assert!(!ended.stderr.contains("is not recorded") && !ended.stderr.contains("shmem_my_pe"), "{ended}");
    assert_eq!(counts(&totals, "shmem_finalize"), (2, 0));
    let names = std::fs::read_dir(&*folder).expect("our folder").map(|entry| entry.expect("an entry").file_name());
    let records: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("pe.")).collect();
    assert_eq!(records.len(), 2, "{records:?}");
}

#[test]
fn profile_10_a_record_has_room_for_meetings_of_which_every_second_is_recorded() {
    let (program, folder) = (program("every_second.c"), TestFolder::new("profile-10"));
    let (ended, totals) = profile("-n 2", &program, &folder);
    assert_eq!(counts(&totals, "shmem_barrier_all"), (40_000, 0), "{ended}");
    // Behind the table of meetings is that of pairs, and no PE has put or got anything.
    assert!(totals.pairs.is_empty(), "{:?}", totals.pairs);
    // Waits are timed each, though these are short: a long one would stand for up to 64 of them otherwise.
    let job = records(&folder);
    let sites = job.ledgers.iter().flat_map(|ledger| ledger.sites.values());
    let waits = sites.filter(|site| site.routine == "shmem_long_wait_until");
    assert_eq!(waits.map(|site| (site.calls, site.timed)).collect::<Vec<_>>(), [(1000, 1000); 2]);
    // The first meeting is that of `start_pes`: calls that do nothing are none, and the number of the last one is the same on both PEs.
    let last = |ledger: &CallLedger| ledger.meetings.last().map(|meeting| meeting.number);
    assert_eq!(job.ledgers.iter().map(last).collect::<Vec<_>>(), [Some(40_000); 2]);
    // A failed init records nothing and asks for no number, and the exit ends the life that `start_pes` has begun.
    assert!(!ended.stderr.contains("not initialised") && !ended.stderr.contains("did not finalize"), "{ended}");
}

#[test]
fn profile_11_a_program_that_defines_init_itself_is_recorded_without_that_call() {
    let folder = TestFolder::new("profile-11");
    let (ended, totals) = profile("-n 2", &program("own_init.c"), &folder);
    for (routine, calls) in [("shmem_init", 0), ("shmem_long_p", 2), ("shmem_barrier_all", 2), ("shmem_finalize", 2)] {
        assert_eq!(counts(&totals, routine).0, calls, "{routine}: {ended}");
    }
    assert_eq!(totals.pairs[&(1, 0)][0].bytes, 8, "{ended}");
    assert_eq!(totals.teams.keys().map(|team| team.size).collect::<Vec<_>>(), [2], "{ended}");
    assert!(!ended.stderr.contains("no record") && !ended.stderr.contains("did not finalize"), "{ended}");
}

#[test]
fn profile_12_the_most_of_a_heap_is_that_of_all_lives_of_the_library() {
    let folder = TestFolder::new("profile-12");
    let (ended, totals) = profile("-n 2", &program("two_lives.c"), &folder);
    assert_eq!((counts(&totals, "shmem_init").0, counts(&totals, "shmem_malloc").0), (4, 4), "{ended}");
    assert!(totals.heap().is_some_and(|(_, bytes)| bytes >= 1 << 20), "{:?}: {ended}", totals.heap());
}

#[test]
fn profile_13_exchanges_of_blocks_of_different_sizes_count_what_each_pe_brings() {
    let folder = TestFolder::new("profile-13");
    let (ended, totals) = profile("-n 3", &program("exchanges.c"), &folder);
    for routine in ["shmemx_alltoallv", "shmemx_team_alltoallv", "shmemx_team_alltoallv_packed"] {
        assert_eq!(counts(&totals, routine), (3, 3 * 48), "{routine}: {ended}");
    }
}

#[test]
fn profile_6_a_browser_shows_cells_and_curves_without_an_error() {
    if !has_program(browser::BROWSER) {
        return;
    }
    let folder = TestFolder::new("profile-6");
    profile("-n 4", &program("recorded.c"), &folder);
    let parts = [
        "data-row=\"2\" data-column=\"3\" data-value=\"3080\"",
        "data-row=\"2\" data-column=\"0\" data-value=\"140\"",
        "data-curve=\"puts\"",
        "data-curve=\"collectives and other calls\"",
        "recorded.c:",
    ];
    browser::shows(&folder.join("profile.html"), &parts);
}

#[test]
fn a_recorded_program_with_the_race_detector_says_that_no_races_are_looked_for() {
    let folder = TestFolder::new("profile-race");
    let (ended, totals) = profile("-n 2", &program_with("calloc.c", &["--race"]), &folder);
    let ended = ended.says(&["races are not looked for in this job", "to fix:  run it without --profile"]);
    assert_eq!(ended.stderr.matches("races are not looked for").count(), 1, "{ended}");
    assert_eq!(counts(&totals, "shmem_calloc").0, 2);
}
