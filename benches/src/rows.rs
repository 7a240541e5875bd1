//! The rows of the benchmark: each operation with its limit and the ratio that it should reach.

mod recorded;
mod rust;

use std::time::Duration;

/// Rows that one job measures.
pub(crate) struct RowGroup {
    /// Name of the group, which is also the kernel's.
    pub(crate) name: &'static str,
    pub(crate) pes: u32,
    /// The number of nodes. [`Work::Over`] and [`Work::Start`] choose the transport; all others use TCP.
    pub(crate) nodes: u32,
    pub(crate) work: Work,
    pub(crate) rows: &'static [BenchRow],
}

/// The measured side of a row.
pub(crate) enum Work {
    /// The PEs, each bound to its own processor or none, in batches of this length.
    Kernel { bound: bool, batch: Duration },
    /// The PEs over this transport, where it can be used.
    Over(&'static str),
    /// The PEs, recorded by this option of `oshrun`, which wants a file of this name.
    Recorded(&'static str, &'static str),
    /// The example of the Rust API that runs each call beside C's, each PE bound to its own processor.
    Rust,
    /// An example of a transport's crate that starts its own peer and measures the transport beside the bare calls of the
    /// library under it.
    Transport { package: &'static str, example: &'static str },
    /// This program, from the start of the launcher to its end.
    Start,
    /// No time is taken: the PEs say how much memory they hold.
    Memory,
}

pub(crate) struct BenchRow {
    pub(crate) name: &'static str,
    pub(crate) limit: &'static str,
    pub(crate) target: Goal,
}

/// How close to the limit an operation should come.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// At most this many times the limit.
    Times(f64),
    /// At least this share of the limit's speed.
    Share(f64),
    /// At most this many nanoseconds, whatever the limit.
    Nanoseconds(f64),
    /// At most this many nanoseconds more than the limit.
    More(f64),
    /// At most this many bytes.
    Bytes(f64),
    /// Any value: the row is there to compare others with.
    Scale,
}

use Goal::{Bytes, Nanoseconds, Scale, Share, Times};

const fn row(name: &'static str, limit: &'static str, target: Goal) -> BenchRow {
    BenchRow { name, limit, target }
}

const fn group(name: &'static str, pes: u32, nodes: u32, work: Work, rows: &'static [BenchRow]) -> RowGroup {
    RowGroup { name, pes, nodes, work, rows }
}

/// Two PEs of a node, each with a processor for itself.
const fn pair(name: &'static str, rows: &'static [BenchRow]) -> RowGroup {
    group(name, 2, 1, PAIR, rows)
}

/// PEs of a node that share its processors.
const fn crowd(name: &'static str, pes: u32, rows: &'static [BenchRow]) -> RowGroup {
    group(name, pes, 1, CROWD, rows)
}

/// Two PEs, each a node.
const fn two_nodes(name: &'static str, work: Work, rows: &'static [BenchRow]) -> RowGroup {
    group(name, 2, 2, work, rows)
}

/// A PE with a processor for itself is disturbed seldom if the batch is short.
const PAIR: Work = Work::Kernel { bound: true, batch: Duration::from_micros(20) };
/// Between nodes an operation takes as long as many of a node.
pub(crate) const BETWEEN_NODES: Duration = Duration::from_micros(500);
const PAIR_OF_NODES: Work = Work::Kernel { bound: true, batch: BETWEEN_NODES };
/// PEs that share processors need some turns of the scheduler.
const CROWD: Work = Work::Kernel { bound: false, batch: Duration::from_millis(1) };

const CALL: &str = "empty call through the linkage table";
const BARE: &str = "bare two-process flag barrier";
const MEMCPY: &str = "memcpy";
const HEAP: &str = "the same call on the heap";
const SLICES: &str = "bare two-process slice kernel";
const COPIES: &str = "both processes copy their bytes";
const BARRIER: &str = "barrier_all of the library";
const COUNTER: &str = "bare counter, yielding";
const WIRE: &str = "one way of a bare TCP ping-pong that spins";
const STREAM: &str = "bare TCP stream that spins";
const UCP: &str = "bare ucp_put_nbx over the same";
const WRITE: &str = "bare fi_write over the same";
const BEHIND: &str = "the call that waits, and the work behind it";
const PROCESSES: &str = "as many processes that do nothing";

/// A get over the named transport, from a PE that waits in the library and from one that computes.
macro_rules! over {
    ($transport:literal) => {
        two_nodes(
            "provider",
            Work::Over($transport),
            &[
                row(concat!("get from a PE that waits over ", $transport), WIRE, Nanoseconds(15e3)),
                row(concat!("get from a PE that computes over ", $transport), WIRE, Nanoseconds(60e3)),
            ],
        )
    };
}

