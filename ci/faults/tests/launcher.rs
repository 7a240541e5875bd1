//! PEs that end without a word, and the order of their output.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use oxshmem_faults::{Job, TestFolder, has_program, prefix, program, program_with};

/// A job that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn fault_W3_a_pe_that_is_gone_without_a_word_ends_the_job() {
    let vanish = program("vanish.c");
    for (options, way, call) in [
        ("-n 3", "_exit", "barrier"),
        ("-n 3", "exec", "barrier"),
        ("-n 3", "exec_true", "later"),
        ("-n 3", "quick_exit", "barrier"),
        ("-n 3", "syscall", "later"),
        ("-n 3", "daemon", "barrier"),
        ("-n 2", "_exit", "wait"),
        ("-n 2", "exec", "wait"),
        ("-n 2", "_exit", "test"),
        ("-n 3", "_exit", "test_lock"),
        ("-n 3", "_exit", "request"),
        ("-n 3", "_exit", "finalize"),
        ("-n 4 --nodes 2", "_exit", "barrier"),
        ("-n 4 --nodes 2", "exec", "later"),
        ("-n 2 --nodes 2", "_exit", "barrier"),
        ("-n 2 --nodes 2", "exec", "barrier"),
        ("-n 2 --nodes 2", "_exit", "wait"),
        ("-n 2 --nodes 2", "_exit", "test"),
        ("-n 3 --nodes 3", "_exit", "test_lock"),
        ("-n 3 --nodes 3", "_exit", "request"),
        ("-n 3 --nodes 3", "_exit", "poll"),
        ("-n 3 --nodes 3 -x SHMEM_WAIT=spin", "_exit", "poll"),
    ] {
        let ended = Job::new(options).limit(LIMIT).run(&vanish, [way, call]);
        println!("{options} {way} {call}: {:?}\n{}", ended.took, ended.stderr);
        assert_eq!(ended.status, Some(1), "{options} {way} {call}: {ended}");
        // Where nobody listens, a connection is refused, and this is noticed: another reason takes the whole patience.
        assert!(!ended.stderr.contains("Broken pipe"), "{options} {way} {call}: {ended}");
        let is_told = ["has ended without shmem_finalize", "is lost", "cannot be reached"];
        assert!(is_told.iter().any(|words| ended.stderr.contains(words)), "{options} {way} {call}: {ended}");
    }
}

#[test]
fn fault_W3_a_killed_pe_still_decides_the_status() {
    let vanish = program("vanish.c");
    for options in ["-n 3", "-n 4 --nodes 2"] {
        let ended = Job::new(options).limit(LIMIT).run(&vanish, ["kill", "barrier"]).expect(137);
        ended.says(&["was killed by SIGKILL"]);
    }
}

/// Without a debugger the trap ends the process, which has written its output before, as at other ends.
#[test]
fn a_pe_that_ends_the_job_in_a_trap_has_written_its_output() {
    let ends = program("ends.c");
    let mut job = Job::under("-c 0", "oshrun").env("SHMEM_TRAP_ON_ABORT", "1").limit(LIMIT);
    job.command().args(["-n", "2"]);
    let ended = job.run(&ends, ["unflushed"]).expect(134).says(&["was killed by SIGABRT"]);
    assert!(ended.stdout.contains("the last words"), "{ended}");
    assert!(!ended.stderr.lines().any(str::is_empty), "{ended}");
}

/// A script may run one program after the other in a PE. The marks of PEs of the first one that are gone stay with the launcher.
#[test]
fn fault_W3_a_pe_of_a_program_before_is_not_taken_for_one_that_is_gone() {
    let (first, next) = (program("ends.c"), program("late.c"));
    for options in ["-n 4 --nodes 4", "-H n1,n2,n3,n4 -N 1"] {
        let script = [OsStr::new("-c"), OsStr::new("\"$0\" return && \"$1\""), first.as_os_str(), next.as_os_str()];
        let ended = Job::new(options).limit(LIMIT).run(Path::new("sh"), script).expect(0);
        assert!(!ended.stderr.contains("without shmem_finalize"), "{options}: {ended}");
    }
}

/// Functions of `atexit` that a program registers before its init, and destructors of C++, run when its exit has begun.
#[test]
fn fault_W3_a_pe_that_finalizes_at_the_end_of_its_process_is_still_there() {
    let finalized_late = program("finalized_late.c");
    for options in ["-n 3", "-n 3 --nodes 3"] {
        let ended = Job::new(options).limit(LIMIT).run(&finalized_late, [""; 0]).expect(0);
        assert!(!ended.stderr.contains("without shmem_finalize"), "{options}: {ended}");
    }
}

