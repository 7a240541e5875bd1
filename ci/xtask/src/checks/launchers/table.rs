//! The rows: launchers, command lines and what must come of them.

pub(super) struct LauncherRow {
    pub(super) name: &'static str,
    /// Programs without which it cannot run.
    pub(super) needs: &'static [&'static str],
    pub(super) slurm: bool,
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// `{program}`, `{oshrun}`, `{launchers}` (`ci/launchers`) and the words of [`SHORT`] are put in; words are divided by blanks.
    command: &'static str,
    pub(super) expect: ExpectedResult,
}

#[derive(Clone, Copy)]
pub(super) enum ExpectedResult {
    /// The program runs well; `on_node`: for each PE, how many share its node.
    Runs {
        /// How the library speaks to the launcher, as `SHMEM_INFO` says it.
        by: &'static str,
        on_node: &'static [u32],
    },
    /// The job ends with one of these statuses, and these words are on the standard error; of words divided by `|`, one.
    Ends { statuses: &'static [i32], says: &'static [&'static str] },
    /// Four PEs end when the process that serves them is killed.
    Lifeline,
}

/// How many PEs say their process number where the process that serves them is killed.
pub(super) const SERVED_PES: usize = 4;

use ExpectedResult::{Ends, Lifeline, Runs};

const HYDRA: &[&str] = &["mpiexec.hydra"];
const OPEN_MPI: &[&str] = &["mpirun.openmpi"];
const SRUN: &[&str] = &["srun"];
/// How the four PEs of most rows share one node, and two.
const ONE_NODE: &[u32] = &[4, 4, 4, 4];
const TWO_NODES: &[u32] = &[2, 2, 2, 2];

const fn runs(
    name: &'static str,
    needs: &'static [&'static str],
    by: &'static str,
    on_node: &'static [u32],
    command: &'static str,
) -> LauncherRow {
    LauncherRow { name, needs, slurm: false, variables: &[], command, expect: Runs { by, on_node } }
}

const fn ends(
    name: &'static str,
    needs: &'static [&'static str],
    command: &'static str,
    statuses: &'static [i32],
    says: &'static [&'static str],
) -> LauncherRow {
    LauncherRow { name, needs, slurm: false, variables: &[], command, expect: Ends { statuses, says } }
}

