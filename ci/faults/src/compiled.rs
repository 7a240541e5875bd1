//! Programs of tests. Many tests run the same program, and to compile it takes as long as a job, so compiled ones are kept.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use crate::{prefix, source, target, tool};

/// The names of the programs in a folder of `programs` that begin and end so.
pub fn programs_of(folder: &str, beginning: &str, ending: &str) -> Vec<String> {
    let files = fs::read_dir(source(folder)).expect("a folder of programs");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name that is text"));
    let names = names.filter(|name| name.starts_with(beginning) && name.ends_with(ending));
    let mut names: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
    names.sort_unstable();
    names
}

/// The wrapper of a source's language.
pub fn wrapper(source: &Path) -> Option<&'static str> {
    match source.extension()?.to_str()? {
        "c" => Some("oshcc"),
        "cc" | "cpp" => Some("oshc++"),
        "f" | "F" | "f90" | "F90" => Some("oshfort"),
        _ => None,
    }
}

/// Compiles `programs/NAME` with the wrapper of its language and returns the executable.
pub fn program(name: &str) -> PathBuf {
    program_with(name, &[])
}

/// The same with options for the compiler.
pub fn program_with(name: &str, options: &[&str]) -> PathBuf {
    let (executable, output) = compile(name, options);
    assert!(output.status.success(), "{name} does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    executable
}

/// The same by another compiler than the wrapper's own. `None`: it is not on this machine, or has no OpenMP.
pub fn program_by(compiler: Option<&str>, name: &str, options: &[&str]) -> Option<PathBuf> {
    let (executable, output) = compile_by(compiler, name, options);
    let said = String::from_utf8_lossy(&output.stderr);
    // clang's OpenMP is a package of its own.
    let is_missing = output.status.code() == Some(127) || said.contains("'omp.h' file not found");
    assert!(output.status.success() || is_missing, "{name} does not compile:\n{said}");
    output.status.success().then_some(executable)
}

/// Compiles `programs/NAME`; the caller looks at what the compiler said.
pub fn compile(name: &str, options: &[&str]) -> (PathBuf, Output) {
    compile_by(None, name, options)
}

fn compile_by(compiler: Option<&str>, name: &str, options: &[&str]) -> (PathBuf, Output) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let wrapper = wrapper(Path::new(name)).unwrap_or_else(|| panic!("{name}: a language without a wrapper"));
    let folder = target().join("faults");
    fs::create_dir_all(&folder).expect("a folder for programs");
    // Tests that run at the same time may compile the same source.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let executable = folder.join(format!("{}-{}-{number}", name.replace(['.', '/'], "-"), std::process::id()));
    let kept = if compiler.is_none() { KeptProgram::of(name, options, &prefix(), &folder) } else { None };
    if let Some(output) = kept.as_ref().and_then(|kept| kept.again(&executable)) {
        return (executable, output);
    }
    let mut command = tool(wrapper);
    // Libraries are searched for what the files before them need.
    command.args(["-g", "-O1"]).arg(source(name)).args(options).arg("-o").arg(&executable).current_dir(&folder);
    if let Some(compiler) = compiler {
        command.env(if wrapper == "oshcc" { "OSHCC" } else { "OSHCXX" }, compiler);
    }
    let output = command.output().expect("the wrapper starts");
    if let Some(kept) = kept {
        kept.keep(&executable, &output);
    }
    (executable, output)
}

/// A program under a name that its source, the options and the installation decide.
struct KeptProgram(PathBuf);

impl KeptProgram {
    /// The program of `programs/NAME` in a folder. `None`: options name files, which may have other contents each time.
    fn of(name: &str, options: &[&str], installation: &Path, folder: &Path) -> Option<KeptProgram> {
        if options.iter().any(|option| option.contains(['/', '.'])) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (name, options, installation).hash(&mut hasher);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let installed = ["bin", "include", "lib"].map(|part| installation.join(part));
        // The examples of the book lie elsewhere.
        for ingredients in installed.iter().chain([&sources, &sources.join(name)]) {
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
    fn again(&self, executable: &Path) -> Option<Output> {
        // One of an earlier process with the same number.
        let _ = fs::remove_file(executable);
        fs::hard_link(&self.0, executable).ok()?;
        Some(Output { status: ExitStatus::default(), stdout: Vec::new(), stderr: Vec::new() })
    }

    /// Keeps a program that was compiled without a word.
    fn keep(&self, executable: &Path, output: &Output) {
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
