//! `oxshmem bench`: figures, checks, other libraries and the report.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::path::{Path, PathBuf};

use oxshmem_faults::{Job, JobEnd, TestFolder, browser, has_program, not_run, prefix, tool};
use serde_json::Value;

/// Runs the tool with these words and this file for JSON, and returns what it wrote there.
fn bench(words: &str, json: &Path) -> (JobEnd, Value) {
    let words = words.split_whitespace().map(String::from);
    let ended = Job::of("oxshmem").run(Path::new("bench"), words.chain(["--json".into(), json.display().to_string()]));
    let ended = ended.expect(0);
    let text = std::fs::read_to_string(json).expect("the results are written");
    (ended, serde_json::from_str(&text).expect("the results are JSON"))
}

/// The figures of a run: library, pattern and form.
fn names(run: &Value) -> Vec<(String, String, String)> {
    let text = |figure: &Value, field: &str| figure[field].as_str().unwrap_or_default().to_owned();
    let figures = run["figures"].as_array().expect("a list of figures");
    assert!(figures.iter().all(|figure| figure["value"].as_f64().is_some_and(|value| value > 0.0)), "{run}");
    figures.iter().map(|figure| (text(figure, "contender"), text(figure, "pattern"), text(figure, "form"))).collect()
}

/// Patterns that every job of at least two PEs measures.
const EVERYWHERE: &[&str] = &[
    "p",
    "g",
    "put",
    "get",
    "put and flag",
    "put with signal",
    "put bandwidth",
    "get bandwidth",
    "overlap",
    "atomic",
    "contended atomic",
    "barrier",
    "sync",
    "broadcast",
    "collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "sum of doubles",
    "maximum of longs",
    "inclusive scan",
    "exclusive scan",
    "team",
    "memcpy",
    "start-up",
    "memory per PE",
];

#[test]
fn bench_1_every_pattern_has_a_figure_on_a_node_and_between_nodes() {
    let folder = TestFolder::new("bench-1");
    for (place, limit) in [("-n 3", "loads and stores"), ("-n 4 --nodes 2", "bare TCP")] {
        let (csv, html) = (folder.join("figures.csv"), folder.join("report.html"));
        let words =
            format!("{place} --quick --rounds 1 --sizes 8,4096 --csv {} --html {}", csv.display(), html.display());
        let (ended, run) = bench(&words, &folder.join("run.json"));
        let names = names(&run);
        for pattern in EVERYWHERE.iter().chain([&limit]) {
            assert!(names.iter().any(|(_, known, _)| known == pattern), "{place}: {pattern} is missing: {ended}");
        }
        for form in ["set", "team"] {
            assert!(names.iter().any(|(_, pattern, known)| pattern == "broadcast" && known == form), "{place}: {form}");
        }
        assert_eq!(names.iter().any(|(_, _, form)| form == "all pairs"), place.contains('4'), "{place}");
        let rows = std::fs::read_to_string(&csv).expect("the rows are written");
        assert_eq!(rows.lines().count(), names.len() + 1, "{rows}");
        let page = std::fs::read_to_string(&html).expect("the report is written");
        assert!(page.contains("data-curve=\"put and quiet\"") && page.trim_end().ends_with("</html>"), "{place}");
    }
}

/// A put that spoils its last byte, in front of the library's.
const LIAR: &str = "#include <shmem.h>\n#include <string.h>\n\
    void lying_putmem(void *dest, const void *source, size_t bytes, int pe) {\n\
        static char copy[1 << 16];\n\
        memcpy(copy, source, bytes);\n\
        copy[bytes - 1] ^= 1;\n\
        shmem_putmem(dest, copy, bytes, pe);\n\
    }\n";

