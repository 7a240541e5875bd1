//! Faults of the launcher that were found from outside, by their numbers (`ci/faults/README.md`).
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

mod launch;

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use launch::{Ended, Running, ended, full_device, oshrun, runs, send, unread_pipe, until};
use oxshmem_test_folder::{TestFolder, not_run};

#[test]
fn fault_L1_a_job_on_this_machine_by_any_of_its_names_ends() {
    let folder = TestFolder::new("faults");
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a Linux system").trim().to_string();
    let file = folder.write("hosts", format!("{own} slots=2\n"));
    let file = file.to_str().expect("text");
    for options in [
        &["-H", "localhost:2"][..],
        &["-H", &own, "-n", "2"],
        &["-H", "127.0.0.1", "-N", "2"],
        &["--hostfile", file],
        &["-H", &format!("localhost,{own}")],
    ] {
        let command = oshrun(options.iter().chain(&["sh", "-c", "echo $PMI_RANK of $PMI_SIZE below $PPID"]));
        let running = Running::of(command);
        // PEs of another host, be it this machine once more, would be children of an agent.
        let launcher = running.child.id();
        let ended = running.wait().expect(0);
        let lines = [0, 1].map(|pe| format!("{pe} of 2 below {launcher}"));
        assert_eq!(
            (ended.sorted(), &ended.stderr[..]),
            (lines.each_ref().map(String::as_str).to_vec(), ""),
            "{options:?}"
        );
    }
}

#[test]
fn fault_L1_this_machine_beside_another_host_has_an_agent_of_its_own() {
    let ended = launch::run("-H localhost:2,n7 --dry-run -n 3 true").expect(0);
    let hosts: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("host ")).collect();
    assert!(hosts[0].starts_with("host localhost: ") && hosts[0].ends_with("oshrun --agent"), "{hosts:?}");
    assert!(hosts[1].starts_with("host n7: ssh"), "{hosts:?}");
}

/// PEs have ended, but nobody reads what they wrote: the one thing left to wait for.
#[test]
fn fault_L1_output_that_nobody_takes_keeps_the_job_from_neither_signals_nor_its_deadline() {
    let write = "head -c 200000 /dev/zero; echo $$ > $HERE/pe.$PMI_RANK";
    for (options, signal, status) in [
        (&["-n", "2"][..], Some("TERM"), 143),
        (&["-n", "2"], Some("INT"), 130),
        (&["--timeout", "1.5", "-n", "2"], None, 124),
    ] {
        let job = Running::of(oshrun(options.iter().chain(&["sh", "-c", write])));
        let pids = job.pids(2);
        until("the PEs and their children are gone", || !pids.iter().any(|&pid| runs(pid)));
        if let Some(signal) = signal {
            send(signal, job.pid());
        }
        let ended = job.wait();
        assert_eq!(ended.status, Some(status), "{options:?} {signal:?}");
        let is_told = ended.stderr.contains("its PEs have ended, but not everything");
        assert_eq!(is_told, signal.is_none(), "{}", ended.stderr);
    }
}

/// The deadline comes while PEs still run, and nobody reads what they wrote: after their end the job waits for that no longer.
#[test]
fn fault_L1_output_that_nobody_takes_does_not_outlive_the_deadline_of_running_pes() {
    let write = "head -c 200000 /dev/zero; echo $$ > $HERE/pe.$PMI_RANK; exec sleep 600";
    let job = Running::with(&["--timeout", "1.5", "--grace", "0.2", "-n", "2", "sh", "-c", write]);
    job.wait().expect(124).says(&["within 1.5s (--timeout): 2 of 2 PEs stopped; exit 124"]);
}

/// Each PE makes a file as libfabric's provider for shared memory does.
const WITH_FILE: &str = ": > /dev/shm/$$:$(id -u):0; echo $$ > $HERE/pe.$PMI_RANK; exec sleep 600";

/// The files of these PEs.
fn files_of(pids: &[u32]) -> Vec<PathBuf> {
    let uid = std::fs::metadata("/proc/self").expect("a Linux system").uid();
    pids.iter().map(|pid| format!("/dev/shm/{pid}:{uid}:0").into()).collect()
}

#[test]
fn fault_L5_a_guardian_removes_files_of_pes_that_died_before_it_looked() {
    let agent = ["-H", "h1", "--launch-agent", "env ON={host}"];
    for options in [&[][..], &agent] {
        let job = Running::with(&[options, &["-n", "4", "sh", "-c", WITH_FILE]].concat());
        let pids = job.pids(4);
        let files = files_of(&pids);
        assert!(files.iter().all(|file| file.exists()), "{files:?}");
        let launcher = if options.is_empty() { job.pid() } else { job.agents()[0] };
        // It neither sees the ends of the PEs nor waits for them.
        send("STOP", launcher);
        pids.iter().for_each(|&pid| send("KILL", pid));
        until("the PEs are dead", || !pids.iter().any(|&pid| runs(pid)));
        send("KILL", launcher);
        until("their files are gone", || !files.iter().any(|file| file.exists()));
    }
}

