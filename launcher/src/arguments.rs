//! The command line of `oshrun`.

mod advice;
mod prepared;
mod simulated;
mod values;
mod waiting;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser};
use oxshmem_base::Error;
use oxshmem_os::process;

use crate::arguments::advice::{behind_a_colon, stray_count, unshown_output};
use crate::arguments::prepared::{PreparedWords, SwallowedWord, is_called, prepared};
use crate::arguments::values::{Hosts, host_list, number_of_pes, remote_command, seconds, stdin, unset, variable};
use crate::arguments::waiting::WaitingOptions;
use crate::machine::helper;
use crate::plan::{BindTo, Display, HostOptions, HostOrder, JobPlan, Label, PeList, ProgramSpec, RecordingPlan, Stdin};
use crate::{hosts, usage};

/// Runs a program as the PEs of one OpenSHMEM job, on this machine or on several hosts.
///
/// Several programs in one job are separated by a colon: oshrun -n 2 ./a : -n 2 ./b
///
/// Hosts are those of -H or --hostfile, or those that Slurm, PBS or Flux granted. An agent is started on each by ssh, or
/// by the scheduler, and everything travels through its pipe: no port is opened for control and nothing stays behind.
/// PEs get SHMEM_*, SMA_*, FI_*, UCX_*, PATH, LD_LIBRARY_PATH and SLURM_CPUS_PER_TASK from here, and what -x names.
///
/// The exit status is that of the first PE that fails, 128+N if signal N ended it (Ctrl-C: 130), 124 after --timeout,
/// 126 or 127 if the program cannot be started, 1 if a host, output or records are lost, 141 if the reader of the output
/// has gone, 2 for a wrong command line, else 0. When a PE fails the others are stopped.
#[derive(Debug, Parser)]
#[command(name = "oshrun", version = concat!(env!("CARGO_PKG_VERSION"), " (oxshmem)"), max_term_width = 100)]
pub struct OshrunOptions {
    #[command(flatten)]
    app: App,

    /// Run on these hosts; :N says for how many PEs one is meant, brackets mean several, or hold an IPv6
    /// address: -H n1:4,n2:4 or -H n[1-8] or -H [::1]:2
    #[arg(short = 'H', long = "host", value_name = "HOSTS", value_parser = host_list, conflicts_with = "hostfile")]
    hosts: Option<Hosts>,

    /// Run on the hosts that this file names, one a line: name, name:4 or name slots=4
    #[arg(long, value_name = "FILE", visible_alias = "machinefile")]
    hostfile: Option<PathBuf>,

    /// Number of PEs on each host, or on each node of --nodes; without -n the job has this many on every one
    #[arg(short = 'N', long = "ppn", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per_host: Option<u32>,

    /// Order in which hosts get PEs: one host after the other is filled (block), each host gets one PE at a time
    /// (cyclic), or block with each host's PEs dealt to its NUMA nodes (numa)
    #[arg(long, value_enum, default_value_t = HostOrder::Block)]
    map: HostOrder,

    /// Command that starts a program on {host} and connects to it, instead of ssh (for example 'ip netns exec {host}').
    /// Its arguments are quoted for a shell there if it is ssh, rsh, remsh or kubexec.sh
    #[arg(long, value_name = "COMMAND", value_parser = remote_command)]
    launch_agent: Option<String>,

    /// The other hosts have oxshmem in this directory: DIR/bin/oshrun [default: the same path as here, or PATH]
    #[arg(long, value_name = "DIR")]
    remote_prefix: Option<PathBuf>,

    #[command(flatten)]
    waiting: WaitingOptions,

    /// Give up a host that sends nothing for this time
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    host_timeout: Duration,

    /// Begin every line of output with the PE's number: [0] text
    #[arg(short, long)]
    label: bool,

    /// Begin every line of output in Open MPI's manner: [1,0]<stdout>:text
    #[arg(long, conflicts_with = "label")]
    tag_output: bool,

    /// Begin every line of output with the time of day (UTC)
    #[arg(long)]
    timestamp_output: bool,

    /// Show the output of these PEs only, for example 0-3,7
    #[arg(long, value_name = "PES", value_parser = PeList::parse)]
    only: Option<PeList>,

    /// Write each PE's output to DIR/pe.N.out and DIR/pe.N.err
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Readers of oshrun's standard input: a PE's number, all or none. With all, none may fall 64 MiB behind
    #[arg(long, value_name = "PE|all|none", default_value = "0", value_parser = stdin)]
    stdin: Stdin,

    /// Stop the job after this time, with exit status 124
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// How long PEs may take to end after SIGTERM or --timeout before they are killed
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    grace: Duration,

    /// Bind each PE to a core (also without a value) or to a NUMA node, among the processors that this process may use
    #[arg(long, value_enum, value_name = "core|numa|none", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "core", hide_possible_values = true)]
    bind: Option<BindTo>,

