//! The libraries that are measured, and how jobs of each are started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_base::Error;

use super::peers::{MessageCarrier, PeerKind, PeerLibrary};
use crate::machine::{beside, helper, installed};

/// The name of our own library.
pub(crate) const OURS: &str = "oxshmem";

/// A library with the program that was compiled for it.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    /// The command that starts a job, without the program.
    pub(crate) start: Vec<OsString>,
    /// Variables of the job.
    environment: Vec<(&'static str, String)>,
    pub(crate) program: PathBuf,
}

/// The shape of all jobs.
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
    /// PEs of a job that nobody has counted.
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
        if shape.oshrun.is_empty() || shape.pes.is_some() {
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
    pub(crate) fn peer(peer: &PeerLibrary, shape: &JobShape<'_>, folder: &Path) -> Result<Self, Error> {
        let (bin, settings, name) =
            (peer.tools()?, peer.settings(shape.carrier.as_ref(), shape.hosts.is_none())?, peer.kind.name());
        let mut start: Vec<OsString> = vec![bin.join("oshrun").into()];
        if peer.kind == PeerKind::OpenMpi {
            start.push("--allow-run-as-root".into());
        }
        start.extend(settings.words.iter().map(OsString::from));
        if let Some(hosts) = shape.hosts {
            start.extend(["-H".into(), hosts.into()]);
        }
        // The others' launchers are whatever they were built with, which binds as it is told to elsewhere.
        if peer.kind == PeerKind::OpenMpi {
            start.extend(match shape.fits() {
                true => ["--bind-to", "core"].map(OsString::from).to_vec(),
                false => ["--bind-to", "none", "--oversubscribe"].map(OsString::from).to_vec(),
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
        let mut start: Vec<OsString> = launcher.split_whitespace().map(OsString::from).collect();
        start.extend(["-np".into(), shape.pes().to_string().into()]);
        Ok(Self { name: name.into(), start, environment: Vec::new(), program: compiled(name, compiler, folder)? })
    }

    /// A job of one group.
    pub(crate) fn job(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.start[0]);
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
    match output.status.success() {
        true => Ok(program),
        false => Err(refused(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())),
    }
}