/// A watchdog of a program ends the process where the library waits for a PE that does not come.
#[test]
fn a_thread_ends_the_process_while_another_one_begins_or_ends_the_library() {
    let exits_beside = program_with("exits_beside.c", &["-pthread"]);
    for (options, call) in [("-n 2", "init"), ("-n 2 --nodes 2", "init"), ("-n 2", "finalize")] {
        Job::new(options).limit(LIMIT).run(&exits_beside, [call]).expect(7);
    }
}

/// It would wait for a call that cannot end any more.
#[test]
fn a_process_that_ends_inside_the_library_waits_in_no_second_finalize() {
    let exits_beside = program_with("exits_beside.c", &["-pthread"]);
    for (call, way) in
        [("init", "handler"), ("finalize", "thread"), ("finalize", "handler"), ("finalize", "handler-behind")]
    {
        Job::new("-n 2").limit(LIMIT).run(&exits_beside, [call, way]).expect(7);
    }
}

/// A child speaks by its parent's connection to the launcher, if it finds it. Its calls would be taken for those of the PE.
#[test]
fn a_program_that_a_pe_starts_is_no_second_pe_of_its_number() {
    let another = program("starts_another.c");
    for options in ["-n 2", "-n 2 --nodes 2"] {
        let job = || Job::new(options).limit(LIMIT);
        let ended = job().run(&another, ["child"]).expect(0);
        for words in ["ended with a failure", "child: PE 1 of 2"] {
            assert!(ended.stdout.contains(words), "{words}: {ended}");
        }
        ended.says(&["this process was started as one of 2 tasks", "as a PE does for the programs that it starts"]);
        let said = job().env("SHMEM_SINGLETON", "1").run(&another, ["child"]).expect(0).stdout;
        assert!(said.contains("last: PE 0 of 1\n") && said.contains("the child has ended well"), "{said}");
    }
}

/// Behind its last finalize a process may become the next program of the job.
#[test]
fn a_pe_that_becomes_another_program_is_a_pe_of_the_next_job() {
    let another = program("starts_another.c");
    let ended = Job::new("-n 2").limit(LIMIT).run(&another, ["next"]).expect(0);
    for line in ["next: PE 0 of 2", "next: PE 1 of 2", "last: PE 0 of 2", "last: PE 1 of 2"] {
        assert!(ended.stdout.contains(line), "{line}: {ended}");
    }
}

/// There is nothing to end any more, so nothing can go wrong.
#[test]
fn a_finalize_too_many_is_a_note() {
    let ends = program("ends.c");
    for options in ["-n 2", "-n 2 --nodes 2"] {
        let ended = Job::new(options).limit(LIMIT).run(&ends, ["twice"]).expect(0);
        ended.says(&["shmem_finalize: the library is not initialised, so the call does nothing", "as often as"]);
    }
}

/// A program of `start_pes` has no finalize but its exit, which waits for the others: for ever if they wait for the PE that has failed.
#[test]
fn a_pe_that_fails_without_any_finalize_in_its_program_ends_the_job() {
    let old_exit = program("old_exit.c");
    for options in ["-n 2", "-n 3", "-n 3 --nodes 3"] {
        let ended = Job::new(options).limit(LIMIT).run(&old_exit, ["early"]).expect(5);
        assert!(!ended.stdout.contains("has come to its end"), "{options}: {ended}");
        // PEs that are about to end as well say what they have to say.
        let ended = Job::new(options).limit(LIMIT).run(&old_exit, ["together"]).expect(5);
        assert!(ended.stdout.contains("PE 0 has come to its end"), "{options}: {ended}");
    }
}

/// A constructor that initialises the library comes before those of a library that the program contains, unless these say otherwise.
#[test]
fn a_static_object_may_be_the_life_of_the_library() {
    for options in [&[][..], &["-static-oxshmem"]] {
        let static_object = program_with("static_object.cc", options);
        for shape in ["-n 3", "-n 2 --nodes 2"] {
            Job::new(shape).limit(LIMIT).run(&static_object, [""; 0]).expect(0);
        }
    }
}

/// A full disk takes lines away, and nothing else.
#[test]
fn fault_L12_lines_of_the_library_that_cannot_be_written_end_nothing() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("a full device");
    let mut hello = std::process::Command::new(program("hello.c"));
    let ways = ["SHMEM_INFO", "SHMEM_VERSION", "SHMEM_DEBUG", "SHMEM_NO_VARIABLE"];
    let status = hello.envs(ways.map(|way| (way, "1"))).stdout(full()).stderr(full()).status().expect("it starts");
    assert_eq!(status.code(), Some(0), "{status}");
    // A PE whose folder for records has gone has something to say, too.
    let (folder, hello) = (TestFolder::new("lines-lost"), program("hello.c"));
    let script = OsStr::new("rm -r \"$0\"; exec \"$1\" 2>/dev/full");
    let job = Job::new(&format!("-n 1 --profile={}", folder.display()));
    let ended = job.run(Path::new("sh"), [OsStr::new("-c"), script, folder.as_os_str(), hello.as_os_str()]).expect(1);
    ended.says(&["cannot be read"]);
}