const fn lifeline(name: &'static str, needs: &'static [&'static str], command: &'static str) -> LauncherRow {
    LauncherRow { name, needs, slurm: false, variables: &[], command, expect: Lifeline }
}

impl LauncherRow {
    const fn by(self, variables: &'static [(&'static str, &'static str)]) -> LauncherRow {
        LauncherRow { variables, ..self }
    }

    const fn in_slurm(self) -> LauncherRow {
        LauncherRow { slurm: true, ..self }
    }

    /// The command line with the words of [`SHORT`].
    pub(super) fn line(&self) -> String {
        SHORT.iter().fold(self.command.to_string(), |line, (short, words)| line.replace(short, words))
    }
}

const PYTHON: &[&str] = &["python3"];
const NAMESPACES: &[&str] = &["ip", "unshare", "nsenter"];

/// Words that several command lines have.
const SHORT: [(&str, &str); 4] = [
    ("{hosts}", "{rigs}/network-namespaces run"),
    ("{on-both}", "-H 0,1 --launch-agent {launchers}/enter"),
    ("{mpirun}", "mpirun.openmpi --allow-run-as-root --oversubscribe -n 4"),
    ("{srun}", "srun -N2 -n4 --ntasks-per-node=2"),
];

pub(super) const ROWS: &[LauncherRow] = &[
    runs("oshrun", &[], "PMI-1", ONE_NODE, "{oshrun} -n 4 {program}"),
    runs("oshrun-nodes", &[], "PMI-1", TWO_NODES, "{oshrun} -n 4 --nodes 2 {program}"),
    runs("oshrun-namespaces", NAMESPACES, "PMI-1", TWO_NODES, "{hosts} {oshrun} {on-both} -n 4 {program}"),
    ends("oshrun-needs-no-library", &["ldd"], "{launchers}/linked-statically {oshrun}", &[0], &["static"]),
    // The message of hosts between which TCP does not pass; a job waits three seconds for it here.
    ends(
        "problem-15-port-blocked",
        NAMESPACES,
        "{hosts} {launchers}/among firewall {oshrun} {on-both} -n 2 {program}",
        &[1],
        &[
            "on host host0 cannot be reached from host host1|on host host1 cannot be reached from host host0",
            "(cable0): no answer|(cable1): no answer",
            "SHMEM_TCP_PORTS=41000-41999",
            "SHMEM_TCP_INTERFACE chooses another network (",
            "198.51.100.1 (cable0)",
            "198.51.100.2 (cable1)",
        ],
    )
    .by(&[("SHMEM_PEER_TIMEOUT", "3")]),
    runs(
        "problem-25-only-some-ports-open",
        NAMESPACES,
        "PMI-1",
        TWO_NODES,
        "{hosts} {launchers}/among firewall:41000-41009 {oshrun} {on-both} -n 4 {program}",
    )
    .by(&[("SHMEM_TCP_PORTS", "41000-41009")]),
    ends(
        "problem-25-too-few-ports",
        &[],
        "{oshrun} -n 4 --nodes 2 {program}",
        &[1],
        &["none of the ports SHMEM_TCP_PORTS=41990-41991 is free", "each PE of a host needs one"],
    )
    .by(&[("SHMEM_TCP_PORTS", "41990-41991")]),
    ends(
        "problem-15-no-such-interface",
        NAMESPACES,
        "{hosts} {oshrun} {on-both} -n 2 {program}",
        &[1],
        &["no interface of host host", "SHMEM_TCP_INTERFACE=ib0", "it has 127.0.0.1 (lo), 198.51.100."],
    )
    .by(&[("SHMEM_TCP_INTERFACE", "ib0")]),
    ends(
        "problem-15-loopback-named",
        NAMESPACES,
        "{hosts} {oshrun} {on-both} -n 2 {program}",
        &[1],
        &["cannot be reached from host host", "tells only 127.0.0.1 (lo)", "SHMEM_TCP_INTERFACE must name"],
    )
    .by(&[("SHMEM_TCP_INTERFACE", "lo"), ("SHMEM_PEER_TIMEOUT", "3")]),
    runs(
        "problem-15-bridges-of-containers",
        NAMESPACES,
        "PMI-1",
        TWO_NODES,
        "{hosts} {launchers}/among bridges {oshrun} {on-both} -n 4 {program}",
    ),
    ends(
        "problem-15-bridge-named",
        NAMESPACES,
        "{hosts} {launchers}/among bridges {oshrun} {on-both} -n 2 {program}",
        &[1],
        &["tells only 172.17.0.1 (docker0)", "SHMEM_TCP_INTERFACE must name"],
    )
    .by(&[("SHMEM_TCP_INTERFACE", "docker0"), ("SHMEM_PEER_TIMEOUT", "3")]),
    runs("oshrun-slurm", SRUN, "PMI-1", TWO_NODES, "salloc -Q -N2 --ntasks-per-node=2 {oshrun} {program}").in_slurm(),
    runs("oshrun-pmi2", &[], "PMI-2", ONE_NODE, "{oshrun} -n 4 {program}").by(&[("SHMEM_PMI", "pmi2")]),
    ends("oshrun-abort", &[], "{oshrun} -n 4 {program} abort", &[42], &["exit 42"]),
    ends("oshrun-exit", &[], "{oshrun} -n 4 {program} exit", &[3], &["exit 3"]),
    lifeline("oshrun-killed", &[], "{oshrun} -n 4 {program} wait"),
    runs("hydra", HYDRA, "PMI-1", ONE_NODE, "mpiexec.hydra -n 4 {program}"),
    runs("hydra-port", HYDRA, "PMI-1", ONE_NODE, "mpiexec.hydra -pmi-port -n 4 {program}"),
    runs("hydra-pmi2", HYDRA, "PMI-2", ONE_NODE, "mpiexec.hydra -n 4 {program}").by(&[("SHMEM_PMI", "pmi2")]),
    ends("hydra-abort", HYDRA, "mpiexec.hydra -n 4 {program} abort", &[42], &[]),
    // Hydra kills the other PEs one after the other and mixes the statuses: 3, that of a killed PE as it counts it, or both bit by bit. The
    // last PE may see that all others are gone before it is killed, and asks Hydra to end the job with status 1; Hydra may lose its words.
    ends("hydra-exit", HYDRA, "mpiexec.hydra -n 4 {program} exit", &[3, 9, 3 | 9, 1], &[]),
    lifeline("hydra-killed", HYDRA, "mpiexec.hydra -n 4 {program} wait"),
    runs("openmpi", OPEN_MPI, "PMIx", ONE_NODE, "{mpirun} {program}"),
    ends("openmpi-abort", OPEN_MPI, "{mpirun} {program} abort", &[42], &[]),
    ends("openmpi-exit", OPEN_MPI, "{mpirun} {program} exit", &[3], &[]),
    ends(
        "problem-1-openmpi-without-pmix",
        &["mpirun.openmpi", "unshare"],
        "{mpirun} {launchers}/without libpmix.so.2 {program}",
        &[1],
        &["one of 4 tasks by Open MPI's mpirun", "libpmix.so.2", "LD_LIBRARY_PATH"],
    ),
    lifeline("openmpi-killed", OPEN_MPI, "{mpirun} {program} wait"),
    runs("flux-protocol", PYTHON, "PMI-1", TWO_NODES, "{launchers}/flux-shell -n 4 -N 2 {program}"),
    ends("flux-protocol-abort", PYTHON, "{launchers}/flux-shell -n 4 -N 2 {program} abort", &[42], &["ends the job"]),
    // A server that takes values of 1 KB, and each key once; no PE may ask more often in a larger job.
    runs("problem-19-few-requests", PYTHON, "PMI-1", &[4; 16], "{launchers}/flux-shell -n 16 -N 4 --most 32 {program}"),
    runs("slurm-pmi2", SRUN, "PMI-1", TWO_NODES, "{srun} --mpi=pmi2 {program}").in_slurm(),
    runs("slurm-pmi2-version-2", SRUN, "PMI-2", TWO_NODES, "{srun} --mpi=pmi2 {program}")
        .by(&[("SHMEM_PMI", "pmi2")])
        .in_slurm(),
    runs("slurm-pmix", SRUN, "PMIx", TWO_NODES, "{srun} --mpi=pmix {program}").in_slurm(),
    runs("slurm-cyclic", SRUN, "PMI-1", TWO_NODES, "{srun} -m cyclic --mpi=pmi2 {program}").in_slurm(),
    runs("slurm-library", SRUN, "libpmi2.so.0", TWO_NODES, "{srun} --mpi=pmi2 {program}")
        .by(&[("SHMEM_PMI", "library")])
        .in_slurm(),
    ends(
        "problem-1-slurm-without-pmi",
        &["srun", "unshare"],
        "srun -N2 -n4 --mpi=none {launchers}/without libpmi.so.0 {program}",
        &[1],
        &["one of 4 tasks by Slurm (step", "PMI_FD is not set", "srun --mpi=pmi2 -n 4"],
    )
    .in_slurm(),
    // Slurm kills the other tasks and reports the greatest status of all: that of a killed one.
    ends("slurm-abort", SRUN, "{srun} --mpi=pmi2 {program} abort", &[42, 137], &["Exited with exit code 42"])
        .in_slurm(),
    ends("slurm-pmix-abort", SRUN, "{srun} --mpi=pmix {program} abort", &[42], &[]).in_slurm(),
    // With -K Slurm ends the others when one task fails, first by SIGTERM.
    ends("slurm-exit", SRUN, "srun -K -N2 -n4 --mpi=pmi2 {program} exit", &[3, 137, 143], &["Exited with exit code 3"])
        .in_slurm(),
    lifeline("slurm-pmix-killed", SRUN, "{srun} --mpi=pmix {program} wait").in_slurm(),
    lifeline("slurm-killed", SRUN, "{srun} --mpi=pmi2 {program} wait").in_slurm(),
];
