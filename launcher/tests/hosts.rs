//! Jobs on many hosts. The hosts are made up: the remote shell is a command of this machine, so that everything but the
//! wire between two machines is what a cluster has, and no right is needed.

mod launch;

use std::process::{Command, Stdio};

use launch::{
    Ended, Running, WITH_CHILD, ended, has_several_cores, is_stopped, oshrun, probe, processes_with, runs, send, until,
};
use oxshmem_test_folder::TestFolder;

/// A "remote shell" that runs what it is told here, with the host's name in a variable.
const SHELL: &str = "env ON={host}";

/// `oshrun` on these made-up hosts.
fn on(hosts: &str, arguments: &[&str]) -> Command {
    oshrun(["-H", hosts, "--launch-agent", SHELL].iter().chain(arguments))
}

fn script<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [options, &["sh", "-c", script]].concat()
}

/// A job that stays until it is ended: every PE tells its number and that of a child.
fn staying(hosts: &str, options: &[&str]) -> Running {
    Running::of(on(hosts, &script(options, &format!("trap 'exit 3' TERM; {WITH_CHILD}"))))
}

/// Waits until a job has failed with these words, and nothing of it runs.
fn fails_and_leaves_nothing(job: Running, pids: &[u32], words: &[&str]) {
    let folder = job.folder.to_path_buf();
    job.wait().expect(1).says(words);
    until("nothing of the job runs", || {
        !pids.iter().any(|&pid| runs(pid)) && processes_with(folder.to_str().unwrap()).is_empty()
    });
}

#[test]
fn pes_are_dealt_to_hosts_and_know_their_places() {
    for (options, places) in [
        (&["-n", "4"][..], "0h1 1h1 2h2 3h2"),
        (&["-n", "4", "--map", "cyclic"], "0h1 1h2 2h1 3h2"),
        (&["-N", "3"], "0h1 1h1 2h1 3h2 4h2 5h2"),
        (&["-n", "3", "-N", "2"], "0h1 1h1 2h2"),
        (&[], "0h1 1h2"),
    ] {
        let ended = ended(&mut on("h1,h2", &script(options, "echo $PMI_RANK$ON"))).well();
        assert_eq!(ended.sorted().join(" "), places, "{options:?}");
    }
    let uneven = ended(&mut on("h1:1,h2:3", &script(&[], "echo $PMI_RANK$ON")));
    assert_eq!(uneven.sorted().join(" "), "0h1 1h2 2h2 3h2");
    let told = ended(&mut on("h1,h2,h3", &["-n", "5", &probe(), "hello"]));
    assert_eq!(
        told.sorted(),
        [
            "PE 0 of 5, node 0 of 3, members [0, 1], ours true",
            "PE 1 of 5, node 0 of 3, members [0, 1], ours true",
            "PE 2 of 5, node 1 of 3, members [2, 3], ours true",
            "PE 3 of 5, node 1 of 3, members [2, 3], ours true",
            "PE 4 of 5, node 2 of 3, members [4], ours true",
        ]
    );
}

#[test]
fn pes_learn_by_which_address_their_host_was_reached() {
    let mut job = on("192.0.2.7,h2", &["-n", "2", "sh", "-c", "echo $PMI_RANK ${OXSHMEM_REACHED-unknown}"]);
    // How the user came here says nothing of how the launcher came there.
    let said = ended(job.env("SSH_CONNECTION", "192.0.2.1 40000 192.0.2.99 22").env("OXSHMEM_REACHED", "192.0.2.98"));
    assert_eq!(said.sorted(), ["0 192.0.2.7", "1 unknown"], "{}", said.stderr);
}

#[test]
fn notes_of_hosts_are_shown() {
    let pes = 2 * (std::thread::available_parallelism().map_or(1, usize::from) + 8);
    let said = ended(&mut on("h1,h2", &["-v", "-n", &pes.to_string(), "true"])).expect(0);
    said.says(&[" of host h1: oversubscribed", " of host h2: oversubscribed"]);
}

