//! The compilers and linkers of the processor that is built for.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, command, target};

/// Another processor for which everything can be built here, and what its programs run under.
struct CrossTarget {
    triple: &'static str,
    /// The beginning of the names of compilers and linkers.
    tools: &'static str,
    emulator: &'static str,
    /// The C library for programs under the emulator.
    system: &'static str,
    package: &'static str,
}

const CROSS: &[CrossTarget] = &[CrossTarget {
    triple: "aarch64-unknown-linux-gnu",
    tools: "aarch64-linux-gnu-",
    emulator: "qemu-aarch64",
    system: "/usr/aarch64-linux-gnu",
    package: "gcc-aarch64-linux-gnu, qemu-user and the target of rustup",
}];

/// The tools for one processor.
#[derive(Clone, Copy, Default)]
pub(crate) struct Toolchain {
    cross: Option<&'static CrossTarget>,
}

impl Toolchain {
    /// The tools for a target of rustc; without one those of this machine.
    pub(crate) fn of(triple: Option<&str>) -> Outcome<Self> {
        let here = Self::default();
        let Some(triple) = triple.filter(|triple| *triple != here.triple()) else { return Ok(here) };
        let cross = CROSS.iter().find(|cross| cross.triple == triple).ok_or_else(|| {
            let known = CROSS.iter().map(|cross| cross.triple).collect::<Vec<_>>().join(", ");
            format!("`{triple}` cannot be built for: oxshmem supports {} (this machine) and {known}", here.triple())
        })?;
        let tools = Self { cross: Some(cross) };
        if command::exists(&tools.name("gcc")) && command::exists(cross.emulator) && has_library(triple) {
            Ok(tools)
        } else {
            Err(format!("{triple} needs {}", cross.package))
        }
    }

    pub(crate) fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.processor())
    }

    /// The processor's name in file names of packages.
    pub(crate) fn processor(self) -> &'static str {
        self.cross.map_or(std::env::consts::ARCH, |cross| cross.triple.split('-').next().unwrap_or(cross.triple))
    }

    /// The folder in which cargo puts what it builds with this profile.
    pub(crate) fn built(self, profile: &str) -> PathBuf {
        let folder = if profile == "dev" { "debug" } else { profile };
        self.cross.map_or_else(target, |cross| target().join(cross.triple)).join(folder)
    }

    /// A program of the compiler or the linker.
    pub(crate) fn tool(self, name: &str) -> Command {
        Command::new(self.name(name))
    }

    pub(crate) fn cc(self) -> Command {
        match self.cross {
            Some(_) => self.tool("gcc"),
            None => compiler(&std::env::var("CC").unwrap_or_default()),
        }
    }

    pub(crate) fn fortran(self) -> Option<Command> {
        let name = self.name("gfortran");
        command::exists(&name).then(|| Command::new(name))
    }

    /// Runs a program that was built.
    pub(crate) fn start(self, program: &Path) -> Command {
        let Some(cross) = self.cross else { return Command::new(program) };
        let mut command = Command::new(cross.emulator);
        command.arg("-L").arg(cross.system).arg(program);
        command
    }

    pub(crate) fn tell(self, cargo: &mut Command) {
        if let Some(cross) = self.cross {
            let variable = format!("CARGO_TARGET_{}_LINKER", cross.triple.replace('-', "_").to_uppercase());
            cargo.args(["--target", cross.triple]).env(variable, self.name("gcc"));
        }
    }

    fn name(self, tool: &str) -> String {
        format!("{}{tool}", self.cross.map_or("", |cross| cross.tools))
    }
}

/// The C compiler that `CC` names. There may be words around it (`ccache gcc`, `gcc -m64`), which build scripts take too.
fn compiler(named: &str) -> Command {
    if Path::new(named).is_file() {
        return Command::new(named);
    }
    let mut words = named.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command
}

fn has_library(triple: &str) -> bool {
    let folder = command::read(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_not_supported_is_refused_with_the_names_of_others() {
        let refused = Toolchain::of(Some("riscv64gc-unknown-linux-gnu")).err().expect("it is not supported");
        assert!(refused.contains("riscv64gc") && refused.contains("aarch64-unknown-linux-gnu"), "{refused}");
    }

    #[test]
    fn the_compiler_may_be_named_with_words_around_it() {
        let words = |named: &str| {
            let command = compiler(named);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words("ccache gcc -m64"), ["ccache", "gcc", "-m64"]);
        assert_eq!(words(""), ["cc"]);
        let folder = oxshmem_faults::TestFolder::new("compiler");
        let whole = folder.write("my cc", "").display().to_string();
        assert_eq!(words(&whole), [whole.as_str()]);
    }

    #[test]
    fn this_machine_needs_no_names() {
        let here = Toolchain::of(None).expect("it is always there");
        let named = Toolchain::of(Some(&here.triple())).expect("it is this machine");
        assert!(named.cross.is_none());
        assert_eq!((here.name("ld").as_str(), here.processor()), ("ld", std::env::consts::ARCH));
        assert!(here.built("dev").ends_with("debug"));
    }
}