#[test]
fn fault_L5_an_agent_whose_launcher_is_killed_leaves_no_files_of_its_pes() {
    let job = Running::with(&["-H", "h1,h2", "--launch-agent", "env ON={host}", "-n", "8", "sh", "-c", WITH_FILE]);
    let files = files_of(&job.pids(8));
    send("KILL", job.pid());
    until("their files are gone", || !files.iter().any(|file| file.exists()));
}

#[test]
fn a_launcher_that_was_stopped_too_long_says_that_its_agents_have_waited_for_it() {
    let options = ["-H", "h1,h2", "--launch-agent", "env ON={host}", "--host-timeout", "2", "-n", "2"];
    let stays = ["sh", "-c", "echo $$ > $HERE/pe.$PMI_RANK; exec sleep 600"];
    let job = Running::with(&[&options[..], &stays].concat());
    let pids = job.pids(2);
    send("STOP", job.pid());
    until("the agents have given it up", || !pids.iter().any(|&pid| runs(pid)));
    until("the agents have gone", || job.agents().is_empty());
    send("CONT", job.pid());
    job.wait().expect(1).says(&["nothing has come from oshrun for 2s (--host-timeout)", "was oshrun stopped"]);
}

/// As `setsid ./program` does, which starts the program as another process and ends.
#[test]
fn work_in_a_session_of_its_own_is_noted() {
    let script = "setsid sh -c 'echo $$ > $HERE/child.$PMI_RANK; exec sleep 600' &
        while [ ! -s $HERE/child.0 ] || [ ! -s $HERE/child.1 ]; do sleep 0.05; done";
    for options in [&[][..], &["-H", "h1", "--launch-agent", "env ON={host}"]] {
        let job = Running::with(&[options, &["-n", "2", "sh", "-c", script]].concat());
        let pids = job.pids(2);
        let ended = job.wait();
        pids.iter().for_each(|&pid| send("KILL", pid));
        ended.expect(0).says(&["note: 2 PEs ended without shmem_init, and a process in a session of its own runs on"]);
    }
    let ended = launch::run_script("-n 2", "sleep 600 & true").expect(0).stderr;
    assert!(ended.contains("ended with the job") && !ended.contains("runs on"), "{ended}");
    launch::run_script("-n 2", "echo a word | cat").well();
}

#[test]
fn fault_L7_an_interrupt_that_pes_ignore_says_how_to_kill() {
    let mut job = Running::script(2, "trap '' INT; echo $$ > $HERE/pe.$PMI_RANK; while :; do sleep 0.2; done");
    job.pids(2);
    send("INT", job.pid());
    let mut stderr = job.child.stderr.take().expect("it was asked for");
    let mut words = [0; 500];
    let length = stderr.read(&mut words).expect("a sentence");
    let words = String::from_utf8_lossy(&words[..length]);
    assert!(words.contains("2 PEs still run after the interrupt; interrupt again (Ctrl-C) to kill"), "{words}");
    send("INT", job.pid());
    assert_eq!(job.wait().status, Some(130));
}

#[test]
fn fault_L8_lost_output_is_no_success() {
    let words = ended(oshrun(["-n", "2", "echo", "a word"]).stdout(full_device())).expect(1).stderr;
    assert!(words.contains("output of PEs is lost") && words.ends_with("; exit 1\n"), "{words}");

    let mut command = oshrun(["-n", "2", "sh", "-c", "trap '' PIPE; echo a word"]);
    let words = ended(command.stdout(unread_pipe())).expect(141).stderr;
    assert!(!words.contains("oshrun"), "who closes the output needs no words: {words}");
}

#[test]
fn fault_L9_a_limit_that_is_too_low_is_found_before_anything_starts() {
    let folder = TestFolder::new("faults");
    let mark = folder.join("started");
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    let line = format!("ulimit -n 1000; exec {oshrun} -n 500 touch {}", mark.display());
    let ended = ended(Command::new("sh").args(["-c", &line])).expect(126);
    ended.says(&["500 PEs take 2060 files", "the limit is 1000 (ulimit -Hn)", "at most 235 PEs"]);
    assert!(!mark.exists(), "nothing is started");
}

/// A control group that limits processes, below the one of this process. It is removed at the end of the test.
struct ProcessGroup(std::path::PathBuf);

