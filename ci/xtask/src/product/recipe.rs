//! The recipe of a build: the profile, the processor, the places, the options.

use std::path::Path;
use std::process::Command;

use crate::product::toolchain::Toolchain;
use crate::{Outcome, command, top};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The folder of the libraries below the prefix, if nothing else was asked for.
pub(crate) const LIBDIR: &str = "lib";

/// How everything is built, and where an installation has its libraries.
pub(crate) struct Recipe<'a> {
    pub(crate) profile: &'a str,
    pub(crate) toolchain: Toolchain,
    pub(crate) libdir: &'a Path,
    /// Variables for rustc and the C compiler.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// The folder of debug files, which lie there under the paths of the files that they belong to. Without it none are kept.
    pub(crate) debug: Option<&'a Path>,
}

impl<'a> Recipe<'a> {
    /// For this machine, with the libraries in `lib`.
    pub(crate) fn new(profile: &'a str) -> Self {
        let libdir = Path::new(LIBDIR);
        Self { profile, toolchain: Toolchain::default(), libdir, environment: Vec::new(), debug: None }
    }

    /// Whether what is built is for a debugger.
    pub(crate) fn is_for_debugging(&self) -> bool {
        self.profile == "dev"
    }

    /// Runs cargo, with words that stand behind the options of every build.
    pub(crate) fn cargo(&self, arguments: &[&str], behind: &[&str]) -> Outcome {
        let mut cargo = command::cargo();
        cargo.args(arguments).args(["--profile", self.profile]);
        self.toolchain.tell(&mut cargo);
        cargo.args(behind).envs(self.origin()).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command::run(cargo.current_dir(top()))
    }

    /// The commit and the compiler, which `osh_info` tells.
    fn origin(&self) -> [(&'static str, String); 2] {
        let told =
            |command: &mut Command| command::read(command.current_dir(top())).map(|text| text.trim().to_owned()).ok();
        let commit = told(&mut command::git(&["describe", "--always", "--dirty", "--abbrev=12"]));
        let compilers = [told(Command::new("rustc").arg("--version")), told(self.toolchain.cc().arg("--version"))];
        let first_lines =
            compilers.iter().flatten().filter_map(|text| text.lines().next()).collect::<Vec<_>>().join(", ");
        [
            ("OXSHMEM_COMMIT", commit.unwrap_or_else(|| "unknown: no git checkout".into())),
            ("OXSHMEM_COMPILER", first_lines),
        ]
    }
}