#[test]
fn bench_2_a_wrong_byte_ends_the_run() {
    let folder = TestFolder::new("bench-2");
    let sources = prefix().join("share/oxshmem/bench");
    let listing = std::fs::read_dir(&sources).expect("the sources are installed");
    let files = listing.flatten().map(|entry| entry.path());
    let (honest, liar) = (folder.join("honest"), folder.join("liar"));
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "c")).collect();
    folder.write("liar.c", LIAR);
    let compile = |program: &Path, more: &[&str]| {
        let mut compiler = tool("oshcc");
        compiler.args(["-O1", "-o"]).arg(program).args(&files).args(more).arg("-lm").current_dir(&*folder);
        assert!(compiler.status().expect("oshcc starts").success());
    };
    let object = tool("oshcc").args(["-O1", "-c", "liar.c"]).current_dir(&*folder).status();
    assert!(object.expect("oshcc starts").success());
    compile(&honest, &[]);
    compile(&liar, &["-Dshmem_putmem=lying_putmem", "liar.o"]);
    let arguments = ["latency", "100", "100", "8,1024", ""];
    let ended = Job::new("-n 2").run(&honest, arguments).expect(0);
    assert!(ended.stdout.contains("\"complete\":true"), "{ended}");
    Job::new("-n 2").run(&liar, arguments).expect(3).says(&["put () of 8 bytes moved something wrong"]);
}

#[test]
fn bench_2_sizes_of_reductions_come_in_any_order() {
    let program = prefix().join("libexec/oxshmem/oshbench");
    // The first one is too long for reductions.
    let arguments = ["reductions", "100", "100", "16777216,8", "maximum of longs"];
    let ended = Job::new("-n 2").run(&program, arguments).expect(0);
    assert!(ended.stdout.contains("\"pattern\":\"maximum of longs\",\"form\":\"set\",\"bytes\":8,"), "{ended}");
}

#[test]
fn bench_3_libraries_take_turns_and_what_one_cannot_do_is_said() {
    let folder = TestFolder::new("bench-3");
    let bin = prefix().join("bin");
    let (oshcc, oshrun) = (bin.join("oshcc"), bin.join("oshrun"));
    // A launcher that fails for one group stands for a library that cannot do it.
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do [ \"$word\" = teams ] && {{ echo no teams here >&2; exit 9; }}; done\nexec {} \"$@\"\n",
        oshrun.display()
    );
    let launcher = folder.write_executable("launcher", script);
    let words = format!(
        "--quick --rounds 2 --sizes 8 --with-oshcc {} --with-oshrun {} --with-name twin",
        oshcc.display(),
        launcher.display()
    );
    let (ended, run) = bench(&words, &folder.join("run.json"));
    let names = names(&run);
    let of = |library: &str| names.iter().filter(|(known, ..)| known == library).count();
    assert_eq!(of("oxshmem"), of("twin") + 2, "{ended}");
    assert!(ended.stdout.contains("not measured: teams of twin") && ended.stdout.contains("no teams here"), "{ended}");
}

#[test]
fn bench_3_open_mpi_is_measured_where_it_is() {
    let folder = TestFolder::new("bench-3-openmpi");
    let is_here = |path: &str| Path::new(path).exists();
    if !is_here("/usr/bin/oshmem_info") || !is_here("/usr/share/doc/libopenmpi-dev/copyright") {
        return not_run("openmpi-bin and libopenmpi-dev are not both here");
    }
    let (ended, run) = bench("--quick --rounds 1 --sizes 8 --compare openmpi --only put", &folder.join("run.json"));
    let theirs: Vec<_> = names(&run).into_iter().filter(|(library, ..)| library == "Open MPI").collect();
    for pattern in ["put", "put and flag", "put bandwidth"] {
        assert!(theirs.iter().any(|(_, known, _)| known == pattern), "{pattern} is missing: {ended}");
    }
}

#[test]
fn bench_4_a_browser_shows_every_curve_without_an_error() {
    if !has_program(browser::BROWSER) {
        return;
    }
    let folder = TestFolder::new("bench-4");
    let page = folder.join("report.html");
    bench(&format!("--quick --rounds 1 --sizes 8,4096 --html {}", page.display()), &folder.join("run.json"));
    let curves = ["put and quiet", "get", "put with signal", "put, both ways", "active set", "inclusive scan"];
    let curves = curves.map(|curve| format!("data-curve=\"{curve}\""));
    let parts: Vec<&str> = curves.iter().map(String::as_str).chain(["data-line=\"atomic, fetch_add\""]).collect();
    browser::shows(&page, &parts);
}