    /// Show where the PEs are: `map` prints a table and runs the job, `map=svg` prints a picture and runs nothing
    #[arg(long, value_enum, value_name = "map|map=svg", hide_possible_values = true)]
    display: Option<Display>,

    /// Treat the PEs as if they were on N nodes, in equal blocks [default: 1; with --sim one for each PE]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,

    /// Run over a simulated network, the worst that the standard permits (see `oxshmem sim`): SEED, or lazy:SEED and the like
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = simulated::detail)]
    sim: Option<String>,

    /// Say at the start which transport the job takes and why no other one, as SHMEM_INFO does
    #[arg(long)]
    explain: bool,

    /// Record what the program does with the library, print a summary at the end and write DIR/profile.html
    /// [default: oxshmem-profile]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = PROFILE)]
    profile: Option<PathBuf>,

    /// Write a timeline of all PEs' calls for ui.perfetto.dev and chrome://tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Calls of each thread that --trace keeps: the last ones
    #[arg(long, value_name = "N", requires = "trace", default_value = "262144", value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    trace_events: u32,

    /// Show what would be started and start nothing
    #[arg(long)]
    dry_run: bool,

    /// Run the demonstration program that comes with oxshmem (on 4 PEs unless -n says otherwise)
    #[arg(long)]
    demo: bool,

    /// Say more about what the launcher does
    #[arg(short, long)]
    verbose: bool,

    #[arg(long, hide = true)]
    allow_run_as_root: bool,

    /// Run more PEs than the scheduler's allocation has processors for
    #[arg(long)]
    oversubscribe: bool,
}

/// PE 0 explains the choice and lists no variables.
const EXPLAIN: &str = "SHMEM_INFO=choice";

/// The directory of --profile.
const PROFILE: &str = "oxshmem-profile";

/// Options that each program of the job may have for itself.
#[derive(Debug, Args, Clone)]
struct App {
    /// Number of PEs that run this program (also -np N)
    /// [default: 1; on hosts, if there is one program, as many as the hosts have slots, or one on each]
    #[arg(short = 'n', long = "np", value_name = "N", value_parser = number_of_pes, allow_negative_numbers = true)]
    count: Option<u32>,

    /// Give the PEs this variable, with its present or a new value
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]")]
    variables: Vec<OsString>,

    /// Run in this directory
    #[arg(long, visible_alias = "wd", value_name = "DIR")]
    wdir: Option<PathBuf>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// The options after a colon.
#[derive(Debug, Parser)]
#[command(name = "oshrun")]
struct NextApp {
    #[command(flatten)]
    app: App,
}

impl JobPlan {
    /// Reads the arguments, without the program's own name. A wrong command line, `--help` and `--version` come back
    /// as clap's error, which knows how to print itself and with which status to exit.
    pub fn from_arguments(arguments: Vec<OsString>) -> Result<JobPlan, Refusal> {
        let mut sections = arguments.split(|argument| argument == ":");
        let first = prepared(sections.next().unwrap_or_default(), OshrunOptions::command())?;
        let PreparedWords { words, hint, mut swallowed } = first;
        let options = OshrunOptions::try_parse_from(words)?;
        unshown_output(&options)?;
        let mut apps = vec![options.app];
        for section in sections {
            let next = prepared(section, NextApp::command())?;
            apps.push(NextApp::try_parse_from(next.words).map_err(behind_a_colon)?.app);
            swallowed = next.swallowed;
        }
        let explained = apps.iter_mut().filter(|_| options.explain);
        explained.for_each(|app| app.variables.push(EXPLAIN.into()));
        if options.demo {
            if let [program, ..] = &apps[0].command[..] {
                return Err(Error::new("--demo runs the demonstration, and a program is named too")
                    .because(format!("`{}` stands behind the options", program.display()))
                    .fix("leave one of the two out")
                    .into());
            }
            apps[0].count.get_or_insert(4);
            apps[0].command.insert(0, helper("oshdemo")?.into());
        }
        let hosts = match (&options.hosts, &options.hostfile) {
            (Some(hosts), _) => Some(hosts.to_vec()),
            (None, Some(file)) => Some(hosts::from_file(file)?),
            (None, None) => None,
        };
        let size_is_open = apps.len() == 1 && apps[0].count.is_none();
        if size_is_open && hosts.is_none() {
            apps[0].count = options.per_host.map(|each| each.saturating_mul(options.nodes.unwrap_or(1)));
        }
        if options.sim.is_some() && hosts.is_some() {
            return Err(Error::new("--sim runs all PEs on this machine, and hosts are named too")
                .fix("leave one out")
                .into());
        }
        let nodes = simulated::apply(options.sim.as_deref(), options.nodes, &mut apps);
        if hosts.is_some() && nodes > 1 {
            return Err(Error::new("--nodes splits one machine, and hosts are named too").fix("leave one out").into());
        }
        if options.map == HostOrder::Cyclic && nodes > 1 {
            return Err(Error::new("--map cyclic deals PEs to hosts, and --nodes makes nodes of equal blocks")
                .fix("leave one out, or name hosts")
                .into());
        }
        let waiting = options.waiting.checked(hosts.is_some())?;
        let stray = match (&apps[..], hosts.is_none() && options.per_host.is_none()) {
            ([only], true) if only.count.is_none() => stray_count(&only.command),
            _ => None,
        };
        let unset = apps.iter().flat_map(|app| &app.variables).filter_map(|text| unset(text));
        let notes = stray.into_iter().chain(unset).collect();
        let plan = JobPlan {
            programs: apps.into_iter().map(|app| app.checked(swallowed.as_ref())).collect::<Result<_, _>>()?,
            label: match (options.label, options.tag_output) {
                (true, _) => Label::Number,
                (_, true) => Label::Tag,
                _ => Label::None,
            },
            timestamps: options.timestamp_output,
            only: options.only,
            output_dir: options.output_dir,
            stdin: options.stdin,
            timeout: options.timeout,
            grace: options.grace,
            bind: options.bind,
            display: options.display,
            nodes,
            places: HostOptions {
                hosts,
                per_host: options.per_host,
                map: options.map,
                launch_agent: options.launch_agent,
                remote_prefix: options.remote_prefix,
                waiting,
                host_timeout: options.host_timeout,
                oversubscribe: options.oversubscribe,
                // An allocation would put its PEs on its own hosts, where nothing is simulated.
                size_is_open: size_is_open && options.sim.is_none(),
                only_here: options.sim.is_some(),
            },
            recording: recording(options.profile, options.trace, options.trace_events)?,
            notes,
            hint,
            dry_run: options.dry_run,
            verbose: options.verbose,
        };
        if plan.places.size_is_open { Ok(plan) } else { plan.with_named_pes().map_err(Refusal::Error) }
    }
}

