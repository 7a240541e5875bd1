//! The libraries that are measured, and how jobs of each are started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_base::Error;

use super::peers::{MessageCarrier, PeerKind, PeerLibrary};
use crate::machine::{beside, helper, installed};
use crate::plan::{BindTo, JobPlan};
use crate::{arguments, tool_job};

pub(crate) const OURS: &str = "oxshmem";

/// A library with the program that was compiled for it.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    /// The command that starts a job, without the program.
    pub(crate) start: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    pub(crate) program: PathBuf,
}

#[derive(Clone, Debug)]
pub(crate) struct JobShape<'s> {
    pub(crate) pes: Option<u32>,
    pub(crate) nodes: u32,
    pub(crate) hosts: Option<&'s str>,
    /// Arguments for our own launcher.
    pub(crate) oshrun: &'s [String],
    /// Whether PEs are bound to cores, because another library is measured beside ours.
    pub(crate) bound: bool,
    /// The carrier of messages between nodes, where all libraries are to use the same.
    pub(crate) carrier: Option<MessageCarrier>,
}

impl JobShape<'_> {
    /// PEs of a job whose number the command line does not say.
    const DEFAULT_PES: u32 = 2;

    /// How many PEs there are, as far as the command line tells.
    pub(crate) fn pes(&self) -> u32 {
        self.pes.unwrap_or(Self::DEFAULT_PES)
    }

    /// Whether each PE can have a core of its own.
    fn fits(&self) -> bool {
        std::thread::available_parallelism().is_ok_and(|cores| self.pes() as usize <= cores.get())
    }
}

impl Contender {
    /// Our own library, whose program is installed.
    pub(crate) fn ours(shape: &JobShape<'_>) -> Result<Self, Error> {
        let mut start: Vec<OsString> = vec![beside("oshrun")?.into()];
        if shape.pes.is_some() || !arguments::say_how_many(shape.oshrun) {
            start.extend(["-n".into(), shape.pes().to_string().into()]);
        }
        if shape.nodes > 1 {
            start.extend(["--nodes".into(), shape.nodes.to_string().into()]);
        }
        if let Some(hosts) = shape.hosts {
            start.extend(["-H".into(), hosts.into()]);
        }
        if shape.bound && shape.fits() {
            start.push("--bind=core".into());
        }
        start.extend(shape.oshrun.iter().map(OsString::from));
        let environment = shape.carrier.as_ref().map(|carrier| carrier.ours(shape.hosts.is_none())).unwrap_or_default();
        Ok(Self { name: OURS.into(), start, environment, program: helper("oshbench")? })
    }

    /// A library that `--compare` knows, compiled below `folder`.
    pub(crate) fn peer(peer: &PeerLibrary, name: &str, shape: &JobShape<'_>, folder: &Path) -> Result<Self, Error> {
        let (bin, settings) = (peer.tools()?, peer.settings(shape.carrier.as_ref(), shape.hosts.is_none())?);
        let mut start: Vec<OsString> = vec![bin.join("oshrun").into()];
        if peer.kind == PeerKind::OpenMpi {
            start.push("--allow-run-as-root".into());
        }
        start.extend(settings.words.iter().map(OsString::from));
        if let Some(hosts) = shape.hosts {
            start.extend(["-H".into(), hosts.into()]);
        }
        // Other libraries use the launcher that they were built with, whose binding is configured elsewhere.
        if peer.kind == PeerKind::OpenMpi {
            start.extend(if shape.fits() {
                ["--bind-to", "core"].map(OsString::from).to_vec()
            } else {
                ["--bind-to", "none", "--oversubscribe"].map(OsString::from).to_vec()
            });
        }
        start.extend(["-np".into(), shape.pes().to_string().into()]);
        let program = compiled(name, &bin.join("oshcc"), folder)?;
        Ok(Self { name: name.into(), start, environment: settings.variables, program })
    }

    /// Any other library, by its compiler and its launcher with the words that it needs.
    pub(crate) fn other(
        name: &str,
        compiler: &Path,
        launcher: &str,
        shape: &JobShape<'_>,
        folder: &Path,
    ) -> Result<Self, Error> {
        // The path of a launcher may have blanks.
        let is_path = Path::new(launcher).is_file();
        let words = if is_path { vec![launcher] } else { launcher.split_whitespace().collect() };
        let mut start: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        start.extend(["-np".into(), shape.pes().to_string().into()]);
        Ok(Self { name: name.into(), start, environment: Vec::new(), program: compiled(name, compiler, folder)? })
    }

    /// The plan of a job of our launcher, if its command line makes one.
    fn plan(&self) -> Option<JobPlan> {
        let words = self.start[1..].iter().cloned().chain([self.program.clone().into()]);
        JobPlan::from_arguments(words.collect()).ok()
    }

