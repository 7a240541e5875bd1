//! Signals to the launcher, and that nothing outlives it.

mod launch;

use std::process::Command;

use launch::{Ended, Running, WITH_CHILD, ended, is_stopped, oshrun, runs, send, until};
use oxshmem_test_folder::{TestFolder, not_run};

#[test]
fn nothing_outlives_a_killed_launcher() {
    for script in [
        WITH_CHILD,
        // Not even what has left the PE's process group and session.
        "setsid sleep 600 & echo $! > $HERE/child.$PMI_RANK; echo $$ > $HERE/pe.$PMI_RANK; wait",
        "trap '' TERM INT HUP; sleep 600 & echo $! > $HERE/child.$PMI_RANK; echo $$ > $HERE/pe.$PMI_RANK; wait; sleep 600",
    ] {
        let job = Running::script(3, script);
        let pids = job.pids(6);
        send("KILL", job.pid());
        until("the PEs and their children are gone", || !pids.iter().any(|&pid| runs(pid)));
    }
}

#[test]
fn nothing_outlives_a_launcher_killed_while_it_starts() {
    for delay in (0..20).map(|moment| 3 * moment) {
        let job = Running::script(8, WITH_CHILD);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        send("KILL", job.pid());
        until("nothing of the job runs", || job.processes().is_empty());
    }
}

#[test]
fn a_job_of_a_tool_ends_with_the_tool() {
    let mut sim = Command::new(env!("CARGO_BIN_EXE_oxshmem"));
    sim.args(["sim", "-n", "2", "--seeds", "1", "sh", "-c", WITH_CHILD]);
    let job = Running::of(sim);
    let pids = job.pids(4);
    send("KILL", job.pid());
    until("the PEs and their children are gone", || !pids.iter().any(|&pid| runs(pid)));
}

/// An agent that is killed leaves the records of its host's PEs, in a folder with the mark of the host's processes.
#[test]
fn a_guardian_removes_the_records_of_an_agent_that_was_killed() {
    let folder = TestFolder::new("ends");
    let mark = format!("ends-{}.1", std::process::id());
    let [records, of_another] = ["", "0"].map(|end| folder.join(format!("oxshmem-{mark}{end}.records")));
    for records in [&records, &of_another] {
        folder.write(records.join("pe.0.0.ledger"), "a record");
    }
    // Its input has ended, as with the agent.
    let mut guardian = oshrun(["--guardian", &mark]);
    ended(guardian.env("TMPDIR", &*folder)).expect(0);
    assert_eq!((records.exists(), of_another.exists()), (false, true));
}

#[test]
fn a_killed_pe_takes_the_job_and_its_children_down() {
    let job = Running::script(4, WITH_CHILD);
    let pids = job.pids(8);
    let victim = job.pe(2);
    send("KILL", victim);
    let ended = job.wait().expect(137);
    ended.says(&[&format!("PE 2 (pid {victim}) was killed by SIGKILL; 3 other PEs stopped; exit 137")]);
    assert!(!pids.iter().any(|&pid| runs(pid)), "oshrun waits for their end");
}

#[test]
fn what_a_pe_leaves_in_the_background_ends_with_the_job() {
    let job = Running::script(2, "sleep 600 & echo $! > $HERE/child.$PMI_RANK");
    let pids = job.pids(2);
    job.wait().expect(0).says(&["note: 2 processes that PEs have left in the background ended with the job"]);
    until("the PEs and their children are gone", || !pids.iter().any(|&pid| runs(pid)));
}

#[test]
fn problem_20_signals_end_the_job_with_the_shells_number() {
    let arguments = ["-n", "4", "sh", "-c", "echo $$ > $HERE/pe.$PMI_RANK; exec sleep 600"];
    each_signal_decides_the_status(&arguments, 4);
}

/// Sends each signal that ends a job of four PEs when so many processes have told their numbers.
fn each_signal_decides_the_status(arguments: &[&str], told: usize) {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        let job = Running::with(arguments);
        let pids = job.pids(told);
        send(signal, job.pid());
        let ended = job.wait();
        let by = if signal == "INT" { " (Ctrl-C)" } else { "" };
        let last = format!("oshrun: SIG{signal}{by} has ended the job of 4 PEs; exit {code}\n");
        assert_eq!((ended.status, ended.stderr), (Some(code), last));
        assert!(!pids.iter().any(|&pid| runs(pid)));
    }
}