/// A program that a PE starts may be a launcher, whose PEs have the numbers of those of its own job.
#[test]
fn a_job_inside_a_recorded_one_is_no_part_of_its_profile() {
    let (folder, hello) = (TestFolder::new("profile-inside"), program("hello.c"));
    let (oshrun, script) = (prefix().join("bin/oshrun"), OsStr::new("\"$0\" -n 2 \"$1\" && exec \"$1\""));
    let job = Job::new(&format!("-n 1 --profile={}", folder.display())).limit(LIMIT);
    let words = [OsStr::new("-c"), script, oshrun.as_os_str(), hello.as_os_str()];
    let ended = job.run(Path::new("sh"), words).expect(0).says(&["profile of 1 PE"]);
    assert_eq!(ended.stdout.matches("has what it should").count(), 3, "{ended}");
    assert!(folder.join("pe.0.0.ledger").is_file() && !folder.join("pe.1.0.ledger").exists(), "{ended}");
}

/// A PE without descriptors is no PE that is gone.
#[test]
fn fault_W3_a_pe_that_closes_every_descriptor_is_still_there() {
    let ended = Job::new("-n 3").limit(LIMIT).run(&program("vanish.c"), ["closefrom", "barrier"]);
    assert!(ended.stdout.contains("together"), "{ended}");
    assert!(!ended.stderr.contains("without shmem_finalize, and"), "{ended}");
}

/// It waits for longer than a PE does before it asks whether its launcher is there, and opens files behind that.
#[test]
fn fault_W3_a_pe_that_closes_every_descriptor_waits_and_keeps_its_files() {
    let ended = Job::new("-n 3").limit(LIMIT).run(&program("vanish.c"), ["closefrom_and_wait", "late"]);
    assert!(ended.stdout.contains("together") && !ended.stdout.contains("a file is lost"), "{ended}");
    assert!(!ended.stderr.contains("the launcher closed the PMI connection"), "{ended}");
    // In another life the PEs would meet by way of the launcher.
    let again = Job::new("-n 3").limit(LIMIT).run(&program("vanish.c"), ["closefrom_and_wait", "again"]).expect(1);
    again.says(&["the launcher can no longer be asked", "the program has closed the descriptor", "PMI_FD"]);
}

/// Between nodes the library's connections are closed as well. The fault is not the peers'.
#[test]
fn fault_W3_a_pe_that_closes_the_sockets_to_other_nodes_says_so() {
    let job = Job::new("-n 3 --nodes 3").env("SHMEM_TRANSPORT", "tcp").limit(LIMIT);
    let ended = job.run(&program("vanish.c"), ["closefrom_and_wait", "late"]).expect(1);
    ended.says(&["TCP: sockets cannot be polled", "let the program close only the descriptors that it has opened"]);
}

/// A script that does not wait for its program would make a job that did nothing look like one that went well.
#[test]
fn work_in_the_background_that_ends_with_its_job_is_told() {
    let script = "sleep 600 & exit 0";
    let ended = Job::new("-n 2").limit(LIMIT).run(Path::new("sh"), ["-c", script]).expect(0);
    ended.says(&["note: 2 processes that PEs have left in the background ended with the job"]);
}

#[test]
fn fault_L12_lines_that_pes_write_in_turn_leave_in_that_order() {
    let in_turn = program("in_turn.c");
    let expected: String = (0..12).map(|pe| format!("{pe}: ({}, {})\n", pe % 3, pe / 3)).collect();
    for _ in 0..100 {
        let ended = Job::new("-n 12").limit(LIMIT).run(&in_turn, [""; 0]).expect(0);
        assert_eq!(ended.stdout, expected);
    }
}

