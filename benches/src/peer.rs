//! Collectives, alternating with those of another OpenSHMEM library on this machine and with the limit.
//!
//! One C program is compiled for both libraries; another sends the same messages over bare connections. The nodes are groups
//! of this machine's PEs, and their messages go over TCP on the loopback device, for both libraries: by their own use
//! of sockets, by UCX and by libfabric. Or all PEs are on one node. Other processes can compute meanwhile ([`strangers`]).

mod strangers;
mod tables;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::strangers::Strangers;
use crate::{BenchOptions, Outcome, job, kernels, say};

/// A way for the messages of both libraries.
struct PeerCarrier {
    /// Its name for `--over`.
    name: &'static str,
    /// Between nodes: how.
    network: Option<PeerNetwork>,
    /// PEs of its jobs, each on a node of its own if there is a network.
    pes: [u32; 2],
}

/// A way to the loopback device.
struct PeerNetwork {
    ours: &'static str,
    /// Open MPI's components, beside [`COMPONENT`] and [`BETWEEN_NODES`].
    components: &'static [(&'static str, &'static str)],
    limit: &'static BareCarrier,
}

/// Bare messages, beside which both are read.
struct BareCarrier {
    words: &'static str,
    /// The file in `peer/` that sends them, and the libraries that it needs.
    source: &'static str,
    libraries: &'static [&'static str],
}

const BARE_TCP: BareCarrier = BareCarrier { words: "bare messages over TCP", source: "carry_tcp.c", libraries: &[] };
const BARE_UCX: BareCarrier =
    BareCarrier { words: "bare active messages of UCX's", source: "carry_ucx.c", libraries: &["-lucp", "-lucs"] };

const CARRIERS: [PeerCarrier; 4] = [
    PeerCarrier { name: "memory", network: None, pes: [2, 6] },
    PeerCarrier {
        name: "tcp",
        network: Some(PeerNetwork {
            ours: "tcp",
            components: &[("pml", "ob1"), ("btl", "tcp,self"), ("btl_tcp_if_include", "lo")],
            limit: &BARE_TCP,
        }),
        pes: [2, 4],
    },
    PeerCarrier {
        name: "ucx",
        network: Some(PeerNetwork {
            ours: "ucx:tcp",
            // It takes UCX for cards alone unless it is told otherwise.
            components: &[("pml", "ucx"), ("pml_ucx_tls", "any"), ("pml_ucx_devices", "any")],
            limit: &BARE_UCX,
        }),
        pes: [2, 4],
    },
    PeerCarrier {
        name: "ofi",
        network: Some(PeerNetwork {
            ours: "ofi:tcp",
            components: &[("pml", "cm"), ("mtl", "ofi"), ("mtl_ofi_provider_include", "tcp")],
            limit: &BARE_TCP,
        }),
        pes: [2, 4],
    },
];

/// Open MPI's components in every comparison: version 4.1.4 crashes at start with the component that it takes by default.
const COMPONENT: (&str, &str) = ("osc", "^rdma");
/// And between nodes: collectives that do not go through memory.
const BETWEEN_NODES: (&str, &str) = ("coll", "^sm");
/// Both UCX and libfabric are to stay on the loopback device.
const DEVICES: [(&str, &str); 3] = [("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "lo"), ("FI_TCP_IFACE", "lo")];

impl PeerCarrier {
    /// The carrier in words, for tables and messages.
    fn words(&self) -> &'static str {
        self.network.as_ref().map_or("the memory of a node", |network| network.ours)
    }

    /// How many nodes so many PEs are.
    fn nodes(&self, pes: u32) -> u32 {
        if self.network.is_some() { pes } else { 1 }
    }
}

/// The words for `--over`.
pub(crate) fn carrier_names() -> Vec<&'static str> {
    CARRIERS.iter().map(|carrier| carrier.name).chain(["all"]).collect()
}

/// One round of an operation, per call.
struct PeerRound {
    /// Microseconds: the median of its batches.
    median: f64,
    mean: f64,
    /// Context switches of all PEs, and TCP segments of the network namespace. The programs of the limits do not count.
    counts: Option<RoundCounts>,
}

struct RoundCounts {
    switches: f64,
    segments: f64,
}