    /// Whether its PEs are bound to cores or NUMA nodes by our launcher, or by the variable that says so.
    pub(crate) fn binds(&self) -> bool {
        let Some(plan) = self.plan() else { return false };
        let binds = |word: OsString| !["", "none", "0"].contains(&word.to_string_lossy().trim());
        plan.bind.map_or_else(|| plan.values("SHMEM_BIND").any(binds), |bind| bind != BindTo::None)
    }

    /// On how many nodes its job of `pes` PEs is, as far as the command line of our launcher tells.
    pub(crate) fn nodes(&self, pes: u32) -> Option<u32> {
        let plan = self.plan()?;
        Some(plan.places.hosts.map_or_else(|| blocks(pes, plan.nodes), |hosts| hosts.len() as u32))
    }

    /// A job of one group.
    pub(crate) fn job(&self, arguments: &[String]) -> Command {
        let mut command = tool_job::launcher(&self.start[0]);
        command
            .args(&self.start[1..])
            .arg(&self.program)
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// How jobs are started, for the report.
    pub(crate) fn described(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let words = self.start.iter().map(|word| word.to_string_lossy().into_owned());
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// How many nodes `pes` PEs make in equal blocks, as `oshrun --nodes` deals them.
fn blocks(pes: u32, wanted: u32) -> u32 {
    pes.div_ceil(pes.div_ceil(wanted.max(1)).max(1))
}

/// A library's name, with a number where another one of the run has it: figures and programs go by these names.
pub(crate) fn free_name(name: &str, others: &[Contender]) -> String {
    let numbered = (2..).map(|number: u32| format!("{name} {number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| others.iter().all(|other| other.name != *name)).expect("there are more numbers than libraries")
}

/// Compiles the installed sources with the compiler of another library.
fn compiled(name: &str, compiler: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let sources = installed("share/oxshmem/bench")?;
    let listing = std::fs::read_dir(&sources)
        .map_err(|error| Error::new(format!("{} cannot be read", sources.display())).because(error))?;
    let mut files: Vec<PathBuf> = listing
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "c"))
        .collect();
    files.sort();
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let program = folder.join(format!("oshbench-{plain}"));
    let refused = |why: String| {
        Error::new(format!("the patterns cannot be compiled for {name}"))
            .because(why)
            .fix("name its compiler wrapper with --with-oshcc; the sources are in share/oxshmem/bench")
    };
    let output = Command::new(compiler)
        .args(["-std=c11", "-O2", "-Wno-deprecated-declarations", "-o"])
        .arg(&program)
        .args(&files)
        .args(["-lm", "-ldl"])
        .output()
        .map_err(|error| refused(format!("{}: {error}", compiler.display())))?;
    if output.status.success() {
        Ok(program)
    } else {
        Err(refused(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn two_pes_stay_unless_oshruns_own_arguments_say_how_many() {
        for line in ["", "--bind core", "--nodes 2", "-v --host-timeout 5", "-x A=1 --label"] {
            assert!(!arguments::say_how_many(&words(line)), "{line}");
        }
        for line in ["-n 4", "--bind core -np 4", "-n4", "--np=4", "-N 2", "-H a,b", "--host=a", "--hostfile f"] {
            assert!(arguments::say_how_many(&words(line)), "{line}");
        }
    }

    #[test]
    fn two_libraries_of_one_name_are_told_apart_by_a_number() {
        let named = |name: &str| Contender {
            name: name.into(),
            start: Vec::new(),
            environment: Vec::new(),
            program: PathBuf::new(),
        };
        let run = [named(OURS), named("Open MPI"), named("Open MPI 2")];
        let names = ["Sandia OpenSHMEM", OURS, "Open MPI"].map(|name| free_name(name, &run));
        assert_eq!(names, ["Sandia OpenSHMEM", "oxshmem 2", "Open MPI 3"]);
    }

    #[test]
    fn the_command_tells_nodes_and_binding() {
        let told = |line: &str| {
            let start = words(line).into_iter().map(OsString::from).collect();
            let contender = Contender { name: OURS.into(), start, environment: Vec::new(), program: "./a".into() };
            (contender.nodes(4), contender.binds())
        };
        for (line, found) in [
            ("oshrun -n 4 --bind=core", (Some(1), true)),
            ("oshrun -n 4 --nodes 2 --bind", (Some(2), true)),
            ("oshrun --nodes=4 --bind none", (Some(4), false)),
            ("oshrun --nodes 3 --bind none", (Some(2), false)),
            ("oshrun -H a,b:2 --bind numa", (Some(2), true)),
            ("oshrun -Ha,b --bind=none", (Some(2), false)),
            ("oshrun --host=a,b --host-timeout 5 --bind=none", (Some(2), false)),
            ("oshrun --hostfile f --bind=none", (None, false)),
        ] {
            assert_eq!(told(line), found, "{line}");
        }
    }
}
