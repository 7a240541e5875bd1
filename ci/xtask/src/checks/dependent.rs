//! A package that depends on the C library, as a user would write it (`ci/dependent`): its build finds the installed library, or makes
//! its own.

use std::path::Path;
use std::process::Command;

use oxshmem_faults::TestFolder;

use crate::checks::workspace_tests::unit_packages;
use crate::counts::{CheckCounts, skipped};
use crate::{Outcome, command, target};

const PACKAGE: &str = "oxshmem-dependent";

/// Builds the package each way, looks at what it was linked with, and runs it.
pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let mut counts = CheckCounts::default();
    let mut report = |way: &str, outcome: Outcome| counts += CheckCounts::of(way, outcome);
    let nothing = Path::new("/nonexistent");
    report("its own library, because no feature asks for another", dependent(prefix, &mut build(&[]), false));
    let mut named = build(&["--features", "installed"]);
    report("the library of OXSHMEM_PREFIX", dependent(prefix, named.env("OXSHMEM_PREFIX", prefix), true));
    let mut wrong = build(&["--features", "installed"]);
    report("a prefix without a library is named", refused(wrong.env("OXSHMEM_PREFIX", nothing), "lib/liboxshmem.so"));
    let has_pkg_config = command::exists("pkg-config");
    if has_pkg_config {
        let mut known = build(&["--features", "installed"]);
        known.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        report("the library that pkg-config knows", dependent(prefix, &mut known, true));
        report("the same below a folder with a blank in its name", below_a_blank(prefix));
    }
    let mut none = build(&["--features", "installed"]);
    none.env("PKG_CONFIG_LIBDIR", nothing);
    report("its own library, where none is installed", dependent(prefix, &mut none, false));
    let mut both = build(&["--features", "installed", "--example", "ring", "--features", "oxshmem/c"]);
    report("one runtime in a process", refused(both.env("OXSHMEM_PREFIX", prefix), "a process can have one"));
    if !has_pkg_config {
        counts += skipped!("the library that pkg-config knows: there is no pkg-config here");
    }
    Ok(counts)
}

/// A build of the package that knows of no installation.
fn build(arguments: &[&str]) -> Command {
    let mut cargo = command::cargo();
    // With an example cargo takes the features that tests ask for, as in the step `unit`: so nothing below is compiled anew.
    cargo.args(["build", "--quiet", "--bin", PACKAGE, "--example", "instant"]).args(unit_packages()).args(arguments);
    cargo.env_remove("OXSHMEM_PREFIX").env_remove("PKG_CONFIG_PATH");
    cargo
}

/// Builds the program with the library that pkg-config finds by a path with a blank.
fn below_a_blank(prefix: &Path) -> Outcome {
    let folder = TestFolder::new("dependent");
    let path = folder.join("a prefix");
    std::os::unix::fs::symlink(prefix, &path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut known = build(&["--features", "installed"]);
    known.env("PKG_CONFIG_PATH", path.join("lib/pkgconfig"));
    dependent(prefix, &mut known, true)
}

/// Builds the program, and runs it on 3 PEs. `installed` says whether it is to need the shared library.
fn dependent(prefix: &Path, build: &mut Command, installed: bool) -> Outcome {
    command::read(build)?;
    let program = target().join("debug").join(PACKAGE);
    let needs = command::read(Command::new("readelf").arg("-d").arg(&program))?;
    if needs.contains("[liboxshmem.so") != installed {
        return Err(format!("{} is linked with another library:\n{needs}", program.display()));
    }
    let said =
        command::read(Command::new(prefix.join("bin/oshrun")).args(["--timeout", "60", "-n", "3"]).arg(program))?;
    match said.as_str() {
        "the largest of 3 numbers is 3\n" => Ok(()),
        _ => Err(format!("the program says {said:?}")),
    }
}

/// The build fails, and its message has these words.
fn refused(build: &mut Command, words: &str) -> Outcome {
    match command::read(build) {
        Err(why) if why.contains(words) => Ok(()),
        Err(why) => Err(format!("the message does not say `{words}`: {why}")),
        Ok(_) => Err("it builds".into()),
    }
}