/// The rounds of each operation, for one library and form of call.
type Rounds = BTreeMap<String, Vec<PeerRound>>;

/// The rounds of one comparison, by the columns of the tables.
#[derive(Default)]
struct Columns {
    sets: Rounds,
    teams: Rounds,
    peers: Rounds,
    limits: Rounds,
}

/// The programs, and how they are run.
struct Rivals<'a> {
    asked: &'a BenchOptions,
    ours: PathBuf,
    theirs: PathBuf,
    peer: OpenMpi,
}

/// Runs the comparison. A peer or a carrier that is not there is said to be missing, and is no failure.
pub(crate) fn compare(asked: &BenchOptions) -> Outcome {
    let Some(peer) = OpenMpi::find() else {
        say("not run: collectives beside Open MPI: its OpenSHMEM is not installed (no oshmem_info on PATH)");
        return Ok(());
    };
    let source = [source("collectives.c")];
    let program = |name: &str| asked.output.join(format!("collectives-{name}"));
    let rivals = Rivals { asked, ours: program("ours"), theirs: program("openmpi"), peer };
    compile(&asked.prefix.join("bin/oshcc"), &source, &rivals.ours, &[])?;
    // Open MPI declares the forms over teams and does not implement them.
    compile(&rivals.peer.bin.join("oshcc"), &source, &rivals.theirs, &["-DTEAMS=0"])?;
    let _strangers = Strangers::start(asked.beside)?;
    for carrier in CARRIERS.iter().filter(|carrier| ["all", carrier.name].contains(&asked.over.as_str())) {
        if let Some(why) = rivals.obstacle(carrier) {
            say(format_args!("\nnot run: collectives over {}: {why}", carrier.words()));
            continue;
        }
        let bare = carrier.network.as_ref().and_then(|network| {
            let told = |why: &String| say(format_args!("\nnot measured: {}: {why}", network.limit.words));
            rivals.bare_program(network.limit).inspect_err(told).ok()
        });
        carrier.pes.into_iter().try_for_each(|pes| rivals.take_turns(carrier, pes, bare.as_deref()))?;
    }
    Ok(())
}

impl Rivals<'_> {
    /// Why this carrier cannot be compared here.
    fn obstacle(&self, carrier: &PeerCarrier) -> Option<String> {
        let nothing = "no such row";
        let pes = carrier.pes[0];
        let jobs = [self.our_job(carrier, pes, nothing), self.their_job(carrier, pes, nothing)];
        jobs.into_iter().find_map(|mut job| measured(&mut job).err())
    }

    /// Compiles the program that measures a limit.
    fn bare_program(&self, limit: &BareCarrier) -> Outcome<PathBuf> {
        let program = self.asked.output.join(Path::new(limit.source).with_extension(""));
        compile(Path::new("cc"), &[source("messages.c"), source(limit.source)], &program, limit.libraries)?;
        Ok(program)
    }

    fn take_turns(&self, carrier: &PeerCarrier, pes: u32, bare: Option<&Path>) -> Outcome {
        let mut columns = Columns::default();
        let only = &self.asked.only;
        for _ in 0..if self.asked.quick { 3 } else { 9 } {
            let libraries = [self.our_job(carrier, pes, only), self.their_job(carrier, pes, only)];
            let jobs = libraries.into_iter().chain(bare.map(|program| bare_job(program, pes, only)));
            for (at, mut job) in jobs.enumerate() {
                for (row, form, time) in measured(&mut job)? {
                    let rounds = match (at, form.as_str()) {
                        (0, "team") => &mut columns.teams,
                        (0, _) => &mut columns.sets,
                        (1, _) => &mut columns.peers,
                        _ => &mut columns.limits,
                    };
                    rounds.entry(row).or_default().push(time);
                }
            }
        }
        tables::times(carrier, pes, self.asked.beside, &columns);
        tables::counts(&columns);
        Ok(())
    }

    fn our_job(&self, carrier: &PeerCarrier, pes: u32, only: &str) -> Command {
        let mut command = Command::new(self.asked.prefix.join("bin/oshrun"));
        if let Some(network) = &carrier.network {
            command.envs(DEVICES).env("SHMEM_TRANSPORT", network.ours);
        }
        command.args(["--timeout", "300"]);
        if have_processors(pes) {
            command.arg("--bind");
        }
        command.args(["-n", &pes.to_string(), "--nodes", &carrier.nodes(pes).to_string()]).arg(&self.ours).arg(only);
        command
    }

    fn their_job(&self, carrier: &PeerCarrier, pes: u32, only: &str) -> Command {
        let mut command = self.peer.oshrun(carrier, pes);
        command.arg(&self.theirs).arg(only);
        command
    }
}

