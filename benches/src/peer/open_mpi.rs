//! Open MPI's OpenSHMEM, and how its jobs are started.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DEVICES, PeerCarrier, PeerShape, have_processors, source};

/// Components in every comparison: version 4.1.4 crashes at start with the component that it takes by default.
const COMPONENT: (&str, &str) = ("osc", "^rdma");
/// And between nodes: collectives that do not go through memory.
const BETWEEN_NODES: (&str, &str) = ("coll", "^sm");

/// Open MPI with its OpenSHMEM.
pub(super) struct OpenMpi {
    bin: PathBuf,
}

impl OpenMpi {
    /// The first one on PATH.
    pub(super) fn find() -> Option<Self> {
        let path = env::var_os("PATH")?;
        let bin = env::split_paths(&path).find(|folder| has_oshmem_info(folder))?;
        Some(Self { bin })
    }

    pub(super) fn compiler(&self) -> PathBuf {
        self.bin.join("oshcc")
    }

    /// A job; between nodes its messages go over the loopback device, in collectives and in puts.
    pub(super) fn oshrun(&self, carrier: &PeerCarrier, shape: PeerShape) -> Command {
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
        let share = shape.nodes > 1 && shape.per_node > 1;
        for (name, value) in components {
            let value = if share && name == "btl" { "tcp,vader,self" } else { value };
            command.args(["--mca", name, value]);
        }
        if share {
            share_nodes(&mut command, shape);
        }
        if have_processors(shape.pes()) {
            command.args(["--bind-to", "core"])
        } else {
            command.args(["--bind-to", "none", "--oversubscribe"])
        };
        command.args(["-np", &shape.pes().to_string()]);
        command
    }
}

/// Several PEs on each node: Open MPI takes PEs for neighbours, which then use the memory of a node, if one daemon has
/// started them. A script in the place of ssh starts a daemon for each node, on this machine and under the node's name.
fn share_nodes(command: &mut Command, shape: PeerShape) {
    let hosts: Vec<String> = (0..shape.nodes).map(|node| format!("node{node}:{}", shape.per_node)).collect();
    command.args(["-H", &hosts.join(",")]);
    command.arg("--mca").arg("plm_rsh_agent").arg(source("node.sh"));
    command.args(["--mca", "oob_tcp_if_include", "lo"]);
    // Each daemon believes that the processors are its own.
    command.args(["--mca", "mpi_yield_when_idle", "1"]);
}

/// Whether a folder has Open MPI's tool. Ours of that name is `osh_info`.
fn has_oshmem_info(folder: &Path) -> bool {
    let tool = folder.join("oshmem_info");
    tool.is_file() && tool.canonicalize().is_ok_and(|tool| !tool.ends_with("osh_info"))
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
