//! Programs that are compiled already: many tests run the same program, and to compile it takes as long as a job.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output};
use std::time::SystemTime;

/// A program under a name that its source, the options and the installation decide.
pub(crate) struct KeptProgram(PathBuf);

impl KeptProgram {
    /// The program of `programs/NAME` in a folder. `None`: options name files, which may have other contents each time.
    pub(crate) fn of(name: &str, options: &[&str], installation: &Path, folder: &Path) -> Option<KeptProgram> {
        if options.iter().any(|option| option.contains(['/', '.'])) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (name, options, installation).hash(&mut hasher);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let installed = ["bin", "include", "lib"].map(|part| installation.join(part));
        for ingredients in installed.iter().chain([&sources]) {
            changed(ingredients).hash(&mut hasher);
        }
        // They choose compilers.
        let chosen = std::env::vars_os().filter(|(variable, _)| {
            let variable = variable.to_string_lossy();
            variable.starts_with("OSH") || variable.starts_with("SHMEM_")
        });
        chosen.for_each(|variable| variable.hash(&mut hasher));
        Some(KeptProgram(folder.join(format!("kept-{:016x}", hasher.finish()))))
    }

    /// Makes it the program at this path, if it is there. Returns the words of its compiler, which were none.
    pub(crate) fn again(&self, executable: &Path) -> Option<Output> {
        // One of an earlier process with the same number.
        let _ = fs::remove_file(executable);
        fs::hard_link(&self.0, executable).ok()?;
        Some(Output { status: ExitStatus::default(), stdout: Vec::new(), stderr: Vec::new() })
    }

    /// Keeps a program that was compiled without a word.
    pub(crate) fn keep(&self, executable: &Path, output: &Output) {
        if output.status.success() && output.stdout.is_empty() && output.stderr.is_empty() {
            // Another test may have kept it meanwhile.
            let _ = fs::hard_link(executable, &self.0);
        }
    }
}

/// When a file changed, or the last of the files in a folder.
pub fn changed(path: &Path) -> Option<SystemTime> {
    let own = fs::metadata(path).and_then(|about| about.modified()).ok();
    let inside = fs::read_dir(path).into_iter().flatten().filter_map(|entry| changed(&entry.ok()?.path()));
    inside.chain(own).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_kept_by_their_options_unless_these_name_files() {
        let of = |options: &[&str]| {
            let kept = KeptProgram::of("hello.c", options, Path::new("/nowhere"), Path::new("kept"));
            kept.map(|kept| kept.0)
        };
        assert!(of(&["-lm"]).is_some() && of(&["-lm"]) == of(&["-lm"]) && of(&["-lm"]) != of(&["-lm", "-O2"]));
        assert_eq!((of(&["-L/tmp"]), of(&["part.o"])), (None, None));
    }
}