impl ProcessGroup {
    fn new(name: &str, most: u32) -> std::io::Result<ProcessGroup> {
        let groups = std::fs::read_to_string("/proc/self/cgroup")?;
        let own = groups.lines().find_map(|line| line.split_once(":pids:/")).map_or("", |(_, path)| path);
        let folder = format!("/sys/fs/cgroup/pids/{own}/oxshmem-{name}-{}", std::process::id());
        std::fs::create_dir(&folder)?;
        let group = ProcessGroup(folder.into());
        std::fs::write(group.0.join("pids.max"), most.to_string())?;
        Ok(group)
    }

    /// The same; where none can be made, says so. Version 2 of the interface is tested over made files (`os/src/cgroup.rs`).
    fn or_say(name: &str, most: u32) -> Option<ProcessGroup> {
        ProcessGroup::new(name, most)
            .map_err(|error| not_run(format_args!("no control group for processes can be made: {error}")))
            .ok()
    }

    /// `oshrun` in the group, with these words of a shell.
    fn oshrun(&self, words: &str) -> Command {
        let (oshrun, door) = (env!("CARGO_BIN_EXE_oshrun"), self.0.join("cgroup.procs"));
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo $$ > {}; exec {oshrun} {words}", door.display())]).stdin(Stdio::null());
        command
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The kernel refuses while processes of the group are still ending.
        until("the group can be removed", || std::fs::remove_dir(&self.0).is_ok() || !self.0.exists());
    }
}

#[test]
fn fault_L9_the_process_limit_of_a_control_group_is_found_before_anything_starts() {
    let Some(group) = ProcessGroup::or_say("few", 100) else { return };
    let folder = TestFolder::new("faults");
    let mark = folder.join("started");
    let ended = ended(&mut group.oshrun(&format!("-n 150 touch {}", mark.display()))).expect(126);
    ended.says(&["150 PEs and a guardian are 151 processes", "of 100 are left", "pids.max"]);
    assert!(!mark.exists(), "nothing is started");
}

#[test]
fn output_is_shown_where_no_thread_can_be_started_any_more() {
    let Some(group) = ProcessGroup::or_say("full", 100) else { return };
    let folder = TestFolder::new("faults");
    let (ready, fifo) = (folder.join("ready"), folder.join("fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts").success());
    let script = format!("echo > {}; read go < {}; echo here", ready.display(), fifo.display());
    let mut job = group.oshrun(&format!("-l -n 1 sh -c '{script}'"));
    let job = job.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
    until("the PE runs", || ready.exists());
    std::fs::write(group.0.join("pids.max"), "1").expect("our group");
    std::fs::write(&fifo, "go\n").expect("the PE reads it");
    let ended = Ended::from(job.wait_with_output().expect("our child"));
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(0), "[0] here\n"), "{}", ended.stderr);
}

#[test]
fn a_sentence_is_shown_where_no_thread_can_be_started() {
    let Some(group) = ProcessGroup::or_say("silent", 1) else { return };
    let inside = |arguments: &str| ended(&mut group.oshrun(arguments));
    inside("-n 2 true").expect(126).says(&["2 PEs and a guardian are 3 processes", "and 0 of 1 are left"]);
    inside("--agent").expect(1).says(&["the agent cannot start: no thread can be started (ulimit -u"]);
}

#[test]
fn fault_L10_cores_that_bound_pes_share_are_told() {
    let pes = 2 * oxshmem_os::cpus::usable() + 1;
    let told = [&format!("{pes} PEs on ")[..], "--bind core binds several PEs to one core"];
    launch::run(&format!("--bind core -n {pes} true")).expect(0).says(&told);
}

#[test]
fn fault_L10_the_map_shows_virtual_nodes() {
    let ended = launch::run("--display map --nodes 2 -n 4 true").expect(0);
    let place = |words: &str| ended.stdout.find(words).unwrap_or_else(|| panic!("{words}: {}", ended.stdout));
    let rows = ["node 0 (--nodes) on ", "\n 0  ", "\n 1  ", "node 1 (--nodes) on ", "\n 2  ", "\n 3  "].map(place);
    assert!(rows.is_sorted(), "{}", ended.stdout);
}

#[test]
fn fault_L11_what_left_its_session_ends_with_a_failed_job() {
    let script = "setsid sleep 600 & echo $! > $HERE/child.$PMI_RANK
        while [ ! -s $HERE/child.0 ] || [ ! -s $HERE/child.1 ]; do sleep 0.05; done
        [ $PMI_RANK = 0 ] && wait; exit 3";
    let job = Running::script(2, script);
    let pids = job.pids(2);
    assert_eq!(job.wait().status, Some(3));
    until("the PEs and their children are gone", || !pids.iter().any(|&pid| runs(pid)));
}

#[test]
fn fault_L11_a_limit_of_file_size_is_named() {
    launch::run_script("-n 2", "kill -s XFSZ $$").expect(128 + 25).says(&["was killed by SIGXFSZ", "ulimit -f"]);
}
