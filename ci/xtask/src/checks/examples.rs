//! The installed examples: built by their own Makefile and CMake file, as a user would, and run at several numbers of PEs.

use std::path::{Path, PathBuf};

use crate::command::{self, with_tools};
use crate::counts::{CheckCounts, failed, skipped};
use crate::{Outcome, disk, target};

const PES: &[u32] = &[1, 3, 4];

pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let mut counts = CheckCounts::default();
    for program in &build(prefix)? {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        for pes in PES {
            let mut job = with_tools("oshrun", prefix);
            let output = command::output(job.args(["--timeout", "120", "-n", &pes.to_string()]).arg(program))?;
            let is_well = output.status.success() && !output.stdout.is_empty();
            if !is_well {
                failed!("{name} on {pes} PEs: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
            }
            counts += CheckCounts::one(is_well);
        }
    }
    counts += by_cmake(prefix, &folder(prefix))?;
    Ok(counts)
}

fn folder(prefix: &Path) -> PathBuf {
    prefix.join("share/oxshmem/examples")
}

/// Builds them by their Makefile. Returns the programs.
pub(crate) fn build(prefix: &Path) -> Outcome<Vec<PathBuf>> {
    let out = target().join("examples");
    let mut make = with_tools("make", prefix);
    make.arg("--silent").arg("-C").arg(folder(prefix)).arg(format!("OUT={}", out.display()));
    command::run(make.arg("CFLAGS=-std=c11 -O2 -Wall -Wextra -Werror"))?;
    let mut programs = disk::entries(&out)?;
    programs.retain(|path| path.is_file());
    Ok(programs)
}

/// The CMake file finds the installation and its tests pass.
fn by_cmake(prefix: &Path, folder: &Path) -> Outcome<CheckCounts> {
    if !command::exists("cmake") {
        return Ok(skipped!("the examples by CMake: there is no cmake here"));
    }
    let out = target().join("examples/cmake");
    let mut configure = with_tools("cmake", prefix);
    configure.arg("-S").arg(folder).arg("-B").arg(&out).arg("--log-level=WARNING");
    command::read(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))?;
    command::read(with_tools("cmake", prefix).arg("--build").arg(&out))?;
    command::read(with_tools("ctest", prefix).arg("--test-dir").arg(&out))?;
    Ok(CheckCounts::one(true))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_makefile_takes_no_compiler_for_a_wrapper() {
        let path = crate::top().join("examples/Makefile");
        let text = std::fs::read_to_string(path).expect("the examples have it");
        for read_by_the_wrappers in ["OSHCC", "OSHCXX", "OSHFORT", "SHMEM_CC", "SHMEM_CXX", "SHMEM_FC"] {
            assert!(!text.contains(&format!("$({read_by_the_wrappers})")), "{read_by_the_wrappers}");
        }
    }

    /// Versions before 4.3 do not know all commands of the shell, and start a line that needs none by themselves.
    #[test]
    fn every_version_of_make_gives_the_questions_of_the_makefile_to_a_shell() {
        let path = crate::top().join("examples/Makefile");
        let text = std::fs::read_to_string(path).expect("the examples have it");
        let questions: Vec<&str> = text.split("$(shell ").skip(1).collect();
        assert!(!questions.is_empty());
        for question in questions {
            let question = question.split(')').next().unwrap_or_default();
            assert!(question.contains(['>', '|', ';']), "{question}");
        }
    }
}
