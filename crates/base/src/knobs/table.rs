//! The tables themselves: one row per variable.

use super::{Atomics, Bind, Deadlock, Knob, NicPolicy, NodeLevels, Reading, Settings, TargetSizes, Value, Wait};
use crate::Error;

/// The ways to speak to a launcher.
const PMI: &[&str] = &["auto", "pmi1", "pmi2", "pmix", "library"];

/// Former names of variables, which are read still. The user is told the present one.
pub(super) const FORMER: &[&str] = &["SHMEM_TCP_TIMEOUT", "SHMEM_TCP_RAILS"];

/// The variables of one subject.
pub struct KnobSubject {
    /// Its name.
    pub title: &'static str,
    /// Its variables.
    pub knobs: &'static [Knob],
}

/// The variables that act, in the order of the manual.
pub fn active() -> impl Iterator<Item = &'static Knob> {
    SUBJECTS.iter().flat_map(|subject| subject.knobs)
}

/// All variables: those that act, and those that are only accepted.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    active().chain(IGNORED)
}

/// The variables that the library and its tools read, by subject.
pub static SUBJECTS: &[KnobSubject] = &[
    KnobSubject { title: "Memory", knobs: MEMORY },
    KnobSubject { title: "Start", knobs: START },
    KnobSubject { title: "Processors", knobs: PROCESSORS },
    KnobSubject { title: "Networks", knobs: NETWORKS },
    KnobSubject { title: "Collectives", knobs: COLLECTIVES },
    KnobSubject { title: "Contexts and teams", knobs: CONTEXTS_AND_TEAMS },
    KnobSubject { title: "Debugging", knobs: DEBUGGING },
    KnobSubject { title: "Compiler wrappers", knobs: WRAPPERS },
    KnobSubject { title: "Race detector", knobs: RACES },
];

const MEMORY: &[Knob] = &[
    Knob {
        name: "SHMEM_SYMMETRIC_SIZE",
        aliases: &["SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"],
        value: Value::Size,
        default: "chosen from the memory of the node",
        doc: "bytes of symmetric heap each PE may allocate",
        apply: |settings, reading| reading.size().map(|size| settings.symmetric_size = Some(size)),
    },
    switch(
        "SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES",
        &[],
        "0",
        "put the symmetric heap on huge pages",
        |settings, reading| {
            settings.huge_pages = reading.switch();
            Ok(())
        },
    ),
    Knob {
        name: "SHMEM_SYMMETRIC_HEAP_PAGE_SIZE",
        aliases: &[],
        value: Value::Size,
        default: "the system's huge page",
        doc: "size of the huge pages to use",
        apply: |settings, reading| reading.size().map(|size| settings.huge_page_size = Some(size)),
    },
    switch(
        "SHMEM_STATICS",
        &[],
        "1",
        "make the executable's global and static variables symmetric",
        |settings, reading| {
            settings.statics = reading.switch();
            Ok(())
        },
    ),
];

const START: &[Knob] = &[
    Knob {
        name: "SHMEM_PMI",
        aliases: &[],
        value: Value::Word(PMI),
        default: "auto",
        doc: "how to speak to the launcher: the first that answers, or this one",
        apply: |settings, reading| reading.word(PMI).map(|way| settings.pmi = PMI[way].into()),
    },
    switch(
        "SHMEM_SINGLETON",
        &[],
        "0",
        "run as a job of one PE although a launcher started several",
        |settings, reading| {
            settings.singleton = reading.switch();
            Ok(())
        },
    ),
    switch("SHMEM_VERSION", &["SMA_VERSION"], "0", "print the version of the library at start", |settings, reading| {
        settings.version = reading.switch();
        Ok(())
    }),
    switch(
        "SHMEM_INFO",
        &["SMA_INFO"],
        "0",
        "list these variables and say what was chosen at start; `choice` leaves the list out",
        |settings, reading| {
            settings.info = reading.switch();
            settings.info_lists = settings.info && reading.value.trim() != "choice";
            Ok(())
        },
    ),
    switch("SHMEM_DEBUG", &["SMA_DEBUG"], "0", "say what the library does while it does it", |settings, reading| {
        settings.debug = reading.switch();
        Ok(())
    }),
];