#[test]
fn a_host_file_names_hosts() {
    let folder = TestFolder::new("hosts");
    let file = folder.write("hosts", "# ours\nh1 slots=2\nh2\n");
    let arguments = ["--hostfile", file.to_str().unwrap(), "--launch-agent", SHELL, "-n", "3", "sh", "-c", "echo $ON"];
    let ended = ended(&mut oshrun(arguments));
    assert_eq!((ended.status, ended.sorted().join(" ")), (Some(0), "h1 h1 h2".into()), "{}", ended.stderr);
}

#[test]
fn values_travel_between_hosts() {
    for (hosts, options) in
        [("h1,h2", &["-n", "2"][..]), ("h1,h2,h3", &["-n", "8"]), ("h[1-4]", &["-n", "9", "--map", "cyclic"])]
    {
        let probe = probe();
        let exchange = [options, &[probe.as_str(), "exchange", "2"]].concat();
        let ended = ended(&mut on(hosts, &exchange)).well();
        assert_eq!(ended.stdout.matches("exchanged").count(), options[1].parse::<usize>().unwrap());
    }
}

#[test]
fn agents_look_after_agents_beyond_32_hosts() {
    let ended = ended(&mut on("h[1-36]", &["-n", "36", &probe(), "exchange"])).well();
    assert_eq!(ended.stdout.matches("exchanged").count(), 36);
}

#[test]
fn problem_19_a_thousand_pes_over_eight_hosts_meet() {
    let ended = ended(&mut on("h[1-8]", &["-n", "1000", &probe(), "meet"])).well();
    assert_eq!(ended.stdout, "1000 PEs have met\n");
}

#[test]
fn output_has_whole_lines_and_labels_and_stays_in_its_stream() {
    let text = "for i in 1 2 3; do printf 'a%s' $i; printf 'b\\n'; done; echo oops >&2; printf end";
    let ended = ended(&mut on("h1,h2", &script(&["-l", "-n", "2"], text)));
    let mut expected: Vec<String> =
        (0..2).flat_map(|pe| ["a1b", "a2b", "a3b", "end"].map(|line| format!("[{pe}] {line}"))).collect();
    expected.sort();
    assert_eq!(ended.sorted(), expected);
    let mut errors: Vec<&str> = ended.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] oops", "[1] oops"]);
}

#[test]
fn much_output_arrives_and_a_closed_one_ends_the_writers() {
    let much = "i=0; while [ $i -lt 2000 ]; do printf '%0999d\\n' $i; i=$((i + 1)); done";
    let ended = ended(&mut on("h1,h2", &script(&["-n", "2"], much)));
    assert_eq!((ended.status, ended.stdout.len()), (Some(0), 2 * 2000 * 1000));
    let mut endless = on("h1,h2", &["-n", "2", "yes"]);
    let mut child = endless.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    until("writers meet a broken pipe", || child.try_wait().unwrap().is_some());
}

#[test]
fn input_goes_to_pe_0_wherever_it_is() {
    let folder = TestFolder::new("hosts");
    let text: String = (0..100_000).map(|i| format!("line {i}\n")).collect();
    let file = folder.write("input", &text);
    let mut first = on("h1,h2", &["-n", "2", "cat"]);
    first.stdin(std::fs::File::open(&file).unwrap());
    assert_eq!(ended(&mut first).stdout, text);
    for (wish, count) in [("all", 2), ("1", 1), ("none", 0)] {
        let mut reads = on("h1,h2", &["-n", "2", "--stdin", wish, "wc", "-l"]);
        let told = ended(reads.stdin(std::fs::File::open(&file).unwrap())).stdout;
        assert_eq!(told.matches("100000").count(), count, "--stdin {wish}: {told}");
    }
    // A PE that does not read must not hold up the job's end.
    let mut deaf = on("h1,h2", &["-n", "2", "true"]);
    assert_eq!(ended(deaf.stdin(std::fs::File::open(&file).unwrap())).status, Some(0));
}