/// Everything, in the order of the report.
pub(crate) const GROUPS: &[RowGroup] = &[
    pair(
        "scalars",
        &[
            row("p heap", CALL, Times(1.3)),
            row("p static", CALL, Times(1.3)),
            row("p rotating PE", CALL, Times(1.3)),
            row("p with context", CALL, Times(1.3)),
            row("p beside a raw store", "raw store", Scale),
            row("g heap", CALL, Times(1.4)),
            row("g static", CALL, Times(1.4)),
            row("g beside a raw load", "raw load", Scale),
            row("quiet idle", CALL, Nanoseconds(5.0)),
            row("quiet beside a fence", "full fence behind a call", Scale),
            row("fence idle", CALL, Nanoseconds(5.0)),
            row("put 8 B and quiet", "8 B copied and a full fence", Nanoseconds(25.0)),
        ],
    ),
    pair(
        "atomics",
        &[
            row("fetch_add", "lock xadd", Times(1.2)),
            row("fetch_add beside a call", "lock xadd behind a call", Scale),
            row("fetch_inc", "lock xadd", Times(1.2)),
            row("inc", "lock add", Scale),
            row("add", "lock add", Scale),
            row("swap", "xchg", Scale),
            row("compare_swap", "lock cmpxchg", Scale),
        ],
    ),
    pair(
        "copies",
        &[
            row("put 8 B", MEMCPY, Scale),
            row("get 8 B", MEMCPY, Scale),
            row("put 64 B", MEMCPY, Scale),
            row("get 64 B", MEMCPY, Scale),
            row("put 1 KiB", MEMCPY, Scale),
            row("get 1 KiB", MEMCPY, Scale),
            row("put 8 KiB", MEMCPY, Scale),
            row("get 8 KiB", MEMCPY, Scale),
            row("put 64 KiB", MEMCPY, Share(0.97)),
            row("get 64 KiB", MEMCPY, Share(0.97)),
            row("put 256 KiB", MEMCPY, Share(0.97)),
            row("get 256 KiB", MEMCPY, Share(0.97)),
            row("put 1 MiB", MEMCPY, Share(0.97)),
            row("get 1 MiB", MEMCPY, Share(0.97)),
            row("put 4 MiB", MEMCPY, Share(0.97)),
            row("get 4 MiB", MEMCPY, Share(0.97)),
        ],
    ),
    pair(
        "statics",
        &[
            row("static p beside heap", HEAP, Times(1.1)),
            row("static g beside heap", HEAP, Times(1.1)),
            row("static fetch_add beside heap", HEAP, Times(1.1)),
            row("static put 64 KiB beside heap", HEAP, Times(1.1)),
        ],
    ),
    pair(
        "pingpong",
        &[
            row("p and wait_until ping-pong", "raw line ping-pong", Times(1.3)),
            row("put_signal 8 B ping-pong", "copy-and-flag ping-pong", Times(1.2)),
            row("put_signal 1 KiB ping-pong", "copy-and-flag ping-pong", Times(1.2)),
            row("put_signal 64 KiB ping-pong", "copy-and-flag ping-pong", Times(1.2)),
        ],
    ),
    pair(
        "storm",
        &[
            row("put 256 KiB and a flag after long waits", "copy-and-flag ping-pong", Times(1.1)),
            row("put_signal 256 KiB after long waits", "copy-and-flag ping-pong", Times(1.1)),
            row("put and a flag beside put_signal", "put_signal of as much", Times(1.1)),
        ],
    ),
    pair(
        "barriers",
        &[
            row("barrier_all", BARE, Times(1.3)),
            row("sync_all", BARE, Times(1.3)),
            row("team_sync", BARE, Times(1.3)),
            row("max of 1 long", BARE, Times(1.5)),
            row("max of 1 double", BARE, Times(1.5)),
            row("active-set barrier", BARE, Times(1.3)),
            row("max_to_all of 1 long", BARE, Times(1.5)),
        ],
    ),
    pair("locks", &[row("lock alone", "bare ticket lock", Scale), row("lock contended", "bare ticket lock", Scale)]),
    pair(
        "reductions",
        &[
            row("max of 1 Ki ints", SLICES, Times(1.25)),
            row("max of 1 Ki doubles", SLICES, Times(1.25)),
            row("max of 128 Ki ints", SLICES, Times(1.25)),
            row("max of 128 Ki doubles", SLICES, Times(1.25)),
            row("max of 1 Mi ints", SLICES, Times(1.25)),
            row("max of 1 Mi doubles", SLICES, Times(1.25)),
        ],
    ),
    pair(
        "moves",
        &[
            row("broadcast 1 MiB", COPIES, Share(0.8)),
            row("fcollect 1 MiB", COPIES, Share(0.8)),
            row("alltoall 1 MiB", COPIES, Share(0.8)),
        ],
    ),
    recorded::PROFILE,
    recorded::TRACE,
    recorded::PAIR,
    recorded::CROWD,
    recorded::NODES,
    group("Rust", 2, 1, Work::Rust, rust::ROWS),
    pair("splits", SPLITS),
    crowd("splits", 8, SPLITS),
    crowd(
        "crowd",
        4,
        &[row("barrier_all", COUNTER, Nanoseconds(3000.0)), row("max of 1 long", COUNTER, Nanoseconds(3000.0))],
    ),
    crowd(
        "crowd",
        8,
        &[row("barrier_all", COUNTER, Nanoseconds(7000.0)), row("max of 1 long", COUNTER, Nanoseconds(7000.0))],
    ),
    two_nodes(
        "tcp",
        PAIR_OF_NODES,
        &[
            row("put and wait over TCP, one way", WIRE, Times(1.25)),
            row("get 8 B over TCP", WIRE, Times(2.3)),
            row("fetch_add 8 B over TCP", WIRE, Times(2.3)),
            row("barrier_all over TCP", WIRE, Times(1.3)),
            row("max of 1 long over TCP", WIRE, Times(1.4)),
            row("put 1 MiB over TCP", STREAM, Share(0.9)),
            row("put_nbi 1 MiB over TCP", STREAM, Share(0.9)),
            row("get 1 MiB over TCP", STREAM, Share(0.9)),
            row("get_nbi 1 MiB over TCP", STREAM, Share(0.9)),
            row("put_nbi 8 B over TCP", "none", Nanoseconds(200.0)),
            row("quiet idle between nodes", CALL, Nanoseconds(12.0)),
            row("fence idle between nodes", CALL, Nanoseconds(9.0)),
            row("get from a PE that computes", WIRE, Nanoseconds(60e3)),
            row("fetch_add on a PE that computes", WIRE, Nanoseconds(60e3)),
        ],
    ),
    two_nodes(
        "overlap",
        PAIR_OF_NODES,
        &[
            row("max of 256 KiB beside work", BEHIND, Scale),
            row("broadcast of 256 KiB beside work", BEHIND, Scale),
            row("fcollect of 128 KiB beside work", BEHIND, Scale),
            row("alltoall of 128 KiB beside work", BEHIND, Scale),
        ],
    ),
    over!("ucx:tcp"),
    over!("ofi:tcp"),
    over!("ofi:tcp;ofi_rxm"),
    two_nodes(
        "ucx",
        Work::Transport { package: "oxshmem-transport-ucx", example: "beside_ucp" },
        &[
            row("put 8 B over UCX's TCP, one way", UCP, Times(1.15)),
            row("put 8 B and quiet over UCX's TCP", UCP, Times(1.1)),
            row("put 32 KiB and quiet over UCX's TCP", UCP, Times(1.1)),
            row("put 256 KiB and quiet over UCX's TCP", UCP, Times(1.1)),
            row("put 1 MiB and quiet over UCX's TCP", UCP, Times(1.15)),
        ],
    ),
    two_nodes(
        "libfabric",
        Work::Transport { package: "oxshmem-transport-ofi", example: "beside_libfabric" },
        &[
            row("put 8 B over libfabric's shm, one way", WRITE, Times(1.15)),
            row("put 8 B over libfabric's tcp, one way", WRITE, Times(1.15)),
            row("put 8 B over libfabric's tcp, one way, beside a queue to sleep on", WRITE, Times(1.15)),
            row("put 8 B over libfabric's tcp;ofi_rxm, one way", WRITE, Times(1.15)),
            row("put 8 B over libfabric's tcp;ofi_rxm, one way, beside a queue to sleep on", WRITE, Times(1.15)),
        ],
    ),
    group("start", 2, 1, Work::Start, &[row("start of the empty program", PROCESSES, Nanoseconds(30e6))]),
    group("start", 2, 2, Work::Start, &[row("start of the empty program on two nodes", PROCESSES, Nanoseconds(30e6))]),
    group("start", 64, 1, Work::Start, &[row("start of the empty program", PROCESSES, Nanoseconds(500e6))]),
    group("memory", 2, 1, Work::Memory, MEMORY),
    group("memory", 64, 1, Work::Memory, MEMORY),
];

const SPLITS: &[BenchRow] = &[
    row("first splits (strided)", BARRIER, Times(3.0)),
    row("split_strided and destroy", BARRIER, Times(3.0)),
    row("split_2d by 1 and destroy", BARRIER, Times(3.0)),
    row("split_2d by 2 and destroy", BARRIER, Times(3.0)),
    row("split_2d by n and destroy", BARRIER, Times(3.0)),
];

const MEMORY: &[BenchRow] = &[
    row("resident memory", "every resident page counted in full", Bytes(6e6)),
    row("proportional memory", "pages divided among the PEs that share them", Bytes(6e6)),
];
