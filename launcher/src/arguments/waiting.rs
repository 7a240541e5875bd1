//! Options for hosts on which an agent waits.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use oxshmem_base::Error;

use super::Refusal;
use super::values::seconds;
use crate::plan::WaitingHosts;

/// The file with the key, and the port to wait on.
#[derive(Debug, Args, Clone)]
pub(super) struct MeetingPoint {
    /// The file with the job's key, the same text on every host, for --meet, --hosts-wait and --wait-for-launch
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// The port on which hosts wait
    #[arg(long, value_name = "PORT", default_value = "7170", value_parser = clap::value_parser!(u16).range(1..))]
    wait_port: u16,

    /// How long the launcher and the hosts wait for each other
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    wait_timeout: Duration,
}

/// The options by which hosts wait.
#[derive(Debug, Args)]
pub(super) struct WaitingOptions {
    /// This command was started on every host of -H, as by Kubernetes: the first host starts the job, the others wait for it
    #[arg(long, conflicts_with_all = ["hosts_wait", "launch_agent"])]
    meet: bool,

    /// `oshrun --wait-for-launch` waits on the hosts of -H, so no remote shell is used
    #[arg(long, conflicts_with = "launch_agent")]
    hosts_wait: bool,

    #[command(flatten)]
    meeting: MeetingPoint,
}

impl WaitingOptions {
    /// How hosts that wait are reached, if the user wants that. `named`: whether hosts were named.
    pub(super) fn checked(self, named: bool) -> Result<Option<WaitingHosts>, Error> {
        let option = match (self.meet, self.hosts_wait) {
            (true, _) => "--meet",
            (_, true) => "--hosts-wait",
            _ => return Ok(None),
        };
        if !named {
            return Err(
                Error::new(format!("{option} needs the names of all hosts")).fix("name them with -H or --hostfile")
            );
        }
        self.meeting.checked(option, self.meet).map(Some)
    }
}

impl MeetingPoint {
    fn checked(self, option: &str, meets: bool) -> Result<WaitingHosts, Error> {
        let key = self.key_file.ok_or_else(|| {
            Error::new(format!("{option} needs the key of the job"))
                .because("without a key any process that reaches the port could start programs there")
                .fix("put the same random text on all hosts and name its file with --key-file; in Kubernetes a Secret")
        })?;
        let key = std::path::absolute(&key)
            .map_err(|error| Error::new(format!("{} is no path", key.display())).because(error))?;
        Ok(WaitingHosts { key, port: self.wait_port, patience: self.wait_timeout, meets })
    }
}

/// Waits on this host until `oshrun --hosts-wait` starts a job here, and ends with the status of the job.
#[derive(Debug, Parser)]
#[command(name = "oshrun --wait-for-launch", version, max_term_width = 100)]
struct WaitOptions {
    #[command(flatten)]
    meeting: MeetingPoint,
}

impl WaitingHosts {
    /// Reads the arguments behind `--wait-for-launch`.
    pub fn from_arguments(arguments: &[std::ffi::OsString]) -> Result<WaitingHosts, Refusal> {
        let own = std::iter::once("oshrun --wait-for-launch".into());
        let options = WaitOptions::try_parse_from(own.chain(arguments.iter().cloned()))?;
        Ok(options.meeting.checked("--wait-for-launch", false)?)
    }
}
