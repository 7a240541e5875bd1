//! Two hosts on one machine (`ci/rigs/network-namespaces`), with a cable between them.

use std::path::PathBuf;
use std::process::Command;

use super::HeldRig;
use crate::{Outcome, command, top};

/// The script of the rig, and the variable by which it finds its hosts.
const SCRIPT: &str = "network-namespaces";
const HOSTS: &str = "NETWORK_NAMESPACES";

/// Two hosts, for as long as this lives.
pub(crate) struct Rig(HeldRig);

impl Rig {
    /// Makes the hosts, with a cable as bad as `quality` says. `Err` says why they cannot be had here.
    pub(crate) fn new(quality: &str) -> Outcome<Rig> {
        Rig::with(quality, &[])
    }

    /// The same with options of the rig's script.
    pub(crate) fn with(quality: &str, options: &[&str]) -> Outcome<Rig> {
        HeldRig::start(SCRIPT, &[&["run", "-q", quality], options].concat(), HOSTS)?.map(Rig)
    }

    /// The words before a PE's program that run it on the PE's host.
    pub(crate) fn through(&self) -> [PathBuf; 2] {
        [script(), "here".into()]
    }

    /// Tells a command where the hosts are.
    pub(crate) fn enter<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(HOSTS, &self.0.told)
    }

    /// Pulls the cable, plugs it in, or asks it.
    pub(crate) fn cable(&self, what: &str) -> Outcome<String> {
        command::read(self.enter(Command::new(script()).arg(what)))
    }
}

fn script() -> PathBuf {
    top().join("ci/rigs").join(SCRIPT)
}
