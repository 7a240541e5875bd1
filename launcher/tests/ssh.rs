//! Jobs over real ssh: an sshd of the test's own, on a loopback port with keys that live as long as the test.

mod launch;

use std::process::Command;

use launch::sshd::Server;
use launch::{Running, ended, oshrun, probe, runs, send, until};

/// A start by sshd takes tens of seconds where many processes share a processor.
const PATIENT: [&str; 2] = ["--host-timeout", "300"];

fn on(server: &Server, arguments: &[&str]) -> Command {
    let shell = server.words("{host}");
    let usual = ["-H", "h1,h2", "--launch-agent", &shell, "-x", "HERE"];
    let mut command = oshrun(PATIENT.iter().chain(&usual).chain(arguments));
    command.env("HERE", "");
    command
}

#[test]
fn jobs_over_ssh() {
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => return println!("SKIPPED jobs over ssh: {why}"),
    };
    runs_and_meets(&server);
    names_what_is_missing(&server);
    leaves_nothing(&server);
}

fn runs_and_meets(server: &Server) {
    let probe = probe();
    let met = ended(&mut on(server, &["-n", "4", &probe, "exchange"])).well();
    assert_eq!(met.stdout.matches("exchanged").count(), 4);
    let words = ended(&mut on(server, &["-n", "1", "printf", "%s.", "a  b", "$HOME", "it's", "|"])).well();
    assert_eq!(words.stdout, "a  b.$HOME.it's.|.", "arguments are not for the remote shell");
    let reached = ended(&mut on(server, &["-n", "2", "sh", "-c", "echo $OXSHMEM_REACHED"])).well();
    assert_eq!(reached.stdout, "127.0.0.1\n127.0.0.1\n", "sshd says by which address a host was reached");
    let failed = ended(&mut on(server, &["-n", "4", "sh", "-c", "[ $PMI_RANK = 3 ] && exit 7; sleep 600"]));
    failed.expect(7).says(&["PE 3 (h2, pid"]);
}

fn names_what_is_missing(server: &Server) {
    ended(&mut on(server, &["-n", "2", "--remote-prefix", "/no/such place", "true"]))
        .expect(1)
        .says(&["the remote shell works, but oshrun cannot be run there"]);
    let shell = server.words("{host}").replace("/user ", "/nobody ");
    let refused = ended(&mut oshrun(PATIENT.iter().chain(&["-H", "h1", "--launch-agent", &shell, "true"]))).expect(1);
    refused.says(&["the remote shell failed", "Permission denied", "exited with status 255"]);
}

fn leaves_nothing(server: &Server) {
    for victim in ["launcher", "ssh", "pe"] {
        let job = Running::staying(on(server, &[]));
        let pids = job.pids(8);
        match victim {
            "launcher" => send("KILL", job.pid()),
            "pe" => send("KILL", job.pe(2)),
            _ => send("KILL", launch::children(job.pid(), "ssh")[0]),
        }
        let ended = job.wait();
        until("nothing of the job runs", || !pids.iter().any(|&pid| runs(pid)) && server.connections() == 0);
        if victim == "ssh" {
            ended.says(&["host h", "killed by SIGKILL"]);
        }
    }
}