#[test]
fn signals_that_are_blocked_at_the_start_end_the_job() {
    let mut command = Command::new("env");
    command.args(["--block-signal", env!("CARGO_BIN_EXE_oshrun"), "-n", "2", "sh", "-c"]);
    command.arg("echo $$ > $HERE/pe.$PMI_RANK; exec sleep 600");
    let job = Running::of(command);
    job.pids(2);
    send("TERM", job.pid());
    job.wait().expect(143).says(&["SIGTERM has ended the job of 2 PEs"]);
}

#[test]
fn stopped_pes_hear_signals_that_end_the_job() {
    for (signal, code) in [("INT", 130), ("HUP", 129), ("QUIT", 131)] {
        let job = Running::script(2, "echo $$ > $HERE/pe.$PMI_RANK; kill -STOP $$; exec sleep 600");
        let pids = job.pids(2);
        until("both PEs are stopped", || pids.iter().all(|&pid| is_stopped(pid)));
        send(signal, job.pid());
        assert_eq!(job.wait().status, Some(code));
    }
}

#[test]
fn signals_reach_pes_that_handle_them() {
    let script = "trap 'echo got $PMI_RANK; exit 0' USR2; echo $$ > $HERE/pe.$PMI_RANK; while :; do sleep 0.05; done";
    let job = Running::script(2, script);
    job.pids(2);
    send("USR2", job.pid());
    let ended = job.wait();
    // The sleep that the shell waits for is in the same process group and ends by the signal.
    assert_eq!((ended.status, ended.sorted()), (Some(0), vec!["got 0", "got 1"]), "{}", ended.stderr);
}

#[test]
fn the_second_interrupt_kills() {
    let job = Running::script(2, "trap '' INT; echo $$ > $HERE/pe.$PMI_RANK; while :; do sleep 1; done");
    let pids = job.pids(2);
    send("INT", job.pid());
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(pids.iter().all(|&pid| runs(pid)), "the first one is the program's to handle");
    send("INT", job.pid());
    assert_eq!(job.wait().status, Some(130));
}

#[test]
fn a_stubborn_job_is_killed_after_a_while() {
    let job = Running::script(2, "trap '' TERM; echo $$ > $HERE/pe.$PMI_RANK; while :; do sleep 0.2; done");
    job.pids(2);
    send("TERM", job.pid());
    assert_eq!(job.wait().status, Some(143));
}

#[test]
fn a_program_that_ends_well_when_it_is_asked_to_has_succeeded() {
    let job = Running::script(2, "trap 'exit 0' TERM; echo $$ > $HERE/pe.$PMI_RANK; while :; do sleep 0.05; done");
    job.pids(2);
    send("TERM", job.pid());
    let ended = job.wait().expect(0);
    assert!(!ended.stderr.contains("oshrun:"), "{}", ended.stderr);
}

#[test]
fn a_job_stops_and_continues_with_its_launcher() {
    let job = Running::script(2, "echo $$ > $HERE/pe.$PMI_RANK; exec sleep 600");
    let pids = job.pids(2);
    let all = || pids.iter().copied().chain([job.pid()]);
    send("TSTP", job.pid());
    until("all have stopped", || all().all(is_stopped));
    send("CONT", job.pid());
    until("all run again", || !all().any(is_stopped));
    // Ended while it is stopped, a job must not hang either.
    send("TSTP", job.pid());
    until("all have stopped", || all().all(is_stopped));
    send("TERM", job.pid());
    send("CONT", job.pid());
    assert_eq!(job.wait().status, Some(143));
}

/// Runs a command in a container that `unshare` makes with these options; nothing where it cannot.
fn inside(options: &[&str], words: &[&str]) -> Option<Ended> {
    let inside = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child"]).args(options).args(words);
        command.stdin(std::process::Stdio::null()).output()
    };
    if !inside(&["true"]).is_ok_and(|probe| probe.status.success()) {
        not_run(format_args!("unshare cannot make a container here {options:?}"));
        return None;
    }
    Some(Ended::from(inside(words).expect("unshare starts")).expect(0))
}

/// Runs two PEs under an `oshrun` that is the first process of a container.
fn in_a_container(pe: &str) -> Option<Ended> {
    let oshrun = ["env", "--default-signal", env!("CARGO_BIN_EXE_oshrun")];
    let words = [&oshrun[..], &["--timeout", "30", "-n", "2", "sh", "-c", pe]].concat();
    inside(&["--mount", "--mount-proc"], &words)
}

#[test]
fn the_first_process_of_a_container_cannot_stop_and_its_job_runs_on() {
    let Some(ended) = in_a_container("[ $PMI_RANK = 1 ] || kill -TSTP 1; sleep 1; echo on") else { return };
    assert_eq!(ended.stdout, "on\non\n", "{}", ended.stderr);
    ended.says(&["cannot stop, so the job runs on"]);
}

