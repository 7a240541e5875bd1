//! The wrappers and `osh_info` as programs.

mod launch;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use launch::{Ended, Running, ended, full_device, is_stopped, send, unread_pipe, until};
use oxshmem_test_folder::TestFolder;

/// An installation with a header and a library of our own, and the wrapper under this name.
fn installed(name: &str) -> TestFolder {
    let folder = TestFolder::new("tools");
    for part in ["bin", "lib"] {
        std::fs::create_dir(folder.join(part)).unwrap();
    }
    std::fs::copy(env!("CARGO_BIN_EXE_oshcc"), folder.join("bin/oshcc")).unwrap();
    if name != "oshcc" {
        std::os::unix::fs::symlink("oshcc", folder.join("bin").join(name)).unwrap();
    }
    folder.write("include/shmem.h", "#ifdef __cplusplus\nextern \"C\"\n#endif\nint answer(void);\n");
    folder.write("lib.c", "int answer(void) { return 42; }\n");
    let cc = |arguments: &[&str]| {
        assert!(Command::new("cc").args(arguments).current_dir(&*folder).status().expect("a C compiler").success());
    };
    cc(&["-shared", "-fPIC", "lib.c", "-o", "lib/liboxshmem.so"]);
    cc(&["-c", "lib.c", "-o", "lib.o"]);
    let mut ar = Command::new("ar");
    ar.args(["rcs", "lib/liboxshmem.a", "lib.o"]).current_dir(&*folder);
    assert!(ar.status().unwrap().success());
    folder
}

fn wrap(folder: &Path, name: &str, arguments: &[&str]) -> Ended {
    // Reached over a link from elsewhere, as users install things in ~/bin.
    let link = folder.join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(Path::new("bin").join(name), &link).unwrap();
    }
    ended(Command::new(link).args(arguments).current_dir(folder))
}

#[test]
fn a_task_of_another_tool_is_told() {
    let ended = ended(Command::new(env!("CARGO_BIN_EXE_oxshmem")).arg("info")).expect(2);
    ended.says(&["unrecognized subcommand", "`osh_info` prints the version"]);
}

#[test]
fn an_error_of_one_job_ends_all_seeds_of_a_simulation() {
    let folder = TestFolder::new("sim");
    // The first job ends well, and takes the program away.
    let program = folder.write_executable("once", "#!/bin/sh\nrm -- \"$0\"\n");
    let mut sim = Command::new("timeout");
    sim.args(["60", env!("CARGO_BIN_EXE_oxshmem"), "sim", "-n", "1", "--seeds", "1000000", "--jobs", "2"]);
    ended(sim.arg(&program)).expect(2).says(&["once cannot be simulated"]);
}

/// A shell in the program gives the first of these for a command that it does not find, and `timeout` the last one.
#[test]
fn a_status_of_the_launcher_may_be_the_programs_own_in_a_simulation() {
    for status in ["127", "126", "124"] {
        let mut sim = Command::new(env!("CARGO_BIN_EXE_oxshmem"));
        sim.args(["sim", "-n", "1", "--seeds", "2", "--no-story", "sh", "-c", &format!("exit {status}")]);
        ended(&mut sim).expect(1).says(&[&format!("seed 0: exit status {status}")]);
    }
}

#[test]
fn an_option_of_the_launcher_among_those_of_a_tool_is_told() {
    for (words, task, option) in [
        (&["bench", "--quick", "--bind", "core"][..], "bench", "--bind"),
        (&["bench", "--bind=core"], "bench", "--bind"),
        (&["bench", "-N", "2"], "bench", "-N"),
        (&["tune", "--output", "table", "-n", "2"], "tune", "-n"),
    ] {
        let ended = ended(Command::new(env!("CARGO_BIN_EXE_oxshmem")).args(words)).expect(2);
        let told = format!("{option} is no option of oxshmem {task}");
        ended.says(&[&told, &format!("`oxshmem {task} ... -- {option} ...`")]);
    }
    let unknown = ended(Command::new(env!("CARGO_BIN_EXE_oxshmem")).args(["bench", "--no-such"]));
    unknown.says(&["unexpected argument '--no-such'"]);
}

#[test]
fn a_word_that_is_not_utf_8_is_refused_like_any_other() {
    let word = std::ffi::OsStr::from_bytes(b"\xff");
    ended(Command::new(env!("CARGO_BIN_EXE_oxshmem")).arg(word)).expect(2);
    // And as the name of the tool, where an option misses its value.
    ended(Command::new(env!("CARGO_BIN_EXE_oshrun")).arg0(word).arg("-n")).expect(2);
}

#[test]
fn a_mistake_whose_words_cannot_be_written_keeps_its_status() {
    for (tool, arguments) in
        [(env!("CARGO_BIN_EXE_oshrun"), &["-n", "2"][..]), (env!("CARGO_BIN_EXE_oxshmem"), &["profile", "/nowhere"])]
    {
        let ended = ended(Command::new(tool).args(arguments).stderr(full_device()));
        assert_eq!(ended.status, Some(2), "{tool} {arguments:?}");
    }
}

#[test]
fn programs_compile_link_and_find_their_library() {
    for (name, source) in [("oshcc", "main.c"), ("shmemcc", "main.c"), ("oshc++", "main.cc"), ("oshCC", "main.cc")] {
        for option in ["-O1", "-static-oxshmem", "-static"] {
            let folder = installed(name);
            folder.write(source, "#include <shmem.h>\nint main() { return answer(); }\n");
            wrap(&folder, name, &[option, source, "-o", "program"]).expect(0);
            let program = Command::new(folder.join("program")).status().unwrap();
            assert_eq!(program.code(), Some(42), "{name} {option}");
        }
    }
}