const PROCESSORS: &[Knob] = &[
    Knob {
        name: "SHMEM_BIND",
        aliases: &[],
        value: Value::Word(BINDINGS),
        default: "none",
        doc: "bind each PE to a core or to a NUMA node, if no launcher has bound them (1 means core)",
        apply: |settings, reading| {
            settings.bind = match reading.value.trim() {
                "1" => Bind::Core,
                "0" | "" => Bind::None,
                _ => [Bind::None, Bind::Core, Bind::Numa][reading.word(BINDINGS)?],
            };
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_TOPOLOGY",
        aliases: &[],
        value: Value::Text,
        default: "auto",
        doc: "source of the machine's description: hwloc, sysfs, a file in hwloc's XML, or a text like `package:2 core:4 pu:2`",
        apply: |settings, reading| {
            settings.topology = reading.text_or_auto();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_WAIT",
        aliases: &[],
        value: Value::Word(&["auto", "spin", "yield", "sleep"]),
        default: "auto",
        doc: "what a wait does first: spin polls for up to 160 us, then yields, then sleeps; yield and sleep, which mean the same, do not poll first",
        apply: |settings, reading| {
            let ways = [Wait::Auto, Wait::Spin, Wait::Yield, Wait::Yield];
            reading.word(&["auto", "spin", "yield", "sleep"]).map(|way| settings.wait = ways[way])
        },
    },
];

const NETWORKS: &[Knob] = &[
    Knob {
        name: "SHMEM_TRANSPORT",
        aliases: &[],
        value: Value::Text,
        default: "auto",
        doc: "how PEs of different nodes reach each other: tcp, ofi[:PROVIDER], ucx[:UCX_TLS], auto for the best of all nodes; \
              shm: not at all; sim: over a simulated network, as `oshrun --sim` sets it",
        apply: |settings, reading| {
            settings.transport = reading.text_or_auto();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_AMO",
        aliases: &[],
        value: Value::Word(&["auto", "processor", "network"]),
        default: "auto",
        doc: "device that does the atomics of a job of several nodes: the targets' processors, or the network, on a PE's own node too",
        apply: |settings, reading| {
            let domains = [Atomics::Auto, Atomics::Processor, Atomics::Network];
            reading.word(&["auto", "processor", "network"]).map(|domain| settings.atomics = domains[domain])
        },
    },
    Knob {
        name: "SHMEM_PEER_TIMEOUT",
        aliases: &["SHMEM_TCP_TIMEOUT"],
        value: Value::Number,
        default: "30",
        doc: "seconds, at most 86400, after which a peer on another node that does not answer is given up; 0 counts as 1",
        apply: |settings, reading| reading.number(86_400).map(|seconds| settings.peer_timeout = seconds.max(1)),
    },
    Knob {
        name: "SHMEM_RAILS",
        aliases: &["SHMEM_TCP_RAILS"],
        value: Value::Number,
        default: "over libfabric with cards: all cards for the first PE of a node, cards divided by PEs for the others; otherwise 1",
        doc: "number of cards (over TCP: connections) that carry the long transfers of a PE; at most 64, over libfabric 8; 0 counts as 1",
        apply: |settings, reading| reading.number(64).map(|rails| settings.rails = Some(rails.max(1) as u16)),
    },
    Knob {
        name: "SHMEM_OFI_PROVIDER",
        aliases: &[],
        value: Value::Text,
        default: "the best that is there",
        doc: "the provider that libfabric is to use, for example verbs;ofi_rxm",
        apply: |settings, reading| {
            settings.ofi_provider = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_OFI_FABRIC",
        aliases: &[],
        value: Value::Text,
        default: "any of them",
        doc: "the fabric that libfabric is to use, as `fi_info` names it",
        apply: |settings, reading| {
            settings.ofi_fabric = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_OFI_DOMAIN",
        aliases: &[],
        value: Value::Text,
        default: "the nearest",
        doc: "the domain that libfabric is to use: a card or an interface, as `fi_info` names it; several for rails, by commas",
        apply: |settings, reading| {
            settings.ofi_domain = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_OFI_NIC_POLICY",
        aliases: &[],
        value: Value::Word(NIC_POLICIES),
        default: "near",
        doc: "which network card a PE of a node uses",
        apply: |settings, reading| {
            use NicPolicy::{Block, Near, Numa, RoundRobin, User};
            let policy = reading.word(NIC_POLICIES)?;
            settings.nic_policy = [Near, Block, RoundRobin, Numa, User][policy];
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_OFI_NIC_MAPPING",
        aliases: &[],
        value: Value::Text,
        default: "not set",
        doc: "with the policy user: cards and the PEs of a node that use them, for example \"0:0-7; 1:8-15\"",
        apply: |settings, reading| {
            settings.nic_mapping = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_OFI_NUM_NICS",
        aliases: &[],
        value: Value::Text,
        default: "all of them",
        doc: "how many network cards of a node are used, and optionally which: 2 or \"2:1,3\"",
        apply: |settings, reading| {
            settings.nic_count = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_TCP_INTERFACE",
        aliases: &[],
        value: Value::Text,
        default: "all that other hosts can reach",
        doc: "interfaces or addresses for TCP between nodes, separated by commas",
        apply: |settings, reading| {
            settings.tcp_interface = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_TCP_PORTS",
        aliases: &[],
        value: Value::Ports,
        default: "any that is free",
        doc: "the ports on which PEs listen for other nodes, which a firewall must let through: 41000-41999",
        apply: |settings, reading| reading.ports().map(|ports| settings.tcp_ports = ports),
    },
    switch(
        "SHMEM_TCP_ENCRYPT",
        &[],
        "0",
        "encrypt and authenticate what TCP carries between nodes; without it only the handshake is authenticated",
        |settings, reading| {
            settings.tcp_encrypt = reading.switch();
            Ok(())
        },
    ),
];

const COLLECTIVES: &[Knob] = &[
    algorithm(
        ("SHMEM_BARRIER_ALGORITHM", &["SHMEM_BARRIER_ALGO"]),
        BARRIER,
        "algorithm of barrier and sync",
        |settings, reading| {
            settings.algorithms.barrier = reading.text_or_auto();
            Ok(())
        },
    ),
    algorithm(
        ("SHMEM_BCAST_ALGORITHM", &["SHMEM_BCAST_ALGO"]),
        BCAST,
        "algorithm of broadcast",
        |settings, reading| {
            settings.algorithms.broadcast = reading.text_or_auto();
            Ok(())
        },
    ),
    algorithm(
        ("SHMEM_REDUCE_ALGORITHM", &["SHMEM_REDUCE_ALGO"]),
        REDUCE,
        "algorithm of reductions, and on one node of scans; sums and products of floating-point numbers keep theirs, except long ones of two PEs on two nodes",
        |settings, reading| {
            settings.algorithms.reduce = reading.text_or_auto();
            Ok(())
        },
    ),
    algorithm(
        ("SHMEM_COLLECT_ALGORITHM", &["SHMEM_COLLECT_ALGO"]),
        COLLECT,
        "algorithm of collect",
        |settings, reading| {
            settings.algorithms.collect = reading.text_or_auto();
            Ok(())
        },
    ),
    algorithm(
        ("SHMEM_FCOLLECT_ALGORITHM", &["SHMEM_FCOLLECT_ALGO"]),
        FCOLLECT,
        "algorithm of fcollect",
        |settings, reading| {
            settings.algorithms.fcollect = reading.text_or_auto();
            Ok(())
        },
    ),
    algorithm(
        ("SHMEM_ALLTOALL_ALGORITHM", &["SHMEM_ALLTOALL_ALGO"]),
        ALLTOALL,
        "algorithm of alltoall",
        |settings, reading| {
            settings.algorithms.alltoall = reading.text_or_auto();
            Ok(())
        },
    ),
    Knob {
        name: "SHMEM_NODE_LEVELS",
        aliases: &[],
        value: Value::Levels,
        default: "auto",
        doc: "collectives of many PEs on a node go through its caches, NUMA nodes and packages (auto), or not (off); \
              `4,16,64`: through groups of 4, 16 and 64 PEs, whatever the node is",
        apply: |settings, reading| {
            settings.node_levels = NodeLevels::read(reading.name, &reading.text_or_auto())?;
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_TUNING",
        aliases: &[],
        value: Value::Text,
        default: "built in",
        doc: "file with the sizes at which collectives change their algorithm, as `oxshmem tune` writes it",
        apply: |settings, reading| {
            settings.tuning_file = reading.text();
            Ok(())
        },
    },
    Knob {
        name: "SHMEM_ALLTOALLV_TSIZE_CHK",
        aliases: &[],
        value: Value::Word(&["off", "abort", "trunc"]),
        default: "off",
        doc: "take alltoallv's target sizes as the room for each block: one that does not fit ends the job (abort) or is cut (trunc)",
        apply: |settings, reading| {
            let ways = [TargetSizes::Results, TargetSizes::Abort, TargetSizes::Truncate];
            reading.word(&["off", "abort", "trunc"]).map(|way| settings.alltoallv_target_sizes = ways[way])
        },
    },
];

const CONTEXTS_AND_TEAMS: &[Knob] = &[
    Knob {
        name: "SHMEM_MAX_CTX",
        aliases: &["SHMEM_CTX_MAX", "SHMEM_MAX_CONTEXTS"],
        value: Value::Number,
        default: "no limit",
        doc: "how many contexts a PE may have at a time, beside the default one",
        apply: |settings, reading| reading.number(u64::MAX).map(|most| settings.max_contexts = Some(most)),
    },
    Knob {
        name: "SHMEM_TEAMS_MAX",
        aliases: &["SHMEM_MAX_TEAMS"],
        value: Value::Number,
        default: "what fits: about 4000 on a node, 1900 over several",
        doc: "how many teams a PE may be in at a time, beside the predefined ones; a split beyond it fails on all members",
        apply: |settings, reading| reading.number(u64::MAX).map(|most| settings.teams_max = Some(most)),
    },
];

const DEBUGGING: &[Knob] = &[
    Knob {
        name: "SHMEM_CHECK",
        aliases: &[],
        value: Value::Number,
        default: "1",
        doc: "0 to 3: how much of the program's calls is verified; 3 also guards blocks of the heap and lists leaks",
        apply: |settings, reading| reading.number(3).map(|level| settings.check = level as u8),
    },
    Knob {
        name: "SHMEM_HANG_SECS",
        aliases: &[],
        value: Value::Number,
        default: "0 (never)",
        doc: "say which PEs wait for what when a call has waited this many seconds",
        apply: |settings, reading| reading.number(u64::MAX / 2).map(|seconds| settings.hang_seconds = seconds),
    },
    Knob {
        name: "SHMEM_DEADLOCK",
        aliases: &[],
        value: Value::Word(&["report", "abort", "off"]),
        default: "report",
        doc: "when all PEs wait and nothing can end the waits: say which PEs wait for what, end the job as well, or do not look",
        apply: |settings, reading| {
            let ways = [Deadlock::Report, Deadlock::Abort, Deadlock::Off];
            reading.word(&["report", "abort", "off"]).map(|way| settings.deadlock = ways[way])
        },
    },
    switch(
        "SHMEM_TRAP_ON_ABORT",
        &[],
        "0",
        "stop in a debugger's trap where the job would be ended",
        |settings, reading| {
            settings.trap_on_abort = reading.switch();
            Ok(())
        },
    ),
    switch("SHMEM_BACKTRACE", &[], "0", "print the call stack when the library ends the job", |settings, reading| {
        settings.backtrace = reading.switch();
        Ok(())
    }),
    switch("SHMEM_RECORDER", &[], "1", "keep the last calls of each PE, which reports show", |settings, reading| {
        settings.recorder = reading.switch();
        Ok(())
    }),
];

const WRAPPERS: &[Knob] = &[
    tool("SHMEM_CC", "cc", "C compiler that oshcc runs, unless OSHCC names one"),
    tool("SHMEM_CXX", "c++", "C++ compiler that oshc++ runs, unless OSHCXX names one"),
    tool("SHMEM_FC", "gfortran", "Fortran compiler that oshfort runs, unless OSHFORT names one"),
];

const RACES: &[Knob] = &[
    of_tool(
        "SHMEM_RACE_STATUS",
        Value::Number,
        "66",
        "exit status, 0 to 255, of a PE that has reported a data race (oshcc --race)",
    ),
    of_tool("SHMEM_RACE_JSON", Value::Text, "none", "file to which reports of data races are added as lines of JSON"),
    of_tool(
        "SHMEM_RACE_IGNORE",
        Value::Text,
        "none",
        "file of texts; a report of a data race that has one of them is left out",
    ),
];

/// Names that are accepted, so that scripts which were written for other libraries run.
pub static IGNORED: &[Knob] = &[
    ignored("SHMEM_LAUNCHER", "launcher of other libraries"),
    ignored("SHMEM_BARRIERS_FLUSH", "flushing of output in barriers"),
    ignored("SHMEM_BOUNCE_SIZE", "copy buffers for network puts"),
    ignored("SHMEM_MAX_BOUNCE_BUFFERS", "copy buffers for network puts"),
    ignored("SHMEM_COLL_CROSSOVER", "switching point of another library's collectives"),
    ignored("SHMEM_COLL_RADIX", "tree width of another library's collectives"),
    ignored("SHMEM_COLL_SIZE_CROSSOVER", "switching point of another library's collectives"),
    ignored("SHMEM_CMA_PUT_MAX", "kernel-assisted copies, which this library does not need"),
    ignored("SHMEM_CMA_GET_MAX", "kernel-assisted copies, which this library does not need"),
    ignored("SHMEM_DISABLE_MULTIRAIL", "choice of network cards"),
    ignored("SHMEM_DISABLE_ASLR_CHECK", "address randomisation, which is no problem here"),
    ignored("SHMEM_TEAM_SHARED_ONLY_SELF", "a different meaning of SHMEM_TEAM_SHARED"),
    ignored("SHMEM_PROGRESS_THREADS", "progress threads"),
    ignored("SHMEM_SYMMETRIC_HEAP_USE_MALLOC", "the kind of memory behind the symmetric heap"),
    ignored("SHMEM_SYMMETRIC_HEAP_USE_DSMML", "the kind of memory behind the symmetric heap"),
    ignored("SHMEM_SCAN_ALGORITHM", "scans of another library"),
    ignored("SHMEM_HIER_BARRIER_THRESHOLD", "barriers by nodes, which all barriers here are"),
    ignored("SHMEM_HIER_BARRIER_DEBUG", "barriers by nodes, which all barriers here are"),
    ignored("SHMEM_PROGRESS_INTERVAL", "progress threads"),
];

const BINDINGS: &[&str] = &["none", "core", "numa"];
const NIC_POLICIES: &[&str] = &["near", "block", "round-robin", "numa", "user"];

type Apply = fn(&mut Settings, &Reading<'_>) -> Result<(), Error>;

const fn switch(
    name: &'static str,
    aliases: &'static [&'static str],
    default: &'static str,
    doc: &'static str,
    apply: Apply,
) -> Knob {
    Knob { name, aliases, value: Value::Switch, default, doc, apply }
}

/// The names of schedules by family, which a test of `oxshmem_schedule` compares with those that there are.
const BARRIER: &[&str] = &["auto", "node", "dissemination-2", "dissemination-4", "dissemination-8", "central"];
const BCAST: &[&str] = &["auto", "node", "tree-2", "tree-4", "tree-8", "chain-8192", "scatter-gather"];
const REDUCE: &[&str] = &[
    "auto",
    "node",
    "dissemination-2",
    "dissemination-4",
    "dissemination-8",
    "census",
    "butterfly-2",
    "butterfly-4",
    "swing",
    "ring",
    "circulant",
    "chain-8192",
    "central",
];
const COLLECT: &[&str] = &["auto", "node", "census"];
const FCOLLECT: &[&str] = &["auto", "node", "census", "ring"];
const ALLTOALL: &[&str] = &["auto", "node", "shift", "pairwise", "bruck"];

const fn algorithm(
    (name, aliases): (&'static str, &'static [&'static str]),
    names: &'static [&'static str],
    doc: &'static str,
    apply: Apply,
) -> Knob {
    Knob { name, aliases, value: Value::Schedule(names), default: "auto", doc, apply }
}

const fn tool(name: &'static str, default: &'static str, doc: &'static str) -> Knob {
    of_tool(name, Value::Tool, default, doc)
}

/// A variable that a tool reads, and not the library.
const fn of_tool(name: &'static str, value: Value, default: &'static str, doc: &'static str) -> Knob {
    Knob { name, aliases: &[], value, default, doc, apply: |_, _| Ok(()) }
}

const fn ignored(name: &'static str, doc: &'static str) -> Knob {
    Knob { name, aliases: &[], value: Value::Ignored, default: "no effect", doc, apply: |_, _| Ok(()) }
}
