//! Hosts on which an agent waits, for places where no remote shell leads from one host to another: pods of Kubernetes.
//!
//! `oshrun --wait-for-launch` listens on a port and becomes the agent of a launcher that proves that it knows the job's key. The
//! launcher's "remote shell" to such a host is this program with [`reach::ARGUMENT`]: it carries the agent's pipe over one
//! connection, sealed. All else is as with any other remote shell.

pub mod host;
pub mod reach;

use std::time::Duration;

use oxshmem_base::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::hosts::{as_option, is_here};
use crate::link::sealed::{JobKey, Opened, RecordOpener, RecordSealer};
use crate::plan::{JobPlan, WaitingHosts};

/// How long one side may take for its part of the proofs.
const PROOFS: Duration = Duration::from_secs(10);

/// The part of this process in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPart {
    /// It starts the job.
    Launches,
    /// It waits for the launcher.
    Waits(WaitingHosts),
}

/// The part of this process: with `--meet` the first host launches, and the others wait. Nobody launches a job that is only shown.
pub fn part_of(plan: &JobPlan) -> Result<JobPart, Error> {
    let (Some(waiting), Some(hosts)) = (&plan.places.waiting, &plan.places.hosts) else { return Ok(JobPart::Launches) };
    if let Some(host) = hosts.iter().find(|host| host.name.contains('@')) {
        return Err(as_another_user(&host.name, waiting));
    }
    if plan.dry_run {
        return Ok(JobPart::Launches);
    }
    if !waiting.meets || is_here(&hosts[0].name) {
        // The ways to the hosts read it again. They would say for each of them that it cannot be used.
        if !hosts.iter().all(|host| is_here(&host.name)) {
            JobKey::read(&waiting.key)?;
        }
        return Ok(JobPart::Launches);
    }
    if hosts.iter().any(|host| is_here(&host.name)) {
        return Ok(JobPart::Waits(waiting.clone()));
    }
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Err(Error::new("--meet: this host is none of those that are named")
        .because(format!("it is called {}, and -H or --hostfile names {} and others", own.trim(), hosts[0].name))
        .fix("name every host by its own name, with or without a domain behind it"))
}

/// A name with a user in it never has an address.
fn as_another_user(name: &str, waiting: &WaitingHosts) -> Error {
    let option = if waiting.meets { "--meet" } else { "--hosts-wait" };
    let host = name.rsplit('@').next().unwrap_or_default();
    Error::new(format!("{option}: `{name}` names a user, and no remote shell is used"))
        .because("PEs run as the user of the agent that waits on the host")
        .fix(format!("leave the user out: {}", as_option(host)))
}

/// How a conversation ended.
#[derive(Debug, PartialEq, Eq)]
enum Closing {
    /// The other side has said its last word.
    Told,
    /// The connection broke, or its data was changed on the way.
    Broken(String),
}

/// Sends what comes from `input`, and its end.
async fn send(mut input: impl AsyncRead + Unpin, mut socket: OwnedWriteHalf, mut sealer: RecordSealer) {
    let mut bytes = vec![0; 64 << 10];
    // Where the other side reads no more, its own end tells us.
    while let Ok(length @ 1..) = input.read(&mut bytes).await {
        if socket.write_all(&sealer.seal(&bytes[..length])).await.is_err() {
            return;
        }
    }
    let _ = socket.write_all(&sealer.end()).await;
}

/// Passes on what comes from the other side.
async fn receive(mut socket: OwnedReadHalf, mut opener: RecordOpener, mut output: impl AsyncWrite + Unpin) -> Closing {
    let mut bytes = vec![0; 64 << 10];
    let mut is_read = true;
    loop {
        while let Some(opened) = opener.next() {
            match opened {
                Ok(Opened::End) => return Closing::Told,
                // An agent or launcher that reads no more has ended, and its output ends with it.
                Ok(Opened::Bytes(bytes)) => {
                    is_read = is_read && output.write_all(&bytes).await.is_ok() && output.flush().await.is_ok();
                }
                Err(why) => return Closing::Broken(why),
            }
        }
        match socket.read(&mut bytes).await {
            Ok(0) => return Closing::Broken("the other side is gone".into()),
            Ok(length) => opener.feed(&bytes[..length]),
            Err(error) => return Closing::Broken(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use oxshmem_test_folder::TestFolder;

    use super::*;

    fn part(options: &str) -> Result<JobPart, Error> {
        let plan = JobPlan::from_arguments(format!("{options} ./a").split(' ').map(Into::into).collect());
        part_of(&plan.expect("the command line is well formed"))
    }

    #[test]
    fn no_host_waits_for_a_job_that_is_only_shown() {
        let shown = "--meet --key-file key -H elsewhere,localhost";
        assert!(matches!(part(shown), Ok(JobPart::Waits(_))));
        assert_eq!(part(&format!("{shown} --dry-run")).ok(), Some(JobPart::Launches));
    }

    #[test]
    fn a_user_has_no_part_in_the_name_of_a_host_that_waits() {
        for (option, name, host) in [
            ("--meet", "me@localhost", "localhost"),
            ("--hosts-wait", "me@n1", "n1"),
            ("--hosts-wait --dry-run", "me@[fd00::9]", "[fd00::9]"),
        ] {
            let told = part(&format!("{option} --key-file key -H localhost,{name}")).expect_err(name).to_string();
            let first = option.split(' ').next().unwrap_or_default();
            let whole = name.replace(['[', ']'], "");
            let what = format!("{first}: `{whole}` names a user, and no remote shell is used");
            assert!(told.contains(&what) && told.ends_with(&format!("leave the user out: {host}")), "{told}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_used_is_a_wrong_command_line() {
        let folder = TestFolder::new("key");
        let (short, long) = (folder.write("short", "0123\n"), folder.write("long", "0123456789abcdef\n"));
        let none = folder.join("none");
        let with = |key: &Path, rest: &str| part(&format!("--hosts-wait --key-file {} {rest}", key.display()));
        assert_eq!(with(&long, "-H elsewhere").ok(), Some(JobPart::Launches));
        for (key, why) in [(&short, "it has 4 bytes"), (&none, "No such file")] {
            let told = with(key, "-H localhost,elsewhere").expect_err(why).to_string();
            assert!(told.contains("cannot use the key in ") && told.contains(why), "{told}");
            // No way leads to a host that waits.
            for rest in ["-H localhost", "-H elsewhere --dry-run"] {
                assert_eq!(with(key, rest).ok(), Some(JobPart::Launches), "{rest}");
            }
        }
    }
}
