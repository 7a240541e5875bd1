//! One job of a fault's program between virtual nodes: how it is built, how it runs, and the command that repeats it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use oxshmem_faults::changed;

use crate::checks::conformance::job;
use crate::{Outcome, command, default_prefix, disk, rigs, target, top};

/// A job that takes longer hangs. The slowest takes some seconds.
const LIMIT: Duration = Duration::from_secs(180);

/// Where and how a job's PEs run.
#[derive(Clone, Debug)]
pub(crate) struct SpreadJob {
    pub(crate) pes: u32,
    pub(crate) nodes: u32,
    /// The transport between nodes; none where there is only one.
    pub(crate) transport: Option<String>,
    /// Whether the job has a network of its own whose connections hold some KiB.
    pub(crate) small_buffers: bool,
}

impl fmt::Display for SpreadJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.transport.as_deref().map(|transport| format!(" by {transport}")).unwrap_or_default();
        let buffers = if self.small_buffers { ", small buffers" } else { "" };
        write!(f, "{} PEs on {} nodes{by}{buffers}", self.pes, self.nodes)
    }
}

impl SpreadJob {
    /// The words before the program.
    fn words(&self) -> Vec<PathBuf> {
        let rig = self.small_buffers.then(rigs::small_buffers);
        let options = ["-n".to_string(), self.pes.to_string(), "--nodes".to_string(), self.nodes.to_string()];
        rig.into_iter().chain([default_prefix().join("bin/oshrun")]).chain(options.map(PathBuf::from)).collect()
    }

    /// Runs the program with these arguments. `Ok` has what it printed; `Err` says how it ended, and how to run it again.
    pub(crate) fn run(&self, program: &Path, arguments: &[String]) -> Outcome<String> {
        let words = self.words();
        let mut command = job::until_we_end(&words[0]);
        command.args(&words[1..]).arg(program).args(arguments).current_dir(top());
        job::clear_environment(&mut command);
        if let Some(transport) = &self.transport {
            command.env("SHMEM_TRANSPORT", transport);
        }
        let (status, output) = match job::finish(command, LIMIT) {
            Ok((0, output)) => return Ok(output),
            Ok((status, output)) => (format!("status {status}"), output),
            Err(why) => ("no end".to_string(), why),
        };
        Err(format!("{status}\n{}\n    again: {}", job::indented(&output), self.again(program, arguments)))
    }

    /// The command of a shell that runs the job again from the repository's top folder.
    pub(crate) fn again(&self, program: &Path, arguments: &[String]) -> String {
        let below_top = |path: PathBuf| path.strip_prefix(top()).map(Path::to_path_buf).unwrap_or(path);
        let words =
            self.words().into_iter().chain([program.to_path_buf()]).map(|path| below_top(path).display().to_string());
        let variable = self.transport.as_ref().map(|transport| format!("SHMEM_TRANSPORT='{transport}'"));
        variable.into_iter().chain(words).chain(arguments.to_vec()).collect::<Vec<_>>().join(" ")
    }
}

/// Builds a program of `ci/faults/programs`, a source or a folder of sources, unless it is younger than they are.
pub(crate) fn build(name: &str) -> Outcome<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().map_err(|_| "another build has panicked".to_string())?;
    let programs = top().join("ci/faults/programs");
    let single = programs.join(name).with_extension("c");
    let (sources, watched) = if single.is_file() {
        (vec![single.clone()], vec![single])
    } else {
        let all = disk::entries(&programs.join(name))?;
        (all.iter().filter(|path| path.extension().is_some_and(|ending| ending == "c")).cloned().collect(), all)
    };
    let executable = target().join("random").join(name);
    // The output of jobs lies there while they run.
    disk::make_folder(&target().join("conformance"))?;
    let header = default_prefix().join("include/shmem.h");
    let newest = watched.iter().chain([&header]).filter_map(|path| changed(path)).max();
    if changed(&executable) <= newest {
        let options = ["-g", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"];
        command::compile(&default_prefix(), &options, &sources, &executable)?;
    }
    Ok(executable)
}

/// Why jobs of these shapes cannot run here, if so: the rig or the transport cannot be had.
pub(crate) fn obstacle(shape: &SpreadJob, program: &Path, arguments: &[String]) -> Outcome<Option<String>> {
    if shape.small_buffers {
        let output = command::output(Command::new(rigs::small_buffers()).arg("true"))?;
        if output.status.code() == Some(rigs::SKIPPED) {
            return Ok(Some(String::from_utf8_lossy(&output.stderr).trim_end().to_string()));
        }
    }
    match shape.run(program, arguments) {
        // The library's sentence where the provider's library is missing.
        Err(said) if said.contains("cannot carry a job of") => Ok(Some(said)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_repeats_the_job() {
        let shape = SpreadJob { pes: 4, nodes: 2, transport: Some("ofi:tcp".into()), small_buffers: true };
        let command = shape.again(&top().join("target/random/random"), &["17".to_string(), "9".to_string()]);
        assert!(command.starts_with("SHMEM_TRANSPORT='ofi:tcp' ci/rigs/small-buffers "), "{command}");
        assert!(command.ends_with("oshrun -n 4 --nodes 2 target/random/random 17 9"), "{command}");
        let alone = SpreadJob { nodes: 1, transport: None, small_buffers: false, ..shape };
        assert!(!alone.again(Path::new("random"), &[]).contains("SHMEM"));
        assert_eq!(alone.to_string(), "4 PEs on 1 nodes");
    }
}
