//! Jobs over two network namespaces: hosts with addresses of their own and a cable that can be cut.

mod launch;

use std::process::{Command, Stdio};
use std::time::Instant;

use launch::sshd::Server;
use launch::{Running, ended, oshrun, probe, runs, send, until};

const RIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/rigs/network-namespaces");
/// The rig's status if it cannot run here; its output says why.
const NOT_PERMITTED: i32 = 77;

/// The rig's address of host 1.
const FAR: &str = "198.51.100.2";
const PORT: u16 = 2222;

/// Whether this is the rig. If not, the test called `name` runs there, as a process of its own.
fn is_the_rig(name: &str) -> bool {
    if std::env::var_os("NETWORK_NAMESPACES").is_some() {
        return true;
    }
    let myself = std::env::current_exe().expect("the test itself");
    let mut rig = Command::new(RIG);
    rig.arg("run").arg(myself).args([name, "--exact", "--nocapture", "--test-threads=1"]);
    let ended = ended(rig.stdin(Stdio::null()));
    match ended.status {
        Some(NOT_PERMITTED) => println!("SKIPPED {name}: {}", ended.stderr.trim()),
        status => assert_eq!(status, Some(0), "{}{}", ended.stdout, ended.stderr),
    }
    ended.stdout.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| println!("{line}"));
    false
}

/// A job whose agents are started inside the namespaces.
fn on_both(options: &[&str]) -> Command {
    oshrun([&["-H", "0,1", "--launch-agent", &format!("{RIG} on {{host}}")], options].concat())
}

#[test]
fn pes_meet_across_namespaces() {
    if !is_the_rig("pes_meet_across_namespaces") {
        return;
    }
    let probe = probe();
    for options in [&["-n", "2"][..], &["-n", "5", "--map", "cyclic"]] {
        ended(&mut on_both(&[options, &[probe.as_str(), "exchange"]].concat())).well();
    }
}

#[test]
fn agents_enter_the_namespaces_of_their_hosts() {
    if !is_the_rig("agents_enter_the_namespaces_of_their_hosts") {
        return;
    }
    let shown = ended(&mut on_both(&["-n", "2", "sh", "-c", "ip -o -4 address show | grep -c 198.51"]));
    assert_eq!(shown.stdout, "1\n1\n", "each host has its own address: {}", shown.stderr);
}

#[test]
fn nothing_is_left_in_namespaces_when_launcher_agent_or_pe_is_killed() {
    if !is_the_rig("nothing_is_left_in_namespaces_when_launcher_agent_or_pe_is_killed") {
        return;
    }
    for (victim, status) in [("launcher", None), ("agent", Some(1)), ("pe", Some(137))] {
        let job = Running::staying(on_both(&[]));
        let pids = job.pids(8);
        let victim = match victim {
            "launcher" => job.pid(),
            "agent" => job.agents()[0],
            _ => job.pe(3),
        };
        send("KILL", victim);
        until("nothing of the job runs", || !pids.iter().any(|&pid| runs(pid)) && job.processes().is_empty());
        assert_eq!(job.wait().status, status);
    }
}

#[test]
fn a_cable_between_launcher_and_agent_is_cut() {
    if !is_the_rig("a_cable_between_launcher_and_agent_is_cut") {
        return;
    }
    let (far, near) = ([RIG, "on", "1"], [RIG, "on", "0"]);
    let server = match Server::start_at(FAR, PORT, &far, &near) {
        Ok(server) => server,
        Err(why) => return println!("SKIPPED cutting the cable of an agent: {why}"),
    };
    let cable = |what: &str| assert!(Command::new(RIG).arg(what).status().unwrap().success());
    let start = |limit: &str| {
        let mut command = Command::new(RIG);
        command.args(["on", "0", env!("CARGO_BIN_EXE_oshrun"), "-H", "far", "--launch-agent", &server.words("{host}")]);
        command.args(["-x", "HERE", "--host-timeout", limit]).stdin(Stdio::null());
        Running::staying(command)
    };
    // For a while: nobody notices. The first start shows how long one takes on this machine now, since the limit counts for starts as well.
    let begun = Instant::now();
    let job = start("60");
    let pids = job.pids(8);
    let limit = (4 * begun.elapsed().as_secs()).max(15);
    cable("cut");
    std::thread::sleep(std::time::Duration::from_secs(2));
    cable("mend");
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(pids.iter().all(|&pid| runs(pid)));
    send("TERM", job.pid());
    assert_eq!(job.wait().status, Some(143));
    // For good: both sides give each other up.
    let job = start(&limit.to_string());
    let pids = job.pids(8);
    cable("cut");
    job.wait().expect(1).says(&[&format!("host far: nothing has come from it for {limit}s")]);
    until("the far host cleans up by itself", || !pids.iter().any(|&pid| runs(pid)));
    cable("mend");
}