/// Whether each PE can have a processor of its own, to which it is then bound.
fn have_processors(pes: u32) -> bool {
    std::thread::available_parallelism().is_ok_and(|count| pes as usize <= count.get())
}

fn bare_job(program: &Path, pes: u32, only: &str) -> Command {
    let mut command = Command::new(program);
    command.envs(DEVICES).arg(pes.to_string()).arg(only);
    command
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peer").join(name)
}

/// The lines that PE 0 of a job prints: operation, form, times, and counts if the program has them.
fn measured(command: &mut Command) -> Outcome<Vec<(String, String, PeerRound)>> {
    let output = job::finish(command.stdin(Stdio::null()))?;
    let parse = |text: &str| {
        let mut words = text.split('\t');
        let (row, form) = (words.next()?, words.next()?);
        let figures = words.map(str::parse).collect::<Result<Vec<f64>, _>>().ok()?;
        let (median, mean, counts) = match figures[..] {
            [median, mean] => (median, mean, None),
            [median, mean, switches, segments] => (median, mean, Some(RoundCounts { switches, segments })),
            _ => return None,
        };
        Some((row.to_owned(), form.to_owned(), PeerRound { median, mean, counts }))
    };
    output.lines().map(|text| parse(text).ok_or_else(|| format!("a PE printed `{text}`"))).collect()
}

/// Open MPI with its OpenSHMEM.
struct OpenMpi {
    bin: PathBuf,
}

impl OpenMpi {
    /// The first one on PATH.
    fn find() -> Option<Self> {
        let path = env::var_os("PATH")?;
        let bin = env::split_paths(&path).find(|folder| has_oshmem_info(folder))?;
        Some(Self { bin })
    }

    /// A job; between nodes its messages go over the loopback device, in collectives and in puts.
    fn oshrun(&self, carrier: &PeerCarrier, pes: u32) -> Command {
        let mut command = Command::new(self.bin.join("oshrun"));
        command.arg("--allow-run-as-root");
        let mut components = vec![COMPONENT];
        if let Some(network) = &carrier.network {
            command.envs(DEVICES);
            for (name, _) in DEVICES {
                command.args(["-x", name]);
            }
            components.push(BETWEEN_NODES);
            components.extend(network.components);
        }
        for (name, value) in components {
            command.args(["--mca", name, value]);
        }
        if have_processors(pes) {
            command.args(["--bind-to", "core"])
        } else {
            command.args(["--bind-to", "none", "--oversubscribe"])
        };
        command.args(["-np", &pes.to_string()]);
        command
    }
}

/// Whether a folder has Open MPI's tool. Ours of that name is `osh_info`.
fn has_oshmem_info(folder: &Path) -> bool {
    let tool = folder.join("oshmem_info");
    tool.is_file() && tool.canonicalize().is_ok_and(|tool| !tool.ends_with("osh_info"))
}

fn compile(compiler: &Path, sources: &[PathBuf], program: &Path, flags: &[&str]) -> Outcome {
    let mut compiler = Command::new(compiler);
    kernels::compile_by(compiler.args(["-O2", "-Wno-deprecated-declarations"]), program, sources, flags)
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::has_oshmem_info;

    #[test]
    fn our_own_tools_are_not_open_mpi_s() {
        let folder = TestFolder::new("benches");
        folder.write("osh_info", "");
        std::os::unix::fs::symlink("osh_info", folder.join("oshmem_info")).expect("a link");
        assert!(!has_oshmem_info(&folder));
        std::fs::remove_file(folder.join("oshmem_info")).expect("the link");
        folder.write("oshmem_info", "");
        assert!(has_oshmem_info(&folder));
    }
}
