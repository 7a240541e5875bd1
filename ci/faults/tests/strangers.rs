//! Tools are misled neither by names that other users choose nor by disks without room.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use oxshmem_faults::{Job, JobEnd, OtherUser, Running, STRANGER, TestFolder, not_run, prefix, program, until};

/// A step that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs `oxshmem` with these arguments.
fn oxshmem(arguments: &[&str]) -> JobEnd {
    Job::of("oxshmem").limit(LIMIT).run(Path::new(arguments[0]), &arguments[1..])
}

/// Waits until `oxshmem why` sees the job of this process.
fn seen(job: &Running) -> JobEnd {
    let begun = Instant::now();
    loop {
        let ended = oxshmem(&["why", &job.pid().to_string()]);
        if ended.status == Some(0) || begun.elapsed() > LIMIT {
            return ended;
        }
    }
}

/// A job that waits until the test ends.
fn waiting() -> Running {
    Job::new("-n 2").env("SHMEM_DEADLOCK", "off").start(&program("hangs.c"), [""; 0])
}

#[test]
fn fault_T1_a_name_that_is_no_text_hides_no_job() {
    let name = SocketAddr::from_abstract_name(b"\xff\xfe\n@oxshmem").expect("a name");
    let _socket = UnixListener::bind_addr(&name).expect("the name is free");
    let job = waiting();
    let ended = seen(&job);
    assert_eq!(ended.status, Some(0), "{ended}");
    assert!(ended.stdout.contains("PE 1"), "{ended}");
}

#[test]
fn fault_T1_a_socket_of_another_user_is_no_job() {
    let user = fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).expect("our process");
    let Some(_stranger) = OtherUser::listens(&[format!("oxshmem/{user}/1")]) else { return };
    let ended = oxshmem(&["why", "1"]).expect(2);
    assert!(ended.stderr.contains("job of yours"), "{ended}");
    let job = waiting();
    let ended = seen(&job);
    assert!(ended.stdout.contains("PE 1"), "{ended}");
}

#[test]
fn fault_T2_links_that_others_have_made_are_not_followed() {
    let (folder, hello) = (TestFolder::new("T2"), program("hello.c"));
    let secret = folder.write("secret", "secret");
    let results = folder.join("results");
    fs::create_dir(&results).expect("our folder");
    for name in ["profile.html", "pe.0.0.ledger", "pe.0.out", "pe.0.err", "t.json", "t.html"] {
        symlink(&secret, results.join(name)).expect("our folder");
    }
    let text = |name: &str| results.join(name).to_str().expect("text").to_owned();
    for options in
        [format!("--profile={}", text("")), format!("--output-dir={}", text("")), format!("--trace={}", text("t.json"))]
    {
        Job::new(&format!("-n 1 {options}")).limit(LIMIT).run(&hello, [""; 0]).expect(0);
    }
    oxshmem(&["trace", &text("t.json"), "--html", &text("t.html")]).expect(0);
    assert_eq!(fs::read_to_string(&secret).expect("it stays"), "secret");
    for name in ["profile.html", "pe.0.out", "t.json", "t.html"] {
        assert!(
            fs::symlink_metadata(results.join(name)).is_ok_and(|found| found.is_file() && found.len() > 0),
            "{name}"
        );
    }
}

