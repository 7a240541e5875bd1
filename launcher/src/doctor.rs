//! `oxshmem doctor`: everything that keeps jobs from running or from running well, on this host or on several, with a verdict,
//! the reason and the fix for each check. It looks at the hosts, then runs a small job on them.

mod facts;
mod finding;
mod judge;
mod releases;
mod trial;

use std::process::Command;
use std::time::Duration;

use clap::Args;
use oxshmem_base::Error;

use crate::captured;
use crate::hosts::{self, is_here};
use crate::link::remote_shell;
use crate::machine::beside;
use facts::Facts;
use finding::{Diagnosis, Severity};

pub(crate) use facts::library_versions;

/// The task of `oxshmem` that prints a host's facts.
pub const INSPECT: &str = "inspect";

/// How long a host may take to tell its facts: it may take a connection, and then hang at a file system.
const LIMIT: Duration = Duration::from_secs(60);

/// The hosts to look at.
#[derive(Args)]
pub struct DoctorArgs {
    /// Look at these hosts, and run a job on them: -H n1,n2 or -H n[1-8]
    #[arg(short = 'H', long = "host", value_name = "HOSTS")]
    hosts: Option<String>,
    /// Start programs on {host} by this command instead of ssh
    #[arg(long, value_name = "COMMAND")]
    launch_agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The facts of this host, for the doctor on another one.
pub fn inspect() -> Result<String, Error> {
    let facts = serde_json::to_string(&Facts::gather());
    facts.map_err(|error| Error::new("the facts cannot be written").because(error))
}

impl DoctorArgs {
    /// The diagnosis, and whether there is no fault in it.
    pub fn run(&self) -> Result<(String, bool), Error> {
        let mut diagnoses = self.diagnoses()?;
        finding::worst_first(&mut diagnoses);
        let text = if self.json {
            serde_json::to_string_pretty(&diagnoses).expect("words have a JSON form") + "\n"
        } else {
            finding::text(&diagnoses)
        };
        Ok((text, diagnoses.iter().all(|diagnosis| diagnosis.severity != Severity::Fault)))
    }

    fn diagnoses(&self) -> Result<Vec<Diagnosis>, Error> {
        let named = match &self.hosts {
            None => Vec::new(),
            Some(text) => hosts::from_option(text).map_err(|why| Error::new(format!("-H {text}")).because(why))?,
        };
        let (mut all, mut seen) = (Vec::new(), Vec::new());
        if named.is_empty() {
            seen.push(Facts::gather());
        }
        for host in &named {
            match self.look(&host.name) {
                Ok((facts, clock)) => {
                    seen.push(facts);
                    all.extend(clock);
                }
                Err(diagnosis) => all.push(*diagnosis),
            }
        }
        all.extend(judge::builds(&seen).filter(|_| seen.len() > 1));
        seen.iter().for_each(|facts| all.extend(judge::host(facts)));
        let reached = seen.len() == named.len().max(1);
        let names: Vec<&str> = named.iter().map(|host| host.name.as_str()).collect();
        if reached {
            all.extend(trial::run(&names, self.launch_agent.as_deref())?)
        } else {
            all.push(
                Diagnosis::warning("not tried")
                    .because("not every host could be reached")
                    .fix("repair the faults above, or leave those hosts out of -H")
                    .of("all hosts", "job"),
            )
        }
        Ok(all)
    }

    /// The facts of a host by its name, and how its clock goes.
    fn look(&self, name: &str) -> Result<(Facts, Option<Diagnosis>), Box<Diagnosis>> {
        if is_here(name) {
            return Ok((Facts { host: name.to_owned(), ..Facts::gather() }, None));
        }
        let (check, way) = match &self.launch_agent {
            None => ("ssh", format!("`ssh -o BatchMode=yes {name} true` work without a question (ssh-copy-id {name})")),
            Some(agent) => ("remote shell", format!("`{agent}` start `true` on {name}")),
        };
        let unreachable = |why: String| {
            let fix = format!("make {way}, and\ninstall oxshmem there at the same path as here");
            Box::new(Diagnosis::fault("the host cannot be looked at").because(why).fix(fix).of(name, check))
        };
        let words = self.command(name).map_err(unreachable)?;
        let before = facts::now();
        let said = captured::within(LIMIT, Duration::ZERO, Command::new(&words[0]).args(&words[1..]));
        let said = said.map_err(|error| unreachable(format!("{}: {error}", words[0])))?;
        if said.is_late {
            return Err(unreachable(format!("it has not answered for {LIMIT:?}")));
        }
        let after = facts::now();
        // A login script may have printed something before.
        let facts: Option<Facts> = said.output.lines().find_map(|line| serde_json::from_str(line).ok());
        let facts = facts.ok_or_else(|| {
            let last = said.messages.lines().next_back().unwrap_or("it says nothing");
            unreachable(format!("{}: {last}", said.status))
        })?;
        // The facts take most of the time, and the clock is read behind them.
        let clock = judge::clock(name, before, facts.time, after);
        Ok((Facts { host: name.to_owned(), ..facts }, Some(clock)))
    }

    fn command(&self, name: &str) -> Result<Vec<String>, String> {
        let tool = beside("oxshmem").map_err(|error| error.in_one_line())?;
        let shell = self.launch_agent.as_deref().unwrap_or(remote_shell::SSH);
        let libraries =
            std::env::var_os(remote_shell::LIBRARY_PATH).map(|folders| folders.to_string_lossy().into_owned());
        remote_shell::tool(shell, name, &tool, INSPECT, libraries.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_shell_of_the_user_is_not_taken_for_ssh() {
        let fix = |launch_agent: Option<&str>| {
            let doctor = DoctorArgs { hosts: None, launch_agent: launch_agent.map(str::to_owned), json: false };
            let fault = doctor.look("192.0.2.7").map(drop).expect_err("no tool of ours is beside a test");
            (fault.check, fault.fix.expect("each fault has one"))
        };
        let (check, own) = fix(Some("/nowhere/shell {host}"));
        assert!(check == "remote shell" && own.starts_with("make `/nowhere/shell {host}` start"), "{check}: {own}");
        assert!(fix(None).1.contains("ssh-copy-id 192.0.2.7"));
    }
}