#[test]
fn the_first_process_of_a_container_waits_for_orphans() {
    // The parents of the sleeps end at once.
    let pe = "for i in 1 2 3; do (sleep 0.1 &); (setsid sleep 0.1 &); done; sleep 0.5
        zombies() { cat /proc/[0-9]*/stat 2>/dev/null | grep -q ') Z '; }
        for i in 1 2 3 4 5 6 7 8 9 10; do zombies || { echo none; exit 0; }; sleep 1; done
        echo zombies";
    let Some(ended) = in_a_container(pe) else { return };
    assert_eq!(ended.stdout, "none\nnone\n", "{}", ended.stderr);
}

/// A container that has kept the host's `/proc`: the numbers there are not those of the processes inside.
#[test]
fn nothing_is_left_of_a_failed_job_where_proc_has_other_numbers() {
    // The shell waits for orphans while it waits for its own sleep.
    let script = "left=$($0 -n 1 sh -c 'setsid sleep 600 >/dev/null 2>&1 & echo $!; sleep 0.5; exit 4'); echo $?
        sleep 0.5; kill -0 $left 2>/dev/null && echo it is left; true";
    let Some(ended) = inside(&[], &["sh", "-c", script, env!("CARGO_BIN_EXE_oshrun")]) else { return };
    assert_eq!(ended.stdout, "4\n", "{}", ended.stderr);
}

/// The user of a terminal, who starts a job, stops it by Ctrl-Z, and lets it go on in the background. Ends well if the job does.
const USER: &str = r#"
import os, pty, signal, sys, time
signal.alarm(60)
shell, terminal = pty.fork()
if shell == 0:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        os.execv(sys.argv[1], sys.argv[1:])
    _, status = os.waitpid(job, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        os.tcsetpgrp(0, os.getpgrp())
        os.kill(-job, signal.SIGCONT)
        _, status = os.waitpid(job, os.WUNTRACED)
    os._exit(0 if status == 0 else 1)
shown = b""
while b"begun" not in shown:
    shown += os.read(terminal, 1024)
time.sleep(0.5)
os.write(terminal, b"\x1a")
_, status = os.waitpid(shell, 0)
sys.exit(0 if status == 0 else 1)
"#;

#[test]
fn a_job_goes_on_in_the_background_of_a_terminal_that_it_reads() {
    let job = oshrun(["-n", "2", "sh", "-c", "[ $PMI_RANK = 1 ] || echo begun; sleep 2"]);
    at_a_terminal(USER, &job, 0);
}

/// Lets this user, a program in Python, start the job, and asserts how the user ends.
fn at_a_terminal(user: &str, job: &Command, status: i32) {
    match Command::new("python3").args(["-c", user]).arg(job.get_program()).args(job.get_args()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => not_run("python3 is not installed"),
        output => drop(Ended::from(output.expect("python3 starts")).expect(status)),
    }
}

/// The user of a terminal that stops writers of the background, who starts a job there, and brings it to the foreground later than agents wait
/// for a silent launcher. Ends well if the job has stopped and does.
const BACKGROUND_USER: &str = r#"
import os, pty, signal, sys, termios, time
signal.alarm(60)
shell, terminal = pty.fork()
if shell == 0:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    modes = termios.tcgetattr(0)
    modes[3] |= termios.TOSTOP
    termios.tcsetattr(0, termios.TCSANOW, modes)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[1], sys.argv[1:])
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        os._exit(2)
    time.sleep(4)
    os.tcsetpgrp(0, job)
    os.kill(-job, signal.SIGCONT)
    _, status = os.waitpid(job, 0)
    os._exit(0 if status == 0 else 1)
shown = b""
while b"on the screen" not in shown:
    shown += os.read(terminal, 1024)
_, status = os.waitpid(shell, 0)
sys.exit(os.WEXITSTATUS(status))
"#;

#[test]
fn a_job_that_writes_in_the_background_of_a_terminal_stops_as_a_whole() {
    let remote = ["-H", "a,b", "--launch-agent", "env ON={host}", "--host-timeout", "2"];
    let job = oshrun(remote.iter().chain(&["-n", "2", "sh", "-c", "echo on the screen; sleep 1"]));
    at_a_terminal(BACKGROUND_USER, &job, 0);
}