#[test]
fn fault_T2_a_folder_of_another_user_is_refused_where_all_can_write() {
    let (folder, hello) = (TestFolder::new("T2-folder"), program("hello.c"));
    let theirs = folder.join("theirs");
    fs::create_dir(&theirs).expect("our folder");
    if let Err(error) = std::os::unix::fs::chown(&theirs, Some(STRANGER), None) {
        return not_run(format_args!("no folder can be given away: {error}"));
    }
    fs::set_permissions(&theirs, std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("our folder");
    for option in ["--output-dir", "--profile"] {
        let job = Job::new(&format!("-n 1 {option}={}", theirs.display())).limit(LIMIT);
        job.run(&hello, [""; 0]).expect(2).says(&["user 65534", "others can write", "of your own"]);
    }
    assert_eq!(fs::read_dir(&theirs).expect("our folder").count(), 0);
}

/// A disk of a mebibyte, in a name space of mounts of its own; the words of a shell there. Nothing where none can be had.
fn on_a_small_disk(test: &str, words: &str) -> Option<JobEnd> {
    let folder = TestFolder::new(test);
    let disk = folder.to_str().expect("text");
    let mount = format!("mount -t tmpfs -o size=1m tmpfs {disk} && exec true");
    let probe = Command::new("unshare").args(["--mount", "sh", "-c", &mount]).output();
    if !probe.as_ref().is_ok_and(|output| output.status.success()) {
        not_run(format_args!("no disk can be mounted: {probe:?}"));
        return None;
    }
    let script = format!("mount -t tmpfs -o size=1m tmpfs {disk} || exit 99\ncd {disk} || exit 99\n{words}");
    let mut command = Command::new("unshare");
    let path = format!("{}:{}", prefix().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    command.env("PATH", path).args(["--mount", "sh", "-c"]);
    Some(Job::by(command).limit(LIMIT).run(Path::new(&script), [""; 0]))
}

#[test]
fn fault_T3_a_profile_on_a_full_disk_is_told_and_fails() {
    let test = "fault_T3_a_profile_on_a_full_disk_is_told_and_fails";
    let program = program("hello.c");
    let program = program.display();
    let words = format!("oshrun -n 2 --profile=p {program}; echo status $?; ls -A p");
    let Some(ended) = on_a_small_disk(test, &words) else { return };
    assert!(ended.stdout.contains("status 1\n") && ended.stdout.contains("what it should"), "{ended}");
    let ended = ended.says(&[
        "PE 0",
        "PE 1",
        "is not recorded",
        "No space left on device",
        "no PE could be recorded",
        "make room",
    ]);
    assert!(!ended.stdout.contains(".ledger") && !ended.stderr.contains("run the job again"), "{ended}");

    let words = format!("oshrun -n 2 --trace=t.json {program}; echo status $?; ls -A");
    let Some(ended) = on_a_small_disk(test, &words) else { return };
    assert!(ended.stdout.contains("status 1\n") && !ended.stdout.contains("t.json"), "{ended}");
    ended.says(&["No space left on device", "--trace=DIR/FILE"]);
}

#[test]
fn fault_T3_output_on_a_full_disk_is_told_and_fails() {
    let test = "fault_T3_output_on_a_full_disk_is_told_and_fails";
    for options in ["-n 2", "-H n1,n2 --launch-agent 'env ON={host}'"] {
        // The program goes on to its end although nobody keeps what it says.
        let pe = "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo $PMI_RANK >> ended";
        let words = format!(
            "touch ended; oshrun {options} --output-dir=o sh -c \"{}\"; echo status $?; ls ended",
            pe.replace('$', "\\$")
        );
        let Some(ended) = on_a_small_disk(test, &words) else { return };
        assert!(ended.stdout.contains("status 1\n") && ended.stdout.contains("ended"), "{options}: {ended}");
        ended.says(&["the standard output of PE ", "cannot be written to o", "No space left on device", "make room"]);
    }
}

#[test]
fn fault_T3_a_limit_of_file_sizes_is_named() {
    let (folder, hello) = (TestFolder::new("T3-limit"), program("hello.c"));
    let mut job = Job::under("-f 1000", "oshrun").limit(LIMIT);
    job.command().args(["-n", "1"]).arg(format!("--profile={}", folder.display()));
    // The memory that PEs share is a file, too, so the job does not even start.
    let ended = job.run(&hello, [""; 0]).expect(1);
    let ended = ended.says(&["a file may have", "ulimit -f", "no record has come: the PEs had not passed shmem_init"]);
    assert!(!ended.stderr.contains("static"), "{ended}");
}

#[test]
fn fault_T4_what_a_killed_pe_leaves_in_shared_memory_is_removed() {
    let folder = TestFolder::new("T4");
    let job = "F=/dev/shm/oxshmem-$OXSHMEM_JOB; mkdir $F; echo x > $F/ucx_shm_posix_1; ls -d $F > $HERE/$PMI_RANK; ";
    for (end, status) in [("kill -9 $$", 137), ("exit 0", 0)] {
        let mut oshrun = Job::new("-n 1").env("HERE", &*folder).limit(LIMIT);
        oshrun.command().args(["sh", "-c"]);
        oshrun.run(Path::new(&format!("{job}{end}")), [""; 0]).expect(status);
        let made = fs::read_to_string(folder.join("0")).expect("the PE has told it");
        assert!(!Path::new(made.trim()).exists(), "{made}");
    }
    let mut oshrun = Job::new("-n 1").env("HERE", &*folder);
    oshrun.command().args(["sh", "-c"]);
    let running = oshrun.start(Path::new(&format!("{job} touch $HERE/ready; sleep 600")), [""; 0]);
    until("the PE runs", LIMIT, || folder.join("ready").exists());
    let made = fs::read_to_string(folder.join("0")).expect("the PE has told it");
    assert!(Path::new(made.trim()).exists());
    // The guardian removes what the launcher cannot remove any more.
    drop(running);
    until(&format!("{made} is removed"), LIMIT, || !Path::new(made.trim()).exists());
}

#[test]
fn fault_T4_ucx_makes_its_files_in_the_folder_of_the_job() {
    let hello = program("hello.c");
    let traced = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    let is_there = Job::new("--explain -n 2 --nodes 2").env("SHMEM_TRANSPORT", "ucx").limit(LIMIT).run(&hello, [""; 0]);
    if !traced || is_there.status != Some(0) {
        return not_run(format_args!("there is no strace, or UCX cannot be used: {is_there}"));
    }
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-e", "trace=openat", "-o", "/dev/stdout"]).arg(prefix().join("bin/oshrun"));
    strace.args(["-n", "2", "--nodes", "2"]).env("SHMEM_TRANSPORT", "ucx");
    let ended = Job::by(strace).limit(LIMIT).run(&hello, [""; 0]).expect(0);
    let made: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("/ucx_shm_posix_")).collect();
    assert!(made.iter().all(|line| line.contains("\"/dev/shm/oxshmem-")), "{made:#?}");
    assert!(!made.is_empty(), "UCX has made no file: {ended}");
}

#[test]
fn fault_T5_files_without_end_are_refused() {
    for (words, why) in [
        (&["trace", "/dev/zero"][..], "expected value at line 1 column 1"),
        (&["bench", "--from", "/dev/zero"], "longer than 64 MiB"),
        (&["bench", "--against", "/dev/zero", "--from", "/dev/null"], "longer than 64 MiB"),
        (&["simulate", "--node", "/dev/zero"], "longer than 16 MiB"),
    ] {
        let job = Job::under("-v 4000000", "oxshmem").limit(LIMIT);
        job.run(Path::new(words[0]), &words[1..]).expect(2).says(&[why]);
    }
}

#[test]
fn fault_T5_a_value_longer_than_a_screen_is_told_once_and_cut() {
    let hello = program("hello.c");
    for name in ["SHMEM_SYMMETRIC_SIZE", "SHMEM_WAIT", "SHMEM_TRANSPORT", "SHMEM_TUNING"] {
        let ended = Job::new("-n 2").env(name, "x".repeat(100_000)).limit(LIMIT).run(&hello, [""; 0]);
        assert!(ended.status != Some(0) && ended.stderr.len() < 2000, "{name}: {} bytes", ended.stderr.len());
        assert_eq!(ended.stderr.matches("bytes]").count(), 1, "{name}: {ended}");
    }
}