#[test]
fn a_pe_that_has_ended_keeps_no_other_from_the_input() {
    use std::io::Write;
    let reads = "if [ $PMI_RANK = 1 ]; then read line; echo $$ > $HERE/pe.1; else wc -c; fi";
    let mut command = on("h1,h2", &script(&["-n", "2", "--stdin", "all"], reads));
    command.stdin(Stdio::piped());
    let mut job = Running::of(command);
    let mut input = job.child.stdin.take().expect("it was asked for");
    input.write_all(b"x\n").expect("oshrun reads");
    let pid = job.pids(1)[0];
    until("PE 1 has ended", || !runs(pid));
    // The launcher hears of the end before more input comes.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let writer = std::thread::spawn(move || {
        // More than a PE that runs may be behind the others. A job that has failed reads no more.
        let piece = vec![b'y'; 1 << 20];
        let _ = (0..66).try_for_each(|_| input.write_all(&piece));
    });
    let ended = job.wait();
    assert_eq!((ended.status, ended.stdout.trim()), (Some(0), "69206018"), "{}", ended.stderr);
    writer.join().expect("it does not panic");
}

#[test]
fn variables_and_folders_travel() {
    let show = "echo $SHMEM_DEBUG,$FI_X,$MINE,$OTHER,$PWD";
    let mut job = oshrun(["-H", "h1", "--launch-agent", "env -i PATH=/bin ON={host}", "-x", "MINE", "-x", "OTHER=2"]);
    job.args(["sh", "-c", show]).env("SHMEM_DEBUG", "a").env("FI_X", "b").env("MINE", "c").current_dir("/usr");
    let shown = ended(&mut job);
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("a,b,c,2,/usr\n", ""));
    // A shell looks where it is. Other programs believe the variable, which a remote shell has set to where it began.
    for (options, folder) in [(&[][..], "/usr"), (&["--wdir", "/"], "/"), (&["-x", "PWD=/mine"], "/mine")] {
        let agent = ["-H", "h1", "--launch-agent", "env -C / PWD=/ ON={host}"];
        let mut job = oshrun([&agent[..], options, &["printenv", "PWD"]].concat());
        assert_eq!(ended(job.current_dir("/usr")).stdout.trim(), folder, "{options:?}");
    }
}

#[test]
fn a_host_without_the_folder_of_the_launcher_serves_where_the_user_names_another_one() {
    let gone = TestFolder::new("hosts");
    let job = |options: &[&str]| {
        std::fs::create_dir_all(&*gone).unwrap();
        let oshrun = on("h1,h2", &[options, &["-n", "2", "/bin/pwd"]].concat());
        let mut job = Command::new("sh");
        job.args(["-c", "cd \"$0\" && rmdir \"$0\" && exec \"$@\""]).arg(&*gone);
        ended(job.arg(oshrun.get_program()).args(oshrun.get_args()).stdin(Stdio::null()))
    };
    job(&[]).expect(2).says(&[&format!("cannot run in {} (deleted)", gone.display()), "to fix:", "--wdir /DIR"]);
    assert_eq!(job(&["--wdir", "/"]).expect(0).sorted(), ["/", "/"]);
}

