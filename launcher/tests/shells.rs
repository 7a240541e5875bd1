//! Programs that remote shells start beside their agent, as login scripts do. The hosts are made up, as in `hosts.rs`.

mod launch;

use std::path::Path;

use launch::{Running, oshrun, processes_with, send, until};

/// Starts `oshrun` on these made-up hosts, whose remote shell is this script. `$0` is the host, and the rest the command for it.
fn by(script: &str, hosts: &str, arguments: &[&str]) -> Running {
    let shell = format!("sh -c '{script}' {{host}}");
    Running::of(oshrun(["-H", hosts, "--launch-agent", &shell].iter().chain(arguments)))
}

/// Waits until nothing has this folder in its environment.
fn nothing_stays(folder: &Path) {
    until("nothing of the job runs", || processes_with(folder.to_str().expect("text")).is_empty());
}

/// No limit of the job is shorter than the patience of the test. Beyond 32 hosts there are agents between the launcher and others.
#[test]
fn a_job_ends_although_something_holds_the_output_of_its_agents() {
    for hosts in ["h1,h2", "h[1-34]"] {
        let job = by(r#"sleep 600 & exec "$@""#, hosts, &["-N", "1", "--host-timeout", "600", "echo", "ran"]);
        let folder = job.folder.to_path_buf();
        let ended = job.wait().well();
        assert!(
            ended.stdout.lines().count() >= 2 && ended.stdout.lines().all(|line| line == "ran"),
            "{}",
            ended.stdout
        );
        nothing_stays(&folder);
    }
    let job = by(r#"sleep 600 & exec "$@""#, "h1,h2", &["--host-timeout", "600", "sh", "-c", "exit 7"]);
    job.wait().expect(7);
}

/// Neither the script nor what it has started is an agent.
#[test]
fn nothing_of_a_shell_stays_that_is_given_up() {
    let hangs = r#"sleep 600 & echo $! > "$HERE/$0"; sleep 600; true"#;
    for interrupt in [false, true] {
        let limit = if interrupt { "600" } else { "2" };
        let job = by(hangs, "h1,h2", &["--host-timeout", limit, "true"]);
        let folder = job.folder.to_path_buf();
        if interrupt {
            job.pids(2);
            send("INT", job.pid());
            job.wait().expect(130);
        } else {
            job.wait().expect(1).says(&["the remote shell has neither answered nor failed within 2s"]);
        }
        nothing_stays(&folder);
    }
}
