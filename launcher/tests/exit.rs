//! The exit status of `oshrun` and the sentence that explains it.

mod launch;

use std::path::PathBuf;
use std::process::Command;

use launch::{ended, oshrun, run, run_script};
use oxshmem_test_folder::TestFolder;

#[test]
fn a_job_that_ends_well_is_silent() {
    assert_eq!(run("-n 3 true").well().stdout, "");
}

/// Root or not, however few processors there are.
#[test]
fn problem_3_more_pes_than_processors_run_without_a_word() {
    let pes = 4 * oxshmem_os::cpus::usable() + 1;
    let ended = run_script(&format!("-n {pes}"), "echo $PMI_RANK");
    assert_eq!((ended.status, ended.stdout.lines().count(), ended.stderr.as_str()), (Some(0), pes, ""));
}

/// The variables of an allocation of two hosts.
const GRANTED: [(&str, &str); 4] = [
    ("SLURM_JOB_ID", "7"),
    ("SLURM_JOB_NODELIST", "n[1-2]"),
    ("SLURM_TASKS_PER_NODE", "1(x2)"),
    ("SLURM_JOB_CPUS_PER_NODE", "2(x2)"),
];

#[test]
fn a_simulated_job_stays_here_whatever_a_scheduler_has_granted() {
    for words in [&["--sim", "-n", "1", "true"][..], &["--sim", "--nodes", "1", "-n", "5", "true"]] {
        ended(oshrun(words).envs(GRANTED)).expect(0);
    }
}

#[test]
fn problem_3_only_a_scheduler_refuses_and_says_what_to_do() {
    let ended = ended(oshrun(["-n", "5", "true"]).envs(GRANTED)).expect(2);
    println!("{}", ended.stderr);
    ended.says(&["5 PEs", "at most 4", "--oversubscribe"]);
}

#[test]
fn the_first_task_of_another_launcher_notes_that_each_has_a_job() {
    let task = |rank| {
        let tasks = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", rank)];
        ended(oshrun(["-n", "1", "true"]).envs(tasks)).expect(0).stderr
    };
    let note = task("0");
    assert!(note.starts_with("oshrun: note: mpirun runs oshrun in 4 tasks, and each of them starts a job"), "{note}");
    assert_eq!((note.lines().count(), task("1").as_str()), (1, ""), "{note}");
}

#[test]
fn problem_20_the_first_failure_in_time_counts() {
    let ended = run_script("-n 3", "if [ $PMI_RANK = 1 ]; then exit 3; fi; sleep 600; exit 5").expect(3);
    assert!(ended.stderr.starts_with("oshrun: PE 1 (pid "), "{}", ended.stderr);
    assert!(ended.stderr.ends_with(") exited with status 3; 2 other PEs stopped; exit 3\n"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "one sentence: {}", ended.stderr);
}

#[test]
fn problem_20_a_signal_is_128_more_and_named() {
    for (signal, code) in [("SEGV", 139), ("KILL", 137), ("ABRT", 134)] {
        let script = format!("if [ $PMI_RANK = 2 ]; then kill -s {signal} $$; fi; sleep 600");
        let ended = run_script("-n 4", &script).expect(code);
        let expected = format!("was killed by SIG{signal}");
        ended.says(&[&expected, "PE 2", &format!("3 other PEs stopped; exit {code}")]);
    }
}

/// A server that starts jobs may ignore the ends of its children, and `oshrun` inherits that.
#[test]
fn a_failure_counts_where_the_ends_of_children_are_ignored() {
    let words = ["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_oshrun"), "-n", "2", "sh", "-c", "exit 3"];
    ended(Command::new("/usr/bin/env").args(words)).expect(3).says(&["exited with status 3", "exit 3"]);
}

#[test]
fn pes_that_ignore_the_polite_signal_are_killed() {
    run_script("-n 3", "[ $PMI_RANK = 0 ] && { sleep 0.3; exit 9; }; trap '' TERM; while :; do sleep 1; done")
        .expect(9);
}

#[test]
fn problem_20_a_program_that_is_not_there_is_127() {
    let folder = TestFolder::new("exit");
    folder.write_executable("hello", "#!/bin/sh\n");
    let here = folder.display();
    let cases = [
        ("-n 2 ./no-such-program-at-all".to_string(), "there is no such file"),
        ("-n 2 no-such-program-at-all".to_string(), "no directory of PATH holds it"),
        (format!("-n 2 {here}/helo"), "did you mean"),
        (format!("-n 2 --wdir {here} hello"), "did you mean ./hello?"),
        (format!("-n 2 {here}/no/hello"), "there is no directory"),
    ];
    for (line, reason) in cases {
        run(&line).expect(127).says(&[reason]);
    }
}

#[test]
fn a_word_behind_an_option_that_does_not_take_it_is_explained() {
    for (line, reason) in [
        ("-n 2 --sim no-such-seed ./a", "--sim takes its seed with `=`"),
        ("--bind no-such-word ./a -n 2", "core, numa or none, and `no-such-word` is none of them"),
    ] {
        let said = run(line).expect(127).stderr;
        assert!(said.contains(reason) && !said.contains("note:"), "{line}: {said}");
    }
}