#[test]
fn problem_20_the_first_failure_decides_and_names_its_host() {
    let fails = script(&["-n", "4"], "[ $PMI_RANK = 2 ] && exit 3; exec sleep 600");
    let failed = ended(&mut on("h1,h2", &fails)).expect(3);
    assert!(failed.stderr.starts_with("oshrun: PE 2 (h2, pid "), "{}", failed.stderr);
    let said = failed.stderr;
    assert!(said.contains(") exited with status 3; ") && said.ends_with("exit 3\n"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let killed = ended(&mut on("h1,h2", &script(&["-n", "4"], "[ $PMI_RANK = 1 ] && kill -SEGV $$; exec sleep 600")));
    killed.expect(139).says(&["PE 1 (h1, pid", "was killed by SIGSEGV"]);
}

#[test]
fn global_exit_and_missing_pes_end_the_job_across_hosts() {
    let probe = probe();
    let job = |words: &[&str]| ended(&mut on("h1,h2", &[&["-n", "4", &probe], words].concat()));
    for (status, pe) in [("7", "3"), ("0", "1")] {
        job(&["abort", status, pe]).expect(status.parse().unwrap());
    }
    job(&["fence-or-exit"]).expect(1).says(&["PE 1 (h1, pid", "ended before"]);
    job(&["desert"]).expect(0).says(&["PE 1 (h1, pid", "without shmem_finalize"]);
}

#[test]
fn a_program_that_is_not_there_is_named_with_the_host() {
    for (program, status, reason) in [
        ("./no-such-program", 127, "there is no such file"),
        ("no-such-program", 127, "PATH"),
        ("/tmp", 126, "directory"),
    ] {
        ended(&mut on("h1,h2", &["-n", "4", program])).expect(status).says(&["could not be started on host h", reason]);
    }
}

#[test]
fn problem_25_every_stage_that_fails_is_named() {
    let folder = TestFolder::new("hosts");
    let tool = |name: &str, script: &str| folder.write_executable(name, format!("#!/bin/sh\n{script}\n"));
    // A host with another build of oshrun, one where something else has that name, one that says nothing.
    tool("other/bin/oshrun", "echo 'Welcome!'; echo 'oxshmem-agent/1 9.9.9 0123456789abcdef'; exec sleep 600");
    tool("strange/bin/oshrun", "yes 'this is no launcher' | head -c 100000");
    tool("mute/bin/oshrun", "exec sleep 600");
    tool("broken/bin/oshrun", "echo 'cannot open display' >&2; exit 5");
    let refused = tool("refused", "echo 'ssh: connect to host n9 port 22: Connection refused' >&2; exit 255");
    let joining = tool("joining", "shift; exec sh -c \"$*\"");
    let noisy = tool("noisy", "echo \"Welcome to $1\"; shift; exec \"$@\"");
    let prefix = |name: &str| vec!["--remote-prefix".to_string(), folder.join(name).display().to_string()];
    let agent = |words: &str| vec!["--launch-agent".to_string(), words.to_string()];
    let cases: [(Vec<String>, &[&str]); 8] = [
        (
            agent("no-such-shell {host}"),
            &["host n9", "remote shell cannot be started", "no-such-shell", "--launch-agent"],
        ),
        (
            agent(&format!("{} {{host}}", refused.display())),
            &["remote shell failed", "status 255", "Connection refused"],
        ),
        (
            agent(&format!("{} {{host}}", joining.display())),
            &[
                "joining n9` joins its words for another shell",
                "ssh, rsh, remsh, kubexec.sh",
                "it said: ",
                "yntax error",
            ],
        ),
        (prefix("nothing"), &["the remote shell works, but oshrun cannot be run there", "--remote-prefix"]),
        (prefix("other"), &["a different build of oshrun is there: 9.9.9 0123456789abcdef", "0.1.0"]),
        (prefix("strange"), &["what answers there is not oshrun", "this is no launcher"]),
        (prefix("broken"), &["remote shell failed", "status 5", "cannot open display"]),
        ([prefix("mute"), vec!["--host-timeout".into(), "1".into()]].concat(), &["neither answered nor failed", "1s"]),
    ];
    for (options, words) in cases {
        let shell = if options[0] == "--launch-agent" { vec![] } else { agent(SHELL) };
        let failed = ended(oshrun(["-H", "n9", "-n", "2"]).args(shell).args(&options).arg("true")).expect(1);
        assert!(failed.stderr.starts_with("oshrun: host n9: "), "{options:?}: {}", failed.stderr);
        failed.says(words);
    }
    for (words, why) in [("'ssh", "not closed"), ("", "no command is named")] {
        ended(oshrun(["-H", "n9"]).args(agent(words)).arg("true")).expect(2).says(&["--launch-agent", why]);
    }
    // The output of a login script does no harm.
    ended(oshrun(["-H", "n9"]).args(agent(&format!("{} {{host}}", noisy.display()))).arg("true")).well();
}

/// An sshd with many connections at once closes some of them. This one does so twice for each host, or always.
#[test]
fn connections_that_sshd_turns_away_are_tried_again() {
    let folder = TestFolder::new("hosts");
    let turned_away = "echo 'kex_exchange_identification: Connection closed by remote host' >&2; exit 255";
    let script = format!(
        "#!/bin/sh\necho x >> \"$0.$1\"\n[ $(wc -l < \"$0.$1\") -gt 2 ] || {{ {turned_away}; }}\nshift\nexec \"$@\"\n"
    );
    let busy = folder.write_executable("busy", script);
    let full = folder.write_executable("full", format!("#!/bin/sh\n{turned_away}\n"));
    let job = |hosts: &str, shell: &std::path::Path| {
        let agent = format!("{} {{host}}", shell.display());
        ended(&mut oshrun(["-H", hosts, "--launch-agent", &agent, "sh", "-c", "echo $PMI_RANK"]))
    };
    assert_eq!(job("h1,h2", &busy).well().sorted(), ["0", "1"]);
    let words =
        ["host h1", "the remote shell failed", "Connection closed by remote host", "sshd has closed 6 connections"];
    job("h1", &full).expect(1).says(&words);
}

#[test]
fn problem_25_one_host_that_fails_takes_the_others_down() {
    let shell = "sh -c 'test \"$0\" != h2 || exit 9; exec \"$@\"' {host}";
    let folder = TestFolder::new("hosts");
    let mut job = oshrun(["-H", "h1,h2", "--launch-agent", shell, "-n", "4", "sleep", "600"]);
    ended(job.env("HERE", &*folder)).expect(1).says(&["host h2: the remote shell failed"]);
    until("nothing of the job runs", || processes_with(folder.to_str().unwrap()).is_empty());
}

#[test]
fn signals_and_limits_of_time_reach_every_host() {
    for (signal, code) in [("INT", 130), ("TERM", 3)] {
        let job = staying("h1,h2", &["-n", "4"]);
        let pids = job.pids(8);
        send(signal, job.pid());
        let here = job.folder.to_path_buf();
        assert_eq!(job.wait().status, Some(code), "SIG{signal}");
        // The kernel takes a killed process apart after the signal.
        until("no PE runs", || !pids.iter().any(|&pid| runs(pid)));
        until("no process is left", || processes_with(here.to_str().unwrap()).is_empty());
    }
    ended(&mut on("h1,h2", &["--timeout", "0.5", "-n", "4", "sleep", "600"])).expect(124).says(&["--timeout"]);
}

#[test]
fn a_job_stops_and_continues_on_all_hosts() {
    let job = staying("h1,h2", &["--host-timeout", "10", "-n", "2"]);
    let pids = job.pids(4);
    send("TSTP", job.pid());
    until("all have stopped", || is_stopped(job.pid()) && pids.iter().all(|&pid| is_stopped(pid)));
    // Longer than a host may be silent while the job runs.
    std::thread::sleep(std::time::Duration::from_secs(11));
    send("CONT", job.pid());
    until("all run again", || !pids.iter().any(|&pid| is_stopped(pid)));
    send("TERM", job.pid());
    assert_eq!(job.wait().status, Some(3));
}

/// The launcher itself stops a moment after the PEs.
#[test]
fn a_job_that_is_continued_at_once_goes_on() {
    let job = staying("h1,h2", &["-n", "2"]);
    let pids = job.pids(4);
    send("TSTP", job.pid());
    until("a PE has stopped", || pids.iter().any(|&pid| is_stopped(pid)));
    send("CONT", job.pid());
    until("all run again", || !pids.iter().any(|&pid| is_stopped(pid)));
    // Later than the launcher would stop.
    std::thread::sleep(std::time::Duration::from_millis(300));
    send("TERM", job.pid());
    assert_eq!(job.wait().status, Some(3));
}

#[test]
fn nothing_outlives_a_killed_launcher_on_any_host() {
    let job = staying("h1,h2,h3", &["-n", "6"]);
    let pids = job.pids(12);
    send("KILL", job.pid());
    until("all PEs, their children and the agents are gone", || {
        !pids.iter().any(|&pid| runs(pid)) && job.processes().is_empty()
    });
    for delay in (0..10).map(|moment| 20 * moment) {
        let job = staying("h1,h2", &["-n", "4"]);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        send("KILL", job.pid());
        until("nothing of the job runs", || job.processes().is_empty());
    }
}

#[test]
fn a_killed_agent_is_a_lost_host() {
    let job = staying("h1,h2", &["-n", "4"]);
    let pids = job.pids(8);
    let agents = job.agents();
    assert_eq!(agents.len(), 2);
    send("KILL", agents[1]);
    fails_and_leaves_nothing(job, &pids, &["oshrun: host h", "its agent was killed by SIGKILL"]);
}

/// Beyond 32 hosts there are agents between the launcher and others.
#[test]
fn an_agent_between_is_killed() {
    let job = staying("h[1-34]", &["-n", "34"]);
    let pids = job.pids(68);
    let agents = job.agents();
    let parent = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok())
    };
    let above = |pid: u32| std::iter::successors(parent(pid), |&pid| parent(pid)).find(|pid| agents.contains(pid));
    let between = agents.iter().find_map(|&pid| above(pid)).expect("an agent that has started another");
    send("KILL", between);
    fails_and_leaves_nothing(job, &pids, &["more behind it", "SIGKILL"]);
}

