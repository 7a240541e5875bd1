//! The environment variables of this host that PEs on other hosts get.

use std::ffi::OsString;

use crate::plan::JobPlan;

/// Exported to PEs on other hosts: what configures the library and the fabric libraries below it, and where programs
/// and libraries are found. Scripts set numbers of threads by Slurm's number, which `srun` must not read (`OPTIONS_OF_SRUN`).
const EXPORTED: [&str; 4] = ["SHMEM_", "SMA_", "FI_", "UCX_"];
const EXPORTED_TOO: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "SLURM_CPUS_PER_TASK"];

impl JobPlan {
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
