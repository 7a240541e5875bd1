//! `oxshmem`: what operations cost here, what collectives cost on large machines, how they go step by step, and which one a
//! call takes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use oxshmem_base::Error;
use oxshmem_launcher::bench::BenchArgs;
use oxshmem_launcher::doctor::{self, DoctorArgs};
use oxshmem_launcher::explain::ExplainArgs;
use oxshmem_launcher::profile::TraceArgs;
use oxshmem_launcher::races::RacesArgs;
use oxshmem_launcher::sim::SimArgs;
use oxshmem_launcher::top::TopArgs;
use oxshmem_launcher::why::WhyArgs;
use oxshmem_launcher::{
    arguments, calibrate, machine, node_simulation, profile, results, schedules, start_cost, stdout, tune, usage,
};
use oxshmem_os::{process, signals};
use oxshmem_schedule::algorithm::Collective;
use oxshmem_schedule::simulate::Cluster;
use oxshmem_schedule::step::Plan;

const TOOLS: &str = "Other programs of oxshmem:
  oshrun                      start jobs; --profile and --trace record them
  oshcc, oshc++, oshfort      compile programs; oshcc --race looks for data races between PEs
  osh_info                    print the version, the machine, and all variables of the environment
  cargo oxrun                 build and run programs in Rust
Each has --help and a page of the manual: man oshrun.";

/// How the steps of a schedule are written.
const LEGEND: &str = "\
A step, in the order of a PE:
  put to PE 1: dest[0..4] -> scratch[4..8], word 0 = 1.0
      these elements go to these of PE 1, and behind them the value 1.0 to its word 0: call 1, stage 0
  wait word 0 >= 1.0          until that has come to this PE
  put to PE 1: count, wait count >= 3
      a signal that adds 1 to the counter of PE 1, and the wait for three of them
  reduce dest[0..4] = dest[0..4] o scratch[4..8]
      the operator, element by element";

/// Looks at hosts and at running jobs, measures what operations cost, summarises profiles and timelines, and shows the schedules
/// of oxshmem's collectives.
#[derive(Parser)]
#[command(name = "oxshmem", version, max_term_width = 100, after_help = TOOLS)]
struct ToolOptions {
    #[command(subcommand)]
    task: ToolTask,
}

#[derive(Subcommand)]
enum ToolTask {
    /// Measure what every operation costs here, by size, and draw a report
    Bench(Box<BenchArgs>),
    /// Look for everything that keeps jobs from running well, here or on hosts, and say how to repair it
    Doctor(DoctorArgs),
    /// Say who waits for whom in a running job, and who is missing
    Why(WhyArgs),
    /// Show what the PEs of a running job do, again and again
    Top(TopArgs),
    /// Run a program over a simulated network, the worst that the standard permits, with many seeds, and explain what fails
    Sim(SimArgs),
    /// Tell the data races that programs compiled with --race have reported, each once, and write a page with the lines
    Races(RacesArgs),
    /// Simulate a collective on a model machine; nothing of it is measured
    Simulate(Simulate),
    /// Print every step of every PE of a small team
    #[command(after_help = LEGEND)]
    Schedule(Steps),
    /// Say which way a collective takes, by which schedule, and why
    Explain(ExplainArgs),
    /// Measure every schedule between two or more nodes and write a table of those that are clearly quicker than the built-in
    /// choice, for SHMEM_TUNING; takes a minute or more
    Tune(Tune),
    /// Summarise what `oshrun --profile` recorded, and write the report anew
    Profile {
        /// The directory of the profile
        #[arg(value_name = "DIR", default_value = "oxshmem-profile")]
        folder: PathBuf,
        /// Also write all tables as comma-separated values into this directory
        #[arg(long, value_name = "DIR")]
        csv: Option<PathBuf>,
    },
    /// Summarise a timeline of `oshrun --trace`
    Trace(TraceArgs),
    /// Print what this machine is made of, for programs: the JSON that oshrun reads where it cannot open hwloc itself
    #[command(hide = true, name = machine::TASK)]
    Cluster {
        /// As SHMEM_TOPOLOGY
        how: String,
    },
    /// The facts of this host, for the doctor on another one
    #[command(hide = true, name = doctor::INSPECT)]
    Inspect,
    /// One PE of a job that `simulate --start` measures
    #[command(hide = true, name = start_cost::AS_PE)]
    StartAsPe,
}