/// Whether `oshrun` has an option of this name, `-N` or `--ppn`.
pub fn is_option(name: &str) -> bool {
    OshrunOptions::command().get_arguments().any(|known| is_called(known, name))
}

/// Whether arguments of `oshrun` say how many PEs there are, or on which hosts.
pub(crate) fn say_how_many(arguments: &[String]) -> bool {
    let words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let options = prepared(&words, OshrunOptions::command()).ok();
    let options = options.and_then(|prepared| OshrunOptions::try_parse_from(prepared.words).ok());
    options.is_some_and(|of| {
        of.app.count.is_some() || of.per_host.is_some() || of.hosts.is_some() || of.hostfile.is_some()
    })
}

/// The exit status for a wrong command line.
const USAGE: i32 = 2;

/// Why there is no plan.
#[derive(Debug)]
pub enum Refusal {
    /// An error that clap found, or help that the user asked for.
    Usage(clap::Error),
    /// An error that we found.
    Error(Error),
}

impl Refusal {
    /// Tells the user of this tool, and returns the exit status.
    pub fn tell(&self, tool: &str) -> i32 {
        match self {
            Refusal::Usage(error) => usage(tool, error),
            Refusal::Error(error) => {
                process::say(&format!("{tool}: {error}\n"));
                USAGE
            }
        }
    }
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        Refusal::Usage(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Error(error)
    }
}

impl App {
    /// `swallowed`: a sentence about an option that took the last word of the command line.
    fn checked(self, swallowed: Option<&SwallowedWord>) -> Result<ProgramSpec, Error> {
        if self.command.is_empty() {
            let error = Error::new("no program to run was named");
            return Err(match swallowed {
                Some(SwallowedWord { why, fix }) => error.because(why).fix(fix),
                None => {
                    error.fix("name it after the options, for example `oshrun -n 4 ./hello`, or say `oshrun --demo`")
                }
            });
        }
        // A variable that is not set is simply not set in the PEs either.
        let variables = self.variables.iter().filter_map(|text| variable(text).transpose());
        Ok(ProgramSpec {
            count: self.count.unwrap_or(1),
            variables: variables.collect::<Result<_, _>>()?,
            command: self.command,
            wdir: self.wdir,
        })
    }
}

/// The user's wish to record, with absolute paths: PEs may run in other directories.
fn recording(profile: Option<PathBuf>, trace: Option<PathBuf>, events: u32) -> Result<Option<RecordingPlan>, Error> {
    let absolute = |path: &PathBuf| {
        std::path::absolute(path).map_err(|error| Error::new(format!("{} is no path", path.display())).because(error))
    };
    let trace = trace.as_ref().map(absolute).transpose()?;
    let folder = match (&profile, &trace) {
        (Some(folder), _) => absolute(folder)?,
        (None, Some(file)) => {
            let mut name = file.clone().into_os_string();
            name.push(".records");
            name.into()
        }
        (None, None) => return Ok(None),
    };
    let events = if trace.is_some() { events } else { 0 };
    Ok(Some(RecordingPlan { folder, profile: profile.is_some(), trace, events }))
}

#[cfg(test)]
mod tests;
