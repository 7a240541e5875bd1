//! The job that the user wants: programs, hosts, binding, input and output, as the command line or an agent's orders tell them.

mod paths;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use oxshmem_base::Error;
use serde::{Deserialize, Serialize};

use crate::hosts::HostEntry;

pub(crate) const MOST_PES: u32 = 1_200_000;

/// The user's wishes, checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobPlan {
    /// The programs, in the order of their PEs' numbers.
    pub programs: Vec<ProgramSpec>,
    /// How output lines begin.
    pub label: Label,
    /// Whether lines carry the time.
    pub timestamps: bool,
    /// The PEs whose output is shown.
    pub only: Option<PeList>,
    /// Where output goes instead.
    #[serde(with = "paths::optional")]
    pub output_dir: Option<PathBuf>,
    /// The readers of the input.
    pub stdin: Stdin,
    /// When the job is stopped.
    pub timeout: Option<Duration>,
    /// How long PEs may take to end when they are asked to.
    pub grace: Duration,
    /// To what PEs are bound, if the user said it.
    pub bind: Option<BindTo>,
    /// The display of their places.
    pub display: Option<Display>,
    /// As how many nodes the PEs count.
    pub nodes: u32,
    /// Where the PEs run.
    pub places: HostOptions,
    /// The records of the job that the user wants.
    pub recording: Option<RecordingPlan>,
    /// Sentences about a command line that probably means something else.
    pub notes: Vec<String>,
    /// The remedy if the program cannot be found: its name may be meant for the option before it.
    #[serde(skip)]
    pub(crate) hint: Option<String>,
    /// Whether nothing is to be started.
    pub dry_run: bool,
    /// Whether to say more.
    pub verbose: bool,
}

/// A profile of a job, a timeline of it, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingPlan {
    /// Where PEs keep their records.
    #[serde(with = "paths")]
    pub folder: PathBuf,
    /// Whether the user wants a profile, and the records behind it.
    pub profile: bool,
    /// Where the timeline goes.
    #[serde(with = "paths::optional")]
    pub trace: Option<PathBuf>,
    /// How many calls of each thread a timeline keeps.
    pub events: u32,
}

/// Where the user wants the PEs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostOptions {
    /// On which hosts; nothing: where the scheduler says, or here.
    #[serde(skip)]
    pub hosts: Option<Vec<HostEntry>>,
    /// How many on each.
    pub per_host: Option<u32>,
    /// The host of each PE.
    pub map: HostOrder,
    /// The remote shell.
    pub launch_agent: Option<String>,
    /// Where oxshmem is on other hosts.
    #[serde(with = "paths::optional")]
    pub remote_prefix: Option<PathBuf>,
    /// Agents wait on the hosts, and no remote shell is needed.
    pub waiting: Option<WaitingHosts>,
    /// How long a host may be silent.
    pub host_timeout: Duration,
    /// Whether a scheduler's limits are to be passed over.
    pub oversubscribe: bool,
    /// Whether the number of PEs was left to the launcher.
    pub size_is_open: bool,
    /// Whether all PEs run on this machine, whatever a scheduler has granted.
    #[serde(skip)]
    pub only_here: bool,
}

/// How hosts are reached on which an agent waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingHosts {
    /// The file with the key of the job, at this place on every host.
    #[serde(with = "paths")]
    pub key: PathBuf,
    /// Where the agents listen.
    pub port: u16,
    /// How long to wait for the other side.
    pub patience: Duration,
    /// Whether every host has been given the same command line.
    pub meets: bool,
}

/// How PEs are dealt to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum HostOrder {
    /// PEs with neighbouring numbers share a host.
    Block,
    /// Neighbours are on different hosts.
    Cyclic,
    /// As block; on each host PEs are dealt to its NUMA nodes in turn.
    Numa,
}

/// Exported to PEs on other hosts: what configures the library and the fabric libraries below it, and where programs
/// and libraries are found. Scripts set numbers of threads by Slurm's number, which `srun` must not read (`OPTIONS_OF_SRUN`).
const EXPORTED: [&str; 4] = ["SHMEM_", "SMA_", "FI_", "UCX_"];
const EXPORTED_TOO: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "SLURM_CPUS_PER_TASK"];