#[derive(Args)]
struct Simulate {
    /// sync, reduce-idempotent, broadcast, ..., or an operation: barrier, max, sum, ...
    #[arg(long, default_value = "sync", value_parser = schedules::collective)]
    collective: Collective,
    /// A schedule, or several separated by commas; without it all that serve the collective
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    algorithm: Vec<String>,
    /// Team sizes: 1024,4096 or 1024..1048576, which goes in steps of 4
    /// [default: 1024..1048576; with --node 2,4,8 and so on]
    #[arg(long, value_parser = sizes)]
    pes: Option<Sizes>,
    /// The model machine
    #[arg(long, value_enum, default_value = "fat-tree")]
    network: Network,
    /// Instead of a network, the caches of one node: a machine by name (epyc-7742, epyc-9654, xeon-8480, grace, two-cores) or
    /// a file that describes one
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["algorithm", "network", "skew"])]
    node: Option<String>,
    /// Bytes of the array, or of one PE's block: 65536, 64K or 1M
    #[arg(long, default_value = "8", value_parser = schedules::simulated_bytes)]
    bytes: u64,
    /// PEs arrive at random within this many nanoseconds
    #[arg(long, value_name = "NS", default_value = "0", value_parser = schedules::skew)]
    skew: f64,
    /// Draw the comparison into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Instead, measure this node between 2 PEs and compare predicted with measured times on 2, 4 and 8
    #[arg(long, exclusive = true)]
    calibrate: bool,
    /// Instead, measure how long a line takes between this node's processors, write the description for --node into this
    /// file, and compare the barrier that it predicts with a measured one
    #[arg(long, value_name = "FILE", exclusive = true)]
    calibrate_node: Option<PathBuf>,
    /// Instead, measure what the start of small jobs costs here, and predict it for 1,000 to 100,000 PEs
    #[arg(long, exclusive = true)]
    start: bool,
}

/// The most elements of one PE in printed steps: places in the memory of 1024 PEs' blocks are far below 2^64.
const MOST_ELEMENTS: u64 = 1 << 32;

#[derive(Args)]
struct Steps {
    /// The collective, where the schedule serves several
    #[arg(long, value_parser = schedules::collective)]
    collective: Option<Collective>,
    /// The schedule: tree-2, census, ring, ...
    #[arg(long, value_name = "NAME")]
    algorithm: String,
    /// Members of the team
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pes: u32,
    /// Elements of the array, or of one PE's block
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u64).range(..=MOST_ELEMENTS))]
    count: u64,
    /// The root of a broadcast
    #[arg(long, default_value = "0")]
    root: u32,
}

#[derive(Args)]
struct Tune {
    /// Where the table goes; every host of later jobs has to see it
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Arguments for oshrun that start one PE on each of at least two nodes: -H a,b,c -N 1, or -n 2 --nodes 2 to try it here
    #[arg(last = true, required = true, value_name = "OSHRUN ARGUMENTS FOR AT LEAST TWO NODES")]
    oshrun: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Network {
    FatTree,
    Dragonfly,
}

#[derive(Clone)]
struct Sizes(Vec<u32>);

/// The largest team that is simulated.
const MOST_PES: u32 = 1 << 24;

fn sizes(text: &str) -> Result<Sizes, String> {
    let size = |part: &str| {
        let size = part.trim().parse().ok().filter(|size| (1..=MOST_PES).contains(size));
        size.ok_or_else(|| format!("`{part}` is not a number from 1 to {MOST_PES}"))
    };
    match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (size(first)?, size(last)?);
            if first > last {
                return Err(format!("{first} is more than {last}"));
            }
            let steps = std::iter::successors(Some(first), |size| size.checked_mul(4)).take_while(|size| *size <= last);
            Ok(Sizes(steps.collect()))
        }
        None => text.split(',').map(size).collect::<Result<_, _>>().map(Sizes),
    }
}

/// The tool for a task that some look for here.
fn other_tool(word: &str) -> Option<&'static str> {
    match word {
        "info" => Some("`osh_info` prints the version, the machine and all variables"),
        "run" => Some("`oshrun` starts jobs"),
        _ => None,
    }
}

/// The error about an option of `oshrun` among those of a task that has its own and passes on what stands behind `--`.
fn launchers_option(error: &clap::Error) -> Option<Error> {
    let task = std::env::args_os().nth(1).filter(|task| task == "bench" || task == "tune")?;
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || !arguments::is_option(option) {
        return None;
    }
    let task = task.display();
    Some(
        Error::new(format!("{option} is no option of oxshmem {task}"))
            .because("it is one of oshrun, whose options stand behind `--`")
            .fix(format!("let it follow the options of the tool: `oxshmem {task} ... -- {option} ...`")),
    )
}