#[test]
fn fault_L12_what_a_program_said_before_it_hangs_is_seen() {
    let mut sources = vec!["hangs.c"];
    if has_program("gfortran") {
        sources.push("hangs.f90");
    }
    for source in sources {
        let hangs = program(source);
        let mut oshrun = Job::new("-n 2");
        let command = oshrun.command();
        command.arg(&hangs).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut job = command.spawn().expect("oshrun starts");
        let (tell, told) = std::sync::mpsc::channel();
        let mut stdout = job.stdout.take().expect("it was asked for");
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 100];
            let length = stdout.read(&mut bytes).unwrap_or(0);
            // The test may have given up.
            let _ = tell.send(String::from_utf8_lossy(&bytes[..length]).into_owned());
        });
        let seen = told.recv_timeout(LIMIT);
        // The guardian ends the PEs.
        job.kill().expect("our child");
        job.wait().expect("our child");
        reader.join().expect("it does not panic");
        assert_eq!(seen.as_deref(), Ok("before the hang\n"), "{source}");
    }
}

#[test]
fn fault_L12_what_a_fortran_program_said_before_the_library_ends_the_job_is_seen() {
    if !has_program("gfortran") {
        return;
    }
    let hangs = program("hangs.f90");
    for options in ["-n 1", "-n 2"] {
        let ended = Job::new(options).limit(LIMIT).run(&hangs, ["end"]).expect(3);
        assert_eq!(ended.stdout, "before the hang\n", "{options}: {ended}");
    }
    // Other launchers leave it to gfortran's library to hold lines back.
    let mut alone = std::process::Command::new("env");
    alone.args(["-u", "GFORTRAN_UNBUFFERED_PRECONNECTED"]);
    let ended = Job::by(alone).limit(LIMIT).run(&hangs, ["end"]).expect(3);
    assert_eq!(ended.stdout, "before the hang\n", "{ended}");
}

/// The static tool opens no library, and asks its neighbour about descriptions of machines.
#[test]
fn a_description_that_cannot_be_read_is_refused_with_its_own_reason() {
    let ended = Job::new("-n 1 --display map").env("SHMEM_TOPOLOGY", "pocket:2").run(&program("hello.c"), [""; 0]);
    ended.expect(2).says(&["SHMEM_TOPOLOGY=pocket:2 describes no machine", "no synthetic description of hwloc"]);
}

#[test]
fn equal_errors_of_several_pes_are_said_once_and_nothing_else_is_held_back() {
    let same = program("same_error.c");
    for options in ["-n 4", "-n 4 --nodes 2", "-H n1,n2 -N 2"] {
        let ended = Job::new(options).limit(LIMIT).run(&same, [""; 0]).expect(0);
        let ended = ended.says(&["  (and 3 others: PE ", "behind all errors"]);
        let count = |words: &str| ended.stderr.matches(words).count();
        assert_eq!(count("  to fix:  "), 1, "{options}: {ended}");
        assert_eq!(count("own words\n  because: all PEs say so\n"), 4, "{options}: {ended}");
    }
    let labelled = Job::new("-l -n 4").limit(LIMIT).run(&same, [""; 0]).expect(0);
    assert_eq!(labelled.stderr.matches("  to fix:  ").count(), 4, "who wants labels wants every line: {labelled}");
}

/// Hydra closes the connection of PMI when a library of MPI says good-bye on it.
#[test]
fn a_connection_that_ends_with_mpi_ends_no_pe() {
    let goodbye = program_with("mpi_goodbye.c", &["-rdynamic", "-pthread"]);
    let run = |way: &str| Job::by(std::process::Command::new("env")).limit(LIMIT).run(&goodbye, [way]);
    assert!(run("finalized").expect(0).stdout.contains("went on"));
    run("lost").expect(1).says(&["the launcher closed the PMI connection"]);
}

/// MPICH shuts the connection down. Between nodes the finalize of the library asks the launcher once more.
#[test]
fn mpi_may_be_finalized_first() {
    let mpi_first = program_with("mpi_first.c", &["-rdynamic"]);
    for options in ["-n 2", "-n 2 --nodes 2", "-n 4 --nodes 2"] {
        let ended = Job::new(options).limit(LIMIT).run(&mpi_first, [""; 0]).expect(0);
        assert!(ended.stdout.lines().all(|line| line == "PE has 1"), "{options}: {ended}");
    }
}

/// A module of Python brings its library of MPI along for itself.
#[test]
fn a_connection_that_ends_with_mpi_of_a_module_ends_no_pe() {
    let compiled = program_with("mpi_goodbye.c", &["-shared", "-fPIC", "-DLIBRARY"]);
    let library = compiled.with_file_name(format!("libmpi-{}.so", std::process::id()));
    std::fs::rename(&compiled, &library).expect("our file");
    let goodbye = program_with("mpi_goodbye.c", &["-pthread", "-DMODULE"]);
    let words = ["finalized", library.to_str().expect("text")];
    let ended = Job::by(std::process::Command::new("env")).limit(LIMIT).run(&goodbye, words).expect(0);
    assert!(ended.stdout.contains("went on"), "{ended}");
}