/// The user of a terminal, who waits for the word about a PE that reads it, and interrupts the job. Ends with its status.
const WAITING_USER: &str = r#"
import os, pty, signal, sys
signal.alarm(60)
job, terminal = pty.fork()
if job == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
while b"PE 1 (pid" not in shown or b"(SIGTTIN)" not in shown:
    shown += os.read(terminal, 1024)
os.write(terminal, b"\x03")
_, status = os.waitpid(job, 0)
sys.exit(status >> 8)
"#;

#[test]
fn a_pe_that_the_terminal_stops_is_named_and_can_be_interrupted() {
    let job = oshrun(["-n", "2", "sh", "-c", "[ $PMI_RANK = 0 ] || read word < /dev/tty; sleep 600"]);
    at_a_terminal(WAITING_USER, &job, 130);
}

/// The user of a terminal, who gives a job more input than is on its way to a PE elsewhere, lets it go on in the background when that PE
/// reads, and brings it back. Ends well if all the lines have arrived.
const GENEROUS_USER: &str = r#"
import os, pty, signal, sys, termios, time
signal.alarm(60)
shell, terminal = pty.fork()
if shell == 0:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    modes = termios.tcgetattr(0)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, modes)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        os.execv(sys.argv[1], sys.argv[1:])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.sigwait([signal.SIGUSR1])
    time.sleep(1)
    os.kill(-job, signal.SIGTSTP)
    os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    os.kill(-job, signal.SIGCONT)
    time.sleep(4)
    os.tcsetpgrp(0, job)
    _, status = os.waitpid(job, 0)
    os._exit(0 if status == 0 else 1)
shown = b""
while b"begun" not in shown:
    shown += os.read(terminal, 1024)
os.kill(shell, signal.SIGUSR1)
if os.fork() == 0:
    signal.alarm(30)
    text = b"".join([b"x" * 999 + b"\n"] * 400 + [b"\x04"])
    while text:
        text = text[os.write(terminal, text):]
    os._exit(0)
_, status = os.waitpid(shell, 0)
shown += os.read(terminal, 1024)
sys.exit(0 if status == 0 and b"400 lines" in shown else 1)
"#;

#[test]
fn a_pe_elsewhere_that_reads_while_its_job_is_in_the_background_meets_no_end_of_the_terminal() {
    let script = "echo begun; sleep 3; echo $(wc -l) lines";
    at_a_terminal(
        GENEROUS_USER,
        &oshrun(["-H", "a", "--launch-agent", "env ON={host}", "-n", "1", "sh", "-c", script]),
        0,
    );
}

/// A remote shell of which the test knows that it runs, and that never starts anything.
const SILENT: &str = "sh -c 'echo $$ > $HERE/pe.{host}; exec sleep 600'";

#[test]
fn a_signal_before_any_host_has_answered_decides_the_status() {
    each_signal_decides_the_status(&["-H", "a,b", "--launch-agent", SILENT, "-n", "4", "true"], 2);
}

#[test]
fn output_that_nobody_takes_keeps_no_job_that_a_signal_has_ended() {
    // The PEs take longer to die than a signal counts as one that came when they were ending.
    for signals in [&["TERM"][..], &["INT", "INT"]] {
        let mut job = Running::with(&["-n", "2", "--grace", "1.5", "sh", "-c", STUBBORN]);
        job.pids(2);
        for signal in signals {
            send(signal, job.pid());
            std::thread::sleep(std::time::Duration::from_millis(1200));
        }
        until("oshrun ends although its output is full", || job.child.try_wait().expect("our child").is_some());
        let code = if signals.len() == 1 { 143 } else { 130 };
        assert_eq!(job.child.wait().expect("our child").code(), Some(code));
    }
}

#[test]
fn a_question_about_pes_that_have_ended_costs_none_of_their_output() {
    use std::io::Read;
    let mut job = Running::script(2, "head -c 100000 /dev/zero; echo $$ > $HERE/pe.$PMI_RANK");
    let pids = job.pids(2);
    until("the PEs and their children are gone", || !pids.iter().any(|&pid| runs(pid)));
    send("USR1", job.pid());
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert!(job.child.try_wait().expect("our child").is_none(), "a reader may come");
    let mut output = Vec::new();
    job.child.stdout.take().expect("a pipe").read_to_end(&mut output).expect("it ends");
    job.wait().expect(0).says(&["the PEs of the job do this"]);
    assert_eq!(output.iter().filter(|&&byte| byte == 0).count(), 200_000);
}

/// Fills its output and ends by no signal but one.
const STUBBORN: &str = "trap '' TERM INT; echo $$ > $HERE/pe.$PMI_RANK; exec yes";