/// The words of the command line, with `-n` for the `-np` of OpenSHMEM's annex before the `--` of `oxshmem bench`. Clap would take
/// `-np` for `-n p`.
fn prepared(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|task| task == "bench") {
        let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
        for word in &mut words[..own] {
            if *word == "-np" {
                *word = "-n".into();
            }
        }
    }
    words
}

fn main() -> ExitCode {
    // The tools start jobs and judge them by their statuses.
    signals::keep_statuses_of_children();
    let words = prepared(std::env::args_os().collect());
    let options = ToolOptions::try_parse_from(words).unwrap_or_else(|error| {
        if let Some(error) = launchers_option(&error) {
            process::say(&format!("oxshmem: {error}\n"));
            std::process::exit(2)
        }
        let status = usage("oxshmem", &error);
        if let Some(tool) = std::env::args_os().nth(1).and_then(|word| other_tool(word.to_str()?)) {
            process::say(&format!("oxshmem: note: {tool}\n"));
        }
        std::process::exit(status)
    });
    let text = match options.task {
        ToolTask::Bench(bench) => bench.run(),
        ToolTask::Doctor(doctor) => return judged(doctor.run()),
        ToolTask::Sim(sim) => return judged(sim.run()),
        ToolTask::Races(races) => return judged(races.run()),
        ToolTask::Why(why) => why.run(),
        ToolTask::Top(top) => top.run(),
        ToolTask::Inspect => doctor::inspect(),
        ToolTask::Simulate(simulate) if simulate.calibrate => calibrate::report(),
        ToolTask::Simulate(simulate) if simulate.start => start_cost::report(),
        ToolTask::Simulate(Simulate { calibrate_node: Some(file), .. }) => node_simulation::calibrate(&file),
        ToolTask::Simulate(simulate) => simulate.run(),
        ToolTask::Tune(Tune { output, oshrun }) => tune::tune(&oshrun, &output),
        ToolTask::Profile { folder, csv } => profile::report(&folder, csv.as_deref()),
        ToolTask::Trace(trace) => trace.run(),
        ToolTask::StartAsPe => start_cost::as_pe(),
        ToolTask::Cluster { how } => machine::describe(&how),
        ToolTask::Schedule(steps) => steps.run(),
        ToolTask::Explain(explain) => explain.run(),
    };
    judged(text.map(|text| (text, true)))
}

/// Prints a report. The exit status says whether something is wrong, with the machine or with the program.
fn judged(report: Result<(String, bool), Error>) -> ExitCode {
    match report {
        Ok((text, is_well)) => {
            let status = if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            stdout::print("oxshmem", &text).map_or_else(ExitCode::from, |()| status)
        }
        Err(error) => {
            process::say(&format!("oxshmem: {error}\n"));
            ExitCode::from(2)
        }
    }
}

impl Simulate {
    fn run(self) -> Result<String, Error> {
        const ELSEWHERE: &str = "choose another place for --svg";
        if let Some(file) = &self.svg {
            results::try_path(file).map_err(results::unwritten(file, ELSEWHERE))?;
        }
        let (text, drawing) = match &self.node {
            Some(machine) => {
                let pes = self.pes.map(|Sizes(sizes)| sizes);
                node_simulation::simulate(machine, self.collective, pes, self.bytes)?
            }
            None => self.on_a_network()?,
        };
        if let Some(file) = &self.svg {
            results::write(file, drawing).map_err(results::unwritten(file, ELSEWHERE))?;
        }
        Ok(text)
    }

    fn on_a_network(&self) -> Result<(String, String), Error> {
        let machine = match self.network {
            Network::FatTree => Cluster::FAT_TREE,
            Network::Dragonfly => Cluster::DRAGONFLY,
        };
        let Sizes(sizes) = self.pes.clone().map_or_else(|| sizes("1024..1048576"), Ok).map_err(Error::new)?;
        schedules::simulated(self.collective, &self.algorithm, &sizes, self.bytes, self.skew, &machine)
    }
}

impl Steps {
    fn run(self) -> Result<String, Error> {
        if self.root >= self.pes {
            return Err(Error::new(format!("--root {} is not in a team of {}", self.root, self.pes))
                .fix(format!("choose one from 0 to {}", self.pes - 1)));
        }
        let plan = Plan { root: self.root, ..Plan::new(self.pes, self.count) };
        schedules::steps(self.collective, &self.algorithm, &plan)
    }
}
