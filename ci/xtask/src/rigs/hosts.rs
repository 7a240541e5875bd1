//! Two hosts on one machine (`ci/rigs/network-namespaces`), with a cable between them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::{Outcome, command, top};

/// The variable by which the rig finds its hosts.
const HOSTS: &str = "NETWORK_NAMESPACES";

/// Two hosts, for as long as this lives. If this process is killed, the rig's input ends and with it the rig.
pub(crate) struct Rig {
    process: Child,
    hosts: String,
}

impl Rig {
    /// Makes the hosts, with a cable as bad as `quality` says. `Err` says why they cannot be had here.
    pub(crate) fn new(quality: &str) -> Outcome<Rig> {
        Rig::with(quality, &[])
    }

    /// The same with options of the rig's script.
    pub(crate) fn with(quality: &str, options: &[&str]) -> Outcome<Rig> {
        let mut run = Command::new(script());
        run.args(["run", "-q", quality]).args(options);
        run.args(["sh", "-c", &format!("echo \"${HOSTS}\" && exec cat")]);
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = run.spawn().map_err(|error| format!("{} cannot be run: {error}", script().display()))?;
        let mut hosts = String::new();
        let mut said = BufReader::new(process.stdout.take().expect("it was asked for"));
        said.read_line(&mut hosts).map_err(|error| error.to_string())?;
        // The rest of its output has a reader as long as it lives.
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        if hosts.is_empty() {
            let output = process.wait_with_output().map_err(|error| error.to_string())?;
            let why = String::from_utf8_lossy(&output.stderr).trim_end().to_string();
            let refused = output.status.code() == Some(super::SKIPPED);
            return Err(if refused { why } else { format!("the rig ended with {}: {why}", output.status) });
        }
        Ok(Rig { process, hosts: hosts.trim_end().into() })
    }

    /// The words before a PE's program that run it on the PE's host.
    pub(crate) fn through(&self) -> [PathBuf; 2] {
        [script(), "here".into()]
    }

    /// Tells a command where the hosts are.
    pub(crate) fn enter<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(HOSTS, &self.hosts)
    }

    /// Pulls the cable, plugs it in, or asks it.
    pub(crate) fn cable(&self, what: &str) -> Outcome<String> {
        command::read(self.enter(Command::new(script()).arg(what)))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn script() -> PathBuf {
    top().join("ci/rigs/network-namespaces")
}
