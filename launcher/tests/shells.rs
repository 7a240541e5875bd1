//! Programs that remote shells start beside their agent, as login scripts do. The hosts are made up, as in `hosts.rs`.

mod launch;

use launch::{Running, oshrun};

/// Starts `oshrun` on these made-up hosts, whose remote shell is this script. `$0` is the host, and the rest the command for it.
fn by(script: &str, hosts: &str, arguments: &[&str]) -> Running {
    let shell = format!("sh -c '{script}' {{host}}");
    Running::of(oshrun(["-H", hosts, "--launch-agent", &shell].iter().chain(arguments)))
}

/// No limit of the job is shorter than the patience of the test. Beyond 32 hosts there are agents between the launcher and others.
#[test]
fn a_job_ends_although_something_holds_the_output_of_its_agents() {
    for hosts in ["h1,h2", "h[1-34]"] {
        let job = by(r#"sleep 600 & exec "$@""#, hosts, &["-N", "1", "--host-timeout", "600", "echo", "ran"]);
        let ended = job.wait().well();
        assert!(
            ended.stdout.lines().count() >= 2 && ended.stdout.lines().all(|line| line == "ran"),
            "{}",
            ended.stdout
        );
    }
    let job = by(r#"sleep 600 & exec "$@""#, "h1,h2", &["--host-timeout", "600", "sh", "-c", "exit 7"]);
    job.wait().expect(7);
}
