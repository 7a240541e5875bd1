//! The tasks by name, with their options.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Parser, Subcommand};

use crate::checks::{
    conformance, fuzz, house, lanes, launchers, namespaces, personas, planted, problems, public_api, rails, random,
    rdma, revisions, semver, sim, starts, steps,
};
use crate::product::package::{self, PackageArguments};
use crate::product::recipe::{LIBDIR, Recipe};
use crate::product::{bindgen, build, generate, installation, release};
use crate::{Outcome, command, counts, default_prefix, rigs};

/// Tasks of the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Builds, then runs the demonstration on 4 PEs
    Demo,
    /// Runs every check, or the named steps
    Test {
        /// Name the steps
        #[arg(long)]
        list: bool,
        /// Write the results to this file, for the other lane
        #[arg(long, hide = true)]
        results: Option<PathBuf>,
        /// Steps to run
        steps: Vec<String>,
    },
    /// Builds and links everything and lays it out below a folder
    Build {
        /// Profile of cargo
        #[arg(long, default_value = "release")]
        profile: String,
        #[command(flatten)]
        installation: Installation,
    },
    /// Builds for use outside of this folder
    Install {
        /// Folder of the installation
        #[arg(long)]
        prefix: PathBuf,
        /// Folder of the libraries below it: lib64, lib/x86_64-linux-gnu
        #[arg(long, default_value = LIBDIR)]
        libdir: PathBuf,
        /// Folder to install into as if it were the root of the system, for those who make packages [default: DESTDIR, if it is set]
        #[arg(long, value_name = "DIR")]
        destdir: Option<PathBuf>,
    },
    /// Removes an installation
    Uninstall {
        /// Folder of the installation
        #[arg(long)]
        prefix: PathBuf,
        /// Folder that is taken for the root of the system [default: DESTDIR, if it is set]
        #[arg(long, value_name = "DIR")]
        destdir: Option<PathBuf>,
    },
    /// Makes packages: an archive, those of Debian and Red Hat, a wheel
    Package(PackageArguments),
    /// Prints what the changelog says about this version
    ReleaseNotes {
        /// Fail unless this is the version's tag
        #[arg(long)]
        tag: Option<String>,
        /// Write them to a file instead
        #[arg(long)]
        output: Option<PathBuf>,
    },
    /// Writes what comes from the routine table
    Generate {
        /// Fail when a file is stale instead
        #[arg(long)]
        check: bool,
    },
    /// Writes the bindings to libraries from the installed headers
    Bindgen {
        /// Compare them with the headers instead
        #[arg(long)]
        check: bool,
        /// Print them
        #[cfg(feature = "printers")]
        #[arg(long, hide = true)]
        print: bool,
        /// Libraries; all if none is named
        libraries: Vec<String>,
    },
    /// Writes the list of the Rust API's public items
    PublicApi {
        /// Compare it with the code instead
        #[arg(long)]
        check: bool,
        /// Print it, by the data that rustdoc has written
        #[cfg(feature = "printers")]
        #[arg(long, hide = true)]
        print: Option<PathBuf>,
    },
    /// Runs cargo-semver-checks on the Rust API
    Semver {
        /// A revision to compare with; the committed baseline if none is named
        revision: Option<String>,
    },
    /// Checks rules that the compiler does not know: imports, lengths, names, comments
    House,
    /// Runs the conformance programs
    Conformance(conformance::ConformanceArguments),
    /// Runs conformance programs over emulated InfiniBand
    Rdma(rdma::RdmaArguments),
    /// Runs one program under every launcher here
    Launchers {
        /// Only launchers whose names contain one of these words
        words: Vec<String>,
    },
    /// Reproduces problems of users and faults found from outside, and shows the messages
    Problems {
        /// Name the faults with their tests, and run nothing
        #[arg(long)]
        list: bool,
    },
    /// Runs the programs of the faults and the examples over the simulated network, under every strategy
    Sim(sim::SimulationArguments),
    /// Runs conformance programs over a simulated libfabric that imitates network cards, with their requirements and their false
    /// reports
    Personas(personas::PersonaArguments),
    /// Plants faults in protocols, one after the other, and looks whether each is found
    Planted {
        /// Name the arguments for the reuse of memory with the faults and models that show each, and run nothing
        #[arg(long)]
        list: bool,
        /// Faults; all if none is named
        names: Vec<String>,
    },
    /// Measures how long 64 empty programs take to start, and 1,000 PEs over 8 made-up hosts
    Starts(Installation),
    /// Measures two rails between two hosts with two cables
    Rails(Installation),
    /// Measures this tree and an earlier revision alternately
    Revisions(revisions::RevisionsArguments),
    /// Runs the fuzzers
    Fuzz(fuzz::FuzzArguments),
    /// Runs the random differential test, or streams of broadcasts, over shapes of jobs; prints how to repeat what fails
    Random(random::RandomArguments),
    /// Inside `rig rdma`: transfers and conformance programs, as they were built, over a cable with delay, reordering and loss
    BadCable(Installation),
    /// Runs a command in a rig
    ///
    /// `rdma [-t SECONDS] [-m MIB]`: a virtual machine with InfiniBand verbs, two NUMA nodes and netem.
    /// `slurm`: a Slurm of two nodes.
    /// `small-buffers`: a network of its own whose TCP connections hold some KiB.
    /// `hosts [-q QUALITY]`: two network namespaces with a cable between them, as bad as QUALITY (words of `tc netem`).
    #[command(verbatim_doc_comment)]
    Rig {
        /// `rdma`, `slurm`, `small-buffers` or `hosts`
        name: String,
        /// Options of the rig, then the command
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// The installation that a task works on.
#[derive(Args)]
struct Installation {
    /// Folder of the installation [default: target/oxshmem]
    #[arg(long)]
    prefix: Option<PathBuf>,
}

impl Installation {
    fn folder(self) -> Outcome<PathBuf> {
        self.prefix.map_or_else(|| Ok(default_prefix()), absolute)
    }
}

fn absolute(path: PathBuf) -> Outcome<PathBuf> {
    std::path::absolute(path).map_err(|error| format!("--prefix: {error}"))
}

/// The folder that stands before the prefix: the option's, or that of the variable which makers of packages set.
fn root(destdir: Option<PathBuf>) -> PathBuf {
    destdir.or_else(|| std::env::var_os("DESTDIR").map(PathBuf::from)).unwrap_or_default()
}

/// The folder of the libraries, which has to be one of those below the prefix in which the compiler wrappers look for them.
fn below_prefix(libdir: &Path) -> Outcome<&Path> {
    let several = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let known = [LIBDIR, "lib64", &several];
    if known.iter().any(|folder| libdir == Path::new(folder)) {
        Ok(libdir)
    } else {
        Err(format!(
            "--libdir: `{}` is none of {}, where the compiler wrappers look for the library below the prefix",
            libdir.display(),
            known.join(", ")
        ))
    }
}

impl CommandLine {
    pub(crate) fn run(self) -> Outcome {
        let counts = match self.task {
            Task::Demo => return demo(),
            Task::Test { list: true, .. } => {
                steps::STEPS.iter().for_each(|step| println!("{:<14}{}", step.name, step.what));
                return Ok(());
            }
            Task::Test { steps, results, .. } => return lanes::run(&steps, results.as_deref()),
            Task::Build { profile, installation } => return build::build(&profile, &installation.folder()?),
            Task::Install { prefix, libdir, destdir } => {
                let recipe = Recipe { libdir: below_prefix(&libdir)?, ..Recipe::new("release") };
                return build::install(&recipe, &root(destdir), &absolute(prefix)?);
            }
            Task::Uninstall { prefix, destdir } => {
                return installation::take_away(&installation::below(&root(destdir), &absolute(prefix)?));
            }
            Task::ReleaseNotes { tag, output } => return release::print(tag.as_deref(), output.as_deref()),
            Task::Package(arguments) => return package::make(&arguments),
            Task::Generate { check: true } => return generate::check(),
            Task::Generate { check: false } => return generate::write(),
            #[cfg(feature = "printers")]
            Task::Bindgen { print: true, libraries, .. } => return bindgen::print(&libraries),
            Task::Bindgen { check: false, libraries, .. } => return bindgen::write(&libraries),
            Task::Bindgen { libraries, .. } => bindgen::check(&libraries)?,
            #[cfg(feature = "printers")]
            Task::PublicApi { print: Some(json), .. } => return public_api::print(&json),
            Task::PublicApi { check: false, .. } => return public_api::write(),
            Task::PublicApi { .. } => public_api::check()?,
            Task::Semver { revision } => semver::check(revision.as_deref())?,
            Task::House => house::run()?,
            Task::Conformance(arguments) => conformance::run(&arguments.options()),
            Task::Rdma(arguments) => rdma::run(&arguments)?,
            Task::Launchers { words } => launchers::run(&words)?,
            Task::Planted { list: true, .. } => planted::list()?,
            Task::Planted { names, .. } => planted::run(&names)?,
            Task::Problems { list: true } => problems::list()?,
            Task::Problems { list: false } => problems::run()?,
            Task::Personas(arguments) => personas::run(&arguments)?,
            Task::Sim(arguments) => sim::programs(&arguments)?,
            Task::Starts(installation) => starts::run(&installation.folder()?)?,
            Task::Rails(installation) => rails::run(&installation.folder()?)?,
            Task::Revisions(arguments) => return revisions::run(&arguments),
            Task::Fuzz(arguments) => fuzz::run(&arguments)?,
            Task::Random(arguments) => random::run(&arguments)?,
            Task::BadCable(installation) => namespaces::bad_cable(&installation.folder()?)?,
            Task::Rig { name, words } => return rigs::start(&name, &words).map(drop),
        };
        counts::finish(counts)
    }
}

fn demo() -> Outcome {
    let prefix = default_prefix();
    build::build("release", &prefix)?;
    command::run(Command::new(prefix.join("bin/oshrun")).args(["-n", "4", "--demo"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_fit_together() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn libraries_lie_below_the_prefix() {
        let several = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
        for known in ["lib", "lib64", "lib64/", &several] {
            assert!(below_prefix(Path::new(known)).is_ok(), "{known}");
        }
        for wrong in ["", "/usr/lib64", "../lib", "lib/oxshmem"] {
            assert!(below_prefix(Path::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_after_a_rig_are_its_own() {
        let line = ["cargo xtask", "rig", "rdma", "-t", "60", "sh", "-c", "exit 3"];
        let Ok(CommandLine { task: Task::Rig { name, words } }) = CommandLine::try_parse_from(line) else {
            panic!("the words are understood")
        };
        assert_eq!((name.as_str(), words.len()), ("rdma", 5));
    }

    /// The checkout belongs to another user than that of the container. `git` refuses it there unless it is told, and checks that list
    /// files, packages and what is built ask `git`.
    #[test]
    fn workflows_tell_git_that_the_checkout_is_safe() {
        let entries = std::fs::read_dir(crate::top().join(".github/workflows")).expect("the folder is there");
        for path in entries.flatten().map(|entry| entry.path()) {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            for job in text.split("actions/checkout@").skip(1) {
                let asks = ["cargo xtask test", "cargo xtask package", "cargo xtask semver"];
                if let Some(at) = asks.iter().filter_map(|command| job.find(command)).min() {
                    assert!(job[..at].contains("safe.directory"), "{}: {}", path.display(), &job[at..]);
                }
            }
        }
    }

    /// Each `cargo xtask` that a document or a workflow shows is one that is understood, and its steps exist.
    #[test]
    fn commands_in_documents_are_tasks() {
        let mut files = vec![crate::top().join("README.md")];
        for folder in [".github/workflows", "docs/src", "docs/src/tutorial", "docs/src/clusters", "docs/src/reference"]
        {
            let entries = std::fs::read_dir(crate::top().join(folder)).expect("the folder is there");
            files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
        }
        let mut seen = 0;
        for file in files {
            let text = std::fs::read_to_string(&file).expect("the file can be read");
            let commands = text.lines().map(|line| line.trim_start_matches(['-', ' ']).trim_start_matches("run: "));
            let single = commands.flat_map(|line| line.split(" && "));
            for command in single.filter(|line| line.starts_with("cargo xtask ")) {
                let command = command.split(" #").next().unwrap_or(command);
                let words = std::iter::once("xtask").chain(command.split_whitespace().skip(2));
                let line = CommandLine::try_parse_from(words).map_err(|error| format!("{}: {error}", file.display()));
                if let Task::Test { steps, .. } = line.unwrap_or_else(|error| panic!("{error}")).task {
                    let known = |name: &String| steps::STEPS.iter().any(|step| step.name == name);
                    assert!(steps.iter().all(known), "{}: {command}", file.display());
                }
                seen += 1;
            }
        }
        assert!(seen >= 8, "only {seen} commands were found");
    }
}