impl JobPlan {
    /// The plan, if it has no more PEs than a job can have, and those exist that are to read the input or to be shown.
    pub(crate) fn with_named_pes(self) -> Result<JobPlan, Error> {
        if self.size() > MOST_PES {
            return Err(Error::new(format!("{} PEs are too many", self.size()))
                .because(format!("a job has 1 to {MOST_PES}"))
                .fix("name a smaller number with -n, -N, or :N behind a host"));
        }
        let missing = |option: &str, pe: u32| {
            Err(Error::new(format!("{option} {pe}: there is no such PE"))
                .because(format!("the job has PEs 0 to {}", self.size() - 1)))
        };
        let beyond = |list: &PeList| list.0.iter().map(|&(first, _)| first).find(|first| *first >= self.size());
        match (self.stdin, self.only.as_ref().and_then(beyond)) {
            (Stdin::Pe(pe), _) if pe >= self.size() => missing("--stdin", pe),
            (_, Some(pe)) => missing("--only", pe),
            _ => Ok(self),
        }
    }

    /// The values that PEs get for a variable by `-x` or from the user's environment, one for each program that has one.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = OsString> {
        self.programs.iter().filter_map(move |program| {
            let chosen = program.variables.iter().rev().find(|(variable, _)| variable == name);
            chosen.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
        })
    }

    /// Number of PEs of the job.
    pub fn size(&self) -> u32 {
        self.programs.iter().map(|program| program.count).fold(0, u32::saturating_add)
    }

    /// Gives the PEs what they would have inherited here. What the user named himself comes behind it and wins.
    pub(crate) fn export(&mut self) {
        let exported =
            |name: &str| EXPORTED_TOO.contains(&name) || EXPORTED.iter().any(|prefix| name.starts_with(prefix));
        let named = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let inherited: Vec<(String, OsString)> = named.filter(|(name, _)| exported(name)).collect();
        for program in &mut self.programs {
            program.variables.splice(0..0, inherited.iter().cloned());
        }
    }
}

/// To what PEs are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum BindTo {
    /// To nothing.
    None,
    /// Each to one core, all threads of it.
    Core,
    /// Each to the processors of one NUMA node.
    Numa,
}

/// How much is shown of the PEs' places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Display {
    /// A table, before the job runs.
    #[value(name = "map")]
    Table,
    /// A picture, and nothing is run.
    #[value(name = "map=svg")]
    Picture,
}

impl BindTo {
    /// The value of `SHMEM_BIND` that says the same to the library.
    pub(crate) fn word(self) -> &'static str {
        match self {
            BindTo::None => "none",
            BindTo::Core => "core",
            BindTo::Numa => "numa",
        }
    }
}

/// One program of the job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramSpec {
    /// How many PEs run it.
    pub count: u32,
    /// The program as the user named it and its arguments.
    pub command: Vec<OsString>,
    /// Additional variables.
    pub variables: Vec<(String, OsString)>,
    /// Where it runs.
    #[serde(with = "paths::optional")]
    pub wdir: Option<PathBuf>,
}

/// How output lines begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Label {
    /// As the PE wrote them.
    None,
    /// `[0] `
    Number,
    /// `[1,0]<stdout>:`
    Tag,
}

/// The readers of the launcher's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// No PE.
    None,
    /// Every PE gets a copy.
    All,
    /// This PE.
    Pe(u32),
}

/// A list of PE numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeList(Vec<(u32, u32)>);

impl PeList {
    /// Reads numbers and ranges that commas separate: `0-3,7`.
    pub(crate) fn parse(text: &str) -> Result<PeList, String> {
        let number = |part: &str| part.trim().parse::<u32>().map_err(|_| format!("`{part}` is not a PE's number"));
        let range = |part: &str| match part.split_once('-') {
            Some((first, last)) => match (number(first)?, number(last)?) {
                (first, last) if first > last => Err(format!("the range {part} runs backwards")),
                range => Ok(range),
            },
            None => number(part).map(|pe| (pe, pe)),
        };
        text.split(',').map(range).collect::<Result<_, String>>().map(PeList)
    }

    /// Whether the list names this PE.
    pub fn contains(&self, pe: u32) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&pe))
    }
}