#[test]
fn problem_20_a_file_that_cannot_be_executed_is_126() {
    let folder = TestFolder::new("exit");
    let file = folder.write("notes.txt", "text");
    for (name, reason) in [(&*file, "no execute permission"), (&*folder, "is a directory")] {
        run(&format!("-n 2 {}", name.display())).expect(126).says(&[reason]);
    }
}

#[test]
fn a_missing_interpreter_is_named() {
    let folder = TestFolder::new("exit");
    let script = folder.write_executable("script", "#!/no/such/python\n");
    run(&script.display().to_string()).expect(127).says(&["/no/such/python"]);
}

#[test]
fn a_program_that_the_kernel_refuses_leaves_nothing_behind() {
    let folder = TestFolder::new("exit");
    let (source, program) = (folder.write("main.c", "int main(void) { return 0; }"), folder.join("main"));
    let mut cc = Command::new("cc");
    cc.args([&source, &PathBuf::from("-o"), &program]).arg("-Wl,--dynamic-linker=/no/such/loader");
    assert!(cc.status().expect("a C compiler").success());
    let ended = run(&format!("-n 1 sleep 600 : -n 1 {}", program.display())).expect(127);
    ended.says(&["PE 1 of 2 could not be started", "loader is not there", "/no/such/loader"]);
}

#[test]
fn a_file_that_is_no_program_is_126_and_no_shell_runs_it() {
    let folder = TestFolder::new("exit");
    let program = std::fs::read("/proc/self/exe").expect("a running program has a file");
    // Another machine than any of this library.
    let alien = [&program[..18], &[0xAD, 0xDE], &program[20..]].concat();
    for (bytes, why) in [
        (alien, "it is a program for machine number"),
        (Vec::new(), "the file is empty"),
        (program[..40].to_vec(), "the file ends after 40 bytes"),
        (vec![0; 5000], "neither a program nor a script"),
    ] {
        let file = folder.write_executable("program", bytes);
        for options in ["-n 2", "-n 2 --nodes 2"] {
            let ended = run(&format!("{options} {}", file.display())).expect(126);
            assert_eq!((ended.stdout.as_str(), ended.stderr.contains(why)), ("", true), "{}", ended.stderr);
        }
    }
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").args(["-m", "755"]).arg(&pipe).status().expect("mkfifo").success());
    run(&format!("--timeout 30 -n 2 {}", pipe.display())).expect(126).says(&["it is not a regular file"]);
}

#[test]
fn a_script_without_the_line_that_names_a_shell_runs() {
    let folder = TestFolder::new("exit");
    let script = folder.write_executable("script", "echo $0 $PMI_RANK $1\n");
    let expected = [0, 1].map(|pe| format!("{} {pe} word", script.display()));
    assert_eq!(run(&format!("-n 2 {} word", script.display())).well().sorted(), expected);
}

#[test]
fn wrong_arguments_are_2_and_say_why() {
    for (line, word) in [
        ("-n 0 true", "0"),
        ("-n true", "true"),
        ("-n 2", "no program"),
        ("--no-such-option true", "--no-such-option"),
        ("--timeot 3 true", "--timeout"),
        ("--stdin 5 -n 2 true", "no such PE"),
        ("-n 5 -N 2 true", "5 PEs do not fit on 1 host with -N 2"),
        ("--sim=foo -n 2 true", "neither a seed nor a strategy"),
        ("--wdir /no/such/folder true", "/no/such/folder"),
        ("--output-dir /proc/no true", "/proc/no"),
    ] {
        let said = run(line).expect(2).stderr;
        assert!(said.starts_with("oshrun: ") && said.contains(word), "{line}: {said}");
    }
}

#[test]
fn help_and_version_are_answers() {
    let help = run("--help").well();
    assert!(help.stdout.contains("--timeout"));
    // The text of a terminal of any width.
    let text = help.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for status in ["(Ctrl-C: 130)", "124 after", "126 or 127 if", "1 if a host", "141 if", "2 for a wrong"] {
        assert!(text.contains(status), "{status}: {text}");
    }
    assert!(run("--version").stdout.starts_with("oshrun "));
}

#[test]
fn problem_20_a_timeout_is_124_with_a_sentence() {
    run("--timeout 0.3 -n 2 sleep 600").expect(124).says(&["within 300ms (--timeout): 2 of 2 PEs stopped; exit 124"]);
    run("--timeout 60 -n 2 true").expect(0);
}

#[test]
fn what_other_launchers_want_is_accepted_silently() {
    run("--allow-run-as-root --oversubscribe -np 9 --ppn 4 true").well();
}

#[test]
fn problem_20_global_exit_decides_whatever_its_status() {
    for (line, status) in [("-n 4 PROBE abort 7 2", 7), ("-n 4 PROBE abort 0 1", 0), ("-n 1 PROBE abort 300 0", 44)] {
        run(line).expect(status).says(&["this is the end\n"]);
    }
}

#[test]
fn a_pe_that_leaves_before_the_others_have_met_ends_the_job() {
    let ended = run("-n 3 PROBE fence-or-exit").expect(1);
    ended.says(&["PE 1 (pid", "ended before", "to fix:  let all PEs call shmem_init"]);
}

#[test]
fn a_pe_that_leaves_without_finalize_is_noted_once() {
    let ended = run("-n 3 PROBE desert").expect(0);
    ended.says(&["PE 1 (pid", "without shmem_finalize, or by _exit after it; 2 PEs still run"]);
    assert_eq!(ended.stderr.lines().count(), 1);
}
