//! Collectives, alternating with those of another OpenSHMEM library on this machine and with the limit.
//!
//! One C program is compiled for both libraries; another sends the same messages over bare connections. The nodes are groups
//! of this machine's PEs, and their messages go over TCP on the loopback device, for both libraries: by their own use
//! of sockets, by UCX and by libfabric. Or all PEs are on one node. Other processes can compute meanwhile ([`strangers`]).
//! The other library is Open MPI ([`open_mpi`]), or another installation of this one: an older one, say.

mod open_mpi;
mod strangers;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::open_mpi::OpenMpi;
use self::strangers::Strangers;
use crate::{BenchOptions, Outcome, job, kernels, say};

/// A way for the messages of both libraries.
struct PeerCarrier {
    /// Its name for `--over`.
    name: &'static str,
    /// Between nodes: how.
    network: Option<PeerNetwork>,
    /// PEs of its jobs, each on a node of its own if there is a network, unless the command asks for others.
    pes: [u32; 2],
}

/// Where the PEs of a job are.
#[derive(Clone, Copy)]
struct PeerShape {
    nodes: u32,
    per_node: u32,
}

impl PeerShape {
    fn pes(self) -> u32 {
        self.nodes * self.per_node
    }
}

/// A way to the loopback device.
struct PeerNetwork {
    ours: &'static str,
    /// Open MPI's components, beside those that [`open_mpi`] adds.
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

/// Both UCX and libfabric are to stay on the loopback device.
const DEVICES: [(&str, &str); 3] = [("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "lo"), ("FI_TCP_IFACE", "lo")];

impl PeerCarrier {
    /// The carrier in words, for tables and messages.
    fn words(&self) -> &'static str {
        self.network.as_ref().map_or("the memory of a node", |network| network.ours)
    }

    /// The jobs to compare: those of the command, or the carrier's own.
    fn shapes(&self, asked: &BenchOptions) -> Vec<PeerShape> {
        match (&self.network, asked.nodes) {
            (Some(_), Some(nodes)) => vec![PeerShape { nodes, per_node: asked.per_node }],
            (Some(_), None) => self.pes.map(|nodes| PeerShape { nodes, per_node: asked.per_node }).to_vec(),
            (None, _) => self.pes.map(|per_node| PeerShape { nodes: 1, per_node }).to_vec(),
        }
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
    peer_teams: Rounds,
    limits: Rounds,
}

/// The library beside ours.
enum Rival {
    OpenMpi(OpenMpi),
    /// Another installation of oxshmem.
    Installation(PathBuf),
}

/// The programs, and how they are run.
struct Rivals<'a> {
    asked: &'a BenchOptions,
    ours: PathBuf,
    theirs: PathBuf,
    peer: Rival,
}

/// Runs the comparison with `peer`. A peer or a carrier that is not there is said to be missing, and is no failure.
pub(crate) fn compare(asked: &BenchOptions, peer: &str) -> Outcome {
    let peer = if peer == "openmpi" {
        let Some(found) = OpenMpi::find() else {
            say("not run: collectives beside Open MPI: its OpenSHMEM is not installed (no oshmem_info on PATH)");
            return Ok(());
        };
        Rival::OpenMpi(found)
    } else {
        let prefix = std::path::absolute(peer).map_err(|error| format!("{peer}: {error}"))?;
        if !prefix.join("bin/oshrun").exists() {
            return Err(format!(
                "there is no {peer}/bin/oshrun; --compare takes `openmpi` or the prefix of an oxshmem"
            ));
        }
        Rival::Installation(prefix)
    };
    let source = [source("collectives.c")];
    let program = |name: &str| asked.output.join(format!("collectives-{name}"));
    let rivals = Rivals { asked, ours: program("ours"), theirs: program("theirs"), peer };
    compile(&asked.prefix.join("bin/oshcc"), &source, &rivals.ours, &[])?;
    match &rivals.peer {
        // Open MPI declares the forms over teams and does not implement them.
        Rival::OpenMpi(peer) => compile(&peer.compiler(), &source, &rivals.theirs, &["-DTEAMS=0"])?,
        Rival::Installation(prefix) => compile(&prefix.join("bin/oshcc"), &source, &rivals.theirs, &[])?,
    }
    let _strangers = Strangers::start(asked.beside)?;
    for carrier in CARRIERS.iter().filter(|carrier| ["all", carrier.name].contains(&asked.over.as_str())) {
        let shapes = carrier.shapes(asked);
        if let Some(why) = rivals.obstacle(carrier, shapes[0]) {
            say(format_args!("\nnot run: collectives over {}: {why}", carrier.words()));
            continue;
        }
        // The programs of the limits have one process for each node.
        let limit = carrier.network.as_ref().map(|network| network.limit).filter(|_| asked.per_node == 1);
        let bare = limit.and_then(|limit| {
            let missing = |why: &String| say(format_args!("\nnot measured: {}: {why}", limit.words));
            rivals.bare_program(limit).inspect_err(missing).ok()
        });
        shapes.into_iter().try_for_each(|shape| rivals.take_turns(carrier, shape, bare.as_deref()))?;
    }
    Ok(())
}

impl Rivals<'_> {
    /// Why this carrier cannot be compared here.
    fn obstacle(&self, carrier: &PeerCarrier, shape: PeerShape) -> Option<String> {
        let split = carrier.name != "tcp" && shape.nodes > 1 && shape.per_node > 1;
        if split && matches!(self.peer, Rival::OpenMpi(_)) {
            return Some("Open MPI's PEs of a node share its memory over its own TCP alone".to_owned());
        }
        let nothing = "no such row";
        let jobs = [self.our_job(carrier, shape, nothing), self.their_job(carrier, shape, nothing)];
        jobs.into_iter().find_map(|mut job| measured(&mut job).err())
    }

    /// Compiles the program that measures a limit.
    fn bare_program(&self, limit: &BareCarrier) -> Outcome<PathBuf> {
        let program = self.asked.output.join(Path::new(limit.source).with_extension(""));
        compile(Path::new("cc"), &[source("messages.c"), source(limit.source)], &program, limit.libraries)?;
        Ok(program)
    }

    fn take_turns(&self, carrier: &PeerCarrier, shape: PeerShape, bare: Option<&Path>) -> Outcome {
        let mut columns = Columns::default();
        let only = &self.asked.only;
        for _ in 0..if self.asked.quick { 3 } else { 9 } {
            let libraries = [self.our_job(carrier, shape, only), self.their_job(carrier, shape, only)];
            let jobs = libraries.into_iter().chain(bare.map(|program| bare_job(program, shape.nodes, only)));
            for (at, mut job) in jobs.enumerate() {
                for (row, form, time) in measured(&mut job)? {
                    let rounds = match (at, form.as_str()) {
                        (0, "team") => &mut columns.teams,
                        (0, _) => &mut columns.sets,
                        (1, "team") => &mut columns.peer_teams,
                        (1, _) => &mut columns.peers,
                        _ => &mut columns.limits,
                    };
                    rounds.entry(row).or_default().push(time);
                }
            }
        }
        tables::times(self, carrier, shape, bare.is_some(), &columns);
        tables::counts(self, &columns);
        Ok(())
    }

    fn our_job(&self, carrier: &PeerCarrier, shape: PeerShape, only: &str) -> Command {
        oxshmem_job(&self.asked.prefix, carrier, shape, &self.ours, only)
    }

    fn their_job(&self, carrier: &PeerCarrier, shape: PeerShape, only: &str) -> Command {
        match &self.peer {
            Rival::OpenMpi(peer) => {
                let mut command = peer.oshrun(carrier, shape);
                command.arg(&self.theirs).arg(only);
                command
            }
            Rival::Installation(prefix) => oxshmem_job(prefix, carrier, shape, &self.theirs, only),
        }
    }

    /// The peer, at the head of a column.
    fn peer_name(&self) -> &'static str {
        match self.peer {
            Rival::OpenMpi(_) => "Open MPI",
            Rival::Installation(_) => "the other",
        }
    }
}

fn oxshmem_job(prefix: &Path, carrier: &PeerCarrier, shape: PeerShape, program: &Path, only: &str) -> Command {
    let mut command = Command::new(prefix.join("bin/oshrun"));
    if let Some(network) = &carrier.network {
        command.envs(DEVICES).env("SHMEM_TRANSPORT", network.ours);
    }
    command.args(["--timeout", "300"]);
    if have_processors(shape.pes()) {
        command.arg("--bind");
    }
    command.args(["-n", &shape.pes().to_string(), "--nodes", &shape.nodes.to_string()]).arg(program).arg(only);
    command
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

fn compile(compiler: &Path, sources: &[PathBuf], program: &Path, flags: &[&str]) -> Outcome {
    let mut compiler = Command::new(compiler);
    kernels::compile_by(compiler.args(["-O2", "-Wno-deprecated-declarations"]), program, sources, flags)
}