#[test]
fn hosts_behind_agents_have_input_statuses_and_labels() {
    let hosts = "h[1-34]";
    let mut reads = on(hosts, &["-n", "34", "--stdin", "33", "-l", "sh", "-c", "cat; echo $ON >&2"]);
    let mut child = reads.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"for the last\n").unwrap();
    let told = Ended::from(child.wait_with_output().unwrap());
    assert_eq!((told.status, told.stdout.as_str()), (Some(0), "[33] for the last\n"), "{}", told.stderr);
    assert!((0..34).all(|pe| told.stderr.contains(&format!("[{pe}] h{}\n", pe + 1))), "{}", told.stderr);
    let fails = script(&["-n", "34"], "[ $PMI_RANK = 33 ] && kill -SEGV $$; exec sleep 600");
    let failed = ended(&mut on(hosts, &fails)).expect(139);
    assert!(failed.stderr.starts_with("oshrun: PE 33 (h34, pid "), "{}", failed.stderr);
}

#[test]
fn a_killed_pe_takes_all_hosts_down() {
    let job = staying("h1,h2", &["-n", "4"]);
    let pids = job.pids(8);
    let victim = job.pe(3);
    send("KILL", victim);
    let folder = job.folder.to_path_buf();
    job.wait().expect(137).says(&[&format!("PE 3 (h2, pid {victim}) was killed by SIGKILL")]);
    assert!(!pids.iter().any(|&pid| runs(pid)), "oshrun waits for their end");
    assert_eq!(processes_with(folder.to_str().unwrap()), [0u32; 0]);
}