#[test]
fn a_file_of_arguments_may_hold_options_of_the_wrapper() {
    let folder = installed("oshcc");
    folder.write("main.c", "#include <shmem.h>\nint main() { return answer(); }\n");
    folder.write("words", "-static-oxshmem 'main.c'\n-o program\n");
    wrap(&folder, "oshcc", &["@words"]).expect(0);
    assert_eq!(Command::new(folder.join("program")).status().unwrap().code(), Some(42));
    folder.write("question", "-showme:libs");
    assert_eq!(wrap(&folder, "oshcc", &["@question"]).stdout, "oxshmem\n");
}

#[test]
fn compiling_alone_links_nothing() {
    let folder = installed("oshcc");
    folder.write("part.c", "#include <shmem.h>\nint part(void) { return answer(); }\n");
    wrap(&folder, "oshcc", &["-c", "part.c"]).expect(0);
    assert!(folder.join("part.o").exists());
}

#[test]
fn the_wrapper_answers_what_build_systems_ask() {
    let folder = installed("oshfort");
    let here = folder.canonicalize().unwrap();
    let here = here.display();
    let link = format!("-L{here}/lib -Wl,-rpath,{here}/lib -loxshmem");
    let show = wrap(&folder, "oshfort", &["-show"]);
    assert_eq!(show.stdout, format!("gfortran -I{here}/include {link}\n"));
    assert_eq!(wrap(&folder, "oshfort", &["--showme:link"]).stdout, format!("{link}\n"));
    assert_eq!(wrap(&folder, "oshfort", &["--showme:incdirs"]).stdout, format!("{here}/include\n"));
    // The compiler's own questions pass through.
    wrap(&folder, "oshcc", &["--version"]).expect(0);
}

#[test]
fn a_compiler_that_is_not_there_is_127_with_advice() {
    let folder = installed("oshcc");
    let link = folder.join("bin/oshcc");
    ended(Command::new(link).arg("a.c").env("OSHCC", "no-such-compiler"))
        .expect(127)
        .says(&["no-such-compiler", "OSHCXX"]);
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let folder = installed("oshcc");
    let oshcc = folder.join("bin/oshcc");
    let tools: [(&Path, &[&str]); 9] = [
        (Path::new(env!("CARGO_BIN_EXE_osh_info")), &[]),
        (Path::new(env!("CARGO_BIN_EXE_osh_info")), &["--version"]),
        (Path::new(env!("CARGO_BIN_EXE_oxshmem")), &["schedule", "--algorithm", "ring"]),
        (Path::new(env!("CARGO_BIN_EXE_oxshmem")), &["--help"]),
        (Path::new(env!("CARGO_BIN_EXE_oshrun")), &["--help"]),
        (Path::new(env!("CARGO_BIN_EXE_oshrun")), &["--dry-run", "-n", "2", "true"]),
        (Path::new(env!("CARGO_BIN_EXE_oshrun")), &["--display", "map", "-n", "2", "true"]),
        (&oshcc, &["-show"]),
        (&oshcc, &["--showme:libs"]),
    ];
    for (tool, arguments) in tools {
        let lost = ended(Command::new(tool).args(arguments).stdout(full_device())).expect(1);
        lost.says(&["the standard output cannot be written", "because:", "No space left", "to fix:"]);
        let unread = ended(Command::new(tool).args(arguments).stdout(unread_pipe()));
        let expected = (Some(141), String::new());
        assert_eq!((unread.status, unread.stderr), expected, "{} {arguments:?}", tool.display());
    }
}

#[test]
fn osh_info_tells_facts_in_both_forms() {
    let info = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_osh_info"));
        ended(command.args(arguments).env("SHMEM_DEBUG", "1"))
    };
    let text = info(&[]).expect(0);
    assert!(text.stdout.contains("set: SHMEM_DEBUG=1") && text.stdout.contains("processors"), "{}", text.stdout);
    let json: serde_json::Value = serde_json::from_str(&info(&["--json"]).stdout).unwrap();
    assert_eq!(json["machine"]["processors"], oxshmem_os::cpus::usable());
    info(&["--no-such-option"]).expect(2);
}

#[test]
fn cargo_oxrun_builds_and_runs_a_job() {
    let folder = TestFolder::new("tools");
    let manifest = "[package]\nname = \"hello\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    folder.write("Cargo.toml", manifest);
    let program = "fn main() { println!(\"{:?}\", std::env::args().skip(1).collect::<Vec<_>>()); }";
    folder.write("src/main.rs", program);
    let run = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO_BIN_EXE_cargo-oxrun"));
        // The arguments that cargo passes on for `cargo oxrun`.
        ended(cargo.arg("oxrun").args(arguments).current_dir(&*folder))
    };
    let ended = run(&["-n", "2", "--offline", "--label", "--", "-n", "x"]).expect(0);
    assert_eq!(ended.sorted(), ["[0] [\"-n\", \"x\"]", "[1] [\"-n\", \"x\"]"]);
    run(&["--example", "none", "--offline"]).expect(101).says(&["cargo build has failed"]);
}

#[test]
fn why_says_that_a_job_is_stopped() {
    let job = Running::script(1, "echo $$ > $HERE/pe.0; exec sleep 600");
    job.pids(1);
    send("TSTP", job.pid());
    until("the job has stopped", || is_stopped(job.pid()));
    let name = job.pid().to_string();
    let why = || ended(Command::new(env!("CARGO_BIN_EXE_oxshmem")).args(["why", &name]));
    why().expect(2).says(&["its oshrun is stopped", &format!("fg or kill -CONT {name}")]);
    send("CONT", job.pid());
    assert!(why().expect(0).stdout.contains("PE 0"));
    send("TERM", job.pid());
    job.wait().expect(143);
}
