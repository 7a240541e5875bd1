//! The module's tests on each Python that is here, from the oldest that the wheel is for, with builds without Python's lock.

use std::path::PathBuf;
use std::process::Command;

use super::{Environment, SHAPES, job};
use crate::counts::{CheckCounts, skipped};
use crate::{command, top};

/// Second numbers of the versions that the wheel is for.
const VERSIONS: std::ops::RangeInclusive<u32> = 9..=15;
/// The first version that has a build without Python's lock.
const FREE_THREADED: u32 = 13;

impl Environment {
    /// Runs the tests on 2 PEs by each Python that is here, in an environment of its own. It takes half a minute for each.
    pub(super) fn other_interpreters(&mut self) {
        let names: Vec<String> = VERSIONS.flat_map(names).collect();
        if !oxshmem_faults::is_long() {
            println!("not run: the module's tests by every Python that is here (CHECK_LONG=1 runs them)");
            return;
        }
        for name in names {
            match found(&name) {
                Some(python) => self.by(&name, &python),
                None => self.counts += skipped!("the module's tests by {name}: it is not here"),
            }
        }
    }

    fn by(&mut self, name: &str, python: &PathBuf) {
        let folder = self.folder.join(name);
        let inside = folder.join("bin/python");
        let wheel = self.wheel();
        let made = command::read(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder)).and_then(|_| {
            let pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"];
            command::read(Command::new(&inside).args(pip).arg(wheel).env_remove("PYTHONPATH"))
        });
        if let Err(why) = made {
            self.counts += skipped!("the module's tests by {name}: there is no environment with numpy for it: {why}");
            return;
        }
        let mut job = job(&folder.join("bin"), SHAPES[1], &["-m", "unittest", "discover", "-q"]);
        let tested = command::read(job.current_dir(top().join("python/tests")));
        self.counts += CheckCounts::of(format!("the module's tests by {name}"), tested);
    }
}

/// The names of the programs of a version.
fn names(version: u32) -> Vec<String> {
    let free = (version >= FREE_THREADED).then(|| format!("python3.{version}t"));
    std::iter::once(format!("python3.{version}")).chain(free).collect()
}

/// A Python of this name that starts: in `PATH`, or one that pyenv has built, whose name in `PATH` may lead to none.
fn found(name: &str) -> Option<PathBuf> {
    let built = std::env::var_os("PYENV_ROOT").map(|root| PathBuf::from(root).join("versions"));
    let built = built.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let built = built.map(|version| version.path().join("bin").join(name)).filter(|path| path.is_file());
    std::iter::once(PathBuf::from(name)).chain(built).find(|python| {
        // The part of Python that makes environments is a package of its own in Debian.
        let starts = Command::new(python).args(["-c", "import sys, ensurepip"]).output();
        starts.is_ok_and(|output| output.status.success())
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn builds_without_the_lock_have_a_name_of_their_own() {
        assert_eq!(super::names(9), ["python3.9"]);
        assert_eq!(super::names(14), ["python3.14", "python3.14t"]);
        assert_eq!(super::found("python3.nosuch"), None);
    }
}