#[test]
fn a_silent_host_is_given_up() {
    // A busy machine needs some seconds to start the agents.
    let job = staying("h1,h2", &["--host-timeout", "10", "-n", "4"]);
    let pids = job.pids(8);
    let agents = job.agents();
    // Everything of that host is as it is when its cable is cut: nobody ends, nobody speaks.
    send("STOP", agents[0]);
    fails_and_leaves_nothing(job, &pids, &["nothing has come from it for 10s"]);
}

/// PEs are bound by their number on the host, so every host begins with its first core.
#[test]
fn pes_of_every_host_are_bound_there() {
    let show = "echo $PMI_RANK $ON $(sed -n 's/Cpus_allowed_list:.//p' /proc/self/status) $SHMEM_BIND";
    for (map, hosts) in [("block", ["h1", "h1", "h2", "h2"]), ("cyclic", ["h1", "h2", "h1", "h2"])] {
        let bound = ended(&mut on("h1,h2", &script(&["-n", "4", "--map", map, "--bind", "core"], show))).expect(0);
        let lines: Vec<Vec<&str>> = bound.sorted().into_iter().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines.iter().map(|line| line[1]).collect::<Vec<_>>(), hosts, "{map}");
        assert!(lines.iter().all(|line| line[3] == "core"), "{lines:?}");
        let of = |host| lines.iter().filter(|line| line[1] == host).map(|line| line[2]).collect::<Vec<_>>();
        assert_eq!(of("h1"), of("h2"), "both are this machine");
        assert_eq!(of("h1")[0] != of("h1")[1], has_several_cores(), "{lines:?}");
    }
}

/// Three hosts, each as the recorded machine is.
fn mapped(display: &str, program: &[&str]) -> Option<Ended> {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/topology/fixtures/two-socket-infiniband.xml");
    let mut job = on("h[1-3]", &[&["-n", "7", "--bind", "core", "--display", display], program].concat());
    ended(job.env("SHMEM_TOPOLOGY", machine)).with_hwloc().map(Ended::well)
}

#[test]
fn the_maps_of_all_hosts_come_in_their_order() {
    let Some(shown) = mapped("map", &["true"]) else { return };
    let heads: Vec<&str> = shown.stdout.lines().filter(|line| line.contains("NUMA nodes")).collect();
    assert_eq!(heads.len(), 3, "{}", shown.stdout);
    for (head, host) in heads.iter().zip(["h1: ", "h2: ", "h3: "]) {
        assert!(head.starts_with(host), "{head}");
    }
    let places = |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok());
    let rows: Vec<&str> = shown.stdout.lines().filter(places).collect();
    assert_eq!(rows.len(), 7, "{}", shown.stdout);
    let what = |row: &str| row.split_whitespace().skip(1).map(String::from).collect::<Vec<_>>();
    // The first PE of every host has the same place there: 0, 3 and 5 of blocks of 3, 2 and 2.
    assert_eq!((what(rows[0]), what(rows[0])), (what(rows[3]), what(rows[5])), "{}", shown.stdout);
}

#[test]
fn the_picture_of_all_hosts_is_one_and_nothing_is_run() {
    let Some(shown) = mapped("map=svg", &["sh", "-c", "echo it ran"]) else { return };
    let svg = shown.stdout;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("it ran"), "{svg}");
    assert_eq!((svg.matches("<svg ").count(), svg.matches("</svg>").count()), (4, 4));
    let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("{text} is not in {svg}"));
    assert!(at(">h1<") < at(">PE 2<") && at(">PE 2<") < at(">h2<") && at(">h3<") < at(">PE 6<"));
}

#[test]
fn a_dry_run_shows_hosts_commands_and_pes() {
    let shown = ended(&mut on("h1,h2:3", &["-n", "4", "--dry-run", "./a", "b c"])).well();
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[0].starts_with("host h1: env ON=h1 sh -c "), "{}", lines[0]);
    assert!(lines[1].starts_with("PE 0 on h1: PMI_RANK=0 PMI_SIZE=4 "), "{}", lines[1]);
    assert!(lines[1].ends_with(" ./a 'b c'"));
    assert_eq!(lines.iter().filter(|line| line.starts_with("PE ")).count(), 4);
}
